--- Writes spec/COVERAGE.md: which names of PyTorch and of the Array API exist
-- here, how others are written, and which are out of scope.
--
--     ./dev coverage
--
-- names.txt lists the names, spellings.lua says how they are written and why
-- they are out of scope; whether a name exists is asked of strided.

local st = require "strided"
local core = require "strided.core"
local files = require "spec.support.files"
local spellings = require "spec.coverage.spellings"

local root = require("spec.support.build").root
local NAMES, TABLE = root .. "/spec/coverage/names.txt",
                     root .. "/spec/COVERAGE.md"

local coverage = {}

-- -- Names that exist --------------------------------------------------------

local function field(of)
  return function(name)
    local ok, value = pcall(function() return of[name] end)
    return ok and value ~= nil
  end
end

--- The same of a part of the library that is loaded when it is used.
local function part(...)
  local path = {...}
  return function(name)
    local of = st
    for _, each in ipairs(path) do
      local ok, value = pcall(function() return of[each] end)
      if not ok then return false end
      of = value
    end
    return field(of)(name)
  end
end

local sample = st.ones(2, 2)

local function member(name)
  return core.properties[name] ~= nil or field(sample)(name)
end

--- Where the names of a family are looked for: what precedes them in Lua, and
-- a function that tells whether one exists.
coverage.families = {
  {"torch", "st.", field(st)},
  {"torch.Tensor", "t:", member},
  {"torch.linalg", "st.linalg.", field(st.linalg)},
  {"torch.fft", "st.fft.", field(st.fft)},
  {"torch.special", "st.special.", field(st.special)},
  {"torch.nn.functional", "st.", field(st)},
  {"torch.nn", "st.nn.", part("nn")},
  {"torch.nn.init", "st.nn.init.", part("nn", "init")},
  {"torch.nn.utils", "st.nn.utils.", part("nn", "utils")},
  {"torch.optim", "st.optim.", part("optim")},
  {"torch.optim.lr_scheduler", "st.optim.lr_scheduler.",
   part("optim", "lr_scheduler")},
  {"torch.utils.data", "st.data.", part("data")},
  {"torch.amp", "st.amp.", part("amp")},
  {"torch.signal.windows", "st.signal.windows.", part("signal", "windows")},
  {"torch.masked", "st.masked.", field(st.masked)},
  {"torch.distributions", "st.distributions.", part("distributions")},
  {"Array API", "st.", field(st)},
  {"Array API linalg", "st.linalg.", field(st.linalg)},
  {"Array API fft", "st.fft.", field(st.fft)},
  {"Array API array", "t:", member},
}

--- The names of each family, and the line that says where they come from.
function coverage.names()
  local text, set, list = assert(files.read(NAMES)), {}, nil
  for line in text:gmatch "[^\n]+" do
    local family = line:match "^%[(.*)%]$"
    if family then
      list = {}
      set[family] = list
    elseif list then
      for name in line:gmatch "%S+" do list[#list + 1] = name end
    end
  end
  return set, text:match "^(.-)%.?\n"
end

--- The number of the reason in spellings.out_of_scope for a name, or nil.
local function scope(family, name)
  for i, reason in ipairs(spellings.out_of_scope) do
    if not reason.families or reason.families[family] then
      for pattern in reason.names:gmatch "%S+" do
        if name:find("^" .. pattern .. "$") then return i end
      end
    end
  end
end

--- Sorts the names of a family.
-- @treturn table lists `have`, `written`, `out`, `missing` and `twice`; the
-- elements of `written` and `out` are pairs of a name and the reason
function coverage.sort(family, names)
  local lists = {have = {}, written = {}, out = {}, missing = {}, twice = {}}
  local written = spellings.written[family[1]] or {}
  local function add(list, value) list[#list + 1] = value end
  for _, name in ipairs(names) do
    local number = not written[name] and scope(family[1], name)
    if family[3](name) then
      add(lists.have, name)
      if written[name] or number then add(lists.twice, name) end
    elseif written[name] then
      add(lists.written, {name, written[name]})
    elseif number then
      add(lists.out, {name, number})
    else
      add(lists.missing, name)
    end
  end
  return lists
end

-- -- The text ----------------------------------------------------------------

local OPENING = [[
# Coverage

%s, and
which of them strided has. `./dev coverage` writes this file: it asks strided
for each name of `spec/coverage/names.txt`; `spec/coverage/spellings.lua` says
how the others are written, or why they are out of scope. In the code, `t` is
the tensor, and positions count from 1.

| family | here | have / of | written otherwise | out of scope | missing |
|---|---|---|---|---|---|
]]

local MEANING = [[
These exist, with the meaning or the defaults of PyTorch; the standard's are
written:

| there | here |
|---|---|
]]

local function wrapped(words)
  local lines, line = {}, ""
  for _, word in ipairs(words) do
    if #line + #word + 1 > 80 then
      lines[#lines + 1], line = line, ""
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n") .. "\n"
end

--- "`a`, `b`."
local function listed(names)
  local words = {}
  for i, name in ipairs(names) do
    words[i] = "`" .. name .. "`" .. (i < #names and "," or ".")
  end
  return words
end

local function section(family, lists)
  local parts = {"## " .. family[1] .. "\n\n"}
  local function add(text) parts[#parts + 1] = text end
  if #lists.written > 0 then
    add "| there | here |\n|---|---|\n"
    for _, pair in ipairs(lists.written) do
      add(("| `%s` | `%s` |\n"):format(pair[1], pair[2]))
    end
    add "\n"
  end
  local meaning = spellings.meaning[family[1]]
  if meaning then
    add(MEANING)
    for _, name in ipairs(lists.have) do
      if meaning[name] then
        add(("| `%s` | `%s` |\n"):format(name, meaning[name]))
      end
    end
    add "\n"
  end
  for number, reason in ipairs(spellings.out_of_scope) do
    local names = {}
    for _, pair in ipairs(lists.out) do
      if pair[2] == number then names[#names + 1] = pair[1] end
    end
    if #names > 0 then
      local words = listed(names)
      table.insert(words, 1, "Out of scope, " .. reason.why .. ":")
      add(wrapped(words) .. "\n")
    end
  end
  if #lists.missing > 0 then
    local words = listed(lists.missing)
    table.insert(words, 1, "Missing:")
    add(wrapped(words) .. "\n")
  end
  return #parts > 1 and table.concat(parts) or ""
end

--- The text of spec/COVERAGE.md.
function coverage.text()
  local names, origin = coverage.names()
  local rows, sections = {}, {}
  for i, family in ipairs(coverage.families) do
    local lists = coverage.sort(family, names[family[1]])
    rows[i] = ("| %s | `%s` | %d / %d | %d | %d | %d |\n"):format(
      family[1], family[2], #lists.have, #names[family[1]], #lists.written,
      #lists.out, #lists.missing)
    sections[i] = section(family, lists)
  end
  local text = OPENING:format(origin) .. table.concat(rows) .. "\n"
               .. table.concat(sections)
  return (text:gsub("\n+$", "\n"))
end

function coverage.read() return files.read(TABLE) end

function coverage.write() files.write(TABLE, coverage.text()) end

return coverage
