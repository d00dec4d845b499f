--- Keywords in the same table as a list: st.zeros {2, 3, dtype = "int64"}.
-- axes: lua lua5.2

local st = require "strided"
local tensors = require "spec.support.tensors"

local x = st.tensor {{1, 2, 3}, {4, 5, 6}}

local dtype, raises = tensors.dtype, tensors.raises
local unpack = unpack or table.unpack

local function refuses(text, f) raises({text}, f) end

describe("A list with keywords", function()
  it("gives the sizes and the options of a factory", function()
    local z = st.zeros {2, 3, dtype = "int64"}
    assert.equal("int64", dtype(z))
    assert.same({2, 3}, {z:size(1), z:size(2)})
  end)

  it("gives the dimensions and the options of a reduction", function()
    local s = x:sum {1, keepdim = true}
    assert.is_true(s:equal(st.tensor {{5, 7, 9}}))
    assert.is_true(x:sum({1, 2, dtype = "float64"}):equal(
                   st.tensor(21, {dtype = "float64"})))
  end)

  it("gives tensors and the dimension to join them", function()
    assert.same({2, 6}, {st.cat({x, x, dim = 2}):size(1),
                         st.cat({x, x, dim = 2}):size(2)})
    assert.equal(4, st.cat({x, x, dim = 1}):size(1))
  end)

  it("gives the elements and the options of a tensor", function()
    assert.equal("float32", dtype(st.tensor {1, 2, dtype = "float32"}))
    local m = st.tensor {{1, 2}, {3, 4}, dtype = st.float64,
                         requires_grad = true}
    assert.equal("float64", dtype(m))
    assert.is_true(m.requires_grad)
    assert.equal("int8", dtype(st.tensor {dtype = "int8"}))
  end)

  it("may have NumPy's names", function()
    assert.is_true(x:sum({axis = 1, keepdims = true}):equal(
                   st.tensor {{5, 7, 9}}))
    assert.is_true(x:flip({axis = {2}}):equal(
                   st.tensor {{3, 2, 1}, {6, 5, 4}}))
    assert.is_true(st.cat({x, x, axis = 1}):equal(st.cat({x, x}, 1)))
  end)

  it("may come from table.pack", function()
    local z = st.zeros {2, 3, n = 2}
    assert.equal(6, z:numel())
    assert.is_true(st.tensor({1, 2, n = 2}):equal(st.tensor {1, 2}))
  end)

  it("may be long", function()
    local list = {}
    for i = 1, 1000 do list[i] = i end
    list.dtype = "int16"
    assert.equal("int16", dtype(st.tensor(list)))
    list.dtype = nil
    list.dtpye = "int16"
    refuses("tensor: has no argument 'dtpye'", function() st.tensor(list) end)
  end)

  local REFUSED = {
    {"zeros: has no argument 'nonsense'",
     function() st.zeros {2, 3, nonsense = 1} end},
    {"sum: argument 'dim' is given twice",
     function() x:sum {1, dim = 2} end},
    {"sum: argument 'dim' is given twice",
     function() x:sum({1}, {dim = 2}) end},
    {"sum: argument 'dim' is given twice",
     function() x:sum {dim = 1, axis = 2} end},
    {"sum: argument 'dim' is given twice", function() x:sum {1, axis = 2} end},
    {"abs: has no argument 'axis'", function() x:abs {axis = 2} end},
    {"tensor: has no argument 'nonsense'",
     function() st.tensor {1, 2, nonsense = 1} end},
    {"tensor: the table [1] has names as keys",
     function() st.tensor {{1, 2, dtype = "int8"}, {3, 4}} end},
    {"tensor: the table of elements has names as keys",
     function() st.tensor({1, dtype = "int8"}, {dtype = "int8"}) end},
    {"the table of elements has names as keys",
     function() st.zeros(2)[{}] = {1, 2, dtype = "int8"} end},
    {"cat: argument 'tensors' must be a list of Tensors, got a table with " ..
     "other keys; keywords go into the last argument",
     function() st.cat({x, x, dim = 1}, 2) end},
    {"sum: a list must have no nil and no other keys, but element 1 is nil",
     function() x:sum {[0] = 1} end},
    {"sum: a keyword must be a string, got number",
     function() x:sum {dim = 1, [7] = 1} end},
    {"sum: a keyword must be a string, got boolean",
     function() x:sum {keepdim = true, [true] = 1, dim = 1} end},
  }
  for _, row in ipairs(REFUSED) do
    it("is refused: " .. row[1], function() refuses(row[1], row[2]) end)
  end

  it("has no nil", function()
    local list = {1}
    list[3] = 3
    refuses("tensor: a list must have no nil and no other keys, but element " ..
            "[2] is nil", function() st.tensor(list) end)
    refuses("tensor: a list must have no nil and no other keys, but element " ..
            "[1][2] is nil", function() st.tensor {list} end)
    refuses("zeros: a list must have no nil and no other keys, but element " ..
            "2 is nil", function() st.zeros(list) end)
  end)
end)

describe("An empty table, the last argument", function()
  it("has no keywords, as if all of their values were nil", function()
    local function same(f, ...)
      st.manual_seed(7)
      local expected = f(...)
      st.manual_seed(7)
      local n, list = select("#", ...), {...}
      list[n + 1] = {generator = nil}
      assert.is_true(f(unpack(list, 1, n + 1)):equal(expected))
    end
    same(st.rand, {3})
    same(st.randn, {2, 2})
    same(st.randperm, 5)
    same(st.randint, 9, {3})
    same(st.randint, 4, 9, {3})
    same(st.multinomial, st.ones(5), 2)
    same(st.multinomial, st.ones(5), 2, true)
    same(st.add, x, 1)
    same(x.uniform_, x:to "float32", 1, 2)
  end)

  it("is a list where an argument can be one", function()
    assert.equal(21, x:sum({}):item())
    assert.equal(0, st.ones({}).ndim)
    refuses("permute: 0 dimensions are given", function() x:permute({}) end)
  end)

  it("is neither a tensor nor a number", function()
    refuses("add: argument 'other' must be a Tensor or a number, got table",
            function() x:add({}) end)
    refuses("exp: argument 'self' must be a Tensor, got table",
            function() st.exp({}) end)
    refuses("takes at most 2 arguments by position, got 3",
            function() st.dot(x[1], x[2], {1}) end)
  end)

  it("is not in the way of the next call", function()
    for _ = 1, 3 do
      assert.equal(3, st.rand({3}, {}):numel())
      refuses("rand: ", function() st.rand({3}, {7}) end)
      assert.equal("float64", dtype(st.rand({3}, {dtype = "float64"})))
    end
  end)
end)
