--- Fibers of Tarantool compute: each in turns with the others, and one after
-- another inside of what must not be left. Prints a line per topic.

local fiber = require "fiber"
local st = require "strided"

local FIBERS, ROUNDS = 20, 50

--- Runs the functions at once, as fibers, to their end: lists of what pcall
-- says.
local function together(...)
  local fibers, said = {}, {}
  for i, fn in ipairs {...} do
    fibers[i] = fiber.new(fn)
    fibers[i]:set_joinable(true)
  end
  for i, f in ipairs(fibers) do said[i] = {f:join()} end
  return said
end

-- -- Taking turns ------------------------------------------------------------

local order = {}

local function compute(k)
  local n = 100 * k
  local t = st.arange(n, {dtype = "float64"})
  for round = 1, ROUNDS do
    order[#order + 1] = k
    local u = t + round
    fiber.sleep(0)
    local sum = (u:view(100, k):t():sum {dim = 2} * 2):sum():item()
    fiber.yield()
    assert(sum == n * (n - 1) + 2 * n * round, "fiber " .. k)
  end
end

do
  local workers, switches = {}, 0
  for k = 1, FIBERS do workers[k] = function() compute(k) end end
  for k, said in ipairs(together(unpack(workers))) do
    assert(said[1], ("fiber %d: %s"):format(k, tostring(said[2])))
  end
  for i = 2, #order do
    if order[i] ~= order[i - 1] then switches = switches + 1 end
  end
  assert(#order == FIBERS * ROUNDS)
  assert(switches > FIBERS * ROUNDS / 2, "they did not take turns")
  print(#order .. " computations in " .. FIBERS .. " fibers")
end

-- -- Yields inside -----------------------------------------------------------

local lib = st.library "host"
lib:def "nap(Tensor x) -> Tensor"
lib:impl("nap", "CompositeImplicitAutograd", function(x)
  local y = x * 2
  fiber.sleep(0.02)
  return y + 1
end)

local function body()
  local y = st.ones(3) * 2
  fiber.sleep(0.02)
  return (y + 1):sum():item()
end

local function pass(op, keys, ...) return op:redispatch(keys, ...) end

-- what yields inside; all return 9
local INSIDE = {
  {"a Lua kernel", function()
    return st.ops.host.nap(st.ones(3)):sum():item()
  end},
  {"a mode's body", function() return st.dispatch_mode(pass, body) end},
  {"a mode", function()
    return st.dispatch_mode(function(...)
      fiber.sleep(0.005)
      return pass(...)
    end, body)
  end},
  {"a body without gradients", function() return st.no_grad(body) end},
  {"a body with excluded keys", function()
    return st.exclude_keys(st.keyset(), body)
  end},
  {"an observer", function()
    return st.observe({after = function() fiber.sleep(0.005) end}, body)
  end},
  {"a traced body", function() return select(2, st.trace(body)) end},
  {"a scope", function() return st.scope(body) end},
}

local OTHERS = {
  function() return st.ones(2):sum():item() end,
  function() return st.no_grad(body) end,
  function() return st.dispatch_mode(pass, body) end,
  function() return st.observe({}, body) end,
  function() return st.trace(body) end,
  function() return st.scope(body) end,
  function() return st.ops.host.nap(st.ones(3)) end,
}

local function state()
  return ("%s %s %s"):format(tostring(st.included_keys()),
                             tostring(st.excluded_keys()),
                             tostring(st.is_grad_enabled()))
end

local before = state()

for _, case in ipairs(INSIDE) do
  local said = together(case[2], unpack(OTHERS))
  assert(said[1][1] and said[1][2] == 9,
         case[1] .. ": " .. tostring(said[1][2]))
  for i = 2, #said do
    assert(not said[i][1] and
           tostring(said[i][2]):find("another fiber", 1, true),
           ("%s, call %d: %s"):format(case[1], i - 1, tostring(said[i][2])))
  end
  assert(state() == before, case[1])
  assert(body() == 9)
  print("a yield inside " .. case[1])
end

do
  local made
  local said = together(function() st.scope(body) end,
                        function() made = st.tensor {1, 2} end)
  assert(said[1][1] and said[2][1] and made:sum():item() == 3)
  print "a tensor beside a scope"
end

-- -- Ends inside -------------------------------------------------------------

do
  local asleep = fiber.new(function()
    st.no_grad(function() fiber.sleep(100) end)
  end)
  asleep:set_joinable(true)
  fiber.sleep(0)
  assert(not pcall(st.ones, 1))
  asleep:cancel()
  assert(not asleep:join())
  assert(state() == before)
  assert(body() == 9)
  print "a fiber that is cancelled inside"
end

lib:close()
collectgarbage()
collectgarbage()
print("nothing left: " .. tostring(st.memory().tensors.count))
os.exit(0)
