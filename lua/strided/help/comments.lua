--- Help on functions and classes in Lua: the comments above them in the files
-- that the library was loaded from.
--
-- @module strided.help.comments

local core = require "strided.core"

local concat, remove, sort = table.concat, table.remove, table.sort
local find, format, gmatch, gsub, lower, match, rep = string.find,
  string.format, string.gmatch, string.gsub, string.lower, string.match,
  string.rep
local getinfo = debug and debug.getinfo
local getmetatable = debug and debug.getmetatable
local ipairs, next, open, package, rawget, type = ipairs, next, io and io.open,
  package, rawget, type

local require = require "strided.core".require

local WIDTH = 78
local MOST = 4 -- comments of one name that are shown

-- Where a public name may be, but in st itself.
local PLACES = {"nn.", "nn.utils.", "nn.utils.rnn.", "nn.init.", "optim.",
                "optim.lr_scheduler.", "optim.swa_utils.", "data.",
                "data.transforms.", "autograd.", "distributions."}

-- -- Files -------------------------------------------------------------------

--- The file of a module, open, or nil.
local function open_module(name)
  for template in gmatch(package.path, "[^;]+") do
    local file = open((gsub(template, "%?", (gsub(name, "%.", "/")))))
    if file then return file end
  end
end

--- The names of the modules that are loaded, after the large ones are.
local function loaded()
  for _, name in ipairs {"nn", "optim", "data", "io.file", "io.chunks",
                         "io.share", "io.buffer", "io.csv", "io.raw",
                         "distributions", "autograd", "amp", "masked",
                         "library", "iterator", "layout", "explain",
                         "fuse", "printing", "profile", "sandbox",
                         "timeit", "plot", "progress",
                         "session.help"} do
    core.try(require, "strided." .. name) -- a sandbox may refuse
  end
  local names = {}
  for name in next, core.loaded or package.loaded do -- hidden in a sandbox
    if type(name) == "string" and find(name, "^strided%f[^%w_]") then
      names[#names + 1] = name
    end
  end
  sort(names)
  return names
end

-- -- Comments ----------------------------------------------------------------

--- The names that the code below a comment gives to what it is about.
local function name_of(code)
  return match(code, "^%s*function ([%w_.:]+)%s*%(") or
         match(code, "declare[%w_]*%(.-\"([%w_]+)\"") or
         match(code, ":extend \"([%w_]+)\"") or
         match(code, "^%s*([%w_]+%.[%w_.]+) = ")
end

--- Adds a comment under each of its names. One that says "The same" belongs to
-- the one before; returns the comment for the next one.
local function add(all, lines, code, at, before)
  local names = {}
  for _, line in ipairs(lines) do
    names[#names + 1] = match(line, "^@function (%S+)")
  end
  names[1] = names[1] or name_of(code)
  local needs_more = find(lines[1], "^The same") or find(lines[1], "^@")
  for _, full in ipairs(names) do
    local owner, name = match(full, "^(.*)[.:]([%w_]+)$")
    name = name or full
    all[name] = all[name] or {}
    local list = all[name]
    list[#list + 1] = {name = name, owner = owner, full = full, lines = lines,
                       module = at.module, line = at.line, code = code,
                       before = needs_more and before or nil}
    if not needs_more then before = list[#list] end
  end
  return before
end

local function read(all, file, module)
  local at, lines, before = {module = module, line = 0}, nil, nil
  for line in file:lines() do
    at.line = at.line + 1
    local first = match(line, "^%s*%-%-%- ?(.*)$")
    local more = lines and match(line, "^%s*%-%- ?(.*)$")
    if first then
      lines = lines or {}
      lines[#lines + 1] = first
    elseif more then
      lines[#lines + 1] = more
    elseif lines then
      before = add(all, lines, line, at, before)
      lines = nil
    end
  end
  file:close()
end

local all -- by name, a list of comments

local function comments()
  if all or not open then return all or {} end
  all = {}
  for _, module in ipairs(loaded()) do
    local file = open_module(module)
    if file then read(all, file, module) end
  end
  return all
end

-- -- Text --------------------------------------------------------------------

local function fold(text, indent)
  local lines, line = {}, match(text, "^ +%S+")
  text = line and gsub(text, "^ +%S+", "") or text
  for word in gmatch(text, "%S+") do
    if line and #line + 1 + #word > WIDTH then
      lines[#lines + 1] = line
      line = nil
    end
    line = line and line .. " " .. word or
           (lines[1] and rep(" ", indent) or "") .. word
  end
  lines[#lines + 1] = line
  return concat(lines, "\n")
end

--- The lines of a comment before its tags, and the tags {word, text}.
local function split(lines)
  local head, tags = {}, {}
  for _, line in ipairs(lines) do
    local tag, rest = match(line, "^@(%S+)%s*(.*)$")
    if tag then
      tags[#tags + 1] = {tag, rest}
    elseif tags[1] then
      tags[#tags][2] = tags[#tags][2] .. " " .. line
    else
      head[#head + 1] = line
    end
  end
  return head, tags
end

--- Is it what the comment is about? A function in Lua says where it is from;
-- the comments on those in C are in strided itself.
local function is_meant(value, comment)
  local info = type(value) == "function" and getinfo(value, "S")
  if not info then return value ~= nil end
  if info.what == "C" then return comment.module == "strided" end
  local file = gsub(comment.module, "%.", "/")
  return find(info.source, file .. ".lua", 1, true) or
         find(info.source, file .. "/init.lua", 1, true)
end

local places -- by the names above, the tables

--- The tables of public names. A missing name in them is an error, so names are
-- looked up by rawget.
local function find_places(st)
  if places then return places end
  places = {}
  for _, place in ipairs(PLACES) do
    local found = st
    for part in gmatch(place, "[%w_]+") do found = found[part] end
    places[place] = found
  end
  return places
end

local loaded_later -- the names that st loads on first use, as keys

--- A value of st, or nil. Names are looked up first: the error for a missing
-- one searches for similar names.
local function value_in(st, name)
  local value = rawget(st, name)
  if value ~= nil or core.fields then return value end
  loaded_later = loaded_later or getmetatable(st).names()
  local is_there = loaded_later[name] or core.named(name, false) ~= nil
  return is_there and st[name] or nil
end

--- Its name in st, or as the comment has it.
local function public_name(comment)
  local st, name = core.fields or require "strided", comment.name
  if comment.owner and find(comment.full, ":", 1, true) then
    return comment.full
  end
  local tables = find_places(st)
  for _, place in ipairs(PLACES) do
    if is_meant(rawget(tables[place], name), comment) then
      return "st." .. place .. name
    end
  end
  return is_meant(value_in(st, name), comment) and "st." .. name
         or comment.full
end

local function describe_tag(tag, rest)
  local kind, name, text = match(rest, "^(%S+)%s+(%S+)%s*(.*)$")
  if find(tag, "^param") then
    kind, name, text = "", match(rest, "^(%S+)%s*(.*)$")
  end
  local default = match(tag, "%[opt=(.*)%]")
  local shown = find(tag, "%[") and "[" .. name .. "]" or name
  return shown, fold(format("  %s  %s%s %s", name, kind,
                            default and " (" .. default .. ")" or "", text), 4)
end

local describe

function describe(comment)
  local head, tags = split(comment.lines)
  local arguments, parts = {}, {}
  for _, pair in ipairs(tags) do
    local tag, rest = pair[1], pair[2]
    if find(tag, "^t?param") then
      arguments[#arguments + 1], parts[#parts + 1] = describe_tag(tag, rest)
    elseif find(tag, "^t?return") then
      parts[#parts + 1] = fold("  returns  " .. rest, 4)
    end
  end
  local title = public_name(comment) .. "(" .. concat(arguments, ", ") .. ")"
  local text = {fold(title, 4)}
  text[#text + 1] = head[1] and concat(head, "\n")
  text[#text + 1] = parts[1] and concat(parts, "\n")
  text[#text + 1] = comment.before and describe(comment.before)
  return gsub(concat(text, "\n"), "\n\n*(\n  )", "%1")
end

-- The base classes of the public classes in a place.
local BASES = {["optim."] = "Optimizer", ["distributions."] = "Distribution",
               ["optim.lr_scheduler."] = "Scheduler"}

--- True for a method of one of two classes that is public.
local function is_method_of(comment, class, base)
  local owner, name = match(comment.full, "^(.*):([%w_]+)$")
  return name and (owner == class or owner == base) and
         not find(name, "^_") and
         not find(concat(comment.lines, "\n"), "@local", 1, true)
end

--- A line with the names of the methods of a class, or "". Layers have those of
-- nn.Module.
local function methods_of(comment)
  local place, class = match(public_name(comment), "^st%.(.-)(%u[%w_]*)$")
  if not class or place == "nn." and class ~= "Module" then return "" end
  local names = {}
  for name, list in next, comments() do
    for _, other in ipairs(list) do
      if is_method_of(other, class, BASES[place]) and names[#names] ~= name then
        names[#names + 1] = name
      end
    end
  end
  sort(names)
  return names[1] and "\n" .. fold("  methods  " .. concat(names, ", "), 4) or
         ""
end

-- -- Search ------------------------------------------------------------------

--- True if a comment is about a name in this place: part of a module's name, or
-- the class that a method is of.
local function is_of(comment, place)
  if comment.owner and lower(comment.owner) == lower(place) then return true end
  return find("." .. comment.module .. ".", "." .. place .. ".", 1, true) or
         find(public_name(comment), "." .. place .. ".", 1, true)
end

--- The text of a comment before its tags, in one line.
local function plain_text(lines)
  return (gsub(gsub(concat(split(lines), " "), "%s+", " "), " $", ""))
end

local comment_help = {
  all = comments, public_name = public_name, split = split,
  plain_text = plain_text,
}

--- The comments of a file, in order: {name =, owner =, full =, lines =, module
-- =, line =, before =}; before is the comment that one which says "The same"
-- belongs to.
-- @param file an open file, which is closed
-- @tparam string module its name
-- @treturn {table,...}
function comment_help.of_file(file, module)
  local by_name, list = {}, {}
  read(by_name, file, module)
  for _, comments_on in next, by_name do
    for _, comment in ipairs(comments_on) do list[#list + 1] = comment end
  end
  sort(list, function(a, b) return a.line < b.line end)
  return list
end

--- Calls visit(name, text, module, kind) for each comment on something public:
-- its name as one writes it, without "st."; its text; the module that it is
-- in; "method" or "function".
function comment_help.each(visit)
  for _, list in next, comments() do
    for _, comment in ipairs(list) do
      local name = public_name(comment)
      local short = match(name, "^st%.(.+)$")
      local is_method = find(name, ":", 1, true)
      if short or is_method and not find(name, "^%l") then
        local text = plain_text(comment.lines)
        if text == "" and comment.before then
          text = plain_text(comment.before.lines)
        end
        visit(short or name, text, comment.module,
              is_method and "method" or "function")
      end
    end
  end
end

--- The options that the comment on a name lists: words in backquotes of the
-- argument that is a table.
-- @tparam string query
-- @treturn {string,...}
function comment_help.options(query)
  local list = {}
  local text = comment_help.on(query) or ""
  -- From the line of the options to the next argument.
  local lines = match(text, "\n  options table (.-)\n  %l") or
                match(text, "\n  options table (.*)$") or ""
  for name in gmatch(lines, "`([%l_][%w_]*)[^`]*`") do
    list[#list + 1] = name
  end
  return list
end

--- Describes a function or class of the library by its name: "Linear",
-- "st.nn.Linear", "DataLoader:iter", "no_grad".
-- @tparam string query
-- @treturn ?string nil if there is no such comment
function comment_help.on(query)
  local owners = {}
  for part in gmatch(query, "[%w_]+") do owners[#owners + 1] = part end
  local name = owners[#owners]
  owners[#owners] = nil
  local list, found = comments()[name] or {}, {}
  for _, comment in ipairs(list) do
    local fits = true
    for _, owner in ipairs(owners) do
      fits = fits and (owner == "st" or is_of(comment, owner))
    end
    if fits then found[#found + 1] = comment end
  end
  -- Local helpers are not shown beside what is public.
  local function is_public(comment)
    return find(public_name(comment), "^st%.") or find(comment.full, "^%u")
  end
  for i = #found, 1, -1 do
    if not is_public(found[i]) and (found[2] or i > 1) then
      remove(found, i)
    end
  end
  -- net:train is a method of an object of the user
  if not found[1] and find(query, "[^:]:[^:]") then
    for _, comment in ipairs(list) do
      if find(comment.full, "^%u.*:") then found[#found + 1] = comment end
    end
  end
  local texts = {}
  for i = 1, found[MOST] and MOST or #found do
    texts[i] = describe(found[i]) .. methods_of(found[i])
  end
  return texts[1] and concat(texts, "\n\n")
end

return comment_help
