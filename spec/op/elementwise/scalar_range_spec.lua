--- Numbers that an operator converts to the dtype it computes with: one that
-- does not fit is an error, as in PyTorch 2.15, and never wraps.
-- axes: none

local raises = require("spec.support.tensors").raises
local st = require "strided"

-- From Lua 5.3 on 2 ^ 40 is a float.
local function int(n) return math.tointeger and math.tointeger(n) or n end

local BIG = int(2 ^ 40)

local function x(dtype) return st.tensor({1, 0, 1}, {dtype = dtype}) end
local function m(dtype) return st.ones({3, 3}, {dtype = dtype}) end
local function b(dtype) return st.ones({2, 3, 3}, {dtype = dtype}) end

-- name, argument, function of a dtype and a number
local CALLS = {
  {"add", "alpha", function(d, n) return st.add(x(d), x(d), {alpha = n}) end},
  {"sub", "alpha", function(d, n) return st.sub(x(d), x(d), {alpha = n}) end},
  {"rsub", "alpha", function(d, n)
    return st.rsub(x(d), x(d), {alpha = n})
  end},
  {"add_", "alpha", function(d, n)
    return x(d):add_(x(d), {alpha = n})
  end},
  {"addcmul", "value", function(d, n)
    return st.addcmul(x(d), x(d), x(d), {value = n})
  end},
  {"threshold", "threshold", function(d, n)
    return st.threshold(x(d), n, 0)
  end},
  {"threshold", "value", function(d, n) return st.threshold(x(d), 0, n) end},
  {"threshold_", "value", function(d, n) return x(d):threshold_(0, n) end},
  {"addmm", "alpha", function(d, n)
    return st.addmm(m(d), m(d), m(d), {alpha = n})
  end},
  {"addmm", "beta", function(d, n)
    return st.addmm(m(d), m(d), m(d), {beta = n})
  end},
  {"addmv", "alpha", function(d, n)
    return st.addmv(x(d), m(d), x(d), {alpha = n})
  end},
  {"baddbmm", "beta", function(d, n)
    return st.baddbmm(b(d), b(d), b(d), {beta = n})
  end},
  {"addbmm", "alpha", function(d, n)
    return st.addbmm(m(d), b(d), b(d), {alpha = n})
  end},
  {"addr", "beta", function(d, n)
    return st.addr(m(d), x(d), x(d), {beta = n})
  end},
  {"where", "self", function(d, n)
    return st.where(x "bool", n, x(d))
  end},
  {"where", "other", function(d, n)
    return st.where(x "bool", x(d), n)
  end},
}

-- dtype, numbers that fit, numbers that do not
local LIMITS = {
  {"uint8", {0, 255, -1, -255}, {256, 300, -256, BIG}},
  {"int8", {127, -128}, {128, -129, 300}},
  {"int16", {32767, -32768}, {32768, -32769}},
  {"int32", {int(2 ^ 31 - 1), int(-2 ^ 31)},
   {int(2 ^ 31), int(-2 ^ 31 - 1), BIG}},
  {"uint16", {0, 65535, -1, -65535}, {65536, -65536, BIG}},
  {"uint32", {int(2 ^ 32 - 1), -1}, {int(2 ^ 32), int(-2 ^ 32), BIG}},
  {"float32", {3e38, -3e38, 1 / 0, -1 / 0}, {1e39, -1e39}},
  {"float64", {1e308, 1 / 0}, {}},
}

describe("A number that does not fit the dtype of the arithmetic", function()
  for _, call in ipairs(CALLS) do
    local name, argument, run = call[1], call[2], call[3]
    it(("is refused as %s of %s"):format(argument, name), function()
      for _, limit in ipairs(LIMITS) do
        local dtype = limit[1]
        for _, n in ipairs(limit[2]) do
          assert.is_true(pcall(run, dtype, n), dtype .. " " .. n)
        end
        for _, n in ipairs(limit[3]) do
          raises({name, ("argument '%s': value "):format(argument),
                  " does not fit in " .. dtype}, run, dtype, n)
        end
      end
    end)
  end

  it("is refused as an integral exponent only", function()
    local u = st.tensor({1, 3, 2}, {dtype = "uint8"})
    for _, name in ipairs {"pow", "pow_"} do
      raises(name .. ": argument 'exponent': value 300 does not fit in uint8",
             u[name], u, 300)
    end
    assert.same({1, 3, 2}, u:totable())
    local f = st.tensor({1, 3}, {dtype = "float32"})
    assert.same({1, 1 / 0}, st.pow(f, 1e39):totable())
  end)

  it("is refused by histc, a complex one as well", function()
    local t = st.tensor({1, 2, 3}, {dtype = "float32"})
    raises("histc: argument 'max': value 1e+39 does not fit in float32",
           st.histc, t, 3, 0, 1e39)
    raises("histc: argument 'min': value 0+1i does not fit",
           st.histc, t, 3, st.complex(0, 1), 3)
  end)

  it("is any number for bool", function()
    local t = st.tensor {true, false}
    assert.same({true, false}, st.add(t, t, {alpha = 300}):totable())
  end)

  it("leaves out= and self alone", function()
    local self = st.tensor({1, 2}, {dtype = "uint8"})
    local out = st.tensor({7, 8}, {dtype = "uint8"})
    raises("add: ", st.add, self, self, {alpha = 300, out = out})
    raises("add_: ", self.add_, self, self, {alpha = 300})
    assert.same({7, 8}, out:totable())
    assert.same({1, 2}, self:totable())
  end)

  it("counts float16 and bfloat16 as float32, which they compute in",
     function()
    for _, dtype in ipairs {"float16", "bfloat16"} do
      local t = st.tensor({1, -1}, {dtype = dtype})
      -- 2^17 does not fit in float16, 2^17 * 2^-10 does
      assert.same({129, -129}, st.addcmul(t, t * 2 ^ -10, t:abs(),
                                          {value = 2 ^ 17}):totable())
      raises("addcmul: argument 'value': value 1e+39 does not fit in float32",
             st.addcmul, t, t, t, {value = 1e39})
    end
  end)
end)
