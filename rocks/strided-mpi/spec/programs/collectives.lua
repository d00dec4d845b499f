--- Every collective, with every dtype.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")
local same, value, values = check.same, check.value, check.values

local N = 5

local function add(a, b) return a + b end
local function multiply(a, b) return a * b end
local function either(a, b) return a or b end
local function both(a, b) return a and b end
local function differ(a, b) return a ~= b end

--- Bitwise operations of small numbers, in any Lua.
local function bitwise(keep)
  return function(a, b)
    local sum, bit = 0, 1
    for _ = 1, 3 do
      if keep(a % 2, b % 2) then sum = sum + bit end
      a, b, bit = (a - a % 2) / 2, (b - b % 2) / 2, bit * 2
    end
    return sum
  end
end
local band = bitwise(function(a, b) return a + b == 2 end)
local bor = bitwise(function(a, b) return a + b >= 1 end)
local bxor = bitwise(function(a, b) return a + b == 1 end)

local function reductions(dtype, op, combine)
  local rank, size = mpi.rank(), mpi.size()
  local what = op .. " of " .. dtype
  local x = values(rank, N, dtype)
  local want = check.reduced(size, N, dtype, combine)
  same(mpi.all_reduce(x, op), want, "all_reduce " .. what)
  same(x, values(rank, N, dtype), "the input of all_reduce " .. what)
  same(mpi.all_reduce_(x:clone(), op), want, "all_reduce_ " .. what)
  for root = 0, size - 1 do
    local got = mpi.reduce(x, {root = root, op = op})
    if rank == root then
      same(got, want, "reduce " .. what)
    else
      same(got, st.empty({0}, {dtype = dtype}))
    end
  end
  local rows = {}
  for r = 1, size do rows[r] = x end
  same(mpi.reduce_scatter(st.stack(rows), op), want,
       "reduce_scatter " .. what)
end

check.run(function()
  local rank, size = mpi.rank(), mpi.size()

  check.topic("sum and prod of numbers", function()
    for _, list in ipairs {check.integers, check.reals, check.complexes} do
      for _, dtype in ipairs(list) do
        reductions(dtype, "sum", add)
        if dtype ~= "int8" and dtype ~= "uint8" and dtype ~= "bfloat16" then
          reductions(dtype, "prod", multiply)
        end
      end
    end
  end)

  check.topic("min and max of real numbers", function()
    for _, list in ipairs {check.integers, check.reals} do
      for _, dtype in ipairs(list) do
        reductions(dtype, "min", math.min)
        reductions(dtype, "max", math.max)
      end
    end
  end)

  check.topic("avg of floating and complex numbers", function()
    for _, list in ipairs {check.reals, check.complexes} do
      for _, dtype in ipairs(list) do
        local sum = check.reduced(size, N, dtype, add)
        same(mpi.all_reduce(values(rank, N, dtype), "avg"), sum / size,
             "avg of " .. dtype)
      end
    end
    check.fails("op 'avg' is not defined for int32", mpi.all_reduce,
                st.ones({2}, {dtype = "int32"}), "avg")
  end)

  check.topic("bits of integers", function()
    for _, dtype in ipairs(check.integers) do
      reductions(dtype, "band", band)
      reductions(dtype, "bor", bor)
      reductions(dtype, "bxor", bxor)
    end
    check.fails("op 'bor' is not defined for float32", mpi.all_reduce,
                st.ones {2}, "bor")
  end)

  check.topic("bool: or, and, xor", function()
    for _, op in ipairs {"sum", "max", "bor"} do
      reductions("bool", op, either)
    end
    for _, op in ipairs {"prod", "min", "band"} do
      reductions("bool", op, both)
    end
    reductions("bool", "bxor", differ)
  end)

  check.topic("NaN wins min and max", function()
    local nan = 0 / 0
    for _, dtype in ipairs(check.reals) do
      for _, op in ipairs {"min", "max"} do
        for who = 0, size - 1 do
          local x = st.tensor({rank == who and nan or rank, 1},
                              {dtype = dtype})
          local y = mpi.all_reduce(x, op)
          assert(y[1] ~= y[1], op .. " of " .. dtype)
          assert(y[2] == 1)
        end
      end
    end
  end)

  check.topic("all_gather and gather", function()
    for _, dtype in ipairs(check.all_dtypes()) do
      local rows = {}
      for r = 0, size - 1 do rows[r + 1] = values(r, N, dtype) end
      local want = st.stack(rows)
      local x = values(rank, N, dtype)
      same(mpi.all_gather(x), want, "all_gather of " .. dtype)
      for root = 0, size - 1 do
        same(mpi.gather(x, root), rank == root and want
             or st.empty({0, N}, {dtype = dtype}), "gather of " .. dtype)
      end
    end
  end)

  check.topic("broadcast", function()
    for _, dtype in ipairs(check.all_dtypes()) do
      for root = 0, size - 1 do
        local x, want = values(rank, N, dtype), values(root, N, dtype)
        same(mpi.broadcast(x, root), want, "broadcast of " .. dtype)
        same(x, values(rank, N, dtype))
        same(mpi.broadcast_(x, root), want, "broadcast_ of " .. dtype)
        same(x, want)
      end
    end
  end)

  check.topic("scatter", function()
    for _, dtype in ipairs(check.all_dtypes()) do
      for root = 0, size - 1 do
        local x = st.zeros({1}, {dtype = dtype}):expand {size, N}
        if rank == root then
          local rows = {}
          for r = 0, size - 1 do rows[r + 1] = values(r, N, dtype) end
          x = st.stack(rows)
        end
        same(mpi.scatter(x, root), values(rank, N, dtype),
             "scatter of " .. dtype)
      end
    end
  end)

  check.topic("all_to_all", function()
    for _, dtype in ipairs(check.all_dtypes()) do
      local rows, want = {}, {}
      for r = 0, size - 1 do
        rows[r + 1] = values(10 * rank + r, N, dtype)
        want[r + 1] = values(10 * r + rank, N, dtype)
      end
      same(mpi.all_to_all(st.stack(rows)), st.stack(want),
           "all_to_all of " .. dtype)
    end
  end)

  check.topic("reduce_scatter gives every rank its row", function()
    local rows, want = {}, {}
    for r = 0, size - 1 do rows[r + 1] = values(10 * rank + r, N, "int32") end
    for i = 1, N do
      local sum = 0
      for r = 0, size - 1 do sum = sum + value(10 * r + rank, i) end
      want[i] = sum
    end
    same(mpi.reduce_scatter(st.stack(rows)),
         st.tensor(want, {dtype = "int32"}))
  end)

  check.topic("send and recv", function()
    local to, from = (rank + 1) % size, (rank - 1) % size
    for _, dtype in ipairs(check.all_dtypes()) do
      local x = values(rank, N, dtype)
      local sent = mpi.send(x, to, {async = true})
      local y, source = mpi.recv({N}, from, {dtype = dtype})
      sent:wait()
      same(y, values(from, N, dtype), "recv of " .. dtype)
      assert(source == from)
    end
    local sent = mpi.send(st.tensor {rank}, to, {tag = 7, async = true})
    local y, source = mpi.recv_(st.zeros({1}, {dtype = "int64"}), nil, 7)
    assert(source == from and y:item() == from)
    sent:wait()
    sent = mpi.send(st.ones {3}, to, {async = true})
    check.fails("self is float32 [4], 16 bytes, but rank " .. from ..
                " sent 12 bytes", mpi.recv, {4}, from)
    sent:wait()
  end)

  check.topic("no elements, and one", function()
    assert(mpi.all_reduce(st.empty {0, 3}):numel() == 0)
    assert(mpi.all_gather(st.empty {0, 3}).shape[1] == size)
    assert(mpi.broadcast(st.empty {0}):numel() == 0)
    assert(mpi.all_reduce(st.tensor(rank)):item() == size * (size - 1) / 2)
    same(mpi.all_gather(st.tensor(rank)), st.arange(size))
    same(mpi.scatter(st.arange(size)), st.tensor(rank))
  end)

  check.topic("large tensors", function()
    local n = 300007
    local x = st.arange(n, {dtype = "float64"}) * (rank + 1)
    local factor = size * (size + 1) / 2
    same(mpi.all_reduce(x), st.arange(n, {dtype = "float64"}) * factor)
    local h = st.arange(n, {dtype = "int32"}):remainder(100):to "float16"
    same(mpi.all_reduce(h), h * size)
    same(mpi.all_gather(h)[size], h)
  end)

  check.topic("halves round to nearest even", function()
    if size ~= 2 then return end
    for _, dtype in ipairs {"float16", "bfloat16"} do
      local bits = st.arange(65536, {dtype = "int32"}):to "uint16"
      local all = bits:view {dtype = dtype}
      local other = all:flip {1} * 0.5 + all:roll(12345, 1)
      for _, row in ipairs {{"sum", add}, {"prod", multiply},
                            {"max", st.maximum}, {"min", st.minimum}} do
        local op = row[1]
        local got = mpi.all_reduce(rank == 0 and all or other, op)
        local want = row[2](all, other)
        assert(st.equal(got:isnan(), want:isnan()), op .. " " .. dtype)
        same(got:nan_to_num(0), want:nan_to_num(0), op .. " " .. dtype)
      end
    end
  end)
end)
