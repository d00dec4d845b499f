--- st.help: lists operators and describes how to call them.
--
-- @module strided.session.help

local core = require "strided.core"
local comment_on = require "strided.session.comments"
local functions = require "strided.session.functions"
local raise = require "strided.caller_error"

local concat, sort = table.concat, table.sort
local format, ipairs, min, next, pcall, rawget, require, tostring, type =
  string.format, ipairs, math.min, next, pcall, rawget, require, tostring, type

local WIDTH = 78
local MAX_KEYS = 6  -- listed before "and 43 more"

-- -- All names ----------------------------------------------------------------

--- The names of all operators, those of aten without the namespace, and of
-- functions in Lua.
local function all_names()
  local seen, list = {}, {}
  for _, full in ipairs((core.operators())) do
    local name = full:gsub("^aten::", "")
    if not seen[name] and name:sub(1, 1) ~= "_" then
      seen[name] = true
      list[#list + 1] = name
    end
  end
  for name in next, functions do
    if not seen[name] and name:sub(1, 1) ~= "_" then list[#list + 1] = name end
  end
  sort(list)
  return list
end

local function wrap(words)
  local lines, line = {}, ""
  for _, word in ipairs(words) do
    if #line + #word + 1 > WIDTH then
      lines[#lines + 1] = line
      line = ""
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return concat(lines, "\n")
end

-- -- Signatures ---------------------------------------------------------------

-- Schema types -> Lua types.
local LUA_TYPE = {
  int = "integer", float = "number", Scalar = "number", bool = "boolean",
  str = "string", ScalarType = "dtype", Layout = "layout",
  MemoryFormat = "format", Device = "device", Dim = "dim", Index = "index",
  End = "index",
}

local function type_name(a)
  local name = LUA_TYPE[a.kind] or a.kind == "other" and a.type or a.kind
  if a.elem_optional then name = name .. "?" end
  if a.list then name = "{" .. name .. "}" end
  return a.optional and name .. "?" or name
end

local function default_text(value)
  if type(value) == "string" then return format("%q", value) end
  if type(value) ~= "table" then return tostring(value) end
  local texts = {}
  for i, v in ipairs(value) do texts[i] = default_text(v) end
  return "{" .. concat(texts, ", ") .. "}"
end

--- "name: type = default"; a default of None is omitted. The base of indices
-- is 0 in the schema and 1 in Lua.
local function argument(a)
  local text = a.name .. ": " .. type_name(a)
  if a.has_default and a.default ~= nil then
    local value = a.default
    if a.name == "base" and a.kind == "int" then value = 1 end
    text = text .. " = " .. default_text(value)
  end
  return text
end

--- The signature of an overload in Lua: dimensions and indices count from 1,
-- keyword-only arguments are the fields of a table in the last argument.
-- @tparam string schema
-- @treturn string `"st.add(self: Tensor, other: Tensor, {alpha: ...}) -> ..."`
local function signature(schema)
  local parsed = core.schema(schema)
  local ns, name = parsed.name:match "^(.-)::(.*)$"
  local positional, keywords, returns = {}, {}, {}
  for _, a in ipairs(parsed.args) do
    local list = a.kwarg_only and keywords or positional
    list[#list + 1] = argument(a)
  end
  if #keywords > 0 then
    positional[#positional + 1] = "{" .. concat(keywords, ", ") .. "}"
  end
  for i, r in ipairs(parsed.returns) do returns[i] = type_name(r) end
  local path = ns == "aten" and "st." or "st.ops." .. ns .. "."
  return format("%s%s(%s)%s", path, name, concat(positional, ", "),
                #returns > 0 and " -> " .. concat(returns, ", ") or "")
end

-- -- One operator -------------------------------------------------------------

local function indent(text) return "  " .. text:gsub("\n", "\n  ") end

--- Wraps a signature that is too long.
local function fold(text)
  if #text + 2 <= WIDTH then return "  " .. text end
  local lines, line = {}, "  "
  for piece in text:gsub(", ", ",\n"):gsub(" %->", "\n->"):gmatch "[^\n]+" do
    if #line + #piece + 1 > WIDTH and line:find "%S" then
      lines[#lines + 1] = line
      line = "     "
    end
    line = line .. (line:find "%S" and " " or "") .. piece
  end
  lines[#lines + 1] = line
  return concat(lines, "\n")
end

--- The overloads of a packet as objects.
local function overloads(packet)
  local list = {}
  for i, full in ipairs(packet:overloads()) do
    local name, overload = full:match "^([^.]*)%.?(.*)$"
    local whole = core.packet(name)
    list[i] = whole[overload == "" and "default" or overload] or packet
  end
  return list
end

--- The names of keys, at most MAX_KEYS.
local function key_list(keys)
  local few = concat(keys, ", ", 1, min(#keys, MAX_KEYS))
  if #keys <= MAX_KEYS then return few end
  return format("%s and %d more", few, #keys - MAX_KEYS)
end

--- The dispatch table without backend fallbacks, grouped by kernel.
local function own_entries(operator)
  local kernels, keys, lines = {}, {}, {}
  for key, kernel in operator:table():gmatch "(%w+): ([^\n]*)" do
    if not kernel:find("[backend fallback]", 1, true) then
      if not keys[kernel] then
        kernels[#kernels + 1], keys[kernel] = kernel, {}
      end
      local list = keys[kernel]
      list[#list + 1] = key
    end
  end
  for i, kernel in ipairs(kernels) do
    lines[i] = key_list(keys[kernel]) .. ": " .. kernel
  end
  return concat(lines, "\n")
end

--- The dispatch tables; overloads with the same table are grouped.
local function tables(list)
  local names, order, parts = {}, {}, {}
  for _, operator in ipairs(list) do
    local text = own_entries(operator)
    if not names[text] then
      names[text], order[#order + 1] = {}, text
    end
    local known = names[text]
    known[#known + 1] = operator:name():match "%.([^.]*)$" or "default"
  end
  for i, text in ipairs(order) do
    parts[i] = "dispatch of " .. concat(names[text], ", ") .. "\n"
      .. indent(text == "" and "no kernel of its own" or text)
  end
  return concat(parts, "\n")
end

--- The derivatives; overloads with the same derivative are grouped.
local function derivatives(list)
  local names, order, parts = {}, {}, {}
  for _, operator in ipairs(list) do
    local text = operator:derivative()
    if text and not names[text] then
      names[text], order[#order + 1] = {}, text
    end
    local known = names[text]
    if text then
      known[#known + 1] = operator:name():match "%.([^.]*)$" or "default"
    end
  end
  for i, text in ipairs(order) do
    parts[i] = "derivative of " .. concat(names[text], ", ") .. "\n"
      .. indent(text)
  end
  return #parts > 0 and concat(parts, "\n") or nil
end

--- An example and its result.
local function show_example(code, result)
  local uses_t = code:find "%f[%w_]t%f[^%w_]"
  return "for example" .. (uses_t and ", t = st.tensor {{1, 2}, {3, 4}}" or "")
         .. "\n" .. indent(code .. "\n--> " .. result:gsub("\n", "\n    "))
end

--- That of an operator of aten, if there is one.
local function example_of(packet)
  local name = packet:name():match "^aten::([^.]*)$"
  local row = name and require "strided.session.examples"[name]
  return row and show_example(row.code, row.result)
end

local function describe(packet)
  local lines = {packet:name() .. (packet:doc() and ": " .. packet:doc()
                                   or "")}
  local list = overloads(packet)
  for _, operator in ipairs(list) do
    local schema = operator:schema()
    if schema ~= "" then lines[#lines + 1] = fold(signature(schema)) end
  end
  lines[#lines + 1] = example_of(packet)
  lines[#lines + 1] = "schema\n" .. indent(packet:schema())
  lines[#lines + 1] = derivatives(list)
  lines[#lines + 1] = tables(list)
  return concat(lines, "\n")
end

--- The name of a function in Lua: "masked.sum" for st.masked.sum.
local function key_of(value)
  for key in next, functions do
    if core.methods[key] == value then return key end
    local found = core.fields or require "strided"
    for part in key:gmatch "[^.]+" do
      found = functions[key].signature:find "^st" and found[part]
    end
    if found == value then return key end
  end
end

--- Describes a function in Lua.
local function describe_function(name)
  local f = functions[name]
  return concat({
    name .. ": " .. f.line, fold(f.signature),
    show_example(f.example, f.result),
  }, "\n")
end

local help

-- -- Public functions ---------------------------------------------------------

--- The operator that a value stands for: an object of `st.ops`, or a function
-- or method of an operator of aten.
-- @return the object, or nil
local function operator_of(value)
  if type(value) == "userdata" then
    local ok, packet = pcall(core.packet, value)
    return ok and packet or nil
  end
  if type(value) ~= "function" then return nil end
  local st = core.fields or require "strided"
  for _, full in ipairs((core.operators())) do
    local name = full:match "^aten::(.*)$"
    if name and (rawget(st, name) == value or core.methods[name] == value) then
      return core.packet(full)
    end
  end
end

--- Describes an operator: its documentation, signatures in Lua, schemas,
-- derivative and dispatch table. Or a function or class in Lua, by the comment
-- in its file. Without a name, lists all operators.
-- @tparam[opt] string|operator name `"add"`, `"geo::hypot2"`, `"nn.Linear"`,
-- `"DataLoader"`, `"no_grad"`; an object of `st.ops`, or `st.add`; a class
-- @treturn string
function help(name)
  if name == nil then return wrap(all_names()) end
  if type(name) ~= "string" then
    local key = key_of(name)
    if key then return help(key) end
    local packet = operator_of(name)
    if packet then return describe(packet) end
    local text = type(name) == "table" and name.__name and
                 comment_on(name.__name)
    if text then return text end
    raise("help: the operator must be its name or an object of st.ops")
  end
  local full, overload = name:match "^([^.]*)%.?(.*)$"
  if not full:find("::", 1, true) then full = "aten::" .. full end
  local packet = core.packet(full)
  if packet and overload ~= "" then packet = packet[overload] end
  local text = functions[name] and describe_function(name)
  if type(packet) == "userdata" then
    return (text and text .. "\n" or "") .. describe(packet)
  end
  return text or comment_on(name) or "there is no operator '" .. name .. "'"
end

return {help = help, signature = signature, operator_of = operator_of}
