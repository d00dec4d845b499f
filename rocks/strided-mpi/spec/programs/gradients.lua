--- Derivatives: each collective beside the same function of all ranks' inputs,
-- computed on every rank with the engine's operators alone.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")
local same = check.same

--- Small whole numbers, so that every order of additions gives the same.
local function numbers(shape, seed)
  return st.randint(-4, 5, shape, {generator = st.Generator(seed),
                                   dtype = "float64"})
end

--- The loss of all ranks is the sum of `weight[r] * y[r]`, y[r] the result of
-- rank r, and of its square: so second derivatives count, too.
local function loss_of(y, weight) return (y * y * weight + y * weight):sum() end

--- run(x): the collective. reference(all): the results of all ranks, a list,
-- from the list of their inputs.
local function compare(name, shape, run, reference)
  local rank, size = mpi.rank(), mpi.size()
  local inputs = {}
  for r = 0, size - 1 do
    inputs[r + 1] = numbers(shape, 10 + r):requires_grad_(true)
  end
  local own = numbers(shape, 10 + rank):requires_grad_(true)
  local y = run(own)
  local wanted = reference(inputs)
  same(y:detach(), wanted[rank + 1]:detach(), name)
  local total = st.zeros({}, {dtype = "float64"})
  local weights = {}
  for r = 1, size do
    weights[r] = numbers(wanted[r].shape, 50 + r)
    total = total + loss_of(wanted[r], weights[r])
  end
  local want = {st.grad(total, inputs, {create_graph = true,
                                        allow_unused = true})}
  local zero = st.zeros(shape, {dtype = "float64"})
  local got = st.grad(loss_of(y, weights[rank + 1]), own,
                      {create_graph = true})
  same(got:detach(), (want[rank + 1] or zero):detach(),
       "gradient of " .. name)
  -- The second: of the sum of all squared gradients.
  local again = st.zeros({}, {dtype = "float64"})
  for r = 1, size do
    if want[r] then again = again + (want[r] * want[r]):sum() end
  end
  local want2 = {st.grad(again, inputs, {allow_unused = true})}
  local got2 = st.grad((got * got):sum(), own)
  same(got2, want2[rank + 1] or zero, "second gradient of " .. name)
end

local function sum_of(list)
  local acc = list[1]
  for i = 2, #list do acc = acc + list[i] end
  return acc
end

local function everywhere(y, size)
  local list = {}
  for r = 1, size do list[r] = y end
  return list
end

local function only_at(root, y, shape, size)
  local list = {}
  for r = 0, size - 1 do
    list[r + 1] = r == root and y or st.zeros(shape, {dtype = "float64"})
  end
  return list
end

check.run(function()
  local size = mpi.size()

  check.topic("all_reduce", function()
    compare("sum", {2, 3}, function(x) return mpi.all_reduce(x) end,
            function(all) return everywhere(sum_of(all), size) end)
    compare("sum in place", {2, 3},
            function(x) return mpi.all_reduce_(x * 1) end,
            function(all) return everywhere(sum_of(all), size) end)
    if size == 3 then return end -- thirds are rounded
    compare("avg", {2, 3}, function(x) return mpi.all_reduce(x, "avg") end,
            function(all) return everywhere(sum_of(all) / size, size) end)
  end)

  check.topic("reduce", function()
    for root = 0, size - 1 do
      compare("sum", {3}, function(x) return mpi.reduce(x, root) end,
              function(all) return only_at(root, sum_of(all), {0}, size) end)
      if size ~= 3 then
        compare("avg", {3},
                function(x) return mpi.reduce(x, {root = root, op = "avg"}) end,
                function(all)
                  return only_at(root, sum_of(all) / size, {0}, size)
                end)
      end
    end
  end)

  check.topic("broadcast", function()
    for root = 0, size - 1 do
      compare("broadcast", {3}, function(x) return mpi.broadcast(x, root) end,
              function(all) return everywhere(all[root + 1], size) end)
      compare("broadcast_", {3},
              function(x) return mpi.broadcast_(x * 1, root) end,
              function(all) return everywhere(all[root + 1], size) end)
    end
  end)

  check.topic("all_gather and gather", function()
    compare("all_gather", {3}, function(x) return mpi.all_gather(x) end,
            function(all) return everywhere(st.stack(all), size) end)
    for root = 0, size - 1 do
      compare("gather", {3}, function(x) return mpi.gather(x, root) end,
              function(all)
                return only_at(root, st.stack(all), {0, 3}, size)
              end)
    end
  end)

  check.topic("scatter", function()
    for root = 0, size - 1 do
      compare("scatter", {size, 3},
              function(x) return mpi.scatter(x, root) end,
              function(all)
                local list = {}
                for r = 1, size do list[r] = all[root + 1][r] end
                return list
              end)
    end
  end)

  check.topic("reduce_scatter", function()
    compare("sum", {size, 3}, function(x) return mpi.reduce_scatter(x) end,
            function(all)
              local list, sum = {}, sum_of(all)
              for r = 1, size do list[r] = sum[r] end
              return list
            end)
    if size == 3 then return end
    compare("avg", {size, 3},
            function(x) return mpi.reduce_scatter(x, "avg") end,
            function(all)
              local list, sum = {}, sum_of(all) / size
              for r = 1, size do list[r] = sum[r] end
              return list
            end)
  end)

  check.topic("all_to_all", function()
    compare("all_to_all", {size, 3}, function(x) return mpi.all_to_all(x) end,
            function(all)
              local list = {}
              for r = 1, size do
                local rows = {}
                for s = 1, size do rows[s] = all[s][r] end
                list[r] = st.stack(rows)
              end
              return list
            end)
  end)

  check.topic("what has no derivative", function()
    local x = st.ones({2}):requires_grad_(true)
    local y = mpi.all_reduce(x, "max")
    check.fails("op 'max' has no derivative", y.backward, y:sum())
    check.fails("requires", mpi.all_reduce_, x)
  end)

  check.topic("asynchronous ones", function()
    local root = size - 1
    for _, row in ipairs {
      {"all_reduce", {3}}, {"reduce", {3}, root}, {"broadcast", {3}, root},
      {"all_gather", {3}}, {"gather", {3}, root}, {"scatter", {size, 3}, root},
      {"reduce_scatter", {size, 3}}, {"all_to_all", {size, 3}},
    } do
      local name = row[1]
      local x = numbers(row[2], mpi.rank()):requires_grad_(true)
      local y = mpi[name](x, {root = row[3]})
      local w = numbers(y.shape, 9 + mpi.rank())
      local want = st.grad((y * y * w):sum(), x)
      y = mpi[name](x, {root = row[3], async = true}):wait()
      same(st.grad((y * y * w):sum(), x), want, name)
    end
    local x = numbers({3}, mpi.rank()):requires_grad_(true)
    local y = mpi.all_reduce_(x * 1, {async = true}):wait()
    y:sum():backward()
    same(x.grad, st.full({3}, size, {dtype = "float64"}))
  end)

  check.topic("sizes that do not fit, of operators of derivatives", function()
    local comm = mpi.world:split(mpi.rank())
    local id, x = comm:id(), st.ones({2, 2}, {dtype = "uint8"})
    local private = st.ops.mpi
    for _, shape in ipairs {{2147483648}, {5}, {}, {-1}, {2, 3}} do
      check.fails("self is uint8 [2, 2] on root, but must have the shape [",
                  private._reduce_back, x, shape, 0, "sum", id)
      check.fails("self is uint8 [2, 2] on root, but must have the shape [1",
                  private._gather_back, x, shape, 0, id)
    end
    for _, y in ipairs {st.ones {2}, st.ones {}, st.ones {0}} do
      check.fails("size is empty", private._reduce_parts_back, y, {}, 0, "avg",
                  id)
      check.fails("size is empty", private._all_reduce_parts_back, y, {},
                  "sum", id)
    end
    check.fails("does not expand", private._reduce_parts_back, st.ones {2},
                {-3, 2}, 0, "sum", id)
    comm:free()
  end)

  check.topic("a result may be written before the backward pass", function()
    local x = st.ones({2}):requires_grad_(true)
    mpi.all_reduce(x):mul_(2):sum():backward()
    same(x.grad, st.full({2}, 2 * size, {dtype = "float32"}))
  end)
end)
