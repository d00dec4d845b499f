--- The gradient of a convolution's weight.
-- axes: isa threads
-- sampled: 3

local images = require "spec.support.images"
local st = require "strided"
local tensors = require "spec.support.tensors"

local each, at, flat = images.each, images.at, images.flat
local live, whole = tensors.live, images.whole
local unpack = unpack or table.unpack

-- -- By plain loops ----------------------------------------------------------

-- rows (batch, channels, windows..), image, weight; stride, padding, dilation,
-- groups. The weight's first channels are those of rows.
local GEOMETRIES = {
  {{2, 3, 5}, {2, 2, 7}, {3, 2, 3}, {1}, {0}, {1}, 1},
  {{2, 6, 6}, {2, 2, 12}, {6, 1, 2}, {2}, {0}, {1}, 2},
  {{1, 17, 601}, {1, 2, 601}, {17, 2, 3}, {1}, {1}, {1}, 1}, -- two columns
  {{3, 48, 4, 5}, {3, 3, 4, 5}, {48, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
  {{2, 3, 7, 9}, {2, 20, 7, 9}, {3, 20, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
  {{1, 16, 20, 30}, {1, 4, 20, 30}, {16, 4, 1, 3}, {1, 1}, {0, 1}, {1, 1}, 1},
  {{2, 34, 3, 4}, {2, 5, 8, 7}, {34, 5, 3, 2}, {3, 2}, {1, 1}, {1, 2}, 1},
  {{19, 16, 4, 4}, {19, 2, 4, 4}, {16, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
  {{9, 16, 8, 32}, {9, 1, 8, 32}, {16, 1, 3, 2}, {1, 1}, {1, 1}, {1, 2}, 1},
  {{2, 32, 3, 4}, {2, 16, 5, 7}, {32, 16, 1, 1}, {2, 2}, {0, 0}, {1, 1}, 1},
  {{1, 16, 2, 2}, {1, 1, 6, 6}, {16, 1, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 1},
  {{2, 40, 5, 5}, {2, 6, 5, 5}, {40, 3, 3, 3}, {1, 1}, {2, 2}, {2, 2}, 2},
  {{1, 16, 3, 2, 3}, {1, 2, 3, 4, 5}, {16, 2, 2, 3, 3}, {1, 2, 1}, {1, 1, 0},
   {2, 1, 1}, 1},
}

--- The sums as a list; rows and windows outside of the image add nothing.
local function gradient(row, rows, image)
  local rs, rsize = flat(rows)
  local xs, xsize = flat(image)
  local _, _, wsize, stride, padding, dilation, groups = unpack(row)
  local m, out = wsize[1] / groups, {}
  each(wsize, function(tap, number)
    local sum = 0
    local channel = math.floor(tap[1] / m) * wsize[2] + tap[2]
    local place = {}
    each({rsize[1], 1, unpack(rsize, 3)}, function(window)
      place[1], place[2] = window[1], channel
      for d = 3, #wsize do
        place[d] = window[d] * stride[d - 2] - padding[d - 2] +
                   tap[d] * dilation[d - 2]
      end
      local pixel = at(xsize, place)
      if pixel then
        window[2] = tap[1]
        sum = sum + rs[at(rsize, window)] * xs[pixel]
        window[2] = 0
      end
    end)
    out[number] = sum
  end)
  return out
end

local function backward(row, rows, image, transposed)
  local none = {}
  for d = 1, #row[4] do none[d] = 0 end
  return st._convolution_weight_backward(
    transposed and image or rows, transposed and rows or image, row[3], row[4],
    row[5], row[6], transposed or false, none, row[7])
end

local function described(row)
  return ("of %s for images of %s"):format(table.concat(row[3], " x "),
                                           table.concat(row[2], " x "))
end

describe("The gradient of a weight", function()
  local before, threads

  setup(function()
    before = live()
    threads = st.get_num_threads()
  end)
  after_each(function() st.set_num_threads(threads) end)

  for _, row in ipairs(GEOMETRIES) do
    for _, dtype in ipairs {"float32", "float64"} do
      it(described(row) .. " sums products, in " .. dtype, function()
        local rows, image = whole(row[1]):to(dtype), whole(row[2]):to(dtype)
        local want = gradient(row, rows, image)
        local got = backward(row, rows, image)
        assert.same(row[3], got:size())
        assert.same(want, (flat(got)))
        assert.is_true(backward(row, rows, image, true):equal(got))
        if #row[4] == 2 then
          local o = {memory_format = "channels_last"}
          assert.is_true(backward(row, rows:to(o), image:to(o)):equal(got))
          assert.is_true(backward(row, rows, image:to(o)):equal(got))
        end
        local wide = st.stack({image, image}, -1):select(-1, 1)
        local same = rows:select(-1, 1):unsqueeze(-1):expand(row[1])
        assert.same(gradient(row, same, image),
                    (flat(backward(row, same, wide))))
      end)
    end

    it(described(row) .. " has the same bits by any threads", function()
      st.manual_seed(1)
      local rows, image = st.randn(row[1]), st.randn(row[2])
      st.set_num_threads(1)
      local want = backward(row, rows, image)
      for n = 2, 5 do
        st.set_num_threads(n)
        assert.is_true(backward(row, rows, image):equal(want))
      end
    end)
  end

  it("leaves nothing behind", function()
    collectgarbage()
    collectgarbage()
    assert.same(before, live())
  end)
end)
