--- A transformer that predicts the next character of a text, for the script
-- that trains it and the editor that uses it.
--
--     local gpt = require "examples.support.gpt"
--     local model = gpt.load "gpt.safetensors"
--     for piece in gpt.continue(model, "A tensor is", {temperature = 0.8}) do
--       io.write(piece)
--     end
--
-- A model is a table with the fields `net`, `vocabulary` and `sizes`.
--
-- @module examples.support.gpt

local st = require "strided"

local nn = st.nn

local gpt = {}

-- -- Characters --------------------------------------------------------------

-- The class of bytes that the training text does not have.
local UNKNOWN = 1

local Vocabulary = {}
Vocabulary.__index = Vocabulary

--- The classes of the bytes of a list: class 1 is that of all other bytes.
-- @tparam string bytes each once
-- @treturn table
function gpt.vocabulary(bytes)
  local class_of, n = {}, #bytes + 1
  for i = 1, #bytes do class_of[bytes:byte(i)] = i + 1 end
  return setmetatable({bytes = bytes, class_of = class_of, size = n},
                      Vocabulary)
end

--- The bytes of a text in order, each once.
-- @tparam string text
-- @treturn string
function gpt.bytes_of(text)
  local list = {}
  for i = 0, 255 do
    local c = string.char(i)
    if text:find(c, 1, true) then list[#list + 1] = c end
  end
  return table.concat(list)
end

--- A text as classes.
-- @tparam string text
-- @treturn Tensor int64
function Vocabulary:encode(text)
  local list = {}
  for i = 1, #text do list[i] = self.class_of[text:byte(i)] or UNKNOWN end
  return st.tensor(list, {dtype = "int64"})
end

--- The character of a class.
function Vocabulary:decode(class)
  return self.bytes:sub(class - 1, class - 1)
end

-- -- The network -------------------------------------------------------------

local Network = nn.Module:extend "GPT"

--- A new network. Called with classes {batch, steps} it returns logits {batch,
-- steps, vocabulary}: those of step i are about step i + 1, and depend on the
-- steps up to i. With a cache, the steps continue those of earlier calls.
-- @tparam table sizes `vocabulary`, `context`, the most steps; `width`,
-- `layers`, `heads`, `dropout`
function Network:init(sizes)
  local width = sizes.width
  local block = nn.TransformerEncoderLayer(width, sizes.heads, {
    dim_feedforward = 4 * width, dropout = sizes.dropout, activation = "gelu",
    batch_first = true, norm_first = true,
  })
  self.token = nn.Embedding(sizes.vocabulary, width)
  self.position = nn.Embedding(sizes.context, width)
  self.dropout = nn.Dropout(sizes.dropout)
  self.blocks = nn.TransformerEncoder(block, sizes.layers,
                                      nn.LayerNorm(width))
  self.head = nn.Linear(width, sizes.vocabulary)
  local mask = nn.Transformer.generate_square_subsequent_mask(sizes.context)
  self:register_buffer("mask", mask, {persistent = false})
end

function Network:forward(x, cache)
  local n, past = x.shape[2], cache and cache.length or 0
  local steps = st.arange(past + 1, past + n + 1)
  local h = self.dropout(self.token(x) + self.position(steps))
  if cache then return self.head(self.blocks(h, {cache = cache})) end
  local mask = self.mask:narrow(1, 1, n):narrow(2, 1, n)
  return self.head(self.blocks(h, {mask = mask, is_causal = true}))
end

--- A new model.
-- @tparam table sizes without `vocabulary`
-- @tparam string bytes those that the text consists of
-- @treturn table
function gpt.new(sizes, bytes)
  local model = {vocabulary = gpt.vocabulary(bytes), sizes = sizes}
  sizes.vocabulary = model.vocabulary.size
  model.net = Network(sizes)
  return model
end

-- -- Files -------------------------------------------------------------------

--- What a file needs to have of a model.
-- @tparam table model
-- @treturn table for st.save
function gpt.state(model)
  return {sizes = model.sizes, bytes = model.vocabulary.bytes,
          net = model.net:state_dict()}
end

--- Loads a model, in evaluation mode.
-- @tparam string path
-- @treturn table the model
-- @treturn table all that the file has
function gpt.load(path)
  local saved = st.load(path)
  if type(saved) ~= "table" or not saved.sizes or not saved.bytes then
    error(("'%s' is not a model of examples/gpt.lua"):format(path), 2)
  end
  local model = gpt.new(saved.sizes, saved.bytes)
  model.net:load_state_dict(saved.net)
  model.net:eval()
  return model, saved
end

-- -- Texts -------------------------------------------------------------------

--- Draws a class from the logits of one step; returns it and its probability.
local function draw(logits, given)
  local temperature, k = given.temperature or 1, given.top_k or 0
  logits[UNKNOWN] = -math.huge
  if temperature == 0 then
    local class = logits:argmax():item()
    return class, logits:softmax(1)[class]
  end
  if k > 0 and k < logits.shape[1] then
    logits:masked_fill_(logits:lt(logits:topk(k)[k]), -math.huge)
  end
  local p = (logits / temperature):softmax(1)
  local class = p:multinomial(1, {generator = given.generator}):item()
  return class, p[class]
end

--- Iterates over characters that continue a text, without an end: each with its
-- probability. The network sees each character once: a cache has the keys and
-- values of those before. When the context is full, it begins again with its
-- last half.
-- @tparam table model
-- @tparam string text
-- @tparam[opt] table given `temperature` (1): 0 takes the likeliest character;
-- `top_k`: only the so many likeliest characters; `generator`
-- @treturn function
function gpt.continue(model, text, given)
  given = given or {}
  local net, context = model.net, model.sizes.context
  local cache = net.blocks:new_cache()
  local seen, pending = "", text == "" and "\n" or text
  return function()
    if cache.length + #pending > context then
      pending = (seen .. pending):sub(-math.max(1, math.floor(context / 2)))
      seen = ""
      cache:truncate(0)
    end
    local class, p = st.no_grad(st.scope, function()
      local x = model.vocabulary:encode(pending):unsqueeze(1)
      return draw(net(x, cache)[{1, -1}], given)
    end)
    seen, pending = seen .. pending, model.vocabulary:decode(class)
    return pending, p
  end
end

--- How likely the network finds each byte of a text after those before it.
-- @tparam table model
-- @tparam string text
-- @treturn table a probability per byte
function gpt.likelihoods(model, text)
  local list, context = {}, model.sizes.context
  local step = math.max(1, math.floor(context / 2))
  text = "\n" .. text
  for first = 1, #text - 1, step do
    -- as much before it as there is room for
    local start = math.max(1, first + step - context)
    local classes = model.vocabulary:encode(text:sub(start, first + step))
    local n = classes.shape[1]
    local p = st.no_grad(function()
      return model.net(classes:narrow(1, 1, n - 1):unsqueeze(1))[1]:softmax(2)
                      :gather(2, classes:narrow(1, 2, n - 1):unsqueeze(2))
                      :squeeze(2):totable()
    end)
    for i = first - start + 1, n - 1 do list[#list + 1] = p[i] end
  end
  return list
end

return gpt
