--- A service that ranks vectors by how similar they are to the one in a
-- request. The master loads them, the workers share its memory and answer.

local st = require "strided"

local concat, format = table.concat, string.format

local rank = {}

local vectors, threads

local function normalised(t, dim)
  return t / t:norm(2, dim, true):clamp {min = 1e-12}
end

--- Loads the vectors: the rows of a .npy file.
function rank.load(path)
  threads = st.get_num_threads()
  vectors = normalised(st.load(path), 2)
end

--- How many threads compute here, and how many did when it was loaded.
function rank.threads() return st.get_num_threads(), threads end

--- Bytes of a query.
function rank.size() return vectors.shape[2] * vectors:element_size() end

--- The vectors most similar to the one whose bytes these are, best first, as
-- JSON: [[position, cosine], ...].
function rank.top(bytes, count)
  local query = st.frombuffer(bytes, {dtype = vectors.dtype})
  local cosines = vectors:mv(normalised(query, 1))
  local best, positions = cosines:topk(count)
  local ranked = {}
  for i = 1, count do
    ranked[i] = format("[%d,%.6f]", positions[i], best[i])
  end
  return "[" .. concat(ranked, ",") .. "]"
end

return rank
