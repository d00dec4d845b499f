--- Helpers for specs of gradients.

local st = require "strided"
local tensors = require "spec.support.tensors"

local M = {}

M.live, M.failure, M.raises = tensors.live, tensors.failure, tensors.raises

--- A vector of these numbers that requires a gradient.
function M.leaf(...)
  return st.tensor({...}, {dtype = "float64"}):requires_grad_()
end

--- The matrix {{0, 1, 2}, {3, 4, 5}}, which requires a gradient.
function M.matrix()
  return st.arange(6, {dtype = "float64"}):view(2, 3):clone()
    :requires_grad_()
end

--- The gradient of f at x, ones coming in.
function M.gradient(x, f)
  local leaf = x:clone():requires_grad_()
  f(leaf):sum():backward()
  return leaf.grad
end

--- The elements as a flat list of numbers.
function M.list(t)
  local out = {}
  for i, x in ipairs(t:reshape {-1}:totable()) do out[i] = tonumber(x) end
  return out
end

return M
