--- Draws a tensor's layout as self-contained SVG, without scripts, fonts or
-- other external resources. It is dark where the reader prefers that.
--
-- The upper part shows the tensor: each cell is labelled with its slot, and a
-- line connects the cells in the order of their slots. The lower part shows the
-- storage: each slot is labelled with its index. A cell has the same colour in
-- both parts, which depends on its index along the dimension with the smallest
-- stride.
--
-- @module strided.layout.svg

local concat, sort = table.concat, table.sort
local abs, ceil, floor, format, ipairs, max, min, setmetatable =
  math.abs, math.ceil, math.floor, string.format, ipairs, math.max, math.min,
  setmetatable

local MARGIN, GAP, CELL = 24, 26, 34
local MIN_WIDTH = 240
local MANY = 16  -- colours, for dimensions larger than #FEW
local MAX_STEPS = 4  -- dimensions up to which strides are described
local SANS = "system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', "
  .. "sans-serif"
local MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
local FEW = {"#a5d2ff", "#ffd592", "#aee8ba", "#f9bccd", "#d9c8f5", "#fff1a1",
             "#b3e9ea", "#e5cbb3"}

-- -- SVG elements ------------------------------------------------------------

local ESCAPES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
                 ['"'] = "&quot;"}

local function escape(text) return (text:gsub('[&<>"]', ESCAPES)) end

local Sheet = {}
Sheet.__index = Sheet

local function new_sheet(width)
  return setmetatable({width = max(width, MIN_WIDTH), y = MARGIN, out = {},
                       right = 0}, Sheet)
end

function Sheet:add(...) self.out[#self.out + 1] = format(...) end

--- Notes that something reaches as far as x.
function Sheet:extend(x) self.right = max(self.right, x) end

--- Adds a text. kind is a class of the style sheet.
function Sheet:text(kind, x, y, text)
  self:add('<text class="%s" x="%.1f" y="%.1f">%s</text>', kind, x, y,
           escape(text))
end

--- Wraps a text into lines of at most `most` characters.
local function wrap(text, most)
  local lines, line = {}, nil
  for word in text:gmatch "%S+" do
    if line and #line + 1 + #word > most then
      lines[#lines + 1], line = line, nil
    end
    line = line and line .. " " .. word or word
  end
  lines[#lines + 1] = line
  return lines
end

--- Adds a paragraph at the left margin; advance is the width of a character.
function Sheet:paragraph(kind, text, advance, height)
  local most = floor((self.width - 2 * MARGIN) / advance)
  for _, line in ipairs(wrap(text, most)) do
    self.y = self.y + height
    self:text(kind, MARGIN, self.y - height * 0.3, line)
    self:extend(MARGIN + #line * advance)
  end
end

local STYLE = [[
<style>
.layout .page { fill: #ffffff }
.layout text { font-family: SANS; fill: #1f2328 }
.layout .title { font-size: 16px; font-weight: 600 }
.layout .head { font-size: 13px; font-weight: 600 }
.layout .note { font-size: 12px; fill: #59636e }
.layout .code { font-family: MONO; font-size: 13px }
.layout .cell, .layout .at, .layout .side, .layout .name, .layout .badge {
  font-family: MONO; text-anchor: middle }
.layout .cell { font-size: 13px }
.layout .at, .layout .side { font-size: 10px; fill: #59636e }
.layout .name { font-size: 12px; text-anchor: start }
.layout .badge { font-size: 9px; fill: #ffffff }
.layout .count { fill: #59636e }
.layout .slot { stroke: #8c959f; stroke-width: 1 }
.layout .idle { stroke: #c4ccd4; stroke-width: 1; stroke-dasharray: 3 3;
  fill: none }
.layout .dot { fill: #8c959f }
.layout .walk { stroke: #1f2328; stroke-width: 1.5; stroke-opacity: 0.3;
  fill: none; stroke-linejoin: round }
.layout .tip { fill: #1f2328; fill-opacity: 0.55 }
@media (prefers-color-scheme: dark) {
.layout .page { fill: #0d1117 }
.layout text { fill: #e6edf3 }
.layout .note, .layout .at, .layout .side { fill: #9da7b3 }
.layout .cell { fill: #1f2328 }
.layout .slot { stroke: #57606a }
.layout .idle { stroke: #3d444d }
}
</style>]]
STYLE = STYLE:gsub("SANS", SANS):gsub("MONO", MONO)

--- The picture: of the given width, or as wide as what was drawn.
function Sheet:finish(title, is_tight)
  local width, height = self.width, ceil(self.y + MARGIN)
  if is_tight then width = min(width, ceil(self.right + MARGIN)) end
  return concat({
    '<?xml version="1.0" encoding="UTF-8"?>',
    format('<svg xmlns="http://www.w3.org/2000/svg" class="layout" '
           .. 'width="%d" height="%d" viewBox="0 0 %d %d" '
           .. 'role="img">', width, height, width, height),
    "<title>" .. escape(title) .. "</title>",
    STYLE,
    '<rect class="page" width="100%" height="100%"/>',
    concat(self.out, "\n"),
    "</svg>\n",
  }, "\n")
end

-- -- Colours -----------------------------------------------------------------

--- A light colour from the hue circle; part is from 0 to 1.
local function hue(part)
  local function channel(shift)
    local at = (part * 5 + shift) % 6
    return floor(255 - 76 * max(0, min(at, 4 - at, 1)))
  end
  return format("#%02x%02x%02x", channel(5), channel(3), channel(1))
end

--- The colour of the element at an index.
local function colour(v, index)
  local n = v.fastest and v.shape[v.fastest] or 1
  local at = v.fastest and index[v.fastest] or 1
  return n <= #FEW and FEW[at] or hue((at - 1) % MANY / MANY)
end

-- -- Cells -------------------------------------------------------------------

local function draw_cell(sheet, x, y, width, fill)
  sheet:add('<rect class="slot" x="%.1f" y="%.1f" width="%.1f" height="%d" '
            .. 'fill="%s"/>', x, y, width, CELL, fill)
  sheet:extend(x + width)
end

--- Draws a cell's text on a patch of the cell's colour, which covers the line.
local function draw_label(sheet, x, y, width, fill, text)
  local patch = 8 * #text + 4
  sheet:add('<rect x="%.1f" y="%.1f" width="%.1f" height="18" rx="4" '
            .. 'fill="%s"/>', x + (width - patch) / 2, y + CELL / 2 - 9,
            patch, fill)
  sheet:text("cell", x + width / 2, y + CELL / 2 + 4.5, text)
end

local function draw_idle(sheet, x, y, width)
  sheet:add('<rect class="idle" x="%.1f" y="%.1f" width="%.1f" '
            .. 'height="%d"/>', x, y, width, CELL)
  sheet:add('<circle class="dot" cx="%.1f" cy="%.1f" r="1.6"/>',
            x + width / 2, y + CELL / 2)
  sheet:extend(x + width)
end

--- Draws the number of indices in the corner of a shared slot.
local function draw_badge(sheet, x, y, text)
  local width = 6 * (#text + 1) + 2
  y = y + CELL - 7
  sheet:add('<rect class="count" x="%.1f" y="%.1f" width="%.1f" '
            .. 'height="13" rx="6.5"/>', x - width + 4, y, width)
  sheet:extend(x + 4)
  sheet:text("badge", x - width / 2 + 4, y + 9.5, "\195\151" .. text)
end

-- -- The line in storage order -----------------------------------------------

--- Draws the head of an arrow from (ax, ay) to (bx, by).
local function draw_tip(sheet, ax, ay, bx, by)
  local dx, dy = bx - ax, by - ay
  local length = max((dx * dx + dy * dy) ^ 0.5, 1)
  dx, dy = dx / length * 8, dy / length * 8
  sheet:add('<path class="tip" d="M%.1f %.1fL%.1f %.1fL%.1f %.1fZ"/>', bx, by,
            bx - dx - dy / 2, by - dy + dx / 2, bx - dx + dy / 2,
            by - dy - dx / 2)
end

--- Draws a line through the cells in the order of their slots, each slot once,
-- with an arrowhead before the last one.
local function draw_walk(sheet, places)
  sort(places, function(a, b)
    if a.slot ~= b.slot then return a.slot < b.slot end
    return a.order < b.order
  end)
  local path, last, before = {}, nil, nil
  for _, p in ipairs(places) do
    if not last or p.slot ~= last.slot then
      path[#path + 1] = format("%s%.1f %.1f", last and "L" or "M", p.x, p.y)
      before, last = last, p
    end
  end
  if not before then return end
  sheet:add('<path class="walk" d="%s"/>', concat(path))
  local dx, dy = last.x - before.x, last.y - before.y
  local part = min(0.5, 14 / max(abs(dx), abs(dy), 1))
  draw_tip(sheet, before.x, before.y, last.x - dx * part, last.y - dy * part)
end

-- -- The tensor --------------------------------------------------------------

--- Draws one block; b has its corner and its sizes.
local function draw_block(sheet, v, o, tools, b)
  local places = {}
  for c = 1, v.ndim > 0 and b.columns or 0 do
    sheet:text("side", b.x + b.side + (c - 0.5) * b.cell, b.y + b.top - 5,
               tools.number(c))
  end
  for r = 1, b.rows do
    local y = b.y + b.top + (r - 1) * CELL
    if v.ndim > 1 then
      sheet:text("side", b.x + b.side / 2, y + CELL / 2 + 4, tools.number(r))
    end
    for c = 1, b.columns do
      local index = tools.index_in(v, b.outer, r, c)
      local slot, x = tools.slot_of(v, index), b.x + b.side + (c - 1) * b.cell
      local fill = colour(v, index)
      draw_cell(sheet, x, y, b.cell, fill)
      places[#places + 1] = {slot = slot, order = #places, fill = fill,
                             x = x + b.cell / 2, y = y + CELL / 2}
    end
  end
  if #places <= o.max then draw_walk(sheet, places) end
  for _, p in ipairs(places) do
    draw_label(sheet, p.x - b.cell / 2, p.y - CELL / 2, b.cell, p.fill,
               tools.number(p.slot))
  end
end

--- The sizes that all blocks share.
local function measure(sheet, v, o, tools)
  local rows, columns = tools.block_size(v)
  local digits = max(#tools.number(max(v.high, 0)), #tools.number(columns))
  local side = v.ndim > 1 and 8 * #tools.number(rows) + 10 or 0
  local cell = max(CELL + 6, 8.5 * digits + 12)
  local room = floor((sheet.width - 2 * MARGIN - side) / cell)
  local b = {cell = cell, side = side, top = 18, rows = min(rows, o.rows),
             columns = max(1, min(columns, room))}
  b.width = side + b.columns * cell
  b.height = b.top + b.rows * CELL
  b.more_rows, b.more_columns = rows - b.rows, columns - b.columns
  return b
end

local function note_left_out(sheet, b, blocks, tools)
  local parts = {}
  if b.more_rows > 0 then
    parts[1] = tools.plural(b.more_rows, "row")
  end
  if b.more_columns > 0 then
    parts[#parts + 1] = tools.plural(b.more_columns, "column")
  end
  if blocks > 0 then
    parts[#parts + 1] = tools.plural(blocks, "more block")
  end
  if #parts == 0 then return end
  sheet.y = sheet.y + 4
  sheet:paragraph("note", "Left out: " .. concat(parts, ", ") .. ".", 6.6, 20)
end

--- The number of blocks per row, at most `room`, such that rows begin where a
-- dimension begins.
local function blocks_per_row(v, room)
  local group = 1
  for d = v.ndim - 2, 1, -1 do
    if group * v.shape[d] > room then break end
    group = group * v.shape[d]
  end
  return max(1, floor(room / group) * group)
end

local function draw_view(sheet, v, o, tools)
  sheet.y = sheet.y + (o.notes and 12 or 4)
  sheet:paragraph("head", "The tensor: which slot each index is in", 7.5, 22)
  if v.numel == 0 then
    sheet:paragraph("note", "It has no elements.", 6.6, 20)
    return
  end
  local b = measure(sheet, v, o, tools)
  local is_named, drawn = v.ndim > 2, 0
  local caption = is_named and 20 or 0
  local advance = max(b.width, is_named
                      and 7.4 * #tools.element_name(v, v.shape) or 0) + GAP
  local per_row = blocks_per_row(v, floor((sheet.width - 2 * MARGIN + GAP)
                                          / advance))
  local more = tools.each_block(v, o.blocks, function(outer)
    local x = MARGIN + drawn % per_row * advance
    if drawn > 0 and drawn % per_row == 0 then
      sheet.y = sheet.y + caption + b.height + 8
    end
    if is_named then
      local name = tools.element_name(v, outer)
      sheet:text("name", x, sheet.y + 16, name)
      sheet:extend(x + 7.4 * #name)
    end
    b.x, b.y, b.outer = x, sheet.y + caption, outer
    draw_block(sheet, v, o, tools, b)
    drawn = drawn + 1
  end)
  sheet.y = sheet.y + caption + b.height
  note_left_out(sheet, b, more, tools)
end

-- -- The storage -------------------------------------------------------------

--- Draws a row of slots [first, last].
local function draw_slots(sheet, v, tools, cells, first, last, width)
  for slot = first, last do
    local x, y, cell = MARGIN + (slot - first) * width, sheet.y + 16,
                       cells[slot]
    sheet:text("at", x + width / 2, y - 4, tools.number(slot))
    if not cell then
      draw_idle(sheet, x, y, width)
    else
      local fill = colour(v, cell.index)
      draw_cell(sheet, x, y, width, fill)
      draw_label(sheet, x, y, width, fill, tools.label(cell.index))
    end
  end
  for slot = first, last do
    local cell = cells[slot]
    if cell and cell.count > 1 then
      draw_badge(sheet, MARGIN + (slot - first + 1) * width, sheet.y + 16,
                 tools.number(cell.count))
    end
  end
  sheet.y = sheet.y + CELL + 26
end

local function draw_storage(sheet, v, o, tools)
  local first, last = tools.window(v, o.max)
  local cells, is_whole = tools.cells(v, first, last)
  local longest = #tools.number(max(last, 0))
  for slot = first, last do
    local cell = cells[slot]
    if cell then longest = max(longest, #tools.label(cell.index)) end
  end
  local width = max(CELL + 2, 8 * longest + 10)
  local per_row = tools.slots_per_row(v, floor((sheet.width - 2 * MARGIN)
                                               / width))
  local text, shared = tools.census(v, cells, first, last)
  sheet.y = sheet.y + 12
  sheet:paragraph("head", "The storage: which index sits in each slot", 7.5,
                  22)
  if o.notes then sheet:paragraph("note", text .. ".", 6.6, 18) end
  sheet.y = sheet.y + 6
  for start = first, last, per_row do
    draw_slots(sheet, v, tools, cells, start, min(start + per_row - 1, last),
               width)
  end
  local missing = tools.left_out(v, first, last)
  if missing then
    sheet:paragraph("note", missing:gsub("^l", "L") .. ".", 6.6, 20)
  end
  if shared > 0 then
    sheet:paragraph("note", "\195\151n: n indices share the slot, of which "
                    .. "the first is shown.", 6.6, 20)
  end
  if not is_whole then
    sheet:paragraph("note", "Indices share slots so often that not all are "
                    .. "counted.", 6.6, 20)
  end
end

-- -- Public function ---------------------------------------------------------

--- Describes the strides in words.
local function steps_text(v, tools)
  local parts = {}
  for d = 1, v.ndim do
    parts[d] = format("%s along dimension %d",
                      tools.plural(v.strides[d], "slot"), d)
  end
  return "One step is " .. concat(parts, ", ") .. "."
end

local function draw_head(sheet, v, o, tools)
  sheet:paragraph("title", tools.header(v), 8.6, 22)
  sheet:paragraph("code", tools.formula(v), 7.9, 22)
  if not o.notes then return end
  sheet:paragraph("note", tools.formats(v):gsub("^%l", function(c)
    return c:upper()
  end) .. ".", 6.6, 18)
  if v.ndim > 0 and v.ndim <= MAX_STEPS then
    sheet:paragraph("note", steps_text(v, tools), 6.6, 18)
  end
  if v.fastest then
    sheet:paragraph("note", format("Colour: the position along dimension %d, "
      .. "whose neighbours are nearest in the storage, %s apart. The line "
      .. "goes from slot to slot.", v.fastest,
      tools.plural(abs(v.strides[v.fastest]), "slot")), 6.6, 18)
  end
end

--- Draws a layout.
-- @tparam table v the geometry of a tensor, from strided.layout
-- @tparam table o width, max, rows, blocks, notes, is_tight
-- @tparam table tools functions of strided.layout
-- @treturn string SVG
local function picture(v, o, tools)
  local sheet = new_sheet(o.width)
  sheet.y = MARGIN - 8
  draw_head(sheet, v, o, tools)
  draw_view(sheet, v, o, tools)
  draw_storage(sheet, v, o, tools)
  return sheet:finish("Layout of a tensor, " .. tools.header(v),
                      o.is_tight)
end

return picture
