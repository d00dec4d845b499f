--- Messages count dimensions, indices, operands and outputs from 1, as the
-- script that reads them does.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local raises = tensors.raises

st.warnings(false)

local function ones(...) return st.ones({...}) end
local function five() return st.tensor {5} end

-- what, function, text of the error: each number is the one in the call
local ERRORS = {
  -- shape
  {"cat", function() return st.cat({ones(2, 3), ones(4, 5)}, 1) end,
   {"cat: ", "tensor number 2 has shape [4, 5]", " except in dimension 1"}},
  {"cat along 2", function() return st.cat({ones(2, 3), ones(4, 5)}, 2) end,
   {"cat: ", "tensor number 2 ", " except in dimension 2"}},
  {"stack", function()
    return st.stack {ones(2), ones(2), ones(3)}
  end, "stack: tensor number 3 has shape [3]"},
  {"dstack", function() return st.dstack {ones(2, 3), ones(4, 5)} end,
   {"dstack: ", "tensor number 2 ", " except in dimension 3"}},
  {"block_diag", function() return st.block_diag {ones(2), ones(2, 2, 2)} end,
   "block_diag: tensor number 2 "},
  {"meshgrid", function() return st.meshgrid {ones(2), ones(2, 2)} end,
   "meshgrid: tensor number 2 "},
  {"select", function() return ones(2, 3):select(2, 4) end,
   "select: index 4 is out of range for shape [2, 3] at dimension 2"},
  {"narrow", function() return ones(2, 3):narrow(2, 2, 3) end,
   {"narrow: ", "start 2 and length 3 ", " at dimension 2"}},
  {"unfold", function() return ones(2, 3):unfold(2, 5, 1) end,
   {"unfold: ", "at dimension 2"}},
  {"transpose", function() return ones(2, 3):transpose(1, 3) end,
   {"transpose: dimension 3 is out of range for 2 dimensions ",
    "(1 to 2, or -2 to -1)"}},
  {"unsqueeze", function() return ones(2, 3):unsqueeze(4) end,
   {"unsqueeze: dimension 4 is out of range for 3 dimensions ",
    "(1 to 3, or -3 to -1)"}},
  {"permute", function() return ones(2, 3):permute(2, 2) end,
   "permute: dimension 2 appears more than once"},
  {"flatten", function() return ones(2, 3):flatten(2, 1) end,
   "first dimension to flatten, 2, comes after the last, 1"},
  {"diagonal", function() return ones(2, 3):diagonal(0, 2, 2) end,
   {"diagonal: ", "got 2 and 2"}},
  {"hsplit", function() return st.hsplit(ones(2, 3), 2) end,
   {"hsplit: ", "along dimension 2"}},
  -- index
  {"index_select", function() return ones(2, 3):index_select(2, five()) end,
   "index_select: index 5 is out of range for dimension 2 with size 3"},
  {"gather", function() return ones(2, 3):gather(2, st.tensor {{4}}) end,
   "gather: index 4 is out of range for dimension 2 with size 3"},
  {"scatter", function()
    return ones(2, 3):scatter(1, st.tensor {{3}}, 1)
  end, "scatter: index 3 is out of range for dimension 1 with size 2"},
  {"index_add", function()
    return ones(2, 3):index_add(1, five(), ones(1, 3))
  end, "index_add: index 5 is out of range for dimension 1 with size 2"},
  {"index_add of another shape", function()
    return ones(2, 3):index_add(2, st.tensor {1}, ones(2, 2))
  end, {"index_add: ", "along dimension 2"}},
  {"index_fill", function() return ones(2, 3):index_fill(2, five(), 0) end,
   "index_fill: index 5 is out of range for dimension 2"},
  {"index_fill", function()
    return ones(2, 3):index_fill(2, st.tensor {4}, 1)
  end, "index_fill: index 4 is out of range for dimension 2"},
  {"a subscript", function() return ones(2, 3)[{1, 4}] end,
   "index 4 is out of range for dimension 2 of size 3"},
  {"a text subscript", function() return ones(2, 3)["1:2,7"] end,
   "index 7 is out of range for dimension 2 of size 3"},
  {"a tensor subscript", function() return ones(2, 3)[{{}, five()}] end,
   "index 5 is out of range for dimension 2 with size 3"},
  {"tensors that do not broadcast", function()
    return ones(2, 3)[{st.tensor {1, 2}, st.tensor {1, 2, 3}}]
  end, "index tensor 2 of shape [3] does not broadcast"},
  {"the third of them", function()
    local a, b = st.tensor {1, 2}, st.tensor {1, 2, 3}
    ones(2, 3, 4)[{a, a, b}] = 1
  end, "index_put_: index tensor 3 of shape [3] does not broadcast"},
  {"a mask", function()
    return ones(2, 3)[{{}, st.ones({4}, {dtype = "bool"})}]
  end, {"index: ", "does not fit self of shape [2, 3] at dimension 2"}},
  -- elementwise
  {"add", function() return ones(2, 3) + ones(2, 5) end,
   {"add: ", "sizes 3 and 5 differ at dimension 2"}},
  {"an output", function()
    local b = st.tensor {true}
    return b:square_()
  end, {"square_: ", "output 1 of dtype bool cannot hold"}},
  -- reduce and sort
  {"sum", function() return ones(2, 3):sum(3) end,
   "sum: dimension 3 is out of range for 2 dimensions"},
  {"sum twice", function() return ones(2, 3):sum {2, 2} end,
   "sum: dimension 2 appears more than once"},
  {"amax", function() return st.zeros({2, 0}):amax(2) end,
   "amax: dimension 2 of self, shape [2, 0]"},
  {"topk", function() return ones(2, 3):topk(4, 2) end,
   {"topk: ", "dimension 2 of self"}},
  {"unique_dim", function() return st.unique_dim(st.zeros({2, 0}), 1) end,
   "unique_dim: dimensions other than 1"},
  -- linalg, numeric, nn
  {"cross", function() return st.cross(ones(2, 4), ones(2, 4), 2) end,
   "cross: dimension 2 of self and other"},
  {"gradient", function() return st.gradient(ones(4, 2), {edge_order = 2}) end,
   "gradient: dimension 2 has size 2"},
  {"bincount", function() return st.bincount(st.tensor {1, -1}) end,
   "bincount: element 2 of self is -1"},
  {"glu", function() return st.glu(ones(2, 3), 2) end,
   "glu: dimension 2 of self"},
  {"pad", function() return st.constant_pad_nd(ones(2, 3), {-5, 0}) end,
   "constant_pad_nd: dimension 2 of size 3"},
  {"embedding", function() return st.embedding(ones(2, 3), five()) end,
   "embedding: index 5 is out of range for dimension 1 with size 2"},
  {"cross entropy", function()
    return st.cross_entropy_loss(ones(2, 3), st.tensor {1, 4})
  end, "cross_entropy_loss: class 4 is out of range for 3 classes"},
  -- from tables, of tensors
  {"a ragged table", function() return st.tensor {{1, 2}, {3}} end,
   "tensor: the table at [2] has 1 elements"},
  {"an element", function() return st.tensor {{1, 2}, {3, "a"}} end,
   "tensor: element [2][2] is a string"},
  {"size", function() return ones(2, 3):size(3) end,
   {"dimension 3 is out of range: ", " count from 1"}},
  -- gradients
  {"backward", function()
    local x = st.ones({2}, {requires_grad = true})
    st.autograd.backward({(x * 2):sum(), x * 2})
  end, "backward: output 2 has shape [2]"},
  {"a view of several", function()
    local x = st.ones({2, 2}, {requires_grad = true})
    local parts = (x * 1):unbind(1)
    if type(parts) ~= "table" then parts = {(x * 1):unbind(1)} end
    parts[2]:add_(1)
  end, {"add_: ", "output 2 of ", " is a view and"}},
}

describe("A message counts from 1:", function()
  for _, row in ipairs(ERRORS) do
    it(row[1], function()
      raises(row[3], row[2])
    end)
  end

  it("also in a coroutine, and in the backward pass", function()
    local co = coroutine.create(function() return ones(2, 3):sum(3) end)
    local ok, why = coroutine.resume(co)
    assert.is_false(ok)
    assert.matches("dimension 3 is out of range", why)
    local x = st.ones({2}, {requires_grad = true})
    local y = x * 2
    y:register_hook(function(g) return g:sum(2) end)
    raises("sum: dimension 2 is out of range for 1 dimension",
           function() y:sum():backward() end)
  end)

  it("operands of an iterator", function()
    raises("iterator: input 2 has dtype float64, expected float32",
           st.iterator, {
      outputs = {st.empty({2})}, inputs = {ones(2), ones(2):to "float64"},
    })
    raises("iterator: output 1 has dtype float64, expected float32",
           st.iterator, {
      outputs = {st.empty({2}, {dtype = "float64"})}, inputs = {ones(2)},
    })
  end)
end)
