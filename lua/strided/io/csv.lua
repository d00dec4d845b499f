--- CSV files: tables of numbers and texts.
--
-- @module strided.io.csv

local core = require "strided.core"
local failure = require "strided.io.failure"
local meter = require "strided.io.meter"
local options_of = require "strided.option.options"
local raise = require "strided.argument.caller_error"
local replace = require "strided.io.replace"

local concat, find, floor, format, gsub, ipairs, lower, match, pairs, pcall,
  tostring, type = table.concat, string.find, math.floor, string.format,
  string.gsub, ipairs, string.lower, string.match, pairs, pcall, tostring, type

local require = require "strided.core".require

local MISSING = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL",
                 "null", "None"}

local csv = {}

-- -- Options -----------------------------------------------------------------

--- Raises an error unless an option is one byte that no number has.
local function check_byte(name, option, value)
  if value ~= nil and (type(value) ~= "string" or #value ~= 1 or
                       find(value, "[%w%.%+%-\r\n%z]")) then
    raise("%s: option '%s' must be %sone character that is no letter, digit, "
          .. "'.', '+', '-' or line end, got %s", name, option,
          option == "quote" and "false or " or "",
          type(value) == "string" and format("%q", value) or type(value))
  end
end

local function check_count(name, option, value)
  if value ~= nil and (type(value) ~= "number" or value < 0 or
                       value ~= floor(value) or value >= 2 ^ 31 - 1) then
    raise("%s: option '%s' must be a number from 0 on, got %s", name, option,
          type(value) == "number" and tostring(value) or type(value))
  end
end

local function check_strings(name, option, value, also_numbers)
  if value == nil then return end
  if type(value) ~= "table" then
    raise("%s: option '%s' must be a list, got %s", name, option, type(value))
  end
  for i = 1, #value do
    local kind = type(value[i])
    if kind ~= "string" and not (also_numbers and kind == "number") then
      raise("%s: entry %d of option '%s' must be a string%s, got %s", name, i,
            option, also_numbers and " or a number" or "", kind)
    end
    if option == "missing" and find(value[i], "%z") then
      raise("%s: entry %d of option 'missing' has a NUL in it", name, i)
    end
  end
end

local function check_one_of(name, option, value, ...)
  for _, allowed in ipairs {...} do
    if value == allowed then return end
  end
  local list = {...}
  for i, allowed in ipairs(list) do
    list[i] = type(allowed) == "string" and format("%q", allowed)
              or tostring(allowed)
  end
  raise("%s: option '%s' must be %s, got %s", name, option,
        concat(list, " or "), tostring(value))
end

--- What both directions have; the characters must differ.
local function check_format(name, o)
  local is_blank = o.delimiter == "whitespace" and name ~= "write_csv" and
                   name ~= "save"
  if not is_blank then check_byte(name, "delimiter", o.delimiter) end
  check_byte(name, "comment", o.comment)
  check_byte(name, "quote", o.quote or nil)
  check_strings(name, "names", o.names)
  if o.decimal ~= nil then
    check_one_of(name, "decimal", o.decimal, ".", ",")
  end
  local delimiter = o.delimiter or o.decimal == "," and ";" or ","
  local seen = {[delimiter] = "delimiter"}
  for _, option in ipairs {"quote", "comment", "decimal"} do
    local value = o[option]
    if option == "quote" and value == nil then value = '"' end
    if value and seen[value] then
      raise("%s: options '%s' and '%s' are the same character", name,
            seen[value], option)
    end
    if value then seen[value] = option end
  end
end

-- The options of reading, and of writing.
csv.READ = {
  delimiter = true, quote = true, comment = true, decimal = true,
  header = true, names = true, columns = true, dtype = true, missing = true,
  fill = true, skip_rows = true, max_rows = true, as = true,
}
csv.WRITE = {
  delimiter = true, quote = true, comment = true, decimal = true,
  header = true, names = true,
}

--- Checks the options of reading; returns a copy with defaults.
local function read_options(name, given, as, delimiter)
  local o = {}
  for key, value in pairs(options_of(name, given, csv.READ)) do
    o[key] = value
  end
  if o.delimiter == nil then o.delimiter = delimiter end
  check_format(name, o)
  if o.header ~= nil then
    check_one_of(name, "header", o.header, true, false, "auto")
  end
  check_strings(name, "columns", o.columns, true)
  check_strings(name, "missing", o.missing)
  check_count(name, "skip_rows", o.skip_rows)
  check_count(name, "max_rows", o.max_rows)
  if o.fill ~= nil and type(o.fill) ~= "number" then
    raise("%s: option 'fill' must be a number, got %s%s", name, type(o.fill),
          type(o.fill) == "boolean" and "; of bool columns it is 0 or 1" or "")
  end
  if o.as == nil then o.as = as end
  check_one_of(name, "as", o.as, "table", "tensor", "auto")
  o.missing = o.missing or MISSING
  return o
end

local function write_options(name, given, delimiter)
  local o = {}
  for key, value in pairs(options_of(name, given, csv.WRITE)) do
    o[key] = value
  end
  if o.delimiter == nil then o.delimiter = delimiter end
  check_format(name, o)
  if o.header ~= nil then
    check_one_of(name, "header", o.header, true, false)
  end
  return o
end

-- -- Files -------------------------------------------------------------------

--- The delimiter that the suffix of a path names, or nil.
local function delimiter_of(path)
  local suffix = lower(match(path, "%.(%w+)$") or "")
  return (suffix == "tsv" or suffix == "tab") and "\t" or nil
end

--- `what` is a quoted path or "the text".
local function complain(name, verb, what, why)
  why = gsub(gsub(why, "%c", "?"), "\194[\128-\159]", "?")
  raise("%s: cannot %s %s: %s", name, verb, what, why)
end

--- What a failure that was raised says, without its place.
local text_of = failure.refusal

--- The path and the text of an argument: a path, or {text = ...}.
local function check_place(name, place)
  if type(place) == "string" then
    if find(place, "%z") then raise("%s: the path has a NUL in it", name) end
    return place
  end
  if type(place) ~= "table" or place.text == nil then
    raise("%s: the first argument must be a path or {text = ...}, got %s",
          name, core.is_tensor(place) and "a Tensor; the path comes first"
          or type(place) == "table" and "a table without 'text'"
          or type(place))
  end
  for key in pairs(place) do
    if key ~= "text" then
      raise("%s: the first argument has the key '%s' beside 'text': options "
            .. "are a table of their own", name, failure.clean(tostring(key)))
    end
  end
  return nil, place.text
end

local function open(name, place)
  local path, text = check_place(name, place)
  if path then
    local source, why = core.open_source(path)
    local what = failure.quote(path)
    if not source then complain(name, "read", what, why) end
    return source, what, delimiter_of(path)
  end
  if type(text) ~= "string" then
    raise("%s: field 'text' must be a string, got %s", name, type(text))
  end
  return core.open_bytes(text), "the text"
end

--- Takes the option `progress` out of options, if they are a table: meter.of.
local function progress_of(name, options)
  if type(options) == "table" then return meter.of(name, options) end
  return options, function() end
end

--- Reads a source for st.load, as failure.catch does.
function csv.read(source, options, delimiter)
  return failure.catch(require "strided.io.csv.read".read, source,
                       read_options("load", options, "auto", delimiter))
end

--- Writes to a file for st.save, as failure.catch does.
function csv.write(file, value, options, delimiter)
  options = write_options("save", options, delimiter)
  return failure.catch(require "strided.io.csv.write".write, function(text)
    return file:write(text)
  end, value, options)
end

-- -- The module --------------------------------------------------------------

--- Reads a CSV file, RFC 4180, into a table of columns.
--
--     local t = st.read_csv("people.csv")
--     t.names           --> {"name", "age"}
--     t.age             --> a tensor; also t[2]
--     t.name            --> a list of strings; also t[1]
--
-- Fields that are all integers make a tensor of int64 (of uint64 if they need
-- that), other numbers float64, `true` and `false` (also True, TRUE) bool, and
-- anything else a list of strings, as they are in the file. A missing value is
-- NaN, so integers with missing values are float64 unless `fill` replaces them.
-- A column of `true` and `false` with missing values is a list of strings,
-- unless `fill` is 0 or 1.
-- Integers are exact. Decimal fractions are rounded to the nearest number of
-- the dtype, as strtod does; one that is too large is infinite, or an error if
-- `dtype` asks for the dtype. Numbers may have spaces around them or quotes.
--
-- * `header`: true: the first record has the names; false: there are none;
--   "auto", the default: it has them if one of its fields is text above a
--   column of other values, or if everything in the file is text
-- * `names`: a list of names, instead of those in the file
-- * `columns`: a list of names or numbers: those to return, in this order
-- * `dtype`: of all columns, or a table by name or number: a dtype, "text",
--   "category" (a table of `codes`, an int64 tensor from 1 on, and
--   `categories`, the list of texts) or "auto". A field that the dtype does not
--   have is an error
-- * `missing`: a list of texts that mean a missing value; by default the empty
--   one, NA, N/A, n/a, #N/A, <NA>, NaN, nan, NULL, null and None
-- * `fill`: a number for missing values; 0 or 1 for those of bool columns
-- * `delimiter`: one character; a comma by default, a tab for .tsv files, a
--   semicolon with a decimal comma; or "whitespace": spaces and tabs in a row
-- * `decimal`: "." or ","
-- * `quote`: one character, by default `"`; false for none
-- * `comment`: one character; what follows it on a line is skipped
-- * `skip_rows`: lines to skip at the beginning; `max_rows`: records to read
-- * `progress`: as for st.load
-- * `as`: "table", the default; "tensor": one tensor of two dimensions, of the
--   dtype that all columns fit, and the list of names if there are names;
--   "auto": a tensor if all columns are numbers and have no names, and `dtype`
--   is no table
--
-- In a quoted field a doubled quote is a quote, and delimiters and line ends
-- are text. Lines end in LF or CR LF; empty ones are skipped. All records have
-- as many fields as the first. Bytes above 127 and NULs in texts are kept; the
-- mark of UTF-8 at the beginning is skipped. Of columns with the same name, the
-- first has it; a column named `names` is found by its number.
--
-- An error names the file, the line, the column and the text.
-- @param place a path, or `{text = string}`
-- @tparam[opt] table options
-- @treturn table the columns by number and name, and `names`, or a tensor
function csv.read_csv(place, options)
  local show
  options, show = progress_of("read_csv", options)
  local source, what, delimiter = open("read_csv", place)
  local checked, o = pcall(read_options, "read_csv", options, "table",
                           delimiter)
  local ok, value, extra = checked, o, nil
  if checked then
    show(source:size())
    ok, value, extra = pcall(failure.catch,
                             require "strided.io.csv.read".read, source, o)
    show(nil, ok and value ~= nil)
  end
  source:close()
  if not checked then raise("%s", text_of(o)) end
  if not ok then value, extra = nil, text_of(value) end
  if value == nil then complain("read_csv", "read", what, extra) end
  if extra == nil then return value end -- not followed by a nil
  return value, extra
end

--- Writes a CSV file, which is replaced when all bytes are on the disk.
--
--     st.write_csv("t.csv", st.ones(3, 2), {names = {"x", "y"}})
--     st.write_csv("people.csv", {names = {"name", "age"},
--                                 name = {"Ann", "Bob"}, age = ages})
--
-- A value is a tensor of one dimension (one column) or two; a table of columns
-- as st.read_csv returns it; a list of columns; or a table of columns by name,
-- which are sorted by name unless `names` says their order. A column is a
-- tensor; a list without holes of strings, of numbers or of booleans; or a
-- table of `codes` and `categories`.
--
-- Floating point is written with the fewest digits that read back as the same
-- number, NaN as nan. Texts with a delimiter, quote, line end or the character
-- of comments are quoted. Lines end in LF.
-- @param place a path, or `{text = true}` to return the text
-- @param value a tensor or a table
-- @tparam[opt] table options `names`, a list of strings; `header`: false
-- writes no names; `progress`, as for st.save; `delimiter`, `decimal`, `quote`,
-- `comment` as for st.read_csv: with `quote = false` a text that needs quotes
-- is an error
-- @return the text, with `{text = true}`
function csv.write_csv(place, value, options)
  local path, text = check_place("write_csv", place)
  if not core.is_tensor(value) and type(value) ~= "table" then
    raise("write_csv: the value must be a Tensor or a table, got %s",
          type(value))
  end
  local show
  options, show = progress_of("write_csv", options)
  options = write_options("write_csv", options, path and delimiter_of(path))
  if path then
    show(0)
    local done, why = replace(path, function(file)
      return failure.catch(require "strided.io.csv.write".write,
                           function(piece) return file:write(piece) end,
                           value, options)
    end)
    show(nil, done)
    if not done then
      complain("write_csv", "write", failure.quote(path), why)
    end
    return
  end
  if text ~= true then
    raise "write_csv: field 'text' must be true: the text is returned"
  end
  local ok, result, why = pcall(failure.catch,
                                require "strided.io.csv.write".format, value,
                                options)
  if not ok then result, why = nil, text_of(result) end
  if result == nil then complain("write_csv", "write", "the text", why) end
  return result
end

return csv
