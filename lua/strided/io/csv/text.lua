--- The text of a CSV file: where it begins, what is no text, spaces in a row as
-- one delimiter, and what an option would do for records that do not fit.
--
-- @module strided.io.csv.text

local core = require "strided.core"
local failure = require "strided.io.failure"
local kinds = require "strided.io.kinds"

local concat, find, format, gsub, match, min, sub = table.concat, string.find,
  string.format, string.gsub, string.match, math.min, string.sub
local check, fail = failure.check, failure.fail

local BLOCK = 65536 -- bytes

local M = {}

-- -- The beginning -----------------------------------------------------------

--- The bytes at an offset, at most n of them.
local function bytes_at(source, at, n)
  return (check(source:read(at, min(n, source:size() - at))))
end

--- The offset and the number of the line after the first n lines.
-- @param source
-- @tparam number at the offset of the first line
-- @tparam number n
function M.skip_lines(source, at, n)
  local size, line = source:size(), 1
  while n > 0 and at < size do
    local bytes = bytes_at(source, at, BLOCK)
    local from = 1
    while n > 0 do
      local stop = find(bytes, "\n", from, true)
      if not stop then break end
      from, line, n = stop + 1, line + 1, n - 1
    end
    at = at + (n > 0 and #bytes or from - 1)
  end
  return at, line
end

--- What the bytes of an archive, an image and so on are; nil for text.
local function binary(head)
  if head == "" or find(head, "^%s*[<%[{]") or
     not find(head, "[%z\1-\8\14-\31]") then
    return nil
  end
  return kinds.describe(head)
end

--- Whether the lines seem to end in CR, as they did on old Macs.
local function has_bare_cr(head)
  return find(head, "\r", 1, true) and not find(head, "\n", 1, true) and
         find(gsub(head, '"[^"]*"', ""), "\r[^\r]")
end

--- The offset of the text, which is behind the mark of UTF-8; ends with a
-- message for what is no text, such as an archive.
function M.begin(source)
  local head = bytes_at(source, 0, BLOCK)
  if find(head, "^\255\254") or find(head, "^\254\255") then
    fail "it is UTF-16: convert it to UTF-8"
  end
  local what = binary(head)
  if what then fail("%s", what) end
  if has_bare_cr(head) then
    fail "its lines end in CR alone: write them with LF or CR LF"
  end
  return sub(head, 1, 3) == "\239\187\191" and 3 or 0
end

-- -- Spaces as a delimiter ---------------------------------------------------

--- A source of what another one has from an offset on, for the delimiter " ".
-- Lines stay lines.
-- @param source
-- @tparam number at
-- @tparam ?string quote
-- @tparam ?string comment
function M.squeezed(source, at, quote, comment)
  local parts, size = {}, source:size()
  while at < size do
    parts[#parts + 1] = bytes_at(source, at, BLOCK)
    at = at + #parts[#parts]
  end
  return core.open_bytes(core.csv_squeeze(concat(parts), quote, comment))
end

-- -- Advice ------------------------------------------------------------------

--- What to add to a message about the number of fields, or about a column of
-- text, in a file whose first record has these fields.
-- @tparam string why
-- @tparam table options
-- @tparam string delimiter
-- @tparam table fields
-- @treturn string
function M.advice(why, options, delimiter, fields)
  local first = fields[1]
  if not options.comment and (find(first, "^#") or find(why, ": '#")) then
    return "; with comment = \"#\" lines that begin so are skipped"
  end
  local other = #fields == 1 and match(first, "[;\t|]") or
                #fields == 1 and delimiter ~= "," and match(first, ",")
  if other and other ~= delimiter then
    return format("; should option 'delimiter' be %s?",
                  other == "\t" and '"\\t"' or '"' .. other .. '"')
  end
  if options.delimiter ~= "whitespace" and
     (delimiter == " " or #fields == 1 and find(first, "%S[ \t]+%S")) then
    return "; with delimiter = \"whitespace\" spaces in a row are one"
  end
  return ""
end

return M
