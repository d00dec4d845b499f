--- Attention without the matrix of all scores: softmax(q k^T scale + bias) v of
-- a few heads and rows of queries at a time, so that their scores stay in the
-- cache. The gradient computes the scores again.
--
-- Small inputs, masks that have a gradient or hide every key from a query, and
-- other dtypes than float32 and float64 use scaled_dot_product_attention.
--
-- @module strided.nn.attention_blocks

local st = require "strided"
local core = require "strided.core"

local baddbmm, bmm, empty, huge, is_grad_enabled, softmax = st.baddbmm, st.bmm,
  st.empty, math.huge, st.is_grad_enabled, st.softmax
local enable_grad, grad = st.enable_grad, st.grad
local floor, ipairs, max, min, sqrt = math.floor, ipairs,
  math.max, math.min, math.sqrt
local unpack = unpack or table.unpack

local blocks = {}

-- Scores of a block; of all heads and rows where the operator is as fast; of
-- the heads of one element of a batch below which a block is too small.
local BLOCK, SMALL, TINY = 2 ^ 18, 2 ^ 17, 2 ^ 14
local CAUSAL_ROWS = 128

-- -- Views -------------------------------------------------------------------

--- The n parts of t, {N, steps, n features}, or {steps, N, n features} if
-- seq_first, as views of shape {N, heads, steps, units}.
local function by_head(t, n, heads, seq_first)
  local shape = t.shape
  local all = t:view(shape[1], shape[2], n, heads, shape[3] / (n * heads))
  local views = {}
  for i = 1, n do
    local part = all:select(3, i)
    views[i] = seq_first and part:permute(2, 3, 1, 4)
               or part:transpose(2, 3)
  end
  return unpack(views)
end

--- q, k and v of one tensor that has all, of q and a tensor with k and v, or of
-- three tensors.
local function split(o, a, b, c)
  if not b then return by_head(a, 3, o.heads, o.seq_first) end
  local q = by_head(a, 1, o.heads, o.seq_first)
  if not c then return q, by_head(b, 2, o.heads, o.seq_first) end
  return q, by_head(b, 1, o.heads, o.seq_first),
         by_head(c, 1, o.heads, o.seq_first)
end

--- The transposed matrices.
local function T(t) return t:transpose(2, 3) end

-- -- Blocks ------------------------------------------------------------------

--- The rows and the heads of a block.
local function sizes_of(q, k, causal)
  local heads, steps, keys = q.shape[2], q.shape[3], k.shape[3]
  local rows = min(steps, max(32, floor(BLOCK / keys)))
  if causal then rows = min(rows, CAUSAL_ROWS) end
  return rows, min(heads, max(1, floor(BLOCK / (rows * keys))))
end

--- Of a bias or a mask whose sizes may be 1, what a block needs.
local function part_of(t, n, h, heads, row, rows, keys)
  t = t:select(1, t.shape[1] > 1 and n or 1)
  if t.shape[1] > 1 then t = t:narrow(1, h, heads) end
  if t.shape[2] > 1 then t = t:narrow(2, row, rows) end
  return t.shape[3] > keys and t:narrow(3, 1, keys) or t
end

--- -inf where column >= row, to hide keys that follow a query.
local function triangle(n, like)
  return like:new_full({n, n}, -huge):triu_()
end

--- Calls fn(block) for all blocks, the last rows of a head first, which attend
-- to the most keys. `scores` are the probabilities, `second` is as much memory
-- if is_backward. q is multiplied by the scale.
local function each_block(o, q, k, is_backward, fn)
  local batch, all_heads, steps, all_keys = q.shape[1], q.shape[2], q.shape[3],
    k.shape[3]
  local causal = o.causal
  local rows, heads = sizes_of(q, k, causal)
  local like = {dtype = q.dtype, device = q.device}
  local scores = empty({rows * heads * all_keys}, like)
  local second = is_backward and empty({rows * heads * all_keys},
                                       like)
  local last = floor((steps - 1) / rows) * rows + 1
  local hide = causal and rows > 1 and triangle(rows, q)
  for n = 1, batch do
    for h = 1, all_heads, heads do
      local nh = min(heads, all_heads - h + 1)
      for row = last, 1, -rows do
        local nr = min(rows, steps - row + 1)
        local keys = causal and min(all_keys, row + nr - 1 + causal) or all_keys
        local shape, count = {nh, nr, keys}, nh * nr * keys
        local b = {is_first = row == last, n = n, h = h, heads = nh, row = row,
                   rows = nr, keys = keys}
        b.scores = scores:narrow(1, 1, count):view(shape)
        b.second = second and second:narrow(1, 1, count):view(shape)
        b.q = q:select(1, n):narrow(1, h, nh):narrow(2, row, nr)
        b.k = k:select(1, n):narrow(1, h, nh):narrow(2, 1, keys)
        bmm(b.q, T(b.k), {out = b.scores})
        if o.bias then
          b.scores:add_(part_of(o.bias, n, h, nh, row, nr, keys))
        end
        local from = causal and row + causal
        if hide and from < keys then
          b.scores:narrow(3, from + 1, keys - from)
            :add_(hide:narrow(1, 1, nr):narrow(2, 1, keys - from))
        end
        softmax(b.scores, 3, {out = b.scores})
        fn(b)
      end
    end
  end
end

--- The queries of a block in another tensor of the shape of q.
local function at_rows(t, b)
  return t:select(1, b.n):narrow(1, b.h, b.heads):narrow(2, b.row, b.rows)
end

--- The same of k.
local function at_keys(t, b)
  return t:select(1, b.n):narrow(1, b.h, b.heads):narrow(2, 1, b.keys)
end

-- -- The function ------------------------------------------------------------

local function forward(o, q, k, v, out)
  each_block(o, q * o.scale, k, false, function(b)
    if o.kept then
      b.scores:mul_(part_of(o.kept, b.n, b.h, b.heads, b.row, b.rows, b.keys))
    end
    bmm(b.scores, at_keys(v, b), {out = at_rows(out, b)})
  end)
  if o.kept then out:mul_(o.kept_scale) end
end

--- Adds the product to t, or writes it if this is the first.
local function add_product(t, x, y, is_first)
  if is_first then bmm(x, y, {out = t}) else baddbmm(t, x, y, {out = t}) end
end

--- delta: the sums of dout times out over the units of a head.
local function backward(o, q, k, v, dout, delta, dq, dk, dv)
  if o.kept then dout = dout * o.kept_scale end
  each_block(o, q * o.scale, k, true, function(b)
    local p, dp, g = b.scores, b.second, at_rows(dout, b)
    local kept = o.kept and part_of(o.kept, b.n, b.h, b.heads, b.row, b.rows,
                                    b.keys)
    bmm(g, T(at_keys(v, b)), {out = dp})
    if kept then dp:mul_(kept) end
    dp:sub_(at_rows(delta, b)):mul_(p)
    if kept then p:mul_(kept) end
    add_product(at_keys(dv, b), T(p), g, b.is_first)
    add_product(at_keys(dk, b), T(dp), b.q, b.is_first)
    bmm(dp, b.k, {out = at_rows(dq, b)})
  end)
  dq:mul_(o.scale)
end

--- The same by operators that have derivatives, for derivatives of gradients.
local function composed(o, q, k, v)
  local w = (q * o.scale):matmul(k:transpose(3, 4))
  if o.bias then w = w + o.bias end
  if o.causal then
    local hide = w:new_full({q.shape[3], k.shape[3]}, -huge)
      :triu_(1 + o.causal)
    w = w + hide
  end
  w = w:softmax(4)
  if o.kept then w = w * o.kept * o.kept_scale end
  return w:matmul(v)
end

--- {N, heads, steps, units} as {N, steps, features} or {steps, N, features}.
local function joined(t, seq_first)
  t = seq_first and t:permute(3, 1, 2, 4) or t:transpose(2, 3)
  return t:flatten(3, 4)
end

local function differentiable(o, g, inputs)
  return enable_grad(function()
    local own = {}
    for i, t in ipairs(inputs) do own[i] = t:view_as(t) end
    local out = joined(composed(o, split(o, unpack(own))), o.out_seq_first)
    return grad({out}, own, {grad_outputs = {g}, create_graph = true})
  end)
end

local Blocks = core.autograd_function {
  name = "AttentionBlocks",
  forward = function(ctx, o, a, b, c)
    local q, k, v = split(o, a, b, c)
    local batch, steps = q.shape[1], q.shape[3]
    local first, second = batch, steps
    if o.out_seq_first then first, second = steps, batch end
    local out = empty({first, second, o.heads * q.shape[4]},
                      {dtype = a.dtype, device = a.device})
    forward(o, q, k, v, (by_head(out, 1, o.heads, o.out_seq_first)))
    ctx.o, ctx.inputs = o, c and 3 or b and 2 or 1
    ctx:save(out, a, b, c)
    return out
  end,
  backward = function(ctx, g)
    local o, saved = ctx.o, {ctx:saved()}
    local inputs = {unpack(saved, 2, 1 + ctx.inputs)}
    if is_grad_enabled() then return nil, differentiable(o, g, inputs) end
    g = g:contiguous()
    local grads = {}
    for i, t in ipairs(inputs) do grads[i] = st.zeros_like(t) end
    local q, k, v = split(o, unpack(inputs))
    local dq, dk, dv = split(o, unpack(grads))
    local dout = by_head(g, 1, o.heads, o.out_seq_first)
    local delta = (dout * by_head(saved[1], 1, o.heads, o.out_seq_first))
      :sum({4}, true)
    backward(o, q, k, v, dout, delta, dq, dk, dv)
    return nil, unpack(grads)
  end,
}

-- -- Attention ---------------------------------------------------------------

--- Can the blocks compute it, and is it worth it?
local function is_suitable(o, q, k)
  local scores = q.shape[2] * q.shape[3] * k.shape[3]
  if q.shape[1] * scores <= SMALL or scores < TINY then return false end
  if q.device ~= "cpu" or q.dtype ~= "float32" and q.dtype ~= "float64" then
    return false
  end
  local bias = o.bias
  if not bias then return true end
  return bias.dtype == q.dtype and not bias.requires_grad and
         not bias:isneginf():all(4):any():item()
end

local function by_operator(o, q, k, v)
  local bias = o.bias
  local is_square = o.causal == 0
  if o.causal and (bias or not is_square) then
    local hide = q:new_full({q.shape[3], k.shape[3]}, -huge)
      :triu_(1 + o.causal)
    bias, is_square = bias and bias + hide or hide, false
  end
  local out = st.scaled_dot_product_attention(q, k, v, bias, o.dropout,
                                              is_square)
  return joined(out, o.out_seq_first)
end

--- Attention of several heads. The inputs are q, {N, steps, features}, k and v,
-- {N, keys, features}; or q and both others in one tensor, after one another
-- in the last dimension; or all in one.
-- @tparam table o `heads`; `seq_first`: the inputs have shape {steps, N,
-- features}; `out_seq_first`: the result has; `bias`: numbers to be added to
-- the scores, of shape {N or 1, heads or 1, steps or 1, keys}; `causal`: query
-- i attends to keys up to i + causal; `dropout`, a probability
-- @tparam Tensor a
-- @tparam[opt] Tensor b
-- @tparam[opt] Tensor c
-- @treturn Tensor {N, steps, features}, or {steps, N, features}
function blocks.attend(o, a, b, c)
  local q, k, v = split(o, a, b, c)
  if not is_suitable(o, q, k) then return by_operator(o, q, k, v) end
  o.scale, o.kept_scale = 1 / sqrt(q.shape[4]), 1
  if o.dropout > 0 then
    o.kept = empty({q.shape[1], q.shape[2], q.shape[3], k.shape[3]},
                   {dtype = "bool"}):bernoulli_(1 - o.dropout)
    o.kept_scale = o.dropout < 1 and 1 / (1 - o.dropout) or 0
  end
  return Blocks(o, a, b, c)
end

--- The same of q, k and v that are {N, heads, steps, units}, without dropout
-- and gradients.
-- @tparam table o `out_seq_first`, `bias`, `causal`
-- @tparam Tensor q
-- @tparam Tensor k
-- @tparam Tensor v
-- @treturn Tensor {N, steps, features}, or {steps, N, features}
function blocks.attend_heads(o, q, k, v)
  o.dropout = 0
  return by_operator(o, q, k, v)
end

return blocks
