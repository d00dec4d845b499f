--- Annotations for the Lua language server (LuaLS, EmmyLua): signatures and
-- documentation of every operator, method, module and class.
--
--     require "strided.types".write "types"
--
-- They are made of what the library knows: the schemas of the registry, the
-- signatures and comments of the functions in Lua, the arguments of layers.
--
-- @module strided.types

local core = require "strided.core"
local classes = require "strided.types.classes"
local emit = require "strided.types.emit"
local failure = require "strided.io.failure"
local functions = require "strided.help.functions"
local operators = require "strided.types.operators"
local raise = require "strided.argument.caller_error"
local replace = require "strided.io.replace"
local signatures = require "strided.types.signatures"
local unknown_name = require "strided.name.unknown_name"
local values = require "strided.types.values"

local concat, find, ipairs, match, next, pairs, sub, type = table.concat,
  string.find, ipairs, string.match, next, pairs, string.sub, type
local getmetatable = debug.getmetatable

local types = {}

local TENSOR = "strided.Tensor"

-- Modules with a file each.
local MODULES = {"nn", "optim", "data", "autograd", "distributions", "amp",
                 "masked", "memory", "profile"}

-- Families of operators, tables of st.
local FAMILIES = {"fft", "linalg", "signal", "signal.windows", "special"}

-- Values of st that are no functions: name -> type.
local CONSTANTS = {none = "strided.none", newaxis = "any", ellipsis = "any",
                   ops = "strided.ops"}

local LIMIT = 300000 -- bytes of a file; language servers skip large ones

-- -- Operators ---------------------------------------------------------------

--- Adds names of NumPy and others that mean an operator.
local function add_synonyms(ops, synonyms)
  for _, name in ipairs(emit.sorted(synonyms)) do
    local op = ops[synonyms[name]]
    if op and not ops[name] then
      ops[#ops + 1] = {
        name = name, short = name, is_method = op.is_method,
        text = "Another name of " .. op.name .. ".", methods = op.methods,
        functions = op.functions}
    end
  end
end

--- All operators of aten whose names do not begin with "_".
local function read_operators()
  local list, names, seen = {}, {}, {}
  local all, is_method = core.operators()
  for i, full in ipairs(all) do
    if find(full, "^aten::[^_]") and not seen[full] then
      seen[full] = true
      names[#names + 1] = full
    end
    list[full] = list[full] or is_method[i] -- an overload
  end
  table.sort(names)
  local ops = {}
  for i, full in ipairs(names) do
    local op = operators.read(full, list[full] and true or false)
    op.is_method, op.short = list[full], operators.short_name(full)
    ops[i], ops[op.name] = op, op
  end
  add_synonyms(ops, unknown_name.synonyms)
  add_synonyms(ops, unknown_name.functions)
  return ops
end

--- Writes parts into files of at most LIMIT bytes: name_1, name_2, ...
local function write_parts(files, name, head, parts)
  local n, out, size = 0, nil, LIMIT
  local function finish()
    if out then
      n = n + 1
      files[("strided/%s_%d.lua"):format(name, n)] = concat(out, "\n")
    end
  end
  for _, part in ipairs(parts) do
    local text = concat(part, "\n")
    if size + #text > LIMIT then
      finish()
      out, size = emit.head(), 0
      for _, line in ipairs(head) do out[#out + 1] = line end
    end
    out[#out + 1] = text
    size = size + #text
  end
  finish()
end

local function operator_files(files, ops)
  local functions_of, methods, options = {}, {}, {}
  for _, op in ipairs(ops) do
    if op.options then
      local out = {}
      emit.class(out, {name = op.options, fields = op.fields})
      options[#options + 1] = out
    end
    local out = {}
    emit.func(out, "st", {name = op.name, text = op.text,
                          forms = op.functions})
    local owner, name = match(op.short, "^(.*)%.([^.]*)$")
    if owner then
      emit.func(out, match(owner, "[^.]*$"), {name = name, text = op.text,
                                              forms = op.functions})
    end
    functions_of[#functions_of + 1] = out
    if op.is_method and op.methods[1] then
      out = {}
      emit.func(out, "Tensor", {name = op.name, text = op.text, self = TENSOR,
                                forms = op.methods})
      methods[#methods + 1] = out
    end
  end
  write_parts(files, "options", {}, options)
  write_parts(files, "methods",
              {"---@class " .. TENSOR, "local Tensor = {}", ""}, methods)
  local head = {"---@class strided", "local st = {}", ""}
  for _, family in ipairs(FAMILIES) do
    emit.class(head, {name = "strided." .. family,
                      var = match(family, "[^.]*$")})
  end
  write_parts(files, "functions", head, functions_of)
end

--- st.ops and its namespaces.
local function ops_file()
  local out, by_namespace = emit.head(), {}
  for _, full in ipairs((core.operators())) do
    local ns, name = match(full, "^(.-)::(.*)$")
    by_namespace[ns] = by_namespace[ns] or {}
    by_namespace[ns][name] = true
  end
  local namespaces = emit.sorted(by_namespace)
  for _, ns in ipairs(namespaces) do
    local fields = {}
    for _, name in ipairs(emit.sorted(by_namespace[ns])) do
      fields[#fields + 1] = {name = name, type = "strided.Operator"}
    end
    emit.class(out, {name = "strided.ops." .. ns, fields = fields})
  end
  local fields = {}
  for i, ns in ipairs(namespaces) do
    fields[i] = {name = ns, type = "strided.ops." .. ns}
  end
  fields[#fields + 1] = {name = "[string]",
                         type = "table<string, strided.Operator>"}
  emit.class(out, {name = "strided.ops", fields = fields,
                   text = "Operators as objects, by namespace."})
  return concat(out, "\n")
end

-- -- Tensors -----------------------------------------------------------------

local function tensor_fields()
  local fields, known = {}, {}
  local function add(name, kind, text)
    if not known[name] then
      known[name] = true
      fields[#fields + 1] = {name = name, type = kind, text = text}
    end
  end
  for _, row in ipairs(values.properties) do add(row[1], row[2], row[3]) end
  for _, name in ipairs(emit.sorted(core.properties)) do
    local row, kind = functions[name], "any"
    if row then
      local _, of = signatures.read(row.signature, "table")
      kind = of or kind
    end
    add(name, kind, row and row.line)
  end
  -- "any": numbers are read, and numbers and tables written.
  add("[integer]", TENSOR .. "|any",
      "A part along the first dimension; a number of a vector.")
  add("[" .. TENSOR .. "]", TENSOR .. "|any",
      "The elements at indices or of a mask.")
  add("[table]", TENSOR .. "|any", "An index per dimension: {1, {2, 3}}.")
  return fields
end

--- Methods that are no operators.
local function tensor_methods(out, ops)
  local is_operator, rows = {}, {}
  for _, op in ipairs(ops) do is_operator[op.is_method and op.name] = true end
  for _, row in ipairs(values.methods) do
    rows[row[1]] = {signature = row[2], line = row[3]}
  end
  local names = {}
  for name, dtype in pairs(unknown_name.casts) do
    rows[name] = {signature = "t:" .. name .. "() -> Tensor",
                  line = "The tensor as " .. dtype .. "."}
    names[name] = true
  end
  for name in pairs(require "strided.name.method_names".names()) do
    if not find(name, "^_%f[^_]") and not is_operator[name] and
      name ~= "zero" and name ~= "fill" then names[name] = true end
  end
  for _, name in ipairs(emit.sorted(names)) do
    local row = rows[name] or functions[name]
    local options = row and find(row.signature, "^st%.") and
                    "strided.options." .. name or
                    TENSOR .. "." .. name .. ".options"
    local forms = row and signatures.read(row.signature, options)
    if not forms then
      forms, row = {{params = {}, rest = "any", returns = {{type = "any"}}}}, {}
    end
    -- "st.astype(self, ...)" describes a method too.
    local p, is_function = forms[1].params[1],
                           row.signature and find(row.signature, "^st%.")
    if p and is_function and p.type == TENSOR then
      table.remove(forms[1].params, 1)
    end
    if forms[1].fields and not is_function then
      emit.class(out, {name = options, fields = forms[1].fields})
    end
    emit.func(out, "Tensor", {name = name, text = row.line, forms = forms,
                              self = TENSOR})
  end
end

local function tensor_file(ops)
  local out = emit.head()
  emit.class(out, {name = TENSOR, fields = tensor_fields(), var = "Tensor",
                   lines = values.operators(),
                   text = "A tensor: elements of one dtype with a shape and "
                   .. "strides."})
  tensor_methods(out, ops)
  return concat(out, "\n")
end

-- -- The module --------------------------------------------------------------

--- The names of st that are no operators.
local function other_names(st, is_operator)
  local names = {}
  local function add(name)
    if not find(name, "^_%f[^_]") and not is_operator[name] then
      names[name] = true
    end
  end
  for name in next, st do if type(name) == "string" then add(name) end end
  for name in next, (getmetatable(st).names()) do add(name) end
  for name, row in next, functions do
    if not find(name, ".", 1, true) and find(row.signature, "^st%.") then
      add(name)
    end
  end
  return emit.sorted(names)
end

local function st_file(st, ops)
  local out = emit.head "strided"
  local is_operator, is_module, fields = {}, {}, {}
  for _, op in ipairs(ops) do is_operator[op.name] = true end
  for _, name in ipairs(MODULES) do is_module[name] = true end
  for _, family in ipairs(FAMILIES) do is_module[family] = true end
  local names, later = other_names(st, is_operator), {}
  for _, name in ipairs(names) do
    local value = st[name]
    local kind = CONSTANTS[name] or is_module[name] and "strided." .. name or
                 type(value) == "string" and ("%q"):format(value) or
                 type(value) == "number" and "number"
    if kind then
      fields[#fields + 1] = {name = name, type = kind}
    else
      later[#later + 1] = name
    end
  end
  local classes_of = {}
  for _, name in ipairs(later) do
    classes.func(classes_of, "st", name, st[name])
  end
  emit.class(out, {name = "strided", fields = fields, var = "st",
                   text = "Tensors and operators for Lua. Dimensions and "
                   .. "indices count from 1."})
  for _, line in ipairs(classes_of) do out[#out + 1] = line end
  emit.class(out, {name = "strided.signal", fields = {
    {name = "windows", type = "strided.signal.windows"}}})
  emit.class(out, {name = "strided.linalg", var = "linalg"})
  classes.func(out, "linalg", "linalg.trace")
  out[#out + 1] = "return st"
  return concat(out, "\n")
end

--- All annotations.
-- @treturn table by the name of a file, its text
function types.files()
  local st = core.fields or require "strided"
  local ops, files = read_operators(), {}
  local out = emit.head()
  out[#out + 1] = values.aliases()
  classes.returned(out)
  files["strided/values.lua"] = concat(out, "\n")
  for _, name in ipairs(MODULES) do
    files["strided/" .. name .. ".lua"] = concat(classes.file(name, st[name]),
                                                 "\n")
  end
  files["strided/tensor.lua"] = tensor_file(ops)
  files["strided/ops.lua"] = ops_file()
  operator_files(files, ops)
  files["strided.lua"] = st_file(st, ops)
  for name, text in pairs(files) do
    if sub(text, -1) ~= "\n" then files[name] = text .. "\n" end
  end
  return files
end

--- Writes the annotations into a folder, which a language server gets as
-- workspace.library.
-- @tparam string folder
-- @treturn integer the number of files
function types.write(folder)
  if type(folder) ~= "string" then
    raise("types.write: argument 1 must be a string, got %s", type(folder))
  end
  core.check_taken("files", "strided.types")
  local made, reason = core.make_folder(folder .. "/strided")
  if not made then
    raise("types.write: cannot create %s: %s", failure.quote(folder), reason)
  end
  local count = 0
  for name, text in pairs(types.files()) do
    local ok, why = replace(folder .. "/" .. name, function(file)
      return file:write(text)
    end)
    if not ok then
      raise("types.write: cannot write %s: %s",
            failure.quote(folder .. "/" .. name), why or "it failed")
    end
    count = count + 1
  end
  return count
end

return types
