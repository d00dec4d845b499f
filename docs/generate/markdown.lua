--- Texts of comments and messages as Markdown, and files.
--
-- @module docs.generate.markdown

local concat, find, gsub, match, min, sub = table.concat, string.find,
  string.gsub, string.match, math.min, string.sub

local markdown = {}

local written = {} -- paths

-- -- Files --------------------------------------------------------------------

--- The text of a file, or nil.
function markdown.read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "*a"
  file:close()
  return text
end

--- Writes a file, unless it has this text: what does not change is not built
-- again.
function markdown.write(path, text)
  written[path] = true
  if markdown.read(path) == text then return end
  os.execute("mkdir -p '" .. match(path, "^(.*)/") .. "'")
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

--- Removes the pages of a folder that were not written: of an earlier source.
function markdown.remove_others(folder)
  for _, path in ipairs(markdown.files("'" .. folder .. "' -name '*.md'")) do
    if not written[path] then os.remove(path) end
  end
end

--- The paths that `find` lists.
function markdown.files(arguments)
  local list = {}
  local pipe = assert(io.popen("find " .. arguments .. " | sort"))
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

-- -- Labels -------------------------------------------------------------------

--- A label for a name. Labels have no capitals, so one is marked by "--".
function markdown.label(kind, name)
  name = gsub(name, "[^%w]+", "-")
  name = gsub(name, "%u", function(c) return "--" .. c:lower() end)
  return kind .. "-" .. name
end

-- -- Text ---------------------------------------------------------------------

local function escape(text)
  text = gsub(text, "[\\<%[%]_*]", "\\%0")
  return (gsub(text, "^(%d+)%. ", "%1\\. "))
end

--- A line or a paragraph; what is in backquotes stays.
function markdown.escape(text)
  local parts, at = {}, 1
  while true do
    local first, last = find(text, "`[^`]+`", at)
    parts[#parts + 1] = escape(sub(text, at, (first or 0) - 1))
    if not first then return concat(parts) end
    parts[#parts + 1] = sub(text, first, last)
    at = last + 1
  end
end

--- A cell of a table.
function markdown.cell(text)
  return (gsub(gsub(markdown.escape(text), "|", "\\|"), "\n", " "))
end

function markdown.code(text, language)
  return "```" .. (language or "lua") .. "\n" .. text .. "\n```"
end

--- Words in one line as code.
function markdown.inline(text) return "`" .. gsub(text, "`", "'") .. "`" end

--- The lines of a comment: paragraphs, lists with "* ", indented code.
function markdown.comment(lines)
  local out, code, paragraph, list, indent = {}, nil, {}, false, 0
  local function flush()
    if paragraph[1] then
      local text = concat(paragraph, "\n")
      local mark, rest = match(text, "^(%s*[*-] )(.*)$")
      if not mark then mark, rest = match(text, "^(%s*%d+%. )(.*)$") end
      out[#out + 1] = mark and mark .. markdown.escape(rest)
                      or markdown.escape(text)
      paragraph = {}
    end
    if code then
      while code[#code] == "" do code[#code] = nil end
      out[#out + 1] = markdown.code(concat(code, "\n"), "signature")
      out[#out + 1] = ""
      code = nil
    end
  end
  for _, line in ipairs(lines) do
    if find(line, "^%s*$") then
      if code then code[#code + 1] = "" else flush(); out[#out + 1] = "" end
      list = list and code ~= nil
    elseif find(line, "^%s*[*-] ") or find(line, "^%s*%d+%. ") then
      if code or not list then flush(); out[#out + 1] = "" end
      flush()
      paragraph, list = {line}, true
    elseif not list and find(line, "^  ") and
           (code or not paragraph[1] or find(line, "^    ")) then
      if not code then
        flush()
        code, indent = {}, #match(line, "^ *")
      end
      code[#code + 1] = sub(line, min(indent, #match(line, "^ *")) + 1)
    else
      if code then flush() end
      paragraph[#paragraph + 1] = line
    end
  end
  flush()
  return (gsub(concat(out, "\n"), "\n\n\n+", "\n\n"))
end

return markdown
