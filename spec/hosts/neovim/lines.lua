--- Which lines of a buffer resemble each other: letters are counted, lines
-- become vectors, their cosines a matrix, which is printed into the buffer.

local st = require "strided"

local api = vim.api

local LINES = {
  "the quick brown fox jumps over the lazy dog",
  "pack my box with five dozen liquor jugs",
  "a quick brown dog jumps over the lazy fox",
  "five boxing wizards jump quickly",
  "my jugs of liquor: five dozen, pack with a box",
}

--- How often each letter is in a line.
local function letters(line)
  local counts = {}
  for i = 1, 26 do
    counts[i] = select(2, line:gsub(string.char(96 + i), ""))
  end
  return counts
end

local function plain_cosine(a, b)
  local ab, aa, bb = 0, 0, 0
  for i = 1, #a do
    ab, aa, bb = ab + a[i] * b[i], aa + a[i] * a[i], bb + b[i] * b[i]
  end
  return ab / math.sqrt(aa * bb)
end

api.nvim_buf_set_lines(0, 0, -1, true, LINES)

local lib = st.library "text"
lib:def "cosine(Tensor rows) -> Tensor"
lib:impl("cosine", "CompositeImplicitAutograd", function(rows)
  local unit = rows / (rows * rows):sum({dim = 2, keepdim = true}):sqrt()
  return unit:matmul(unit:t())
end)

local vectors = vim.tbl_map(letters, api.nvim_buf_get_lines(0, 0, -1, true))
local similar = st.ops.text.cosine(st.tensor(vectors, {dtype = "float64"}))

for i, row in ipairs(similar:totable()) do
  for k, x in ipairs(row) do
    assert(math.abs(x - plain_cosine(vectors[i], vectors[k])) < 1e-12)
  end
end

-- a line is nearest to itself
local _, order = similar:topk(2, {dim = 2})
api.nvim_buf_set_lines(0, -1, -1, true, vim.split(tostring(similar), "\n"))
io.stdout:write(table.concat(order["1:, 2"]:totable(), " "), "\n",
                table.concat(api.nvim_buf_get_lines(0, -2, -1, true)), "\n")
lib:close()
