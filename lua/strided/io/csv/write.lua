--- Writes CSV files: which columns a value has. Their elements are formatted by
-- lua/bind/io/csv_write.c.
--
-- @module strided.io.csv.write

local core = require "strided.core"
local failure = require "strided.io.failure"
local meter = require "strided.io.meter"
local values = require "strided.io.values"

local concat, floor, gsub, ipairs, math_type, next, pairs, sort, tostring,
  type = table.concat, math.floor, string.gsub, ipairs, math.type, next, pairs,
  table.sort, tostring, type

local require = require "strided.core".require
local fail = failure.fail

local WRITTEN_AS = {} -- dtype -> the one whose elements are formatted
for _, d in ipairs(core.dtypes()) do
  if d.is_of_tensors and d.kind ~= "complex" and d.lanes == 1 then
    WRITTEN_AS[d.name] = d.kind == "float" and d.size < 4 and "float32" or
                         d.is_subbyte and "int8" or d.name
  end
end

local M = {}

-- -- Columns -----------------------------------------------------------------

--- The tensor with elements that can be formatted.
local function plain(t)
  local dtype = tostring(t.dtype)
  if t.device == "meta" then fail "a tensor on the meta device has no data" end
  t = t:detach()
  if t.device ~= "cpu" then t = t:to {device = "cpu"} end
  if t:is_conj() or t:is_neg() or t:_is_zerotensor() then t = t:clone() end
  local as = WRITTEN_AS[dtype]
  if as then return as == dtype and t or t:to {dtype = as} end
  fail("%s cannot be written as text; of complex numbers write "
       .. "st.view_as_real(t)", dtype)
end

--- What an entry of a list is: "number", "boolean", "string"; ends with a
-- message for others. i: its place.
local function kind_of(x, i, what)
  local kind = type(x)
  if kind == "number" or kind == "boolean" or kind == "string" then
    return kind
  elseif values.kind(x) == "int" then
    return "number"
  elseif x == nil then
    fail("entry %.0f of column %s is nil: write NaN, or \"\" in a list of "
         .. "strings", i, what)
  end
  fail("entry %.0f of column %s must be a number, a string or a boolean, "
       .. "got %s", i, what, core.is_tensor(x) and "a Tensor" or kind)
end

--- The number of entries of a list, and what they are; ends with a message if
-- there are holes, other keys or several kinds. hint: to say of several kinds.
local function check_list(list, what, hint)
  local n, greatest = 0, 0
  for key in next, list do
    if type(key) ~= "number" or key < 1 or key ~= floor(key) then
      fail("column %s must be a list, and it has the key '%s'", what,
           failure.clean(tostring(key)))
    end
    n = n + 1
    if key > greatest then greatest = key end
  end
  local kind = greatest > 0 and kind_of(list[1], 1, what) or nil
  local i = 1
  while i < greatest do
    i = i + 1
    local other = kind_of(list[i], i, what)
    if other ~= kind then
      fail("entry %.0f of column %s is a %s, and the first is a %s%s", i, what,
           other, kind, hint)
    end
  end
  return n, kind
end

--- A list of numbers or booleans as a tensor.
local function tensor_of(list, kind, what)
  local dtype = kind == "boolean" and "bool" or "int64"
  for _, x in ipairs(kind == "number" and list or {}) do
    if type(x) == "number" and (x ~= floor(x) or x < -2 ^ 53 or x > 2 ^ 53) and
       not (math_type and math_type(x) == "integer") then
      dtype = "float64"
    end
  end
  local ok, t = core.try(require "strided".tensor, list, {dtype = dtype})
  if ok then return t end
  fail("column %s: %s", what, (gsub(tostring(t), "^[^\n]-:%d+: ", "")))
end

--- The texts of a column {codes =, categories =}.
local function texts_of(column, what)
  local list, codes = {}, column.codes:totable()
  for i = 1, #codes do
    list[i] = column.categories[codes[i]]
    if list[i] == nil then
      fail("column %s: code %s has no category", what, tostring(codes[i]))
    end
  end
  return list
end

--- A column as a tensor of one dimension or a list of strings, and its size.
local function column_of(value, what, hint)
  if type(value) == "table" and value.categories and
     core.is_tensor(value.codes) then
    value = texts_of(value, what)
  end
  if type(value) == "table" then
    local n, kind = check_list(value, what, hint)
    if n == 0 or kind == "string" then return value, n end
    value = tensor_of(value, kind, what)
  elseif not core.is_tensor(value) then
    fail("column %s must be a Tensor or a list, got %s%s", what, type(value),
         hint ~= "" and what == "1" and ": write {list} for one column" or "")
  end
  if value.ndim ~= 1 then
    fail("column %s must have one dimension, got %d", what, value.ndim)
  end
  return plain(value), value.shape[1]
end

--- The columns of a tensor.
local function split(t)
  if t.ndim ~= 1 and t.ndim ~= 2 then
    fail("a tensor must have one dimension or two, got %d", t.ndim)
  end
  t = plain(t)
  if t.ndim == 1 then return {t} end
  local list = {}
  for c = 1, t.shape[2] do list[c] = t:select(2, c) end
  if not list[1] then fail "a tensor without columns cannot be written" end
  return list
end

--- The names of a table's columns, in their order; nil if it is a list.
local function names_of(value, given)
  if given then return given end
  if type(value.names) == "table" then return value.names end
  if value[1] ~= nil then return nil end
  local names = {}
  for name in pairs(value) do
    if type(name) ~= "string" then
      fail("the names of columns must be strings, got %s", tostring(name))
    end
    names[#names + 1] = name
  end
  sort(names)
  return names
end

--- A column for a message: its name or number.
local function what_of(names, c)
  return names and "'" .. failure.clean(tostring(names[c])) .. "'"
         or tostring(c)
end

--- The columns of a value, the number of rows, and the names or nil.
local function columns_of(value, given)
  if core.is_tensor(value) then
    local list = split(value)
    if given and #given ~= #list then
      fail("option 'names' has %d names, and there are %d columns", #given,
           #list)
    end
    return list, value.shape[1], given
  end
  local names, list, rows = names_of(value, given), {}, nil
  if names and #value > #names then
    fail("there are %d names and %d columns", #names, #value)
  end
  local hint = names and "" or "; a list of lists is one of columns"
  for c = 1, names and #names or #value do
    local column = names and value[names[c]]
    local what = what_of(names, c)
    if value[c] ~= nil then column = value[c] end
    if column == nil then fail("column %s is not in the table", what) end
    local n
    list[c], n = column_of(column, what, hint)
    if n ~= (rows or n) then
      fail("column %s has %d rows, and the first has %d", what, n, rows)
    end
    rows = n
  end
  if not list[1] then fail "there are no columns" end
  return list, rows, names
end

-- -- The module --------------------------------------------------------------

--- Rows of columns as text, and the number of the row after them. A text that
-- needs quotes that are not there ends the writing.
local function format_rows(columns, spec, row, rows, names)
  local text, after, c = core.csv_format(columns, spec, row, rows)
  if text then return text, after end
  fail("entry %.0f of column %s needs quotes, and option 'quote' is false",
       after, what_of(names, c))
end

--- The line of the names.
local function format_names(names, spec)
  local heads = {}
  for c, name in ipairs(names) do heads[c] = {tostring(name)} end
  local text, _, c = core.csv_format(heads, spec, 1, 1)
  if text then return text end
  fail("the name %s needs quotes, and option 'quote' is false",
       what_of(names, c))
end

--- Writes a value with options that are checked.
-- @tparam function write is called with each piece of text; returns true, or
-- nil and an error message
-- @param value
-- @tparam table options
-- @return true, or nil and an error message
function M.write(write, value, options)
  local columns, rows, names = columns_of(value, options.names)
  local spec = {
    delimiter = options.delimiter or options.decimal == "," and ";" or ",",
    quote = options.quote == nil and '"' or options.quote,
    point = options.decimal or ".", comment = options.comment,
  }
  if names and options.header ~= false then
    local ok, why = write(format_names(names, spec))
    if not ok then return nil, why end
  elseif options.header == true then
    fail "option 'header' needs names: write option 'names'"
  end
  local row = 1
  while row <= rows do
    local text, after = format_rows(columns, spec, row, rows, names)
    local ok, why = write(text)
    if not ok then return nil, why end
    meter.add_text(#text)
    row = after
  end
  return true
end

--- The text of a value.
function M.format(value, options)
  local parts = {}
  M.write(function(text)
    parts[#parts + 1] = text
    return true
  end, value, options)
  return concat(parts)
end

return M
