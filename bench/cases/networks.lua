--- The networks of the families "mlp" and "training"; workers/networks.py has
-- the same for PyTorch, with the same initial parameters.
--
--     784-256-10   linear layers of these sizes with ReLU between them; SGD
--     mlp          784-512-512-10; the rest are trained by AdamW
--     cnn          three convolutions of 3 x 3 with BatchNorm and pooling, for
--                  images {N, 3, 32, 32}
--     cnn, channels_last
--                  the same with parameters and images in this format
--     gru          two layers of 128 units, for sequences {N, steps, 64}
--     gpt 1M, gpt 10M
--                  decoders in the form of GPT-2 for 96 characters, with as
--                  many parameters
--
-- All classify by cross entropy.

local st = require "strided"
local nn = require "strided.nn"
local optim = require "strided.optim"

local floor = math.floor

local networks = {}

-- A small rate, so that the parameters hardly change however many steps there
-- are: a network that has learned its batch computes with subnormal numbers.
local RATE = 1e-9

-- -- Networks ----------------------------------------------------------------

local makers = {}

local function mlp(layout)
  local layers, size = {}, nil
  for word in layout:gmatch "%d+" do
    if #layers > 0 then layers[#layers + 1] = nn.ReLU() end
    if size then layers[#layers + 1] = nn.Linear(size, tonumber(word)) end
    size = tonumber(word)
  end
  return nn.Sequential(layers)
end

function makers.mlp() return mlp "784-512-512-10" end

function makers.cnn()
  local function block(from, to)
    return nn.Conv2d(from, to, 3, {padding = 1}), nn.BatchNorm2d(to), nn.ReLU()
  end
  local layers = {}
  local function append(...)
    for _, layer in ipairs {...} do layers[#layers + 1] = layer end
  end
  append(block(3, 32))
  append(block(32, 64))
  append(nn.MaxPool2d(2))
  append(block(64, 64))
  append(nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 8 * 8, 10))
  return nn.Sequential(layers)
end

makers["cnn, channels_last"] = function()
  return makers.cnn():to {memory_format = "channels_last"}
end

local Gru = nn.Module:extend "Gru"

function Gru:init()
  self.gru = nn.GRU(64, 128, {num_layers = 2, batch_first = true})
  self.head = nn.Linear(128, 10)
end

function Gru:forward(x)
  local y = self.gru(x)
  return self.head(y:select(2, y:size(2)))
end

function makers.gru() return Gru() end

-- -- A decoder ---------------------------------------------------------------

local Block = nn.Module:extend "Block"

function Block:init(width, heads)
  self.heads = heads
  self.norm1 = nn.LayerNorm(width)
  self.attention = nn.Linear(width, 3 * width)
  self.project = nn.Linear(width, width)
  self.norm2 = nn.LayerNorm(width)
  self.expand = nn.Linear(width, 4 * width)
  self.contract = nn.Linear(4 * width, width)
end

function Block:forward(x)
  local n, steps, width = x:size(1), x:size(2), x:size(3)
  local parts = self.attention(self.norm1(x))
                    :view(n, steps, 3, self.heads, floor(width / self.heads))
                    :permute(3, 1, 4, 2, 5)
  local q, k, v = unpack(parts:unbind(1))
  local y = st.scaled_dot_product_attention(q, k, v, {is_causal = true})
  x = x + self.project(y:transpose(2, 3):reshape(n, steps, width))
  return x + self.contract(st.gelu(self.expand(self.norm2(x))))
end

local Gpt = nn.Module:extend "Gpt"

function Gpt:init(width, heads, depth)
  self.tokens = nn.Embedding(96, width)
  self.places = nn.Embedding(128, width)
  self.blocks = nn.ModuleList()
  for _ = 1, depth do self.blocks:append(Block(width, heads)) end
  self.norm = nn.LayerNorm(width)
  self.head = nn.Linear(width, 96)
end

function Gpt:forward(x)
  local y = self.tokens(x) + self.places(st.arange(1, x:size(2) + 1))
  for _, block in ipairs(self.blocks) do y = block(y) end
  return self.head(self.norm(y)):flatten(1, -2)
end

makers["gpt 1M"] = function() return Gpt(128, 4, 5) end
makers["gpt 10M"] = function() return Gpt(384, 6, 6) end

-- -- Functions of cases ------------------------------------------------------

local made = {}

local function network(name)
  local found = made[name]
  if found then return found end
  st.manual_seed(0)
  local net = (makers[name] or mlp)(name)
  local parameters = net:parameters()
  found = {
    net = net, criterion = nn.CrossEntropyLoss(),
    optimizer = makers[name] and optim.AdamW(parameters, {lr = RATE}) or
                optim.SGD(parameters, {lr = RATE, momentum = 0.9}),
  }
  made[name] = found
  return found
end

--- An answer, as in a program that only answers.
function networks.infer(name, x)
  local net = network(name).net
  if net.training then net:eval() end
  return st.inference_mode(net, x)
end

--- A forward and a backward pass; returns a gradient.
function networks.gradients(name, x, y)
  local n = network(name)
  n.optimizer:zero_grad()
  n.criterion(n.net(x), y):backward()
  return n.net[1].weight.grad
end

--- A training step; returns the loss before it.
function networks.learn(name, x, y)
  local n = network(name)
  local loss = n.criterion(n.net(x), y:flatten())
  n.optimizer:zero_grad()
  loss:backward()
  n.optimizer:step()
  return loss:detach()
end

local IMAGES, TOKENS = {32, 3, 32, 32}, {8, 128}
local INPUTS = {mlp = {128, 784}, cnn = IMAGES, ["cnn, channels_last"] = IMAGES,
                gru = {32, 32, 64}, ["gpt 1M"] = TOKENS, ["gpt 10M"] = {4, 128}}

--- Takes training steps with inputs of the sizes that cases.lua has.
function networks.train(name, steps)
  local sizes = INPUTS[name]
  local x, y
  if name:find "^gpt" then x = st.randint(1, 97, sizes)
  else x = st.rand(sizes) end
  if name:find "channels_last" then
    x = x:contiguous {memory_format = "channels_last"}
  end
  y = name:find "^gpt" and x or st.randint(1, 11, {sizes[1]})
  for _ = 1, steps do networks.learn(name, x, y) end
end

--- Drops the networks of the previous case.
function networks.reset() made = {} end

return networks
