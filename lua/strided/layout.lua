--- Draws the mapping between a tensor's indices and the slots of its storage,
-- as text or as SVG.
--
-- Slots count from 0, as offsets do; indices count from 1. The element at index
-- {i, j} of a tensor with strides {a, b} is in slot
-- offset + a * (i - 1) + b * (j - 1). The grid shows the slot of each index;
-- the storage shows the index of each slot.
--
-- @module strided.layout

local core = require "strided.core"
local raise = require "strided.argument.caller_error"
local unknown_option = require "strided.option.unknown_option"

local concat, sort = table.concat, table.sort
local abs, ceil, floor, format, ipairs, max, min, pairs, tonumber, tostring,
  type = math.abs, math.ceil, math.floor, string.format, ipairs, math.max,
  math.min, pairs, tonumber, tostring, type

local require = require "strided.core".require

local SHORT = 6        -- slots that are a row of their own
local BUDGET = 200000  -- steps of the search for the indices of slots
local FORMATS = {"contiguous_format", "channels_last", "channels_last_3d"}

local DEFAULTS = {
  text = {width = 80, max = 96, rows = 10, blocks = 6},
  svg = {width = 760, max = 120, rows = 12, blocks = 12, notes = true},
}

-- -- A tensor's geometry -----------------------------------------------------

--- The lowest and the highest slot of any index.
local function reach(v)
  local low, high = v.offset, v.offset
  for d = 1, v.ndim do
    local span = (v.shape[d] - 1) * v.strides[d]
    low, high = low + min(span, 0), high + max(span, 0)
  end
  return low, high
end

--- The dimension with the smallest nonzero stride, or nil.
local function fastest_dim(v)
  local best
  for d = v.ndim, 1, -1 do
    if v.shape[d] > 1 and v.strides[d] ~= 0 and
       (not best or abs(v.strides[d]) < abs(v.strides[best])) then
      best = d
    end
  end
  return best
end

--- Converts an integer to a Lua number; rounding is harmless, because nothing
-- that large is drawn.
local function plain(n)
  return type(n) == "number" and n or tonumber(tostring(n):match "-?%d+")
end

local function plain_list(list)
  local copy = {}
  for i = 1, #list do copy[i] = plain(list[i]) end
  return copy
end

--- The geometry of t: its sizes, strides and storage as plain numbers.
local function geometry(t)
  local v = {shape = plain_list(t.shape), strides = plain_list(t:stride()),
             ndim = t.ndim, offset = plain(t:storage_offset()),
             numel = plain(t:numel()),
             dtype = tostring(t.dtype), itemsize = t:element_size(),
             device = t.device, formats = {}}
  local _, nbytes = t:storage()
  v.slots = floor(nbytes / v.itemsize)
  for _, name in ipairs(FORMATS) do
    if t:is_contiguous {memory_format = name} then
      v.formats[#v.formats + 1] = name
    end
  end
  v.low, v.high = v.offset, v.offset - 1
  if v.numel > 0 then v.low, v.high = reach(v) end
  v.fastest = v.numel > 0 and fastest_dim(v) or nil
  return v
end

local function slot_of(v, index)
  local slot = v.offset
  for d = 1, v.ndim do slot = slot + (index[d] - 1) * v.strides[d] end
  return slot
end

-- -- From slots to indices ---------------------------------------------------

--- True if index a precedes index b in row-major order.
local function is_before(a, b)
  for d = 1, #a do
    if a[d] ~= b[d] then return a[d] < b[d] end
  end
  return false
end

--- The dimensions with size > 1 and a nonzero stride, by decreasing stride,
-- each with the range [low, high] of offsets of the dimensions after it; and
-- the number of indices that share each slot through dimensions of stride 0.
local function moving_dims(v)
  local dims, times = {}, 1
  for d = 1, v.ndim do
    if v.strides[d] == 0 then times = times * v.shape[d]
    elseif v.shape[d] > 1 then dims[#dims + 1] = {d = d} end
  end
  sort(dims, function(a, b)
    local sa, sb = abs(v.strides[a.d]), abs(v.strides[b.d])
    if sa ~= sb then return sa > sb end
    return a.d < b.d
  end)
  local low, high = 0, 0
  for k = #dims, 1, -1 do
    local dim, span = dims[k], (v.shape[dims[k].d] - 1) * v.strides[dims[k].d]
    dim.low, dim.high = low, high
    low, high = low + min(span, 0), high + max(span, 0)
  end
  return dims, times
end

--- The range of indices (from 0) along a dimension from which slots in [first,
-- last] are reachable.
local function positions(v, dim, base, first, last)
  local stride, n = v.strides[dim.d], v.shape[dim.d]
  local a = (first - base - dim.high) / stride
  local b = (last - base - dim.low) / stride
  if stride < 0 then a, b = b, a end
  return max(0, ceil(a)), min(n - 1, floor(b))
end

--- Finds the indices of the slots [first, last]: returns cells[slot] = {index =
-- the first index in the slot, count = the number of indices}, and false if the
-- search exceeded its budget.
local function find_cells(v, first, last)
  local cells, left, index = {}, BUDGET, {}
  local dims, times = moving_dims(v)
  for d = 1, v.ndim do index[d] = 1 end
  local function put(slot)
    local cell = cells[slot]
    if not cell then
      cell = {count = 0}
      cells[slot] = cell
    end
    cell.count = cell.count + times
    if cell.index and not is_before(index, cell.index) then return end
    cell.index = {}
    for d = 1, v.ndim do cell.index[d] = index[d] end
  end
  local function visit(k, base)
    left = left - 1
    if left < 0 then return end
    local dim = dims[k]
    if not dim then return put(base) end
    local from, to = positions(v, dim, base, first, last)
    for i = from, to do
      index[dim.d] = i + 1
      visit(k + 1, base + i * v.strides[dim.d])
    end
    index[dim.d] = 1
  end
  local is_near = v.numel > 0 and v.low <= last and v.high >= first
  if is_near then visit(1, v.offset) end
  return cells, left >= 0
end

--- The range of slots to draw: all, or `most` slots from the lowest slot of the
-- tensor on.
local function window(v, most)
  if v.slots <= most then return 0, v.slots - 1 end
  local first = max(0, min(v.low, v.slots - most))
  return first, first + most - 1
end

--- The number of slots per row, at most `room`: a multiple of the size of the
-- dense inner dimensions, or else the largest stride that fits, or a multiple
-- of a small one, so that rows begin where a dimension begins.
local function slots_per_row(v, room)
  local group, dims, step = 1, moving_dims(v), nil
  for k = #dims, 1, -1 do
    local d = dims[k].d
    if v.strides[d] ~= group then
      step = abs(v.strides[d])
      break
    end
    if group * v.shape[d] > room then break end
    group = group * v.shape[d]
  end
  for _, dim in ipairs(dims) do -- by decreasing stride
    local far = abs(v.strides[dim.d])
    if group == 1 and far <= room and (step or 1) < far then step = far end
  end
  if step and step > group and step <= room then
    if step >= SHORT then return step end
    group = step
  end
  return max(1, floor(room / group) * group)
end

-- -- Grids -------------------------------------------------------------------

--- Calls fn(outer) for each index into the dimensions before the last two, at
-- most `most` times; returns the number of blocks left out.
local function each_block(v, most, fn)
  local outer, total = {}, 1
  for d = 1, v.ndim - 2 do
    outer[d] = 1
    total = total * v.shape[d]
  end
  for _ = 1, min(total, most) do
    fn(outer)
    for d = v.ndim - 2, 1, -1 do
      outer[d] = outer[d] + 1
      if outer[d] <= v.shape[d] then break end
      outer[d] = 1
    end
  end
  return max(0, total - most)
end

--- The rows and columns of a block: the sizes of the last two dimensions; a
-- vector is one row.
local function block_size(v)
  if v.ndim == 0 then return 1, 1 end
  return v.ndim > 1 and v.shape[v.ndim - 1] or 1, v.shape[v.ndim]
end

--- The full index of a cell of a block.
local function index_in(v, outer, row, column)
  local index = {}
  for d = 1, v.ndim - 2 do index[d] = outer[d] end
  if v.ndim > 1 then index[v.ndim - 1] = row end
  if v.ndim > 0 then index[v.ndim] = column end
  return index
end

-- -- Labels ------------------------------------------------------------------

local LETTERS = "ijklmnopqrstuvwxyz"

local function number(n) return format("%.14g", n) end

local function plural(n, what)
  return format("%s %s%s", number(n), what, n == 1 and "" or "s")
end

local function list(values)
  local texts = {}
  for i = 1, #values do texts[i] = number(values[i]) end
  return "{" .. concat(texts, ", ") .. "}"
end

local function label(index)
  if #index == 0 then return "()" end
  local texts = {}
  for d = 1, #index do texts[d] = number(index[d]) end
  return concat(texts, ",")
end

--- i, j, k, ...; with many dimensions i1, i2, i3, ...
local function letter(v, d)
  return v.ndim > 6 and "i" .. d or LETTERS:sub(d, d)
end

--- "t[2][1][i][j]"
local function element_name(v, outer)
  local texts = {"t"}
  for d = 1, v.ndim do
    local at = outer and d <= v.ndim - 2 and number(outer[d]) or letter(v, d)
    texts[d + 1] = "[" .. at .. "]"
  end
  return concat(texts)
end

local function header(v)
  return format("shape %s, strides %s, offset %s, %s", list(v.shape),
                list(v.strides), number(v.offset), v.dtype)
end

local function formats(v)
  if v.ndim == 0 then return "a single number" end
  if #v.formats == 0 then return "in none of the memory formats" end
  return "in memory format " .. concat(v.formats, " and ")
end

--- "t[i][j] is in slot 3*(i-1) + (j-1)"
local function formula(v)
  local terms, still = {}, {}
  if v.offset ~= 0 or v.ndim == 0 then terms[1] = number(v.offset) end
  for d = 1, v.ndim do
    local factor = v.strides[d] == 1 and "" or number(v.strides[d]) .. "*"
    if v.strides[d] == 0 then
      still[#still + 1] = letter(v, d)
    else
      terms[#terms + 1] = format("%s(%s-1)", factor, letter(v, d))
    end
  end
  local sum = #terms == 0 and "0" or concat(terms, " + ")
  return element_name(v) .. " is in slot " .. sum
    .. (#still > 0 and ", whatever " .. concat(still, " and ") or "")
end

--- Counts elements, slots, unused slots and shared slots, as text; `cells`
-- covers the slots from first to last. Also returns the number of shared slots.
local function census(v, cells, first, last)
  local reached, shared = 0, 0
  for slot = first, last do
    local cell = cells[slot]
    if cell then reached = reached + 1 end
    if cell and cell.count > 1 then shared = shared + 1 end
  end
  local text = format("%s in a storage of %s, %s each",
                      plural(v.numel, "element"), plural(v.slots, "slot"),
                      plural(v.itemsize, "byte"))
  if v.numel == 0 or last - first + 1 < v.slots then return text, shared end
  local idle = v.slots - reached
  if idle > 0 then text = text .. format("; %s not used", number(idle)) end
  if shared > 0 then
    text = text .. format("; %s shared by several indices", number(shared))
  end
  return text, shared
end

local function left_out(v, first, last)
  local before, after = first, v.slots - 1 - last
  local parts = {}
  if before > 0 then parts[1] = plural(before, "slot") .. " before" end
  if after > 0 then parts[#parts + 1] = plural(after, "slot") .. " after" end
  return #parts > 0 and "left out: " .. concat(parts, " and ")
    .. (#parts > 1 and "" or " these") or nil
end

-- -- Text output -------------------------------------------------------------

local function cell_text(cell)
  if not cell then return "." end
  if cell.count == 1 then return label(cell.index) end
  return format("%s+%s", label(cell.index), number(cell.count - 1))
end

local function pad(text, width) return (" "):rep(width - #text) .. text end

--- The storage: rows of slot numbers above rows of indices.
local function storage_lines(v, o, cells, first, last, lines)
  local width = #number(max(last, 0))
  for slot = first, last do width = max(width, #cell_text(cells[slot])) end
  local per_row = slots_per_row(v, floor((o.width - 6) / (width + 2)))
  for start = first, last, per_row do
    local slots, texts = {"  slot"}, {"      "}
    for slot = start, min(start + per_row - 1, last) do
      slots[#slots + 1] = "  " .. pad(number(slot), width)
      texts[#texts + 1] = "  " .. pad(cell_text(cells[slot]), width)
    end
    lines[#lines + 1] = concat(slots)
    lines[#lines + 1] = concat(texts)
  end
end

--- One block, with as many columns as fit.
local function block_lines(v, o, outer, lines)
  local rows, columns = block_size(v)
  local width = max(#number(max(v.high, 0)), #number(columns), 2) + 2
  local shown = max(1, min(columns, floor((o.width - 12) / width)))
  local corner = v.ndim < 2 and letter(v, 1)
    or letter(v, v.ndim - 1) .. "\\" .. letter(v, v.ndim)
  local side = max(#corner, #number(rows)) + 2
  local texts = {pad(corner, side)}
  for c = 1, shown do texts[c + 1] = pad(number(c), width) end
  if shown < columns then texts[#texts + 1] = "  ..." end
  lines[#lines + 1] = concat(texts)
  for r = 1, min(rows, o.rows) do
    texts = {pad(v.ndim < 2 and "" or number(r), side)}
    for c = 1, shown do
      texts[c + 1] = pad(number(slot_of(v, index_in(v, outer, r, c))), width)
    end
    lines[#lines + 1] = concat(texts)
  end
  if rows > o.rows then
    lines[#lines + 1] = pad("...", side) .. format(
      "  left out: %s", plural(rows - o.rows, "row"))
  end
  if columns > shown then
    lines[#lines + 1] = format("  left out: %s",
                               plural(columns - shown, "column"))
  end
end

local function grid_lines(v, o, lines)
  if v.ndim == 0 or v.numel == 0 then return end
  local more = each_block(v, o.blocks, function(outer)
    lines[#lines + 1] = ""
    lines[#lines + 1] = "slots of " .. element_name(v, outer)
    block_lines(v, o, outer, lines)
  end)
  if more > 0 then
    lines[#lines + 1] = ""
    lines[#lines + 1] = format("left out: %s", plural(more, "more block"))
  end
end

local function as_text(v, o)
  local first, last = window(v, o.max)
  local cells, is_whole = find_cells(v, first, last)
  local count, shared = census(v, cells, first, last)
  local lines = {header(v), formats(v), count, formula(v), "",
                 "storage" .. (v.slots == 0 and ": empty" or "")}
  storage_lines(v, o, cells, first, last, lines)
  local missing = left_out(v, first, last)
  if missing then lines[#lines + 1] = "  " .. missing end
  if shared > 0 then
    lines[#lines + 1] = "  +n: n more indices share the slot"
  end
  if not is_whole then
    lines[#lines + 1] = "  indices share slots so often that not all are "
      .. "counted"
  end
  grid_lines(v, o, lines)
  return concat(lines, "\n")
end

-- -- Public functions --------------------------------------------------------

local KNOWN = {format = true, width = true, max = true, notes = true}

local function check(name, value)
  if name == "notes" then
    if type(value) == "boolean" then return value end
    raise("layout: option 'notes' must be true or false, got %s", type(value))
  elseif type(value) ~= "number" or not (value >= 1 and value < 1e6) then
    raise("layout: option '%s' must be a number from 1 on", name)
  end
  return floor(value)
end

local function read_options(options)
  options = options or {}
  if type(options) == "string" then options = {format = options} end
  if type(options) ~= "table" then
    raise("layout: the options must be a table, got %s", type(options))
  end
  local kind = options.format or "text"
  if not DEFAULTS[kind] then
    raise("layout: there is no format '%s', only text and svg",
          tostring(kind))
  end
  local read = {}
  for name, value in pairs(DEFAULTS[kind]) do read[name] = value end
  for name, value in pairs(options) do
    if not KNOWN[name] then unknown_option("layout", name, KNOWN) end
    if name ~= "format" then read[name] = check(name, value) end
  end
  read.is_tight = options.width == nil
  return kind, read
end

--- Draws the slot of each index of a tensor, and the index in each slot of its
-- storage. Unused slots are dots. A slot that several indices share shows the
-- first index and the number of further ones. Tensors that are too large are
-- drawn in part, with a note of what is left out.
--
-- Options: `format`, "text" or "svg"; `width`, in columns (80) or pixels (at
-- most 760, as much as the picture needs); `max`, the number of slots that are
-- drawn (96 or 120); `notes`, false for an SVG without explanations.
--
--     io.open("layout.svg", "w"):write(st.layout(t, "svg")):close()
--
-- @tparam Tensor t
-- @tparam[opt] table options
-- @treturn string
local function layout(t, options)
  if not core.is_tensor(t) then
    raise("layout: argument 't' must be a Tensor, got %s", type(t))
  end
  local kind, o = read_options(options)
  local v = geometry(t)
  if kind == "text" then return as_text(v, o) end
  return require "strided.layout.svg" (v, o, {
    cells = find_cells, window = window, slot_of = slot_of, label = label,
    each_block = each_block, block_size = block_size, index_in = index_in,
    element_name = element_name, header = header, formats = formats,
    formula = formula, census = census, left_out = left_out,
    number = number, plural = plural, slots_per_row = slots_per_row,
  })
end

return {layout = layout}
