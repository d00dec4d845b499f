--- Searching help: lists by topic, names by word, and names like another one.
--
-- @module strided.help.search

local catalogue = require "strided.help.catalogue"
local groups = require "strided.help.groups"
local manual = require "strided.help.manual"
local pages = require "strided.help.pages"
local topics = require "strided.help.topics"

local concat, sort = table.concat, table.sort
local byte, find, format, gmatch, gsub, ipairs, lower, match, max, min, next,
  sub, type = string.byte, string.find, string.format, string.gmatch,
  string.gsub, ipairs, string.lower, string.match, math.max, math.min, next,
  string.sub, type

local require = require "strided.core".require

local WIDTH = 78
local NAMES = 30  -- columns for names
local MOST = 20   -- lines of a search

-- What is written in front of another word, as one word: argmax, nansum.
local FIRST = {"add", "arg", "cum", "log", "mat", "nan", "un"}

local search = {}

-- -- Lists --------------------------------------------------------------------

--- A text of at most so many columns.
local function cut(text, width)
  if #text <= width then return text end
  local short = sub(text, 1, width - 3)
  return (match(short, "^(.*%S)%s+%S*$") or short) .. "..."
end

--- Names and sentences, one line each.
-- @tparam {table,...} entries
-- @tparam[opt] number width the columns of names, at least
-- @treturn string
function search.list(entries, width)
  local lines = {}
  width = width or 0
  for _, e in ipairs(entries) do width = max(width, #e.name) end
  width = min(width, NAMES)
  for i, e in ipairs(entries) do
    local name = format("  %-" .. width .. "s  ", e.name)
    lines[i] = name .. cut(e.line, max(WIDTH - #name, 20))
  end
  return concat(lines, "\n")
end

--- The names of a topic by group, those of short topics in one list.
local function grouped(topic, entries)
  local list = groups.of(topic, entries)
  if not list then return search.list(entries) end
  local width, lines = 0, {}
  for _, e in ipairs(entries) do width = max(width, #e.name) end
  for _, group in ipairs(list) do
    lines[#lines + 1] = groups.heading(group)
    lines[#lines + 1] = search.list(group.entries, min(width, NAMES))
  end
  return concat(lines, "\n")
end

--- The names of a topic by kind: those of a topic in Lua are mostly classes.
-- @tparam string topic
-- @treturn ?string nil if there is no such topic
function search.topic(topic)
  topic = topics.named(topic)
  if not catalogue.has_topic(topic) then return nil end
  local entries = {}
  for _, e in ipairs(catalogue.all()) do
    -- Derivatives and copies are found by their own names.
    if e.topic == topic and e.kind ~= "method"
      and not find(e.name, "_backward$") then
      entries[#entries + 1] = e
    end
  end
  if not entries[1] then return nil end
  return format("%s: %s\n%s", topic, topics.line(topic),
                grouped(topic, entries))
end

--- The names of a module, "nn.utils"; nil if there are none.
function search.module(name)
  local entries, start = {}, name .. "."
  for _, e in ipairs(catalogue.all()) do
    if sub(e.name, 1, #start) == start then entries[#entries + 1] = e end
  end
  return entries[1] and format("st.%s\n%s", name, search.list(entries)) or nil
end

-- -- Words --------------------------------------------------------------------

local KINDS = {page = 0, operator = 1, ["function"] = 1, class = 2, method = 3}

local STEM = 5 -- letters that two forms of a word have in common, at least

--- The words of a name: "conv", "transpose2d"; "batch", "norm1d"; "nansum" and
-- "sum".
local function parts_of(name)
  local words = {}
  name = gsub(name, "(%l)(%u)", "%1.%2")
  for part in gmatch(lower(name), "[^._:-]+") do
    words[#words + 1] = part
    for _, first in ipairs(FIRST) do
      local rest = match(part, "^" .. first .. "(%l%l%l*)")
      if rest then words[#words + 1] = rest end
    end
  end
  return words
end

--- True for two forms of a word, such as interp and interpolate, or inverse
-- and invert.
local function is_related(a, b)
  local n = 0
  while n < #a and byte(a, n + 1) == byte(b, n + 1) do n = n + 1 end
  return n == #b and n >= STEM or n >= max(STEM, #a - 3, #b - 3)
end

--- How well a word fits an entry; nil if it does not.
local function score(entry, word)
  local line = lower(entry.line)
  if lower(entry.name) == word then return 100 end
  local best = 0
  for _, part in ipairs(parts_of(entry.name)) do
    if part == word then return 80 end
    if sub(part, 1, #word) == word then best = 50
    elseif is_related(word, part) then best = max(best, 45) end
  end
  local at = find(line, "%f[%w]" .. word .. "%f[%W]")
  if at then return at == 1 and 70 or 60 end
  if best > 0 then return best end
  if find(line, "%f[%w]" .. word) then return 40 end
  for other in gmatch(line, "%l+") do
    if is_related(word, other) then return 20 end
  end
end

local function rank(entries, words)
  local found = {}
  for _, e in ipairs(entries) do
    local total = 0
    for _, word in ipairs(words) do
      local n = total and score(e, word)
      total = n and total + n
    end
    if total then
      if find(e.name, "_backward$") or find(e.name, "_copy$") then
        total = total - 45
      end
      found[#found + 1] = {entry = e, total = total}
    end
  end
  sort(found, function(a, b)
    if a.total ~= b.total then return a.total > b.total end
    local ka, kb = KINDS[a.entry.kind], KINDS[b.entry.kind]
    if ka ~= kb then return ka < kb end
    return a.entry.name < b.entry.name
  end)
  return found
end

--- Searches names and first sentences for words.
-- @function apropos
-- @tparam string words all of them must be found: `"inverse"`,
-- `"running mean"`
-- @tparam[opt] table options `all = true` lists more than the best 20
-- @treturn string names and sentences, the best first
function search.apropos(words, options)
  local raise = require "strided.argument.caller_error"
  if type(words) ~= "string" then
    raise("apropos: argument 1 must be a string, got %s", type(words))
  end
  options = require "strided.option.options"("apropos", options, {all = true})
  local list = {}
  for word in gmatch(lower(words), "[%w_]+") do list[#list + 1] = word end
  if not list[1] then raise("apropos: '%s' has no word", words) end
  local entries = catalogue.all()
  for _, more in ipairs {pages.entries(), manual.entries(),
                          topics.entries()} do
    for _, entry in ipairs(more) do entries[#entries + 1] = entry end
  end
  local found = rank(entries, list)
  if not found[1] then return format("nothing is known about '%s'", words) end
  local best, seen, n = {}, {}, 0
  for _, row in ipairs(found) do
    local name = row.entry.name
    if not seen[name] then -- a page and a topic may have the same name
      seen[name], n = true, n + 1
      if n <= MOST or options.all then best[n] = row.entry end
    end
  end
  local text = search.list(best)
  if #best == n then return text end
  return format("%s\n  and %d more: st.apropos(%q, {all = true})", text,
                n - #best, words)
end

-- -- Similar names ------------------------------------------------------------

--- The names that are most similar to one.
-- @tparam string name
-- @treturn {string,...} at most three
function search.similar(name)
  local set = {}
  for _, e in ipairs(catalogue.all()) do
    local last = lower(match(e.name, "[^.:]+$"))
    if not set[last] or #e.name < #set[last] then set[last] = e.name end
  end
  for _, page in ipairs(pages.entries()) do set[page.name] = page.name end
  local last = match(name, "[^.:]+$") or name
  local list = {}
  for _, e in ipairs(catalogue.all()) do -- the same name elsewhere
    if match(e.name, "[^.:]+$") == last then list[1] = list[1] or e.name end
  end
  last = lower(last)
  local unknown_name = require "strided.name.unknown_name"
  for _, other in ipairs(unknown_name.similar(last, set)) do
    if set[other] ~= list[1] then list[#list + 1] = set[other] end
  end
  return list
end

--- The similar names as a question, or where to look.
function search.hint(name)
  local list = find(name, "%w") and search.similar(name) or {}
  if list[1] then return "did you mean " .. concat(list, ", ") .. "?" end
  local word = find(name, "^[%w_.: ]+$") and match(name, "%a[%w_ ]*")
  return word and format("search by st.apropos %q", word) or
         "st.help() lists the topics"
end

--- The topics and the names of others, such as the user's libraries.
function search.topics()
  local count = {}
  for _, e in ipairs(catalogue.all()) do
    if e.kind ~= "method" then count[e.topic] = (count[e.topic] or 0) + 1 end
  end
  local names = {}
  for name in next, count do names[#names + 1] = name end
  sort(names)
  local entries = {}
  for i, name in ipairs(names) do
    entries[i] = {name = name, line = format("%3d  %s", count[name],
                                             topics.line(name))}
  end
  return search.list(entries)
end

return search
