--- Generators that nobody has seeded: the system does.
-- axes: none

local build = require "spec.support.build"
local st = require "strided"

--- The words that a script prints, in a process of its own.
local function words(script)
  local file = os.tmpname()
  local out = assert(io.open(file, "w"))
  out:write("local st = require 'strided'\n", script)
  out:close()
  local list = {}
  for word in build.output("luajit " .. file):gmatch "%S+" do
    list[#list + 1] = word
  end
  os.remove(file)
  return list
end

local DRAW = "io.write(('%.17g '):format(st.rand({1}):item())) io.flush()\n"

-- A child draws before its parent does.
local FORK = [[
  local ffi = require "ffi"
  ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
  local function child()
    io.write(("%.17g "):format(st.rand({1}):item()))
    io.flush()
    ffi.C._exit(0)
  end
  for _ = 1, 2 do
    local pid = ffi.C.fork()
    if pid == 0 then child() end
    ffi.C.waitpid(pid, nil, 0)
  end
]]

describe("A generator that nobody has seeded", function()
  it("has other numbers in each process", function()
    local a, b = words(DRAW), words(DRAW)
    assert.equal(1, #a)
    assert.not_equal(a[1], b[1])
  end)

  it("has other numbers than another", function()
    local a, b = st.Generator(), st.Generator()
    assert.not_equal(a:initial_seed(), b:initial_seed())
    assert.is_false(st.rand({4}, {generator = a})
                      :equal(st.rand({4}, {generator = b})))
    local c = st.Generator {algorithm = "philox"}
    assert.not_equal(c:initial_seed(),
                     st.Generator({algorithm = "philox"}):initial_seed())
  end)

  it("says its seed, which gives its numbers again", function()
    local list = words [[
      local a = st.rand(3)
      st.manual_seed(st.initial_seed())
      print(st.rand(3):equal(a), st.initial_seed() < 2 ^ 53)
      local seed = st.seed()
      a = st.rand(3)
      st.manual_seed(seed)
      print(st.rand(3):equal(a), st.initial_seed() == seed)
    ]]
    assert.same({"true", "true", "true", "true"}, list)
  end)

  it("has other numbers in each forked child", function()
    local list = words(DRAW .. FORK .. DRAW)
    assert.equal(4, #list)
    for i = 1, 4 do
      for k = i + 1, 4 do assert.not_equal(list[i], list[k]) end
    end
  end)

  it("goes on in forked children once it was seeded", function()
    for _, seeded in ipairs {
      "st.manual_seed(3)\n", "st.set_rng_state(st.Generator(3))\n",
      "st.set_rng_state(st.Generator(3):get_state())\n",
    } do
      local want = words("st.manual_seed(3)\n" .. DRAW)[1]
      assert.same({want, want, want}, words(seeded .. FORK .. DRAW))
    end
  end)
end)
