--- Pooling: means and greatest elements of windows.
-- axes: isa threads

local images = require "spec.support.images"
local st = require "strided"
local tensors = require "spec.support.tensors"

local each, at, flat = images.each, images.at, images.flat
local lists, whole = tensors.lists, images.whole
local f64, live = tensors.f64, tensors.live
local raises = tensors.raises
local nan, inf = 0 / 0, math.huge

-- -- By plain loops ----------------------------------------------------------

--- How many windows: as far as they fit, or, with ceil_mode, as far as they
-- start in the image or in front of it.
local function count(size, o, d)
  local reach = (o.kernel[d] - 1) * o.dilation[d] + 1
  local rest = size + 2 * o.padding[d] - reach
  if not o.ceil_mode then return math.floor(rest / o.stride[d]) + 1 end
  local n = math.ceil(rest / o.stride[d]) + 1
  return (n - 1) * o.stride[d] >= size + o.padding[d] and n - 1 or n
end

--- Calls body(number, values, positions (from 1), places with the padding)
-- for each window of each image; gives the sizes of the result.
local function windows(x, o, body)
  local xs, size = flat(x)
  local n = #o.kernel
  local lead = #size - n
  local image, outer, plane = {}, {}, 1
  for d = 1, n do
    image[d] = size[lead + d]
    plane = plane * image[d]
  end
  for d = 1, lead do outer[d] = size[d] end
  for d = 1, n do outer[lead + d] = count(image[d], o, d) end
  each(outer, function(to, number)
    local values, positions, padded = {}, {}, 0
    local channel = 0
    for d = 1, lead do channel = channel * size[d] + to[d] end
    each(o.kernel, function(tap)
      local place, within = {}, true
      for d = 1, n do
        place[d] = to[lead + d] * o.stride[d] - o.padding[d] +
                   tap[d] * o.dilation[d]
        within = within and place[d] < image[d] + o.padding[d]
      end
      if within then padded = padded + 1 end
      local position = at(image, place)
      if position then
        values[#values + 1] = xs[channel * plane + position]
        positions[#positions + 1] = position
      end
    end)
    body(number, values, positions, padded)
  end)
  return outer
end

local function greatest(x, o)
  local best, where = {}, {}
  local size = windows(x, o, function(number, values, positions)
    local k = 1
    for i = 2, #values do if values[i] > values[k] then k = i end end
    best[number], where[number] = values[k], positions[k]
  end)
  return best, where, size
end

local function mean(x, o)
  local out = {}
  local size = windows(x, o, function(number, values, _, padded)
    local sum = 0
    for _, v in ipairs(values) do sum = sum + v end
    out[number] = sum / (o.divisor_override or
                         (o.count_include_pad and padded or #values))
  end)
  return out, size
end

-- image, kernel, stride, padding, dilation
local GEOMETRIES = {
  {{2, 3, 7}, {3}, {1}, {0}, {1}},
  {{1, 2, 8}, {3}, {2}, {1}, {1}},
  {{1, 1, 9}, {4}, {3}, {2}, {2}},
  {{2, 2, 6, 6}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
  {{2, 3, 5, 7}, {3, 2}, {2, 3}, {1, 0}, {1, 1}},
  {{1, 2, 8, 7}, {3, 2}, {1, 2}, {1, 1}, {2, 3}},
  {{1, 2, 9, 13}, {3, 3}, {2, 4}, {1, 0}, {2, 1}},
  {{1, 2, 5, 6, 14}, {2, 2, 3}, {1, 2, 5}, {0, 0, 0}, {2, 1, 1}},
  {{1, 2, 4, 5, 6}, {2, 3, 2}, {2, 1, 3}, {1, 1, 0}, {1, 1, 1}},
  -- wide windows, at every stride and spacing of the loops of a row
  {{1, 2, 50}, {17}, {1}, {8}, {1}},
  {{1, 1, 70}, {20}, {2}, {3}, {1}},
  {{1, 1, 90}, {16}, {3}, {0}, {2}},
  {{1, 1, 80}, {18}, {5}, {9}, {1}},
  {{1, 1, 1100}, {1050}, {25}, {0}, {1}},
  {{1, 1, 3, 40}, {2, 17}, {1, 1}, {0, 4}, {1, 2}},
  -- many places of short windows
  {{1, 1, 50}, {3}, {3}, {1}, {1}},
  {{1, 1, 50}, {5}, {4}, {2}, {1}},
}

local function described(row, ceil_mode)
  return ("of %s over %s%s"):format(
    table.concat(row[1], " x "), table.concat(row[2], " x "),
    ceil_mode and ", with what is left over," or "")
end

local function named(prefix, row, suffix)
  return st[("%s%dd%s"):format(prefix, #row[2], suffix or "")]
end

describe("Pooling", function()
  local before

  setup(function() before = live() end)

  for _, row in ipairs(GEOMETRIES) do
    for _, ceil_mode in ipairs {false, true} do
      local x = whole(row[1])
      local o = {kernel = row[2], stride = row[3], padding = row[4],
                 dilation = row[5], ceil_mode = ceil_mode}

      it(described(row, ceil_mode) .. " finds the greatest", function()
        local best, where, size = greatest(x, o)
        local args = {stride = row[3], padding = row[4], dilation = row[5],
                      ceil_mode = ceil_mode}
        local y, i = named("max_pool", row, "_with_indices")(x, row[2], args)
        assert.same(size, y:size())
        assert.same(best, (flat(y)))
        assert.same(where, (flat(i)))
        assert.is_true(named("max_pool", row)(x, row[2], args):equal(y))
      end)

      it(described(row, ceil_mode) .. " finds the mean", function()
        for _, pad in ipairs {true, false} do
          local p = {kernel = row[2], stride = row[3], padding = row[4],
                     ceil_mode = ceil_mode, count_include_pad = pad,
                     dilation = {1, 1, 1},
                     divisor_override = #row[2] > 1 and pad and 4 or nil}
          local want, size = mean(x, p)
          local y = named("avg_pool", row)(x, row[2], {
            stride = row[3], padding = row[4], ceil_mode = ceil_mode,
            count_include_pad = pad, divisor_override = p.divisor_override})
          assert.same(size, y:size())
          assert.same(want, (flat(y)))
        end
      end)
    end

    it(described(row) .. " takes any layout, with or without a batch",
       function()
      local x = whole(row[1])
      local turned = x:transpose(1, -1):contiguous():transpose(1, -1)
      for _, prefix in ipairs {"max_pool", "avg_pool"} do
        local pool = named(prefix, row)
        local want = pool(x, row[2])
        assert.is_true(pool(turned, row[2]):equal(want))
        assert.is_true(pool(x[1], row[2]):equal(want[1]))
        assert.is_true(pool(x, row[2], row[2]):equal(want))
      end
    end)
  end

  it("keeps channels_last", function()
    local format = {memory_format = "channels_last"}
    local x = whole(2, 5, 9, 8):contiguous(format)
    for _, name in ipairs {"max_pool2d", "avg_pool2d"} do
      local y = st[name](x, 3, 2, 1)
      assert.is_true(y:is_contiguous(format))
      assert.is_true(y:equal(st[name](x:contiguous(), 3, 2, 1)))
    end
  end)

  it("has the format of the image, recorded or not", function()
    local format = {memory_format = "channels_last"}
    local x = whole(2, 3, 4, 5):contiguous(format)
    for _, y in ipairs {x, x:clone():requires_grad_()} do
      for _, call in ipairs {
        function() return st.max_pool2d(y, 2) end,
        function() return st.avg_pool2d(y, 2) end,
        function() return st.adaptive_avg_pool2d(y, {2, 2}) end,
        function() return st.pad(y, {1, 1, 1, 1}, "reflect") end,
      } do
        assert.is_true(call():is_contiguous(format))
      end
      assert.is_true(st.pad(y, {1, 1}, "circular"):is_contiguous())
      local v = y:unsqueeze(3):expand(2, 3, 2, 4, 5):contiguous {
        memory_format = "channels_last_3d"}
      assert.is_true(st.avg_pool3d(v, 1):is_contiguous())
      assert.is_true(st.adaptive_max_pool3d(v, {1, 2, 2}):is_contiguous())
    end
  end)

  it("of minus zeros is zero in every layout", function()
    local x = -st.zeros(1, 2, 4, 4)
    for _, y in ipairs {x, x:contiguous {memory_format = "channels_last"}} do
      assert.is_false(st.avg_pool2d(y, 2, 2, 1):signbit():any():item())
    end
  end)

  it("counts positions from 1, and in C from 0", function()
    local x = f64({{{1, 9}, {3, 4}}})
    local y, i = st.max_pool2d_with_indices(x, 2)
    assert.same({{{9}}}, lists(y))
    assert.same({{{2}}}, lists(i))
    y, i = st.adaptive_max_pool2d(x, 1)
    assert.same({{{9}}}, lists(y))
    assert.same({{{2}}}, lists(i))
  end)

  it("finds NaN, and what is less than all padding", function()
    local x = f64({{1, nan, 5, 7}})
    local y, i = st.max_pool1d_with_indices(x, 2)
    assert.is_true(y:isnan():equal(st.tensor({{true, false}})))
    assert.same({{2, 4}}, lists(i))
    local least = st.full({1, 5}, -inf, {dtype = "float64"})
    y, i = st.max_pool1d_with_indices(least, 3, {padding = 1, dilation = 2,
                                                stride = 2})
    assert.same({{-inf, -inf}}, lists(y))
    assert.same({{2, 2}}, lists(i))
  end)

  for _, dtype in ipairs {"float32", "float16", "bfloat16", "int64", "int8",
                          "uint8"} do
    it("keeps " .. dtype, function()
      local x = whole(1, 2, 4, 4):abs():to(dtype)
      local y, i = st.max_pool2d_with_indices(x, 2, 1, 1)
      assert.equal(dtype, tostring(y.dtype))
      assert.equal("int64", tostring(i.dtype))
      local want, where = st.max_pool2d_with_indices(x:to "float64", 2, 1, 1)
      assert.is_true(y:equal(want:to(dtype)))
      assert.is_true(i:equal(where))
      local z = st.avg_pool2d(x, 2)
      assert.equal(dtype, tostring(z.dtype))
      assert.is_true(z:equal(st.avg_pool2d(x:to "float64", 2):to(dtype)))
    end)
  end

  it("finds the greatest of the least integers", function()
    local x = st.full({1, 3}, -128, {dtype = "int8"})
    local y, i = st.max_pool1d_with_indices(x, 3, {padding = 1, stride = 2})
    assert.same({{-128, -128}}, lists(y))
    assert.same({{1, 2}}, lists(i))
  end)

  it("cuts off fractions of integers", function()
    local x = st.tensor({{-3, -4, 5, 6}}, {dtype = "int64"})
    assert.same({{-3, 5}}, lists(st.avg_pool1d(x, 2)))
  end)

  it("of a large batch is that of its images, image by image", function()
    local x = whole(10, 8, 64, 64)
    local y, positions = st.max_pool2d_with_indices(x, 2)
    local z = st.avg_pool2d(x, 2)
    for i = 1, 10 do
      local one, where = st.max_pool2d_with_indices(x[i], 2)
      assert.is_true(one:equal(y[i]))
      assert.is_true(where:equal(positions[i]))
      assert.is_true(st.avg_pool2d(x[i], 2):equal(z[i]))
    end
    local huge = st.empty({2 ^ 40, 1, 4, 4}, {device = "meta"})
    assert.same({2 ^ 40, 1, 2, 2}, st.max_pool2d(huge, 2):size())
    assert.same({2 ^ 40, 1, 2, 2}, st.avg_pool2d(huge, 2):size())
  end)

  it("gives the same whether its gradient is recorded or not", function()
    local x = whole(1, 2, 6, 6)
    local recorded = st.max_pool2d(x:clone():requires_grad_(), 3, 2, 1)
    assert.is_true(recorded.requires_grad)
    st.no_grad(function()
      local plain = st.max_pool2d(x:clone():requires_grad_(), 3, 2, 1)
      assert.is_false(plain.requires_grad)
      assert.is_true(plain:equal(recorded))
    end)
  end)

  it("finds the same in windows of many places", function()
    local x = whole(2, 2, 12, 12)
    local y, where = st.max_pool2d_with_indices(x, 12)
    assert.is_true(y:view(2, 2):equal(x:view(2, 2, 144):amax(3)))
    assert.is_true(where:view(2, 2):equal(x:view(2, 2, 144):argmax(3)))
    local z = st.avg_pool2d(x, 12):view(2, 2)
    assert.is_true((z - x:mean {dim = {3, 4}}):abs():max():item() < 1e-14)
  end)

  it("of an empty batch is empty", function()
    local x = st.zeros(0, 2, 4, 4)
    assert.same({0, 2, 2, 2}, st.max_pool2d(x, 2):size())
    assert.same({0, 2, 2, 2}, st.avg_pool2d(x, 2):size())
    assert.same({0, 2, 3, 3}, st.adaptive_avg_pool2d(x, 3):size())
  end)

  it("of meta tensors has its shape", function()
    local x = st.empty({2, 3, 9, 8}, {device = "meta"})
    local y, i = st.max_pool2d_with_indices(x, 3, {padding = 1,
                                                  ceil_mode = true})
    assert.same({2, 3, 4, 3}, y:size())
    assert.same({2, 3, 4, 3}, i:size())
    y = st.avg_pool2d(x, 3, {padding = 1, count_include_pad = false})
    assert.same({2, 3, 3, 3}, y:size())
    y, i = st.adaptive_max_pool2d(x, {5, 3})
    assert.same({2, 3, 5, 3}, y:size())
    assert.equal("meta", tostring(i.device))
    assert.same({2, 3, 5, 3}, st.adaptive_avg_pool2d(x, {5, 3}):size())
    assert.same({2, 3, 9, 9}, st.max_unpool2d(y, i, {9, 9}):size())
  end)

  it("writes means to out=", function()
    local x = whole(2, 3, 4, 5, 6):to "float64"
    for _, row in ipairs {
      {"avg_pool1d", x:flatten(1, 3), 2}, {"avg_pool2d", x:flatten(1, 2), 2},
      {"avg_pool3d", x, 2}, {"adaptive_avg_pool1d", x:flatten(1, 3), 3},
      {"adaptive_avg_pool2d", x:flatten(1, 2), {2, 3}},
      {"adaptive_avg_pool3d", x, {2, 2, 3}},
    } do
      local want = st[row[1]](row[2], row[3])
      local out = st.empty({0}, {dtype = "float64"})
      assert.equal(out, st[row[1]](row[2], row[3], {out = out}))
      assert.is_true(out:equal(want), row[1])
      raises({row[1]}, st[row[1]], row[2], row[3],
             {out = st.empty({0}, {dtype = "int64"})})
    end
  end)

  it("leaves nothing behind", function()
    assert.same(before, live())
  end)
end)

-- -- Shares ------------------------------------------------------------------

--- Shares of an image (channels, height, width), by plain loops: means,
-- greatest elements and where.
local function shares(x, out)
  local xs, size = flat(x)
  local means, best, where = {}, {}, {}
  local function range(d, o)
    return math.floor(o * size[d + 1] / out[d]),
           math.ceil((o + 1) * size[d + 1] / out[d]) - 1
  end
  each({size[1], out[1], out[2]}, function(to, number)
    local sum, n = 0, 0
    local top, bottom = range(1, to[2])
    local left, right = range(2, to[3])
    for i = top, bottom do
      for j = left, right do
        local v = xs[at(size, {to[1], i, j})]
        sum, n = sum + v, n + 1
        if not best[number] or v > best[number] then
          best[number], where[number] = v, i * size[3] + j + 1
        end
      end
    end
    means[number] = sum / n
  end)
  return means, best, where
end

describe("Adaptive pooling", function()
  local x = whole(3, 6, 7)

  for _, out in ipairs {{1, 1}, {2, 3}, {3, 7}, {4, 5}, {6, 7}, {8, 10}} do
    it(("shares an image out into %d x %d"):format(out[1], out[2]), function()
      local means, best, where = shares(x, out)
      local y, i = st.adaptive_max_pool2d(x, out)
      assert.same({3, out[1], out[2]}, y:size())
      assert.same(best, (flat(y)))
      assert.same(where, (flat(i)))
      local z = st.adaptive_avg_pool2d(x, out)
      for k, v in ipairs(flat(z)) do
        assert.is_true(math.abs(v - means[k]) <= 1e-14 * math.abs(v))
      end
      assert.is_true(st.adaptive_avg_pool2d(x:unsqueeze(1), out)[1]:equal(z))
    end)
  end

  it("keeps infinities in their shares", function()
    local y = st.adaptive_avg_pool1d(f64({{1, 2, 3, inf, 5}}), 3)
    assert.same({{1.5, inf, inf}}, lists(y))
    y = st.adaptive_avg_pool1d(f64({{inf, 2, 3, 4, 5}}), 3)
    assert.same({{inf, 3, 4.5}}, lists(y))
  end)

  it("goes over lines and volumes", function()
    local line = f64({{1, 2, 3, 4, 5, 6, 7}})
    assert.same({{2, 4, 6}}, lists(st.adaptive_avg_pool1d(line, 3)))
    local y, i = st.adaptive_max_pool1d(line, 3)
    assert.same({{3, 5, 7}}, lists(y))
    assert.same({{3, 5, 7}}, lists(i))
    local volume = whole(2, 3, 5, 4)
    local z = st.adaptive_avg_pool3d(volume, {1, 2, 3})
    assert.same({2, 1, 2, 3}, z:size())
    assert.is_true(z:sub(st.adaptive_avg_pool2d(volume:mean {dim = 2},
                                                {2, 3}):unsqueeze(2))
                     :abs():max():item() < 1e-14)
    y, i = st.adaptive_max_pool3d(volume, {1, 2, 3})
    assert.same({2, 1, 2, 3}, i:size())
    assert.is_true(volume:view(2, 60):gather(2, i:view(2, 6))
                     :equal(y:view(2, 6)))
  end)

  it("into nothing is nothing", function()
    assert.same({3, 0, 2}, st.adaptive_avg_pool2d(x, {0, 2}):size())
    assert.same({3, 0, 2}, (st.adaptive_max_pool2d(x, {0, 2})):size())
  end)
end)

-- -- Unpooling ---------------------------------------------------------------

describe("max_unpool", function()
  it("puts elements back where they were", function()
    local x = f64({{{1, 9, 2, 2}, {3, 4, 5, 8}}})
    local y, i = st.max_pool2d_with_indices(x, 2)
    assert.same({{{0, 9, 0, 0}, {0, 0, 0, 8}}},
                lists(st.max_unpool2d(y, i, {2, 4})))
    assert.same({{{{0, 9, 0}, {0, 0, 0}, {0, 8, 0}}}},
                lists(st.max_unpool2d(y:unsqueeze(1), i:unsqueeze(1),
                                      {3, 3})))
  end)

  it("takes volumes", function()
    local x = whole(1, 2, 4, 4, 4)
    local y, i = st.max_pool3d_with_indices(x, 2)
    local z = st.max_unpool3d(y, i, {4, 4, 4}, {2, 2, 2}, {0, 0, 0})
    assert.same({1, 2, 4, 4, 4}, z:size())
    assert.equal(y:sum():item(), z:sum():item())
    assert.is_true(st.max_pool3d(z:abs(), 2):equal(y:abs()))
  end)
end)

-- -- Misuse ------------------------------------------------------------------

local x3 = whole(2, 5, 5)

local MISUSE = {
  {"a line where an image must be", function() st.max_pool2d(x3[1], 2) end,
   {"max_pool2d: ", "3 dimensions, or 4"}},
  {"a window without places", function() st.max_pool2d(x3, 0) end,
   "max_pool2d: kernel_size must be 1 or more"},
  {"too many sizes of a window", function()
    st.avg_pool2d(x3, {2, 2, 2})
  end, {"avg_pool2d: ", "one entry or two"}},
  {"a window larger than the image", function() st.avg_pool2d(x3, 6) end,
   {"avg_pool2d: ", "does not fit"}},
  {"padding larger than half of a window", function()
    st.max_pool2d(x3, 2, {padding = 2})
  end, {"max_pool2d: ", "at most half"}},
  {"channels without an image", function()
    st.max_pool2d(st.zeros(2, 0, 5), 1)
  end, "max_pool2d: only the batch may be empty"},
  {"complex numbers", function() st.max_pool2d(x3:to "complex64", 2) end,
   "max_pool2d: not implemented"},
  {"the mean of bool", function() st.avg_pool2d(x3:to "bool", 2) end,
   "avg_pool2d: not implemented"},
  {"to divide by 0", function()
    st.avg_pool2d(x3, 2, {divisor_override = 0})
  end, {"avg_pool2d: ", "must not be 0"}},
  {"negative shares", function() st.adaptive_avg_pool2d(x3, -1) end,
   "adaptive_avg_pool2d: output_size must be 0 or more"},
  {"positions of another shape", function()
    st.max_unpool2d(x3, st.ones(2, 5):to "int64", {9, 9})
  end, "max_unpool2d: indices must be int64"},
  {"positions outside of the image", function()
    st.max_unpool2d(x3, st.full({2, 5, 5}, 82, {dtype = "int64"}), {9, 9})
  end, "max_unpool2d: index 82 is out of range"},
}

describe("Pooling refuses", function()
  for _, row in ipairs(MISUSE) do
    it(row[1], function() raises(row[3], row[2]) end)
  end
end)
