--- Triangles of matrices keep one side of a diagonal and clear the other,
-- whatever the layout.
-- axes: isa threads

local st = require "strided"
local live = require("spec.support.tensors").live

local SIZES = {{7, 5}, {5, 7}, {1, 9}, {40, 3}, {3, 40}, {3, 33, 7},
               {2, 3, 7, 4}, {70, 70}, {2, 5, 300}}
local DTYPES = {"bool", "uint8", "int16", "float32", "float64", "complex128"}
local FAR = 2^40

--- Views of one shape whose elements are 1, 2, 3, ... in order.
local function layouts(sizes, dtype)
  local n = #sizes
  local t = st.arange(st.zeros(sizes):numel()):view(sizes)
  t = (t + 1):remainder(97):to(dtype)
  return {
    contiguous = t,
    transposed = t:transpose(n - 1, n):contiguous():transpose(n - 1, n),
    permuted = t:transpose(1, n):contiguous():transpose(1, n),
    sliced = st.cat({t, t}, n):narrow(n, 1, sizes[n]),
    expanded = t:narrow(1, 1, 1):expand(sizes),
  }
end

--- 1 where column - row is on the side that is kept, else 0.
local function mask(sizes, diagonal, upper)
  local rows = st.arange(sizes[#sizes - 1]):view(-1, 1)
  local distance = st.arange(sizes[#sizes]):view(1, -1) - rows
  return upper and distance:ge(diagonal) or distance:le(diagonal)
end

describe("A triangle", function()
  local before = live()

  for _, sizes in ipairs(SIZES) do
    it("of shape " .. table.concat(sizes, "x"), function()
      for _, dtype in ipairs(DTYPES) do
        for layout, t in pairs(layouts(sizes, dtype)) do
          for _, k in ipairs {-FAR, -34, -2, -1, 0, 1, 2, 5, 34, FAR} do
            local what = ("%s %s %g"):format(dtype, layout, k)
            local zero = st.zeros({}, {dtype = dtype})
            local low = st.where(mask(sizes, k, false), t, zero)
            local high = st.where(mask(sizes, k, true), t, zero)
            assert.is_true(t:tril(k):equal(low), what)
            assert.is_true(t:triu(k):equal(high), what)
            if layout ~= "expanded" then
              assert.is_true(t:clone():tril_(k):equal(low), what)
              assert.is_true(t:clone():triu_(k):equal(high), what)
            end
          end
        end
      end
    end)
  end

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
