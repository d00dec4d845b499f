--- SEMANTICS.md: each behaviour that a comment or a spec cites by id, in
-- parentheses, has a row there, and the specs that rows name are there.
-- axes: unsanitized

local on_disk = require "spec.support.files"

local HERE = debug.getinfo(1, "S").source:match "^@(.*)$"
local ROOT = HERE:match "^(.*)/spec/" or "."

local function read(name) return assert(on_disk.read(ROOT .. "/" .. name)) end

local function files(folders, pattern)
  local list = {}
  local pipe = assert(io.popen(("cd '%s' && find %s -type f | sort"):format(
                               ROOT, folders)))
  for name in pipe:lines() do
    if name:find(pattern) then list[#list + 1] = name end
  end
  pipe:close()
  return list
end

-- -- The document ------------------------------------------------------------

--- Ids in their order, with the cell that names specs.
local function rows()
  local list = {}
  for line in read "spec/SEMANTICS.md":gmatch "[^\n]+" do
    local id, behaviour, shown = line:match "^| (%a%d+) | (.+) | (.-) |$"
    if id then
      list[#list + 1] = {id = id, behaviour = behaviour, shown = shown}
    end
  end
  return list
end

local ROWS, IS_ROW, IS_LETTER = rows(), {}, {}
for _, row in ipairs(ROWS) do
  IS_ROW[row.id], IS_LETTER[row.id:sub(1, 1)] = true, true
end

-- -- Citations ---------------------------------------------------------------

--- The ids of (K4), (R7, R14) or (K1 to K10), or nil for another text.
local function ids_of(text)
  local ids = {}
  for part in (text:gsub("%s+", " ") .. ", "):gmatch "(.-), " do
    local first, last = part:match "^(%a%d+) to (%a%d+)$"
    first = first or part:match "^%a%d+$"
    if not first or not IS_LETTER[first:sub(1, 1)] then return nil end
    ids[#ids + 1] = first
    ids[#ids + 1] = last
  end
  return ids
end

--- What a file says, without what begins a line of a comment.
local function plain(name)
  local text = read(name)
  return (text:gsub("\n%s*%-%-%-? ", "\n"):gsub("\n%s*%* ", "\n"))
end

--- The comments of a file, one behind the other.
local function comments(name)
  local text, list = read(name), {}
  local pattern = name:find "%.lua$" and "%-%-([^\n]*)" or "/%*(.-)%*/"
  for comment in text:gmatch(pattern) do list[#list + 1] = comment end
  return table.concat(list, "\n")
end

local SOURCES = files("core lua spec", "%.[ch]$")
for _, pattern in ipairs {"%.lua$", "%.def$"} do
  for _, name in ipairs(files("core lua spec", pattern)) do
    SOURCES[#SOURCES + 1] = name
  end
end

local NO_IDS = {C11 = true} -- the language, where it is not in parentheses

describe("A behaviour", function()
  it("has one row, in words", function()
    local wrong, seen = {}, {}
    for _, row in ipairs(ROWS) do
      if seen[row.id] then wrong[#wrong + 1] = row.id .. " has two rows" end
      seen[row.id] = true
      if #row.behaviour < 20 then wrong[#wrong + 1] = row.id end
    end
    assert.same({}, wrong)
    assert.is_true(#ROWS > 150)
  end)

  it("that is cited has a row", function()
    local wrong, count = {}, 0
    for _, name in ipairs(SOURCES) do
      for text in plain(name):gmatch "%((%a%d+[^()]*)%)" do
        for _, id in ipairs(ids_of(text) or {}) do
          count = count + 1
          if not IS_ROW[id] then wrong[#wrong + 1] = name .. ": " .. id end
        end
      end
    end
    assert.same({}, wrong)
    assert.is_true(count > 150)
  end)

  it("is cited in parentheses", function()
    local wrong = {}
    for _, name in ipairs(SOURCES) do
      local rest = comments(name):gsub("%b()", "")
      for id in rest:gmatch "%f[%w](%a%d+)%f[^%w]" do
        if IS_ROW[id] and not NO_IDS[id] then
          wrong[#wrong + 1] = name .. ": " .. id
        end
      end
      if rest:find "SEMANTICS %u?%d" then wrong[#wrong + 1] = name end
    end
    assert.same({}, wrong)
  end)
end)

describe("A row of SEMANTICS.md", function()
  local paths = {}
  for _, path in ipairs(files("spec", "_spec%.lua$")) do
    local name = path:match "([^/]+)%.lua$"
    paths[name] = paths[name] and "several files" or path
  end
  local texts = {}
  local function spec_text(name)
    texts[name] = texts[name] or read(paths[name])
    return texts[name]
  end

  it("names specs that are there, and words of theirs", function()
    local wrong = {}
    for _, row in ipairs(ROWS) do
      local rest = row.shown:gsub('([%w_]+_spec) "([^"]+)"', function(name,
                                                                      words)
        if not paths[name] then
          wrong[#wrong + 1] = row.id .. ": no " .. name
        elseif not spec_text(name):find(words, 1, true) then
          wrong[#wrong + 1] = ("%s: %s has no %q"):format(row.id, name, words)
        end
        return ""
      end)
      if rest:gsub("[; ]", "") ~= "" and rest ~= "not built" or
         row.shown == "" then
        wrong[#wrong + 1] = row.id .. ": " .. row.shown
      end
    end
    assert.same({}, wrong)
  end)

  it("that is not built says so in words, too", function()
    for _, row in ipairs(ROWS) do
      assert.equal(row.shown == "not built",
                   row.behaviour:find "^Not built: " ~= nil, row.id)
    end
  end)
end)
