--- Helpers for specs of matrix factors: matrices of every dtype and layout, and
-- comparisons.

local assert = require "luassert"
local st = require "strided"
local tensors = require "spec.support.tensors"

local pairs = pairs
local unpack = unpack or table.unpack

local M = {}

--- The dtypes of LAPACK, with a tolerance.
M.DTYPES = {float32 = 2e-3, float64 = 1e-9, complex64 = 2e-3,
            complex128 = 1e-9}

local function is_complex(t) return t.dtype:find "complex" ~= nil end

-- -- Making ------------------------------------------------------------------

--- Random elements of any dtype, with `n` added on the diagonals.
function M.random(dtype, shape, n)
  local t = tensors.any(unpack(shape))
  if dtype:find "complex" then
    t = st.view_as_complex(st.stack({t, t:flip {1}:mul(0.5)}, -1))
  end
  if n then t = t + st.eye(shape[#shape], {dtype = "float64"}) * n end
  return t:to(dtype)
end

--- Positive definite matrices.
function M.definite(dtype, shape)
  local a = M.random(dtype, shape)
  return a:matmul(a:mH()) + st.eye(shape[#shape], {dtype = dtype})
end

--- The same elements in other layouts, by name.
function M.layouts(t)
  local out = {
    dense = t:contiguous(), columns = t:mT():contiguous():mT(),
    gaps = st.stack({t, t}, -1):select(-1, 1),
  }
  if is_complex(t) then
    out.conjugate = t:conj():resolve_conj():conj()
  else
    out.negative = st._neg_view(t:neg())
  end
  return out
end

-- -- Comparing ---------------------------------------------------------------

--- Real and imaginary parts as one list.
local function list(t)
  if is_complex(t) then t = st.view_as_real(t:resolve_conj()) end
  return t:to "float64":reshape(-1):totable()
end

--- Sizes and dtypes are the same, and elements as near as `tolerance` says.
function M.same(want, got, tolerance)
  assert.same(want:size(), got:size())
  assert.equal(want.dtype, got.dtype)
  tensors.near(list(want), list(got), tolerance)
end

--- Columns are contiguous, and the matrices follow each other.
function M.has_columns(t) assert.is_true(t:mT():is_contiguous()) end

--- Each allocation of a call fails once: nothing leaks, and no argument
-- changes. call(unpack(args)) must succeed.
function M.fails_cleanly(call, args)
  local holding = {}
  for i, t in pairs(args) do holding[i] = st.is_tensor(t) and t:clone() end
  call(unpack(args)) -- what is made once and kept is made here
  local before = tensors.kinds()
  local k, done = 0, false
  while not done do
    k = k + 1
    st.memory_fail_at(k)
    local ok, why = pcall(call, unpack(args))
    local left = st.memory_fail_at(0)
    done = ok
    assert.is_true(not ok or left > 0, "a failure was swallowed")
    assert.is_true(ok or tostring(why):find "out of memory" ~= nil, why)
    for i, t in pairs(holding) do
      assert.is_true(not t or t:equal(args[i]))
    end
  end
  assert.is_true(k > 1)
  assert.same(before, tensors.kinds())
end

return M
