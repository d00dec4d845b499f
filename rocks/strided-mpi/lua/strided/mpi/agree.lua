--- What all ranks of a communicator know together: a text of one of them, the
-- first one that failed, whether all have the same.
--
-- @module strided.mpi.agree

local st = require "strided"

local char, concat, format, min = string.char, table.concat, string.format,
  math.min
local tonumber, unpack = tonumber, unpack or table.unpack

local agree = {}

local CHUNK = 4096 -- bytes on the stack at once

--- The text of rank root, on all ranks.
-- @param comm a communicator
-- @tparam ?string text on root
-- @tparam integer root
-- @treturn string
function agree.text(comm, text, root)
  local is_root = comm:rank() == root
  local n = st.tensor({is_root and #text or 0}, {dtype = "int64"})
  comm:broadcast_(n, root)
  local length = tonumber(n:item())
  if length == 0 then return "" end
  local list = {}
  for i = 1, length do list[i] = is_root and text:byte(i) or 0 end
  local bytes = st.tensor(list, {dtype = "uint8"})
  comm:broadcast_(bytes, root)
  list = bytes:totable()
  local out = {}
  for i = 1, length, CHUNK do
    out[#out + 1] = char(unpack(list, i, min(i + CHUNK - 1, length)))
  end
  return concat(out)
end

--- The first rank for which `ok` is false.
-- @param comm a communicator
-- @param ok
-- @treturn ?integer nil if it is true on all
function agree.first_failed(comm, ok)
  local size = comm:size()
  local failed = st.tensor({ok and size or comm:rank()}, {dtype = "int64"})
  comm:all_reduce_(failed, "min")
  local first = tonumber(failed:item())
  return first < size and first or nil
end

--- Compares lists of lines with that of rank 0.
-- @param comm a communicator
-- @tparam {string,...} lines without line breaks
-- @treturn ?string nil if all are the same, otherwise a text that names the
-- first difference and two ranks, the same on all ranks
function agree.difference(comm, lines)
  local mine = concat(lines, "\n")
  local theirs = agree.text(comm, mine, 0)
  local rank = agree.first_failed(comm, mine == theirs)
  if not rank then return nil end
  local said
  if rank == comm:rank() then
    local list = {}
    for line in (theirs .. "\n"):gmatch "(.-)\n" do list[#list + 1] = line end
    local i = 1
    while list[i] == lines[i] do i = i + 1 end
    said = format("rank 0 has %s, rank %d has %s", list[i] or "nothing else",
                  rank, lines[i] or "nothing else")
  end
  return agree.text(comm, said, rank)
end

return agree
