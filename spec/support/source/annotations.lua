--- Reads annotations of the Lua language server, strictly: whatever is not in
-- the grammar is an error that names the file and the line.
--
--     local model = annotations.read {["strided.lua"] = text, ...}
--
-- A model has `classes`: name -> {parents =, fields =, functions =, overloads
-- =, keys =}, and `aliases`. A function is a list of forms {params =, rest =,
-- returns =, is_method =}; a parameter is {name =, type =, optional =}.

local find, gmatch, match, sub = string.find, string.gmatch, string.match,
  string.sub

local annotations = {}

local BUILT_IN = {}
for name in gmatch("any nil boolean number integer string table function "
                   .. "userdata thread self true false unknown", "%S+") do
  BUILT_IN[name] = true
end

local OPERATORS = {}
for name in gmatch("add sub mul div mod pow idiv band bor bxor shl shr unm "
                   .. "bnot len concat call", "%S+") do
  OPERATORS[name] = true
end

-- -- Types -------------------------------------------------------------------

local union

local function expect(text, at, pattern, what)
  local from, to, captured = find(text, "^" .. pattern, at)
  if not from then
    error(("%s is expected in '%s' at column %d"):format(what, text, at), 0)
  end
  return to + 1, captured
end

--- The arguments and results of a type `fun(...)` from the parenthesis on.
local function fun(text, at, names)
  local form = {params = {}, returns = {}}
  at = at + 1
  while sub(text, at, at) ~= ")" do
    local name, optional
    if sub(text, at, at + 2) == "..." then
      name, at = "...", at + 3
    else
      at, name = expect(text, at, "([%a_][%w_]*)", "a name")
      if sub(text, at, at) == "?" then optional, at = true, at + 1 end
    end
    at = expect(text, at, ": ", "a type")
    local kind
    kind, at = union(text, at, names)
    if name == "..." then
      form.rest = kind
    else
      form.params[#form.params + 1] = {name = name, type = kind,
                                       optional = optional}
    end
    if sub(text, at, at + 1) == ", " and name ~= "..." then
      at = at + 2
    elseif sub(text, at, at) ~= ")" then
      error(("')' is expected in '%s' at column %d"):format(text, at), 0)
    end
  end
  at = at + 1
  if sub(text, at, at + 1) == ": " then
    repeat
      local kind
      kind, at = union(text, at + 2, names)
      form.returns[#form.returns + 1] = kind
    until sub(text, at, at + 1) ~= ", "
  end
  return form, at
end

--- A type without "|".
local function single(text, at, names)
  local start = at
  if find(text, "^fun%(", at) then
    local _
    _, at = fun(text, at + 3, names)
  elseif sub(text, at, at) == "(" then
    local _
    _, at = union(text, at + 1, names)
    at = expect(text, at, "%)", "')'")
  elseif sub(text, at, at) == '"' then
    at = expect(text, at, '"[^"]*"', "a string")
  else
    local name
    at, name = expect(text, at, "([%a_][%w_.]*)", "a type")
    names[#names + 1] = name
    if sub(text, at, at) == "<" then
      if name ~= "table" then error("'" .. name .. "' has no arguments", 0) end
      local _
      _, at = union(text, at + 1, names)
      at = expect(text, at, ", ", "','")
      _, at = union(text, at, names)
      at = expect(text, at, ">", "'>'")
    end
  end
  while true do
    if sub(text, at, at + 1) == "[]" then at = at + 2
    elseif sub(text, at, at) == "?" then at = at + 1
    else break end
  end
  return sub(text, start, at - 1), at
end

--- A type from a position on; adds the names in it to a list.
function union(text, at, names)
  local start, _ = at, nil
  _, at = single(text, at, names)
  while sub(text, at, at) == "|" do _, at = single(text, at + 1, names) end
  return sub(text, start, at - 1), at
end

--- A type that is followed by the end or by a text.
local function type_and_text(text, names)
  local kind, at = union(text, 1, names)
  if at <= #text and sub(text, at, at) ~= " " then
    error(("'%s' follows a type in '%s'"):format(sub(text, at), text), 0)
  end
  return kind, sub(text, at + 1)
end

local function whole_type(text, names)
  local kind, rest = type_and_text(text, names)
  if rest ~= "" then error("'" .. rest .. "' follows a type", 0) end
  return kind
end

-- -- Lines -------------------------------------------------------------------

local tags = {}

function tags.meta(at, rest)
  if at.line ~= 1 then error("@meta is not in the first line", 0) end
  if not find(rest, "^[%a_][%w_.]*$") then error("a bad name", 0) end
end

function tags.class(at, rest)
  local name, parent = match(rest, "^([%a_][%w_.]*)$"), nil
  if not name then name, parent = match(rest, "^([%a_][%w_.]*): (.+)$") end
  if not name then error("a bad name of a class", 0) end
  local class = at.model.classes[name] or {parents = {}, fields = {}, keys = {},
                                           functions = {}, overloads = {}}
  at.model.classes[name], at.class, at.class_name = class, class, name
  if parent then
    class.parents[#class.parents + 1] = whole_type(parent, at.names)
  end
end

function tags.alias(at, rest)
  local name, kind = match(rest, "^([%a_][%w_.]*) ?(.*)$")
  if not name or at.model.aliases[name] then error("a bad alias", 0) end
  at.alias = {}
  at.model.aliases[name] = at.alias
  if kind ~= "" then at.alias[1], at.alias = whole_type(kind, at.names), nil end
end

function tags.field(at, rest)
  if not at.class then error("@field without a class", 0) end
  local name, optional, kind = match(rest, "^([%a_][%w_]*)(%??) (.+)$")
  if not name then
    local key
    key, kind = match(rest, "^%[(.-)%] (.+)$")
    if not key then error("a bad field", 0) end
    name = match(key, '^"(.*)"$')
    if not name then
      at.class.keys[whole_type(key, at.names)] = type_and_text(kind, at.names)
      return
    end
  end
  if at.class.fields[name] then error("'" .. name .. "' is twice", 0) end
  at.class.fields[name] = {type = type_and_text(kind, at.names),
                           optional = optional == "?"}
end

function tags.operator(at, rest)
  local name, kind, result = match(rest, "^(%l+)%((.*)%): (.+)$")
  if not name then name, result = match(rest, "^(%l+): (.+)$") end
  if not OPERATORS[name or ""] or not at.class then
    error("a bad operator", 0)
  end
  if kind then whole_type(kind, at.names) end
  whole_type(result, at.names)
end

function tags.overload(at, rest)
  if not find(rest, "^fun%(") then error("fun(...) is expected", 0) end
  local form, to = fun(rest, 4, at.names)
  if to <= #rest then error("'" .. sub(rest, to) .. "' is too much", 0) end
  local list = at.class and at.class.overloads or at.overloads
  list[#list + 1] = form
end

function tags.param(at, rest)
  local name, optional, text = match(rest, "^([%a_.][%w_.]*)(%??) (.+)$")
  if not name or name ~= "..." and find(name, ".", 1, true) then
    error("a bad parameter", 0)
  end
  at.params[#at.params + 1] = {name = name, optional = optional == "?",
                               type = type_and_text(text, at.names)}
end

tags["return"] = function(at, rest)
  at.returns[#at.returns + 1] = type_and_text(rest, at.names)
end

function tags.type(at, rest) at.type = whole_type(rest, at.names) end

local function start(at)
  at.params, at.returns, at.overloads = {}, {}, {}
  at.class, at.class_name, at.alias, at.type = nil, nil, nil, nil
end

--- Adds a function of a class; the annotations must be on its arguments.
local function add_function(at, owner, sign, name, arguments)
  local class = at.locals[owner]
  if not class then error("'" .. owner .. "' is of no class", 0) end
  local form = {params = {}, returns = at.returns, is_method = sign == ":"}
  local i = 0
  for argument in gmatch(arguments, "[^, ]+") do
    i = i + 1
    local p = at.params[i]
    if not p or p.name ~= argument then
      error(("argument '%s' has no @param in its place"):format(argument), 0)
    end
    if argument == "..." then form.rest = p.type
    else form.params[i] = p end
  end
  if at.params[i + 1] then
    error(("'%s' is no argument"):format(at.params[i + 1].name), 0)
  end
  if class.functions[name] then error("'" .. name .. "' is twice", 0) end
  local forms = {form}
  for _, f in ipairs(at.overloads) do
    if sign == ":" then
      local self = table.remove(f.params, 1)
      if not self or self.name ~= "self" then
        error("an overload of a method has no self", 0)
      end
    end
    forms[#forms + 1] = f
  end
  class.functions[name] = forms
end

--- A line of Lua.
local function code(at, line)
  local owner, sign, name, arguments =
    match(line, "^function ([%w_.]-)([.:])([%w_]+)%(([%w_, .]*)%) end$")
  if not owner then
    owner, name, arguments =
      match(line, '^([%w_.]+)%["([^"]+)"%] = function%(([%w_, .]*)%) end$')
    if owner and match(arguments, "^self") and at.params[1] and
      at.params[1].type == "strided.Tensor" and owner == "Tensor" then
      table.remove(at.params, 1)
      sign, arguments = ":", match(arguments, "^self,? ?(.*)$")
    end
  end
  if owner then return add_function(at, owner, sign, name, arguments) end
  local place = match(line, "^local ([%w_]+) = {}$") or
                match(line, "^([%w_.]+) = {}$") or
                match(line, "^([%w_.]+) = nil$")
  if not place then
    if not find(line, "^return [%w_]+$") then error("unknown Lua", 0) end
    return
  end
  local parent, key = match(place, "^(.*)%.([%w_]+)$")
  if parent then
    local class = at.locals[parent]
    if not class then error("'" .. parent .. "' is of no class", 0) end
    class.fields[key] = {type = at.type or at.class_name or
                                error("a value without a type", 0)}
  end
  at.locals[place] = at.class or at.model.classes[at.type or ""]
end

local function read_line(at, line)
  local tag, rest = match(line, "^%-%-%-@(%l+) ?(.*)$")
  if tag then
    if not tags[tag] then error("unknown tag @" .. tag, 0) end
    tags[tag](at, rest)
  elseif find(line, "^%-%-%-|") then
    local literal = match(line, '^%-%-%-| ("[^"]+")$')
    if not literal or not at.alias then error("a bad row of an alias", 0) end
    at.alias[#at.alias + 1] = literal
  elseif find(line, "^%-%-%-") then
    if not find(line, "^%-%-%- %s*%S") and line ~= "---" then
      error("a text without a space", 0)
    end
  elseif line == "" or find(line, "^%-%- ") then
    start(at)
  else
    code(at, line)
    start(at)
  end
end

--- Reads files.
-- @tparam table files the text of each by its name
-- @treturn table the model
function annotations.read(files)
  local model = {classes = {}, aliases = {}}
  local used = {}
  for name, text in pairs(files) do
    local at = {model = model, line = 0, locals = {}, names = {}}
    start(at)
    for line in gmatch(text, "(.-)\n") do
      at.line = at.line + 1
      if at.line == 1 and not find(line, "^%-%-%-@meta ") then
        error(name .. ": no @meta", 0)
      end
      local ok, why = pcall(read_line, at, line)
      if not ok then error(("%s:%d: %s"):format(name, at.line, why), 0) end
      for i = 1, #at.names do
        used[at.names[i]] = used[at.names[i]] or name .. ":" .. at.line
        at.names[i] = nil
      end
    end
  end
  for name, place in pairs(used) do
    if not (BUILT_IN[name] or model.classes[name] or model.aliases[name]) then
      error(("%s: there is no type '%s'"):format(place, name), 0)
    end
  end
  return model
end

return annotations
