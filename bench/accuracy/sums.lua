--- Compares the accuracy of float32 sums with PyTorch's and NumPy's: rows V1 to
-- V6 of spec/SEMANTICS.md. PyTorch's sums depend on the number of threads.
--
--     ./dev lua bench/accuracy/sums.lua    (bench/peers.lua finds the Python)

local HERE = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = HERE .. "/../../?.lua;" .. package.path

local peers = require "bench.peers"
local st = require "strided"

-- name, exact sum, strided's function, the peers' expression
local ROWS = {
  {"full(2^24, 0.1)", 1677721.625,
   function() return st.full({2 ^ 24}, 0.1):sum():item() end,
   "m.sum(m.full((2**24,), .1, dtype=m.float32))"},
  {"full(2^25, 0.1)[::2]", 1677721.625,
   function()
     return st.full({2 ^ 25}, 0.1):slice(1, 1, 2 ^ 25, 2):sum():item()
   end,
   "m.sum(m.full((2**25,), .1, dtype=m.float32)[::2])"},
  {"full((2^20, 4), 0.1).sum(0)", 104857.6015625,
   function() return st.full({2 ^ 20, 4}, 0.1):sum(1)[1] end,
   "m.full((2**20, 4), .1, dtype=m.float32).sum(0)[0]"},
  {"1.01 expanded to 10^4 x 10^4", 100999999.04632568,
   function() return st.full({1}, 1.01):expand({1e4, 1e4}):sum():item() end,
   "m.sum(m.broadcast_to(m.full((1,), 1.01, dtype=m.float32), " ..
   "(10**4, 10**4)))"},
  {"arange(4096000) - 2048000 + 0.5", 0,
   function()
     return (st.arange(4096000):to "float32" - 2048000 + 0.5):sum():item()
   end,
   "m.sum(m.arange(4096000, dtype=m.float32) - 2048000 + 0.5)"},
  {"rand(1000003), seed 0", 500269.6535511613,
   function()
     st.manual_seed(0)
     return st.rand({1000003}):sum():item()
   end,
   "(t.manual_seed(0), m.sum(m.asarray(t.rand(1000003))))[1]"},
}

local SUMS = [[
import sys, numpy, torch as t
m = t if sys.argv[1] == "torch" else numpy
t.set_num_threads(int(sys.argv[2]))
for row in sys.argv[3:]:
    try: print(repr(float(eval(row))))
    except Exception as e: print("-")
]]

local function theirs(python, module, threads)
  local words, sums = {python, "-c", SUMS, module, tostring(threads)}, {}
  for _, row in ipairs(ROWS) do words[#words + 1] = row[4] end
  if not python then return sums end
  local pipe = io.popen(peers.line(words))
  for text in pipe:lines() do sums[#sums + 1] = tonumber(text) or "-" end
  pipe:close()
  return sums
end

local function ours(threads)
  local sums = {}
  st.set_num_threads(threads)
  for k, row in ipairs(ROWS) do
    sums[k] = row[3]()
    collectgarbage()
  end
  return sums
end

local function shown(x)
  return type(x) == "number" and ("%.10g"):format(x) or x or "-"
end

local function print_row(...)
  local words = {...}
  for k = 1, 7 do words[k] = shown(words[k]) end
  print(("%-32s%15s%14s%14s%14s%14s%14s"):format(unpack(words)))
end

local python, reason = peers.python()
if not python then peers.say("without PyTorch: ", reason) end
local columns = {ours(1), ours(2), theirs(python, "torch", 1),
                 theirs(python, "torch", 2), theirs(python, "numpy", 1)}
print_row("sum of float32", "exact", "1 thread", "2 threads", "PyTorch 1",
          "PyTorch 2", "NumPy")
for k, row in ipairs(ROWS) do
  local sums = {}
  for c = 1, 5 do sums[c] = columns[c][k] or "-" end
  print_row(row[1], row[2], unpack(sums))
end
