--- The rule for an output that shares memory with an input (I2, Y1): the input
-- is read as if from a copy. The oracle makes the same call on tensors of which
-- no two share memory, and compares every byte.

local api = require "spec.conformance.api"
local values = require "spec.conformance.values"

local show, same = values.show_list, values.same_list
local format = string.format

local overlap = {}

overlap.REASON = "the input is read as if from a copy"

-- -- Which tensors share memory ----------------------------------------------

--- Appends x if it is a tensor; if it is a list, the tensors in it.
function overlap.add_tensors(list, x)
  if api.is_tensor(x) then
    list[#list + 1] = x
  elseif type(x) == "table" then
    for _, y in ipairs(x) do overlap.add_tensors(list, y) end
  end
end

--- The tensors that a call writes to, and those that it only reads.
function overlap.operands(op, args, kwargs)
  local written, read = {}, {}
  for i = 1, args.n or #args do
    local a = op.arguments[i]
    overlap.add_tensors(a and a.written and written or read, args[i])
  end
  for name, x in pairs(kwargs or {}) do
    local a = op.arguments[name]
    overlap.add_tensors(a and a.written and written or read, x)
  end
  return written, read
end

--- The addresses of the elements, in logical order.
local function addresses(t)
  local size, first = t:element_size(), api.address(t)
  local list = values.offsets(api.shape(t), api.strides(t))
  for i = 1, #list do list[i] = first + list[i] * size end
  return list, size
end

--- What two tensors have in common: nil; "same", the same elements in the same
-- order; or "part", bytes in any other way.
function overlap.between(a, b)
  if a:numel() == 0 or b:numel() == 0 then return nil end
  local at, n = addresses(a)
  local bt, m = addresses(b)
  if n == m and same(at, bt) then return "same" end
  local taken = {}
  for _, address in ipairs(at) do
    for i = 0, n - 1 do taken[address + i] = true end
  end
  for _, address in ipairs(bt) do
    for i = 0, m - 1 do if taken[address + i] then return "part" end end
  end
end

--- Whether an output has memory in common with an input: nil, "same" or "part".
-- And whether one of such a pair has gaps or overlaps itself: PyTorch does not
-- look at such pairs, and reads what it has already overwritten.
function overlap.shared(written, read)
  local found, unseen
  for _, w in ipairs(written) do
    for _, r in ipairs(read) do
      local how = overlap.between(w, r)
      if how ~= nil and found ~= "part" then found = how end
      if how == "part" and not (w:is_non_overlapping_and_dense() and
                                r:is_non_overlapping_and_dense()) then
        unseen = true
      end
    end
  end
  return found, unseen
end

--- Whether PyTorch refuses a case because an output shares memory with an
-- input.
function overlap.refused(case)
  local message = case.message or case.expect and case.expect.error or ""
  return case.error == "partial_overlap" or
         message:find "input tensor and the written%-to tensor" ~= nil
end

--- Whether the rule is for this case: PyTorch refuses an overlap that is there,
-- or gives an answer to one that it does not see.
function overlap.applies(case, written, read)
  local found, unseen = overlap.shared(written, read)
  if found == nil then return false end
  return overlap.refused(case) or
         (case.error == nil and not (case.expect and case.expect.error) and
          unseen == true)
end

-- -- The oracle --------------------------------------------------------------

local function same_tensor(got, want)
  if api.dtype(got) ~= api.dtype(want) then
    return false, format("dtype is %s on copies, not %s", api.dtype(want),
                         api.dtype(got))
  end
  if not same(api.shape(got), api.shape(want)) then
    return false, format("shape is %s on copies, not %s",
                         show(api.shape(want)), show(api.shape(got)))
  end
  if not same(api.strides(got), api.strides(want)) then
    return false, format("strides are %s on copies, not %s",
                         show(api.strides(want)), show(api.strides(got)))
  end
  if api.bytes(got:contiguous()) ~= api.bytes(want:contiguous()) then
    return false, "is not what it is on copies"
  end
  return true
end

--- Do two results say the same?
function overlap.same_result(got, want)
  if api.is_tensor(got) and api.is_tensor(want) then
    return same_tensor(got, want)
  end
  if type(got) == "table" and type(want) == "table" then
    for i = 1, math.max(#got, #want) do
      local ok, why = overlap.same_result(got[i], want[i])
      if not ok then return false, format("member %d %s", i, why) end
    end
    return true
  end
  return got == want or (got ~= got and want ~= want),
         format("is %s, on copies %s", tostring(got), tostring(want))
end

--- The bytes with the elements of t written in; its first is at byte `first`
-- (from 0). Nil if there is no room for them.
local function replace(bytes, first, t)
  local window, n, out = api.bytes(t), t:element_size(), {}
  if first + #window > #bytes then return nil end
  for i = 1, #bytes do out[i] = bytes:sub(i, i) end
  for _, at in ipairs(values.offsets(api.shape(t), api.strides(t))) do
    for i = at * n + 1, at * n + n do out[first + i] = window:sub(i, i) end
  end
  return table.concat(out)
end

--- Does memory hold what it should: what it held, and what the same call on
-- copies wrote into the written tensors? One that the call resized counts by
-- itself: its storage may be another one.
local function same_memory(seen, apart, written)
  local want = {}
  for k, a in ipairs(seen.tensors) do
    local s, other = a.storage, apart.tensors[k]
    if want[s] == nil then want[s] = s.bytes end
    if written[a.tensor] then
      local ok, why = overlap.same_result(a.tensor, other.tensor)
      if not ok then return false, format("tensor %d %s", k - 1, why) end
    end
    if written[a.tensor] and want[s] and other.tensor:numel() > 0 then
      local first = api.address(other.tensor) -
                    api.address(other.storage.tensor)
      want[s] = replace(want[s], first, other.tensor) or false
    end
  end
  for s, bytes in pairs(want) do
    if bytes and s.n > 0 and api.bytes(s.tensor) ~= bytes then
      return false, "memory is not what it is on copies"
    end
  end
  return true
end

local function outcome(ok, why)
  return ok and "gives a result" or "raises: " .. tostring(why)
end

--- Makes a call on tensors that share memory, and on copies. make(apart) gives
-- what arguments.new decoded, a function that makes the call, and the tensors
-- that it writes to. True, or false and why; then whether both were refused.
function overlap.as_on_copies(make)
  local seen, call, list = make(false)
  local apart, other_call = make(true)
  local written = {}
  for _, a in ipairs(seen.tensors) do
    for _, w in ipairs(list) do
      if rawequal(a.tensor, w) then written[a.tensor] = true end
    end
  end
  local results, wanted = {pcall(call)}, {pcall(other_call)}
  if results[1] ~= wanted[1] or
     (not results[1] and api.is_defect(results[2])) then
    return false, format("%s; on copies it %s",
                         outcome(results[1], results[2]),
                         outcome(wanted[1], wanted[2]))
  end
  for i = 2, results[1] and math.max(#results, #wanted) or 0 do
    local ok, why = overlap.same_result(results[i], wanted[i])
    if not ok then return false, format("result %d %s", i - 1, why) end
  end
  local ok, why = same_memory(seen, apart, written)
  return ok, why, not results[1]
end

return overlap
