--- Pixels in SVG: few ones as rectangles, which are sharp at any size, many
-- ones as an embedded PNG. Not every reader of SVG draws the pixels of that as
-- squares, so each is repeated while the PNG is small.
--
-- @module strided.plot.pixels

local colours = require "strided.plot.colours"
local frame = require "strided.plot.frame"
local png = require "strided.plot.png"

local concat, floor, format, ipairs, max, min = table.concat, math.floor,
  string.format, ipairs, math.max, math.min

local FEW = 1600      -- cells that are rectangles
local LARGE = 120000  -- pixels of a PNG whose pixels are repeated

--- The runs of cells of one colour in a row, by colour: a list of {colour, runs
-- {row, first, last} ...}.
local function runs_by_colour(pixels, palette)
  local rows, list, found = pixels:totable(), {}, {}
  local function hex(p)
    local rgb = palette and palette[p + 1] or p
    return colours.hex(rgb[1], rgb[2], rgb[3])
  end
  for r, row in ipairs(rows) do
    local c = 1
    while c <= #row do
      local colour, last = hex(row[c]), c
      while row[last + 1] and hex(row[last + 1]) == colour do
        last = last + 1
      end
      if not found[colour] then
        found[colour] = {colour = colour}
        list[#list + 1] = found[colour]
      end
      local runs = found[colour]
      runs[#runs + 1] = {r, c, last}
      c = last + 1
    end
  end
  return list
end

--- A matrix of pixels as SVG in a rectangle.
-- @tparam Tensor pixels
-- @tparam ?table palette
-- @tparam number x of the corner at the top left
-- @tparam number y
-- @tparam number w
-- @tparam number h
-- @treturn string
return function(pixels, palette, x, y, w, h)
  local rows, columns = pixels.shape[1], pixels.shape[2]
  if rows * columns <= FEW then
    local parts = {'<g shape-rendering="crispEdges">'}
    local function at(c) return x + w * c / columns end
    for _, runs in ipairs(runs_by_colour(pixels, palette)) do
      local d = {}
      for i, run in ipairs(runs) do
        local top = y + h * (run[1] - 1) / rows
        d[i] = format("M%.1f %.1fH%.1fV%.1fH%.1fZ", at(run[2] - 1), top,
                      at(run[3]), top + h / rows, at(run[2] - 1))
      end
      parts[#parts + 1] = format('<path fill="%s" d="%s"/>', runs.colour,
                                 concat(d))
    end
    parts[#parts + 1] = "</g>"
    return concat(parts, "\n")
  end
  pixels = frame.resample(pixels, max(1, floor(w)), max(1, floor(h)))
  local times = min(8, floor((LARGE / (pixels.shape[1] * pixels.shape[2]))
                             ^ 0.5))
  if times > 1 then
    pixels = pixels:repeat_interleave(times, 1):repeat_interleave(times, 2)
  end
  return format('<image class="pixels" x="%.1f" y="%.1f" width="%.1f" '
                .. 'height="%.1f" preserveAspectRatio="none" '
                .. 'href="data:image/png;base64,%s"/>', x, y, w, h,
                png.base64(png.encode(pixels, palette)))
end
