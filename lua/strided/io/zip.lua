--- The subset of ZIP archives that .npz and .pt need: stored and deflated
-- members, and sizes beyond 4 GB (zip64).
--
-- The central directory is untrusted. It is validated before use: members lie
-- between the start of the file and the directory without overlap, and their
-- local headers agree with it.
--
-- @module strided.io.zip

local clean = require "strided.io.failure".clean
local core = require "strided.core"
local meter = require "strided.io.meter"

local byte, char, concat, find, floor, format, min, rep, sort, sub =
  string.byte, string.char, table.concat, string.find, math.floor,
  string.format, math.min, string.rep, table.sort, string.sub
local ipairs, unpack = ipairs, unpack or table.unpack

local MAX_EXACT = 2 ^ 53
local MAX16, MAX32 = 65535, 4294967295
local LOCAL, CENTRAL = "PK\3\4", "PK\1\2"
local END, END64, LOCATOR64 = "PK\5\6", "PK\6\6", "PK\6\7"
local STORED, DEFLATED = 0, 8

-- -- Numbers -----------------------------------------------------------------

--- The little-endian number of n bytes at index `at`.
local function number(s, at, n)
  local x = 0.0 -- not an integer that could wrap
  for i = at + n - 1, at, -1 do x = x * 256 + byte(s, i) end
  return x
end

--- A number as n little-endian bytes.
local function bytes(x, n)
  local list = {}
  for i = 1, n do
    list[i] = char(x % 256)
    x = floor(x / 256)
  end
  return concat(list)
end

-- -- Reading -----------------------------------------------------------------

--- The end record of the central directory: its offset, size and number of
-- entries; or nil and an error message.
local function find_directory(source)
  local size = source:size()
  local tail = source:read(size - min(size, 22 + MAX16), min(size, 22 + MAX16))
  if not tail then return nil, "the file is truncated" end
  local at
  for i = #tail - 21, 1, -1 do
    if sub(tail, i, i + 3) == END and number(tail, i + 20, 2) ==
       #tail - i - 21 then
      at = i
      break
    end
  end
  if not at then return nil, "it has no directory: the file is truncated" end
  local place = size - #tail + at - 1
  local directory = {
    disk = number(tail, at + 4, 2), first = number(tail, at + 6, 2),
    here = number(tail, at + 8, 2), n = number(tail, at + 10, 2),
    size = number(tail, at + 12, 4), offset = number(tail, at + 16, 4),
    stop = place,
  }
  if directory.n < MAX16 and directory.size < MAX32 and
     directory.offset + directory.size == place then
    return directory
  end
  -- a field overflowed, or the writer always adds a zip64 record, as PyTorch
  local locator = place >= 20 and source:read(place - 20, 20)
  if not locator or sub(locator, 1, 4) ~= LOCATOR64 then return directory end
  local where = number(locator, 9, 8)
  local record = where + 56 <= place - 20 and source:read(where, 56)
  if not record or sub(record, 1, 4) ~= END64 then
    return nil, "its directory is damaged"
  end
  return {
    disk = number(record, 17, 4), first = number(record, 21, 4),
    here = number(record, 25, 8), n = number(record, 33, 8),
    size = number(record, 41, 8), offset = number(record, 49, 8),
    stop = where,
  }
end

--- Reads 64-bit values of overflowed fields from a member's extra fields; nil
-- if these are malformed.
local function widen(m, extra)
  local at, fields = 1, {"full", "packed", "offset"}
  while at + 3 <= #extra do
    local kind, n = number(extra, at, 2), number(extra, at + 2, 2)
    if at + 3 + n > #extra then return nil end
    if kind == 1 then
      local from, stop = at + 4, at + 4 + n
      for i = 1, 3 do
        if m[fields[i]] == MAX32 then
          if from + 8 > stop then return nil end
          m[fields[i]] = number(extra, from, 8)
          from = from + 8
        end
      end
      return true
    end
    at = at + 4 + n
  end
  return true
end

--- The member at an index of the directory's bytes, and the index of the next;
-- or nil and an error message.
local function parse_entry(s, at)
  if #s - at < 45 or sub(s, at, at + 3) ~= CENTRAL then
    return nil, "its directory is damaged"
  end
  local name, extra, comment = number(s, at + 28, 2), number(s, at + 30, 2),
                               number(s, at + 32, 2)
  local stop = at + 46 + name + extra + comment
  if stop > #s + 1 then return nil, "its directory is damaged" end
  local m = {
    flags = number(s, at + 8, 2), method = number(s, at + 10, 2),
    crc = number(s, at + 16, 4), packed = number(s, at + 20, 4),
    full = number(s, at + 24, 4), offset = number(s, at + 42, 4),
    name = sub(s, at + 46, at + 45 + name),
  }
  if not widen(m, sub(s, at + 46 + name, at + 45 + name + extra)) or
     m.packed >= MAX_EXACT or m.full >= MAX_EXACT or m.offset >= MAX_EXACT then
    return nil, "its directory is damaged"
  end
  return m, stop
end

--- Returns an error message if a member's name is invalid, else nil.
local function check_name(name, known)
  if known[name] then return format("it has two members '%s'", clean(name)) end
  if name == "" or find(name, "%z") or find(name, "^/") or
     find("/" .. name .. "/", "/../", 1, true) then
    return format("it has a member with the name '%s'", clean(name))
  end
end

--- Locates the bytes of a member by its local header; returns nil or an error
-- message.
local function locate(source, m, stop)
  local head = m.offset + 30 <= stop and source:read(m.offset, 30)
  if not head or sub(head, 1, 4) ~= LOCAL then
    return format("member '%s' is not where it should be", clean(m.name))
  end
  local name, extra = number(head, 27, 2), number(head, 29, 2)
  m.data = m.offset + 30 + name + extra
  m.stop = m.data + m.packed
  if m.stop > stop or source:read(m.offset + 30, name) ~= m.name or
     number(head, 9, 2) ~= m.method then
    return format("member '%s' is not what the directory says", clean(m.name))
  end
end

--- Returns an error message if members overlap, else nil.
local function check_overlap(members)
  local list = {}
  for i, m in ipairs(members) do list[i] = m end
  sort(list, function(a, b) return a.offset < b.offset end)
  for i = 2, #list do
    if list[i].offset < list[i - 1].stop then
      return format("members '%s' and '%s' overlap", clean(list[i - 1].name),
                    clean(list[i].name))
    end
  end
end

local zip = {}

--- The members of an archive, in the order of its directory.
-- @param source
-- @treturn table of members with the fields name, method, flags, crc, packed
-- and full (compressed and uncompressed size), data (offset of the bytes); or
-- nil and an error message
function zip.members(source)
  local d, why = find_directory(source)
  if not d then return nil, why end
  if d.disk ~= 0 or d.first ~= 0 or d.here ~= d.n then
    return nil, "archives of several parts cannot be read"
  end
  if d.offset + d.size ~= d.stop then
    return nil, "its directory is not where it should be"
  end
  local text
  text, why = source:read(d.offset, d.size)
  if not text then return nil, why end
  local members, known, at = {}, {}, 1
  while #members < d.n do
    local m, stop = parse_entry(text, at)
    if not m then return nil, stop end
    why = check_name(m.name, known) or locate(source, m, d.offset)
    if why then return nil, why end
    members[#members + 1], known[m.name], at = m, true, stop
  end
  if at ~= #text + 1 then return nil, "its directory is damaged" end
  why = check_overlap(members)
  if why then return nil, why end
  return members
end

--- Opens a member for reading; returns it, or nil and an error message.
function zip.open(source, m)
  if m.flags % 2 == 1 then return nil, "it is encrypted" end
  if m.method ~= STORED and m.method ~= DEFLATED then
    return nil, format("it is packed by method %.0f: only stored and "
                       .. "deflated members can be read", m.method)
  end
  -- deflate compresses at most 1032 : 1
  if m.method == STORED and m.packed ~= m.full or
     m.full > m.packed * 1032 + 64 then
    return nil, "its sizes are impossible"
  end
  return core.open_member(source, m.data, m.packed, m.method == DEFLATED)
end

-- -- Writing -----------------------------------------------------------------

--- Encodes sizes and offsets: returns the zip64 extra field for the values that
-- do not fit into 32 bits (for all, if `all`), and the 32-bit fields.
local function extra_of(values, all)
  local shown, wide = {}, {}
  for i, x in ipairs(values) do
    local fits = x < MAX32 and not all
    shown[i] = bytes(fits and x or MAX32, 4)
    if not fits then wide[#wide + 1] = bytes(x, 8) end
  end
  local field = concat(wide)
  if field ~= "" then field = bytes(1, 2) .. bytes(#field, 2) .. field end
  return field, shown
end

--- The fields that a local header and a directory entry share. The time stamp
-- of all members is the first of January 1980.
local function common(m, is_wide, extra, crc, packed, full)
  return concat {
    bytes(is_wide and 45 or 20, 2), bytes(m.flags, 2), bytes(m.method, 2),
    bytes(0, 2), bytes(33, 2), bytes(crc, 4), packed, full, bytes(#m.name, 2),
    bytes(#extra, 2),
  }
end

local function local_header(m)
  local extra, shown = extra_of({m.full, m.packed}, m.is_wide)
  extra = extra .. m.padding
  return LOCAL .. common(m, m.is_wide, extra, m.crc, shown[2], shown[1]) ..
         m.name .. extra
end

local function entry(m)
  local extra, shown = extra_of({m.full, m.packed, m.offset})
  return CENTRAL .. bytes(45, 2) ..
         common(m, extra ~= "", extra, m.crc, shown[2], shown[1]) ..
         rep("\0", 10) .. shown[3] .. m.name .. extra
end

--- Appends a member to the temporary file of an atomic save.
-- @param file
-- @tparam string name
-- @tparam table parts strings and tensors, written one after the other
-- @tparam number full their total size in bytes
-- @tparam boolean deflated
-- @tparam[opt] number align the bytes begin at a multiple of it in the file
-- @treturn table the member, for zip.finish; or nil and an error message
function zip.add(file, name, parts, full, deflated, align)
  if #name > MAX16 then return nil, "the name of a member is too long" end
  local m = {
    name = name, flags = find(name, "[\128-\255]") and 2048 or 0,
    method = deflated and DEFLATED or STORED, crc = 0, packed = 0,
    full = full, offset = file:tell(), is_wide = full > MAX32 - 2 ^ 24,
    padding = "",
  }
  if align then
    local n = -(m.offset + #local_header(m) + 4) % align
    m.padding = "FB" .. bytes(n, 2) .. rep("Z", n) -- as PyTorch does
  end
  local done, why = file:write(local_header(m))
  local start = file:tell()
  if done and deflated then
    done, why = core.deflate(file, unpack(parts))
  end
  for _, part in ipairs(done and parts or {}) do
    local is_tensor = core.is_tensor(part)
    if deflated then
      if is_tensor then meter.add_tensor(part) end
    elseif done then
      done, why = (is_tensor and meter.write or file.write)(file, part)
    end
  end
  if not done then return nil, why end
  m.crc, m.packed = core.crc32(unpack(parts)), file:tell() - start
  done, why = file:patch(m.offset, local_header(m))
  if not done then return nil, why end
  return m
end

--- Writes the central directory; returns true, or nil and an error message.
function zip.finish(file, members)
  local list = {}
  for i, m in ipairs(members) do list[i] = entry(m) end
  local text, offset = concat(list), file:tell()
  local n, stop = #members, offset + #text
  if n >= MAX16 or offset >= MAX32 or #text >= MAX32 then
    text = concat {
      text, END64, bytes(44, 8), bytes(45, 2), bytes(45, 2), bytes(0, 8),
      bytes(n, 8), bytes(n, 8), bytes(stop - offset, 8), bytes(offset, 8),
      LOCATOR64, bytes(0, 4), bytes(stop, 8), bytes(1, 4),
    }
  end
  return file:write(concat {
    text, END, bytes(0, 4), bytes(min(n, MAX16), 2), bytes(min(n, MAX16), 2),
    bytes(min(stop - offset, MAX32), 4), bytes(min(offset, MAX32), 4),
    bytes(0, 2),
  })
end

return zip
