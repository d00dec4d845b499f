--- Wrong arguments: errors are raised at the line of the caller and say what is
-- wrong.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")

local HERE = debug.getinfo(1, "S").short_src

--- Fails unless fn raises an error with a text, located in this file.
local function fails(text, fn, ...)
  local args, n = {...}, select("#", ...)
  local ok, why = pcall(function()
    local result = fn((unpack or table.unpack)(args, 1, n)) -- no tail call
    return result
  end)
  if ok then error("no error, but expected '" .. text .. "'", 2) end
  local at, said = tostring(why):match "^(.-):%d+: (.*)$"
  if at ~= HERE or not said:find(text, 1, true) then
    error("expected '" .. text .. "' here, got '" .. tostring(why) .. "'", 2)
  end
end

local missing = "MPI is not initialized: call mpi.init() first"
fails(missing, mpi.rank)
fails(missing, mpi.world.rank, mpi.world)
fails(missing, mpi.all_reduce, st.ones(2), {async = true})
fails("mpi.init: the options must be a table, got string", mpi.init, "checked")
fails("threads must be a whole number from 1 on, got -1", mpi.init,
      {threads = -1})
fails("checked must be true or false, got number '3'", mpi.init, {checked = 3})
fails("mpi.run: expected a function, got number", mpi.run, 3)
assert(not mpi.is_initialized())

check.run(function()
  local world, x = mpi.world, st.ones(3)

  check.topic("colors and keys", function()
    for _, color in ipairs {0.4, 0 / 0, 2^31, 2^32, "a"} do
      fails("comm:split: color must be a whole number from 0 to 2147483647, " ..
            "got " .. tostring(color), world.split, world, color)
    end
    for _, key in ipairs {0.4, 0 / 0, 2^31, -2^31 - 1, "a"} do
      fails("comm:split: key must be a whole number from -2147483648 to " ..
            "2147483647, got " .. tostring(key), world.split, world, 0, key)
    end
    local comm = world:split(2^31 - 1, -mpi.rank())
    assert(comm:rank() == mpi.size() - 1 - mpi.rank())
    comm:free()
    fails("the communicator was freed", comm.dup, comm)
    fails("the communicator was freed", comm.free, comm)
    fails("the world cannot be freed", world.free, world)
  end)

  check.topic("handles", function()
    fails("mpi.wait_all: expected a list of handles, got number",
          mpi.wait_all, 3)
    fails("mpi.wait_all: element 1 must be a handle, got number",
          mpi.wait_all, {3})
    local h = mpi.all_reduce(x, {async = true})
    fails("handle:wait: expected a handle, got nil", h.wait)
    fails("handle:test: expected a handle, got nil", h.test)
    h:wait()
  end)

  check.topic("what is no tensor", function()
    for _, name in ipairs {"all_reduce", "all_reduce_", "reduce", "broadcast",
                           "all_gather", "gather", "scatter", "all_to_all",
                           "reduce_scatter", "send", "recv_"} do
      local text = "mpi." .. name .. ": the first argument must be a Tensor, "
      fails(text .. "got number", mpi[name], 3)
      fails(text .. "got nil", mpi[name])
      fails(text .. "got table", world[name], world, {})
    end
  end)

  check.topic("options", function()
    fails("mpi.all_reduce: async must be true or false, got number '3'",
          mpi.all_reduce, x, {async = 3})
    fails("mpi.all_reduce: comm must be a communicator, got number",
          mpi.all_reduce, x, {comm = 3})
    fails("mpi.barrier: async must be true or false", mpi.barrier, {async = 2})
    fails("expected a communicator, got number: call methods with ':'",
          world.rank, 3)
    fails("mpi::all_reduce: op is 'no'", mpi.all_reduce, x, "no")
    fails("mpi::scatter: self is float32 [9]", mpi.scatter, st.ones(9))
    fails("mpi::scatter: self is float32 [9]", world.scatter, world,
          st.ones(9))
    fails("mpi::all_reduce_async: op is 'no'", mpi.all_reduce, x,
          {op = "no", async = true})
  end)

  check.topic("messages", function()
    local size = mpi.size()
    fails("mpi::send: dest is 99, but the ranks are 0 to " .. size - 1,
          mpi.send, x, 99)
    fails("mpi::send_async: tag is -1", mpi.send, x, 0,
          {tag = -1, async = true})
    fails("mpi::recv_: source is 99", mpi.recv, {2}, 99)
    fails("negative size -1", mpi.recv, {-1}, 0)
  end)
end)
