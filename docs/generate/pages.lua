--- The pages that are written by hand: docs/*.md, the pages of st.help,
-- sections of the README, and other documents of the source tree.
--
-- @module docs.generate.pages

local help_pages = require "strided.help.pages"
local markdown = require "docs.generate.markdown"

local concat = table.concat
local find, gsub, match = string.find, string.gsub, string.match

local pages = {}

-- Documents outside of docs/ that become pages, where they exist.
local DOCUMENTS = {
  {"core/README.md", "engine"}, {"lua/README.md", "binding"},
  {"spec/SEMANTICS.md", "semantics"}, {"spec/COVERAGE.md", "coverage"},
  {"rocks/strided-example/README.md", "rock-example"},
  {"rocks/strided-image/README.md", "rock-image"},
  {"rocks/strided-mpi/README.md", "rock-mpi"},
  {"examples/nginx/README.md", "example-nginx"},
  {"examples/neovim/README.md", "example-neovim"},
  {"CONTRIBUTING.md", "contributing"}, {"CHANGELOG.md", "changelog"},
}

local page_of = {["README.md"] = "index"} -- by path
for _, row in ipairs(DOCUMENTS) do page_of[row[1]] = row[2] end

-- -- Links --------------------------------------------------------------------

--- Applies a function to the parts of a text outside of fenced code.
local function outside_code(text, fn)
  local out, fence = {}, nil
  local block = {}
  local function flush()
    if block[1] then out[#out + 1] = fn(concat(block, "\n")) end
    block = {}
  end
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    local mark = match(line, "^%s*(```+)") or match(line, "^%s*(:::+)")
    if not fence and mark then
      flush()
      fence, out[#out + 1] = mark, line
    elseif fence then
      if mark and #mark >= #fence and find(line, "^%s*[`:]+%s*$") then
        fence = nil
      end
      out[#out + 1] = line
    else
      block[#block + 1] = line
    end
  end
  flush()
  return (gsub(concat(out, "\n"), "\n$", ""))
end

--- Makes `st.name` a link to what is said about it.
local function link_names(text, labels)
  return (gsub(text, "()`(st%.)([%a_][%w_.]*)([^`\n]*)`()",
    function(from, st, name, rest, to)
      local label = labels[name]
      local is_linked = text:sub(from - 1, from - 1) == "[" or
                        text:sub(to, to) == "]"
      if not label or is_linked or find(rest, "^[%w_]") then return nil end
      return "[`" .. st .. name .. rest .. "`](" .. label .. ")"
    end))
end

local function folder_of(path) return match(path, "^(.*/)") or "" end

--- Resolves "a/b/../c".
local function normal(path)
  repeat
    local n
    path, n = gsub(path, "[^/]+/%.%./", "", 1)
  until n == 0
  return (gsub(path, "^%./", ""))
end

--- Links between files of the source tree lead to pages; others are words.
local function link_files(text, path)
  return (gsub(text, "(!?)%[([^%]]*)%]%(([^)%s]+)%)", function(image, words, to)
    if find(to, "^%w+:") or not find(to, "[./]") then return nil end
    local target, anchor = match(normal(folder_of(path) .. to), "^([^#]*)(.*)$")
    if image == "!" then
      return "![" .. words .. "](pictures/" .. match(target, "[^/]*$") .. ")"
    elseif page_of[target] and markdown.read(target) then
      return "[" .. words .. "](" .. page_of[target] .. ".md" .. anchor .. ")"
    elseif match(target, "^docs/[%w-]+%.md$") then
      return "[" .. words .. "](" .. target:sub(6) .. anchor .. ")"
    end
    return words
  end))
end

local function adapt(text, path, labels)
  return outside_code(text, function(part)
    return link_names(link_files(part, path), labels)
  end)
end

-- -- Pages of st.help ---------------------------------------------------------

--- A line of prose: what is code in it as code, and ?name as a link.
local function prose(line, labels)
  line = gsub(line, "%f[%w]st%.[%w_.]*%w%b()", "`%0`")
  line = gsub(line, "%f[%w]t:[%w_]+%b()", "`%0`")
  line = markdown.escape(line)
  return (gsub(line, "%?([%a_][%w_.\\]*%w)", function(name)
    name = gsub(name, "\\", "")
    local label = labels[name]
    local text = "`?" .. name .. "`"
    return label and "[" .. text .. "](" .. label .. ")" or text
  end))
end

--- Lines that are indented by two are what one types and what is printed.
local function help_page(text, labels)
  local out, code = {}, nil
  local function flush()
    if code then
      while code[#code] == "" do code[#code] = nil end
      local is_session = find(code[1], "^> ")
      local list = concat(code, "\n")
      out[#out + 1] = markdown.code(list, is_session and "session" or "text")
      out[#out + 1] = ""
      code = nil
    end
  end
  for line in (gsub(text, "^[^\n]*\n", "") .. "\n"):gmatch "([^\n]*)\n" do
    local inner = match(line, "^  (.*)$")
    if inner then
      code = code or {}
      code[#code + 1] = inner
    elseif line == "" and code then
      code[#code + 1] = ""
    else
      flush()
      out[#out + 1] = prose(line, labels)
    end
  end
  flush()
  return concat(out, "\n") .. "\n"
end

-- -- Writing ------------------------------------------------------------------

local function slug(title)
  return (gsub(gsub(title:lower(), "[^%w]+", "-"), "^%-*(.-)%-*$", "%1"))
end

--- Writes include/readme/SECTION.md for each "## Section".
local function write_readme(folder, labels)
  local text = markdown.read "README.md"
  local title, lines = "introduction", {}
  local function flush()
    local section = concat(lines, "\n"):gsub("^# [^\n]*\n", "")
    markdown.write(folder .. "/include/readme/" .. slug(title) .. ".md",
                   adapt(section, "README.md", labels) .. "\n")
    lines = {}
  end
  for line in text:gmatch "([^\n]*)\n" do
    local next_title = match(line, "^## (.*)$")
    if next_title then
      flush()
      title = next_title
    else
      lines[#lines + 1] = line
    end
  end
  flush()
end

--- A toctree names pages of documents that may be missing: "?contributing".
local function without_missing(text)
  return (gsub(text, "\n%?([%w-]+)", function(name)
    local exists = markdown.read("docs/" .. name .. ".md") ~= nil
    for _, row in ipairs(DOCUMENTS) do
      exists = exists or row[2] == name and markdown.read(row[1]) ~= nil
    end
    return exists and "\n" .. name or ""
  end))
end

--- Writes all of them.
-- @tparam string folder
-- @tparam table labels of names, from docs.generate.operators
function pages.write(folder, labels)
  for _, path in ipairs(markdown.files "docs -maxdepth 1 -name '*.md'") do
    local text = without_missing(markdown.read(path))
    markdown.write(folder .. "/" .. match(path, "[^/]*$"),
                   adapt(text, path, labels))
  end
  for _, row in ipairs(DOCUMENTS) do
    local text = markdown.read(row[1])
    if text then
      markdown.write(folder .. "/" .. row[2] .. ".md",
                     adapt(text, row[1], labels))
    end
  end
  for _, entry in ipairs(help_pages.entries()) do
    local text = help_page(help_pages.text(entry.name, true), labels)
    markdown.write(folder .. "/include/help/" .. entry.name .. ".md",
                   outside_code(text, function(part)
                     return link_names(part, labels)
                   end))
  end
  write_readme(folder, labels)
end

return pages
