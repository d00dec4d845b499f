--- What the machine itself takes for a working set of a number of bytes, on one
-- thread: to copy, read or write it by functions of the C library, or to load a
-- line of it after the other, each in another page.

local ffi = require "ffi"

local band = require "bit".band
local max, min, floor = math.max, math.min, math.floor

ffi.cdef [[
  struct bench_curve_time { long s, ns; };
  int clock_gettime(int clock, struct bench_curve_time *now);
  int posix_memalign(void **block, size_t alignment, size_t size);
  int madvise(void *address, size_t length, int advice);
  void *memset(void *to, int value, size_t n);
  void *memchr(const void *text, int value, size_t n);
]]

local MONOTONIC, HUGE_PAGES = 1, 14
local HUGE_PAGE = 2 ^ 21
local MOST = 2 ^ 29   -- bytes; the curve is flat behind the last cache
local SAMPLE = 2 ^ 20 -- bytes that a sample touches at least
local JUMP = 16411 * 64 -- bytes, an odd number of lines

local curve = {}
local room -- the memory, from the first use on
local now = ffi.new "struct bench_curve_time"

local function clock()
  ffi.C.clock_gettime(MONOTONIC, now)
  return tonumber(now.s) * 1e9 + tonumber(now.ns)
end

--- MOST bytes on huge pages, as the engine's large blocks are.
local function memory()
  if room then return room end
  local block = ffi.new "void *[1]"
  if ffi.C.posix_memalign(block, HUGE_PAGE, MOST) ~= 0 then
    error("no memory for the machine's own curve", 0)
  end
  ffi.C.madvise(block[0], MOST, HUGE_PAGES)
  ffi.C.memset(block[0], 1, MOST)
  room = ffi.cast("char *", block[0]) -- until the process ends
  return room
end

local KINDS = {
  --- Half of the bytes to the other half.
  copy = function(at, bytes) ffi.copy(at + bytes / 2, at, bytes / 2) end,
  --- A value that is not there.
  read = function(at, bytes) return ffi.C.memchr(at, 7, bytes) == nil end,
  write = function(at, bytes) ffi.fill(at, bytes, 1) end,
  --- As many loads as there are lines, in the largest power of two that fits.
  jump = function(at, bytes)
    local set, sum, place = 64, 0, 0
    while 2 * set <= bytes do set = 2 * set end
    for _ = 1, bytes / 64 do
      place = band(place + JUMP, set - 1)
      sum = sum + at[place]
    end
    return sum
  end,
}

--- The least ns per byte of a kind ("copy", "read", "write", "jump"), at a
-- working set of so many bytes, within ms.
function curve.at(kind, bytes, ms)
  local run, at = KINDS[kind], memory()
  bytes = max(64, floor(min(bytes, MOST) / 64) * 64)
  local passes = max(1, floor(SAMPLE / bytes))
  local least, start = math.huge, clock()
  repeat
    local before = clock()
    for _ = 1, passes do run(at, bytes) end
    least = min(least, clock() - before)
  until clock() - start > ms * 1e6
  return least / passes / bytes
end

return curve
