--- Collectives of tensors over MPI.
--
--     local st = require "strided"
--     local mpi = require "strided.mpi"
--     mpi.run(function()
--       local x = st.full({3}, mpi.rank())
--       print(mpi.all_reduce(x))
--     end)
--
-- Run it with `mpirun -np 4 luajit script.lua`. Ranks count from 0: they are
-- names of MPI, not indices.
--
-- The collectives are operators of the namespace `mpi`: `st.ops.mpi.all_reduce(
-- x, "sum", comm:id())`, which `st.trace` and `st.explain` see, and which have
-- derivatives. Every rank calls the same collectives on a communicator in the
-- same order, with tensors of the same shape and dtype; checked mode finds
-- where they do not. In a backward pass the derivatives are collectives, too.
--
-- A contiguous tensor is sent from where it lies; one with other strides is
-- copied once.
--
-- @module strided.mpi

local st = require "strided"
local core = require "strided.mpi.core"
local check = require "strided.mpi.check"
local collectives = require "strided.mpi.collectives"

local debug, getmetatable, os, pairs, pcall, select, tostring, type, unpack,
  xpcall = debug, getmetatable, os, pairs, pcall, select, tostring, type,
  unpack or table.unpack, xpcall
local floor, min = math.floor, math.min

local mpi = {}

-- -- Communicators ------------------------------------------------------------

local Comm = collectives.Comm

--- The communicator of all ranks.
mpi.world = collectives.world

-- -- The process --------------------------------------------------------------

local INIT = {checked = true, threads = true}

--- Starts MPI. A second call does nothing, but may turn the checks on. The end
-- of the Lua state ends MPI.
--
-- The engine's threads are limited to the rank's share of the machine's cores,
-- unless `threads` says how many; results do not depend on it.
-- @tparam[opt] table options `checked`: compare each collective between the
-- ranks before it runs, and each message with what its receiver expects, by
-- default true if the environment has STRIDED_MPI_CHECKED=1; `threads`: of the
-- engine
-- @treturn table this module
function mpi.init(options)
  options = check.options("mpi.init", options, INIT)
  local checked, threads = options.checked, options.threads
  check.boolean("mpi.init", "checked", checked)
  if threads ~= nil then check.count("mpi.init", "threads", threads, 1) end
  if checked == nil then
    local set = os.getenv "STRIDED_MPI_CHECKED"
    checked = set ~= nil and set ~= "" and set ~= "0"
  end
  local is_first = not core.is_initialized()
  core.init(checked)
  if not threads and is_first then
    threads = min(st.get_num_threads(), core.cores())
  end
  if threads then st.set_num_threads(threads) end
  return mpi
end

--- Ends MPI, after which no collective can run. A second call does nothing.
function mpi.finalize() core.finalize() end

--- Has `init` been called?
-- @treturn boolean
function mpi.is_initialized() return core.is_initialized() end

--- Has MPI ended?
-- @treturn boolean
function mpi.is_finalized() return core.is_finalized() end

--- Is checked mode on?
-- @treturn boolean
function mpi.is_checked() return core.is_checked() end

--- The rank of this process in the world, from 0.
-- @treturn integer
function mpi.rank() return core.rank(0) end

--- The number of ranks in the world.
-- @treturn integer
function mpi.size() return core.size(0) end

--- The seconds of a clock, MPI_Wtime.
-- @treturn number
function mpi.time() return core.time() end

--- The name and version of the MPI library.
-- @treturn string
function mpi.version() return core.version() end

--- Prints a text with the rank to stderr and ends all ranks.
-- @tparam string text
-- @tparam[opt=1] integer code the exit code, 1 to 255; all ranks end for any
-- other, too, with the code 1
function mpi.abort(text, code)
  local ok, said = pcall(tostring, text)
  if not ok then said = "an error that is a " .. type(text) end
  if code == nil then code = 1 end
  if type(code) ~= "number" or code ~= floor(code) or code < 1 or code > 255
  then
    said = ("%s\nmpi.abort: the code must be a whole number from 1 to 255, got "
            .. "%s '%s'"):format(said, type(code), tostring(code))
    code = 1
  end
  core.abort(said, code)
end

local function describe(why)
  if type(why) ~= "string" and type(why) ~= "number" then
    local meta = getmetatable(why)
    if type(meta) ~= "table" or not meta.__tostring then
      return "an error that is a " .. type(why)
    end
  end
  return debug.traceback(tostring(why), 2)
end

local function finish(ok, ...)
  if not ok then core.abort((...), 1) end
  return ...
end

--- Calls `fn(...)` after `mpi.init()`. An error is printed with the rank and a
-- traceback, and ends all ranks: none of them waits for the one that failed.
-- @tparam function fn
-- @param ... passed to fn
-- @return the results of fn
function mpi.run(fn, ...)
  local meta = getmetatable(fn)
  if type(fn) ~= "function" and not (type(meta) == "table" and meta.__call) then
    check.raise("mpi.run: expected a function, got %s", type(fn))
  end
  mpi.init()
  local n, args = select("#", ...), {...}
  return finish(xpcall(function()
    return fn(unpack(args, 1, n))
  end, describe))
end

-- -- Collectives --------------------------------------------------------------

--- The reduction of all ranks' tensors, on every rank.
-- @function all_reduce
-- @tparam Tensor x
-- @param[opt] options the name of a reduction, "sum", "prod", "min", "max",
-- "avg", "band", "bor" or "bxor", or a table with `op`, `comm`, `async`, `out`,
-- `deterministic`, which does not combine with `out`
-- @treturn Tensor or, with `async`, a handle

--- all_reduce in place.
-- @function all_reduce_
-- @tparam Tensor x
-- @param[opt] options as for all_reduce, without `deterministic`
-- @treturn Tensor x

--- The reduction of all ranks' tensors on root; elsewhere an empty tensor.
-- @function reduce
-- @tparam Tensor x
-- @param[opt] options the root, or a table with `root`, `op`, `comm`, `async`,
-- `deterministic`
-- @treturn Tensor

--- The tensor of root.
-- @function broadcast
-- @tparam Tensor x of the same shape and dtype on every rank
-- @param[opt] options the root, or a table with `root`, `comm`, `async`
-- @treturn Tensor

--- broadcast in place.
-- @function broadcast_
-- @tparam Tensor x
-- @param[opt] options as for broadcast
-- @treturn Tensor x

--- The tensors of all ranks; the first dimension of the result is the rank.
-- @function all_gather
-- @tparam Tensor x
-- @param[opt] options a table with `comm`, `async`
-- @treturn Tensor

--- all_gather on root; elsewhere a tensor without rows.
-- @function gather
-- @tparam Tensor x
-- @param[opt] options the root, or a table with `root`, `comm`, `async`
-- @treturn Tensor

--- Row `rank` of root's tensor.
-- @function scatter
-- @tparam Tensor x whose first dimension is the number of ranks; on the other
-- ranks only its shape and dtype matter
-- @param[opt] options the root, or a table with `root`, `comm`, `async`
-- @treturn Tensor

--- Row `rank` of the reduction.
-- @function reduce_scatter
-- @tparam Tensor x whose first dimension is the number of ranks
-- @param[opt] options the name of a reduction, or a table with `op`, `comm`,
-- `async`
-- @treturn Tensor

--- Row s of the result is row `rank` of the tensor of rank s.
-- @function all_to_all
-- @tparam Tensor x whose first dimension is the number of ranks
-- @param[opt] options a table with `comm`, `async`
-- @treturn Tensor

--- Returns once every rank has called it.
-- @function barrier
-- @param[opt] options a table with `comm`, `async`

--- Sends a tensor to another rank.
-- @function send
-- @tparam Tensor x
-- @tparam integer dest
-- @param[opt] options the tag, or a table with `tag`, `comm`, `async`

--- Receives into a tensor.
-- @function recv_
-- @tparam Tensor x
-- @tparam ?integer source nil or -1 for any rank
-- @param[opt] options the tag, or a table with `tag`, `comm`, `async`
-- @treturn Tensor x
-- @treturn integer the rank that sent

--- Receives a new tensor.
-- @function recv
-- @tparam {integer,...} shape
-- @tparam ?integer source nil or -1 for any rank
-- @param[opt] options the tag, or a table with `tag`, `dtype`, `comm`, `async`
-- @treturn Tensor
-- @treturn integer the rank that sent

for name, fn in pairs(collectives.functions) do mpi[name] = fn end

--- Waits for several handles.
-- @function wait_all
-- @tparam {handle,...} handles
-- @treturn table the first result of each
mpi.wait_all = collectives.wait_all

--- True for a communicator.
-- @param value
-- @treturn boolean
function mpi.is_comm(value)
  return type(value) == "userdata" and debug.getmetatable(value) == Comm
end

require "strided.mpi.training"(mpi) -- DataParallel, samplers, checkpoints

return mpi
