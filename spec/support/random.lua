--- Pseudo-random integers, the same in every Lua: apart from the generator of
-- tensors, which calls under test use.

local floor = math.floor

--- A function that gives an integer from 1 to n for each call with n.
return function(seed)
  return function(n)
    seed = seed * 16807 % 2147483647
    return floor(seed / 2147483647 * n) + 1
  end
end
