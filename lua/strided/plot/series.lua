--- Reads what is to be drawn: checks arguments, and makes tensors of float64.
--
-- @module strided.plot.series

local core = require "strided.core"
local colours = require "strided.plot.colours"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local ceil, floor, format, ipairs, max, min, pairs, require, tostring, type =
  math.ceil, math.floor, string.format, ipairs, math.max, math.min, pairs,
  require, tostring, type
local concat, gsub, huge = table.concat, string.gsub, math.huge

local is_tensor = core.is_tensor

local COLUMNS = 64 -- of a matrix that is drawn as lines
local BINS = 100   -- at most, unless the caller says how many
local HALVES = 2 ^ 52 -- below it there are numbers between integers
local LARGEST = (2 - 2 ^ -52) * 2.0 ^ 1023

local series = {}

local function st() return require "strided" end

-- -- Arguments ---------------------------------------------------------------

local function describe(t)
  return format("%s of shape {%s}", tostring(t.dtype), concat(t.shape, ", "))
end

--- A tensor of a caller's numbers, on the CPU and not part of a graph.
local function numbers(where, name, value)
  local t = value
  if type(value) == "table" then
    local ok, made = core.try(st().tensor, value, {dtype = "float64"})
    if not ok then
      raise("%s: argument '%s': %s", where, name,
            gsub(tostring(made), "^[^\n]-:%d+: ", ""))
    end
    t = made
  elseif type(value) == "number" then
    t = st().tensor({value}, {dtype = "float64"})
  elseif not is_tensor(value) then
    raise("%s: argument '%s' must be a tensor or a list of numbers, got %s",
          where, name, type(value))
  end
  if t:is_complex() then
    raise("%s: argument '%s' is %s; draw its parts, as in z:real(), z:abs() "
          .. "or z:angle()", where, name, describe(t))
  end
  if t.device == "meta" then
    raise("%s: argument '%s' is on device '%s' and has no elements to draw",
          where, name, tostring(t.device))
  end
  return t:detach():to "cpu"
end

local function is_whole(t)
  return (t:isfinite():logical_not():logical_or(t:frac():eq(0))):all():item()
end

--- A vector of float64, and true if its numbers are whole by their nature: of a
-- dtype of integers, or all of a list of at least three.
local function vector(where, name, value)
  local t = numbers(where, name, value)
  if t.ndim == 0 then t = t:reshape(1) end
  if t.ndim ~= 1 then
    raise("%s: argument '%s' must have one dimension, got %s", where, name,
          describe(t))
  end
  if is_tensor(value) then
    return t:to("float64"), not t:is_floating_point()
  end
  return t, t:numel() > 2 and is_whole(t)
end

--- The least and the greatest finite number, or nil.
local function range(t)
  local fine = t:isfinite()
  if not fine:all():item() then t = t:masked_select(fine) end
  if t:numel() == 0 then return nil end
  local low, high = t:aminmax()
  return low:item(), high:item()
end

-- -- Options -----------------------------------------------------------------

local COMMON = {label = true, color = true, colour = true}

local function known(more)
  local set = {}
  for key in pairs(COMMON) do set[key] = true end
  for key in pairs(more) do set[key] = true end
  return set
end

local KNOWN = {
  line = known {linewidth = true, marker = true},
  scatter = known {size = true},
  hist = known {bins = true, range = true, density = true},
  bar = known {},
  image = {vmin = true, vmax = true, cmap = true},
  heatmap = {vmin = true, vmax = true, cmap = true, colorbar = true},
}
series.KNOWN = KNOWN

local function check_number(where, o, name, least)
  local value = o[name]
  if value ~= nil and (type(value) ~= "number" or value ~= value or
                       value == huge or value == -huge or
                       least and value < least) then
    raise("%s: option '%s' must be a number%s, got %s", where, name,
          least and format(" from %g on", least) or "", tostring(value))
  end
  return value
end
series.check_number = check_number

local function check_flag(where, o, name)
  if o[name] ~= nil and type(o[name]) ~= "boolean" then
    raise("%s: option '%s' must be true or false, got %s", where, name,
          type(o[name]))
  end
  return o[name]
end
series.check_flag = check_flag

--- A text of one line, or nil.
function series.check_text(where, o, name)
  local value = o[name]
  if value == nil then return nil end
  if type(value) ~= "string" and type(value) ~= "number" then
    raise("%s: option '%s' must be a text, got %s", where, name, type(value))
  end
  return (gsub(tostring(value), "%c", " "))
end

--- Checks a pair of numbers {low, high}.
function series.check_pair(where, o, name)
  local value = o[name]
  if value == nil then return nil end
  local low, high
  if type(value) == "table" then low, high = value[1], value[2] end
  local is_pair = type(low) == "number" and type(high) == "number" and
    low < high and low > -huge and high < huge
  if not is_pair then
    raise("%s: option '%s' must be two numbers {low, high}, the first less "
          .. "than the second", where, name)
  end
  return {low, high}
end

local function read(where, kind, given)
  local o = options(where, given, KNOWN[kind])
  local colour = o.color or o.colour
  return o, {kind = kind, label = series.check_text(where, o, "label"),
             colour = colour and colours.check(where, colour) or nil}
end

-- -- Lines and points --------------------------------------------------------

local function check_same(where, x, y)
  if x:numel() ~= y:numel() then
    raise("%s: 'x' has %d elements and 'y' has %d", where, x:numel(),
          y:numel())
  end
end

--- Bounds of what is drawn: the range of x and y.
local function add_bounds(s)
  s.xlow, s.xhigh = range(s.x)
  s.ylow, s.yhigh = range(s.y)
  return s
end

local function one(where, kind, x, y, given)
  local o, s = read(where, kind, given)
  s.linewidth = check_number(where, o, "linewidth", 0) or 1.8
  s.size = check_number(where, o, "size", 0) or 5
  s.has_markers = check_flag(where, o, "marker")
  s.y, s.is_y_whole = vector(where, "y", y)
  if x ~= nil then
    s.x, s.is_x_whole = vector(where, "x", x)
    check_same(where, s.x, s.y)
  else
    s.x = st().arange(1, s.y:numel() + 1, {dtype = "float64"})
    s.is_x_whole, s.is_sorted = true, true
  end
  return add_bounds(s)
end

local function label_of(given, column)
  local label = given and given.label
  if type(label) == "table" then return label[column] end
  return label
end

--- Lines or points: a list of series, one for each column of a matrix.
function series.points(where, kind, x, y, given)
  if y == nil then
    raise("%s: argument 'y' is missing", where)
  end
  local t = numbers(where, "y", y)
  if t.ndim ~= 2 then return {one(where, kind, x, t, given)} end
  local list, columns = {}, t.shape[2]
  if columns > COLUMNS then
    raise("%s: argument 'y' is %s; the columns of a matrix are lines, at most "
          .. "%d; fig:heatmap(t) shows it as a whole", where, describe(t),
          COLUMNS)
  end
  for k = 1, columns do
    local opts = {}
    for key, value in pairs(given or {}) do opts[key] = value end
    opts.label = label_of(given, k)
    list[k] = one(where, kind, x, t:select(2, k), opts)
  end
  return list
end

-- -- Histograms and bars -----------------------------------------------------

--- The edges of equal bins: of integers, one for each value where they are few.
local function edges(where, t, o, low, high, is_integer)
  local bins = o.bins
  if type(bins) == "table" or is_tensor(bins) then
    local list = vector(where, "bins", bins)
    local is_sorted = list:numel() > 1 and
      list:diff():gt(0):all():item() and list:isfinite():all():item()
    if not is_sorted then
      raise("%s: option 'bins' must be a number, or at least two increasing "
            .. "edges", where)
    end
    return list
  elseif bins == nil then
    local whole = is_integer or is_whole(t)
    if whole and high - low < 50 and max(-low, high) < HALVES then
      return st().arange(low - 0.5, high + 1, {dtype = "float64"})
    end
    bins = max(5, min(BINS, ceil(2 * t:numel() ^ (1 / 3))))
  elseif type(bins) ~= "number" or not (bins >= 1 and bins <= 1e5) or
         bins ~= floor(bins) then
    raise("%s: option 'bins' must be a whole number from 1 to 100000, or a "
          .. "list of edges, got %s", where, tostring(bins))
  end
  if low == high then
    local step = low == 0 and 0.5 or 0.1 * (low < 0 and -low or low)
    low, high = max(low - step, -LARGEST), min(high + step, LARGEST)
  end
  return st().linspace(low, high, bins + 1, {dtype = "float64"})
end

--- Counts of the numbers in bins.
function series.hist(where, x, given)
  local o, s = read(where, "hist", given)
  local t = numbers(where, "x", x):reshape(-1)
  local is_integer = not t:is_floating_point()
  t = t:to("float64")
  t = t:masked_select(t:isfinite())
  local limits = series.check_pair(where, o, "range")
  local low, high
  if limits then
    low, high = limits[1], limits[2]
    t = t:masked_select(t:ge(low):logical_and(t:le(high)))
  else
    low, high = range(t)
  end
  s.edges = edges(where, t, o, low or 0, high or 1, is_integer)
  s.counts = (st().histogram(t, s.edges))
  if check_flag(where, o, "density") and t:numel() > 0 then
    s.counts = s.counts:div(s.counts:sum():mul(s.edges:diff()))
  else
    s.is_y_whole = true
  end
  s.xlow, s.xhigh = s.edges[1], s.edges[s.edges:numel()]
  local _, top = range(s.counts)
  s.ylow, s.yhigh = 0, max(top or 0, 0)
  return s
end

--- Texts below bars, or nil for numbers.
local function categories(where, x)
  if type(x) ~= "table" or type(x[1]) ~= "string" then return nil end
  local list = {}
  for i, text in ipairs(x) do
    if type(text) ~= "string" then
      raise("%s: argument 'x' has texts, and at %d a %s", where, i, type(text))
    end
    list[i] = gsub(text, "%c", " ")
  end
  return list
end

--- The width of bars: 0.8 of the least distance of their middles.
local function width_of(x)
  if x:numel() < 2 then return 0.8 end
  local gaps = x:sort():diff()
  local low = range(gaps:masked_select(gaps:gt(0)))
  return 0.8 * (low or 1)
end

--- Bars of the heights y at x: numbers or texts.
function series.bar(where, x, y, given)
  local _, s = read(where, "bar", given)
  local texts = categories(where, x)
  s.y, s.is_y_whole = vector(where, "y", y)
  if texts or x == nil then
    s.x = st().arange(1, s.y:numel() + 1, {dtype = "float64"})
    s.is_x_whole, s.texts = true, texts
    if texts and #texts ~= s.y:numel() then
      raise("%s: 'x' has %d texts and 'y' has %d elements", where, #texts,
            s.y:numel())
    end
  else
    s.x, s.is_x_whole = vector(where, "x", x)
    check_same(where, s.x, s.y)
  end
  add_bounds(s)
  s.width = width_of(s.x)
  if s.xlow then
    s.xlow, s.xhigh = s.xlow - s.width / 2, s.xhigh + s.width / 2
  end
  s.ylow, s.yhigh = min(s.ylow or 0, 0), max(s.yhigh or 0, 0)
  return s
end

-- -- Images and heat maps ----------------------------------------------------

--- Numbers of a matrix from 0 to 1, by the limits; NaN stays.
local function normalized(where, t, o, s)
  local low, high = range(t)
  s.vmin = check_number(where, o, "vmin") or low or 0
  s.vmax = check_number(where, o, "vmax") or high or 1
  if s.vmin > s.vmax then
    raise("%s: 'vmin' %g is above 'vmax' %g", where, s.vmin, s.vmax)
  end
  if s.vmin == s.vmax then return t:sub(s.vmin):mul(0):add(0.5) end
  local half = t:mul(0.5):sub(s.vmin / 2) -- differences do not overflow
  return half:div(s.vmax / 2 - s.vmin / 2):clamp(0, 1)
end

--- The colours of a matrix, as their numbers in a map, from 0; the last one is
-- that of NaN.
local function painted(unit)
  local absent = unit:isnan()
  return unit:masked_fill(absent, 0):mul(254):round():masked_fill(absent, 255)
    :to("uint8")
end

--- The bounds of the cells of n rows and m columns; row 1 is at the top.
local function cells(s, n, m)
  s.xlow, s.xhigh, s.ylow, s.yhigh = 0.5, m + 0.5, 0.5, n + 0.5
  s.is_x_whole, s.is_y_whole, s.is_grid = true, true, true
  return s
end

--- A matrix in colours.
function series.heatmap(where, value, given)
  local o, s = read(where, "heatmap", given)
  local t = numbers(where, "t", value)
  if t.ndim ~= 2 then
    raise("%s: argument 't' must have two dimensions, got %s", where,
          describe(t))
  end
  s.cmap = colours.check_map(where, o.cmap or "viridis")
  s.has_colourbar = check_flag(where, o, "colorbar") ~= false
  cells(s, t.shape[1], t.shape[2])
  if t:numel() > 0 then
    s.pixels = painted(normalized(where, t:to("float64"), o, s))
  end
  return s
end

--- The pixels of a coloured image, {3, h, w} or {h, w, 3}.
local function coloured(where, t)
  local shape = t.shape
  if shape[1] == 3 or shape[1] == 4 or shape[1] == 1 then
    t = t:permute {2, 3, 1}
  elseif shape[3] ~= 3 and shape[3] ~= 4 and shape[3] ~= 1 then
    raise("%s: an image has 1, 3 or 4 channels, first or last, got %s", where,
          describe(t))
  end
  local whole = t.dtype == "uint8"
  t = t:narrow(3, 1, t.shape[3] == 1 and 1 or 3):expand {-1, -1, 3}
  if not whole then
    t = t:to("float64"):nan_to_num():clamp(0, 1):mul(255):round():to("uint8")
  end
  return t
end

--- An image: numbers in gray, or colours.
function series.image(where, value, given)
  local o, s = read(where, "image", given)
  local t = numbers(where, "t", value)
  if t.ndim ~= 2 and t.ndim ~= 3 then
    raise("%s: argument 't' must have the shape {height, width}, {3, height, "
          .. "width} or {height, width, 3}, got %s", where, describe(t))
  end
  s.cmap = colours.check_map(where, o.cmap or "gray")
  if t.ndim == 3 then
    t = coloured(where, t)
    if t:numel() > 0 then s.pixels = t end
  elseif t:numel() > 0 then
    s.pixels = painted(normalized(where, t:to("float64"), o, s))
  end
  s.is_image = true
  return cells(s, t.shape[1], t.shape[2])
end

return series
