--- What is in progress when a rank ends, and can never complete.

local st = require "strided"
local mpi = require "strided.mpi"

if arg[1]:find "^checked_" then mpi.init {checked = true} end

mpi.run(function()
  local is_first, last = mpi.rank() == 0, mpi.size() - 1
  local big = st.ones {2^20} -- is not sent before it is received
  mpi.barrier()
  local handle
  if arg[1] == "collective" and is_first then
    handle = mpi.all_reduce(st.ones(3), {async = true})
  elseif arg[1] == "send" and is_first then
    handle = mpi.send(big, last, {async = true, tag = 3})
  elseif arg[1] == "recv" and is_first then
    handle = mpi.recv({2}, last, {async = true})
  elseif arg[1] == "test" and is_first then
    handle = mpi.all_reduce(st.ones(3), {async = true})
    while not handle:test() do st.ones(3) end
  elseif arg[1] == "test_recv" and is_first then
    handle = mpi.recv({2}, last, {async = true})
    while not handle:test() do st.ones(3) end
  elseif arg[1] == "any" and is_first then
    mpi.recv({2})
  elseif arg[1] == "parts" and is_first then
    handle = mpi.all_reduce(st.ones(3, 2), {deterministic = true, async = true})
  elseif arg[1] == "own" and is_first then
    mpi.recv({2}, 0)
  elseif arg[1] == "checked_recv" and is_first then
    mpi.recv({2}, last)
  elseif arg[1] == "checked_any" and is_first then
    mpi.recv({2})
  elseif arg[1] == "checked_test" and is_first then
    handle = mpi.recv({2}, last, {async = true})
    while not handle:test() do st.ones(3) end
    handle:wait()
  end
  if arg[2] == "collected" then
    handle = nil
    collectgarbage()
    collectgarbage()
  end
  return handle
end)
