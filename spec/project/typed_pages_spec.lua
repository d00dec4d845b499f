--- The pages of docs/ and the README are typed into a session, line by line, as
-- a person would: nothing fails, and what they print is printed.
-- axes: lua unsanitized

local build = require "spec.support.build"
local files = require "spec.support.files"

-- What is printed is told from what the session shows by a mark.
local STARTUP = [[
local write, unpack = io.write, unpack or table.unpack
function print(...)
  local texts = {...}
  for i = 1, select("#", ...) do texts[i] = tostring(texts[i]) end
  for line in (table.concat(texts, " ") .. "\n"):gmatch "([^\n]*)\n" do
    write("\1", line, "\n")
  end
end
require("strided").manual_seed(0)
]]

--- The lines of the ```lua blocks of a page, and what it says they print.
local function lines_of(page)
  local typed, printed, inside = {}, {}, false
  for line in (page .. "\n"):gmatch "([^\n]*)\n" do
    if line:find "^```" then
      inside = line == "```lua"
    elseif inside then
      typed[#typed + 1] = line
      for text in line:gmatch "%-%-> ?([^\n]*)" do
        printed[#printed + 1] = (text:gsub("%s+$", ""))
      end
    end
  end
  return typed, printed
end

describe("A session in which a page is typed line by line", function()
  local folder = os.tmpname()
  os.remove(folder)
  setup(function()
    os.execute("mkdir -p '" .. folder .. "'")
    files.write(folder .. "/startup.lua", STARTUP)
  end)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  --- What is printed, and the errors.
  local function type_into_session(lines)
    files.write(folder .. "/input", table.concat(lines, "\n") .. "\n")
    local output = build.shell(("cd '%s' && STRIDED_STARTUP=startup.lua %s " ..
      "'%s/lua/bin/strided' <input 2>errors"):format(folder, build.lua,
                                                     build.root))
    local printed = {}
    for line in output:gmatch "\1([^\n]*)" do
      printed[#printed + 1] = (line:gsub("%s+$", ""))
    end
    return printed, files.read(folder .. "/errors")
  end

  local pages = {build.root .. "/README.md"}
  for path in build.output("ls '" .. build.root .. "'/docs/*.md")
    :gmatch "[^\n]+" do
    pages[#pages + 1] = path
  end
  for _, path in ipairs(pages) do
    local typed, expected = lines_of(files.read(path))
    if typed[1] then
      it("prints what " .. path:match "[^/]*$" .. " says", function()
        local printed, errors = type_into_session(typed)
        assert.equal("", errors)
        for i = 1, math.max(#expected, #printed) do
          assert.equal(expected[i], printed[i])
        end
      end)
    end
  end
end)
