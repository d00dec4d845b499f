--- Functions of torch.nn.functional that are no operators: they take a function
-- or many tensors that belong together. They are functions of st.
--
-- @module strided.nn.functional

local core = require "strided.core"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local concat, huge, ipairs, rawequal, require, tostring, type = table.concat,
  math.huge, ipairs, rawequal, require, tostring, type

local functional = {}

local is_tensor = core.is_tensor

local function st() return core.fields or require "strided" end

local function check_tensor(name, argument, value)
  if not is_tensor(value) then
    raise("%s: argument '%s' must be a Tensor, got %s", name, argument,
          type(value))
  end
end

local function check_optional(name, argument, value)
  if value ~= nil then check_tensor(name, argument, value) end
end

local function shape(t) return "{" .. concat(t.shape, ", ") .. "}" end

-- -- Losses -------------------------------------------------------------------

local REDUCTIONS = {mean = true, sum = true, none = true}

local TRIPLET = {distance_function = true, margin = true, swap = true,
                 reduction = true}

--- max(0, margin + distance to positive - distance to negative), as in
-- triplet_margin_loss, by any distance.
-- @function triplet_margin_with_distance_loss
-- @tparam Tensor anchor
-- @tparam Tensor positive
-- @tparam Tensor negative
-- @tparam[opt] table options `distance_function` of two tensors
-- (pairwise_distance), `margin` (1), `swap` (false): a negative counts from
-- anchor or positive, whichever is nearer; `reduction`
function functional.triplet_margin_with_distance_loss(anchor, positive,
                                                      negative, given)
  local name = "triplet_margin_with_distance_loss"
  local opt = options(name, given, TRIPLET)
  local margin, reduction = opt.margin or 1, opt.reduction or "mean"
  local distance = opt.distance_function or st().pairwise_distance
  check_tensor(name, "anchor", anchor)
  check_tensor(name, "positive", positive)
  check_tensor(name, "negative", negative)
  if not REDUCTIONS[reduction] then
    raise("%s: option 'reduction' must be \"mean\", \"sum\" or \"none\"", name)
  end
  if type(margin) ~= "number" or margin ~= margin or margin <= 0 then
    raise("%s: option 'margin' must be positive, it is %s", name,
          tostring(margin))
  end
  if anchor.ndim ~= positive.ndim or anchor.ndim ~= negative.ndim then
    raise("%s: anchor, positive and negative must have as many dimensions, "
          .. "their shapes are %s, %s and %s", name, shape(anchor),
          shape(positive), shape(negative))
  end
  if type(distance) ~= "function" then
    raise("%s: option 'distance_function' must be a function, got %s", name,
          type(distance))
  end
  local function measure(a, b)
    local d = distance(a, b)
    if is_tensor(d) then return d end
    raise("%s: option 'distance_function' must return a Tensor, got %s", name,
          type(d))
  end
  local near, far = measure(anchor, positive), measure(anchor, negative)
  if opt.swap then far = far:minimum(measure(positive, negative)) end
  local loss = (near - far + margin):clamp_min(0)
  if reduction == "none" then return loss end
  return reduction == "sum" and loss:sum() or loss:mean()
end

-- -- Attention ----------------------------------------------------------------

local ATTENTION = "multi_head_attention_forward"

local ATTENTION_OPTIONS = {
  training = true, key_padding_mask = true, need_weights = true,
  attn_mask = true, use_separate_proj_weight = true, q_proj_weight = true,
  k_proj_weight = true, v_proj_weight = true, static_k = true, static_v = true,
  average_attn_weights = true, is_causal = true,
}

local function check_shape(argument, t, want)
  local same = #t.shape == #want
  for d = 1, same and #want or 0 do same = same and t.shape[d] == want[d] end
  if not same then
    raise("%s: %s must have shape {%s}, not %s", ATTENTION, argument,
          concat(want, ", "), shape(t))
  end
end

--- A mask as numbers to be added: a boolean one is -inf where it is true.
local function additive(argument, mask, like)
  if mask == nil then return nil end
  check_tensor(ATTENTION, argument, mask)
  if mask:is_floating_point() then return mask end
  if mask.dtype ~= "bool" then
    raise("%s: %s must be of dtype bool or floating point, not %s", ATTENTION,
          argument, mask.dtype)
  end
  return st().zeros(mask.shape, {dtype = like.dtype, device = mask.device})
    :masked_fill_(mask, -huge)
end

--- query, key and value times their weights.
local function project(query, key, value, weights, biases)
  local linear = st().linear
  return linear(query, weights[1], biases and biases[1]),
         linear(key, weights[2], biases and biases[2]),
         linear(value, weights[3], biases and biases[3])
end

local function projections(query, key, value, weight, bias, opt)
  local biases = bias and bias:chunk(3)
  if not opt.use_separate_proj_weight then
    check_tensor(ATTENTION, "in_proj_weight", weight)
    if rawequal(query, key) and rawequal(key, value) then
      local all = st().linear(query, weight, bias):chunk(3, 3)
      return all[1], all[2], all[3]
    end
    return project(query, key, value, weight:chunk(3), biases)
  end
  local weights = {opt.q_proj_weight, opt.k_proj_weight, opt.v_proj_weight}
  check_tensor(ATTENTION, "q_proj_weight", weights[1])
  check_tensor(ATTENTION, "k_proj_weight", weights[2])
  check_tensor(ATTENTION, "v_proj_weight", weights[3])
  return project(query, key, value, weights, biases)
end

--- (steps, N, units) as (N heads, steps, units of a head).
local function by_head(t, n, size)
  return t:reshape(t.shape[1], n, size):transpose(1, 2)
end

--- One more key, which no mask hides.
local function widened(mask) return mask and st().pad(mask, {0, 1}) end

local function check_count(argument, n)
  if type(n) ~= "number" or n < 1 or n % 1 ~= 0 then
    raise("%s: argument '%s' must be a positive integer, got %s", ATTENTION,
          argument, tostring(n))
  end
end

--- Key and value have one shape, or with separate weights one but for features.
local function check_values(key, value, is_separate)
  local last = key.ndim - (is_separate and 1 or 0)
  for d = 1, last do
    if key.shape[d] ~= value.shape[d] then
      raise("%s: key shape %s does not match value shape %s", ATTENTION,
            shape(key), shape(value))
    end
  end
end

local function check_dims(query, key, value, heads, embed_dim)
  check_count("embed_dim", embed_dim)
  check_count("num_heads", heads)
  if query.ndim ~= 2 and query.ndim ~= 3 or key.ndim ~= query.ndim or
     value.ndim ~= query.ndim then
    raise("%s: query, key and value must all have two dimensions or three, "
          .. "their shapes are %s, %s and %s", ATTENTION, shape(query),
          shape(key), shape(value))
  end
  local units = query.shape[query.ndim]
  if units ~= embed_dim then
    raise("%s: query of shape %s must have %d features", ATTENTION,
          shape(query), embed_dim)
  end
  if units % heads ~= 0 then
    raise("%s: %d features cannot be shared among %d heads", ATTENTION, units,
          heads)
  end
end

--- The same tensors if they are, with a batch of one.
local function with_batch(query, key, value)
  local q = query:unsqueeze(2)
  local k = rawequal(key, query) and q or key:unsqueeze(2)
  local v = rawequal(value, query) and q or
            rawequal(value, key) and k or value:unsqueeze(2)
  return q, k, v
end

--- attn_mask as numbers to be added, (1 or N heads, steps, keys), or nil.
local function attention_mask(a, opt, query, keys)
  if opt.is_causal and not opt.attn_mask then
    raise("%s: is_causal needs attn_mask", ATTENTION)
  end
  local mask = additive("attn_mask", opt.attn_mask, query)
  if mask and mask.ndim == 2 then
    check_shape("attn_mask", mask, {a.steps, keys})
    return mask:unsqueeze(1)
  end
  if mask then check_shape("attn_mask", mask, {a.n, a.steps, keys}) end
  return mask
end

--- The sum of both masks, (1 or N heads, steps, keys), or nil.
local function merged(attn_mask, padding, batch, heads, keys)
  if not padding then return attn_mask end
  check_shape("key_padding_mask", padding, {batch, keys})
  padding = padding:view(batch, 1, 1, keys):expand(batch, heads, 1, keys)
    :reshape(batch * heads, 1, keys)
  return attn_mask and attn_mask + padding or padding
end

local function softmax_of_products(a, q, k, v, mask)
  local scaled, keys = q * (1 / a.size) ^ 0.5, k:transpose(2, 3)
  local weights = mask and st().baddbmm(mask, scaled, keys) or scaled:bmm(keys)
  weights = weights:softmax(3)
  if a.dropout_p > 0 then weights = weights:dropout(a.dropout_p, true) end
  return weights:bmm(v), weights:view(a.batch, a.heads, a.steps, k.shape[2])
end

--- Softmax of the products of q and k, times v; and the softmax, (N, heads,
-- steps, keys). Halves are computed as float32, for which a region of autocast
-- is left: see Note [Attention of halves] in core/op/nn/attention.h.
local function attend(a, q, k, v, mask)
  local dtype = q.dtype
  if not (dtype == "float16" or dtype == "bfloat16") or k.dtype ~= dtype or
     v.dtype ~= dtype then
    return softmax_of_products(a, q, k, v, mask)
  end
  local out, weights = st().autocast({enabled = false}, softmax_of_products, a,
                                     q:float(), k:float(), v:float(),
                                     mask and mask:float())
  return out:to(dtype), weights:to(dtype)
end

--- The same product only. is_causal stands for the mask.
local function attend_by_operator(a, q, k, v, mask, is_causal)
  local function heads(t) return t:reshape(a.batch, a.heads, -1, a.size) end
  if is_causal then
    mask = nil
  elseif mask then
    mask = mask.shape[1] == 1 and mask:unsqueeze(1)
           or mask:reshape(a.batch, a.heads, -1, k.shape[2])
  end
  return st().scaled_dot_product_attention(
    heads(q), heads(k), heads(v), mask, a.dropout_p, is_causal or false)
end

--- Keys and values before attention, and what the masks become: bias_k and
-- bias_v, then zeros are one key more each.
local function extended(a, k, v, attn_mask, padding)
  local torch = st()
  if (a.bias_k == nil) ~= (a.bias_v == nil) then
    raise("%s: bias_k and bias_v belong together", ATTENTION)
  end
  if a.bias_k and (a.static_k or a.static_v) then
    raise("%s: bias_k and static_k cannot be used together", ATTENTION)
  end
  if a.bias_k then
    k = torch.cat({k, a.bias_k:expand(1, a.batch, -1)}, 1)
    v = torch.cat({v, a.bias_v:expand(1, a.batch, -1)}, 1)
    attn_mask, padding = widened(attn_mask), widened(padding)
  end
  k = a.static_k or by_head(k, a.n, a.size)
  v = a.static_v or by_head(v, a.n, a.size)
  if a.add_zero_attn then
    local zeros = k:new_zeros {a.n, 1, a.size}
    k, v = torch.cat({k, zeros}, 2), torch.cat({v, zeros}, 2)
    attn_mask, padding = widened(attn_mask), widened(padding)
  end
  return k, v, attn_mask, padding
end

local function check_static(argument, t, n, size)
  if t and (t.ndim ~= 3 or t.shape[1] ~= n or t.shape[3] ~= size) then
    raise("%s: %s must have shape {%d, steps, %d}, not %s", ATTENTION,
          argument, n, size, shape(t))
  end
end

--- (N heads, steps, units) as (steps, N, features), times the output weight.
local function joined(out, a, weight, bias)
  out = out:reshape(a.n, a.steps, a.size):transpose(1, 2)
    :reshape(a.steps * a.batch, a.heads * a.size)
  out = st().linear(out, weight, bias)
  return out:view(a.steps, a.batch, out.shape[2])
end

--- Attention of several heads, as in torch.nn.functional: query (steps, N,
-- embed_dim), key and value (keys, N, features), or all without N. Returns the
-- output and the weights, (N, steps, keys), or nil if need_weights is false.
-- @function multi_head_attention_forward
-- @tparam Tensor query
-- @tparam Tensor key
-- @tparam Tensor value
-- @tparam integer embed_dim
-- @tparam integer num_heads
-- @param in_proj_weight (3 embed_dim, embed_dim), or nil with separate weights
-- @param in_proj_bias or nil
-- @param bias_k or nil
-- @param bias_v or nil
-- @tparam boolean add_zero_attn
-- @tparam number dropout_p
-- @tparam Tensor out_proj_weight
-- @param out_proj_bias or nil
-- @tparam[opt] table options `training` (true), `key_padding_mask` (N, keys),
-- `attn_mask` (steps, keys) or (N num_heads, steps, keys), `need_weights`
-- (true), `average_attn_weights` (true), `is_causal` (false: a hint, attn_mask
-- is required), `use_separate_proj_weight` (false) with `q_proj_weight`,
-- `k_proj_weight` and `v_proj_weight`, `static_k`, `static_v`
function functional.multi_head_attention_forward(
    query, key, value, embed_dim, num_heads, in_proj_weight, in_proj_bias,
    bias_k, bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias,
    given)
  local opt = options(ATTENTION, given, ATTENTION_OPTIONS)
  check_tensor(ATTENTION, "query", query)
  check_tensor(ATTENTION, "key", key)
  check_tensor(ATTENTION, "value", value)
  check_tensor(ATTENTION, "out_proj_weight", out_proj_weight)
  check_optional(ATTENTION, "in_proj_bias", in_proj_bias)
  check_optional(ATTENTION, "bias_k", bias_k)
  check_optional(ATTENTION, "bias_v", bias_v)
  check_optional(ATTENTION, "out_proj_bias", out_proj_bias)
  for _, name in ipairs {"key_padding_mask", "attn_mask", "static_k",
                         "static_v"} do
    check_optional(ATTENTION, name, opt[name])
  end
  check_dims(query, key, value, num_heads, embed_dim)
  check_values(key, value, opt.use_separate_proj_weight)
  local padding, batched = opt.key_padding_mask, query.ndim == 3
  if not batched then
    query, key, value = with_batch(query, key, value)
    padding = padding and padding:unsqueeze(1)
  end
  local a = {
    steps = query.shape[1], batch = query.shape[2], heads = num_heads,
    n = query.shape[2] * num_heads, size = embed_dim / num_heads,
    bias_k = bias_k, bias_v = bias_v, add_zero_attn = add_zero_attn,
    static_k = opt.static_k, static_v = opt.static_v,
    dropout_p = opt.training ~= false and dropout_p or 0,
  }
  check_static("static_k", a.static_k, a.n, a.size)
  check_static("static_v", a.static_v, a.n, a.size)
  padding = additive("key_padding_mask", padding, query)
  local mask = attention_mask(a, opt, query, key.shape[1])
  local q, k, v = projections(query, key, value, in_proj_weight, in_proj_bias,
                              opt)
  q = by_head(q, a.n, a.size)
  k, v, mask, padding = extended(a, k, v, mask, padding)
  mask = merged(mask, padding, a.batch, num_heads, k.shape[2])
  local out, weights
  if opt.need_weights == false then
    out = attend_by_operator(a, q, k, v, mask, opt.is_causal and not padding)
  else
    out, weights = attend(a, q, k, v, mask)
    if opt.average_attn_weights ~= false then weights = weights:mean({2}) end
    if not batched then weights = weights:squeeze(1) end
  end
  out = joined(out, a, out_proj_weight, out_proj_bias)
  return batched and out or out:squeeze(2), weights
end

return functional
