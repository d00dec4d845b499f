--- Reads untrusted bytes piece by piece: of a file, or of a member of a zip.
--
-- Every request is compared with the bytes that are left before memory is
-- allocated for it. What is wrong with a file ends the reading by failure.fail.
--
-- @module strided.io.reader

local byte, concat, find, match, min, setmetatable, sub = string.byte,
  table.concat, string.find, string.match, math.min, setmetatable, string.sub
local failure = require "strided.io.failure"

local check, fail = failure.check, failure.fail

local BLOCK = 65536
local MAX_READ = 2 ^ 20    -- bytes that a member returns at once
local MAX_TOKEN = 64       -- bytes of a number in text, and of the space before
local MAX_LINE = 65536

local reader = {}

-- -- Reading -----------------------------------------------------------------

local Reader = {}
Reader.__index = Reader

--- Makes a reader.
-- @tparam function fetch returns the next n bytes, or nil and an error message
-- @tparam number size how many bytes there are
function reader.new(fetch, size)
  return setmetatable({fetch = fetch, rest = size, left = size, buffer = "",
                       at = 1, packed = size}, Reader)
end

--- Makes a reader of a source, from an offset on, to its end or to another one.
function reader.of_source(source, from, stop)
  local at, size = from, stop or source:size()
  local self = reader.new(function(n)
    local bytes, why = source:read(at, n)
    at = at + n
    return bytes, why
  end, size - from)
  self.source, self.size = source, size
  return self
end

--- Makes a reader of an open member of a zip, of `packed` bytes there.
function reader.of_member(member, size, packed)
  local self = reader.new(function(n) return member:read(n) end, size)
  self.packed = packed
  return self
end

--- The offset of the next byte in the source.
function Reader:tell() return self.size - self.left end

--- The next n bytes after the buffer.
function Reader:next_block(n)
  local bytes = check(self.fetch(n))
  self.rest = self.rest - n
  return bytes
end

--- Appends to the buffer until it has n bytes, or all that are left.
function Reader:fill(n)
  local parts, have = {sub(self.buffer, self.at)}, #self.buffer - self.at + 1
  while have < n and self.rest > 0 do
    local part = min(self.rest, n - have > BLOCK and MAX_READ or BLOCK)
    parts[#parts + 1] = self:next_block(part)
    have = have + part
  end
  self.buffer, self.at = concat(parts), 1
end

--- The next n bytes.
function Reader:take(n)
  if n > self.left then fail "it is truncated" end
  if self.at + n - 1 > #self.buffer then self:fill(n) end
  local at = self.at
  self.at, self.left = at + n, self.left - n
  return sub(self.buffer, at, at + n - 1)
end

--- A reader of a source after the next n bytes, which need not be read. The
-- buffer serves it as long as it can.
function Reader:skipping(n)
  if n > self.left then fail "it is truncated" end
  if self.at + n - 1 > #self.buffer then
    return reader.of_source(self.source, self:tell() + n, self.size)
  end
  self.at, self.left = self.at + n, self.left - n
  return self
end

--- The next byte, as a number.
function Reader:byte()
  if self.left < 1 then fail "it is truncated" end
  if self.at > #self.buffer then self:fill(1) end
  local at = self.at
  self.at, self.left = at + 1, self.left - 1
  return byte(self.buffer, at)
end

--- The next byte, which stays the next.
function Reader:peek()
  if self.at > #self.buffer then self:fill(1) end
  return byte(self.buffer, self.at)
end

--- The text up to the next line feed, which is read too.
function Reader:line()
  local stop = find(self.buffer, "\n", self.at, true)
  if not stop then
    self:fill(min(self.left, MAX_LINE))
    stop = find(self.buffer, "\n", self.at, true)
  end
  if not stop then fail "it is truncated, or has a line that is too long" end
  local text = self:take(stop - self.at)
  self:take(1)
  return text
end

--- The text up to the next space, after any spaces.
function Reader:token()
  if #self.buffer - self.at < 2 * MAX_TOKEN then self:fill(2 * MAX_TOKEN) end
  local text, stop = match(self.buffer, "^%s*(%S+)()", self.at)
  if not text or #text > MAX_TOKEN then fail "a number is malformed" end
  self:take(stop - self.at)
  return text
end

-- -- Numbers -----------------------------------------------------------------

--- The unsigned number of n little-endian bytes, at most 6, at an index.
function reader.uint(s, at, n)
  local x = 0
  for i = at + n - 1, at, -1 do x = x * 256 + byte(s, i) end
  return x
end

--- The signed number of 4 little-endian bytes.
function reader.int32(s)
  local x = reader.uint(s, 1, 4)
  return x >= 2147483648 and x - 4294967296 or x
end

--- The double of 8 little-endian bytes.
function reader.double(s)
  local high = byte(s, 8) % 128 * 16
  local b = byte(s, 7)
  local exponent = high + (b - b % 16) / 16
  local fraction = b % 16 * 2.0 ^ 48 + reader.uint(s, 1, 6)
  local x
  if exponent == 2047 then
    x = fraction == 0 and 1 / 0 or 0 / 0
  elseif exponent == 0 then
    x = fraction * 2.0 ^ -1074
  else
    x = (fraction + 2.0 ^ 52) * 2.0 ^ (exponent - 1075)
  end
  return byte(s, 8) >= 128 and -x or x
end

return reader
