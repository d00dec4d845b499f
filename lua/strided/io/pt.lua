--- Reads checkpoints of PyTorch, .pt and .pth files, as data: nothing in them
-- is executed.
--
-- * A zip of a pickle, `data.pkl`, and of the elements of each storage, which
--   torch.save writes since PyTorch 1.6.
-- * The legacy format: five pickles, followed by the storages.
-- * The tar of PyTorch 0.1: strided.io.pt.tar.
--
-- @module strided.io.pt

local failure = require "strided.io.failure"
local core = require "strided.core"
local meter = require "strided.io.meter"
local pickle = require "strided.io.pickle"
local pt_names = require "strided.io.pt.names"
local pt_tar = require "strided.io.pt.tar"
local pt_tensors = require "strided.io.pt.tensors"
local reader = require "strided.io.reader"
local zip = require "strided.io.zip"

local find, ipairs, match, min, next, rawequal, sub, type = string.find, ipairs,
  string.match, math.min, next, rawequal, string.sub, type

local require = require "strided.core".require

local catch, check, clean, fail = failure.catch, failure.check, failure.clean,
  failure.fail

local MAX_PACKED = 2 ^ 22    -- bytes of a pickle that is deflated
local MAX_READ = 2 ^ 20
local VERSION = 1001         -- of the legacy format

local MAGIC = "\138\10l\252\156F\249 j\168P\25." -- in pickle opcodes
local PROTO, FRAME, FRAME_SIZE = "^\128[\2-\5]", "\149", 9

local pt = {}

--- The size of the pickle that a file of the legacy format begins with; nil for
-- other files.
-- @tparam string head at least the first 32 bytes, if there are as many
function pt.magic_size(head)
  if not find(head, PROTO) then return nil end
  local at = sub(head, 3, 3) == FRAME and 3 + FRAME_SIZE or 3
  return sub(head, at, at + #MAGIC - 1) == MAGIC and at + #MAGIC - 1 or nil
end

--- True if a file is one of the legacy format, or the tar of PyTorch 0.1. A zip
-- may be one of others.
-- @tparam string head its first 512 bytes
function pt.is_pt(head)
  return pt.magic_size(head) ~= nil or pt_tar.is_tar(head)
end

-- -- The zip -----------------------------------------------------------------

--- Ends the reading unless the CRC of a member's bytes, all read, is right. 0
-- is that of a file which was saved without.
local function check_crc(m, bytes)
  local crc, why = bytes:finish()
  if not crc then fail("member '%s': %s", clean(m.name), why) end
  if crc ~= m.crc and m.crc ~= 0 then
    fail("member '%s': its bytes are damaged: the CRC differs", clean(m.name))
  end
end

--- Calls f with the bytes of a member, which it reads to the end.
local function with_member(source, m, f)
  local bytes, why = zip.open(source, m)
  if not bytes then fail("member '%s': %s", clean(m.name), why) end
  local value
  value, why = catch(function()
    local result = f(bytes)
    check_crc(m, bytes)
    return result
  end)
  bytes:close()
  if why then fail("%s", why) end
  return value
end

--- The bytes of a short member, or nil if there is none.
local function text_of(source, m, max)
  if not m then return nil end
  if m.full > max then fail("member '%s' is too long", clean(m.name)) end
  return with_member(source, m, function(bytes)
    return (check(bytes:read(m.full)))
  end)
end

--- The storage in a member.
local function read_storage(file, key, class, n)
  local m = file.members[file.prefix .. "data/" .. key]
  if not m then fail("it has no storage '%s'", clean(key)) end
  if m.full ~= n * class.size then
    fail("storage '%s' needs %.0f bytes and has %.0f", clean(key),
         n * class.size, m.full)
  end
  local t
  if file.is_mapped and m.method == 0 and m.packed == m.full and
     m.flags % 2 == 0 and m.data % 8 == 0 and
     (file.order == core.byte_order or class.size == 1) then
    t = file.source:view(m.data, class.dtype, {n})
    if t then meter.add_tensor(t) end
  end
  if not t then
    with_member(file.source, m, function(bytes)
      t = require "strided".empty({n}, {dtype = class.dtype})
      local done, why = meter.read_into(bytes, t)
      if not done then fail("member '%s': %s", clean(m.name), why) end
    end)
  end
  return pt_tensors.storage(t, class, file.order)
end

--- Reads the pickle of a zip.
local function read_pickle(file, m)
  if m.method ~= 0 and m.full > MAX_PACKED then
    fail "its pickle is deflated and too large"
  end
  local storages = {}
  return with_member(file.source, m, function(bytes)
    local stream = reader.of_member(bytes, m.full, m.packed)
    local value = pickle.load(stream, pt_names, function(machine, id)
      local key, class, n = pt_tensors.parse_id(machine, id)
      local storage = storages[key]
      if not storage then
        storage = read_storage(file, key, class, n)
        storages[key] = storage
      elseif storage.class ~= class then
        fail("storage '%s' has two dtypes", clean(key))
      end
      return storage
    end)
    while stream.left > 0 do stream:take(min(stream.left, MAX_READ)) end
    return value
  end)
end

local ORDERS = {little = "<", big = ">"}

local function read_zip(source, options)
  local members = check(zip.members(source))
  local found, pickled = {}, nil
  for _, m in ipairs(members) do
    found[m.name] = m
    if find(m.name, "^[^/]*/data%.pkl$") or m.name == "data.pkl" then
      pickled = pickled or m
    end
  end
  if not pickled then
    fail "it is a zip without 'data.pkl', which torch.save writes"
  end
  local file = {
    source = source, members = found, is_mapped = options.mmap == "r",
    prefix = sub(pickled.name, 1, -9),
  }
  if found[file.prefix .. "constants.pkl"] then
    fail("it is a program of TorchScript; in Python, torch.save("
         .. "module.state_dict(), path) writes what can be read here")
  end
  local order = text_of(source, found[file.prefix .. "byteorder"], 16)
  file.order = ORDERS[order and match(order, "^%s*(%a+)%s*$") or "little"]
  if not file.order then
    fail("its byte order is '%s'", clean(order))
  end
  if file.is_mapped then check(source:map(false)) end
  return read_pickle(file, pickled)
end

-- -- The legacy format -------------------------------------------------------

-- The storages follow the pickle that names them. So their memory is allocated
-- when they are named, at most as many bytes as the file has, and filled later.

local function new_storage(file, key, class, n)
  file.bytes = file.bytes + n * class.size
  if file.bytes > file.source:size() then
    fail("storage '%s' needs more bytes than the file has", clean(key))
  end
  local t = require "strided".zeros({n}, {dtype = class.dtype})
  local storage = pt_tensors.storage(t, class, "<")
  file.storages[key] = {storage = storage, n = n}
  return storage
end

--- The part of a storage that is one itself: its key, offset and size.
local function part_of(m, view, base)
  if type(view) ~= "table" or m.kinds[view] ~= "tuple" then
    fail "a storage is no part of the one that it is said to be of"
  end
  m:spend_tensor(0)
  return pt_tensors.part(base.storage, view[2], view[3])
end

local function named_storage(file, m, id)
  local key, class, n, view = pt_tensors.parse_id(m, id)
  local known = file.storages[key]
  if not known then
    new_storage(file, key, class, n)
    known = file.storages[key]
  elseif known.storage.class ~= class then
    fail("storage '%s' has two dtypes", clean(key))
  end
  if view == nil or rawequal(view, m.none) then return known.storage end
  return part_of(m, view, known)
end

--- Reads the elements of all storages, each behind its number of elements.
local function fill_storages(file, keys, m, at)
  local source = file.source
  if type(keys) ~= "table" or m.kinds[keys] ~= "list" then
    fail "its list of storages is missing"
  end
  for _, key in ipairs(keys) do
    local item = file.storages[key]
    local head = check(source:read(at, 8))
    if not item or item.is_read then
      fail("it has the storage '%s' and no tensor of it",
           clean(type(key) == "string" and key or type(key)))
    end
    if sub(head, 7) ~= "\0\0" or reader.uint(head, 1, 6) ~= item.n then
      fail("storage '%s' has another size than its tensors", clean(key))
    end
    local done, why = meter.read_into(source, item.storage.t, at + 8)
    if not done then fail("storage '%s': %s", clean(key), why) end
    pt_tensors.mend(item.storage)
    item.is_read = true
    at = at + 8 + item.n * item.storage.class.size
  end
  for key, item in next, file.storages do
    if not item.is_read then fail("storage '%s' is missing", clean(key)) end
  end
end

local function read_legacy(source, from)
  local stream = reader.of_source(source, from)
  local version = pickle.load(stream, {})
  if version ~= VERSION then fail "its protocol is unknown" end
  pickle.load(stream, {}) -- sizes of types
  local file = {source = source, storages = {}, bytes = 0}
  local value = pickle.load(stream, pt_names, function(m, id)
    return named_storage(file, m, id)
  end)
  local keys, m = pickle.load(stream, {})
  fill_storages(file, keys, m, stream:tell())
  return value
end

-- -- The module --------------------------------------------------------------

local function read(source, options)
  if options.mmap == "r+" then
    fail "its elements cannot be written through: mmap must be \"r\""
  end
  local size = source:size()
  local head = check(source:read(0, min(size, pt_tar.BLOCK)))
  local legacy = pt.magic_size(head)
  if legacy then return read_legacy(source, legacy) end
  if pt_tar.is_tar(head) then return pt_tar.read(source) end
  if not find(head, "^PK") then
    fail "it is neither a zip nor a file of torch.save before PyTorch 1.6"
  end
  return read_zip(source, options)
end

--- Reads a file.
-- @param source
-- @tparam table options `mmap`
-- @return the value that was saved; or nil and an error message
function pt.read(source, options)
  local value, why = catch(read, source, options)
  if value == nil then return nil, why end
  if rawequal(value, require "strided".none) then
    return nil, "it holds None"
  end
  return value
end

return pt
