--- The rock strided-mpi, built against the public header, and its specs, which
-- start programs under mpirun.
-- axes: lua alone

local build = require "spec.support.build"

-- LuaJIT, and a Lua with another ABI. The rock is not built with sanitizers.
local is_first = build.lua == "luajit"
if build.is_sanitized or not (is_first or build.lua == "lua5.4") then return end

local ROOT = build.root
local ROCK = ROOT .. "/rocks/strided-mpi"

local headers = build.headers()
local folder = os.tmpname()
os.remove(folder)

local function is_there(command)
  return build.output("command -v " .. command) ~= ""
end

--- Runs a spec of the rock here: with the functions of busted.
local function run_spec(name, env, options)
  local path = ("%s/spec/%s_spec.lua"):format(ROCK, name)
  local set = rawget(_G, "setfenv")
  if set then set(assert(loadfile(path)), env)(options)
  else assert(loadfile(path, "t", env))(options) end
end

describe("The rock strided-mpi", function()
  if not (is_there "mpirun" and is_there "mpicc") then
    pending "needs mpirun and mpicc: ./dev deps"
    return
  end
  local cpath = package.cpath
  setup(function() package.cpath = folder .. "/?.so;" .. cpath end)
  teardown(function()
    package.cpath = cpath
    os.execute("rm -rf '" .. folder .. "'")
  end)

  it("builds without a warning", function()
    local said = build.output(("env -u LD_PRELOAD sh -c \"cmake -S '%s' -B "
      .. "'%s' -DCMAKE_PREFIX_PATH='%s' %s && cmake --build '%s' -j 2\" && "
      .. "echo built"):format(ROCK, folder, build.folder,
                              headers and "-DLUA_INCDIR=" .. headers or "",
                              folder))
    assert.truthy(said:find "built\n$", said)
    assert.is_nil(said:find "warning", said)
  end)

  local mpirun = dofile(ROCK .. "/spec/support/mpirun.lua")

  --- Prepares a run of examples/digits_mpi.lua on n ranks: a function that
  -- returns its checksum and accuracy.
  local function digits(n, options)
    local run = mpirun.later(n, "../../../examples/digits_mpi.lua", 120,
                             "--epochs 4 " .. options)
    return function()
      local text, code = run()
      assert(code == 0, text)
      local lines = 0
      for _ in text:gmatch "epoch %d of 4 " do lines = lines + 1 end
      assert.equal(4, lines, text)
      return text:match "weights (%x+)",
             tonumber(text:match "Done: ([%d.]+) %%")
    end
  end

  -- LuaJIT runs the programs on 1 to 4 ranks, Lua 5.4 on 2.
  local most = is_first and 4 or 2
  local plain, exact = {}, {}
  for _, n in ipairs {1, 2, most} do
    plain[n] = plain[n] or digits(n, "")
  end
  for n = most, 1, -1 do exact[n] = digits(n, "--deterministic --batch 30") end
  local seeded = digits(2, "--deterministic --batch 30 --seed 1")

  it("trains the digits to the same accuracy on several ranks", function()
    local _, accuracy = plain[1]()
    assert.is_true(accuracy > 93, accuracy)
    for _, n in ipairs {2, is_first and 4 or nil} do
      local _, other = plain[n]()
      assert.is_true(math.abs(other - accuracy) < 0.6, other)
    end
  end)

  it("trains deterministic ones to the same weights", function()
    local sums = {}
    for n = most, 1, -1 do sums[n] = exact[n]() end
    for n = 2, most do assert.equal(sums[1], sums[n], n) end
    assert.not_equal(sums[1], (seeded()))
  end)

  for _, name in ipairs(is_first and {"programs", "faults"} or {"programs"}) do
    run_spec(name, rawget(_G, "getfenv") and getfenv(1) or _ENV,
             {ranks = not is_first and {2} or nil})
  end
end)
