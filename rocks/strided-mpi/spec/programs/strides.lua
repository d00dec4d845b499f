--- Tensors that are not contiguous, overlap themselves or are elsewhere.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")
local same = check.same

--- The same 4 x 6 numbers times a factor, with other strides on each rank.
local function laid_out(factor, how)
  local x = st.arange(24, {dtype = "float32"}):view {4, 6} * factor
  how = how % 4
  if how == 0 then return x end
  if how == 1 then return x:t():contiguous():t() end
  if how == 2 then
    local wide = st.zeros {4, 12}
    wide[{{}, {1, 12, 2}}] = x
    return wide[{{}, {1, 12, 2}}]
  end
  local padded = st.zeros {6, 8}
  padded[{{2, 5}, {2, 7}}] = x
  return padded[{{2, 5}, {2, 7}}]
end

check.run(function()
  local rank, size = mpi.rank(), mpi.size()
  local factor = size * (size + 1) / 2
  local plain = laid_out(1, 0)

  check.topic("strides that differ between ranks", function()
    for shift = 0, 3 do
      local x = laid_out(rank + 1, rank + shift)
      same(x:contiguous(), plain * (rank + 1))
      local y = mpi.all_reduce(x)
      assert(y:is_contiguous())
      same(y, plain * factor)
      same(mpi.all_gather(x)[size], plain * size)
      same(mpi.broadcast(x, size - 1), plain * size)
      local r = mpi.reduce(x, size - 1)
      if rank == size - 1 then same(r, plain * factor) end
    end
  end)

  check.topic("in place, through any strides", function()
    for shift = 0, 3 do
      local x = laid_out(rank + 1, rank + shift)
      local strides = x:stride()
      local y = mpi.all_reduce_(x)
      assert(y == x)
      same(x:contiguous(), plain * factor)
      for d = 1, 2 do assert(x:stride()[d] == strides[d]) end
      x = laid_out(rank + 1, rank + shift)
      mpi.broadcast_(x, size - 1)
      same(x:contiguous(), plain * size)
      x = laid_out(rank + 1, rank + shift)
      mpi.all_reduce_(x, {op = "avg", async = true}):wait()
      same(x:contiguous(), plain * factor / size)
    end
  end)

  check.topic("only the view is written", function()
    local whole = st.full({6, 8}, -1)
    local view = whole[{{2, 5}, {2, 7}}]
    view:fill_(rank)
    mpi.all_reduce_(view)
    local want = st.full({6, 8}, -1)
    want[{{2, 5}, {2, 7}}] = st.full({4, 6}, size * (size - 1) / 2)
    same(whole, want)
  end)

  check.topic("out=, contiguous or not", function()
    local x = st.arange(2 * size, {dtype = "float32"}):view {size, 2} + rank
    for _, name in ipairs {"all_reduce", "all_gather", "scatter",
                           "reduce_scatter", "all_to_all"} do
      local want = mpi[name](x)
      local out = st.zeros(want.shape)
      assert(mpi[name](x, {out = out}) == out)
      same(out, want, name)
      out:zero_()
      assert(mpi[name](x, {out = out, async = true}):wait() == out)
      same(out, want, name)
      local wide = st.zeros {2 * want:numel()}
      out = wide[{{1, 2 * want:numel(), 2}}]:view(want.shape)
      mpi[name](x, {out = out})
      same(out:contiguous(), want, name)
      assert(wide:sum():item() == want:sum():item())
      mpi[name](x:t():contiguous():t(), {out = out})
      same(out:contiguous(), want, name)
      check.fails("out and self share memory", mpi[name],
                  x, {out = x:flatten()[{{1, 1}}]:expand(want.shape)})
      check.fails("out is float32 [1, 7], which the result does not fit",
                  mpi[name], x, {out = st.empty {1, 7}})
      check.fails("out is int32, but the result float32", mpi[name], x,
                  {out = st.empty(want.shape, {dtype = "int32"})})
      check.fails("gradient", mpi[name], x:clone():requires_grad_(true),
                  {out = st.zeros(want.shape)})
    end
  end)

  check.topic("messages through strides", function()
    local to, from = (rank + 1) % size, (rank - 1) % size
    local sent = mpi.send(laid_out(rank + 1, rank), to, {async = true})
    local x = laid_out(0, rank + 1)
    mpi.recv_(x, from)
    sent:wait()
    same(x:contiguous(), plain * (from + 1))
  end)

  check.topic("an expanded tensor is read, but not written", function()
    local x = st.tensor({rank}, {dtype = "float32"}):expand {3}
    same(mpi.all_reduce(x), st.full({3}, size * (size - 1) / 2,
                                    {dtype = "float32"}))
    for _, name in ipairs {"all_reduce_", "broadcast_", "recv_"} do
      check.fails("elements of it share memory", mpi[name], x,
                  name == "recv_" and 0 or nil)
    end
  end)

  check.topic("lazy conjugates and negatives", function()
    local function full(v) return st.full({2}, v, {dtype = "float32"}) end
    local x = st.complex(full(1), full(rank + 1))
    same(mpi.all_reduce(x:conj()):resolve_conj(),
         st.complex(full(size), full(-factor)))
    same(mpi.all_reduce(st.imag(x:conj())), full(-factor))
  end)

  check.topic("meta tensors have the shapes, and meet nobody", function()
    if rank > 0 then return end
    local m = st.empty({size, 3}, {device = "meta", dtype = "float16"})
    local function shape(t, ...)
      assert(t.device == "meta" and t.dtype == "float16")
      local want = {...}
      assert(t:dim() == #want)
      for i, n in ipairs(want) do assert(t.shape[i] == n) end
    end
    shape(mpi.all_reduce(m), size, 3)
    shape(mpi.all_reduce_(m), size, 3)
    shape(mpi.broadcast(m), size, 3)
    shape(mpi.reduce(m), size, 3)
    shape(mpi.all_gather(m), size, size, 3)
    shape(mpi.gather(m), size, size, 3)
    shape(mpi.scatter(m), 3)
    shape(mpi.reduce_scatter(m), 3)
    shape(mpi.all_to_all(m), size, 3)
    shape(mpi.all_reduce(m, {deterministic = true}), 3)
    shape(mpi.all_reduce(m, {async = true}):wait(), size, 3)
  end)

  check.topic("shapes that do not suit the number of ranks", function()
    local x = st.ones {size + 1, 2}
    for _, name in ipairs {"scatter", "reduce_scatter", "all_to_all"} do
      check.fails(("mpi::%s: self is float32 [%d, 2]; its first dimension " ..
                   "must be %d"):format(name, size + 1, size), mpi[name], x)
      check.fails("its first dimension", mpi[name], st.tensor(1))
    end
  end)

  check.topic("wrong arguments", function()
    local x = st.ones {2}
    local ok, why = pcall(function() return mpi.all_reduce(x, {no = 1}) end)
    assert(not ok and why:find "strides.lua:%d+: mpi.all_reduce: there", why)
    ok, why = pcall(function() mpi.world:broadcast(x, "x") end)
    assert(not ok and why:find "strides.lua:%d+: mpi.broadcast: exp", why)
    check.fails("mpi::broadcast: root is " .. size .. ", but the ranks are " ..
                "0 to " .. size - 1, mpi.broadcast, x, size)
    check.fails("root is -1", mpi.reduce, x, -1)
    check.fails("dest is 99", mpi.send, x, 99)
    check.fails("source is 99", mpi.recv_, x, 99)
    check.fails("tag is -1", mpi.send, x, 0, -1)
    check.fails("op is 'mean'; it must be sum, prod", mpi.all_reduce, x,
                "mean")
    check.fails("mpi.all_reduce: there is no option 'rooot'; it has async, "
                .. "comm, deterministic, op, out", mpi.all_reduce, x,
                {rooot = 1})
    check.fails("mpi.all_reduce: expected the op or a table of options, got "
                .. "number", mpi.all_reduce, x, 3)
    check.fails("comm must be a communicator, got number", mpi.all_reduce, x,
                {comm = 3})
    check.fails("there is no communicator 77", st.ops.mpi.all_reduce, x,
                "sum", 77)
    check.fails("op 'max' is not defined for complex64", mpi.all_reduce,
                st.ones({2}, {dtype = "complex64"}), "max")
    check.fails("out does not combine with deterministic", mpi.all_reduce, x,
                {out = x, deterministic = true})
    check.fails("all_reduce", mpi.all_reduce, {1, 2})
  end)

  check.topic("pieces, as of counts beyond int", function()
    local core = require "strided.mpi.core"
    core.set_piece(10)
    for _, n in ipairs {9, 10, 11, 20, 47} do
      local x = st.arange(n, {dtype = "float32"}) * (rank + 1)
      local want = st.arange(n, {dtype = "float32"})
      same(mpi.all_reduce(x), want * factor)
      same(mpi.all_reduce(x, {async = true}):wait(), want * factor)
      same(mpi.all_gather(x)[size], want * size)
      same(mpi.all_gather(x, {async = true}):wait()[size], want * size)
      same(mpi.broadcast(x, size - 1), want * size)
      local rows = x:expand {size, n}
      same(mpi.reduce_scatter(rows), want * factor)
      same(mpi.reduce_scatter(rows, {async = true}):wait(), want * factor)
      same(mpi.all_to_all(rows)[size], want * size)
      same(mpi.scatter(rows, size - 1), want * size)
      local g = mpi.gather(x, size - 1)
      local r = mpi.reduce(x, size - 1)
      if rank == size - 1 then
        same(g[size], want * size)
        same(r, want * factor)
      end
      local to, from = (rank + 1) % size, (rank - 1) % size
      local sent = mpi.send(x, to, {async = true})
      same(mpi.recv({n}, from), want * (from + 1))
      sent:wait()
    end
    core.set_piece()
  end)
end)
