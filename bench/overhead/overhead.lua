--- Measures the cost of a call from Lua, and a few kernels for comparison;
-- prints a line of JSON per case. overhead.py has the same cases for PyTorch.
--
--     luajit bench/overhead/overhead.lua [PART OF A CASE'S NAME]

local st = require "strided"

local only = arg[1]

local SAMPLES = 15
local SAMPLE_SECONDS = 0.02

st.set_num_threads(1)

local lib = st.library "bench"
lib:def "identity(Tensor(a) x) -> Tensor(a)"
lib:impl("identity", "CPU", function(x) return x end)

-- The names that cases can use.
local VALUES = {
  st = st, a = st.zeros(1), b = st.zeros(1), out = st.zeros(1),
  vector = st.zeros(100), matrix = st.zeros(10, 10),
  p = st.rand(1000, 1000), q = st.rand(1000, 1000), r = st.rand(1000, 1000),
  add = st.ops.aten.add.Tensor, identity = st.ops.bench.identity,
}

local CASES = {
  {"a + b", "a + b"},
  {"a + 1", "a + 1"},
  {"a:add_(b)", "a:add_(b)"},
  {"st.add(a, b, {out =})", "st.add(a, b, {out = out})"},
  {"st.ops.aten.add.Tensor(a, b)", "add(a, b)"},
  {"a kernel in the script", "identity(a)"},
  {"a:sum()", "a:sum()"},
  {"st.empty(1)", "st.empty(1)"},
  {"a:view(1, 1)", "a:view(1, 1)"},
  {"m:t()", "matrix:t()"},
  {"m[i], a view", "matrix[5]"},
  {"v[i], a number", "vector[5]"},
  {"a:item()", "a:item()"},
  {"add", "st.add(p, q, {out = r})"},
  {"exp", "st.exp(p, {out = r})"},
  {"add of a transpose", "st.add(p:t(), q, {out = r})"},
  {"copy of a transpose", "r:copy_(p:t())"},
  {"sum", "p:sum()"},
  {"sum over rows", "p:sum(1)"},
  {"sort in rows", "p:sort()"},
}

--- A function that evaluates the expression n times.
local function loop_of(expression)
  local names, values = {}, {}
  for name, value in pairs(VALUES) do
    names[#names + 1], values[#values + 1] = name, value
  end
  return assert(loadstring(([[
    local %s = ...
    return function(n) for _ = 1, n do local _ = %s end end
  ]]):format(table.concat(names, ", "), expression)))(unpack(values))
end

--- Seconds of processor time that n passes take.
local function time(loop, n)
  local start = os.clock()
  loop(n)
  return os.clock() - start
end

local function measure(name, expression)
  local loop, n, ns = loop_of(expression), 1, {}
  while time(loop, n) < SAMPLE_SECONDS do n = n * 2 end
  for i = 1, SAMPLES do ns[i] = time(loop, n) * 1e9 / n end
  table.sort(ns)
  print(('{"case": "%s", "fastest": %.2f, "median": %.2f, "n": %d}')
        :format(name, ns[1], ns[(SAMPLES + 1) / 2], n))
end

print(('{"about": "%s"}'):format(jit and jit.version or _VERSION))
for _, case in ipairs(CASES) do
  if not only or case[1]:find(only, 1, true) then measure(case[1], case[2]) end
end
lib:close()
