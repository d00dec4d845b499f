--- The public C header, a page per part, from the comments in it.
--
-- A comment belongs to the declarations below it up to the next comment or an
-- empty line; one at the end of a line to that line. Functions become
-- declarations of Sphinx's C domain, which are in the index and the search;
-- types and macros are shown as they are.
--
-- @module docs.generate.headers

local markdown = require "docs.generate.markdown"

local concat = table.concat
local find, gsub, match = string.find, string.gsub, string.match

local headers = {}

-- The parts, in the order in which one reads them.
local PARTS = {
  {"strided", "Tensors and calls", "core/strided.h"},
  {"types", "Types", "core/abi/types.h"},
  {"dispatch", "Operators and dispatch", "core/abi/strided_dispatch.h"},
  {"kernels", "Typed kernels", "core/abi/kernel_types.h"},
  {"signature", "Signatures", "core/abi/signature.h"},
  {"plan", "Iterators", "core/abi/strided_plan.h"},
  {"grad", "Gradients", "core/abi/strided_grad.h"},
  {"fuse", "Fusion", "core/abi/strided_fuse.h"},
  {"layout", "Layouts", "core/abi/strided_layout.h"},
  {"layout_types", "Types of layouts", "core/abi/layout_types.h"},
  {"memory", "Memory, limits, sharing", "core/abi/strided_memory.h"},
  {"lists", "The parts of the header", "core/abi/lists.h"},
}

-- Lines that are not for readers.
local SKIPPED = {"^#%s*if", "^#%s*endif", "^#%s*else", "^#%s*include",
                 "^extern \"C\"", "^}$", "^#%s*define ST_[%w_]+_H$"}

local function is_skipped(line)
  for _, pattern in ipairs(SKIPPED) do
    if find(line, pattern) then return true end
  end
end

-- -- Reading ------------------------------------------------------------------

--- Takes a comment from the lines; returns its text lines and the next line's
-- number.
local function take_comment(lines, i)
  local out = {}
  local line = gsub(lines[i], "^%s*/%*%s?", "")
  while true do
    local last = find(line, "%*/")
    out[#out + 1] = gsub(last and line:sub(1, last - 1) or line, "%s+$", "")
    if last then return out, i + 1 end
    i = i + 1
    line = lines[i]
    if not find(line, "^%s*%*/") then line = gsub(line, "^%s*%* ?", "") end
  end
end

--- Takes a declaration: to the ";" that is outside of braces, or a macro to
-- its last line.
local function take_declaration(lines, i)
  local out, depth = {}, 0
  local is_macro = find(lines[i], "^#")
  while lines[i] do
    local line = lines[i]
    out[#out + 1] = line
    i = i + 1
    if is_macro then
      if not find(line, "\\$") then break end
    else
      local code = gsub(line, "/%*.-%*/", "")
      for c in code:gmatch "[{}]" do depth = depth + (c == "{" and 1 or -1) end
      if depth <= 0 and find(code, ";%s*$") then
        -- A comment at the end may go on in the next lines.
        break
      elseif depth <= 0 and find(code, ";%s*/%*") then
        while lines[i] and not find(out[#out], "%*/") do
          out[#out + 1] = lines[i]
          i = i + 1
        end
        break
      end
    end
  end
  return out, i
end

--- The items of a header: {section =} or {text =, code = {lines, ...}}.
local function items_of(path)
  local lines, items = {}, {}
  for line in markdown.read(path):gmatch "([^\n]*)\n" do
    lines[#lines + 1] = line
  end
  local i, item = 1, nil
  while lines[i] do
    local line = lines[i]
    local section = match(line, "^/%* %-%- (.-) %-+ %*/$")
    if section then
      items[#items + 1], item, i = {section = section}, nil, i + 1
    elseif find(line, "^%s*$") then
      item, i = nil, i + 1
    elseif find(line, "^/%*") then
      local text
      text, i = take_comment(lines, i)
      item = {text = text, code = {}}
      items[#items + 1] = item
    elseif is_skipped(line) then
      i = i + 1
    else
      if not item then
        item = {text = {}, code = {}}
        items[#items + 1] = item
      end
      item.code[#item.code + 1], i = take_declaration(lines, i)
    end
  end
  return items
end

-- -- Writing ------------------------------------------------------------------

--- A declaration of a function in one line, and its trailing comment; nil for
-- anything else.
local function function_of(code)
  local text = concat(code, " ")
  local comment = match(text, ";%s*/%*%s*(.-)%s*%*/%s*$")
  text = gsub(gsub(text, "/%*.-%*/", ""), "%s+", " ")
  text = gsub(text, "__attribute__%s*%b()%s*", "")
  if not find(text, "ST_API") or find(text, "^typedef") or
     find(text, "[{#]") then
    return nil
  end
  text = gsub(gsub(text, "ST_API ", ""), ";%s*$", "")
  return text, comment and gsub(comment, "%s+%* ", " ")
end

local function write_item(item, add)
  local functions, notes, code = {}, {}, {}
  for _, lines in ipairs(item.code) do
    local declaration, comment = function_of(lines)
    if declaration then
      functions[#functions + 1] = declaration
      if comment then
        local name = match(declaration, "([%w_]+)%s*%(")
        notes[#notes + 1] = "`" .. name .. "`: " .. markdown.escape(comment)
                            .. "."
      end
    else
      code[#code + 1] = concat(lines, "\n")
    end
  end
  local text = markdown.comment(item.text)
  if code[1] then
    if text ~= "" then add(text) end
    add(markdown.code(concat(code, "\n"), "c"))
    text = ""
  end
  if functions[1] then
    -- Those of one comment stand above it.
    for i = 1, #functions - 1 do
      add(":::{c:function} " .. functions[i] .. "\n:::")
    end
    add(":::{c:function} " .. functions[#functions] .. "\n\n" .. text
        .. (notes[1] and "\n\n" .. concat(notes, "\n\n") or "") .. "\n:::")
  elseif text ~= "" then
    add(text)
  end
end

--- Writes headers/PART.md and their index.
-- @tparam string folder
-- @tparam table links gets the paths of the sources
function headers.write(folder, links)
  local tree, rows, list = {}, {"| part | file |\n|---|---|"}, {}
  for i, part in ipairs(PARTS) do
    local name, title, path = part[1], part[2], part[3]
    local parts = {"% Written by docs/generate/headers.lua.", "# " .. title,
                   "From <a href=\"../sources/" .. path .. ".txt\">" .. path
                   .. "</a>."}
    local function add(text) parts[#parts + 1] = text end
    for _, item in ipairs(items_of(path)) do
      if item.section then
        add("## " .. item.section)
      else
        write_item(item, add)
      end
    end
    links[path], tree[i] = true, name
    rows[#rows + 1] = ("| [%s](%s.md) | `%s` |"):format(title, name, path)
    markdown.write(folder .. "/headers/" .. name .. ".md",
                   concat(parts, "\n\n") .. "\n")
    list[i] = path
  end
  local head = assert(markdown.read "docs/include/headers.md")
  markdown.write(folder .. "/headers/index.md", head .. "\n"
    .. concat(rows, "\n") .. "\n\n```{toctree}\n:hidden:\n\n"
    .. concat(tree, "\n") .. "\n```\n")
  return list
end

return headers
