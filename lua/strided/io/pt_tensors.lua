--- What pickles of PyTorch may name: storages, dtypes, and the functions that
-- make tensors of storages.
--
-- @module strided.io.pt_tensors

local core = require "strided.core"
local pickle = require "strided.io.pickle"
local strided_view = require "strided.io.strided_view"

local floor, getmetatable, ipairs, pairs, pcall, rawequal, require,
  setmetatable, type =
  math.floor, getmetatable, ipairs, pairs, pcall,
  rawequal, require, setmetatable, type
local fail = require "strided.io.failure".fail

local TENSOR_COST = 20     -- of pickle.load, for a few bytes of the pickle

-- dtype -> bytes per element, unit of byte swapping
local DTYPES = {
  bool = {1, 1}, uint8 = {1, 1}, int8 = {1, 1}, int16 = {2, 2},
  int32 = {4, 4}, int64 = {8, 8}, uint16 = {2, 2}, uint32 = {4, 4},
  uint64 = {8, 8}, float16 = {2, 2}, bfloat16 = {2, 2}, float32 = {4, 4},
  float64 = {8, 8}, complex64 = {8, 4}, complex128 = {16, 8},
}

local STORAGES = {
  Bool = "bool", Byte = "uint8", Char = "int8", Short = "int16",
  Int = "int32", Long = "int64", Half = "float16", BFloat16 = "bfloat16",
  Float = "float32", Double = "float64", ComplexFloat = "complex64",
  ComplexDouble = "complex128",
}

-- -- Storages ----------------------------------------------------------------

-- The class of a storage: dtype, size of an element.
local Class = {name = "a class of storages"}

-- A storage: its elements in a tensor of one dimension. `order` is the byte
-- order of bytes whose dtype is still unknown.
local Storage = {name = "a storage", is_argument = true}

local pt_tensors = {}

function Storage.unwrap(self) return self.t end

--- Converts bytes in the byte order of the file to elements of a dtype.
local function mend(storage, t, dtype)
  local unit = DTYPES[dtype][2]
  if storage.order == core.byte_order then unit = 1 end
  if unit > 1 or dtype == "bool" then core.mend(t, unit) end
end

--- Converts the bytes of a storage, once they are read, to elements.
function pt_tensors.mend(storage)
  if not storage.class.is_untyped then
    mend(storage, storage.t, storage.class.dtype)
  elseif storage.as then
    mend(storage, storage.as, storage.dtype)
  end
end

--- Makes a storage of elements that were read, in the byte order of the file.
-- @tparam Tensor t of one dimension
-- @tparam table class
-- @tparam string order "<" or ">"
function pt_tensors.storage(t, class, order)
  local self = setmetatable({t = t, class = class, order = order}, Storage)
  pt_tensors.mend(self)
  return self
end

--- Makes a storage of n elements of another one.
function pt_tensors.part(storage, first, n)
  local t = n > 0 and storage.t:narrow(1, first + 1, n) or
            storage.t:new_empty {0}
  return setmetatable({t = t, class = storage.class, order = storage.order,
                       is_part = true}, Storage)
end

--- The elements of a storage as a dtype. Bytes get the dtype of the first
-- tensor over them.
local function elements_as(storage, dtype)
  if storage.class.dtype == dtype then return storage.t end
  if not storage.class.is_untyped or storage.is_part or
     storage.as and storage.dtype ~= dtype then
    fail("a tensor of %s has a storage of %s", dtype,
         storage.dtype or storage.class.dtype)
  end
  if not storage.as then
    local n = storage.t:numel()
    storage.as = storage.t:narrow(1, 1, n - n % DTYPES[dtype][1]):view(dtype)
    storage.dtype = dtype
    mend(storage, storage.as, dtype)
  end
  return storage.as
end

-- -- Tensors -----------------------------------------------------------------

local function is_list(m, value)
  local kind = type(value) == "table" and m.kinds[value]
  return kind == "tuple" or kind == "list"
end

local function require_grad(t, is_wanted)
  if is_wanted ~= true then return t end
  if not pcall(t.requires_grad_, t, true) then
    fail "a tensor of integers requires a gradient"
  end
  return t
end

local function make(m, storage, args, dtype)
  m:spend(TENSOR_COST)
  if type(storage) ~= "table" or getmetatable(storage) ~= Storage or
     not is_list(m, args[3]) or not is_list(m, args[4]) then
    return nil
  end
  local base = dtype and elements_as(storage, dtype) or storage.t
  return strided_view.make(base, args[2], args[3], args[4])
end

--- Applies the conjugate and negative bits of a tensor's metadata.
local function apply_bits(m, t, bits)
  if bits == nil or rawequal(bits, m.none) then return t end
  if type(bits) ~= "table" or m.kinds[bits] ~= "dict" then return nil end
  if bits.conj == true then t = t:conj() end
  if bits.neg ~= true then return t end
  local ok, negative = pcall(t._neg_view, t)
  if not ok then fail("a tensor of %s is a negative", t.dtype) end
  return negative
end

local function rebuild_v1(m, args) return make(m, args[1], args) end

local function rebuild_v2(m, args)
  local t = make(m, args[1], args)
  t = t and apply_bits(m, t, args[7])
  return t and require_grad(t, args[5])
end

--- The last arguments are the dtype and the metadata.
local function rebuild_v3(m, args)
  local dtype = args[7]
  if not DTYPES[dtype] then
    return nil, "with a dtype that has no equivalent here: " ..
                (type(dtype) == "string" and dtype or m:describe(dtype))
  end
  local t = make(m, args[1], args, dtype)
  t = t and apply_bits(m, t, args[8])
  return t and require_grad(t, args[5])
end

local function rebuild_parameter(m, args)
  m:spend(TENSOR_COST)
  if not core.is_tensor(args[1]) then return nil end
  return require_grad(args[1]:detach(), args[2])
end

--- A tensor without elements: dtype, sizes, strides, requires_grad.
local function rebuild_meta(m, args)
  m:spend(TENSOR_COST)
  if not DTYPES[args[1]] or not is_list(m, args[2]) or
     not is_list(m, args[3]) then
    return nil
  end
  strided_view.check(args[2], args[3])
  local st = require "strided"
  return require_grad(st.empty_strided(args[2], args[3],
                                       {dtype = args[1], device = "meta"}),
                      args[4])
end

-- -- The names ---------------------------------------------------------------

local names = {}
pt_tensors.names = names

for name, entry in pairs(pickle.names) do names[name] = entry end
for name, entry in pairs(require "strided.io.pickle_numpy".names) do
  names[name] = entry
end

for name, dtype in pairs(STORAGES) do
  local class = setmetatable({dtype = dtype, size = DTYPES[dtype][1]}, Class)
  for _, module in ipairs {"torch.", "torch.cuda.", "torch.storage."} do
    names[module .. name .. "Storage"] = {value = class}
  end
end

local untyped = setmetatable({dtype = "uint8", size = 1, is_untyped = true},
                             Class)
names["torch.UntypedStorage"] = {value = untyped}
names["torch.storage.UntypedStorage"] = {value = untyped}
names["torch.storage._UntypedStorage"] = {value = untyped}

for dtype in pairs(DTYPES) do names["torch." .. dtype] = {value = dtype} end

names["torch._utils._rebuild_tensor"] = {call = rebuild_v1}
names["torch._utils._rebuild_tensor_v2"] = {call = rebuild_v2}
names["torch._utils._rebuild_tensor_v3"] = {call = rebuild_v3}
names["torch._utils._rebuild_parameter"] = {call = rebuild_parameter}
names["torch._utils._rebuild_meta_tensor_no_storage"] = {call = rebuild_meta}

names["torch.Size"] = {call = function(m, args)
  if is_list(m, args[1]) then return args[1] end
end}

names["torch.device"] = {call = function(_, args)
  if type(args[1]) ~= "string" then return nil end
  return type(args[2]) == "number" and ("%s:%.0f"):format(args[1], args[2]) or
         args[1]
end}

-- -- Persistent ids ----------------------------------------------------------

--- The fields of the id of a storage: key, class, number of elements, and where
-- it is part of another storage in the legacy format, that part.
function pt_tensors.parse_id(m, id)
  if not is_list(m, id) and (type(id) ~= "table" or m.kinds[id] ~= "call") then
    fail "a persistent id is no tuple"
  end
  if id[1] == "module" then
    fail("it holds a whole module and not its state; in Python, "
         .. "torch.save(module.state_dict(), path) writes what can be read "
         .. "here")
  end
  local class, key, n = id[2], id[3], id[5]
  if id[1] ~= "storage" or type(class) ~= "table" or
     getmetatable(class) ~= Class or type(key) ~= "string" or
     type(n) ~= "number" or n < 0 or n ~= floor(n) or n >= 2 ^ 48 then
    fail("it has a persistent id that is not of a storage: %s",
         type(class) == "table" and m:describe(class) or "a " .. type(class))
  end
  return key, class, n, id[6]
end

return pt_tensors
