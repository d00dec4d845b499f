--- Reads what torch.save of PyTorch 0.1 wrote: a tar of four files.
--
-- * `sys_info`: a pickle about the machine.
-- * `storages`: their number, the pickle (key, location, class) and the
--   elements of each; then the pickle of those that are part of another one.
-- * `tensors`: their number, the pickle (key, key of the storage, class), the
--   sizes, the strides and the offset of each.
-- * `pickle`: the value. A persistent id in it is the key of a tensor or of a
--   storage.
--
-- @module strided.io.pt.tar

local failure = require "strided.io.failure"
local meter = require "strided.io.meter"
local pickle = require "strided.io.pickle"
local pt_names = require "strided.io.pt.names"
local pt_tensors = require "strided.io.pt.tensors"
local reader = require "strided.io.reader"
local strided_view = require "strided.io.strided_view"

local byte, find, floor, format, ipairs, match, setmetatable, sub, tonumber,
  type = string.byte, string.find, math.floor, string.format, ipairs,
  string.match, setmetatable, string.sub, tonumber, type

local require = require "strided.core".require

local check, clean, fail = failure.check, failure.clean, failure.fail

local BLOCK = 512
local MAX_DIMS = 64

local pt_tar = {BLOCK = BLOCK}

-- -- The tar -----------------------------------------------------------------

--- The octal number of a field, which spaces or a NUL end.
local function octal(text)
  local digits = match(text, "^ *([0-7]+)[ %z]*$")
  return digits and tonumber(digits, 8)
end

--- Whether the sum in a header is that of its bytes; those of the sum itself
-- count as spaces.
local function is_header(head)
  local sum = 8 * 32
  for i = 1, #head do
    if i < 149 or i > 156 then sum = sum + byte(head, i) end
  end
  return #head == BLOCK and octal(sub(head, 149, 156)) == sum
end

local FILES = {sys_info = true, storages = true, tensors = true, pickle = true}

--- True if a file begins with the header of such a tar.
-- @tparam string head its first 512 bytes
function pt_tar.is_tar(head)
  return FILES[match(head, "^%.?/?([^%z]*)")] and sub(head, 258, 262) == "ustar"
         and is_header(head) or false
end

--- The files in a tar: offset and end by name.
local function files_of(source)
  local at, size, found = 0, source:size(), {}
  while at + BLOCK <= size do
    local head = check(source:read(at, BLOCK))
    if not find(head, "[^%z]") then break end
    local n = is_header(head) and octal(sub(head, 125, 136))
    if not n then fail "its tar is damaged" end
    at = at + BLOCK
    if at + n > size then fail "it is truncated" end
    local name, kind = match(head, "^%.?/?([^%z]*)"), sub(head, 157, 157)
    if (kind == "0" or kind == "\0") and not found[name] then
      found[name] = {from = at, stop = at + n}
    end
    at = at + floor((n + BLOCK - 1) / BLOCK) * BLOCK
  end
  return found
end

--- A reader of a file in the tar.
local function open(file, name)
  local range = file.found[name]
  if not range then fail("it is a tar without '%s'", name) end
  return reader.of_source(file.source, range.from, range.stop)
end

-- -- Storages and tensors ----------------------------------------------------

--- A key, which may be greater than is exact: as text.
local function key_of(value)
  if type(value) == "number" then return format("%.0f", value) end
  if type(value) == "string" then return value end
  fail "its tar has a key that is no number"
end

local function count_of(bytes)
  local n = pickle.load(bytes, {})
  if type(n) ~= "number" or n < 0 then
    fail "its tar has no number of objects"
  end
  return n
end

--- A long that is a number of elements.
local function long(bytes)
  local s = bytes:take(8)
  if find(s, "[^%z]", 7) then
    fail "it has a size that is negative or too large"
  end
  return reader.uint(s, 1, 6)
end

--- Names of pickles as texts.
local AS_TEXT = setmetatable({}, {__index = function(_, name)
  return {value = name}
end})

--- The fields of a pickled tuple of three, of which the last is a class: its
-- name.
local function triple_of(bytes)
  local t, m = pickle.load(bytes, AS_TEXT)
  if type(t) ~= "table" or m.kinds[t] ~= "tuple" or type(t[3]) ~= "string" then
    fail "its tar has no storage or tensor where it needs one"
  end
  return key_of(t[1]), t[2], t[3]
end

local function read_storage(file, bytes)
  local key, _, name = triple_of(bytes)
  local class = pt_names[name] and pt_names[name].value
  if not pt_tensors.is_class(class) then
    fail("it has a storage of %s, which has no equivalent here", clean(name))
  end
  local n = long(bytes)
  if n * class.size > bytes.left then fail "it is truncated" end
  local t = require "strided".empty({n}, {dtype = class.dtype})
  local done, why = meter.read_into(file.source, t, bytes:tell())
  if not done then fail("storage '%s': %s", clean(key), why) end
  file.objects[key] = pt_tensors.storage(t, class, "<")
  return bytes:skipping(n * class.size)
end

--- Reads the storages, then those that are part of another one.
local function read_storages(file)
  local bytes = open(file, "storages")
  for _ = 1, count_of(bytes) do bytes = read_storage(file, bytes) end
  local views, m = pickle.load(bytes, {})
  if type(views) ~= "table" then fail "its tar has no list of storages" end
  for _, view in ipairs(views) do
    if type(view) ~= "table" or m.kinds[view] ~= "tuple" then
      fail "its tar has no list of storages"
    end
    local base = file.objects[key_of(view[2])]
    if not base then fail "a storage is part of none" end
    file.objects[key_of(view[1])] = pt_tensors.part(base, view[3], view[4])
  end
end

--- Reads a tensor: four bytes without a meaning follow the number of its
-- dimensions.
local function read_tensor(file, bytes)
  local key, base = triple_of(bytes)
  local storage = file.objects[key_of(base)]
  local ndim = reader.int32(bytes:take(4))
  bytes:take(4)
  if ndim < 0 or ndim > MAX_DIMS then
    fail("a tensor has %.0f dimensions", ndim)
  end
  local sizes, strides = {}, {}
  for i = 1, ndim do sizes[i] = long(bytes) end
  for i = 1, ndim do strides[i] = long(bytes) end
  local offset = long(bytes)
  if not pt_tensors.is_storage(storage) then
    fail("a tensor has no storage '%s'", clean(key_of(base)))
  end
  -- PyTorch 0.1 had no scalars: without dimensions a tensor was empty
  if ndim == 0 and storage.t:numel() == 0 then sizes, strides = {0}, {1} end
  file.objects[key] = strided_view.make(storage.t, offset, sizes, strides)
end

-- -- The module --------------------------------------------------------------

--- Reads a file; ends by failure.fail if it is malformed.
-- @param source
-- @return the value that was saved
function pt_tar.read(source)
  local file = {source = source, found = files_of(source), objects = {}}
  local info = pickle.load(open(file, "sys_info"), {})
  if type(info) ~= "table" then fail "its tar has no table 'sys_info'" end
  if info.little_endian == false then
    fail "it was written on a big-endian machine"
  end
  read_storages(file)
  local bytes = open(file, "tensors")
  for _ = 1, count_of(bytes) do read_tensor(file, bytes) end
  return (pickle.load(open(file, "pickle"), pt_names, function(m, id)
    if type(id) == "table" then
      fail("it holds a whole module and not its state; in Python, "
           .. "torch.save(module.state_dict(), path) writes what can be read "
           .. "here")
    end
    local object = file.objects[key_of(id)]
    if not object then
      fail("its pickle names the object %s, which is not there",
           clean(key_of(id)))
    end
    m:spend_tensor(0)
    return object
  end))
end

return pt_tar
