--- Runs the snippets of docs/*.md: all ```lua blocks of a page, in order, as
-- one chunk; each says what it prints in comments `--> `.
--
--     luajit docs/snippets.lua ROOT [PAGE]...
--
-- ROOT is the source tree. The snippets write their files, pictures among them,
-- into the current folder. Prints what is otherwise than a page says; the exit
-- status is 1 then.

local st = require "strided"

local concat = table.concat
local compile = loadstring or load

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

--- The snippets of a page at the lines that they have there, and what they say
-- that they print.
local function snippets_of(path)
  local lines, expected, inside = {}, {}, false
  for line in (read(path) .. "\n"):gmatch "([^\n]*)\n" do
    local is_mark = line:find "^```"
    lines[#lines + 1] = inside and not is_mark and line or ""
    if inside and not is_mark then
      for text in line:gmatch "%-%-> ?([^\n]*)" do
        expected[#expected + 1] = (text:gsub("%s+$", ""))
      end
    end
    if is_mark then inside = line == "```lua" end
  end
  return concat(lines, "\n"), expected
end

--- The lines that a page prints.
local function run(text, name)
  local got = {}
  local function print(...)
    local texts = {}
    for i = 1, select("#", ...) do
      texts[i] = tostring((select(i, ...)))
    end
    for line in (concat(texts, " ") .. "\n"):gmatch "([^\n]*)\n" do
      got[#got + 1] = (line:gsub("%s+$", ""))
    end
  end
  local chunk = assert(compile("local print = ... " .. text, "=" .. name))
  st.manual_seed(0)
  chunk(print)
  return got
end

local root = assert(arg[1], "where is the source tree?")
local pages, failed = {}, false
for i = 2, #arg do pages[#pages + 1] = root .. "/docs/" .. arg[i] .. ".md" end
if not pages[1] then
  local pipe = assert(io.popen("ls '" .. root .. "'/docs/*.md"))
  for path in pipe:lines() do pages[#pages + 1] = path end
  pipe:close()
end
for _, path in ipairs(pages) do
  local name = path:match "[^/]*$"
  local text, expected = snippets_of(path)
  local ok, got = pcall(run, text, name)
  if not ok then
    failed = true
    print(name .. ": " .. tostring(got))
  else
    for i = 1, math.max(#got, #expected) do
      if got[i] ~= expected[i] then
        failed = true
        print(("%s: says %s\n  and prints %s"):format(
          name, expected[i] or "nothing", got[i] or "nothing"))
        break
      end
    end
  end
end
os.exit(failed and 1 or 0)
