--- Lua's operators on tensors: text, comparisons, truth, loops.
-- axes: lua lua5.2

local st = require "strided"
local raises = require("spec.support.tensors").raises

local has_integers = rawget(math, "type") ~= nil -- Lua 5.3 and later
local is_5_1 = _VERSION == "Lua 5.1"

local x = st.tensor {{1, 2, 3}, {4, 5, 6}}
local v = st.tensor {1, 2, 3}
local l = st.tensor(1.5)

describe("..", function()
  if not pcall(function() return "" .. l end) then
    it("is refused where Lua's own is not safe", function()
      for _, t in ipairs {l, x, x.shape} do
        raises({"..: Lua 5.4.", "write t:item() for a number, tostring(t) for "
                .. "a text"}, function() return "a" .. t end)
      end
    end)
    return
  end

  it("appends the number of a 0-dim tensor", function()
    assert.equal("loss 1.5", "loss " .. l)
    assert.equal("1.5 is the loss", l .. " is the loss")
    assert.equal("a1.5b1.5c", "a" .. l .. "b" .. l .. "c")
    assert.equal("11.5", 1 .. l)
    assert.equal("1.51.5", l .. l)
  end)

  -- expression of the element, dtype, text
  for _, row in ipairs {
    {1 / 3, "float32", "0.3333333"}, {0.1, "float32", "0.1"},
    {1 / 3, "float64", "0.33333333333333"}, {1 / 3, "float16", "0.3333"},
    {1 / 3, "bfloat16", "0.334"}, {7, "int64", "7"}, {7, "float32", "7"},
    {true, "bool", "true"}, {0 / 0, "float32", "nan"},
    {st.int "9007199254740993", "int64", "9007199254740993"},
    {st.complex(1, -2), "complex64", "1-2i"},
  } do
    it(("writes the digits of %s: %s"):format(row[2], row[3]), function()
      local text = "" .. st.tensor(row[1], {dtype = row[2]})
      assert.equal(row[3], (text:gsub("^%-nan", "nan")))
    end)
  end

  it("appends other tensors as tostring writes them, and shapes", function()
    assert.equal("v: tensor([1, 2, 3])", "v: " .. v)
    assert.equal("{2, 3} tensor([1, 2, 3])", x.shape .. " " .. v)
    assert.equal("loss -1.5", "loss " .. st.tensor(st.complex(0, -1.5)):conj()
                                                   :imag():neg())
  end)

  it("refuses what has no text", function()
    for value, name in pairs {[true] = "boolean", [print] = "function"} do
      raises({"..: cannot join a " .. name, "write tostring(value)"},
             function() return l .. value end)
      raises({"..: cannot join a " .. name},
             function() return value .. x.shape end)
    end
  end)
end)

describe("A comparison with < or <=", function()
  local two, three = st.tensor(2), st.tensor(3.0)

  it("of single numbers gives a boolean", function()
    assert.is_true(two < three)
    assert.is_false(two > three)
    assert.is_true(two <= two)
    assert.is_true(three >= two)
    assert.is_true(st.tensor {2} < three)
    assert.is_false(st.tensor(0 / 0) < two)
  end)

  if not is_5_1 then
    it("takes a number", function()
      assert.is_true(two < 3)
      assert.is_true(two > 1.5)
      assert.is_true(1 < two)
      assert.is_true(2 <= two)
      assert.is_false(two >= 2.5)
    end)
  else
    it("of a tensor and a number is refused by Lua", function()
      raises({"attempt to compare"}, function() return two < 3 end)
    end)
  end

  it("of more elements says what to write", function()
    raises({"< and > compare single numbers", "[3] and []", "write a:lt(b) "
            .. "or a:gt(b)"}, function() return v < two end)
    raises({"<= and >= compare", "[] and [3]", "a:le(b) or a:ge(b)"},
           function() return v >= two end)
  end)
end)

describe("A tensor as a condition", function()
  it("is true, whatever it holds; is_nonzero gives a boolean", function()
    assert.is_truthy(v:lt(0):any())
    assert.is_false(v:lt(0):any():is_nonzero())
    assert.is_true(v:gt(2):any():is_nonzero())
    assert.is_false(v:gt(2):all():is_nonzero())
    assert.is_false(v:lt(0):any():item())
    assert.is_true(st.is_nonzero(st.tensor {3}))
    assert.is_true(st.is_nonzero(st.tensor(0 / 0)))
    assert.is_false(st.is_nonzero(st.tensor(-0.0)))
    assert.is_true(st.is_nonzero(st.tensor(st.complex(0, 1))))
    raises({"is_nonzero: self must have exactly one element, its shape is "
            .. "[3]: reduce it with any or all first"}, st.is_nonzero, v)
    raises({"exactly one element, its shape is [0]"}, st.is_nonzero,
           st.zeros(0))
  end)

  it("is never equal to a number with ==", function()
    assert.is_false(v:sum() == 6)
    assert.is_true(v:sum():item() == 6)
  end)

  it("is equal with == to itself alone, with a warning once", function()
    local texts = {}
    local before = st.warnings(function(text) texts[#texts + 1] = text end)
    local same = v == v
    local other = v == st.tensor {1, 2, 3}
    local again = v == v:clone()
    st.warnings(before)
    assert.is_true(same)
    assert.is_false(other)
    assert.is_false(again)
    assert.is_true(#texts <= 1)
    if texts[1] then
      assert.matches("write a:equal%(b%) to compare all elements", texts[1])
    end
  end)
end)

describe("A loop over a tensor", function()
  it("gives rows with iter", function()
    local rows = {}
    for row, i in x:iter() do rows[i] = row:totable() end
    assert.same({{1, 2, 3}, {4, 5, 6}}, rows)
    local numbers = {}
    for n in v:iter() do numbers[#numbers + 1] = n end
    assert.same({1, 2, 3}, numbers)
    local flags = {}
    for flag, i in v:eq(2):iter() do flags[i] = flag end
    assert.same({false, true, false}, flags)
    for _ in st.zeros(0):iter() do error "there is no row" end
    raises({"a 0-dim tensor has no length"}, function() l:iter() end)
  end)

  it("works with pairs where Lua calls its metamethod", function()
    if is_5_1 then
      raises({"bad argument #1 to ", "table expected"}, pairs, v)
      return
    end
    local seen = {}
    for i, n in pairs(v) do seen[i] = n end
    assert.same({1, 2, 3}, seen)
  end)

  it("with ipairs works or says what to write", function()
    local seen = {}
    local ok, why = pcall(function()
      for i, n in ipairs(v) do seen[i] = n end
    end)
    if ok then
      assert.same({1, 2, 3}, seen)
    elseif has_integers then
      assert.truthy(why:find("; to loop over a tensor write: for row in "
                             .. "t:iter() do", 1, true), why)
    else
      assert.matches("bad argument #1 to 'ipairs'", why)
    end
  end)
end)

describe("A subscript", function()
  -- subscript, what the error says
  for _, row in ipairs {
    {"::-1", "t:flip(dim) gives a copy in reverse order"},
    {{{-1, 1, -1}}, "t:flip(dim) gives a copy in reverse order"},
    {{dim = 1}, "a list of items has no names; write t[{{}, 2}]"},
    {{{first = 1, last = 2}}, "a list of items has no names"},
    {{1, [3] = 2}, "index: item 2 of the list is nil; write {} for a whole "
                   .. "dimension"},
    {{{1, [3] = 2}}, "item 2 of the list is nil"},
    {3, "to loop over a tensor write: for row in t:iter() do"},
  } do
    it("that is refused says what to write: " .. row[2], function()
      raises({row[2]}, function() return x[row[1]] end)
      raises({row[2]}, function() x[row[1]] = 0 end)
    end)
  end

  it("in a table gives a tensor, a number an element of a vector", function()
    assert.equal(2, v[2])
    assert.equal("number", type(v[2]))
    assert.equal(2, v[{2}]:item())
    assert.is_true(st.is_tensor(v[{2}]))
    assert.is_true(st.is_tensor(x[{1, 2}]))
  end)
end)
