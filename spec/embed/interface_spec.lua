--- The binary interface: the list in interface.txt, the exported symbols, and
-- what is compiled for another version of it.
-- axes: none

local build = require "spec.support.build"
local files = require "spec.support.files"
local interface = require "spec.embed.interface"

describe("The list of the binary interface", function()
  it("is that of the header: if not, see CONTRIBUTING.md", function()
    local old, new = files.read(interface.path), interface.list()
    assert.is_nil(interface.wrong_version(old, new))
    assert.same({}, (interface.changes(old, new)),
                "./dev interface writes the list")
    assert.is_true(#new > 20000)
  end)

  it("has the functions that the library exports, and no others", function()
    if build.is_sanitized then return end -- sanitizers add symbols
    local declared, exported = {}, {}
    for line in files.read(interface.path):gmatch "\nfunction ([^\n]+)" do
      declared[line:match "(st_[%w_]+)%("] = true
    end
    for _, line in ipairs(files.lines_of(build.output(
                          "nm -D --defined-only '" .. build.folder ..
                          "/lib/libstrided.so'"))) do
      exported[line:match "%S+$"] = true
    end
    assert.is_true(exported.st_api_version)
    assert.same(declared, exported)
  end)
end)

-- -- Changes -----------------------------------------------------------------

local LIST = [[
version 1002
constant ST_OK 0
constant ST_STATUS_COUNT 1
struct st_pair 8
  0 4 a: int a
  4 4 b: int b
type void (*st_fn)(void *)
function int st_one(int)
]]

local ADDED = "function int st_two(void)\n"

-- a change of LIST: what is replaced, by what, the part that has to grow
local CHANGES = {
  {"function int st_one", "function long st_one", "MAJOR"},
  {"function int st_one%(int%)\n", "", "MAJOR"},
  {"4 4 b", "8 4 b", "MAJOR"},
  {"  4 4 b: int b\n", "", "MAJOR"},
  {"ST_OK 0", "ST_OK 2", "MAJOR"},
  {"%(void %*%)", "(int *)", "MAJOR"},
  {"$", ADDED, "MINOR"},
  {"constant ST_STATUS_COUNT 1", "constant ST_BAD 1\n" ..
   "constant ST_STATUS_COUNT 2", "MINOR"},
}

describe("A change of the interface", function()
  local function with(version, list)
    return (list:gsub("version %d+", "version " .. version))
  end

  it("asks for another version", function()
    for _, row in ipairs(CHANGES) do
      local new, n = LIST:gsub(row[1], row[2], 1)
      assert.equal(1, n)
      local changes, part = interface.changes(LIST, new)
      assert.is_true(#changes > 0)
      assert.equal(row[3], part, row[2])
      local wrong = interface.wrong_version(LIST, new)
      assert.truthy(wrong:find("ST_API_" .. row[3], 1, true), wrong)
      local minor, major = with(1003, new), with(2000, new)
      assert.equal(row[3] == "MINOR",
                   interface.wrong_version(LIST, minor) == nil)
      assert.is_nil(interface.wrong_version(LIST, major))
      assert.truthy(interface.wrong_version(LIST, with(1001, new)))
    end
  end)

  it("is none where nothing changed", function()
    assert.same({}, (interface.changes(LIST, LIST)))
    assert.is_nil(interface.wrong_version(LIST, LIST))
  end)
end)

-- -- Other versions ----------------------------------------------------------

describe("An extension", function()
  local folder = os.tmpname()
  os.remove(folder)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  --- Loads the example rock, compiled with a header of another version.
  local function load_compiled_for(major, minor)
    local header = files.read(build.folder .. "/include/strided.h")
                     :gsub("(ST_API_MAJOR) %d+", "%1 " .. major)
                     :gsub("(ST_API_MINOR) %d+", "%1 " .. minor)
    os.execute("mkdir -p '" .. folder .. "'")
    files.write(folder .. "/strided.h", header)
    local cache = files.read(build.folder .. "/CMakeCache.txt")
    local headers = build.headers() or
                    cache:match "\nLUAJIT_INCLUDE:[^=]*=(%C+)" or
                    cache:match "\nLUA_INCDIR:[^=]*=(%C+)"
    local said = build.run(("gcc -w -shared -fPIC -I '%s' -I '%s' -o " ..
      "'%s/strided_example.so' '%s'/rocks/strided-example/src/*.c " ..
      "-L '%s/lib' -lstrided"):format(folder, headers, folder, build.root,
      build.folder))
    assert.equal("", said)
    -- The rock keeps its library until the process ends.
    return build.output(("env -u LUA_CPATH_5_2 -u LUA_CPATH_5_3 -u " ..
      "LUA_CPATH_5_4 ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" " ..
      "LUA_CPATH='%s/?.so;%s' %s -e 'require \"strided\"" ..
      " print((select(2, pcall(require, \"strided_example\"))))' 2>&1"):format(
      folder, package.cpath, build.lua))
  end

  local major, minor = 1, 0
  for line in files.read(build.root .. "/core/strided.h"):gmatch "[^\n]+" do
    major = tonumber(line:match "define ST_API_MAJOR (%d+)") or major
    minor = tonumber(line:match "define ST_API_MINOR (%d+)") or minor
  end

  it("that was compiled for another major version is refused", function()
    local said = load_compiled_for(major + 1, 0)
    assert.truthy(said:find(("strided_example could not be registered: " ..
      "compiled for version %d.0 of strided's C interface, but libstrided.so ")
      :format(major + 1), 1, true), said)
    assert.truthy(said:find(("has version %d.%d: compile it again")
                            :format(major, minor), 1, true), said)
  end)

  it("that may call what is not there yet is refused", function()
    local said = load_compiled_for(major, minor + 1)
    assert.truthy(said:find("compiled for version", 1, true), said)
  end)

  it("of the same version is loaded", function()
    assert.equal("true\n", load_compiled_for(major, minor))
  end)
end)
