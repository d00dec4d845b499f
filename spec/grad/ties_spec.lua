--- Gradients where two arguments are equal, at a bound, or at a kink, and which
-- second derivatives are zeros and which are none. PyTorch 2.15 computed what
-- is expected.
-- axes: isa lua

local st = require "strided"

local unpack = unpack or table.unpack

local aten, none = st.ops.aten, st.none
local NAN, INF = 0 / 0, math.huge

local function vector(list, requires_grad)
  local t = st.tensor(list, {dtype = "float64"})
  return requires_grad and t:requires_grad_() or t
end

--- The gradients of f for the lists, as lists; element k of the result has the
-- gradient k.
local function gradients(f, ...)
  local leaves = {...}
  for i, list in ipairs(leaves) do leaves[i] = vector(list, true) end
  local y = f(unpack(leaves))
  local weights = {}
  for k = 1, tonumber(y:numel()) do weights[k] = k end
  local got = {st.grad({y}, leaves, {grad_outputs = {vector(weights)}})}
  for i = 1, #got do got[i] = got[i]:totable() end
  return got
end

-- NaN compares equal to NaN.
local function plain(list)
  local out = {}
  for i, x in ipairs(list) do out[i] = x ~= x and "nan" or x + 0 end
  return out
end

local function expect(want, f, ...)
  local got = gradients(f, ...)
  assert.equal(#want, #got)
  for i = 1, #want do assert.same(plain(want[i]), plain(got[i])) end
end

describe("The gradient of equal arguments", function()
  local A = {1, 2, NAN, NAN, 2, INF, -INF}
  local B = {1, 1, NAN, 2, NAN, INF, -INF}

  -- operator, gradients of A and B
  local halved = {
    {"fmax", {0.5, 2, 3, 0, 5, 3, 3.5}, {0.5, 0, 0, 4, 0, 3, 3.5}},
    {"fmin", {0.5, 0, 3, 0, 5, 3, 3.5}, {0.5, 2, 0, 4, 0, 3, 3.5}},
    {"maximum", {0.5, 2, 3, 4, 5, 3, 3.5}, {0.5, 0, 3, 4, 5, 3, 3.5}},
    {"minimum", {0.5, 0, 3, 4, 5, 3, 3.5}, {0.5, 2, 3, 4, 5, 3, 3.5}},
  }
  for _, row in ipairs(halved) do
    it("is halved: " .. row[1], function()
      expect({row[2], row[3]}, aten[row[1]], A, B)
    end)
  end

  local X, M = {0, 1, 2, NAN, 1, NAN}, {1, 1, 1, 1, NAN, NAN}
  local above = {{0, 1, 3, 4, 5, 6}, {1, 1, 0, 4, 5, 6}}
  local below = {{1, 1, 0, 4, 5, 6}, {0, 1, 3, 4, 5, 6}}
  local bounds = {
    {"clamp with min", above,
     function(x, m) return aten.clamp.Tensor(x, m, none) end},
    {"clamp with max", below,
     function(x, m) return aten.clamp.Tensor(x, none, m) end},
    {"clamp_min", above, aten.clamp_min.Tensor},
    {"clamp_max", below, aten.clamp_max.Tensor},
  }
  for _, row in ipairs(bounds) do
    it("is halved between an element and its bound: " .. row[1], function()
      expect(row[2], row[3], X, M)
    end)
  end

  it("is given as PyTorch does between two bounds", function()
    -- self, min, max; parts of the gradient of each
    local rows = {
      {0, 0, 0, 1, 0, 0}, {0, 0, 1, 0.5, 0.5, 0}, {0, 0, NAN, 1, 0, 0},
      {0, 1, 0, 0, 0, 1}, {0, 1, 1, 0, 1, 0}, {0, 1, 2, 0, 1, 0},
      {0, 1, NAN, 0, 0, 0}, {0, 2, 1, 0, 0, 1}, {0, NAN, 0, 1, 0, 0},
      {1, 0, 0, 0, 0, 1}, {1, 0, 1, 0.5, 0, 0.5}, {1, 0, 2, 1, 0, 0},
      {1, 1, 0, 0, 0, 1}, {1, 1, 2, 0.5, 0.5, 0}, {1, 2, 1, 0, 0, 1},
      {1, NAN, 0, 0, 0, 0}, {1, NAN, 1, 1, 0, 0}, {2, 0, 1, 0, 0, 1},
      {NAN, 0, 1, 1, 0, 0}, {NAN, 1, 0, 1, 0, 1}, {NAN, NAN, 1, 1, 0, 0},
    }
    local lists = {{}, {}, {}, {}, {}, {}}
    for k, row in ipairs(rows) do
      for i = 1, 6 do lists[i][k] = i < 4 and row[i] or k * row[i] end
    end
    expect({lists[4], lists[5], lists[6]}, aten.clamp.Tensor, lists[1],
           lists[2], lists[3])
  end)

  it("is summed over what is broadcast", function()
    for _, name in ipairs {"maximum", "fmax"} do
      expect({{0.5, 2}, {0.5}}, aten[name], {3, 4}, {3})
    end
    expect({{0.5, 2}, {0.5}}, aten.clamp_min.Tensor, {3, 4}, {3})
  end)

  it("of nextafter is 0, that of others goes to self", function()
    expect({{0, 2, 3, 4, 5, 0, 7, 0}, {0, 0, 0, 0, 0, 0, 0, 0}},
           aten.nextafter, {1, 2, NAN, 1, NAN, INF, -INF, 0},
           {1, 3, 1, NAN, NAN, INF, INF, -0.0})
  end)

  it("is 0 for atan2 of two zeros", function()
    expect({{0, 0}, {0, -1}}, aten.atan2, {0, 2}, {0, 0})
  end)
end)

describe("The gradient at a bound or kink", function()
  local X = {0, 1, 2, -1, NAN}
  -- name, function, the elements, their gradient
  local rows = {
    {"clamp(0, 1)", function(x) return x:clamp(0, 1) end, X, {0, 0, 0, 0, 0}},
    {"clamp(0, 2)", function(x) return x:clamp(0, 2) end, X, {0, 2, 0, 0, 0}},
    {"clamp(1, 1)", function(x) return x:clamp(1, 1) end, X, {0, 0, 0, 0, 0}},
    {"clamp with max", function(x) return aten.clamp(x, none, 1) end, X,
     {1, 0, 0, 4, 0}},
    {"clamp with min", function(x) return aten.clamp(x, 1, none) end, X,
     {0, 0, 3, 0, 0}},
    {"clamp_min", function(x) return x:clamp_min(1) end, X, {0, 0, 3, 0, 0}},
    {"clamp_max", function(x) return x:clamp_max(1) end, X, {1, 0, 0, 4, 0}},
    {"hardswish", aten.hardswish, {-4, -3, 0, 3, 4}, {0, 0, 1.5, 4, 5}},
  }
  for _, row in ipairs(rows) do
    it("is PyTorch's: " .. row[1], function()
      expect({row[4]}, row[2], row[3])
    end)
  end

  it("carries over to losses made of them", function()
    local y = vector({1, 1, 1, 1})
    expect({{0, 2, 0, 4}}, function(x)
      return aten.hinge_embedding_loss(x, y * vector {-1, 1, -1, 1}, 1, 0)
    end, {1, 0, 2, 3})
  end)
end)

-- -- Second derivatives ------------------------------------------------------

--- Of each gradient that can be differentiated again, per leaf: n for none, z
-- for zeros, v for a value; a - where it cannot.
local function second(f, shapes, required)
  local all, leaves = {}, {}
  for i, shape in ipairs(shapes) do
    all[i] = st.rand(shape, {dtype = "float64"})
    if required:sub(i, i) == "1" then
      leaves[#leaves + 1] = all[i]:requires_grad_()
    end
  end
  local y = f(unpack(all))
  local firsts = {st.grad({y}, leaves, {
    grad_outputs = {st.rand_like(y:detach())}, create_graph = true})}
  local out = {}
  for i, g in ipairs(firsts) do
    out[i] = "-"
    if g.requires_grad then
      local h = {st.grad({g}, leaves, {
        grad_outputs = {st.rand_like(g:detach())}, allow_unused = true,
        retain_graph = true})}
      out[i] = ""
      for k = 1, #leaves do
        out[i] = out[i] .. (h[k] == nil and "n" or
                            h[k]:eq(0):all():item() and "z" or "v")
      end
    end
  end
  return table.concat(out, " ")
end

describe("The second derivative", function()
  setup(function() st.manual_seed(1) end)

  local SHAPES = {{2, 4, 3}, {4}, {4}}
  -- which of input, weight and bias require a gradient, what there is
  local group_norm = {
    {"001", "-"}, {"010", "z"}, {"011", "zz -"}, {"100", "v"},
    {"101", "vz -"}, {"110", "vv vz"}, {"111", "vvz vzz -"},
  }
  for _, row in ipairs(group_norm) do
    it("of group_norm is zeros for the bias: " .. row[1], function()
      assert.equal(row[2], second(function(x, w, b)
        return aten.group_norm(x, 2, w, b)
      end, SHAPES, row[1]))
    end)
  end

  -- mode, which of input and grid require a gradient, what there is
  local grid = {
    {0, "01", "v"}, {0, "10", "n"}, {0, "11", "nv vv"}, {1, "01", "n"},
    {1, "10", "n"}, {1, "11", "nz nn"}, {2, "01", "v"}, {2, "10", "n"},
    {2, "11", "nv vv"},
  }
  for _, row in ipairs(grid) do
    it(("of grid_sampler, mode %d, is none or zeros: %s"):format(row[1],
                                                                 row[2]),
       function()
      assert.equal(row[3], second(function(x, g)
        return aten.grid_sampler_2d(x, g, row[1], 0, false)
      end, {{1, 2, 3, 3}, {1, 2, 2, 2}}, row[2]))
      if row[1] == 2 then return end
      assert.equal(row[3], second(function(x, g)
        return aten.grid_sampler_3d(x, g, row[1], 0, false)
      end, {{1, 2, 3, 3, 3}, {1, 2, 2, 2, 3}}, row[2]))
    end)
  end

  it("of a product of one element that is 0 is none", function()
    for _, f in ipairs {
      function(x) return x:prod(2) end, function(x) return x:prod(2, true) end,
      function(x) return x:cumprod(2) end, function(x) return x:prod(1) end,
      function(x) return x:prod() end,
    } do
      local x = st.zeros({1, 1}, {dtype = "float64"}):requires_grad_()
      local g = st.grad({f(x):sum()}, {x}, {create_graph = true})
      assert.equal(1, g:item())
      assert.is_false(g.requires_grad)
    end
  end)

  it("of cumprod is right with zeros", function()
    local x = st.tensor({{2, 0, 3, 0}, {1, 2, 0, 4}},
                        {dtype = "float64"}):requires_grad_()
    local g = st.grad({x:cumprod(2):sum()}, {x}, {create_graph = true})
    assert.same({{1, 8, 0, 0}, {3, 1, 10, 0}}, g:totable())
    assert.is_true(g.requires_grad)
    assert.same({{4, 12, 2, 6}, {11, 6, 17, 2}},
                st.grad({g:sum()}, {x}):totable())
  end)
end)
