--- Words of generators.

local st = require "strided"

--- The next n words of 32 bits of a generator, in float64: their lower 31 bits
-- and their remainders by 3, to which the upper bit adds 2.
return function(g, n)
  local low = st.empty({n}, {dtype = "int32"}):random_ {generator = g:clone()}
  low = low:to "float64"
  local rest = st.empty({n}, {dtype = "float64"}):random_(0, 3, {generator = g})
  local upper = (rest - low):remainder(3):ne(0):to "float64"
  return low + upper * 2 ^ 31
end
