--- Annotations of the operators, from their schemas.
--
-- @module strided.types.operators

local core = require "strided.core"
local emit = require "strided.types.emit"
local operator = require "strided.help.operator"

local concat, find, gsub, ipairs, match = table.concat, string.find,
  string.gsub, ipairs, string.match

local operators = {}

local TENSOR = "strided.Tensor"

-- -- Types -------------------------------------------------------------------

-- Types of schemas -> those of the annotations.
local TYPES = {
  Tensor = TENSOR, int = "integer", float = "number",
  Scalar = "strided.scalar", bool = "boolean", str = "string",
  ScalarType = "strided.dtype", Layout = "strided.layout",
  MemoryFormat = "strided.memory_format", Device = "strided.device",
  Dim = "integer", Index = "integer", End = "integer",
  Generator = "strided.Generator",
}

-- Strings of which some are known.
local BY_NAME = {reduction = "strided.reduction"}

local WHOLE = {int = true, Dim = true, Index = true, End = true}

local function type_of(a)
  local text = TYPES[a.kind] or "any"
  if a.kind == "str" then text = BY_NAME[a.name] or text end
  if not a.list then return text end
  if WHOLE[a.kind] then
    -- One number stands for a list of known length.
    local one = (a.n or a.kind ~= "int") and "integer|" or ""
    return one .. "integer[]|strided.sizes"
  end
  if a.elem_optional then return "(" .. text .. "|strided.none)[]" end
  return emit.list_of(text)
end

--- The type of a result; numbers are plain ones.
local function result_type(r)
  local text = r.kind == "Scalar" and "number" or TYPES[r.kind] or "any"
  return r.list and emit.list_of(text) or text
end

-- -- Forms -------------------------------------------------------------------

local function default_text(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  local texts = {}
  for i, v in ipairs(value) do texts[i] = default_text(v) end
  return "{" .. concat(texts, ", ") .. "}"
end

--- "default 1", where there is one. The base of indices is 1 in Lua.
local function describe(a)
  if not a.has_default or a.default == nil then return nil end
  local value = a.default
  if a.name == "base" and a.kind == "int" then value = 1 end
  return "default " .. default_text(value)
end

--- The parts of a schema: arguments by position and by name, results.
local function parse(schema)
  local parsed = core.schema(schema)
  local form = {params = {}, names = {}, returns = {}, writes = 0}
  for _, a in ipairs(parsed.args) do
    local p = {name = a.name, type = type_of(a), text = describe(a),
               is_list = a.list and (WHOLE[a.kind] or a.kind == "Tensor"),
               optional = a.has_default or a.optional,
               item = a.list and (WHOLE[a.kind] and "integer" or TENSOR)}
    if a.kwarg_only then
      form.names[#form.names + 1] = p
      if a.is_write then form.writes = form.writes + 1 end
    else
      form.params[#form.params + 1] = p
    end
  end
  for i, r in ipairs(parsed.returns) do
    form.returns[i] = {type = result_type(r), name = r.name}
  end
  return form
end

--- True if the arguments of a are the first ones of b, or the reverse, and the
-- results are of the same types.
local function can_join(a, b)
  if #a.returns ~= #b.returns then return false end
  for i, r in ipairs(a.returns) do
    if r.type ~= b.returns[i].type then return false end
  end
  for i = 1, math.min(#a.params, #b.params) do
    if a.params[i].name ~= b.params[i].name then return false end
  end
  return true
end

--- Joins form b into form a.
local function join(a, b)
  local shorter = math.min(#a.params, #b.params)
  for i, p in ipairs(b.params) do
    local q = a.params[i]
    if not q then
      a.params[i] = p
    else
      q.type = emit.union(q.type, p.type)
      q.optional = q.optional or p.optional
      q.text = q.text or p.text
      q.item = q.item or p.item
    end
  end
  for i = shorter + 1, #a.params do a.params[i].optional = true end
end

-- -- Options -----------------------------------------------------------------

local function add_field(fields, p)
  local known = fields[p.name]
  if known then
    known.type = emit.union(known.type, p.type)
    known.text = known.text or p.text
    return
  end
  local f = {name = p.name, type = p.type, text = p.text, optional = true}
  fields[p.name], fields[#fields + 1] = f, f
end

--- The fields of the table of options of an operator.
local function fields_of(schemas, bound)
  local fields = {}
  for _, form in ipairs(schemas) do
    for _, p in ipairs(form.params) do
      if p.name ~= bound then add_field(fields, p) end
    end
  end
  for _, form in ipairs(schemas) do
    for _, p in ipairs(form.names) do add_field(fields, p) end
    if form.writes > 1 then
      add_field(fields, {name = "out", type = TENSOR .. "[]"})
    end
  end
  if fields.layout and fields.device and fields.dtype then
    add_field(fields, {name = "requires_grad", type = "boolean"})
  end
  return fields
end

local function copy(p, type, optional)
  return {name = emit.argument(p.name), type = type or p.type, text = p.text,
          optional = optional or p.optional}
end

--- The calls of a form: by position; the last ones by name; with the elements
-- of a list as arguments.
-- @tparam table calls gets them
-- @tparam table form
-- @tparam ?string options the class of the options
-- @tparam number first of the arguments that are shown: without that of a
-- method
local function add_calls(calls, form, options, first)
  local params, required = form.params, 0
  for i, p in ipairs(params) do
    if not p.optional then required = i end
  end
  local whole = {params = {}, returns = form.returns}
  for i = first, #params do
    local p = params[i]
    local kind = p.type
    if options and i > required then kind = emit.union(kind, options) end
    whole.params[#whole.params + 1] = copy(p, kind, i > required)
  end
  local last = options and {name = "options", type = options, optional = true}
  whole.params[#whole.params + 1] = last or nil
  calls[#calls + 1] = whole
  -- Required arguments by name.
  local from = math.max(first - 1, first == 1 and 1 or 0)
  for n = from, options and math.min(required - 1, from + 2) or -1 do
    local part = {params = {}, returns = form.returns}
    for i = first, n do part.params[#part.params + 1] = copy(params[i]) end
    part.params[#part.params + 1] = {name = "options", type = options}
    calls[#calls + 1] = part
  end
  -- t:view(2, 3), st.stack(a, b), st.einsum("i,j->ij", a, b)
  local n = first
  if first == 1 and params[1] and params[1].type == TENSOR then n = 2 end
  local last_item = #params > 0 and params[#params].item
  if last_item == TENSOR then n = #params end
  local at = params[n]
  if at and at.item then
    local part = {params = {}, returns = form.returns, rest = at.item}
    for i = first, n - 1 do part.params[#part.params + 1] = copy(params[i]) end
    if options then part.rest = emit.union(at.item, options) end
    calls[#calls + 1] = part
  end
end

--- t:to takes a dtype and a device in the same place.
local function take_device(name, p)
  if name == "to" and p and (p.name == "dtype" or p.name == "device") then
    p.type = emit.union("strided.dtype", "strided.device")
  end
end

-- -- One operator ------------------------------------------------------------

--- Schemas of the overloads of a packet.
local function schemas_of(full, packet)
  local list = {}
  for _, name in ipairs(packet:overloads()) do
    local overload = match(name, "^[^.]*%.(.*)$") or "default"
    local one = core.packet(full)[overload] or packet
    local schema = one:schema()
    if schema ~= "" then list[#list + 1] = match(schema, "^[^\n]*") end
  end
  return list
end

local function description(name, packet)
  local text = packet:doc() or ""
  if find(name, "[^_]_$") then
    local of = core.packet("aten::" .. gsub(name, "_$", ""))
    if text == "" and of then
      text = (of:doc() or "") .. (of:doc() and " " or "") .. "In place."
    end
  end
  local examples = require "strided.help.examples"
  local row = examples[name]
  if row then
    text = text .. "\n```lua\n" .. row.code .. "\n--> "
           .. gsub(row.result, "\n", "\n--  ") .. "\n```"
  end
  return text
end

-- What functions of st do for values other than tensors, where the operator has
-- the same name.
local OTHERS = {
  trace = {{params = {{name = "body", type = "function"}}, rest = "any",
            returns = {{type = "table[]"}, {type = "any"}}}},
  complex = {{params = {{name = "real", type = "number"},
                        {name = "imag", type = "number"}},
              returns = {{type = "strided.complex"}}}},
}

--- An operator of aten: its name, its text, the fields of its options, and the
-- forms that functions and methods are called in.
-- @tparam string full "aten::add"
-- @tparam boolean is_method
-- @treturn table
function operators.read(full, is_method)
  local packet = core.packet(full)
  local name = match(full, "::(.*)$")
  local parsed, has_self, first_name = {}, false, nil
  for i, schema in ipairs(schemas_of(full, packet)) do
    parsed[i] = parse(schema)
    for _, p in ipairs(parsed[i].params) do
      has_self = has_self or p.name == "self"
    end
    first_name = first_name or parsed[i].params[1] and parsed[i].params[1].name
  end
  local bound = has_self and "self" or is_method and first_name
  local op = {name = name, text = description(name, packet), functions = {},
              methods = {}, fields = fields_of(parsed, bound)}
  local options = #op.fields > 0 and "strided.options." .. name or nil
  op.options = options
  local forms = {}
  for _, form in ipairs(parsed) do
    local joined = false
    for _, known in ipairs(forms) do
      if not joined and can_join(known, form) then
        join(known, form)
        joined = true
      end
    end
    if not joined then forms[#forms + 1] = form end
  end
  for _, form in ipairs(forms) do
    add_calls(op.functions, form, options, 1)
    -- The object of a method goes to `self`, wherever it is.
    local moved, own = {params = {}, returns = form.returns}, nil
    for _, p in ipairs(form.params) do
      if p.name == bound and not own then own = p
      else moved.params[#moved.params + 1] = p end
    end
    table.insert(moved.params, 1, own)
    if is_method and own then
      take_device(name, moved.params[2])
      add_calls(op.methods, moved, options, 2)
    end
  end
  for _, form in ipairs(OTHERS[name] or {}) do
    op.functions[#op.functions + 1] = form
  end
  op.functions, op.methods = emit.different(op.functions),
                             emit.different(op.methods)
  return op
end

--- What one writes after "st." for an operator.
operators.short_name = operator.short_name

return operators
