--- Averages of parameters over the steps of a training.
--
--     local average = swa_utils.AveragedModel(net, {decay = 0.999})
--     for _ = 1, steps do
--       train(net, optimizer)
--       average:update_parameters(net)
--     end
--     average:swap(net) -- evaluate with the averages
--
-- @module strided.optim.swa_utils

local st = require "strided"
local guard = require "strided.name.guard"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local is_tensor, keep, no_grad = st.is_tensor, st.keep, st.no_grad
local ipairs, setmetatable, tostring, type =
  ipairs, setmetatable, tostring, type

local swa_utils = {SWALR = require("strided.optim.lr_scheduler").SWALR}

local AveragedModel = {}
AveragedModel.__index = AveragedModel

--- The parameters of a module, or a list itself.
local function list_of(name, from)
  if type(from) == "table" and type(from.parameters) == "function" then
    return from:parameters()
  elseif type(from) ~= "table" or not is_tensor(from[1]) then
    raise("%s: a module or a list of parameters is expected, got %s", name,
          type(from))
  end
  return from
end

local function check_same(self, name, list)
  for i, average in ipairs(self.params) do
    if not list[i] or not average:is_same_size(list[i]) then
      raise("%s: parameter %d does not have the shape of its average", name, i)
    end
  end
end

--- Averages of the parameters of a module: means of all updates, or, with
-- `decay`, exponential moving averages. Buffers are not averaged.
-- @function AveragedModel
-- @param model a module, or a list of parameters
-- @tparam[opt] table options `decay`, from 0 to 1
-- @return an object with the list `params`, and `n_averaged`
local function create(_, model, given)
  given = options("AveragedModel", given, {decay = true})
  local decay, params = given.decay, {}
  if decay and not (type(decay) == "number" and decay >= 0 and decay <= 1) then
    raise("AveragedModel: option 'decay' must be a number from 0 to 1, got %s",
          tostring(decay))
  end
  for i, p in ipairs(list_of("AveragedModel", model)) do
    params[i] = keep(p:detach():clone())
  end
  return setmetatable({params = params, n_averaged = 0, decay = decay},
                      AveragedModel)
end

--- Adds the parameters to the averages.
-- @param model
function AveragedModel:update_parameters(model)
  local list = list_of("update_parameters", model)
  check_same(self, "update_parameters", list)
  local n = self.n_averaged
  local weight = n == 0 and 1 or self.decay and 1 - self.decay or 1 / (n + 1)
  no_grad(function()
    for i, average in ipairs(self.params) do average:lerp_(list[i], weight) end
  end)
  self.n_averaged = n + 1
end

--- Exchanges the averages and the parameters of a module.
-- @param model
function AveragedModel:swap(model)
  local list = list_of("swap", model)
  check_same(self, "swap", list)
  no_grad(st.scope, function()
    for i, average in ipairs(self.params) do
      local p = list[i]:clone()
      list[i]:copy_(average)
      average:copy_(p)
    end
  end)
end

guard.methods(AveragedModel, "average", function(value)
  return type(value) == "table" and value.n_averaged ~= nil
end, {"update_parameters", "swap"})

swa_utils.AveragedModel = setmetatable(AveragedModel, {__call = create})

return guard.names(swa_utils, "st.optim.swa_utils")
