--- What the cases of the family "mlp" call: networks of linear layers with
-- ReLU between them, which tell 10 classes apart. In workers/peers.py there is
-- the same for PyTorch.

local st = require "strided"
local nn = require "strided.nn"
local optim = require "strided.optim"

local mlp = {}

-- So small that the numbers stay what they are for as many steps as there
-- are: a network that has learnt its batch computes with subnormal ones.
local RATE = 1e-9

local networks = {}

--- The network of a case, the same numbers in all engines: `layout` lists the
-- sizes, as in "784-256-10".
local function network(layout)
  local found = networks[layout]
  if found then return found end
  st.manual_seed(0)
  local layers, size = {}, nil
  for word in layout:gmatch "%d+" do
    if #layers > 0 then layers[#layers + 1] = nn.ReLU() end
    if size then layers[#layers + 1] = nn.Linear(size, tonumber(word)) end
    size = tonumber(word)
  end
  found = {net = nn.Sequential(layers), criterion = nn.CrossEntropyLoss()}
  found.optimizer = optim.SGD(found.net:parameters(),
                              {lr = RATE, momentum = 0.9})
  networks[layout] = found
  return found
end

--- Forward, without a graph.
function mlp.infer(layout, x)
  return st.no_grad(network(layout).net, x)
end

--- Forward and backward; returns a gradient.
function mlp.gradients(layout, x, y)
  local n = network(layout)
  n.optimizer:zero_grad()
  n.criterion(n.net(x), y):backward()
  return n.net[1].weight.grad
end

--- A whole step of training; returns the loss before it.
function mlp.learn(layout, x, y)
  local n = network(layout)
  local loss = n.criterion(n.net(x), y)
  n.optimizer:zero_grad()
  loss:backward()
  n.optimizer:step()
  return loss:detach()
end

--- Forgets the networks of the case before.
function mlp.reset() networks = {} end

return mlp
