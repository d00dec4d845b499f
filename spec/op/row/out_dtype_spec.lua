--- out= of another dtype than the result's (P3, Z1): what can be cast is cast,
-- the rest is refused with both dtypes, as PyTorch 2.15 does.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local name_of, raises = tensors.dtype, tensors.raises

st.warnings(false)

local DTYPES = {"bool", "uint8", "int8", "int32", "int64", "float16",
                "bfloat16", "float32", "float64", "complex64", "complex128"}

-- bool < integers < floating < complex
local CATEGORY = {bool = 1, uint8 = 2, int8 = 2, int32 = 2, int64 = 2,
                  float16 = 3, bfloat16 = 3, float32 = 3, float64 = 3,
                  complex64 = 4, complex128 = 4}

local function can_cast(from, to) return CATEGORY[from] <= CATEGORY[to] end

local function is_inexact(dtype) return CATEGORY[dtype] >= 3 end


local function make(dtype)
  return st.tensor({{1, 1, 0}, {1, 0, 1}, {1, 1, 1}}, {dtype = dtype})
end

local function vector(dtype)
  return st.tensor({1, 0, 1}, {dtype = dtype})
end

-- name: function of an input and options
local CAST = {
  ["var"] = function(x, o) return st.var(x, 1, o) end,
  ["var of all"] = function(x, o)
    return o and st.ops.aten.var.correction_out(x, o) or st.var(x)
  end,
  ["std"] = function(x, o) return st.std(x, 1, o) end,
  ["max"] = function(x, o) return st.max(x, o) end,
  ["min"] = function(x, o) return st.min(x, o) end,
  ["logsumexp"] = function(x, o) return st.logsumexp(x, 1, o) end,
  ["pow"] = function(x, o) return st.pow(x, 3, o) end,
  ["pow of a float"] = function(x, o) return st.pow(x, 1.5, o) end,
  ["square"] = function(x, o) return st.square(x, o) end,
  ["threshold"] = function(x, o) return st.threshold(x, 0, 1, o) end,
  ["addr"] = function(x, o)
    local v = vector(name_of(x))
    return st.addr(x, v, v, o)
  end,
  ["add"] = function(x, o) return st.add(x, x, o) end,
  ["sqrt"] = function(x, o) return st.sqrt(x, o) end,
  ["nanmean"] = function(x, o) return st.nanmean(x, 1, o) end,
}

--- Results that are elements or positions need an out= of their dtype.
local EXACT = {
  ["amax"] = function(x, o) return st.amax(x, 1, o) end,
  ["argmax"] = function(x, o) return st.argmax(x, 1, o) end,
  ["count_nonzero"] = function(x, o) return st.count_nonzero(x, 1, o) end,
  ["diag"] = function(x, o) return st.diag(x, o) end,
  ["where"] = function(x, o) return st.where(x:eq(1), x, x, o) end,
  ["take"] = function(x, o) return st.take(x, st.tensor {1, 2}, o) end,
}

local function sorted(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- An out= with a value that no result has.
local function prepared(shape, dtype)
  return st.full(shape, 1, {dtype = dtype})
end

local function refused(call, x, out, want)
  local before, shape = out:totable(), out.shape
  raises(want, call, x, {out = out})
  assert.same(before, out:totable())
  assert.same(shape, out.shape)
end

describe("out= of another dtype", function()
  for _, name in ipairs(sorted(CAST)) do
    it("is cast to by " .. name, function()
      local call, count = CAST[name], 0
      for _, from in ipairs(DTYPES) do
        local x = make(from)
        local ok, result = pcall(call, x)
        for _, to in ipairs(ok and DTYPES or {}) do
          local out = prepared(result.shape, to)
          if can_cast(name_of(result), to) then
            assert.equal(out:data_ptr(), call(x, {out = out}):data_ptr())
            assert.equal(to, name_of(out))
            local want = result:to(to)
            local near = {rtol = 0.01, equal_nan = true}
            assert.is_true(is_inexact(to) and
                           st.isclose(out, want, near):all():item() or
                           out:equal(want), from .. " " .. to)
            count = count + 1
          else
            refused(call, x, out, ("the result has dtype %s, which ")
                                  :format(name_of(result)))
            refused(call, x, out, "dtype " .. to)
          end
        end
      end
      assert.is_true(count > 10)
    end)
  end

  for _, name in ipairs(sorted(EXACT)) do
    it("is refused by " .. name, function()
      for _, from in ipairs {"uint8", "int64", "float32"} do
        local x = make(from)
        local result = EXACT[name](x)
        for _, to in ipairs(DTYPES) do
          if to ~= name_of(result) then
            refused(EXACT[name], x, prepared(result.shape, to),
                    ("out has dtype %s, but the result is %s")
                    :format(to, name_of(result)))
          end
        end
      end
    end)
  end

  it("is bool or uint8 for any and all", function()
    for _, name in ipairs {"any", "all"} do
      for _, call in ipairs {
        function(x, o) return st[name](x, o) end,
        function(x, o) return st[name](x, 1, o) end,
      } do
        for _, from in ipairs(DTYPES) do
          local x = make(from)
          local result = call(x)
          for _, to in ipairs(DTYPES) do
            local out = prepared(result.shape, to)
            if to == "bool" or to == "uint8" then
              assert.same(result:to "bool":totable(),
                          call(x, {out = out}):to "bool":totable())
            else
              refused(call, x, out, ("out has dtype %s, but"):format(to))
            end
          end
        end
      end
    end
  end)

  it("is filled from integers by logsumexp, in its own precision", function()
    local out = st.empty({}, {dtype = "float64"})
    st.logsumexp(st.tensor({3, 1, 2}, {dtype = "int64"}), 1, {out = out})
    local want = math.log(math.exp(3) + math.exp(1) + math.exp(2))
    assert.is_true(math.abs(out:item() - want) < 1e-14)
  end)

  it("cannot be integral for a mean", function()
    for _, name in ipairs {"mean", "nansum"} do
      for _, from in ipairs {"float16", "float32", "float64"} do
        for _, to in ipairs {"bool", "uint8", "int64"} do
          refused(function(x, o) return st[name](x, 1, o) end, make(from),
                  st.zeros({3}, {dtype = to}),
                  ("%s: the result has dtype %s, which cannot be cast to " ..
                   "out's dtype %s"):format(name, from, to))
        end
      end
    end
    assert.equal("float64", name_of(st.mean(
      make "float32", 1, {out = st.empty({3}, {dtype = "float64"})})))
  end)

  it("of another shape is left alone by a failure", function()
    refused(CAST.var, make "float32", st.ones({2}, {dtype = "int64"}),
            "var: the result has dtype float32, which cannot be cast to " ..
            "out's dtype int64")
  end)

  it("may be an input, and may overlap one", function()
    local x = st.tensor {1, 2, 4, 8}
    st.ops.aten.max.unary_out(x, {out = x:select(1, 2)})
    assert.same({1, 8, 4, 8}, x:totable())
    local d = st.tensor({1, 2, 4}, {dtype = "int32"})
    local wide = st.zeros({3}, {dtype = "float64"})
    assert.same({1, 4, 16}, st.square(d, {out = wide}):totable())
  end)

  it("is refused in place", function()
    local b = st.tensor {true, false}
    for _, call in ipairs {
      function() b:pow_(2) end, function() b:square_() end,
    } do
      raises("the result has dtype int64, which output 1 of dtype bool " ..
             "cannot hold", call)
    end
    assert.same({true, false}, b:totable())
  end)
end)

describe("The dtype of a result", function()
  it("is never bool for running sums and products", function()
    local x = make "int64"
    for _, name in ipairs {"cumsum", "cumprod"} do
      for _, options in ipairs {
        {dtype = "bool"}, {out = st.zeros({3, 3}, {dtype = "bool"})},
      } do
        raises(name .. ": not implemented for dtype bool",
               st[name], x, 1, options)
      end
    end
  end)

  it("does not narrow a norm", function()
    local x = make "float64"
    for _, dtype in ipairs {"float16", "float32"} do
      raises("linalg_vector_norm: dtype " .. dtype ..
             " does not fit self, which is float64",
             st.linalg_vector_norm, x, 2, {dtype = dtype})
    end
    assert.equal("float64", name_of(st.linalg_vector_norm(
      make "float32", 2, {dtype = "float64"})))
  end)

  it("is not integral for nanmean", function()
    for _, dtype in ipairs {"bool", "int64"} do
      raises("nanmean: the mean needs a floating point or complex dtype, " ..
             "not " .. dtype, st.nanmean, make "float32", {dtype = dtype})
    end
  end)
end)
