--- Operators that write to a tensor: rows of a name, what makes a storage of n
-- elements, and f(out, a, b), where a and b have out's shape, n x n.

local geometry = require "spec.tensor.overlap.geometry"
local st = require "strided"

--- A storage of n elements with values of 1 and 2, so that all may be
-- positions.
local function integers(n)
  local random, values = geometry.generator(n), {}
  for i = 1, n do values[i] = random(1, 2) end
  return st.tensor(values, {dtype = "int64"})
end

--- 0 and 1.
local function flags(n)
  return integers(n):sub(1):to "uint8"
end

local function floats(n)
  return st.arange(1, n + 1):to "float64":mul_(0.37):sin_()
end

local function vector(t) return t:select(2, 1) end

return {
  {"add_", floats, function(out, a) out:add_(a) end},
  {"mul with out=", floats, function(out, a, b) st.mul(a, b, {out = out}) end},
  {"mul by another storage", floats, function(out, a, b)
    st.mul(a, b:clone(), {out = out})
  end},
  {"addcmul_", floats, function(out, a, b)
    out:addcmul_(a, b, {value = 2})
  end},
  {"where", floats, function(out, a, b)
    st.where(a:gt(b), a, b, {out = out})
  end},
  {"masked_fill_", integers, function(out, a)
    out:masked_fill_(a:eq(1), 7)
  end},
  {"copy_", floats, function(out, a) out:copy_(a) end},
  {"copy_ of a row", floats, function(out, a) out:copy_(a[1]) end},
  {"add_ of a number inside", floats, function(out, a)
    out:add_(a:select(1, 1):select(1, 1))
  end},
  {"copy_ of other dtypes", floats, function(out, a)
    out:copy_(a:view "int64")
  end},
  {"add_ of other dtypes", floats, function(out, a)
    out:add_(a:view "int64")
  end},
  {"a result that is cast", integers, function(out, a, b)
    st.gt(a, b, {out = out})
  end},
  {"sum", floats, function(out, a) st.sum(a, {1}, {out = out}) end},
  {"mean", floats, function(out, a)
    st.mean(a, {1}, {keepdim = true, out = out})
  end},
  {"var", floats, function(out, a)
    st.var(a, {1}, {out = out})
  end},
  {"amax", floats, function(out, a) st.amax(a, {2}, {out = out}) end},
  {"argmax", integers, function(out, a) st.argmax(a, 1, {out = out}) end},
  {"cumsum", floats, function(out, a) st.cumsum(a, 1, {out = out}) end},
  {"cumprod_", floats, function(out) out:cumprod_(2) end},
  {"softmax", floats, function(out, a) st.softmax(a, 2, {out = out}) end},
  {"tril", floats, function(out, a) st.tril(a, {out = out}) end},
  {"sort", floats, function(out, a)
    st.sort(a, 1, {out = {out, st.empty({}, {dtype = "int64"})}})
  end},
  {"the positions of sort", integers, function(out, a)
    st.sort(a, 1, {out = {st.empty({}, {dtype = "int64"}), out}})
  end},
  {"topk", floats, function(out, a)
    st.topk(a, 2, 1, {out = {out, st.empty({}, {dtype = "int64"})}})
  end},
  {"mm", floats, function(out, a, b) st.mm(a, b, {out = out}) end},
  {"matmul", floats, function(out, a, b)
    st.matmul(a:unsqueeze(1), b:unsqueeze(1), {out = out})
  end},
  {"mv", floats, function(out, a, b)
    st.mv(a, b:select(2, 1), {out = out})
  end},
  {"addmm_", floats, function(out, a, b) out:addmm_(a, b) end},
  {"cat", floats, function(out, a, b) st.cat({a, b}, 1, {out = out}) end},
  {"stack", floats, function(out, a, b) st.stack({a, b}, 2, {out = out}) end},
  {"gather", integers, function(out, a, b)
    st.gather(a, 1, b, {out = out})
  end},
  {"scatter_", integers, function(out, a, b) out:scatter_(1, a, b) end},
  {"scatter", integers, function(out, a, b)
    st.scatter(a, 1, b, a, {out = out})
  end},
  {"index_select", integers, function(out, a, b)
    st.index_select(a, 1, vector(b), {out = out})
  end},
  {"index_add_", integers, function(out, a, b)
    out:index_add_(1, vector(b), a)
  end},
  {"index_copy_", integers, function(out, a, b)
    out:index_copy_(1, vector(b), a)
  end},
  {"index_fill_", integers, function(out, a)
    out:index_fill_(1, vector(a), 9)
  end},
  {"index_put_", integers, function(out, a, b)
    out:index_put_({b, a}, b)
  end},
  {"an assignment by positions", integers, function(out, a, b)
    out[{a[1]}] = b[1]
  end},
  {"take", integers, function(out, a, b) st.take(a, b, {out = out}) end},
  {"put_", integers, function(out, a, b) out:put_(a, b) end},
  {"masked_select", integers, function(out, a, b)
    st.masked_select(a, b:eq(1), {out = out})
  end},
  {"masked_scatter_", integers, function(out, a, b)
    out:masked_scatter_(a:eq(1), b)
  end},
  {"masked_scatter_ by a mask inside", flags, function(out, a, b)
    out:masked_scatter_(a, b)
  end},
  {"nonzero", integers, function(out, a) st.nonzero(a, {out = out}) end},
}
