--- A mode in which each operator call is made again, directly and in a function
-- of st.fuse, and compared. The caller goes on with the results of its own
-- call.
--
--     local calls = require "spec.support.recorded.mode"
--     st.dispatch_mode(calls.mode, body)
--     calls.report()
--
-- ./dev recorded runs the specs in this mode. As a helper of busted
-- (--helper=spec/support/recorded/mode.lua) it puts the body of each `it` into
-- it. What specs say of the number of calls, tensors or bytes fails then: only
-- differences count.

local st = require "strided"
local recorded = require "spec.support.recorded.comparison"

local unpack = unpack or table.unpack
local getmetatable, ipairs, pairs, pcall = getmetatable, ipairs, pairs, pcall
local select, tostring, type = select, tostring, type

local MAX_ELEMENTS = 200000 -- of the tensors of a call
-- How many calls of an operator are compared whose arguments have the same
-- dtypes, sizes, strides and numbers. Specs that check derivatives by
-- differences call thousands.
local MOST_ALIKE = tonumber(os.getenv "STRIDED_RECORDED_ALIKE") or 3
-- What a comparison may say of a call that it cannot make, or whose error comes
-- once.
local UNCOMPARED = {"too deep", "a mapped file", "out of memory"}

local counters = recorded.counters()
counters.skipped, counters.repeated = 0, 0
local differences = {}
local facts = setmetatable({}, {__mode = "k"}) -- by operator

-- -- Operators ---------------------------------------------------------------

--- How many arguments stand before the `*` of a schema's arguments, and the
-- names of those behind it.
local function keywords_of(args)
  local before, names, is_behind = 0, {}, false
  for text in (args:sub(2, -2) .. ","):gmatch "%s*([^,]-)%s*," do
    if text == "*" then
      is_behind = true
    elseif is_behind then
      names[#names + 1] = text:match "([%w_]+)=" or text:match "([%w_]+)$"
    elseif text:find "^%u" or text:find "^%l" then
      before = before + 1
    end
  end
  return before, names
end

--- What is known of an operator: `skips`, if its calls are not compared, as of
-- those that write lists, give no tensors or uninitialised ones; `inplace`, if
-- it writes to its first argument; `call`, it as a function of all its
-- arguments by position.
local function facts_of(op)
  local known = facts[op]
  if known then return known end
  local schema = op:schema()
  local args, results = schema:match "^[^%(]*(%b())%s*%->%s*(.*)$"
  local _, writes = args:gsub("!", "")
  local inplace = writes == 1 and args:find "^%(Tensor%(a!%)" ~= nil
  local before, names = keywords_of(args:gsub("%[.-%]", ""):gsub("%(a!?%)", ""))
  local function call(...)
    local given, options = {...}, {}
    for i = 1, before do
      if given[i] == nil then given[i] = st.none end
    end
    for i, name in ipairs(names) do
      local x = given[before + i]
      if x == nil then x = st.none end
      options[name], given[before + i] = x, nil
    end
    if #names > 0 then given[before + 1] = options end
    return op(unpack(given, 1, #names > 0 and before + 1 or before))
  end
  known = {
    name = op:name(), inplace = inplace, call = call,
    skips = writes > 0 and not inplace or not results:find "Tensor" or
      op:name():find "empty" or op:name():find "resize_" or
      not op:name():find "^aten::",
  }
  facts[op] = known
  return known
end

-- -- Calls -------------------------------------------------------------------

local function is_small(list)
  local n = 0
  for i = 1, #list do
    if list[i].device ~= "cpu" then return false end
    n = n + list[i]:numel()
  end
  return n > 0 and n <= MAX_ELEMENTS
end

local function has_generator(...)
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if type(x) == "userdata" and not st.is_tensor(x) and
       tostring(x):find "[Gg]enerator" then
      return true
    end
  end
  return false
end

--- What a recording is made for, as text.
local function append(out, x)
  if st.is_tensor(x) then
    out[#out + 1] = ("%s%s%s"):format(x.dtype, tostring(x.shape),
                                      tostring(x:stride()))
  elseif type(x) == "table" and not getmetatable(x) then
    local names = {}
    for k in pairs(x) do names[#names + 1] = k end
    table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
    for _, k in ipairs(names) do
      out[#out + 1] = tostring(k)
      append(out, x[k])
    end
  else
    out[#out + 1] = tostring(x)
  end
end

local alike = {} -- calls compared, by that text

--- True if enough calls like this one have been compared.
local function is_known(known, ...)
  local out = {known.name}
  for i = 1, select("#", ...) do append(out, (select(i, ...))) end
  local key = table.concat(out, " ")
  local n = alike[key] or 0
  alike[key] = n + 1
  return n >= MOST_ALIKE
end

--- The call as a function: in place it writes to a copy.
local function function_of(known, args, n)
  if not known.inplace then return recorded.function_of(known.call, args, n) end
  return recorded.function_of(function(self, ...)
    local copy = self:clone()
    known.call(copy, ...)
    return copy
  end, args, n)
end

local function compare(known, ...)
  local args, n = {...}, select("#", ...)
  if is_known(known, ...) then
    counters.repeated = counters.repeated + 1
    return
  end
  args = recorded.map(args, function(t) return t:detach() end)
  local list = recorded.tensors_of(args)
  if #list == 0 or #list > 32 or not is_small(list) or has_generator(...) then
    counters.skipped = counters.skipped + 1
    return
  end
  local why = recorded.compare(function_of(known, args, n), {list}, counters)
  if not why then return end
  for _, text in ipairs(UNCOMPARED) do
    if why:find(text, 1, true) then
      counters.reasons[text] = (counters.reasons[text] or 0) + 1
      counters.refused = counters.refused + 1
      return
    end
  end
  differences[#differences + 1] = ("%s %s"):format(known.name, why)
end

local is_comparing = false
-- Within a kernel or a backward pass the thread excludes more keys, and no
-- function is recorded.
local EXCLUDED = tostring(st.excluded_keys())

--- The function for st.dispatch_mode.
local function mode(op, keys, ...)
  local known = facts_of(op)
  if known.skips or is_comparing or
     tostring(st.excluded_keys()) ~= EXCLUDED then
    counters.skipped = counters.skipped + 1
    return op:redispatch(keys, ...)
  end
  is_comparing = true
  local state = st.get_rng_state()
  local ok, why = pcall(compare, known, ...)
  st.set_rng_state(state)
  is_comparing = false
  if not ok then
    why = "cannot be compared: " .. tostring(why)
    counters.reasons[why] = (counters.reasons[why] or 0) + 1
  end
  return op:redispatch(keys, ...)
end

-- -- Reports -----------------------------------------------------------------

local MOST_SHOWN = 40

--- Prints a line per difference and reason, and one of counts, for run.lua.
local function report()
  for i = 1, math.min(#differences, MOST_SHOWN) do
    print("DIFFERS " .. differences[i]:gsub("%s+", " "))
  end
  for why, n in pairs(counters.reasons) do
    print(("REASON %d %s"):format(n, (why:gsub("%s+", " "))))
  end
  print(("RECORDED %d %d %d %d %d %d %d %d"):format(
    counters.calls, counters.recorded, counters.fused, counters.refused,
    counters.failed, counters.skipped, counters.repeated, #differences))
end

if ... ~= "spec.support.recorded.mode" then -- a helper of busted
  local busted = require "busted"
  busted.subscribe({"test", "start"}, function(element)
    local run = element.run
    element.run = function(...) return st.dispatch_mode(mode, run, ...) end
    return nil, true
  end)
  busted.subscribe({"suite", "end"}, function()
    report()
    return nil, true
  end)
end

return {mode = mode, report = report, counters = counters,
        differences = differences}
