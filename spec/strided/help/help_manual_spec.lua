--- The pages of the documentation at the prompt: `?tour`.
-- axes: unsanitized

local st = require "strided"
local manual = require "strided.help.manual"
local pages = require "strided.help.pages"

describe("The documentation at the prompt", function()
  for _, entry in ipairs(manual.entries()) do
    it("is text of 80 columns: " .. entry.name, function()
      local text = st.help(entry.name)
      assert.equal(manual.text(entry.name), text)
      for line in (text .. "\n"):gmatch "([^\n]*)\n" do
        local columns = #line:gsub("[\128-\191]", "")
        assert.is_true(columns <= 80, line)
        assert.is_nil(line:find("](", 1, true), line)
        assert.is_nil(line:find("```", 1, true), line)
        assert.is_nil(line:find "%s$", line)
      end
    end)
  end

  it("has pages that are listed", function()
    assert.is_true(#manual.entries() > 8)
    assert.truthy(st.help():find("long pages\n  tour ", 1, true))
    assert.truthy(st.apropos "prompt half":find "nothing is known")
    assert.truthy(st.apropos "side by side":find "coming%-from")
  end)

  it("includes the short pages", function()
    local short = pages.text("indexing", true)
    assert.equal(1, st.help "indexing":find(short, 1, true))
    local long = st.help "docs.indexing"
    assert.truthy(long:find("> v[1], v[-1], v[{1}]", 1, true))
    assert.truthy(long:find("\nFrom slices of Python\n", 1, true))
  end)

  it("is found by other names", function()
    assert.equal(st.help "coming-from", st.help "numpy")
    assert.equal(st.help "coming-from", st.help "coming_from")
    assert.is_nil(manual.text "nosuch")
  end)

  it("shows tables in columns where they fit, else one below the other",
     function()
    local text = st.help "numpy"
    assert.truthy(text:find("\n  np.einsum(\"ij,jk\", a, b)\n      " ..
                            "st.einsum(\"ij,jk\", a, b)\n", 1, true))
    text = st.help "docs.broadcasting"
    assert.truthy(text:find("\n  {3, 4}, {4}%s+3 4 / . 4%s+{3, 4}\n") or
                  text:find("\n  {3, 4}, {4}%s+3 4 / – 4%s+{3, 4}\n"))
  end)
end)
