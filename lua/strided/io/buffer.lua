--- Tensors over memory of others, and from the bytes of strings.
--
-- The other way, the address of a tensor's first element is `t:data_ptr()`, a
-- number that LuaJIT makes a pointer of, and `t:tostring_bytes()` are its
-- elements in their order, as a string:
--
--     local p = ffi.cast("float *", t:data_ptr())
--     p[0] = 1                       -- t has it now; p[t:stride(1)] is below
--
-- The pointer holds nothing: it is good for as long as a tensor on the same
-- storage is alive and none of them has grown (`resize_`, `out=`).
--
-- @module strided.io.buffer

local core = require "strided.core"

local error, find, floor, format, pairs, tostring, type =
  error, string.find, math.floor, string.format, pairs, tostring, type

local has_ffi, ffi = pcall(require, "ffi")

-- -- What a cdata is ---------------------------------------------------------

--- Address of a cdata as a pointer of one kind, and how many bytes are known
-- to be there; nil when it is neither a pointer nor an aggregate, or a ctype.
local function locate(cdata)
  if find(tostring(cdata), "^ctype<") then return nil end
  local name = tostring(ffi.typeof(cdata))
  local address = function() return ffi.cast("const void *", cdata) end
  if find(name, "%*[%w ]*>$") or find(name, "%(%*") then return address() end
  if find(name, "%]>$") or find(name, "^ctype<struct ") or
     find(name, "^ctype<union ") then
    return address(), ffi.sizeof(cdata)
  end
end

--- Source of an address, its owner, its bytes.
local function resolve(name, source, options)
  local owner, nbytes = options.owner, options.nbytes
  if type(source) == "userdata" or not has_ffi or type(source) ~= "cdata" then
    return source, owner, nbytes
  end
  local address, known = locate(source)
  if not address then
    error(format("%s: a cdata of type %s is neither a pointer nor an array",
                 name, tostring(ffi.typeof(source))), 3)
  end
  if known and nbytes and nbytes > known then
    error(format("%s: nbytes is %s and the cdata has %s", name,
                 tostring(nbytes), tostring(known)), 3)
  end
  -- it is its own owner; another one's life is that one's business as well
  if known then owner = owner == nil and source or {source, owner} end
  return address, owner, nbytes or known
end

-- -- Options -----------------------------------------------------------------

local KNOWN = {
  dtype = true, shape = true, strides = true, offset = true, count = true,
  nbytes = true, owner = true,
}

local function check_number(name, value)
  if value == nil or type(value) == "number" and value >= 0 and
     value == floor(value) then
    return value
  end
  error(format("frombuffer: argument '%s' must be a number of bytes or "
               .. "elements, got %s", name, tostring(value)), 4)
end

local function check(source, options)
  for name in pairs(options) do
    if not KNOWN[name] then
      error(format("frombuffer: has no argument '%s'", tostring(name)), 3)
    end
  end
  check_number("offset", options.offset)
  check_number("count", options.count)
  check_number("nbytes", options.nbytes)
  if options.shape ~= nil and options.count ~= nil then
    error("frombuffer: arguments 'shape' and 'count' exclude each other", 3)
  end
  if type(source) == "string" and
     (options.nbytes ~= nil or options.owner ~= nil) then
    error("frombuffer: a string is copied: it has no argument '"
          .. (options.nbytes ~= nil and "nbytes" or "owner") .. "'", 3)
  end
end

--- Bytes of an element.
local function item_size(dtype)
  return core.frombuffer("", nil, nil, 0, dtype, {0}):element_size()
end

--- How many elements of a size there are in what is left behind offset.
local function count_rest(nbytes, offset, size)
  if not nbytes then
    error("frombuffer: how much is at an address? Give 'shape', 'count' or "
          .. "'nbytes'", 3)
  end
  local rest = nbytes - offset
  if rest < 0 or rest % size ~= 0 then
    error(format("frombuffer: %s bytes from offset %s on are no whole number "
                 .. "of elements of %s bytes", tostring(rest),
                 tostring(offset), tostring(size)), 3)
  end
  return floor(rest / size)
end

-- -- The module --------------------------------------------------------------

local buffer = {}

--- A tensor of the elements that lie in a string or at an address.
--
-- Of a **string** it is a copy: strings never change, tensors do.
--
-- An **address** is a light userdata, or under LuaJIT a cdata: a pointer, or
-- an array or structure, whose size is known and which lives as long as the
-- tensor. The tensor lies over the memory itself: nothing is copied, and each
-- sees what the other writes. The memory must be there for as long as any
-- tensor on it, views included; `owner` is a value that is kept alive for as
-- long, for instance `ffi.gc(p, ffi.C.free)`, or the structure that an array
-- is a field of: `s.a` alone holds nothing. It is let go of soon after the
-- last tensor is gone, whichever thread that was on. A tensor that grows
-- moves into memory of its own. Nobody can check an address: what is not
-- readable there ends the process.
--
--     local t = st.frombuffer("\1\0\2\0", {dtype = "int16"})    -- 1, 2
--     local a = ffi.new("float[6]")
--     local u = st.frombuffer(a, {shape = {2, 3}})
--     u:fill_(1)                                                -- a[5] == 1
--
-- @param source a string, a light userdata or a cdata
-- @tparam[opt] table options `dtype` (the default dtype); `shape`, or `count`
-- elements, or else all there are; `strides` in elements; `offset` bytes to
-- skip; for addresses also `nbytes`, how many there are, and `owner`
-- @return a tensor
function buffer.frombuffer(source, options)
  options = options == nil and {} or options
  if type(options) ~= "table" then
    error("frombuffer: options must be a table, got " .. type(options), 2)
  end
  check(source, options)
  local offset = options.offset or 0
  local dtype = options.dtype or core.get_default_dtype()
  local address, owner, nbytes = resolve("frombuffer", source, options)
  local shape = options.shape or options.count and {options.count}
  if not shape then
    nbytes = nbytes or type(source) == "string" and #source
    shape = {count_rest(nbytes, offset, item_size(dtype))}
  end
  return core.frombuffer(address, owner, nbytes, offset, dtype, shape,
                         options.strides)
end

--- The `versioned` of options that have nothing else.
local function check_versioned(name, options)
  if options == nil then return false end
  if type(options) ~= "table" then
    error(format("%s: options must be a table, got %s", name, type(options)),
          3)
  end
  for option in pairs(options) do
    if option ~= "versioned" then
      error(format("%s: has no argument '%s'", name, tostring(option)), 3)
    end
  end
  return options.versioned and true or false
end

--- A tensor for another library of this process, by DLPack. The elements are
-- not copied; each side sees what the other writes.
--
-- The result is a capsule. `capsule:pointer()` is the address of its
-- `DLManagedTensor` (with `versioned`, of its `DLManagedTensorVersioned`) as a
-- number, to look at; `capsule:take()` is the same and hands it over: whoever
-- takes it must call its deleter, once, on any thread. What nobody takes goes
-- with the capsule, or at `capsule:release()`. `capsule:is_used()` tells. The
-- elements stay where they are, so the tensor's storage cannot grow any more.
--
--     local p = ffi.cast("DLManagedTensor *", t:to_dlpack():take())
--
-- What cannot go: tensors that require a gradient, that are lazy conjugates
-- or negatives, that are not on the CPU, or whose memory has an `owner`.
-- @param t a tensor
-- @tparam[opt] table options `versioned`: the structure of DLPack 1.0
-- @return a capsule
function buffer.to_dlpack(t, options)
  return core.to_dlpack(t, check_versioned("to_dlpack", options))
end

--- A tensor over another library's elements, by DLPack, without a copy.
--
-- An address is a light userdata or a pointer of LuaJIT's; nobody can check
-- what is there. From then on the structure is the tensor's, which calls its
-- deleter when the last tensor on the elements is gone, on the thread where
-- that happens. A failure leaves it to the caller, uncalled. Memory that its
-- producer says is read-only (only DLPack 1.0 can tell) is copied. Refused
-- are other devices than the CPU, dtypes that do not exist here, negative
-- strides and elements that are not aligned.
-- @param source a capsule of `to_dlpack`, or the address of a
-- `DLManagedTensor`
-- @tparam[opt] table options `versioned`: the address is that of a
-- `DLManagedTensorVersioned`
-- @return a tensor
function buffer.from_dlpack(source, options)
  local versioned = check_versioned("from_dlpack", options)
  if has_ffi and type(source) == "cdata" then
    local address, known = locate(source)
    if not address or known then
      error(format("from_dlpack: a cdata of type %s is no pointer",
                   tostring(ffi.typeof(source))), 2)
    end
    source = address
  end
  return core.from_dlpack(source, versioned)
end

return buffer
