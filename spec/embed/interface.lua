--- The binary interface of the public header as a list of lines: functions with
-- their C types, structs with offsets and sizes, function types, constants.
--
--     ./dev interface
--
-- writes the list to spec/embed/interface.txt, unless the interface changed and
-- ST_API_VERSION did not. CONTRIBUTING.md says when it grows.

local build = require "spec.support.build"
local files = require "spec.support.files"

local interface = {}

interface.path = build.root .. "/spec/embed/interface.txt"

local HEADER = build.folder .. "/include/strided.h"

-- Constants that count others: they change when one is added.
local COUNTS = {ST_STATUS_COUNT = true, ST_DTYPE_COUNT = true,
                ST_DTYPE_ALL = true, ST_FORMAT_COUNT = true,
                ST_DEVICE_COUNT = true}

-- -- Parsing -----------------------------------------------------------------

local function trim(text)
  return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

--- The header after the preprocessor, without what it includes.
local function preprocessed()
  local text = build.run("gcc -E '" .. HEADER .. "'")
  local own, is_own = {}, false
  for line in text:gmatch "[^\n]+" do
    local file = line:match '^# %d+ "([^"]*)"'
    if file then
      is_own = file == HEADER
    elseif is_own then
      own[#own + 1] = line
    end
  end
  return table.concat(own, "\n")
end

--- Calls f(statement) for each declaration of a text: up to a ";" or, for an
-- inline function, up to its closing brace.
local function each_statement(text, f)
  text = text:gsub("__attribute__%s*(%b())", "")
  local from, at = 1, 1
  while true do
    local stop = text:find("[;{]", at)
    if not stop then return end
    if text:sub(stop, stop) == "{" then
      local _, close = text:find("%b{}", stop)
      at = close + 1
      if text:sub(from, close):find "^%s*static" then from = at end
    else
      f(trim(text:sub(from, stop - 1)))
      from, at = stop + 1, stop + 1
    end
  end
end

--- Calls f(name, declaration) for each field of a struct's body, for those of
-- unions inside as "u.name".
local function each_field(body, f, prefix)
  each_statement(body, function(field)
    local inside, name = field:match "^union {(.*)} ([%w_]+)$"
    if not inside then inside, name = field:match "^struct {(.*)} ([%w_]+)$" end
    if inside then
      each_field(inside, f, prefix .. name .. ".")
    elseif field:find "%(%*" then
      f(prefix .. field:match "%(%*([%w_]+)", field)
    else
      for part in field:gmatch "[^,]+" do
        f(prefix .. part:gsub("%b[]", ""):match "([%w_]+) *$", field)
      end
    end
  end)
end

-- -- The list ----------------------------------------------------------------

--- A struct as C statements that print its lines.
local function describe_struct(name, body)
  local program = {('printf("struct %s %%zu\\n", sizeof(%s));'):format(name,
                                                                       name)}
  each_field(body, function(field, declaration)
    program[#program + 1] = ('printf("  %%zu %%zu %s: %s\\n", offsetof(%s, %s),'
      .. " sizeof(((%s *)0)->%s));"):format(field, declaration, name, field,
                                            name, field)
  end, "")
  return table.concat(program, "\n")
end

local function describe_constants(body)
  local program = {}
  for part in (body .. ","):gmatch "([^,]+)," do
    local name = part:match "^%s*([%w_]+)"
    if name then
      program[#program + 1] = ('printf("constant %s %%lld\\n", (long long)%s);')
                              :format(name, name)
    end
  end
  return table.concat(program, "\n")
end

--- The C statements that print a declaration; nil for one that only names a
-- type.
local function describe(s)
  local name, body = s:match "^typedef struct ([%w_]+) {(.*)} [%w_]+$"
  if not name then name, body = s:match "^struct ([%w_]+) {(.*)}$" end
  if name then
    -- `struct st_call`, whose typedef stands elsewhere
    return describe_struct("struct " .. name, body):gsub("struct struct",
                                                         "struct")
  end
  body = s:match "^typedef enum [%w_]+ {(.*)} [%w_]+$" or s:match "^enum {(.*)}"
  if body then return describe_constants(body) end
  if s:find "^typedef struct [%w_]+ [%w_]+$" or s:find "^struct [%w_]+$" then
    return nil
  end
  local kind = s:find "^typedef" and "type" or "function"
  s = s:gsub("^typedef ", "")
  local head, tail = s:match "^([^(]*%(%*[%w_]+%))(.*)$"
  -- without the names of parameters
  tail = (tail or s):gsub("%( ", "("):gsub("([ %*])[%w_]+([,%)])", "%1%2")
                    :gsub(" ([,%)])", "%1")
  return ('printf("%s %s%s\\n");'):format(kind, head or "", tail)
end

--- The list of the header in the build.
-- @treturn string
function interface.list()
  local program = {"#include <stddef.h>", "#include <stdio.h>",
                   "#include <strided.h>", "int main(void) {",
                   'printf("version %d\\n", ST_API_VERSION);'}
  each_statement(preprocessed(), function(statement)
    program[#program + 1] = describe(statement)
  end)
  program[#program + 1] = "return 0;\n}\n"
  local path = os.tmpname()
  files.write(path .. ".c", table.concat(program, "\n"))
  local text, status = build.shell(("env -u LD_PRELOAD gcc -w -I '%s/include'"
    .. " -o %s.out %s.c && %s.out"):format(build.folder, path, path, path))
  os.execute(("rm -f %s %s.c %s.out"):format(path, path, path))
  assert(status == 0, text)
  return text
end

-- -- Changes -----------------------------------------------------------------

--- The lines of a list by what they are about; a struct with its fields is one.
local function by_name(list)
  local items = {}
  for item in list:gsub("\n(%l)", "\1%1"):gmatch "[^\1]+" do
    item = item:gsub("\n$", "")
    local kind, rest = item:match "^(%l+) (.*)$"
    local name = kind == "function" and rest:match "^[^(]-([%w_]+) ?%(" or
                 kind == "type" and (rest:match "^[^(]-%(%*([%w_]+)" or
                                     rest:match "([%w_]+)%b()$" or
                                     rest:match "([%w_]+)$") or
                 rest:match "^[%w_]+"
    name = kind .. " " .. name
    assert(not items[name], name)
    if kind ~= "version" then items[name] = item end
  end
  return items
end

--- What changed from one list to another: a list of texts, and the part of the
-- version that has to grow, "MAJOR", "MINOR" or nil.
function interface.changes(old, new)
  local before, after, list, part = by_name(old), by_name(new), {}, nil
  for name, item in pairs(before) do
    if after[name] ~= item then
      local counts = after[name] and COUNTS[name:match "^constant (.*)"]
      part = not counts and "MAJOR" or part or "MINOR"
      list[#list + 1] = "- " .. item
      if after[name] then list[#list] = list[#list] .. "\n+ " .. after[name] end
    end
  end
  for name, item in pairs(after) do
    if not before[name] then
      part = part or "MINOR"
      list[#list + 1] = "+ " .. item
    end
  end
  table.sort(list)
  return list, part
end

--- Nil if the version grew as the changes ask for; else what to do.
function interface.wrong_version(old, new)
  local changes, part = interface.changes(old, new)
  local was = tonumber(old:match "^version (%d+)")
  local is = tonumber(new:match "^version (%d+)")
  local function major(version) return math.floor(version / 1000) end
  if not part or part == "MAJOR" and is == (major(was) + 1) * 1000 or
     part == "MINOR" and (is == was + 1 or major(is) > major(was)) then
    return nil
  end
  return ("the interface changed: ST_API_%s in core/strided.h must grow by 1"
          .. "%s\n%s\n"):format(part, part == "MAJOR" and
          ", and ST_API_MINOR be 0" or "", table.concat(changes, "\n"))
end

--- Writes the list, for ./dev interface.
function interface.write()
  local old, new = files.read(interface.path), interface.list()
  local wrong = old and interface.wrong_version(old, new)
  if wrong then
    io.stderr:write("dev: ", wrong)
    os.exit(1)
  end
  files.write(interface.path, new)
end

return interface
