--- The functions of the family "mlp": networks of linear layers with ReLU
-- between them, for 10 classes. workers/mlp.py has the same for PyTorch.

local st = require "strided"
local nn = require "strided.nn"
local optim = require "strided.optim"

local mlp = {}

-- A small rate, so that the parameters hardly change however many steps there
-- are: a network that has learned its batch computes with subnormal numbers.
local RATE = 1e-9

local networks = {}

--- The network of a case, with the same parameters in all engines: `layout`
-- lists the sizes, as in "784-256-10".
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

--- A forward pass without a graph.
function mlp.infer(layout, x)
  return st.no_grad(network(layout).net, x)
end

--- A forward and a backward pass; returns a gradient.
function mlp.gradients(layout, x, y)
  local n = network(layout)
  n.optimizer:zero_grad()
  n.criterion(n.net(x), y):backward()
  return n.net[1].weight.grad
end

--- A training step; returns the loss before it.
function mlp.learn(layout, x, y)
  local n = network(layout)
  local loss = n.criterion(n.net(x), y)
  n.optimizer:zero_grad()
  loss:backward()
  n.optimizer:step()
  return loss:detach()
end

--- Drops the networks of the previous case.
function mlp.reset() networks = {} end

return mlp
