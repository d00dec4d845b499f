--- Checkpoints and lines of progress: rank 0 for all, errors on all.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")

local function failure(fn, ...)
  local ok, why = pcall(fn, ...)
  assert(not ok, "no error")
  return tostring(why)
end

--- The name of a file, the same on all ranks.
local function shared_name()
  local bytes = st.zeros(64, {dtype = "uint8"})
  local name = os.tmpname()
  for i = 1, #name do bytes[i] = name:byte(i) end
  local out = {}
  for i, byte in ipairs(mpi.broadcast(bytes):totable()) do
    out[i] = byte > 0 and string.char(byte) or ""
  end
  if mpi.rank() ~= 0 then os.remove(name) end
  return table.concat(out)
end

local function checkpoints(path)
  local net = mpi.DataParallel(st.nn.Linear(3, 2))
  mpi.save(path .. ".safetensors", net:state_dict())
  local state = mpi.load(path .. ".safetensors")
  assert(state.weight:equal(net.module.weight))
  mpi.save(path .. ".npy", st.full({2}, mpi.rank() + 5))
  assert(mpi.load(path .. ".npy"):eq(5):all():item(), "not rank 0's")
  assert(mpi.load(path .. ".npy", {mmap = "r"}):eq(5):all():item())
end

local function errors(path)
  local function at_caller(text, why)
    assert(why:find("^[^\n]*programs/together%.lua:%d+: " .. text), why)
    assert(not why:find("mpi/together", 1, true), why)
  end
  local why = failure(function() mpi.save(path .. "/no/x.npy", st.ones(1)) end)
  at_caller("save: rank 0: save: cannot save", why)
  assert(why:find(path .. "/no/x.npy", 1, true), why)
  local last = mpi.size() - 1
  local name = mpi.rank() == last and path .. ".missing.npy" or path .. ".npy"
  why = failure(function() return (mpi.load(name)) end)
  at_caller("load: rank %d: load: ", why)
  assert(why:find(("load: rank %d: "):format(last), 1, true), why)
  assert(why:find(".missing.npy", 1, true), why)
  assert(failure(mpi.save, 3, st.ones(1))
         :find("argument 'path' must be a string, got number", 1, true))
  assert(failure(mpi.save, path, 3, {root = 1})
         :find("there is no option 'root'; it has comm", 1, true))
  at_caller("load: the options must be a table, got number", failure(function()
    return (mpi.load(path .. ".npy", 3))
  end))
  at_caller("load: option 'comm' must be a communicator, got number",
            failure(function() mpi.load(path .. ".npy", {comm = 3}) end))
  at_caller("save: option 'comm' must be a communicator, got number",
            failure(function() mpi.save(path .. ".npy", 3, {comm = 3}) end))
  at_caller("log: bad argument #2 to 'format' %(number expected, got",
            failure(function() mpi.log("%d", "x") end))
  at_caller("log: argument 'text' must be a string, got nil", failure(function()
    mpi.log()
  end))
end

local function lines()
  local printed = {}
  local real = print
  print = function(...) printed[#printed + 1] = {...} end -- luacheck: ignore
  package.loaded["strided.mpi.together"] = nil
  local fresh = require "strided.mpi.together"(mpi)
  fresh.print("a", 1)
  fresh.log("%d %%", 3)
  fresh.log("100 %")
  print = real -- luacheck: ignore
  assert(#printed == (mpi.rank() == 0 and 3 or 0))
  if mpi.rank() > 0 then return end
  assert(printed[1][1] == "a" and printed[1][2] == 1)
  assert(printed[2][1] == "3 %" and printed[3][1] == "100 %")
end

check.run(function()
  local path = shared_name()
  check.topic("checkpoints", function() checkpoints(path) end)
  check.topic("errors of checkpoints are raised on all ranks", function()
    errors(path)
  end)
  check.topic("lines of rank 0", lines)
  if mpi.rank() == 0 then
    for _, ending in ipairs {"", ".npy", ".safetensors"} do
      os.remove(path .. ending)
    end
  end
end)
