--- Loads and saves tensors and checkpoints: NumPy's .npy and .npz files,
-- .safetensors, PyTorch's .pt; loads torch7's .t7. Pictures, where the rock
-- strided-image is installed.
--
-- @module strided.io.file

local core = require "strided.core"
local csv = require "strided.io.csv"
local failure = require "strided.io.failure"
local image = require "strided.io.image"
local kinds = require "strided.io.kinds"
local meter = require "strided.io.meter"
local raise = require "strided.argument.caller_error"
local unknown_option = require "strided.option.unknown_option"

local error, format, next, pairs, pcall, tostring, type = error, string.format,
  next, pairs, pcall, tostring, type

local require = require "strided.core".require

-- -- Errors ------------------------------------------------------------------

local text_of = failure.refusal

--- A message may have names of a file that nobody trusts: control characters
-- become question marks, so that none reaches a terminal.
local function complain(name, path, why)
  why = why:gsub("%c", "?"):gsub("\194[\128-\159]", "?")
  raise("%s: cannot %s %s: %s", name, name, failure.quote(path), why)
end

--- What to add for a missing a.npy if there is a file a: NumPy adds the suffix.
local function note_bare(path)
  local bare = path:match "^(.+)%.np[yz]$"
  local source = bare and core.open_source(bare)
  if not source then return "" end
  source:close()
  return "; there is " .. failure.quote(bare) .. ", and st.save adds no suffix"
end

local function check_path(name, path)
  if type(path) ~= "string" then
    local kind = core.is_tensor(path) and "Tensor" or type(path)
    raise("%s: the path must be a string, got %s%s", name, kind,
          name == "save" and (kind == "Tensor" or kind == "table")
          and "; write st.save(path, t)" or "")
  end
  if path:find "%z" then raise("%s: the path has a NUL in it", name) end
end

local function check_options(name, options)
  if options ~= nil and type(options) ~= "table" then
    raise("%s: the options must be a table, got %s", name, type(options))
  end
  return options or {}
end

-- -- File formats ------------------------------------------------------------

local function read_npy(source, options)
  return require "strided.io.npy".read(source, options.mmap)
end

local function read_npz(source, options)
  return require "strided.io.npz".read(source, options)
end

local function read_safetensors(source, options)
  return require "strided.io.safetensors".read(source, options)
end

local function read_pt(source, options)
  return require "strided.io.pt".read(source, options)
end

local function read_csv(source, options)
  return csv.read(source, options)
end

local function read_tsv(source, options)
  return csv.read(source, options, "\t")
end

local function read_t7(source)
  return require "strided.io.t7".read(source)
end

-- by format: reader, options of the reader, name for messages
local READERS = {
  npy = {read_npy, {mmap = true}, "a .npy file"},
  npz = {read_npz, {names = true}, "a .npz file"},
  safetensors = {read_safetensors, {mmap = true, names = true},
                 "a .safetensors file"},
  pt = {read_pt, {mmap = true}, "a .pt file"},
  t7 = {read_t7, {}, "a .t7 file"},
  csv = {read_csv, csv.READ, "a .csv file"},
  tsv = {read_tsv, csv.READ, "a .tsv file"},
}

-- suffix -> format
local FORMATS = {pth = "pt", ckpt = "pt", tar = "pt", tab = "tsv",
                 png = "image", jpg = "image", jpeg = "image", webp = "image"}

local function extension(path)
  local name = path:match "%.(%w+)$"
  return name and name:lower()
end

--- The format that the first bytes of a file tell, or nil.
--
-- A .safetensors file begins with the length of its header, of at most 100 MB,
-- and the header's `{`. Any four bytes may begin that length, also those of a
-- zip. The next four are 0, which no .npy file has there. In a zip the byte of
-- the `{` would be a method of compression that no .npz file has. So a file
-- that fits both is a .safetensors file, unless its extension says .npz. Eight
-- characters of text are no length. A .t7 file begins with a small integer, as
-- others may; so its extension must say what it is.
local function detect(head, suffix)
  if suffix == "t7" and require "strided.io.t7".is_t7(head) then return "t7" end
  if head:find "^....%z%z%z%z{" then
    local is_zip = head:find "^PK\3\4" or head:find "^PK\5\6"
    return is_zip and suffix == "npz" and "npz" or "safetensors"
  end
  if head:find "^\147NUMPY" then return "npy" end
  if head:find "^PK[\3\5]" then
    return kinds.is_torch_zip(head, suffix) and "pt" or "npz"
  end
  if require "strided.io.pt".is_pt(head) then return "pt" end
  if head:find "^........{" and head:sub(1, 8):find "[^%w%p%s]" then
    return "safetensors"
  end
  if image.is_image(head) then return "image" end
end

local HEAD = 512 -- bytes, to tell what a file is
local NOT_OURS = "it is not a .npy file, and no .npz, .safetensors, .pt or "
  .. ".t7 file"

--- The format of a file, or nil and an error message. A suffix that names
-- another format than the file has is an error.
local function format_of(path, head)
  local suffix = extension(path)
  suffix = FORMATS[suffix] or suffix
  local found = detect(head, suffix)
  local what = found ~= "npy" and kinds.describe(head)
  if found == "image" then
    local rock, why = image.rock()
    if not rock then return nil, NOT_OURS .. ": " .. what .. "; " .. why end
  end
  if found and found ~= suffix and
     (READERS[suffix] or suffix == "image" or kinds.of_suffix(suffix)) then
    return nil, format("it is %s, not what its name says: rename it, or write "
                       .. "st.load(path, {format = %q})",
                       found == "image" and "an image" or READERS[found][3],
                       found)
  end
  if found then return found end
  if READERS[suffix] and (not what or what == kinds.TEXT) then return suffix end
  if what == kinds.TEXT then
    what = what .. ", which st.read_csv reads if it is a table"
  end
  return nil, NOT_OURS .. (what and ": " .. what or "")
end

--- The reader of the format that the options name or that the file has.
local function choose(path, source, wanted)
  if wanted == "image" then return image.reader() end
  if wanted ~= nil then
    if READERS[wanted] then return READERS[wanted] end
    return nil, format("option 'format' must be \"npy\", \"npz\", "
                       .. "\"safetensors\", \"pt\", \"t7\", \"csv\", "
                       .. "\"tsv\" or \"image\", got %s",
                       type(wanted) == "string" and format("%q", wanted)
                       or type(wanted))
  end
  local size = source:size()
  local head, why = source:read(0, size < HEAD and size or HEAD)
  if not head then return nil, why end
  local found
  found, why = format_of(path, head)
  if found == "image" then return image.reader() end
  if found then return READERS[found] end
  return nil, why
end

local MODES = {[true] = "r", r = "r", c = "r", ["r+"] = "r+"}

--- The options in the form that readers take, or nil and an error message.
local function translate(options, reader)
  local known = {}
  for name, value in pairs(options) do
    if name ~= "format" then
      if not reader[2][name] then
        local all = {format = true}
        for option in pairs(reader[2]) do all[option] = true end
        unknown_option(reader[3], name, all)
      end
      known[name] = value
    end
  end
  local mode = known.mmap
  if mode then
    known.mmap = MODES[mode]
    if not known.mmap then
      return nil, "option 'mmap' must be true, \"r\", \"c\", \"r+\" or "
        .. "false"
    end
  end
  return known
end

local function read(path, source, options)
  local reader, known, why
  reader, why = choose(path, source, options.format)
  if not reader then return nil, why end
  known, why = translate(options, reader)
  if not known then return nil, why end
  return reader[1](source, known)
end

-- -- Saving ------------------------------------------------------------------

local function write_npy(file, value)
  return require "strided.io.npy".write(file, value)
end

local function write_npz(file, value, options)
  return require "strided.io.npz".write(file, value, options)
end

local function write_safetensors(file, value, options)
  return require "strided.io.safetensors".write(file, value, options)
end

local function write_csv(file, value, options)
  return csv.write(file, value, options)
end

local function write_tsv(file, value, options)
  return csv.write(file, value, options, "\t")
end

local function write_pt(file, value)
  return require "strided.io.pt.writer".write(file, value)
end

-- by extension: writer, what it takes, options, name for messages
local WRITERS = {
  npz = {write_npz, "names and tensors", {compress = true}, "a .npz file"},
  safetensors = {write_safetensors, "a table", {metadata = true},
                 "a .safetensors file"},
  pt = {write_pt, "a tensor or table", {}, "a .pt file"},
  csv = {write_csv, "a tensor or table", csv.WRITE, "a .csv file"},
  tsv = {write_tsv, "a tensor or table", csv.WRITE, "a .tsv file"},
}
WRITERS.pth, WRITERS.tab = WRITERS.pt, WRITERS.tsv
local PLAIN = {write_npy, "a tensor", {}, "a .npy file"}

--- Returns an error unless a value is a table of names and tensors.
local function check_names(value)
  for name, t in next, value do
    if type(name) ~= "string" then
      raise("save: the names of tensors must be strings, got %s; write "
            .. "{name = t}", tostring(name))
    end
    if not core.is_tensor(t) then
      raise("save: '%s' must be a Tensor, got %s%s", name, type(t),
            type(t) == "table" and "; .safetensors and .pt files have tables "
            .. "in tables" or "")
    end
  end
end

local function check_value(writer, value)
  local kind, is_tensor = type(value), core.is_tensor(value)
  if kind == "table" and type(value.state_dict) == "function" then
    raise("save: the value must be tensors, got a module; write st.save(path, "
          .. "module:state_dict())")
  end
  if writer[2] == "a tensor" then
    if is_tensor then return end
    if kind == "table" then
      raise("save: tables of tensors go into files named .npz, .safetensors "
            .. "or .pt")
    end
    raise("save: argument 't' must be a Tensor, got %s", kind)
  end
  if is_tensor and writer[2] == "a tensor or table" then return end
  if kind ~= "table" then
    raise("save: %s takes %s, not a %s%s", writer[4],
          writer[2] == "names and tensors" and "a table of names and tensors"
          or writer[2], is_tensor and "Tensor" or kind,
          is_tensor and ": write {name = t}" or "")
  end
  if writer[2] == "names and tensors" then check_names(value) end
end

--- The writer that a path names. A suffix of another format is an error, any
-- other suffix names a .npy file.
local function writer_of(name, path)
  local suffix = extension(path)
  local what, advice = kinds.of_suffix(suffix)
  if image.suffixes[suffix or ""] then
    local writer, why = image.writer(suffix)
    if writer then return writer end
    advice = why
  end
  if what then
    raise("%s: '.%s' names %s, but st.save writes .npy, .npz, .safetensors, "
          .. ".pt and .csv; %s", name, suffix, what, advice)
  end
  return WRITERS[suffix or ""] or PLAIN
end

local function write(file, writer, value, options)
  local done, why = writer[1](file, value, options)
  if not done then return nil, why end
  return file:commit()
end

--- Replaces a file by what a writer, called by write, writes.
local function replace(name, path, writer, value, options)
  local temporary, why = core.open_aside(path)
  if not temporary then complain(name, path, why) end
  local ok, done, reason = pcall(write, temporary, writer, value, options)
  temporary:abort()
  if not ok then done, reason = nil, text_of(done) end
  if not done then complain(name, path, reason) end
end

local function reserve_npy(file, value)
  return require "strided.io.npy".reserve(file, value)
end

--- A tensor on the meta device, which has a shape and a dtype.
local function outline(shape, options)
  local st = require "strided"
  local ok, t = core.try(st.empty, shape,
                      {dtype = options.dtype, device = "meta"})
  if ok then return t end
  raise("%s", (text_of(t):gsub("^empty", "create", 1)))
end

-- -- The module --------------------------------------------------------------

local file = {}

--- Loads tensors from a file. Its first bytes determine the format, and where
-- they do not, the extension of the path. If the extension names another format
-- (.npy, .npz, .safetensors, .pt, .t7, .csv, .png, or one that is not read
-- here, as .gif is), that is an error which says what the file looks like. The
-- option `format`, "npy", "npz", "safetensors", "pt", "t7", "csv", "tsv" or
-- "image", determines the format instead.
--
-- * `.npy`: a tensor. Format versions 1 to 3, either byte order. Fortran order
--   becomes strides, without a copy.
-- * `.npz`: a table of names and tensors. Members are stored or deflated; the
--   CRC of each is verified. Members that are not .npy files are skipped.
-- * `.safetensors`: a table of names and tensors, or the tables that st.save
--   wrote; and a table of the file's metadata. The file is mapped, unless
--   `mmap` is false.
-- * `.pt`, `.pth`: what torch.save of PyTorch wrote, in each of its formats,
--   since PyTorch 0.1, also what weights_only reads: tensors, also those that
--   share elements or are parameters, without their attributes; dictionaries,
--   counters among them; lists, tuples and shapes, as lists; sets, as keys with
--   the value true; numbers, strings, booleans; dtypes, layouts and devices, as
--   their names; scalars and arrays of NumPy. None in a list is st.none; a key
--   with None is left out. Integers beyond 2^53 are those of st.int. Sparse,
--   quantized and nested tensors are an error. Nothing in the file is executed:
--   objects of other classes, such as whole modules, and all calls that make
--   none of these values are an error that names them. So is a file that would
--   make much more than its size.
-- * `.t7`: what torch.save of torch7 wrote, binary or ASCII: numbers, strings,
--   booleans, tables, tensors and storages. An object of another class is a
--   table of its fields, with the name of the class in `__typename`. Functions
--   are an error.
-- * `.png`, `.jpg`, `.jpeg`, `.webp`: the pixels, (C, H, W) of uint8, where the
--   rock strided-image is installed; the options are those of image.decode.
-- * `.csv`, `.tsv`: a tensor if all columns are numbers and have no names, else
--   a table of columns: st.read_csv, with its options and `as = "auto"`.
--
-- `mmap` maps the elements into memory instead of reading them: a file of any
-- size is loaded at once, and what is used of it is read then. `true`, `"r"` or
-- `"c"` map them privately: writing to the tensor changes only this process's
-- memory. `"r+"` writes through to the file. Views share the mapping, and the
-- last tensor on it releases it; no file stays open. `st.chunks` goes through a
-- file larger than memory. Bytes of bool are read at once, to check that they
-- are 0 or 1. Elements that are not aligned in the file are read instead with
-- `"r"`, and are an error with `"r+"`; elements in the other byte order are an
-- error. In .pt files of the zip format, storages that are deflated or not
-- aligned are read, and `"r+"` is an error. A file may be replaced or deleted
-- while it is mapped. If it is truncated, a call that reads the missing part
-- raises an error, and the missing part is zeros from then on. With
-- `"r+"`, and for `st.create`, every later call with the tensor raises one,
-- too, since nothing more is written to the file. On several threads the first
-- call to return raises the error, which may have other tensors. For that the
-- first mapping installs a handler for SIGBUS, which leaves faults elsewhere to
-- the one before.
--
-- Raises an error if the file is malformed or truncated, or if its header
-- claims more bytes than the file has; that is checked before memory is
-- allocated for the elements.
-- @tparam string path
-- @tparam[opt] table options `format`; `mmap`; `names`, a list of the tensors
-- to load (.npz, .safetensors): the other tensors may then have unsupported
-- dtypes; `progress`, true or what to write before a line on the terminal that
-- shows how much of the tensors is read
-- @return a tensor, or a table of tensors; of .pt and .t7 files any value
function file.load(path, options)
  check_path("load", path)
  local show
  options, show = meter.of("load", check_options("load", options))
  local source, why = core.open_source(path)
  if not source then complain("load", path, why .. note_bare(path)) end
  if options.mmap == "r+" then -- this mode alone needs write access
    source:close()
    source, why = core.open_source(path, true)
    if not source then complain("load", path, why) end
  end
  show(source:size())
  local ok, value, extra = pcall(read, path, source, options)
  show(nil, ok and value ~= nil)
  source:close()
  if not ok then value, extra = nil, text_of(value) end
  if value == nil then complain("load", path, extra) end
  if extra == nil then return value end -- not followed by a nil
  return value, extra
end

--- Saves tensors to a file. The extension of the path determines the format. A
-- path without an extension, or with one that names no format that is known, is
-- a .npy file; an extension of another format, such as .gif or .json, is an
-- error that says what to do.
--
-- * `.npy`: a tensor, in Fortran order if that is its memory layout, else in C
--   order. All dtypes but bfloat16.
-- * `.npz`: a table of names and tensors; `{compress = true}` deflates them.
-- * `.safetensors`: a table of names and tensors, or any table of values (see
--   below), described in the metadata as strided.io.tree says. `{metadata =
--   {...}}`, a table of strings, is saved with them. All dtypes but complex128.
-- * `.pt`, `.pth`: a tensor or a table of values, which torch.load of PyTorch
--   reads, also with weights_only. Tensors that share memory share it again.
-- * `.png`, `.jpg`, `.jpeg`, `.webp`: a picture, (C, H, W) of uint8, where the
--   rock strided-image is installed; the options are those of image.encode.
-- * `.csv`, `.tsv`: a tensor of one dimension or two, or a table of columns:
--   st.write_csv, with its options.
--
-- Values are tensors, numbers, strings, booleans, the integers of st.int,
-- complex numbers, st.none, and tables whose keys are strings, numbers or
-- booleans, up to 200 deep. A tensor that occurs twice is stored once. Other
-- values, and tables that contain themselves, are an error that names their
-- place:
--
--     st.save("net.safetensors", {epoch = 3, net = net:state_dict(),
--                                 opt = opt:state_dict(), loss = {1.5, 1.2}})
--
-- The file is replaced atomically when all bytes are on the disk: a full disk,
-- an error or a killed process leaves the old file unchanged. The new file has
-- the mode of the old one. A process that is killed leaves a temporary file
-- `PATH.strided-*.tmp`, which the next save into the folder from the same host
-- deletes.
-- @tparam string path
-- @param value a tensor, or a table
-- @tparam[opt] table options those of the format; `progress`, as for st.load
function file.save(path, value, options)
  check_path("save", path)
  local show
  options, show = meter.of("save", check_options("save", options))
  local writer = writer_of("save", path)
  check_value(writer, value)
  for name in pairs(options) do
    if not writer[3][name] then
      unknown_option("save: " .. writer[4], name, writer[3])
    end
  end
  show(meter.size(value))
  local ok, why = pcall(replace, "save", path, writer, value, options)
  show(nil, ok)
  if not ok then error(why, 0) end
end

--- Creates a .npy file of zeros and maps it to write: what is written to the
-- tensor is written to the file. So results may be larger than memory:
--
--     local y = st.create("y.npy", x.shape, {dtype = "float32"})
--     for from, to in st.chunks({x, y}) do st.mul(from, 2, {out = to}) end
--
-- The disk has room for all elements afterwards, or the call is an error; a
-- file that was at the path is then unchanged, otherwise it is replaced, and
-- tensors that map it keep the old one. Other programs see what is written at
-- once. The system writes it to the disk in its own time. The last tensor on
-- the file closes it.
-- @tparam string path of a .npy file
-- @tparam table shape
-- @tparam[opt] table options `dtype`
-- @treturn Tensor
function file.create(path, shape, options)
  check_path("create", path)
  options = check_options("create", options)
  for name in pairs(options) do
    if name ~= "dtype" then unknown_option("create", name, {dtype = true}) end
  end
  if writer_of("create", path) ~= PLAIN then
    raise("create: the file is a .npy file, and %s names another format",
          failure.quote(path))
  end
  if core.is_tensor(shape) or type(shape) ~= "table" then
    raise("create: argument 'shape' must be a list of sizes, got %s",
          core.is_tensor(shape) and "a Tensor" or type(shape))
  end
  replace("create", path, {reserve_npy}, outline(shape, options))
  return file.load(path, {mmap = "r+", format = "npy"})
end

return file
