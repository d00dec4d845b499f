--- All layers, from the modules of their topics.
--
-- @module strided.nn.layer

local pairs = pairs

local require = require "strided.core".require

local layer = {}

for _, topic in pairs {"linear", "activation", "conv", "pool", "padding",
                       "norm", "dropout", "embedding", "vision", "container",
                       "adaptive_softmax"} do
  for name, class in pairs(require("strided.nn." .. topic)) do
    layer[name] = class
  end
end

return layer
