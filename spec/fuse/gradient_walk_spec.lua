--- The derivatives of every operator of the registry, recorded by st.fuse and,
-- where it is pointwise, as a lib:elementwise and as the map of a
-- lib:reduction: at the samples of the gradient checks, at other elements and
-- in other shapes, they are those of the direct call.
-- axes: lua5.4
-- sampled: 3

local samples = require "spec.grad.gradcheck.samples"
local registry = require "spec.grad.gradcheck.registry"
local lapack = require "spec.support.lapack"
local st = require "strided"
local tensors = require "spec.support.tensors"
local walk = require "spec.fuse.gradient_walk"

local error, ipairs, next, pcall, print = error, ipairs, next, pcall, print
local tostring = tostring
local getenv = os.getenv
local unpack = unpack or table.unpack

-- Under sanitizers one sample of STEP is called.
local STEP = getenv "STRIDED_SANITIZED" and 16 or 1

local counts
local seen = 0 -- samples

--- One call, compared with the same call of `direct`. False if that fails.
local function check(c, direct, fused)
  local ok, want = pcall(walk.run, c, direct)
  if not ok then return false end
  local why = walk.compare(want, walk.run(c, fused))
  counts.calls = counts.calls + 1
  if why then error(why, 0) end
  return true
end

--- A sample at its elements, at others and, of dense ones, in other shapes.
-- direct: makes the function of a call.
local function check_calls(entry, call, layout, direct, fused)
  local c = walk.made(entry.call, call, layout)
  assert(check(c, direct(c), fused), "the direct call fails")
  counts.samples = counts.samples + 1
  local other = walk.made(entry.call, call, layout, 43)
  check(other, direct(other), fused)
  if layout ~= "dense" then return end
  for from = 2, 4 do
    local wide = walk.made(entry.call, call, layout, 42, function(n)
      return n == from and n + 3 or n
    end)
    if check(wide, direct(wide), fused) then
      counts.resized = counts.resized + 1
      return
    end
  end
end

local function each_sample(entry, visit)
  for i, call in ipairs(samples[entry.name]) do
    seen = seen + 1
    local layouts = {"dense", not call.dense and "spread" or nil}
    if seen % STEP ~= 0 then layouts = {} end
    for _, layout in ipairs(layouts) do
      local ok, why = pcall(visit, call, layout)
      assert.is_true(ok, ("call %d, %s: %s"):format(i, layout, tostring(why)))
    end
  end
end

--- Counts are printed where STRIDED_WALK is set.
local function walked(describe_it)
  local before
  setup(function()
    before = tensors.live()
    counts = {samples = 0, calls = 0, resized = 0, refused = 0}
  end)
  for _, entry in ipairs(registry.differentiable()) do describe_it(entry) end
  it("any of these leaves no tensor behind", function()
    assert.is_true(tensors.live() <= before)
    if not getenv "STRIDED_WALK" then return end
    print(("\n%d samples, %d calls, %d in other shapes, %d not fused"):format(
      counts.samples, counts.calls, counts.resized, counts.refused))
  end)
end

-- -- Recordings --------------------------------------------------------------

describe("The derivatives of a recording of", function()
  walked(function(entry)
    lapack.it_of(entry.name, it, pending)(entry.name, function()
      each_sample(entry, function(call, layout)
        local c = walk.made(entry.call, call, layout)
        local fused = st.fuse(walk.surrounded(c))
        check_calls(entry, call, layout, walk.surrounded, fused)
        if fused:explain(unpack(c.inputs)):find "the function is called" then
          counts.refused = counts.refused + 1
        end
      end)
    end)
  end)
end)

-- -- Expressions -------------------------------------------------------------

local function fold(a, b) return a * b + a + b end

--- The map of a reduction, reduced by the operators of reductions.
local function reduced(c, is_fold, dim)
  return function(...)
    local y = c.f(...):expand(st.broadcast_tensors({...})[1].shape)
    local options = {dim = dim}
    if not is_fold then return y:sum(options) end
    if dim then return (y + 1):prod(dim) - 1 end
    return (y + 1):prod() - 1
  end
end

describe("The derivatives of an expression of", function()
  local lib, ops
  before_each(function()
    lib = st.library "spec_walk"
    ops = st.ops.spec_walk
  end)
  after_each(function()
    lib:close()
    ops = nil
  end)

  --- The operator itself where an expression would broadcast.
  local function pointwise(c)
    return function(...)
      st.broadcast_tensors {...}
      return c.f(...)
    end
  end

  --- False if it is no expression.
  local function check_elementwise(entry, call, layout, outputs)
    local c = walk.made(entry.call, call, layout)
    if not pcall(lib.elementwise, lib,
                 walk.schema("f", #c.inputs, outputs), c.f) then
      return false
    end
    -- some are pointwise for float32 only
    if not pcall(ops.f, unpack(c.inputs)) then return false end
    check_calls(entry, call, layout, pointwise, ops.f)
    return true
  end

  --- All dimensions of dense samples are added, the first of others is folded
  -- by an operator that is no built-in one.
  local function check_reduction(entry, call, layout)
    local c = walk.made(entry.call, call, layout)
    local is_fold, dim = layout ~= "dense", layout ~= "dense" and 1 or nil
    lib:reduction(walk.schema("r", #c.inputs, 1),
                  {map = c.f, combine = is_fold and fold or "a + b"})
    check_calls(entry, call, layout, function(d)
      return reduced(d, is_fold, dim)
    end, function(...)
      local args = {...}
      args[#args + 1] = {dim = dim and {dim}}
      return ops.r(unpack(args))
    end)
  end

  walked(function(entry)
    local results = {}
    for _, call in ipairs(samples[entry.name]) do
      if not call.seeded and not lapack.is_missing(entry.name) then
        results[call] = walk.broadcasts(entry.call, call)
      end
    end
    if not next(results) then return end
    it(entry.name, function()
      each_sample(entry, function(call, layout)
        if not results[call] then return end
        lib:close()
        lib = st.library "spec_walk"
        if not check_elementwise(entry, call, layout, results[call]) then
          counts.refused = counts.refused + 1
        elseif results[call] == 1 then
          check_reduction(entry, call, layout)
        end
      end)
    end)
  end)
end)
