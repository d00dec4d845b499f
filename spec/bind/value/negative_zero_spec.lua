--- The number -0.0 as an argument: it keeps its sign where floats are computed,
-- and is the integer 0 beside integers.
-- axes: lua ffi lua5.2

local core = require "strided.core"
local registry = require "spec.grad.gradcheck.registry"
local samples = require "spec.grad.gradcheck.samples"
local st = require "strided"
local tensors = require "spec.support.tensors"
local values = require "spec.grad.gradcheck.values"

local unpack = unpack or table.unpack
local Z = -1 / math.huge -- Lua 5.1 takes a literal -0.0 for 0

local function text_of(x)
  return type(x) == "number" and x == 0 and tostring(1 / x) or tostring(x)
end

--- A tensor's dtype, shape and elements, with 0 and -0 as two texts.
local function bits(t)
  if not st.is_tensor(t) then return text_of(t) end
  local out = {tensors.dtype(t), table.concat(t.shape, "x")}
  t = t:detach():resolve_conj():resolve_neg():reshape(-1)
  if t:is_complex() then t = st.view_as_real(t):reshape(-1) end
  for i, x in ipairs(t:totable()) do out[i + 2] = text_of(x) end
  return table.concat(out, " ")
end

local function all_bits(...)
  local out = {}
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if type(x) == "table" then
      for _, e in ipairs(x) do out[#out + 1] = bits(e) end
    else
      out[#out + 1] = bits(x)
    end
  end
  return table.concat(out, "|")
end

local function is_negative_zero(t)
  return t:eq(0):all():item() and st.signbit(t):all():item()
end

--- Positions of args that a number may take: those of numbers, except where an
-- integer is wanted, and those of tensors beside other floating tensors.
local function places(entry, args)
  local types, out = {}, {}
  local list = entry.call:schema():match "(%b()) %->":sub(2, -2)
  for text in (list .. ","):gmatch "%s*(.-)," do
    if text ~= "*" then types[#types + 1] = text:match "^%S+" end
  end
  for i, x in ipairs(args) do
    local kind = types[i] or ""
    if kind:find "^Scalar%??$" or kind:find "^float%??$" then
      out[#out + 1] = i
    elseif st.is_tensor(x) and kind == "Tensor" then
      out[#out + 1] = i
    end
  end
  return out
end

--- True if a floating tensor is among the arguments but the i-th.
local function has_floats(args, i)
  for k, x in ipairs(args) do
    if k ~= i and st.is_tensor(x) and
       (x:is_floating_point() or x:is_complex()) then
      return true
    end
  end
  return false
end

local function call(entry, args, i, x)
  local with = {unpack(args)}
  with[i] = x
  st.manual_seed(1)
  return pcall(function()
    return all_bits(core.packet("aten::" .. entry.name:match "^[^.]+")(
      unpack(with)))
  end)
end

describe("-0.0 beside floating tensors", function()
  it("gives the bits of st.float(-0.0) in every operator", function()
    local count, wrong, warnings = 0, {}, st.warnings(false)
    for _, entry in ipairs(registry.all()) do
      local sample = samples[entry.name]
      for _, one in ipairs(sample and not entry.name:find "^_" and sample
                           or {}) do
        local args = values.prepared(one, (values.make(one)))
        for i, x in ipairs(args) do
          args[i] = st.is_tensor(x) and x:detach() or x
        end
        for _, i in ipairs(places(entry, args)) do
          local _, got = call(entry, args, i, Z)
          local fine, want = call(entry, args, i, st.float(Z))
          fine = fine and has_floats(args, i)
          count = count + (fine and 1 or 0)
          if fine and got ~= want then
            wrong[#wrong + 1] = ("%s, argument %d: %s, want %s"):format(
              entry.name, i, tostring(got), want)
          end
        end
      end
    end
    st.warnings(warnings)
    assert.same({}, wrong)
    assert.is_true(count > 250, count)
  end)

  local x = st.tensor({1, 2}, {dtype = "float32"})
  local rows = {
    {"x * z", function(z) return x * z end},
    {"z * x", function(z) return z * x end},
    {"1 / (x / z)", function(z) return 1 / (x / z) end},
    {"fill_", function(z) return st.zeros(2):fill_(z) end},
    {"full", function(z) return st.full({2}, z, {dtype = "float32"}) end},
    {"full of complex", function(z)
      return st.full({2}, z, {dtype = "complex64"}):real()
    end},
    {"full_like of integers", function(z)
      return st.full_like(st.tensor {1, 2}, z, {dtype = "float64"})
    end},
    {"new_full", function(z) return x:new_full({2}, z) end},
    {"scalar_tensor", function(z)
      return st.scalar_tensor(z, {dtype = "float16"})
    end},
    {"scalar_tensor of the default dtype", function(z)
      return st.scalar_tensor(z)
    end},
    {"where", function(z) return st.where(x:gt(5), x, z) end},
    {"a keyword", function(z) return x:clamp {max = z} end},
    {"alpha", function(z)
      return st.add(x:mul(st.float(Z)), x, {alpha = z})
    end},
    {"an element", function(z) x = x:clone(); x[1] = z; return x["1:1"] end},
    {"elements", function(z) local t = x:clone(); t[{}] = z; return t end},
    {"elements of a mask", function(z)
      local t = st.ones(2); t[t:gt(0)] = z; return t
    end},
    {"a list", function(z) return st.tensor({z, z}, {dtype = "float32"}) end},
    {"a fused function", function(z)
      return st.fuse(function(t) return (t:abs() + 1) * z end)(x)
    end},
    {"an argument of a fused function", function(z)
      local f = st.fuse(function(t, n) return (t:abs() + 1) * n end)
      f(x, 0)
      return f(x, z)
    end},
    {"an iterator's input", function(z)
      local plan = st.iterator {preset = "binary", outputs = {false},
                                inputs = {x, z}}
      return st.tensor({(plan:get(3, 0))}, {dtype = "float32"})
    end},
  }
  for _, row in ipairs(rows) do
    it("keeps its sign: " .. row[1], function()
      x = st.tensor({1, 2}, {dtype = "float32"})
      assert.is_true(is_negative_zero(row[2](Z)), tostring(row[2](Z)))
      if row[1] ~= "a keyword" then
        assert.is_false(is_negative_zero(row[2](0)))
      end
    end)
  end

  it("keeps its sign in operators made of expressions", function()
    local lib = st.library "negative_zero"
    lib:elementwise("float(Tensor a, float s) -> Tensor", "a * s")
    lib:elementwise("scalar(Tensor a, Scalar s) -> Tensor", "a * s")
    lib:elementwise("constant(Tensor a) -> Tensor",
                    function(a) return a * Z end)
    lib:elementwise("sum(Tensor a, float s) -> Tensor",
                    function(a, s) return a * (s * Z) end)
    lib:elementwise("where(Tensor a) -> Tensor",
                    function(a) return st.where(a:gt(0), Z, a) end)
    lib:reduction("total(Tensor x, Dim[]? dim=None, bool keepdim=False) "
                  .. "-> Tensor", {
      map = function(a) return a end, init = Z,
      combine = function(a, b) return a + b end,
    })
    local op, y = st.ops.negative_zero, st.tensor({1, 2}, {dtype = "float32"})
    assert.is_true(is_negative_zero(op.float(y, Z)))
    assert.is_true(is_negative_zero(op.scalar(y, Z)))
    assert.is_true(is_negative_zero(op.constant(y)))
    assert.is_true(is_negative_zero(op.sum(y, 3)))
    assert.is_true(is_negative_zero(op.where(y)))
    assert.is_true(is_negative_zero(op.total(y["1:0"])))
    assert.is_false(is_negative_zero(op.scalar(y, 0)))
    -- and is no float beside integers
    local i = st.tensor {1, 2}
    assert.equal("int64", tensors.dtype(op.scalar(i, Z)))
    assert.equal("int64", tensors.dtype(op.constant(i)))
    assert.equal("int64", tensors.dtype(op.where(i)))
    assert.equal("int64", tensors.dtype(op.total(i)))
    assert.equal(0, op.constant(i):sum():item())
    lib:close()
  end)
end)

describe("-0.0 beside integers", function()
  local i, b = st.tensor {1, 2}, st.tensor {true, false}
  for _, row in ipairs {
    {"i + z", function() return i + Z end},
    {"z - i", function() return Z - i end},
    {"full", function() return st.full({2}, Z) end},
    {"full_like", function() return st.full_like(i, Z) end},
    {"where", function() return st.where(b, i, Z) end},
    {"where of numbers", function() return st.where(b, Z, Z) end},
    {"b + z", function() return b + Z end},
    {"i:clamp", function() return i:clamp(Z) end},
    {"a table", function() return st.tensor {Z} end},
  } do
    it("is the integer 0: " .. row[1], function()
      assert.equal("int64", tensors.dtype(row[2]()))
    end)
  end

  it("is a position and a dimension as 0 is", function()
    for _, zero in ipairs {0, Z} do
      tensors.raises("start 0 is before the first index 1", st.narrow, i, 1,
                     zero, 1)
      tensors.raises("is 0, but dimensions count from 1", st.sum, i, zero)
      assert.same({0, 2}, st.zeros(zero, 2).shape)
    end
  end)
end)
