--- Random functions of matrices, recorded by st.fuse: outputs, first and second
-- derivatives are those of the direct call.
-- axes: lua5.4

local st = require "strided"
local walk = require "spec.fuse.gradient_walk"

local error, ipairs, pcall, tonumber = error, ipairs, pcall, tonumber
local getenv, max = os.getenv, math.max
local unpack = unpack or table.unpack

local N = 4 -- rows and columns
local PROGRAMS = tonumber(getenv "STRIDED_FUZZ_PROGRAMS" or 150)

-- -- Programs ----------------------------------------------------------------

local UNARY = {
  function(x) return x:sin() end,
  function(x) return x * 0.5 end,
  function(x) return -x end,
  function(x) return 1.5 - x end,
  function(x) return x:tanh() end,
  function(x) return x:square() end,
  function(x) return x:sigmoid() end,
  function(x) return x:abs() + 0.1 end,
  function(x) return (x:abs() + 1):log() end,
  function(x) return x:exp():reciprocal() end,
  function(x) return x:conj():resolve_conj() end,
  function(x) return x:real() end,
  function(x) return x:imag() end,
  function(x) return x:detach() end,
  function(x) return x:clone() end,
  function(x) return x:t() end,
  function(x) return x["2, :"] end,
  function(x) return x[":, 1"]:unsqueeze(2) end,
  function(x) return x:flip {1} end,
  function(x) return x:roll(1, 1) end,
  function(x) return x:tril() end,
  function(x) return x:sum(1, true) end,
  function(x) return x:mean(2, true) end,
  function(x) return x:cumsum(1) end,
  function(x) return x:softmax(1) end,
  function(x) return x:logsumexp(1, true) end,
  function(x) return x:masked_fill(st.eye(N):to "bool", 0.5) end,
  function(x)
    return st.max_pool2d(x:unsqueeze(1), {2, 2}, {1, 1}, {1, 1})["1, :4, :4"]
  end,
  function(x)
    return st.pad(x:unsqueeze(1), {1, 1}, {mode = "reflect"})["1, :, 2:5"]
  end,
}

local BINARY = {
  function(x, y) return x * y end,
  function(x, y) return x + y end,
  function(x, y) return x - y * 2 end,
  function(x, y) return x / (y:abs() + 1) end,
  function(x, y) return x:matmul(y) end,
  function(x, y) return st.maximum(x, y) end,
  function(x, y) return st.atan2(x, y) end,
  function(x, y) return st.lerp(x, y, 0.3) end,
  function(x, y) return st.addcmul(x, x, y) end,
  function(x, y) return st.where(x:abs():gt(0.5), x, y) end,
  function(x, y) return st.einsum("ij,kj->ik", {x, y}) end,
  function(x, y) return st.cat({x, y}, 1)["1:4, :"] end,
  function(x, y) return (x * 1):add_(y) end,
  function(x, y) return (x + y):mul_(x) end,
  function(x, y) return st.zeros_like(y):copy_(y) + x end,
}

--- Draws integers from 1 to n, the same ones for a seed.
local function drawer(seed)
  local state = seed
  return function(n)
    state = (state * 16807) % 2147483647
    return state % n + 1
  end
end

--- A function of three tensors: some steps, whose operands are arguments or
-- earlier results, and up to three of these as its results.
local function program(draw, captured)
  local steps, outputs = {}, {}
  for i = 1, draw(8) + 1 do
    local f = draw(2) == 1 and UNARY[draw(#UNARY)] or BINARY[draw(#BINARY)]
    steps[i] = {f, draw(1000), draw(1000)}
  end
  for i = 1, draw(3) do outputs[i] = draw(4) end
  return function(a, b, c)
    local v = {a, captured and b * captured or b, c}
    for i = 1, #steps do
      local step, n = steps[i], #v
      v[n + 1] = step[1](v[step[2] % n + 1], v[step[3] % n + 1])
    end
    local out = {}
    for i, k in ipairs(outputs) do out[i] = v[max(4, #v - k)] * 1 end
    return unpack(out)
  end
end

--- Two matrices and a row, most of which require a gradient.
local function call_of(draw, f, captured)
  local inputs, leaves = {}, {}
  local dtype = draw(2) == 1 and "complex128" or "float64"
  st.manual_seed(draw(1000))
  for i = 1, 3 do
    inputs[i] = st.randn({i < 3 and N or 1, N},
                         {dtype = i < 3 and dtype or "float64"})
    if draw(5) > 1 then leaves[#leaves + 1] = inputs[i]:requires_grad_() end
  end
  leaves[#leaves + 1] = captured
  return {f = f, inputs = inputs, leaves = leaves, call = {}}
end

-- -- Comparing ---------------------------------------------------------------

--- Whether a program can be called at all; raises where its recording differs.
local function check(seed)
  local draw = drawer(seed)
  st.manual_seed(seed)
  local captured = draw(3) == 1 and
    st.randn({N, N}, {dtype = "float64"}):requires_grad_() or nil
  local f = program(draw, captured)
  local fused = st.fuse(f)
  for _ = 1, 3 do
    local c = call_of(draw, f, captured)
    local ok, want = pcall(walk.run, c, f)
    if not ok then return false end
    local why = walk.compare(want, walk.run(c, fused))
    if why then
      error(("program %d: %s\n%s"):format(seed, why,
                                          fused:explain(unpack(c.inputs))), 0)
    end
  end
  return true
end

describe("A random function of matrices", function()
  it("has the same derivatives when it is recorded", function()
    local called, seed = 0, 0
    while called < PROGRAMS do
      seed = seed + 1
      if check(seed) then called = called + 1 end
    end
    assert.is_true(seed < 4 * PROGRAMS)
  end)
end)
