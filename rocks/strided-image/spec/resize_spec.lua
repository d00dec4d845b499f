--- image.resize: bytes within 1 of exact sums, floats by operators of aten,
-- any layout, shapes without data, derivatives.

local image = require "strided.image"
local st = require "strided"
local support = require "spec.image_support"

local distance, fails, noise, picture, shape, strides = support.distance,
  support.fails, support.noise, support.picture, support.shape, support.strides

local abs, floor, max, min, pi, sin = math.abs, math.floor, math.max, math.min,
  math.pi, math.sin

-- -- What a resize is --------------------------------------------------------

local function sinc(x) return x == 0 and 1 or sin(pi * x) / (pi * x) end

-- radius and weight of the filters, as Pillow's documentation has them
local FILTERS = {
  area = {0.5, function(x) return x > -0.5 and x <= 0.5 and 1 or 0 end},
  bilinear = {1, function(x) return max(0, 1 - abs(x)) end},
  bicubic = {2, function(x)
    x = abs(x)
    if x < 1 then return 1.5 * x ^ 3 - 2.5 * x ^ 2 + 1 end
    return x < 2 and -0.5 * x ^ 3 + 2.5 * x ^ 2 - 4 * x + 2 or 0
  end},
  lanczos = {3, function(x)
    return abs(x) < 3 and sinc(x) * sinc(x / 3) or 0
  end},
}

--- The matrix to x from of a filter.
local function matrix(mode, from, to)
  local radius, weight = FILTERS[mode][1], FILTERS[mode][2]
  local scale = from / to
  local shrink = max(scale, 1)
  local rows = {}
  for i = 1, to do
    local center, row, sum = (i - 0.5) * scale, {}, 0
    local first = max(0, floor(center - radius * shrink + 0.5))
    local last = min(from, floor(center + radius * shrink + 0.5))
    for k = 1, from do
      row[k] = 0
      if k > first and k <= last then
        row[k] = weight((k - 0.5 - center) / shrink)
      end
      sum = sum + row[k]
    end
    for k = 1, from do row[k] = row[k] / sum end
    rows[i] = row
  end
  return st.tensor(rows, {dtype = "float64"})
end

local function to_bytes(t) return t:add(0.5):floor():clamp(0, 255) end

--- Along the rows, then along the columns, both rounded.
local function exact(t, mode, height, width)
  t = t:to "float64"
  local across = matrix(mode, t.shape[#t.shape], width)
  local down = matrix(mode, t.shape[#t.shape - 1], height)
  return to_bytes(down:matmul(to_bytes(t:matmul(across:t()))))
end

-- -- Specs -------------------------------------------------------------------

local MODES = {"area", "bilinear", "bicubic", "lanczos"}

describe("image.resize of bytes", function()
  -- from, to
  local sizes = {
    {{40, 60}, {13, 17}}, {{40, 60}, {80, 90}}, {{40, 60}, {40, 17}},
    {{40, 60}, {13, 60}}, {{5, 3}, {11, 40}}, {{3, 5}, {1, 1}},
    {{1, 1}, {4, 5}}, {{90, 200}, {7, 31}}, {{33, 7}, {32, 50}},
    {{40, 60}, {40, 60}},
  }
  for _, mode in ipairs(MODES) do
    it("is within 1 of exact sums, " .. mode, function()
      for _, row in ipairs(sizes) do
        for channels = 1, 5 do
          local t = picture(channels, row[1][1], row[1][2])
          local got = image.resize(t, row[2], mode)
          local want = exact(t, mode, row[2][1], row[2][2])
          assert.equal("uint8", tostring(got.dtype))
          assert.is_true(distance(want, got) <= 1,
                         channels .. " channels to " .. shape(got))
        end
      end
    end)
  end

  it("does not depend on the layout", function()
    local t = picture(3, 30, 41)
    local want = image.resize(t, {11, 50}, "bicubic")
    assert.equal("1 150 3", strides(want))
    local rgba = picture(4, 30, 41)
    local batch = st.stack {t, t:flip {3}}
    local rows = {
      {t:contiguous(), "550 50 1"}, {t:transpose(2, 3):contiguous()
        :transpose(2, 3), "550 50 1"},
      {st.cat({t, t}, 2):narrow(2, 31, 30), "550 50 1"},
      {st.cat({t:permute(2, 3, 1), rgba["4:4"]:permute(2, 3, 1)}, 3)
        :permute(3, 1, 2)["1:3"], "1 150 3"},
      {batch:contiguous {memory_format = "channels_last"}[1], "1 150 3"},
      {st.stack({t, t}, 4)[{{}, {}, {}, 2}], "550 50 1"},
    }
    for i, row in ipairs(rows) do
      local got = image.resize(row[1], {11, 50}, "bicubic")
      assert.is_true(want:equal(got), "row " .. i)
      assert.equal(row[2], strides(got), "row " .. i)
    end
    local wide = t["1:1"]:expand(3, 30, 41)
    assert.is_true(image.resize(wide:contiguous(), {9, 9})
                   :equal(image.resize(wide, {9, 9})))
    local tall = t[{{}, {1, 1}}]:expand(3, 30, 41)
    assert.is_true(image.resize(tall:contiguous(), {9, 9})
                   :equal(image.resize(tall, {9, 9})))
  end)

  it("takes batches of any dimensions", function()
    local t = noise(2, 3, 4, 12, 10)
    local got = image.resize(t, {5, 6})
    assert.equal("2 3 4 5 6", shape(got))
    for i = 1, 2 do
      for k = 1, 3 do
        assert.is_true(image.resize(t[{i, k}], {5, 6}):equal(got[{i, k}]))
      end
    end
    local last = t[1]:contiguous {memory_format = "channels_last"}
    got = image.resize(last, {5, 6})
    assert.is_true(got:is_contiguous {memory_format = "channels_last"})
    assert.is_true(image.resize(t[1], {5, 6}):equal(got))
    assert.is_true(image.resize(t[{1, 1, 1}], {5, 6})
                   :equal(image.resize(t[{1, 1}], {5, 6})[1]))
    assert.equal("0 3 5 6", shape(image.resize(
      st.zeros({0, 3, 8, 8}, {dtype = "uint8"}), {5, 6})))
  end)

  it("does not depend on the number of threads", function()
    local t = st.arange(700 * 900 * 3):mul(7919):remainder(251):to "uint8"
      :view(700, 900, 3):permute(3, 1, 2)
    local threads = st.get_num_threads()
    local function all(n)
      st.set_num_threads(n)
      return {image.resize(t, {333, 1000}, "bicubic"),
              image.resize(t:contiguous(), {900, 200}),
              image.resize(t, {350, 900}), image.rotate(t, 20, "bilinear"),
              image.gaussian_blur(t, {5, 5}), image.rgb_to_gray(t),
              image.rgb_to_hsv(t)}
    end
    local one, three = all(1), all(3)
    st.set_num_threads(threads)
    for i = 1, #one do assert.is_true(one[i]:equal(three[i])) end
  end)

  it("writes to out=", function()
    local t = picture(3, 12, 10)
    local want = st.ops.image._resize_bytes(t, {5, 6}, 1)
    local out = st.zeros({3, 5, 6}, {dtype = "uint8"})
    assert.is_true(st.ops.image._resize_bytes(t, {5, 6}, 1, {out = out})
                   :is_alias_of(out))
    assert.is_true(want:equal(out))
    assert.equal("30 6 1", strides(out))
  end)

  it("without antialiasing interpolates between neighbours", function()
    local t = st.tensor({{{0, 100, 200, 50}}}, {dtype = "uint8"})
    local got = image.resize(t, {1, 2}, "bilinear", {antialias = false})
    assert.is_true(got:equal(st.tensor({{{50, 125}}}, {dtype = "uint8"})))
    fails("size must be positive", image.resize, t, {0, 2})
    for n, list in pairs {[0] = {}, {3}, [3] = {3, 3, 3}} do
      fails("size must be {height, width}, got a list of " .. n, image.resize,
            t, list)
      fails("size must be {height, width}, got a list of " .. n,
            st.ops.image._resize_bytes, t, list, 1)
    end
    for _, mode in ipairs {"nearest", "bilinear"} do
      fails("size must be at most 2147483647, got 1 x 2147483648",
            image.resize, t, {1, 2 ^ 31}, mode)
    end
  end)

  it("nearest takes the pixel at the center", function()
    local t = picture(3, 12, 10)
    local got = image.resize(t, {5, 7}, "nearest")
    for y = 1, 5 do
      for x = 1, 7 do
        local from = t[{{}, floor((y - 0.5) * 12 / 5) + 1,
                        floor((x - 0.5) * 10 / 7) + 1}]
        assert.is_true(from:equal(got[{{}, y, x}]))
      end
    end
  end)

  it("leaks nothing where memory ends", function()
    local t, odd = picture(3, 9, 8), noise(9, 3, 8):permute(2, 1, 3)
    support.leaks_nothing(function() image.resize(t, {4, 5}) end)
    support.leaks_nothing(function() image.resize(odd, {4, 5}) end)
    support.leaks_nothing(function()
      image.resize(t, {4, 5}, "bicubic", {antialias = false})
    end)
  end)
end)

describe("image.resize of other elements", function()
  it("is the exact sum of floats", function()
    local t = picture(3, 20, 31):to "float64" / 255
    for _, mode in ipairs(MODES) do
      local want = matrix(mode, 20, 7):matmul(
        t:matmul(matrix(mode, 31, 40):t()))
      for _, each in ipairs {t, t:contiguous(), t:view(1, 1, 3, 20, 31)} do
        local got = image.resize(each, {7, 40}, mode)
        assert.is_true(distance(want, got:view(3, 7, 40)) < 1e-9, mode)
      end
      local single = image.resize(t:to "float32", {7, 40}, mode)
      assert.equal("float32", tostring(single.dtype))
      assert.is_true(distance(want, single) < 1e-5, mode)
    end
    assert.equal("7 40", shape(image.resize(t[1], {7, 40})))
    assert.equal("2 3 7 40", shape(image.resize(st.stack {t, t}, {7, 40})))
  end)

  it("rounds other integers", function()
    local t = picture(1, 9, 8):to "int32" * 257
    local want = image.resize(t:to "float64", {4, 5}, "bicubic"):round()
    local got = image.resize(t, {4, 5}, "bicubic")
    assert.equal("int32", tostring(got.dtype))
    assert.equal(0, distance(want, got))
    assert.is_true(image.resize(t:to "uint16", {4, 5}, "bicubic")
                   :to "int32":equal(got:clamp(0, 65535)))
  end)

  it("has derivatives", function()
    local t = picture(2, 6, 5):to "float64" / 255
    for _, mode in ipairs {"nearest", "area", "bilinear", "bicubic",
                           "lanczos"} do
      local x = t:clone():requires_grad_()
      assert.is_true(st.gradcheck(function(y)
        return image.resize(y, {4, 7}, mode)
      end, {x}), mode)
    end
  end)

  it("infers shapes without data", function()
    for _, dtype in ipairs {"uint8", "float32", "int32"} do
      for _, mode in ipairs {"nearest", "area", "bilinear", "bicubic"} do
        local t = st.empty({2, 3, 8, 9}, {dtype = dtype, device = "meta"})
        local got = image.resize(t, {4, 5}, mode)
        assert.equal("2 3 4 5 " .. dtype .. " meta", shape(got) .. " " ..
                     tostring(got.dtype) .. " " .. tostring(got.device))
      end
    end
  end)

  it("refuses what is no image", function()
    local t = picture(3, 8, 9)
    local rows = {
      {"self must be an image (..., H, W), got the shape (4)",
       st.zeros(4), {2, 2}},
      {"self must be integers or floats, got bool", t:to "bool", {2, 2}},
      {"self must be integers or floats, got complex64", t:to "complex64",
       {2, 2}},
      {"self has no pixels: 0 x 9", t:narrow(2, 1, 0), {2, 2}},
      {"size must be positive, got 2 x 0", t, {2, 0}},
      {"mode must be 'nearest', 'area', 'bilinear', 'bicubic' or 'lanczos', " ..
       "got 'cubic'", t, {2, 2}, "cubic"},
    }
    for _, row in ipairs(rows) do
      fails("image::resize: " .. row[1], image.resize, row[2], row[3], row[4])
    end
    fails("self must be uint8, got float32", st.ops.image._resize_bytes,
          t:to "float32", {2, 2}, 1)
    fails("filter must be 0 to 3", st.ops.image._resize_bytes, t, {2, 2}, 4)
  end)
end)
