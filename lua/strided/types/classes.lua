--- Annotations of the modules of st with classes: nn, optim, data and others.
--
-- A class and its objects have one type: it may be called as its constructor,
-- and, if it is a layer, with a tensor.
--
-- @module strided.types.classes

local catalogue = require "strided.help.catalogue"
local core = require "strided.core"
local emit = require "strided.types.emit"
local functions = require "strided.help.functions"
local guard = require "strided.name.guard"
local reader = require "strided.types.comments"
local signatures = require "strided.types.signatures"

local unpack = unpack or table.unpack
local find, gsub, ipairs, match, next, pcall, rawget, tostring, type =
  string.find, string.gsub, ipairs, string.match, next, pcall, rawget,
  tostring, type
local getinfo, getlocal, getmetatable, getupvalue = debug.getinfo,
  debug.getlocal, debug.getmetatable, debug.getupvalue

local classes = {}

local TENSOR = "strided.Tensor"

-- Arguments of strided.nn.module.declare, by their kinds -> types.
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
   fields = {{name = "param_groups", type = "strided.optim.Groups",
              text = "Groups of parameters with their options, such as lr."},
             {name = "state", type = "table"}}},
  {name = "strided.optim.Groups", owner = "", module = "optim",
   text = "Groups of parameters, each a table of `params` and options.",
   fields = {{name = "[integer]", type = "table<string, any>"}}},
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
  {"Figure", "strided.plot", "A plot: st.plot returns it."},
  {"Progress", "strided.progress", "A line of progress, and an iterator."},
}

-- What functions return whose comments do not say it.
local RESULTS = {
  Generator = "strided.Generator", library = "strided.Library",
  iterator = "strided.Plan", get_rng_state = "strided.Generator",
  plot = "strided.Figure", progress = "strided.Progress",
  profile = "strided.Profile", ["profile.start"] = "strided.Profile",
  ["nn.summary"] = "strided.Summary", fuse = "function", layout = "string",
  ["memory.stats"] = "table", is_tensor = "boolean", tensor = TENSOR,
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

--- The comment on a public function or class of a module: that of a name with
-- tags, if there are several.
local function comment_on(name, path)
  local place = "strided." .. match(path, "^[^.]+")
  local function is_near(c)
    return not find(c.full, ":", 1, true) and
           (c.module == place or find(c.module, "^" .. place .. "%.") or
            c.owner == match(path, "[^.]*$"))
  end
  return reader.find(name, function(c)
    return is_near(c) and find(c.full, name .. "$") and
           find(table.concat(c.lines, "\n"), "@function " .. c.full, 1, true)
  end) or reader.find(name, is_near)
end

--- The comment on a name of st.
local function comment_in_st(name)
  return reader.find(name, function(c)
    return c.full == name and find(table.concat(c.lines, "\n"),
                                   "@function " .. name, 1, true)
  end) or reader.find(name, function(c)
    return c.full == name or c.full == "autograd." .. name
  end)
end

--- Sets the type of a result that the comment does not tell.
local function set_result(form, name)
  local r = form.returns[1]
  if RESULTS[name] and r and r.type == "any" then
    form.returns[1] = {type = RESULTS[name]}
  end
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
                  comment_on(name, path) or
                  path == "autograd" and comment_in_st(name)
  if not comment then
    local guess = reader.guess(value, is_method)
    return {guess.form}, ""
  end
  local read = reader.read(comment, value, options, is_method)
  if read.fields then
    options_class(out, options, read.fields)
  end
  set_result(read.form, path .. "." .. name)
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
  for name, list in next, require("strided.help.comments").all() do
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

--- The first sentence of a text.
local function sentence(text)
  return catalogue.sentence((gsub(text, "%s+", " ")))
end

local function option_type(value)
  local kind = type(value)
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
    local said = rawget(class, "types") and class.types[name]
    if kind == "any" and (said == "boolean" or said == "number") then
      kind = said
    end
    list[#list + 1] = {name = name, optional = true, text = f and f.text or
                       kind ~= "any" and default_text(value) or nil,
                       type = f and f.type ~= "any" and f.type or kind}
  end
  return list
end

-- Layers that take packed sequences, too.
local PACKED = {RNN = true, LSTM = true, GRU = true}

-- What arguments of a layer are called.
local RENAMED = {a = "input", b = "target", c = "third", x = "input"}

-- Those that are tensors.
local function is_tensor_name(name)
  return find(name, "^x%d?$") or find(name, "^input%d?$") or
         find(name, "^target%d?$") or find(name, "^positive") or
         find(name, "^negative")
end

--- How a layer is called, by the arguments of its method `forward`; nil if it
-- has none.
local function layer_call(name, class, base)
  local forward = class.forward
  if forward == base.forward then return nil end
  local form = {params = {}, returns = {{type = TENSOR}}}
  forward = guard.original(forward)
  local info = getinfo(forward, "u")
  if not info.nparams then -- Lua 5.1
    form.rest = TENSOR
    return form
  end
  for i = 2, info.nparams do
    local p = getlocal(forward, i)
    p = RENAMED[p] or p
    local is_first = i == 2
    form.params[i - 1] = {
      name = emit.argument(p), optional = not is_first and
      not is_tensor_name(p),
      type = (is_first or is_tensor_name(p)) and
             (PACKED[name] and TENSOR .. "|table" or TENSOR) or "any"}
  end
  if PACKED[name] or find(name, "Attention") then
    form.returns[2] = {type = "any"}
  end
  if info.isvararg then form.rest = "any" end
  return form
end

-- -- Classes -----------------------------------------------------------------

--- The fields of a distribution: its parameters and what it computes.
local function distribution_fields(class)
  local fields, seen = {}, {}
  local function add(name, kind)
    if not seen[name] then
      seen[name] = true
      fields[#fields + 1] = {name = name, type = kind}
    end
  end
  for _, p in ipairs(rawget(class, "params") or {}) do
    add(p[1], p[4] and "any" or TENSOR)
  end
  for _, name in ipairs(emit.sorted(rawget(class, "get") or {})) do
    add(name, find(name, "_shape$") and "strided.Size" or
              find(name, "^has_") and "boolean" or
              find(name, "support") and "any" or TENSOR)
  end
  return fields
end

-- Arguments of a distribution of which one is given.
local ALTERNATIVES = {probs = true, logits = true, covariance_matrix = true,
                      precision_matrix = true, scale_tril = true}

--- The arguments of a distribution may be numbers, and are named in a table,
-- too.
local function loosen(form)
  for _, p in ipairs(form.params) do
    if p.type == "any" then p.type = TENSOR .. "|number|table" end
    p.optional = p.optional or ALTERNATIVES[p.name]
  end
end

-- An argument for a layer that is made to see what it has.
local SAMPLES = {integer = 4, number = 0.5, ["integer|integer[]"] = 2,
                 boolean = true}

--- The tensors and layers that an object of a class has: it makes one. Its
-- parameters are random; the generator is as before.
local function layer_fields(class, form)
  local list = {}
  for i, p in ipairs(form.params) do
    if p.optional then break end
    list[i] = SAMPLES[p.type]
    if list[i] == nil then return {} end
  end
  local before = core.copy_rng()
  local ok, object = pcall(class, unpack(list))
  core.restore_rng(before)
  local fields = {}
  for _, name in ipairs(ok and emit.sorted(object) or {}) do
    local value = object[name]
    local kind = core.is_tensor(value) and TENSOR or known[getmetatable(value)]
    if kind then
      fields[#fields + 1] = {name = name,
                             type = name == "bias" and kind .. "?" or kind}
    end
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

--- Writes a class; returns the field that it is of its module.
local function write_class(out, path, name, class, base)
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
    loosen(read.form)
  end
  if path == "nn" and name == "Sequential" then
    local layers = {name = "layers", type = "(strided.nn.Module|table)[]"}
    forms = {{params = {layers}},
             {params = {}, rest = "strided.nn.Module"}}
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
      forms[#forms + 1] = layer_call(name, class, base)
      for _, f in ipairs(layer_fields(class, forms[1])) do own[#own + 1] = f end
    end
  end
  local methods = methods_of(class, name, "strided." .. match(path, "^[^.]+"))
  emit.class(out, {name = class_name, parent = parent_of(class, path),
                   text = read.text, fields = own, calls = forms,
                   var = next(methods) and name})
  write_methods(out, name, class_name, methods)
  return {name = name, type = class_name, text = sentence(read.text)}
end

-- -- Modules -----------------------------------------------------------------

local function is_callable(value)
  local meta = getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__call") ~= nil
end

-- Tables that are not modules.
local NO_MODULE = {
  ["distributions.transforms.names"] = true, ["distributions.biject_to"] = true,
  ["distributions.transform_to"] = true,
  ["distributions.identity_transform"] = true,
}

--- Gives the classes of a module and of those within their names.
local function name_classes(path, module)
  local names = emit.sorted(module)
  for _, name in ipairs(names) do
    local value = module[name]
    if type(value) == "table" and find(name, "^%u") then
      known[value] = known[value] or "strided." .. path .. "." .. name
    end
  end
  if path == "distributions.constraints" then return end
  for _, name in ipairs(names) do
    local value, full = module[name], path .. "." .. name
    if type(value) == "table" and find(name, "^%l") and not known[value] and
      not NO_MODULE[full] then
      known[value] = "strided." .. full
      name_classes(full, value)
    end
  end
end

local write_module

--- Writes a value of a module.
-- @treturn ?table the field that it is of the module; nil for a function
local function write_value(out, var, path, name, value, base)
  local kind = type(value)
  local full = "strided." .. path .. "." .. name
  if kind == "function" then
    local forms, text = read_function(out, path, name, value)
    emit.func(out, var, {name = name, text = text, forms = forms})
    return nil
  end
  local class = kind == "table" and known[value]
  if class == full and find(name, "^%u") then
    return write_class(out, path, name, value, base)
  elseif class == full then
    write_module(out, name, path .. "." .. name, value)
  end
  return {name = name, type = class or kind == "number" and "number" or "any"}
end

--- Writes a table of functions and classes.
function write_module(out, var, path, module)
  local fields, calls, body = {}, {}, {}
  if is_callable(module) then
    local comment = comment_in_st(path)
    local read = comment and reader.read(comment, nil, "table") or
                 reader.guess(nil)
    set_result(read.form, path)
    calls[1] = read.form
  end
  for _, name in ipairs(emit.sorted(module)) do
    if not find(name, "^_") then
      fields[#fields + 1] = write_value(body, var, path, name, module[name],
                                        rawget(module, "Module"))
    end
  end
  emit.class(out, {name = "strided." .. path, fields = fields, calls = calls,
                   var = var})
  for _, base in ipairs(BASES) do
    if base.module == path then
      local name = match(base.name, "[^.]*$")
      emit.class(out, {name = base.name, text = base.text,
                       fields = base.fields, var = name})
      write_methods(out, name, base.name,
                    methods_of(nil, base.owner, "strided." .. path))
    end
  end
  for _, line in ipairs(body) do out[#out + 1] = line end
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
  local forms = row and signatures.read(row.signature, options)
  if row then
    if forms and find(row.signature, "^t:") then
      table.insert(forms[1].params, 1, {name = "self", type = TENSOR})
    end
    if forms then
      if forms[1].fields then options_class(out, options, forms[1].fields) end
      emit.func(out, var, {name = match(name, "[^.]*$"), text = row.line,
                           forms = forms})
      return
    end
  end
  local comment = type(value) == "function" and comment_at(name, value) or
                  comment_in_st(name)
  local read = comment and reader.read(comment, value, options) or
               reader.guess(value)
  set_result(read.form, name)
  if read.fields then options_class(out, options, read.fields) end
  emit.func(out, var, {name = name, text = read.text, forms = {read.form}})
end

return classes
