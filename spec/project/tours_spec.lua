--- Files and folders that the tours name are there, and the folders that there
-- are, are named.
-- axes: none

local build = require "spec.support.build"

local ipairs, pairs = ipairs, pairs

local TOURS = {"core/README.md", "lua/README.md", "README.md",
               "CONTRIBUTING.md"}

-- Names of what is not in the tree: headers of others, and files of a user, of
-- a build or of an installation.
local OF_OTHERS = {
  ["build/"] = true, ["lua.h"] = true, ["mpi.h"] = true,
}

local SUFFIXES = {c = true, h = true, def = true, lua = true, sh = true,
                  md = true, py = true}

--- Every file and folder, and all ends of their paths: "unary.def",
-- "elementwise/unary.def", and "_template.h" for fft/tiles_template.h.
local function ends_of_paths()
  local set = {}
  local function add(path)
    set[path] = true
    for tail in path:gmatch "()[/_]" do
      set[path:sub(tail)], set[path:sub(tail + 1)] = true, true
    end
  end
  for _, name in ipairs(build.files(
      "bench core docs examples lua rocks rockspecs spec CHANGELOG.md "
      .. "CONTRIBUTING.md README.md", "")) do
    if not name:find "/build/" then
      add(name)
      local folder = name:match "^(.*/)"
      while folder do
        add(folder)
        folder = folder:match "^(.*/)[^/]+/$"
      end
    end
  end
  return set
end

--- The names in backquotes of a page, apart from those of files that it says to
-- write.
local function names_in(text)
  local list, is_new = {}, {}
  for name in text:gmatch "New, `([^`]+)`" do is_new[name] = true end
  text = text:gsub("\n```.-\n```", "\n")
  for name in text:gmatch "`([%w_][%w_./]+)`" do
    local suffix = name:match "%.(%l+)$"
    if not is_new[name] and not name:find "%.%." and
       (SUFFIXES[suffix] or name:find "^[%w_/]+/$") then
      list[#list + 1] = name
    end
  end
  return list
end

--- The folders in a folder, by name.
local function folders_in(place)
  local set = {}
  for _, name in ipairs(build.files(place, "")) do
    local folder = name:sub(#place + 2):match "^([^/]+)/"
    if folder then set[folder] = true end
  end
  return set
end

describe("The tours", function()
  it("name files and folders that are there", function()
    local known, wrong, count = ends_of_paths(), {}, 0
    for _, page in ipairs(TOURS) do
      for _, name in ipairs(names_in(build.read(page))) do
        count = count + 1
        if not known[name] and not OF_OTHERS[name] then
          wrong[#wrong + 1] = page .. ": " .. name
        end
      end
    end
    assert.same({}, wrong)
    assert.is_true(count > 200)
  end)

  it("name every folder of lua/strided and every family", function()
    local missing = {}
    local binding, readme = build.read "lua/README.md", build.read "README.md"
    for name in pairs(folders_in "lua/strided") do
      if not binding:find("[`/]" .. name .. "/`") then
        missing[#missing + 1] = "lua/README.md: " .. name
      end
    end
    for name in pairs(folders_in "core/op") do
      if not readme:find("`" .. name .. "`", 1, true) then
        missing[#missing + 1] = "README.md: " .. name
      end
    end
    assert.same({}, missing)
  end)
end)
