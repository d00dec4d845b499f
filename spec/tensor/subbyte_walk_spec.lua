--- Every operator with integers of fewer than eight bits in the place of each
-- tensor argument, of calls that go through: such a call fails, and names the
-- dtype, or gives what it gives for bytes. And every operator that takes a
-- dtype with these dtypes.
-- axes: none

local calls = require "spec.fuzz.calls"
local operators = require "spec.fuzz.operators"
local st = require "strided"

local unpack = unpack or table.unpack

local CASES, TRIES = 2, 12
local DTYPES = {"int4", "uint4", "int2", "uint2"}
local BYTES = {int4 = "int8", uint4 = "uint8", int2 = "int8", uint2 = "uint8"}

-- Memory that is not written, strides, numbers that wrap, and dtypes.
local DIFFERENT = {}
for name in ("copy_ empty_like new_empty empty_permuted empty_strided "
             .. "new_empty_strided as_strided as_strided_copy is_set_to "
             .. "result_type.Tensor result_type.Scalar "
             .. "result_type.Scalar_Tensor view.dtype view_copy.dtype "
             .. "can_cast promote_types"):gmatch "%S+" do
  DIFFERENT["aten::" .. name] = true
end

--- The numbers of x in a dtype; they begin behind others of their storage where
-- rows are whole bytes.
local function packed(x, dtype)
  local t = x:detach():to(dtype)
  if t:numel() == 0 or t:dim() == 0 or t.shape[t:dim()] % 4 ~= 0 then
    return t
  end
  return st.cat({st.zeros({8}, {dtype = dtype}), t:reshape(-1)})
    [{{9, -1}}]:view(t.shape)
end

local function same_tensor(want, got)
  if not st.is_tensor(got) then return false end
  if BYTES[got.dtype] then got = got:to(BYTES[got.dtype]) end
  return got.dtype == want.dtype and got.device == want.device and
         tostring(got.shape) == tostring(want.shape) and
         (want.device ~= "cpu" or
          st.allclose(want, got, {equal_nan = true}))
end

local function same(want, got)
  if st.is_tensor(want) then
    local ok, equal = pcall(same_tensor, want, got)
    return ok and equal
  elseif type(want) == "table" then
    for k, v in pairs(want) do
      if not same(v, type(got) == "table" and got[k]) then return false end
    end
    return true
  end
  return want == got or want ~= want
end

--- What the call gives with the tensor that make returns in a place.
local function run(o, i, path, make)
  local c = calls.make(o, i)
  local ok, t = pcall(make, calls.get(c.list, path))
  if not ok then return nil end
  calls.set(c.list, path, t)
  st.manual_seed(3)
  return {pcall(o.object, unpack(c.list, 1, c.n))}, t
end

local function check(o, i, path, wrong)
  local dtype = DTYPES[i % #DTYPES + 1]
  local got = run(o, i, path, function(x)
    assert(x.device == "cpu" and not x:is_complex())
    return packed(x, dtype)
  end)
  if not got then return end
  local where = ("%s, case %d, argument %s: "):format(o.name, i,
                                                      table.concat(path, "."))
  if not got[1] then
    local why = tostring(got[2]):gsub("\n.*", "")
    if not why:find(dtype, 1, true) then wrong[#wrong + 1] = where .. why end
    return
  end
  local want = run(o, i, path, function(x)
    return packed(x, dtype):to(BYTES[dtype])
  end)
  if DIFFERENT[o.name] or want[1] and same({unpack(want, 2)},
                                           {unpack(got, 2)}) then
    return
  end
  wrong[#wrong + 1] = where .. "gives something else"
end

--- Case i with a dtype as argument `at`; its results are in a list.
local function call_with(o, i, at, dtype)
  local c = calls.make(o, i)
  if not o.args[at].keyword then
    c.list[at] = dtype
  else
    if type(c.list[c.n]) ~= "table" or st.is_tensor(c.list[c.n]) then
      c.n = c.n + 1
      c.list[c.n] = {}
    end
    c.list[c.n][o.args[at].name] = dtype
  end
  st.manual_seed(3)
  local got = {pcall(o.object, unpack(c.list, 1, c.n))}
  if os.getenv "WALK_TRACE" then print(o.name, dtype, got[1], got[2]) end
  return got[1], got[1] and {unpack(got, 2)} or got[2]
end

describe("An operator of integers of fewer than eight bits", function()
  setup(function() st.warnings(false) end)
  teardown(function() st.warnings(true) end)

  it("refuses them, or does what it does of bytes", function()
    local wrong, count = {}, 0
    for _, o in ipairs(operators.overloads()) do
      for i = 1, CASES do
        st.manual_seed(3)
        local plain = calls.make(o, i)
        local places = calls.places(plain.list)
        for _, path in ipairs(pcall(plain.run) and places or {}) do
          check(o, i, path, wrong)
          count = count + 1
        end
      end
    end
    assert.same({}, wrong)
    assert.is_true(count > 2000)
  end)

  it("that takes a dtype makes them, or refuses", function()
    local wrong, count = {}, 0
    for _, o in ipairs(operators.overloads()) do
      for at, a in ipairs(o.args) do
        local i = a.type:find "^ScalarType" and 1 or TRIES + 1
        while i <= TRIES and not call_with(o, i, at, "int8") do i = i + 1 end
        if i <= TRIES then
          local ok, got = call_with(o, i, at, "int4")
          count = count + 1
          if ok then
            for _, t in ipairs(operators.tensors_of(got, {})) do tostring(t) end
          elseif not tostring(got):find("int4", 1, true) then
            wrong[#wrong + 1] = o.name .. ": " .. tostring(got)
          end
        end
      end
    end
    assert.same({}, wrong)
    assert.is_true(count > 60)
  end)
end)
