--- Initial values of parameters.
--
-- @module strided.nn.init

local st = require "strided"
local options = require "strided.options"
local raise = require "strided.caller_error"

local ipairs, max, min, no_grad, type = ipairs, math.max, math.min, st.no_grad,
  type

local init = {}

local KNOWN = {mean = true, std = true, a = true, b = true, generator = true}

--- The normal distribution function.
local function below(x)
  return st.tensor(x, {dtype = "float64"}):special_ndtr():item()
end

--- Normal numbers, drawn again where they are not from a to b.
local function reject_outside(t, mean, std, a, b, o)
  local low = st.tensor(a, {dtype = t.dtype}):item()
  local high = st.tensor(b, {dtype = t.dtype}):item()
  local x = t:normal_(mean, std, o)
  while true do
    local outside = st.logical_or(x:lt(low), x:gt(high))
    if not outside:any():item() then break end
    x = st.where(outside, st.empty_like(x):normal_(mean, std, o), x)
  end
  t:copy_(x)
end

--- Uniform numbers from a to b, drawn again by the density: for intervals that
-- few normal numbers meet.
local function reject_by_density(t, mean, std, a, b, o)
  local peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ^ 2
  local x, pending = t:uniform_(a, b, o), nil
  local tried = x:clone()
  while true do
    local density = ((tried - mean) / std):square() * -0.5 - peak
    local refused = st.empty_like(t):uniform_(0, 1, o):log():gt(density)
    pending = pending and st.logical_and(pending, refused) or refused
    if not pending:any():item() then break end
    tried:uniform_(a, b, o)
    x = st.where(pending, tried, x)
  end
  t:copy_(x)
end

--- Fills t with numbers of a normal distribution that are from a to b: those of
-- torch.nn.init.trunc_normal_ for a seed.
-- @function trunc_normal_
-- @tparam Tensor t
-- @tparam[opt] table o `mean` (0) and `std` (1) of the distribution, `a` (-2),
-- `b` (2), `generator`
-- @treturn Tensor t
function init.trunc_normal_(t, o)
  if not st.is_tensor(t) then
    raise("trunc_normal_: the first argument must be a tensor")
  end
  o = options("trunc_normal_", o, KNOWN)
  local mean, std, a, b = o.mean or 0, o.std or 1, o.a or -2, o.b or 2
  for _, v in ipairs {mean, std, a, b} do
    if type(v) ~= "number" then
      raise("trunc_normal_: mean, std, a and b must be numbers")
    end
  end
  if not (std > 0 and a < b) then
    raise("trunc_normal_: std must be positive, and a less than b")
  end
  if t.device == "meta" then return t end
  local share = below((b - mean) / std) - below((a - mean) / std)
  local fill = share > 0.3 and reject_outside or reject_by_density
  local from = o.generator and {generator = o.generator} or nil
  no_grad(function() fill(t, mean, std, a, b, from) end)
  return t
end

return init
