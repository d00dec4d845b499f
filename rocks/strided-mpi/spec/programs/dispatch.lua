--- The collectives as operators: traces, explanations, observers.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")

check.run(function()
  check.topic("st.trace sees them", function()
    local text = {}
    for i, event in ipairs(st.trace(function()
      mpi.all_reduce(st.ones {2})
      mpi.barrier()
    end)) do
      text[i] = tostring(event.op)
    end
    text = table.concat(text, "\n")
    assert(text:find("mpi::all_reduce", 1, true), text)
    assert(text:find("mpi::barrier", 1, true), text)
  end)

  check.topic("st.explain explains them", function()
    local text = tostring(st.explain(st.ops.mpi.all_reduce, st.ones {2}))
    assert(text:find("mpi::all_reduce", 1, true), text)
    assert(text:find("strided_mpi", 1, true), text)
  end)

  check.topic("tensors of other devices are refused", function()
    local text = tostring(st.dump "mpi::all_reduce_async_")
    assert(text:find "PrivateUse1", text)
    if not pcall(require, "strided_example") then return end
    local x = st.ones({3}):to {device = "example"}
    for _, name in ipairs {"all_reduce", "all_reduce_", "all_gather",
                           "broadcast_", "reduce"} do
      for _, async in ipairs {false, true} do
        check.fails("self is on the device 'example'; MPI sends tensors of " ..
                    "the CPU", mpi[name], x, {async = async})
      end
    end
    check.fails("out is on the device 'example'", mpi.all_reduce, st.ones {3},
                {out = x})
    check.fails("self is on the device 'example'", mpi.send, x, 0)
    check.fails("parts is on the device 'example'", mpi.all_reduce, x,
                {deterministic = true})
  end)

  check.topic("errors name the operator", function()
    check.fails("mpi::all_reduce", mpi.all_reduce, st.ones {2}, "no")
  end)
end)
