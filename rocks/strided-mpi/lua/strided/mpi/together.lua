--- What rank 0 does for all: lines of progress and checkpoints.
--
-- @module strided.mpi.together

local st = require "strided"
local agree = require "strided.mpi.agree"
local check = require "strided.mpi.check"

local format, is_refusal = string.format, require "strided.core".is_refusal
local error, io, pairs, pcall, print, select, tostring, type = error, io, pairs,
  pcall, print, select, tostring, type

local raise = check.raise

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

  --- Prints a formatted line on rank 0 only, and at once. A format that does
  -- not fit the arguments is an error on all ranks.
  -- @function log
  -- @tparam string text
  -- @param ... as for string.format
  function M.log(text, ...)
    if type(text) ~= "string" then
      raise("log: argument 'text' must be a string, got %s", type(text))
    end
    local ok, line = true, text
    if select("#", ...) > 0 then ok, line = pcall(format, text, ...) end
    if not ok and not (type(line) == "string" and
                       (line:find "bad argument #" or
                        line:find "^[^\n]*invalid [%a ]*")) then
      error(line, 0) -- an interrupt in __tostring of an argument
    elseif not ok then -- called by pcall, format does not know its name
      raise("log: %s", (line:gsub("to '[^']*' ", "to 'format' ", 1)))
    end
    if mpi.rank() ~= 0 then return end
    print(line)
    io.stdout:flush()
  end

  --- Calls fn(...) where `is_mine`; returns its result. If a rank fails, all
  -- ranks raise the error of the first one that did.
  local function call(name, comm, is_mine, fn, ...)
    local ok, result = true, nil
    if is_mine then ok, result = pcall(fn, ...) end
    local first = agree.first_failed(comm, ok)
    if not first then return result end
    local said = tostring(result)
    -- without the line of this file that st.save and st.load may put in front
    local why = said:gsub("^[^\n]-together%.lua:%d+: ", "")
    local text = agree.text(comm, why:sub(1, 4000), first)
    if not ok and not is_refusal(result) then error(result, 0) end
    raise("%s: rank %d: %s", name, first, text)
  end

  local function check_path(name, path)
    if type(path) ~= "string" then
      raise("%s: argument 'path' must be a string, got %s", name, type(path))
    end
  end

  --- Saves a value with st.save on rank 0; the others wait until the file is
  -- complete. If it cannot be written, all ranks raise the error.
  -- @function save
  -- @tparam string path
  -- @param value on rank 0
  -- @tparam[opt] table options `comm` (mpi.world)
  function M.save(path, value, given)
    given = check.options("save", given, COMM)
    local comm = check.comm("save", given.comm, mpi.world)
    check_path("save", path)
    call("save", comm, comm:rank() == 0, st.save, path, value)
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
      comm, rest.comm = check.comm("load", given.comm, comm), nil
    elseif given ~= nil then
      raise("load: the options must be a table, got %s", type(given))
    end
    return call("load", comm, true, st.load, path, rest)
  end

  return M
end
