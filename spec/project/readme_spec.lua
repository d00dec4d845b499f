--- Every snippet of the README runs, in order, and prints what it says.
-- axes: lua unsanitized

local collect = require "spec.support.collect"
local read = require "spec.support.files".read

local compile = loadstring or load

local HERE = require("spec.support.build").root .. "/spec"

--- One environment for all snippets: what is local in one is known to the
-- next, so the snippets are joined into one chunk.
local function run(text, print)
  assert(compile("local print = ...\n" .. text, "=README.md"))(print)
end

describe("The README", function()
  it("says the truth", function()
    local snippets, expected, got = {}, {}, {}
    for snippet in read(HERE .. "/../README.md"):gmatch "```lua\n(.-)```" do
      snippets[#snippets + 1] = snippet
      for line in snippet:gmatch "%-%-> ([^\n]*)" do
        expected[#expected + 1] = line
      end
    end
    collect() -- one snippet sets a limit beside what is alive
    run(table.concat(snippets, "\n"), function(...)
      local texts = {}
      for i = 1, select("#", ...) do
        texts[i] = tostring((select(i, ...)))
      end
      got[#got + 1] = table.concat(texts, " ")
    end)
    assert.is_true(#expected > 10)
    assert.same(expected, got)
  end)
end)
