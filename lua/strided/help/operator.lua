--- What st.help says about an operator: its documentation, its signatures in
-- Lua and an example; on request also schemas, derivatives and kernels.
--
-- @module strided.help.operator

local core = require "strided.core"
local wrap = require "strided.help.wrap"

local concat, rawget, tostring, type = table.concat, rawget, tostring, type
local format, ipairs, min = string.format, ipairs, math.min

local require = require "strided.core".require

local WIDTH = 78
local MAX_KEYS = 6  -- listed before "and 43 more"

local operator = {}

-- -- Names --------------------------------------------------------------------

-- Operators of a family that is a table of st.
local FAMILIES = {
  {"^linalg_", "linalg."}, {"^fft_", "fft."}, {"^special_", "special."},
  {"^signal_windows_", "signal.windows."},
}

--- What one writes after "st." for an operator of aten: "sum", "linalg.inv".
-- The full name of others: "geo::hypot2".
-- @tparam string full the name of the operator
function operator.short_name(full)
  local name = full:match "^aten::(.*)$"
  if not name then return full end
  for _, family in ipairs(FAMILIES) do
    local rest, n = name:gsub(family[1], family[2])
    if n > 0 then return rest end
  end
  return name
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
function operator.signature(schema)
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
  local path = ns == "aten" and "st." .. operator.short_name(parsed.name)
               or "st.ops." .. ns .. "." .. name
  return format("%s(%s)%s", path, concat(positional, ", "),
                #returns > 0 and " -> " .. concat(returns, ", ") or "")
end

-- -- One operator -------------------------------------------------------------

local function indent(text) return "  " .. text:gsub("\n", "\n  ") end

--- Wraps a signature that is too long.
function operator.fold(text)
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

--- Wraps each line of a text; further ones are indented by five columns.
local function rows(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do
    list[#list + 1] = #line + 2 <= WIDTH and "  " .. line
                      or wrap(line, "  ", "     ")
  end
  return concat(list, "\n")
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
local function own_entries(one)
  local kernels, keys, lines = {}, {}, {}
  for key, kernel in one:table():gmatch "(%w+): ([^\n]*)" do
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
  for _, one in ipairs(list) do
    local text = own_entries(one)
    if not names[text] then
      names[text], order[#order + 1] = {}, text
    end
    local known = names[text]
    known[#known + 1] = one:name():match "%.([^.]*)$" or "default"
  end
  for i, text in ipairs(order) do
    parts[i] = wrap("dispatch of " .. concat(names[text], ", "))
      .. "\n"
      .. rows(text == "" and "no kernel of its own" or text)
  end
  return concat(parts, "\n")
end

--- The derivatives; overloads with the same derivative are grouped.
local function derivatives(list)
  local names, order, parts = {}, {}, {}
  for _, one in ipairs(list) do
    local text = one:derivative()
    if text and not names[text] then
      names[text], order[#order + 1] = {}, text
    end
    local known = names[text]
    if text then
      known[#known + 1] = one:name():match "%.([^.]*)$" or "default"
    end
  end
  for i, text in ipairs(order) do
    parts[i] = wrap("derivative of " .. concat(names[text], ", "))
      .. "\n"
      .. rows(text)
  end
  return #parts > 0 and concat(parts, "\n") or nil
end

--- An example and its result.
function operator.example(code, result)
  local uses_t = code:find "%f[%w_]t%f[^%w_]"
  return "for example" .. (uses_t and ", t = st.tensor {{1, 2}, {3, 4}}" or "")
         .. "\n" .. operator.fold(code) .. "\n"
         .. indent("--> " .. result:gsub("\n", "\n    "))
end

--- That of an operator of aten, if there is one, or of the one that it is
-- another name of.
local function example_of(packet)
  local name = packet:name():match "^aten::([^.]*)$"
  if not name then return nil end
  local examples = require "strided.help.examples"
  local other = packet:doc() and (packet:doc():match "^Another name of ([%w_]+)"
                or packet:doc():match "^The same as ([%w_]+)%.?$")
  local row = examples[name] or examples[other or ""]
  return row and operator.example(row.code, row.result)
end

-- -- Describing ---------------------------------------------------------------

--- True for an overload that writes keyword arguments, such as `out`.
local function is_out(schema)
  return schema:match "^(.*)%->":find "%*,.*%(%l!%)" ~= nil
end

--- "in place t:relu_(), with out =", for what the signatures leave out.
local function variants(packet, has_out)
  local list = {}
  local name = packet:name():match "^aten::([%w_]*)"
  if name and not name:find "_$" and core.packet("aten::" .. name .. "_") then
    list[#list + 1] = "in place t:" .. name .. "_(...)"
  end
  if has_out then list[#list + 1] = "with {out = ...}" end
  return list[1] and "also " .. concat(list, ", ")
end

local function short(packet, list)
  local short_name = operator.short_name(packet:name():match "^[^.]*")
  local lines, seen, has_out = {}, {}, false
  lines[1] = wrap(short_name .. (packet:doc() and ": "
                                          .. packet:doc() or ""))
  for _, one in ipairs(list) do
    local schema = one:schema()
    local text = schema ~= "" and operator.fold(operator.signature(schema))
    if text and lines[2] and is_out(schema) then
      has_out = true
    elseif text and not seen[text] then
      seen[text] = true
      lines[#lines + 1] = text
    end
  end
  lines[#lines + 1] = example_of(packet)
  lines[#lines + 1] = variants(packet, has_out)
  return concat(lines, "\n")
end

local function long(packet, list)
  local lines = {wrap(packet:name() .. (packet:doc() and ": "
                                                 .. packet:doc() or ""))}
  for _, one in ipairs(list) do
    local schema = one:schema()
    if schema ~= "" then
      lines[#lines + 1] = operator.fold(operator.signature(schema))
    end
  end
  lines[#lines + 1] = example_of(packet)
  lines[#lines + 1] = "schema\n" .. rows(packet:schema())
  lines[#lines + 1] = derivatives(list)
  lines[#lines + 1] = tables(list)
  return concat(lines, "\n")
end

--- Describes an operator.
-- @param packet an object of `st.ops`
-- @tparam[opt] boolean all also the schemas, derivatives and kernels
-- @treturn string
function operator.describe(packet, all)
  return (all and long or short)(packet, overloads(packet))
end

--- The operator that a value stands for: an object of `st.ops`, or a function
-- or method of an operator of aten.
-- @return the object, or nil
function operator.of(value)
  if type(value) == "userdata" then
    local ok, packet = core.try(core.packet, value)
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

return operator
