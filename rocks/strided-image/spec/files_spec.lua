--- PNG, JPEG and WebP files: what is read equals what Pillow reads, what is
-- written is read again, and what is damaged is refused.

local image = require "strided.image"
local st = require "strided"
local support = require "spec.image_support"

local bytes, distance, expected, fails, picture, shape, strides =
  support.bytes, support.distance, support.expected, support.fails,
  support.picture, support.shape, support.strides

-- file, channels, how far the elements may be from Pillow's, orientation.
-- Pillow rounds CMYK otherwise, and has another version of libwebp.
local PICTURES = {
  {"rgb.png", 3, 0}, {"rgba.png", 4, 0}, {"gray.png", 1, 0},
  {"gray_alpha.png", 2, 0}, {"gray1.png", 1, 0}, {"palette2.png", 3, 0},
  {"palette4.png", 3, 0}, {"palette8.png", 3, 0},
  {"palette_alpha.png", 4, 0}, {"transparent.png", 4, 0},
  {"gray16.png", 1, 0}, {"png_oriented.png", 3, 0, 6}, {"rgb420.jpg", 3, 1},
  {"rgb444.jpg", 3, 1}, {"progressive.jpg", 3, 1}, {"luma.jpg", 1, 1},
  {"jpeg_oriented.jpg", 3, 1, 8}, {"cmyk.jpg", 3, 2},
  {"lossless.webp", 3, 0}, {"lossless_alpha.webp", 4, 0},
  {"lossy.webp", 3, 2}, {"lossy_alpha.webp", 4, 2},
  {"webp_oriented.webp", 3, 0, 3},
}
local FORMATS = {png = "png", jpg = "jpeg", webp = "webp"}

describe("image.decode", function()
  for _, row in ipairs(PICTURES) do
    local name, channels, far, orientation = row[1], row[2], row[3],
                                             row[4] or 1
    it("reads " .. name .. " as Pillow does", function()
      local t = image.decode(bytes(name))
      assert.equal(channels .. " 7 9", shape(t))
      assert.equal(name == "gray16.png" and "int32" or "uint8",
                   tostring(t.dtype))
      assert.is_true(distance(expected(name), t) <= far)
    end)

    it("tells the header of " .. name, function()
      assert.same({format = FORMATS[name:match "%w+$"], height = 7, width = 9,
                   channels = channels, bits = name == "gray16.png" and 16 or 8,
                   orientation = orientation}, image.info(bytes(name)))
    end)

    it("refuses every beginning of " .. name, function()
      local whole = bytes(name)
      for n = 0, #whole - 1 do
        local part = whole:sub(1, n)
        local ok, why = pcall(image.decode, part)
        -- the padding of a RIFF file is no loss
        if ok then assert.is_true(n >= #whole - 1 and
                                  name:find "webp" ~= nil, n) end
        assert.is_true(ok or why:find "image.decode: %w" ~= nil)
      end
    end)
  end

  it("gives the memory of the decoder", function()
    for name, want in pairs {["rgb.png"] = "1 27 3", ["gray.png"] = "1 9 1",
                             ["rgba.png"] = "1 36 4",
                             ["rgb420.jpg"] = "1 27 3",
                             ["lossless.webp"] = "1 27 3"} do
      assert.equal(want, strides(image.decode(bytes(name))))
    end
  end)

  it("takes a tensor of bytes, of any stride", function()
    local want = image.decode(bytes "rgb.png")
    local data = st.frombuffer(bytes "rgb.png", {dtype = "uint8"})
    assert.is_true(want:equal(image.decode(data)))
    local apart = st.stack({data, data}, 2)[{{}, 1}]
    assert.is_true(want:equal(image.decode(apart)))
    fails("bytes must be a vector of uint8, got 2 dimensions", image.decode,
          data:view(1, -1))
    fails("bytes must be a vector of uint8, got 1 dimensions of int64",
          image.decode, data:to "int64")
    fails("the bytes must be a string or a tensor", image.decode, 7)
  end)

  it("has modes", function()
    local rgba = expected "rgba.png"
    local rgb, alpha = rgba["1:3"], rgba["4:4"]
    local luma = (rgb[1] * 19595 + rgb[2] * 38470 + rgb[3] * 7471 + 32768)
      :div(65536, {rounding_mode = "floor"}):view(1, 7, 9)
    local opaque = st.full({1, 7, 9}, 255)
    local rows = {
      {"rgba.png", "gray", luma}, {"rgba.png", "rgb", rgb},
      {"rgba.png", "gray_alpha", st.cat {luma, alpha}},
      {"rgb.png", "rgb_alpha", st.cat {expected "rgb.png", opaque}},
      {"gray.png", "rgb", expected("gray.png"):expand(3, 7, 9)},
      {"gray.png", "gray_alpha", st.cat {expected "gray.png", opaque}},
      {"gray_alpha.png", "rgb_alpha",
       st.cat {expected("gray_alpha.png")["1:1"]:expand(3, 7, 9),
               expected("gray_alpha.png")["2:2"]}},
      {"lossless_alpha.webp", "gray", luma},
      {"lossless.webp", "rgb_alpha", st.cat {expected "rgb.png", opaque}},
    }
    for _, row in ipairs(rows) do
      local got = image.decode(bytes(row[1]), {mode = row[2]})
      assert.equal(0, distance(row[3], got), row[1] .. " " .. row[2])
    end
    for _, name in ipairs {"rgb420.jpg", "luma.jpg", "cmyk.jpg"} do
      for mode, n in pairs {gray = 1, gray_alpha = 2, rgb = 3,
                            rgb_alpha = 4} do
        local t = image.decode(bytes(name), {mode = mode})
        assert.equal(n .. " 7 9", shape(t))
        if n % 2 == 0 then assert.equal(255, t[n]:min():item()) end
      end
    end
    -- of a picture without strong colours, whose RGB is not cut off
    local soft = (picture(3, 8, 8):to "int32" / 8 + 100):to "uint8"
    local data = image.encode(soft, "jpeg", {full_chroma = true})
    assert.is_true(distance(image.rgb_to_gray(image.decode(data)),
                            image.decode(data, {mode = "gray"})) <= 1)
    fails("mode must be 'unchanged', 'gray', 'gray_alpha', 'rgb' or " ..
          "'rgb_alpha', got 'RGB'", image.decode, bytes "rgb.png",
          {mode = "RGB"})
  end)

  it("is of CMYK without Adobe's marker, too", function()
    local data = bytes "cmyk.jpg"
    local at = data:find("\255\238", 1, true)
    local n = data:byte(at + 2) * 256 + data:byte(at + 3)
    local bare = data:sub(1, at - 1) .. data:sub(at + 2 + n)
    assert.truthy(data:sub(at, at + n):find("Adobe", 1, true))
    assert.is_nil(bare:find("Adobe", 1, true))
    assert.is_true(image.decode(bare):equal(image.decode(data)))
  end)

  it("has dtypes", function()
    local want = expected "gray16.png"
    local function read(name, dtype)
      local t = image.decode(bytes(name), {dtype = dtype})
      assert.equal(dtype, tostring(t.dtype))
      return t
    end
    assert.equal(0, distance(want, read("gray16.png", "uint16")))
    assert.equal(0, distance(want, read("gray16.png", "int32")))
    assert.equal(0, distance((want:to "float64" / 257):round(),
                             read("gray16.png", "uint8")))
    assert.is_true(distance(want:to "float64" / 65535,
                            read("gray16.png", "float64")) < 1e-12)
    want = expected "rgb.png"
    assert.equal(0, distance(want * 257, read("rgb.png", "uint16")))
    assert.is_true(distance(want:to "float64" / 255,
                            read("rgb.png", "float32")) < 1e-7)
    fails("the option 'dtype' must be", image.decode, bytes "rgb.png",
          {dtype = "int8"})
  end)

  it("turns a picture as EXIF says, if asked", function()
    local t = expected "rgb.png"
    local function turned(name)
      return image.decode(bytes(name), {orientation = true})
    end
    assert.equal(0, distance(t:transpose(2, 3):flip {3},
                             turned "png_oriented.png"))
    assert.equal(0, distance(t:flip {2, 3}, turned "webp_oriented.webp"))
    assert.is_true(distance(image.decode(bytes "jpeg_oriented.jpg")
                            :transpose(2, 3):flip {2},
                            turned "jpeg_oriented.jpg") == 0)
  end)

  it("refuses large pictures before it makes a tensor", function()
    for _, name in ipairs {"rgb.png", "rgb420.jpg", "lossy.webp"} do
      fails("9 x 7 pixels are more than max_pixels, 62", image.decode,
            bytes(name), {max_pixels = 62})
      image.decode(bytes(name), {max_pixels = 63})
    end
    -- a header of 100000 x 100000, of 30 GB
    local huge = bytes("rgb.png"):sub(1, 16) .. "\0\1\134\160\0\1\134\160" ..
                 "\8\2\0\0\0\121\202\216\9"
    local ok, why = pcall(image.decode, huge)
    assert.is_false(ok)
    assert.truthy(why:find "max_pixels" or why:find "libpng", why)
  end)

  it("refuses what is damaged", function()
    local data = bytes "rgb.png"
    local at = data:find "IDAT"
    fails("image.decode: libpng: ", image.decode,
          data:sub(1, at + 10) .. "\0\0" .. data:sub(at + 13))
    fails("image.decode: this is no PNG, JPEG or WebP image", image.decode,
          "GIF89a")
    fails("image.decode: there are no bytes", image.decode, "")
    fails("image.decode: libjpeg: Premature end of JPEG file", image.decode,
          bytes("rgb420.jpg"):sub(1, -30))
    fails("is an animation", image.decode, bytes "animation.webp")
    fails("there is no option 'mde'", image.decode, data, {mde = 1})
    fails("the options must be a table", image.decode, data, "rgb")
  end)

  it("hides what libjpeg warns of, if asked", function()
    local part = bytes("rgb420.jpg"):sub(1, -30)
    assert.equal("3 7 9", shape(image.decode(part, {permissive = true})))
  end)

  it("is interrupted by the count hook", function()
    local t = st.zeros({3, 3000, 2000}, {dtype = "uint8"})
    for _, row in ipairs {{"png", {compression = 1}}, {"jpeg"},
                          {"png", {compression = 1, progressive = true}},
                          {"jpeg", {progressive = true}}} do
      local data = image.encode(t, row[1], row[2])
      debug.sethook(function() error("stop now", 0) end, "", 1e9)
      local ok, why = pcall(image.decode, data)
      debug.sethook()
      assert.is_false(ok)
      assert.truthy(tostring(why):find "stop now", why)
    end
  end)

  it("leaks nothing where memory ends", function()
    for _, name in ipairs {"rgb.png", "rgb420.jpg", "lossless.webp"} do
      support.leaks_nothing(function()
        image.decode(bytes(name), {mode = "gray"})
      end)
    end
  end)
end)

describe("image.encode", function()
  it("writes PNG files that come back", function()
    for channels = 1, 4 do
      for _, options in ipairs {{}, {compression = 0}, {progressive = true},
                                {compression = 9}} do
        local t = picture(channels, 13, 11)
        for _, each in ipairs {t, t:contiguous(), t:flip {3}} do
          local back = image.decode(image.encode(each, "png", options))
          assert.is_true(each:equal(back))
        end
        local wide = t:to "int32" * 255 + 3
        local back = image.decode(image.encode(wide, "png", options))
        assert.is_true(wide:equal(back))
        assert.is_true(wide:equal(image.decode(
          image.encode(wide:to "uint16", "png", options))))
      end
    end
    local gray = picture(1, 5, 6)
    assert.is_true(gray:equal(image.decode(image.encode(gray[1], "png"))))
  end)

  it("writes interlaced files that are converted", function()
    local t = picture(4, 13, 11)
    local data = image.encode(t, "png", {progressive = true})
    assert.is_true(t["1:3"]:equal(image.decode(data, {mode = "rgb"})))
    assert.is_true(image.decode(image.encode(t, "png"), {mode = "gray"})
                   :equal(image.decode(data, {mode = "gray"})))
  end)

  it("writes lossless WebP files that come back", function()
    for _, channels in ipairs {3, 4} do
      local t = picture(channels, 13, 11)
      local data = image.encode(t, "webp", {lossless = true})
      assert.is_true(t:equal(image.decode(data)))
    end
    local t = picture(1, 13, 11)
    local back = image.decode(image.encode(t, "webp", {lossless = true}))
    assert.is_true(t:expand(3, 13, 11):equal(back))
  end)

  it("writes JPEG files that are near", function()
    local y = st.arange(40):view(1, 40, 1) * 3 + st.arange(30):view(1, 1, 30)
    local t = st.cat {y, y + 20, 255 - y}:to "uint8"
    for _, options in ipairs {{quality = 100, full_chroma = true},
                              {quality = 95, progressive = true},
                              {quality = 95}} do
      local data = image.encode(t, "jpeg", options)
      local far = distance(t, image.decode(data))
      assert.is_true(far <= (options.full_chroma and 4 or 40), far)
      local header = image.info(data)
      assert.equal("jpeg 3", header.format .. " " .. header.channels)
    end
    assert.is_true(#image.encode(t, "jpeg", {quality = 5}) <
                   #image.encode(t, "jpeg", {quality = 95}))
    local gray = image.decode(image.encode(t["1:1"], "jpeg"))
    assert.equal("1 40 30", shape(gray))
  end)

  it("refuses what no file can hold", function()
    local rgb = picture(3, 4, 4)
    local rows = {
      {"JPEG has no alpha: it takes 1 or 3 channels, got 4", picture(4, 4, 4),
       "jpeg"},
      {"JPEG has 8 bits per channel", rgb:to "int32", "jpeg"},
      {"WebP has 8 bits per channel", rgb:to "int32", "webp"},
      {"1 to 4 channels, or (H, W), got 3 dimensions and 5 channels",
       picture(5, 4, 4), "png"},
      {"got 4 dimensions", rgb:view(1, 3, 4, 4), "png"},
      {"image.encode: image must be (C, H, W) with 1 to 4 channels, or (H, " ..
       "W), got 1 dimension", rgb:reshape(-1), "png"},
      {"(t * 255):round():clamp(0, 255):to 'uint8'", rgb:to "float32", "png"},
      {"elements of int32 must be 0 to 65535, got -1", rgb:to "int32" * 0 - 1,
       "png"},
      {"must have 1 to 2^28 pixels", rgb:narrow(2, 1, 0), "png"},
      {"format must be 'png', 'jpeg' or 'webp', got 'gif'", rgb, "gif"},
      {"quality must be 1 to 100, got 0", rgb, "jpeg", {quality = 0}},
      {"compression must be 0 to 9, got 10", rgb, "png", {compression = 10}},
      {"there is no option 'speed'", rgb, "png", {speed = 1}},
      {"argument 't' must be a Tensor, got table", {}, "png"},
      {"the format must be", rgb, nil},
      {"at most 16383 pixels", st.zeros({1, 1, 16384}, {dtype = "uint8"}),
       "webp"},
      {"at most 65500 pixels", st.zeros({1, 1, 65501}, {dtype = "uint8"}),
       "jpeg"},
    }
    for _, row in ipairs(rows) do
      fails("image.encode: ", image.encode, row[2], row[3], row[4])
      fails(row[1], image.encode, row[2], row[3], row[4])
    end
  end)

  it("leaks nothing where memory ends", function()
    local t = picture(3, 5, 6):contiguous()
    for _, format in ipairs {"png", "jpeg", "webp"} do
      support.leaks_nothing(function() image.encode(t, format) end)
    end
    support.leaks_nothing(function() image.encode(t:to "int32", "png") end)
  end)
end)

describe("Files", function()
  local base
  before_each(function() base = os.tmpname() end)
  after_each(function() os.remove(base) end)

  it("are saved and loaded by their suffix", function()
    local t = picture(3, 5, 6)
    for _, suffix in ipairs {"png", "PNG", "webp", "jpg", "jpeg"} do
      local path = base .. "." .. suffix
      for _, module in ipairs {st, image} do
        module.save(path, t, suffix == "webp" and {lossless = true} or nil)
        local back = module.load(path)
        assert.equal("3 5 6", shape(back))
        if suffix:find "^[^j]" then assert.is_true(t:equal(back)) end
        assert.equal(6, image.info(path).width)
      end
      assert.equal("1 5 6", shape(st.load(path, {mode = "gray"})))
      os.remove(path)
    end
  end)

  it("are loaded by what they are, whatever their name", function()
    support.write(base, bytes "rgb.png")
    assert.equal("3 7 9", shape(image.load(base)))
    assert.equal("3 7 9", shape(st.load(base)))
    local path = base .. ".npy"
    support.write(path, bytes "rgb.png")
    fails("it is an image, not what its name says", st.load, path)
    assert.equal("3 7 9", shape(image.load(path)))
    os.remove(path)
  end)

  it("are named by failures", function()
    local path = base .. ".jpg"
    support.write(path, bytes("rgb420.jpg"):sub(1, -30))
    fails("cannot load '" .. path .. "': libjpeg: Premature end of JPEG file",
          st.load, path)
    fails("cannot load '" .. path .. "': libjpeg: Premature end of JPEG file",
          image.load, path)
    fails("there is no option 'qality'", st.save, path, picture(3, 2, 2),
          {qality = 3})
    fails("cannot save '" .. path .. "': image.encode: JPEG has no alpha",
          st.save, path, picture(4, 2, 2))
    os.remove(path)
    assert.is_nil(io.open(path))
    fails("must end in .png, .jpg, .jpeg or .webp", image.save, base .. ".gif",
          picture(3, 2, 2))
    fails("cannot load '" .. path .. "': No such file", image.info, path)
    support.write(base, "no picture")
    fails("cannot load '" .. base .. "': this is no PNG, JPEG or WebP image",
          image.load, base)
    fails("this is no PNG, JPEG or WebP image", image.info, base)
    support.write(base, "")
    fails("there are no bytes", image.info, base)
  end)

  it("tell what their header says, however large they are", function()
    support.write(base, bytes "rgb.png")
    local file = assert(io.open(base, "r+b"))
    file:seek("set", 3 * 2 ^ 30 - 1) -- a hole takes no room on the disk
    file:write "\0"
    file:close()
    assert.equal(9, image.info(base).width)
    fails("cannot load '" .. base .. "': it has 3221225472 bytes; a picture " ..
          "has at most 2147418112", st.load, base)
    os.remove(base)
  end)
end)
