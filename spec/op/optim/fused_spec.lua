--- Fused steps of optimizers: against PyTorch's operators, which
-- spec/vectors/optim.py has called, in lists of any lengths and layouts.
-- axes: isa threads

local st = require "strided"
local reader = require "spec.conformance.reader"
local tensors = require "spec.support.tensors"

local aten = st.ops.aten
local live, raises = tensors.live, tensors.raises

local HERE = debug.getinfo(1, "S").source:match "^@(.-)[^/]*$"
local PATH = HERE .. "../../data/optim.jsonl.gz"

local rows = {}
for row in reader.cases(PATH) do
  if row.kind == "fused" then rows[#rows + 1] = row end
end

-- -- PyTorch's numbers -------------------------------------------------------

local function list_of(make, dtype)
  local lists = {}
  for i, n in ipairs {21, 3} do
    local list = {}
    for k = 1, n do list[k] = make(k) end
    lists[i] = st.tensor(list, {dtype = "float64"}):to(dtype)
  end
  return lists
end

local function shifted(by, dtype)
  return list_of(function(k)
    return math.sin((k - 1) * 0.3) - 0.25 + by
  end, dtype)
end

local function gradients(dtype)
  return list_of(function(k) return ((14 + k * 3) % 11 - 5) / 4 * 4 end, dtype)
end

--- What a row wrote: parameters, gradients and states.
local function call(row)
  local dtype, o = row.dtype, {}
  for key, value in pairs(row.options) do o[key] = value end
  o.grad_scale, o.found_inf = st.tensor(4.0), st.tensor(0.0)
  local p, g = shifted(0, dtype), gradients(dtype)
  local steps = {st.tensor(3.0), st.tensor(7.0)}
  local written = {p, g}
  if row.name == "sgd" then
    written[3] = shifted(0.1, dtype)
    aten._fused_sgd_(p, g, written[3], o)
  elseif row.name == "adagrad" then
    written[3] = shifted(2, dtype)
    aten._fused_adagrad_(p, g, written[3], steps, o)
  else
    for i, by in ipairs {0.1, 2, 2.5} do written[2 + i] = shifted(by, dtype) end
    aten["_fused_" .. row.name .. "_"](p, g, written[3], written[4],
                                       o.amsgrad and written[5] or {}, steps, o)
  end
  return written
end

-- Half precision: the last bit.
local TOLERANCE = {float64 = 1e-13, float32 = 1e-6, bfloat16 = 2 ^ -8,
                   float16 = 2 ^ -11}

local before

setup(function() before = live() end)
teardown(function() assert.same(before, live()) end)

describe("A fused step is PyTorch's:", function()
  for _, row in ipairs(rows) do
    it(row.name .. " of " .. row.dtype .. " by " .. row.options.lr
       .. ", maximize " .. tostring(row.options.maximize), function()
      for i, list in ipairs(call(row)) do
        local got = st.cat(list):to "float64"
        local want = st.tensor(row.after[i], {dtype = "float64"})
        local off = ((got - want):abs() / want:abs():clamp {min = 1e-3}):max()
        assert.is_true(off:item() <= TOLERANCE[row.dtype],
                       ("list %d differs by %g"):format(i, off:item()))
      end
    end)
  end
end)

-- -- Rules -------------------------------------------------------------------

-- Each rule with the number of its states, by mode.
local RULES = {
  {"nadam", 2, 0}, {"radam", 2, 0}, {"radam", 2, 1}, {"rmsprop", 1, 0},
  {"rmsprop", 2, 1}, {"rmsprop", 2, 2}, {"rmsprop", 3, 3}, {"adadelta", 2, 0},
  {"adamax", 2, 0}, {"asgd", 1, 0}, {"rprop", 2, 0},
}

local SHAPES = {{70001}, {3}, {0}, {5, 7}, {40000}, {}}

local function numbers_of(mode)
  return {-1, 0.1, 0.9, 0.1, 0.8, 0.9, 1e-3, 0.5, 2, mode}
end

-- The first state is larger than the square of the second one, as a mean of
-- squares is.
local LEAST = {3, 0.6, 0.1}

local function randoms(seed, count, dtype)
  st.manual_seed(seed)
  local list = {}
  for i = 1, count do
    for _, shape in ipairs(SHAPES) do
      list[#list + 1] = (st.rand(shape) * 0.1 + LEAST[i]):to(dtype or "float32")
    end
  end
  return list
end

local function run(rule, p, g, states)
  aten._fused_step_(p, g, states, rule[1], numbers_of(rule[3]))
end

local function same(a, b)
  for i, t in ipairs(a) do assert.is_true(t:equal(b[i]), "tensor " .. i) end
end

describe("A fused step of many tensors", function()
  for _, rule in ipairs(RULES) do
    it("is that of each of them: " .. rule[1] .. " " .. rule[3], function()
      local p, g = randoms(1, 1), randoms(2, 1)
      local states = randoms(3, rule[2])
      local q, other = randoms(1, 1), randoms(3, rule[2])
      run(rule, p, g, states)
      for k in ipairs(q) do
        local mine = {}
        for i = 0, rule[2] - 1 do mine[i + 1] = other[i * #SHAPES + k] end
        run(rule, {q[k]}, {g[k]}, mine)
      end
      same(p, q)
      same(states, other)
    end)
  end

  it("computes bfloat16 as float32", function()
    for _, rule in ipairs(RULES) do
      local p, g = randoms(1, 1, "bfloat16"), randoms(2, 1, "bfloat16")
      local states = randoms(3, rule[2], "bfloat16")
      local function wide(list)
        local other = {}
        for i, t in ipairs(list) do other[i] = t:float() end
        return other
      end
      local q, other, h = wide(p), wide(states), wide(g)
      run(rule, p, g, states)
      run(rule, q, h, other)
      for i, t in ipairs(q) do q[i] = t:bfloat16() end
      for i, t in ipairs(other) do other[i] = t:bfloat16() end
      same(p, q)
      same(states, other)
    end
  end)

  it("takes float32 parameters with gradients of half precision", function()
    local p, g = randoms(1, 1), randoms(2, 1, "float16")
    local q, h = randoms(1, 1), {}
    for i, t in ipairs(g) do h[i] = t:float() end
    local states, other = randoms(3, 1), randoms(3, 1)
    run({"asgd", 1, 0}, p, g, states)
    run({"asgd", 1, 0}, q, h, other)
    same(p, q)
    same(states, other)
  end)

  it("takes tensors of any strides", function()
    local function make(change)
      st.manual_seed(1)
      local list = {}
      for i = 1, 4 do list[i] = change(st.rand(6, 4), i) end
      return list
    end
    local function plain(x) return x end
    local function columns(x)
      local wide = st.zeros(6, 12)
      local view = wide:slice(2, 2, 12, 3)
      view:copy_(x)
      return view
    end
    for _, change in ipairs {
      columns,
      function(x) return x:t():contiguous():t() end,
      function(x, i) return i == 4 and x:t():contiguous():t() or x end,
      function(x, i) return i % 2 == 0 and columns(x) or x end,
    } do
      local a, b = make(plain), make(change)
      run({"adamax", 2, 0}, {a[1]}, {a[2]}, {a[3], a[4]})
      run({"adamax", 2, 0}, {b[1]}, {b[2]}, {b[3], b[4]})
      same(a, b)
    end
  end)

  it("reads a gradient that is a lazy negative", function()
    local z = st.complex(st.rand(5), st.rand(5))
    local g = z:conj():imag()
    local p, q = st.ones(5), st.ones(5)
    run({"asgd", 1, 0}, {p}, {g}, {st.zeros(5)})
    run({"asgd", 1, 0}, {q}, {-z:imag()}, {st.zeros(5)})
    same({p}, {q})
  end)

  it("reads a gradient in memory that it writes as if from a copy", function()
    for first = 1, 5 do
      local function step(apart)
        local memory = st.arange(9):float()
        local p = {memory:narrow(1, 1, 4), memory:narrow(1, 5, 4)}
        local g = {memory:narrow(1, first, 4), memory:narrow(1, 6 - first, 4)}
        if apart then g = {g[1]:clone(), g[2]:clone()} end
        run({"asgd", 1, 0}, p, g, {st.ones(4), st.ones(4)})
        return memory
      end
      same({step(false)}, {step(true)})
    end
  end)

  it("does nothing for an infinite gradient that was found", function()
    local p = st.ones(3)
    aten._fused_sgd_({p}, {st.ones(3)}, {}, {
      weight_decay = 0, momentum = 0, lr = 1, dampening = 0, nesterov = false,
      maximize = false, is_first_step = true, found_inf = st.tensor(1.0)})
    same({p}, {st.ones(3)})
  end)

  it("writes to no tensor on Meta", function()
    local meta = {device = "meta"}
    run({"asgd", 1, 0}, {st.ones(3, meta)}, {st.ones(3, meta)},
        {st.zeros(3, meta)})
    local p = st.ones(3)
    run({"asgd", 1, 0}, {p}, {st.ones(3, meta)}, {st.zeros(3)})
    same({p}, {st.ones(3)})
  end)

  it("counts as a write", function()
    local p = st.ones(3)
    local version = p._version
    run({"asgd", 1, 0}, {p}, {st.ones(3)}, {st.zeros(3)})
    assert.is_true(p._version > version)
  end)
end)

-- -- Misuse ------------------------------------------------------------------

describe("A fused step refuses", function()
  local x = st.ones
  -- The error, and the arguments: functions, as no tensor outlives a spec.
  for _, row in ipairs {
    {"argument 'grads' has 0 tensors, argument 'self' 1", function()
      return {x(3)}, {}, {x(3)}
    end},
    {"argument 'states' must have 1 tensors for each of the 1 parameters, got "
     .. "0", function() return {x(3)}, {x(3)}, {} end},
    {"argument 'grads' number 1 has shape [2], its parameter [3]", function()
      return {x(3)}, {x(2)}, {x(3)}
    end},
    {"argument 'states' number 1 has dtype float64", function()
      return {x(3)}, {x(3)}, {x(3):double()}
    end},
    {"argument 'self' number 1 has dtype int64", function()
      return {x(3):long()}, {x(3)}, {x(3)}
    end},
    {"argument 'grads' number 2 has dtype float32, but the first parameter "
     .. "float64", function()
      local function d() return x(3):double() end
      return {d(), d()}, {d(), x(3)}, {d(), d()}
    end},
    {"numbers' must have 10 numbers, got 2", function()
      return {x(3)}, {x(3)}, {x(3)}, "asgd", {1, 2}
    end},
    {"the mode in argument 'numbers' must be an integer from 0 to 7, got 8",
     function() return {x(3)}, {x(3)}, {x(3)}, "asgd", numbers_of(8) end},
    {"there is no rule 'sgd'", function()
      return {x(3)}, {x(3)}, {x(3)}, "sgd"
    end},
  } do
    it(row[1], function()
      local p, g, states, rule, numbers = row[2]()
      raises(row[1], aten._fused_step_, p, g, states, rule or "asgd",
             numbers or numbers_of(0))
      assert.is_true(p[1]:eq(1):all():item())
    end)
  end

  it("tensors that share memory, if both are written", function()
    local p, g, state = st.ones(3), st.ones(3), st.zeros(3)
    local asgd = {"asgd", 1, 0}
    for _, row in ipairs {
      {{p}, {g}, {p}}, {{p, p}, {g, st.ones(3)}, {state, st.zeros(3)}},
      {{p, p["2:3"]}, {g, st.ones(2)}, {state, st.zeros(2)}},
    } do
      raises("two of the tensors share memory", run, asgd, row[1], row[2],
             row[3])
    end
    raises("several elements in one place", run, asgd,
           {st.ones(1):expand(3)}, {g}, {state})
    run(asgd, {p, st.ones(3)}, {g, g}, {state, st.zeros(3)})
  end)

  it("steps and scales that are no numbers", function()
    local p, o = {x(3)}, {
      lr = 0.1, beta1 = 0.9, beta2 = 0.9, weight_decay = 0, eps = 0,
      amsgrad = false, maximize = false}
    local function adam(steps, scale)
      o.grad_scale = scale
      aten._fused_adam_(p, {x(3)}, {x(3)}, {x(3)}, {}, steps, o)
    end
    raises("argument 'state_steps' has 0 tensors, argument 'self' 1", adam, {})
    raises("argument 'state_steps' must have one element each, got shape [2]",
           adam, {x(2)})
    raises("argument 'grad_scale' must not be 0", adam, {x(1)}, st.tensor(0.0))
    raises("argument 'state_steps' must be real", adam,
           {st.complex(x(1), x(1))})
  end)

  it("parameters that require a gradient, outside of no_grad", function()
    local p = st.ones(3):requires_grad_()
    raises("does not record gradients, but argument 'self' requires one", run,
           {"asgd", 1, 0}, {p}, {x(3)}, {x(3)})
    st.no_grad(run, {"asgd", 1, 0}, {p}, {x(3)}, {x(3)})
  end)
end)
