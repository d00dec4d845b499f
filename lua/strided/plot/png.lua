--- Small PNG files inside of SVG, not compressed: an SVG shows pixels by them
-- alone. Files of images are written by st.save and the rock strided-image.
--
-- @module strided.plot.png

local core = require "strided.core"

local byte, char, concat, floor, ipairs, min, sub = string.byte, string.char,
  table.concat, math.floor, ipairs, math.min, string.sub
local unpack = unpack or table.unpack

local BLOCK = 65535   -- bytes of a stored block of deflate
local AT_ONCE = 4096  -- arguments of string.char
local PRIME = 65521   -- of the sums of Adler

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" .. "abcdefghijklmnopqrstuvwxyz"
  .. "0123456789+/"

local png = {}

--- A text of the digits of base 64.
function png.base64(bytes)
  local out = {}
  for i = 1, #bytes, 3 do
    local a, b, c = byte(bytes, i, i + 2)
    local x = a * 65536 + (b or 0) * 256 + (c or 0)
    local p, q = floor(x / 262144) + 1, floor(x / 4096) % 64 + 1
    local r, s = floor(x / 64) % 64 + 1, x % 64 + 1
    out[#out + 1] = sub(DIGITS, p, p) .. sub(DIGITS, q, q)
      .. (b and sub(DIGITS, r, r) or "=") .. (c and sub(DIGITS, s, s) or "=")
  end
  return concat(out)
end

local function word(x)
  return char(floor(x / 16777216) % 256, floor(x / 65536) % 256,
              floor(x / 256) % 256, x % 256)
end

local function chunk(kind, data)
  return word(#data) .. kind .. data .. word(core.crc32(kind, data))
end

--- The bytes of a row of numbers.
local function row_of(list)
  local parts = {"\0"} -- no filter
  for i = 1, #list, AT_ONCE do
    parts[#parts + 1] = char(unpack(list, i, min(i + AT_ONCE - 1, #list)))
  end
  return concat(parts)
end

local function adler(data)
  local a, b = 1, 0
  for i = 1, #data do
    a = (a + byte(data, i)) % PRIME
    b = (b + a) % PRIME
  end
  return word(b * 65536 + a)
end

--- data as a stream of zlib that does not compress.
local function stored(data)
  local parts = {"\120\1"}
  for i = 1, #data, BLOCK do
    local n = min(BLOCK, #data - i + 1)
    parts[#parts + 1] = char(i + n > #data and 1 or 0, n % 256, floor(n / 256),
                             255 - n % 256, 255 - floor(n / 256))
    parts[#parts + 1] = sub(data, i, i + n - 1)
  end
  parts[#parts + 1] = adler(data)
  return concat(parts)
end

--- The bytes of a PNG file.
-- @tparam Tensor pixels uint8, {h, w, 3} or, with a palette, {h, w}
-- @tparam ?table palette colours, {red, green, blue}
-- @treturn string
function png.encode(pixels, palette)
  local rows, shape = {}, pixels.shape
  local flat = pixels:reshape {shape[1], -1}
  for i = 1, shape[1] do rows[i] = row_of(flat:select(1, i):totable()) end
  local colours = {}
  for i, rgb in ipairs(palette or {}) do colours[i] = char(unpack(rgb)) end
  return "\137PNG\r\n\26\n"
    .. chunk("IHDR", word(shape[2]) .. word(shape[1]) .. "\8"
             .. (palette and "\3" or "\2") .. "\0\0\0")
    .. (palette and chunk("PLTE", concat(colours)) or "")
    .. chunk("IDAT", stored(concat(rows))) .. chunk("IEND", "")
end

return png
