--- Runs a function with a library, which is closed in the end, and returns its
-- results; an error is raised again.

local st = require "strided"

local unpack = unpack or table.unpack

return function(ns, kind, body)
  local lib = st.library(ns, kind)
  local result = {pcall(body, lib)}
  lib:close()
  if not result[1] then error(result[2], 0) end
  return unpack(result, 2)
end
