--- The strings of JSON, for the header of .safetensors files and for the tree
-- in it.
--
-- @module strided.io.json

local byte, char, concat, floor, format = string.byte, string.char,
  table.concat, math.floor, string.format
local tonumber = tonumber

local json = {}

local function utf8(code)
  if code < 128 then return char(code) end
  local tail = {}
  local first = 64
  repeat
    tail[#tail + 1] = char(128 + code % 64)
    code, first = floor(code / 64), first / 2
  until code < first
  tail[#tail + 1] = char(256 - 2 * first + code)
  return concat(tail):reverse()
end

--- The UTF-8 of a code point.
json.utf8 = utf8

local ESCAPES = {
  ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n",
  r = "\r", t = "\t",
}

--- Parses the digits of an escape \u0041, or of a surrogate pair.
local function parse_code(s, at)
  local code = tonumber(s:match("^%x%x%x%x", at) or "", 16)
  if not code or code >= 0xDC00 and code < 0xE000 then return nil end
  if code < 0xD800 or code >= 0xE000 then return utf8(code), at + 4 end
  local low = tonumber(s:match("^\\u(%x%x%x%x)", at + 4) or "", 16)
  if not low or low < 0xDC00 or low > 0xDFFF then return nil end
  return utf8(0x10000 + (code - 0xD800) * 1024 + low - 0xDC00), at + 10
end

--- The index of the first character from `at` on that is no space.
function json.skip(s, at) return s:match("^[ \t\r\n]*()", at) end

--- Parses the string at an index.
-- @treturn string and the index after it; or nil
function json.parse_string(s, at)
  local parts = {}
  at = s:match('^"()', at)
  while at do
    local plain, stop = s:match('^([^"\\%z\1-\31]*)()', at)
    parts[#parts + 1] = plain
    local quote, escape = s:match('^"()', stop), s:match("^\\(.)", stop)
    if quote then return concat(parts), quote end
    local text
    if escape == "u" then
      text, at = parse_code(s, stop + 2)
    else
      text, at = ESCAPES[escape or ""], stop + 2
    end
    if not text then return nil end
    parts[#parts + 1] = text
  end
end

--- Encodes a string of UTF-8.
function json.quote(s)
  return '"' .. s:gsub('[%z\1-\31"\\]', function(c)
    return format("\\u%04x", byte(c))
  end) .. '"'
end

return json
