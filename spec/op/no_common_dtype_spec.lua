--- Every operator with two tensors whose dtypes have no common one that tensors
-- can have: an error names a dtype of theirs, not what promotion gave.
-- axes: none

local calls = require "spec.fuzz.calls"
local operators = require "spec.fuzz.operators"
local raises = require("spec.support.tensors").raises
local st = require "strided"

local unpack = unpack or table.unpack

local CASES = 3
local PAIRS = {
  {"float8_e4m3fn", "float8_e5m2"}, {"float32", "float8_e8m0fnu"},
  {"int4", "uint4"}, {"uint64", "int64"},
}

-- What an error must not name: they are none of tensors.
local OF_NO_TENSOR = {"dtype number", "dtype none", "dtype int128",
                      "and none", "none and"}

--- What case i gives when the tensors in two places have the dtypes of a pair,
-- or nil if they cannot.
local function run(o, i, places, pair)
  local c = calls.make(o, i)
  for k, path in ipairs(places) do
    local t = calls.get(c.list, path)
    local ok, changed = pcall(t.to, t:detach(), pair[k])
    if not ok then return nil end
    calls.set(c.list, path, changed)
  end
  st.manual_seed(3)
  return {pcall(o.object, unpack(c.list, 1, c.n))}
end

--- What is wrong with an error, or nil.
local function fault(o, why, pair)
  why = tostring(why):gsub("\n.*", "")
  for _, text in ipairs(OF_NO_TENSOR) do
    if why:find(text, 1, true) then return why end
  end
  if why:find("common dtype", 1, true) and
     not (why:find(pair[1], 1, true) or why:find(pair[2], 1, true)) or
     not why:find(o.short, 1, true) then
    return why
  end
end

describe("Dtypes without a common one", function()
  setup(function() st.warnings(false) end)
  teardown(function() st.warnings(true) end)

  it("are named by operators that refuse them", function()
    local wrong, count, refused = {}, 0, 0
    local function check(o, i, places)
      for _, pair in ipairs(PAIRS) do
        local got = run(o, i, places, pair)
        if got then
          count = count + 1
          if got[1] then
            for _, t in ipairs(operators.tensors_of({unpack(got, 2)}, {})) do
              tostring(t)
            end
          else
            refused = refused + 1
            local why = fault(o, got[2], pair)
            wrong[#wrong + 1] = why and ("%s, case %d, %s and %s: %s"):format(
              o.name, i, pair[1], pair[2], why)
          end
        end
      end
    end
    for _, o in ipairs(operators.overloads()) do
      for i = 1, CASES do
        st.manual_seed(3)
        local plain = calls.make(o, i)
        local places = calls.places(plain.list)
        if #places > 1 and pcall(plain.run) then
          for k = 2, math.min(#places, 4) do
            check(o, i, {places[1], places[k]})
            check(o, i, {places[k], places[1]})
          end
        end
      end
    end
    assert.same({}, wrong)
    assert.is_true(count > 5000 and refused > 1000)
  end)

  it("are named by a reduction that begins with a complex number", function()
    local lib = st.library("no_common_dtype", "DEF")
    lib:reduction("total(Tensor x) -> Tensor",
                  {combine = "a + b", init = st.complex(0, 1)})
    local total = st.ops.no_common_dtype.total
    raises({"total", "float8_e4m3fn", "no common dtype"}, total,
           st.ones({3}, {dtype = "float8_e4m3fn"}))
    assert.equal(st.complex(3, 1), total(st.ones(3)):item())
    lib:close()
  end)

  it("are integers that ldexp makes floats", function()
    local t = st.ldexp(st.tensor({3, 5}, {dtype = "uint64"}),
                       st.tensor({-1, 2}, {dtype = "int64"}))
    assert.equal("float32", t.dtype)
    assert.same({1.5, 20}, t:totable())
  end)
end)
