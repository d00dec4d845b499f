--- The bits that every operator gives are the same on every instruction set,
-- with every number of threads, C library and LAPACK, and in every layout, but
-- for the operators that the manual lists with a reason (docs/reproducibility).
-- axes: none

local build = require "spec.support.build"
local files = require "spec.support.files"
local lapack = require "spec.support.lapack"
local others = require "spec.op.operator_bits.others"
local reasons = require "spec.op.operator_bits.reasons"
local samples = require "spec.grad.gradcheck.samples"

local ipairs, pairs = ipairs, pairs

-- What the runs of walk.lua change, their environment, and its arguments.
local BOTH = "float32 float64"
local RUNS = {
  {key = "best", env = "STRIDED_NUM_THREADS=1", args = "layout " .. BOTH},
  {key = "avx2", env = "STRIDED_ISA=avx2 STRIDED_NUM_THREADS=3", args = BOTH},
  {key = "base", env = "STRIDED_ISA=base STRIDED_NUM_THREADS=2", args = BOTH},
  {key = "libm", env = "OTHER=libm LD_PRELOAD=%s", args = BOTH},
  {key = "lapack", env = "OTHER=lapack LD_PRELOAD=%s", args = "float64"},
}

--- Without what needs a LAPACK that is not there.
local function reachable(names)
  local out = {}
  for name, value in pairs(names) do
    if not lapack.is_missing(name) then out[name] = value end
  end
  return out
end

--- Runs walk.lua once for each of RUNS, two at a time: what each prints, by
-- key as {name = {dtype = digest, ..}}, and its last line.
local function walks()
  local walk = build.root .. "/spec/op/operator_bits/walk.lua"
  local preloaded = build.program("op/other_libraries.so")
  local commands, paths = {}, {}
  for i, run in ipairs(RUNS) do
    paths[i] = os.tmpname()
    commands[i] = ("env -u LD_PRELOAD -u STRIDED_ISA %s %s "
      .. "'%s' %s >%s 2>&1 &%s"):format(
      run.env:format(preloaded), build.lua, walk, run.args, paths[i],
      i % 2 == 0 and " wait" or "")
  end
  build.output(table.concat(commands, "\n") .. "\nwait")
  local printed, last = {}, {}
  for i, run in ipairs(RUNS) do
    local lines = files.lines_of(files.read(paths[i]))
    os.remove(paths[i])
    last[run.key] = lines[#lines]
    assert(last[run.key] and last[run.key]:find "^%d+ calls", last[run.key])
    local of = {}
    for k = 1, #lines - 1 do
      local name, what, digest = lines[k]:match "^(%S+) (%S+) ?(%S*)$"
      of[name] = of[name] or {}
      of[name][what] = digest
    end
    printed[run.key] = reachable(of)
  end
  return printed, last
end

--- The names of the operators that have another digest in another run.
local function different(one, other)
  local out = {}
  for name, digests in pairs(other) do
    for dtype, digest in pairs(digests) do
      if digest ~= one[name][dtype] then out[name] = true end
    end
  end
  return out
end

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

describe("The bits of operators", function()
  local printed, last
  local listed = {}
  for _, reason in ipairs(reasons) do
    listed[reason.key] = reachable(reason.names)
  end

  setup(function()
    if jit and not build.is_sanitized then printed, last = walks() end
  end)

  it("are listed by the names of operators", function()
    local known = {}
    for _, name in ipairs(reasons.operators()) do known[name] = true end
    for _, reason in ipairs(reasons) do
      for name in pairs(reason.names) do assert.is_true(known[name], name) end
    end
  end)

  it("are those of samples, of every operator", function()
    local has = {}
    for name in pairs(samples) do has[name:match "^[^.]*"] = true end
    for name in pairs(others) do has[name] = true end
    for name, caller in pairs(reasons.inner) do
      assert.is_true(has[caller], caller)
      has[name] = true
    end
    for name in pairs(listed.any) do has[name] = true end
    for _, name in ipairs(reasons.operators()) do
      assert.is_true(has[name], name)
    end
  end)

  if build.is_sanitized or not jit then return end -- walk.lua is LuaJIT's

  lapack.note("are those of eigenvalues", pending)

  it("are those of calls that work", function()
    for name, digests in pairs(printed.best) do
      assert.is_nil(digests.fails, name)
    end
  end)

  it("are the same on every instruction set, with any threads", function()
    assert.same({}, sorted(different(printed.best, printed.avx2)), last.avx2)
  end)

  it("differ without fused multiply-add where products are listed", function()
    local names = different(printed.best, printed.base)
    if last.best:find " base," then names = listed.base end
    assert.same(sorted(listed.base), sorted(names))
  end)

  it("differ in another C library where that is listed", function()
    assert.same(sorted(listed.libm),
                sorted(different(printed.best, printed.libm)))
  end)

  it("differ without LAPACK where that is listed", function()
    assert.same(sorted(listed.lapack),
                sorted(different(printed.best, printed.lapack)))
  end)

  it("differ in other layouts where memory is listed", function()
    local names = {}
    for name, digests in pairs(printed.best) do
      names[name] = digests.layout and true
    end
    assert.same(sorted(listed.layout), sorted(names))
  end)
end)
