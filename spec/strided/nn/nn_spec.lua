--- Modules, layers and losses.
-- axes: lua

local st = require "strided"
local nn = require "strided.nn"
local optim = require "strided.optim"

local collect = require "spec.support.collect"
local tensors = require "spec.support.tensors"

local live, near, raises_here = tensors.live, tensors.near, tensors.raises_here

-- -- Help --------------------------------------------------------------------

local function names_of(net)
  local names = {}
  for name in net:named_parameters() do names[#names + 1] = name end
  return names
end

local function keys_of(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local Block = nn.Module:extend "Block"

function Block:init(width, depth)
  self.first = nn.Linear(2, width)
  self.rest = nn.Sequential {}
  for i = 1, depth do self.rest[i] = nn.Linear(width, width) end
  self.act = nn.ReLU()
  self.scale = nn.Parameter(st.ones(1))
end

function Block:forward(x)
  return self.act(self.rest(self.first(x))) * self.scale
end

local BLOCK = {"scale", "first.weight", "first.bias", "rest.1.weight",
               "rest.1.bias", "rest.2.weight", "rest.2.bias"}

local before

setup(function() before = live() end)

-- -- Modules -----------------------------------------------------------------

describe("A module", function()
  it("finds its parameters, its own first, in order", function()
    local net = Block(3, 2)
    assert.same(BLOCK, names_of(net))
    local list = net:parameters()
    assert.equal(#BLOCK, #list)
    assert.equal(net.scale, list[1])
    assert.equal(net.first.weight, list[2])
    assert.equal(net.rest[2].bias, list[7])
    for _, p in ipairs(list) do assert.is_true(p.requires_grad) end
  end)

  it("is at hand in st.nn, which need not be loaded", function()
    assert.equal(nn, st.nn)
    assert.equal(optim, st.optim)
  end)

  it("calls its method forward", function()
    local Sum = nn.Module:extend "Sum"
    function Sum.forward(_, x, y) return x + y, "more" end
    local a, b = Sum()(st.ones(2), st.ones(2))
    assert.same({2, 2}, a:totable())
    assert.equal("more", b)
  end)

  it("inherits what its class does not say itself", function()
    local Named = Block:extend "Named"
    function Named:forward(x) return -Block.forward(self, x) end
    local net, x = Named(3, 2), st.rand(5, 2)
    assert.same(BLOCK, names_of(net))
    near(-Block.forward(net, x), net(x), 0)
  end)

  it("finds what a field becomes later", function()
    local net = nn.Module()
    net.a = false
    net.b = 3
    net.c = nn.Parameter(st.zeros(1))
    net.a = nn.Linear(1, 1)
    assert.same({"c", "a.weight", "a.bias"}, names_of(net))
    net.c, net.b = nil, nn.Parameter(st.zeros(2))
    assert.same({"b", "a.weight", "a.bias"}, names_of(net))
    net.c = nn.Parameter(st.zeros(1))
    assert.same({"b", "c", "a.weight", "a.bias"}, names_of(net))
    net.a = nil
    net.a = nn.Tanh()
    assert.equal("Module(\n  (a): Tanh()\n) -- 3 parameters", tostring(net))
  end)

  it("does not take any tensor for a parameter", function()
    local net = nn.Module()
    net.plain = st.zeros(2)
    net:register_buffer("mean", st.zeros(2))
    net.weight = nn.Parameter(st.zeros(2))
    assert.same({"weight"}, names_of(net))
    assert.same({"mean", "weight"}, keys_of(net:state_dict()))
  end)

  it("keeps a parameter that requires no gradient", function()
    local net = nn.Linear(2, 3)
    net:requires_grad_(false)
    assert.same({"weight", "bias"}, names_of(net))
    assert.is_false(net.weight.requires_grad)
    net:requires_grad_()
    assert.is_true(net.weight.requires_grad)
  end)

  it("has what is shared once, and saves it by all names", function()
    local net = nn.Module()
    net.encode = nn.Linear(3, 3, {bias = false})
    net.decode = nn.Linear(3, 3, {bias = false})
    net.decode.weight = net.encode.weight
    net.again = net.encode
    assert.same({"encode.weight"}, names_of(net))
    assert.same({"again.weight", "decode.weight", "encode.weight"},
                keys_of(net:state_dict()))
    assert.equal(3, #net:modules())
  end)

  it("names the modules that it is made of", function()
    local names = {}
    for name, module in Block(3, 2):named_modules() do
      assert.is_true(nn.is_module(module))
      names[#names + 1] = name
    end
    assert.same({"", "first", "rest", "rest.1", "rest.2", "act"}, names)
  end)

  it("tells all of them whether they are being trained", function()
    local net = Block(3, 2)
    local function modes()
      local all = {}
      for _, module in ipairs(net:modules()) do
        all[tostring(module.training)] = true
      end
      return keys_of(all)
    end
    assert.same({"true"}, modes())
    assert.equal(net, net:eval())
    assert.same({"false"}, modes())
    assert.equal(net, net:train())
    assert.same({"true"}, modes())
  end)

  it("prints as what it is made of", function()
    assert.equal("Linear(2, 3, {bias = false}) -- 6 parameters",
                 tostring(nn.Linear(2, 3, {bias = false})))
    assert.equal([[
Block(
  (first): Linear(2, 3) -- 9 parameters
  (rest): Sequential(
    (1): Linear(3, 3) -- 12 parameters
    (2): Linear(3, 3) -- 12 parameters
  ) -- 24 parameters
  (act): ReLU()
) -- 34 parameters]], tostring(Block(3, 2)))
    assert.equal("LayerNorm({4, 5}, {eps = 0.01}) -- 40 parameters",
                 tostring(nn.LayerNorm({4, 5}, {eps = 0.01})))
    assert.equal("Dropout(0.25)", tostring(nn.Dropout(0.25)))
  end)

  it("is refused where it makes no sense, with the reason", function()
    raises_here("Lost has no method 'forward'", nn.Module:extend "Lost"(),
                   st.ones(1))
    raises_here("extend: argument 'name' must be a string, got nil",
                   nn.Module.extend, nn.Module)
    raises_here("Parameter: argument 't' must be a Tensor, got number",
                   nn.Parameter, 3)
    raises_here("floating", nn.Parameter, st.tensor {1, 2})
    local net = nn.Module()
    net["a.b"] = nn.Linear(1, 1)
    raises_here("cannot be named 'a.b'", net.parameters, net)
    local loop = nn.Module()
    loop.inner = nn.Module()
    loop.inner.outer = loop
    raises_here("'inner.outer' contains itself", loop.parameters, loop)
    raises_here("register_buffer: a name and a Tensor are expected, got "
                   .. "string and number", net.register_buffer, net, "n", 3)
  end)
end)

-- -- State -------------------------------------------------------------------

describe("The state of a module", function()
  it("is its elements, without a history", function()
    local net = nn.Linear(2, 2)
    local state = net:state_dict()
    assert.is_true(state.weight:is_alias_of(net.weight))
    assert.is_false(state.weight.requires_grad)
  end)

  for _, extension in ipairs {".safetensors", ".npz"} do
    it("survives a " .. extension .. " file", function()
      local path = os.tmpname()
      os.remove(path)
      path = path .. extension
      local one, two, x = Block(4, 2), Block(4, 2), st.rand(6, 2)
      st.save(path, one:state_dict())
      two:load_state_dict(st.load(path))
      os.remove(path)
      near(one(x), two(x), 0)
      assert.is_true(two.scale.requires_grad)
      assert.is_true(two.scale.is_leaf)
    end)
  end

  it("is refused as a whole when a part of it does not fit", function()
    local net = nn.Linear(2, 2)
    local start = net.weight:detach():clone()
    local good = st.zeros(2, 2)
    local function load(state) net:load_state_dict(state) end
    raises_here("the state lacks bias", load, {weight = good})
    raises_here("Linear has no extra, more", load,
                   {weight = good, bias = st.zeros(2), extra = good,
                    more = good})
    raises_here("'bias' has shape {2} here, but {2, 2} in the state", load,
                   {weight = good, bias = good})
    raises_here("'bias' must be a Tensor, got number", load,
                   {weight = good, bias = 3})
    raises_here("argument 'state' must be a table, got Tensor", load, good)
    near(start, net.weight:detach(), 0)
  end)

  it("may be of another network when it is not taken strictly", function()
    local net = nn.Linear(2, 2)
    local missing, unexpected = net:load_state_dict(
      {weight = st.zeros(2, 2), extra = st.zeros(1)}, {strict = false})
    assert.same({"bias"}, missing)
    assert.same({"extra"}, unexpected)
    assert.equal(0, net.weight:detach():abs():sum():item())
  end)
end)

-- -- Layers ------------------------------------------------------------------

describe("Linear", function()
  it("is a product and a sum", function()
    local layer, x = nn.Linear(3, 2), st.rand(4, 3)
    near(x:matmul(layer.weight:t()) + layer.bias, layer(x), 1e-6)
    layer = nn.Linear(3, 2, {bias = false, dtype = "float64"})
    assert.is_nil(layer.bias)
    x = st.rand({5, 4, 3}, {dtype = "float64"})
    assert.same({5, 4, 2}, {layer(x):size(1), layer(x):size(2),
                            layer(x):size(3)})
    near(x:matmul(layer.weight:t()), layer(x), 1e-6)
  end)

  -- dtype, weight and bias of PyTorch 2.6's after the seed 7
  for _, row in ipairs {
    {"float32", {{0.04032507538795471, -0.3477921187877655,
                  0.18384182453155518},
                 {0.1811612844467163, -0.3085803687572479,
                  -0.0865316316485405}},
     {-0.33822792768478394, 0.1498066484928131}},
    {"float64", {{-0.2547495363640743, -0.26131599068491523,
                  0.4181089374922697},
                 {0.1809282151579961, 0.4878948880790089,
                  0.39207322819701307}},
     {-0.23704603940026484, 0.07011526117687616}},
  } do
    it("begins as PyTorch's does in " .. row[1], function()
      st.manual_seed(7)
      local layer = nn.Linear(3, 2, {dtype = row[1]})
      assert.same(row[2], layer.weight:totable())
      assert.same(row[3], layer.bias:totable())
    end)
  end

  it("can have no inputs and no outputs", function()
    local junk = st.full({2}, 0 / 0)
    junk:free() -- whose memory is what comes next
    assert.same({0, 0}, nn.Linear(0, 2, {})(st.zeros(1, 0))[1]:totable())
    assert.equal(0, nn.Linear(2, 0)(st.zeros(3, 2)):numel())
  end)

  it("refuses sizes and options that are none", function()
    raises_here("Linear: argument 'out_features' must be a size, got nil",
                   nn.Linear, 2)
    raises_here("Linear: argument 'in_features' must be a size, got 1.5",
                   nn.Linear, 1.5, 2)
    raises_here("Linear: there is no option 'bais'", nn.Linear, 1, 2,
                   {bais = false})
    raises_here("Linear: options are given by name: write Linear(1, 2, "
                .. "{bias = false})", nn.Linear, 1, 2, false)
    raises_here("Linear: the options must be a table, got number",
                   nn.Linear, 1, 2, 3)
  end)
end)

describe("An activation", function()
  for name, operator in pairs {
    ReLU = st.relu, SiLU = st.silu, Sigmoid = st.sigmoid, Tanh = st.tanh,
    GELU = st.gelu,
  } do
    it("is an operator: " .. name, function()
      local x = st.linspace(-3, 3, 7)
      near(operator(x), nn[name]()(x), 0)
      assert.equal(name .. "()", tostring(nn[name]()))
    end)
  end

  it("may be approximated: GELU", function()
    local x = st.linspace(-3, 3, 7)
    near(st.gelu(x, {approximate = "tanh"}),
         nn.GELU {approximate = "tanh"}(x), 0)
    raises_here("GELU: there is no option 'approx'", nn.GELU,
                   {approx = "tanh"})
  end)
end)

describe("LayerNorm", function()
  it("shifts and scales over the last dimensions", function()
    local x = st.rand(3, 4, 5)
    local layer = nn.LayerNorm({4, 5}, {eps = 1e-3})
    assert.same({"weight", "bias"}, names_of(layer))
    st.no_grad(function()
      layer.weight:uniform_()
      layer.bias:uniform_()
    end)
    local dims = {dim = {2, 3}, keepdim = true}
    local centred = x - x:mean(dims)
    local scaled = centred / (centred:square():mean(dims) + 1e-3):sqrt()
    near(scaled * layer.weight + layer.bias, layer(x), 1e-5)
  end)

  it("begins with a weight of 1 and a bias of 0, or has none", function()
    local x = st.rand(6, 4)
    local bare = nn.LayerNorm(4, {elementwise_affine = false})
    assert.same({}, names_of(bare))
    near(bare(x), nn.LayerNorm(4)(x), 1e-6)
    assert.same({"weight"}, names_of(nn.LayerNorm(4, {bias = false})))
  end)

  it("refuses shapes that are none", function()
    raises_here("'normalized_shape' must be a size or a list of sizes, got",
                nn.LayerNorm, "4")
    for _, shape in ipairs {{}, false} do
      raises_here("'normalized_shape' must be a size or a list of sizes",
                     nn.LayerNorm, shape or nil)
    end
  end)
end)

describe("Dropout", function()
  it("drops elements and enlarges the others, in training only", function()
    st.manual_seed(1)
    local layer, x = nn.Dropout(0.25), st.ones(10000)
    local y = layer(x)
    local dropped = y:eq(0):sum():item()
    assert.is_true(dropped > 2300 and dropped < 2700)
    near(y:masked_select(y:ne(0)) * 0.75, st.ones(10000 - dropped), 1e-6)
    layer:eval()
    assert.equal(x, layer(x))
  end)

  it("drops nothing, or all", function()
    local x = st.ones(10)
    assert.equal(x, nn.Dropout(0)(x))
    assert.equal(0, nn.Dropout(1)(x):sum():item())
    raises_here("'p' must be a number from 0 to 1", nn.Dropout, 1.5)
    raises_here("'p' must be a number from 0 to 1", nn.Dropout, "half")
  end)
end)

describe("Sequential", function()
  it("calls one layer after the other, functions too", function()
    local net = nn.Sequential {nn.Linear(2, 3), st.neg, nn.ReLU()}
    local x = st.rand(4, 2)
    near(st.relu(-net[1](x)), net(x), 0)
    assert.same({"1.weight", "1.bias"}, names_of(net))
    assert.equal(3, #nn.Sequential(nn.ReLU(), nn.Tanh(), nn.ReLU()))
    assert.equal(x, nn.Sequential {}(x))
  end)

  it("grows like a list", function()
    local net = nn.Sequential {}
    net[1] = nn.Linear(2, 3)
    table.insert(net, nn.Linear(3, 2))
    assert.same({"1.weight", "1.bias", "2.weight", "2.bias"}, names_of(net))
  end)

  it("refuses what is no layer", function()
    raises_here("layer 2 must be a module or a function, got number",
                   nn.Sequential, {nn.ReLU(), 3})
    raises_here("layer 2 must be a module or a function, got nil",
                   nn.Sequential, nn.ReLU(), nil, nn.ReLU())
  end)
end)

-- -- Losses ------------------------------------------------------------------

--- What losses are computed from.
local function values()
  local v = {
    x = st.tensor({{0.5, -1, 2}, {0, 0.25, -3}}, {dtype = "float64"}),
    y = st.tensor({{0, 1, 1}, {1, 0, 0}}, {dtype = "float64"}),
    class = st.tensor {3, 1}, weight = st.tensor {1.0, 2, 3},
  }
  v.d = v.x - v.y
  v.p, v.q = v.x:sigmoid(), 1 - v.x:sigmoid()
  v.logs = v.x:log_softmax(2)
  v.chosen = v.logs:gather(2, v.class:view(2, 1)):view(2)
  return v
end

-- name, options, what gives input, target and the losses of the elements
local LOSSES = {
  {"MSELoss", {}, function(v) return v.x, v.y, v.d:square() end},
  {"L1Loss", {}, function(v) return v.x, v.y, v.d:abs() end},
  {"HuberLoss", {delta = 0.5}, function(v)
    local size = v.d:abs()
    return v.x, v.y, st.where(size:le(0.5), v.d:square() / 2,
                              (size - 0.25) * 0.5)
  end},
  {"CrossEntropyLoss", {}, function(v) return v.x, v.class, -v.chosen end},
  {"CrossEntropyLoss", {base = 0}, function(v)
    return v.x, v.class - 1, -v.chosen
  end},
  {"CrossEntropyLoss", {label_smoothing = 0.3}, function(v)
    return v.x, v.class, -v.chosen * 0.7 - v.logs:mean(2) * 0.3
  end},
  {"NLLLoss", {}, function(v) return v.logs, v.class, -v.chosen end},
  {"NLLLoss", {base = 0}, function(v)
    return v.logs, v.class - 1, -v.chosen
  end},
  {"BCEWithLogitsLoss", {}, function(v)
    return v.x, v.y, -(v.y * v.p:log() + (1 - v.y) * v.q:log())
  end},
}

describe("A loss", function()
  for _, row in ipairs(LOSSES) do
    local name, options, make = row[1], row[2], row[3]
    local key, value = next(options)
    it("is what it should be: " .. name ..
       (key and (" {%s = %g}"):format(key, value) or ""), function()
      local input, target, each = make(values())
      local function check(expected, reduction)
        local o = {reduction = reduction, [key or "reduction"] = value or
                   reduction}
        near(expected, nn[name](o)(input, target), 1e-12)
      end
      check(each, "none")
      check(each:sum(), "sum")
      check(each:mean(), "mean")
      check(each:mean())
    end)
  end

  it("counts each yes as many", function()
    local v = values()
    local loss = nn.BCEWithLogitsLoss {pos_weight = v.weight}
    local each = v.weight * v.y * v.p:log() + (1 - v.y) * v.q:log()
    near(-each:mean(), loss(v.x, v.y), 1e-12)
    assert.same({"pos_weight"}, keys_of(loss:state_dict()))
  end)

  it("weighs classes, and passes over one", function()
    local scores = st.tensor {{0.5, -1, 2}, {0, 0.25, -3}, {1, 1, 1}}
    local target = st.tensor {3, 1, 2}
    local none = nn.CrossEntropyLoss {reduction = "none"} (scores, target)
    local weight = st.tensor {1.0, 2, 3}
    local weighted = nn.CrossEntropyLoss {weight = weight}
    near((none * st.tensor {3.0, 1, 2}):sum() / 6,
         weighted(scores, target), 1e-6)
    assert.same({"weight"}, keys_of(weighted:state_dict()))
    local passing = nn.CrossEntropyLoss {ignore_index = 2}
    near(none:slice(1, 1, 2):mean(), passing(scores, target), 1e-6)
  end)

  it("refuses options that it does not have", function()
    raises_here("MSELoss: there is no option 'weight'", nn.MSELoss,
                   {weight = 1})
    raises_here("L1Loss: option 'reduction' must be \"mean\", \"sum\" or "
                   .. "\"none\"", nn.L1Loss, {reduction = "average"})
  end)
end)

-- -- Training ----------------------------------------------------------------

describe("A network", function()
  it("learns a line that it is shown", function()
    st.manual_seed(0)
    local x = st.randn(200, 3)
    local y = x:matmul(st.tensor {2.0, -1, 0.5}):view(-1, 1) + 3
    for name, options in pairs {
      SGD = {lr = 0.1, momentum = 0.9}, AdamW = {lr = 0.1, weight_decay = 0},
    } do
      local net, criterion = nn.Linear(3, 1), nn.MSELoss()
      local optimizer = optim[name](net:parameters(), options)
      for _ = 1, 300 do
        optimizer:zero_grad()
        criterion(net(x), y):backward()
        optimizer:step()
      end
      near(st.tensor {{2.0, -1, 0.5}}, net.weight:detach(), 1e-3)
      near(st.tensor {3.0}, net.bias:detach(), 1e-3)
    end
  end)

  it("has gradients that it forgets", function()
    local net = Block(3, 1)
    net(st.rand(4, 2)):sum():backward()
    for _, p in ipairs(net:parameters()) do assert.truthy(p.grad) end
    net:zero_grad {set_to_none = false}
    for _, p in ipairs(net:parameters()) do
      assert.is_true(p.grad:equal(st.zeros_like(p)))
    end
    net:zero_grad()
    for _, p in ipairs(net:parameters()) do assert.is_nil(p.grad) end
  end)

  it("has gradients through all of its layers", function()
    local net = nn.Sequential {
      nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Dropout(0.1),
      nn.SiLU(), nn.Tanh(), nn.Sigmoid(), nn.ReLU(), nn.Linear(6, 3),
    }
    nn.CrossEntropyLoss()(net(st.rand(5, 4)), st.tensor {1, 2, 3, 1, 2})
      :backward()
    for name, p in net:named_parameters() do
      assert.is_true(p.grad:abs():sum():item() > 0, name)
    end
  end)

  it("needs as much memory in its last epoch as in its second", function()
    local net = nn.Sequential {nn.Linear(32, 64), nn.ReLU(), nn.Dropout(),
                               nn.Linear(64, 10)}
    local optimizer = optim.AdamW(net:parameters())
    local x, y = st.rand(256, 32), st.randint(1, 11, {256})
    local function epoch()
      for at = 1, 256, 32 do
        local loss = nn.CrossEntropyLoss()(net(x:narrow(1, at, 32)),
                                           y:narrow(1, at, 32))
        optimizer:zero_grad()
        loss:backward()
        optimizer:step()
      end
    end
    local function use() -- live bytes, by kind, after an epoch
      epoch()
      collect()
      local kinds = {}
      for name, kind in pairs(st.memory()) do kinds[name] = kind.bytes end
      return kinds
    end
    use()
    local second = use()
    local function peak()
      collect()
      st.memory.reset_peak()
      collectgarbage "stop" -- else it depends on when it comes by
      epoch()
      collectgarbage "restart"
      return st.memory.stats().peak
    end
    local first_peak = peak()
    for _ = 1, 10 do epoch() end
    assert.equal(first_peak, peak())
    assert.same(second, use())
  end)
end)

describe("Networks", function()
  it("leave no tensor behind", function() assert.equal(before, live()) end)
end)
