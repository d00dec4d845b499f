--- What the states of states.c do: functions from a string to a string, all
-- of which check what they compute.

local st = require "strided"

local scenes = {}

local N = 200000 -- enough for the team
local FILL = 0.25

--- Elementwise loops, a reduction and a matrix product, on the team.
function scenes.compute(seed)
  local k = tonumber(seed)
  local x = st.full({N}, k)
  local y = (x * 2 + 1):sqrt()
  assert(math.abs(y:sum():item() / N - math.sqrt(2 * k + 1)) < 1e-3)
  assert(x:sum():item() == N * k)
  local a = st.full({64, 256}, k)
  assert(a:matmul(a:t()):eq(256 * k * k):all():item())
  return "computed"
end

--- A tensor for another state.
function scenes.give(x)
  return st.share(st.full({N}, tonumber(x)))
end

--- One from another state: checked, doubled in place, its first element.
function scenes.take(token)
  local t = st.attach(token)
  local x = t[1]
  assert(t:eq(x):all():item())
  t:mul_(2)
  assert(t:sum():item() == 2 * x * N)
  return tostring(x)
end

local kept

--- Keeps one, for when its maker is gone.
function scenes.keep(token)
  kept = st.attach(token)
  return "kept"
end

function scenes.check(x)
  assert(kept:eq(tonumber(x)):all():item())
  kept = nil
  return "unchanged"
end

--- A finaliser that computes while the state closes.
function scenes.linger()
  local last = st.full({N}, 3)
  local box = newproxy(true)
  getmetatable(box).__gc = function()
    assert((last + 1):sum():item() == 4 * N)
  end
  scenes.box = box
  return "lingers"
end

-- -- Operators of one state --------------------------------------------------

function scenes.register()
  local lib = st.library "states"
  lib:def "thrice(Tensor t) -> Tensor"
  lib:impl("thrice", "CPU", function(t) return t * 3 end)
  scenes.lib = lib
  return "registered"
end

--- What a call of it says, here.
function scenes.call()
  local _, result = pcall(function()
    return st.ops.states.thrice(st.ones(2)):sum():item()
  end)
  return tostring(result)
end

-- -- Being busy --------------------------------------------------------------

--- Keeps the team at work, until `stop` returns true.
function scenes.busy()
  local x = st.full({4 * N}, FILL)
  local a = st.full({128, 128}, FILL)
  repeat
    local y = x * 2 + 1
    assert(y[1] == 2 * FILL + 1)
    a:matmul(a)
  until _G.stop()
  return "stopped"
end

--- In the child of a fork: everything works, on one thread unless it is told
-- otherwise.
function scenes.child(token)
  assert(st.get_num_threads() == 1)
  for i = 1, 3 do scenes.compute(i) end
  assert(scenes.take(token) == "5")
  for _ = 1, 50 do st.empty(math.random(1, 100000)):fill_(1) end
  collectgarbage()
  st.set_num_threads(2)
  scenes.compute(7)
  return "grown"
end

return scenes
