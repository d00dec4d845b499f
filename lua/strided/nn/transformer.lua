--- Transformers: layers of attention, and stacks of them.
--
--     local net = nn.TransformerEncoder(
--       nn.TransformerEncoderLayer(64, 8, {batch_first = true}), 6)
--     local mask = nn.Transformer.generate_square_subsequent_mask(x.shape[2])
--     local y = net(x, {mask = mask})
--
-- Decoders, and encoders with a causal mask, can compute one token after the
-- other. A cache keeps what earlier tokens contribute, and each call gets the
-- tokens that follow, without a mask:
--
--     local cache = net:new_cache()
--     st.no_grad(function()
--       for i = 1, x.shape[2] do
--         y = net(x:narrow(2, i, 1), {cache = cache})
--       end
--     end)
--
-- The outputs are those of a call with all tokens and the causal mask. A cache
-- has the fields `length`, the number of tokens so far, and the methods
-- `truncate(n)`, which keeps n of them, and `reorder(indices)`, which chooses
-- elements of the batch.
--
-- Masks are true, or -inf, where attention must not look, as in PyTorch. Layers
-- of a stack begin with equal parameters.
--
-- @module strided.nn.transformer

local st = require "strided"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"
local init = require "strided.nn.init"
local module = require "strided.nn.module"
local layer = require "strided.nn.layer"
local attention = require "strided.nn.attention"

local Module, is_module = module.Module, module.is_module
local Dropout, LayerNorm, Linear, MultiheadAttention = layer.Dropout,
  layer.LayerNorm, layer.Linear, attention.MultiheadAttention

local keep = require "strided.core".keep_from_all
local concat, floor, format, huge, is_tensor = table.concat, math.floor,
  string.format, math.huge, st.is_tensor
local getmetatable, ipairs, pairs, setmetatable, type = getmetatable, ipairs,
  pairs, setmetatable, type

local transformer = {}

-- -- Help --------------------------------------------------------------------

local function shape_text(t)
  return is_tensor(t) and "shape {" .. concat(t.shape, ", ") .. "}" or type(t)
end

--- A list of n copies of a layer.
local function clones(class, original, n)
  if not is_module(original) then
    raise("%s: the first argument must be a layer, got %s", class,
          type(original))
  end
  if type(n) ~= "number" or n < 1 or n ~= floor(n) then
    raise("%s: argument 'num_layers' must be a positive integer, got %s", class,
          type(n) == "number" and format("%g", n) or type(n))
  end
  local copies = {}
  for i = 1, n do copies[i] = original:clone() end
  return layer.ModuleList(copies)
end

--- The options of a call as those of another, by its names.
local function renamed(o, names)
  local out = {}
  for to, from in pairs(names) do out[to] = o[from] end
  return out
end

-- -- Cache -------------------------------------------------------------------

local Cache = {__name = "TransformerCache"}

--- The cache of a layer or of a stack: a list of caches.
local function new_cache(parts)
  return setmetatable(parts, Cache)
end

function Cache:__index(key)
  if key == "length" then return self[1].length end
  return Cache[key]
end

function Cache:truncate(n)
  for _, part in ipairs(self) do
    if not part.is_static then part:truncate(n) end
    if part.is_static and (n or 0) == 0 then part:truncate(0) end
  end
  if (n or 0) == 0 then self.memory = nil end
end

function Cache:reorder(indices)
  for _, part in ipairs(self) do part:reorder(indices) end
end

local function part_of_cache(class, cache, i)
  if cache == nil then return nil end
  if getmetatable(cache) ~= Cache then
    raise("%s: option 'cache' must be what new_cache returns, got %s", class,
          type(cache))
  end
  return cache[i]
end

-- -- Masks -------------------------------------------------------------------

--- The mask for n steps in which a step sees those before it and itself: 0, and
-- -inf elsewhere.
-- @function Transformer.generate_square_subsequent_mask
-- @tparam integer n
-- @tparam[opt] table given options: `dtype`, `device`
-- @treturn Tensor {n, n}
local function generate_square_subsequent_mask(n, given)
  local o = options("generate_square_subsequent_mask", given,
                    {dtype = true, device = true})
  if type(n) ~= "number" or n < 0 or n ~= floor(n) then
    raise("generate_square_subsequent_mask: argument 'n' must be a size")
  end
  return st.full({n, n}, -huge, {dtype = o.dtype or st.get_default_dtype(),
                                 device = o.device}):triu_(1)
end

--- Is it the causal mask? `hint` if that is a boolean.
local function is_causal(mask, hint)
  if hint ~= nil or mask == nil then return hint or false end
  if not is_tensor(mask) or mask.ndim ~= 2 or mask.device == "meta" or
     mask.shape[1] ~= mask.shape[2] then return false end
  local n = mask.shape[1]
  if mask.dtype == "bool" then
    local all = st.ones({n, n}, {dtype = "bool", device = mask.device})
    return mask:equal(all:triu(1))
  end
  return mask:equal(generate_square_subsequent_mask(
    n, {dtype = mask.dtype, device = mask.device}))
end

-- -- Layers ------------------------------------------------------------------

local LAYER = {dim_feedforward = true, dropout = true, activation = true,
               layer_norm_eps = true, batch_first = true, norm_first = true,
               bias = true, dtype = true, device = true}

local function activation_of(class, activation)
  if activation == nil or activation == "relu" then return st.relu end
  if activation == "gelu" then return st.gelu end
  if type(activation) == "function" or is_module(activation) then
    return activation
  end
  raise("%s: option 'activation' must be \"relu\", \"gelu\", a function or a "
        .. "module, got %s", class,
        type(activation) == "string" and '"' .. activation .. '"' or
        type(activation))
end

--- Creates what a layer has: n blocks of attention, and the rest.
local function check_sizes(class, d_model, nhead)
  for name, n in pairs {d_model = d_model or false, nhead = nhead or false} do
    if type(n) ~= "number" or n < 1 or n ~= floor(n) then
      raise("%s: argument '%s' must be a positive integer, got %s", class, name,
            type(n) == "number" and format("%g", n) or n and type(n) or "nil")
    end
  end
  if d_model % nhead ~= 0 then
    raise("%s: d_model %d is no multiple of nhead %d", class, d_model, nhead)
  end
end

local function init_layer(self, class, d_model, nhead, given, attentions)
  check_sizes(class, d_model, nhead)
  local o = options(class, given, LAYER)
  local dropout, size = o.dropout or 0.1, o.dim_feedforward or 2048
  local factory = {bias = o.bias, dtype = o.dtype, device = o.device}
  for _, name in ipairs(attentions) do
    self[name] = MultiheadAttention(d_model, nhead, {
      dropout = dropout, bias = o.bias, batch_first = o.batch_first,
      dtype = o.dtype, device = o.device})
  end
  self.linear1 = Linear(d_model, size, factory)
  self.dropout = Dropout(dropout)
  self.linear2 = Linear(size, d_model, factory)
  self.norm_first = o.norm_first or false
  local count = #attentions + 1
  for i = 1, count do
    self["norm" .. i] = LayerNorm(d_model, {
      eps = o.layer_norm_eps, bias = o.bias, dtype = o.dtype,
      device = o.device})
  end
  for i = 1, count do self["dropout" .. i] = Dropout(dropout) end
  self.activation = activation_of(class, o.activation)
end

--- x with a block added, normalized before it or after.
local function add(self, x, i, block)
  local norm, dropout = self["norm" .. i], self["dropout" .. i]
  if self.norm_first then return x + dropout(block(norm(x))) end
  return norm(x + dropout(block(x)))
end

local function feed_forward(self, x)
  return self.linear2(self.dropout(self.activation(self.linear1(x))))
end

--- One layer of an encoder: attention to the input itself, then two Linear with
-- an activation. Called with the input, {steps, N, d_model} or {N, steps,
-- d_model} with `batch_first`, and options: `src_mask`, `src_key_padding_mask`,
-- `is_causal` (false): src_mask is the causal mask; `cache`, of new_cache.
-- @function TransformerEncoderLayer
-- @tparam integer d_model
-- @tparam integer nhead
-- @tparam[opt] table options `dim_feedforward` (2048), `dropout` (0.1),
-- `activation` ("relu", "gelu", a function or a module), `layer_norm_eps`
-- (1e-5), `batch_first` (false), `norm_first` (false), `bias` (true), `dtype`,
-- `device`
local EncoderLayer = Module:extend "TransformerEncoderLayer"
transformer.TransformerEncoderLayer = EncoderLayer

function EncoderLayer:init(d_model, nhead, given)
  init_layer(self, "TransformerEncoderLayer", d_model, nhead, given,
             {"self_attn"})
end

--- An empty cache.
-- @treturn table
function EncoderLayer:new_cache()
  return new_cache {self.self_attn:new_cache()}
end

local ENCODER_LAYER = {attn_mask = "src_mask", is_causal = "is_causal",
                       key_padding_mask = "src_key_padding_mask"}
local ENCODER_LAYER_CALL = {src_mask = true, src_key_padding_mask = true,
                            is_causal = true, cache = true}

function EncoderLayer:forward(x, given)
  local class = "TransformerEncoderLayer"
  local o = options(class, given, ENCODER_LAYER_CALL)
  local a = renamed(o, ENCODER_LAYER)
  a.need_weights, a.cache = false, part_of_cache(class, o.cache, 1)
  x = add(self, x, 1, function(y) return (self.self_attn(y, y, y, a)) end)
  return add(self, x, 2, function(y) return feed_forward(self, y) end)
end

--- One layer of a decoder: attention to the input itself, attention to the
-- output of an encoder, then two Linear with an activation. Called with the
-- input, the memory, and options: `tgt_mask`, `memory_mask`,
-- `tgt_key_padding_mask`, `memory_key_padding_mask`, `tgt_is_causal` (false),
-- `memory_is_causal` (false), `cache`, of new_cache, with which the memory of
-- the first call is used.
-- @function TransformerDecoderLayer
-- @tparam integer d_model
-- @tparam integer nhead
-- @tparam[opt] table options those of TransformerEncoderLayer
local DecoderLayer = Module:extend "TransformerDecoderLayer"
transformer.TransformerDecoderLayer = DecoderLayer

function DecoderLayer:init(d_model, nhead, given)
  init_layer(self, "TransformerDecoderLayer", d_model, nhead, given,
             {"self_attn", "multihead_attn"})
end

--- An empty cache.
-- @treturn table
function DecoderLayer:new_cache()
  return new_cache {self.self_attn:new_cache(),
                    self.multihead_attn:new_cache({is_static = true})}
end

local SELF = {attn_mask = "tgt_mask", is_causal = "tgt_is_causal",
              key_padding_mask = "tgt_key_padding_mask"}
local MEMORY = {attn_mask = "memory_mask", is_causal = "memory_is_causal",
                key_padding_mask = "memory_key_padding_mask"}
local DECODER_CALL = {tgt_mask = true, memory_mask = true,
                      tgt_key_padding_mask = true,
                      memory_key_padding_mask = true, tgt_is_causal = true,
                      memory_is_causal = true, cache = true}

function DecoderLayer:forward(x, memory, given)
  local class = "TransformerDecoderLayer"
  local o = options(class, given, DECODER_CALL)
  local a, b = renamed(o, SELF), renamed(o, MEMORY)
  a.need_weights, a.cache = false, part_of_cache(class, o.cache, 1)
  b.need_weights, b.cache = false, part_of_cache(class, o.cache, 2)
  x = add(self, x, 1, function(y) return (self.self_attn(y, y, y, a)) end)
  x = add(self, x, 2, function(y)
    return (self.multihead_attn(y, memory, memory, b))
  end)
  return add(self, x, 3, function(y) return feed_forward(self, y) end)
end

-- -- Stacks ------------------------------------------------------------------

local function init_stack(self, class, original, n, norm)
  self.layers = clones(class, original, n)
  self.num_layers = n
  if norm ~= nil and not is_module(norm) then
    raise("%s: argument 'norm' must be a module, got %s", class, type(norm))
  end
  self.norm = norm
end

local function cache_of_stack(self)
  local parts = {}
  for i = 1, self.num_layers do parts[i] = self.layers[i]:new_cache() end
  return new_cache(parts)
end

--- A stack of copies of a layer. Called with the input and options: `mask`,
-- `src_key_padding_mask`, `is_causal`: mask is the causal mask, which is found
-- out by default; `cache`, of new_cache.
-- @function TransformerEncoder
-- @tparam table layer a TransformerEncoderLayer
-- @tparam integer num_layers
-- @tparam[opt] table norm a module that is called with the output
local Encoder = Module:extend "TransformerEncoder"
transformer.TransformerEncoder = Encoder

function Encoder:init(original, num_layers, norm)
  init_stack(self, "TransformerEncoder", original, num_layers, norm)
end

--- An empty cache.
-- @function TransformerEncoder:new_cache
-- @treturn table
Encoder.new_cache = cache_of_stack

local ENCODER_CALL = {mask = true, src_key_padding_mask = true,
                      is_causal = true, cache = true}

function Encoder:forward(x, given)
  local o = options("TransformerEncoder", given, ENCODER_CALL)
  local call = {src_mask = o.mask, src_key_padding_mask =
                  o.src_key_padding_mask,
                is_causal = is_causal(o.mask, o.is_causal)}
  for i = 1, self.num_layers do
    call.cache = part_of_cache("TransformerEncoder", o.cache, i)
    x = self.layers[i](x, call)
  end
  return self.norm and self.norm(x) or x
end

--- A stack of copies of a layer. Called with the input, the memory, and the
-- options of TransformerDecoderLayer; tgt_is_causal is found out by default.
-- @function TransformerDecoder
-- @tparam table layer a TransformerDecoderLayer
-- @tparam integer num_layers
-- @tparam[opt] table norm a module that is called with the output
local Decoder = Module:extend "TransformerDecoder"
transformer.TransformerDecoder = Decoder

function Decoder:init(original, num_layers, norm)
  init_stack(self, "TransformerDecoder", original, num_layers, norm)
end

--- An empty cache.
-- @function TransformerDecoder:new_cache
-- @treturn table
Decoder.new_cache = cache_of_stack

function Decoder:forward(x, memory, given)
  local o = options("TransformerDecoder", given, DECODER_CALL)
  local call = {}
  for name in pairs(DECODER_CALL) do call[name] = o[name] end
  call.tgt_is_causal = is_causal(o.tgt_mask, o.tgt_is_causal)
  for i = 1, self.num_layers do
    call.cache = part_of_cache("TransformerDecoder", o.cache, i)
    x = self.layers[i](x, memory, call)
  end
  return self.norm and self.norm(x) or x
end

-- -- Transformer -------------------------------------------------------------

--- An encoder and a decoder. Called with the inputs of both, src and tgt, and
-- options: `src_mask`, `tgt_mask`, `memory_mask`, `src_key_padding_mask`,
-- `tgt_key_padding_mask`, `memory_key_padding_mask`, `src_is_causal`,
-- `tgt_is_causal` (found out by default), `memory_is_causal` (false); `cache`,
-- of new_cache: then tgt has the tokens that follow, and src is encoded in the
-- first call only.
-- @function Transformer
-- @tparam[opt=512] integer d_model
-- @tparam[opt=8] integer nhead
-- @tparam[opt] table options those of TransformerEncoderLayer, and
-- `num_encoder_layers` (6), `num_decoder_layers` (6), `custom_encoder` and
-- `custom_decoder`, modules
local Transformer = Module:extend "Transformer"
transformer.Transformer = Transformer

Transformer.generate_square_subsequent_mask = generate_square_subsequent_mask

local TRANSFORMER = {num_encoder_layers = true, num_decoder_layers = true,
                     custom_encoder = true, custom_decoder = true}
for name in pairs(LAYER) do TRANSFORMER[name] = true end

function Transformer:init(d_model, nhead, given)
  local o = options("Transformer", given, TRANSFORMER)
  d_model, nhead = d_model or 512, nhead or 8
  check_sizes("Transformer", d_model, nhead)
  local each, n = {}, {eps = o.layer_norm_eps, bias = o.bias, dtype = o.dtype,
                       device = o.device}
  for name in pairs(LAYER) do each[name] = o[name] end
  local function stack(Stack, Layer, count)
    local original = Layer(d_model, nhead, each)
    return Stack(original, count or 6, LayerNorm(d_model, n))
  end
  self.encoder = o.custom_encoder or
                 stack(Encoder, EncoderLayer, o.num_encoder_layers)
  self.decoder = o.custom_decoder or
                 stack(Decoder, DecoderLayer, o.num_decoder_layers)
  self.d_model, self.nhead = d_model, nhead
  self.batch_first = o.batch_first or false
  self:reset_parameters()
end

--- Draws all matrices by Xavier's method.
function Transformer:reset_parameters()
  for _, p in ipairs(self:parameters()) do
    if p.ndim > 1 then init.xavier_uniform_(p) end
  end
end

--- An empty cache: that of the decoder, which also keeps the output of the
-- encoder.
-- @treturn table
function Transformer:new_cache() return self.decoder:new_cache() end

local function check(self, src, tgt)
  for i, t in ipairs {src, tgt} do
    if not is_tensor(t) or t.ndim ~= 2 and t.ndim ~= 3 or
       t.shape[t.ndim] ~= self.d_model then
      raise("Transformer: %s must have two or three dimensions and %d "
            .. "features, got %s", i == 1 and "src" or "tgt", self.d_model,
            shape_text(t))
    end
  end
  local d = self.batch_first and 1 or 2
  if src.ndim ~= tgt.ndim or src.ndim == 3 and src.shape[d] ~= tgt.shape[d] then
    raise("Transformer: src and tgt must have one batch, got %s and %s",
          shape_text(src), shape_text(tgt))
  end
end

local TRANSFORMER_CALL = {src_mask = true, src_key_padding_mask = true,
                          src_is_causal = true}
for name in pairs(DECODER_CALL) do TRANSFORMER_CALL[name] = true end

function Transformer:forward(src, tgt, given)
  local o = options("Transformer", given, TRANSFORMER_CALL)
  check(self, src, tgt)
  part_of_cache("Transformer", o.cache, 1)
  local memory = o.cache and o.cache.memory
  if not memory then
    memory = self.encoder(src, {mask = o.src_mask, is_causal = o.src_is_causal,
                                src_key_padding_mask = o.src_key_padding_mask})
    if o.cache then o.cache.memory = keep(memory) end
  end
  local call = {}
  for name in pairs(DECODER_CALL) do call[name] = o[name] end
  return self.decoder(tgt, memory, call)
end

return transformer
