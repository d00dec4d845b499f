--- Spellings of the tutorials of PyTorch, NumPy and torch7: each works, or
-- raises an error that says what to write.
-- axes: lua

local st = require "strided"
local raises = require("spec.support.tensors").raises

local compile = loadstring or load

-- code, what an error says, or the value
local REFUSED = {
  -- PyTorch
  {"st.type(x)", "t.dtype is the name of the dtype"},
  {"x:numpy()", "t:totable() gives a table"},
  {"x.is_cuda", 'write t.device == "cuda"'},
  {"st.device 'cpu'", "a device is its name"},
  {"st.tensor {v, v}", "write st.stack(list) to join tensors"},
  {"st.tensor 'abc'", "tensor: the value is a string"},
  {"x:unsqueeze(0)", "argument 'dim' is 0, but dimensions count from 1"},
  {"x:size(0)", "dimensions, which count from 1"},
  {"st.nn.functional.relu(x)", "the functions are operators: st.relu(x)"},
  {"st.nn.View(2)", "write nn.Unflatten, nn.Flatten or x:view(...)"},
  {"x.size()", "got nothing; write a colon before a method"},
  {"x:sum().backward()", "write a colon before a method"},
  {"x(1)", "write t[i] for an element, for row in t:iter() do for a loop"},
  {"x.shape[0]", "a shape of 2 sizes counts from 1"},
  {"x:chunk(2, 2)()", "write for _, part in ipairs(list) do"},
  {"x:chunk(2, 2):sum()", "write list[1], or local a, b = unpack(list)"},
  {"x:max(2).values", "write local values, indices = t:max(dim)"},
  {"st.stride(x)", "a method: write t:stride()"},
  {"st.grad_fn", "write t.grad_fn"},
  {"st.sum {1, 2}", "got table; st.tensor(list) makes one"},
  {"st.dot(x, x)", "mm and matmul multiply matrices"},
  {"st.enumerate(v)", "write for row, i in t:iter() do"},
  {"st.no_grad()", "write function() ... end around the statements"},
  {"st.set_grad_enabled(false)", "write function() ... end around"},
  {"st.grad(st.ones(2):requires_grad_() * 2, x)", "as its sum() has"},
  {"st.autograd.functional", "write st.autograd.jacobian(fn, inputs)"},
  {"st.set_default_device 'cpu'", "write t:to(device)"},
  {"st.__version__", "write st.config().version"},
  {"st.version()", "write st.config().version"},
  {"st.utils.data", "batches are t:split(n)"},
  {"st.save({x}, 'a.npy')", "got table; write st.save(path, t)"},
  {"st.nn.SpatialMaxPooling(2)", "write nn.MaxPool2d(n)"},
  {"st.nn.Softmax()", "argument 'dim' must be an integer, got nil"},
  {"st.nn.ModuleList {{}}", "element 1 must be a module, got table"},
  {"st.nn.init.normal_(2)", "the first argument must be a tensor"},
  {"st.nn.utils.clip_grad_norm_({1}, 1)", "element 1 must be a Tensor"},
  {"st.nn.Linear(3, 4, false)", "write Linear(3, 4, {bias = false})"},
  {"st.nn.MSELoss 'sum'", "write MSELoss({reduction = \"sum\"})"},
  {"st.nn.Module:extend()", 'write nn.Module:extend "Net"'},
  {"st.nn.ReLU().parameters()", "write module:parameters() with a colon"},
  {"st.nn.Sequential(st.relu).forward(x)", "net:forward(x) with a colon"},
  {"st.nn.ReLU():parameters()()", "write for _, value in ipairs(list) do"},
  {"st.nn.Linear(3, 4):to 'int64'", "a module has floating-point or complex"},
  {"st.optim.adam(print, x)", "write optim.Adam(parameters, {lr = number})"},
  {"st.optim.lr_scheduler.StepLR()", "must be an optimizer, got nil"},
  {"st.optim.SGD({v:float()}).step()", "write optimizer:step() with a colon"},
  {"x:shape()", "write t.shape, or t:size(dim)"},
  {"x.float()", "write t:float() with a colon"},
  {"x:get_device()", "write t.device"},
  {"x:print()", "write print(t)"},
  {"v[{1, 3}]", "write t[{{first, last}}] for a range, t[st.tensor(list)]"},
  {"(function() x.shape = {3, 2} end)()", "write t:reshape(2, 3), or"},
  {"(function() x.dtype = 'int64' end)()", "write t:to(dtype)"},
  {"(function() x.data = x end)()", "write t:copy_(source) in st.no_grad"},
  {"(function() x.foo = 1 end)()", "keep it in a table of yours"},
  {"v:div_(2)", "convert the output first"},
  {"x:mm(st.ones(3, 1, {dtype = 'float64'}))", "convert one of them"},
  {"x:sum():backward()", "as after requires_grad_()"},
  {"st.save('a.npz', st.nn.Tanh())", "save(path, module:state_dict())"},
  {"st.save('a.npz', {x})", "write {name = t}"},
  {"st.nn.Sequential {fc = st.relu}", "write {{\"fc\", layer}, ...}"},
  {"st.nn.Tanh {inplac = true}", "did you mean inplace?"},
  {"st.optim.SGD({v:float()}).lr", "write optimizer.param_groups[1].lr"},
  {"(function() st.optim.SGD({v:float()}).lr = 1 end)()",
   "write optimizer.param_groups[1].lr"},
  {"st.optim.SGD({v:float()}):zero_grad {to_none = true}", "set_to_none"},
  {"st.nn.Tanh():zero_grad {to_none = true}", "set_to_none"},
  -- NumPy
  {"st.random.seed(1)", "st.manual_seed(n) seeds"},
  {"st.append(v, v)", "write st.cat {t, other}"},
  {"st.insert(v, 1, 9)", 'write st.cat {t["1:2"], other, t["3:"]}'},
  {"st.array({1, 2}, 'float64')", "write st.tensor(value, {dtype = name})"},
  {"st.array(1, 2, 3)", "write st.tensor {1, 2, 3} for elements"},
  {"st.shape(x)", "write t.shape"}, {"st.ndim(x)", "write t.ndim"},
  {"st.size(x)", "write t.shape, or t:numel()"},
  {"x.flat", "write t:flatten(), or t:view(-1)"},
  {"st.inv(x)", "write t:inverse()"},
  {"st.genfromtxt 'a.csv'", "write st.read_csv(path)"},
  {"st.fromfunction(print, {2, 2})", "write operators on whole tensors"},
  {"st.random.rand(2, 3)", "st.rand, st.randn and st.randint make tensors"},
  {"v['::-1']", "t:flip(dim) gives a copy in reverse order"},
  -- torch7
  {"st.Tensor(2, 3)", "write st.empty(2, 3) for sizes"},
  {"st.DoubleTensor(2, 3)", 'st.empty(2, 3, {dtype = "float64"})'},
  {"st.FloatStorage(3)", 'write st.empty(n, {dtype = "float32"})'},
  {"x:resize(3, 2)", "write t:resize_(2, 3), or t:reshape(3, 2)"},
  {"x:sub(1, -1)", "write t:narrow(dim, start, length)"},
  {"x:cmul(x)", "write t:mul_(...)"}, {"x:cdiv(x, x)", "write t:div_(...)"},
  {"x:csub(1)", "write t:sub_(...)"},
  {"x:apply(print)", "write operators on whole tensors"},
  {"x:map(x, print)", "write operators on whole tensors"},
  {"x:swap(x)", "write a, b = b, a"}, {"x:set(x)", "t:copy_(source)"},
  {"x:isSize(x:size())", "write t.shape == st.Size {2, 3}"},
  {"st.isTypeOf(x, 'torch.FloatTensor')", 'write t.dtype == "float32"'},
  {"st.setdefaulttensortype 'x'", "write st.set_default_dtype(dtype)"},
  {"st.tic()", "write os.clock()"}, {"st.serialize(x)", "write st.save"},
  {"st.gels(x)", "write st.linalg_lstsq(A, B)"},
  {"x:eig()", "write st.linalg_eig(t)"},
  {"st.nn.ClassNLLCriterion()", "write nn.NLLLoss"},
  {"st.class('Net')", 'write nn.Module:extend "Name"'},
  {"st.conv2(x, x)", "write st.conv2d(x, weight)"},
  {"st.nn.ReLU():get(1)", "write module[i]"},
  {"st.nn.StochasticGradient(1)", "write a loop: optimizer:zero_grad()"},
  {"st.optim.sgd(print, x)", "write optim.SGD(parameters, {lr = number})"},
  {"st.nn.SpatialConvolution(1, 6, 5, 5)", "write nn.Conv2d(inputs, outputs,"},
}

-- code of a boolean that is true
local WORKING = {
  "st.float32 == 'float32' and x.dtype == st.float32",
  "x.shape == st.ones(2, 3).shape",
  "st.Size {2, 3} == x:size()",
  "st.finfo(x.dtype).eps == 2 ^ -23",
  "st.concatenate({x, x}, {axis = 1}).shape == st.Size {4, 3}",
  "st.cat(x, x, 1).shape == st.Size {4, 3}",
  "st.vstack({v, v}).shape == st.vstack(v, v).shape",
  "#st.meshgrid(v, v) == 2",
  "st.array({1, 2, 3}):equal(v)",
  "x:astype('int64').dtype == 'int64'",
  "x:float():double().dtype == 'float64'",
  "x:sum({axis = 1, keepdims = true}).shape == st.Size(1, 3)",
  "x:nDimension() == 2 and x:nElement() == 6",
  "v:expandAs(x).shape == x.shape",
  "st.array_equal(v, v)",
  "x:any():is_nonzero()",
  "v:sum():item() == 6",
  "#v == 3 and v[-1] == 3",
  "st.flip(v, {axis = 1})[1] == 3",
  "st.multiply(v, v):equal(st.square(v))",
  "st.manualSeed(1) == nil",
  "st.zeros(2, {dtype = st.long}).dtype == 'int64'",
  "st.double == 'float64' and st.half == 'float16'",
  "x.shape[-1] == 3 and x.shape[-2] == 2 and x.shape[3] == nil",
  "x:nelement() == 6",
  "x.shape:numel() == 6 and st.Size():numel() == 1",
  "st.nn.Dropout({p = 0.2}).p == 0.2",
  "st.nn.ReLU({inplace = true})(x):equal(x) and st.nn.ReLU(true)(x):equal(x)",
  "x:split(1).parameters == nil",
  "st.setnumthreads(st.getnumthreads()) ~= 0",
  "st.optim.SGD({v:float()}):step(function() return 5 end) == 5",
}

local function run(code)
  local chunk = assert(compile("local st, x, v = ... return " .. code))
  return chunk(st, st.rand(2, 3), st.tensor {1, 2, 3})
end

describe("A spelling of another library", function()
  for _, row in ipairs(REFUSED) do
    it("says what to write: " .. row[1], function()
      raises({row[2]}, run, row[1])
    end)
  end

  for _, code in ipairs(WORKING) do
    it("works: " .. code, function() assert.is_true(run(code)) end)
  end
end)
