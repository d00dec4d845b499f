--- What spec/project/example_rock_spec.lua runs in a process of its own: every
-- operator with a tensor of the example's layout in the place of each tensor
-- argument, of calls that go through with strided ones. Such a call fails, and
-- names the layout, or gives what the strided one gives. Prints what did
-- neither, and "done".
--
--     luajit layout_walk.lua CASES [HOW]
--
-- HOW: "grad" for tensors that require a gradient, and a backward pass; "key"
-- for calls of the CPU's kernels in spite of the layout's key; "fuse" for calls
-- within a fused function. Of these three only the failures are looked at.

local st = require "strided"
require "strided_example"
local calls = require "spec.fuzz.calls"
local operators = require "spec.fuzz.operators"

local get, places, set = calls.get, calls.places, calls.set
local unpack = unpack or table.unpack
local CASES, HOW = tonumber(arg[1]), arg[2]
local ex = st.ops.example
st.warnings(false)

-- Memory that is not written, or numbers that differ from call to call.
local UNWRITTEN = {}
for name in ("empty_like new_empty empty_permuted resize_ resize_as_ "
             .. "new_empty_strided"):gmatch "%S+" do
  UNWRITTEN["aten::" .. name] = true
end

-- 0 + inf + 0i is inf + nan i, so elements that add up are finite.
local function to_layout(x)
  x = x:detach():clone()
  assert(not x:is_complex() or x:isfinite():all():item())
  local at = st.ones(x.shape):nonzero():sub(1):t():contiguous()
  return ex.coo(at, x:reshape(-1), x.shape)
end

-- -- Comparison --------------------------------------------------------------

local function same_tensor(a, b)
  if not st.is_tensor(b) then return false end
  if b.layout ~= "strided" then b = ex.to_dense(b) end
  if tostring(a.dtype) ~= tostring(b.dtype) or a.device ~= b.device or
     tostring(a.shape) ~= tostring(b.shape) then
    return false
  end
  return a.device ~= "cpu" or st.allclose(a, b, {equal_nan = true})
end

local function same(a, b)
  if st.is_tensor(a) then
    local ok, equal = pcall(same_tensor, a, b)
    return ok and equal
  elseif type(a) == "table" then
    for k, v in pairs(a) do
      if not same(v, b[k]) then return false end
    end
    return true
  end
  return a == b or a ~= a
end

-- -- The walk ----------------------------------------------------------------

local function run(o, c)
  local list, n = c.list, c.n
  if HOW == "key" then
    return o.object:call_for_key("CPU", unpack(list, 1, n))
  elseif HOW == "fuse" then
    return st.fuse(function(...) return o.object(...) end)(unpack(list, 1, n))
  end
  local results = {c.run()}
  for _, t in ipairs(HOW == "grad" and operators.tensors_of(results, {}) or {})
  do
    if t.requires_grad then t:sum():backward() end
  end
  return unpack(results)
end

local function check(o, i, path, expected)
  local where = ("%s, case %d, argument %s"):format(o.name, i,
                                                    table.concat(path, "."))
  local c = calls.make(o, i)
  local x = get(c.list, path)
  if not st.is_tensor(x) or x:dim() == 0 or x.device ~= "cpu" then return end
  local ok, t = pcall(to_layout, x)
  if not ok then return end
  if HOW == "grad" and not pcall(t.requires_grad_, t, true) then return end
  set(c.list, path, t)
  st.manual_seed(3)
  local got = {pcall(run, o, c)}
  if HOW then
    assert(tostring(t) ~= "" and t.layout == "example_coo")
  elseif not got[1] then
    if not tostring(got[2]):find "layout '" then
      print(where, (tostring(got[2]):gsub("\n.*", "")))
    end
  elseif not same({unpack(expected, 2)}, {unpack(got, 2)}) then
    print(where, "gives something else")
  end
end

for _, o in ipairs(operators.overloads()) do
  for i = 1, UNWRITTEN[o.name] and 0 or CASES do
    if os.getenv "WALK_TRACE" then io.stderr:write(o.name, " ", i, "\n") end
    st.manual_seed(3)
    local plain = calls.make(o, i)
    local expected = {pcall(plain.run)}
    for _, path in ipairs(expected[1] and places(plain.list) or {}) do
      check(o, i, path, expected)
    end
  end
end
print "done"
