--- Finds out by calling: the dtypes and shapes that an operator takes and
-- gives, and the errors of what it refuses.
--
-- The example of the help runs once, under a mode that keeps the call of the
-- operator. Then the operator is called with the same arguments, but with its
-- tensors in each dtype, and in other shapes.
--
-- @module docs.generate.probe

local st = require "strided"
local core = require "strided.core"
local markdown = require "docs.generate.markdown"

local concat = table.concat
local compile = loadstring or load
local unpack = table.unpack or unpack -- luacheck: ignore 143

local probe = {}

-- The order of dtypes in texts, by kind; floats of one byte and complex numbers
-- of four come last, and are no part of "all".
local ORDER = {bool = 1, unsigned = 2, signed = 2, float = 3, complex = 4}
local FAMILY = {[2] = "integers", [3] = "floats", [4] = "complex",
                [5] = "float8"}

local function order_of(d)
  local order = ORDER[d.kind]
  if order == 3 and d.size == 1 then return 5 end
  return order == 4 and d.size == 4 and 6 or order
end

--- The dtypes of tensors that numbers are converted to, and what several are
-- called together, the largest first.
local function known_dtypes()
  local list, names, all, families = {}, {}, {}, {{"all"}}
  for i, d in ipairs(core.dtypes()) do
    if d.is_of_tensors and d.lanes == 1 and not d.is_subbyte then
      local order = order_of(d)
      local rank = (order * 100 + (order == 2 and 0 or d.size)) * 100 + i
      list[#list + 1] = {d.name, order, rank}
    end
  end
  table.sort(list, function(a, b) return a[3] < b[3] end)
  families[1][2] = all
  for i, d in ipairs(list) do
    local family = FAMILY[d[2]]
    names[i] = d[1]
    if d[2] < 5 then all[#all + 1] = d[1] end
    if family and families[#families][1] ~= family then
      families[#families + 1] = {family, {}}
    end
    if family then table.insert(families[#families][2], d[1]) end
  end
  return names, families
end

local DTYPES, FAMILIES = known_dtypes()

-- Shapes to try.
local SHAPES = {{}, {3}, {2, 3}, {2, 2, 2}, {0, 2}}

local MOST_ERRORS = 4
local MOST_RESULTS = 3 -- shapes of a list that are shown

-- Positions, lengths and masks: they keep their dtype and shape.
local KEPT = {index = true, indices = true, mask = true, condition = true,
              pivots = true, LU_pivots = true, lengths = true, offsets = true,
              batch_sizes = true, repeats = true, attn_mask = true,
              input_lengths = true, target_lengths = true, tau = true}

st.warnings(false) -- about conversions

-- -- Calls --------------------------------------------------------------------

--- The arguments of a schema: name, type, and whether it is keyword-only.
local function arguments_of(schema)
  local list, is_keyword = {}, false
  local inner = schema:match "%((.*)%) *%->"
  inner = inner:gsub("%b[]", function(s) return (s:gsub(",", ";")) end)
  for text in inner:gmatch "[^,]+" do
    text = text:match "^%s*(.-)%s*$"
    if text == "*" then
      is_keyword = true
    else
      -- the mark of an alias, as in "Tensor(a!)", says nothing here
      local kind, name = text:gsub("%b()", ""):match "^(%S+) ([%w_]+)"
      list[#list + 1] = {kind = kind, name = name, is_keyword = is_keyword}
    end
  end
  return list
end

local function names_of(base)
  local packet = core.packet("aten::" .. base)
  local doc = packet:doc() or ""
  return packet, doc:match "^Another name of ([%w_]+)"
                 or doc:match "^The same as ([%w_]+)%.?$" or base
end

--- The first call of an operator in an example: {run =, overload =, args =,
-- schema =}; nil if there is none.
local function call_of(code, base)
  local chunk = compile("local st, t = ...; return " .. code, "=example")
  local packet, other = names_of(base)
  local call
  if not chunk then return nil end
  pcall(st.dispatch_mode, function(op, keys, ...)
    local name = op:name():match "^aten::([^.]*)"
    if not call and (name == base or name == other) then
      call = {run = packet, overload = op, args = {...},
              schema = arguments_of(op:schema())}
    end
    return op:redispatch(keys, ...)
  end, function()
    st.manual_seed(0)
    return chunk(st, st.tensor {{1, 2}, {3, 4}})
  end)
  return call
end

--- Calls the operator with arguments of its own; returns true and the list of
-- its results, or false and the error without its place and its example.
local function run(call, args)
  local plain, options = {}, {}
  local last = 0
  for i, argument in ipairs(call.schema) do
    if not argument.is_keyword then
      plain[i] = args[i]
      if args[i] ~= nil then last = i end
    else
      options[argument.name] = args[i]
    end
  end
  if next(options) ~= nil then
    last = last + 1
    plain[last] = options
  end
  st.manual_seed(0)
  local results = {pcall(call.run, unpack(plain, 1, last))}
  if results[1] then
    table.remove(results, 1)
    return true, results
  end
  local text = tostring(results[2]):gsub("^[^:]+:%d+: ", "")
                                   :gsub("\n%s*for example.*", "")
  return false, (text:gsub("%s+", " "))
end

local function each_tensor(call, args, fn)
  local copy = {}
  for i, argument in ipairs(call.schema) do
    local value = args[i]
    if core.is_tensor(value) then
      value = fn(value, argument, i)
    elseif argument.kind:find "^Tensor" and type(value) == "table" then
      local list = {}
      for k, one in ipairs(value) do list[k] = fn(one, argument, i) end
      value = list
    end
    copy[i] = value
  end
  return copy
end

--- The tensors of a call that are values: those of the first one's dtype.
local function values_of(call)
  local list, dtype = {}, nil
  each_tensor(call, call.args, function(value, argument)
    if KEPT[argument.name] or argument.name == "out" then return value end
    dtype = dtype or value.dtype
    if value.dtype == dtype then
      list[#list + 1] = value
      list[value] = true
    end
    return value
  end)
  return list, dtype
end

--- The call's arguments with each value replaced by fn(value).
local function replaced(call, values, fn)
  return each_tensor(call, call.args, function(value)
    if values[value] then return fn(value) end
    return value:clone()
  end)
end

-- -- Dtypes -------------------------------------------------------------------

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
      if set[name] == true then set[name] = family[1] end
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

--- "the same", "`float32`", "`float32` and `int64`": the dtypes of results.
local function results_text(results, dtype)
  local parts, seen = {}, {}
  local function add(value, is_further)
    local name = core.is_tensor(value) and "`" .. value.dtype .. "`"
                 or type(value)
    -- positions are int64 beside values of any dtype
    if name == "`" .. dtype .. "`"
       and not (is_further and dtype == "int64") then
      name = "the same"
    end
    if not seen[name] then parts[#parts + 1] = name end
    seen[name] = true
  end
  for i, value in ipairs(results) do
    if type(value) == "table" and not core.is_tensor(value) then
      for _, one in ipairs(value) do add(one) end
    else
      add(value, i > 1)
    end
  end
  return concat(parts, " and ")
end

--- True if a call was refused for its dtype, and not for its values.
local function is_about_dtypes(text, dtype)
  return text:find(dtype, 1, true) or text:find "dtype" or text:find "bool"
         or text:find "floating" or text:find "complex" or text:find "integer"
end

local function dtype_text(groups, order, refused)
  local parts = {}
  for i, to in ipairs(order) do
    parts[i] = list_text(groups[to]) .. (to == "" and "" or " → " .. to)
  end
  local text = concat(parts, "; ") .. "."
  if refused[1] then
    text = text .. " Refused: " .. list_text(refused) .. "."
  end
  return order[1] and text or nil
end

--- Tries each dtype: try(dtype) gives true and the results, or an error. Of
-- errors that differ in the dtype alone, the first is kept.
local function tried_dtypes(try, errors, to_text)
  local groups, order, refused, said = {}, {}, {}, {}
  for _, dtype in ipairs(DTYPES) do
    local ok, results = try(dtype)
    if ok then
      local to = to_text(results, dtype)
      if not groups[to] then groups[to], order[#order + 1] = {}, to end
      local group = groups[to]
      group[#group + 1] = dtype
    elseif is_about_dtypes(results, dtype) then
      refused[#refused + 1] = dtype
      local of_any = results:gsub("%f[%w_]" .. dtype .. "%f[^%w_]", "?")
      if not said[of_any] then errors[#errors + 1] = results end
      said[of_any] = true
    end
  end
  -- "int64 → the same" goes to the others that give int64
  local same = groups["the same"]
  if same and not same[2] and groups["`" .. same[1] .. "`"] then
    local group = groups["`" .. same[1] .. "`"]
    group[#group + 1] = same[1]
    for i, to in ipairs(order) do
      if to == "the same" then table.remove(order, i) end
    end
  end
  return dtype_text(groups, order, refused)
end

local function dtypes_of(call, values, errors)
  local text = tried_dtypes(function(dtype)
    return run(call, replaced(call, values, function(value)
      return value:to(dtype)
    end))
  end, errors, results_text)
  return text and "Dtypes: " .. text
end

--- The dtypes that an operator without tensors takes as an option.
local function dtype_option(call, errors)
  local place
  for i, argument in ipairs(call.schema) do
    if argument.name == "dtype" then place = i end
  end
  if not place then return nil end
  local ok, results = run(call, call.args)
  local text = tried_dtypes(function(dtype)
    local args = each_tensor(call, call.args, function(t) return t end)
    args[place] = dtype
    return run(call, args)
  end, errors, function() return "" end)
  local default = ok and core.is_tensor(results[1]) and results[1].dtype
  return text and ("Dtypes: %sby the option `dtype` %s"):format(
    default and "`" .. default .. "` here; " or "", text)
end

-- -- Shapes -------------------------------------------------------------------

local function shape_texts(list)
  local parts = {}
  for _, value in ipairs(list) do
    if core.is_tensor(value) then
      parts[#parts + 1] = "`" .. tostring(value.shape) .. "`"
    elseif type(value) == "table" then
      parts[#parts + 1] = shape_texts(value)
    end
  end
  if parts[MOST_RESULTS + 2] then
    for i = #parts, MOST_RESULTS + 1, -1 do parts[i] = nil end
    parts[#parts + 1] = "..."
  end
  return concat(parts, ", ")
end

local function filled(shape, dtype)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return (st.arange(n) + 1):to(dtype):view(shape)
end

--- The call with its values in the shapes given, the last one again and again.
local function with_shapes(call, values, dtype, shapes)
  local k = 0
  return run(call, replaced(call, values, function()
    k = math.min(k + 1, #shapes)
    return filled(shapes[k], dtype)
  end))
end

local function does_broadcast(call, values, dtype)
  if #values ~= 2 then return false end
  local ok, results = with_shapes(call, values, dtype, {{3, 1}, {4}})
  return ok and shape_texts(results) == "`{3, 4}`"
         and not with_shapes(call, values, dtype, {{3}, {4}})
end

local function are_alike(values)
  for _, value in ipairs(values) do
    if value.shape ~= values[1].shape then return false end
  end
  return true
end

--- The shapes of the tensors of the example and of its results, and how many
-- tensors it has; nil if the results are no tensors.
local function example_shapes(call)
  local list = {}
  each_tensor(call, call.args, function(value, argument)
    if argument.name ~= "out" then list[#list + 1] = value end
    return value
  end)
  local ok, results = run(call, each_tensor(call, call.args, function(value)
    return value:clone()
  end))
  local to = ok and shape_texts(results) or ""
  if to == "" then return nil end
  return (list[1] and shape_texts(list) .. " → " or "") .. to, #list
end

local function shapes_of(call, values, dtype, errors)
  local first, count = example_shapes(call)
  if not first then return nil end
  local parts = {first}
  if does_broadcast(call, values, dtype) then
    local _, why = with_shapes(call, values, dtype, {{3}, {4}})
    errors[#errors + 1] = why
    return "Shapes: those that [broadcast](../broadcasting.md), as "
           .. "`{3, 1}`, `{4}` → `{3, 4}`."
  end
  local are_same = true
  for _, shape in ipairs(values[1] and are_alike(values) and SHAPES or {}) do
    local ok, results = with_shapes(call, values, dtype, {shape})
    local texts = {}
    for k = 1, #values do texts[k] = filled(shape, dtype) end
    local from = shape_texts(texts)
    if ok then
      local to = shape_texts(results)
      are_same = are_same and to == from
      local text = from .. " → " .. to
      if text ~= first and to ~= "" and count == #values then
        parts[#parts + 1] = text
      end
    else
      are_same = false
      errors[#errors + 1] = results
    end
  end
  if are_same and #values == 1 and parts[2] then
    return "Shapes: any → the same."
  end
  return "Shapes: " .. concat(parts, "; ") .. "."
end

-- -- Errors -------------------------------------------------------------------

--- What is refused of any operator: a last tensor that does not fit the others,
-- a dimension that is not there, an argument that is no tensor.
local function try_misuse(call, values, errors)
  local last = values[2] and values[#values]
  if last then
    local ok, why = run(call, replaced(call, values, function(value)
      return value == last and filled({5}, value.dtype) or value:clone()
    end))
    if not ok then errors[#errors + 1] = why end
  end
  for i, argument in ipairs(call.schema) do
    local wrong = argument.kind == "Dim" and 9
                  or argument.kind == "Tensor" and "text"
    if wrong then
      local args = each_tensor(call, call.args, function(t) return t end)
      args[i] = wrong
      local ok, why = run(call, args)
      if not ok then errors[#errors + 1] = why end
    end
  end
end

local function errors_text(errors)
  local lines, seen = {}, {}
  for _, text in ipairs(errors) do
    -- The same error of another dtype or shape is one.
    local kind = text:gsub("%f[%w]%l+%d+%f[%W]", "N"):gsub("%d+", "N")
                     :gsub("bool", "N")
    if not seen[kind] and lines[MOST_ERRORS] == nil then
      seen[kind] = true
      lines[#lines + 1] = text
    end
  end
  return lines[1] and "Errors:\n\n"
                      .. markdown.code(concat(lines, "\n"), "text")
end

--- Describes what an operator takes: a text, or nil if nothing is found out.
-- @tparam string code its example
-- @tparam string base its name without "aten::"
function probe.describe(code, base)
  local call = call_of(code, base)
  if not call then return nil end
  local errors, parts = {}, {}
  -- an argument may be a keyword of one overload and not of another
  if not run(call, call.args) then call.run = call.overload end
  local values, dtype = values_of(call)
  parts[1] = values[1] and dtypes_of(call, values, errors)
             or dtype_option(call, errors)
  parts[#parts + 1] = shapes_of(call, values, dtype, errors)
  try_misuse(call, values, errors)
  parts[#parts + 1] = errors_text(errors)
  return parts[1] and concat(parts, "\n\n") or nil
end

return probe
