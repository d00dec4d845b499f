--- Colours of plots: series, and maps from numbers.
--
-- The colours of series are those of Okabe and Ito, which people with any kind
-- of colour blindness can tell apart, but for black and yellow, one of which
-- is hard to see on dark or light.
--
-- @module strided.plot.colours

local raise = require "strided.argument.caller_error"

local concat, floor, format, match, max, min, pairs, rep, sort,
  tonumber, type = table.concat, math.floor, string.format,
  string.match, math.max, math.min, pairs, string.rep, table.sort, tonumber,
  type

local SERIES = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
                "#56b4e9", "#7f7f7f"}

local NAMED = {
  blue = SERIES[1], vermillion = SERIES[2], green = SERIES[3],
  purple = SERIES[4], orange = SERIES[5], sky = SERIES[6], gray = SERIES[7],
  grey = SERIES[7], red = "#d62728", black = "#222222", yellow = "#f0e442",
  brown = "#8c564b", pink = "#e377c2", cyan = "#17becf", white = "#ffffff",
}

-- Colours at equal distances, between which is a straight line.
local MAPS = {
  viridis = {"#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80",
             "#5ec962", "#addc30", "#fde725"},
  gray = {"#000000", "#ffffff"},
  coolwarm = {"#3b4cc0", "#6f92f3", "#aac7fd", "#dddcdc", "#f7b89c", "#e7745b",
              "#b40426"},
}
MAPS.grey = MAPS.gray

local colours = {count = #SERIES}

--- The colour of the k-th series.
function colours.of(k) return SERIES[(k - 1) % #SERIES + 1] end

--- Red, green and blue, from 0 to 255.
function colours.rgb(hex)
  local r, g, b = match(hex, "^#(%x%x)(%x%x)(%x%x)$")
  return tonumber(r, 16), tonumber(g, 16), tonumber(b, 16)
end

local function names(list)
  local found = {}
  for name in pairs(list) do found[#found + 1] = name end
  sort(found)
  return concat(found, ", ")
end

--- Checks a colour that a caller gave: a name, "#rgb" or "#rrggbb".
-- @tparam string where the called function
-- @param given
-- @treturn string "#rrggbb"
function colours.check(where, given)
  if type(given) == "string" then
    if NAMED[given] then return NAMED[given] end
    local r, g, b = match(given, "^#(%x)(%x)(%x)$")
    if r then return "#" .. rep(r, 2) .. rep(g, 2) .. rep(b, 2) end
    if match(given, "^#%x%x%x%x%x%x$") then return given end
  end
  raise("%s: option 'color' must be \"#rrggbb\" or one of %s, got %s", where,
        names(NAMED), type(given) == "string" and '"' .. given .. '"'
        or type(given))
end

--- Checks the name of a map from numbers to colours.
function colours.check_map(where, given)
  if type(given) == "string" and MAPS[given] then return given end
  raise("%s: option 'cmap' must be one of %s, got %s", where, names(MAPS),
        type(given) == "string" and '"' .. given .. '"' or type(given))
end

--- A map as a list of n colours, each a list of red, green and blue.
function colours.map(name, n)
  local stops, list = MAPS[name], {}
  for i = 1, n do
    local at = n > 1 and (i - 1) / (n - 1) * (#stops - 1) or 0
    local k = min(floor(at), #stops - 2)
    local part = at - k
    local r0, g0, b0 = colours.rgb(stops[k + 1])
    local r1, g1, b1 = colours.rgb(stops[k + 2])
    list[i] = {floor(r0 + (r1 - r0) * part + 0.5),
               floor(g0 + (g1 - g0) * part + 0.5),
               floor(b0 + (b1 - b0) * part + 0.5)}
  end
  return list
end

--- The 256 colours of pixels: a map of 255, and gray for NaN.
function colours.palette(name)
  local list = colours.map(name, 255)
  list[256] = {200, 200, 200}
  return list
end

--- The text of a colour of red, green and blue.
function colours.hex(r, g, b)
  local function byte(x) return max(0, min(255, floor(x + 0.5))) end
  return format("#%02x%02x%02x", byte(r), byte(g), byte(b))
end

return colours
