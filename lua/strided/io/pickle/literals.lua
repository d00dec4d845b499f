--- Numbers and strings as pickles of Python write them.
--
-- @module strided.io.pickle.literals

local failure = require "strided.io.failure"
local json = require "strided.io.json"
local reader = require "strided.io.reader"

local byte, char, find, format, gsub, match, sub = string.byte, string.char,
  string.find, string.format, string.gsub, string.match, string.sub
local concat, tonumber, tostring, type = table.concat, tonumber, tostring, type

local require = require "strided.core".require

local clean, fail, uint = failure.clean, failure.fail, reader.uint

local MAX_EXACT = 2 ^ 53  -- integers below it are exact in a double
local MOST_NEGATIVE = "09223372036854775808"
local MOST_POSITIVE = "18446744073709551615"

local literals = {}

-- -- Numbers -----------------------------------------------------------------

--- An integer as a number, if that is exact.
local function narrow(x)
  local exact = type(x) ~= "number" and
                tonumber((gsub(tostring(x), "U?LL$", "")))
  if exact and exact > -MAX_EXACT and exact < MAX_EXACT then return exact end
  return x
end

--- The integer of a text of digits.
function literals.integer(text)
  local digits = match(text, "^%-?(%d+)$")
  if not digits then fail("its pickle has the number %s", clean(text)) end
  if #digits <= 15 then return tonumber(text) + 0 end
  local limit = sub(text, 1, 1) == "-" and MOST_NEGATIVE or MOST_POSITIVE
  if #digits > 20 or ("0"):rep(20 - #digits) .. digits > limit then
    fail "its pickle has an integer of more than 64 bits"
  end
  return narrow(require "strided".int(text))
end

--- The digits of the number of little-endian bytes.
local function digits_of(s)
  local limbs = {0} -- of seven digits, from the lowest
  for i = #s, 1, -1 do
    local carry = byte(s, i)
    for k = 1, #limbs do
      local x = limbs[k] * 256 + carry
      limbs[k] = x % 10000000
      carry = (x - limbs[k]) / 10000000
    end
    if carry > 0 then limbs[#limbs + 1] = carry end
  end
  local parts = {format("%.0f", limbs[#limbs])}
  for k = #limbs - 1, 1, -1 do
    parts[#parts + 1] = format("%07.0f", limbs[k])
  end
  return concat(parts)
end

--- The integer of little-endian bytes in two's complement.
function literals.long(s)
  local n = #s
  if n == 0 then return 0 end
  if n > 9 then fail "its pickle has an integer of more than 64 bits" end
  local is_negative = byte(s, n) >= 128
  if is_negative then
    local carry = 1
    s = gsub(s, ".", function(c)
      local b = 255 - byte(c) + carry
      carry = b == 256 and 1 or 0
      return char(b % 256)
    end)
  end
  if n <= 6 then
    local x = uint(s, 1, n)
    return is_negative and -x or x
  end
  local x = digits_of(s)
  return literals.integer(is_negative and "-" .. x or x)
end

--- The double of a text.
function literals.float(text)
  local special = match(text, "^[+-]?(%a+)$")
  if special then
    if special == "nan" then return 0 / 0 end
    if special == "inf" then return byte(text) == 45 and -1 / 0 or 1 / 0 end
  end
  local x = match(text, "^[%d%.eE+-]+$") and tonumber(text)
  if not x then fail("its pickle has the number %s", clean(text)) end
  return x + 0.0
end

-- -- Text --------------------------------------------------------------------

local ESCAPES = {n = "\n", t = "\t", r = "\r", ["\\"] = "\\", ["'"] = "'",
                 ['"'] = '"', a = "\a", b = "\b", f = "\f", v = "\v"}

--- The text of a string literal of Python 2.
function literals.literal(line)
  local text = match(line, "^'(.*)'$") or match(line, '^"(.*)"$')
  if not text then fail "its pickle has a string without quotes" end
  text = gsub(text, "\\(x?)(.)(%x?)", function(x, c, d)
    if x == "x" and find(c, "%x") and d ~= "" then
      return char(tonumber(c .. d, 16))
    end
    return x == "" and ESCAPES[c] and ESCAPES[c] .. d or nil
  end)
  return text
end

--- The UTF-8 of a line of Latin-1 and of escapes such as \u0041.
function literals.unicode(line)
  line = gsub(line, "[\128-\255]", function(c) return json.utf8(byte(c)) end)
  line = gsub(line, "\\u(%x%x%x%x)", function(code)
    return json.utf8(tonumber(code, 16))
  end)
  return (gsub(line, "\\U(%x%x%x%x%x%x%x%x)", function(code)
    code = tonumber(code, 16)
    return code < 0x110000 and json.utf8(code) or nil
  end))
end

--- The bytes of a text of code points below 256; nil if there are others.
function literals.latin1(text)
  if not find(text, "[\128-\255]") then return text end
  if find(gsub(text, "[\194\195][\128-\191]", ""), "[\128-\255]") then
    return nil
  end
  return (gsub(text, "([\194\195])([\128-\191])", function(a, b)
    return char((byte(a) - 194) * 64 + byte(b))
  end))
end

return literals
