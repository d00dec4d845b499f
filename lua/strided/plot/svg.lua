--- Draws a figure as self-contained SVG, dark where the reader prefers that.
--
-- @module strided.plot.svg

local colours = require "strided.plot.colours"
local frame = require "strided.plot.frame"
local pixels_of = require "strided.plot.pixels"
local words = require "strided.plot.words"

local concat = table.concat
local ceil, floor, format, gsub, ipairs, max, min, setmetatable = math.ceil,
  math.floor, string.format, string.gsub, ipairs, math.max, math.min,
  setmetatable

local EM = 12           -- size of texts, in pixels
local EDGE = 14         -- around everything
local LINE = 18         -- height of a line of the legend
local CIRCLES = 1000    -- points that are circles; more are one path
local BAR, BAR_GAP = 14, 16 -- width of a colour bar, and the space before it
local SLANT, COSINE = 0.62, 0.79 -- of the angle of slanted texts, 38 degrees
local DASHES = {"", ' stroke-dasharray="7 4"', ' stroke-dasharray="2 3"'}

local STYLE = [[
<style>
.plot .page { fill: #ffffff }
.plot text { font-family: system-ui, 'Segoe UI', Helvetica, Arial,
  'DejaVu Sans', sans-serif; font-size: 12px; fill: #3d444d }
.plot .title { font-size: 15px; font-weight: 600; fill: #1f2328 }
.plot .grid { stroke: #8c959f; stroke-opacity: 0.25; stroke-width: 1;
  fill: none }
.plot .minor { stroke-opacity: 0.12 }
.plot .axis { stroke: #6e7781; stroke-width: 1; fill: none }
.plot .line { fill: none; stroke-linejoin: round; stroke-linecap: round }
.plot .pixels { image-rendering: pixelated }
@media (prefers-color-scheme: dark) {
.plot .page { fill: #0d1117 }
.plot text { fill: #c9d1d9 }
.plot .title { fill: #e6edf3 }
.plot .axis { stroke: #9da7b3 }
}
</style>]]

local ESCAPES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
                 ['"'] = "&quot;"}

local function escape(text)
  return (gsub(words.clean(text), '[&<>"]', ESCAPES))
end

--- A coordinate with at most one digit after the point.
local function short(x) return (gsub(format("%.1f", x), "%.0$", "")) end

-- -- Sheets ------------------------------------------------------------------

local Sheet = {}
Sheet.__index = Sheet

function Sheet:add(...) self.out[#self.out + 1] = format(...) end

--- Adds a text; anchor is "start", "middle" or "end"; more, other attributes.
function Sheet:text(x, y, anchor, text, more)
  self:add('<text x="%s" y="%s" text-anchor="%s"%s>%s</text>', short(x),
           short(y), anchor, more or "", escape(text))
end

function Sheet:x(u) return self.left + u * self.w end
function Sheet:y(v) return self.top + (1 - v) * self.h end

-- -- Measures ----------------------------------------------------------------

--- The entries of the legend in rows: {x =, text =, s =}.
local function legend_rows(fig, room)
  local rows, x = {}, 0
  if fig.options.legend == false then return rows end
  for _, s in ipairs(fig.series) do
    if s.label then
      local text = words.shorten(s.label, floor((room - 30) / (EM * 0.56)))
      local w = 28 + words.width(text, EM) + 18
      if #rows == 0 or x + w > room + 18 then
        rows[#rows + 1], x = {}, 0
      end
      local row = rows[#rows]
      row[#row + 1] = {x = x, text = text, s = s}
      x = x + w
    end
  end
  return rows
end

local function widest(ticks)
  local most = 0
  for _, tick in ipairs(ticks) do
    if tick.text then most = max(most, words.width(tick.text, EM)) end
  end
  return most
end

--- True if the texts of ticks fit side by side in w pixels.
local function fit(ticks, w)
  local right
  for _, tick in ipairs(ticks) do
    if tick.text then
      local x, half = tick.at * w, words.width(tick.text, EM) / 2
      if right and x - half < right + 10 then return false end
      right = x + half
    end
  end
  return true
end

--- Texts below the axis that do not fit are slanted; too many are left out.
local function slant(sheet, ticks)
  local skip = max(1, ceil(#ticks * 15 / sheet.w))
  local longest = 0
  for i, tick in ipairs(ticks) do
    tick.text = (i - 1) % skip == 0 and words.shorten(tick.text, 24) or nil
    if tick.text then longest = max(longest, words.width(tick.text, EM)) end
  end
  sheet.is_slanted = true
  local first = ticks[1] and ticks[1].at or 0
  local lacking = EDGE + longest * COSINE - (sheet.left + first * sheet.w)
  if lacking > 0 then
    sheet.left, sheet.w = sheet.left + lacking, max(40, sheet.w - lacking)
  end
  return longest * SLANT + 6
end

--- Fewer and fewer ticks of the x axis, until their texts fit.
local function fit_x(sheet, fr)
  local n = max(2, floor(sheet.w / (fr.x.is_grid and 35 or 70)))
  local ticks, offset
  repeat
    ticks, offset = frame.ticks(fr.x, n)
    if fit(ticks, sheet.w) then return ticks, offset, EM end
    n = n - 1
  until n < 1 or fr.x.texts
  if fr.x.texts then return ticks, offset, slant(sheet, ticks) end
  for i, tick in ipairs(ticks) do
    if i > 1 and i < #ticks then tick.text = nil end
  end
  return ticks, offset, EM
end

--- The one series whose map has a colour bar, or nil.
local function map_of(fig)
  for _, s in ipairs(fig.series) do
    if s.has_colourbar and s.pixels then return s end
  end
end

--- Keeps the pixels of an image square.
local function keep_square(sheet, fig, fr)
  local is_image
  for _, s in ipairs(fig.series) do is_image = is_image or s.is_image end
  if not is_image then return end
  local n, m = fr.x.high - fr.x.low, fr.y.high - fr.y.low
  local size = min(sheet.w / n, sheet.h / m)
  if size == 0 or size ~= size then return end
  local w = size * n
  sheet.left, sheet.w = sheet.left + (sheet.w - w) / 2, w
  sheet.h = size * m
end

local function map_ticks(sheet, s)
  local axis = {low = s.vmin, high = s.vmax}
  if axis.low == axis.high then
    return {{at = 0.5, text = format("%.6g", s.vmin)}}
  end
  return frame.ticks(axis, max(2, floor(sheet.h / 45)))
end

--- Places everything; finds the ticks.
local function measure(sheet, fig, fr)
  local o = fig.options
  local titles = words.wrap(o.title, floor((sheet.width - 2 * EDGE) / 8.6), 3)
  sheet.titles = titles
  sheet.legend = legend_rows(fig, sheet.width - 2 * EDGE)
  sheet.height = sheet.height + LINE * max(0, #sheet.legend - 3)
  sheet.top = EDGE + (#titles > 0 and #titles * 20 + 4 or 0)
              + (#sheet.legend > 0 and #sheet.legend * LINE + 6 or 0)
  local bottom = EDGE + EM + 10 + (o.xlabel and 22 or 0)
  sheet.h = max(40, sheet.height - sheet.top - bottom)
  sheet.yticks, sheet.yoffset = frame.ticks(
    fr.y, max(2, floor(sheet.h / (fr.y.is_grid and 24 or 42))))
  if sheet.yoffset then
    sheet.top, sheet.h = sheet.top + 16, max(40, sheet.h - 16)
  end
  sheet.left = EDGE + widest(sheet.yticks) + 10 + (o.ylabel and 22 or 0)
  local right = EDGE + 10
  local map = map_of(fig)
  if map then
    sheet.map, sheet.map_ticks, sheet.map_offset = map, map_ticks(sheet, map)
    right = EDGE + BAR + BAR_GAP + 8
            + max(widest(sheet.map_ticks),
                  sheet.map_offset and words.width(sheet.map_offset, EM) or 0)
  end
  sheet.w = max(40, sheet.width - sheet.left - right)
  keep_square(sheet, fig, fr)
  local below
  sheet.xticks, sheet.xoffset, below = fit_x(sheet, fr)
  if below > EM then sheet.h = max(40, sheet.h - below + EM) end
  sheet.below = below
end

-- -- Axes --------------------------------------------------------------------

local function draw_grid(sheet, fr)
  local right, bottom = sheet.left + sheet.w, sheet.top + sheet.h
  if fr.x.is_grid then return end
  for _, tick in ipairs(sheet.xticks) do
    if not fr.x.texts then
      local x = short(sheet:x(tick.at))
      sheet:add('<path class="grid%s" d="M%s %sV%s"/>', tick.text and ""
                or " minor", x, short(sheet.top), short(bottom))
    end
  end
  for _, tick in ipairs(sheet.yticks) do
    local y = short(sheet:y(tick.at))
    sheet:add('<path class="grid%s" d="M%s %sH%s"/>', tick.text and ""
              or " minor", short(sheet.left), y, short(right))
  end
end

local function draw_x_texts(sheet, bottom)
  for _, tick in ipairs(sheet.xticks) do
    local x = sheet:x(tick.at)
    if tick.text and sheet.is_slanted then
      local y = bottom + 14
      sheet:text(x + 4, y, "end", tick.text, format(
        ' transform="rotate(-38 %s %s)"', short(x + 4), short(y)))
    elseif tick.text then
      sheet:text(x, bottom + 18, "middle", tick.text)
    end
  end
end

local function draw_axes(sheet, fig, fr)
  local o = fig.options
  local right, bottom = sheet.left + sheet.w, sheet.top + sheet.h
  sheet:add('<path class="axis" d="M%s %sV%sH%s"/>', short(sheet.left),
            short(sheet.top), short(bottom), short(right))
  local zero = frame.zero(fr)
  if zero then
    sheet:add('<path class="axis" d="M%s %sH%s"/>', short(sheet.left),
              short(sheet:y(zero)), short(right))
  end
  draw_x_texts(sheet, bottom)
  for _, tick in ipairs(sheet.yticks) do
    if tick.text then
      sheet:text(sheet.left - 8, sheet:y(tick.at) + 4, "end", tick.text)
    end
  end
  if sheet.yoffset then
    sheet:text(EDGE, sheet.top - 8, "start", sheet.yoffset .. " +")
  end
  local xlabel = o.xlabel
  if sheet.xoffset then
    xlabel = (xlabel and xlabel .. ", " or "") .. sheet.xoffset .. " +"
  end
  if xlabel then
    sheet:text(sheet.left + sheet.w / 2, bottom + sheet.below + 26, "middle",
               words.shorten(xlabel, floor(sheet.w / (EM * 0.56))))
  end
  if o.ylabel then
    local x = sheet.left - widest(sheet.yticks) - 18
    local y = sheet.top + sheet.h / 2
    sheet:text(x, y, "middle",
               words.shorten(o.ylabel, floor(sheet.h / (EM * 0.56))),
               format(' transform="rotate(-90 %s %s)"', short(x), short(y)))
  end
end

local function draw_titles(sheet)
  for i, line in ipairs(sheet.titles) do
    sheet:text(sheet.width / 2, EDGE + 20 * i - 5, "middle", line,
               ' class="title"')
  end
end

--- The sign of a series in the legend.
local function draw_sign(sheet, s, x, y)
  if s.kind == "line" then
    sheet:add('<path class="line" d="M%s %sh20" stroke="%s" '
              .. 'stroke-width="%s"%s/>', short(x), short(y), s.paint,
              short(min(s.linewidth, 5)), s.dash)
  elseif s.kind == "scatter" then
    sheet:add('<circle cx="%s" cy="%s" r="4" fill="%s"/>', short(x + 10),
              short(y), s.paint)
  else
    sheet:add('<rect x="%s" y="%s" width="14" height="10" fill="%s"/>',
              short(x + 4), short(y - 5), s.paint)
  end
end

local function draw_legend(sheet)
  local y = EDGE + (#sheet.titles > 0 and #sheet.titles * 20 + 4 or 0)
  for r, row in ipairs(sheet.legend) do
    local last = row[#row]
    local used = last.x + 28 + words.width(last.text, EM)
    local start = max(EDGE, min(sheet.left, sheet.width - EDGE - used))
    for _, entry in ipairs(row) do
      local x, middle = start + entry.x, y + (r - 0.5) * LINE
      draw_sign(sheet, entry.s, x, middle)
      sheet:text(x + 28, middle + 4, "start", entry.text)
    end
  end
end

local function draw_map(sheet)
  local s = sheet.map
  if not s then return end
  local x, stops = sheet.left + sheet.w + BAR_GAP, colours.map(s.cmap, 17)
  sheet:add('<linearGradient id="map-%s" x1="0" y1="1" x2="0" y2="0">', s.cmap)
  for i, rgb in ipairs(stops) do
    sheet:add('<stop offset="%s" stop-color="%s"/>',
              gsub(format("%.4f", (i - 1) / 16), "%.?0+$", ""),
              colours.hex(rgb[1], rgb[2], rgb[3]))
  end
  sheet:add('</linearGradient>')
  sheet:add('<rect x="%s" y="%s" width="%d" height="%s" '
            .. 'fill="url(#map-%s)"/>', short(x), short(sheet.top), BAR,
            short(sheet.h), s.cmap)
  for _, tick in ipairs(sheet.map_ticks) do
    sheet:text(x + BAR + 6, sheet:y(tick.at) + 4, "start", tick.text)
  end
  if sheet.map_offset then
    sheet:text(sheet.width - EDGE, sheet.top - 6, "end",
               sheet.map_offset .. " +")
  end
end

-- -- Series ------------------------------------------------------------------

local function draw_runs(sheet, s, runs)
  local parts, dots = {}, {}
  for _, run in ipairs(runs) do
    if #run == 2 then
      dots[#dots + 1] = format("M%s %sh0", short(sheet:x(run[1])),
                               short(sheet:y(run[2])))
    end
    for i = 1, #run > 2 and #run or 0, 2 do
      parts[#parts + 1] = (i == 1 and "M" or "L") .. short(sheet:x(run[i]))
        .. " " .. short(sheet:y(run[i + 1]))
    end
  end
  if parts[1] then
    sheet:add('<path class="line" d="%s" stroke="%s" stroke-width="%s"%s/>',
              concat(parts), s.paint, short(s.linewidth), s.dash)
  end
  if dots[1] then
    sheet:add('<path class="line" d="%s" stroke="%s" stroke-width="%s"/>',
              concat(dots), s.paint, short(max(3, 2 * s.linewidth)))
  end
end

local function draw_points(sheet, s, points)
  local us, vs = points[1], points[2]
  if #us > CIRCLES then
    local parts = {}
    for i = 1, #us do
      parts[i] = format("M%s %sh0", short(sheet:x(us[i])),
                        short(sheet:y(vs[i])))
    end
    sheet:add('<path class="line" d="%s" stroke="%s" stroke-width="%s"/>',
              concat(parts), s.paint, short(min(s.size, 3)))
    return
  end
  for i = 1, #us do
    sheet:add('<circle cx="%s" cy="%s" r="%s" fill="%s"/>',
              short(sheet:x(us[i])), short(sheet:y(vs[i])),
              short(s.size / 2 + 1), s.paint)
  end
end

local function draw_bars(sheet, s, bars, opacity)
  sheet:add('<g fill="%s" fill-opacity="%s">', s.paint, opacity)
  for _, bar in ipairs(bars) do
    local x, w = sheet:x(bar[1]), (bar[3] - bar[1]) * sheet.w
    local gap = s.kind == "hist" and w > 5 and 1 or 0
    sheet:add('<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f"/>',
              x + gap / 2, sheet:y(bar[4]), max(w - gap, 0.3),
              (bar[4] - bar[2]) * sheet.h)
  end
  sheet:add('</g>')
end

local function draw_pixels(sheet, s, box)
  local palette = s.pixels.ndim == 2 and colours.palette(s.cmap) or nil
  sheet.out[#sheet.out + 1] = pixels_of(
    s.pixels, palette, sheet:x(box[1]), sheet:y(box[4]),
    (box[3] - box[1]) * sheet.w, (box[4] - box[2]) * sheet.h)
end

local function draw_series(sheet, fig, fr)
  local rank, hists = 0, 0
  for _, s in ipairs(fig.series) do
    if s.kind == "hist" then hists = hists + 1 end
  end
  for k, s in ipairs(fig.series) do
    s.paint = s.colour or colours.of(k)
    s.dash = DASHES[floor((k - 1) / colours.count) % #DASHES + 1]
    if s.kind == "bar" then rank = rank + 1 end
    local drawn = frame.draw(fr, s, rank, floor(sheet.w), floor(sheet.h))
    if drawn.box then draw_pixels(sheet, s, drawn.box) end
    if drawn.bars then
      draw_bars(sheet, s, drawn.bars, hists > 1 and "0.55" or "1")
    end
    if drawn.runs then draw_runs(sheet, s, drawn.runs) end
    if drawn.points then draw_points(sheet, s, drawn.points) end
  end
end

--- A figure as SVG.
-- @tparam table fig
-- @tparam number width in pixels
-- @tparam number height
-- @treturn string
return function(fig, width, height)
  local sheet = setmetatable({out = {}, width = width, height = height}, Sheet)
  local fr = frame.new(fig)
  measure(sheet, fig, fr)
  local clip = format("plot-%.0f-%.0f-%.0f-%.0f", sheet.left, sheet.top,
                      sheet.w, sheet.h)
  sheet:add('<clipPath id="%s"><rect x="%s" y="%s" width="%s" height="%s"/>'
            .. '</clipPath>', clip, short(sheet.left - 3), short(sheet.top - 3),
            short(sheet.w + 6), short(sheet.h + 6))
  draw_grid(sheet, fr)
  sheet:add('<g clip-path="url(#%s)">', clip)
  draw_series(sheet, fig, fr)
  sheet:add('</g>')
  draw_axes(sheet, fig, fr)
  draw_map(sheet)
  draw_titles(sheet)
  draw_legend(sheet)
  return concat({
    '<?xml version="1.0" encoding="UTF-8"?>',
    format('<svg xmlns="http://www.w3.org/2000/svg" class="plot" '
           .. 'width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" '
           .. 'role="img">', width, sheet.height, width, sheet.height),
    "<title>" .. escape(fig.options.title or "Plot") .. "</title>",
    STYLE, '<rect class="page" width="100%" height="100%"/>',
    concat(sheet.out, "\n"), "</svg>\n",
  }, "\n")
end
