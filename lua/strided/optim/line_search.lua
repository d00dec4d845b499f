--- The line search of LBFGS, by the strong Wolfe conditions, as in PyTorch
-- (after minFunc).
--
-- A point of the line is a table: `t` its step size, `f` the loss, `g` the
-- gradient, and `slope`, the derivative along the line.
--
-- @module strided.optim.line_search

local abs, max, min, sqrt = math.abs, math.max, math.min, math.sqrt

local DECREASE, CURVATURE = 1e-4, 0.9 -- c1 and c2 of the conditions

--- The minimum of the cubic through two points, within bounds.
local function interpolate(a, b, low, high)
  low, high = low or min(a.t, b.t), high or max(a.t, b.t)
  local d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
  local square = d1 * d1 - a.slope * b.slope
  if square < 0 or square ~= square then return (low + high) / 2 end
  if a.t > b.t then a, b = b, a end
  local d2 = sqrt(square)
  local at = b.t - (b.t - a.t) * ((b.slope + d2 - d1) /
                                  (b.slope - a.slope + 2 * d2))
  return min(max(at, low), high)
end

--- The search for an interval: goes on until the loss rises, or the conditions
-- hold. Returns the interval, and true if its first point will do.
local function bracket(search)
  local start = search.start
  local before, now = start, search.evaluate(search.t)
  for n = 0, search.most - 1 do
    if now.f > start.f + DECREASE * now.t * start.slope or
       (n > 1 and now.f >= before.f) then
      return {before, now}, false, n
    elseif abs(now.slope) <= -CURVATURE * start.slope then
      return {now}, true, n
    elseif now.slope >= 0 then
      return {before, now}, false, n
    end
    local t = interpolate(before, now, now.t + 0.01 * (now.t - before.t),
                          now.t * 10)
    before, now = now, search.evaluate(t)
  end
  return {start, now}, false, search.most
end

--- A step size inside of the interval, away from its ends unless the last one
-- was, too.
local function inner(interval, search)
  local first, last = interval[1].t, interval[2].t
  local low, high = min(first, last), max(first, last)
  local t = interpolate(interval[1], interval[2])
  local margin = 0.1 * (high - low)
  if min(high - t, t - low) >= margin then
    search.is_slow = false
  elseif search.is_slow or t >= high or t <= low then
    t = abs(t - high) < abs(t - low) and high - margin or low + margin
    search.is_slow = false
  else
    search.is_slow = true
  end
  return t
end

--- Makes the interval smaller until the conditions hold. Returns the best
-- point.
local function zoom(search, interval, n)
  local start, low, high = search.start, 1, 2
  if interval[1].f > interval[2].f then low, high = 2, 1 end
  while n < search.most and
        abs(interval[2].t - interval[1].t) * search.norm >= search.tolerance do
    local now = search.evaluate(inner(interval, search))
    n = n + 1
    if now.f > start.f + DECREASE * now.t * start.slope or
       now.f >= interval[low].f then
      interval[high] = now
      low, high = 1, 2
      if interval[1].f > interval[2].f then low, high = 2, 1 end
    else
      local is_done = abs(now.slope) <= -CURVATURE * start.slope
      if not is_done and
         now.slope * (interval[high].t - interval[low].t) >= 0 then
        interval[high] = interval[low]
      end
      interval[low] = now
      if is_done then break end
    end
  end
  return interval[low]
end

--- Searches a step size.
-- @tparam table search `evaluate`, a function from a step size to a point;
-- `start`, the point of step size 0; `t`, the first step size; `norm`, the
-- largest element of the direction; `tolerance` of changes; `most`, the number
-- of evaluations
-- @treturn table the point found
local function strong_wolfe(search)
  local interval, is_done, n = bracket(search)
  if is_done then return interval[1] end
  return zoom(search, interval, n)
end

return strong_wolfe
