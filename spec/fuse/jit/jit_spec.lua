--- Machine code for fused operators: what comes out is bit for bit what comes
-- out without it, and what the operators give call by call.
-- axes: isa threads
-- sampled: 3

local st = require "strided"
local fused = require "spec.support.fused_functions"
local raises = require("spec.support.tensors").raises

local unpack = unpack or table.unpack

local KINDS, same, special = fused.KINDS, fused.same, fused.special
local fuse, lib = fused.library "jit_spec"
local was_on = st.set_jit_enabled(true)
local is_possible = st.is_jit_enabled()

teardown(function()
  st.set_jit_enabled(was_on)
  lib:close()
end)
after_each(function() st.set_jit_enabled(true) end)

--- The results with machine code and without; the same as those of body.
local function try(body, operator, ...)
  local want = {body(...)}
  for _, flag in ipairs {true, false} do
    st.set_jit_enabled(flag)
    local got = {operator(...)}
    assert.equal(#want, #got)
    for i = 1, #want do same(want[i], got[i]) end
  end
end

--- How many instructions are machine code.
local function compiled(operator, ...)
  st.set_jit_enabled(true)
  local said = st.explain(operator, ...)
  return tonumber(said:match "(%d+) of them as machine code") or 0
end

-- Rows of kernels, of a, b, c and of numbers.
local ROWS = {
  neg = function(a) return -a end,
  abs = function(a) return a:abs() end,
  sign = function(a) return a:sign() end,
  sgn = function(a) return a:sgn() end,
  relu = function(a) return a:relu() end,
  floor = function(a) return a:floor() end,
  ceil = function(a) return a:ceil() end,
  trunc = function(a) return a:trunc() end,
  round = function(a) return a:round() end,
  round_decimals = function(a) return a:round {decimals = 1} end,
  frac = function(a) return a:frac() end,
  square = function(a) return a:square() end,
  cube = function(a) return a ^ 3 end,
  reciprocal = function(a) return a:reciprocal() end,
  reciprocal_square = function(a) return a ^ -2 end,
  sqrt = function(a) return a:sqrt() end,
  rsqrt = function(a) return a:rsqrt() end,
  logical_not = function(a) return a:logical_not() end,
  isnan = function(a) return a:isnan() end,
  isinf = function(a) return a:isinf() end,
  isfinite = function(a) return a:isfinite() end,
  isposinf = function(a) return a:isposinf() end,
  isneginf = function(a) return a:isneginf() end,
  add = function(a, b) return a + b end,
  sub = function(a, b) return a - b end,
  mul = function(a, b) return a * b end,
  div = function(a, b) return a / b end,
  div_trunc = function(a, b) return a:div(b, {rounding_mode = "trunc"}) end,
  maximum = function(a, b) return a:maximum(b) end,
  minimum = function(a, b) return a:minimum(b) end,
  fmax = function(a, b) return a:fmax(b) end,
  fmin = function(a, b) return a:fmin(b) end,
  heaviside = function(a, b) return a:heaviside(b) end,
  copysign = function(a, b) return a:copysign(b) end,
  prelu = function(a, b) return st.ops.aten._prelu_kernel(a, b) end,
  eq = function(a, b) return a:eq(b) end,
  ne = function(a, b) return a:ne(b) end,
  lt = function(a, b) return a:lt(b) end,
  le = function(a, b) return a:le(b) end,
  gt = function(a, b) return a:gt(b) end,
  ge = function(a, b) return a:ge(b) end,
  logical_and = function(a, b) return a:logical_and(b) end,
  logical_or = function(a, b) return a:logical_or(b) end,
  logical_xor = function(a, b) return a:logical_xor(b) end,
  where = function(a, b, c) return st.where(a:isinf(), b, c) end,
  add_alpha = function(a, b) return a:add(b, {alpha = 0.3}) end,
  sub_alpha = function(a, b) return a:sub(b, {alpha = 0.3}) end,
  addcmul = function(a, b, c) return a:addcmul(b, c, {value = 0.3}) end,
  addcdiv = function(a, b, c) return a:addcdiv(b, c, {value = 0.3}) end,
  lerp = function(a, b, c) return a:lerp(b, c) end,
  lerp_number = function(a, b) return a:lerp(b, 0.7) end,
  clamp = function(a) return a:clamp(-1, 2) end,
  clamp_min = function(a) return a:clamp_min(0) end,
  clamp_max = function(a) return a:clamp_max(-0.5) end,
  clamp_tensor = function(a, b, c) return a:clamp {min = b, max = c} end,
  nan_to_num = function(a) return a:nan_to_num(1, 2, 3) end,
  threshold = function(a) return a:threshold(0.5, 7) end,
  leaky_relu = function(a) return a:leaky_relu(0.1) end,
  hardsigmoid = function(a) return a:hardsigmoid() end,
  hardswish = function(a) return a:hardswish() end,
  hardshrink = function(a) return a:hardshrink(0.5) end,
  softshrink = function(a) return a:softshrink(0.5) end,
  to_bool = function(a) return a:to "bool" end,
  exp = function(a) return a:exp() end,
  cbrt = function(a) return a:cbrt() end,
  exp2 = function(a) return a:exp2() end,
  expm1 = function(a) return a:expm1() end,
  log = function(a) return a:log() end,
  log2 = function(a) return a:log2() end,
  log10 = function(a) return a:log10() end,
  log1p = function(a) return a:log1p() end,
  tanh = function(a) return a:tanh() end,
  sinh = function(a) return a:sinh() end,
  cosh = function(a) return a:cosh() end,
  atan = function(a) return a:atan() end,
  asin = function(a) return a:asin() end,
  acos = function(a) return a:acos() end,
  erf = function(a) return a:erf() end,
  sigmoid = function(a) return a:sigmoid() end,
  silu = function(a) return a:silu() end,
  mish = function(a) return a:mish() end,
  gelu = function(a) return a:gelu() end,
  gelu_tanh = function(a) return a:gelu {approximate = "tanh"} end,
  softplus = function(a) return a:softplus() end,
  elu = function(a) return a:elu() end,
  log_sigmoid = function(a) return a:log_sigmoid() end,
  logit = function(a) return a:logit(0.01) end,
  xlogy = function(a, b) return a:xlogy(b) end,
  logaddexp = function(a, b) return a:logaddexp(b) end,
  asinh = function(a) return a:asinh() end,
  acosh = function(a) return a:acosh() end,
  atanh = function(a) return a:atanh() end,
  pow = function(a, b) return a:pow(b) end,
  pow_number = function(a) return a:pow(1.7) end,
  atan2 = function(a, b) return a:atan2(b) end,
}

-- Of bools; a and b are bools, c is not.
local BOOLS = {
  bitwise_not = function(a) return a:bitwise_not() end,
  bitwise_and = function(a, b) return a:bitwise_and(b) end,
  bitwise_or = function(a, b) return a:bitwise_or(b) end,
  bitwise_xor = function(a, b) return a:bitwise_xor(b) end,
  logical_not = function(a) return a:logical_not() end,
  logical_and = function(a, b) return a:logical_and(b) end,
  eq = function(a, b) return a:eq(b) end,
  ne = function(a, b) return a:ne(b) end,
  lt = function(a, b) return a:lt(b) end,
  le = function(a, b) return a:le(b) end,
  gt = function(a, b) return a:gt(b) end,
  ge = function(a, b) return a:ge(b) end,
  maximum = function(a, b) return a:maximum(b) end,
  minimum = function(a, b) return a:minimum(b) end,
  add = function(a, b) return a + b end,
  mul = function(a, b) return a * b end,
  where_bools = function(a, b) return st.where(a, b, a:logical_not()) end,
  where_floats = function(a, _, c) return st.where(a, c, -c) end,
  times = function(a, _, c) return c * a end,
}

-- What stays with the kernels: halves and bools are moved as they are.
local KERNELS = {["where float16"] = true, ["where_floats float16"] = true,
                 where_bools = true}

describe("Machine code", function()
  it("does what the kernels do", function()
    for name, row in pairs(ROWS) do
      -- the difference makes two instructions, which are worth it
      local function body(a, b, c) return row(a, b, c), a - c end
      local operator = fuse(3, body, "(Tensor, Tensor)")
      for dtype in pairs(fused.BITS) do
        for _, kind in ipairs(KINDS) do
          local a, b, c = special(kind, dtype)
          try(body, operator, a, b, c)
          local has_code = compiled(operator, a, b, c) >= 2
          assert.equal(is_possible and not KERNELS[name .. " " .. dtype],
                       has_code, name .. " of " .. dtype)
        end
      end
    end
  end)

  it("has masks for bools, among themselves and with numbers", function()
    for name, row in pairs(BOOLS) do
      local function body(a, b, c) return row(a, b, c), c * c end
      local operator = fuse(3, body, "(Tensor, Tensor)")
      local a = st.tensor {true, false, true, false}:tile {10}
      local b = st.tensor {true, true, false, false}:tile {10}
      for dtype in pairs(fused.BITS) do
        local c = st.randn(40):to(dtype)
        try(body, operator, a, b, c)
        local stays = KERNELS[name] or KERNELS[name .. " " .. dtype]
        assert.equal(is_possible and not stays,
                     compiled(operator, a, b, c) >= 2, name .. " " .. dtype)
      end
    end
  end)

  it("converts small integers", function()
    local function body(a, b) return (a + b) * 0.5 - b end
    local operator = fuse(2, body)
    for _, from in ipairs {"uint8", "int8", "int16", "int32", "bool",
                           "float16"} do
      for _, to in ipairs {"float32", "float64"} do
        local a = st.randint(-128, 128, {77}):to(from)
        try(body, operator, a, st.randn(77):to(to))
      end
    end
  end)

  it("keeps to the elements that there are", function()
    local function body(a, b)
      local t = a * b + 1
      return t:gt(0), t - a, (t * t):to "float64"
    end
    local operator = fuse(2, body, "(Tensor, Tensor, Tensor)")
    for n = 0, 70 do
      local a = st.randn(n)
      try(body, operator, a, st.randn(n))
      try(body, operator, a, st.randn(2 * n + 1):narrow(1, 1, n))
    end
    for n = 1, 19 do
      local a = st.randn {5, n}
      try(body, operator, a, st.randn {n, 5}:t())
      try(body, operator, a, st.randn {n})
      try(body, operator, a, st.randn {5, 1})
      try(body, operator, st.randn {3, 5, n + 1}:narrow(3, 1, n),
          st.randn {5, n})
    end
    try(body, operator, st.randn {7, 1501},
        st.randn {7, 3000}:narrow(2, 3, 1501))
  end)

  it("writes nothing behind the end", function()
    local function body(a, b) return (a * b + 1):abs() end
    local operator = fuse(2, body)
    for n = 1, 40 do
      local around = st.zeros(n + 40)
      local out = around:narrow(1, 21, n)
      local a, b = st.randn(n), st.randn(n)
      st.ops.jit_spec[operator:name():match "::(.*)"](a, b, {out = out})
      same(body(a, b), out:clone())
      assert.equal(0, around:narrow(1, 1, 20):count_nonzero():item())
      assert.equal(0, around:narrow(1, n + 21, 20):count_nonzero():item())
    end
  end)

  it("writes to what it reads", function()
    local function body(a, b) return (b * 2 + a):abs() - a * b end
    lib:elementwise("into(Tensor a, Tensor b) -> Tensor", body)
    for n = 1, 40 do
      local a, b = st.randn(n), st.randn(n)
      local u, v = a:clone(), b:clone()
      st.ops.jit_spec.into_(u, b)
      same(body(a, b), u)
      st.ops.jit_spec.into(a, v, {out = v})
      same(body(a, b), v)
    end
  end)

  it("reads what is copied before it is overwritten", function()
    local function register(a, b) -- of float16: v is where t was
      local t = a:exp()
      local u = t:to "float32"
      local v = b * 2 + 1
      return b:to "float32" * 3 + u, v:sin()
    end
    local a, b = st.rand(77):to "float16", st.rand(77):to "float16"
    try(register, fuse(2, register, "(Tensor, Tensor)"), a, b)
    local same_values = {
      function(x) return x:maximum(x) end,
      function(x) return x:minimum(x) end,
      function(x, y) return st.where(y:gt(0), x, x) end,
    }
    for _, copy in ipairs(same_values) do
      local function body(x, y)
        local t = (x * y):exp()
        local u = copy(t, y)
        local v = y * 2 + 1
        return y * 3 + u, v:sin()
      end
      try(body, fuse(2, body, "(Tensor, Tensor)"), st.randn(77), st.randn(77))
    end
    local function place(x, y)
      local u = x:maximum(x)
      local z = y * 2 + 1
      return (u * z - y):exp() * z + u
    end
    lib:elementwise("place(Tensor x, Tensor y) -> Tensor", place)
    local x, y = st.randn(77), st.randn(77)
    local expected = place(x, y)
    st.ops.jit_spec.place_(x, y)
    same(expected, x)
  end)

  it("leaves alone what has other dtypes", function()
    local function body(a, b, x)
      local m, n = x:exp():signbit(), x:sin():signbit()
      local y = m:logical_xor(n) -- two registers of bools are free
      local s, t = a + b, a * b
      return st.where(x:gt(0), s, t) + 1, y
    end
    local a = st.arange(20):to "uint8"
    try(body, fuse(3, body, "(Tensor, Tensor)"), a, a + 5, st.randn(20))
    local bytes = st.tensor({253, 0, 1, 2}, {dtype = "uint8"}):view "bool"
    local function choose(m, u, v)
      return st.where(m, u, v), st.where(v, m, u)
    end
    local operator = fuse(3, choose, "(Tensor, Tensor)")
    local u = st.tensor {true, false, false, true}
    local want = choose(bytes, u, bytes):view "uint8"
    assert.is_true(want:equal(operator(bytes, u, bytes):view "uint8"))
  end)

  it("leaves of a half's NaN what the kernels leave", function()
    local function body(x) return -x, x:abs(), x * 1 + x end
    local operator = fuse(1, body, "(Tensor, Tensor, Tensor)")
    local x = st.arange(65536):to "int16":view "float16"
    local want = {body(x)}
    for _, flag in ipairs {true, false} do
      st.set_jit_enabled(flag)
      for i, got in ipairs {operator(x)} do
        assert.is_true(want[i]:view "int16":equal(got:view "int16"))
      end
    end
  end)

  it("is made of long programs, too", function()
    for _, n in ipairs {40, 64, 70, 90} do
      local function body(t, b)
        local outs = {}
        for i = 1, n do
          t = t:hardswish() - b:clamp(-i, 1)
          if i % 3 == 0 and #outs < 3 then outs[#outs + 1] = t end
        end
        return outs[1], outs[2], outs[3], t
      end
      local operator = fuse(2, body, "(Tensor, Tensor, Tensor, Tensor)")
      try(body, operator, st.randn(100), st.randn(100))
    end
  end)

  it("has more values than registers", function()
    local function body(a, b)
      local t, sum = {}, a * b
      for k = 1, 28 do t[k] = a * (k % 5) + b:maximum(a * k) end
      for k = 1, 28 do sum = sum + t[k] * t[29 - k] - t[k % 7 + 1] end
      return sum, sum:gt(t[3])
    end
    local operator = fuse(2, body, "(Tensor, Tensor)")
    for _, dtype in ipairs {"float32", "float64", "float16"} do
      local a, b = st.randn(1003):to(dtype), st.randn(1003):to(dtype)
      try(body, operator, a, b)
      if is_possible then
        assert.is_true(compiled(operator, a, b) > 80)
      end
    end
  end)

  it("has more tensors than pointers", function()
    local function body(...)
      local x = {...}
      local y, z = x[1], x[12]
      for k = 2, 12 do y, z = y * 0.5 + x[k], z - x[13 - k] * y end
      return y, z, y:lt(z), y:maximum(z)
    end
    local operator = fuse(12, body, "(Tensor, Tensor, Tensor, Tensor)")
    local x = {}
    for k = 1, 12 do x[k] = st.randn(501) end
    try(body, operator, unpack(x))
    for k = 1, 12, 2 do x[k] = st.randn(1002):narrow(1, 1, 501) end
    try(body, operator, unpack(x))
  end)

  it("stands between kernels", function()
    local function body(a, b)
      local t = (a * b - 1):exp()
      local u = (t + a * 2):log1p() * t
      return u - (u * b + t):tanh() * a, t:gt(u)
    end
    local operator = fuse(2, body, "(Tensor, Tensor)")
    for _, n in ipairs {1, 8, 13, 1000, 5003} do
      try(body, operator, st.rand(n), st.rand(n))
    end
  end)

  it("has numbers in it", function()
    lib:elementwise("scale(Tensor x, float k, *, Scalar b=1) -> Tensor",
                    function(x, k, b) return (x * k + b):clamp(-k, b) end)
    local x = st.randn(21)
    for _, k in ipairs {0.1, 3, -0.0, 1e30, 1 / 0} do
      for _, flag in ipairs {true, false} do
        st.set_jit_enabled(flag)
        same((x * k + 2):clamp(-k, 2), st.ops.jit_spec.scale(x, k, {b = 2}))
      end
    end
  end)

  it("is run by many threads", function()
    local function body(a, b) return (a * b + a) / (b * b + 1) end
    local operator = fuse(2, body)
    local threads = st.get_num_threads()
    for n = 1, 4 do
      st.set_num_threads(n)
      try(body, operator, st.randn(300007), st.randn(300007))
      try(body, operator, st.randn {301, 999}, st.randn {999, 301}:t())
    end
    st.set_num_threads(threads)
  end)

  it("can be switched off", function()
    local operator = fuse(1, function(x) return (x * 2 + 1):abs() end)
    local x = st.randn(5)
    assert.equal(is_possible, st.set_jit_enabled(false))
    assert.is_false(st.is_jit_enabled())
    assert.is_nil(st.explain(operator, x):find "machine code")
    assert.is_false(st.set_jit_enabled(true))
    assert.equal(is_possible, st.is_jit_enabled())
    assert.equal(is_possible,
                 st.explain(operator, x):find "machine code" ~= nil)
    raises("boolean expected, got number", st.set_jit_enabled, 1)
  end)
end)
