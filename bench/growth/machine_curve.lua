--- What the machine itself takes on one thread: to copy, read or write a
-- working set of a number of bytes by functions of the C library, or to load a
-- line of it after the other, each in another page; and to copy or read rows at
-- a distance from each other.

local ffi = require "ffi"

local bit = require "bit"

local bor = bit.bor
local max, min, floor = math.max, math.min, math.floor

ffi.cdef [[
  struct bench_curve_time { long s, ns; };
  int clock_gettime(int clock, struct bench_curve_time *now);
  int posix_memalign(void **block, size_t alignment, size_t size);
  void free(void *block);
  int madvise(void *address, size_t length, int advice);
  void *memset(void *to, int value, size_t n);
  void *memchr(const void *text, int value, size_t n);
]]

local MONOTONIC, HUGE_PAGES, SMALL_PAGES = 1, 14, 15
local HUGE_PAGE = 2 ^ 21
local LEAST = 2 ^ 26 -- bytes of memory
local MOST = 2 ^ 32  -- bytes of a working set
local LINE = 64
local SAMPLE = 2 ^ 20 -- bytes that a sample touches at least
local JUMP = 16411 * LINE -- bytes, an odd number of lines

local curve = {}
local rooms = {} -- the memory, from the first use on
local now = ffi.new "struct bench_curve_time"

local function clock()
  ffi.C.clock_gettime(MONOTONIC, now)
  return tonumber(now.s) * 1e9 + tonumber(now.ns)
end

--- Memory for a working set of so many bytes, on huge pages, as the engine's
-- large blocks are, or on small ones.
local function memory(pages, bytes)
  local room = rooms[pages]
  if room and room.bytes >= bytes then return room.at end
  local size = LEAST
  while size < bytes do size = 2 * size end
  if room then ffi.C.free(room.at) end
  rooms[pages] = nil
  local block = ffi.new "void *[1]"
  if ffi.C.posix_memalign(block, HUGE_PAGE, size) ~= 0 then
    error("no memory for the machine's own curve", 0)
  end
  ffi.C.madvise(block[0], size, pages)
  ffi.C.memset(block[0], 1, size)
  rooms[pages] = {at = ffi.cast("char *", block[0]), bytes = size}
  return rooms[pages].at
end

local KINDS = {
  --- Half of the bytes to the other half.
  copy = function(at, bytes) ffi.copy(at + bytes / 2, at, bytes / 2) end,
  --- A value that is not there.
  read = function(at, bytes) return ffi.C.memchr(at, 7, bytes) == nil end,
  write = function(at, bytes) ffi.fill(at, bytes, 1) end,
  --- As many loads as there are lines, in the largest power of two that fits.
  jump = function(at, bytes)
    local set, sum, place = LINE, 0, 0
    while 2 * set <= bytes do set = 2 * set end
    local step = JUMP % set
    for _ = 1, bytes / LINE do
      place = place + step
      if place >= set then place = place - set end
      sum = sum + at[place]
    end
    return sum
  end,
}

--- The least ns of a call of `run`, of many within ms. `bytes` are those that a
-- call touches.
local function least_of(run, bytes, ms)
  local passes = max(1, floor(SAMPLE / bytes))
  local least, start = math.huge, clock()
  repeat
    local before = clock()
    for _ = 1, passes do run() end
    least = min(least, clock() - before)
  until clock() - start > ms * 1e6
  return least / passes
end

--- The least ns per byte of a kind ("copy", "read", "write", "jump"), at a
-- working set of so many bytes, within ms.
function curve.at(kind, bytes, ms)
  bytes = max(LINE, floor(min(bytes, MOST) / LINE) * LINE)
  local run, at = KINDS[kind], memory(HUGE_PAGES, bytes)
  return least_of(function() run(at, bytes) end, bytes, ms) / bytes
end

--- Reads n rows of so many bytes: their lines, each once.
local function read_rows(at, n, bytes, distance)
  if distance <= LINE then return KINDS.read(at, n * distance) end
  if bytes > LINE then
    for i = 0, n - 1 do KINDS.read(at + i * distance, bytes) end
    return
  end
  local all = 0
  for i = 0, n - 1 do all = bor(all, at[i * distance]) end
  return all
end

--- The same, a line of each row after the other.
local function read_columns(at, n, bytes, distance)
  local all = 0
  for line = 0, bytes - 1, LINE do
    for i = 0, n - 1 do all = bor(all, at[i * distance + line]) end
  end
  return all
end

local function copy_rows(to, at, n, bytes, distance)
  if bytes > LINE then
    for i = 0, n - 1 do ffi.copy(to + i * bytes, at + i * distance, bytes) end
  else
    read_rows(at, n, bytes, distance)
    ffi.fill(to, n * bytes, 1)
  end
end

--- The least ns per row to read n rows of so many bytes, in each of so many
-- operands, row by row ("read") or column by column ("columns"), or to copy
-- ("copy") those of the last one to rows without gaps, or to read by columns
-- and write rows without gaps ("transpose").
function curve.rows(kind, n, bytes, distance, operands, ms)
  local span = n * distance
  local at = memory(span < HUGE_PAGE and SMALL_PAGES or HUGE_PAGES,
                    operands * span + n * bytes)
  local to = at + operands * span
  local by_columns = kind == "columns" or kind == "transpose"
  local read = by_columns and read_columns or read_rows
  return least_of(function()
    for k = 1, operands - (kind == "copy" and 1 or 0) do
      read(at + k * span - span, n, bytes, distance)
    end
    if kind == "copy" then
      copy_rows(to, to - span, n, bytes, distance)
    elseif kind == "transpose" then
      ffi.fill(to, n * bytes, 1)
    end
  end, n * bytes, ms) / n
end

return curve
