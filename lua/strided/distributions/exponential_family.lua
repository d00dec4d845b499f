--- Distributions with a density exp(t(x) . n - F(n) + k(x)) for natural
-- parameters n.
--
-- A class has natural_params(self), a list of tensors; log_normalizer(self,
-- ...), F of them; and mean_carrier_measure, the mean of k, if that is known.
-- Its entropy and the divergence of two of them follow from the gradient of F
-- (Nielsen and Nock, "Entropies and Cross-entropies of Exponential Families",
-- ICIP 2010).
--
-- @function distributions.ExponentialFamily
-- @module strided.distributions.exponential_family

local st = require "strided"
local base = require "strided.distributions.base"
local raise = require "strided.argument.caller_error"

local unpack = unpack or table.unpack
local getmetatable, ipairs, rawget, type = getmetatable, ipairs, rawget, type

local M = {}

--- The base class, which makes classes: `ExponentialFamily("Name", {params =
-- {{"rate", "positive"}}, natural_params = ..., log_normalizer = ...})`.
local Family = base.class("ExponentialFamily", {})
M.ExponentialFamily = Family

getmetatable(Family).__call = base.subclasses(Family)

--- F of natural parameters.
local function value_of(self, params)
  local out = self:log_normalizer(unpack(params))
  if st.is_tensor(out) then return out end
  raise("%s: log_normalizer must return a Tensor, got %s", self.class.name,
        type(out))
end

--- F of the natural parameters, these, and the gradients of F to them.
local function normalizer(self)
  local out, params, slopes
  st.enable_grad(function()
    params = self:natural_params()
    for i, n in ipairs(params) do
      if not n.requires_grad then params[i] = n:detach():requires_grad_() end
    end
    out = value_of(self, params)
    slopes = {st.grad(out:sum(), params, {create_graph = true})}
  end)
  return out, params, slopes
end

local function event_sum(self, x)
  return base.sum_last(x, x:dim() - #self.batch)
end

--- Without a graph if no parameter has one.
local function result(x, ...)
  for _, d in ipairs {...} do
    for _, p in ipairs(d.class.params) do
      local v = rawget(d, p[1])
      if st.is_tensor(v) and v.requires_grad then return x end
    end
  end
  return x:detach()
end

function Family:entropy()
  local mean = self.class.mean_carrier_measure
  if not (mean and self.class.natural_params and self.class.log_normalizer) then
    raise("%s has no entropy", self.class.name)
  end
  if type(mean) == "function" then mean = mean(self) end
  local out, params, slopes = normalizer(self)
  for i, n in ipairs(params) do out = out - event_sum(self, n * slopes[i]) end
  return result(out - mean, self)
end

--- The divergence of q from p, of one class.
function M.divergence(p, q)
  local out, params, slopes = normalizer(p)
  local others = q:natural_params()
  out = value_of(q, others) - out
  for i, n in ipairs(others) do
    out = out - event_sum(p, (n - params[i]) * slopes[i])
  end
  return result(out, p, q)
end

return M
