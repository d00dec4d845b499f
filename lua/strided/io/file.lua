--- Loads and saves tensors: NumPy's .npy and .npz files, and .safetensors.
--
-- @module strided.io.file

local core = require "strided.core"
local kinds = require "strided.io.kinds"
local raise = require "strided.caller_error"
local unknown_option = require "strided.unknown_option"

local format, next, pairs, pcall, require, tostring, type = string.format, next,
  pairs, pcall, require, tostring, type

-- -- Errors ------------------------------------------------------------------

--- The text of an error without the location in front of it. What is no text
-- comes from a host's hook, and is raised again.
local function text_of(failure)
  if type(failure) ~= "string" then error(failure, 0) end
  return (tostring(failure):gsub("^[^\n]-:%d+: ", ""))
end

local function complain(name, path, why)
  raise("%s: cannot %s '%s': %s", name, name, path, why)
end

--- What to add for a missing a.npy if there is a file a: NumPy adds the suffix.
local function note_bare(path)
  local bare = path:match "^(.+)%.np[yz]$"
  local source = bare and core.open_source(bare)
  if not source then return "" end
  source:close()
  return "; there is '" .. bare .. "', and st.save adds no suffix"
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

-- by format: reader, options of the reader, name for messages
local READERS = {
  npy = {read_npy, {mmap = true}, "a .npy file"},
  npz = {read_npz, {names = true}, "a .npz file"},
  safetensors = {read_safetensors, {mmap = true, names = true},
                 "a .safetensors file"},
}

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
-- characters of text are no length.
local function detect(head, suffix)
  if head:find "^....%z%z%z%z{" then
    local is_zip = head:find "^PK\3\4" or head:find "^PK\5\6"
    return is_zip and suffix == "npz" and "npz" or "safetensors"
  end
  if head:find "^\147NUMPY" then return "npy" end
  if head:find "^PK[\3\5]" then return "npz" end
  if head:find "^........{" and head:sub(1, 8):find "[^%w%p%s]" then
    return "safetensors"
  end
end

local HEAD = 256 -- bytes, to tell what a file is
local NOT_OURS = "it is not a .npy file, and no .npz or .safetensors file"

--- The format of a file, or nil and an error message. A suffix that names
-- another format than the file has is an error.
local function format_of(path, head)
  local suffix = extension(path)
  local found = detect(head, suffix)
  local what = found ~= "npy" and kinds.describe(path, head, suffix)
  if found == "npz" and what and what:find "PyTorch" then return nil, what end
  if found and found ~= suffix and
     (READERS[suffix] or kinds.of_suffix(suffix)) then
    return nil, format("it is %s, not what its name says: rename it, or write "
                       .. "st.load(path, {format = %q})", READERS[found][3],
                       found)
  end
  if found then return found end
  if READERS[suffix] and (not what or what == kinds.TEXT) then return suffix end
  return nil, NOT_OURS .. (what and ": " .. what or "")
end

--- The reader of the format that the options name or that the file has.
local function choose(path, source, wanted)
  if wanted ~= nil then
    if READERS[wanted] then return READERS[wanted] end
    return nil, format("option 'format' must be \"npy\", \"npz\" or "
                       .. "\"safetensors\", got %s",
                       type(wanted) == "string" and format("%q", wanted)
                       or type(wanted))
  end
  local size = source:size()
  local head, why = source:read(0, size < HEAD and size or HEAD)
  if not head then return nil, why end
  local found
  found, why = format_of(path, head)
  if found then return READERS[found] end
  return nil, why
end

local MODES = {r = "r", c = "r", ["r+"] = "r+"}

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
      return nil, "option 'mmap' must be \"r\", \"c\", \"r+\" or false"
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

-- by extension: writer, true if it takes a table, options, name for messages
local WRITERS = {
  npz = {write_npz, true, {compress = true}, "a .npz file"},
  safetensors = {write_safetensors, true, {metadata = true},
                 "a .safetensors file"},
}
local PLAIN = {write_npy, false, {}, "a .npy file"}

local function check_value(writer, value)
  if type(value) == "table" and type(value.state_dict) == "function" then
    raise("save: the value must be tensors, got a module; write st.save(path, "
          .. "module:state_dict())")
  end
  if not writer[2] then
    if core.is_tensor(value) then return end
    if type(value) == "table" then
      raise("save: tables of tensors go into files named .npz or .safetensors")
    end
    raise("save: argument 't' must be a Tensor, got %s", type(value))
  end
  if type(value) ~= "table" then
    raise("save: %s takes a table of names and tensors, not a %s%s", writer[4],
          core.is_tensor(value) and "Tensor" or type(value),
          core.is_tensor(value) and ": write {name = t}" or "")
  end
  for name, t in next, value do
    if type(name) ~= "string" then
      raise("save: the names of tensors must be strings, got %s; write "
            .. "{name = t}", tostring(name))
    end
    if not core.is_tensor(t) then
      raise("save: '%s' must be a Tensor, got %s", name, type(t))
    end
  end
end

--- The writer that a path names. A suffix of another format is an error, any
-- other suffix names a .npy file.
local function writer_of(path)
  local suffix = extension(path)
  local what, advice = kinds.of_suffix(suffix)
  if what then
    raise("save: '.%s' names %s, but st.save writes .npy, .npz and "
          .. ".safetensors; %s", suffix, what, advice)
  end
  return WRITERS[suffix or ""] or PLAIN
end

local function write(file, writer, value, options)
  local done, why = writer[1](file, value, options)
  if not done then return nil, why end
  return file:commit()
end

-- -- The module --------------------------------------------------------------

local file = {}

--- Loads tensors from a file. Its first bytes determine the format, and where
-- they do not, the extension of the path. If the extension names another format
-- (.npy, .npz, .safetensors, or one that is not read here, as .pt or .png are),
-- that is an error which says what the file looks like. The option `format`,
-- "npy", "npz" or "safetensors", determines the format instead.
--
-- * `.npy`: a tensor. Format versions 1 to 3, either byte order. Fortran order
--   becomes strides, without a copy.
-- * `.npz`: a table of names and tensors. Members are stored or deflated; the
--   CRC of each is verified. Members that are not .npy files are skipped.
-- * `.safetensors`: a table of names and tensors, and a table of the file's
--   metadata. The file is mapped, unless `mmap` is false.
--
-- `mmap` maps the elements into memory instead of reading them. `"r"` (or
-- `"c"`) maps them privately: writing to the tensor changes only this process's
-- memory. `"r+"` writes through to the file. The last tensor on the mapping
-- releases it. Elements that are not aligned in the file are read instead with
-- `"r"`, and are an error with `"r+"`; elements in the other byte order are an
-- error. A file may be replaced or deleted while it is mapped. If it is
-- truncated, an access to the missing part crashes the process.
--
-- Raises an error if the file is malformed or truncated, or if its header
-- claims more bytes than the file has; that is checked before memory is
-- allocated for the elements.
-- @tparam string path
-- @tparam[opt] table options `format`; `mmap`; `names`, a list of the tensors
-- to load (.npz, .safetensors): the other tensors may then have unsupported
-- dtypes
-- @return a tensor, or a table of tensors
function file.load(path, options)
  check_path("load", path)
  options = check_options("load", options)
  local source, why = core.open_source(path)
  if not source then complain("load", path, why .. note_bare(path)) end
  if options.mmap == "r+" then -- this mode alone needs write access
    source:close()
    source, why = core.open_source(path, true)
    if not source then complain("load", path, why) end
  end
  local ok, value, extra = pcall(read, path, source, options)
  source:close()
  if not ok then value, extra = nil, text_of(value) end
  if value == nil then complain("load", path, extra) end
  if extra == nil then return value end -- not followed by a nil
  return value, extra
end

--- Saves tensors to a file. The extension of the path determines the format. A
-- path without an extension, or with one that names no format that is known, is
-- a .npy file; an extension of another format, such as .png, .csv or .pt, is an
-- error that says what to do.
--
-- * `.npy`: a tensor, in Fortran order if that is its memory layout, else in C
--   order. All dtypes but bfloat16.
-- * `.npz`: a table of names and tensors; `{compress = true}` deflates them.
-- * `.safetensors`: a table of names and tensors. `{metadata = {...}}`, a table
--   of strings, is saved with them. All dtypes but complex128.
--
-- The file is replaced atomically when all bytes are on the disk: a full disk,
-- an error or a killed process leaves the old file unchanged. The new file has
-- the mode of the old one. A process that is killed leaves a temporary file
-- `PATH.strided-*.tmp`, which the next save into the folder from the same host
-- deletes.
-- @tparam string path
-- @param value a tensor, or a table of tensors
-- @tparam[opt] table options
function file.save(path, value, options)
  check_path("save", path)
  options = check_options("save", options)
  local writer = writer_of(path)
  check_value(writer, value)
  for name in pairs(options) do
    if not writer[3][name] then
      unknown_option("save: " .. writer[4], name, writer[3])
    end
  end
  local temporary, why = core.open_aside(path)
  if not temporary then complain("save", path, why) end
  local ok, done, reason = pcall(write, temporary, writer, value, options)
  temporary:abort()
  if not ok then done, reason = nil, text_of(done) end
  if not done then complain("save", path, reason) end
end

return file
