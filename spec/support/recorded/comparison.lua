--- Calls of functions that are recorded by st.fuse, compared with direct calls.
--
-- A comparison gives nil if both calls do the same, or what differs. Counters
-- say how many calls were recorded, and why others were not.

local st = require "strided"

local unpack = unpack or table.unpack
local abs, getmetatable, ipairs, pairs, pcall = math.abs, getmetatable, ipairs,
  pairs, pcall
local select, tostring, type = select, tostring, type

local M = {}

-- What sums of other orders may differ by, relative and absolute.
local TOLERANCE = {
  float64 = 1e-9, complex128 = 1e-9, float32 = 2e-5, complex64 = 2e-5,
  float16 = 4e-3, bfloat16 = 3e-2,
}

-- -- Arguments ---------------------------------------------------------------

--- The different tensors in x, in a fixed order.
function M.tensors_of(x)
  local list, seen = {}, {}
  local function visit(v)
    if st.is_tensor(v) then
      if not seen[v] then
        seen[v] = true
        list[#list + 1] = v
      end
    elseif type(v) == "table" and not getmetatable(v) then
      local keys = {}
      for k in pairs(v) do keys[#keys + 1] = k end
      table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
      for _, k in ipairs(keys) do visit(v[k]) end
    end
  end
  visit(x)
  return list
end

--- A copy of x in which f(t) stands for each tensor t.
function M.map(x, f)
  if st.is_tensor(x) then return f(x) end
  if type(x) ~= "table" or getmetatable(x) then return x end
  local out = {}
  for k, v in pairs(x) do out[k] = M.map(v, f) end
  return out
end

--- Results, those in lists one by one: a recorded function returns no lists.
local function flat(...)
  local out, n = {}, 0
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    local is_list = type(x) == "table" and st.is_tensor(x[1]) or false
    for k = 1, is_list and #x or 1 do
      n = n + 1
      if is_list then out[n] = x[k] else out[n] = x end
    end
  end
  return unpack(out, 1, n)
end

--- The call of an operator with these arguments, n of them, as a function of
-- its tensors; others are constants.
function M.function_of(operator, args, n)
  local at = {}
  for i, t in ipairs(M.tensors_of(args)) do at[t] = i end
  return function(...)
    local given = {...}
    local put = M.map(args, function(t) return given[at[t]] end)
    return flat(operator(unpack(put, 1, n)))
  end
end

-- -- Comparing ---------------------------------------------------------------

local function same_strides(a, b)
  local p, q = {a:stride()}, {b:stride()}
  if type(p[1]) == "table" then p, q = p[1], q[1] end
  if a:numel() == 0 then return true end
  for d, n in ipairs(a.shape) do
    if n > 1 and p[d] ~= q[d] then return false end
  end
  return true
end

local function values_of(t)
  t = t:detach():resolve_conj():resolve_neg()
  if t.dtype:find "^complex" then t = st.view_as_real(t:contiguous()) end
  if t.dtype:find "^float8" or t.dtype:find "int4" then t = t:to "float32" end
  return t:to "float64"
end

--- What differs between two results; nil if nothing does.
function M.difference(want, got)
  if st.is_tensor(want) then
    if not st.is_tensor(got) then return "is no tensor" end
    for _, what in ipairs {"dtype", "device", "shape"} do
      local x, y = tostring(want[what]), tostring(got[what])
      if x ~= y then return ("has %s %s, not %s"):format(what, y, x) end
    end
    if not same_strides(want, got) then return "has other strides" end
    if want.device ~= "cpu" then return nil end
    local tol = TOLERANCE[want.dtype] or 0
    local x, y = values_of(want), values_of(got)
    if st.allclose(x, y, {rtol = tol, atol = tol, equal_nan = true}) then
      return nil
    end
    return "differs by " .. tostring((x - y):abs():max():item())
  end
  if type(want) == "table" then
    if type(got) ~= "table" then return "is no table" end
    for k, v in pairs(want) do
      local why = M.difference(v, got[k])
      if why then return ("member %s %s"):format(tostring(k), why) end
    end
    return nil
  end
  if want == got or want ~= want and got ~= got then return nil end
  if type(want) == "number" and type(got) == "number" and
     abs(want - got) <= 1e-6 * abs(want) then
    return nil
  end
  return ("is %s, not %s"):format(tostring(got), tostring(want))
end

--- An error message without the place and the traceback.
local function bare(why)
  why = tostring(why):gsub("\nstack traceback:.*", "")
  return (why:gsub("^[^\n]-:%d+: ", ""))
end

--- Calls f(...), after seeding: whether it succeeded, and its results as a list
-- or the message.
local function outcome(f, ...)
  st.manual_seed(1)
  local function pack(ok, ...)
    if ok then return ok, {n = select("#", ...), ...} end
    return ok, bare((...))
  end
  return pack(pcall(f, ...))
end

--- Compares one call. What differs or nil, and whether both calls fail.
function M.compare_call(fn, fused, tensors)
  local ok, want = outcome(fn, unpack(tensors))
  local done, got = outcome(fused, unpack(tensors))
  if ok and not done then return "fails: " .. got end
  if not ok and done then return "has lost the error: " .. want end
  if ok then return M.difference(want, got), false end
  if want ~= got then return ("says: %s, not: %s"):format(got, want), true end
  return nil, true
end

--- Counters: of calls, of those recorded, of those with a fusion group, and of
-- those whose function is called, by the reason, and of those that fail both
-- ways.
function M.counters()
  return {calls = 0, recorded = 0, fused = 0, refused = 0, failed = 0,
          reasons = {}}
end

local function count(counters, fused, tensors)
  counters.calls = counters.calls + 1
  local ok, text = pcall(fused.explain, fused, unpack(tensors))
  if not ok then return end
  local why = text:match "^the function is called: (.-)\n?$"
  if why then
    why = why:gsub(": [^:]*, at [^\n]*$", ""):gsub(", at [^\n]*:%d+$", "")
    counters.reasons[why] = (counters.reasons[why] or 0) + 1
    counters.refused = counters.refused + 1
  else
    counters.recorded = counters.recorded + 1
    if text:find "fusion group" then counters.fused = counters.fused + 1 end
  end
end

function M.report(counters)
  print(("%d calls, %d recorded, %d with a fusion group, %d refused, %d fail")
        :format(counters.calls, counters.recorded, counters.fused,
                counters.refused, counters.failed))
  local lines = {}
  for why, n in pairs(counters.reasons) do
    lines[#lines + 1] = ("%6d  %s"):format(n, why)
  end
  table.sort(lines)
  print(table.concat(lines, "\n"))
end

--- Compares a function of tensors with what st.fuse makes of it, for each list
-- of tensors, twice for the first: from the recording and as the first call.
-- What differs in which call, or nil.
function M.compare(fn, lists, counters)
  local fused = st.fuse(fn, {name = "recorded"})
  for i = 0, #lists do
    local tensors = lists[i == 0 and 1 or i]
    local why, fails = M.compare_call(fn, fused, tensors)
    if why then return ("call %d %s"):format(i, why) end
    if counters then
      count(counters, fused, tensors)
      if fails then counters.failed = counters.failed + 1 end
    end
  end
end

return M
