--- Parametrizations: a parameter computed from others by a module.
--
--     local Symmetric = nn.Module:extend "Symmetric"
--     function Symmetric:forward(x) return x:triu() + x:triu(1):t() end
--
--     local layer = nn.Linear(3, 3)
--     nn.utils.parametrize.register_parametrization(layer, "weight",
--                                                   Symmetric())
--
-- The parameter that is trained is then layer.parametrizations.weight.original.
-- layer.weight is computed before each call of the layer; in between it has the
-- value of the last call.
--
-- @module strided.nn.parametrize

local st = require "strided"
local hooks = require "strided.nn.module.hooks"
local module = require "strided.nn.module"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local getmetatable, ipairs, is_tensor, no_grad, rawget, rawset, tostring, type =
  getmetatable, ipairs, st.is_tensor, st.no_grad, rawget, rawset, tostring, type
local unpack = unpack or table.unpack

local Module, Parameter = module.Module, module.Parameter

local parametrize = {}

-- -- The list ----------------------------------------------------------------

-- The parametrizations of one parameter, its elements, and what is trained:
-- `original`, or `original0`, `original1`, ....
local List = Module:extend "ParametrizationList"

-- The private key of a module's hook.
local HOOK = {}

local function own(t, like)
  local p = Parameter(t:detach():clone())
  p:requires_grad_(like.requires_grad)
  return p
end

function List:init(first, weight)
  rawset(self, 1, first)
  local originals = {weight}
  if first.right_inverse then
    originals = {no_grad(function() return first:right_inverse(weight) end)}
  end
  self.count = #originals
  if self.count == 1 then
    self.original = own(originals[1], weight)
  else
    for i, t in ipairs(originals) do
      self["original" .. i - 1] = own(t, weight)
    end
  end
end

function List:forward()
  local originals = {self.original}
  if self.count > 1 then
    for i = 1, self.count do originals[i] = self["original" .. i - 1] end
  end
  local x = self[1](unpack(originals))
  for i = 2, #self do x = self[i](x) end
  return x
end

-- -- Functions ---------------------------------------------------------------

local function check_module(name, layer)
  if not module.is_module(layer) then
    raise("%s: a module is expected, got %s", name,
          is_tensor(layer) and "Tensor" or type(layer))
  end
end

--- True if the module has a parametrization, or its parameter `name` has one.
-- @function parametrize.is_parametrized
-- @tparam table layer
-- @tparam[opt] string name
-- @treturn boolean
function parametrize.is_parametrized(layer, name)
  check_module("is_parametrized", layer)
  local all = rawget(layer, "parametrizations")
  return all ~= nil and (name == nil or rawget(all, name) ~= nil)
end

local function compute(layer)
  for name, list in layer.parametrizations:named_children() do
    layer[name] = list()
  end
end

--- Raises unless a parametrization keeps shape and dtype; returns its result.
local function check_result(name, y, x)
  if not is_tensor(y) or not y:is_same_size(x) or y.dtype ~= x.dtype then
    raise("register_parametrization: '%s' of shape %s and dtype %s would become"
          .. " %s", name, tostring(x.shape), x.dtype,
          is_tensor(y) and ("of shape %s and dtype %s"):format(
            tostring(y.shape), y.dtype) or type(y))
  end
  return y
end

--- Has a parameter computed by a module from others: its result, which has the
-- parameter's shape and dtype. A further parametrization gets the result of
-- those before.
-- @function parametrize.register_parametrization
-- @tparam table layer
-- @tparam string name of the parameter
-- @tparam table parametrization a module; if it has a method `right_inverse`,
-- this gets the parameter and returns what is trained, one tensor or several
-- @treturn table layer
function parametrize.register_parametrization(layer, name, parametrization)
  local fn = "register_parametrization"
  check_module(fn, layer)
  check_module(fn, parametrization)
  local all = rawget(layer, "parametrizations")
  local list = all and rawget(all, name)
  if list then
    layer[name] = check_result(name, parametrization(layer[name]),
                               layer[name])
    rawset(list, #list + 1, parametrization)
  else
    local weight = type(name) == "string" and rawget(layer, name)
    if not module.is_parameter(weight) then
      raise("%s: %s has no parameter '%s'", fn, getmetatable(layer).__name,
            tostring(name))
    end
    list = List(parametrization, weight)
    local value = check_result(name, list(), weight)
    if not all then
      layer.parametrizations = Module()
      rawset(layer, HOOK, function(self) compute(self) end)
      hooks.register_compute(layer, layer[HOOK])
    end
    layer.parametrizations[name] = list
    layer[name] = value
  end
  list:train(layer.training)
  return layer
end

local LEAVE = {leave_parametrized = true}

--- Makes a parameter an ordinary one again.
-- @function parametrize.remove_parametrizations
-- @tparam table layer
-- @tparam string name of the parameter
-- @tparam[opt] table o `leave_parametrized = false`: the parameter is the
-- original, instead of the computed one
-- @treturn table layer
function parametrize.remove_parametrizations(layer, name, o)
  local fn = "remove_parametrizations"
  check_module(fn, layer)
  o = options(fn, o, LEAVE)
  if type(name) ~= "string" or not parametrize.is_parametrized(layer, name) then
    raise("%s: %s has no parametrization of '%s'", fn,
          getmetatable(layer).__name, tostring(name))
  end
  local all = layer.parametrizations
  local list = all[name]
  local original = list.original or list.original0
  if o.leave_parametrized == false and list.count > 1 then
    raise("%s: '%s' is made of %d tensors: leave_parametrized = false is not "
          .. "possible", fn, name, list.count)
  end
  local value = o.leave_parametrized == false and original or
                no_grad(function() return list() end)
  layer[name] = own(value, original)
  all[name] = nil
  if #all:children() == 0 then
    hooks.remove(layer, "pre", layer[HOOK])
    rawset(layer, "parametrizations", nil)
    rawset(layer, HOOK, nil)
  end
  return layer
end

-- -- Parametrizations --------------------------------------------------------

local parametrizations = {}

local WeightNorm = Module:extend "_WeightNorm"

function WeightNorm:init(dim) self.dim = dim end

local function norm_of(v, dim)
  if dim == false then return v:norm() end
  return st.norm_except_dim(v, 2, dim)
end

function WeightNorm:right_inverse(weight)
  return norm_of(weight, self.dim), weight
end

function WeightNorm:forward(g, v) return v * (g / norm_of(v, self.dim)) end

local WEIGHT = {name = true, dim = true}

--- weight_norm as a parametrization: `original0` is the magnitude, `original1`
-- the direction.
-- @function parametrizations.weight_norm
-- @tparam table layer
-- @tparam[opt] table o `name` ("weight"); `dim` (1), whose slices have a
-- magnitude each, false: one magnitude
-- @treturn table layer
function parametrizations.weight_norm(layer, o)
  o = options("weight_norm", o, WEIGHT)
  check_module("weight_norm", layer)
  local dim = o.dim
  if dim == nil then dim = 1 end
  return parametrize.register_parametrization(layer, o.name or "weight",
                                              WeightNorm(dim))
end

local SpectralNorm = Module:extend "_SpectralNorm"

local function normalized(x, eps) return x / x:norm():clamp_min(eps) end

function SpectralNorm:matrix(weight)
  if self.dim ~= 1 then weight = weight:movedim(self.dim, 1) end
  return weight:reshape(weight.shape[1], -1)
end

function SpectralNorm:step(w, n)
  no_grad(function()
    for _ = 1, n do
      self._u:copy_(normalized(w:mv(self._v), self.eps))
      self._v:copy_(normalized(w:t():mv(self._u), self.eps))
    end
  end)
end

function SpectralNorm:init(weight, steps, dim, eps)
  self.steps, self.dim, self.eps = steps, dim, eps
  if weight.ndim == 1 then return end
  no_grad(function()
    local w = self:matrix(weight)
    local u = w:new_empty({w.shape[1]}):normal_()
    local v = w:new_empty({w.shape[2]}):normal_()
    self:register_buffer("_u", normalized(u, eps))
    self:register_buffer("_v", normalized(v, eps))
    self:step(w, 15)
  end)
end

function SpectralNorm:forward(weight)
  if weight.ndim == 1 then return normalized(weight, self.eps) end
  local w = self:matrix(weight)
  if self.training then self:step(w, self.steps) end
  local u, v = self._u:clone(), self._v:clone()
  return weight / u:dot(w:mv(v))
end

local SPECTRAL = {name = true, n_power_iterations = true, eps = true,
                  dim = true}

--- spectral_norm as a parametrization. The singular value is approximated by 15
-- steps at first, and one step more in each call in training mode.
-- @function parametrizations.spectral_norm
-- @tparam table layer
-- @tparam[opt] table o `name` ("weight"), `n_power_iterations` (1), `eps`
-- (1e-12), `dim` of the outputs (2 for ConvTranspose, else 1)
-- @treturn table layer
function parametrizations.spectral_norm(layer, o)
  o = options("spectral_norm", o, SPECTRAL)
  check_module("spectral_norm", layer)
  local name, steps = o.name or "weight", o.n_power_iterations or 1
  if type(steps) ~= "number" or steps < 1 or steps % 1 ~= 0 then
    raise "spectral_norm: n_power_iterations must be a positive integer"
  end
  local weight = rawget(layer, name)
  if not module.is_parameter(weight) then
    raise("spectral_norm: %s has no parameter '%s'",
          getmetatable(layer).__name, tostring(name))
  end
  local is_transposed = getmetatable(layer).__name:find "^ConvTranspose"
  return parametrize.register_parametrization(layer, name, SpectralNorm(
    weight, steps, o.dim or is_transposed and 2 or 1, o.eps or 1e-12))
end

return {parametrize = parametrize, parametrizations = parametrizations}
