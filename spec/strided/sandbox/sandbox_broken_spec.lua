--- A sandbox that cannot be closed leaves nothing of the library, whatever step
-- fails.
-- axes: lua
-- sampled: 3

local build = require "spec.support.build"
local files = require "spec.support.files"

local folder = os.tmpname()

--- Builds the module that lets allocations fail.
local function build_failing()
  local cache = files.read(build.folder .. "/CMakeCache.txt")
  local headers = build.headers() or
                  cache:match "\nLUAJIT_INCLUDE:[^=]*=(%C+)" or
                  cache:match "\nLUA_INCDIR:[^=]*=(%C+)"
  os.remove(folder)
  os.execute("mkdir -p '" .. folder .. "'")
  local said = build.run(("gcc -Wall -Wextra -Werror -shared -fPIC "
    .. "-Wl,-z,nodelete -I '%s' -o '%s/failing.so' "
    .. "'%s/spec/strided/sandbox/failing.c'"):format(headers, folder,
                                                     build.root))
  assert.equal("", said)
end

--- What a host prints.
local function run(way, k, place)
  local text, status = build.shell(("env LUA_PATH='%s' "
    .. "LUA_CPATH='%s' STRIDED_SANDBOX=%s %s "
    .. "'%s/spec/strided/sandbox/broken.lua' %s %d %s '%s'"):format(
      package.path, package.cpath, place == "environment" and "1" or "",
      build.lua, build.root, way, k, place, folder))
  assert.equal(0, status, text)
  return text
end

-- The steps that fail; with STRIDED_WHOLE every one of some thousand.
local STEPS = {
  hook = {1, 1000, 20000, 100000, 300000, 700000},
  memory = {1, 15, 60, 5000, 20000},
  memories = {5, 40, 3000, 20000},
  stack = {3, 10, 20, 30},
  allow = {0},
}

local function steps(way)
  if not os.getenv "STRIDED_WHOLE" or way == "allow" or way == "stack" then
    return STEPS[way]
  end
  local list, k = {}, 1
  while k < 4e6 do
    list[#list + 1] = math.floor(k)
    k = k * 1.03 + 1
  end
  return list
end

describe("A sandbox whose closing fails", function()
  setup(build_failing)
  teardown(function() os.execute("rm -r '" .. folder .. "'") end)

  for _, row in ipairs {
    {"allow", "sandbox"}, {"hook", "sandbox"}, {"memory", "sandbox"},
    {"memories", "sandbox"}, {"stack", "sandbox"}, {"hook", "environment"},
    {"memory", "environment"}, {"memories", "environment"},
  } do
    it(("leaves nothing: %s, %s"):format(row[1], row[2]), function()
      local broken = 0
      for _, k in ipairs(steps(row[1])) do
        local text = run(row[1], k, row[2])
        assert.is_nil(text:find "reached", ("%d: %s"):format(k, text))
        assert.truthy(text:find "^closed\n" or text:find "^early\n" or
                      text:find "^%d+ attacks", text)
        if text:find "^%d" then broken = broken + 1 end
      end
      -- From Lua 5.2 on, a second try follows one that fails.
      assert.is_true(broken > 0 or row[1] == "memory")
    end)
  end
end)
