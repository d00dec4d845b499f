--- Functions of parameters and weights: `nn.utils.clip_grad_norm_(net, 1)`.
--
-- Where parameters are expected, a module stands for its own, and a tensor for
-- itself.
--
-- @module strided.nn.utils

local st = require "strided"
local module = require "strided.nn.module"
local options = require "strided.option.options"
local parametrize = require "strided.nn.parametrize"
local raise = require "strided.argument.caller_error"
local weight_norms = require "strided.nn.weight_norm"

local ipairs, is_tensor, no_grad, pairs, tostring, type = ipairs, st.is_tensor,
  st.no_grad, pairs, tostring, type

local utils = {
  parametrize = parametrize.parametrize,
  parametrizations = parametrize.parametrizations,
}

for name, fn in pairs(weight_norms) do utils[name] = fn end

-- -- Arguments ---------------------------------------------------------------

local function list_of(name, parameters)
  if is_tensor(parameters) then return {parameters} end
  if module.is_module(parameters) then return parameters:parameters() end
  if type(parameters) ~= "table" then
    raise("%s: a module, a Tensor or a list of Tensors is expected, got %s",
          name, type(parameters))
  end
  for i = 1, #parameters do
    if not is_tensor(parameters[i]) then
      raise("%s: element %d must be a Tensor, got %s", name, i,
            type(parameters[i]))
    end
  end
  return parameters
end

local function gradients(name, parameters)
  local list = {}
  for _, p in ipairs(list_of(name, parameters)) do
    if p.grad then list[#list + 1] = p.grad end
  end
  return list
end

local function check_number(name, argument, x)
  if type(x) ~= "number" then
    raise("%s: argument '%s' must be a number, got %s", name, argument, type(x))
  end
end

-- -- Norms -------------------------------------------------------------------

local NORM = {norm_type = true, error_if_nonfinite = true}

local function total_norm(name, tensors, o)
  local p = o.norm_type or 2
  check_number(name, "norm_type", p)
  if not tensors[1] then return st.tensor(0.0) end
  local norms = {}
  for i, t in ipairs(tensors) do
    norms[i] = st.linalg.vector_norm(t:detach(), p)
  end
  local norm = st.linalg.vector_norm(st.stack(norms), p)
  if o.error_if_nonfinite and not norm:isfinite():item() then
    raise("%s: the norm of order %g is %g", name, p, norm:item())
  end
  return norm
end

--- The norm of all elements of all tensors.
-- @function get_total_norm
-- @param tensors
-- @tparam[opt] table o `norm_type` (2), `error_if_nonfinite` (false)
-- @treturn Tensor
function utils.get_total_norm(tensors, o)
  o = options("get_total_norm", o, NORM)
  return total_norm("get_total_norm", list_of("get_total_norm", tensors), o)
end

local function scale(list, max_norm, norm)
  local factor = (max_norm / (norm + 1e-6)):clamp_max(1)
  no_grad(function()
    for _, t in ipairs(list) do t:mul_(factor) end
  end)
end

--- Scales the gradients so that their norm is at most max_norm.
-- @function clip_grad_norm_
-- @param parameters
-- @tparam number max_norm
-- @tparam[opt] table o `norm_type` (2), `error_if_nonfinite` (false)
-- @treturn Tensor the norm before
function utils.clip_grad_norm_(parameters, max_norm, o)
  local name = "clip_grad_norm_"
  check_number(name, "max_norm", max_norm)
  o = options(name, o, NORM)
  local list = gradients(name, parameters)
  local norm = total_norm(name, list, o)
  scale(list, max_norm, norm)
  return norm
end

--- Scales the gradients as if the tensor `norm` were theirs.
-- @function clip_grads_with_norm_
-- @param parameters
-- @tparam number max_norm
-- @tparam Tensor norm
function utils.clip_grads_with_norm_(parameters, max_norm, norm)
  local name = "clip_grads_with_norm_"
  check_number(name, "max_norm", max_norm)
  if not is_tensor(norm) then
    raise("%s: argument 'norm' must be a Tensor, got %s", name, type(norm))
  end
  scale(gradients(name, parameters), max_norm, norm)
end

--- Clips each element of the gradients to the range from -clip_value to
-- clip_value.
-- @function clip_grad_value_
-- @param parameters
-- @tparam number clip_value
function utils.clip_grad_value_(parameters, clip_value)
  local name = "clip_grad_value_"
  check_number(name, "clip_value", clip_value)
  no_grad(function()
    for _, g in ipairs(gradients(name, parameters)) do
      g:clamp_(-clip_value, clip_value)
    end
  end)
end

-- -- Vectors -----------------------------------------------------------------

--- All elements in one dimension, part of the graph.
-- @function parameters_to_vector
-- @param parameters
-- @treturn Tensor
function utils.parameters_to_vector(parameters)
  local parts = {}
  for i, p in ipairs(list_of("parameters_to_vector", parameters)) do
    parts[i] = p:reshape(-1)
  end
  if not parts[1] then raise "parameters_to_vector: there are no parameters" end
  return st.cat(parts)
end

--- Copies the elements of a vector into the parameters.
-- @function vector_to_parameters
-- @tparam Tensor vector
-- @param parameters
function utils.vector_to_parameters(vector, parameters)
  local name = "vector_to_parameters"
  if not is_tensor(vector) then
    raise("%s: argument 'vector' must be a Tensor, got %s", name, type(vector))
  end
  local list, n = list_of(name, parameters), 0
  for _, p in ipairs(list) do n = n + p:numel() end
  if vector.ndim ~= 1 or vector.shape[1] ~= n then
    raise("%s: the vector must have shape {%d}, not %s", name, n,
          tostring(vector.shape))
  end
  no_grad(function()
    local from = 1
    for _, p in ipairs(list) do
      p:copy_(vector:narrow(1, from, p:numel()):view_as(p))
      from = from + p:numel()
    end
  end)
end

-- -- Fusing ------------------------------------------------------------------

--- The factor and the shift that a BatchNorm in evaluation mode amounts to.
local function affine(name, norm)
  if not norm.running_mean or norm.training then
    raise("%s: a BatchNorm in evaluation mode with running statistics is "
          .. "expected", name)
  end
  local factor = (norm.running_var + norm.eps):rsqrt()
  if norm.weight then factor = factor * norm.weight end
  local shift = -norm.running_mean * factor
  if norm.bias then shift = shift + norm.bias end
  return factor, shift
end

local function fuse(name, layer, norm, dim)
  for _, part in ipairs {layer or false, norm or false} do
    if not (module.is_module(part) and
            (part == norm or module.is_parameter(part.weight))) then
      raise("%s: a layer with a weight and a BatchNorm are expected", name)
    end
  end
  local fused = layer:clone()
  no_grad(function()
    local factor, shift = affine(name, norm)
    local sizes = {}
    for d = 1, layer.weight.ndim do sizes[d] = d == dim and -1 or 1 end
    if layer.bias then shift = shift + layer.bias * factor end
    local function parameter(t, old)
      local p = module.Parameter(t:detach():clone())
      p:requires_grad_(old.requires_grad)
      return p
    end
    fused.weight = parameter(layer.weight * factor:view(sizes), layer.weight)
    fused.bias = parameter(shift, layer.bias or layer.weight)
  end)
  return fused:eval()
end

--- A convolution that does what the two do in evaluation mode.
-- @function fuse_conv_bn_eval
-- @tparam table conv
-- @tparam table bn
-- @tparam[opt=false] boolean transpose true for a ConvTranspose without groups
-- @treturn table a copy of conv
function utils.fuse_conv_bn_eval(conv, bn, transpose)
  return fuse("fuse_conv_bn_eval", conv, bn, transpose and 2 or 1)
end

--- A Linear that does what the two do in evaluation mode.
-- @function fuse_linear_bn_eval
-- @tparam table linear
-- @tparam table bn
-- @treturn table a copy of linear
function utils.fuse_linear_bn_eval(linear, bn)
  return fuse("fuse_linear_bn_eval", linear, bn, 1)
end

return utils
