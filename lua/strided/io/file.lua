--- Tensors in files: NumPy's .npy and .npz, and .safetensors.
--
-- @module strided.io.file

local core = require "strided.core"

local error, format, ipairs, next, pairs, pcall, require, tostring, type =
  error, string.format, ipairs, next, pairs, pcall, require, tostring, type

-- -- Failing -----------------------------------------------------------------

--- The text of an error without the place that was put before it.
local function text_of(failure)
  return (tostring(failure):gsub("^[^\n]-:%d+: ", ""))
end

local function complain(name, path, why)
  error(format("%s: cannot %s '%s': %s", name, name, path, why), 3)
end

local function check_path(name, path)
  if type(path) ~= "string" then
    error(format("%s: the path must be a string, not a %s", name, type(path)),
          3)
  end
  if path:find "%z" then
    error(format("%s: the path has a NUL in it", name), 3)
  end
end

local function check_options(name, options)
  if options ~= nil and type(options) ~= "table" then
    error(format("%s: options must be a table, got %s", name, type(options)),
          3)
  end
  return options or {}
end

-- -- Kinds of files ----------------------------------------------------------

local function read_npy(source, options)
  return require "strided.io.npy".read(source, options.mmap)
end

local function read_npz(source, options)
  return require "strided.io.npz".read(source, options)
end

local function read_safetensors(source, options)
  return require "strided.io.safetensors".read(source, options)
end

-- what a file of a kind starts with, how it is read, options that it takes
local READERS = {
  {"^\147NUMPY", read_npy, {mmap = true}, "a .npy file"},
  {"^PK[\3\5]", read_npz, {names = true}, "a .npz file"},
  {"^........{", read_safetensors, {mmap = true, names = true},
   "a .safetensors file"},
}

local BY_NAME = {npy = 1, npz = 2, safetensors = 3}

local function extension(path)
  local name = path:match "%.(%w+)$"
  return name and name:lower()
end

--- How a file is read: what it starts with decides, then its name.
local function choose(path, source)
  local size = source:size()
  local head, why = source:read(0, size < 9 and size or 9)
  if not head then return nil, why end
  for _, reader in ipairs(READERS) do
    if head:find(reader[1]) then return reader end
  end
  local kind = BY_NAME[extension(path) or ""]
  if kind then return READERS[kind] end
  return nil, "it is not a .npy file, and no .npz or .safetensors file"
end

local MODES = {r = "r", c = "r", ["r+"] = "r+"}

--- The options as readers take them, or nil and why not.
local function translate(options, reader)
  local known = {}
  for name, value in pairs(options) do
    if not reader[3][name] then
      return nil, format("%s has no option '%s'", reader[4], tostring(name))
    end
    known[name] = value
  end
  local mode = known.mmap
  if mode then
    known.mmap = MODES[mode]
    if not known.mmap then
      return nil, "option 'mmap' must be \"r\", \"c\", \"r+\" or false"
    end
  end
  return known
end

local function read(path, source, options)
  local reader, known, why
  reader, why = choose(path, source)
  if not reader then return nil, why end
  known, why = translate(options, reader)
  if not known then return nil, why end
  return reader[2](source, known)
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

-- by extension: how it is written, whether from a table, options it takes
local WRITERS = {
  npz = {write_npz, true, {compress = true}, "a .npz file"},
  safetensors = {write_safetensors, true, {metadata = true},
                 "a .safetensors file"},
}
local PLAIN = {write_npy, false, {}, "a .npy file"}

local function check_value(writer, value)
  if not writer[2] then
    if core.is_tensor(value) then return end
    error(type(value) == "table" and
          "save: tables of tensors go into files named .npz or .safetensors"
          or "save: argument 't' must be a Tensor, got " .. type(value), 3)
  end
  if type(value) ~= "table" then
    error(format("save: %s takes a table of names and tensors, not a %s",
                 writer[4], core.is_tensor(value) and "Tensor" or
                 type(value)), 3)
  end
  for name, t in next, value do
    if type(name) ~= "string" then
      error("save: the names of tensors must be strings, got "
            .. tostring(name), 3)
    end
    if not core.is_tensor(t) then
      error(format("save: '%s' must be a Tensor, got %s", name, type(t)), 3)
    end
  end
end

local function write(file, writer, value, options)
  local done, why = writer[1](file, value, options)
  if not done then return nil, why end
  return file:commit()
end

-- -- The module --------------------------------------------------------------

local file = {}

--- Reads tensors from a file. What it starts with says of which kind it is.
--
-- * `.npy`: a tensor. Versions 1 to 3, either byte order; Fortran order
--   becomes strides, without a copy.
-- * `.npz`: a table of names and tensors. Stored or deflated members, each
--   checked against its CRC; what is no .npy in it is passed over.
-- * `.safetensors`: a table of names and tensors, and a table of the file's
--   metadata. Mapped, unless `mmap` is false.
--
-- With `mmap` the elements stay in the file, which is read as they are used:
-- `"r"` (or `"c"`) maps it privately, so that writing to the tensor changes
-- this process's memory alone; `"r+"` writes through to the file. The mapping
-- goes with the last tensor on it. Elements that are not aligned in the file
-- are read instead (`"r"`) or refused (`"r+"`); those in the other byte order
-- are refused. A file may be replaced or deleted while it is mapped, but
-- whoever cuts it short ends the process when it touches what is gone.
--
-- Whatever is malformed, truncated or claims more than is there is refused
-- before memory is allocated for it.
-- @tparam string path
-- @tparam[opt] table options `mmap`; `names`, a list of those to read (.npz,
-- .safetensors), beside which others may have dtypes that do not exist here
-- @return a tensor, or a table of tensors
function file.load(path, options)
  check_path("load", path)
  options = check_options("load", options)
  local source, why = core.open_source(path)
  if not source then complain("load", path, why) end
  if options.mmap == "r+" then -- only then need it be writable
    source:close()
    source, why = core.open_source(path, true)
    if not source then complain("load", path, why) end
  end
  local ok, value, extra = pcall(read, path, source, options)
  source:close()
  if not ok then value, extra = nil, text_of(value) end
  if value == nil then complain("load", path, extra) end
  if extra == nil then return value end -- and no nil behind it
  return value, extra
end

--- Writes tensors to a file: of the kind that its name ends in, or else .npy.
--
-- * `.npy`: a tensor, in C order, or in Fortran order when that is how it
--   lies in memory. Every dtype but bfloat16.
-- * `.npz`: a table of names and tensors, `{compress = true}` deflates them.
-- * `.safetensors`: a table of names and tensors; `{metadata = {...}}`, a
--   table of strings, goes with them. Every dtype but complex128.
--
-- The file is replaced at once when all is on the disk, or not at all: a full
-- disk, an error or a killed process leaves the old one as it was. The new
-- one has the mode of the old one. A process that is killed leaves a
-- `PATH.*.tmp` behind.
-- @tparam string path
-- @param value a tensor, or a table of tensors
-- @tparam[opt] table options
function file.save(path, value, options)
  check_path("save", path)
  options = check_options("save", options)
  local writer = WRITERS[extension(path) or ""] or PLAIN
  check_value(writer, value)
  for name in pairs(options) do
    if not writer[3][name] then
      error(format("save: %s has no option '%s'", writer[4], tostring(name)),
            2)
    end
  end
  local aside, why = core.open_aside(path)
  if not aside then complain("save", path, why) end
  local ok, done, reason = pcall(write, aside, writer, value, options)
  aside:abort()
  if not ok then done, reason = nil, text_of(done) end
  if not done then complain("save", path, reason) end
end

return file
