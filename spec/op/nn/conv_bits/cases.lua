--- Convolutions whose bits are compared: shapes on every road of op/conv, and
-- layouts.

local st = require "strided"

local ipairs, unpack = ipairs, table.unpack or unpack

local cases = {}

-- input, weight; stride, padding, dilation, groups; transposed
cases.geometries = {
  {{2, 3, 67}, {5, 3, 3}, {1}, {1}, {1}, 1},
  {{1, 16, 41}, {24, 16, 5}, {2}, {2}, {2}, 1},
  {{2, 20, 33}, {20, 1, 3}, {1}, {1}, {1}, 20},        -- depthwise
  {{2, 3, 19, 23}, {16, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
  {{2, 16, 9, 11}, {40, 16, 3, 2}, {2, 1}, {1, 0}, {1, 2}, 1},
  {{1, 12, 13, 7}, {18, 2, 3, 3}, {1, 1}, {0, 1}, {1, 1}, 6},
  {{3, 8, 10, 9}, {8, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 8},
  {{1, 70, 3, 3}, {80, 70, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}, -- few windows
  {{3, 70, 7, 9}, {65, 70, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1}, -- of one pixel
  {{3, 70, 9, 9}, {65, 70, 1, 1}, {2, 2}, {0, 0}, {1, 1}, 1},
  {{2, 6, 8, 30}, {16, 6, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
  {{1, 3, 40, 300}, {4, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}, -- many bands
  {{1, 4, 5, 6, 7}, {18, 4, 2, 3, 3}, {1, 1, 2}, {1, 1, 1}, {1, 1, 1}, 1},
  {{2, 5, 21}, {5, 7, 4}, {3}, {1}, {1}, 1, true},
  {{2, 18, 6, 7}, {18, 16, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 1, true},
  {{2, 12, 9, 6}, {12, 3, 3, 2}, {2, 1}, {0, 1}, {2, 1}, 6, true},
  {{1, 3, 4, 5}, {3, 4, 1, 1}, {9, 9}, {0, 0}, {1, 1}, 1, true}, -- columns
  {{1, 4, 3, 4, 5}, {4, 6, 2, 2, 3}, {1, 2, 1}, {0, 1, 1}, {1, 1, 1}, 1, true},
}

cases.dtypes = {"float32", "float64", "complex64", "bfloat16"}

--- A tensor of the shape of t with its elements, in one of four layouts.
cases.layouts = {
  rows = function(t) return t:contiguous() end,
  channels_last = function(t)
    return t:movedim(2, -1):contiguous():movedim(-1, 2)
  end,
  columns = function(t)
    return t:transpose(1, -1):contiguous():transpose(1, -1)
  end,
  stepped = function(t)
    local sizes = t:size()
    sizes[#sizes] = 2 * sizes[#sizes] + 1
    return t:new_zeros(sizes):slice(-1, 1, -2, 2):copy_(t)
  end,
}

--- The input, the weight, the bias and the gradient of the result.
function cases.tensors(geometry, dtype)
  local input, weight, stride, padding, dilation, groups, transposed =
    unpack(geometry, 1, 7)
  local channels = transposed and weight[2] * groups or weight[1]
  local function random(sizes) return st.randn(sizes):to(dtype) end
  local x, w, bias = random(input), random(weight), random {channels}
  local y = cases.convolve(geometry, x, w, bias)
  return x, w, bias, random(y:size()), {stride, padding, dilation, groups}
end

function cases.convolve(geometry, x, w, bias)
  local _, _, stride, padding, dilation, groups, transposed =
    unpack(geometry, 1, 7)
  local none = {}
  for i in ipairs(stride) do none[i] = 0 end
  return st.convolution(x, w, bias, stride, padding, dilation,
                        transposed or false, none, groups)
end

--- The result, and the gradients of the input, the weight and the bias, of
-- what make() gives for each: {result, input, weight, bias}.
function cases.run(geometry, x, w, bias, grad)
  local leaves = {}
  for i, t in ipairs {x, w, bias} do
    leaves[i] = t:detach():requires_grad_()
  end
  local y = cases.convolve(geometry, unpack(leaves))
  return {y:detach(), st.grad(y, leaves, {grad_outputs = grad})}
end

cases.names = {"result", "gradient of the input", "gradient of the weight",
               "gradient of the bias"}

--- The bits of t as integers.
function cases.bits(t)
  if t:is_complex() then t = st.view_as_real(t) end
  return t:contiguous():view("int" .. 8 * t.itemsize)
end

--- Prints a number for each result.
function cases.print()
  for _, dtype in ipairs(cases.dtypes) do
    for i, geometry in ipairs(cases.geometries) do
      local results = cases.run(geometry, cases.tensors(geometry, dtype))
      for k, t in ipairs(results) do
        local bits = cases.bits(t):reshape(-1):to "int64"
        local weights = st.arange(1, bits:numel() + 1)
        print(dtype, i, cases.names[k],
              tostring((bits * weights):sum():item()))
      end
    end
  end
end

return cases
