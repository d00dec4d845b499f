--- Decoding and resizing beside Pillow, one thread each, in one run.
--
--     luajit bench/pillow.lua [PYTHON]    # in the folder of the rock
--
-- Both take turns, round by round, with the same files. The table shows the
-- fastest sample and the median, in milliseconds of the process's time, and the
-- ratio of the fastest ones: below 1 strided is faster.

local image = require "strided.image"
local st = require "strided"

local python = arg[1] or (os.getenv "HOME" or "") ..
  "/.cache/strided/bench-venv/bin/python"
local ROUNDS, SAMPLES = 5, 7

st.set_num_threads(1)

-- -- Cases -------------------------------------------------------------------

local base = os.tmpname()

--- Sixteen copies of the photo of the main rock's specs: 2048 x 1536.
local function photo()
  local path = arg[0]:gsub("[^/]*$", "") .. "../../../examples/data/raccoon.npy"
  local t = st.load(path):permute(3, 1, 2)
  local row = st.cat({t, t, t, t}, 3)
  return st.cat({row, row, row, row}, 2)
end

local function read(name)
  local file = assert(io.open(base .. name, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

local big = photo()
image.save(base .. ".png", big)
image.save(base .. ".jpg", big, {quality = 90})
image.save(base .. ".webp", big, {quality = 90})
local png, jpg, webp = read ".png", read ".jpg", read ".webp"
local picture = image.decode(png)
local gray = image.rgb_to_gray(picture)

-- name, what strided does, what Pillow does
local CASES = {
  {"decode PNG", function() return image.decode(png) end, "load('.png')"},
  {"decode JPEG", function() return image.decode(jpg) end, "load('.jpg')"},
  {"decode WebP", function() return image.decode(webp) end, "load('.webp')"},
  {"decode PNG, resize to 320 x 240", function()
    return image.resize(image.decode(png), {240, 320})
  end, "load('.png').resize((320, 240), Image.BILINEAR)"},
  {"decode JPEG, resize to 320 x 240", function()
    return image.resize(image.decode(jpg), {240, 320})
  end, "load('.jpg').resize((320, 240), Image.BILINEAR)"},
}
for _, size in ipairs {{320, 240}, {1024, 768}, {3000, 2000}} do
  for _, mode in ipairs {"bilinear", "bicubic", "lanczos"} do
    CASES[#CASES + 1] = {
      ("resize to %d x %d, %s"):format(size[1], size[2], mode),
      function() return image.resize(picture, {size[2], size[1]}, mode) end,
      ("big.resize((%d, %d), Image.%s)"):format(size[1], size[2],
                                                mode:upper()),
    }
  end
end
CASES[#CASES + 1] = {"resize gray to 320 x 240, bilinear", function()
  return image.resize(gray, {240, 320})
end, "gray.resize((320, 240), Image.BILINEAR)"}
CASES[#CASES + 1] = {"luma", function() return image.rgb_to_gray(picture) end,
                     "big.convert('L')"}

-- -- Measuring ---------------------------------------------------------------

local SCRIPT = [[
import io, sys, time
from PIL import Image
base = sys.argv[1]
files = {s: open(base + s, "rb").read() for s in (".png", ".jpg", ".webp")}
def load(suffix):
    im = Image.open(io.BytesIO(files[suffix]))
    im.load()
    return im
big = load(".png")
gray = big.convert("L")
case = lambda: %s
case()
for _ in range(%d):
    start = time.process_time()
    case()
    print("%%.9f" %% (time.process_time() - start))
]]

local function of_pillow(text, list)
  local path = base .. ".py"
  local file = assert(io.open(path, "w"))
  file:write(SCRIPT:format(text, SAMPLES))
  file:close()
  local pipe = assert(io.popen(python .. " " .. path .. " " .. base))
  for line in pipe:lines() do list[#list + 1] = tonumber(line) end
  pipe:close()
end

local function of_strided(fn, list)
  fn()
  for _ = 1, SAMPLES do
    local start = os.clock()
    fn()
    list[#list + 1] = os.clock() - start
  end
end

local function summary(list)
  table.sort(list)
  return list[1] * 1e3, list[math.floor(#list / 2) + 1] * 1e3
end

print(("%-36s %17s %17s %6s"):format("milliseconds: fastest, median",
                                     "strided", "Pillow", "ratio"))
for _, case in ipairs(CASES) do
  local ours, theirs = {}, {}
  for _ = 1, ROUNDS do
    of_strided(case[2], ours)
    of_pillow(case[3], theirs)
  end
  assert(theirs[1], "no Pillow in " .. python)
  local a, b = summary(ours)
  local c, d = summary(theirs)
  print(("%-36s %8.2f %8.2f %8.2f %8.2f %6.2f"):format(case[1], a, b, c, d,
                                                      a / c))
end
for _, suffix in ipairs {"", ".png", ".jpg", ".webp", ".py"} do
  os.remove(base .. suffix)
end
