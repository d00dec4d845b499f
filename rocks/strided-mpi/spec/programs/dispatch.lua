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

  check.topic("errors name the operator", function()
    check.fails("mpi::all_reduce", mpi.all_reduce, st.ones {2}, "no")
  end)
end)
