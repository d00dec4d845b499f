--- The notes in the sources, "Note [Title]", a page per folder.
--
-- A note begins with its title in a line of a comment of its own, and ends with
-- the comment or at the next note.
--
-- @module docs.generate.notes

local markdown = require "docs.generate.markdown"

local concat, sort = table.concat, table.sort
local find, gsub, match = string.find, string.gsub, string.match

local notes = {}

local TITLE = "^Note (%b[])%s*$"

--- The words of a line of a comment, or nil; and whether the comment ends.
local function words_of(line, is_lua, inside)
  if is_lua then
    local text = match(line, "^%s*%-%-+ ?(.*)$")
    return text, text == nil
  end
  local text = match(line, "^%s*/%*%s?(.*)$") or
               inside and (match(line, "^%s*%*/()$") and "" or
                           match(line, "^%s*%* ?(.*)$"))
  if not text then return nil, true end
  local last = find(text, "%*/%s*$")
  return last and gsub(text, "%s*%*/%s*$", "") or text, last ~= nil
end

--- The notes of a file: {title =, lines =}.
local function notes_of(path)
  local list, note, inside = {}, nil, false
  local is_lua = find(path, "%.lua$") ~= nil
  for line in (markdown.read(path) .. "\n"):gmatch "([^\n]*)\n" do
    local text, ends = words_of(line, is_lua, inside)
    local title = text and match(text, TITLE)
    if title then
      note = {title = title:sub(2, -2), lines = {}, path = path}
      list[#list + 1] = note
    elseif note and text then
      note.lines[#note.lines + 1] = gsub(text, "^%s?%s?$", "")
    end
    inside = text ~= nil and not ends
    if ends then note = nil end
  end
  return list
end

--- The folder of a page: "core/op", "lua/bind".
local function group_of(path)
  return match(path, "^(%w+/[%w_-]+)/") or match(path, "^(%w+)/")
end

local function label(title) return markdown.label("note", title:lower()) end

--- Citations of notes become links.
local function linked(text, titles)
  return (gsub(text, "Note \\(%[[^%[%]\\]*)\\%]", function(cited)
    local title = gsub(cited:sub(2), "%s+", " ")
    return titles[title] and "[Note " .. title .. "](" .. label(title) .. ")"
  end))
end

local function page(group, list, titles, links)
  local parts = {"% Written by docs/generate/notes.lua.", "# " .. group}
  for _, note in ipairs(list) do
    parts[#parts + 1] = "(" .. label(note.title) .. ")=\n## "
                        .. markdown.escape(note.title)
    parts[#parts + 1] = "<a href=\"../sources/" .. note.path .. ".txt#:~:text="
      .. gsub("Note [" .. note.title .. "]", "[^%w]", function(c)
           return ("%%%02X"):format(c:byte())
         end) .. "\">" .. note.path .. "</a>"
    links[note.path] = true
    parts[#parts + 1] = linked(markdown.comment(note.lines), titles)
  end
  return concat(parts, "\n\n") .. "\n"
end

--- Writes notes/FOLDER.md and their index.
-- @tparam string folder
-- @tparam table links gets the paths of the sources
function notes.write(folder, links)
  local groups, names, titles = {}, {}, {}
  for _, path in ipairs(markdown.files(
    "core lua rocks bench \\( -name '*.[ch]' -o -name '*.def' -o "
    .. "-name '*.lua' \\) -not -path '*/build*'")) do
    for _, note in ipairs(notes_of(path)) do
      local group = group_of(path)
      if not groups[group] then
        groups[group], names[#names + 1] = {}, group
      end
      if not titles[note.title] then
        titles[note.title] = true
        table.insert(groups[group], note)
      end
    end
  end
  sort(names)
  local tree, rows = {}, {"| folder | notes |\n|---|---|"}
  for i, group in ipairs(names) do
    local file, cells = gsub(group, "/", "-"), {}
    markdown.write(folder .. "/notes/" .. file .. ".md",
                   page(group, groups[group], titles, links))
    for j, note in ipairs(groups[group]) do
      cells[j] = "[" .. markdown.cell(note.title) .. "](" .. label(note.title)
                 .. ")"
    end
    tree[i] = file
    rows[#rows + 1] = ("| [%s](%s.md) | %s |"):format(group, file,
                                                    concat(cells, ", "))
  end
  local head = assert(markdown.read "docs/include/notes.md")
  markdown.write(folder .. "/notes/index.md", head .. "\n"
    .. concat(rows, "\n") .. "\n\n```{toctree}\n:hidden:\n\n"
    .. concat(tree, "\n") .. "\n```\n")
end

return notes
