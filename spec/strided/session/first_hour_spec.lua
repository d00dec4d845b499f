--- The first hour of a new user, spec/first_hour/README.md: thirty tasks, each
-- done at the first or at the second guess. What is printed is that of LuaJIT.
-- axes: unsanitized

local build = require "spec.support.build"
local files = require "spec.support.files"
local hour = require "spec.first_hour.run"
local st = require "strided"

local page = files.read(build.root .. "/spec/first_hour/README.md")

describe("The first hour", function()
  if not rawget(_G, "jit") then return end
  local filled, sections

  setup(function() filled, sections = hour.fill(page) end)

  it("prints what the page says", function()
    local now, before = files.lines_of(filled), files.lines_of(page)
    for i, line in ipairs(before) do assert.equal(line, now[i]) end
    assert.equal(page, filled)
  end)

  it("has thirty tasks, none of them twice wrong", function()
    assert.equal(30, #sections)
    for i, section in ipairs(sections) do
      assert.equal(i, section.number)
      local before = false
      for _, call in ipairs(section.calls) do
        assert.is_false(before and call.failed, call.code)
        before = call.failed
      end
      assert.is_true(not before or i == 7, section.title) -- see below
    end
  end)

  local function block(kind)
    return page:match("\n```" .. kind .. "\n(.-)\n```")
  end

  it("ends with a plot", function()
    local ok, plot = pcall(function() return st.plot end)
    if not ok or not plot then return end
    st.plot(st.tensor {1, 4})
    assert.equal("> st.plot(h)", block "plot")
  end)

  it("ends with a picture where the rock strided-image is", function()
    assert.truthy(block "image")
    local ok = pcall(require, "strided.image")
    if not ok then return end
    local folder = os.tmpname()
    os.remove(folder)
    hour.prepare(folder)
    local text = "> g = st.ones(1, 1, 6, 6)\n" .. block "image"
    hour.block(text, folder, function(code, output, failed)
      assert.is_false(failed, code .. "\n" .. output)
    end)
    os.execute("rm -rf '" .. folder .. "'")
  end)
end)
