--- Annotations of functions, methods and properties whose signatures are texts
-- in strided.help.functions: "st.f(a: Tensor, {b: number = 1}) -> Tensor".
--
-- @module strided.types.signatures

local emit = require "strided.types.emit"

local unpack = unpack or table.unpack
local find, gsub, ipairs, match, sub = string.find, string.gsub, ipairs,
  string.match, string.sub

local signatures = {}

-- Types of signatures -> those of annotations.
local TYPES = {
  Tensor = "strided.Tensor", dtype = "strided.dtype", dim = "integer",
  device = "strided.device", format = "strided.memory_format",
  index = "integer", shape = "integer[]|strided.sizes", Size = "strided.Size",
  handle = "strided.Handle", DispatchKeySet = "strided.DispatchKeySet",
  complex = "strided.complex", float = "number", integer = "integer",
  number = "number", string = "string", boolean = "boolean", table = "table",
  ["function"] = "function", any = "any", userdata = "userdata",
}

--- The type that a text of a signature stands for, and whether it may be nil.
-- @tparam string text "{integer}", "dtype?", "string | {string}"
function signatures.type_of(text)
  local parts, optional = {}, false
  for part in gsub(gsub(text, " or ", "|"), ",%s*|", "|"):gmatch "[^|]+" do
    part = match(part, "^%s*(.-)[%s,]*$")
    if sub(part, -1) == "?" then
      part, optional = sub(part, 1, -2), true
    end
    local item = match(part, "^{(.*)}$")
    if item then
      parts[#parts + 1] = emit.list_of((signatures.type_of(item)))
    else
      parts[#parts + 1] = TYPES[part] or "any"
    end
  end
  return emit.union(unpack(parts)), optional
end

--- Splits at commas outside of brackets.
local function split(text)
  local list, depth, start = {}, 0, 1
  for i = 1, #text do
    local c = sub(text, i, i)
    if find(c, "[%[{(]") then depth = depth + 1
    elseif find(c, "[%]})]") then depth = depth - 1
    elseif c == "," and depth == 0 then
      list[#list + 1] = match(sub(text, start, i - 1), "^%s*(.-)%s*$")
      start = i + 1
    end
  end
  local last = match(sub(text, start), "^%s*(.-)%s*$")
  if last ~= "" then list[#list + 1] = last end
  return list
end

--- An argument of a text: "dim: dim? = nil".
local function argument(text)
  local name, rest = match(text, "^([%a_][%w_]*)%s*:%s*(.*)$")
  if not name then
    name = match(text, "^[%a_][%w_]*$")
    return {name = name and emit.argument(name) or "value",
            type = name == "shape" and TYPES.shape or
                   name and "any" or signatures.type_of(text)}
  end
  local kind, default = match(rest, "^(.-)%s*=%s*(.*)$")
  local type, optional = signatures.type_of(kind or rest)
  return {name = emit.argument(name), key = name, type = type,
          optional = optional or default ~= nil,
          text = default and default ~= "nil" and "default " .. default or nil}
end

--- The fields of a table of options: "{dtype: dtype? = nil, copy: boolean}".
local function fields_of(text)
  local fields = {}
  for _, part in ipairs(split(text)) do
    if part ~= "..." then
      local a = argument(part)
      fields[#fields + 1] = {name = a.key or a.name, type = a.type,
                             optional = true, text = a.text}
    end
  end
  return fields
end

local function results(text)
  local list = {}
  if text == "results" then return {{type = "any", name = "..."}} end
  for i, part in ipairs(split((gsub(text, ", or ", " or ")))) do
    local type, optional = signatures.type_of(part)
    list[i] = {type = optional and type .. "?" or type}
  end
  return list
end

--- Reads a signature.
-- @tparam string text
-- @tparam string options the name of the class of options, if it has some
-- @treturn ?table forms; the first has the `fields` of the options
-- @treturn ?string for a property, its type
function signatures.read(text, options)
  local inner, after = match(text, "^[%w_.:]+(%b())%s*(.*)$")
  if not inner then
    local type, optional = signatures.type_of(match(text, ":%s*(.*)$") or "any")
    return nil, optional and type .. "?" or type
  end
  local form = {params = {}, returns = results(match(after, "^%->%s*(.*)$")
                                               or "")}
  local list = gsub(sub(inner, 2, -2), "%[{(.-)},%]", "{%1}?,")
  for _, part in ipairs(split(list)) do
    local fields = match(part, "^%[?{(.-:.*)}%]?%??$")
    if part == "..." then
      form.rest = "any"
    elseif fields then
      form.fields = fields_of(fields)
      if find(fields, "...", 1, true) then -- those by position, and others
        for i, p in ipairs(form.params) do
          if p.optional then
            form.fields[#form.fields + 1] = {name = p.name, type = p.type,
                                             optional = true, text = p.text}
            form.params[i].type = emit.union(p.type, options)
          end
        end
        form.fields[#form.fields + 1] = {name = "[string]", type = "any"}
      end
      form.params[#form.params + 1] = {
        name = "options", type = options, optional = true}
    else
      form.params[#form.params + 1] = argument(part)
    end
  end
  local first, second = form.params[1], form.params[2]
  if not (first and second and first.optional) or second.optional then
    return {form}
  end
  -- The options come first and may be missing.
  first.optional = nil
  local without = {params = {}, rest = form.rest, returns = form.returns}
  for i = 2, #form.params do without.params[i - 1] = form.params[i] end
  return {form, without}
end

return signatures
