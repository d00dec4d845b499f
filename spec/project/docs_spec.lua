--- The documentation: every snippet of docs/*.md runs and prints what it says,
-- its C program too; the generator writes a page for every topic, and its links
-- lead to labels that are there. ./dev docs makes HTML of them.
-- axes: lua unsanitized

local build = require "spec.support.build"
local on_disk = require "spec.support.files"

local ROOT = build.root

--- The texts of the pages in a folder, by their names.
local function pages_of(folder)
  local list = {}
  for name in build.output("cd '" .. folder .. "' && find . -name '*.md'")
    :gmatch "%./([^\n]+)" do
    list[name] = on_disk.read(folder .. "/" .. name)
  end
  return list
end

--- The links to labels and pages of a text, outside of code.
local function links_of(text)
  local links = {}
  text = text:gsub("\n```.-\n```", "\n")
  for target in text:gmatch "%]%(([^)%s]+)%)" do
    if not target:find "^%w+:" and not target:find "%." then
      links[#links + 1] = target
    end
  end
  return links
end

-- Operators, and what the reference says of them, found out by calling them.
local PROBED = {
  {"cos", "Dtypes: `bool`, integers → `float32`; floats, complex, "
   .. "`complex32` → the same. Refused: float8, `bcomplex32`.",
   "Shapes: any → the same.", "cos: argument 'self' must be a Tensor"},
  {"add", "Dtypes: all, `complex32` → the same. Refused: float8",
   "Shapes: those that [broadcast]",
   "add: shapes [3] and [4] do not broadcast"},
  {"topk", "`bool`, integers, floats, float8 → the same and `int64`. Refused: "
   .. "complex",
   "`{3}` → `{2}`, `{2}`"},
  {"gather", "`{2, 2}`, `{2, 1}` → `{2, 1}`"},
  {"zeros", "Dtypes: `float32` here; by the option `dtype` all, float8"},
  {"linalg%-solve", "Refused: `bool`, integers, `float16`, `bfloat16`, float8"},
}

describe("The documentation", function()
  local folder = os.tmpname()
  os.remove(folder)
  setup(function() os.execute("mkdir -p '" .. folder .. "/snippets'") end)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  it("has snippets that print what they say", function()
    local said, status = build.shell(("cd '%s/snippets' && %s '%s/docs/" ..
      "snippets.lua' '%s'"):format(folder, build.lua, ROOT, ROOT))
    assert.equal("", said)
    assert.equal(0, status)
  end)

  it("has pictures that snippets draw", function()
    local count = 0
    for name in build.output("ls '" .. ROOT .. "'/docs/*.md")
      :gmatch "[^\n]+" do
      for picture in on_disk.read(name):gmatch "%]%(pictures/([%w.-]+)%)" do
        local svg = on_disk.read(folder .. "/snippets/" .. picture)
        assert.truthy(svg:find("<svg", 1, true), picture)
        count = count + 1
      end
    end
    assert.is_true(count > 5)
  end)

  it("has a C program that runs", function()
    if build.is_sanitized then return end
    local said = build.run(("sh -c \"cd '%s' && cc -std=c11 -Wall -Wextra " ..
      "-Werror -I'%s/include' '%s/docs/embed.c' -o embed -L'%s/lib' " ..
      "-lstrided -Wl,-rpath,'%s/lib' && ./embed\""):format(
        folder, build.folder, ROOT, build.folder, build.folder))
    assert.equal("3 12\n", said)
    assert.truthy(on_disk.read(ROOT .. "/docs/embedding.md")
                  :find("`3 12`", 1, true))
  end)

  it("has a page for each topic, and links to labels that are there",
     function()
    if build.lua ~= "luajit" then return end -- ./dev docs runs it by LuaJIT
    local source = folder .. "/source"
    local said, status = build.shell(("cd '%s' && %s docs/generate.lua '%s'")
      :format(ROOT, build.lua, source))
    assert.equal("", said)
    assert.equal(0, status)
    local pages, labels = pages_of(source), {}
    for _, text in pairs(pages) do
      for label in text:gmatch "%f[^\n]%(([%w-]+)%)=" do
        assert.is_nil(labels[label], label)
        labels[label] = true
      end
    end
    for name, text in pairs(pages) do
      for _, target in ipairs(links_of(text)) do
        assert.is_true(labels[target], name .. " links to " .. target)
      end
      for path in text:gmatch 'href="%.%./(files/[^"#]+)' do
        assert.truthy(io.open(source .. "/extra/" .. path), path):close()
      end
    end
    -- Sphinx excludes files of its html_extra_path by the same patterns.
    local excluded = on_disk.read(ROOT .. "/docs/conf.py")
                       :match "\nexclude_patterns = ([^\n]+)"
    assert.is_nil(excluded:find("files", 1, true))
    local index = pages["reference/index.md"]
    for _, topic in ipairs(require "strided.help.topics".entries()) do
      if topic.name ~= "yours" then -- of a program
        assert.truthy(index:find("](topic-" .. topic.name .. ")", 1, true),
                      topic.name)
      end
    end
    assert.truthy(labels["op-amax"] and labels["lua-nn---linear"])
    assert.truthy(pages["reference/reduce.md"]:find(
      "st.amax(t, 2)\n--> tensor([2, 4])", 1, true))
    local all = {}
    for name, text in pairs(pages) do
      if name:find "^reference/" then all[#all + 1] = text end
    end
    all = table.concat(all)
    for _, row in ipairs(PROBED) do
      local section = all:match("\n%(op%-" .. row[1] .. "%)=\n(.-)\n%(")
      for i = 2, #row do
        assert.truthy(section:find(row[i], 1, true), row[1] .. ": " .. row[i])
      end
    end
  end)
end)
