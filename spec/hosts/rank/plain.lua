--- The same service in plain Lua, for comparison: a loop over an array of
-- floats, which LuaJIT compiles, and an insertion into a list of the best.

local ffi = require "ffi"

local concat, format, insert, sqrt =
  table.concat, string.format, table.insert, math.sqrt

local plain = {}

local vectors, count, size

local function length(p)
  local sum = 0
  for i = 0, size - 1 do sum = sum + p[i] * p[i] end
  return sqrt(sum)
end

--- Loads the vectors: the rows of a .npy file of floats.
function plain.load(path)
  local file = assert(io.open(path, "rb"))
  local low, high = file:read(10):byte(9, 10)
  local header = file:read(low + 256 * high)
  local bytes = file:read "*a"
  file:close()
  count, size = header:match "'<f4'.*%((%d+), (%d+)%)"
  count, size = tonumber(count), tonumber(size)
  vectors = ffi.new("float[?]", count * size)
  ffi.copy(vectors, bytes, #bytes)
  for row = 0, count - 1 do
    local p = vectors + row * size
    local scale = 1 / length(p)
    for i = 0, size - 1 do p[i] = p[i] * scale end
  end
end

--- Bytes of a query.
function plain.size() return size * 4 end

local function dot(p, q)
  local sum = 0
  for i = 0, size - 1 do sum = sum + p[i] * q[i] end
  return sum
end

--- The vectors most similar to the one whose bytes these are, best first, as
-- JSON: [[position, cosine], ...].
function plain.top(bytes, wanted)
  local query = ffi.cast("const float *", bytes)
  local scale = 1 / length(query)
  local best = {}
  for row = 0, count - 1 do
    local score = dot(vectors + row * size, query) * scale
    local at = #best + 1
    while at > 1 and score > best[at - 1][2] do at = at - 1 end
    if at <= wanted then
      insert(best, at, {row + 1, score})
      best[wanted + 1] = nil
    end
  end
  for i, b in ipairs(best) do best[i] = format("[%d,%.6f]", b[1], b[2]) end
  return "[" .. concat(best, ",") .. "]"
end

return plain
