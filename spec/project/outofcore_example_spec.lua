--- examples/outofcore.lua at a size that is quick, in a process of its own.
-- axes: lua

local build = require "spec.support.build"
local files = require "spec.support.files"
local st = require "strided"

local ROOT = build.output("cd '" .. build.root .. "' && pwd"):gsub("\n$", "")

local folder

--- What the example prints, and its exit code; started from another folder.
local function run(words, environment)
  return build.shell(("cd '%s' && env %s %s '%s/examples/outofcore.lua' %s")
                     :format(folder, environment or "", build.lua, ROOT,
                             words))
end

local function succeed(words)
  local text, code = run(words)
  assert.equal(0, code, text)
  return text
end

local function near(want, got)
  local away = (got - want):abs():amax():item()
  assert.is_true(away <= 1e-12 * want:abs():amax():item(), away)
end

describe("examples/outofcore.lua", function()
  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert.equal("", build.output("mkdir '" .. folder .. "'"))
  end)

  after_each(function() os.execute("rm -rf '" .. folder .. "'") end)

  --- Its files hold what a calculation in memory gives.
  local function check()
    local x = st.load(folder .. "/table.npy")
    local wide, found = x:to "float64", st.load(folder .. "/columns.npz")
    local var, mean = st.var_mean(wide, {dim = 1, correction = 0})
    near(wide:sum {dim = 1}, found.sum)
    near(mean, found.mean)
    near(var:sqrt(), found.std)
    assert.is_true(found.least:equal(x:amin {dim = 1}))
    assert.is_true(found.largest:equal(x:amax {dim = 1}))
    local std = found.std:masked_fill(found.std:eq(0), 1)
    local z = (x - found.mean:to(x.dtype)) / std:to(x.dtype)
    assert.is_true(st.load(folder .. "/standard.npy"):equal(z))
    assert.is_true(found.histogram:equal(st.histc(z, 50, -5, 5)
                                           :to(found.histogram.dtype)))
    return x
  end

  it("standardises a table that it makes", function()
    local text = succeed "--rows 5000 --columns 5 --block 700 --seed 3 ."
    assert.truthy(text:find("making ./table.npy: 5000 x 5 float32\n", 1, true),
                  text)
    assert.truthy(text:find "resident peak +%d+%.%d MB\n$", text)
    assert.equal("", build.output("ls '" .. folder .. "' | grep part"))
    local x = check()
    assert.same({5000, 5}, {x.shape[1], x.shape[2]})
    local z = st.load(folder .. "/standard.npy"):to "float64"
    assert.is_true(z:mean({dim = 1}):abs():amax():item() < 1e-4)
    assert.is_true((z:std {dim = 1, correction = 0} - 1):abs():amax():item()
                   < 1e-4)
  end)

  it("gives the same for any size of blocks", function()
    succeed "--rows 999 --columns 3 --block 100 ."
    local mean = st.load(folder .. "/columns.npz").mean
    assert.falsy(succeed("--block 2000 ."):find "making")
    check()
    near(mean, st.load(folder .. "/columns.npz").mean)
  end)

  it("takes a table that is there, with large means and equal numbers",
     function()
    local x = st.randn({300, 3}, {dtype = "float64"})
    x:select(2, 2):add_(1e9)
    x:select(2, 3):fill_(7)
    st.save(folder .. "/table.npy", x)
    succeed "--block 17 ."
    local found = st.load(folder .. "/columns.npz")
    assert.is_true(math.abs(found.std[2] - x:select(2, 2)
                                            :std({correction = 0}):item())
                   < 1e-6)
    assert.equal(0, found.std[3])
    local z = st.load(folder .. "/standard.npy")
    assert.equal(0, z:select(2, 3):abs():amax():item())
  end)

  it("says what is wrong", function()
    local usage = succeed "--help"
    assert.truthy(usage:find "^usage: ")
    for words, why in pairs {
      ["--rows 0"] = "--rows needs a whole number from 1 on, got '0'",
      ["--size 3"] = "'--size' is not understood",
      ["a b"] = "'b' is not understood",
      ["--rows 9"] = "a folder for the files?",
    } do
      assert.same({"outofcore: " .. why .. "\n\n" .. usage, 2}, {run(words)})
    end
    st.save(folder .. "/table.npy", st.ones(3))
    assert.same({"outofcore: ./table.npy has no table of numbers\n", 1},
                {run "."})
    files.write(folder .. "/table.npy", "none")
    local text, code = run "."
    assert.equal(1, code)
    assert.truthy(text:find("^outofcore: load: cannot load './table.npy'"),
                  text)
    text, code = run("nowhere")
    assert.equal(1, code)
    assert.truthy(text:find("outofcore: create: cannot create", 1, true), text)
  end)

  it("needs the rock strided-mpi for ranks", function()
    local text, code = run("--rows 9 .", "OMPI_COMM_WORLD_SIZE=1")
    if text:find "1 rank" then return end -- it is installed
    assert.equal(1, code)
    assert.truthy(text:find("^outofcore: ranks need the rock strided%-mpi: "),
                  text)
  end)
end)
