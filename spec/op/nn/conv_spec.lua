--- Convolutions, their columns, and borders.
-- axes: isa threads
-- sampled: 3

local images = require "spec.support.images"
local st = require "strided"
local tensors = require "spec.support.tensors"

local each, at, flat = images.each, images.at, images.flat
local lists, whole = tensors.lists, images.whole
local live = tensors.live
local raises = tensors.raises
local inf = math.huge

-- -- By plain loops ----------------------------------------------------------

local function slice(list, first, last)
  local out = {}
  for i = first, last do out[#out + 1] = list[i] end
  return out
end

local function join(...)
  local out = {}
  for _, list in ipairs {...} do
    for _, v in ipairs(list) do out[#out + 1] = v end
  end
  return out
end

--- A convolution of a batch, as lists of elements: o has stride, padding,
-- dilation (a list each) and groups.
local function convolve(x, weight, o)
  local xs, xsize = flat(x)
  local ws, wsize = flat(weight)
  local n = #wsize - 2
  local size = {xsize[1], wsize[1]}
  for d = 1, n do
    local reach = (wsize[d + 2] - 1) * o.dilation[d] + 1
    size[d + 2] = math.floor((xsize[d + 2] + 2 * o.padding[d] - reach) /
                             o.stride[d]) + 1
  end
  local out = {}
  each(size, function(to, number)
    local sum = 0
    local group = math.floor(to[2] / (wsize[1] / o.groups))
    each(slice(wsize, 2, #wsize), function(tap)
      local from = {to[1], group * wsize[2] + tap[1]}
      for d = 1, n do
        from[d + 2] = to[d + 2] * o.stride[d] - o.padding[d] +
                      tap[d + 1] * o.dilation[d]
      end
      local place = at(xsize, from)
      if place then
        sum = sum + xs[place] * ws[at(wsize, join({to[2]}, tap))]
      end
    end)
    out[number] = sum
  end)
  return out, size
end

-- input, weight, stride, padding, dilation, groups
local GEOMETRIES = {
  {{1, 1, 5}, {1, 1, 3}, {1}, {0}, {1}, 1},
  {{2, 3, 7}, {4, 3, 2}, {2}, {1}, {1}, 1},
  {{2, 4, 9}, {6, 2, 3}, {3}, {2}, {2}, 2},
  {{1, 1, 4, 5}, {1, 1, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
  {{2, 3, 4, 5}, {2, 3, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
  {{2, 2, 5, 6}, {3, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
  {{1, 4, 6, 5}, {4, 1, 2, 3}, {2, 1}, {1, 0}, {1, 2}, 4},
  {{3, 4, 5, 5}, {6, 2, 3, 2}, {2, 3}, {2, 1}, {2, 1}, 2},
  {{1, 2, 3, 4, 5}, {2, 2, 2, 2, 2}, {1, 2, 1}, {0, 1, 1}, {1, 1, 2}, 1},
  {{2, 2, 3, 3, 3}, {2, 1, 1, 3, 2}, {1, 1, 2}, {0, 1, 0}, {1, 1, 1}, 2},
  {{1, 3, 1100}, {13, 3, 4}, {1}, {2}, {3}, 1}, -- bands of columns
  {{1, 2, 40, 60}, {15, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}, -- of rows
  {{2, 2, 13, 30}, {9, 2, 5, 4}, {3, 2}, {2, 3}, {1, 3}, 1},
  {{2, 20, 6, 7}, {20, 1, 3, 3}, {1, 2}, {1, 1}, {1, 1}, 20}, -- depthwise
  {{1, 66, 2, 3}, {65, 66, 2, 2}, {1, 1}, {1, 0}, {1, 1}, 1}, -- few pixels
  -- vectors of output channels
  {{2, 5, 6, 8}, {48, 5, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
  {{1, 4, 9, 15}, {64, 2, 3, 5}, {2, 1}, {3, 2}, {2, 2}, 2},
  {{1, 2, 3, 4, 5}, {16, 2, 2, 3, 3}, {1, 1, 2}, {1, 2, 1}, {1, 1, 1}, 1},
}

local function described(row)
  return ("of %s with %s"):format(table.concat(row[1], " x "),
                                  table.concat(row[2], " x "))
end

local function options(row)
  return {stride = row[3], padding = row[4], dilation = row[5],
          groups = row[6]}
end

local function conv(row, x, weight, bias)
  local o = options(row)
  o.bias = bias
  return st["conv" .. #row[3] .. "d"](x, weight, o)
end

describe("A convolution", function()
  local before

  setup(function() before = live() end)

  for _, row in ipairs(GEOMETRIES) do
    it(described(row) .. " adds up weighted places", function()
      local x, w, b = whole(row[1]), whole(row[2]), whole(row[2][1])
      local want, size = convolve(x, w, options(row))
      local got = conv(row, x, w)
      assert.same(size, got:size())
      assert.same(want, (flat(got)))
      -- Sums of whole numbers are exact in any order.
      local each_channel, places = lists(b), #want / size[1] / size[2]
      for i = 1, #want do
        local channel = math.floor((i - 1) / places) % size[2]
        want[i] = want[i] + each_channel[channel + 1]
      end
      assert.same(want, (flat(conv(row, x, w, b))))
    end)

    it(described(row) .. " reads any layout", function()
      local x, w = whole(row[1]), whole(row[2])
      local want = conv(row, x, w)
      local d = x:dim()
      local turned = x:transpose(1, d):contiguous():transpose(1, d)
      local wide = st.stack({w, w}, -1):select(-1, 1)
      assert.is_true(conv(row, turned, wide):equal(want))
      assert.is_true(conv(row, x[1], w):equal(want[1]))
    end)

    if #row[3] > 1 then
      it(described(row) .. " keeps channels_last", function()
        local format = #row[3] == 2 and "channels_last" or "channels_last_3d"
        local o = {memory_format = format}
        local x, w = whole(row[1]), whole(row[2])
        local y = conv(row, x:to(o), w)
        assert.is_true(y:is_contiguous(o))
        assert.is_true(y:equal(conv(row, x, w)))
      end)
    end

    it(described(row) .. " transposed is its transpose", function()
      local x, w = whole(row[1]), whole(row[2])
      local y = conv(row, x, w)
      local z = whole(y:size())
      local o = options(row)
      o.output_padding = {}
      for d = 1, #row[3] do -- what the stride rounded off
        local reach = (row[2][d + 2] - 1) * row[5][d]
        o.output_padding[d] = (row[1][d + 2] + 2 * row[4][d] - reach - 1) %
                              row[3][d]
      end
      local back = st["conv_transpose" .. #row[3] .. "d"](z, w, o)
      assert.same(x:size(), back:size())
      assert.equal((y * z):sum():item(), (x * back):sum():item())
    end)
  end

  for _, dtype in ipairs {"float32", "float16", "bfloat16", "int64", "int32",
                          "uint8", "complex64", "complex128"} do
    it("keeps " .. dtype, function()
      local x = whole(1, 2, 4, 4):abs():remainder(4)
      local w = whole(2, 2, 3, 3):abs():remainder(3)
      local y = st.conv2d(x:to(dtype), w:to(dtype))
      assert.equal(dtype, tostring(y.dtype))
      assert.is_true(y:equal(st.conv2d(x, w):to(dtype)))
    end)
  end

  it("multiplies infinite weights with what is there only", function()
    local w = st.tensor({inf, 1, 1}):view(1, 1, 3)
    assert.same({{{inf, inf, 2, 1}}},
                lists(st.conv_transpose1d(st.ones(1, 1, 2), w)))
    local x = st.ones(1, 1, 4):requires_grad_()
    st.conv1d(x, w):sum():backward()
    assert.same({{{inf, inf, 2, 1}}}, lists(x.grad))
  end)

  it("of a long stride is the bias but for a few places", function()
    local y = st.conv_transpose2d(st.ones(1, 1, 2, 2), st.ones(1, 1, 1, 1),
                                  {stride = 40, bias = st.ones(1) * 2})
    assert.same({1, 1, 41, 41}, y:size())
    assert.equal(2 * 41 * 41 + 4, y:sum():item())
    assert.equal(3, y:select(3, 41):select(3, 1):item())
  end)

  it("of few pixels has the weight's format", function()
    local o = {memory_format = "channels_last"}
    local y = st.conv2d(st.ones(1, 70, 3, 3), st.ones(70, 70, 2, 2):to(o))
    assert.is_true(y:is_contiguous(o))
  end)

  it("has a gradient of its weight for as many images only", function()
    raises("have different numbers of images", st._convolution_weight_backward,
           st.ones(2, 1, 2), st.ones(3, 1, 2), {1, 1, 1}, {1}, {0}, {1}, false,
           {0}, 1)
    raises("no dimension has size", st._convolution_input_backward,
           st.ones(1, 1, 2), {1, 1, 2 ^ 40}, st.ones(1, 1, 1), {1}, {1}, {1},
           false, {0}, 1)
  end)

  it("multiplies complex numbers", function()
    local x = st.tensor({st.complex(1, 2), st.complex(0, 1)}):view(1, 1, 2)
    local w = st.tensor({st.complex(0, 1)}):view(1, 1, 1)
    local y = st.conv1d(x, w):view(2)
    assert.same({{-2, 1}, {-1, 0}}, lists(st.view_as_real(y)))
  end)

  it("takes one number for all dimensions", function()
    local x, w = whole(1, 2, 5, 5), whole(1, 2, 3, 3)
    local o = {stride = {2, 2}, padding = {1, 1}, dilation = {2, 2}}
    assert.is_true(st.conv2d(x, w, {stride = 2, padding = 1, dilation = 2})
                     :equal(st.conv2d(x, w, o)))
  end)

  it("pads by name", function()
    local x = whole(1, 2, 6, 7)
    for _, size in ipairs {1, 2, 3, 4} do
      local w = whole(3, 2, size, size)
      for dilation = 1, 2 do
        local o = {padding = "same", dilation = dilation}
        local y = st.conv2d(x, w, o)
        assert.same({1, 3, 6, 7}, y:size())
        -- the odd place is at the end
        local reach = (size - 1) * dilation
        local low = math.floor(reach / 2)
        local pad = {low, reach - low, low, reach - low}
        assert.is_true(y:equal(st.conv2d(st.pad(x, pad), w,
                                         {dilation = dilation})))
      end
      assert.is_true(st.conv2d(x, w, {padding = "valid", stride = 2})
                       :equal(st.conv2d(x, w, {stride = 2})))
    end
    local line, w1 = whole(1, 2, 6), whole(1, 2, 3)
    assert.same({1, 1, 6}, st.conv1d(line, w1, {padding = "same"}):size())
    local volume, w3 = whole(1, 1, 2, 3, 4), whole(1, 1, 2, 2, 2)
    assert.same({1, 1, 2, 3, 4},
                st.conv3d(volume, w3, {padding = "same"}):size())
  end)

  it("of a large batch is that of its images, image by image", function()
    local x, w, b = whole(40, 4, 32, 32), whole(3, 4, 3, 3), whole(3)
    local y = st.conv2d(x, w, b, {padding = 1})
    for i = 1, 40 do
      assert.is_true(st.conv2d(x[i], w, b, {padding = 1}):equal(y[i]))
    end
    local huge = st.empty({2 ^ 40, 4, 32, 32}, {device = "meta"})
    local meta = st.empty({3, 4, 3, 3}, {device = "meta"})
    assert.same({2 ^ 40, 3, 30, 30}, st.conv2d(huge, meta):size())
  end)

  it("of an empty batch is empty", function()
    local w = whole(3, 2, 3, 3)
    assert.same({0, 3, 2, 2}, st.conv2d(st.zeros(0, 2, 4, 4):to "float64",
                                        w):size())
    assert.same({0, 2, 6, 6}, st.conv_transpose2d(
      st.zeros(0, 3, 4, 4):to "float64", w):size())
  end)

  it("of meta tensors has its shape", function()
    local meta = {device = "meta"}
    local x, w = st.empty({2, 4, 9, 8}, meta), st.empty({6, 2, 3, 3}, meta)
    local b = st.empty({6}, meta)
    local y = st.conv2d(x, w, b, {stride = 2, padding = 1, groups = 2})
    assert.same({2, 6, 5, 4}, y:size())
    assert.equal("meta", tostring(y.device))
    local z = st.conv_transpose2d(y, w, {stride = 2, padding = 1, groups = 2})
    assert.same({2, 4, 9, 7}, z:size())
  end)

  it("transposed adds places at the end", function()
    local x = st.tensor({1, 2}):to "float64":view(1, 1, 2)
    local w = st.tensor({1, 10, 100}):to "float64":view(1, 1, 3)
    local function line(o)
      return lists(st.conv_transpose1d(x, w, o):view(-1))
    end
    assert.same({1, 12, 120, 200}, line {stride = 1})
    assert.same({1, 10, 102, 20, 200}, line {stride = 2})
    assert.same({1, 10, 102, 20, 200, 0},
                line {stride = 2, output_padding = 1})
    assert.same({10, 102, 20, 200},
                line {stride = 2, padding = 1, output_padding = 1})
    assert.same({2, 0, 10, 20, 0, 100, 200, 0},
                line {dilation = 3, padding = 1, output_padding = 2})
  end)

  it("leaves nothing behind", function()
    assert.same(before, live())
  end)
end)

-- -- Columns -----------------------------------------------------------------

describe("Columns", function()
  local x = whole(2, 3, 5, 6)

  it("hold the windows of an image", function()
    local c = st.im2col(x, {2, 3}, {2, 1}, {1, 0}, {1, 2})
    assert.same({2, 18, 10}, c:size())
    local xs, size = flat(x)
    local want = {}
    each({2, 3, 2, 3, 5, 2}, function(p, number)
      local place = at(size, {p[1], p[2], p[5] - 1 + 2 * p[3],
                              2 * p[6] + p[4]})
      want[number] = place and xs[place] or 0
    end)
    assert.same(want, (flat(c)))
    assert.is_true(st.im2col(x[2], {2, 3}, {2, 1}, {1, 0}, {1, 2})
                     :equal(c[2]))
  end)

  it("add up to an image, as the transpose asks", function()
    for _, row in ipairs {
      {{2, 3}, {2, 1}, {1, 0}, {1, 2}}, {{1, 1}, {1, 1}, {0, 0}, {1, 1}},
      {{3, 3}, {1, 1}, {1, 1}, {2, 2}},
    } do
      local c = st.im2col(x, row[1], row[2], row[3], row[4])
      local z = whole(c:size())
      local back = st.col2im(z, {5, 6}, row[1], row[2], row[3], row[4])
      assert.same(x:size(), back:size())
      assert.equal((c * z):sum():item(), (x * back):sum():item())
    end
  end)

  it("may be of volumes", function()
    local v = whole(1, 2, 3, 4, 5)
    local c = st.im2col(v, {2, 2, 2}, {1, 1, 1}, {0, 1, 0}, {1, 1, 1})
    assert.same({1, 16, 40}, c:size())
    local z = whole(c:size())
    local back = st.col2im(z, {3, 4, 5}, {2, 2, 2}, {1, 1, 1}, {0, 1, 0},
                           {1, 1, 1})
    assert.equal((c * z):sum():item(), (v * back):sum():item())
  end)

  it("never share the memory of the image", function()
    local a = whole(1, 1, 2, 2)
    st.im2col(a, 1, 1, 0, 1):zero_()
    assert.is_true(a:equal(whole(1, 1, 2, 2)))
  end)
end)

-- -- Borders -----------------------------------------------------------------

local LINE = {1, 2, 3, 4}

-- mode, pad, the line
local LINES = {
  {"constant", {1, 2}, {0, 1, 2, 3, 4, 0, 0}},
  {"constant", {-1, 1}, {2, 3, 4, 0}},
  {"constant", {-1, -2}, {2}},
  {"reflect", {3, 0}, {4, 3, 2, 1, 2, 3, 4}},
  {"reflect", {1, 3}, {2, 1, 2, 3, 4, 3, 2, 1}},
  {"reflect", {-2, 1}, {3, 4, 3}},
  {"replicate", {2, 5}, {1, 1, 1, 2, 3, 4, 4, 4, 4, 4, 4}},
  {"replicate", {-1, 1}, {2, 3, 4, 4}},
  {"circular", {4, 1}, {1, 2, 3, 4, 1, 2, 3, 4, 1}},
  {"circular", {-1, 2}, {2, 3, 4, 2, 3}},
  {"reflect", {0, 0}, {1, 2, 3, 4}},
}

-- The places of n that a padding repeats, in each mode.
local REPEATED = {
  reflect = function(i, n)
    return i < 1 and 2 - i or i > n and 2 * n - i or i
  end,
  replicate = function(i, n) return math.max(1, math.min(i, n)) end,
  circular = function(i, n) return (i - 1) % n + 1 end,
}

local function repeated(x, dim, before, after, mode)
  local places, n = {}, x:size(dim)
  for i = 1 - before, n + after do
    places[#places + 1] = REPEATED[mode](i, n)
  end
  return x:index_select(dim, st.tensor(places))
end

describe("pad", function()
  for _, row in ipairs(LINES) do
    it(("puts %d and %d places around a line: %s"):format(
       row[2][1], row[2][2], row[1]), function()
      for _, dtype in ipairs {"float64", "int16", "complex64", "bfloat16"} do
        local x = st.tensor(LINE):to(dtype)
        local y = st.pad(x:view(1, 1, 4), row[2], row[1]):view(-1)
        assert.equal(dtype, tostring(y.dtype))
        assert.is_true(y:equal(st.tensor(row[3]):to(dtype)))
      end
    end)
  end

  it("goes from the last dimension backwards", function()
    local x = st.tensor({{1, 2}, {3, 4}})
    assert.same({{0, 1, 2}, {0, 3, 4}, {0, 0, 0}, {0, 0, 0}},
                lists(st.pad(x, {1, 0, 0, 2})))
    assert.same({{{4, 3, 4}, {2, 1, 2}, {4, 3, 4}, {2, 1, 2}}},
                lists(st.pad(x:view(1, 2, 2), {1, 0, 1, 1}, "reflect")))
  end)

  it("repeats rows of any length, dtype and layout", function()
    local wrong = {}
    for _, dtype in ipairs {"uint8", "int16", "float32", "float64",
                            "complex128"} do
      for _, width in ipairs {5, 16, 17, 33, 64, 65, 129, 600} do
        local x = st.arange(2 * 3 * 4 * width):remainder(251):to(dtype)
        x = x:view(2, 3, 4, width)
        for mode in pairs(REPEATED) do
          local want = repeated(repeated(x, 3, 2, 1, mode), 4, 3, 2, mode)
          for _, y in ipairs {
            x, x:contiguous {memory_format = "channels_last"},
            x:transpose(3, 4):contiguous():transpose(3, 4),
          } do
            if not st.pad(y, {3, 2, 2, 1}, mode):equal(want) then
              wrong[#wrong + 1] = dtype .. " " .. mode .. " " .. width
            end
          end
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("fills with a value of the dtype", function()
    local x = st.ones(1)
    assert.same({-inf, 1}, lists(st.pad(x, {1, 0}, "constant", -inf)))
    assert.same({7, 1}, lists(st.constant_pad_nd(x:to "int64", {1, 0}, 7)))
  end)

  it("keeps the memory format of images", function()
    local x = whole(2, 3, 4, 5):contiguous {memory_format = "channels_last"}
    local y = st.pad(x, {1, 1, 2, 0})
    assert.is_true(y:is_contiguous {memory_format = "channels_last"})
    assert.is_true(y["..., 3:, 2:6"]:equal(x))
  end)

  it("is reflection_pad and replication_pad, by dimensions", function()
    for n, row in ipairs {
      {{2, 3, 5}, {1, 2}, {1, 1}},
      {{2, 3, 4, 5}, {1, 2, 0, 1}, {1, 1, 1, 1}},
      {{2, 3, 2, 4, 5}, {1, 2, 0, 1, 1, 0}, {1, 1, 1, 1, 1, 1}},
    } do
      local x = whole(row[1])
      for name, mode in pairs {reflection = "reflect",
                               replication = "replicate"} do
        local fn = st[name .. "_pad" .. n .. "d"]
        local want = st.pad(x, row[2], mode)
        assert.is_true(fn(x, row[2]):equal(want))
        assert.is_true(fn(x[1], row[2]):equal(want[1]))
        assert.is_true(fn(x, 1):equal(st.pad(x, row[3], mode)))
      end
    end
  end)

  it("of meta tensors has its shape", function()
    local x = st.empty({2, 3, 4}, {device = "meta"})
    for _, mode in ipairs {"constant", "reflect", "replicate", "circular"} do
      local y = st.pad(x, {1, 2}, mode)
      assert.same({2, 3, 7}, y:size())
      assert.equal("meta", tostring(y.device))
    end
  end)
end)

describe("pixel_shuffle", function()
  it("lays channels out as pixels, and unshuffle takes them back", function()
    local x = st.arange(0, 16):to "float64":view(1, 4, 2, 2)
    local y = st.pixel_shuffle(x, 2)
    assert.same({{{{0, 4, 1, 5}, {8, 12, 9, 13}, {2, 6, 3, 7},
                   {10, 14, 11, 15}}}}, lists(y))
    assert.is_true(st.pixel_unshuffle(y, 2):equal(x))
    local z = whole(2, 3, 4, 6)
    assert.is_true(st.pixel_shuffle(st.pixel_unshuffle(z, 2), 2):equal(z))
    st.pixel_shuffle(z, 1):zero_()
    assert.is_true(z:equal(whole(2, 3, 4, 6)))
  end)
end)

-- -- Misuse ------------------------------------------------------------------

local x3, x4 = whole(1, 2, 5), whole(1, 2, 5, 5)
local w3, w4 = whole(3, 2, 3), whole(3, 2, 3, 3)

local MISUSE = {
  {"an image of another rank", function() st.conv2d(x3[1], w4) end,
   {"conv2d: ", "input must have 3 dimensions, or 4"}},
  {"a weight of another rank", function() st.conv2d(x4, w3) end,
   {"conv2d: ", "weight must have 4 dimensions"}},
  {"other channels", function() st.conv1d(x3, whole(3, 4, 3)) end,
   {"conv1d: ", "input of 4 channels", "[1, 2, 5]"}},
  {"groups that do not fit", function() st.conv1d(x3, w3, {groups = 2}) end,
   "conv1d: groups, 2, must be positive and divide the 3 channels"},
  {"no group", function() st.conv1d(x3, w3, {groups = 0}) end,
   "conv1d: groups, 0, must be positive"},
  {"a bias of another length", function() st.conv1d(x3, w3, whole(2)) end,
   "conv1d: bias must have an entry for each of 3 channels"},
  {"a weight of another dtype", function()
    st.conv1d(x3, w3:to "float32")
  end, "conv1d: input is float64, but weight is float32"},
  {"a bias of another dtype", function()
    st.conv1d(x3, w3, whole(3):to "int64")
  end, {"conv1d: ", "bias is int64"}},
  {"bool", function() st.conv1d(x3:to "bool", w3:to "bool") end,
   "conv1d: not implemented"},
  {"a window larger than the image", function()
    st.conv1d(x3, w3, {dilation = 3})
  end, {"conv1d: ", "window of extent 7 does not fit"}},
  {"a stride of 0", function() st.conv1d(x3, w3, {stride = 0}) end,
   "conv1d: stride must be 1 or more"},
  {"negative padding", function() st.conv1d(x3, w3, {padding = -1}) end,
   "conv1d: padding must be 0 or more"},
  {"too many strides", function() st.conv1d(x3, w3, {stride = {1, 1}}) end,
   "conv1d: stride must have one entry"},
  {"same with a stride", function()
    st.conv1d(x3, w3, {padding = "same", stride = 2})
  end, {"conv1d: ", "needs a stride of 1"}},
  {"a padding by another name", function()
    st.conv1d(x3, w3, {padding = "half"})
  end, {"conv1d: ", "not \"half\""}},
  {"a weight without elements", function()
    st.conv1d(x3, st.zeros(0, 2, 3):to "float64")
  end, {"conv1d: ", "no elements"}},
  {"more output_padding than stride or dilation", function()
    st.conv_transpose1d(x3, whole(2, 1, 3), {output_padding = 1})
  end, {"conv_transpose1d: ", "less than stride or dilation"}},
  {"padding that leaves nothing", function()
    st.conv_transpose1d(x3, whole(2, 1, 1), {padding = 3})
  end, {"conv_transpose1d: ", "would have size -1"}},
  {"huge windows", function()
    st.im2col(x4, 2147483647, 2147483647, 2147483647, 1)
  end, {"im2col: ", "does not fit"}},
  {"numbers beyond 32 bits", function() st.im2col(x4, 2 ^ 40, 1, 0, 1) end,
   {"im2col: ", "32 bits"}},
  {"columns of other windows", function()
    st.col2im(whole(5, 4), {3, 3}, 2, 1, 0, 1)
  end, {"col2im: ", "columns for 4 elements of a window"}},
  {"columns of another image", function()
    st.col2im(whole(4, 5), {3, 3}, 2, 1, 0, 1)
  end, {"col2im: ", "4 windows"}},
  {"reflecting more than there is", function()
    st.pad(x3, {5, 0}, "reflect")
  end, {"pad: ", "at most 4 at each end"}},
  {"wrapping around more than once", function()
    st.pad(x3, {0, 6}, "circular")
  end, {"pad: ", "at most 5 at each end"}},
  {"cutting everything off", function() st.pad(x3, {-3, -3}) end,
   "cannot be padded"},
  {"an odd number of borders", function() st.pad(x3, {1}) end,
   {"pad: ", "two entries"}},
  {"borders of dimensions that are not there", function()
    st.pad(x3[1][1], {1, 1, 1, 1})
  end, {"pad: ", "two entries"}},
  {"a mode that is none", function() st.pad(x3, {1, 1}, "mirror") end,
   {"pad: ", "not \"mirror\""}},
  {"a value without use", function()
    st.pad(x3, {1, 1}, "reflect", 2)
  end, {"pad: ", "does not take a value"}},
  {"replicating nothing", function()
    st.pad(st.zeros(1, 0), {1, 1}, "replicate")
  end, "cannot be padded"},
  {"reflection_pad1d of an image", function()
    st.reflection_pad1d(x4, {1, 1})
  end, {"reflection_pad1d: ", "2 dimensions, or 3"}},
  {"channels that are no squares", function() st.pixel_shuffle(x4, 2) end,
   {"pixel_shuffle: ", "multiple of the square"}},
  {"images that are no multiples", function()
    st.pixel_unshuffle(x4, 2)
  end, {"pixel_unshuffle: ", "multiples of downscale_factor"}},
  {"no factor", function() st.pixel_shuffle(x4, 0) end,
   {"pixel_shuffle: ", "positive"}},
}

describe("Convolutions and borders refuse", function()
  for _, row in ipairs(MISUSE) do
    it(row[1], function() raises(row[3], row[2]) end)
  end
end)
