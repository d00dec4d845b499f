--- Random numbers that are the same on every machine and under every Lua: the
-- generators of Lehmer, whose products are exact in doubles.

local floor, log, exp = math.floor, math.log, math.exp
local setmetatable = setmetatable

local MODULUS = 2147483647
local OF_SEEDS, OF_DRAWS = 48271, 16807

local chance = {}
chance.__index = chance

--- The state of a generator after some steps.
local function stepped(state, multiplier, steps)
  for _ = 1, steps do state = state * multiplier % MODULUS end
  return state
end

--- The generator of a seed's case, which is independent of the other cases.
function chance.new(seed, number)
  local state = (seed % (MODULUS - 1)) + 1
  state = stepped(state, OF_SEEDS, 10 + number)
  return setmetatable({state = state}, chance)
end

--- A number in (0, 1).
function chance:uniform()
  self.state = stepped(self.state, OF_DRAWS, 1)
  return self.state / MODULUS
end

--- An integer from lo to hi.
function chance:int(lo, hi)
  return lo + floor(self:uniform() * (hi - lo + 1))
end

--- True with a probability.
function chance:happens(probability) return self:uniform() < probability end

--- An entry of a list.
function chance:pick(list) return list[self:int(1, #list)] end

--- A number between lo and hi whose logarithm is uniform.
function chance:log(lo, hi)
  return exp(log(lo) + self:uniform() * (log(hi) - log(lo)))
end

--- The list in another order.
function chance:shuffled(list)
  local result = {}
  for i = 1, #list do
    local j = self:int(1, i)
    result[i] = result[j]
    result[j] = list[i]
  end
  return result
end

return chance
