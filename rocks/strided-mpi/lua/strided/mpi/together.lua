--- What rank 0 does for all: lines of progress and checkpoints.
--
-- @module strided.mpi.together

local st = require "strided"
local check = require "strided.mpi.check"

local char, concat, format = string.char, table.concat, string.format
local error, io, ipairs, pairs, pcall, print, select, tonumber, tostring, type =
  error, io, ipairs, pairs, pcall, print, select, tonumber, tostring, type

local COMM = {comm = true}

return function(mpi)
  local M = {}

  --- Prints as `print` does, on rank 0 only, and at once.
  -- @function print
  -- @param ...
  function M.print(...)
    if mpi.rank() ~= 0 then return end
    print(...)
    io.stdout:flush()
  end

  --- Prints a formatted line on rank 0 only, and at once.
  -- @function log
  -- @tparam string text
  -- @param ... as for string.format
  function M.log(text, ...)
    if mpi.rank() ~= 0 then return end
    print(select("#", ...) > 0 and format(text, ...) or text)
    io.stdout:flush()
  end

  --- The text of rank root, on all ranks.
  local function broadcast_text(comm, text, root)
    local is_root = comm:rank() == root
    local n = st.tensor({is_root and #text or 0}, {dtype = "int64"})
    comm:broadcast_(n, root)
    local length = tonumber(n:item())
    if length == 0 then return "" end
    local bytes = st.zeros(length, {dtype = "uint8"})
    if is_root then
      local list = {text:byte(1, length)}
      bytes = st.tensor(list, {dtype = "uint8"})
    end
    comm:broadcast_(bytes, root)
    local out = {}
    for i, byte in ipairs(bytes:totable()) do out[i] = char(byte) end
    return concat(out)
  end

  --- Calls fn(...) where `is_mine`; returns its result. If a rank fails, all
  -- ranks raise the error of the first one that did.
  local function agree(name, comm, is_mine, fn, ...)
    local ok, result = true, nil
    if is_mine then ok, result = pcall(fn, ...) end
    local failed = st.tensor({ok and comm:size() or comm:rank()},
                             {dtype = "int64"})
    comm:all_reduce_(failed, "min")
    local first = tonumber(failed:item())
    if first == comm:size() then return result end
    local why = tostring(result):sub(1, 4000)
    error(format("%s: rank %d: %s", name, first,
                 broadcast_text(comm, why, first)), 0)
  end

  local function check_path(name, path)
    if type(path) ~= "string" then
      check.raise("%s: argument 'path' must be a string, got %s", name,
                  type(path))
    end
  end

  --- Saves a value with st.save on rank 0; the others wait until the file is
  -- complete. If it cannot be written, all ranks raise the error.
  -- @function save
  -- @tparam string path
  -- @param value on rank 0
  -- @tparam[opt] table options `comm` (mpi.world)
  function M.save(path, value, given)
    local comm = check.options("save", given, COMM).comm or mpi.world
    check_path("save", path)
    agree("save", comm, comm:rank() == 0, st.save, path, value)
  end

  --- Loads a file with st.load on every rank. If one cannot read it, all ranks
  -- raise the error.
  -- @function load
  -- @tparam string path
  -- @tparam[opt] table options `comm` (mpi.world); others are those of st.load
  -- @return what st.load returns
  function M.load(path, given)
    check_path("load", path)
    local comm, rest = mpi.world, nil
    if type(given) == "table" then
      rest = {}
      for key, value in pairs(given) do rest[key] = value end
      comm, rest.comm = given.comm or comm, nil
    end
    return agree("load", comm, true, st.load, path, rest)
  end

  return M
end
