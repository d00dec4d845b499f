--- Custom reductions for specs and their workers.

local st = require "strided"

local M = {}

--- Defines them in a library, which must be kept.
function M.define(lib)
  lib:reduction("total(Tensor x) -> Tensor", {
    combine = function(a, b) return a + b end, init = 0,
  })
  lib:reduction("product(Tensor x) -> Tensor", {combine = "a * b", init = 1})
  lib:reduction("peak", {combine = "maximum(a, b)"})
  lib:reduction("distance(Tensor x, Tensor y) -> Tensor", {
    map = function(x, y) return (x - y) ^ 2 end, combine = "a + b", init = 0,
  })
  lib:reduction("first(Tensor x) -> Tensor", {
    combine = function(a, b) return a + 0 * b end,
  })
  lib:reduction("last(Tensor x) -> Tensor", {
    combine = function(a, b) return b + 0 * a end,
  })
  lib:reduction("rms(Tensor x, Tensor w, *, int[1]? dim=None, " ..
                "bool keepdim=False, float eps=0.0) -> Tensor", {
    map = "x * x * w", combine = "a + b", init = 0,
    final = function(acc, n, eps) return (acc / n + eps):sqrt() end,
    doc = "Weighted root of the mean square.",
  })
  lib:reduction("position(Tensor x, Tensor i) -> (Tensor max, Tensor at)", {
    map = "x, i",
    combine = "later = b1 > a1; later ? b1 : a1, later ? b2 : a2",
  })
  lib:reduction("moments(Tensor x) -> (Tensor mean, Tensor var)", {
    map = function(x) return x * 0 + 1, x, x * 0 end,
    combine = function(n1, m1, s1, n2, m2, s2)
      local n, d = n1 + n2, m2 - m1
      return n, m1 + d * (n2 / n), s1 + s2 + d * d * (n1 * n2 / n)
    end,
    final = "acc2, acc3 / (n - 1)",
  })
  lib:reduction("logsumexp(Tensor x) -> Tensor", {
    map = "x, x * 0 + 1",
    combine = "m = maximum(a1, b1); m, a2 * exp(a1 - m) + b2 * exp(b1 - m)",
    final = "acc1 + log(acc2)",
  })
  -- x -> a x + b, one after the other: the order is all
  lib:reduction("chain(Tensor a, Tensor b) -> (Tensor p, Tensor q)", {
    map = "a, b", combine = "a1 * b1, a2 * b1 + b2", init = {1, 0},
  })
  return st.ops[lib.ns]
end

--- Calls of all kinds of trees, with what they are called on.
M.CALLS = {
  total = function(o, t, options) return o.total(t, options) end,
  peak = function(o, t, options) return o.peak(t, options) end,
  last = function(o, t, options) return o.last(t, options) end,
  distance = function(o, t, options) return o.distance(t, 0.25, options) end,
  chain = function(o, t, options) return (o.chain(t * 0 + 0.9, t, options)) end,
  moments = function(o, t, options) return select(2, o.moments(t, options)) end,
}
M.NAMES = {"total", "peak", "last", "distance", "chain", "moments"}
M.SHAPES = {{1}, {7}, {33}, {64, 5}, {3, 129}, {5, 6, 7}, {300, 301},
            {2, 40000}, {40000, 2}}

return M
