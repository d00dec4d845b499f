--- Attention: MultiheadAttention.
--
--     local attention = nn.MultiheadAttention(64, 8, {batch_first = true})
--     local y, weights = attention(x, x, x)
--     local z = attention(x, x, x, {need_weights = false})   -- faster
--
-- A cache keeps the keys and values of earlier calls, so that a call needs only
-- the tokens that follow:
--
--     local cache = attention:new_cache()
--     st.no_grad(function()
--       for i = 1, x.shape[2] do
--         local token = x:narrow(2, i, 1)
--         y = attention(token, token, token, {need_weights = false,
--                                             cache = cache})
--       end
--     end)
--
-- Tokens of a call with a cache attend to the earlier ones and themselves, as
-- with a causal mask.
--
-- @module strided.nn.attention

local st = require "strided"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"
local computed = require "strided.nn.module.hooks".computed
local init = require "strided.nn.init"
local module = require "strided.nn.module"
local layer = require "strided.nn.layer"
local blocks = require "strided.nn.attention_blocks"

local Module, Parameter, Linear = module.Module, module.Parameter, layer.Linear

local keep = require "strided.core".keep_from_all
local concat, empty, floor, format, huge, is_tensor, linear, max, no_grad,
  sqrt = table.concat, st.empty, math.floor, string.format, math.huge,
  st.is_tensor, st.linear, math.max, st.no_grad, math.sqrt
local getmetatable, ipairs, rawequal, setmetatable, type =
  getmetatable, ipairs, rawequal, setmetatable, type

local attention = {}

local NAME = "MultiheadAttention"

-- -- Cache -------------------------------------------------------------------

local Cache = {__name = "AttentionCache"}
Cache.__index = Cache

local FIRST_CAPACITY = 32

--- A tensor of the size of t but `capacity` in dimension 3, that begins with
-- the n steps that `old` has. A cache outlives the scopes of single calls.
local function grown(old, t, n, capacity)
  local shape = t:size()
  shape[3] = capacity
  local new = keep(empty(shape, {dtype = t.dtype, device = t.device}))
  if n > 0 then new:narrow(3, 1, n):copy_(old:narrow(3, 1, n)) end
  return new
end

--- Appends keys and values of shape {N, heads, steps, units}.
function Cache:append(k, v)
  local n, more = self.length, k.shape[3]
  if n > 0 and self.k.shape[1] ~= k.shape[1] then
    raise("%s: the cache has a batch of %d, the input one of %d", NAME,
          self.k.shape[1], k.shape[1])
  end
  if n == 0 or n + more > self.k.shape[3] then
    local capacity = max(FIRST_CAPACITY, 2 * (n + more))
    self.k = grown(self.k, k, n, capacity)
    self.v = grown(self.v, v, n, capacity)
  end
  self.k:narrow(3, n + 1, more):copy_(k)
  self.v:narrow(3, n + 1, more):copy_(v)
  self.length = n + more
end

--- Keeps the first n tokens only; 0 makes the cache empty.
-- @tparam[opt=0] integer n
function Cache:truncate(n)
  n = n or 0
  if type(n) ~= "number" or n < 0 or n > self.length or n ~= floor(n) then
    raise("truncate: the cache has %d tokens, it cannot keep that many",
          self.length)
  end
  self.length = n
end

--- Chooses elements of the batch, which may repeat, as beam search does.
-- @tparam Tensor indices
function Cache:reorder(indices)
  if self.length == 0 then return end
  self.k, self.v = keep(self.k:index_select(1, indices),
                        self.v:index_select(1, indices))
end

-- -- Masks -------------------------------------------------------------------

local function shape_text(t)
  return is_tensor(t) and "shape {" .. concat(t.shape, ", ") .. "}" or type(t)
end

--- A mask as numbers to be added: a boolean one is -inf where it is true.
-- @tparam string owner the name of the module, for errors
-- @tparam string name of the option
-- @tparam Tensor mask or nil
-- @tparam Tensor like of the dtype of the numbers
-- @treturn Tensor or nil
local function additive(owner, name, mask, like)
  if mask == nil then return nil end
  if not is_tensor(mask) then
    raise("%s: option '%s' must be a Tensor, got %s", owner, name, type(mask))
  end
  if mask:is_floating_point() then return mask end
  if mask.dtype ~= "bool" then
    raise("%s: option '%s' must be of dtype bool or floating point, not %s",
          owner, name, mask.dtype)
  end
  return st.zeros(mask.shape, {dtype = like.dtype, device = mask.device})
    :masked_fill_(mask, -huge)
end

--- attn_mask and key_padding_mask as one bias of shape {N or 1, heads or 1,
-- steps or 1, keys}, or nil.
local function bias_of(self, o, query, batch, steps, keys)
  local mask = additive(NAME, "attn_mask", o.attn_mask, query)
  local padding = additive(NAME, "key_padding_mask", o.key_padding_mask, query)
  if mask then
    local s, n = mask.shape, batch * self.num_heads
    if not (#s == 2 and s[1] == steps and s[2] == keys) and
       not (#s == 3 and s[1] == n and s[2] == steps and s[3] == keys) then
      raise("%s: attn_mask must have shape {%d, %d} or {%d, %d, %d}, got %s",
            NAME, steps, keys, n, steps, keys, shape_text(mask))
    end
    mask = #s == 2 and mask:view(1, 1, steps, keys) or
           mask:reshape(batch, self.num_heads, steps, keys)
  end
  if padding then
    if padding.ndim == 1 then padding = padding:unsqueeze(1) end
    local s = padding.shape
    if #s ~= 2 or s[1] ~= batch or s[2] ~= keys then
      raise("%s: key_padding_mask must have shape {%d, %d}, got %s", NAME,
            batch, keys, shape_text(o.key_padding_mask))
    end
    padding = padding:reshape(batch, 1, 1, keys)
  end
  return mask and padding and mask + padding or mask or padding
end

-- -- MultiheadAttention ------------------------------------------------------

--- Attention of several heads. Called with query, key and value, and a table of
-- options, it returns the output and the weights, or nil in place of the
-- weights with `need_weights = false`, which is faster. query has shape {steps,
-- N, embed_dim}, key and value {keys, N, kdim or vdim}; {N, steps, embed_dim}
-- and so on with `batch_first`; or all lack N.
--
-- The options of a call: `key_padding_mask` {N, keys} and `attn_mask` {steps,
-- keys} or {N num_heads, steps, keys}, true or -inf for keys to ignore;
-- `need_weights` (true); `average_attn_weights` (true): over the heads;
-- `is_causal` (false): says that attn_mask, which is required, is the causal
-- mask; `cache`, of new_cache, which needs `need_weights = false`.
-- @function MultiheadAttention
-- @tparam integer embed_dim
-- @tparam integer num_heads
-- @tparam[opt] table options `dropout` (0) of the weights, `bias` (true),
-- `add_bias_kv` (false), `add_zero_attn` (false), `kdim` and `vdim`
-- (embed_dim), `batch_first` (false), `dtype`, `device`
local Attention = Module:extend(NAME)
attention.MultiheadAttention = Attention

local KNOWN = {dropout = true, bias = true, add_bias_kv = true,
               add_zero_attn = true, kdim = true, vdim = true,
               batch_first = true, dtype = true, device = true}

local function check_size(name, n)
  if type(n) ~= "number" or n < 1 or n ~= floor(n) then
    raise("%s: '%s' must be a positive integer, got %s", NAME, name,
          type(n) == "number" and format("%g", n) or type(n))
  end
end

local function read_options(self, o)
  self.kdim, self.vdim = o.kdim or self.embed_dim, o.vdim or self.embed_dim
  check_size("kdim", self.kdim)
  check_size("vdim", self.vdim)
  self.dropout = o.dropout or 0
  local p = self.dropout
  if type(p) ~= "number" or not (p >= 0 and p <= 1) then
    raise("%s: option 'dropout' must be a number from 0 to 1", NAME)
  end
  for _, name in ipairs {"batch_first", "add_zero_attn"} do
    self[name] = o[name] or false
  end
end

function Attention:init(embed_dim, num_heads, given)
  check_size("embed_dim", embed_dim)
  check_size("num_heads", num_heads)
  if embed_dim % num_heads ~= 0 then
    raise("%s: embed_dim, %d, must be a multiple of num_heads, %d", NAME,
          embed_dim, num_heads)
  end
  local o = options(NAME, given, KNOWN)
  self.embed_dim, self.num_heads = embed_dim, num_heads
  self.head_dim = embed_dim / num_heads
  read_options(self, o)
  local factory = {dtype = o.dtype or st.get_default_dtype(),
                   device = o.device}
  local function new(...) return Parameter(empty({...}, factory)) end
  if self.kdim == embed_dim and self.vdim == embed_dim then
    self.in_proj_weight = new(3 * embed_dim, embed_dim)
  else
    self.q_proj_weight = new(embed_dim, embed_dim)
    self.k_proj_weight = new(embed_dim, self.kdim)
    self.v_proj_weight = new(embed_dim, self.vdim)
  end
  if o.bias ~= false then self.in_proj_bias = new(3 * embed_dim) end
  if o.add_bias_kv then
    self.bias_k = new(1, 1, embed_dim)
    self.bias_v = new(1, 1, embed_dim)
  end
  self.out_proj = Linear(embed_dim, embed_dim,
                         {bias = o.bias, dtype = o.dtype, device = o.device})
  self:reset_parameters()
end

local function xavier_uniform(weight)
  if weight then init.xavier_uniform_(weight) end
end

--- Draws the weights of the inputs by Xavier's method, and sets biases to 0.
-- The weight of the output is that of a Linear.
function Attention:reset_parameters()
  no_grad(function()
    xavier_uniform(self.in_proj_weight)
    xavier_uniform(self.q_proj_weight)
    xavier_uniform(self.k_proj_weight)
    xavier_uniform(self.v_proj_weight)
    if self.in_proj_bias then
      self.in_proj_bias:zero_()
      self.out_proj.bias:zero_()
    end
    if self.bias_k then
      self.bias_k:normal_(0, sqrt(1 / self.embed_dim))
      self.bias_v:normal_(0, sqrt(1 / self.embed_dim))
    end
  end)
end

--- An empty cache for calls that continue a sequence. It has the fields
-- `length`, the number of tokens, and the methods `truncate(n)` and
-- `reorder(indices)`.
-- @function MultiheadAttention:new_cache
-- @tparam[opt] table given options: `is_static = true`: the first call keeps
-- keys and values, and later calls use them in place of their own, as attention
-- to the output of an encoder needs
-- @treturn table
function Attention.new_cache(_, given)
  local o = options("new_cache", given, {is_static = true})
  return setmetatable({length = 0, is_static = o.is_static or false}, Cache)
end

-- -- Inputs ------------------------------------------------------------------

local function check_inputs(self, query, key, value)
  local sizes = {self.embed_dim, self.kdim, self.vdim}
  for i, name in ipairs {"query", "key", "value"} do
    local t = i == 1 and query or i == 2 and key or value
    if not is_tensor(t) then
      raise("%s: argument '%s' must be a Tensor, got %s", NAME, name, type(t))
    end
    local n = t.ndim
    if n ~= 2 and n ~= 3 or n ~= query.ndim then
      raise("%s: query, key and value must all have two dimensions or three, "
            .. "%s has %s", NAME, name, shape_text(t))
    end
    if t.shape[n] ~= sizes[i] then
      raise("%s: %s must have %d features, it has %s", NAME, name, sizes[i],
            shape_text(t))
    end
  end
  for d = 1, key.ndim - 1 do
    if key.shape[d] ~= value.shape[d] then
      raise("%s: key and value differ, they have %s and %s", NAME,
            shape_text(key), shape_text(value))
    end
  end
  local d = self.batch_first and 1 or 2
  if query.ndim == 3 and query.shape[d] ~= key.shape[d] then
    raise("%s: query and key have different batches: %s and %s", NAME,
          shape_text(query), shape_text(key))
  end
end

--- The weight and the bias of part i, or of parts from i to j.
local function part(self, i, j)
  local e, weight, bias = self.embed_dim, self.in_proj_weight, self.in_proj_bias
  local first, count = (i - 1) * e + 1, (j - i + 1) * e
  if weight then
    weight = weight:narrow(1, first, count)
  else
    weight = i == 1 and self.q_proj_weight or i == 2 and self.k_proj_weight or
             self.v_proj_weight
  end
  return weight, bias and bias:narrow(1, first, count)
end

--- Projected query, key and value in as few tensors as possible, which
-- attention_blocks takes.
local function project(self, query, key, value)
  if self.in_proj_weight and rawequal(key, value) then
    if rawequal(query, key) then
      return linear(query, self.in_proj_weight, self.in_proj_bias)
    end
    return linear(query, part(self, 1, 1)), linear(key, part(self, 2, 3))
  end
  return linear(query, part(self, 1, 1)), linear(key, part(self, 2, 2)),
         linear(value, part(self, 3, 3))
end

-- -- Forward -----------------------------------------------------------------

--- t with a batch of one if it has none; equal tensors stay equal.
local function with_batch(query, key, value)
  local q = query:unsqueeze(1)
  local k = rawequal(key, query) and q or key:unsqueeze(1)
  return q, k, rawequal(value, key) and k or value:unsqueeze(1)
end

--- Attention whose weights are not asked for. The batch is the first dimension
-- unless seq_first.
local function fast(self, query, key, value, o, seq_first)
  local n, s = seq_first and 2 or 1, seq_first and 1 or 2
  local is_causal = o.is_causal and not o.key_padding_mask
  local bias = not is_causal and bias_of(
    self, o, query, query.shape[n], query.shape[s], key.shape[s]) or nil
  -- PyTorch's output is in memory {steps, N, features}, always: dropout that
  -- follows draws its numbers in that order.
  local is_swapped = self.training and not seq_first
  local out = self.out_proj(blocks.attend({
    heads = self.num_heads, seq_first = seq_first,
    out_seq_first = seq_first or is_swapped, bias = bias,
    causal = is_causal and 0 or nil,
    dropout = self.training and self.dropout or 0,
  }, project(self, query, key, value)))
  return is_swapped and out:transpose(1, 2) or out
end

--- {N, steps, features}, or {steps, N, features} if seq_first, as {N, heads,
-- steps, units}.
local function by_head(self, t, seq_first)
  t = t:unflatten(3, {self.num_heads, self.head_dim})
  return seq_first and t:permute(2, 3, 1, 4) or t:transpose(2, 3)
end

local function check_cache(self, o, query)
  local cache = o.cache
  if getmetatable(cache) ~= Cache then
    raise("%s: option 'cache' must be what new_cache returns, got %s", NAME,
          type(cache))
  end
  if self.bias_k or self.add_zero_attn then
    raise("%s: a cache needs add_bias_kv and add_zero_attn to be false", NAME)
  end
  if st.is_grad_enabled() and (query.requires_grad or
                               self.out_proj.weight.requires_grad) then
    raise("%s: a cache has no gradients, write st.no_grad(function() ... end) "
          .. "around the calls", NAME)
  end
end

local function cached(self, query, key, value, o, seq_first)
  local cache, n, s = o.cache, seq_first and 2 or 1, seq_first and 1 or 2
  local past, steps = cache.length, query.shape[s]
  local q = by_head(self, linear(query, part(self, 1, 1)), seq_first)
  if not cache.is_static or past == 0 then
    cache:append(by_head(self, linear(key, part(self, 2, 2)), seq_first),
                 by_head(self, linear(value, part(self, 3, 3)), seq_first))
  end
  local keys = cache.length
  local bias = bias_of(self, o, query, query.shape[n], steps, keys)
  local is_causal = not cache.is_static and steps > 1 and not o.attn_mask
  return self.out_proj(blocks.attend_heads(
    {out_seq_first = seq_first, bias = bias,
     causal = is_causal and past or nil},
    q, cache.k:narrow(3, 1, keys), cache.v:narrow(3, 1, keys)))
end

--- By multi_head_attention_forward, which also gives the weights.
local function complete(self, query, key, value, o, seq_first)
  if not seq_first and query.ndim == 3 then
    local q = query:transpose(1, 2)
    local k = rawequal(key, query) and q or key:transpose(1, 2)
    query, key, value = q, k, rawequal(value, key) and k or
                              value:transpose(1, 2)
  end
  local out_proj = computed(self.out_proj)
  local out, weights = st.multi_head_attention_forward(
    query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
    self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn,
    self.dropout, out_proj.weight, out_proj.bias, {
      training = self.training, key_padding_mask = o.key_padding_mask,
      need_weights = o.need_weights, attn_mask = o.attn_mask,
      average_attn_weights = o.average_attn_weights, is_causal = o.is_causal,
      use_separate_proj_weight = not self.in_proj_weight,
      q_proj_weight = self.q_proj_weight, k_proj_weight = self.k_proj_weight,
      v_proj_weight = self.v_proj_weight,
    })
  if not seq_first and out.ndim == 3 then out = out:transpose(1, 2) end
  return out, weights
end

local CALL = {key_padding_mask = true, need_weights = true, attn_mask = true,
              average_attn_weights = true, is_causal = true, cache = true}

function Attention:forward(query, key, value, given)
  local o = options(NAME, given, CALL)
  check_inputs(self, query, key, value)
  if o.is_causal and not o.attn_mask and not o.cache then
    raise("%s: option 'is_causal' needs attn_mask", NAME)
  end
  local is_batched = query.ndim == 3
  local seq_first = is_batched and not self.batch_first
  local run = fast
  if o.cache then
    check_cache(self, o, query)
    run = cached
  end
  if o.need_weights ~= false then
    if o.cache then
      raise("%s: a cache needs the option need_weights = false", NAME)
    end
    return complete(self, query, key, value, o, seq_first)
  end
  if self.bias_k or self.add_zero_attn then
    return complete(self, query, key, value, o, seq_first)
  end
  if is_batched then return run(self, query, key, value, o, seq_first) end
  query, key, value = with_batch(query, key, value)
  return run(self, query, key, value, o, false):squeeze(1)
end

function Attention:extra_repr()
  return format("%d, %d", self.embed_dim, self.num_heads)
end

return attention
