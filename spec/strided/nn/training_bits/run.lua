--- Trains a small CNN and a small transformer on random data, and prints a
-- number for the bits of what they end as: run.lua STEPS.

local st = require "strided"

local nn, optim = st.nn, st.optim
local ipairs, print, tostring = ipairs, print, tostring

local STEPS = tonumber(arg[1])

local function cnn()
  return nn.Sequential(
    nn.Conv2d(1, 16, 3, {padding = 1}), nn.BatchNorm2d(16), nn.ReLU(),
    nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, {padding = 1, bias = false}),
    nn.GroupNorm(4, 32), nn.GELU(), nn.AvgPool2d(2),
    nn.Conv2d(32, 32, 3, {groups = 32}), nn.Conv2d(32, 64, 1), nn.SiLU(),
    nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.1),
    nn.Linear(256, 10))
end

local function transformer()
  local layer = nn.TransformerEncoderLayer(
    64, 4, {dim_feedforward = 128, batch_first = true})
  return nn.Sequential(nn.Embedding(50, 64), nn.TransformerEncoder(layer, 2),
                       nn.Linear(64, 50))
end

--- One integer for the bits of a float32 tensor.
local function digest(t)
  local bits = t:detach():contiguous():view "int32":view(-1):to "int64"
  local weights = st.arange(1, bits:numel() + 1) * 2 - 1
  return (bits * (weights * weights + 77)):sum():remainder(1000000007):item()
end

local function train(name, net, optimizer, batch)
  local last
  for _ = 1, STEPS do
    optimizer:zero_grad()
    local input, target = batch()
    local output = net(input)
    last = st.cross_entropy(output:view(-1, output:size(-1)),
                                       target:view(-1))
    last:backward()
    nn.utils.clip_grad_norm_(net:parameters(), 1)
    optimizer:step()
  end
  local sum = digest(last)
  for _, p in ipairs(net:parameters()) do sum = sum + digest(p) end
  print(name, STEPS, tostring(sum))
end

st.manual_seed(7)
local net = cnn()
train("cnn", net, optim.SGD(net:parameters(), {lr = .1, momentum = .9}),
      function()
  return st.randn(8, 1, 20, 20), st.randint(1, 11, {8})
end)

st.manual_seed(7)
net = transformer()
train("transformer", net, optim.AdamW(net:parameters(), {lr = .003}),
      function()
  return st.randint(1, 51, {2, 33}), st.randint(1, 51, {2, 33})
end)

print(st.config().isa)
