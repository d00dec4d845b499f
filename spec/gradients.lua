--- What specs of gradients have in common.

local st = require "strided"

local M = {}

--- How many tensors there are.
function M.live()
  require "spec.collect" ()
  return st.memory().tensors.count
end

--- A vector of these numbers whose gradient is wanted.
function M.leaf(...)
  return st.tensor({...}, {dtype = "float64"}):requires_grad_()
end

--- {{0, 1, 2}, {3, 4, 5}}, the same.
function M.matrix()
  return st.arange(6, {dtype = "float64"}):view(2, 3):clone()
    :requires_grad_()
end

--- The elements as plain numbers, one after the other.
function M.list(t)
  local out = {}
  for i, x in ipairs(t:reshape {-1}:totable()) do out[i] = tonumber(x) end
  return out
end

--- What a call raises.
function M.message(f, ...)
  local ok, why = pcall(f, ...)
  assert(not ok, "should have raised")
  return why
end

return M
