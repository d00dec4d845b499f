--- What a thread of a worker computes, in a Lua state of its own.

local st = require "strided"

local job = {}

--- 1 + 2 + ... + n, by the engine.
function job.sum(n)
  return st.arange(1, n + 1, {dtype = "float64"}):sum():item()
end

return job
