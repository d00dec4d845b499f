--- docs/tested.md says what spec/test_matrix.sh and the specs do.
-- axes: unsanitized

local files = require "spec.support.files"
local tested = require "spec.support.source.tested"

local text = files.read(tested.path)

describe("docs/tested.md", function()
  it("has the tables that ./dev tested writes", function()
    assert.equal(tested.renew(text), text, "./dev tested writes them")
    local count = 0
    for _ in text:gmatch "<!%-%- table: " do count = count + 1 end
    assert.equal(5, count)
  end)

  it("explains every axis of a spec", function()
    local known = {}
    for axis in text:gmatch "\n| ([%w.]+) | [^\n]+ |" do known[axis] = true end
    local root = tested.path:gsub("/docs/tested.md$", "")
    local build = require "spec.support.build"
    for _, line in ipairs(files.lines_of(build.output("grep -rhE -m 1 " ..
                          "'^-- axes: ' '" .. root ..
                          "/spec' --include='*_spec.lua'"))) do
      for axis in line:match "^%-%- axes: (.*)":gmatch "%S+" do
        assert.is_true(known[axis], axis)
      end
    end
  end)

  it("names files and folders that exist", function()
    local root = tested.path:gsub("docs/tested.md$", "")
    for name in text:gmatch "`([%w_]+/[%w_/.%-]+)`" do
      assert.truthy(io.open(root .. name), name)
    end
  end)
end)
