--- DataParallel after errors: steps that are interrupted, on one rank or on
-- all; networks that are freed.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")

local nn = st.nn

mpi.init()
local RANK, SIZE = mpi.rank(), mpi.size()
-- More ranks than cores take long for each call.
local IS_CROWDED = SIZE > 2

--- The error that fn(...) raises.
local function failure(fn, ...)
  local ok, why = pcall(fn, ...)
  assert(not ok, "no error")
  return tostring(why)
end

local function expect(pattern, why)
  assert(why:find(pattern), ("'%s' is not in '%s'"):format(pattern, why))
end

local function network()
  st.manual_seed(10)
  return nn.Sequential {nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4),
                        nn.Tanh(), nn.Linear(4, 2)}:to "float64"
end

--- The same batch on all ranks.
local function batch(n)
  st.manual_seed(99)
  return st.rand({n, 3}, {dtype = "float64"}),
         st.rand({n, 2}, {dtype = "float64"})
end

local criterion = nn.MSELoss()

--- Compares gradients with those of one network for the whole batch.
local function compare(net, x, y, what)
  local alone, mine = network(), net:parameters()
  criterion(alone(x), y):backward()
  for i, p in ipairs(alone:parameters()) do
    assert(st.allclose(mine[i].grad, p.grad, {rtol = 1e-9, atol = 1e-12}),
           what .. ", gradient " .. i)
  end
end

local tests = {}

-- -- Interrupted steps -------------------------------------------------------

--- A backward pass, averaged; `raises`: in a hook of the first layer, whose
-- gradients come last, or in the call of the network if it is "call".
local function plain_step(net, x, y, raises)
  local mine = x:narrow(1, 2 * RANK + 1, 2)
  local theirs = y:narrow(1, 2 * RANK + 1, 2)
  local handle
  if raises == "call" then
    handle = net.module[3]:register_forward_hook(function() error "oops" end)
  elseif raises then
    handle = net.module[1].bias:register_hook(function() error "oops" end)
  end
  local ok, why = pcall(function()
    criterion(net(mine), theirs):backward()
  end)
  if handle then handle:remove() end
  return ok, tostring(why)
end

--- A loop over parts, two of each rank; `ends`: in the second one with an error
-- or with break, before or after its backward pass.
local function parts_step(net, x, y, ends)
  local k = 0
  return pcall(function()
    for xs, ys in net:parts(x:narrow(1, 2 * RANK + 1, 2),
                            y:narrow(1, 2 * RANK + 1, 2)) do
      k = k + 1
      if k == 2 and ends == "error" then error "oops" end
      criterion(net(xs), ys):backward()
      if k == 2 and ends == "late" then error "oops" end
      if k == 2 and ends == "break" then break end
    end
  end)
end

local INTERRUPTED = "the step was interrupted on another rank"

--- Every rank, or one of them, fails in a step; the next one is right.
local function goes_on(step, options, kinds, resets)
  local x, y = batch(2 * SIZE)
  for _, kind in ipairs(kinds) do
    for failing = -1, SIZE - 1, IS_CROWDED and SIZE or 1 do
      local net = mpi.DataParallel(network(), options)
      step(net, x, y)
      compare(net, x, y, "before")
      if not resets then net:zero_grad() end
      local before = {}
      st.manual_seed(7)
      for i, p in ipairs(net:parameters()) do
        before[i] = p.grad and p.grad:clone()
      end
      local fails = failing == -1 or failing == RANK
      local ok, why = step(net, x, y, fails and kind)
      if fails then
        if kind ~= "break" then
          assert(not ok)
          expect("oops", tostring(why))
        end
        if resets then net:reset() end
      else
        assert(not ok, "a rank goes on alone")
        expect(INTERRUPTED, tostring(why))
        expect("^[^\n]*programs/interrupted%.lua:%d+: ", tostring(why))
        net:reset() -- does nothing
      end
      if step == parts_step and (resets or not fails) then
        for i, p in ipairs(net:parameters()) do
          local grad = before[i]
          assert(grad and p.grad:equal(grad) or not (grad or p.grad),
                 "gradients before the loop")
        end
        local drawn = st.rand(5)
        st.manual_seed(7)
        assert(drawn:equal(st.rand(5)), "the random state")
      end
      net:zero_grad()
      ok, why = step(net, x, y)
      assert(ok, why)
      compare(net, x, y, ("after %s on %d"):format(tostring(kind), failing))
    end
  end
end

local SMALL = 1e-4 -- several buckets

function tests.interrupted_steps_are_reset()
  for _, cap in ipairs {25, SMALL} do
    goes_on(plain_step, {bucket_cap_mb = cap}, {"hook", "call"}, true)
    for _, deterministic in ipairs {false, true} do
      goes_on(parts_step, {bucket_cap_mb = cap, parts = 2 * SIZE,
                           deterministic = deterministic},
              {"error", "late", "break"}, true)
    end
  end
end

function tests.interrupted_steps_are_seen_by_the_next()
  for _, cap in ipairs {25, SMALL} do
    goes_on(plain_step, {bucket_cap_mb = cap}, {"call"}, false)
    for _, deterministic in ipairs {false, true} do
      goes_on(parts_step, {bucket_cap_mb = cap, parts = 2 * SIZE,
                           deterministic = deterministic},
              {"error", "late", "break"}, false)
    end
  end
end

function tests.an_interrupted_pass_is_said_once()
  local net = mpi.DataParallel(network(), {bucket_cap_mb = SMALL})
  local x, y = batch(2 * SIZE)
  assert(not plain_step(net, x, y, "hook"))
  local ok, why = plain_step(net, x, y)
  assert(not ok)
  expect("^[^\n]*programs/interrupted%.lua:%d+: DataParallel: the step "
         .. "before did not end: its backward pass computed no gradient "
         .. "of 1%.weight, 1%.bias:\n", why)
  expect("call net:reset%(%) after such an error", why)
  net:zero_grad()
  ok, why = plain_step(net, x, y)
  assert(ok, why)
  compare(net, x, y, "the step after")
end

function tests.gradients_before_an_interrupted_loop()
  local net = mpi.DataParallel(network(), {parts = 2 * SIZE})
  local x, y = batch(2 * SIZE)
  assert(parts_step(net, x, y) and parts_step(net, x, y, "break"))
  local ok, why = parts_step(net, x, y)
  assert(not ok)
  expect("the loop over parts before ended early", why)
  expect("^[^\n]*programs/interrupted%.lua:%d+: ", why)
  compare(net, x, y, "before the loop")
  net:zero_grad()
  assert(parts_step(net, x, y))
  compare(net, x, y, "after the loop")
end

-- -- Communicators -----------------------------------------------------------

function tests.networks_share_a_duplicate()
  local first = mpi.DataParallel(network())
  for _ = 1, IS_CROWDED and 20 or 1100 do -- there are 1024 communicators
    assert(mpi.DataParallel(nn.Linear(1, 1)).comm:id() == first.comm:id())
    collectgarbage "step"
  end
  assert(first.comm:id() ~= mpi.world:id())
  local comm = mpi.world:dup()
  local other = mpi.DataParallel(network(), {comm = comm})
  assert(other.comm:id() ~= first.comm:id() and other.comm:id() ~= comm:id())
  other:free()
  comm:free()
end

function tests.networks_can_be_freed()
  local x, y = batch(2 * SIZE)
  for _ = 1, IS_CROWDED and 20 or 1100 do
    local comm = mpi.world:dup()
    mpi.DataParallel(nn.Linear(1, 1), {comm = comm}):free()
    comm:free()
  end
  local comm = mpi.world:dup()
  local a = mpi.DataParallel(network(), {comm = comm})
  local b = mpi.DataParallel(network(), {comm = comm})
  assert(not plain_step(a, x, y, "hook"))
  a:free()
  a:free()
  local ok, why = plain_step(b, x, y)
  assert(ok, why)
  compare(b, x, y, "the other one")
  b:free()
  comm:free()
  expect("^[^\n]*programs/interrupted%.lua:%d+: DataParallel: the "
         .. "DataParallel was freed", select(2, plain_step(a, x, y)))
  expect("parts: the DataParallel was freed", failure(a.parts, a, x))
  a:reset()
  a:zero_grad()
  criterion(a.module(x), y):backward()
  compare(a, x, y, "the network within")
end

check.run(function()
  local names = {}
  for name in pairs(tests) do names[#names + 1] = name end
  table.sort(names) -- the same order on all ranks
  for _, name in ipairs(names) do
    check.topic((name:gsub("_", " ")), tests[name])
  end
end)
