--- Kinds of files that are not written here: what a suffix names, what the
-- first bytes look like, and what to do instead.
--
-- @module strided.io.kinds

local ipairs = ipairs

local kinds = {TEXT = "it looks like text"}

local PICTURE = "strided writes no images of this kind"
local TEXT = "write the numbers of t:totable() with Lua's io library"
local PYTHON = "Python reads .npy, .npz and .safetensors"
local OTHER = "strided has no writer for it"

-- suffixes, what they name, what to do instead of saving
local SUFFIXES = {}
for _, row in ipairs {
  {"png jpg jpeg gif bmp tif tiff webp ppm pgm ico", "an image", PICTURE},
  {"svg", "an image", "st.layout(t, {format = \"svg\"}) returns a drawing of "
    .. "t's memory"},
  {"txt json yaml yml xml html md", "text", TEXT},
  {"lua py", "source code", TEXT},
  {"ckpt", "a checkpoint of other programs", "PyTorch reads .pt"},
  {"pkl pickle joblib", "a pickle of Python", PYTHON},
  {"t7", "a file of torch7", "torch7 reads no file that is written here"},
  {"h5 hdf5 hdf", "an HDF5 file", PYTHON},
  {"mat", "a MATLAB file", PYTHON},
  {"gguf ggml", "a GGUF file", OTHER},
  {"onnx", "an ONNX file", OTHER},
  {"parquet arrow feather", "a table of Arrow or Parquet", PYTHON},
  {"zip", "a zip", "an .npz file is a zip of .npy files"},
  {"tar gz tgz bz2 xz zst 7z rar", "an archive",
    "an .npz file with {compress = true} is compressed"},
  {"wav mp3 flac ogg mp4 avi mkv", "sound or video", OTHER},
  {"pdf doc docx xls xlsx ods", "a document", OTHER},
} do
  for suffix in row[1]:gmatch "%w+" do SUFFIXES[suffix] = row end
end

--- What a suffix names.
-- @tparam ?string suffix in lower case
-- @treturn ?string "an image"; nil if the suffix is unknown
-- @treturn ?string what to do instead of saving such a file
function kinds.of_suffix(suffix)
  local row = SUFFIXES[suffix]
  if row then return row[2], row[3] end
end

-- the first bytes, as a pattern; what they are
local BEGINNINGS = {
  {"^\147NUMPY", "a .npy file"},
  {"^\137PNG", "a PNG image"}, {"^\255\216\255", "a JPEG image"},
  {"^GIF8", "a GIF image"}, {"^BM....%z%z", "a BMP image"},
  {"^RIFF....WEBP", "a WebP image"}, {"^RIFF....WAVE", "a WAV sound"},
  {"^%%PDF", "a PDF document"}, {"^\31\139", "a gzip archive"},
  {"^BZh", "a bzip2 archive"}, {"^\2537zXZ", "an xz archive"},
  {"^%(\181\47\253", "a zstd archive"}, {"^7z\188\175", "a 7z archive"},
  {"^Rar!", "a rar archive"}, {"^\137HDF", "an HDF5 file"},
  {"^MATLAB", "a MATLAB file"}, {"^GGUF", "a GGUF file"},
  {"^PAR1", "a Parquet file"}, {"^ARROW1", "an Arrow file"},
  {"^\127ELF", "an executable"}, {"^\128[\2-\5]", "a pickle of Python"},
  {"^PK\3\4", "a zip"}, {"^PK\5\6", "an empty zip"},
  {"^%s*<svg", "an SVG image"}, {"^%s*<", "HTML or XML"},
  {"^%s*[%[{]", "JSON or Lua text"},
}

--- True if a zip is a file of PyTorch: its first member is its pickle, or it is
-- named so.
function kinds.is_torch_zip(head, suffix)
  if not head:find "^PK\3\4" then return false end
  local n = #head >= 30 and head:byte(27) + 256 * head:byte(28) or 0
  return suffix == "pt" or head:sub(31, 30 + n):find "data%.pkl$" ~= nil
end

--- What a file seems to be, to follow "cannot load 'x': "; nil if unknown.
-- @tparam string head the first bytes of the file
function kinds.describe(head)
  if head == "" then return "it is empty" end
  for _, row in ipairs(BEGINNINGS) do
    if head:find(row[1]) then return "it looks like " .. row[2] end
  end
  if not head:find "[^%w%p%s]" then return kinds.TEXT end
end

return kinds
