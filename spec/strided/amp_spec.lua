--- Loss scaling: what PyTorch's GradScaler does, from spec/vectors/autocast.py,
-- misuse, and training in mixed precision.
-- axes: lua

local amp = require "strided.amp"
local nn = require "strided.nn"
local optim = require "strided.optim"
local reader = require "spec.conformance.reader"
local st = require "strided"
local tensors = require "spec.support.tensors"

local live, near, raises_here = tensors.live, tensors.near, tensors.raises_here
local huge, ipairs, tonumber = math.huge, ipairs, tonumber

local before

setup(function() before = live() end)
teardown(function() assert.equal(before, live()) end)

--- A parameter whose gradient is `values` times the scale, and its optimizer.
local function start(options)
  local p = st.tensor {1, 2}:float():requires_grad_()
  return p, optim.SGD({p}, {lr = 0.1, momentum = 0.9}), amp.GradScaler(options)
end

local SPECIAL = {inf = huge, nan = 0 / 0}

local function backward(scaler, p, values)
  p.grad = nil
  local g = {}
  for i, x in ipairs(values) do g[i] = SPECIAL[x] or tonumber(x) end
  scaler:scale((p * st.tensor(g):float()):sum()):backward()
end

describe("A gradient scaler", function()
  for case in reader.cases "spec/data/autocast.jsonl.gz" do
    if case.scaler then
      it("does what PyTorch's does, from " .. case.scaler.init_scale,
         function()
        local p, optimizer, scaler = start(case.scaler)
        for i, values in ipairs(case.steps) do
          backward(scaler, p, values)
          scaler:unscale_(optimizer)
          local norm = nn.utils.clip_grad_norm_(p, 3):item()
          scaler:step(optimizer)
          scaler:update()
          local want, state = case.trace[i], scaler:state_dict()
          assert.equal(want[1], state.scale)
          assert.equal(want[1], scaler:get_scale())
          assert.equal(want[2], state._growth_tracker)
          near({want[3], want[4]}, p:detach():totable(), 1e-6)
          if want[5] ~= reader.null then
            near({want[5]}, {norm}, 1e-6)
          end
        end
      end)
    end
  end

  it("skips the step of the optimizer whose gradients overflow", function()
    local p, optimizer, scaler = start {init_scale = 4}
    local q = st.ones(2):requires_grad_()
    local other = optim.SGD({q}, {lr = 1})
    backward(scaler, p, {1, huge})
    q.grad = st.tensor {4, 8}:float()
    assert.is_nil(scaler:step(optimizer))
    scaler:step(other)
    assert.same({1, 2}, p:detach():totable())
    assert.same({0, -1}, q:detach():totable())
    scaler:update()
    assert.equal(2, scaler:get_scale())
  end)

  it("scales tensors, and those in tables, in float32 or wider", function()
    local scaler = amp.GradScaler()
    local x, y = st.tensor(2):half(), st.ones({2}, {dtype = "float64"})
    local out = scaler:scale {x, {y}}
    assert.equal("float32", out[1].dtype)
    assert.equal(131072, out[1]:item())
    assert.same({65536, 65536}, out[2][1]:totable())
    assert.equal("float64", out[2][1].dtype)
  end)

  it("does nothing if it is disabled", function()
    local p, optimizer, scaler = start {enabled = false}
    backward(scaler, p, {1, 2})
    assert.same({1, 2}, p.grad:totable())
    scaler:unscale_(optimizer)
    scaler:step(optimizer)
    scaler:update()
    near({0.9, 1.8}, p:detach():totable(), 1e-6)
    assert.equal(1, scaler:get_scale())
    assert.is_false(scaler:is_enabled())
    assert.same({}, scaler:state_dict())
  end)

  it("has a state that is saved and loaded", function()
    local p, optimizer, a = start {init_scale = 8, growth_interval = 3}
    backward(a, p, {1, 1})
    a:step(optimizer)
    a:update()
    a:set_growth_factor(4)
    local name = os.tmpname()
    st.save(name .. ".safetensors", {scaler = a:state_dict()})
    local saved = st.load(name .. ".safetensors").scaler
    os.remove(name)
    os.remove(name .. ".safetensors")
    local b = amp.GradScaler()
    b:load_state_dict(saved)
    assert.same(a:state_dict(), b:state_dict())
    assert.same({scale = 8, growth_factor = 4, backoff_factor = 0.5,
                 growth_interval = 3, _growth_tracker = 1}, b:state_dict())
    for _ = 1, 2 do
      backward(b, p, {1, 1})
      b:step(optimizer)
      b:update()
    end
    assert.equal(32, b:get_scale())
  end)

  it("has scales that are numbers in float32", function()
    local p, optimizer, scaler = start {init_scale = 2 ^ -149}
    assert.equal(2 ^ -149, scaler:get_scale())
    for _, bad in ipairs {1e-50, 1e39, huge, -1, 0 / 0} do
      raises_here({"GradScaler", "'init_scale'", "in float32"}, function()
        amp.GradScaler {init_scale = bad}
      end)
    end
    -- torch.amp's scale is 0 after 2 ** -149 was halved; its state is loaded
    backward(scaler, p, {huge, huge})
    assert.is_nil(scaler:step(optimizer))
    scaler:update()
    assert.equal(0, scaler:get_scale())
    local other = amp.GradScaler()
    other:load_state_dict(scaler:state_dict())
    assert.same(scaler:state_dict(), other:state_dict())
    raises_here({"load_state_dict", "'scale'", "in float32"}, function()
      scaler:load_state_dict {scale = -1, growth_factor = 2,
                              backoff_factor = 0.5, growth_interval = 2,
                              _growth_tracker = 0}
    end)
  end)

  it("takes a new scale", function()
    local p, optimizer, scaler = start()
    backward(scaler, p, {1, 1})
    scaler:step(optimizer)
    scaler:update(16)
    assert.equal(16, scaler:get_scale())
    backward(scaler, p, {1, 1})
    scaler:update(st.tensor {32.0})
    assert.equal(32, scaler:get_scale())
  end)

  it("is used in order", function()
    local p, optimizer, scaler = start()
    raises_here({"step", "scale was not called"}, function()
      scaler:step(optimizer)
    end)
    raises_here({"update", "scale was not called"}, function()
      scaler:update()
    end)
    scaler:scale(st.ones(1))
    raises_here({"step", "no parameter", "gradient"}, function()
      scaler:step(optimizer)
    end)
    raises_here({"update", "unscale_ or step"}, function()
      amp.GradScaler.update(scaler)
    end)
    scaler:update(8)
    backward(scaler, p, {1, 1})
    scaler:unscale_(optimizer)
    assert.same({1, 1}, p.grad:totable())
    raises_here({"unscale_", "since the last update"}, function()
      scaler:unscale_(optimizer)
    end)
    scaler:step(optimizer)
    raises_here({"step", "since the last update"}, function()
      scaler:step(optimizer)
    end)
    raises_here({"unscale_", "before step"}, function()
      scaler:unscale_(optimizer)
    end)
    raises_here({"step", "closure"}, function()
      scaler:step(optimizer, function() end)
    end)
  end)

  it("is checked", function()
    raises_here({"GradScaler", "'backoff_factor' must be between"}, function()
      amp.GradScaler {backoff_factor = -1}
    end)
    for name, value in pairs {init_scale = 0, growth_factor = 1,
                              backoff_factor = 1, growth_interval = 0.5} do
      raises_here({"GradScaler", "'" .. name .. "'"}, function()
        amp.GradScaler {[name] = value}
      end)
    end
    raises_here({"GradScaler", "'enabled'", "number"}, function()
      amp.GradScaler {enabled = 0}
    end)
    raises_here({"GradScaler", "'scale'", "init_scale"}, function()
      amp.GradScaler {scale = 2}
    end)
    local scaler = amp.GradScaler()
    raises_here({"scale", "Tensor", "number"}, function() scaler:scale(1) end)
    raises_here({"unscale_", "optimizer", "nil"}, function()
      scaler:unscale_()
    end)
    raises_here({"step", "colon"}, function() scaler.step(nil) end)
    raises_here({"load_state_dict", "empty"}, function()
      scaler:load_state_dict {}
    end)
    raises_here({"load_state_dict", "growth_factor"}, function()
      scaler:load_state_dict {scale = 1, backoff_factor = 0.5,
                              growth_interval = 2, _growth_tracker = 0}
    end)
    local m = st.ones({1}, {device = "meta"}):requires_grad_()
    scaler:scale(m:sum()):backward()
    raises_here({"unscale_", "a gradient is on the meta device"}, function()
      scaler:unscale_(optim.SGD({m}, {lr = 1}))
    end)
    raises_here({"update", "'new_scale'", "on the CPU"}, function()
      scaler:update(m:detach())
    end)
    local h = st.ones(1):half():requires_grad_()
    scaler:scale(h:sum()):backward()
    raises_here({"unscale_", "float16", "float32"}, function()
      scaler:unscale_(optim.SGD({h}, {lr = 1}))
    end)
  end)
end)

describe("Training in mixed precision", function()
  local function train(dtype, options)
    st.manual_seed(0)
    local net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    net:to(dtype or "float32")
    local optimizer = optim.AdamW(net:parameters(), options)
    local scaler = amp.GradScaler {growth_interval = 20}
    local x = st.randn(32, 4)
    local target = (x:select(2, 1) * x:select(2, 2)):gt(0):long() + 1
    local first, last
    for _ = 1, 60 do
      optimizer:zero_grad()
      local loss = st.autocast({dtype = dtype or "float16"}, function()
        return st.cross_entropy_loss(net(x), target)
      end)
      scaler:scale(loss):backward()
      scaler:unscale_(optimizer)
      nn.utils.clip_grad_norm_(net, 1)
      scaler:step(optimizer)
      scaler:update()
      last = loss:item()
      first = first or last
    end
    return first, last, net, optimizer
  end

  it("learns in float16, with scaled losses", function()
    local first, last, net = train(nil, {lr = 0.03})
    assert.is_true(last < first / 3)
    assert.equal("float32", net:parameters()[1].dtype)
  end)

  it("learns parameters of bfloat16 with master weights", function()
    local first, last, net, optimizer =
      train("bfloat16", {lr = 0.03, master_weights = true})
    assert.is_true(last < first / 3)
    local p = net:parameters()[1]
    assert.equal("bfloat16", p.dtype)
    assert.equal("bfloat16", p.grad.dtype)
    assert.equal("float32", optimizer.state[p].master.dtype)
  end)
end)
