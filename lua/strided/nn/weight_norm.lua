--- Normalized weights: weight_norm and spectral_norm.
--
-- Both replace a parameter by others, from which a hook computes the weight
-- before each call of the module.
--
-- @module strided.nn.weight_norm

local st = require "strided"
local hooks = require "strided.nn.module.hooks"
local module = require "strided.nn.module"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local getmetatable, ipairs, no_grad, rawget, rawset, tostring, type =
  getmetatable, ipairs, st.no_grad, rawget, rawset, tostring, type

local norms = {}

-- The private key of what was done to a module: {[name .. kind] = hook}.
local DONE = {}

-- -- Help --------------------------------------------------------------------

local function parameter_of(fn, layer, name)
  if not module.is_module(layer) then
    raise("%s: a module is expected, got %s", fn, type(layer))
  end
  local weight = layer[name]
  if not module.is_parameter(weight) then
    raise("%s: %s has no parameter '%s'", fn, getmetatable(layer).__name, name)
  end
  return weight
end

local function add_hook(layer, key, hook)
  if not rawget(layer, DONE) then rawset(layer, DONE, {}) end
  layer[DONE][key] = hook
  hooks.register_compute(layer, hook)
end

local function remove_hook(fn, layer, name, kind)
  local done = module.is_module(layer) and rawget(layer, DONE)
  local hook = done and done[name .. kind]
  if not hook then
    raise("%s: '%s' has no %s norm", fn, tostring(name), kind)
  end
  hooks.remove(layer, "pre", hook)
  done[name .. kind] = nil
end

local function parameter(t, like)
  local p = module.Parameter(t:detach():clone())
  p:requires_grad_(like.requires_grad)
  return p
end

-- -- Magnitude and direction -------------------------------------------------

local WEIGHT = {name = true, dim = true}

--- The norms over all dimensions but dim; over all if dim is false.
local function norm_of(v, dim)
  if dim == false then return v:norm() end
  return st.norm_except_dim(v, 2, dim)
end

local function weigh(v, g, dim) return v * (g / norm_of(v, dim)) end

--- Replaces a weight by its magnitude, `weight_g`, and its direction,
-- `weight_v`: weight = g * v / |v|.
-- @function weight_norm
-- @tparam table layer
-- @tparam[opt] table o `name` ("weight"); `dim` (1), whose slices have a
-- magnitude each, false: one magnitude
-- @treturn table layer
function norms.weight_norm(layer, o)
  o = options("weight_norm", o, WEIGHT)
  local name, dim = o.name or "weight", o.dim
  if dim == nil then dim = 1 end
  local weight = parameter_of("weight_norm", layer, name)
  layer[name] = nil
  layer[name .. "_g"] = parameter(norm_of(weight, dim), weight)
  layer[name .. "_v"] = parameter(weight, weight)
  local function compute(self)
    self[name] = weigh(self[name .. "_v"], self[name .. "_g"], dim)
  end
  compute(layer)
  add_hook(layer, name .. "weight", function(self) compute(self) end)
  return layer
end

--- Undoes weight_norm: the weight is a parameter again.
-- @function remove_weight_norm
-- @tparam table layer
-- @tparam[opt] table o `name` ("weight")
-- @treturn table layer
function norms.remove_weight_norm(layer, o)
  local name = options("remove_weight_norm", o, WEIGHT).name or "weight"
  remove_hook("remove_weight_norm", layer, name, "weight")
  local weight = parameter(layer[name], layer[name .. "_v"])
  layer[name .. "_g"], layer[name .. "_v"] = nil, nil
  layer[name] = weight
  return layer
end

-- -- Spectral norm -----------------------------------------------------------

local SPECTRAL = {name = true, n_power_iterations = true, eps = true,
                  dim = true}

local function normalized(x, eps) return x / x:norm():clamp_min(eps) end

--- The weight as a matrix, with the rows of a dimension.
local function matrix(weight, dim)
  if dim ~= 1 then weight = weight:movedim(dim, 1) end
  return weight:reshape(weight.shape[1], -1)
end

local function is_transposed(layer)
  return getmetatable(layer).__name:find "^ConvTranspose" ~= nil
end

--- Divides a weight by its greatest singular value, which power iteration
-- approximates, one step more in each call in training mode. The parameter is
-- `weight_orig`; `weight_u` and `weight_v` are buffers.
-- @function spectral_norm
-- @tparam table layer
-- @tparam[opt] table o `name` ("weight"), `n_power_iterations` (1), `eps`
-- (1e-12), `dim` of the outputs (2 for ConvTranspose, else 1)
-- @treturn table layer
function norms.spectral_norm(layer, o)
  o = options("spectral_norm", o, SPECTRAL)
  local name, steps, eps = o.name or "weight", o.n_power_iterations or 1,
    o.eps or 1e-12
  if type(steps) ~= "number" or steps < 1 or steps % 1 ~= 0 then
    raise "spectral_norm: n_power_iterations must be a positive integer"
  end
  local weight = parameter_of("spectral_norm", layer, name)
  local dim = o.dim or is_transposed(layer) and 2 or 1
  local orig, left, right = name .. "_orig", name .. "_u", name .. "_v"
  no_grad(function()
    local w = matrix(weight, dim)
    local u = normalized(weight:new_empty({w.shape[1]}):normal_(), eps)
    local v = normalized(weight:new_empty({w.shape[2]}):normal_(), eps)
    layer[name] = nil
    layer[orig] = weight
    layer[name] = weight:detach()
    layer:register_buffer(left, u)
    layer:register_buffer(right, v)
  end)
  add_hook(layer, name .. "spectral", function(self)
    local w, u, v = matrix(self[orig], dim), self[left], self[right]
    if self.training then
      no_grad(function()
        for _ = 1, steps do
          v:copy_(normalized(w:t():mv(u), eps))
          u:copy_(normalized(w:mv(v), eps))
        end
      end)
      u, v = u:clone(), v:clone() -- the next call changes the buffers
    end
    self[name] = self[orig] / u:dot(w:mv(v))
  end)
  return layer
end

--- Undoes spectral_norm: the weight is a parameter again, divided by its
-- singular value.
-- @function remove_spectral_norm
-- @tparam table layer
-- @tparam[opt] table o `name` ("weight")
-- @treturn table layer
function norms.remove_spectral_norm(layer, o)
  local name = options("remove_spectral_norm", o, SPECTRAL).name or "weight"
  remove_hook("remove_spectral_norm", layer, name, "spectral")
  local weight = parameter(layer[name], layer[name .. "_orig"])
  for _, part in ipairs {"_orig", "_u", "_v"} do layer[name .. part] = nil end
  layer[name] = weight
  return layer
end

return norms
