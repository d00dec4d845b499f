--- What specs of gradients have in common.

local assert = require "luassert"
local st = require "strided"
local tensors = require "spec.support.tensors"

local M = {}

M.live = tensors.live

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

--- The call raises what has this text in it.
function M.fails(text, f, ...)
  local why = tostring(M.message(f, ...))
  assert.truthy(why:find(text, 1, true), why)
end

return M
