--- A file's suffix and what the file is: st.save refuses the suffixes of other
-- formats, st.load says what a file looks like that is not what it is named.
-- axes: none

local files = require "spec.support.files"
local st = require "strided"
local tensors = require "spec.support.tensors"

local failure, raises, raises_here = tensors.failure, tensors.raises,
                                     tensors.raises_here

local x = st.tensor {1, 2, 3}

local function le16(n) return string.char(n % 256, math.floor(n / 256)) end

-- The first bytes of a zip whose first member has this name.
local function zip(name)
  return "PK\3\4" .. ("\0"):rep(22) .. le16(#name) .. "\0\0" .. name
end

describe("st.save", function()
  local base
  before_each(function() base = os.tmpname() end)
  after_each(function() os.remove(base) end)

  -- suffixes, what is said
  local rows = {
    {"gif bmp tiff ppm", "names an image, but st.save writes .npy, " ..
     ".npz, .safetensors, .pt and .csv; strided writes no images of this kind"},
    {"svg", "names an image, but st.save writes .npy, .npz, " ..
     ".safetensors, .pt and .csv; st.layout(t, {format = \"svg\"})"},
    {"txt json", "names text, but st.save writes .npy, .npz, " ..
     ".safetensors, .pt and .csv; write the numbers of t:totable() with " ..
     "Lua's io library"},
    {"ckpt", "names a checkpoint of other programs, but st.save writes " ..
     ".npy, .npz, .safetensors, .pt and .csv; PyTorch reads .pt"},
    {"pkl", "names a pickle of Python, but"},
    {"t7", "names a file of torch7, but"}, {"h5 hdf5", "an HDF5 file, but"},
    {"mat", "a MATLAB file, but"}, {"gguf", "a GGUF file, but"},
    {"parquet", "a table of Arrow or Parquet, but"},
    {"zip", "names a zip, but st.save writes .npy, .npz, .safetensors, " ..
     ".pt and .csv; an .npz file is a zip of .npy files"},
    {"gz", "names an archive, but"}, {"wav", "names sound or video, but"},
    {"pdf", "names a document, but"},
  }
  for _, row in ipairs(rows) do
    for suffix in row[1]:gmatch "%w+" do
      it("refuses ." .. suffix, function()
        local path = base .. "." .. suffix
        for _, value in ipairs {x, {a = x}} do
          raises_here({"save: '." .. suffix:lower() .. "' ", row[2]},
                      function() st.save(path, value) end)
        end
        assert.is_nil(io.open(path))
      end)
    end
  end

  it("writes a .npy file where there is no suffix or an unknown one",
     function()
    for _, suffix in ipairs {"", ".npy", ".NPY", ".weights", ".v2"} do
      local path = base .. suffix
      st.save(path, x)
      assert.equal("\147NUMPY", files.read(path):sub(1, 6))
      assert.is_true(st.load(path):equal(x))
      os.remove(path)
    end
  end)

  it("adds no suffix, which st.load says", function()
    st.save(base, x)
    raises("there is '" .. base .. "', and st.save adds no suffix", st.load,
           base .. ".npy")
    os.remove(base)
    local why = failure(st.load, base .. ".npy")
    assert.is_nil(why:find("adds no suffix", 1, true))
  end)

  it("says the order of its arguments", function()
    raises("save: the path must be a string, got Tensor; write " ..
           "st.save(path, t)", function() st.save(x, base) end)
    raises("save: a .npz file takes a table of names and tensors, not a " ..
           "Tensor: write {name = t}", st.save, base .. ".npz", x)
  end)
end)

describe("st.load", function()
  local base, path
  before_each(function() base = os.tmpname() end)
  after_each(function()
    os.remove(base)
    if path then os.remove(path) end
  end)

  local OTHER = "it is not a .npy file, and no .npz, .safetensors, .pt or "
    .. ".t7 file: "
  -- suffix, bytes, what is said
  local rows = {
    {".npy", "\137PNG\r\n\26\n\0\0\0\13IHDR",
     OTHER .. "it looks like a PNG image"},
    {".png", "\137PNG\r\n\26\n\0\0\0\13IHDR",
     OTHER .. "it looks like a PNG image"},
    {"", "\255\216\255\224\0\16JFIF", OTHER .. "it looks like a JPEG image"},
    {".npz", "\31\139\8\0\0\0", OTHER .. "it looks like a gzip archive"},
    {".h5", "\137HDF\r\n\26\n", OTHER .. "it looks like an HDF5 file"},
    {".gguf", "GGUF\3\0\0\0\1", OTHER .. "it looks like a GGUF file"},
    {".zst", "(\181\47\253\4", OTHER .. "it looks like a zstd archive"},
    {".safetensors", "<!DOCTYPE html>", OTHER .. "it looks like HTML or XML"},
    {".json", "{\"abcde\": {", OTHER .. "it looks like JSON or Lua text"},
    {".txt", "1,2,3\n4,5,6\n", OTHER .. "it looks like text"},
    {"", "", OTHER .. "it is empty"},
    {".pkl", "\128\4\149\1\0", OTHER .. "it looks like a pickle of Python"},
    {".pt", "\128\4\149\1\0", OTHER .. "it looks like a pickle of Python"},
    {".pt", zip "fake/data.pkl", "it has no directory: the file is truncated"},
    {"", zip "archive/data.pkl", "it has no directory: the file is truncated"},
    {".pth", "\128\2\138\10l\252\156F\249 j\168P\25.", "it is truncated"},
    {".t7", "\137PNG\r\n\26\n\0\0\0\13IHDR",
     OTHER .. "it looks like a PNG image"},
  }
  for i, row in ipairs(rows) do
    it("says what it found instead, row " .. i, function()
      path = base .. row[1]
      files.write(path, row[2])
      raises("load: cannot load '" .. path .. "': ", st.load, path)
      raises(row[3], st.load, path)
    end)
  end

  it("refuses a .npy file of another name", function()
    for _, suffix in ipairs {".pt", ".png", ".npz", ".safetensors"} do
      path = base .. ".npy"
      st.save(path, x)
      os.rename(path, base .. suffix)
      path = base .. suffix
      raises("it is a .npy file, not what its name says: rename it, or " ..
             "write st.load(path, {format = \"npy\"})", st.load, path)
      assert.is_true(st.load(path, {format = "npy"}):equal(x))
      os.remove(path)
    end
  end)

  it("refuses a zip of NumPy's that is named as one of PyTorch", function()
    path = base .. ".npz"
    st.save(path, {a = x})
    os.rename(path, base .. ".pt")
    path = base .. ".pt"
    raises("it is a zip without 'data.pkl', which torch.save writes", st.load,
           path)
    assert.is_true(st.load(path, {format = "npz"}).a:equal(x))
  end)

  it("refuses a zip of other files", function()
    path = base .. ".npz"
    st.save(path, {a = x})
    local bytes = files.read(path):gsub("a%.npy", "a.txt")
    files.write(path, bytes)
    raises("it is a zip without a .npy file; its first member is 'a.txt'",
           st.load, path)
  end)

  it("reads other names by their first bytes", function()
    path = base .. ".weights"
    st.save(path, x)
    assert.is_true(st.load(path):equal(x))
  end)
end)
