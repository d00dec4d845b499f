--- The release: one version everywhere, and a tarball that has the same bytes
-- each time. With STRIDED_WHOLE, as in ./dev test all, the rock is built from
-- the tarball, without a network where the system lets a process go without.
-- axes: none

local build = require "spec.support.build"
local files = require "spec.support.files"
local st = require "strided"

local ROOT = build.root
local VERSION = files.read(ROOT .. "/core/strided.h")
                  :match '#define ST_VERSION "([%d.]+)"'
local ROCKSPEC = ("rockspecs/strided-%s-1.rockspec"):format(VERSION)

local function read(name) return files.read(ROOT .. "/" .. name) end

--- What a rockspec sets.
local function load_rockspec(name)
  local values = {}
  local chunk = assert((loadstring or load)(assert(read(name), name)))
  if setfenv then setfenv(chunk, values)
  else chunk = assert(load(read(name), name, "t", values)) end
  chunk()
  return values
end

describe("The version", function()
  it("is that of the header in the library, CMake, rock and CHANGELOG",
     function()
    assert.equal("strided " .. VERSION, st._VERSION)
    local cache = files.read(build.folder .. "/CMakeCache.txt")
    assert.truthy(cache:find("CMAKE_PROJECT_VERSION:STATIC=" .. VERSION .. "\n",
                             1, true))
    assert.equal(VERSION .. "-1", load_rockspec(ROCKSPEC).version)
    assert.equal(VERSION, read "CHANGELOG.md":match "\n## %[(%d[%d.]*)%]")
  end)

  it("and the source are all that the release's rockspec has of its own",
     function()
    local release = load_rockspec(ROCKSPEC)
    local scm = load_rockspec "strided-scm-1.rockspec"
    assert.truthy(release.source.url:find("/strided-" .. VERSION .. ".tar.gz",
                                          1, true))
    release.version, release.source = scm.version, scm.source
    assert.same(scm, release)
  end)
end)

describe("./dev dist", function()
  -- once, and where there is a repository
  local once = jit and not build.is_sanitized and
               build.output(("git -C '%s' rev-parse --show-cdup"):format(ROOT))
               == "\n"
  if not once then return end

  local folder = os.tmpname()
  os.remove(folder)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  local function shell(command, ...)
    local text, code = build.shell(("cd '%s' && " .. command):format(ROOT, ...))
    assert.equal(0, code, text)
    return text
  end

  local NAME = "strided-" .. VERSION

  it("gives the same bytes twice", function()
    shell("./dev dist '%s/one' && ./dev dist '%s/two'", folder, folder)
    shell("cmp '%s/one/%s.tar.gz' '%s/two/%s.tar.gz'", folder, NAME, folder,
          NAME)
    local list = shell("tar tzf '%s/one/%s.tar.gz'", folder, NAME)
    for _, name in ipairs {"CMakeLists.txt", NAME .. "-1.rockspec", "LICENSE",
                           "core/strided.h", "lua/strided/init.lua", "dev"} do
      assert.truthy(list:find("\n" .. NAME .. "/" .. name .. "\n", 1, true),
                    name)
    end
    assert.is_nil(list:find(NAME .. "/strided-scm", 1, true))
    assert.is_nil(list:find(NAME .. "/build", 1, true))
    -- what a run of something has left in the root
    for name in list:gmatch(NAME:gsub("%p", "%%%0") .. "/([^/\n]+)\n") do
      assert.truthy(name:find "^[A-Z]" or name:find "^%." or name == "dev" or
                    name:find "%.rockspec$", name)
    end
  end)

  if not os.getenv "STRIDED_WHOLE" then return end

  it("gives sources that become a rock without a network", function()
    local offline = shell "unshare -rn true 2>/dev/null && echo yes || true"
    shell("cd '%s/one' && tar xzf %s.tar.gz && cd %s && %s luarocks make " ..
          "--tree '%s/tree' LUA_INCDIR=/usr/include/luajit-2.1", folder, NAME,
          NAME, offline == "yes\n" and "unshare -rn" or "", folder)
    local tree = folder .. "/tree"
    assert.equal(NAME:gsub("-", " ") .. " 15\n", (shell(
      "cd / && LUA_PATH='%s/share/lua/5.1/?.lua;%s/share/lua/5.1/?/init.lua' "
      .. "LUA_CPATH='%s/lib/lua/5.1/?.so' luajit -e 'local st = " ..
      "require \"strided\" print(st._VERSION, st.arange(6):sum():item())' | " ..
      "tr '\\t' ' '", tree, tree, tree)))
  end)
end)
