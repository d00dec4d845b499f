--- Annotations of the modules of st with classes: nn, optim, data and others.
--
-- A class and its objects have one type: it may be called as its constructor,
-- and, if it is a layer, with a tensor.
--
-- @module strided.types.classes

local emit = require "strided.types.emit"
local functions = require "strided.session.functions"
local reader = require "strided.types.comments"
local signatures = require "strided.types.signatures"

local find, gsub, ipairs, match, next, rawget, tostring, type = string.find, string.gsub,
  ipairs, string.match, next, rawget, tostring, type
local getinfo, getmetatable, getupvalue = debug.getinfo, debug.getmetatable,
  debug.getupvalue

local classes = {}

local TENSOR = "strided.Tensor"

-- Arguments of strided.nn.declare, by their kinds -> types.
local KINDS = {
  size = "integer", integer = "integer", number = "number", flag = "boolean",
  probability = "number", momentum = "number|boolean", string = "string",
  tensor = TENSOR, fn = "function", any = "any", shape = "integer|integer[]",
  sizes = "integer|integer[]", outputs = "integer|(integer|boolean)[]",
  pads = "integer|integer[]", ratios = "number|number[]",
  padding = 'integer|integer[]|"same"|"valid"',
}

-- Bases of classes that are no values of their module, and what their objects
-- have: fields, and methods by the owner in their comments.
local BASES = {
  {name = "strided.optim.Optimizer", owner = "Optimizer", module = "optim",
   text = "The base class of optimizers.",
   fields = {{name = "param_groups", type = "table<string, any>[]",
              text = "Groups of parameters with their options, such as lr."},
             {name = "state", type = "table"}}},
  {name = "strided.optim.lr_scheduler.Scheduler", owner = "Scheduler",
   module = "optim.lr_scheduler", text = "The base class of schedulers.",
   fields = {{name = "optimizer", type = "strided.optim.Optimizer"}}},
}

-- Classes that functions return. owner, module, text
local RETURNED = {
  {"Plan", "strided.iterator", "How an iterator goes over its operands."},
  {"Profile", "strided.profile", "What st.profile measured."},
  {"Summary", "strided.nn.summary", "What nn.summary returns."},
  {"Cache", "strided.nn.attention", "Keys and values of attention."},
}

local known -- by the table of a class, its name

-- -- Finding comments --------------------------------------------------------

local function file_of(module) return gsub(module, "%.", "/") .. ".lua" end

--- The comment above the line where a function in Lua begins.
local function comment_at(name, value)
  local info = getinfo(value, "S")
  return reader.find(name, function(c)
    return c.line == info.linedefined and
           find(info.source, file_of(c.module), 1, true)
  end)
end

--- The comment on a public function or class of a module.
local function comment_on(name, path)
  local place = "strided." .. match(path, "^[^.]+")
  return reader.find(name, function(c)
    return not find(c.full, ":", 1, true) and
           (c.module == place or find(c.module, "^" .. place .. "%.") or
            c.owner == match(path, "[^.]*$"))
  end)
end

-- -- Functions ---------------------------------------------------------------

local function options_class(out, name, fields, parent)
  emit.class(out, {name = name, fields = fields, parent = parent})
end

--- What is known of a function: a list of forms and a text; writes the class
-- of its options.
local function read_function(out, path, name, value, is_method)
  local options = "strided." .. path .. "." .. name .. ".options"
  local row = functions[path .. "." .. name]
  if row then
    local forms = signatures.read(row.signature, options)
    if forms then
      if forms[1].fields then options_class(out, options, forms[1].fields) end
      return forms, row.line
    end
  end
  local comment = type(value) == "function" and comment_at(name, value) or
                  comment_on(name, path)
  if not comment then
    local guess = reader.guess(value, is_method)
    return {guess.form}, ""
  end
  local read = reader.read(comment, value, options, is_method)
  if read.fields then
    options_class(out, options, read.fields)
  end
  return {read.form}, read.text
end

-- -- Methods -----------------------------------------------------------------

local NO_METHOD = {init = true, setup = true, extra_repr = true, new = true,
                   forward = true}

--- The methods of a class: name -> {comment, function}. Those that a comment
-- gives a colon.
local function methods_of(class, owner, place)
  local found, level = {}, class
  while type(level) == "table" and (level == class or not known[level]) do
    for name, value in next, level do
      local comment = type(name) == "string" and type(value) == "function" and
                      not NO_METHOD[name] and comment_at(name, value)
      if comment and find(comment.full, ":", 1, true) and not found[name] then
        found[name] = {comment, value}
      end
    end
    local meta = getmetatable(level)
    level = meta and rawget(meta, "__index")
  end
  for name, list in next, require("strided.session.comments").all() do
    for _, c in ipairs(list) do
      if c.owner == owner and find(c.full, ":", 1, true) and not found[name]
        and find(c.module, place, 1, true) then
        found[name] = {c, type(class) == "table" and rawget(class, name)
                          or nil}
      end
    end
  end
  return found
end

local function write_methods(out, var, class_name, found, path)
  for _, name in ipairs(emit.sorted(found)) do
    local comment, value = found[name][1], found[name][2]
    if not find(name, "^_") then
      local options = class_name .. "." .. name .. ".options"
      local read = reader.read(comment, value, options, true)
      if read.fields then options_class(out, options, read.fields) end
      emit.func(out, var, {name = name, text = read.text, forms = {read.form},
                           self = class_name, path = path})
    end
  end
end

-- -- Constructors ------------------------------------------------------------

--- The signature that nn.declare gave a class, or nil.
local function declared(class)
  local repr = rawget(class, "extra_repr")
  if type(repr) ~= "function" then return nil end
  for i = 1, 10 do
    local name, value = getupvalue(repr, i)
    if name == "signature" then return value end
    if not name then return nil end
  end
end

local function default_text(value)
  if type(value) == "string" then return ("default %q"):format(value) end
  return value ~= nil and "default " .. tostring(value):gsub("%.0$", "") or nil
end

local function kind_of(a)
  return reader.BY_NAME[a.name] or KINDS[a.kind] or "any"
end

--- The constructor of a class of nn.declare.
local function constructor(signature, class_name, options)
  local form = {params = {}, returns = {{type = class_name}}}
  local fields, required = {}, 0
  for i, a in ipairs(signature) do
    fields[i] = {name = a.name, type = kind_of(a), optional = true,
                 text = default_text(a.default)}
    if a.is_required then required = i end
  end
  for i = 1, signature.positions do
    local a = signature[i]
    local kind = kind_of(a)
    if i > required then kind = emit.union(kind, options) end
    form.params[i] = {name = emit.argument(a.name), type = kind,
                      optional = i > required}
  end
  form.params[#form.params + 1] = {name = "options", type = options,
                                   optional = true}
  local forms = {form}
  for n = 0, math.min(required, signature.positions) - 1 do
    local part = {params = {}, returns = form.returns}
    for i = 1, n do part.params[i] = form.params[i] end
    part.params[n + 1] = {name = "options", type = options}
    forms[#forms + 1] = part
  end
  return forms, fields
end

local function option_type(value)
  local kind = type(value)
  if kind == "table" and not tostring(value):find "^table" then
    return "any" -- it may be nil
  end
  return (kind == "number" or kind == "boolean" or kind == "string") and kind
         or "any"
end

--- The options of an optimizer, whose defaults the class has.
local function optimizer_fields(class, fields)
  local seen = {}
  for _, f in ipairs(fields or {}) do seen[f.name] = f end
  local list = {of = {}}
  for _, name in ipairs(emit.sorted(class.defaults)) do
    local value = class.defaults[name]
    local f = seen[name]
    local kind = option_type(value)
    list[#list + 1] = {name = name, optional = true, text = f and f.text or
                       kind ~= "any" and default_text(value) or nil,
                       type = f and f.type ~= "any" and f.type or kind}
  end
  return list
end

--- What a layer returns when it is called.
local function layer_call(signature)
  local returns = {{type = TENSOR}}
  if not signature then returns[2] = {type = "any"} end
  return {params = {{name = "input", type = TENSOR}}, rest = "any",
          returns = returns}
end

-- -- Classes -----------------------------------------------------------------

--- The fields of a distribution: its parameters and what it computes.
local function distribution_fields(class)
  local fields = {}
  for _, p in ipairs(rawget(class, "params") or {}) do
    fields[#fields + 1] = {name = p[1], type = p[4] and "any" or TENSOR}
  end
  for _, name in ipairs(emit.sorted(rawget(class, "get") or {})) do
    local kind = find(name, "_shape$") and "strided.Size" or
                 find(name, "^has_") and "boolean" or
                 find(name, "support") and "any" or TENSOR
    fields[#fields + 1] = {name = name, type = kind}
  end
  return fields
end

local function parent_of(class, path)
  local level = class
  repeat
    local meta = getmetatable(level)
    level = meta and rawget(meta, "__index")
    if level and known[level] then return known[level] end
  until type(level) ~= "table"
  if path == "optim" then return "strided.optim.Optimizer" end
  if path == "optim.lr_scheduler" then
    return "strided.optim.lr_scheduler.Scheduler"
  end
end

local function write_class(out, var, path, name, class)
  local class_name = "strided." .. path .. "." .. name
  local options = class_name .. ".options"
  local signature = declared(class)
  local comment = comment_on(name, path)
  local read = comment and reader.read(comment, rawget(class, "init"), options)
               or reader.guess(rawget(class, "init"), true)
  local forms, fields = {read.form}, read.fields
  local own = {}
  if signature then
    forms, fields = constructor(signature, class_name, options)
    for i, f in ipairs(fields) do
      if i <= signature.positions then
        own[#own + 1] = {name = f.name, type = f.type}
      end
    end
  elseif path == "optim" and type(rawget(class, "defaults")) == "table" then
    fields = optimizer_fields(class, fields)
  elseif rawget(class, "get") and path == "distributions" then
    own = distribution_fields(class)
  end
  for _, form in ipairs(forms) do form.returns = {{type = class_name}} end
  if fields then
    local of = fields.of and fields.of[1]
    options_class(out, options, fields, of and of ~= name and
                  "strided." .. path .. "." .. of .. ".options" or nil)
  end
  if match(path, "^[^.]+") == "nn" then
    if name == "Module" then
      forms[#forms + 1] = {params = {}, rest = "any",
                           returns = {{type = "any"}}}
      own[#own + 1] = {name = "training", type = "boolean"}
      own[#own + 1] = {name = "[string]", type = "any"}
    else
      forms[#forms + 1] = layer_call(signature)
      own[#own + 1] = {name = "weight", type = TENSOR}
      own[#own + 1] = {name = "bias", type = TENSOR .. "?"}
    end
  end
  emit.class(out, {name = class_name, parent = parent_of(class, path),
                   text = read.text, fields = own, calls = forms,
                   var = var .. "." .. name, is_field = true})
  write_methods(out, var .. "." .. name, class_name,
                methods_of(class, name, "strided." .. match(path, "^[^.]+")))
end

-- -- Modules -----------------------------------------------------------------

local function is_callable(value)
  local meta = getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__call") ~= nil
end

--- Gives the classes of a module and of those within their names.
local function name_classes(path, module)
  for name, value in next, module do
    if type(name) == "string" and type(value) == "table" then
      if find(name, "^%u") then
        known[value] = known[value] or "strided." .. path .. "." .. name
      elseif not find(name, "^_") and not known[value] and
        path .. "." .. name ~= "distributions.constraints" then
        known[value] = "strided." .. path .. "." .. name
        name_classes(path .. "." .. name, value)
      end
    end
  end
end

local write_module

local function write_value(out, var, path, name, value)
  local kind = type(value)
  local full = "strided." .. path .. "." .. name
  if kind == "function" then
    local forms, text = read_function(out, path, name, value)
    emit.func(out, var, {name = name, text = text, forms = forms})
  elseif kind == "table" and find(name, "^%u") then
    if known[value] ~= full and known[value] then -- another name
      out[#out + 1] = "---@type " .. known[value]
      out[#out + 1] = emit.place(var, name) .. " = {}"
      out[#out + 1] = ""
    else
      write_class(out, var, path, name, value)
    end
  elseif kind == "table" and path ~= "distributions.constraints" and
    known[value] == full then
    write_module(out, var .. "." .. name, path .. "." .. name, value)
  else
    out[#out + 1] = "---@type any"
    out[#out + 1] = emit.place(var, name) .. " = nil"
    out[#out + 1] = ""
  end
end

--- Writes a table of functions and classes.
function write_module(out, var, path, module)
  local calls = {}
  if is_callable(module) then
    local forms = read_function(out, "st", path, nil)
    local row = functions[path]
    if row then forms = signatures.read(row.signature, "table") end
    calls = row and forms or {{params = {}, rest = "any",
                               returns = {{type = "any"}}}}
  end
  emit.class(out, {name = "strided." .. path, calls = calls, var = var,
                   is_field = find(var, ".", 1, true) ~= nil})
  for _, base in ipairs(BASES) do
    if base.module == path then
      local name = match(base.name, "[^.]*$")
      local local_name = name .. "_"
      emit.class(out, {name = base.name, text = base.text,
                       fields = base.fields, var = local_name})
      write_methods(out, local_name, base.name,
                    methods_of(nil, base.owner, "strided." .. path))
    end
  end
  for _, name in ipairs(emit.sorted(module)) do
    if not find(name, "^_") then
      write_value(out, var, path, name, module[name])
    end
  end
end

--- The file of a module of st.
-- @tparam string name "nn"
-- @tparam table module
-- @treturn {string,...} lines
function classes.file(name, module)
  known = known or {}
  name_classes(name, module)
  local out = emit.head("strided." .. name)
  write_module(out, name, name, module)
  out[#out + 1] = "return " .. name
  return out
end

--- Classes that functions return.
function classes.returned(out)
  known = known or {}
  for _, row in ipairs(RETURNED) do
    local name = "strided." .. row[1]
    emit.class(out, {name = name, text = row[3], var = row[1],
                     fields = {{name = "[string]", type = "any"}}})
    write_methods(out, row[1], name, methods_of(nil, row[1], row[2]))
  end
end

--- A function of st itself.
function classes.func(out, var, name, value)
  local options = "strided.options." .. name
  local row = functions[name]
  if row and not find(row.signature, "^t") then
    local forms = signatures.read(row.signature, options)
    if forms then
      if forms[1].fields then options_class(out, options, forms[1].fields) end
      emit.func(out, var, {name = name, text = row.line, forms = forms})
      return
    end
  end
  local comment = reader.find(name, function(c)
    return not find(c.full, "[:.]") and (c.module == "strided" or
           type(value) ~= "function" or getinfo(value, "S").what == "C" or
           find(getinfo(value, "S").source, file_of(c.module), 1, true))
  end) or reader.find(name, function(c)
    return not find(c.full, ":", 1, true) and type(value) == "function" and
           find(getinfo(value, "S").source, file_of(c.module), 1, true)
  end)
  local read = comment and reader.read(comment, value, options) or
               reader.guess(value)
  if read.fields then options_class(out, options, read.fields) end
  emit.func(out, var, {name = name, text = read.text, forms = {read.form}})
end

return classes
