--- Reads CSV files: what the columns are, and their elements.
--
-- The bytes are parsed by lua/bind/io/csv_read.c; here it is decided which
-- record is the header, which dtype a column has and what comes back.
--
-- @module strided.io.csv.read

local core = require "strided.core"
local csv_text = require "strided.io.csv.text"
local failure = require "strided.io.failure"
local meter = require "strided.io.meter"

local concat, error, find, floor, format, gsub, ipairs, log, min, next, pairs,
  pcall, tostring, type = table.concat, error, string.find, math.floor,
  string.format, string.gsub, ipairs, math.log, math.min, next, pairs, pcall,
  tostring, type

local require = require "strided.core".require
local fail = failure.fail

local NO_LIMIT = 2 ^ 31 - 1
local MOST_NAMES = 10 -- of columns in a message

-- Bytes of memory that a column takes beside its elements, and how many the
-- columns of a file may take for its size.
local COLUMN, FREE, PER_BYTE = 640, 2 ^ 24, 128

-- Kinds of fields, as bits. ORDER CSV: csv.h.
local MISSING, BOOL, INT, NEGATIVE, BEYOND, FLOAT, TEXT = 1, 2, 4, 8, 16, 32, 64
local KINDS = {MISSING, BOOL, INT, NEGATIVE, BEYOND, FLOAT, TEXT}

local M = {}

-- -- Kinds -------------------------------------------------------------------

local function has(kinds, kind) return floor(kinds / kind) % 2 == 1 end

local function join(a, b)
  local both = 0
  for _, kind in ipairs(KINDS) do
    if has(a, kind) or has(b, kind) then both = both + kind end
  end
  return both
end

--- The kind of the number that stands for missing values.
local function kind_of(fill)
  if fill ~= floor(fill) or fill < -2 ^ 63 or fill >= 2 ^ 64 then
    return FLOAT
  end
  return fill < 0 and NEGATIVE or fill >= 2 ^ 63 and BEYOND or INT
end

--- The dtype of a column of these kinds, or "text".
local function dtype_of(kinds, fill)
  local is_number = has(kinds, INT) or has(kinds, NEGATIVE) or
                    has(kinds, BEYOND) or has(kinds, FLOAT)
  local is_missing = has(kinds, MISSING)
  if has(kinds, TEXT) then return "text" end
  if has(kinds, BOOL) then
    local is_bool = not is_missing or fill == 0 or fill == 1
    return is_bool and not is_number and "bool" or "text"
  end
  if is_missing and fill then kinds = join(kinds, kind_of(fill)) end
  if not is_number or is_missing and not fill or has(kinds, FLOAT) or
     has(kinds, BEYOND) and has(kinds, NEGATIVE) then
    return "float64"
  end
  return has(kinds, BEYOND) and "uint64" or "int64"
end

-- -- The header --------------------------------------------------------------

--- Ends with a message of C, and with advice if it is about the number of
-- fields.
local function refuse(why, spec, options)
  if find(why, "^line %d+ has ") then
    why = why .. csv_text.advice(why, options, spec.delimiter, spec.first)
  end
  fail("%s", why)
end

--- Whether the first record, of these kinds, is a header of the others.
local function is_header(head, body, rows)
  local is_text, all_text = false, true
  for c, kind in ipairs(head) do
    if kind ~= TEXT and kind ~= MISSING then
      all_text = false
    elseif kind == TEXT then
      is_text = true
      if rows > 0 and not has(body[c], TEXT) then return true end
    end
  end
  return is_text and all_text
end

--- Reads the header; returns the names in the file or nil, the number of
-- records and the kinds of the columns.
local function read_header(source, spec, options)
  local fields, at, line, next_at, next_line = core.csv_record(source, spec)
  if not fields then fail("%s", at or "it has no records") end
  local function survey(from, from_line, limit)
    spec.at, spec.line, spec.limit = from, from_line, limit
    local rows, kinds = core.csv_survey(source, spec)
    if not rows then refuse(kinds, spec, options) end
    return rows, kinds
  end
  local limit = options.max_rows or NO_LIMIT
  local header = options.header
  spec.ncols, spec.first = #fields, fields
  if header == false then return nil, survey(at, line, limit) end
  local _, head = survey(at, line, 1)
  local rows, body = survey(next_at, next_line, limit)
  if header == true or is_header(head, body, rows) then
    return fields, rows, body
  end
  for c, kinds in ipairs(head) do
    if limit > 0 then body[c] = join(kinds, body[c]) end
  end
  spec.at, spec.line = at, line
  return nil, min(rows + 1, limit), body
end

--- Ends with a message if the file is too short for so many records: a field
-- takes a byte of it, the delimiter or the end of the line. How many fields a
-- record has is known only when it is stored, which needs memory for all.
local function check_size(source, spec, options)
  local rest = source:size() - spec.at
  if spec.limit * spec.ncols <= rest + 1 then return end
  local none = {}
  for c = 1, spec.ncols do none[c] = false end
  local texts, why = core.csv_parse(source, spec, none, none, none)
  if not texts then refuse(why, spec, options) end
end

--- Ends with a message if a file has so many columns that tensors of them take
-- many times its size.
local function check_columns(source, spec, options)
  if not options.columns and
     spec.ncols * COLUMN > FREE + PER_BYTE * source:size() then
    fail("it has %d columns, too many for a tensor of each: as = \"tensor\" "
         .. "makes one of all, option 'columns' names some", spec.ncols)
  end
end

-- -- Names and columns -------------------------------------------------------

local function names_of(options, fields, ncols)
  local names = options.names or fields
  if options.names and #names ~= ncols then
    fail("option 'names' has %d names, and there are %d columns", #names,
         ncols)
  end
  local list, places = {}, {}
  for c = 1, ncols do
    list[c] = names and names[c] or nil
    if names and not places[names[c]] then places[names[c]] = c end
  end
  return names and list, places
end

local function quoted(name)
  return "'" .. failure.clean(tostring(name)) .. "'"
end

--- What to say of a column that is not there: similar names, or all.
local function known(key, places, ncols)
  if next(places) == nil then
    return type(key) == "string" and "; the columns have no names" or
           "; there are " .. ncols
  elseif type(key) ~= "string" then
    return "; there are " .. ncols
  end
  local list = require "strided.name.unknown_name".similar(key, places)
  local is_similar = list[1] ~= nil
  for name, c in next, is_similar and {} or places do list[c] = name end
  local n = 0
  for c = 1, is_similar and #list or ncols do
    if list[c] and n < MOST_NAMES then
      n = n + 1
      list[n] = quoted(list[c])
    end
  end
  return (is_similar and ": did you mean " or "; there are ") ..
         concat(list, ", ", 1, n) .. (is_similar and "?" or "")
end

--- The number of a column that an option names.
local function place_of(option, key, places, ncols)
  local c = type(key) == "number" and key or places[key]
  if not c or c < 1 or c > ncols or c ~= floor(c) then
    fail("option '%s' names column %s, which is not there%s", option,
         type(key) == "number" and tostring(key) or quoted(key),
         known(key, places, ncols))
  end
  return c
end

--- The columns to return, as numbers; all without the option.
local function choose(options, places, ncols)
  local chosen = {}
  for i = 1, options.columns and #options.columns or ncols do
    chosen[i] = options.columns and
                place_of("columns", options.columns[i], places, ncols) or i
  end
  if not chosen[1] then fail "option 'columns' is empty" end
  return chosen
end

local PARSED_AS = {} -- dtype -> the one to parse as
local LIMITS = {}    -- the smallest numbers that round to infinity
for _, d in ipairs(core.dtypes()) do
  local is_float = d.kind == "float"
  if d.is_of_tensors and d.kind ~= "complex" and d.lanes == 1 and
     not d.is_subbyte then
    PARSED_AS[d.name] = is_float and d.size < 4 and "float64" or d.name
  end
  if is_float and d.size < 8 then
    local power = 2 ^ floor(log(d.max) / log(2))
    LIMITS[d.name] = d.max + power * d.eps / 2
  end
end

--- The dtype to parse as, and the one to convert to; nil for "auto".
local function parsed_dtype(dtype)
  if dtype == nil or dtype == "auto" then return nil end
  if dtype == "text" or dtype == "category" then return "text", dtype end
  local ok, t = core.try(require "strided".empty, {0}, {dtype = dtype})
  if not ok then
    fail("option 'dtype': there is no dtype '%s', nor is it \"text\", "
         .. "\"category\" or \"auto\"", failure.clean(tostring(dtype)))
  end
  local name = tostring(t.dtype)
  if PARSED_AS[name] then return PARSED_AS[name], name end
  fail("option 'dtype': a column cannot be %s", name)
end

--- By number of a column: what to parse it as, what to return it as.
local function dtypes_of(options, places, ncols)
  local parsed, wanted = {}, {}
  local dtype = options.dtype
  if type(dtype) == "table" then
    for key, value in pairs(dtype) do
      local c = place_of("dtype", key, places, ncols)
      parsed[c], wanted[c] = parsed_dtype(value)
    end
  else
    local one, other = parsed_dtype(dtype)
    for c = 1, ncols do parsed[c], wanted[c] = one, other end
  end
  return parsed, wanted
end

-- -- Elements ----------------------------------------------------------------

--- A message of C with the name and dtype of the column.
local function name_column(why, plan)
  return (gsub(why, "^(line %d+, column )(%d+):", function(place, c)
    local number = c + 0
    local name = plan.names and plan.names[number]
    local dtype = plan.wanted[number] or plan.dtypes[number]
    if name then c = c .. " ('" .. failure.clean(name) .. "')" end
    if dtype and dtype ~= "text" then c = c .. ", " .. dtype end
    return place .. c .. ":"
  end))
end

--- Parses the columns that are not done, each as its dtype; returns the kinds
-- seen of the inferred ones where that was wrong.
local function parse(source, spec, plan, make)
  local columns, seen, limits = {}, {}, {}
  for c = 1, spec.ncols do
    columns[c], seen[c] = false, false
    limits[c] = LIMITS[plan.wanted[c]] or false
    if plan.todo[c] then
      local dtype = plan.dtypes[c]
      columns[c] = dtype == "text" and dtype or make(c, dtype)
      seen[c] = dtype ~= "text" and plan.kinds[c] or false
      plan.results[c] = columns[c]
    end
  end
  -- bytes count once, whatever the number of passes
  spec.count, plan.is_counted = not plan.is_counted and meter.counter(), true
  local texts, failed = core.csv_parse(source, spec, columns, seen, limits)
  if not texts then refuse(name_column(failed, plan), spec, plan.options) end
  for c, list in pairs(texts) do plan.results[c] = list end
  return failed
end

--- Parses all columns as tensors and lists of their own.
local function read_columns(source, spec, plan)
  local st = require "strided"
  local function make(_, dtype)
    return st.empty({spec.limit}, {dtype = dtype})
  end
  local failed
  repeat
    for c in pairs(plan.todo) do
      if plan.kinds[c] then
        plan.dtypes[c] = dtype_of(plan.kinds[c], spec.fill)
      end
    end
    failed = parse(source, spec, plan, make)
    plan.todo = {}
    for c, kinds in pairs(failed) do
      plan.todo[c], plan.kinds[c] = true, join(kinds, plan.kinds[c])
    end
  until next(failed) == nil
end

--- The dtype that all chosen columns have as one tensor; nil and the number of
-- a column that is text.
local function common_dtype(plan, fill)
  local kinds = 0
  for _, c in ipairs(plan.chosen) do
    if plan.parsed[c] == "text" then return nil, c end
    kinds = join(kinds, plan.kinds[c] or 0)
    if dtype_of(kinds, fill) == "text" then return nil, c end
  end
  return plan.parsed[plan.chosen[1]] or dtype_of(kinds, fill)
end

--- Parses all columns into one tensor; nil and the number of a column that
-- turns out to be text.
local function read_tensor(source, spec, plan)
  local st = require "strided"
  local places = {}
  for i, c in ipairs(plan.chosen) do
    if places[c] then fail("option 'columns' names column %d twice", c) end
    places[c] = i
  end
  while true do
    local dtype, wrong = common_dtype(plan, spec.fill)
    if not dtype then return nil, wrong end
    local t = st.empty({spec.limit, #plan.chosen}, {dtype = dtype})
    for c in pairs(plan.todo) do plan.dtypes[c] = dtype end
    local failed = parse(source, spec, plan, function(c)
      return t:select(2, places[c])
    end)
    if next(failed) == nil then return t end
    for c, kinds in pairs(failed) do
      plan.kinds[c] = join(kinds, plan.kinds[c])
    end
  end
end

--- A list of texts as {codes =, categories =}.
local function categorize(list)
  local codes, categories, n = {}, {}, 0
  local numbers = {}
  for i = 1, #list do
    local text = list[i]
    local code = codes[text]
    if not code then
      n = n + 1
      code, codes[text], categories[n] = n, n, text
    end
    numbers[i] = code
  end
  return {codes = require "strided".tensor(numbers, {dtype = "int64"}),
          categories = categories}
end

--- The table of columns that is returned.
local function collect(plan)
  local result, names = {}, {}
  for i, c in ipairs(plan.chosen) do
    local column = plan.results[c]
    local wanted = plan.wanted[c]
    if wanted == "category" then
      column = categorize(column)
    elseif wanted and wanted ~= plan.dtypes[c] then
      column = column:to {dtype = wanted}
    end
    result[i] = column
    names[i] = plan.names and plan.names[c]
    if names[i] and result[names[i]] == nil then result[names[i]] = column end
  end
  result.names = plan.names and names
  return result
end

-- -- The module --------------------------------------------------------------

--- What C must know of the options.
local function spec_of(options)
  local delimiter = options.delimiter
  if not delimiter then delimiter = options.decimal == "," and ";" or "," end
  if delimiter == "whitespace" then delimiter = " " end
  local missing = options.missing
  local spec = {
    delimiter = delimiter, comment = options.comment, fill = options.fill,
    quote = options.quote == nil and '"' or options.quote or nil,
    point = options.decimal or ".", limit = NO_LIMIT, ncols = 1,
    missing = missing[1] and concat(missing, "\0") .. "\0" or "",
  }
  return spec
end

--- The records from spec.at on.
local function read(source, spec, options)
  local fields, rows, kinds = read_header(source, spec, options)
  spec.limit = rows
  check_size(source, spec, options)
  local names, places = names_of(options, fields, spec.ncols)
  local plan = {options = options, names = names, kinds = {}, dtypes = {},
                results = {}, todo = {},
                chosen = choose(options, places, spec.ncols)}
  plan.parsed, plan.wanted = dtypes_of(options, places, spec.ncols)
  for _, c in ipairs(plan.chosen) do
    plan.todo[c], plan.dtypes[c] = true, plan.parsed[c]
    if not plan.parsed[c] then plan.kinds[c] = kinds[c] end
  end
  local as, is_mixed = options.as, type(options.dtype) == "table"
  if as == "tensor" and is_mixed then
    fail "a tensor has one dtype: write it as option 'dtype', not a table"
  end
  if as == "tensor" or as == "auto" and not names and not is_mixed then
    local t, wrong = read_tensor(source, spec, plan)
    if t then
      local wanted = plan.wanted[plan.chosen[1]]
      if wanted and PARSED_AS[wanted] ~= wanted then
        t = t:to {dtype = wanted}
      end
      return t, names and collect(plan).names or nil
    end
    if as == "tensor" then
      local name = names and " ('" .. failure.clean(names[wrong]) .. "')" or ""
      local why = format("column %d%s is text, and a tensor has numbers",
                         wrong, name)
      local advice = csv_text.advice(why, options, spec.delimiter, spec.first)
      fail("%s%s", why, advice ~= "" and advice or ": write option 'columns', "
           .. "or as = \"table\"")
    end
  end
  for c in pairs(plan.todo) do plan.dtypes[c] = plan.parsed[c] end
  check_columns(source, spec, options)
  read_columns(source, spec, plan)
  return collect(plan)
end

--- Reads a source with options that are checked.
-- @param source
-- @tparam table options
-- @return a tensor or a table; then the list of names, of a tensor that has
-- them
function M.read(source, options)
  local spec = spec_of(options)
  spec.at, spec.line = csv_text.skip_lines(source, csv_text.begin(source),
                                           options.skip_rows or 0)
  if options.delimiter ~= "whitespace" then
    return read(source, spec, options)
  end
  local squeezed = csv_text.squeezed(source, spec.at, spec.quote,
                                     spec.comment)
  spec.at = 0 -- the line stays
  local ok, value, extra = pcall(read, squeezed, spec, options)
  squeezed:close()
  if not ok then error(value, 0) end
  return value, extra
end

return M
