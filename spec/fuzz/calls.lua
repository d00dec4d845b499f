--- For every overload of the registry a call that goes through, with tensors
-- of any layout; the same in every run.

local st = require "strided"
local operators = require "spec.fuzz.operators"
local values = require "spec.fuzz.values"

local ipairs, pairs, pcall, type = ipairs, pairs, pcall, type
local unpack = unpack or table.unpack

local M = {}

local SEED = 7
local TRIES = 400   -- cases in search of one that goes through and allocates
local ENOUGH = 12   -- cases of which the most allocating one is taken
local NO_LIMIT = 1e9

--- The call that case i makes of an overload, its n arguments made anew, a
-- table of keywords among them: {n =, list =, tensors =, run =}.
local function make(o, i)
  local c = values.case(SEED, i)
  c.tame = true
  values.prepare(c, o.short)
  local list, n = operators.fill(c, o.args)
  return {
    n = n, list = list, tensors = operators.tensors_of(list, {}),
    run = function() return o.object(unpack(list, 1, n)) end,
  }
end
M.make = make

--- How many allocations case i takes, or nil when it does not go through.
local function count(o, i)
  local call = make(o, i)
  st.memory_fail_at(NO_LIMIT)
  local ok, why = pcall(call.run)
  local left = st.memory_fail_at(0)
  if not ok then return nil, why end
  return NO_LIMIT - tonumber(left)
end

--- One overload's call: {name =, schema =, allocations =, make = as above};
-- without a case that goes through {name =, why =}.
local function find(o)
  local best, most, why
  for i = 1, TRIES do
    if best and i > ENOUGH and most > 0 then break end
    local n, refused = count(o, i)
    if n and not best then n = count(o, i) end -- the first one makes tables
    if n and (not best or n > most) then best, most = i, n end
    why = refused or why
  end
  if not best then return {name = o.name, why = why} end
  return {name = o.name, allocations = most, schema = o.object:schema(),
          make = function() return make(o, best) end}
end

--- A call for each overload of aten.
function M.all()
  local out = {}
  for k, o in ipairs(operators.overloads()) do out[k] = find(o) end
  return out
end

-- -- Places of tensors in the arguments --------------------------------------

local function add_places(v, out, path)
  if st.is_tensor(v) then
    out[#out + 1] = path
  elseif type(v) == "table" then
    for k, e in pairs(v) do
      local longer = {unpack(path)}
      longer[#longer + 1] = k
      add_places(e, out, longer)
    end
  end
  return out
end

--- The place of each tensor in a list of arguments: the keys that lead to it.
function M.places(list) return add_places(list, {}, {}) end

function M.get(v, path)
  for _, k in ipairs(path) do v = v[k] end
  return v
end

function M.set(v, path, x)
  for i = 1, #path - 1 do v = v[path[i]] end
  v[path[#path]] = x
end

return M
