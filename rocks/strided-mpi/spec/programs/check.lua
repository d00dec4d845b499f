--- What the programs of this folder share. A program runs under mpirun on any
-- number of ranks; rank 0 prints "ok TOPIC" for each topic that all ranks have
-- run without an error.
--
--     local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")
--     check.run(function()
--       check.topic("a sum", function() ... end)
--     end)

local st = require "strided"
local mpi = require "strided.mpi"

local check = {}

--- Runs fn on all ranks, then prints its topic.
function check.topic(name, fn)
  fn()
  collectgarbage()
  mpi.barrier()
  if mpi.rank() == 0 then
    io.write("ok ", name, "\n")
    io.flush()
  end
end

--- Runs a program. Ends with an error if tensors are left that it made.
function check.run(fn)
  mpi.run(function()
    collectgarbage()
    collectgarbage()
    fn()
    collectgarbage()
    collectgarbage()
  end)
end

--- True for tensors of the same dtype, shape and bits.
function check.same(a, b, what)
  local text = (what and what .. ": " or "") .. tostring(a) .. " is not " ..
    tostring(b)
  if a.dtype ~= b.dtype then
    error(text .. " (" .. a.dtype .. ", " .. b.dtype .. ")", 2)
  end
  if not st.equal(a, b) then error(text, 2) end
end

--- Checks that fn raises an error that contains a text.
function check.fails(text, fn, ...)
  local ok, why = pcall(fn, ...)
  if ok then error("no error, but expected '" .. text .. "'", 2) end
  if not tostring(why):find(text, 1, true) then
    error("expected '" .. text .. "', got '" .. tostring(why) .. "'", 2)
  end
end

--- The dtypes of tensors.
check.integers = {"uint8", "int8", "int16", "int32", "int64", "uint16",
                  "uint32", "uint64"}
check.reals = {"float16", "bfloat16", "float32", "float64"}
check.complexes = {"complex64", "complex128"}

function check.all_dtypes()
  local all = {"bool"}
  for _, list in ipairs {check.integers, check.reals, check.complexes} do
    for _, dtype in ipairs(list) do all[#all + 1] = dtype end
  end
  return all
end

--- Small whole numbers of a rank, which every dtype holds: element i (from 1)
-- of rank r. Sums over up to 4 ranks are exact in every dtype.
function check.value(r, i) return (r * 3 + i * 5) % 7 end

--- A tensor of n such values.
function check.values(r, n, dtype)
  local list = {}
  for i = 1, n do
    local v = check.value(r, i)
    if dtype == "bool" then v = v % 2 == 1 end
    list[i] = v
  end
  return st.tensor(list, {dtype = dtype})
end

--- The element-wise reduction of n values of all ranks, from Lua numbers.
function check.reduced(size, n, dtype, combine)
  local list = {}
  for i = 1, n do
    local acc
    for r = 0, size - 1 do
      local v = check.value(r, i)
      if dtype == "bool" then v = v % 2 == 1 end
      if r == 0 then acc = v else acc = combine(acc, v) end
    end
    list[i] = acc
  end
  return st.tensor(list, {dtype = dtype})
end

return check
