--- The sources of the man pages strided(1) and strided(3).
--
-- @module docs.generate.man

local catalogue = require "strided.help.catalogue"
local functions = require "strided.help.functions"
local markdown = require "docs.generate.markdown"
local topics = require "strided.help.topics"

local concat, sort = table.concat, table.sort
local find, gmatch, gsub = string.find, string.gmatch, string.gsub
local match = string.match

local man = {}

--- The options of the usage text of the command.
local function usage()
  local text = markdown.read "lua/strided/session/command.lua"
  return assert(match(text, "USAGE = %[%[\n[^\n]*\n\n(.-)%]%]"))
end

--- The names of the instruction sets: `base`, `avx2` or `avx512`.
local function instruction_sets()
  local names = {}
  for name in gmatch("\n" .. markdown.read "core/os/isa.def",
                     "\nST_ISA%((%w+),") do
    names[#names + 1] = "`" .. name .. "`"
  end
  return (gsub(concat(names, ", "), ", (%S+)$", " or %1"))
end

local function command_page(head)
  local values = {
    ISAS = instruction_sets(),
    USAGE = markdown.code((gsub(usage(), "\n\nWithout FILE.*$", "")), "text"),
  }
  return (gsub(head, "@(%u+)@", values))
end

--- How an entry is written: st.sum, t:stride, t.grad_fn.
local function written(entry)
  local f = functions[entry.name]
  return f and match(f.signature, "^t[.:][%w_]+") or "st." .. entry.name
end

--- The names of a topic with their sentences, as a definition list of lines.
local function topic_text(topic, entries)
  local parts = {"## " .. gsub(topic, "^%l", string.upper),
                 markdown.escape(topics.line(topic):gsub("^%l", string.upper))
                 .. "."}
  local lines = {}
  for _, e in ipairs(entries) do
    lines[#lines + 1] = "* **" .. markdown.escape(written(e)) .. "**: "
                        .. markdown.escape(e.line)
  end
  parts[3] = concat(lines, "\n")
  return concat(parts, "\n\n")
end

local function library_page(head)
  local by_topic, names = {}, {}
  for _, e in ipairs(catalogue.all()) do
    if e.kind ~= "method" and not find(e.name, "::") and
       not find(e.name, "_backward$") then
      if not by_topic[e.topic] then
        by_topic[e.topic], names[#names + 1] = {}, e.topic
      end
      table.insert(by_topic[e.topic], e)
    end
  end
  sort(names)
  local parts = {}
  for i, topic in ipairs(names) do
    parts[i] = topic_text(topic, by_topic[topic])
  end
  return (gsub(head, "@TOPICS@", function() return concat(parts, "\n\n") end))
end

--- Writes man/strided-1.md and man/strided-3.md.
function man.write(folder)
  local function write(name, fill)
    local head = assert(markdown.read("docs/include/" .. name .. ".md"))
    markdown.write(folder .. "/man/" .. name .. ".md", fill(head))
  end
  write("strided-1", command_page)
  write("strided-3", library_page)

end

return man
