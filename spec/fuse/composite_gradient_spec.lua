--- Fused functions of composite operators that choose their inner operators by
-- whether a gradient is recorded: the choice is that of the later call.
-- axes: isa
-- sampled: 3

local st = require "strided"

local tensors = require "spec.support.tensors"

local nn = st.nn
local ipairs = ipairs
local near = tensors.near

-- -- Operators ---------------------------------------------------------------

local function gradient_of(f, x)
  local leaf = x:detach():clone():requires_grad_()
  local y = f(leaf)
  local u = st.linspace(0.5, 1.5, y:numel(), {dtype = y.dtype})
  return st.grad(y, leaf, {grad_outputs = u:view(y.shape)})
end

local function randn(...) return st.randn({...}, {dtype = "float64"}) end

describe("The gradient of a fused function of", function()
  local image, classes, rows

  setup(function()
    st.manual_seed(1)
    image = randn(2, 4, 8, 8)
    classes = st.tensor {1, 2, 3, 4}
    rows = randn(4, 5)
  end)
  teardown(function() image, classes, rows = nil, nil, nil end)

  local function places(x) return st.ones_like(x):long() end

  for _, row in ipairs {
    {"max_pool2d", function(x) return st.max_pool2d(x, {2, 2}) end},
    {"max_pool1d", function(x)
      return st.max_pool1d(x:reshape {2, 4, 64}, {3}) end},
    {"max_pool3d", function(x)
      return st.max_pool3d(x:unsqueeze(1), {2, 2, 2}) end},
    {"avg_pool2d", function(x)
      return st.avg_pool2d(x, {3, 3}, {2, 2}, {1, 1}) end},
    {"adaptive_avg_pool2d", function(x)
      return st.adaptive_avg_pool2d(x, {3, 3}) end},
    {"lp_pool2d", function(x) return st.lp_pool2d(x:abs() + 1, 2, {2, 2}) end},
    {"local_response_norm", function(x)
      return nn.LocalResponseNorm(2)(x) end},
    {"pad with reflected elements", function(x)
      return st.pad(x, {1, 1, 2, 1}, {mode = "reflect"}) end},
    {"pad with repeated elements", function(x)
      return st.pad(x, {1, 1, 2, 1}, {mode = "replicate"}) end},
    {"grid_sample", function(x)
      local grid = st.linspace(-0.9, 0.8, 64, {dtype = "float64"})
      return st.grid_sample(x, grid:view {2, 4, 4, 2})
    end},
    {"grid_sample by its grid", function(x)
      local grid = x["..., :4, :2"]:tanh():mean(2)
      return st.grid_sample(st.ones_like(x):cumsum(3),
                            grid:reshape {2, 2, 2, 2})
    end},
    {"area interpolation", function(x)
      return st.interpolate(x, {size = {4, 4}, mode = "area"}) end},
    {"conv2d", function(x)
      return st.conv2d(x, st.ones({3, 4, 3, 3}, {dtype = "float64"})) end},
    {"conv2d by its weight", function(x)
      return st.conv2d(st.ones({1, 4, 9, 9}, {dtype = "float64"}):cumsum(4),
                       x) end},
    {"conv_transpose2d", function(x)
      return st.conv_transpose2d(x, st.ones({4, 3, 3, 3},
                                            {dtype = "float64"})) end},
    {"group_norm", function(x) return st.group_norm(x, 2) end},
    {"batch_norm by its statistics", function(x)
      local s = x:mean {1, 3, 4}
      return st.batch_norm(x, {running_mean = s, running_var = s * s,
                               training = false})
    end},
    {"attention by its mask", function(x)
      local q = st.ones_like(x):cumsum(4)
      return st.scaled_dot_product_attention(q, q / 7, q, {attn_mask = x})
    end},
    {"a batch of products that do not fold", function(x)
      local a = st.ones({8, 40, 8}, {dtype = "float64"}):cumsum(2):div(40)
      return a:transpose(1, 2):matmul(x[{1, 1}])
    end},
    {"addmm with beta 0", function(x)
      local m = x[{1, 1}]
      return st.addmm(m, m, m, {beta = 0})
    end},
    {"scatter_reduce", function(x)
      return x:scatter_reduce(4, places(x), x * 2, "prod") end},
    {"scatter_reduce_", function(x)
      return (x * 1):scatter_reduce_(4, places(x), x * 2, "prod") end},
    {"polygamma_", function(x) return (x:abs() + 1):polygamma_(1) end},
  } do
    it(row[1], function()
      local f = row[2]
      local fused = st.fuse(function(x) return f(x * 2) * 3 end)
      local want = gradient_of(function(x) return f(x * 2) * 3 end, image)
      near(want, gradient_of(fused, image), 1e-12)
      near(want, gradient_of(fused, image), 1e-12)
    end)
  end

  it("cross_entropy", function()
    local function loss(x) return st.cross_entropy(x * 2, classes) * 3 end
    local fused = st.fuse(loss)
    near(gradient_of(loss, rows), gradient_of(fused, rows), 1e-12)
  end)

  it("linear_cross_entropy", function()
    local w = randn(6, 5)
    local function loss(x)
      return st.linear_cross_entropy(x * 2, w, classes) * 3
    end
    local fused = st.fuse(loss)
    near(gradient_of(loss, rows), gradient_of(fused, rows), 1e-12)
  end)

  for _, name in ipairs {"RNN", "GRU", "LSTM"} do
    it("nn." .. name, function()
      local net = nn[name](8, 4):double()
      local function f(x) return (net(x * 2)) * 3 end
      local x = randn(3, 2, 8)
      near(gradient_of(f, x), gradient_of(st.fuse(f), x), 1e-12)
    end)
  end
end)

-- -- What is required changes ------------------------------------------------

describe("A fused function of a pool", function()
  local function pool(x) return st.max_pool2d(x * 2, {2, 2}) + 1 end
  local x, y
  setup(function() x, y = st.randn(1, 2, 4, 4), st.randn(1, 2, 4, 4) end)
  teardown(function() x, y = nil, nil end)

  it("keeps the fast inner operator where no gradient is recorded", function()
    local f = st.fuse(pool)
    local leaf = x:clone():requires_grad_()
    assert.truthy(f:explain(x):find "_max_pool_values")
    assert.truthy(f:explain(leaf):find "_max_pool_indices")
    st.no_grad(function()
      assert.truthy(f:explain(leaf):find "_max_pool_values")
    end)
    assert.is_true(f(x):equal(pool(x)))
  end)

  it("follows its arguments", function()
    local f = st.fuse(pool)
    for _ = 1, 2 do
      assert.is_true(f(y):equal(pool(y)))
      assert.is_false(f(y).requires_grad)
      near(gradient_of(pool, x), gradient_of(f, x), 1e-6)
      local leaf = x:clone():requires_grad_()
      assert.is_false((st.no_grad(f, leaf)).requires_grad)
    end
  end)

  it("follows the tensors that it captures", function()
    local w = st.rand(1, 2, 1, 1)
    local function body(t) return st.max_pool2d(t * w, {2, 2}) + 1 end
    local f = st.fuse(body)
    for _, is_required in ipairs {false, true, false, true} do
      w:requires_grad_(is_required)
      local out = f(x)
      assert.equal(is_required, out.requires_grad)
      if is_required then
        near(st.grad(body(x):sum(), w), st.grad(out:sum(), w), 1e-6)
        assert.is_false((st.no_grad(f, x)).requires_grad)
      end
    end
  end)

  it("follows what it writes in place", function()
    local function body(t)
      local sum = st.zeros_like(t)
      sum:add_(t * 2)
      return st.max_pool2d(sum, {2, 2})
    end
    near(gradient_of(body, x), gradient_of(st.fuse(body), x), 1e-6)
  end)
end)

-- -- Histories ---------------------------------------------------------------

describe("A fused function that", function()
  local x
  setup(function() x = st.rand({3, 3}, {dtype = "float64"}) end)
  teardown(function() x = nil end)

  local Scaled = st.autograd.Function {
    forward = function(_, t) return t * 2 end,
    backward = function(_, grad) return grad * 100 end,
  }
  local Same = st.autograd.Function {
    forward = function(_, t) return t end,
    backward = function(_, grad) return grad * 100 end,
  }

  for _, row in ipairs {
    {"registers a hook", "a hook", function(t)
      local y = t * 2
      y:register_hook(function(grad) return grad * 10 end)
      return y + t
    end},
    {"calls a function with a gradient of its own", "of its own",
     function(t) return Scaled(t * 3) + t end},
    {"calls one that does nothing", "of its own",
     function(t) return Same(t * 3) + t end},
    {"computes gradients", "gradients", function(t)
      return st.grad((t * t):sum(), t, {create_graph = true}) * t
    end},
    {"tries to compute gradients", "gradients", function(t)
      return pcall(st.grad, (t * t):sum(), t, {retain_graph = true}) and t * 2
             or t * 3
    end},
    {"asks whether a gradient is required", "gradient", function(t)
      return t.requires_grad and t * 2 + 1 or t * 3 + 1
    end},
    {"requires a gradient", "gradient", function(t)
      return st.ones(3, {dtype = "float64"}):requires_grad_() * t + 1
    end},
    {"stops the recording of gradients", "state", function(t)
      return st.no_grad(function() return t * 2 end) * t
    end},
  } do
    it(row[1] .. " is called", function()
      local f = st.fuse(row[3])
      near(gradient_of(row[3], x), gradient_of(f, x), 1e-12)
      near(gradient_of(row[3], x), gradient_of(f, x), 1e-12)
      local text = f:explain(x:clone():requires_grad_())
      assert.truthy(text:find("the function is called: .*" .. row[2]))
    end)
  end

  it("is called under autocast, where its operators cast", function()
    local function body(t) return t:matmul(t * 2) + 1 end
    local f = st.fuse(body)
    local y = x:float()
    st.autocast(function()
      assert.equal("bfloat16", tostring(f(y).dtype))
      assert.truthy(f:explain(y):find "the function is called")
      near(gradient_of(body, y), gradient_of(f, y), 1e-12)
    end)
    assert.equal("float32", tostring(f(y).dtype))
  end)
end)

-- -- Training steps ----------------------------------------------------------

local function train(net, steps, inputs, targets, wrap)
  local step = wrap(function(x, t) return st.cross_entropy(net(x), t) end)
  local optimizer = st.optim.SGD(net:parameters(), {lr = 0.1, momentum = 0.9})
  for k = 1, steps do
    optimizer:zero_grad()
    step(inputs[k], targets[k]):backward()
    optimizer:step()
  end
end

local function plain(f) return f end

describe("A fused training step gives the parameters of the step itself",
         function()
  local function check(new, inputs, targets)
    st.manual_seed(3)
    local one = new()
    st.manual_seed(3)
    local two = new()
    train(one, #inputs, inputs, targets, plain)
    train(two, #inputs, inputs, targets, st.fuse)
    local fused = two:state_dict()
    for name, t in pairs(one:state_dict()) do
      assert.is_true(st.allclose(t, fused[name], 1e-5, 1e-6), name)
    end
  end

  local function data(...)
    st.manual_seed(4)
    local inputs, targets = {}, {}
    for k = 1, 4 do
      inputs[k] = st.randn(...)
      targets[k] = st.randint(1, 3, {6})
    end
    return inputs, targets
  end

  it("of a convolutional network", function()
    check(function()
      return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2),
                           nn.Dropout(0), nn.Conv2d(4, 4, 2),
                           nn.GroupNorm(2, 4), nn.AvgPool2d(2), nn.Flatten(),
                           nn.Linear(4, 3))
    end, data(6, 1, 8, 8))
  end)

  it("of an LSTM", function()
    check(function()
      local lstm, head = nn.LSTM(5, 4, {batch_first = true}), nn.Linear(4, 3)
      local net = nn.Module()
      net.lstm, net.head = lstm, head
      function net.forward(_, x) return head((lstm(x))[":, -1"]) end
      return net
    end, data(6, 7, 5))
  end)
end)
