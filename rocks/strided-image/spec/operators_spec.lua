--- The operators that move, mix and convert pixels.

local image = require "strided.image"
local st = require "strided"
local support = require "spec.image_support"

local distance, fails, noise, picture, shape, strides = support.distance,
  support.fails, support.noise, support.picture, support.shape, support.strides

local function bytes(list) return st.tensor(list, {dtype = "uint8"}) end
local function doubles(list) return st.tensor(list, {dtype = "float64"}) end

--- fn gives the same for a picture, its planes, a batch of it, and a view with
-- strides; and shapes on the meta device.
local function takes_layouts(fn, channels)
  for _, dtype in ipairs {"uint8", "float64"} do
    local t = picture(channels, 9, 8):to(dtype)
    if dtype ~= "uint8" then t = t / 255 end
    local want = fn(t)
    local apart = st.stack({t, t}, 4)[{{}, {}, {}, 1}]
    for _, each in ipairs {t:contiguous(), apart,
                           t:transpose(2, 3):contiguous():transpose(2, 3)} do
      assert.is_true(want:equal(fn(each)))
    end
    local batch = fn(st.stack({t, t:flip {2}}):view(1, 2, channels, 9, 8))
    assert.is_true(want:equal(batch[{1, 1}]))
    assert.is_true(fn(t:flip {2}):equal(batch[{1, 2}]))
    local meta = fn(t:to {device = "meta"})
    assert.equal(shape(want) .. " " .. dtype .. " meta", shape(meta) .. " " ..
                 tostring(meta.dtype) .. " " .. tostring(meta.device))
  end
end

local function has_derivative(fn, channels)
  local t = (picture(channels, 5, 6):to "float64" / 300 + 0.05)
    :requires_grad_()
  assert.is_true(st.gradcheck(fn, {t}))
end

-- -- Moving ------------------------------------------------------------------

describe("crop", function()
  it("is a view that counts from 1", function()
    local t = picture(3, 9, 8)
    local part = image.crop(t, 2, 3, 4, 5)
    assert.is_true(t[{{}, {2, 5}, {3, 7}}]:equal(part))
    assert.is_true(part:is_alias_of(t))
    assert.equal(shape(t), shape(image.crop(t, 1, 1, 9, 8)))
    takes_layouts(function(x) return image.crop(x, 2, 3, 4, 5) end, 3)
    has_derivative(function(x) return image.crop(x, 2, 3, 2, 2) end, 1)
  end)

  it("counts negative positions from the end", function()
    local t = picture(3, 9, 8)
    assert.is_true(t[{{}, {8, 9}, {6, 7}}]:equal(image.crop(t, -2, -3, 2, 2)))
    assert.is_true(t[{{}, {1, 2}, {1, 8}}]:equal(image.crop(t, -9, -8, 2, 8)))
  end)

  it("stays inside", function()
    local t = picture(3, 9, 8)
    fails("image::crop: 5 rows from 6 are not in an image of 9", image.crop, t,
          6, 1, 5, 1)
    fails("9 columns from 1 are not in an image of 8", image.crop, t, 1, 1, 1,
          9)
    fails("-1 rows from 1", image.crop, t, 1, 1, -1, 1)
    fails("2 rows from -10 are not in an image of 9", image.crop, t, -10, 1, 2,
          1)
    fails("3 columns from -2 are not in an image of 8", image.crop, t, 1, -2,
          1, 3)
    fails("self must be an image (..., H, W), got the shape (3)", image.crop,
          st.zeros(3), 1, 1, 1, 1)
  end)
end)

describe("hflip and vflip", function()
  it("exchange the sides", function()
    local t = bytes {{{1, 2, 3}, {4, 5, 6}}}
    assert.is_true(image.hflip(t):equal(bytes {{{3, 2, 1}, {6, 5, 4}}}))
    assert.is_true(image.vflip(t):equal(bytes {{{4, 5, 6}, {1, 2, 3}}}))
    takes_layouts(image.hflip, 3)
    takes_layouts(image.vflip, 2)
    has_derivative(image.hflip, 2)
  end)
end)

describe("pad", function()
  it("adds borders", function()
    local t = bytes {{{1, 2, 3}, {4, 5, 6}}}
    local rows = {
      {{1}, "constant", {{{9, 9, 9, 9, 9}, {9, 1, 2, 3, 9}, {9, 4, 5, 6, 9},
                          {9, 9, 9, 9, 9}}}},
      {{1, 0, 2, 1}, "constant", {{{9, 1, 2, 3, 9, 9}, {9, 4, 5, 6, 9, 9},
                                   {9, 9, 9, 9, 9, 9}}}},
      {{2, 0}, "reflect", {{{3, 2, 1, 2, 3, 2, 1}, {6, 5, 4, 5, 6, 5, 4}}}},
      {{1, 0, 2, 1}, "replicate", {{{1, 1, 2, 3, 3, 3}, {4, 4, 5, 6, 6, 6},
                                    {4, 4, 5, 6, 6, 6}}}},
    }
    for _, row in ipairs(rows) do
      assert.is_true(image.pad(t, row[1], row[2], 9):equal(bytes(row[3])),
                     row[2])
    end
    for _, mode in ipairs {"constant", "reflect", "replicate"} do
      takes_layouts(function(x) return image.pad(x, {1, 2, 3, 0}, mode) end, 3)
      has_derivative(function(x) return image.pad(x, {1, 2}, mode) end, 1)
    end
  end)

  it("refuses what it cannot add", function()
    local t = picture(3, 4, 4)
    fails("image::pad: padding must not be negative, got -1; crop makes",
          image.pad, t, {-1})
    fails("padding must be at most 2^30", image.pad, t, {2 ^ 31})
    fails("padding must be 1, 2 or 4 numbers, got 3", image.pad, t, {1, 1, 1})
    fails("mode must be 'constant', 'reflect' or 'replicate', got 'edge'",
          image.pad, t, {1}, "edge")
    fails("padding by reflect of 4 needs more than 4 pixels", image.pad, t,
          {4}, "reflect")
  end)
end)

describe("rotate", function()
  it("by quarters moves pixels", function()
    local t = picture(3, 6, 6)
    for _, mode in ipairs {"nearest", "bilinear"} do
      local function turn(angle, options)
        return image.rotate(t, angle, mode, options)
      end
      assert.is_true(t:equal(turn(0)))
      assert.is_true(t:transpose(2, 3):flip {2}:equal(turn(90)))
      assert.is_true(t:flip {2, 3}:equal(turn(-180)))
      assert.is_true(t:transpose(2, 3):flip {3}:equal(turn(270)))
      assert.is_true(turn(-90):equal(turn(630)))
      local wide = t:narrow(2, 1, 4)
      assert.is_true(wide:transpose(2, 3):flip {2}:equal(
        image.rotate(wide, 90, mode, {expand = true})))
    end
  end)

  it("fills what is outside", function()
    local t = st.full({1, 5, 5}, 100, {dtype = "uint8"})
    local got = image.rotate(t, 45, "nearest", {fill = 7})
    assert.equal(7, got[{1, 1, 1}]:item())
    assert.equal(100, got[{1, 3, 3}]:item())
    assert.equal("1 8 8", shape(image.rotate(t, 45, "nearest",
                                             {expand = true})))
    got = image.rotate(t, 45, "bilinear", {expand = true})
    assert.equal(100, got[{1, 4, 4}]:item())
  end)

  it("interpolates as exact sums do", function()
    local t = picture(1, 7, 8)
    local angle = math.rad(33)
    local s, c = math.sin(angle), math.cos(angle)
    local got = image.rotate(t:to "float64", 33, "bilinear", {fill = 3})
    local function at(y, x)
      if y < 1 or x < 1 or y > 7 or x > 8 then return 3 end
      return t[{1, y, x}]:item()
    end
    for y = 1, 7 do
      for x = 1, 8 do
        local dx, dy = x - 4.5, y - 4
        local px, py = c * dx - s * dy + 4.5, s * dx + c * dy + 4
        local u, v = px - math.floor(px), py - math.floor(py)
        local left, top = math.floor(px), math.floor(py)
        local want = (1 - u) * (1 - v) * at(top, left) +
          u * (1 - v) * at(top, left + 1) + (1 - u) * v * at(top + 1, left) +
          u * v * at(top + 1, left + 1)
        assert.is_true(math.abs(want - got[{1, y, x}]:item()) < 1e-9)
      end
    end
    local rounded = image.rotate(t, 33, "bilinear", {fill = 3})
    assert.is_true(distance(got, rounded) <= 0.5 + 1e-9)
    for _, dtype in ipairs {"int32", "float32"} do
      assert.is_true(distance(got, image.rotate(t:to(dtype), 33, "bilinear",
        {fill = 3})) <= (dtype == "int32" and 0.5 + 1e-9 or 1e-4))
    end
  end)

  it("takes any layout", function()
    takes_layouts(function(x)
      return image.rotate(x, 30, "bilinear", {expand = true})
    end, 3)
    takes_layouts(function(x) return image.rotate(x, 30) end, 5)
    assert.equal("1 24 3", strides(image.rotate(picture(3, 9, 8), 30)))
  end)

  it("refuses what it has no loop for", function()
    local t = picture(3, 4, 4)
    fails("image::rotate: self must be uint8, int32, float32 or float64, " ..
          "got int16", image.rotate, t:to "int16", 3)
    fails("angle must be finite", image.rotate, t, 1 / 0)
    fails("mode must be 'nearest' or 'bilinear', got 'cubic'", image.rotate, t,
          3, "cubic")
    fails("fill must be an element of uint8, got 256", image.rotate, t, 3,
          "nearest", {fill = 256})
    support.leaks_nothing(function() image.rotate(t, 30) end)
  end)
end)

-- -- Colours -----------------------------------------------------------------

describe("rgb_to_gray", function()
  it("is BT.601's luma", function()
    local t = picture(3, 9, 8)
    local want = (t[1]:to "float64" * 0.299 + t[2]:to "float64" * 0.587 +
                  t[3]:to "float64" * 0.114):view(1, 9, 8)
    assert.is_true(distance(want, image.rgb_to_gray(t)) <= 0.501)
    assert.is_true(distance(want, image.rgb_to_gray(t:to "float64")) < 1e-9)
    local long = picture(3, 5, 43) -- for steps of eight pixels
    assert.is_true(image.rgb_to_gray(long):equal(
      image.rgb_to_gray(long:contiguous())))
    takes_layouts(image.rgb_to_gray, 3)
    has_derivative(image.rgb_to_gray, 3)
    fails("image::rgb_to_gray: self must have 3 channels (..., 3, H, W), " ..
          "got the shape (1, 4, 4)", image.rgb_to_gray, picture(1, 4, 4))
    fails("self must be uint8 or floating, got int32", image.rgb_to_gray,
          t:to "int32")
    support.leaks_nothing(function() image.rgb_to_gray(t) end)
    support.leaks_nothing(function() image.rgb_to_gray(t:to "float32") end)
  end)
end)

describe("gray_to_rgb", function()
  it("repeats the channel", function()
    local t = picture(1, 4, 5)
    assert.is_true(t:expand(3, 4, 5):equal(image.gray_to_rgb(t)))
    takes_layouts(image.gray_to_rgb, 1)
    has_derivative(image.gray_to_rgb, 1)
    fails("must have 1 channels", image.gray_to_rgb, picture(3, 4, 4))
  end)
end)

describe("YCbCr", function()
  -- ITU-T T.871, section 7
  local known = {{{255, 0, 0}, {76, 85, 255}}, {{0, 255, 0}, {150, 44, 21}},
                 {{0, 0, 255}, {29, 255, 107}}, {{90, 90, 90}, {90, 128, 128}},
                 {{255, 255, 255}, {255, 128, 128}}}

  it("is that of JPEG", function()
    for _, row in ipairs(known) do
      local rgb = bytes(row[1]):view(3, 1, 1)
      assert.is_true(bytes(row[2]):view(3, 1, 1):equal(
        image.rgb_to_ycbcr(rgb)))
      assert.is_true(distance(image.ycbcr_to_rgb(image.rgb_to_ycbcr(rgb)),
                              rgb) <= 2)
    end
    local t = picture(3, 9, 8):to "float64" / 255
    local there = image.rgb_to_ycbcr(t)
    assert.is_true(distance(there * 255 + doubles {0, 0.5, 0.5}:view(3, 1, 1),
                            image.rgb_to_ycbcr(picture(3, 9, 8))) <= 0.51)
    assert.is_true(distance(t, image.ycbcr_to_rgb(there)) < 1e-12)
    for _, fn in ipairs {image.rgb_to_ycbcr, image.ycbcr_to_rgb} do
      takes_layouts(fn, 3)
      has_derivative(fn, 3)
    end
  end)
end)

describe("HSV", function()
  local known = {{{1, 0, 0}, {0, 1, 1}}, {{0, 1, 0}, {1 / 3, 1, 1}},
                 {{0, 0, 1}, {2 / 3, 1, 1}}, {{1, 1, 0}, {1 / 6, 1, 1}},
                 {{0.5, 0.25, 0.25}, {0, 0.5, 0.5}},
                 {{0.2, 0.2, 0.2}, {0, 0, 0.2}}, {{0, 0, 0}, {0, 0, 0}},
                 {{0.5, 0, 0.25}, {11 / 12, 1, 0.5}}}

  it("is hue, saturation and value", function()
    for _, row in ipairs(known) do
      local rgb, hsv = doubles(row[1]):view(3, 1, 1),
                       doubles(row[2]):view(3, 1, 1)
      assert.is_true(distance(hsv, image.rgb_to_hsv(rgb)) < 1e-12)
      assert.is_true(distance(rgb, image.hsv_to_rgb(hsv)) < 1e-12)
      assert.is_true(distance((hsv * 255):floor(), image.rgb_to_hsv(
        (rgb * 255):round():to "uint8")) <= 1)
    end
    local t = picture(3, 9, 8)
    assert.is_true(distance(t, image.hsv_to_rgb(image.rgb_to_hsv(t))) <= 8)
    local double = t:to "float64" / 255
    assert.is_true(distance(double, image.hsv_to_rgb(
      image.rgb_to_hsv(double))) < 1e-12)
    local odd = image.hsv_to_rgb(doubles {0 / 0, 1, 1}:view(3, 1, 1))
    assert.is_true(odd[{1, 1, 1}]:isnan():item())
    for _, fn in ipairs {image.rgb_to_hsv, image.hsv_to_rgb} do
      takes_layouts(fn, 3)
    end
    fails("self must be uint8, float32 or float64, got float16",
          image.rgb_to_hsv, t:to "float16")
  end)
end)

describe("Linear light", function()
  it("is the curve of sRGB", function()
    -- IEC 61966-2-1
    local curve = doubles {0, 0.04045, 0.5, 1}
    local linear = doubles {0, 0.04045 / 12.92, 0.21404114048223255, 1}
    assert.is_true(distance(linear, image.srgb_to_linear(curve)) < 1e-12)
    assert.is_true(distance(curve, image.linear_to_srgb(linear)) < 1e-7)
    assert.is_true(image.srgb_to_linear(bytes {0, 10, 188, 255}):equal(
      bytes {0, 1, 128, 255}))
    assert.is_true(image.linear_to_srgb(bytes {0, 1, 128, 255}):equal(
      bytes {0, 13, 188, 255}))
    for _, fn in ipairs {image.srgb_to_linear, image.linear_to_srgb} do
      takes_layouts(fn, 3)
      has_derivative(fn, 1)
    end
    local x = doubles {0, 0.001}:requires_grad_()
    image.linear_to_srgb(x):sum():backward()
    assert.is_true(distance(x.grad, doubles {12.92, 12.92}) < 1e-12)
    fails("self must be uint8 or floating, got int32", image.srgb_to_linear,
          st.zeros(3, {dtype = "int32"}))
  end)
end)

-- -- Blur --------------------------------------------------------------------

--- What a blur is: sums over a window of the reflected image.
local function blurred(t, wy, wx)
  local padded = image.pad(t:to "float64", {(#wx - 1) / 2, (#wy - 1) / 2},
                           "reflect")
  local sum = 0
  for i = 1, #wy do
    for k = 1, #wx do
      sum = sum + image.crop(padded, i, k, t.shape[2], t.shape[3]) *
                  (wy[i] * wx[k])
    end
  end
  return sum
end

local function bell(n, sigma)
  local list, sum = {}, 0
  for i = 1, n do
    list[i] = math.exp(-((i - (n + 1) / 2) / sigma) ^ 2 / 2)
    sum = sum + list[i]
  end
  for i = 1, n do list[i] = list[i] / sum end
  return list
end

describe("gaussian_blur and box_blur", function()
  it("are sums over a window", function()
    for _, channels in ipairs {1, 3, 5} do
      local t = picture(channels, 30, 300)
      local rows = {
        {image.gaussian_blur, {5, 7}, {1.5, 2}, bell(5, 1.5), bell(7, 2)},
        {image.gaussian_blur, {3, 5}, nil, bell(3, 0.8), bell(5, 1.1)},
        {image.box_blur, {3, 5}, nil, {1 / 3, 1 / 3, 1 / 3},
         {0.2, 0.2, 0.2, 0.2, 0.2}},
        {image.box_blur, {1, 3}, nil, {1}, {1 / 3, 1 / 3, 1 / 3}},
      }
      for _, row in ipairs(rows) do
        local want = blurred(t, row[4], row[5])
        assert.is_true(distance(want, row[1](t, row[2], row[3])) <= 0.501)
        assert.is_true(distance(want, row[1](t:to "float64", row[2],
                                             row[3])) < 1e-9)
      end
    end
  end)

  it("take any layout, and have derivatives", function()
    for _, channels in ipairs {1, 3, 5} do
      takes_layouts(function(x) return image.gaussian_blur(x, {3, 5}) end,
                    channels)
    end
    has_derivative(function(x) return image.gaussian_blur(x, {3, 5}) end, 2)
    has_derivative(function(x) return image.box_blur(x, {3, 3}) end, 2)
    assert.equal("9 8", shape(image.box_blur(noise(9, 8), {3, 3})))
  end)

  it("refuse windows that do not fit", function()
    local t = picture(3, 4, 9)
    fails("image::gaussian_blur: kernel_size must be odd, from 1 to 255, " ..
          "got 2 x 3", image.gaussian_blur, t, {2, 3})
    fails("kernel_size 9 x 3 is too large to reflect an image of 4 x 9",
          image.box_blur, t, {9, 3})
    fails("sigma must be positive, got 0", image.gaussian_blur, t, {3, 3},
          {0, 1})
    for n, list in pairs {[0] = {}, [3] = {3, 3, 99}} do
      for _, name in ipairs {"gaussian_blur", "box_blur"} do
        fails("image::" .. name .. ": kernel_size must be a number or {rows, "
              .. "columns}, got a list of " .. n, image[name], t, list)
      end
    end
    for n, list in pairs {[0] = {}, [3] = {1, 1, 1}} do
      fails("sigma must be a number or {of the columns, of the rows}, got a "
            .. "list of " .. n, image.gaussian_blur, t, {3, 3}, list)
    end
  end)

  it("take one number for both sides", function()
    local t = picture(3, 9, 9)
    local want = image.gaussian_blur(t, {3, 3}, {2, 2})
    assert.is_true(image.gaussian_blur(t, 3, 2):equal(want))
    assert.is_true(image.gaussian_blur(t, {3}, {2}):equal(want))
    assert.is_true(image.box_blur(t, 3):equal(image.box_blur(t, {3, 3})))
  end)

  it("leak nothing", function()
    local t = picture(3, 4, 9)
    fails("self must be uint8 or floating, got int32", image.box_blur,
          t:to "int32", {3, 3})
    support.leaks_nothing(function() image.box_blur(t, {3, 3}) end)
    support.leaks_nothing(function()
      image.box_blur(t:to "float32", {3, 3})
    end)
  end)
end)

describe("The operators", function()
  it("write into their own argument", function()
    local ops = st.ops.image
    local window = {0.25, 0.5, 0.25}
    for _, t in ipairs {picture(3, 9, 9), picture(3, 9, 9):contiguous(),
                        picture(3, 9, 9):to "float32",
                        st.stack {picture(3, 9, 9), picture(3, 9, 9)}} do
      local rows = {{"rotate", 90}, {"rotate", 180}, {"rotate", 30, "bilinear"}}
      if t.dtype == "uint8" then
        rows[4] = {"_blur_bytes", window, window}
        for i = 0, 3 do rows[5 + i] = {"_resize_bytes", {9, 9}, i} end
        for i = 1, 4 do rows[8 + i] = {"_convert_pixels", i} end
      end
      for _, row in ipairs(rows) do
        local fn = ops[row[1]]
        local want, out = fn(t, row[2], row[3]), t:clone()
        local turned = t:clone():transpose(-1, -2)
        if row[1] == "_convert_pixels" then
          fn(out, row[2], {out = out})
          fn(turned:transpose(-1, -2), row[2], {out = turned})
        else
          fn(out, row[2], row[3], {out = out})
          fn(turned:transpose(-1, -2), row[2], row[3], {out = turned})
        end
        assert.is_true(want:equal(out), row[1])
        assert.is_true(want:equal(turned), row[1])
      end
    end
    support.leaks_nothing(function()
      local t = picture(3, 9, 9)
      ops.rotate(t, 90, {out = t})
    end)
  end)

  it("have help texts", function()
    for _, name in ipairs {"resize", "crop", "rotate", "decode", "encode",
                           "gaussian_blur"} do
      assert.truthy(tostring(st.help("image::" .. name)):find(name, 1, true))
    end
  end)
end)
