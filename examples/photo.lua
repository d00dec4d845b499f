--- The demo: processes a photo in every layer of the engine.
--
--     ./dev demo [FOLDER]
--
-- Loads an HWC uint8 image, views it as NCHW, converts between memory formats,
-- normalizes by broadcasting, runs an operator defined here in Lua, reduces,
-- and writes a .npy file and two images into FOLDER, if one is given. Each step
-- prints the bytes that it moved and the iterator's plan.

local st = require "strided"

local format, concat = string.format, table.concat

local here = arg and arg[0] and arg[0]:match "^(.*)/[^/]*$" or "."
local source = here .. "/data/raccoon.npy"
local folder = arg and arg[1] -- or nil

if folder and folder:find "^%-" then
  io.write [[
usage: ./dev demo [FOLDER]

Processes a photo in every layer of the engine, prints what each step does, and
writes luma.npy, luma.pgm and normalised.ppm into FOLDER, if one is given.
]]
  os.exit((folder == "-h" or folder == "--help") and 0 or 2)
end

-- -- Output ------------------------------------------------------------------

local function list(t)
  local out = {}
  for i = 1, #t do out[i] = format("%.14g", t[i]) end
  return "{" .. concat(out, ", ") .. "}"
end

local FORMATS = {"contiguous_format", "channels_last"}

local function flags(t)
  local out = {}
  for _, name in ipairs(FORMATS) do
    if t:is_contiguous {memory_format = name} then out[#out + 1] = name end
  end
  return #out > 0 and concat(out, " and ") or "neither format"
end

local step_number = 0

local function step(text, ...)
  step_number = step_number + 1
  print(format("\n%d. " .. text, step_number, ...))
end

local function show(name, t)
  print(format("   %-8s %-8s shape %-17s strides %-20s %s", name,
               tostring(t.dtype), list(t.shape), list(t:stride()), flags(t)))
end

local function bytes(t) return t:numel() * t:element_size() end

local LOOPS = {
  vector = "vector",
  scalar = "vector, one operand spread over a block",
  strided = "strided",
  tiled = "strided, transposed tile by tile",
}

--- Prints the iterator's plan for `outputs <- inputs`, which a copy or an
-- elementwise operator builds for these operands.
local function show_plan(outputs, inputs, is_reduction)
  local plan = st.iterator {
    outputs = outputs, inputs = inputs, resize_outputs = false,
    check_all_same_dtype = false, is_reduction = is_reduction,
  }
  local strides = {}
  for i = 1, #plan.strides do strides[i] = list(plan.strides[i]) end
  print(format("   iterated as: %s, shape %s%s, byte strides %s",
               plan.perm and "permutation " .. list(plan.perm)
               or "fast set-up (" .. plan.fast .. ")",
               list(plan.shape), plan.is_coalesced and " (coalesced)" or "",
               concat(strides, " <- ")))
  print("   inner loop: " .. (plan.is_tiled_copy and LOOPS.tiled
                              or LOOPS[plan.inner]))
end

local function show_moved(n)
  print(format("   bytes moved: %d", n))
end

-- -- Images ------------------------------------------------------------------

--- Writes an HW (grey) or HWC (RGB) uint8 tensor as PGM or PPM.
local function write_picture(path, t)
  local h, w = t.shape[1], t.shape[2]
  local file = assert(io.open(path, "wb"))
  file:write(format("%s\n%d %d\n255\n", t.ndim == 2 and "P5" or "P6", w, h))
  file:write(t:contiguous():tostring_bytes())
  assert(file:close())
  print(format("   wrote %s (%d x %d)", path, w, h))
end

--- Scales [lo, hi] to [0, 255], as bytes.
local function to_bytes(t, lo, hi)
  return ((t - lo) * (255 / (hi - lo))):clamp(0, 255):to "uint8"
end

-- -- Main --------------------------------------------------------------------

local start = os.clock()

step("Load a photo: rows x columns x RGB, one byte each")
local photo = st.load(source)
show("photo", photo)

step("Look at it as N x C x H x W: a permuted view, nothing moves")
local nchw = photo:permute(3, 1, 2):unsqueeze(1)
show("nchw", nchw)
print("   same bytes: " .. tostring(nchw:data_ptr() == photo:data_ptr()))
show_moved(0)

step("contiguous{memory_format = \"channels_last\"}: it already is")
local last = nchw:contiguous {memory_format = "channels_last"}
show("last", last)
print("   same bytes: " .. tostring(last:data_ptr() == photo:data_ptr()))
show_moved(0)

step("To planes and back: now the bytes do move")
local planes = nchw:contiguous()
show("planes", planes)
show_plan({planes}, {nchw})
show_moved(bytes(planes))
local back = planes:contiguous {memory_format = "channels_last"}
show("back", back)
show_plan({back}, {planes})
show_moved(bytes(back))
print("   equal to the photo: " .. tostring(back:equal(nchw)))

step("Convert to float32: the layout is kept")
local x = back:to "float32"
show("x", x)
show_plan({x}, {back})
show_moved(bytes(back) + bytes(x))

step("Normalise each channel by broadcasting (N, C, H, W) with (1, C, 1, 1)")
local mean = x:mean {dim = {1, 3, 4}, keepdim = true}
local centred = x - mean
local std = (centred * centred):mean {dim = {1, 3, 4}, keepdim = true}:sqrt()
local norm = centred / std
show("mean", mean)
show("norm", norm)
show_plan({norm}, {centred, std})
show_moved(bytes(x) + bytes(norm))
print("   mean of the channels: " .. list(mean:flatten():totable()))
print("   deviation:            " .. list(std:flatten():totable()))

step("Define photo::luma in Lua: five operators that run as one loop")
-- Weights of ITU-R BT.709: Y = 0.2126 R + 0.7152 G + 0.0722 B.
local lib = st.library "photo"
lib:elementwise("luma(Tensor r, Tensor g, Tensor b) -> Tensor",
                "0.2126 * r + 0.7152 * g + 0.0722 * b")
local r, g, b = x:select(2, 1), x:select(2, 2), x:select(2, 3)
local luma = st.ops.photo.luma(r, g, b)
print("   " .. st.ops.photo.luma:schema())
show("red", r)
show("luma", luma)
show_plan({luma}, {r, g, b})
show_moved(bytes(x) + bytes(luma))
print("   equal to what the calls give one by one: " ..
      tostring(luma:equal(0.2126 * r + 0.7152 * g + 0.0722 * b)))

step("Reduce")
local lo, hi = norm:amin():item(), norm:amax():item()
print(format("   luma: mean %.4f, from %.4f to %.4f", luma:mean():item(),
             luma:amin():item(), luma:amax():item()))
local rows = luma:mean {dim = {1, 3}}
local bright = rows:argmax():item()
print(format("   brightest row: %d, mean %.4f", bright, rows[bright]))
print "   as an iterator sees it, reduced dimensions have stride 0:"
show_plan({st.empty(1, 384, 1)}, {luma}, true)

if folder then
  step("Write the results")
  st.save(folder .. "/luma.npy", luma)
  print("   wrote " .. folder .. "/luma.npy, read back equal: "
        .. tostring(st.load(folder .. "/luma.npy"):equal(luma)))
  write_picture(folder .. "/luma.pgm", to_bytes(luma[1], 0, 255))
  write_picture(folder .. "/normalised.ppm",
                to_bytes(norm[1]:permute(2, 3, 1), lo, hi))
end

print(format("\nDone: %.2f s of CPU time, %d threads, %s kernels.",
             os.clock() - start, st.get_num_threads(), st.config().isa))
