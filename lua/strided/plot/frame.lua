--- The axes of a figure, and its series in units of them.
--
-- @module strided.plot.frame

local path = require "strided.plot.path"
local ticks = require "strided.plot.ticks"

local abs, floor, huge, ipairs, log, max, min, require = math.abs, math.floor,
  math.huge, ipairs, math.log, math.max, math.min, require

local MOST = 1.797e308 -- a limit
local LEAST = 1e-307 -- of a logarithmic axis
local PAD = 0.04       -- of the range, beyond the data
local CLOSEST = 1e-13  -- a range, by the largest number

local frame = {}

local function st() return require "strided" end

-- -- Limits ------------------------------------------------------------------

--- The least number above 0 of a series, for logarithmic axes.
local function least_positive(s, name)
  local t = s[name]
  if s.kind == "hist" then t = name == "x" and s.edges or s.counts end
  if not t then return nil end
  local fine = t:masked_select(t:gt(0):logical_and(t:lt(huge)))
  return fine:numel() > 0 and fine:min():item() or nil
end

--- The range of all series along an axis, or nil.
local function range(fig, name, is_log)
  local low, high
  for _, s in ipairs(fig.series) do
    local a, b = s[name .. "low"], s[name .. "high"]
    if is_log and a then
      if a <= 0 then a = least_positive(s, name) end
      if not a or b <= 0 then a, b = nil, nil end
    end
    if a then low, high = min(low or a, a), max(high or b, b) end
  end
  return low, high
end

local function touches(fig, name, bound, value)
  for _, s in ipairs(fig.series) do
    if (s.kind == "hist" or s.kind == "bar") and name == "y" and value == 0 and
       s[name .. bound] == 0 then
      return true -- bars stand on the axis
    end
  end
  return false
end

local function linear_limits(fig, name, low, high)
  if not low then return 0, 1 end
  low, high = max(low, -MOST), min(high, MOST)
  local least = max(abs(low), abs(high)) * CLOSEST
  if low == high then
    local by = low == 0 and 1 or max(abs(low) * 0.1, 1e-300)
    if low == 0 and touches(fig, name, "low", 0) then return 0, 1 end
    return low - by, high + by
  elseif high - low < least then
    return low - least, high + least
  end
  local by = high * PAD - low * PAD
  if by == 0 then by = high - low end
  local from = touches(fig, name, "low", low) and low or low - by
  local to = touches(fig, name, "high", high) and high or high + by
  return max(from, -MOST), min(to, MOST)
end

local function log_limits(low, high)
  if not low then return 1, 10 end
  low, high = max(low, LEAST), max(high, LEAST)
  if low == high then return low / 2, min(high * 2, MOST) end
  local by = (high / low) ^ PAD
  if by == huge then by = (high ^ PAD) / (low ^ PAD) end
  return max(low / by, LEAST), min(high * by, MOST)
end

--- An axis: `low`, `high`, `is_log`, `is_whole`, `is_flipped`, `texts`.
local function axis_of(fig, name)
  local o = fig.options
  local axis = {is_log = o.log ~= nil and o.log:find(name, 1, true) ~= nil,
                is_whole = #fig.series > 0}
  local is_grid = false
  for _, s in ipairs(fig.series) do
    if not s["is_" .. name .. "_whole"] then axis.is_whole = false end
    if s.is_grid then is_grid = true end
    if name == "x" and s.texts then axis.texts = s.texts end
  end
  axis.is_grid = is_grid
  axis.is_flipped = is_grid and name == "y"
  local given = o[name .. "lim"]
  if given then
    axis.low, axis.high = given[1], given[2]
  else
    local low, high = range(fig, name, axis.is_log)
    if axis.is_log then
      axis.low, axis.high = log_limits(low, high)
    elseif is_grid then
      axis.low, axis.high = low, high
    else
      axis.low, axis.high = linear_limits(fig, name, low, high)
    end
  end
  return axis
end

-- -- Units -------------------------------------------------------------------

--- A number in units of an axis.
local function unit(axis, value)
  local u
  if axis.is_log then
    u = (log(value) - log(axis.low)) / (log(axis.high) - log(axis.low))
  else
    -- Differences of halves do not overflow; halves of the least are 0.
    local by = axis.high - axis.low == huge and 0.5 or 1
    u = (value * by - axis.low * by) / (axis.high * by - axis.low * by)
  end
  return axis.is_flipped and 1 - u or u
end

--- The same for a tensor; NaN for what the axis does not have.
local function units(axis, t)
  local u
  if axis.is_log then
    local low = log(axis.low)
    u = t:log():sub(low):div(log(axis.high) - low)
  else
    local by = axis.high - axis.low == huge and 0.5 or 1
    if by < 1 then t = t:mul(by) end
    u = t:sub(axis.low * by):div(axis.high * by - axis.low * by)
  end
  u = u:masked_fill(u:isfinite():logical_not(), 0 / 0)
  return axis.is_flipped and u:mul(-1):add(1) or u
end

--- Ticks of an axis, at most about n, with their places `at`.
local function find_ticks(axis, n)
  local list, offset
  if axis.texts then
    list = {}
    for i, text in ipairs(axis.texts) do list[i] = {value = i, text = text} end
  elseif axis.is_log then
    list, offset = ticks.log(axis.low, axis.high, n)
  else
    list, offset = ticks.linear(axis.low, axis.high, n, axis.is_whole)
  end
  local kept = {}
  for _, tick in ipairs(list) do
    tick.at = unit(axis, tick.value)
    if tick.at >= -1e-9 and tick.at <= 1 + 1e-9 then kept[#kept + 1] = tick end
  end
  return kept, offset
end
frame.ticks = find_ticks

-- -- Series ------------------------------------------------------------------

--- Rectangles {u0, v0, u1, v1} within the square, from lists of their edges.
local function rectangles(fr, left, right, top)
  local zero = fr.y.is_log and 0 or unit(fr.y, 0)
  local list = {}
  local function inside(x) return max(0, min(1, x)) end
  for i = 1, #top do
    local u0, u1, v = left[i], right[i], top[i]
    if u0 ~= u0 then u0 = 0 end -- below a logarithmic axis
    if v == v and u1 == u1 and u1 > 0 and u0 < 1 and v ~= zero then
      list[#list + 1] = {inside(u0), inside(min(v, zero)), inside(u1),
                         inside(max(v, zero)), index = i}
    end
  end
  return list
end

local function bars(fr, s, rank)
  if s.kind == "hist" then
    local edges = units(fr.x, s.edges):totable()
    local right = {}
    for i = 2, #edges do right[i - 1] = edges[i] end
    return rectangles(fr, edges, right, units(fr.y, s.counts):totable())
  end
  local one = s.width / fr.bar_series
  local start = s.x:sub(s.width / 2 - (rank - 1) * one)
  return rectangles(fr, units(fr.x, start):totable(),
                    units(fr.x, start:add(one)):totable(),
                    units(fr.y, s.y):totable())
end

--- The corners of an image's pixels in units, {u0, v0, u1, v1}.
local function box(fr, s)
  local a, b = unit(fr.x, s.xlow), unit(fr.x, s.xhigh)
  local c, d = unit(fr.y, s.ylow), unit(fr.y, s.yhigh)
  return {min(a, b), min(c, d), max(a, b), max(c, d)}
end

--- What to draw of a series, for a picture of n by m pixels: `runs`, `points`
-- (those of two by two pixels are one if there are many), `bars` or `box`.
function frame.draw(fr, s, rank, n, m)
  if s.pixels then return {box = box(fr, s)} end
  if s.is_grid then return {} end
  if s.kind == "hist" or s.kind == "bar" then
    return {bars = bars(fr, s, rank)}
  end
  local u, v = units(fr.x, s.x), units(fr.y, s.y)
  local drawn = {}
  if s.kind == "line" then
    drawn.runs = path.runs(path.line(u, v, n, s.is_sorted and not fr.x.is_log))
  end
  if s.kind == "scatter" or s.has_markers then
    local us, vs = path.points(u, v, max(1, floor(n / 2)), max(1, floor(m / 2)))
    drawn.points = {us, vs}
  end
  return drawn
end

--- Where 0 is on the y axis, if bars stand on it and it is not at the bottom.
function frame.zero(fr)
  if not fr.has_bars or fr.y.is_log then return nil end
  local v = unit(fr.y, 0)
  return v > 0 and v <= 1 and v or nil
end

--- The axes of a figure: `x`, `y`.
function frame.new(fig)
  local fr = {x = axis_of(fig, "x"), y = axis_of(fig, "y"), bar_series = 0}
  for _, s in ipairs(fig.series) do
    if s.kind == "bar" then fr.bar_series = fr.bar_series + 1 end
    if s.kind == "bar" or s.kind == "hist" then fr.has_bars = true end
  end
  return fr
end

--- True if a series has numbers that a logarithmic axis shows, or none at all.
function frame.fits_log(s, name)
  return s[name .. "low"] == nil or least_positive(s, name) ~= nil
end

--- Pixels of at most n columns and m rows: each the nearest one.
function frame.resample(pixels, n, m)
  local function at(size, most)
    if size <= most then return nil end
    return st().arange(0, most, {dtype = "float64"}):add(0.5)
      :mul(size / most):floor():to("int64"):add(1)
  end
  local rows, columns = at(pixels.shape[1], m), at(pixels.shape[2], n)
  if rows then pixels = pixels:index_select(1, rows) end
  if columns then pixels = pixels:index_select(2, columns) end
  return pixels
end

return frame
