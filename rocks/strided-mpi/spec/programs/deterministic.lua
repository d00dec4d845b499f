--- Reductions whose bits do not depend on the number of ranks.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")
local same = check.same

--- The tree of the documentation, level by level, over a list of tensors.
local function tree(parts, combine)
  while #parts > 1 do
    local above = {}
    for i = 1, #parts, 2 do
      above[#above + 1] = parts[i + 1] and combine(parts[i], parts[i + 1])
        or parts[i]
    end
    parts = above
  end
  return parts[1]
end

--- Part i of a run, which no sum of a few is exact in: the same on every rank.
local function part(i, n, dtype)
  local g = st.Generator(1000 + i)
  local x = st.randn({n}, {generator = g, dtype = "float64"})
  return (x * 10 ^ (i % 5)):to(dtype)
end

--- Which parts a rank has: `counts` per rank, in the order of ranks.
local function mine(counts)
  local first = 0
  for r = 1, mpi.rank() do first = first + counts[r] end
  return first, counts[mpi.rank() + 1]
end

local function check_counts(counts, n, dtype, op, combine, finish)
  local first, count = mine(counts)
  local total, all, own = 0, {}, {}
  for _, c in ipairs(counts) do total = total + c end
  for i = 0, total - 1 do all[i + 1] = part(i, n, dtype) end
  for i = 1, count do own[i] = all[first + i] end
  local parts = count > 0 and st.stack(own) or st.empty({0, n}, {dtype = dtype})
  local want = tree(all, combine)
  if finish then want = finish(want, total) end
  local what = op .. " of " .. total .. " parts of " .. n .. " " .. dtype
  local before = parts:clone()
  same(mpi.all_reduce(parts, {op = op, deterministic = true}), want, what)
  same(parts, before, "the input")
  local nothing = st.empty({0}, {dtype = dtype})
  -- more ranks than cores take long for each call
  for i = 1, mpi.size() > 2 and 1 or mpi.size() do
    local root = (total + i) % mpi.size()
    local got = mpi.reduce(parts, {op = op, deterministic = true, root = root})
    same(got, mpi.rank() == root and want or nothing, "reduce, " .. what)
  end
  local handle = mpi.all_reduce(parts, {op = op, deterministic = true,
                                        async = true})
  local root = total % mpi.size()
  local other = mpi.reduce(parts, {op = op, deterministic = true, root = root,
                                   async = true})
  same(other:wait(), mpi.rank() == root and want or nothing, "async " .. what)
  same(handle:wait(), want, "async " .. what)
end

local function add(a, b) return a + b end
local function multiply(a, b) return a * b end

--- Distributions of `total` parts: even, all on one rank, some at random.
local function distributions(total)
  local size = mpi.size()
  local list = {}
  local even = {}
  for r = 0, size - 1 do
    even[r + 1] = math.floor(total * (r + 1) / size) -
      math.floor(total * r / size)
  end
  list[1] = even
  for who = 1, size do
    local one = {}
    for r = 1, size do one[r] = r == who and total or 0 end
    list[#list + 1] = one
  end
  for seed = 1, 3 do
    local counts, left = {}, total
    for r = 1, size do
      local c = r == size and left or (seed * 7 + r * 5 + total) % (left + 1)
      counts[r], left = c, left - c
    end
    list[#list + 1] = counts
  end
  return list
end

check.run(function()
  check.topic("the tree, for any number of parts, wherever they are", function()
    local size = mpi.size()
    local is_crowded = size > 2
    for total = is_crowded and size % 2 + 1 or 1, 17, is_crowded and 2 or 1 do
      for _, counts in ipairs(distributions(total)) do
        check_counts(counts, 5, "float32", "sum", add)
      end
    end
    for _, total in ipairs {31, 32, 33, 64, 100} do
      for _, counts in ipairs(distributions(total)) do
        check_counts(counts, 3, "float32", "sum", add)
      end
    end
  end)

  check.topic("every dtype and reduction", function()
    for _, dtype in ipairs {"float16", "bfloat16", "float32", "float64",
                            "complex64", "complex128"} do
      local counts = distributions(7)[1]
      check_counts(counts, 4, dtype, "sum", add)
      check_counts(counts, 4, dtype, "prod", multiply)
      check_counts(counts, 4, dtype, "avg", add,
                   function(sum, total) return sum / total end)
    end
    check_counts(distributions(7)[1], 4, "float32", "max", st.maximum)
    check_counts(distributions(7)[1], 4, "float32", "min", st.minimum)
    check_counts(distributions(7)[1], 4, "int32", "bxor", st.bitwise_xor)
  end)

  check.topic("fewer elements than ranks, none, and many", function()
    for _, n in ipairs {0, 1, 2, 1000} do
      check_counts(distributions(6)[1], n, "float32", "sum", add)
    end
  end)

  check.topic("columns in pieces", function()
    local core = require "strided.mpi.core"
    core.set_piece(7)
    check_counts(distributions(5)[1], 30, "float32", "sum", add)
    core.set_piece()
  end)

  check.topic("parts of several dimensions, with any strides", function()
    local first, count = mine(distributions(8)[1])
    local x = st.randn({8, 3, 4}, {generator = st.Generator(5)})
    local own = x:narrow(1, first + 1, count)
    local list = {}
    for i = 1, 8 do list[i] = x[i] end
    local want = tree(list, add)
    same(mpi.all_reduce(own, {deterministic = true}), want)
    local turned = own:transpose(1, 3):contiguous():transpose(1, 3)
    assert(count < 2 or not turned:is_contiguous())
    same(mpi.all_reduce(turned, {deterministic = true}), want)
  end)

  check.topic("no parts at all", function()
    check.fails("no rank has any parts", mpi.all_reduce, st.empty {0, 3},
                {deterministic = true})
    check.fails("parts must have a first dimension", mpi.all_reduce,
                st.tensor(1), {deterministic = true})
  end)

  check.topic("gradients of parts", function()
    local first, count = mine(distributions(5)[1])
    for _, op in ipairs {"sum", "avg"} do
      local x = st.ones({count, 2}):requires_grad_(true)
      local y = mpi.all_reduce(x, {op = op, deterministic = true})
      local weight = st.tensor {1, 10} * (mpi.rank() + 1)
      ;(y * weight):sum():backward()
      local size = mpi.size()
      local want = st.tensor({1, 10}, {dtype = "float32"})
        * (size * (size + 1) / 2)
      if op == "avg" then want = want / 5 end
      same(x.grad, want:expand {count, 2}:contiguous())
      x = st.ones({count, 2}):requires_grad_(true)
      y = mpi.reduce(x, {op = op, deterministic = true, root = size - 1})
      y:sum():backward()
      want = st.ones {count, 2}
      if op == "avg" then want = want / 5 end
      same(x.grad, want)
    end
    assert(first >= 0)
  end)
end)
