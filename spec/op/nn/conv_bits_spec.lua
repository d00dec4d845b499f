--- The bits of a convolution and of its gradients depend on the elements, the
-- sizes and the dtype alone: not on layouts, threads or the instruction set.
-- They are those of a plain loop (Note [The order of a convolution]).
-- axes: isa
-- sampled: 3

local build = require "spec.support.build"
local cases = require "spec.op.nn.conv_bits.cases"
local st = require "strided"

local huge = math.huge
local ipairs, pairs, unpack = ipairs, pairs, table.unpack or unpack

local HERE = build.root .. "/spec/op/nn/conv_bits/digest.lua"

--- Compares what two runs of a geometry give.
local function compare(i, want, got, how)
  for k, t in ipairs(want) do
    if not cases.bits(t):equal(cases.bits(got[k])) then
      error(("%s of geometry %d: %s"):format(cases.names[k], i, how), 2)
    end
  end
end

-- -- A plain loop ------------------------------------------------------------

--- Calls visit with the number of each element of a window of two dimensions,
-- in order, and the pixel that it reads for the result at row, col, from 0.
local function each_pixel(geometry, row, col, visit)
  local _, weight, stride, padding, dilation = unpack(geometry)
  for r = 0, weight[3] - 1 do
    for c = 0, weight[4] - 1 do
      visit(r + 1, c + 1, row * stride[1] + r * dilation[1] - padding[1] + 1,
            col * stride[2] + c * dilation[2] - padding[2] + 1)
    end
  end
end

--- The result at row, col of output channel o of the first image.
local function loop(geometry, dtype, x, w, bias, o, row, col)
  local ffi = require "ffi"
  ffi.cdef "float fmaf(float, float, float);"
  ffi.cdef "double fma(double, double, double);"
  local add = dtype == "float32" and ffi.C.fmaf or ffi.C.fma
  local input, weight, groups = geometry[1], geometry[2], geometry[6]
  local first = math.floor((o - 1) / (weight[1] / groups)) * weight[2]
  local sum = bias[o]
  for c = 1, weight[2] do
    each_pixel(geometry, row, col, function(r, k, i, j)
      if i >= 1 and i <= input[3] and j >= 1 and j <= input[4] then
        sum = add(w[o][c][r][k], x[first + c][i][j], sum)
      end
    end)
  end
  return sum
end

-- -- Specs -------------------------------------------------------------------

describe("The bits of a convolution", function()
  local threads
  setup(function() threads = st.get_num_threads() end)
  teardown(function() st.set_num_threads(threads) end)
  before_each(function() st.manual_seed(3) end)

  for _, dtype in ipairs(cases.dtypes) do
    it("of " .. dtype .. " do not depend on the layouts", function()
      for i, geometry in ipairs(cases.geometries) do
        local x, w, bias, grad = cases.tensors(geometry, dtype)
        local want = cases.run(geometry, x, w, bias, grad)
        for left, place in pairs(cases.layouts) do
          for right, lay in pairs(cases.layouts) do
            compare(i, want,
                    cases.run(geometry, place(x), lay(w), bias, lay(grad)),
                    left .. ", " .. right)
          end
        end
      end
    end)

    it("of " .. dtype .. " do not depend on the threads", function()
      for i, geometry in ipairs(cases.geometries) do
        local x, w, bias, grad = cases.tensors(geometry, dtype)
        st.set_num_threads(1)
        local want = cases.run(geometry, x, w, bias, grad)
        for n = 2, 3 do
          st.set_num_threads(n)
          compare(i, want, cases.run(geometry, x, w, bias, grad),
                  n .. " threads")
        end
      end
    end)
  end

  if jit and st.config().fma then
    for _, dtype in ipairs {"float32", "float64"} do
      it("of " .. dtype .. " are those of a loop", function()
        for _, number in ipairs {4, 5, 6, 7} do
          local geometry = cases.geometries[number]
          local x, w, bias = cases.tensors(geometry, dtype)
          local y = cases.convolve(geometry, x, w, bias)
          local a, b, c = x:select(1, 1):tolist(), w:tolist(), bias:tolist()
          local got, high, wide = y:select(1, 1):tolist(), y:size(3), y:size(4)
          for o = 1, y:size(2), 5 do
            for _, at in ipairs {{0, 0}, {high - 1, wide - 1}, {2, 3}} do
              local row, col = unpack(at)
              assert.equal(loop(geometry, dtype, a, b, c, o, row, col),
                           got[o][row + 1][col + 1], "geometry " .. number)
            end
          end
        end
      end)
    end
  end

  -- Zeros around the image are multiplied, or left out if that is the same.
  it("do not depend on the layout where it is padded", function()
    local last = cases.layouts.channels_last
    for _, channels in ipairs {3, 16} do
      local x, w = st.randn(2, channels, 9, 9), st.randn(16, channels, 3, 3)
      local o = {padding = 1}
      w[1][1][1][1], w[2][1][2][3], w[3][1][3][1] = huge, -huge, 0 / 0
      assert.is_true(st.isnan(st.conv2d(x, w, o)):equal(
                       st.isnan(st.conv2d(last(x), last(w), o))))
      local zeros = st.zeros(16):neg()
      x, w, o.bias = st.zeros_like(x):neg(), st.ones_like(w), zeros
      assert.is_false(st.signbit(st.conv2d(x, w, o)):any():item())
      assert.is_false(st.signbit(st.conv2d(last(x), last(w), o)):any():item())
    end
  end)

  -- Once is enough for all instruction sets.
  if not os.getenv "STRIDED_ISA" and not build.is_sanitized then
    it("do not depend on the instruction set", function()
      build.same_by_instruction_set(("%s '%s'"):format(build.lua, HERE),
                                    "products")
    end)
  end
end)
