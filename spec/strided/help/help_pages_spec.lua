--- The pages of st.help: what is typed in them gives what they say.
-- axes: lua unsanitized

local st = require "strided"
local pages = require "strided.help.pages"
local session = require "strided.session"
local show = require "strided.session.show"

local unpack = unpack or table.unpack

--- The text without differences in the breaks of lines.
local function one_line(text)
  return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

--- What a session prints for a line.
local function typed(code)
  local chunk, is_silent = session.compile(code, "=input")
  assert(chunk, code)
  local results = {pcall(chunk, function(...)
    return {n = select("#", ...), ...}
  end)}
  if not results[1] then return tostring(results[2]) end
  local values = results[2]
  if is_silent or type(values) ~= "table" or not values.n then return "" end
  return show.values(false, unpack(values, 1, values.n))
end

--- The lines of a page that are typed, each with what the page prints below.
local function lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]*" do
    local code, more = line:match "^  > (.*)$", line:match "^  (%S?.*)$"
    local last = list[#list]
    if code then
      list[#list + 1] = {code = code, output = "", is_open = true}
    elseif more and last and last.is_open then
      last.output = last.output .. "\n" .. more
    elseif last and line ~= "" then
      last.is_open = false
    end
  end
  return list
end

describe("A page of st.help", function()
  local globals
  before_each(function()
    globals = {}
    for name in pairs(_G) do globals[name] = true end
    rawset(_G, "st", st)
  end)
  after_each(function()
    for name in pairs(_G) do
      if not globals[name] then rawset(_G, name, nil) end
    end
    collectgarbage()
  end)

  local count = 0
  for _, entry in ipairs(pages.entries()) do
    local text = pages.text(entry.name)

    it("says what is so: " .. entry.name, function()
      for _, line in ipairs(lines_of(text)) do
        assert.equal(one_line(line.output), one_line(typed(line.code)),
                     line.code)
        count = count + 1
      end
    end)

    it("is short: " .. entry.name, function()
      local n = 0
      for line in (text .. "\n"):gmatch "(.-)\n" do
        n = n + 1
        assert.is_true(#line <= 80, line)
      end
      assert.is_true(n <= 40, n)
    end)

    it("is shown: " .. entry.name, function()
      assert.equal(text, st.help(entry.name):sub(1, #text))
      assert.equal(entry.name .. ": ", text:match "^[^:]*: ")
    end)

    it("names what there is: " .. entry.name, function()
      for name in text:gmatch "%?([%a][%w_.]*[%w_])" do
        if name ~= "name" and name ~= "x" then
          assert.is_nil(st.help(name):find "^nothing is known", name)
        end
      end
    end)
  end

  it("shows something", function() assert.is_true(count >= 70) end)
end)
