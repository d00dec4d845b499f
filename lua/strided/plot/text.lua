--- Draws a figure with characters: lines and points in Braille, eight dots a
-- cell; bars in eighths of blocks; pixels in half blocks or shades.
--
-- @module strided.plot.text

local colours = require "strided.plot.colours"
local frame = require "strided.plot.frame"
local words = require "strided.plot.words"

local concat = table.concat
local abs, ceil, char, floor, format, gsub, ipairs, max, min, rep, select,
  setmetatable = math.abs, math.ceil, string.char, math.floor, string.format,
  string.gsub, ipairs, math.max, math.min, string.rep, select, setmetatable

local require = require "strided.core".require

local EIGHTHS = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
local SHADES = {" ", "░", "▒", "▓", "█"}
-- Without colours, what tells the second series from the first, and so on.
local SIGNS = {false, "×", "○", "+", "*", "#", "◆", "@"}
local DOTS = { -- of a cell, by row and column
  {1, 8}, {2, 16}, {4, 32}, {64, 128},
}
local BAR = 24 -- cells of a colour bar

-- -- Canvas ------------------------------------------------------------------

local Canvas = {}
Canvas.__index = Canvas

local function new_canvas(columns, rows)
  return setmetatable({columns = columns, rows = rows, signs = {}, dots = {},
                       paints = {}, grounds = {}}, Canvas)
end

--- Writes a character into a cell; rows and columns count from 0.
function Canvas:put(c, r, sign, paint, ground)
  local at = r * self.columns + c
  self.signs[at], self.paints[at], self.grounds[at] = sign, paint, ground
end

--- Sets a dot of 2 * columns by 4 * rows, or the sign of its cell.
function Canvas:dot(x, y, paint, sign)
  local c, r = floor(x / 2), floor(y / 4)
  if sign then return self:put(c, r, sign, paint) end
  local at = r * self.columns + c
  local bit = DOTS[y % 4 + 1][x % 2 + 1]
  local dots = self.dots[at] or 0
  if floor(dots / bit) % 2 == 0 then self.dots[at] = dots + bit end
  self.signs[at], self.paints[at] = nil, paint
end

--- A line of Bresenham between two dots.
function Canvas:line(x0, y0, x1, y1, paint, sign)
  local dx, dy = abs(x1 - x0), -abs(y1 - y0)
  local sx, sy = x0 < x1 and 1 or -1, y0 < y1 and 1 or -1
  local err = dx + dy
  while true do
    self:dot(x0, y0, paint, sign)
    if x0 == x1 and y0 == y1 then return end
    local twice = 2 * err
    if twice >= dy then err, x0 = err + dy, x0 + sx end
    if twice <= dx then err, y0 = err + dx, y0 + sy end
  end
end

--- The dot at a place in units.
function Canvas:place(u, v)
  local n, m = 2 * self.columns, 4 * self.rows
  return max(0, min(n - 1, floor(u * n))),
         max(0, min(m - 1, floor((1 - v) * m)))
end

local function braille(dots)
  return char(226, 160 + floor(dots / 64), 128 + dots % 64)
end

--- The escape sequence of a colour in the foreground or the background.
local function sequence(hex, depth, ground)
  local r, g, b = colours.rgb(hex)
  if depth > 256 then return format("%d;2;%d;%d;%d", ground, r, g, b) end
  local function step(x) -- of 0, 95, 135, 175, 215, 255
    return x < 48 and 0 or x < 115 and 1 or floor((x - 35) / 40)
  end
  return format("%d;5;%d", ground, 16 + 36 * step(r) + 6 * step(g) + step(b))
end

--- A row as text, with colours of the given depth, or none (0).
function Canvas:row(r, depth)
  local parts, before = {}, ""
  for c = 0, self.columns - 1 do
    local at = r * self.columns + c
    local sign = self.signs[at] or
                 self.dots[at] and braille(self.dots[at]) or " "
    local style = ""
    if depth > 0 and sign ~= " " then
      local paint, ground = self.paints[at], self.grounds[at]
      style = (paint and sequence(paint, depth, 38) or "")
        .. (ground and ";" .. sequence(ground, depth, 48) or "")
    end
    if style ~= before then
      parts[#parts + 1] = before ~= "" and "\27[0m" or ""
      parts[#parts + 1] = style ~= "" and "\27[" .. style .. "m" or ""
      before = style
    end
    parts[#parts + 1] = sign
  end
  return concat(parts) .. (before ~= "" and "\27[0m" or "")
end

-- -- Series ------------------------------------------------------------------

local function draw_runs(canvas, runs, paint, sign)
  for _, run in ipairs(runs) do
    local x0, y0 = canvas:place(run[1], run[2])
    if #run == 2 then canvas:dot(x0, y0, paint, sign) end
    for i = 3, #run, 2 do
      local x1, y1 = canvas:place(run[i], run[i + 1])
      canvas:line(x0, y0, x1, y1, paint, sign)
      x0, y0 = x1, y1
    end
  end
end

--- The sign of the part [v0, v1] of a cell from `low` to `high`, or nil.
local function block(v0, v1, low, high)
  local from, to = max(v0, low), min(v1, high)
  local share = (to - from) / (high - low)
  if share <= 1e-9 then return nil end
  local eighths = floor(share * 8 + 0.5)
  if from > low + 1e-9 then -- it hangs from above
    return eighths >= 6 and "█" or eighths >= 2 and "▀" or nil
  end
  return EIGHTHS[max(1, min(8, eighths))]
end

local function draw_bars(canvas, bars, paint)
  local n, m = canvas.columns, canvas.rows
  for _, bar in ipairs(bars) do
    local first = floor(bar[1] * n + 0.5)
    local last = max(first, floor(bar[3] * n + 0.5) - 1)
    for c = min(first, n - 1), min(last, n - 1) do
      for r = 0, m - 1 do
        local sign = block(bar[2], bar[4], 1 - (r + 1) / m, 1 - r / m)
        local old = canvas.signs[r * n + c]
        if sign and not (old and old > sign) then
          canvas:put(c, r, sign, paint)
        end
      end
    end
  end
end

--- Indices from 1 of the nearest ones of `size` pixels, for n cells.
local function nearest(size, n)
  return require("strided").arange(0, n, {dtype = "float64"}):add(0.5)
    :mul(size / n):floor():clamp(0, size - 1):to("int64"):add(1)
end

--- Colours and brightness, by row and column, of pixels as n by m cells.
local function sample(s, n, m)
  local pixels = s.pixels:index_select(1, nearest(s.pixels.shape[1], m))
    :index_select(2, nearest(s.pixels.shape[2], n)):totable()
  local palette = s.pixels.ndim == 2 and colours.palette(s.cmap)
  return function(x, y)
    local p = pixels[y][x]
    local rgb = palette and palette[p + 1] or p
    local light = palette and (p == 255 and -1 or p / 254) or
                  (0.3 * rgb[1] + 0.59 * rgb[2] + 0.11 * rgb[3]) / 255
    return colours.hex(rgb[1], rgb[2], rgb[3]), light
  end
end

local function draw_pixels(canvas, s, depth)
  local n, m = canvas.columns, canvas.rows
  local at = sample(s, n, depth > 0 and 2 * m or m)
  for r = 0, m - 1 do
    for c = 0, n - 1 do
      if depth > 0 then
        canvas:put(c, r, "▀", (at(c + 1, 2 * r + 1)), (at(c + 1, 2 * r + 2)))
      else
        local _, light = at(c + 1, r + 1)
        canvas:put(c, r, light < 0 and "?" or
                   SHADES[min(#SHADES, floor(light * #SHADES) + 1)])
      end
    end
  end
end

--- What a series is drawn with: its colour; without colours, its sign.
local function pen(k, s, depth)
  if depth > 0 then return s.colour or colours.of(k), nil end
  return nil, SIGNS[(k - 1) % #SIGNS + 1] or nil
end

local function draw_series(canvas, fig, fr, depth)
  local rank = 0
  for k, s in ipairs(fig.series) do
    local paint, sign = pen(k, s, depth)
    if s.kind == "bar" then rank = rank + 1 end
    -- Twice the dots: points lie in cells of two by two.
    local drawn = frame.draw(fr, s, rank, 4 * canvas.columns, 8 * canvas.rows)
    if drawn.box then draw_pixels(canvas, s, depth) end
    if drawn.bars then draw_bars(canvas, drawn.bars, paint) end
    if drawn.runs then draw_runs(canvas, drawn.runs, paint, sign) end
    if drawn.points then
      for i = 1, #drawn.points[1] do
        local x, y = canvas:place(drawn.points[1][i], drawn.points[2][i])
        canvas:dot(x, y, paint, sign)
      end
    end
  end
end

-- -- Around the canvas -------------------------------------------------------

local function spaces(n) return rep(" ", max(0, n)) end

--- A text in the middle of n columns that begin at `left`.
local function centred(text, left, n)
  text = words.shorten(text, max(n, 8))
  return spaces(left + floor((n - words.length(text)) / 2)) .. text
end

local function legend(fig, left, width, depth, lines)
  if fig.options.legend == false then return end
  local line, used = {}, left
  for k, s in ipairs(fig.series) do
    if s.label then
      local paint, sign = pen(k, s, depth)
      local is_bar = s.kind == "hist" or s.kind == "bar"
      sign = is_bar and "█" or sign or s.kind == "scatter" and "⠂" or "⠤⠤"
      local text = words.shorten(s.label, max(4, width - left - 4))
      local wide = words.length(sign .. " " .. text)
      if #line > 0 and used + wide + 3 > width then
        lines[#lines + 1] = spaces(left) .. concat(line, "   ")
        line, used = {}, left
      end
      if paint then
        sign = "\27[" .. sequence(paint, depth, 38) .. "m" .. sign .. "\27[0m"
      end
      line[#line + 1], used = sign .. " " .. text, used + wide + 3
    end
  end
  if #line > 0 then lines[#lines + 1] = spaces(left) .. concat(line, "   ") end
end

--- The line of ticks below the canvas, and that of their texts.
local function bottom(ticks, left, columns, width)
  local marks, texts, used = {}, "", 0
  for c = 1, columns do marks[c] = "─" end
  for _, tick in ipairs(ticks) do
    if tick.text then
      local c = min(columns - 1, floor(tick.at * columns))
      local n = words.length(tick.text)
      local from = max(0, min(left + c - floor(n / 2), width - n))
      if used == 0 or from > used then
        marks[c + 1] = "┬"
        texts = texts .. spaces(from - used) .. tick.text
        used = from + n
      end
    end
  end
  return spaces(left - 1) .. "└" .. concat(marks), texts
end

--- The texts of the y axis by rows of the canvas.
local function side(ticks, rows)
  local by_row, wide = {}, 0
  for _, tick in ipairs(ticks) do
    local r = max(0, min(rows - 1, floor((1 - tick.at) * rows)))
    if tick.text and not by_row[r] then
      by_row[r] = tick.text
      wide = max(wide, words.length(tick.text))
    end
  end
  return by_row, wide
end

local function colourbar(s, left, depth)
  local map, parts = colours.map(s.cmap, BAR), {}
  for i = 1, BAR do
    local rgb = map[i]
    parts[i] = depth > 0 and "\27[" .. sequence(colours.hex(
      rgb[1], rgb[2], rgb[3]), depth, 38) .. "m█"
      or SHADES[min(#SHADES, floor((i - 1) / (BAR - 1) * #SHADES) + 1)]
  end
  return spaces(left) .. format("%.4g ", s.vmin) .. concat(parts)
    .. (depth > 0 and "\27[0m" or "") .. format(" %.4g", s.vmax)
end

--- The size of the canvas: images keep their pixels square.
local function size(fig, columns, height)
  local rows = height or max(6, min(16, floor(columns / 4)))
  for _, s in ipairs(fig.series) do
    if s.is_image and s.pixels then
      local shape = s.pixels.shape
      local scale = min(columns / shape[2], 2 * (height or 20) / shape[1])
      return max(1, floor(shape[2] * scale)),
             max(1, ceil(floor(shape[1] * scale) / 2))
    end
  end
  return columns, rows
end

--- Fewer and fewer ticks of the x axis, until their texts fit.
local function fit_x(fr, columns, width)
  for n = min(8, floor(columns / 6)), 2, -1 do
    local ticks, offset = frame.ticks(fr.x, n)
    local right, fits = -width, true
    for _, tick in ipairs(ticks) do
      local half = tick.text and words.length(tick.text) / 2 or 0
      if half > 0 then
        local x = tick.at * columns
        fits = fits and x - half >= right + 2
        right = x + half
      end
    end
    if fits then return ticks, offset end
  end
  return frame.ticks(fr.x, 1)
end

--- A label that says what to add to the texts of ticks.
local function with_offset(label, offset)
  if not offset then return label end
  return (label and label .. ", " or "") .. offset .. " +"
end

local function body(fig, fr, width, height, depth, lines)
  local rough = select(2, size(fig, width - 8, height))
  local yticks, yoffset = frame.ticks(fr.y, max(2, floor(rough / 2)))
  local by_row, wide = side(yticks, rough)
  local left = wide + 2
  local columns, rows = size(fig, max(8, width - left - 1), height or rough)
  if rows ~= rough then by_row = side(yticks, rows) end
  local canvas = new_canvas(columns, rows)
  draw_series(canvas, fig, fr, depth)
  local o = fig.options
  if o.title then lines[#lines + 1] = centred(o.title, left, columns) end
  legend(fig, left, width, depth, lines)
  local ylabel = with_offset(o.ylabel, yoffset)
  if ylabel then lines[#lines + 1] = words.shorten(ylabel, width) end
  for r = 0, rows - 1 do
    local text = by_row[r] or ""
    lines[#lines + 1] = spaces(wide - words.length(text)) .. text .. " "
      .. (by_row[r] and "┤" or "│") .. canvas:row(r, depth)
  end
  local xticks, xoffset = fit_x(fr, columns, width)
  lines[#lines + 1], lines[#lines + 2] = bottom(xticks, left, columns, width)
  local xlabel = with_offset(o.xlabel, xoffset)
  if xlabel then lines[#lines + 1] = centred(xlabel, left, columns) end
  for _, s in ipairs(fig.series) do
    if s.has_colourbar and s.pixels then
      lines[#lines + 1] = colourbar(s, left, depth)
    end
  end
end

--- A figure as text.
-- @tparam table fig
-- @tparam integer width in columns
-- @tparam ?integer height rows of the part within the axes
-- @tparam integer depth number of colours of the terminal, 0 for none
-- @treturn string lines, without a line feed at the end
return function(fig, width, height, depth)
  local lines = {}
  body(fig, frame.new(fig), max(20, width), height, depth, lines)
  for i = 1, #lines do lines[i] = gsub(lines[i], "%s+$", "") end
  return concat(lines, "\n")
end
