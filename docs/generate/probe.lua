--- Finds out by calling: the dtypes that an example takes and gives, the shapes
-- of results, and the errors of what it refuses.
--
-- The example runs again with its tensors in each dtype, or with t in another
-- shape. Its tensors are t and those that it makes of fractions.
--
-- @module docs.generate.probe

local st = require "strided"
local core = require "strided.core"
local markdown = require "docs.generate.markdown"

local concat = table.concat
local compile = loadstring or load

local probe = {}

local DTYPES = {
  "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32",
  "uint64", "float16", "bfloat16", "float32", "float64", "complex64",
  "complex128",
}

-- Functions that an example makes its tensors by.
local MAKERS = {"tensor", "ones", "zeros", "full", "eye", "rand", "randn",
                "linspace"}

-- Shapes to try, and a tensor of each.
local SHAPES = {{}, {3}, {2, 3}, {2, 2, 2}, {0, 2}}

local MOST_ERRORS = 4

st.warnings(false) -- about conversions

local function with_dtype(value, dtype)
  if core.is_tensor(value) and value:is_floating_point() then
    return value:to(dtype)
  end
  return value
end

--- st, whose functions that make tensors of fractions convert them.
local function converting(dtype)
  local copy = setmetatable({}, {__index = st})
  for _, name in ipairs(MAKERS) do
    copy[name] = function(...) return with_dtype(st[name](...), dtype) end
  end
  return copy
end

--- Runs an example; returns true and its first value, or false and the error
-- without its place.
local function run(code, st_, t)
  local chunk = compile("local st, t = ...; return " .. code, "=example")
  if not chunk then return nil end
  st.manual_seed(0)
  local ok, value = pcall(chunk, st_, t)
  if ok then return true, value end
  return false, (tostring(value):gsub("^[^:]+:%d+: ", ""))
end

local function shape_text(value)
  return core.is_tensor(value) and tostring(value.shape) or nil
end

-- What several dtypes are called together, the largest first.
local FAMILIES = {
  {"all", DTYPES},
  {"integers", {"uint8", "int8", "int16", "int32", "int64", "uint16", "uint32",
                "uint64"}},
  {"floats", {"float16", "bfloat16", "float32", "float64"}},
  {"complex", {"complex64", "complex128"}},
}

--- "bool, integers, float32": names of dtypes in the order of DTYPES, families
-- by one word.
local function list_text(list)
  local set, parts = {}, {}
  for _, name in ipairs(list) do set[name] = true end
  for _, family in ipairs(FAMILIES) do
    local is_whole = true
    for _, name in ipairs(family[2]) do
      is_whole = is_whole and set[name] ~= nil
    end
    for _, name in ipairs(is_whole and family[2] or {}) do
      set[name] = family[1]
    end
  end
  for _, name in ipairs(list) do
    local family = set[name]
    if family == true then
      parts[#parts + 1] = "`" .. name .. "`"
    elseif not set["said " .. family] then
      set["said " .. family] = true
      parts[#parts + 1] = family
    end
  end
  return concat(parts, ", ")
end

local function dtypes_of(code, errors)
  local t = st.tensor {{1, 2}, {3, 4}}
  local groups, order, refused = {}, {}, {}
  for _, dtype in ipairs(DTYPES) do
    local ok, value = run(code, converting(dtype), t:to(dtype))
    if ok == nil then return nil end
    if not ok then
      refused[#refused + 1] = dtype
      errors[#errors + 1] = value
    else
      local to = core.is_tensor(value) and value.dtype
                 or type(value) == "table" and "a table" or type(value)
      if to == dtype then to = "the same" end
      if not groups[to] then groups[to], order[#order + 1] = {}, to end
      local group = groups[to]
      group[#group + 1] = dtype
    end
  end
  local parts = {}
  for i, to in ipairs(order) do
    parts[i] = list_text(groups[to]) .. " → "
               .. (to:find " " and to or "`" .. to .. "`")
  end
  local text = "Dtypes: " .. concat(parts, "; ") .. "."
  if refused[1] then
    text = text .. " Refused: " .. list_text(refused) .. "."
  end
  return order[1] and text or nil
end

local function shapes_of(code, errors)
  local _, before = run(code, st, st.tensor {{1, 2}, {3, 4}})
  local dtype = "int64"
  local parts, differs = {}, false
  for _, shape in ipairs(SHAPES) do
    local n = 1
    for _, size in ipairs(shape) do n = n * size end
    local t = (st.arange(n) + 1):to(dtype):view(shape)
    local ok, value = run(code, st, t)
    local text = ok and shape_text(value)
    if ok == false then
      errors[#errors + 1] = value
    elseif text then
      parts[#parts + 1] = "`" .. tostring(t.shape) .. "` → `" .. text .. "`"
      differs = differs or text ~= shape_text(before)
    end
  end
  return parts[1] and differs and "Shapes: " .. concat(parts, ", ") .. "."
         or nil
end

--- Describes what an example takes: a text, or nil if nothing is found out.
function probe.describe(code)
  local errors, parts = {}, {}
  local uses_t = code:find "%f[%w_]t%f[^%w_]"
  local is_drawn = code:find "layout%(" or code:find "set_" -- no operators
  if is_drawn then return nil end
  parts[#parts + 1] = (uses_t or code:find "%d%.%d") and
                      dtypes_of(code, errors)
  if uses_t then parts[#parts + 1] = shapes_of(code, errors) end
  local lines, seen = {}, {}
  for _, text in ipairs(errors) do
    text = text:gsub("%s+", " ")
    -- The same error of another dtype or shape is one.
    local kind = text:gsub("%f[%w]%l+%d+%f[%W]", "N"):gsub("%d+", "N")
                     :gsub("bool", "N")
    if not seen[kind] and lines[MOST_ERRORS] == nil then
      seen[kind] = true
      lines[#lines + 1] = text
    end
  end
  if lines[1] then
    parts[#parts + 1] = "Errors:\n\n"
                        .. markdown.code(concat(lines, "\n"), "text")
  end
  return parts[1] and concat(parts, "\n\n") or nil
end

return probe
