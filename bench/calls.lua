--- What one call costs, and a few kernels, one row each.
--
--     ./dev bench calls
--
-- Prints the fastest and the median of many rounds, in nanoseconds a call, on
-- one thread. Compare rows of one run only: machines differ, and one machine
-- differs from hour to hour.

local st = require "strided"

-- os.clock adds up the threads, so one.
st.set_num_threads(1)

local ROUNDS = 15
local ROUND_SECONDS = 0.02

local one, other, out = st.rand(1), st.rand(1), st.rand(1)
local matrix, vector = st.rand(10, 10), st.rand(100)
local million, more, result = st.rand(1000, 1000), st.rand(1000, 1000),
                              st.empty(1000, 1000)
local keywords = {out = out}
local into = {out = result}

local CASES = {
  {"empty(10)", function() return st.empty(10) end},
  {"a + b, one element", function() return one + other end},
  {"a + 1, one element", function() return one + 1 end},
  {"a:add_(b), one element", function() return one:add_(other) end},
  {"add(a, b, {out =}), one element",
   function() return st.add(one, other, keywords) end},
  {"sum, one element", function() return one:sum() end},
  {"v[i], a number", function() return vector[5] end},
  {"m[i], a view", function() return matrix[5] end},
  {"m:t()", function() return matrix:t() end},
  {"item()", function() return one:item() end},
  {"add, 1M, out=", function() return st.add(million, more, into) end},
  {"exp, 1M, out=", function() return st.exp(million, into) end},
  {"copy of a transpose, 1M",
   function() return result:copy_(million:t()) end},
  {"a:t() + b, 1M, out=",
   function() return st.add(million:t(), more, into) end},
  {"sum, 1M", function() return million:sum() end},
  {"sum over the first dim, 1M", function() return million:sum(1) end},
  {"sort the last dim, 1M", function() return million:sort() end},
}

--- Seconds a call, in a loop of n.
local function time(fn, n)
  local start = os.clock()
  for _ = 1, n do fn() end
  return (os.clock() - start) / n
end

local function calls_in_a_round(fn)
  local n = 1
  while time(fn, n) * n < ROUND_SECONDS do n = n * 2 end
  return n
end

print(("%-34s %12s %12s"):format("case", "fastest ns", "median ns"))
for _, case in ipairs(CASES) do
  local n, seconds = calls_in_a_round(case[2]), {}
  for i = 1, ROUNDS do seconds[i] = time(case[2], n) end
  table.sort(seconds)
  print(("%-34s %12.0f %12.0f"):format(case[1], seconds[1] * 1e9,
                                       seconds[(ROUNDS + 1) / 2] * 1e9))
end
