--- Images of bytes in other sizes: the bytes that PyTorch gives, in
-- spec/data/interpolate_bytes.jsonl.gz, of spec/vectors/interpolate_bytes.py.
-- axes: isa

local build = require "spec.support.build"
local reader = require "spec.conformance.reader"
local st = require "strided"
local tensors = require "spec.support.tensors"

local live, raises = tensors.live, tensors.raises

local PATH = build.root .. "/spec/data/interpolate_bytes.jsonl.gz"

--- Bytes that interpolate_bytes.py computes as well.
local function picture(shape, is_last)
  local n = shape[1] * shape[2] * shape[3] * shape[4]
  local i = st.arange(n)
  local bytes = i * i * 7 + i * 13 + i:div(3, {rounding_mode = "floor"}) * 29
  local t = (bytes % 256):to("uint8"):view(shape)
  return is_last and t:contiguous {memory_format = "channels_last"} or t
end

local function integers(list)
  local out = {}
  for i, x in ipairs(list) do out[i] = reader.integer(x) end
  return out
end

local function resized(x, row)
  return st.interpolate(x, {mode = row.mode, antialias = row.antialias,
    align_corners = row.align_corners,
    size = row.size and integers(row.size) or nil,
    scale_factor = row.scale_factor or nil})
end

describe("An image of bytes", function()
  local before = live()

  for row, _, i in reader.cases(PATH) do
    it(("is resized as in PyTorch: %s%s, row %d"):format(row.mode,
       row.antialias and " with antialiasing" or "", i), function()
      local shape = integers(row.shape)
      local x = picture(shape, row.is_last)
      local y = resized(x, row)
      assert.equal("uint8", y.dtype)
      assert.same(integers(row.result), y.shape)
      assert.same(integers(row.bytes), y:reshape(-1):totable())
      local format = row.is_last and "channels_last" or "contiguous_format"
      assert.is_true(y:is_contiguous {memory_format = format})
      -- of a view, and of each image alone
      local wide = st.zeros({shape[1], shape[2], shape[3], 2 * shape[4]},
                            {dtype = "uint8"})
      wide[{{}, {}, {}, {1, -1, 2}}] = x
      local view = wide:as_strided(shape, {wide:stride(1), wide:stride(2),
                                            wide:stride(3), 2})
      assert.is_true(resized(view, row):equal(y))
    end)
  end

  it("of one value stays so, and none is beyond its limits", function()
    for _, value in ipairs {0, 1, 128, 255} do
      for _, mode in ipairs {"bilinear", "bicubic"} do
        for _, antialias in ipairs {true, false} do
          local x = st.full({1, 1, 7, 5}, value, {dtype = "uint8"})
          local y = st.interpolate(x, {size = {4, 9}, mode = mode,
                                       antialias = antialias})
          assert.same({value, value}, {y:min():item(), y:max():item()})
        end
      end
    end
  end)

  -- PyTorch 2.15 gives one pixel in all rows there, of float images as well.
  it("of one column and many channels has its rows", function()
    local x = picture({1, 6, 4, 4})
    for _, antialias in ipairs {true, false} do
      local options = {size = {7, 1}, mode = "bilinear", antialias = antialias}
      local y = st.interpolate(x, options)
      assert.is_true((y:to "float64" - st.interpolate(x:to "float64", options))
                     :abs():max():item() < 1.5)
      for c = 1, 6 do
        assert.is_true(st.interpolate(x[{{}, {c, c}}], options)
                       :equal(y[{{}, {c, c}}]))
      end
    end
  end)

  it("may have no batch, and may be meta", function()
    local x = st.empty({0, 3, 4, 4}, {dtype = "uint8"})
    for _, antialias in ipairs {true, false} do
      local options = {size = {3, 5}, mode = "bilinear", antialias = antialias}
      assert.same({0, 3, 3, 5}, st.interpolate(x, options).shape)
      local y = st.interpolate(st.empty({2, 3, 4, 4}, {
        dtype = "uint8", device = "meta"}), options)
      assert.same({2, 3, 3, 5}, y.shape)
      assert.equal("uint8", y.dtype)
    end
  end)

  it("has two dimensions, and no other integers are resized so", function()
    local x = st.ones({1, 1, 4}, {dtype = "uint8"})
    raises({"upsample_linear1d", "uint8"}, st.upsample_linear1d, x, 3, false)
    raises({"upsample_trilinear3d", "uint8"}, st.upsample_trilinear3d,
           x:view(1, 1, 1, 2, 2), {2, 2, 2}, false)
    raises({"upsample_bilinear2d", "int8"}, st.upsample_bilinear2d,
           x:to("int8"):view(1, 1, 2, 2), {2, 3}, false)
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
