--- Reads and writes NumPy's .npz files: ZIP archives of .npy members.
--
-- @module strided.io.npz

local is_utf8 = require "strided.io.utf8".is_valid
local meter = require "strided.io.meter"
local npy = require "strided.io.npy"
local zip = require "strided.io.zip"

local format, ipairs, next, sort, tostring, type =
  string.format, ipairs, next, table.sort, tostring, type

-- -- Reading -----------------------------------------------------------------

--- The tensor of an open member, or nil and an error message.
local function read_open(m, bytes)
  local function read(n) return bytes:read(n) end
  local info, why = npy.read_header(read, m.full)
  if not info then return nil, why end
  local t = npy.make(info)
  local ok, crc
  ok, why = meter.read_into(bytes, t)
  if ok then crc, why = bytes:finish() end
  if not crc then return nil, why end
  if crc ~= m.crc then return nil, "its bytes are damaged: the CRC differs" end
  npy.mend(t, info)
  return t
end

local function read_member(source, m)
  local bytes, why = zip.open(source, m)
  if not bytes then return nil, why end
  local t
  t, why = read_open(m, bytes)
  bytes:close()
  return t, why
end

--- The members to read: all .npy members, or those with these names.
local function select_members(members, names)
  local found, list = {}, {}
  for _, m in ipairs(members) do
    m.key = m.name:match "^(.+)%.npy$"
    if m.key then found[m.key] = m end
    if m.key and not names then list[#list + 1] = m end
  end
  if not names then return list end
  if type(names) ~= "table" then
    return nil, "option 'names' must be a list of names"
  end
  for i, name in ipairs(names) do
    list[i] = found[name]
    if not list[i] then
      return nil, format("it has no member '%s'", tostring(name))
    end
  end
  return list
end

local npz = {}

--- Reads the tensors of an archive.
-- @param source
-- @tparam table options `names`
-- @treturn table names and tensors; or nil and an error message
function npz.read(source, options)
  local members, list, why
  members, why = zip.members(source)
  if not members then return nil, why end
  list, why = select_members(members, options.names)
  if not list then return nil, why end
  if not list[1] and members[1] and not options.names then
    return nil, format("it is a zip without a .npy file; its first member is "
                       .. "'%s'", members[1].name)
  end
  local tensors = {}
  for _, m in ipairs(list) do
    local t
    t, why = read_member(source, m)
    if not t then
      return nil, format("member '%s': %s%s", m.name, why, list[2] and
                         not options.names and "; option 'names' lists "
                         .. "the members to load" or "")
    end
    tensors[m.key] = t
  end
  return tensors
end

-- -- Writing -----------------------------------------------------------------

--- Returns an error message if a member cannot have this name, else nil.
local function check_name(name)
  if name == "" or not is_utf8(name) or name:find "%z" or name:find "^/" or
     ("/" .. name .. ".npy/"):find("/../", 1, true) then
    return format("a member cannot have the name %q", name)
  end
end

--- Writes a table of names and tensors, sorted by name; returns true, or nil
-- and an error message.
function npz.write(file, tensors, options)
  local names, members = {}, {}
  for name in next, tensors do names[#names + 1] = name end
  sort(names)
  for i, name in ipairs(names) do
    local why = check_name(name)
    if why then return nil, why end
    local head, t = npy.encode(tensors[name])
    if not head then return nil, format("'%s': %s", name, t) end
    local full = #head + t:numel() * t:element_size()
    members[i], why = zip.add(file, name .. ".npy", {head, t}, full,
                              options.compress and true or false)
    if not members[i] then return nil, why end
  end
  return zip.finish(file, members)
end

return npz
