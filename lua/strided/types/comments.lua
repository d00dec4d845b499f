--- Annotations of functions and classes in Lua, from the comments above them.
--
-- @module strided.types.comments

local comments = require "strided.help.comments"
local emit = require "strided.types.emit"

local unpack = unpack or table.unpack
local concat, find, gsub, ipairs, lower, match, tonumber, type = table.concat,
  string.find, string.gsub, ipairs, string.lower, string.match, tonumber, type
local getinfo = debug and debug.getinfo
local getlocal = debug and debug.getlocal

local reader = {}

-- -- Types -------------------------------------------------------------------

local TYPES = {
  Tensor = "strided.Tensor", integer = "integer", number = "number",
  string = "string", boolean = "boolean", table = "table",
  ["function"] = "function", Generator = "strided.Generator",
  Size = "strided.Size", dtype = "strided.dtype", any = "any",
  userdata = "userdata",
}

-- Arguments and options whose names say what they are.
local BY_NAME = {
  dtype = "strided.dtype", device = "strided.device",
  generator = "strided.Generator", memory_format = "strided.memory_format",
  reduction = "strided.reduction|\"batchmean\"",
}

-- Names whose types no comment has.
local OF_NAMES = {
  bias = "boolean", num_layers = "integer", bidirectional = "boolean",
  batch_first = "boolean", proj_size = "integer", requires_grad = "boolean",
  num_workers = "integer", batch_size = "integer", prefetch_factor = "integer",
  hidden_size = "integer", n = "integer", create_graph = "boolean",
  shuffle = "boolean",
  retain_graph = "boolean", allow_unused = "boolean", drop_last = "boolean",
}

reader.BY_NAME, reader.OF_NAMES = BY_NAME, OF_NAMES

--- The type that a tag names: "?Tensor", "{string,...}", "integer|table".
local function type_of(text)
  local parts, optional = {}, false
  if find(text, "^%?") then text, optional = text:sub(2), true end
  for part in text:gmatch "[^|]+" do
    local item = match(part, "^{([^,=]+),%.%.%.}$")
    if find(part, "^%?") then part, optional = part:sub(2), true end
    if part == "nil" then
      optional = true
    elseif item then
      parts[#parts + 1] = emit.list_of(TYPES[item] or "any")
    else
      parts[#parts + 1] = TYPES[part] or find(part, "^{") and "table" or "any"
    end
  end
  return emit.union(unpack(parts)), optional
end

--- The type of a default as a comment writes it: 1, 0.5, true, "tanh".
local function type_of_default(text)
  if text == "true" or text == "false" then return "boolean" end
  if tonumber(text) or text and find(text, "^%-?inf") then return "number" end
  if text and find(text, '^"') then return "string" end
  return nil
end

-- -- Options -----------------------------------------------------------------

--- The options that the text on an argument lists: words in backquotes, with
-- the defaults in parentheses or after "=".
-- @tparam string text
-- @treturn {table,...} fields; `of`, the names of other classes whose options
-- these are too
function reader.options(text)
  local fields, seen = {of = {}}, {}
  local at = 1
  while true do
    local from, to, word, more = find(text, "`([%l_][%w_]*)([^`]*)`", at)
    if not from then break end
    local before = text:sub(1, from - 1)
    local is_reference = find(before, "%f[%w]for $") or
                         find(before, "%f[%w]of $") or
                         find(before, "but $") or find(before, "%f[%w]as $")
    local default = match(more, "^%s*=%s*(.-)%s*$") or
                    match(text, "^ %(([^)]*)%)", to + 1)
    at = to + 1
    if not is_reference and not seen[word] and not find(more, "^[.(]") then
      seen[word] = true
      fields[#fields + 1] = {
        name = word, optional = true,
        type = BY_NAME[word] or OF_NAMES[word] or type_of_default(default) or
               "any",
        text = default and "default " .. default or nil}
    end
  end
  for name in text:gmatch "those of (%u[%w]*)" do
    fields.of[#fields.of + 1] = name
  end
  return fields
end

-- -- Forms -------------------------------------------------------------------

--- The arguments of a function in Lua: their names, and `rest` if it has
-- further ones; nil if they are not known. They are in the line below the
-- comment; of a function without one, Lua 5.1 itself does not tell them.
-- @tparam table comment
-- @param fn the function, or nil
-- @tparam boolean is_method without the first argument, the object
local function arguments(comment, fn, is_method)
  local sign, text = match(comment.code or "",
                           "function [%w_.]*([:.]?)[%w_]*%(([^()]*)%)")
  local list = {}
  if text then
    for name in text:gmatch "[^%s,]+" do
      if name == "..." then list.rest = true else list[#list + 1] = name end
    end
    if sign == ":" then return list end
  else
    local info = getinfo and type(fn) == "function" and getinfo(fn, "Su")
    if not info or not info.nparams or info.what == "C" then return nil end
    list.rest = info.isvararg
    for i = 1, info.nparams do list[i] = getlocal(fn, i) end
  end
  if is_method then table.remove(list, 1) end
  return list
end

local function parameter(tag, rest)
  local kind, name, text
  if find(tag, "^t") then
    kind, name, text = match(rest, "^(%S+)%s+(%S+)%s*(.*)$")
  else
    kind, name, text = "any", match(rest, "^(%S+)%s*(.*)$")
  end
  if not name then return nil end
  local of, optional = type_of(kind)
  if of == "any" and find(text, "^a tensor or a list") then
    of = "strided.Tensor|strided.Tensor[]"
  elseif of == "any" and find(text, "^a tensor%f[^%w]") then
    of = "strided.Tensor" .. (find(text, "number") and "|number" or "")
         .. ((find(text, "list") or find(text, "table")) and "|table" or "")
  elseif of == "function" and find(text, "^or a module") then
    of = "function|strided.nn.Module"
  end
  local default = match(tag, "%[opt=(.*)%]")
  name = gsub(name, "%W+$", "")
  if BY_NAME[name] and (of == "string" or of == "any") then
    of = BY_NAME[name]
  end
  return {name = name == "" and "..." or emit.argument(name), type = of,
          optional = optional or find(tag, "%[opt") ~= nil,
          text = (default and "default " .. default .. "; " or "") .. text,
          said = text}
end

--- A result; "the module", of a method, is the object itself.
local function result(tag, rest, is_method)
  local kind, text = "any", rest
  if find(tag, "^t") then kind, text = match(rest, "^(%S+)%s*(.*)$") end
  local of, optional = type_of(kind or "any")
  if is_method and (find(text, "^the %l+$") or find(text, "^itself")
                    or find(text, "^self")) and
    (of == "table" or of == "any") then
    of = "self"
  elseif of == "any" and find(lower(text), "^the number of") then
    of = "integer"
  elseif of == "any" and find(text, "^the results of") then
    return {type = "any", name = "..."}
  end
  return {type = optional and of .. "?" or of}
end

--- True for a function that calls body(...): it gets further arguments.
local function calls_back(form)
  local last = form.params[#form.params]
  return last and find(last.type, "^function")
end

local function tidy(head)
  local list = {}
  for _, line in ipairs(head) do list[#list + 1] = line end
  return (gsub(gsub(concat(list, "\n"), "^%s+", ""), "%s+$", ""))
end

--- What a comment says: its text, a form, the fields of its options.
-- @tparam table comment
-- @param value the function, or nil
-- @tparam string options what the class of its options is called
-- @tparam boolean is_method
-- @treturn table `text`, `form`, `fields`
function reader.read(comment, value, options, is_method)
  local head, tags = comments.split(comment.lines)
  local out = {text = tidy(head), form = {params = {}, returns = {}}}
  local form = out.form
  if comment.before and not head[1] or out.text:find "^The same" then
    local before = comment.before and
                   reader.read(comment.before, nil, options, is_method)
    if before then
      out.text = before.text .. (out.text ~= "" and "\n" .. out.text or "")
      out.fields = before.fields
      if not tags[1] then form = before.form out.form = form end
    end
  end
  for _, pair in ipairs(tags) do
    local tag, rest = pair[1], pair[2]
    local p = find(tag, "^t?param") and parameter(tag, rest)
    if p and p.name == "..." then
      form.rest = p.type
    elseif p then
      local fields = p.type == "table" and reader.options(p.said)
      if fields and (fields[1] or fields.of[1]) and
        (find(p.name, "^opt") or p.name == "given") then
        out.fields, p.type = fields, options
      end
      form.params[#form.params + 1] = p
    elseif find(tag, "^t?return") then
      form.returns[#form.returns + 1] = result(tag, rest, is_method)
    end
  end
  local names = arguments(comment, value, is_method)
  if not form.params[1] then
    for i, name in ipairs(names or {}) do
      form.params[i] = {name = emit.argument(name), type = "any",
                        optional = true}
    end
    if not names or names.rest then form.rest = form.rest or "any" end
  elseif names and names.rest or not names and calls_back(form) then
    form.rest = form.rest or "any"
  end
  form.returns[1] = form.returns[1] or {type = "any"}
  for i = 1, #form.returns - 1 do form.returns[i].name = nil end
  return out
end

--- What is known of a function without a comment.
function reader.guess(value, is_method)
  return reader.read({lines = {}}, value, "table", is_method)
end

-- -- Search ------------------------------------------------------------------

--- The comment on a name in a module, or of a class.
-- @tparam string name
-- @tparam function fits called with a comment
-- @treturn ?table
function reader.find(name, fits)
  for _, comment in ipairs(comments.all()[name] or {}) do
    if fits(comment) then return comment end
  end
end

return reader
