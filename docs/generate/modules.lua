--- A page for each group of Lua modules, from the comments in their files.
--
-- strided.nn and strided.nn.linear are one group, nn. What one reaches by st is
-- listed first under its public name; functions that only other modules of the
-- library call follow under the names in the file.
--
-- @module docs.generate.modules

local comments = require "strided.help.comments"
local examples = require "strided.help.examples"
local markdown = require "docs.generate.markdown"
local st = require "strided"

local concat, sort = table.concat, table.sort
local find, gsub, match = string.find, string.gsub, string.match

local modules = {}

-- Modules whose files are texts or lists, which other pages show.
local LEFT_OUT = {"^strided%.help%.pages%.", "^strided%.help%.examples%."}

local INNER = "inner" -- the page of groups that have nothing public

-- -- Reading ------------------------------------------------------------------

local function module_name(path)
  local name = match(path, "^lua/(.*)%.lua$"):gsub("/", ".")
  return name == "strided.init" and "strided" or name
end

--- The comment at the top of a file, without its tags.
local function head_of(text)
  local lines = {}
  for line in text:gmatch "([^\n]*)\n" do
    local words = match(line, "^%-%-%-? ?(.*)$")
    if not words or find(words, "^@") then break end
    lines[#lines + 1] = words
  end
  while lines[#lines] == "" do lines[#lines] = nil end
  return lines
end

--- The tables that a file gives to others: locals that it returns.
local function returned(text)
  local name = match(text, "\nreturn ([%w_]+)%s*$")
  return name
end

local function read(path)
  local module, text = module_name(path), markdown.read(path)
  local one = {name = module, path = path, head = head_of(text), items = {}}
  local owner = returned(text)
  for _, comment in ipairs(comments.of_file(io.open(path), module)) do
    local public = comments.public_name(comment)
    local is_public = find(public, "^st%.") ~= nil
    -- M is a module, as other names in capitals are classes.
    local is_method = comment.owner and comment.owner ~= "M" and
                      find(comment.owner, "^%u") ~= nil
    if (is_public or is_method or comment.owner and comment.owner == owner)
      and not find(comment.name, "^_") then
      comment.public = is_method and not is_public and
                       comment.owner .. ":" .. comment.name or public
      comment.is_public = is_public or is_method
      one.items[#one.items + 1] = comment
    end
  end
  return one
end

-- -- Writing ------------------------------------------------------------------

--- "name  type (default)  text" of a tag.
local function argument(tag, rest)
  local kind, name, text = match(rest, "^(%S+)%s+(%S+)%s*(.*)$")
  if find(tag, "^param") or not kind then
    kind, name, text = nil, match(rest, "^(%S+)%s*(.*)$")
  end
  local default = match(tag, "%[opt=(.*)%]")
  local is_optional = find(tag, "%[") ~= nil
  local line = "* `" .. name .. "`"
  if kind then line = line .. " " .. markdown.escape(kind) end
  if default then
    line = line .. ", default `" .. default .. "`"
  elseif is_optional then
    line = line .. ", optional"
  end
  if text ~= "" then line = line .. ": " .. markdown.escape(text) end
  return is_optional and "[" .. name .. "]" or name, line
end

local function describe(comment, add)
  local head, tags = comments.split(comment.lines)
  local arguments, lines = {}, {}
  for _, pair in ipairs(tags) do
    if find(pair[1], "^t?param") then
      arguments[#arguments + 1], lines[#lines + 1] = argument(pair[1], pair[2])
    elseif find(pair[1], "^t?return") then
      lines[#lines + 1] = "* returns " .. markdown.escape(pair[2])
    end
  end
  add(markdown.code(comment.public .. "(" .. concat(arguments, ", ") .. ")",
                    "signature"))
  if head[1] then add(markdown.comment(head)) end
  if lines[1] then add(concat(lines, "\n")) end
  if comment.before then
    local text = comments.split(comment.before.lines)
    add("`" .. comment.before.public .. "`: " .. markdown.escape(
      (gsub(concat(text, " "), "%s+", " "))))
  end
  local name = gsub(comment.public, "^st%.", "")
  local row = examples[name]
  if row then
    add(markdown.code(
      (row.code:find "%f[%w_]t%f[^%w_]" and "t = st.tensor {{1, 2}, {3, 4}}\n"
       or "") .. row.code .. "\n--> " .. row.result:gsub("\n", "\n    ")))
  end
end

--- The label of a comment, once: a name may be in two files.
local function label_line(comment, used)
  local name = gsub(comment.public, "^st%.", "")
  local label = markdown.label("lua", name)
  if used[label] or not comment.is_public then return "" end
  used[label] = true
  return "(" .. label .. ")=\n"
end

local function write_module(one, level, used, add)
  local mark = ("#"):rep(level)
  add("(" .. markdown.label("module", one.name) .. ")=\n" .. mark .. " "
      .. markdown.escape(one.name))
  if one.head[1] then add(markdown.comment(one.head)) end
  add("Source: <a href=\"../sources/" .. one.path .. ".txt\">" .. one.path
      .. "</a>")
  for pass = 1, 2 do
    for _, comment in ipairs(one.items) do
      if comment.is_public == (pass == 1) then
        comment.public = comment.public or comment.full
        add(label_line(comment, used) .. mark .. "# "
            .. markdown.escape(comment.public))
        describe(comment, add)
      end
    end
  end
end

local function is_left_out(name)
  for _, pattern in ipairs(LEFT_OUT) do
    if find(name, pattern) then return true end
  end
end

--- What one writes for a group: st.nn, but strided.io, which st does not have.
local function title_of(group)
  if group == "strided" then return "st" end
  local has_it, value = pcall(function() return st[group] end)
  return (has_it and value ~= nil and "st." or "strided.") .. group
end

--- Writes modules/GROUP.md and their index.
-- @tparam string folder
-- @treturn {string,...} the paths of the sources that the pages link to
function modules.write(folder)
  local groups, names, paths, used = {}, {}, {}, {}
  for _, path in ipairs(markdown.files "lua -name '*.lua'") do
    local name = module_name(path)
    if not is_left_out(name) then
      local one = read(path)
      local group = match(name, "^strided%.([%w_]+)") or "strided"
      if not groups[group] then
        groups[group], names[#names + 1] = {is_public = false}, group
      end
      local list = groups[group]
      list[#list + 1], paths[#paths + 1] = one, path
      for _, item in ipairs(one.items) do
        list.is_public = list.is_public or item.is_public
      end
    end
  end
  local inner = {}
  for i = #names, 1, -1 do
    local group = names[i]
    if not groups[group].is_public then
      for _, one in ipairs(groups[group]) do inner[#inner + 1] = one end
      table.remove(names, i)
    end
  end
  sort(inner, function(a, b) return a.name < b.name end)
  groups[INNER], names[#names + 1] = inner, INNER
  local tree, rows = {}, {"| module | |\n|---|---|"}
  for i, group in ipairs(names) do
    local parts = {}
    local function add(text) parts[#parts + 1] = text end
    add "% Written by docs/generate/modules.lua."
    if group == INNER then
      add("# inner modules\n\nModules that others of the library use.")
    else
      add("# " .. markdown.escape(title_of(group)))
    end
    for _, one in ipairs(groups[group]) do write_module(one, 2, used, add) end
    markdown.write(folder .. "/modules/" .. group .. ".md",
                   concat(parts, "\n\n") .. "\n")
    tree[i] = group
    local first = group ~= INNER and groups[group][1]
    local lines = first and first.head or {"Modules that others use."}
    local text = match(concat(lines, " ") .. "  ", "^(.-[.:])  ?%f[%s%u]")
                 or concat(lines, " ")
    text = gsub(text, "^(.-[^.]%.) .*$", "%1")
    rows[#rows + 1] = ("| [%s](%s.md) | %s |"):format(
      group, group, markdown.cell(text))
  end
  local head = assert(markdown.read "docs/include/modules.md")
  markdown.write(folder .. "/modules/index.md", head .. "\n"
    .. concat(rows, "\n") .. "\n\n```{toctree}\n:hidden:\n\n"
    .. concat(tree, "\n") .. "\n```\n")
  return paths, used
end

return modules
