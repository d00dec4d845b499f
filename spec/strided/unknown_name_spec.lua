--- Names that are not there: synonyms work, others say what to write.
-- axes: lua lua5.2

local st = require "strided"
local build = require "spec.support.build"
local names = require "strided.name.unknown_name"
local raises = require("spec.support.tensors").raises

local x = st.tensor {{1, -2}, {3, 4}}

local function get(owner, name) return function() return owner[name] end end

describe("A synonym", function()
  for synonym, name in pairs(names.synonyms) do
    it(synonym .. " is the operator " .. name, function()
      assert.equal(x[name], x[synonym])
      assert.is_function(x[name])
    end)
  end
  for synonym, name in pairs(names.functions) do
    it(synonym .. " is the function " .. name, function()
      assert.equal(st[name], st[synonym])
      assert.is_not_nil(st[name])
    end)
  end
  for method, dtype in pairs(names.casts) do
    it(method .. " converts to " .. dtype, function()
      assert.equal(dtype, tostring(x[method](x).dtype))
    end)
  end

  it("computes what it stands for", function()
    assert.is_true(x:multiply(2):equal(st.tensor {{2, -4}, {6, 8}}))
    assert.is_true(st.absolute(x):equal(st.tensor {{1, 2}, {3, 4}}))
    assert.is_true(x:clip(0, 3):equal(st.tensor {{1, 0}, {3, 3}}))
    assert.same({{1, -2}, {3, 4}}, x:tolist())
    assert.equal(4, x:nElement())
  end)
end)

describe("An unknown name", function()
  local ROWS = {
    {st, "svdd", "st has no 'svdd'"},
    {st, "softmx", "st has no 'softmx': did you mean softmax, softmin?"},
    {st, "zeross", "did you mean zeros"},
    {st, "linspcae", "did you mean linspace"},
    {st, "laod", "did you mean load"},
    {st, "qqqqqqqqqqqqqq", 'st.help "absent" what is not there'},
    -- two letters off, and the first one among them
    {st, "hubba", 'st.help "absent" what is not there'},
    -- what the library does not have
    {st, "sparse_coo_tensor", "there are no sparse tensors: x:index_add("},
    {x, "to_sparse", "there are no sparse tensors"},
    {x, "to_sparse_csr", "there are no sparse tensors"},
    {st, "vmap", "there is no vmap: operators take batches"},
    {st, "func", "st.autograd"}, {st, "compile", "write st.fuse(fn)"},
    {st, "jit", "write st.fuse(fn)"},
    {st, "quantize_per_tensor", "there are no quantized tensors"},
    {x, "dequantize", "there are no quantized tensors"},
    {st.nn, "quantized", "there are no quantized tensors"},
    {st, "CubicSpline", "st.interp(x, xp, fp)"}, {st, "odeint", "equations"},
    {st, "nested_tensor", "pad_sequence"}, {st, "onnx", ".safetensors"},
    {st, "distributed", "strided-mpi"}, {st, "read_parquet", "st.read_csv"},
    {x, "shap", "a tensor has no 'shap': did you mean shape?"},
    {x, "requires_gard", "did you mean requires_grad"},
    {x, "numpy", "t:totable()"},
    {x, "cmul", "torch7 changes the tensor; write t:mul_(...), or t:mul(...)"},
    {st, "FloatTensor", 'write st.empty(2, 3, {dtype = "float32"})'},
    {st.nn, "Liner", "st.nn has no 'Liner': did you mean Linear?"},
    {st.nn, "Conv9", "did you mean Conv1d, Conv2d, Conv3d?"},
    {st.nn, "functional", "the functions are operators"},
    {st.nn, "functional", 'st.help "functional" lists them'},
    {st.optim, "AdmaW", "st.optim has no 'AdmaW': did you mean AdamW, "},
  }
  for _, name in ipairs {
    "sparsemax", "sparsity", "quantizer", "nestedness", "displines", "h5x",
    "parquetry", "order", "unnested", "odes", "vmapper", "requantize",
  } do
    it(name .. " is no name of what is absent", function()
      local ok, why = pcall(get(st, name))
      assert.is_false(ok)
      assert.is_nil(why:find("there is no ", 1, true) or
                    why:find("there are no ", 1, true), why)
    end)
  end

  for _, row in ipairs(ROWS) do
    it(row[2] .. " says what to write", function()
      raises({row[3]}, get(row[1], row[2]))
    end)
  end

  it("is reported at the caller's line", function()
    local f = get(x, "shap")
    local line = debug.getinfo(f, "S").linedefined
    raises({"unknown_name_spec.lua:" .. line .. ": "}, f)
  end)

  it("is nil after an underscore, in st.ops and by rawget", function()
    assert.is_nil(x._name)
    assert.is_nil(st._name)
    assert.is_nil(st.ops.aten.no_such_operator)
    assert.is_nil(rawget(st, "no_such_name"))
  end)

  it("of torch7 that would return a new tensor is refused", function()
    raises({"fill: torch7 changes the tensor; write t:fill_(...), or " ..
            "st.full_like(...) for a new one"}, function() x:fill(3) end)
    raises({"zero: ", "write t:zero_(...)"}, function() x:zero() end)
    assert.is_true(st.fill(x, 3):equal(st.full({2, 2}, 3)))
  end)

  it("of a method of modules elsewhere says what to write", function()
    local module = st.nn.Linear(2, 3)
    for name, text in pairs {
      updateOutput = "write module(x)", zeroGradParameters = "zero_grad",
      evaluate = "module:eval()", get = "module[i]", cuda = "cpu and meta",
    } do
      raises({name .. ": ", text}, function() module[name](module) end)
    end
    assert.is_nil(module.no_such_field)
    raises({"SGD: the options must be a table, got number; pass {lr = 0.1}"},
           function() st.optim.SGD(module:parameters(), 0.1) end)
    local layers = st.nn.Sequential():add(module):append(st.relu)
    assert.same({2}, {#layers})
    assert.is_true(layers(st.ones(2)):equal(st.relu(module(st.ones(2)))))
    raises({"Sequential: layer 3 must be a module or a function, got number"},
           function() layers:add(1) end)
  end)

  it("costs nothing before one is looked up", function()
    assert.equal("nil\ttable\n", build.output(build.lua .. [[ -e '
      local st = require "strided"
      local _ = st.nn.Linear(2, 3).bias, st.optim.SGD, st.autograd.vjp
      local before = package.loaded["strided.name.unknown_name"]
      pcall(function() return st.no_such_name end)
      print(before, type(package.loaded["strided.name.unknown_name"]))']]))
  end)

  for name, text in pairs(names.advice) do
    it("has advice: " .. name, function()
      assert.is_nil(names.synonyms[name] or names.functions[name])
      assert.is_true(#text > 10)
    end)
  end
end)
