--- Passes over tensors that are larger than memory, a block of rows at a time.
--
-- The elements of a mapped file are read when they are used, and the pages that
-- were read stay in this process until the system takes them away. A pass by
-- `st.chunks` has the next block read while the caller works on this one, and
-- gives the pages behind it back. So a pass over a file of any size takes the
-- memory of two blocks:
--
--     local x = st.load("x.npy", {mmap = true})
--     local sum = 0
--     for block in st.chunks(x, 100000, {progress = "sum"}) do
--       sum = sum + block:sum({dtype = "float64"}):item()
--     end
--
-- Results that are larger than memory go into a file that `st.create` makes:
--
--     local y = st.create("y.npy", x.shape, {dtype = "float32"})
--     for from, to in st.chunks({x, y}, 100000) do
--       st.mul(from, 2, {out = to})
--     end
--
-- @module strided.io.chunks

local core = require "strided.core"
local options = require "strided.option.options"
local progress = require "strided.progress"
local raise = require "strided.argument.caller_error"
local values = require "strided.io.values"

local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge,
                                    math.max, math.min
local getmetatable, ipairs, tonumber, tostring, type =
  getmetatable, ipairs, tonumber, tostring, type
local unpack = unpack or table.unpack

local fetch_pages, populate_pages, discard_pages =
  core.fetch_pages, core.populate_pages, core.discard_pages

local KNOWN = {progress = true}
local BLOCK = 2 ^ 24 -- bytes of a block by default

local M = {}

-- -- Arguments ---------------------------------------------------------------

--- The tensors of a pass as a list.
local function list_of(x)
  if core.is_tensor(x) then return {x} end
  if type(x) ~= "table" or getmetatable(x) or x[1] == nil then
    raise("chunks: argument 'x' must be a Tensor or a list of Tensors, got %s",
          type(x))
  end
  for i, t in ipairs(x) do
    if not core.is_tensor(t) then
      raise("chunks: entry %d of 'x' must be a Tensor, got %s", i, type(t))
    end
  end
  return {unpack(x)}
end

--- The number of rows that all tensors have.
local function rows_of(list)
  for i, t in ipairs(list) do
    if t.ndim == 0 then
      raise("chunks: %s has no dimension for its rows",
            #list == 1 and "x" or "entry " .. i .. " of 'x'")
    elseif t.shape[1] ~= list[1].shape[1] then
      raise("chunks: entry %d of 'x' has %d rows where the first has %d", i,
            t.shape[1], list[1].shape[1])
    end
  end
  return list[1].shape[1]
end

--- As many rows as a block of the default size has.
local function default_rows(list, n)
  local bytes = 0
  for _, t in ipairs(list) do bytes = bytes + t:numel() * t:element_size() end
  return max(1, floor(BLOCK / max(1, bytes / max(1, n))))
end

local function check_rows(rows)
  local kind, text = values.kind(rows)
  if kind == "int" then rows = tonumber(text) end
  if type(rows) ~= "number" or rows < 1 or rows ~= floor(rows) or
     rows == huge then
    raise("chunks: argument 'rows' must be a number of rows from 1 on, got %s",
          tostring(rows))
  end
  return rows
end

-- -- Passes ------------------------------------------------------------------

--- Waits for the pages of blocks. What an access to a file that was truncated
-- would do to the process is an error here.
local function await(blocks, first, last)
  for i, block in ipairs(blocks) do
    local ok, why = populate_pages(block)
    if ok == nil then
      raise("chunks: cannot read rows %.0f to %.0f%s: %s", first, last,
            #blocks == 1 and "" or " of entry " .. i .. " of 'x'", why)
    end
  end
end

local function each(blocks, fn)
  for _, block in ipairs(blocks) do fn(block) end
end

--- An iterator over the blocks of a list of tensors with n rows. The caller may
-- free a block, so the pages behind are those of another view.
local function blocks_of(list, n, rows)
  local first = 1 - rows
  local function cut(from)
    local blocks = {}
    for i, t in ipairs(from >= 1 and from <= n and list or {}) do
      blocks[i] = t:narrow(1, from, min(rows, n - from + 1))
    end
    return blocks
  end
  return function()
    each(cut(first), discard_pages)
    first = first + rows
    local blocks = cut(first)
    if not blocks[1] then return nil end
    await(blocks, first, min(first + rows - 1, n))
    each(cut(first + rows), fetch_pages)
    if #blocks == 1 then return blocks[1], first end
    blocks[#blocks + 1] = first
    return unpack(blocks)
  end
end

--- Goes through a tensor by blocks of rows:
--
--     for block, first in st.chunks(x, 100000) do ... end
--
-- A block is a view, `x:narrow(1, first, n)`; the last one may have fewer rows.
-- `first` is the number of its first row. For a list of tensors with the same
-- number of rows, `for a, b, first in st.chunks({x, y}, 100000)`, there is a
-- block of each.
--
-- If the elements are those of a mapped file, the rows after the block are
-- being read in the meantime, and the pages of the rows before it are released;
-- these are read again when they are used. What was written to them is kept: in
-- the file if it is mapped to write, in this process's memory otherwise. After
-- a `break` the pages of one block stay until the mapping goes. Blocks of a
-- tensor in Fortran order have a piece of every column; those of columns,
-- `st.chunks(x:t(), 10)`, are read faster. In the same way a block of columns
-- of a tensor in C order has a piece of every row: it may read every page of
-- the file, and a pass reads the file once for each block. A file that was
-- truncated meanwhile is an error.
-- @param x a tensor, or a list of tensors
-- @tparam[opt] integer rows of a block; by default as many as 16 MB have
-- @tparam[opt] table given options: `progress`: true, or what to write before
-- the line that shows how many blocks are done, on a terminal: a text, or a
-- function that returns one
-- @treturn function an iterator: a block of each tensor, and the number of the
-- first row
function M.chunks(x, rows, given)
  if type(rows) == "table" and given == nil then rows, given = nil, rows end
  given = options("chunks", given, KNOWN)
  if given.progress ~= nil then progress.check("chunks", given.progress) end
  local list = list_of(x)
  local n = rows_of(list)
  rows = check_rows(rows == nil and default_rows(list, n) or rows)
  local iter = blocks_of(list, n, rows)
  if not given.progress then return iter end
  return progress.each(iter, ceil(n / rows), given.progress, "chunks")
end

return M
