--- Helpers for specs of operators: small tensors, comparisons with tolerances,
-- errors and leak checks.

local assert = require "luassert"
local collect = require "spec.support.collect"
local st = require "strided"

local abs, max = math.abs, math.max
local ipairs, pairs, pcall = ipairs, pairs, pcall
local tonumber, tostring, type = tonumber, tostring, type

local M = {}

-- -- Making ------------------------------------------------------------------

function M.f64(list) return st.tensor(list, {dtype = "float64"}) end
function M.i64(list) return st.tensor(list, {dtype = "int64"}) end

function M.of(dtype, list) return st.tensor(list, {dtype = dtype}) end

--- Numbers of the normal distribution, of these sizes.
function M.any(...) return st.randn({...}, {dtype = "float64"}) end

--- Integers around 0, which repeat after `period`.
function M.filled(shape, dtype, period)
  local n = 1
  for i = 1, #shape do n = n * shape[i] end
  return st.arange(n):remainder(period):sub(math.floor(period / 2))
    :to(dtype):view(shape)
end

-- -- Reading -----------------------------------------------------------------

function M.dtype(t) return tostring(t.dtype) end

--- A tensor, or a list of tensors and other results, as nested lists of plain
-- numbers; NaN as the word.
function M.lists(v)
  if st.is_tensor(v) then
    return M.lists(v:dim() == 0 and v:item() or v:totable())
  end
  if type(v) ~= "table" then
    if v ~= v then return "nan" end
    return type(v) == "userdata" and tonumber(tostring(v)) or v
  end
  local out = {}
  for i, e in ipairs(v) do out[i] = M.lists(e) end
  return out
end

-- -- Comparing ---------------------------------------------------------------

local function flat(t) return t:to "float64":reshape(-1):totable() end

--- Numbers, nested lists of them, or tensors of one shape, as far apart as
-- `tolerance` says (1e-12), times what is wanted where that is beyond 1. NaN
-- is near nothing.
function M.near(want, got, tolerance)
  if st.is_tensor(want) then
    assert.same(want:size(), got:size())
    want, got = flat(want), flat(got)
  end
  if type(want) == "table" then
    assert.equal(#want, #got)
    for i = 1, #want do M.near(want[i], got[i], tolerance) end
  elseif st.is_tensor(got) then -- v[i] of a vector with a gradient
    M.near(want, got:item(), tolerance)
  elseif want ~= got then
    local off = abs(want - got)
    if off ~= off or off > (tolerance or 1e-12) * max(1, abs(want)) then
      assert.equal(want, got)
    end
  end
end

--- The elements of t, one after the other, are those of a list, NaN where it
-- has NaN. They may be off by `tolerance` times what is wanted, or times
-- `least` (0) where that is more.
function M.elements_near(t, want, tolerance, least)
  local got = flat(t)
  assert.equal(#want, #got)
  for i, w in ipairs(want) do
    local g = got[i]
    assert.is_true(g == w or (g ~= g and w ~= w) or
                   abs(g - w) <= tolerance * max(least or 0, abs(w)),
                   ("element %d is %.17g, should be %.17g"):format(i, g, w))
  end
end

-- -- Live objects ------------------------------------------------------------

--- The number of live tensors.
function M.live()
  collect()
  return st.memory().tensors.count
end

--- The number of live blocks by kind of memory.
function M.kinds()
  collect()
  local out = {}
  for kind, m in pairs(st.memory()) do out[kind] = m.count end
  out.registry = nil -- an operator may keep what its first call worked out
  return out
end

-- -- Errors ------------------------------------------------------------------

--- The error of a call that must fail.
function M.failure(f, ...)
  local ok, why = pcall(f, ...)
  assert.is_false(ok)
  return why
end

--- Asserts that a call raises an error whose message contains a text, or each
-- text of a list. Returns the message.
function M.raises(texts, f, ...)
  local why = tostring(M.failure(f, ...))
  for _, text in ipairs(type(texts) == "table" and texts or {texts}) do
    assert.truthy(why:find(text, 1, true), why)
  end
  return why
end

--- Like raises, of an error at the line that made the call: a spec's, or the
-- one above.
function M.raises_here(texts, f, ...)
  local why = M.raises(texts, f, ...)
  assert.matches("^[^\n]*spec/[%w_/]+%.lua:%d+: ", why)
  return why
end

--- The call never ends by itself: the engine stops it with this text. Lua 5.1,
-- 5.3 and 5.4 have a limit for functions in C, which may come first.
function M.nests_too_deep(text, f, ...)
  local why = tostring(M.failure(f, ...))
  assert.truthy(why:find(text, 1, true) or
                not rawget(_G, "jit") and why:find("C stack overflow", 1, true),
                why)
end

--- A row of a function's name, a function that gives arguments, and a reason:
-- the arguments are refused for that reason, and nothing stays behind.
function M.refuses(row)
  local before = M.live()
  M.raises(row[1] .. ": " .. row[3], st[row[1]], row[2]())
  assert.is_true(M.live() <= before)
end

return M
