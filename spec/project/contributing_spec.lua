--- The worked examples of CONTRIBUTING.md: applied to a copy of the sources,
-- built, and run; and what it names is there.
-- axes: unsanitized

local build = require "spec.support.build"
local examples = require "spec.support.source.worked_examples"
local files = require "spec.support.files"

local compile = loadstring or load

local ROOT, BUILD = build.root, build.folder
local TEXT = examples.text

-- The build takes some seconds: where nothing is varied.
local once = jit and not build.is_sanitized and not os.getenv "STRIDED_ISA"

describe("CONTRIBUTING.md", function()
  it("names files, folders and commands that exist", function()
    local names, new = 0, {}
    for _, change in ipairs(examples.changes "") do
      if not change[2] then new[change[1]] = true end
    end
    local text = TEXT:gsub("```.-```", "")
    for name in text:gmatch "`([%l][%w_]*/[%w_/.%-]*)`" do
      if not new[name] and not name:find "^build/" and
         not name:find "^src/" then
        assert.truthy(io.open(ROOT .. "/" .. name), name)
        names = names + 1
      end
    end
    for name in text:gmatch "%]%(([%w_/.]+)%)" do
      assert.truthy(io.open(ROOT .. "/" .. name), name)
    end
    assert.is_true(names > 15)
    local dev = files.read(ROOT .. "/dev")
    for name in TEXT:gmatch "%./dev (%l+)" do
      assert.truthy(dev:find("\n  " .. name, 1, true), name)
    end
  end)

  it("says what its scripts print", function()
    if not once then return end
    local text = examples.script(false)
    local expected, got = {}, {}
    for line in text:gmatch "%-%-> ([^\n]*)" do
      expected[#expected + 1] = line
    end
    assert(compile("local print = ...\n" .. text, "=CONTRIBUTING.md"))(
      function(...)
        local texts = {}
        for i = 1, select("#", ...) do
          texts[i] = tostring((select(i, ...)))
        end
        got[#got + 1] = table.concat(texts, " ")
      end)
    assert.is_true(#expected > 10)
    assert.same(expected, got)
  end)

  it("adds a pointwise operator with a row and a kernel line", function()
    local places = examples.changes "op/elementwise/ops%.def$"
    local kernels = examples.changes "elementwise/unary%.def$"
    -- with its derivative and its spec: four places
    assert.equal(1, #kernels)
    assert.truthy(places[1][3]:find("thrice", 1, true))
    assert.truthy(kernels[1][3]:find("thrice", 1, true))
  end)
end)

-- -- The examples ------------------------------------------------------------

-- Configures, builds and installs for Lua into $1/rock, as quickly as can be.
local BUILD_SCRIPT = [[
set -e
cache=$(command -v ccache || true)
precompile=OFF; [ "$cache" ] || precompile=ON
cmake -S "$1" -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=None \
  -DCMAKE_C_FLAGS=-O0 -DSTRIDED_KERNEL_OPTIMIZE=-O0 \
  -DSTRIDED_OTHER_OPTIMIZE=-O0 -DSTRIDED_PRECOMPILE=$precompile \
  -DSTRIDED_WERROR=OFF \
  "-DSTRIDED_KERNEL_ISAS=only;wide" \
  -DCMAKE_C_COMPILER_LAUNCHER="$cache" \
  -DLUADIR="$1/rock/lua" -DLIBDIR="$1/rock/lib"
rm -rf "$1/rock"
cmake --build "$1/build"
cmake --install "$1/build"
]]

--- A copy of the sources, below the build.
local function scratch_copy()
  local scratch = BUILD .. "/scratch"
  os.execute(("mkdir -p '%s' && cd '%s' && rm -rf core lua rocks mine && " ..
              "mkdir rocks && cd '%s' && cp -rp core lua CMakeLists.txt '%s' "
              .. "&& cp -rp rocks/strided-example '%s/rocks'"):format(
              scratch, scratch, ROOT, scratch, scratch))
  return scratch
end

describe("The worked examples", function()
  it("build and do what they say", function()
    if not once then return end
    local scratch = scratch_copy()
    examples.apply(scratch, examples.changes "")
    files.write(scratch .. "/build.sh", BUILD_SCRIPT)
    files.write(scratch .. "/mine.sh", "set -e\n" .. examples.commands())
    files.write(scratch .. "/try.lua", examples.script(true) ..
                "\nassert(package.loaded.strided_example)\n" ..
                "io.write 'it works'")
    local log = scratch .. "/log"
    local built = os.execute(("cd '%s' && { sh build.sh '%s' && MINE=" ..
                              "'%s/mine' sh mine.sh; } >'%s' 2>&1"):format(
                             scratch, scratch, scratch, log))
    assert.is_true(built == 0 or built == true, "the build failed: " .. log)
    assert.is_nil(files.read(log):find("modf%.%l+:%d+[^\n]*warning:"), log)
    assert.is_nil(files.read(log):find("device%.c:%d+[^\n]*warning:"), log)
    -- from the installed files alone, and from another folder
    local said = build.output(("cd / && STRIDED_ISA=wide " ..
      "LUA_PATH='%s/rock/lua/?.lua;%s/rock/lua/?/init.lua' " ..
      "LUA_CPATH='%s/rock/lib/?.so;%s/mine/build/?.so' luajit '%s/try.lua' 2>&1"
      ):format(scratch, scratch, scratch, scratch, scratch))
    assert.equal("it works", said:sub(-8), said)
  end)
end)
