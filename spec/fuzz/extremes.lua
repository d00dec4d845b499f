--- Calls with a number in the place of another: what may come of it.

local st = require "strided"
local values = require "spec.fuzz.values"

local clock, ipairs, pairs, pcall = os.clock, ipairs, pairs, pcall
local tonumber, tostring, type = tonumber, tostring, type

local M = {}

local LONGEST = 5 -- seconds of a call, under a sanitizer too

--- Every place in the arguments of a call where a number stands: {list, key}.
function M.places(call)
  local out = {}
  for i = 1, call.n do
    local v = call.list[i]
    if type(v) == "number" then
      out[#out + 1] = {call.list, i}
    elseif type(v) == "table" then
      for k, w in pairs(v) do
        if type(w) == "number" then
          out[#out + 1] = {v, k}
        elseif type(w) == "table" then
          for j, x in pairs(w) do
            if type(x) == "number" then out[#out + 1] = {w, j} end
          end
        end
      end
    end
  end
  return out
end

--- As a number, also of an exact integer.
local function value(n)
  return type(n) == "number" and n or tonumber((tostring(n):gsub("LL$", "")))
end
M.value = value

--- What is wrong about a result, or nil: its elements must be readable.
local function look_at(result)
  if type(result) == "table" and not st.is_tensor(result) then
    for _, t in ipairs(result) do
      local what = look_at(t)
      if what then return what end
    end
  end
  if not st.is_tensor(result) then return end
  local n = value(result:numel())
  if n < 0 then return "a tensor of " .. n .. " elements" end
  if n < 1000 then values.contents(result) end
end

--- What is wrong about a call, or nil: it must fail with a message and leave
-- its inputs alone, or give tensors whose elements are readable.
local function check(call)
  local holding = values.all_contents(call.tensors)
  local began = clock()
  local results = {pcall(call.run)}
  local took = clock() - began
  if took > LONGEST then return ("takes %.1f s"):format(took) end
  if results[1] then
    for i = 2, #results do
      local what = look_at(results[i])
      if what then return what end
    end
    return
  end
  local why = results[2]
  if type(why) ~= "string" or why:find "attempt to " then
    return "an error of Lua itself: " .. tostring(why)
  end
  for i, t in ipairs(call.tensors) do
    if values.contents(t) ~= holding[i] then return "changes its inputs" end
  end
end

--- Makes a call, puts a number in one place, or in all places if none is
-- given, and checks it: what is wrong, or nil.
function M.try(make, place, number)
  local call = make()
  for i, at in ipairs(M.places(call)) do
    if not place or i == place then at[1][at[2]] = number end
  end
  return check(call)
end

function M.show(number)
  local text = tostring(number)
  return type(number) == "number" and ("%.17g"):format(number) or text
end

return M
