--- What modules do besides calling forward: registration, traversal, hooks,
-- conversion, copies, states, containers, and their text.
-- axes: lua

local st = require "strided"
local tensors = require "spec.support.tensors"

local nn = st.nn
local unpack = unpack or table.unpack
local live, near, raises_here = tensors.live, tensors.near, tensors.raises_here

local function net_of()
  return nn.Sequential {
    {"conv", nn.Conv1d(2, 3, 2)}, {"norm", nn.BatchNorm1d(3)},
    {"act", nn.ReLU()},
  }
end

local function names_of(iterator)
  local names = {}
  for name in iterator do names[#names + 1] = name end
  return names
end

local before

setup(function() before = live() end)

-- -- Registration ------------------------------------------------------------

describe("A module registers", function()
  it("buffers, saved or not", function()
    local net = nn.Module()
    net:register_buffer("kept", st.ones(2))
    net:register_buffer("lost", st.ones(3), {persistent = false})
    net:register_buffer("later")
    assert.same({"kept", "lost"}, names_of(net:named_buffers()))
    assert.equal(2, #net:buffers())
    assert.same({"kept"}, names_of(net:named_state()))
    net.later = st.zeros(1)
    assert.same({"kept", "later"}, names_of(net:named_state()))
    assert.equal(net.lost, net:get_buffer "lost")
    raises_here("get_buffer: Module has no buffer 'mine'", net.get_buffer, net,
                "mine")
    raises_here("register_buffer: there is no option 'save'",
                net.register_buffer, net, "x", st.ones(1), {save = false})
  end)

  it("parameters and modules, checked", function()
    local net = nn.Module()
    net:register_parameter("w", nn.Parameter(st.ones(2)))
    net:register_parameter("b")
    net:register_module("inner", nn.Linear(2, 1))
    assert.same({"w", "inner.weight", "inner.bias"},
                names_of(net:named_parameters()))
    raises_here("register_parameter: 'w' must be of nn.Parameter, got a plain "
                .. "Tensor", net.register_parameter, net, "w", st.ones(2))
    raises_here("register_parameter: 'train' is a method of modules",
                net.register_parameter, net, "train", net.w)
    raises_here("register_module: a name without dots is expected, got 'a.b'",
                net.add_module, net, "a.b", nn.ReLU())
    raises_here("register_module: 'a' must be a module, got number",
                net.register_module, net, "a", 3)
  end)
end)

describe("A module finds", function()
  it("its children, and applies a function to all, these first", function()
    local net = nn.Module()
    net.a = nn.Sequential {nn.Linear(2, 2), nn.ReLU()}
    net.b = nn.Tanh()
    net.again = net.b
    assert.same({"a", "b"}, names_of(net:named_children()))
    assert.same({1, 2}, names_of(net.a:named_children()))
    assert.equal(2, #net:children())
    local seen = {}
    assert.equal(net, net:apply(function(m) seen[#seen + 1] = m end))
    assert.equal(5, #seen)
    assert.equal(net.a[1], seen[1])
    assert.equal(net.a, seen[3])
    assert.equal(net, seen[5])
    raises_here("apply: argument 'fn' must be a function, got nil", net.apply,
                net)
  end)

  it("what has a name", function()
    local net = nn.Module()
    net.a = nn.Sequential {nn.Linear(2, 2), nn.ReLU()}
    assert.equal(net, net:get_submodule "")
    assert.equal(net.a[2], net:get_submodule "a.2")
    assert.equal(net.a[1].bias, net:get_parameter "a.1.bias")
    raises_here("get_submodule: Module has no 'a.3'", net.get_submodule, net,
                "a.3")
    raises_here("get_submodule: 'a.1.bias' of Module is not a module",
                net.get_submodule, net, "a.1.bias")
    raises_here("get_parameter: 'a.1' of Module is not a parameter",
                net.get_parameter, net, "a.1")
  end)

  it("how many parameters it has", function()
    local net = nn.Sequential {nn.Linear(3, 2), nn.Linear(2, 1)}
    net[2]:requires_grad_(false)
    assert.equal(11, net:num_parameters())
    assert.equal(8, net:num_parameters {trainable = true})
  end)
end)

-- -- Hooks -------------------------------------------------------------------

describe("A hook", function()
  it("before a call sees or replaces the inputs", function()
    local layer, x = nn.Identity(), st.ones(2)
    local first = layer:register_forward_pre_hook(function(m, inputs)
      assert.equal(layer, m)
      inputs[1] = inputs[1] + 1
    end)
    local second = layer:register_forward_pre_hook(function(_, inputs)
      return inputs[1] * 3
    end)
    assert.same({6, 6}, layer(x):totable())
    first:remove()
    assert.same({3, 3}, layer(x):totable())
    first:remove()
    second:remove()
    assert.equal(x, layer(x))
    local order, once = {}, nil
    once = layer:register_forward_pre_hook(function()
      order[#order + 1] = "once"
      once:remove()
    end)
    local last = layer:register_forward_pre_hook(function()
      order[#order + 1] = "last"
    end)
    layer(x)
    layer(x)
    assert.same({"once", "last", "last"}, order)
    last:remove()
    local y = st.zeros(1)
    layer:register_forward_pre_hook(function() return {y, x} end)
    assert.equal(y, layer(x))
    raises_here("register_forward_pre_hook: the first argument must be a "
                .. "function, got nil", layer.register_forward_pre_hook, layer)
  end)

  it("after a call sees or replaces the results", function()
    local layer, seen = nn.Linear(2, 2), nil
    local see = layer:register_forward_hook(function(_, inputs, y)
      seen = {inputs[1], y}
    end)
    local x = st.ones(1, 2)
    local y = layer(x)
    assert.equal(x, seen[1])
    assert.equal(y, seen[2])
    see:remove()
    layer:register_forward_hook(function() return "one", "two" end)
    assert.same({"one", "two"}, {layer(x)})
  end)

  it("of gradients sees those of inputs and outputs", function()
    local layer = nn.Linear(3, 2)
    local x, plain, seen = st.rand(4, 3):requires_grad_(), st.rand(4, 3), nil
    layer:register_full_backward_hook(function(_, inputs, outputs)
      seen = {inputs[1], outputs[1]}
    end)
    local y = layer(x)
    assert.is_nil(seen)
    local loss = (y * y):sum()
    loss:backward()
    near(y * 2, seen[2], 1e-6)
    near((y * 2):matmul(layer.weight), seen[1], 1e-6)
    near(seen[1], x.grad, 1e-6)
    layer(plain):sum():backward() -- only parameters have gradients
    assert.is_nil(seen[1])
    assert.same({4, 2}, {seen[2]:size(1), seen[2]:size(2)})
  end)

  it("of gradients may replace them", function()
    local layer = nn.Linear(3, 2)
    local x = st.rand(4, 3):requires_grad_()
    layer:register_full_backward_pre_hook(function(_, outputs)
      return outputs[1] * 2
    end)
    local handle = layer:register_full_backward_hook(function(_, inputs)
      return {inputs[1] * 5}
    end)
    layer(x):sum():backward()
    local rows = layer.weight:sum(1):expand(4, 3)
    near(rows * 10, x.grad, 1e-5)
    near(st.full({2}, 8), layer.bias.grad, 1e-6)
    handle:remove()
    x.grad = nil
    layer(x):sum():backward()
    near(rows * 2, x.grad, 1e-5)
    layer:register_full_backward_hook(function() return {x, x} end)
    raises_here("register_full_backward_hook: the hook must return nothing, "
                .. "or 1 gradients", function() layer(x):sum():backward() end)
  end)

  it("of gradients is not called without a graph", function()
    local layer, n = nn.Linear(1, 1), 0
    layer:register_full_backward_hook(function() n = n + 1 end)
    st.no_grad(function() layer(st.ones(1, 1)) end)
    assert.equal(0, n)
  end)
end)

-- -- Conversion --------------------------------------------------------------

describe("A conversion", function()
  it("replaces what is floating point, and what is shared once", function()
    local net = net_of()
    net.tied = nn.Conv1d(2, 3, 2)
    net.tied.weight = net.conv.weight
    net.conv.bias:requires_grad_(false)
    net(st.rand(2, 2, 4)):sum():backward()
    local grad = net.conv.weight.grad
    assert.equal(net, net:double())
    assert.equal("float64", net.conv.weight.dtype)
    assert.equal("float64", net.norm.running_mean.dtype)
    assert.equal("int64", net.norm.num_batches_tracked.dtype)
    assert.equal(net.conv.weight, net.tied.weight)
    near(grad:to "float64", net.conv.weight.grad, 0)
    assert.is_true(net.conv.weight.requires_grad)
    assert.is_true(net.conv.weight.is_leaf)
    assert.is_false(net.conv.bias.requires_grad)
    assert.equal("float64", net(st.rand({2, 2, 4}, {dtype = "float64"})).dtype)
    for name, dtype in pairs {float = "float32", half = "float16",
                              bfloat16 = "bfloat16"} do
      assert.equal(dtype, net[name](net).conv.weight.dtype)
    end
    local kept = net:float().conv.weight
    assert.equal(kept, net:to("float32").conv.weight)
  end)

  it("may be to a device", function()
    local net = nn.Linear(2, 3):to {device = "meta", dtype = "float64"}
    assert.same({"meta", "float64"}, {net.weight.device, net.bias.dtype})
    raises_here("to: a module has floating-point or complex numbers, not int8",
                net.to, net, "int8")
    raises_here("to: there is no option 'dtyp'", net.to, net, {dtyp = "x"})
  end)

  it("may be to a memory format, of tensors of its rank", function()
    local net = nn.Sequential {nn.Conv2d(3, 4, 3), nn.Conv3d(3, 4, 3)}
    local flat, deep = net[1].weight, net[2].weight
    local values = flat:clone()
    assert.equal(net, net:to {memory_format = "channels_last"})
    assert.same({27, 1, 9, 3}, net[1].weight:stride())
    assert.equal(deep, net[2].weight)
    assert.is_true(net[1].weight:equal(values))
    local kept = net[1].weight
    net:to {memory_format = "channels_last_3d"}
    assert.equal(kept, net[1].weight)
    assert.same({81, 1, 27, 9, 3}, net[2].weight:stride())
    net:to {memory_format = "contiguous_format"}
    assert.same({27, 9, 3, 1}, net[1].weight:stride())
    raises_here("to: argument 'memory_format' must be a memory format",
                net.to, net, {memory_format = "rows"})
    raises_here({"to: 'channels_last' is a memory format",
                 'to {memory_format = "channels_last"}'}, net.to, net,
                st.channels_last)
    raises_here("to: argument 'dtype': there is no dtype 'float31'", net.to,
                net, "float31")
  end)

  it("is not needed for a copy, which has tensors of its own", function()
    local net, x = net_of(), st.rand(2, 2, 4)
    local copy = net:clone()
    assert.same(names_of(net:named_state()), names_of(copy:named_state()))
    near(net(x), copy(x), 0)
    st.no_grad(function() copy.conv.weight:zero_() end)
    assert.is_true(net.conv.weight:abs():sum():item() > 0)
    assert.is_true(copy.conv.weight.requires_grad)
    assert.equal(copy[1], copy.conv)
    assert.equal("meta", net:clone({device = "meta"}).conv.weight.device)
    raises_here("clone: option 'device' must be", net.clone, net,
                {device = "gpu"})
  end)
end)

-- -- State -------------------------------------------------------------------

describe("A state", function()
  it("names the elements of lists from 0 for PyTorch", function()
    local net = nn.Sequential {nn.Linear(2, 2), nn.Linear(2, 1)}
    assert.same({"0.weight", "0.bias", "1.weight", "1.bias"},
                names_of(net:named_state {base = 0}))
    local state = net:state_dict {base = 0}
    local other = nn.Sequential {nn.Linear(2, 2), nn.Linear(2, 1)}
    other:load_state_dict(state, {base = 0})
    near(net[2].weight, other[2].weight, 0)
    raises_here("state_dict: option 'base' must be 0 or 1, got 2",
                net.state_dict, net, {base = 2})
  end)

  it("loads by the names that fit: of lists from 1, and PyTorch's from 0",
     function()
    local function new()
      return nn.Sequential {nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)}
    end
    local net = new()
    for _, options in ipairs {{}, {base = 0}, {base = 1}} do
      local other = new()
      other:load_state_dict(net:state_dict(options))
      near(net[1].weight, other[1].weight, 0)
      near(net[3].bias, other[3].bias, 0)
    end
    -- "2.weight" is the last layer there, and would be the middle one here
    local state, other = net:state_dict {base = 0}, new()
    state["2.bias"] = nil
    local missing, unexpected = other:load_state_dict(state, {strict = false})
    assert.same({{"2.bias"}, {}}, {missing, unexpected})
    near(net[1].weight, other[1].weight, 0)
    near(net[3].weight, other[3].weight, 0)
    -- a layer without parameters in front: only the names say which
    local late = nn.Sequential {nn.ReLU(), nn.Linear(2, 2), nn.Linear(2, 2)}
    other = nn.Sequential {nn.ReLU(), nn.Linear(2, 2), nn.Linear(2, 2)}
    other:load_state_dict(late:state_dict {base = 0})
    near(late[2].weight, other[2].weight, 0)
    near(late[3].weight, other[3].weight, 0)
  end)

  it("that another base fits better is refused with what to write", function()
    local net = nn.Sequential {nn.Linear(2, 2), nn.Linear(2, 1)}
    local state = net:state_dict {base = 0}
    state["1.bias"], state.more = nil, st.ones(1)
    local ok, why = pcall(net.load_state_dict, net, state)
    assert.is_false(ok)
    assert.truthy(why:find("load_state_dict: the state names the elements of "
      .. "lists from 0, as PyTorch does: write net:load_state_dict(state, "
      .. "{base = 0})\n  the state lacks 1.bias\n  Sequential has no more",
      1, true), why)
    raises_here("load_state_dict: the state names the elements of lists from "
                .. "1: write net:load_state_dict(state)",
                net.load_state_dict, net, net:state_dict(), {base = 0})
    state = net:state_dict {base = 0}
    state["1.bias"] = st.ones(5)
    raises_here("'1.bias' has shape {1} here, but {5} in the state",
                net.load_state_dict, net, state)
  end)

  it("that does not fit is refused with every difference", function()
    local net = nn.Sequential {nn.Linear(2, 2), nn.Linear(2, 1)}
    local state = net:state_dict()
    state["1.bias"] = nil
    state["2.weight"] = st.zeros(2, 2)
    state["2.bias"] = state["2.bias"]:to "float64"
    state.extra = st.zeros(1)
    raises_here({"the state lacks 1.bias\n", "Sequential has no extra\n",
                 "'2.weight' has shape {1, 2} here, but {2, 2} in the state\n",
                 "'2.bias' is float32 here, but float64 in the state"},
                net.load_state_dict, net, state)
    state["2.weight"] = st.ones(1, 2)
    net:load_state_dict(state, {strict = false}) -- converts
    assert.equal("float32", net[2].bias.dtype)
    assert.same({{1, 1}}, net[2].weight:totable())
  end)
end)

-- -- Containers --------------------------------------------------------------

describe("A container", function()
  it("is a list: ModuleList, ParameterList", function()
    local list = nn.ModuleList {nn.Linear(1, 1)}
    list:append(nn.ReLU()):insert(1, nn.Tanh()):extend_with {nn.SiLU()}
    assert.equal("ModuleList(\n  (1): Tanh()\n  (2): Linear(1, 1) -- 2 "
                 .. "parameters\n  (3): ReLU()\n  (4): SiLU()\n) -- 2 "
                 .. "parameters", tostring(list))
    assert.equal("SiLU()", tostring(list:pop()))
    assert.equal("Tanh()", tostring(list:pop(1)))
    assert.same({"1.weight", "1.bias"}, names_of(list:named_parameters()))
    raises_here("ModuleList: element 2 must be a module, got function",
                nn.ModuleList, {nn.ReLU(), print})
    raises_here("ModuleList has no method 'forward'", list, st.ones(1))
    local numbers = nn.ParameterList(nn.Parameter(st.ones(2)))
    assert.same({"1"}, names_of(numbers:named_parameters()))
    raises_here("element 2 must be of nn.Parameter, got a plain Tensor",
                numbers.append, numbers, st.ones(1))
  end)

  it("is a dictionary: ModuleDict, ParameterDict", function()
    local dict = nn.ModuleDict {b = nn.ReLU(), a = nn.Linear(1, 1)}
    dict:set("c", nn.Tanh()):update {{"e", nn.SiLU()}, {"d", nn.SiLU()}}
    assert.same({"a", "b", "c", "e", "d"}, dict:keys())
    assert.equal(dict.b, dict:pop "b")
    assert.same({"a", "c", "e", "d"}, names_of(dict:items()))
    assert.same({"a", "c", "e", "d"}, names_of(dict:named_children()))
    assert.same({"a.weight", "a.bias"}, names_of(dict:named_parameters()))
    raises_here("ModuleDict: 'x' must be a module, got Tensor", dict.set, dict,
                "x", st.ones(1))
    raises_here("ModuleDict: 'train' is a method of modules", dict.set, dict,
                "train", nn.ReLU())
    raises_here("ModuleDict: 'training' is a field of modules", dict.set, dict,
                "training", nn.ReLU())
    raises_here("ModuleDict: there is no entry 'z'", dict.pop, dict, "z")
    local numbers = nn.ParameterDict {w = nn.Parameter(st.ones(2))}
    assert.same({"w"}, names_of(numbers:named_parameters()))
  end)

  it("may name its layers: Sequential", function()
    local net = net_of()
    assert.equal(net[2], net.norm)
    assert.same({"conv.weight", "conv.bias", "norm.weight", "norm.bias"},
                names_of(net:named_parameters()))
    net:insert(1, nn.Identity())
    assert.same({1, "conv", "norm", "act"}, names_of(net:named_children()))
    net:pop(2)
    assert.is_nil(net.conv)
    assert.same({1, "norm", "act"}, names_of(net:named_children()))
    raises_here("Sequential: 'train' is a method of modules", nn.Sequential,
                {{"train", nn.ReLU()}})
    raises_here("Sequential: layer 1 must be a module or a function, got "
                .. "number", nn.Sequential, {{"a", 3}})
  end)
end)

-- -- Arguments ---------------------------------------------------------------

describe("A layer", function()
  it("that is a function is printed", function()
    local net = nn.Sequential {nn.Linear(1, 2), st.relu, {"own", function(x)
      return x * 2
    end}}
    local text = tostring(net)
    assert.truthy(text:find("\n  (2): function\n", 1, true), text)
    assert.matches("\n  %(own%): function at %S+module_spec.lua:%d+\n", text)
    assert.equal(2, #net:parameters())
    assert.equal(2, #net:modules())
    local state = net:state_dict()
    net:load_state_dict(state)
  end)

  it("is called by itself or with a colon", function()
    local Net = nn.Module:extend "Net"
    function Net:init() self.out = nn.Linear(1, 2) end
    function Net:forward(x) return self.out(x) end
    local Derived = Net:extend "Derived"
    local x = st.ones(3, 1)
    for _, net in ipairs {Net(), Derived(), nn.Linear(1, 2), nn.ReLU(),
                          nn.Sequential {nn.Linear(1, 2)}} do
      near(net(x), net:forward(x), 0)
      raises_here("forward: write net(x), or net:forward(x) with a colon",
                  net.forward, x)
      raises_here("forward: write net(x), or net:forward(x) with a colon",
                  net.forward)
    end
  end)
end)

describe("The arguments of a layer", function()
  it("are given by position or by name", function()
    for _, layer in ipairs {
      nn.Conv2d(2, 4, {3, 1}, {stride = 2}),
      nn.Conv2d {in_channels = 2, out_channels = 4, kernel_size = {3, 1},
                 stride = 2},
      nn.Conv2d(2, 4, {kernel_size = {3, 1}, stride = 2}),
    } do
      assert.equal("Conv2d(2, 4, {3, 1}, {stride = 2}) -- 28 parameters",
                   tostring(layer))
    end
    assert.equal("Softplus({threshold = 2})",
                 tostring(nn.Softplus {threshold = 2}))
    assert.equal('Upsample(2, {mode = "linear"})',
                 tostring(nn.Upsample(2, {mode = "linear"})))
    assert.equal("BatchNorm1d(3, {affine = false})",
                 tostring(nn.BatchNorm1d(3, {affine = false})))
  end)

  for _, row in ipairs {
    {"Conv2d: argument 'kernel_size' must be a size or a list of 2 sizes, got "
     .. "table", nn.Conv2d, 2, 4, {3, 1, 1}},
    {"Conv2d: argument 'out_channels' must be a size, got 1.5", nn.Conv2d, 2,
     1.5, 3},
    {"Conv2d: argument 'in_channels' is given twice", nn.Conv2d, 2, 4, 3,
     {in_channels = 2}},
    {"Conv2d: there is no option 'strid'", nn.Conv2d, 2, 4, 3, {strid = 2}},
    {"Conv2d: options are given by name: write Conv2d(1, 2, 3, {stride = 1, "
     .. "padding = {1, 2}})", nn.Conv2d, 1, 2, 3, 1, {1, 2}},
    {"GRU: options are given by name: write {num_layers = 2}", nn.GRU, 5, 7, 2},
    {"Conv2d: at most 3 arguments are expected before the options, got 5",
     nn.Conv2d, 2, 4, 3, 2, "text"},
    {"Conv2d: options are given by name: write Conv2d(2, 4, 3, {stride = 2})",
     nn.Conv2d, 2, 4, 3, 2, {padding = 1}},
    {"Conv2d: groups = 2 does not divide in_channels = 3 and out_channels = 4",
     nn.Conv2d, 3, 4, 3, {groups = 2}},
    {"Conv2d: option 'padding_mode' must be", nn.Conv2d, 3, 4, 3,
     {padding_mode = "mirror"}},
    {"Conv2d: padding = \"same\" needs stride = 1, got 2", nn.Conv2d, 3, 4, 3,
     {padding = "same", stride = 2}},
    {"ConvTranspose1d: argument 'padding' must be", nn.ConvTranspose1d, 3, 4,
     3, {padding = "same"}},
    {"FractionalMaxPool2d: one of the options", nn.FractionalMaxPool2d, 2},
    {"Embedding: sparse = true", nn.Embedding, 3, 4, {sparse = true}},
    {"Embedding: padding_idx 4 is not among the 3 rows", nn.Embedding, 3, 4,
     {padding_idx = 4}},
    {"GroupNorm: 5 channels do not make 2 groups", nn.GroupNorm, 2, 5},
    {"Dropout2d: argument 'p' must be a number from 0 to 1, got 2",
     nn.Dropout2d, 2},
    {"AdaptiveLogSoftmaxWithLoss: cutoffs must increase",
     nn.AdaptiveLogSoftmaxWithLoss, 4, 10, {5, 10}},
    {"KLDivLoss: option 'reduction' must be", nn.KLDivLoss,
     {reduction = "median"}},
    {"calculate_gain: there is no gain for 'rellu'", nn.init.calculate_gain,
     "rellu"},
  } do
    it("are refused with the reason: " .. row[1], function()
      raises_here(row[1], row[2], unpack(row, 3))
    end)
  end

  it("are checked against the tensor", function()
    raises_here("xavier_uniform_: the tensor must have at least 2 dimensions, "
                .. "it has 1", nn.init.xavier_uniform_, st.ones(3))
    raises_here("kaiming_normal_: option 'mode' must be",
                nn.init.kaiming_normal_, st.ones(3, 2), {mode = "fan"})
    raises_here("normal_: 'std' must be a number, got string", nn.init.normal_,
                st.ones(2), {std = "a"})
    raises_here("BatchNorm2d: the input must have 4 dimensions, its shape is "
                .. "{2, 3}", nn.BatchNorm2d(3), st.ones(2, 3))
    raises_here("BatchNorm1d: the input of shape {2, 4} must have 3 channels",
                nn.BatchNorm1d(3), st.ones(2, 4))
    raises_here("ConvTranspose1d: output_size must be from {9} to {10} for an "
                .. "input of shape {1, 1, 4}",
                nn.ConvTranspose1d(1, 1, 3, {stride = 2}), st.ones(1, 1, 4),
                {11})
    raises_here("ConvTranspose1d: output_size must be from {9} to {10} for an "
                .. "input of shape {1, 1, 4}",
                nn.ConvTranspose1d(1, 1, 3, {stride = 2}), st.ones(1, 1, 4),
                {8})
    raises_here("MaxUnpool1d: output_size {9} does not fit an input of shape "
                .. "{1, 1, 2}", nn.MaxUnpool1d(2), st.ones(1, 1, 2),
                st.tensor {{{1, 2}}}, {9})
    raises_here("MaxUnpool1d: output_size {2} does not fit an input of shape "
                .. "{1, 1, 2}", nn.MaxUnpool1d(2), st.ones(1, 1, 2),
                st.tensor {{{1, 2}}}, {2})
    raises_here("Softmax2d: the input must have 3 or 4 dimensions, it has 2",
                nn.Softmax2d(), st.ones(2, 2))
    raises_here("AdaptiveLogSoftmaxWithLoss: targets must be from 1 to 10",
                nn.AdaptiveLogSoftmaxWithLoss(4, 10, {5}), st.ones(1, 4),
                st.tensor {11})
  end)
end)

-- -- Summaries ---------------------------------------------------------------

describe("nn.summary", function()
  it("has shapes, parameters, work and memory, without running", function()
    local net = nn.Sequential {
      nn.Conv2d(3, 4, 3, {stride = 2, padding = 1}), nn.BatchNorm2d(4),
      nn.ReLU(), nn.ConvTranspose2d(4, 2, 2), nn.Flatten(),
      nn.Sequential {nn.Linear(50, 10)},
    }
    local s = nn.summary(net, st.empty({2, 3, 8, 8}, {device = "meta"}))
    local rows = {}
    for i, row in ipairs(s.rows) do
      rows[i] = ("%s %s %s %d %d %d"):format(row.name, row.class, row.output,
        row.parameters, row.multiply_adds, row.memory)
    end
    assert.same({
      " Sequential {2, 10} 664 5480 80",
      "1 Conv2d {2, 4, 4, 4} 112 3456 512",
      "2 BatchNorm2d {2, 4, 4, 4} 8 0 512",
      "3 ReLU {2, 4, 4, 4} 0 0 512",
      "4 ConvTranspose2d {2, 2, 5, 5} 34 1024 400",
      "5 Flatten {2, 50} 0 0 400",
      "6 Sequential {2, 10} 510 1000 80",
      "6.1 Linear {2, 10} 510 1000 80",
    }, rows)
    assert.equal(0, net[2].num_batches_tracked:item())
    assert.same({664, 512 * 3 + 400 * 2 + 80}, {s.parameters, s.memory})
    assert.equal(664 * 4 + 8 * 4 + 8, s.parameter_memory) -- and statistics
    assert.matches("6: Sequential +{2, 10} +510 +1,000 +80 B", tostring(s))
  end)

  it("counts the work of products, attention and recurrent layers", function()
    local Net = nn.Module:extend "Net"
    function Net.forward(_, x, w, list)
      local y = st.scaled_dot_product_attention(x, x, x)
      return y:matmul(w), list[1]
    end
    local s = nn.summary(Net(), st.empty(2, 5, 4), st.empty(4, 3),
                         {st.empty(1)})
    assert.equal(2 * (5 * 5 * 4 * 2) + 2 * 5 * 4 * 3, s.multiply_adds)
    assert.equal("{2, 5, 4} {4, 3} {1}", s.rows[1].input)
    assert.equal("{2, 5, 3} {1}", s.rows[1].output)
  end)

  it("refuses what cannot be summed up", function()
    raises_here("summary: argument 'net' must be a module, got nil", nn.summary)
    raises_here("summary: an input is expected", nn.summary, nn.ReLU())
    raises_here("linear: ", nn.summary, nn.Linear(2, 3), st.ones(1, 5))
  end)
end)

describe("Modules", function()
  it("leave no tensor behind", function() assert.equal(before, live()) end)
end)
