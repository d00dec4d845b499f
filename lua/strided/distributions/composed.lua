--- Distributions made of others: Independent, TransformedDistribution,
-- MixtureSameFamily, LogisticNormal.
--
-- @module strided.distributions.composed

local st = require "strided"
local base = require "strided.distributions.base"
local constraints = require "strided.distributions.constraint"
local continuous = require "strided.distributions.continuous"
local raise = require "strided.argument.caller_error"
local transforms = require "strided.distributions.transform"

local concat, format, ipairs, max, pairs, setmetatable, tostring, type =
  table.concat, string.format, ipairs, math.max, pairs, setmetatable, tostring,
  type

local M = {}

local join, part, sum_last = base.join, base.part, base.sum_last

local function check_distribution(name, what, v)
  if not base.is_distribution(v) then
    raise("%s: %s must be a distribution", name, what)
  end
end

local function copy(self)
  local out = {}
  for key, v in pairs(self) do out[key] = v end
  return setmetatable(out, self.class.meta)
end

local function all_sizes(d) return join(d.batch, d.event) end

-- -- Independent -------------------------------------------------------------

--- A distribution whose last n batch dimensions belong to an event.
-- @function Independent
-- @param base_dist
-- @tparam integer n
local Independent = base.class("Independent", {
  params = {{"base_dist", nil, 0, true}, {"n", nil, 0, true}},
  support = function(self)
    return constraints.independent(self.base_dist.support, self.n)
  end,
  to_text = function(self)
    return format("Independent {%s, %d}", tostring(self.base_dist), self.n)
  end,
})
M.Independent = Independent

function Independent:init(a)
  local d, n = a.base_dist, a.n
  check_distribution("Independent", "base_dist", d)
  if type(n) ~= "number" or not (n >= 0 and n <= #d.batch) or
     n % 1 ~= 0 then
    raise("Independent: n must be from 0 to %d, the batch dimensions of "
          .. "base_dist", #d.batch)
  end
  self.base_dist, self.n = d, n
  local sizes, event = all_sizes(d), n + #d.event
  return part(sizes, 1, #sizes - event), part(sizes, #sizes - event + 1, #sizes)
end

function Independent.get:has_rsample() return self.base_dist.has_rsample end
function Independent.get:has_enumerate_support()
  return self.n == 0 and self.base_dist.has_enumerate_support
end
function Independent.get:mean() return self.base_dist.mean end
function Independent.get:mode() return self.base_dist.mode end
function Independent.get:variance() return self.base_dist.variance end

function Independent:draw(_, o, outer)
  local d = self.base_dist
  return d.draw(d, base.extended(d, outer), o, outer)
end

function Independent:density(x)
  return sum_last(self.base_dist:log_prob(x), self.n)
end

function Independent:enumerate_support(expand)
  if self.n > 0 then
    raise("Independent has no enumerate_support: its values have dimensions")
  end
  return self.base_dist:enumerate_support(expand)
end

function Independent:entropy()
  return sum_last(self.base_dist:entropy(), self.n)
end

function Independent:expand(shape)
  local out = copy(self)
  out.batch = base.read_shape("expand", shape)
  out.base_dist = self.base_dist:expand(join(out.batch,
                                             part(self.event, 1, self.n)))
  return out
end

-- -- TransformedDistribution -------------------------------------------------

--- The distribution of transform(x), for x from base_dist.
-- @function TransformedDistribution
-- @param base_dist
-- @param transforms a transform, or a list of them, the first one first
local Transformed = base.class("TransformedDistribution", {
  params = {{"base_dist", nil, 0, true}, {"transforms", nil, 0, true}},
  support = function(self)
    local list = self.transforms
    if #list == 0 then return self.base_dist.support end
    local c = list[#list].codomain
    return constraints.independent(c, #self.event - c.event_dim)
  end,
  to_text = function(self)
    local list = {}
    for i, t in ipairs(self.transforms) do list[i] = tostring(t) end
    return format("%s {%s, %s}", self.class.name, tostring(self.base_dist),
                  concat(list, ", "))
  end,
})
M.TransformedDistribution = Transformed

local function check_transforms(list)
  if transforms.is_transform(list) then list = {list} end
  if type(list) ~= "table" then
    raise("TransformedDistribution: transforms must be a transform or a list "
          .. "of them")
  end
  for _, t in ipairs(list) do
    if not transforms.is_transform(t) then
      raise("TransformedDistribution: transforms must be transforms, as in "
            .. "st.distributions.transforms")
    end
  end
  return list
end

--- Sets base_dist and transforms; returns the batch and event shape.
local function set_base(self, d, list)
  local t = transforms.Compose(list)
  local sizes = all_sizes(d)
  if #sizes < t.domain.event_dim then
    raise("%s: base_dist must have %d dimensions", self.class.name,
          t.domain.event_dim)
  end
  local out = t:forward_shape(sizes)
  local inner = t:inverse_shape(out)
  if not base.same(inner, sizes) then
    d = d:expand(part(inner, 1, #inner - #d.event))
  end
  local more = t.domain.event_dim - #d.event
  if more > 0 then d = Independent(d, more) end
  self.base_dist, self.transforms = d, list
  local event = max(t.codomain.event_dim, #d.event + t.codomain.event_dim
                    - t.domain.event_dim)
  return part(out, 1, #out - event), part(out, #out - event + 1, #out)
end

function Transformed:init(a)
  check_distribution(self.class.name, "base_dist", a.base_dist)
  return set_base(self, a.base_dist, check_transforms(a.transforms or {}))
end

function Transformed.get:has_rsample() return self.base_dist.has_rsample end

function Transformed:draw(_, o, outer)
  local d = self.base_dist
  local x = d.draw(d, base.extended(d, outer), o, outer)
  for _, t in ipairs(self.transforms) do x = t(x) end
  return x
end

function Transformed:density(y)
  local event, sum = #self.event, 0
  for i = #self.transforms, 1, -1 do
    local t = self.transforms[i]
    local x = t:inverse(y)
    event = event + t.domain.event_dim - t.codomain.event_dim
    sum = sum - sum_last(t:log_abs_det_jacobian(x, y),
                         event - t.domain.event_dim)
    y = x
  end
  local d = self.base_dist
  return sum + sum_last(d:log_prob(y), event - #d.event)
end

--- p for increasing transforms, 1 - p for decreasing ones.
local function by_sign(self, p)
  local sign = 1
  for _, t in ipairs(self.transforms) do
    if not t.sign then
      raise("TransformedDistribution: %s is not monotonic", tostring(t))
    end
    sign = sign * t.sign
  end
  if sign == 1 then return p end -- the formula would round a small p
  if sign == -1 then return 1 - p end
  return sign * (p - 0.5) + 0.5
end

function Transformed:below(y)
  for i = #self.transforms, 1, -1 do y = self.transforms[i]:inverse(y) end
  return by_sign(self, self.base_dist:cdf(y))
end

function Transformed:quantile(p)
  local x = self.base_dist:icdf(by_sign(self, p))
  for _, t in ipairs(self.transforms) do x = t(x) end
  return x
end

function Transformed:expand(shape)
  local out = copy(self)
  out.batch = base.read_shape("expand", shape)
  local inner = transforms.Compose(self.transforms):inverse_shape(
    join(out.batch, self.event))
  local d = self.base_dist
  out.base_dist = d:expand(part(inner, 1, #inner - #d.event))
  return out
end

-- -- LogisticNormal ----------------------------------------------------------

--- Shares from normal numbers by StickBreaking: one more than loc has.
-- @function LogisticNormal
-- @param loc of the normal numbers
-- @param scale of the normal numbers
local LogisticNormal = base.class("LogisticNormal", {
  params = {{"loc", "real"}, {"scale", "positive"}},
}, Transformed)
M.LogisticNormal = LogisticNormal

function LogisticNormal:init(a)
  local normal = continuous.Normal(a.loc, a.scale)
  if #normal.batch == 0 then normal = normal:expand {1} end
  return set_base(self, normal, {transforms.StickBreaking()})
end

function LogisticNormal.get:loc() return self.base_dist.base_dist.loc end
function LogisticNormal.get:scale() return self.base_dist.base_dist.scale end

-- -- MixtureSameFamily -------------------------------------------------------

--- One of the components, which are the last batch dimension of a distribution,
-- with the probabilities of a Categorical.
-- @function MixtureSameFamily
-- @param mixture a Categorical, whose batch shape is expanded to the other
-- batch dimensions of the component
-- @param component a distribution
local Mixture = base.class("MixtureSameFamily", {
  params = {{"mixture", nil, 0, true}, {"component", nil, 0, true}},
  support = function(self)
    return constraints.MixtureSameFamilyConstraint(self.component.support)
  end,
  to_text = function(self)
    return format("MixtureSameFamily {%s, %s}", tostring(self.mixture),
                  tostring(self.component))
  end,
})
M.MixtureSameFamily = Mixture

function Mixture:init(a)
  local m, c = a.mixture, a.component
  check_distribution("MixtureSameFamily", "component", c)
  if not base.is_distribution(m) or m.class.name ~= "Categorical" then
    raise("MixtureSameFamily: mixture must be a Categorical")
  end
  if c.batch[#c.batch] ~= m.num_events then
    raise("MixtureSameFamily: mixture has %d categories, component %s in its "
          .. "last batch dimension", m.num_events,
          tostring(c.batch[#c.batch] or "none"))
  end
  local batch = part(c.batch, 1, #c.batch - 1)
  if not base.same(m.batch, batch) then
    if not base.expands(m.batch, batch) then
      raise("MixtureSameFamily: batch_shape %s of mixture does not expand to "
            .. "{%s}, that of component without its last dimension",
            tostring(m.batch_shape), concat(batch, ", "))
    end
    m = m:expand(batch)
  end
  self.mixture, self.component = m, c
  return batch, c.event
end

function Mixture.get:mixture_distribution() return self.mixture end
function Mixture.get:component_distribution() return self.component end

function Mixture:pad(x) return x:unsqueeze(-1 - #self.event) end

--- The probabilities, with dimensions for events.
local function weights(self)
  local p = self.mixture.probs
  for _ = 1, #self.event do p = p:unsqueeze(-1) end
  return p
end

function Mixture.get:mean()
  return (weights(self) * self.component.mean):sum(-1 - #self.event)
end

function Mixture.get:variance()
  local p, dim, c = weights(self), -1 - #self.event, self.component
  return (p * c.variance):sum(dim)
         + (p * (c.mean - self:pad(self.mean)):pow(2)):sum(dim)
end

function Mixture:below(x)
  return (self.component:cdf(self:pad(x)) * self.mixture.probs):sum(-1)
end

function Mixture:density(x)
  return (self.component:log_prob(self:pad(x))
          + st.log_softmax(self.mixture.logits, -1)):logsumexp({-1})
end

function Mixture:draw(shape, o, outer)
  local m, c = self.mixture, self.component
  local which = m.draw(m, base.extended(m, outer), o, outer)
  local x = c.draw(c, base.extended(c, outer), o, outer)
  local dim = #outer + #self.batch + 1
  for _ = 1, #self.event + 1 do which = which:unsqueeze(-1) end
  local sizes = join(part(shape, 1, dim - 1), {1}, self.event)
  return x:gather(dim, which:expand(sizes)):squeeze(dim)
end

function Mixture:expand(shape)
  local out = copy(self)
  out.batch = base.read_shape("expand", shape)
  out.mixture = self.mixture:expand(out.batch)
  out.component = self.component:expand(join(out.batch,
                                             {self.mixture.num_events}))
  return out
end

return M
