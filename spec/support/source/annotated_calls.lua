--- Finds what a Lua program writes that annotations do not allow: names that
-- are not there, calls with too few or too many arguments, unknown options.
--
-- The types of variables are not followed: a method must be one of some class.

local find, gmatch, match, sub = string.find, string.gmatch, string.match,
  string.sub

local calls = {}

-- -- Tokens ------------------------------------------------------------------

local OPENS = {["("] = true, ["{"] = true, ["["] = true}
local CLOSES = {[")"] = true, ["}"] = true, ["]"] = true}

--- The tokens of a program: {kind, text, line}; kind is "name", "string",
-- "number" or the text itself.
local function tokens_of(text)
  local list, at, line = {}, 1, 1
  local function add(kind, to)
    list[#list + 1] = {kind, sub(text, at, to), line}
    for _ in gmatch(sub(text, at, to), "\n") do line = line + 1 end
    at = to + 1
  end
  local function skip(to)
    for _ in gmatch(sub(text, at, to), "\n") do line = line + 1 end
    at = to + 1
  end
  while at <= #text do
    local equals = match(text, "^%-?%-?%[(=*)%[", at)
    local to = equals and select(2, find(text, "]" .. equals .. "]", at, true))
    if find(text, "^%s", at) then
      skip(select(2, find(text, "^%s+", at)))
    elseif find(text, "^%-%-", at) then
      skip(find(text, "^%-%-%[=*%[", at) and to or
           (find(text, "\n", at, true) or #text + 1) - 1)
    elseif to and find(text, "^%[", at) then
      add("string", to)
    elseif find(text, "^[\"']", at) then
      local quote, i = sub(text, at, at), at + 1
      while sub(text, i, i) ~= quote do
        if i > #text then error("an open string in line " .. line) end
        i = i + (sub(text, i, i) == "\\" and 2 or 1)
      end
      add("string", i)
    elseif find(text, "^[%a_]", at) then
      add("name", select(2, find(text, "^[%w_]+", at)))
    elseif find(text, "^%.?%d", at) then
      add("number", select(2, find(text, "^[%w.]+", at)))
    else
      local long = match(text, "^%.%.%.?", at) or match(text, "^[=~<>]=", at)
                   or sub(text, at, at)
      add(long, at + #long - 1)
    end
  end
  return list
end

-- -- Arguments ---------------------------------------------------------------

local OPERATOR = {}
for word in gmatch(". : ( [ { string", "%S+") do OPERATOR[word] = true end

--- The position after the bracket that closes the one at a position.
local function after_bracket(tokens, at)
  local depth = 0
  repeat
    local kind = tokens[at][1]
    if OPENS[kind] then depth = depth + 1
    elseif CLOSES[kind] then depth = depth - 1 end
    at = at + 1
  until depth == 0
  return at
end

--- The keys `name =` of the table that begins at a position; nil if it has none
-- or other elements, too.
local function keys_of(tokens, at)
  local to, keys = after_bracket(tokens, at) - 1, {}
  local i, is_start = at + 1, true
  while i < to do
    local kind = tokens[i][1]
    if is_start then
      if kind == "name" and tokens[i + 1][1] == "=" then
        keys[#keys + 1] = tokens[i][2]
      else
        return nil
      end
    end
    is_start = kind == "," or kind == ";"
    i = OPENS[kind] and after_bracket(tokens, i) or i + 1
  end
  return keys[1] and keys
end

--- The arguments of a call: `n`, how many; `is_open` if the last one may be
-- several; `keys` of the last one if it is a table of options.
local function arguments(tokens, at)
  local kind = tokens[at][1]
  if kind == "string" then return {n = 1}, at + 1 end
  if kind == "{" then
    return {n = 1, keys = keys_of(tokens, at)}, after_bracket(tokens, at)
  end
  local close = after_bracket(tokens, at) - 1
  local list, i, depth, blocks, first = {n = 0}, at + 1, 0, 0, at + 1
  while i < close do
    local word = tokens[i][2]
    if tokens[i][1] == "name" then -- a function's body has commas, too
      if word == "function" or word == "if" or word == "do" then
        blocks = blocks + 1
      elseif word == "end" then
        blocks = blocks - 1
      end
    end
    if word == "," and depth == 0 and blocks == 0 then
      list.n, first = list.n + 1, i + 1
    end
    i = OPENS[tokens[i][1]] and blocks == 0 and after_bracket(tokens, i) or
        i + 1
  end
  if close > at + 1 then
    list.n = list.n + 1
    local last = tokens[close - 1]
    list.is_open = last[1] == "..." or last[1] == ")" or
                   last[1] == "}" and first ~= close - 1
                   and tokens[first][1] ~= "{" or
                   last[1] == "string" and first ~= close - 1
    if tokens[first][1] == "{" and
      after_bracket(tokens, first) == close then
      list.keys, list.is_open = keys_of(tokens, first), false
    end
  end
  return list, close + 1
end

-- -- Fitting -----------------------------------------------------------------

--- Calls visit(class) for each class that a type names, and their parents.
local function each_class(model, kind, visit)
  for name in gmatch(kind, "[%a_][%w_.]*") do
    local class = model.classes[name]
    while class do
      visit(class, name)
      class = model.classes[class.parents[1] or ""]
    end
  end
end

--- The name of the first option that a form does not have, or nil.
local function unknown_key(model, form, keys, position)
  local kind = (form.params[position] or {}).type or form.rest or ""
  if find(kind, "any") or find(kind, "%f[%w]table%f[%W]") then return nil end
  local fields, has_class, is_any = {}, false, false
  each_class(model, kind, function(class, name)
    if find(name, "options") then
      has_class = true
      is_any = is_any or class.keys.string ~= nil
      for key in pairs(class.fields) do fields[key] = true end
    end
  end)
  if is_any then return nil end
  if not has_class then return keys[1] end
  for _, key in ipairs(keys) do
    if not fields[key] then return key end
  end
end

--- Says what is wrong with arguments for a function of some forms; nil if one
-- fits.
local function misfit(model, forms, given, shift)
  local why, option
  for _, form in ipairs(forms) do
    local least, n = 0, given.n + (shift and form.is_method and -1 or 0)
    for i, p in ipairs(form.params) do
      if not p.optional then least = i end
    end
    if n < least and not given.is_open then
      why = ("%d arguments, at least %d are expected"):format(n, least)
    elseif n > #form.params and not form.rest then
      why = ("%d arguments, at most %d are expected"):format(n, #form.params)
    else
      local key = given.keys and unknown_key(model, form, given.keys, n)
      if not key then return nil end
      option = "option '" .. key .. "'"
    end
  end
  return option or why
end

-- -- Names -------------------------------------------------------------------

--- A field or function of a class or of its parents.
-- @treturn ?table the forms of a function
-- @treturn ?string the type of a field
local function member(model, class, name)
  while class do
    if class.functions[name] then return class.functions[name] end
    if class.fields[name] then return nil, class.fields[name].type end
    if class.keys.string then return nil, class.keys.string end
    class = model.classes[class.parents[1] or ""]
  end
end

--- What a chain of names after a variable leads to: forms or a class.
local function follow(model, tokens, at, class, report)
  local path = tokens[at][2]
  at = at + 1
  local forms
  while class and tokens[at] and tokens[at][1] == "." do
    local name = tokens[at + 1][2]
    local kind
    forms, kind = member(model, class, name)
    if not forms and not kind then
      report(at, path .. "." .. name .. " is not there")
      return nil, nil, at + 2
    end
    path, at = path .. "." .. name, at + 2
    class = kind and model.classes[kind] or nil
    if forms then break end
  end
  return forms or class and class.overloads, path, at, class
end

--- The class of a value: st.nn, or require "strided.nn".
local function value_at(model, variables, tokens, at)
  if tokens[at] and tokens[at][2] == "require" then
    local name = tokens[at + 1]
    name = name[1] == "(" and tokens[at + 2] or name
    local class = model.classes[sub(name[2], 2, -2)]
    return class
  end
  local class = tokens[at] and variables[tokens[at][2]]
  if not class then return nil end
  local _, _, after, found = follow(model, tokens, at, class, function() end)
  local is_whole = not (tokens[after] and OPERATOR[tokens[after][1]])
  return is_whole and found or nil
end

local OTHERS = {} -- methods of strings and files
for name in pairs(string) do OTHERS[name] = true end
for name in gmatch("read write close lines flush seek setvbuf", "%S+") do
  OTHERS[name] = true
end

--- The names of methods that a program defines.
function calls.methods(text)
  local own, tokens = {}, tokens_of(text)
  for i, token in ipairs(tokens) do
    local before = tokens[i - 1]
    if token[1] == "name" and before and
      (before[1] == ":" or before[1] == ".") then
      local after = tokens[i + 1]
      local is_function = tokens[i - 3] and tokens[i - 3][2] == "function"
      if is_function or after and after[1] == "=" then own[token[2]] = true end
    end
  end
  return own
end

local by_model = setmetatable({}, {__mode = "k"})

--- By the name of a method, the lists of forms in all classes.
local function methods_of(model)
  if by_model[model] then return by_model[model] end
  local all = {}
  for _, class in pairs(model.classes) do
    for name, forms in pairs(class.functions) do
      all[name] = all[name] or {}
      table.insert(all[name], forms)
    end
  end
  by_model[model] = all
  return all
end

local function check_method(model, own, tokens, at, report)
  local name = tokens[at + 1][2]
  local after = tokens[at + 2]
  if own[name] or OTHERS[name] or not after or
    not (after[1] == "(" or after[1] == "{" or after[1] == "string") then
    return
  end
  local given, why = arguments(tokens, at + 2), nil
  local lists = methods_of(model)[name]
  if not lists then return report(at, ":" .. name .. " is not there") end
  for _, forms in ipairs(lists) do
    why = misfit(model, forms, given)
    if not why then return end
  end
  report(at, (":%s: %s"):format(name, why))
end

--- Sets the classes of the variables of `local a, b = c, d` at a position.
local function declare(model, variables, tokens, at)
  local names, i = {}, at + 1
  while tokens[i] and tokens[i][1] == "name" do
    names[#names + 1] = tokens[i][2]
    i = i + 1
    if not tokens[i] or tokens[i][1] ~= "," then break end
    i = i + 1
  end
  if not tokens[i] or tokens[i][1] ~= "=" then return end
  i = i + 1
  for _, name in ipairs(names) do
    variables[name] = value_at(model, variables, tokens, i) or variables[name]
    local depth = 0
    while tokens[i] and not (depth == 0 and tokens[i][1] == ",") do
      if tokens[i][2] == "local" then return end
      if OPENS[tokens[i][1]] then depth = depth + 1
      elseif CLOSES[tokens[i][1]] then depth = depth - 1 end
      i = i + 1
    end
    i = i + 1
  end
end

--- What annotations do not allow in a program.
-- @tparam table model of spec.support.source.annotations
-- @tparam string text
-- @tparam[opt] table own a set of names of methods that are not strided's, by
-- default those that the program defines
-- @treturn {string,...} "line: what"
function calls.problems(model, text, own)
  local tokens, found = tokens_of(text), {}
  local variables = {st = model.classes.strided}
  own = own or calls.methods(text)
  local function report(at, what)
    found[#found + 1] = tokens[at][3] .. ": " .. what
  end
  for i, token in ipairs(tokens) do
    local before = tokens[i - 1] and tokens[i - 1][1]
    local class = token[1] == "name" and variables[token[2]]
    if token[2] == "local" and token[1] == "name" then
      declare(model, variables, tokens, i)
    elseif class and before ~= "." and before ~= ":" and tokens[i + 1] and
      tokens[i + 1][1] == "." then
      local forms, path, at = follow(model, tokens, i, class, report)
      local after = tokens[at]
      if forms and forms[1] and after and
        (after[1] == "(" or after[1] == "{" or after[1] == "string") then
        local why = misfit(model, forms, arguments(tokens, at), true)
        if why then report(i, path .. ": " .. why) end
      end
    elseif token[1] == ":" and tokens[i + 1] and tokens[i + 1][1] == "name" and
      (tokens[i - 2] or token)[2] ~= "function" then
      check_method(model, own, tokens, i, report)
    end
  end
  return found
end

return calls
