--- The values that checkpoints hold: tensors, numbers, strings, booleans, the
-- integers of st.int, complex numbers, st.none, and tables of these.
--
-- @module strided.io.values

local core = require "strided.core"
local failure = require "strided.io.failure"
local is_utf8 = require "strided.io.utf8".is_valid

local debug, error, find, floor, format, gsub, ipairs, next, pcall, rawequal,
  rawget, sort, tostring, type = debug, error, string.find, math.floor,
  string.format, string.gsub, ipairs, next, pcall, rawequal, rawget, table.sort,
  tostring, type
local clean, fail = failure.clean, failure.fail

local MAX_DEPTH = 200      -- of tables in tables

local values = {MAX_DEPTH = MAX_DEPTH}

local function parts_of(v) return v.re, v.im end

--- What a value is: "tensor", "table", "number", "string", "boolean", "none",
-- "int" with its digits, "complex" with its parts; or nil.
function values.kind(v)
  local kind = type(v)
  if kind == "number" or kind == "string" or kind == "boolean" or
     kind == "table" then
    return kind
  end
  if kind ~= "userdata" and kind ~= "cdata" then return nil end
  if core.is_tensor(v) then return "tensor" end
  if rawequal(v, core.none) then return "none" end
  local ok, x = core.try(core.int, v)
  if ok then return "int", (gsub(tostring(x), "U?LL$", "")) end
  local im
  ok, x, im = pcall(parts_of, v)
  if not ok and not find(tostring(x), "index") and
     not find(tostring(x), "member") then
    error(x, 0)
  end
  if ok and type(x) == "number" and type(im) == "number" then
    return "complex", x, im
  end
end

--- The length of a table that is a list and no more; nil for others, and for
-- an empty table.
function values.length(t)
  local n, greatest = 0, 0
  for key in next, t do
    if type(key) ~= "number" or key < 1 or key ~= floor(key) then return nil end
    n = n + 1
    if key > greatest then greatest = key end
  end
  return n > 0 and greatest == n and n or nil
end

local RANKS = {boolean = 1, number = 2, string = 3}

local function is_before(a, b)
  local m, n = RANKS[type(a)], RANKS[type(b)]
  if m ~= n then return m < n end
  if m == 1 then return b and not a end
  return a < b
end

--- The keys of a table, which `walk` has checked: booleans, numbers, strings.
function values.keys(t)
  local keys = {}
  for key in next, t do keys[#keys + 1] = key end
  sort(keys, is_before)
  return keys
end

--- The path of a field.
local function join(path, key)
  if type(key) ~= "string" then return path .. "[" .. tostring(key) .. "]" end
  if find(key, "^[%a_][%w_]*$") then
    return path == "" and key or path .. "." .. key
  end
  return path .. format('["%s"]', clean(key))
end

--- The keys of a field's path with dots between them.
local function join_name(name, key)
  key = tostring(key)
  if not is_utf8(key) then key = clean(key) end
  return name == "" and key or name .. "." .. key
end

local function is_object(t) return type(t.state_dict) == "function" end

--- The name of a userdata's kind, or nil.
local function name_of_kind(value)
  local meta = debug.getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__name")
end

--- What a value is called that cannot be saved.
local function describe(value)
  local kind = type(value)
  if kind == "userdata" and name_of_kind(value) == "Generator" then
    return "Generator; save its get_state()"
  end
  return kind
end

local function name_of(path) return path == "" and "the value" or path end

local visit

local function visit_table(w, t, at, depth)
  local path = at.path
  if w.open[t] then
    fail("%s is a table that it is in", name_of(path))
  end
  if w.done[t] then return end
  if depth > MAX_DEPTH then
    fail("%s is more than %d tables deep", name_of(path), MAX_DEPTH)
  end
  if is_object(t) then
    fail("%s is an object; save its state_dict()", name_of(path))
  end
  w.open[t] = true
  for key in next, t do
    if not RANKS[type(key)] then
      fail("%s has a key that is a %s", name_of(path),
           core.is_tensor(key) and "Tensor" or type(key))
    end
  end
  for _, key in ipairs(values.keys(t)) do
    visit(w, rawget(t, key), {path = join(path, key),
                              name = join_name(at.name, key)}, depth + 1)
  end
  w.open[t], w.done[t] = nil, true
end

-- at: the field's path for messages, and its name.
function visit(w, value, at, depth)
  local kind = values.kind(value)
  if kind == "table" then return visit_table(w, value, at, depth) end
  if not kind then
    fail("%s is a %s", name_of(at.path), describe(value))
  end
  if kind == "tensor" then w.on_tensor(value, at.path, at.name) end
end

--- Ends by failure.fail if a value cannot be saved.
-- @param value
-- @tparam function on_tensor is called with each tensor, its path, and the keys
-- of the path with dots between them
function values.walk(value, on_tensor)
  visit({open = {}, done = {}, on_tensor = on_tensor}, value,
        {path = "", name = ""}, 1)
end

--- A key that is the same for tensors of the same elements in the same memory,
-- or the tensor itself.
function values.identity(t)
  if t.device ~= "cpu" or t:numel() == 0 or t:_is_zerotensor() then return t end
  return format("%.0f %s %s %s %s %s", t:data_ptr(), t.dtype,
                tostring(t.shape), tostring(t:stride()),
                tostring(t:is_conj()), tostring(t:is_neg()))
end

return values
