--- The reference of the operators and functions, a page per topic: what the
-- registry and the help know of each, and what a probe finds out by calling its
-- example with other dtypes and shapes.
--
-- @module docs.generate.operators

local core = require "strided.core"
local catalogue = require "strided.help.catalogue"
local examples = require "strided.help.examples"
local functions = require "strided.help.functions"
local groups = require "strided.help.groups"
local markdown = require "docs.generate.markdown"
local operator = require "strided.help.operator"
local probe = require "docs.generate.probe"
local topics = require "strided.help.topics"

local concat, sort = table.concat, table.sort

local operators = {}

local GENERATED_BY = "% Written by docs/generate/operators.lua.\n\n"

-- -- One operator -------------------------------------------------------------

local function packet_named(name)
  return core.packet("aten::" .. name) or
         core.packet("aten::" .. name:gsub("%.", "_"))
end

local function overloads(packet)
  local list = {}
  for i, full in ipairs(packet:overloads()) do
    local name, overload = full:match "^([^.]*)%.?(.*)$"
    list[i] = core.packet(name)[overload == "" and "default" or overload]
              or packet
  end
  return list
end

local function signatures(list)
  local lines, seen = {}, {}
  for _, one in ipairs(list) do
    local schema = one:schema()
    if schema ~= "" then
      local text = operator.fold(operator.signature(schema)):gsub("^  ", "")
      if not seen[text] then lines[#lines + 1] = text end
      seen[text] = true
    end
  end
  return concat(lines, "\n")
end

local function derivatives(list)
  local lines, seen = {}, {}
  local composite = false
  for _, one in ipairs(list) do
    local text = one:derivative()
    if text and not seen[text] then
      seen[text] = true
      lines[#lines + 1] = text
    end
    composite = composite or one:table():find("math kernel", 1, true) ~= nil
  end
  if lines[1] then
    return "Derivative:\n\n" .. markdown.code(concat(lines, "\n"), "text")
  elseif composite then
    return "Derivative: composed of operators, whose derivatives are used."
  end
  return "Derivative: none."
end

local function example_of(packet, name)
  local base = packet:name():match "^aten::([^.]*)$"
  local doc = packet:doc()
  local other = doc and (doc:match "^Another name of ([%w_]+)"
                or doc:match "^The same as ([%w_]+)%.?$")
  return examples[base] or examples[name] or examples[other or ""]
end

local function example_text(code, result)
  local uses_t = code:find "%f[%w_]t%f[^%w_]"
  return markdown.code((uses_t and "t = st.tensor {{1, 2}, {3, 4}}\n" or "")
    .. code .. "\n--> " .. result:gsub("\n", "\n    "))
end

local function in_place(base)
  if base:find "_$" or not core.packet("aten::" .. base .. "_") then
    return nil
  end
  return "In place: `t:" .. base .. "_(...)`."
end

local function describe_operator(entry, add)
  local packet = packet_named(entry.name)
  local list = overloads(packet)
  if packet:doc() then add(markdown.escape(packet:doc())) end
  add(markdown.code(signatures(list), "signature"))
  local row = example_of(packet, entry.name)
  if row then
    add(example_text(row.code, row.result))
    add(probe.describe(row.code, packet:name():match "^aten::([^.]*)"))
  end
  add(in_place(packet:name():match "^aten::([^.]*)"))
  add(derivatives(list))
end

local function describe_function(entry, add)
  local f = functions[entry.name]
  add(markdown.escape(f.line))
  add(markdown.code((operator.fold(f.signature):gsub("^  ", "")),
                    "signature"))
  add(example_text(f.example, f.result))
end

-- -- Pages --------------------------------------------------------------------

local function is_shown(entry)
  return entry.kind ~= "method" and not entry.name:find "::"
end

--- The label of what an entry is about: its section here, or in the page of its
-- module.
local function label_of(entry)
  local is_here = entry.kind == "operator" or functions[entry.name]
  return markdown.label(is_here and "op" or "lua", entry.name), is_here
end

--- A table of the names of a group.
local function list_of(group)
  local title = group.title and "**" .. group.title:gsub("^%l", string.upper)
                                .. "**\n\n" or ""
  local rows = {title .. "| name | |\n|---|---|"}
  for _, e in ipairs(group.entries) do
    rows[#rows + 1] = ("| [`%s`](%s) | %s |"):format(
      e.name, label_of(e), markdown.cell(e.line))
  end
  return concat(rows, "\n")
end

local function page(topic, entries)
  local parts = {}
  local function add(text) if text then parts[#parts + 1] = text end end
  add(GENERATED_BY .. "(topic-" .. topic .. ")=\n# " .. topic)
  add(markdown.escape(topics.line(topic):gsub("^%l", string.upper)) .. ".")
  for _, group in ipairs(groups.of(topic, entries) or
                         {{entries = entries}}) do
    add(list_of(group))
  end
  for _, e in ipairs(entries) do
    local label, is_here = label_of(e)
    if is_here then
      add("(" .. label .. ")=\n## " .. markdown.escape(e.name))
      local describe = functions[e.name] and describe_function
                       or describe_operator
      describe(e, add)
    end
  end
  return concat(parts, "\n\n") .. "\n"
end

--- Writes the pages reference/TOPIC.md and their index.
-- @tparam string folder
-- @treturn table the labels of names: labels["sum"] = "op-sum"
function operators.write(folder)
  local by_topic, names, labels = {}, {}, {}
  for _, e in ipairs(catalogue.all()) do
    if is_shown(e) then
      if not by_topic[e.topic] then
        by_topic[e.topic], names[#names + 1] = {}, e.topic
      end
      local list = by_topic[e.topic]
      list[#list + 1] = e
      labels[e.name] = label_of(e)
    end
  end
  sort(names)
  local rows, tree = {"| topic | | names |\n|---|---|---|"}, {}
  for i, topic in ipairs(names) do
    markdown.write(folder .. "/reference/" .. topic .. ".md",
                   page(topic, by_topic[topic]))
    rows[#rows + 1] = ("| [%s](topic-%s) | %s | %d |"):format(
      topic, topic, markdown.cell(topics.line(topic)), #by_topic[topic])
    tree[i] = topic
  end
  local head = assert(markdown.read "docs/include/reference.md")
  markdown.write(folder .. "/reference/index.md", head .. "\n"
    .. concat(rows, "\n") .. "\n\n```{toctree}\n:hidden:\n\n"
    .. concat(tree, "\n") .. "\n```\n")
  return labels
end

return operators
