--- Neural networks: modules with parameters, and losses.
--
--     local nn, optim = require "strided.nn", require "strided.optim"
--
--     local net = nn.Sequential {nn.Linear(64, 128), nn.ReLU(),
--                                nn.Linear(128, 10)}
--     local criterion = nn.CrossEntropyLoss()
--     local optimizer = optim.SGD(net:parameters(), {lr = 0.1})
--     for _ = 1, 100 do
--       local loss = criterion(net(x), y)
--       optimizer:zero_grad()
--       loss:backward()
--       optimizer:step()
--     end
--     st.save("net.safetensors", net:state_dict())
--
-- `nn.Module` is the base class of custom modules (strided.nn.module). The
-- layers have the names and options of torch.nn; strided.nn.<topic> has:
--
-- * `linear`: Linear, Bilinear, Flatten, Unflatten, Identity, distances;
-- * `conv`, `pool`, `padding`: of one to three dimensions;
-- * `norm`: BatchNorm, InstanceNorm, LayerNorm, GroupNorm, RMSNorm and others;
-- * `activation`, `dropout`;
-- * `embedding`: Embedding, EmbeddingBag;
-- * `vision`: Upsample, PixelShuffle, Fold, Unfold and others;
-- * `recurrent`: RNN, LSTM, GRU, cells; `nn.utils.rnn` packs sequences;
-- * `attention`, `transformer`: with caches for decoding;
-- * `container`: Sequential, ModuleList, ModuleDict and of parameters;
-- * `loss`, `adaptive_softmax`.
--
-- `nn.init` has initial values, `nn.utils` works on lists of parameters and on
-- weights. `print(net)` shows the layers and their numbers of parameters, and
-- `nn.summary(net, x)` also shapes, work and memory.
--
-- @module strided.nn

local pairs = pairs

local require = require "strided.core".require

local nn = {
  init = require "strided.nn.init", utils = require "strided.nn.utils",
  summary = require "strided.nn.summary",
}

for _, name in pairs {"module", "layer", "loss", "recurrent", "attention",
                      "transformer"} do
  for key, value in pairs(require("strided.nn." .. name)) do nn[key] = value end
end
nn.label = nil
nn.utils.rnn = require "strided.nn.packed"

return require("strided.name.guard").names(nn, "st.nn")
