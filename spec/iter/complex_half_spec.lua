--- complex32 and bcomplex32: dtypes that type promotion knows and no tensor
-- has. Where an output has another complex dtype, complex64 is computed.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local raises = tensors.raises

local function of(dtype) return st.tensor({1, 2}, {dtype = dtype}) end

local i = st.complex(0, 1)

-- what a half dtype and complex numbers give
local ROWS = {{"float16", "complex32"}, {"bfloat16", "bcomplex32"}}

describe("complex numbers of half precision", function()
  for _, row in ipairs(ROWS) do
    local half, complex = row[1], row[2]

    it("appear in promotion: " .. complex, function()
      assert.equal(complex, tostring(st.result_type(of(half), i)))
      assert.equal(complex, tostring(st.result_type(of(half), st.tensor(i))))
      assert.is_true(st.dtype_info(complex).is_complex)
    end)

    it("are refused as results, with advice: " .. complex, function()
      local why = half .. " and complex numbers give " .. complex ..
                  ", which tensors cannot have: convert the " .. half ..
                  " tensor to float32 or complex64 first"
      local x = of(half)
      raises("add: " .. why, function() return x + i end)
      raises("mul: " .. why, function() return i * x end)
      raises("div: " .. why, function() return x / i end)
      raises("pow: " .. why, function() return x ^ i end)
      raises("pow: " .. why, function() return i ^ x end)
      raises("where: " .. why, st.where, x:gt(1), x, i)
      raises("addcdiv: " .. why, st.addcdiv, x, st.tensor(i), x)
    end)

    it("are computed for an output of complex64 or complex128: " .. complex,
       function()
      local x, n = of(half), st.complex(0.5, -1)
      local calls = {
        add = {st.complex(1.5, -1), st.complex(2.5, -1)},
        sub = {st.complex(0.5, 1), st.complex(1.5, 1)},
        mul = {st.complex(0.5, -1), st.complex(1, -2)},
        div = {st.complex(0.4, 0.8), st.complex(0.8, 1.6)},
      }
      for _, dtype in ipairs {"complex64", "complex128"} do
        for name, want in pairs(calls) do
          for _, other in ipairs {n, st.tensor(n)} do
            local out = st.zeros({2}, {dtype = dtype})
            local got = st[name](x, other, {out = out})
            assert.equal(out, got)
            assert.is_true(st.allclose(out, st.tensor(want, {dtype = dtype})))
          end
        end
        for _, two in ipairs {st.complex(2, 0), st.tensor(st.complex(2, 0))} do
          local out = st.zeros({0}, {dtype = dtype})
          st.pow(x, two, {out = out})
          assert.is_true(st.allclose(out, st.tensor({1, 4}, {dtype = dtype})))
        end
      end
    end)

    it("are refused for an output that is not complex: " .. complex, function()
      for _, dtype in ipairs {half, "float32"} do
        local out = st.zeros({2}, {dtype = dtype})
        assert.error_matches(function() st.add(of(half), i, {out = out}) end,
                             "^add: .*" .. complex)
      end
      assert.error_matches(function() of(half):add_(i) end,
                           "^add_: .*" .. complex)
    end)

    it("are compared: " .. complex, function()
      assert.same({false, false}, of(half):eq(i):totable())
      assert.same({true, false}, of(half):eq(st.complex(1, 0)):totable())
    end)
  end

  it("other dtypes are as wide as they need to be", function()
    assert.equal("complex64",
                 tostring((of "bfloat16" + st.tensor {i, i}).dtype))
    assert.equal("complex64", tostring((of "float16" + st.tensor {i, i}).dtype))
    assert.equal("complex64", tostring((of "float32" + i).dtype))
  end)
end)
