--- The local variables of a session: those that a chunk declares at its top
-- level are there in the chunks after it, as in a script.
--
-- The variables themselves are kept, not copies of their values: chunks and the
-- functions that have captured a variable share it. A chunk that names
-- variables of earlier chunks becomes a function inside of one that declares
-- them, and its upvalues are joined to the variables. A chunk that declares
-- variables gives the session a closure over them at its end:
--
--     local _keep_locals, _first_of, a, b = ... return function(...) CHUNK
--     do _keep_locals(1, function() return c, d end) end end
--
-- Lua 5.1 cannot join upvalues, and a function has at most 60. Other variables
-- are fields of the chunk's environment, which reads and writes the upvalues of
-- such closures.
--
-- Variables that are to be closed end with their chunk. `_` is never kept: it
-- is the last value that was printed.
--
-- @module strided.session.locals

local core = require "strided.core"
core.check_taken("session", "strided.session.locals")
local KEYWORDS = require("strided.session.show").KEYWORDS
local failure = require "strided.session.traceback"
local several = require "strided.session.several_results"
local tokens = require "strided.session.tokens"

local compile, jit, setfenv = loadstring or load, rawget(_G, "jit"), setfenv
local concat, debug, find, getupvalue, globals, gsub, ipairs, next,
  setmetatable, setupvalue, sort, sub, upvaluejoin = table.concat, debug,
  string.find, debug.getupvalue, _G, string.gsub, ipairs, next, setmetatable,
  debug.setupvalue, table.sort, string.sub, debug.upvaluejoin

local KEEP = "_keep_locals" -- a name that no chunk has
local CHECK = "_first_of"   -- neither has one this name
local MOST = 50             -- upvalues of a function
local DEEPEST = 1000        -- a lookup of a level visits all levels above it

local DEPTH, NAME = tokens.DEPTH, tokens.NAME

-- -- Reading a chunk ----------------------------------------------------------

--- What a chunk names, which variables it declares at its top level, whether it
-- has `...`, and where its last statement is if that is return.
local function parse(text)
  local list, starts = tokens.list(text)
  local chunk, depth = {names = {}, declared = {}}, 0
  local function declare(name, attribute)
    if name ~= "_" and name ~= "_ENV" then -- UNNAMED
      local declared = chunk.declared
      declared[#declared + 1] = {name = name, attribute = attribute}
    end
  end
  for i, token in ipairs(list) do
    depth = depth + (DEPTH[token] or 0)
    if find(token, NAME) and not KEYWORDS[token] then
      chunk.names[token] = true
    elseif token == "." and list[i + 1] == "." and list[i + 2] == "." then
      chunk.has_values = true
    elseif depth == 0 and token == "return" then
      chunk.return_at = starts[i]
    elseif depth == 0 and token == "local" then
      local k = i + 1
      if list[k] == "function" then declare(list[k + 1]) end
      while list[k] and find(list[k], NAME) and not KEYWORDS[list[k]] do
        local has = list[k + 1] == "<"
        declare(list[k], has and list[k + 2] or nil)
        k = k + (has and 4 or 1)
        if list[k] ~= "," then break end
        k = k + 1
      end
    end
  end
  return chunk
end

-- -- Variables ----------------------------------------------------------------

--- A variable: the upvalue of a function.
local function variable(fn, index, is_const)
  return {fn = fn, index = index, is_const = is_const}
end

local function value_of(v)
  local _, value = getupvalue(v.fn, v.index)
  return value
end

-- Note [Variables that a trace reads]
-- LuaJIT takes an upvalue for a constant if the chunk that declares it does not
-- assign it. A later chunk may, and its traces would read the first value.
-- Therefore the functions here assign the variables, if they have arguments.

--- A new variable with a value.
local function with_value(value, is_const)
  return variable(function(...)
    if ... then value = ... end -- Note [Variables that a trace reads]
    return value
  end, 1, is_const)
end

local Locals = {}
Locals.__index = Locals

--- A session without variables.
local function new()
  return setmetatable({variables = {},
                       declared = setmetatable({}, {__mode = "k"})}, Locals)
end

--- Their values by their names; globals are inherited.
function Locals:environment()
  local values = {}
  for name, v in next, self.variables do values[name] = value_of(v) end
  return setmetatable(values, {__index = globals})
end

--- True if there is a variable of a name.
function Locals:has(name) return self.variables[name] ~= nil end

--- The value of a variable.
function Locals:get(name) return value_of(self.variables[name]) end

--- Their sorted names.
function Locals:names()
  local list = {}
  for name in next, self.variables do list[#list + 1] = name end
  sort(list)
  return list
end

--- Keeps the variables of a chunk, given a closure over those of a group.
local function keep(self, group, fn)
  local values = {fn()}
  local places = {}
  for i = 1, MOST do
    local name = getupvalue(fn, i)
    if not name then break end
    places[name] = i
  end
  for i, d in ipairs(group) do
    local is_const = d.attribute == "const"
    -- A constant that the compiler knows is no upvalue.
    self.variables[d.name] =
      places[d.name] and variable(fn, places[d.name], is_const)
      or with_value(values[i], is_const)
  end
end

-- Variables that are not kept.
local UNNAMED = {_ = true, _ENV = true}

-- Lua 5.1 gives functions with ... a variable `arg`, the first one. So chunks
-- have another parameter there, unless they name ... themselves.
local HAS_ARG = setfenv and not jit
local CALL, NAMED_CALL = "^return %(%.%.%.%)%(", "return (_values)("

--- After an error in a chunk, keeps the values of the variables that it had
-- declared. For message handlers.
-- @tparam function chunk
-- @tparam number level that of a function that the chunk calls
function Locals:rescue(chunk, level)
  local declared = self.declared[chunk]
  if not (declared and declared[1]) then return end
  local info = debug.getinfo(level, "f")
  while info and info.func ~= chunk and level <= DEEPEST do
    level = level + 1
    info = debug.getinfo(level, "f")
  end
  if not info or info.func ~= chunk then return end
  local i = declared.first or 0
  for _, d in ipairs(declared) do
    local name, value
    repeat
      i = i + 1
      name, value = debug.getlocal(level, i)
    until name == d.name or not UNNAMED[name]
    if name ~= d.name then return end
    if d.attribute ~= "close" then
      self.variables[name] = with_value(value, d.attribute == "const")
    end
  end
end

-- -- Compiling ----------------------------------------------------------------

--- The declared variables that are kept, in groups of which a function has
-- upvalues.
local function groups_of(declared)
  local last, groups, n = {}, {}, 0
  for i, d in ipairs(declared) do last[d.name] = i end
  for i, d in ipairs(declared) do
    if last[d.name] == i and d.attribute ~= "close" then
      if n % MOST == 0 then groups[#groups + 1] = {} end
      n = n + 1
      local group = groups[#groups]
      group[#group + 1] = d
    end
  end
  return groups
end

--- The text of a chunk that ends by keeping its variables.
local function with_end(text, chunk, groups)
  local calls = {}
  for i, group in ipairs(groups) do
    local names = {}
    for k, d in ipairs(group) do names[k] = d.name end
    names = concat(names, ", ")
    -- Note [Variables that a trace reads]
    local assign = jit and ("if ... then %s = ... end "):format(names) or ""
    calls[i] = ("%s(%d, function(%s) %sreturn %s end)")
      :format(KEEP, i, jit and "..." or "", assign, names)
  end
  if not calls[1] then return text end
  local last = "do " .. concat(calls, " ") .. " end "
  local at = chunk.return_at
  return at and sub(text, 1, at - 1) .. last .. sub(text, at)
         or text .. "\n" .. last
end

--- Divides the variables that a chunk names: those that are upvalues of it, and
-- those that are fields of its environment, by name.
local function divide(self, names)
  local joined, fields = {}, {}
  for _, name in ipairs(self:names()) do
    if names[name] then
      if upvaluejoin and #joined < MOST then
        joined[#joined + 1] = name
      else
        fields[name] = self.variables[name]
      end
    end
  end
  return joined, next(fields) and fields
end

local environments = setmetatable({}, {__mode = "k"}) -- their variables

--- The values of the variables that an environment has, by name; nil for other
-- environments.
local function values_of(environment)
  local fields = environments[environment]
  if not fields then return nil end
  local values = {}
  for name, v in next, fields do values[name] = value_of(v) end
  return values
end

--- An environment that has variables beside the globals.
local function environment_with(fields)
  local environment = {}
  environments[environment] = fields
  return setmetatable(environment, {
    __index = function(_, name)
      local v = fields[name]
      if v then return value_of(v) end
      return globals[name]
    end,
    __newindex = function(_, name, value)
      local v = fields[name]
      if v then setupvalue(v.fn, v.index, value) else globals[name] = value end
    end,
  })
end

local function join(self, fn, fields)
  local i, name = 1, getupvalue(fn, 1)
  while name do
    local v = self.variables[name]
    if v and name ~= KEEP and name ~= CHECK then
      upvaluejoin(fn, i, v.fn, v.index)
    end
    if fields and name == "_ENV" then
      setupvalue(fn, i, environment_with(fields))
    end
    i = i + 1
    name = getupvalue(fn, i)
  end
  if fields and setfenv then setfenv(fn, environment_with(fields)) end
end

--- The declarations of variables around a chunk, and its parameters.
local function head_of(self, joined, parameters)
  local list = {KEEP, CHECK}
  for i, name in ipairs(joined) do
    list[i + 2] = name .. (self.variables[name].is_const and " <const>" or "")
  end
  return "local " .. concat(list, ", ") .. " = ... return function("
         .. parameters .. ") "
end

--- Compiles a chunk that has the variables and leaves its own.
-- @tparam string text what compiles without them
-- @tparam string name of the chunk
-- @tparam[opt] string source what declares variables, text if it is not given
-- @treturn ?function nil on an error
-- @treturn ?string the message
function Locals:compile(text, name, source)
  local chunk = parse((gsub(source or text, CALL, NAMED_CALL)))
  local groups = groups_of(chunk.declared)
  local joined, fields = divide(self, chunk.names)
  local whole = several.mark(with_end(text, chunk, groups), CHECK)
  if whole == text and not (joined[1] or fields) then
    return compile(text, name)
  end
  local parameters = "..."
  if HAS_ARG then
    if not chunk.has_values then
      whole, parameters = gsub(whole, CALL, NAMED_CALL), "_values"
    end
    chunk.declared.first = 1 -- arg or _values is a variable before these
  end
  local head = head_of(self, joined, parameters)
  local outer, why = compile(head .. whole .. "\nend", name)
  if not outer then
    -- The end of the chunk is behind a label at its end.
    if find(why, "into the scope of") then return compile(text, name) end
    return nil, why
  end
  local fn = outer(function(i, closure) keep(self, groups[i], closure) end,
                   several.first_of)
  join(self, fn, fields)
  self.declared[fn] = chunk.declared
  failure.is_chunk(fn)
  return fn
end

return {new = new, values_of = values_of}
