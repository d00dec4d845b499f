--- Embeddings: rows of a learned table by index, alone or in bags.
--
-- Indices count from 1, or from the option `base`.
--
-- @module strided.nn.embedding

local st = require "strided"
local declare = require "strided.nn.module.declare"
local new_parameter = require "strided.nn.module.new_parameter"
local Parameter = require "strided.nn.module".Parameter
local raise = require "strided.argument.caller_error"

local no_grad, pairs = st.no_grad, pairs

local embedding = {}

local OPTIONS = "padding_idx:integer=nil max_norm:number=nil "
  .. "norm_type:number=2 scale_grad_by_freq:flag=false sparse:flag=false "
  .. "base:integer=1 "

--- The position, from 1, of the row of padding, which counts from `base`, or
-- backwards if negative; or nil.
local function padding_row(self, name)
  local row, n = self.padding_idx, self.num_embeddings
  if row == nil then return nil end
  local at = row < 0 and n + row + 1 or row - self.base + 1
  if at < 1 or at > n then
    raise("%s: padding_idx %d is not among the %d rows", name, row, n)
  end
  return at
end

local function setup(name)
  return function(self)
    if self.sparse then
      raise("%s: sparse = true: gradients of strided are dense; leave the "
            .. "option out", name)
    end
    self.row = padding_row(self, name)
    self.weight = new_parameter(self, {self.num_embeddings,
                                       self.embedding_dim})
    self:reset_parameters()
  end
end

--- Initializes the weight by normal numbers, the row of padding by zeros.
local function reset_parameters(self)
  no_grad(function()
    self.weight:normal_()
    if self.row then self.weight:select(1, self.row):zero_() end
  end)
end

--- The rows of a table that indices name, {...} to {..., embedding_dim}.
-- @function Embedding
-- @tparam integer num_embeddings the number of rows
-- @tparam integer embedding_dim the size of a row
-- @tparam[opt] table options `padding_idx`: a row that is 0 at first and gets
-- no gradient; `max_norm`: rows of a greater norm, `norm_type` (2), are scaled
-- to it when they are used; `scale_grad_by_freq` (false): gradients are divided
-- by the frequency of the index in the batch; `base` (1), the first index;
-- `dtype`, `device`. `sparse = true` is refused
local Embedding = declare(embedding, "Embedding", "num_embeddings:size "
  .. "embedding_dim:size ; " .. OPTIONS .. "dtype:string=nil "
  .. "device:string=nil", function(self, indices)
  local o = {padding_idx = self.row, max_norm = self.max_norm,
             norm_type = self.max_norm and self.norm_type or nil,
             scale_grad_by_freq = self.scale_grad_by_freq, base = self.base}
  return st.embedding(self.weight, indices, o)
end, {setup = setup "Embedding"})

Embedding.reset_parameters = reset_parameters

--- Sums, means or maxima of rows of a table, without the rows in between.
-- `layer(indices, offsets, per_sample_weights)`: indices {bags, n}, or {all}
-- with `offsets`, the position of the first index of each bag.
-- @function EmbeddingBag
-- @tparam integer num_embeddings the number of rows
-- @tparam integer embedding_dim the size of a row
-- @tparam[opt] table options as for Embedding, and `mode` ("mean", "sum" or
-- "max"), `include_last_offset` (false): offsets end with the number of indices
local EmbeddingBag = declare(embedding, "EmbeddingBag", "num_embeddings:size "
  .. "embedding_dim:size ; " .. OPTIONS .. "mode:string=mean "
  .. "include_last_offset:flag=false dtype:string=nil device:string=nil",
                             function(self, indices, offsets, weights)
  local o = {padding_idx = self.row, max_norm = self.max_norm,
             norm_type = self.max_norm and self.norm_type or nil,
             scale_grad_by_freq = self.scale_grad_by_freq, base = self.base,
             mode = self.mode, include_last_offset = self.include_last_offset,
             per_sample_weights = weights}
  return st.embedding_bag(self.weight, indices, offsets, o)
end, {setup = setup "EmbeddingBag"})

EmbeddingBag.reset_parameters = reset_parameters

--- A layer of a given table, which is not trained unless `freeze = false`.
local function from_pretrained(class)
  return function(weight, o)
    if not st.is_tensor(weight) or weight.ndim ~= 2 or
       not weight:is_floating_point() then
      raise("from_pretrained: a Tensor of 2 dimensions and floating point is "
            .. "expected")
    end
    local given = {}
    for key, value in pairs(o or {}) do given[key] = value end
    local freeze = given.freeze
    given.freeze = nil
    given.device = "meta" -- no numbers are drawn
    local layer = class(weight.shape[1], weight.shape[2], given)
    layer.weight = Parameter(weight:detach())
    layer.weight:requires_grad_(freeze == false)
    return layer
  end
end

--- An Embedding of a given table, which is not trained.
-- @function Embedding.from_pretrained
-- @tparam Tensor weight
-- @tparam[opt] table options `freeze = false`: it is trained; those of
-- Embedding
Embedding.from_pretrained = from_pretrained(Embedding)

--- An EmbeddingBag of a given table, which is not trained.
-- @function EmbeddingBag.from_pretrained
-- @tparam Tensor weight
-- @tparam[opt] table options `freeze = false`: it is trained; those of
-- EmbeddingBag
EmbeddingBag.from_pretrained = from_pretrained(EmbeddingBag)

return embedding
