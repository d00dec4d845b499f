--- Writes the sources of the documentation into a folder: ./dev docs.
--
--     luajit docs/generate.lua FOLDER
--
-- Runs in the root of the source tree. docs/conf.py and the pages docs/*.md are
-- copied; the reference, the pages of modules, headers and notes, the pictures
-- and the man pages are made from the library and its sources. A file that has
-- not changed is left as it is.

local headers = require "docs.generate.headers"
local lists = require "docs.generate.lists"
local man = require "docs.generate.man"
local markdown = require "docs.generate.markdown"
local modules = require "docs.generate.modules"
local notes = require "docs.generate.notes"
local operators = require "docs.generate.operators"
local pages = require "docs.generate.pages"

local folder = assert(arg[1], "which folder?")

local links = {} -- paths of sources that pages link to

for _, path in ipairs(modules.write(folder)) do links[path] = true end
headers.write(folder, links)
notes.write(folder, links)
pages.write(folder, operators.write(folder))
lists.write(folder)
man.write(folder)

markdown.write(folder .. "/pictures/speed.svg",
               markdown.read "bench/results/speed.svg")

-- Files that pages show parts of.
for _, path in ipairs(markdown.files "docs -maxdepth 1 -name '*.md'") do
  for cited in markdown.read(path):gmatch "{literalinclude} files/(%S+)" do
    markdown.write(folder .. "/files/" .. cited, assert(markdown.read(cited)))
  end
end
for path in pairs(links) do
  markdown.write(folder .. "/extra/sources/" .. path .. ".txt",
                 markdown.read(path))
end
markdown.write(folder .. "/conf.py", markdown.read "docs/conf.py")
for _, path in ipairs(markdown.files "docs/static -type f") do
  markdown.write(folder .. "/" .. path:sub(6), markdown.read(path))
end
markdown.remove_others(folder)
