--- DataParallel: gradients are those of the whole batch; what is averaged when,
-- and the errors.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")

local nn = st.nn

mpi.init()
local RANK, SIZE = mpi.rank(), mpi.size()

local TOLERANCE = {float32 = 1e-5, float64 = 1e-9}

--- Raises an error with a text unless x and y are nearly equal.
local function near(x, y, what)
  y = y:to(x.dtype)
  assert(st.allclose(x, y, {rtol = TOLERANCE[x.dtype], atol = 1e-12}),
         what .. ":\n" .. tostring(x) .. "\n" .. tostring(y))
end

--- The error that fn(...) raises.
local function failure(fn, ...)
  local ok, why = pcall(fn, ...)
  assert(not ok, "no error")
  return tostring(why)
end

local function expect(pattern, why)
  assert(why:find(pattern), ("'%s' is not in '%s'"):format(pattern, why))
end

--- A network of float64 with other weights on every rank, or everywhere those
-- of rank 0.
local function network(rank)
  st.manual_seed(10 + (rank or RANK))
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

--- The gradients of rank 0's network for a batch.
local function expected(x, y)
  local net = network(0)
  criterion(net(x), y):backward()
  return net:parameters()
end

local function compare(net, x, y, what)
  local mine = net:parameters()
  for i, p in ipairs(expected(x, y)) do
    near(mine[i].grad, p.grad, what .. ", gradient " .. i)
  end
end

local tests = {}

function tests.weights_are_those_of_rank_0()
  local net, first = network(), network(0)
  local parallel = mpi.DataParallel(net)
  for i, p in ipairs(net:parameters()) do
    assert(p:equal(first:parameters()[i]), "weight " .. i)
  end
  assert(parallel.module == net)
end

function tests.gradients_are_averaged()
  for _, cap in ipairs {25, 1e-5, 1e-4} do -- one bucket, one each, some
    local net = mpi.DataParallel(network(), {bucket_cap_mb = cap})
    local x, y = batch(4 * SIZE)
    for _ = 1, 3 do
      net:zero_grad()
      criterion(net(x:narrow(1, 4 * RANK + 1, 4)),
                y:narrow(1, 4 * RANK + 1, 4)):backward()
      compare(net, x, y, "buckets of " .. cap .. " MB")
    end
  end
end

function tests.buckets_are_as_large_as_said()
  local net = mpi.DataParallel(network(), {bucket_cap_mb = 1e-4}) -- 104 bytes
  local numbers = {}
  for i, bucket in ipairs(net.reducer.buckets) do
    numbers[i] = {}
    for k, slot in ipairs(bucket) do numbers[i][k] = slot.name end
    numbers[i] = table.concat(numbers[i], " ")
  end
  assert(table.concat(numbers, ", ") ==
         "5.bias 5.weight, 3.bias, 3.weight, 1.bias, 1.weight",
         table.concat(numbers, ", "))
end

function tests.without_sync_they_add_up()
  local net = mpi.DataParallel(network())
  local x, y = batch(4 * SIZE)
  local mine, theirs = x:narrow(1, 4 * RANK + 1, 4),
                       y:narrow(1, 4 * RANK + 1, 4)
  local got = net:no_sync(function(text)
    for i = 1, 2 do
      criterion(net(mine:narrow(1, i, 1)), theirs:narrow(1, i, 1)):backward()
    end
    return text
  end, "what the function returns")
  assert(got == "what the function returns")
  for i = 3, 4 do
    local function pass()
      criterion(net(mine:narrow(1, i, 1)), theirs:narrow(1, i, 1)):backward()
    end
    if i == 4 then pass() else net:no_sync(pass) end
  end
  for _, p in ipairs(net:parameters()) do p.grad:div_(4) end
  compare(net, x, y, "accumulated")
  expect("oops", failure(net.no_sync, net, function() error "oops" end))
  expect("'fn' must be a function, got nil", failure(net.no_sync, net))
  assert(net.syncs)
end

function tests.two_calls_one_pass()
  local net = mpi.DataParallel(network())
  local x, y = batch(2 * SIZE)
  local at = 2 * RANK
  local a, b = net(x:narrow(1, at + 1, 1)), net(x:narrow(1, at + 2, 1))
  criterion(st.cat {a, b}, y:narrow(1, at + 1, 2)):backward()
  compare(net, x, y, "two calls")
end

function tests.parts_may_be_of_different_sizes()
  local net = mpi.DataParallel(network())
  local n = SIZE * (SIZE + 1) / 2 + 1 -- rank r has r + 1 samples, the last + 1
  local first = RANK * (RANK + 1) / 2
  local count = RANK + 1 + (RANK == SIZE - 1 and 1 or 0)
  local x, y = batch(n)
  for _ = 1, 2 do
    net:zero_grad()
    for xs, ys in net:parts(x:narrow(1, first + 1, count),
                            y:narrow(1, first + 1, count)) do
      criterion(net(xs), ys):backward()
    end
    compare(net, x, y, "uneven")
  end
end

function tests.a_rank_may_have_no_samples()
  local net = mpi.DataParallel(network())
  local x, y = batch(5)
  local is_last = RANK == SIZE - 1
  local rounds = 0
  for xs, ys in net:parts(x:narrow(1, 1, is_last and 5 or 0),
                          y:narrow(1, 1, is_last and 5 or 0)) do
    criterion(net(xs), ys):backward()
    rounds = rounds + 1
  end
  assert(rounds == (is_last and 1 or 0))
  compare(net, x, y, "no samples")
  local why = failure(net.parts, net)
  expect("parts: no rank has samples", why)
end

function tests.parts_add_to_what_is_there()
  local net = mpi.DataParallel(network(), {parts = 2 * SIZE})
  local x, y = batch(4 * SIZE)
  local function pass()
    for xs, ys in net:parts(x:narrow(1, 4 * RANK + 1, 4),
                            y:narrow(1, 4 * RANK + 1, 4)) do
      assert(xs.shape[1] == 2)
      criterion(net(xs), ys):backward()
    end
  end
  pass()
  compare(net, x, y, "parts")
  pass()
  for _, p in ipairs(net:parameters()) do p.grad:div_(2) end
  compare(net, x, y, "twice")
end

function tests.buffers_are_those_of_rank_0()
  for _, sends in ipairs {true, false} do
    local net = mpi.DataParallel(nn.BatchNorm1d(2), {broadcast_buffers = sends})
    local x = st.full({8, 2}, 5.0, {dtype = "float32"})
    net.module.running_mean:fill_(RANK)
    net:eval()
    net(x)
    near(net.module.running_mean, st.full({2}, RANK), "not in evaluation mode")
    net:train()
    net(x)
    near(net.module.running_mean,
         st.full({2}, 0.9 * (sends and 0 or RANK) + 0.5), "sent")
  end
end

-- -- Unused parameters -------------------------------------------------------

local Branches = nn.Module:extend "Branches"

function Branches:init()
  self.left, self.right = nn.Linear(2, 2), nn.Linear(2, 2)
  self.never = nn.Linear(2, 2)
end

function Branches:forward(x, which)
  return {out = which and self[which](x) or self.left(x) + self.right(x)}
end

function tests.unused_parameters_are_an_error()
  local net = mpi.DataParallel(Branches())
  net(st.rand(4, 2), "left").out:sum():backward()
  expect("computed no gradient of right.weight, right.bias, never.weight, "
         .. "never.bias", failure(net, st.rand(4, 2), "left"))
end

function tests.unused_parameters_are_found()
  st.manual_seed(5)
  local net = mpi.DataParallel(Branches(), {find_unused_parameters = true})
  local x = st.ones(4, 2)
  for _ = 1, 2 do
    net:zero_grad()
    net(x, RANK == 0 and "left" or "right").out:sum():backward()
    local left = net.module.left.weight.grad
    near(left, st.full({2, 2}, 4 / SIZE), "left")
    local right = net.module.right.weight.grad
    if SIZE == 1 then assert(right == nil)
    else near(right, st.full({2, 2}, 4 * (SIZE - 1) / SIZE), "right") end
    assert(net.module.never.weight.grad == nil)
  end
  net:zero_grad()
  net(x).out:sum():backward()
  near(net.module.right.bias.grad, st.full({2}, 4), "both")
end

function tests.unused_parameters_in_parts()
  st.manual_seed(5)
  local net = mpi.DataParallel(Branches())
  for xs in net:parts(st.ones(4, 2)) do
    net(xs, RANK == 0 and "left" or "right").out:sum():backward()
  end
  near(net.module.left.weight.grad, st.full({2, 2}, 4 / SIZE), "left")
  assert(net.module.never.weight.grad == nil)
end

function tests.shared_parameters()
  local net = network()
  local twice = nn.Sequential {net, nn.Linear(2, 3), net}:to "float64"
  local parallel = mpi.DataParallel(twice)
  local x = batch(2 * SIZE)
  parallel(x:narrow(1, 2 * RANK + 1, 2)):sum():backward()
  local all = {}
  for i, p in ipairs(twice:parameters()) do all[i] = p.grad:clone() end
  twice:zero_grad()
  for _, p in ipairs(twice:parameters()) do assert(p.grad == nil) end
  local alone = twice:clone()
  alone(x):sum():backward()
  for i, p in ipairs(alone:parameters()) do
    near(all[i], p.grad / SIZE, "shared " .. i)
  end
end

-- -- As a module -------------------------------------------------------------

function tests.names_are_those_of_the_network()
  local net = network()
  local parallel = mpi.DataParallel(net)
  local other = network(7)
  other:load_state_dict(parallel:state_dict())
  assert(other[1].weight:equal(net[1].weight))
  parallel:load_state_dict(network(8):state_dict())
  assert(net[5].bias:equal(network(8)[5].bias))
  local names = {}
  for name in parallel:named_parameters() do names[#names + 1] = name end
  assert(names[1] == "1.weight" and #names == 6)
  assert(#parallel:parameters() == 6)
  assert(parallel:num_parameters() == net:num_parameters())
  assert(nn.is_module(parallel) and parallel.training)
  parallel:eval()
  assert(not net[1].training)
  assert(parallel:clone()[1].weight:equal(net[1].weight))
  expect("convert the network before", failure(parallel.to, parallel, "half"))
  expect("convert the network before", failure(parallel.half, parallel))
end

local Mixed = nn.Module:extend "Mixed"

function Mixed:init()
  self.a, self.b = nn.Linear(2, 3), nn.Linear(3, 1):to "float64"
  self.a.bias:requires_grad_(false)
end

function Mixed:forward(x) return self.b(self.a(x):to "float64") end

function tests.frozen_parameters_and_dtypes()
  local net = mpi.DataParallel(Mixed())
  assert(#net.reducer.buckets == 2 and #net.reducer.slots == 3)
  net(st.full({1, 2}, RANK, {dtype = "float32"})):sum():backward()
  local w = net.module.b.weight:detach():float()
  near(net.module.a.weight.grad, w:t():expand(3, 2) * (SIZE - 1) / 2, "a")
  near(net.module.b.bias.grad, st.ones(1, {dtype = "float64"}), "b")
  assert(net.module.a.bias.grad == nil)
end

function tests.halves()
  for _, dtype in ipairs {"float16", "bfloat16"} do
    st.manual_seed(3)
    local net = mpi.DataParallel(nn.Linear(2, 2):to(dtype))
    net(st.full({1, 2}, RANK + 1, {dtype = dtype})):sum():backward()
    near(net.module.weight.grad:to "float64",
         st.full({2, 2}, (SIZE + 1) / 2, {dtype = "float64"}), dtype)
  end
end

function tests.the_network_outlives_it()
  local net, x = network(), batch(1)
  do
    local parallel = mpi.DataParallel(net)
    expect("call DataParallel, not the network within", failure(function()
      parallel.module(x):sum():backward()
    end))
  end
  for _ = 1, 3 do collectgarbage() end
  net(x):sum():backward()
  local weak = setmetatable({net, net[1].weight}, {__mode = "v"})
  net = nil -- luacheck: ignore
  for _ = 1, 3 do collectgarbage() end
  assert(weak[1] == nil and weak[2] == nil, "it is not collected")
end

-- -- Misuse ------------------------------------------------------------------

-- The network of rank 0, that of the last rank, their options, what is said.
local DIFFERENT = {
  {nn.Linear(2, 2), nn.Linear(2, 3), {}, {},
   "rank 0 has the parameter 'weight', float32 {2, 2}, "
   .. "rank %d has the parameter 'weight', float32 {3, 2}"},
  {nn.Linear(4, 2), nn.Linear(2, 4), {}, {},
   "'weight', float32 {2, 4}, rank %d has the parameter 'weight', "
   .. "float32 {4, 2}"},
  {nn.Linear(4, 2), nn.Linear(4, 2):to "float64", {}, {},
   "'weight', float32 {2, 4}, rank %d has the parameter 'weight', "
   .. "float64 {2, 4}"},
  {nn.Linear(2, 2), nn.Linear(2, 2, {bias = false}), {}, {},
   "'bias', float32 {2}, rank %d has nothing else"},
  {nn.Sequential(nn.ReLU(), nn.Linear(2, 2)), nn.Linear(2, 2), {}, {},
   "the parameter '2.weight', float32 {2, 2}, rank %d has the parameter "
   .. "'weight', "},
  {nn.BatchNorm1d(3), nn.BatchNorm1d(3, {track_running_stats = false}), {}, {},
   "the buffer 'running_mean', float32 {3}, rank %d has nothing else"},
  {nn.Linear(2, 2), nn.Linear(2, 2), {parts = 8}, {parts = 9},
   "rank 0 has the option parts = 8, rank %d has the option parts = 9"},
}

function tests.different_networks_are_an_error()
  if SIZE == 1 then return end
  local is_last = RANK == SIZE - 1
  for _, row in ipairs(DIFFERENT) do
    local net = is_last and row[2] or row[1]
    local before = net:parameters()[1]:clone()
    local why = failure(function()
      mpi.DataParallel(net, is_last and row[4] or row[3])
    end)
    assert(why:find(row[5]:format(SIZE - 1), 1, true), why)
    expect("^[^\n]*data_parallel%.lua:%d+: DataParallel: the ranks have "
           .. "different networks: ", why)
    assert(not why:find("mpi/data_parallel", 1, true), why)
    assert(net:parameters()[1]:equal(before), "the weights were changed")
  end
  local net = nn.Linear(2, 2)
  if is_last then net.bias:requires_grad_(false) end
  expect("float32 {2}, rank %d has the parameter 'bias', float32 {2} without",
         failure(mpi.DataParallel, net))
  mpi.barrier()
end

--- A name of 20000 characters: the texts that are compared are long.
function tests.networks_may_have_long_names()
  local net = nn.Sequential()
  net:add_module(("x"):rep(20000), nn.Linear(1, 1))
  mpi.DataParallel(net)
end

function tests.misuse()
  expect("argument 'net' must be a module, got table",
         failure(mpi.DataParallel, {}))
  expect("no option 'bucket'; it has broadcast_buffers, bucket_cap_mb",
         failure(mpi.DataParallel, network(), {bucket = 1}))
  expect("bucket_cap_mb' must be a number above 0, got 0",
         failure(mpi.DataParallel, network(), {bucket_cap_mb = 0}))
  expect("bucket_cap_mb' must be a number above 0, got %-?nan",
         failure(mpi.DataParallel, network(), {bucket_cap_mb = 0 / 0}))
  local why = failure(function() mpi.DataParallel(network(), {comm = 3}) end)
  expect("programs/data_parallel%.lua:%d+: DataParallel: option 'comm' must be "
         .. "a communicator, got number", why)
  expect("deterministic needs the option 'parts'",
         failure(mpi.DataParallel, network(), {deterministic = true}))
  expect("parts' must be a whole number from 1 on, got 1.5",
         failure(mpi.DataParallel, network(), {parts = 1.5}))
  if SIZE > 1 then
    expect("1 parts are too few for " .. SIZE .. " ranks",
           failure(mpi.DataParallel, network(), {parts = 1}))
  end
  local net = mpi.DataParallel(network())
  local x, y = batch(2)
  local loss = criterion(net(x), y)
  loss:backward {retain_graph = true}
  expect("of '5.bias' after those of the step were averaged",
         failure(loss.backward, loss))
  net = mpi.DataParallel(network(), {parts = SIZE, deterministic = true})
  expect("in a loop over net:parts", failure(net, x))
  net = mpi.DataParallel(network(), {parts = 3 * SIZE})
  expect("argument 2 has 1 rows, those before have 2",
         failure(net.parts, net, x, y:narrow(1, 1, 1)))
  expect("argument 1 must be a Tensor with rows, got number",
         failure(net.parts, net, 3))
  if SIZE == 2 then
    expect(("rank %d has %d samples of a batch of 2, but 6 parts on 2 ranks "
            .. "give it 1"):format(RANK, 2 * (1 - RANK)),
           failure(net.parts, net, x:narrow(1, 1, 2 * (1 - RANK))))
  end
end

check.run(function()
  local names = {}
  for name in pairs(tests) do names[#names + 1] = name end
  table.sort(names) -- the same order on all ranks
  for _, name in ipairs(names) do
    check.topic((name:gsub("_", " ")), tests[name])
  end
end)
