--- Fuzzing of operators: every overload of the registry with random values,
-- sometimes with an allocation that fails.

local st = require "strided"
local core = require "strided.core"
local gradients = require "spec.fuzz.gradients"
local values = require "spec.fuzz.values"

local unpack = unpack or table.unpack

local M = {}

-- -- The registry ------------------------------------------------------------

--- "int[2]? dim=None" -> {type = "int[2]?", name = "dim", writes = false}
local function parse_argument(text)
  local plain = text:gsub("=.*$", "")
  local kind, name = plain:match "^%s*(.-)%s+([%w_]+)%s*$"
  return {type = kind, name = name, writes = kind:find "!" ~= nil}
end

--- A schema's text -> its arguments, positional and then keywords.
local function parse(text)
  local inside = text:match "^[^%(]*%((.*)%)%s*%->"
  local args, is_keyword, depth, start = {}, false, 0, 1
  inside = inside .. ","
  for at = 1, #inside do
    local ch = inside:sub(at, at)
    if ch:find "[%(%[]" then depth = depth + 1
    elseif ch:find "[%)%]]" then depth = depth - 1
    elseif ch == "," and depth == 0 then
      local one = inside:sub(start, at - 1):match "^%s*(.-)%s*$"
      start = at + 1
      if one == "*" then is_keyword = true
      elseif one ~= "" then
        local a = parse_argument(one)
        a.keyword = is_keyword
        args[#args + 1] = a
      end
    end
  end
  return args
end

--- Every overload of aten: {name, packet, object, args}.
function M.overloads()
  local out, seen = {}, {}
  for _, name in ipairs((core.operators())) do
    if name:find "^aten::" and not seen[name] then
      seen[name] = true
      local packet = core.packet(name)
      for _, full in ipairs(packet:overloads()) do
        local overload = full:sub(#name + 2)
        local object = packet[overload == "" and "default" or overload]
        out[#out + 1] = {name = full, packet = packet, object = object,
                         short = name:sub(7), args = parse(object:schema())}
      end
    end
  end
  return out
end

-- -- Calls -------------------------------------------------------------------

--- Values for the arguments: positional ones, keywords, how many positional.
local function fill(c, args)
  local list, keywords, n, has_keywords = {}, {}, 0, false
  for _, a in ipairs(args) do
    local v = values.argument(c, a.type, a.name)
    if a.keyword then
      if a.writes or c:chance(0.6) then
        keywords[a.name], has_keywords = v, true
      end
    else
      n = n + 1
      list[n] = v
    end
  end
  if not c.tame then
    if n > 0 and c:chance(0.05) then n = n - 1 end
    if c:chance(0.03) then n = n + 1; list[n] = values.odd(c) end
    if c:chance(0.03) then
      keywords.out, has_keywords = values.tensor(c), true
    end
    if c:chance(0.02) then keywords.dim, has_keywords = values.odd(c), true end
  end
  if has_keywords then
    n = n + 1
    list[n] = keywords
  end
  return list, n
end
M.fill = fill

--- Every tensor in v and in the lists and keywords of it.
local function tensors_of(v, out)
  if st.is_tensor(v) then
    out[#out + 1] = v
  elseif type(v) == "table" and v ~= core then
    for _, x in pairs(v) do tensors_of(x, out) end
  end
  return out
end
M.tensors_of = tensors_of

-- Interpreted: twice in many runs of LuaJIT 2.1.0-beta3 the compiled loop over
-- pairs did not end before "table overflow".
if rawget(_G, "jit") then _G.jit.off(tensors_of) end

--- What an operator gave must be readable: contents walks its memory.
local function look_at(c, results)
  for _, t in ipairs(tensors_of(results, {})) do
    values.contents(t)
    if c:chance(0.05) then tostring(t) end
    if c:chance(0.05) then t:contiguous() end
  end
end
M.look_at = look_at

-- Operators that update running_mean and running_var, which their schemas do
-- not say, as in ATen.
local UPDATES = {batch_norm = true, instance_norm = true,
                 native_batch_norm = true}

--- One call of one overload, as a round: {text, tensors, writes, run}.
function M.round(c, all)
  local o = c:pick(all)
  values.prepare(c, o.short)
  local list, n = fill(c, o.args)
  local call, how = o.object, o.name
  local k = c:int(1, 4)
  if k == 1 then
    call, how = o.packet, o.short
  elseif k == 2 and st.is_tensor(list[1]) and list[1][o.short] then
    call, how = list[1][o.short], "method " .. o.short
  end
  local writes = UPDATES[o.short] or false
  for _, a in ipairs(o.args) do writes = writes or a.writes end
  if k <= 2 then writes = true end -- out= may choose another overload
  local fails = c:chance(0.1) and c:int(1, 6) or 0 -- which allocation does
  local shown = {}
  for i = 1, n do shown[i] = values.show(list[i]) end
  local tensors = tensors_of(list, {})
  local plan = gradients.plan(c, tensors, o.short)
  return {
    text = how .. "(" .. table.concat(shown, ", ") .. ")" ..
           (fails > 0 and " without allocation " .. fails or "") ..
           (#plan > 0 and " with gradients" or ""),
    tensors = tensors, writes = writes,
    run = function()
      gradients.require(plan)
      st.memory_fail_at(fails)
      local results = {call(unpack(list, 1, n))}
      st.memory_fail_at(0)
      look_at(c, results)
      look_at(c, gradients.differentiate(plan, tensors_of(results, {})))
    end,
  }
end

return M
