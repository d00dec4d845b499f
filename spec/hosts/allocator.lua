--- Scenarios for a state that runs out of memory: {name =, run =, check =},
-- where check raises when a failed run has left the state in disorder.

local st = require "strided"

st.warnings(false)

local PATH = os.getenv "STRIDED_SCRATCH" .. "/saved.npy"

local square = st.arange(0, 9):view(3, 3):to "float32"

--- What every scenario must leave as it was.
local function check()
  assert(st.is_grad_enabled())
  assert(square:sum():item() == 36)
  assert(#st.trace(st.add, square, 1) > 0)
  local seen = 0
  st.dispatch_mode(function(op, keys, ...)
    seen = seen + 1
    return op:redispatch(keys, ...)
  end, function() return square:neg() end)
  assert(seen > 0, "modes do not work any more")
end

local RUNS = {
  {"tensors from tables", function()
    return st.tensor({{1, 2}, {3, 4}}), st.tensor {{true}, {false}},
           st.tensor({1.5, 2}, {dtype = "float16"})
  end},
  {"operators", function()
    local t = square + 1
    return (t * square):sum {dim = {1, 2}}, t:sort(), t:split(1, 2),
           st.cat({t, square}, 1), -t
  end},
  {"subscripts", function()
    local t = square:clone()
    t["1, 2:3"] = 7
    t[{1, {2, 3}}] = {5, 6}
    return t[{st.newaxis, 1, {}}], t[{t:gt(3)}], t["..., 1"], t[1][2]
  end},
  {"back to Lua", function()
    return square:totable(), square.shape, square:stride(), square[1][1],
           st.int "9007199254740993", st.complex(1, 2)
  end},
  {"printing", function()
    return tostring(square), tostring(st.ones(20, 30))
  end},
  {"errors of the engine", function()
    local ok, why = pcall(st.add, square, st.ones(7))
    assert(not ok)
    return tostring(why)
  end},
  {"errors of arguments", function()
    local ok, why = pcall(st.sum, square, {dim = "x"})
    assert(not ok)
    return tostring(why)
  end},
  {"a library", function()
    local lib = st.library "starved"
    lib:def "twice(Tensor a, *, float scale=2.0) -> Tensor"
    lib:impl("twice", "CompositeImplicitAutograd", function(a, scale)
      return a * scale
    end)
    local t = st.ops.starved.twice(square)
    lib:close()
    return t
  end},
  {"a library at once", function()
    local lib = st.library("starved", function(lib)
      lib:def "f(Tensor a) -> Tensor"
      lib:impl("f", "CPU", function(a) return a end)
    end)
    lib:close()
  end},
  {"kernels that raise", function()
    local lib = st.library("aten", "IMPL")
    lib:impl("neg", "CPU", function() error {text = "mine"} end)
    local ok, why = pcall(st.neg, square)
    lib:close()
    assert(not ok)
    return why
  end},
  {"a mode", function()
    return st.dispatch_mode(function(op, keys, ...)
      return op:redispatch(keys, ...)
    end, function() return square:mul(2):sum() end)
  end},
  {"guards", function()
    return st.no_grad(function() return square:neg() end)
  end},
  {"what runs and would run", function()
    return st.trace(function() return square:exp() end),
           tostring(st.explain("add", square, square)),
           st.ops.aten.add.Tensor:dump(), st.ops.aten.add:overloads()
  end},
  {"key sets", function()
    local keys = st.keyset("CPU", "AutogradCPU")
    return tostring(keys), square:keys()
  end},
  {"an iterator", function()
    local plan = st.iterator {outputs = {false}, inputs = {square, square}}
    plan:run(function() end)
    return tostring(plan), plan.shape, plan.outputs[1]
  end},
  {"saving and loading", function()
    st.save(PATH, square)
    local t = st.load(PATH)
    assert(t:equal(square))
  end},
}

local out = {}
for i, row in ipairs(RUNS) do
  out[i] = {name = row[1], run = row[2], check = check}
end
return out
