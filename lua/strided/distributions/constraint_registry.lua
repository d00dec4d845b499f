--- Transforms of all real numbers to what a constraint allows.
--
--     local D = st.distributions
--     local positive = D.transform_to(D.constraints.positive)
--     positive(st.randn {3})                 -- three positive numbers
--
-- biject_to gives bijective transforms, with a determinant; transform_to gives
-- some that are not, as Softmax: their gradients are better for optimizers.
--
-- @function distributions.biject_to
-- @function distributions.transform_to
-- @module strided.distributions.constraint_registry

local constraints = require "strided.distributions.constraint"
local raise = require "strided.argument.caller_error"
local transforms = require "strided.distributions.transform"

local ipairs, setmetatable, type = ipairs, setmetatable, type

-- -- Registries --------------------------------------------------------------

local Registry = {}
Registry.__index = Registry

--- Registers the transform of constraints of one kind.
-- @param constraint one, or the function that makes such constraints
-- @tparam function factory from a constraint to a transform
-- @treturn function factory
function Registry:register(constraint, factory)
  local kind = type(constraint) == "function" and constraint
  if constraints.is_constraint(constraint) then kind = constraint.kind end
  if not kind or type(factory) ~= "function" then
    raise("%s:register: give a constraint, and a function from it to a "
          .. "transform", self.name)
  end
  self.factories[kind] = factory
  return factory
end

--- The transform from all real numbers to a constraint.
function Registry:__call(constraint)
  if not constraints.is_constraint(constraint) then
    raise("%s: the argument must be a constraint", self.name)
  end
  local factory = self.factories[constraint.kind]
  if not factory then
    raise("%s: there is no transform to '%s'; %s:register adds one", self.name,
          constraint.name, self.name)
  end
  return factory(constraint)
end

function Registry:__tostring() return self.name end

local function registry(name)
  return setmetatable({name = name, factories = {}}, Registry)
end

local M = {
  biject_to = registry "biject_to", transform_to = registry "transform_to",
}

-- -- The constraints of strided.distributions.constraint ---------------------

local C, T = constraints, transforms
local biject_to, transform_to = M.biject_to, M.transform_to

local function both(list, factory)
  for _, c in ipairs(list) do
    biject_to:register(c, factory)
    transform_to:register(c, factory)
  end
end

both({C.real}, function() return T.identity_transform end)

both({C.greater_than, C.greater_than_eq}, function(c)
  if c.lower_bound == 0 then return T.Exp() end
  return T.Compose {T.Exp(), T.Affine(c.lower_bound, 1)}
end)

both({C.less_than}, function(c)
  return T.Compose {T.Exp(), T.Affine(c.upper_bound, -1)}
end)

both({C.interval, C.half_open_interval}, function(c)
  local low, high = c.lower_bound, c.upper_bound
  if low == 0 and high == 1 then return T.Sigmoid() end
  return T.Compose {T.Sigmoid(), T.Affine(low, high - low)}
end)

biject_to:register(C.simplex, function() return T.StickBreaking() end)
transform_to:register(C.simplex, function() return T.Softmax() end)

transform_to:register(C.lower_cholesky, function() return T.LowerCholesky() end)
for _, c in ipairs {C.positive_definite, C.positive_semidefinite} do
  transform_to:register(c, function() return T.PositiveDefinite() end)
end
both({C.corr_cholesky}, function() return T.CorrCholesky() end)

for _, to in ipairs {biject_to, transform_to} do
  to:register(C.independent, function(c)
    return T.Independent(to(c.base_constraint), c.reinterpreted_batch_ndims)
  end)

  local function each(list)
    local out = {}
    for i, c in ipairs(list) do out[i] = to(c) end
    return out
  end

  to:register(C.cat, function(c)
    return T.Cat(each(c.cseq), c.dim, c.lengths)
  end)
  to:register(C.stack, function(c) return T.Stack(each(c.cseq), c.dim) end)
end

return M
