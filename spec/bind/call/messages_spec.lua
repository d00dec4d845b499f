--- What a call says that does not fit its operator: in the words of Lua, not
-- in the types of schemas.
-- axes: lua
-- sampled: 3

local core = require "strided.core"
local st = require "strided"
local tensors = require "spec.support.tensors"

local x = st.ones(2, 3)

local failure, raises = tensors.failure, tensors.raises

describe("A wrong argument", function()
  local lib

  setup(function() lib = st.library "specmessages" end)
  teardown(function() lib:close() end)

  -- the type in a schema, a wrong value, what is said
  local rows = {
    {"Tensor", "a", "a Tensor, got string 'a'"},
    {"Tensor?", "a", "a Tensor or nil, got string 'a'"},
    {"Tensor[]", 3, "a list of Tensors, got number 3"},
    {"Tensor[]", {"a"}, "a list of Tensors, element 1 is string 'a'"},
    {"Tensor?[]", {x, 7}, "a list of Tensors, element 2 is number 7"},
    {"int", "a", "an integer, got string 'a'"},
    {"int", 2.5, "an integer, got number 2.5"},
    {"int?", true, "an integer or nil, got true"},
    {"int[]", 2.5, "a list of integers, got number 2.5"},
    {"int[]", {1, "b"}, "a list of integers, element 2 is string 'b'"},
    {"int[]", {1, 2.5}, "a list of integers, element 2 is number 2.5"},
    {"int[1]", "a", "an integer or a list of integers, got string 'a'"},
    {"int[2]", false, "an integer or a list of 2, got false"},
    {"int[2]?", x, "an integer, a list of 2 or nil, got Tensor"},
    {"float", "a", "a number, got string 'a'"},
    {"float[]", 3, "a list of numbers, got number 3"},
    {"float[]", {true}, "a list of numbers, element 1 is true"},
    {"bool", 1, "true or false, got number 1"},
    {"bool[3]", 1, "true or false or a list of 3, got number 1"},
    {"str", 1, "a string, got number 1"},
    {"str?", {}, "a string or nil, got table"},
    {"Scalar", {}, "a number, got table"},
    {"Scalar[]", 1, "a list of numbers, got number 1"},
    {"complex", "i", "a number, got string 'i'"},
    {"ScalarType", 3, "a dtype, got number 3"},
    {"ScalarType?", "int9", "a dtype or nil, got string 'int9'"},
    {"Layout", "sparse", "'strided', got string 'sparse'"},
    {"MemoryFormat", "nhwc", "a memory format, got string 'nhwc'"},
    {"Device", "cuda", "a device, got string 'cuda'"},
    {"Generator", 3, "a Generator, which st.Generator() makes, got number 3"},
    {"Dim", "a", "a dimension, got string 'a'"},
    {"Dim[]", 1.5, "a list of dimensions, got number 1.5"},
    {"Dim[1]?", "a", "a dimension, a list of dimensions or nil, got string"},
    {"Index", print, "an index, got function"},
    {"End", "a", "an index, got string 'a'"},
    {"int reduction", "avg", "'none', 'mean' or 'sum', got 'avg'"},
    {"int reduction", true, "'none', 'mean' or 'sum', got true"},
  }
  for i, row in ipairs(rows) do
    it("for " .. row[1] .. " is told what is allowed, row " .. i, function()
      local name = "takes" .. i
      local arg = row[1]:find " " and row[1]:match " (.*)" or "value"
      lib:def(("%s(Tensor self, %s %s) -> Tensor"):format(
        name, row[1]:match "^%S+", arg), function(t) return t end)
      local text = name .. ": argument '" .. arg .. "' must be " .. row[3]
      local op = st.ops.specmessages[name]
      raises(text, function() op(x, row[2]) end)
      raises("\n  for example st.ops.specmessages." .. name .. "(x, ", op, x,
             row[2])
      local why = failure(op, x, row[2])
      for _, word in ipairs {"ScalarType", "Dim", "%[%]", "Tensor%?", "Scalar",
                             "MemoryFormat"} do
        assert.is_nil(why:find(word), why)
      end
    end)
  end

  it("is told the dtypes and the most similar one", function()
    local list = "\n  the dtypes are uint8, int8, int16, int32, int64, "
                 .. "float16, float32, float64, complex64, complex128, bool, "
                 .. "bfloat16"
    for given, similar in pairs {flaot32 = "float32", foat64 = "float64",
                                 ["torch.int32"] = "int32", Int64 = "int64",
                                 booll = "bool"} do
      local text = "did you mean '" .. similar .. "'?" .. list
      for _, f in ipairs {
        function() st.zeros(2, {dtype = given}) end,
        function() st.tensor({1}, {dtype = given}) end,
        function() st.set_default_dtype(given) end,
        function() x:to(given) end,
        function() x:sum {dtype = given} end,
      } do
        raises(given .. "'; " .. text, f)
      end
    end
    raises("'complex256'" .. list, st.zeros, 2, {dtype = "complex256"})
  end)

  it("is told the devices", function()
    raises("zeros: argument 'device' must be a device, got string 'cuda'\n  " ..
           "the devices are cpu, meta\n  for example st.zeros({2, 3}, " ..
           "{device = \"cpu\"})", st.zeros, 2, {device = "cuda"})
    raises("to: argument 1 must be a dtype, a device, a Tensor or nil, got " ..
           "string 'cuda'\n  the dtypes are", function() x:to "cuda" end)
    raises("\n  the devices are cpu, meta\n", function() x:to "cuda" end)
  end)

  it("is told the memory formats", function()
    raises("\n  the memory formats are contiguous_format, preserve_format, " ..
           "channels_last, channels_last_3d\n  for example x:clone(" ..
           "{memory_format = \"contiguous_format\"})",
           function() x:clone {memory_format = "nhwc"} end)
  end)

  -- call, what is said
  local calls = {
    {function() x:add "a" end,
     "add: argument 'other' must be a Tensor or a number, got string 'a'\n" ..
     "  for example x:add(other)\n              x:add(0.5)"},
    {function() x:add() end,
     "add: argument 'other', a Tensor or a number, is missing\n  for example"},
    {function() st.add(1, 2) end, "add: needs a Tensor among its arguments"},
    {function() x:sum "a" end, "sum: argument 'dim' must be a dimension, a " ..
     "list of dimensions or nil, got string 'a'\n  for example x:sum(1)"},
    {function() x:sum(1, true, 3) end,
     "sum: takes at most 2 arguments by position, got 3"},
    {function() st.sum(x, {1}, true, 3) end,
     "sum: takes at most 3 arguments by position, got 4"},
    {function() x:abs(1) end,
     "abs: takes at most 0 arguments by position, got 1\n  for example " ..
     "x:abs()"},
    {function() x:abs {axis = 1} end,
     "abs: has no argument 'axis'; it takes out\n  for example x:abs()"},
    {function() st.full({2}, 1, {dtyp = "int8"}) end,
     "full: has no argument 'dtyp'; it takes size, fill_value, dtype, "},
    {function() x:sum {1, keepdim = 1} end,
     "sum: argument 'keepdim' must be true or false, got number 1\n  for " ..
     "example x:sum(1, {keepdim = true})"},
    {function() x:add(x, {out = 3}) end,
     "add: argument 'out' must be a Tensor, got number 3\n  for example " ..
     "x:add(other, {out = out})"},
    {function() st.cat(x) end, "cat: argument 'tensors' must be a list of " ..
     "Tensors, got Tensor\n  for example st.cat({x, y})"},
    {function() st.zeros("a") end, "zeros: argument 'size' must be a list " ..
     "of integers, got string 'a'\n  for example st.zeros({2, 3})"},
    {function() st.ops.aten.add.Tensor(x, "a") end,
     "\n  for example st.ops.aten.add.Tensor(x, other)"},
    {function() st.dropout(x, {p = "a"}) end,
     "\n  for example st.dropout(x, {p = 0.5})"},
    {function() st.mode(print, function() end) end,
     "mode: argument 'self' must be a Tensor, got function; " ..
     "st.dispatch_mode(fn, body) runs body in a dispatch mode\n  for " ..
     "example st.mode(x)"},
    {function() st.tensor({1, 2}):mean() end,
     "mean: the mean of int64 needs a floating point or complex dtype, such " ..
     "as {dtype = \"float32\"}"},
  }
  for i, row in ipairs(calls) do
    it("is told a call that fits, row " .. i,
       function() raises(row[2], row[1]) end)
  end

  it("is never told the type of a schema, by any operator", function()
    local words = {"ScalarType", "MemoryFormat", "Scalar", "Dim%f[^%w]",
                   "int%[", "float%[", "bool%[", "Tensor%[", "Tensor%?",
                   "Layout", "SymInt", "aten::", "declared as"}
    local n = 0
    for _, full in ipairs((core.operators())) do
      local name = full:match "^aten::(.*)$"
      for _, args in ipairs(name and {{print}, {x, print}, {x, x, print},
                                      {x, 1, print}, {x, {zzz = 1}}} or {}) do
        local ok, why = pcall(st.ops.aten[name], (unpack or table.unpack)(args))
        if not ok and type(why) == "string" then
          n = n + 1
          for _, word in ipairs(words) do
            assert.is_nil(why:find(word), why)
          end
        end
      end
    end
    assert.is_true(n > 1000)
  end)
end)

describe("An index out of range", function()
  local logits = st.rand(3, 4)
  -- call, what is said
  local rows = {
    {function() st.nll_loss(logits, st.tensor {0, 1, 2}) end,
     "nll_loss: class 0 is out of range for 4 classes; classes count from 1"},
    {function() st.nll_loss(logits, st.tensor {1, 2, 5}) end,
     "nll_loss: class 5 is out of range for 4 classes; classes count from 1"},
    {function() st.cross_entropy_loss(logits, st.tensor {0, 1, 2}) end,
     "cross_entropy_loss: class 0 is out of range for 4 classes; classes " ..
     "count from 1"},
    {function() st.nn.CrossEntropyLoss()(logits, st.tensor {1, 0, 2}) end,
     "class 0 is out of range for 4 classes; classes count from 1"},
    {function()
      st.nll_loss(logits, st.tensor {0, 1, 4}, nil, "mean", -100, {base = 0})
    end, "class 4 is out of range for 4 classes; classes count from 0"},
    {function() st.one_hot(st.tensor {0, 2}) end,
     "one_hot: class 0 is out of range for 2 classes; classes count from 1"},
    {function() st.embedding(logits, st.tensor {0}) end,
     "embedding: index 0 is out of range for dimension 1 with size 3; " ..
     "indices count from 1"},
    {function() logits:index_select(2, st.tensor {0}) end,
     "index_select: index 0 is out of range for dimension 2 with size 4; " ..
     "indices count from 1"},
    {function() logits:gather(1, st.tensor {{0}}) end,
     "index 0 is out of range for dimension 1 with size 3; indices count " ..
     "from 1"},
  }
  for i, row in ipairs(rows) do
    it("says from where one counts, row " .. i,
       function() raises(row[2], row[1]) end)
  end
end)
