--- Other programs: ImageMagick and Pillow open what is written, with equal
-- pixels, and Pillow resizes the same. Specs whose program is missing are left
-- out.

local image = require "strided.image"
local st = require "strided"
local support = require "spec.image_support"

local distance, picture = support.distance, support.picture

local function output(command)
  local pipe = assert(io.popen(command .. " 2>&1", "r"))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

--- A Python that has Pillow: STRIDED_PYTHON, that of ./dev bench, or python3.
local function find_python()
  local home = os.getenv "HOME" or ""
  for _, python in ipairs {os.getenv "STRIDED_PYTHON" or "",
                           home .. "/.cache/strided/bench-venv/bin/python",
                           "python3"} do
    if python ~= "" and output("env -u LD_PRELOAD " .. python ..
        " -c 'import PIL; print(7 * 6)'"):find "^42\n" then
      return "env -u LD_PRELOAD " .. python
    end
  end
end

local function has_convert()
  local text = output "env -u LD_PRELOAD convert -version"
  return text:find "^Version: ImageMagick"
end

--- The photo of the main rock's specs, or gradients.
local function photo()
  local path = "../../examples/data/raccoon.npy"
  local file = io.open(path)
  if file then
    file:close()
    return st.load(path):permute(3, 1, 2)
  end
  local y, x = st.arange(384):view(1, 384, 1), st.arange(512):view(1, 1, 512)
  return st.cat {y * 0 + x, x * 0 + y, y + x}:remainder(256):to "uint8"
end

--- Whether a pixel's center lies between two pixels: either is the nearest.
local function is_even(from, to)
  for i = 0, to - 1 do
    if (2 * i + 1) * from % (2 * to) == 0 then return true end
  end
end

describe("Another program", function()
  local base, python = nil, find_python()
  before_each(function() base = os.tmpname() end)
  after_each(function() os.execute("rm -f '" .. base .. "'*") end)

  local function python_script(text)
    support.write(base .. ".py", text)
    local said = output(python .. " " .. base .. ".py " .. base)
    assert.equal("", said)
  end

  local function raw(name, ...)
    local text = support.read(base .. name)
    return st.frombuffer(text, {dtype = "uint8"}):view(...)
  end

  it("opens a photo that was resized and made gray", function()
    local path = base .. ".jpg"
    image.save(path, photo(), {quality = 95})
    local gray = image.rgb_to_gray(image.resize(image.load(path), {120, 160}))
    image.save(base .. ".png", gray)
    local programs = 0
    if has_convert() then
      output(("env -u LD_PRELOAD convert %s.png -depth 8 gray:%s.gray"):format(
        base, base))
      assert.is_true(gray:equal(raw(".gray", 1, 120, 160)))
      programs = programs + 1
    end
    if python then
      python_script [[
import sys
from PIL import Image
im = Image.open(sys.argv[1] + ".png")
assert im.mode == "L", im.mode
open(sys.argv[1] + ".raw", "wb").write(im.tobytes())
]]
      assert.is_true(gray:equal(raw(".raw", 1, 120, 160)))
      programs = programs + 1
    end
    if programs == 0 then pending "neither ImageMagick nor Pillow" end
  end)

  it("opens every kind of file", function()
    if not python then pending "no Pillow" end
    local want = {}
    for channels = 1, 4 do
      local t = picture(channels, 13, 11)
      want["png" .. channels] = t
      image.save(base .. ".png" .. channels .. ".png", t,
                 {progressive = channels % 2 == 0})
      if channels >= 3 then
        want["webp" .. channels] = t
        image.save(base .. ".webp" .. channels .. ".webp", t,
                   {lossless = true})
      end
      if channels % 2 == 1 then
        local path = base .. ".jpeg" .. channels .. ".jpg"
        image.save(path, t, {progressive = channels == 3})
        want["jpeg" .. channels] = image.load(path)
      end
    end
    python_script [[
import glob, sys
from PIL import Image
for path in glob.glob(sys.argv[1] + ".*.*"):
    open(path.rsplit(".", 1)[0] + ".raw", "wb").write(
        Image.open(path).tobytes())
]]
    for name, t in pairs(want) do
      local got = raw("." .. name .. ".raw", 13, 11, -1):permute(3, 1, 2)
      local far = distance(t, got)
      assert.is_true(far <= (name:find "jpeg" and 1 or 0), name)
    end
  end)

  it("reads 16 bits", function()
    if not python then pending "no Pillow" end
    local t = st.arange(99):view(1, 9, 11):to "int32" * 650
    image.save(base .. ".png", t)
    python_script [[
import sys
from PIL import Image
im = Image.open(sys.argv[1] + ".png")
assert im.mode == "I;16", im.mode
open(sys.argv[1] + ".raw", "wb").write(im.tobytes())
]]
    local got = raw(".raw", 99, 2):to "int32"
    assert.is_true(t:view(-1):equal(got[{{}, 1}] + got[{{}, 2}] * 256))
  end)

  it("turns a picture the same, by its EXIF", function()
    if not python then pending "no Pillow" end
    image.save(base .. ".png", picture(3, 5, 7))
    python_script [[
import sys
from PIL import Image, ImageOps
im = Image.open(sys.argv[1] + ".png")
for i in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = i
    name = "%s.%d" % (sys.argv[1], i)
    im.save(name + ".webp", lossless=True, exif=exif)
    turned = ImageOps.exif_transpose(Image.open(name + ".webp"))
    open(name, "wb").write(turned.tobytes())
]]
    for i = 1, 8 do
      local t = image.load(base .. "." .. i .. ".webp", {orientation = true})
      assert.is_true(raw("." .. i, t.shape[2], t.shape[3], 3)
                     :permute(3, 1, 2):equal(t), "orientation " .. i)
      assert.equal(i < 5 and 5 or 7, t.shape[2])
    end
  end)

  it("resizes the same, within 1", function()
    if not python then pending "no Pillow" end
    local t = image.resize(photo(), {150, 200})
    t["1:3, 1:40, 1:50"] = picture(3, 40, 50)
    image.save(base .. ".png", t)
    local sizes = {{37, 61}, {75, 100}, {150, 90}, {60, 200}, {301, 333},
                   {100, 160}, {150, 200}}
    local pairs_of = {}
    for i, size in ipairs(sizes) do
      pairs_of[i] = ("(%d, %d)"):format(size[2], size[1])
    end
    python_script(([[
import sys
from PIL import Image
im = Image.open(sys.argv[1] + ".png")
for i, size in enumerate([%s]):
    for name, mode in (("area", Image.BOX), ("bilinear", Image.BILINEAR),
                       ("bicubic", Image.BICUBIC),
                       ("lanczos", Image.LANCZOS),
                       ("nearest", Image.NEAREST)):
        open("%%s.%%s%%d" %% (sys.argv[1], name, i + 1), "wb").write(
            im.resize(size, mode).tobytes())
open(sys.argv[1] + ".gray", "wb").write(im.convert("L").tobytes())
open(sys.argv[1] + ".hsv", "wb").write(im.convert("HSV").tobytes())
open(sys.argv[1] + ".ycbcr", "wb").write(im.convert("YCbCr").tobytes())
]]):format(table.concat(pairs_of, ", ")))
    for i, size in ipairs(sizes) do
      for _, mode in ipairs {"area", "bilinear", "bicubic", "lanczos",
                             "nearest"} do
        local want = raw("." .. mode .. i, size[1], size[2], 3)
          :permute(3, 1, 2)
        if mode ~= "nearest" or not (is_even(150, size[1]) or
           is_even(200, size[2])) then
          local far = distance(want, image.resize(t, size, mode))
          assert.is_true(far <= (mode == "nearest" and 0 or 1), mode .. i)
        end
      end
    end
    assert.is_true(image.rgb_to_gray(t):equal(raw(".gray", 1, 150, 200)))
    assert.is_true(distance(raw(".ycbcr", 150, 200, 3):permute(3, 1, 2),
                            image.rgb_to_ycbcr(t)) <= 1)
    -- the hue is a circle
    local hsv = raw(".hsv", 150, 200, 3):permute(3, 1, 2)
    local off = (hsv:to "int32" - image.rgb_to_hsv(t):to "int32"):abs()
    assert.is_true(st.minimum(off, 255 - off):max():item() <= 1)
  end)
end)
