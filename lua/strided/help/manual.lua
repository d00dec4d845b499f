--- The pages of the documentation, docs/*.md, as text for the prompt: `?tour`.
--
-- They are installed beside the modules, in strided/docs; in the source tree
-- they are in docs. Where they are not there, nothing is known of them.
--
-- @module strided.help.manual

local core = require "strided.core"
local pages = require "strided.help.pages"

local concat, find, gmatch, gsub, match, rep, sub = table.concat, string.find,
  string.gmatch, string.gsub, string.match, string.rep, string.sub
local ipairs, max, open, package = ipairs, math.max, io and io.open, package

local WIDTH = 78

local LINES = {
  {"tour", "half an hour with the library, to type along"},
  {"coming-from", "from PyTorch, NumPy or torch7, side by side"},
  {"indexing", "all forms of subscripts, and slices of Python"},
  {"broadcasting", "shapes that differ, step by step"},
  {"layouts", "strides, views and formats of memory"},
  {"operators-lua", "operators of your own in Lua"},
  {"operators-c", "operators of your own in C"},
  {"embedding", "nginx, Neovim, HAProxy, Tarantool, C programs"},
  {"memory", "what frees tensors, and limits"},
  {"reproducibility", "what has the same bits when"},
  {"performance", "what is fast, and how to make it so"},
}

local ALSO = {
  coming = "coming-from",
  numpy = "coming-from", pytorch = "coming-from", torch7 = "coming-from",
  embed = "embedding", reproducible = "reproducibility", speed = "performance",
}

local known = {}
for _, row in ipairs(LINES) do known[row[1]] = true end

local manual = {}

-- -- Files --------------------------------------------------------------------

--- The text of a page as it is written, or nil.
local function read(name)
  if not open then return nil end
  for template in gmatch(package.path, "[^;]+") do
    local folder = match(template, "^(.*)%?%.lua$")
    for _, place in ipairs(folder and {"strided/docs/", "../docs/"} or {}) do
      local file = open(folder .. place .. name .. ".md")
      if file then
        local text = file:read "*a"
        file:close()
        return text
      end
    end
  end
end

-- -- Tables -------------------------------------------------------------------

local function cells_of(row)
  local cells = {}
  row = gsub(row, "\\|", "\1")
  for cell in gmatch(sub(row, 2), "%s*(.-)%s*|") do
    cells[#cells + 1] = gsub(cell, "\1", "|")
  end
  return cells
end

--- The number of characters of a text in UTF-8.
local function columns(text) return #gsub(text, "[\128-\191]", "") end

--- Breaks a text into lines; those after the first are indented by more.
local function fill(text, indent, more)
  local lines, line = {}, nil
  for word in gmatch(text, "%S+") do
    if line and columns(line) + 1 + columns(word) > WIDTH then
      lines[#lines + 1], line, indent = line, nil, more or indent
    end
    line = line and line .. " " .. word or rep(" ", indent) .. word
  end
  lines[#lines + 1] = line
  return concat(lines, "\n")
end

--- A table in columns, or, if it is too wide, an entry below the other.
local function table_text(rows)
  local widths, total = {}, 0
  for _, cells in ipairs(rows) do
    for i, cell in ipairs(cells) do
      widths[i] = max(widths[i] or 0, columns(cell))
    end
  end
  for _, width in ipairs(widths) do total = total + width + 2 end
  local lines = {}
  for _, cells in ipairs(rows) do
    local line = ""
    for i, cell in ipairs(cells) do
      line = line .. "  " .. cell .. rep(" ", widths[i] - columns(cell))
    end
    if total > WIDTH then
      line = fill(cells[1], 2) .. "\n" .. fill(concat(cells, " | ", 2), 6)
    end
    lines[#lines + 1] = gsub(line, "%s+$", "")
  end
  return concat(lines, "\n")
end

-- -- Markdown as text ---------------------------------------------------------

--- A page that another one includes, without its title.
local function included(path)
  local page = match(path, "help/([%w_]+)%.md$")
  local text = page and pages.text(page, true)
  return text and gsub(text, "^[^\n]*\n\n?", "") or nil
end

--- Prose without marks.
local function plain(text)
  text = gsub(text, "!%[([^%]]*)%]%b()", function(words)
    return "[picture: " .. words .. "]"
  end)
  text = gsub(text, "%[([^%[%]]-)%]%([^)%s]+%)", "%1")
  text = gsub(text, "%*%*(.-)%*%*", "%1")
  return (gsub(gsub(text, "`", ""), "\\([_*<|])", "%1"))
end

--- A paragraph, or the items of a list.
local function prose_text(lines)
  local items = {}
  for _, line in ipairs(lines) do
    local starts = find(line, "^[*-] ") or find(line, "^%d+%. ")
    if starts or not items[1] then
      items[#items + 1] = line
    else
      items[#items] = items[#items] .. "\n" .. line
    end
  end
  for i, item in ipairs(items) do
    local mark = match(item, "^[*-] ") or match(item, "^%d+%. ")
    items[i] = fill(plain(item), 0, mark and #mark or 0)
  end
  return concat(items, "\n")
end

--- The lines of a fenced block, which `next_line` gives, as text.
local function block_text(first, next_line)
  local kind, argument = match(first, "^[`:]+{([%w:]+)}%s*(.*)$")
  local fence, lines = match(first, "^([`:]+)"), {}
  for line in next_line do
    if sub(line, 1, #fence) == fence and find(line, "^[`:]+$") then break end
    lines[#lines + 1] = (kind or line == "") and line or "  " .. line
  end
  if kind == "include" then return included(argument) end
  if kind == "literalinclude" then
    return "  (see " .. gsub(argument, "^files/", "") .. ")"
  end
  return kind ~= "toctree" and concat(lines, "\n") or nil
end

local function text_of(markdown)
  local out, rows, prose = {}, {}, {}
  local next_line = gmatch(markdown .. "\n", "([^\n]*)\n")
  local function flush()
    if prose[1] then out[#out + 1] = prose_text(prose) end
    if rows[1] then out[#out + 1] = table_text(rows) end
    prose, rows = {}, {}
  end
  for line in next_line do
    if find(line, "^|[%s|:-]+$") then
      prose = {} -- below the head of a table
    elseif find(line, "^|") then
      rows[#rows + 1] = cells_of(plain(line))
    elseif find(line, "^[`:][`:][`:]") then
      flush()
      out[#out + 1] = block_text(line, next_line)
    elseif not find(line, "^%([%w-]+%)=$") and not find(line, "^%%") then
      if rows[1] or line == "" then flush() end
      if line == "" then out[#out + 1] = "" else
        prose[#prose + 1] = gsub(line, "^#+ ", "")
      end
    end
  end
  flush()
  return (gsub(concat(out, "\n"), "\n\n\n+", "\n\n"))
end

-- -- Public functions ---------------------------------------------------------

--- The text of a page of the documentation: "tour", "docs.memory". Nil if
-- there is none of that name.
-- @tparam string name
-- @treturn ?string
function manual.text(name)
  name = gsub(gsub(name, "^docs[./]", ""), "_", "-")
  name = ALSO[name] or name
  local text = known[name] and read(name)
  return text and (gsub(text_of(text), "%s+$", "")) or nil
end

--- The pages as entries of strided.help.catalogue; none if they are not there.
function manual.entries()
  local list = {}
  for i, row in ipairs(read "tour" and LINES or {}) do
    local name = row[1]
    local is_taken = pages.text(name) or core.packet("aten::" .. name)
    if is_taken then name = "docs." .. name end
    list[i] = {name = name, kind = "page", line = row[2], topic = "page"}
  end
  return list
end

return manual
