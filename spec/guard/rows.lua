--- What the sweep calls beside the registry: operators that need arguments of
-- their own, such as indices and kernels of images, and fused functions.

local st = require "strided"

local unpack = unpack or table.unpack

local M = {}

local function positions(n, m, base)
  return st.arange(0, n):remainder(m):add(base or 1):to "int64"
end

-- -- Operators ---------------------------------------------------------------

-- name, function of a dense matrix of r x c elements and a vector of c
local MATRICES = {
  {"gather", function(m, _, r, c)
    return m:gather(2, positions(r * c, c):view(r, c))
  end},
  {"gather rows", function(m, _, r, c)
    return m:gather(1, positions(r * c, r):view(r, c))
  end},
  {"index_select", function(m, _, _, c)
    return m:index_select(2, positions(c + 3, c))
  end},
  {"index_select rows", function(m, _, r)
    return m:index_select(1, positions(r + 3, r))
  end},
  {"take", function(m, _, r, c) return m:take(positions(r * c, r * c)) end},
  {"index", function(m, _, r, c)
    return m[{positions(c, r), positions(c, c)}]
  end},
  {"mask", function(m) return m[{m:ne(1)}] end},
  {"masked_select", function(m) return m:masked_select(m:ne(2)) end},
  {"masked_fill", function(m) return m:masked_fill(m:ne(2), 1) end},
  {"masked_scatter", function(m, _, r, c)
    return m:masked_scatter(m:ne(2), m:clone():view(r * c))
  end},
  {"nonzero", function(m) return m:nonzero() end},
  {"where", function(m) return m:where(m:ne(2), m:t():contiguous():t()) end},
  {"scatter", function(m, _, r, c)
    return m:scatter(2, positions(r * c, c):view(r, c), m)
  end},
  {"scatter_add", function(m, _, r, c)
    return m:scatter_add(1, positions(r * c, r):view(r, c), m)
  end},
  {"scatter_reduce", function(m, _, r, c)
    return m:scatter_reduce(2, positions(r * c, c):view(r, c), m, "amax")
  end},
  {"index_add", function(m, _, _, c)
    return m:index_add(2, positions(c, c), m)
  end},
  {"index_copy", function(m, _, r)
    return m:index_copy(1, positions(r, r), m)
  end},
  {"index_fill", function(m, _, _, c)
    return m:index_fill(2, positions(c, c), 1)
  end},
  {"index_put", function(m, v, r, c)
    return m:clone():index_put_({positions(c, r), positions(c, c)}, v)
  end},
  {"accumulate", function(m, v, r, c)
    return m:clone():index_put_({positions(c, r), positions(c, c)}, v, true)
  end},
  {"embedding", function(m, _, r) return st.embedding(m, positions(7, r)) end},
  {"searchsorted", function(m, v)
    return st.searchsorted(v:sort(), m)
  end},
  {"bincount", function(_, v) return v:bincount {base = 0} end},
  {"histc", function(m) return m:histc(7) end},
  {"topk", function(m, _, _, c) return m:topk(math.ceil(c / 2), 2) end},
  {"kthvalue", function(m, _, _, c)
    return m:kthvalue(math.ceil(c / 2), 2)
  end},
  {"sort rows", function(m) return m:sort(1) end},
  {"sort down", function(m) return m:sort(2, true) end},
  {"stable", function(m) return m:sort {stable = true, dim = 2} end},
  {"div", function(m, v)
    return m:div(v, {rounding_mode = "trunc"}), m:div(3, {rounding_mode =
           "floor"}), v:div(m, {rounding_mode = "floor"})
  end},
  {"round", function(m) return m:round {decimals = 1} end},
  {"clamp", function(m, v)
    return m:clamp(1, 3), m:clamp {min = v, max = v}
  end},
  {"clamp of a row", function(_, v)
    return v:clamp(1, 3), v:clamp {min = v}, v:clamp {max = v}
  end},
  {"prelu", function(m, v) return m:prelu(v) end},
  {"glu", function(m) return st.cat({m, m}, 2):glu() end},
  {"binary_cross_entropy", function(m)
    local p = m:gt(1):to(m.dtype)
    return st.binary_cross_entropy(p, p)
  end},
  {"argsort", function(m) return m:argsort {stable = true, dim = 1} end},
  {"conv1d", function(m, v)
    return st.conv1d(m:unsqueeze(1), v:view(1, 1, -1):expand(2, m.shape[1], -1))
  end},
  {"pools of rows", function(m)
    local x = m:unsqueeze(1)
    return st.avg_pool1d(x, {1}), st.adaptive_avg_pool1d(x, {2}),
           st.upsample_linear1d(x, {5}, true), st.pad(x, {1, 2})
  end},
  {"sum", function(m) return m:sum(1), m:sum(2), m:sum() end},
  {"softmax", function(m) return m:softmax(1), m:softmax(2) end},
  {"var", function(m) return m:var(1), m:var(2) end},
  {"amax", function(m) return m:amax(1), m:amax(2) end},
  {"max", function(m) return m:max(1), m:max(2) end},
  {"cumsum", function(m) return m:cumsum(1), m:cumsum(2) end},
  {"norm", function(m) return m:norm(2, 1), m:norm(1, 2), m:norm(3, 2) end},
  {"logsumexp", function(m) return m:logsumexp(1), m:logsumexp(2) end},
  {"mm", function(m) return m:mm(m:t()), m:t():mm(m) end},
  {"mv", function(m, v) return m:mv(v) end},
  {"addmm", function(m) return st.addmm(m:mm(m:t()), m, m:t()) end},
  {"bmm", function(m)
    local b = m:unsqueeze(1):expand(2, -1, -1)
    return b:bmm(b:transpose(2, 3))
  end},
  {"dot", function(_, v) return v:dot(v) end},
  {"copies", function(m, _, r, c)
    return m:t():contiguous(), m:flip {1, 2}, m:roll(1, 1),
           m["repeat"](m, 2, 2), m:view(r, c, 1):permute(3, 2, 1):contiguous()
  end},
  {"cat", function(m, v)
    return st.cat({m, m}, 2), st.cat({m:t(), m:t()}, 2), st.stack {v, v}
  end},
  {"fills", function(m)
    local t = m:t():contiguous():t()
    t:fill_(1)
    t["::2, :"] = 2
    return t:triu(), t:tril()
  end},
  {"layer_norm", function(m, v) return st.layer_norm(m, {v:numel()}, v, v) end},
  {"cross_entropy", function(m, _, r, c)
    return st.cross_entropy_loss(m, positions(r, c))
  end},
  {"text", function(m) return tostring(m) end},
}

-- name, function of images of 2 x 2 x r x c and a kernel of 2 x 2 x 3 x 3
local IMAGES = {
  {"conv2d", function(x, k) return st.conv2d(x, k, nil, {1, 1}, {1, 1}) end},
  {"strided conv2d", function(x, k)
    return st.conv2d(x, k, nil, {2, 2}, {1, 1})
  end},
  {"conv_transpose2d", function(x, k) return st.conv_transpose2d(x, k) end},
  {"max_pool2d", function(x) return st.max_pool2d(x, {2, 2}) end},
  {"avg_pool2d", function(x)
    return st.avg_pool2d(x, {3, 3}, {1, 1}, {1, 1})
  end},
  {"adaptive", function(x) return st.adaptive_avg_pool2d(x, {2, 3}) end},
  {"nearest", function(x) return st.upsample_nearest2d(x, {5, 9}) end},
  {"bilinear", function(x) return st.upsample_bilinear2d(x, {5, 9}, false) end},
  {"bicubic", function(x) return st.upsample_bicubic2d(x, {5, 9}, true) end},
  {"pad", function(x) return st.pad(x, {1, 2, 1, 0}) end},
  {"reflect", function(x) return st.pad(x, {1, 1, 1, 1}, "reflect") end},
  {"im2col", function(x)
    return st.im2col(x, {2, 2}, {1, 1}, {1, 1}, {1, 1})
  end},
  {"grid_sampler", function(x)
    return st.grid_sampler(x, st.rand({2, 3, 5, 2}):to(x.dtype), 0, 0, true)
  end},
  {"batch_norm", function(x)
    return st.batch_norm(x, nil, nil, nil, nil, true, 0.1, 1e-5)
  end},
  {"channels_last", function(x, k)
    local y = x:contiguous {memory_format = "channels_last"}
    return y:exp(), st.conv2d(y, k), st.max_pool2d(y, {2, 2}), y:sum(2)
  end},
}

local SIDES = {1, 2, 3, 7, 8, 9, 16, 17, 33, 65}

local function sweep_matrices(x, dtype, passed)
  for _, r in ipairs(SIDES) do
    for _, c in ipairs(SIDES) do
      local m = x.numbers(r * c, dtype):view(r, c)
      local v = x.numbers(c, dtype)
      for _, row in ipairs(MATRICES) do
        if x.try(row[1], row[2], m, v, r, c) ~= nil then
          passed[row[1]] = true
        end
      end
    end
  end
end

local function sweep_images(x, dtype, passed)
  local k = x.numbers(36, dtype):view(2, 2, 3, 3)
  for _, r in ipairs {1, 2, 4, 9} do
    for _, c in ipairs {1, 3, 8, 17} do
      local t = x.numbers(4 * r * c, dtype):view(2, 2, r, c)
      for _, row in ipairs(IMAGES) do
        if x.try(row[1], row[2], t, k) ~= nil then passed[row[1]] = true end
      end
    end
  end
end

local function sweep_casts(x)
  for _, from in ipairs(x.DTYPES) do
    for _, to in ipairs(x.DTYPES) do
      for _, n in ipairs(x.SIZES) do
        local t = x.numbers(n, from)
        x.try("to " .. to, t.to, t, to)
        if n % 7 == 0 then
          local wide = st.stack({t, t}, 2)
          x.try("to " .. to, t.to, wide:select(2, 1), to)
          x.try("copy_ " .. to, t.copy_, wide:to(to):select(2, 1), t)
        end
      end
    end
  end
end

--- Calls every row with every dtype; raises if one of them never works.
function M.sweep(x)
  local passed, left = {}, {}
  local step = math.min(x.step, 3)
  for i = step, #x.DTYPES, step do
    sweep_matrices(x, x.DTYPES[i], passed)
    sweep_images(x, x.DTYPES[i], passed)
    collectgarbage()
  end
  sweep_casts(x)
  for _, list in ipairs {MATRICES, IMAGES} do
    for _, row in ipairs(list) do
      if not passed[row[1]] then left[#left + 1] = row[1] end
    end
  end
  assert(#left == 0, "never works: " .. table.concat(left, ", "))
end

-- -- Fused functions ---------------------------------------------------------

local BODIES = {
  {1, function(a) return (a * 2 + 1):neg() end},
  {2, function(a, b) return a * b + a - b end},
  {2, function(a, b) return (a - b):abs():gt(1) end},
  {2, function(a, b) return st.where(a:gt(b), a + 1, b * b) end},
  {2, function(a, b) return (a * b + 1):exp():add(a * a):sqrt() end},
  {2, function(a, b) return (a + b):to "float64" * 2, a:eq(b):logical_not() end,
   "(Tensor, Tensor)"},
  {3, function(a, b, c) return a:addcmul(b, c):clamp(0, 3):to "float16" end},
}

local function fused_functions()
  local lib, list = st.library "guarded", {}
  for i, body in ipairs(BODIES) do
    local names = {}
    for k = 1, body[1] do names[k] = "Tensor x" .. k end
    lib:elementwise(("f%d(%s) -> %s"):format(i, table.concat(names, ", "),
                    body[3] or "Tensor"), body[2])
    list[i] = st.ops.guarded["f" .. i]
  end
  return list, lib
end

local function sweep_fused_size(x, f, nargs, dtype, n)
  local t, u = x.numbers(n, dtype), x.numbers(3 * n, "float32"):view(n, 3)
  local column = u:select(2, 1)
  local name = "fused"
  for _, args in ipairs {
    {t, t, t}, {t, column, t}, {column, t, u:select(2, 3)},
    {x.numbers(3 * n, dtype):view(3, n), t, t},
    {u, x.numbers(n, dtype):view(n, 1), u},
    {u:t(), x.numbers(3, dtype):view(3, 1), u:t()},
  } do
    x.try(name, f, unpack(args, 1, nargs))
  end
end

function M.sweep_fused(x)
  local was_on = st.set_jit_enabled(true)
  local functions, lib = fused_functions()
  for _, is_on in ipairs {true, false} do
    st.set_jit_enabled(is_on)
    for k, f in ipairs(functions) do
      for i = 1 + k % x.step, #x.DTYPES, x.step do
        for _, sizes in ipairs {x.SIZES, x.BLOCKS} do
          for _, n in ipairs(sizes) do
            sweep_fused_size(x, f, BODIES[k][1], x.DTYPES[i], n)
          end
        end
        collectgarbage()
      end
    end
  end
  st.set_jit_enabled(was_on)
  lib:close()
end

return M
