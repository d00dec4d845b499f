--- st.help and st.apropos: what everything public is and how it is called.
--
-- `st.help(x)` takes a name ("sum", "nn.Linear", "Module:state_dict"), a
-- function, a class, an operator, a topic ("linalg") or a page ("indexing"). It
-- says what x is, its signature, and an example; `{all = true}` adds the
-- schemas, the derivatives and the kernels of an operator.
--
-- @module strided.session.help

local core = require "strided.core"
local comments = require "strided.help.comments"
local documents = require "strided.help.documents"
local functions = require "strided.help.functions"
local manual = require "strided.help.manual"
local operator = require "strided.help.operator"
local pages = require "strided.help.pages"
local raise = require "strided.argument.caller_error"
local search = require "strided.help.search"
local wrap_text = require "strided.help.wrap"
local take_options = require "strided.option.options"
local unknown_name = require "strided.name.unknown_name"

local concat, sort = table.concat, table.sort
local debug, ipairs, next, rawget, type = debug, ipairs, next, rawget, type

local require = require "strided.core".require

local WIDTH = 78

-- -- All names ----------------------------------------------------------------

--- The names of all operators, those of aten without the namespace, and of
-- functions in Lua.
local function all_names()
  local seen, list = {}, {}
  for _, full in ipairs((core.operators())) do
    local name = full:gsub("^aten::", "")
    if not seen[name] and name:sub(1, 1) ~= "_" then
      seen[name] = true
      list[#list + 1] = name
    end
  end
  for name in next, functions do
    if not seen[name] and name:sub(1, 1) ~= "_" then list[#list + 1] = name end
  end
  sort(list)
  return list
end

local function wrap(words)
  local lines, line = {}, ""
  for _, word in ipairs(words) do
    if #line + #word + 1 > WIDTH then
      lines[#lines + 1] = line
      line = ""
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return concat(lines, "\n")
end

local OVERVIEW = [[
st.help "sum"               a function, operator, class or method: its name
st.help(st.nn.Linear)       or what it is called by; ?sum in a session
st.help("sum", {all = true})  also schemas, derivatives and kernels
st.apropos "inverse"        names and sentences with a word
st.help(nil, {all = true})  the names of all operators

pages
]]

local function overview()
  local long = search.list(manual.entries())
  return OVERVIEW .. search.list(pages.entries())
         .. (long ~= "" and "\n\nlong pages\n" .. long or "")
         .. "\n\ntopics\n" .. search.topics()
end

-- -- Values -------------------------------------------------------------------

--- The name of a function in Lua: "masked.sum" for st.masked.sum.
local function key_of(value)
  for key in next, functions do
    if core.methods[key] == value then return key end
    local found = core.fields or require "strided"
    for part in key:gmatch "[^.]+" do
      found = functions[key].signature:find "^st" and found[part]
    end
    if found == value then return key end
  end
end

--- The name of a value that is a field of st or of one of its modules.
local function public_name(value)
  local st = core.fields or require "strided"
  for _, place in ipairs {"", "nn.", "nn.utils.", "nn.init.", "optim.",
                          "optim.lr_scheduler.", "data.", "data.transforms.",
                          "autograd.", "distributions.", "memory."} do
    local found = st
    for part in place:gmatch "[%w_]+" do found = found[part] end
    for name, field in next, found do
      if field == value and type(name) == "string" then return place .. name end
    end
  end
end

--- Describes a function in Lua.
local function describe_function(name)
  local f = functions[name]
  return concat({
    wrap_text(name .. ": " .. f.line), operator.fold(f.signature),
    operator.example(f.example, f.result),
  }, "\n")
end

--- The comment on a name, and its example.
local function comment_on(name)
  -- distributions.ExpTransform is also the class Exp of the transforms.
  local text = comments.on(name) or comments.on((name:gsub("Transform$", "")))
  local public = text and text:match "^st%.([%w_.]+)%("
  -- st.autograd.grad is st.grad, too.
  local row = public and require "strided.help.examples"[
    public:gsub("^autograd%.", "")]
  return row and text .. "\n" .. operator.example(row.code, row.result) or text
end

-- -- Names --------------------------------------------------------------------

local SYMBOLS = {["+"] = "add", ["-"] = "sub", ["*"] = "mul", ["/"] = "div",
                 ["^"] = "pow", ["%"] = "remainder", ["//"] = "floor_divide"}

--- The operator of a name: "add", "add.Tensor", "linalg.inv", "geo::hypot2".
local function operator_named(name)
  local full, overload = name:match "^([^.]*)%.?(.*)$"
  if not full:find("::", 1, true) then full = "aten::" .. full end
  local packet = core.packet(full)
  if packet and overload ~= "" then packet = packet[overload] end
  if type(packet) == "userdata" then return packet end
  packet = core.packet("aten::" .. name:gsub("%.", "_"))
  return packet and operator.short_name(packet:name()) == name and packet
end

--- What is known under a name, or nil.
local function lookup(name, all)
  name = name:gsub("^st%.ops%.aten%.", ""):gsub("^st%.ops%.([%w_]+)%.", "%1::")
             :gsub("^st%.(%a)", "%1")
  local parts, member = {}, name:match "^%l[%w_]*[:.]([%w_]+)$"
  if member and functions[member] and
     functions[member].signature:find "^t[:.]" then
    return describe_function(member)
  elseif member and name:find(":", 1, true) and not name:find "::" then
    local packet = operator_named(member)
    parts[1] = packet and operator.describe(packet, all) or nil
  end
  parts[#parts + 1] = pages.text(name, true)
  if functions[name] then parts[#parts + 1] = describe_function(name) end
  local packet = operator_named(name)
  if packet then
    parts[#parts + 1] = operator.describe(packet, all)
  elseif not (functions[name] or unknown_name.casts[name]) then
    parts[#parts + 1] = comment_on(name)
  end
  parts[#parts + 1] = search.topic(name)
  parts[1] = parts[1] or pages.text(name) or manual.text(name) or
             search.module(name)
  return parts[1] and concat(parts, "\n\n")
end

--- What is known under another name: that of NumPy or torch7, or a word of
-- advice.
local function lookup_other(name, all)
  local target = SYMBOLS[name] or unknown_name.synonyms[name] or
                 unknown_name.functions[name]
  if target then
    local text = lookup(target, all)
    return text and name .. " is st." .. target .. "\n" .. text
  end
  local dtype = unknown_name.casts[name]
  if dtype then
    return ("%s: t:%s() is t:to \"%s\""):format(name, name, dtype)
  end
  local word = name:match "[^.:]*$"
  local advice = unknown_name.advice[name] or unknown_name.absent(word)
  return advice and name .. ": " .. advice
end

-- -- Public functions ---------------------------------------------------------

--- Describes a value other than a string.
local function describe_value(value, all)
  if core.inner_of then value = core.inner_of(value) end -- in a sandbox
  if value == (core.fields or require "strided") then return overview() end
  local text = documents.of(value)
  if text and type(value) == "table" then return text end
  local key = key_of(value)
  if key then return lookup(key, all) end
  local packet = operator.of(value)
  if packet then return operator.describe(packet, all) end
  if type(value) == "table" then
    local name = rawget(value, "__name")
    local meta = debug.getmetatable(value)
    name = name or type(meta) == "table" and rawget(meta, "__name")
    local class = rawget(value, "__name") and value or meta
    local ours = name and public_name(class)
    text = ours and lookup(ours) or type(name) == "string" and
           (documents.describe_class(class, name) or lookup(name))
    if text then return text end
  end
  if type(value) == "table" or type(value) == "function" then
    local name = public_name(value)
    text = name and lookup(name, all)
    if text then return text end
  end
  if type(value) == "function" then return documents.describe(value) end
end

--- Says what something is, how it is called, and gives an example. Without an
-- argument it lists pages and topics.
-- @function help
-- @param[opt] what a name, such as `"add"`, `"nn.Linear"`, `"linalg.inv"`,
-- `"DataLoader"`, `"geo::hypot2"`; a topic, such as `"linalg"`; a page, such as
-- `"indexing"`; or a function, a class or an object of `st.ops`
-- @tparam[opt] table options `all = true` adds the schemas, derivatives and
-- kernels of an operator; without a name it lists all names
-- @treturn string
local function help(what, options)
  local all = take_options("help", options, {all = true}).all
  if what == nil then return all and wrap(all_names()) or overview() end
  if type(what) == "string" then
    return lookup(what, all) or lookup_other(what, all) or
           "nothing is known about '" .. what .. "': " .. search.hint(what)
  end
  local text = describe_value(what, all)
  if text then return text end
  raise("help: argument 1 must be its name, a function, a class or an object "
        .. "of st.ops")
end

return {
  help = help, apropos = search.apropos, document = documents.document,
  lookup = lookup, describe_value = describe_value,
  signature = operator.signature, operator_of = operator.of,
}
