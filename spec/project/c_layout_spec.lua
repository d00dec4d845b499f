--- The layout of the C code, as far as the house fixes it: what clang-format
-- would make of the rest, ./dev format shows for the lines of a change.
-- axes: unsanitized

local build = require "spec.support.build"
local files = require "spec.support.files"

local function list(command)
  local names = {}
  local pipe = io.popen(("cd '%s' && %s"):format(build.root, command))
  for name in pipe:lines() do names[#names + 1] = name end
  pipe:close()
  return names
end

local C = list "find core lua/bind spec rocks examples -name '*.[ch]' | sort"
local TEXT = list("find core lua/bind spec rocks examples bench -name '*.[ch]' "
                  .. "-o -name '*.def' -o -name '*.sh' -o -name '*.py' | sort")

--- The lines of a file without strings, characters and comments, which become
-- blanks, and without what macros continue.
local function code_of(name)
  local text = files.read(build.root .. "/" .. name)
  local function blank(s) return (s:gsub("[^\n]", " ")) end
  local out, at = {}, 1
  while true do
    local first = text:find("[\"'/]", at)
    if not first then break end
    out[#out + 1] = text:sub(at, first - 1)
    local what, last = text:sub(first, first), first
    if what == "/" then
      local two = text:sub(first, first + 1)
      if two == "/*" then
        last = select(2, text:find("*/", first + 2, true)) or #text
      elseif two == "//" then
        last = (text:find("\n", first, true) or #text + 1) - 1
      end
      out[#out + 1] = last > first and blank(text:sub(first, last)) or "/"
    else
      repeat
        last = text:find("[\\" .. what .. "\n]", last + 1) or #text
        local is_escape = text:sub(last, last) == "\\"
        if is_escape then last = last + 1 end
      until not is_escape
      out[#out + 1] = what .. blank(text:sub(first + 1, last - 1)) .. what
    end
    at = last + 1
  end
  out[#out + 1] = text:sub(at)
  local lines = {}
  for line in (table.concat(out) .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = line
  end
  return lines
end

local code = {}

--- The places where a rule finds something, "file:line: text".
local function found(rule)
  local places = {}
  for _, name in ipairs(C) do
    local lines = code[name] or code_of(name)
    code[name] = lines
    for i, line in ipairs(lines) do
      if rule(lines, i, line) then
        places[#places + 1] = ("%s:%d:%s"):format(name, i, line)
      end
    end
  end
  return places
end

local function indent(line) return #line:match "^ *" end

--- The line on which the statement begins that ends on line i: parentheses are
-- balanced from there to its end.
local function start_of(lines, i)
  local depth = 0
  for k = i, 1, -1 do
    local _, closing = lines[k]:gsub("%)", "")
    local _, opening = lines[k]:gsub("%(", "")
    depth = depth + closing - opening
    if depth <= 0 then return lines[k] end
  end
end

describe("The text of C code", function()
  teardown(function() code = nil end)

  it("has no tabs, no blanks at ends of lines and one newline at the end",
     function()
    local wrong = {}
    for _, name in ipairs(TEXT) do
      local text = files.read(build.root .. "/" .. name)
      if text:find "[\t\r]" or text:find " \n" or not text:find "[^\n]\n$" then
        wrong[#wrong + 1] = name
      end
    end
    assert.is_true(#TEXT > 0)
    assert.same({}, wrong)
  end)

  it("has an opening brace at the end of its line", function()
    assert.same({}, found(function(_, _, line) return line:find "^%s*{$" end))
  end)

  it("has else after the closing brace", function()
    assert.same({}, found(function(lines, i, line)
      return line:find "^%s*else" and lines[i - 1]:find "^%s*}$"
    end))
  end)

  it("returns one expression, without a comma before it", function()
    local wrong = {}
    for _, name in ipairs(C) do
      code[name] = code[name] or code_of(name)
      local text = table.concat(code[name], "\n")
      for value in text:gmatch "%f[%w_]return%f[^%w_]([^;]*);" do
        local rest = value:gsub("%b()", ""):gsub("%b{}", ""):gsub("%b[]", "")
        if rest:find(",", 1, true) then
          wrong[#wrong + 1] = ("%s: return%s"):format(name, value)
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("has macros of at most 15 lines, lists aside", function()
    local wrong = {}
    for _, name in ipairs(list "find core lua/bind -name '*.[ch]' | sort") do
      local text = "\n" .. files.read(build.root .. "/" .. name)
      for macro in
          text:gmatch "\n *# *define ([^\n]+\\\n.-[^\\])%f[\n]" do
        local _, lines = macro:gsub("\n", "")
        if lines + 1 > 15 and macro:find(";", 1, true) then
          wrong[#wrong + 1] = ("%s: %s, %d lines"):format(
            name, macro:match "^[%w_]+", lines + 1)
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("has blanks after keywords and before braces", function()
    assert.same({}, found(function(_, _, line)
      return line:find "%f[%w_]if%(" or line:find "%f[%w_]for%(" or
             line:find "%f[%w_]while%(" or line:find "%f[%w_]switch%(" or
             line:find "^%l.*%){%s*$" or line:find "^%s*if .*%){%s*$" or
             line:find "^%s*for .*%){%s*$" or line:find "^%s*while .*%){%s*$"
    end))
  end)

  it("has the star at the name", function()
    assert.same({}, found(function(_, _, line)
      return line:find "%f[%w_]st_[%w_]+%* " or
             line:find "%f[%w_]char%* " or line:find "%f[%w_]void%* "
    end))
  end)

  it("is two blanks deeper in a block", function()
    assert.same({}, found(function(lines, i, line)
      local last = lines[i - 1] and lines[i - 1]:gsub("%s+$", "")
      if not last or not last:find "%) {$" or line:find "^[#%s]*$" or
         line:find "^#" or line:find "^%s*}" or line:find "^%s*[%w_]+:$" or
         line:find "^%s*case " then
        return false
      end
      return indent(line) ~= indent(start_of(lines, i - 1)) + 2
    end))
  end)
end)
