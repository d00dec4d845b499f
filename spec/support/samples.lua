--- Tests of random numbers against their distribution functions.

local assert = require "luassert"
local st = require "strided"

local abs, sqrt = math.abs, math.sqrt

local M = {}

--- Kolmogorov and Smirnov: the largest distance of the empirical distribution
-- function of x from cdf(sorted x), which exceeds 2.3 / sqrt(n) for one sample
-- in 20000. For discrete numbers it is less.
-- @tparam Tensor x
-- @tparam function cdf of a float64 tensor
function M.check_continuous(x, cdf)
  x = x:detach():to "float64":reshape(-1):sort()
  local n = x:numel()
  local p, i = cdf(x), st.arange(n, {dtype = "float64"})
  assert.is_true(p:isfinite():all():item())
  local most = math.max((p - i / n):max():item(),
                        ((i + 1) / n - p):max():item())
  assert.is_true(most <= 2.3 / sqrt(n),
                 ("the distance is %g of %g"):format(most, 2.3 / sqrt(n)))
end

--- Chi-square of counts 0, 1, ... whose probabilities probability(k) are, 5
-- standard deviations at most; rare ones are one cell.
function M.check_counts(x, probability)
  x = x:detach():reshape(-1)
  local n = x:numel()
  assert.is_true(x:eq(x:floor()):all():item())
  assert.is_true(x:ge(0):all():item())
  local counts = x:to "int64":bincount({base = 0}):totable()
  local square, cells, rest, others = 0, 0, 1, n
  for k = 0, #counts - 1 do
    local expected = probability(k) * n
    if expected >= 10 then
      local count = tonumber(tostring(counts[k + 1]))
      square = square + (count - expected) ^ 2 / expected
      cells, rest, others = cells + 1, rest - expected / n, others - count
    end
  end
  assert.is_true(cells > 1)
  assert.is_true(abs(square - cells) <= 5 * sqrt(2 * cells),
                 ("chi-square %g of %d cells"):format(square, cells))
  assert.is_true(abs(others - rest * n) <= 5 * sqrt(abs(rest) * n) + 1)
end

--- Means of the elements, or rows, of x: `mean` within 5 of the deviations that
-- the variance gives.
function M.check_mean(x, mean, variance)
  x = x:detach():to "float64"
  local n = x.shape[1]
  local off = (x:mean {dim = 1} - mean):abs()
  assert.is_true(off:le(5 * (variance / n):sqrt() + 1e-9):all():item(),
                 tostring(off))
end

return M
