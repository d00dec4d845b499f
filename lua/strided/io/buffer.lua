--- Tensors over foreign memory, tensors from the bytes of strings, DLPack and
-- Arrow's C data interface.
--
-- In the other direction, `t:data_ptr()` returns the address of a tensor's
-- first element as a number, which LuaJIT can cast to a pointer, and
-- `t:tostring_bytes()` returns the elements in index order as a string:
--
--     local p = ffi.cast("float *", t:data_ptr())
--     p[0] = 1              -- writes into t; p[t:stride(1)] is the next row
--
-- The pointer does not keep the storage alive. It is valid as long as a tensor
-- on the storage is alive and the storage has not grown (`resize_`, `out=`).
--
-- @module strided.io.buffer

local core = require "strided.core"
local options_of = require "strided.option.options"
local raise = require "strided.argument.caller_error"
local unknown_option = require "strided.option.unknown_option"

local floor, pairs, tostring, type = math.floor, pairs, tostring, type

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
  raise("frombuffer: option '%s' must be a number of bytes or elements, got %s",
        name, tostring(value))
end

local function check(source, options)
  for name in pairs(options) do
    if not KNOWN[name] then unknown_option("frombuffer", name, KNOWN) end
  end
  check_number("offset", options.offset)
  check_number("count", options.count)
  check_number("nbytes", options.nbytes)
  if options.shape ~= nil and options.count ~= nil then
    raise("frombuffer: arguments 'shape' and 'count' exclude each other")
  end
  if type(source) == "string" and
     (options.nbytes ~= nil or options.owner ~= nil) then
    raise("frombuffer: a string is copied: it has no argument '%s'",
          options.nbytes ~= nil and "nbytes" or "owner")
  end
end

--- The size of an element in bytes.
local function item_size(dtype)
  return core.frombuffer("", nil, nil, 0, dtype, {0}):element_size()
end

--- The size of a source in bytes; nil for an address without one.
local function size_of(source, nbytes)
  if type(source) == "string" then return #source end
  local known = type(source) == "cdata" and core.cdata_size(source) or nbytes
  if nbytes and nbytes > known then
    raise("frombuffer: nbytes is %s and the cdata has %s",
          tostring(nbytes), tostring(known))
  end
  return nbytes or known
end

--- The number of elements of a size between offset and the end.
local function count_rest(nbytes, offset, size)
  if not nbytes then
    raise("frombuffer: an address has no size: give 'shape', 'count' or "
          .. "'nbytes'")
  end
  local rest = nbytes - offset
  if rest < 0 or rest % size ~= 0 then
    raise("frombuffer: %s bytes from offset %s on are no whole number of "
          .. "elements of %s bytes", tostring(rest), tostring(offset),
          tostring(size))
  end
  return floor(rest / size)
end

-- -- The module --------------------------------------------------------------

local buffer = {}

--- Creates a tensor from the bytes of a string, or over memory at an address.
--
-- A string is copied, because strings are immutable.
--
-- An address is a light userdata or, in LuaJIT, a cdata: a pointer, or an
-- array or structure, whose size is known and which the tensor keeps alive. The
-- tensor uses this memory without a copy: each side sees what the other writes.
-- The memory must remain valid as long as any tensor on it is alive, including
-- views. `owner` is a value that is kept alive for that time, for instance
-- `ffi.gc(p, ffi.C.free)`, or the structure that contains an array: `s.a` alone
-- does not keep `s` alive. The owner is released soon after the last tensor is
-- released, on any thread. A tensor that grows moves to newly allocated memory.
-- Addresses are not checked: an access to unreadable memory crashes the
-- process.
--
--     local t = st.frombuffer("\1\0\2\0", {dtype = "int16"})    -- 1, 2
--     local a = ffi.new("float[6]")
--     local u = st.frombuffer(a, {shape = {2, 3}})
--     u:fill_(1)                                                -- a[5] == 1
--
-- @param source a string, a light userdata or a cdata
-- @tparam[opt] table options `dtype` (the default dtype); `shape`, or `count`,
-- the number of elements, by default all; `strides` in elements; `offset`, the
-- bytes to skip; for addresses also `nbytes`, the size of the memory, and
-- `owner`
-- @return a tensor
function buffer.frombuffer(source, options)
  options = options == nil and {} or options
  if type(options) ~= "table" then
    raise("frombuffer: the options must be a table, got %s; write {dtype = %s}",
          type(options), type(options) == "string" and ("%q"):format(options)
          or '"int16"')
  end
  check(source, options)
  local offset = options.offset or 0
  local dtype = options.dtype or core.get_default_dtype()
  local nbytes = options.nbytes
  local shape = options.shape or options.count and {options.count}
  if not shape then
    nbytes = size_of(source, nbytes)
    shape = {count_rest(nbytes, offset, item_size(dtype))}
  end
  return core.frombuffer(source, options.owner, nbytes, offset, dtype, shape,
                         options.strides)
end

--- Reads options whose only field is `versioned`.
local function check_versioned(name, options)
  if options == nil then return false end
  if type(options) ~= "table" then
    raise("%s: the options must be a table, got %s", name, type(options))
  end
  for option in pairs(options) do
    if option ~= "versioned" then
      unknown_option(name, option, {versioned = true})
    end
  end
  return options.versioned and true or false
end

--- Exports a tensor to another library in this process by DLPack. The elements
-- are not copied; each side sees what the other writes.
--
-- The result is a capsule. `capsule:pointer()` returns the address of its
-- `DLManagedTensor` (with `versioned`, of its `DLManagedTensorVersioned`) as a
-- number, without transferring ownership. `capsule:take()` returns the address
-- and transfers ownership: the consumer must call the deleter once, on any
-- thread. If it is not taken, the structure is released with the capsule or by
-- `capsule:release()`. `capsule:is_used()` is true once it is taken or
-- released. The tensor's storage can no longer grow, so that the elements do
-- not move.
--
--     local p = ffi.cast("DLManagedTensor *", t:to_dlpack():take())
--
-- Raises an error for tensors that require a gradient, that are lazy conjugates
-- or negatives, that are not on the CPU, or whose memory has an `owner`.
-- @param t a tensor
-- @tparam[opt] table options `versioned`: export the structure of DLPack 1.0
-- @return a capsule
function buffer.to_dlpack(t, options)
  return core.to_dlpack(t, check_versioned("to_dlpack", options))
end

--- Imports a tensor of another library by DLPack, without a copy.
--
-- An address is a light userdata or a LuaJIT pointer; it is not checked. The
-- tensor takes ownership of the structure, and calls its deleter when the last
-- tensor on the elements is released, on the thread where that happens. If the
-- call fails, the caller keeps ownership and the deleter is not called. Memory
-- that the producer marks as read-only (possible only in DLPack 1.0) is copied.
-- Raises an error for devices other than the CPU, unsupported dtypes, negative
-- strides and elements that are not aligned.
-- @param source a capsule of `to_dlpack`, or the address of a
-- `DLManagedTensor`
-- @tparam[opt] table options `versioned`: the address is that of a
-- `DLManagedTensorVersioned`
-- @return a tensor
function buffer.from_dlpack(source, options)
  local versioned = check_versioned("from_dlpack", options)
  return core.from_dlpack(source, versioned)
end

--- Exports a tensor to another library in this process by Arrow's C data
-- interface: fills the `ArrowSchema` and the `ArrowArray` at two addresses,
-- which the consumer allocates. Addresses are light userdata or LuaJIT's cdata.
--
--     local schema, array = ffi.new "struct ArrowSchema",
--                           ffi.new "struct ArrowArray"
--     t:to_arrow(schema, array)
--
-- The tensor has one dimension and a dtype that Arrow has: bool, integers,
-- float16, float32 or float64. The elements are not copied, but those of bool,
-- which are bits in Arrow. As with `to_dlpack`, the storage can no longer grow.
-- Whoever has the structures calls the function `release` of each, once.
-- @param t a tensor
-- @param schema the address of an `ArrowSchema`
-- @param array the address of an `ArrowArray`
function buffer.to_arrow(t, schema, array)
  return core.to_arrow(t, schema, array)
end

--- Imports an array of another library by Arrow's C data interface, without a
-- copy, but of booleans.
--
-- Both structures are moved out of: the schema is released, the array when the
-- last tensor on the elements is, on the thread where that happens. If the call
-- fails, they are as they were. Arrays of numbers and booleans are imported. An
-- array with nulls is an error unless `mask` is true.
-- @param schema the address of an `ArrowSchema`
-- @param array the address of an `ArrowArray`
-- @tparam[opt] table options `mask`: return a tensor of booleans, too, true
-- where the array has a value
-- @treturn Tensor of one dimension
-- @treturn ?Tensor the mask
function buffer.from_arrow(schema, array, options)
  options = options_of("from_arrow", options, {mask = true})
  return core.from_arrow(schema, array, options.mask)
end

return buffer
