--- What pickles of PyTorch are made of: storages, and the functions that make
-- tensors of storages. Under which names they are called: strided.io.pt.names.
--
-- @module strided.io.pt.tensors

local core = require "strided.core"
local strided_view = require "strided.io.strided_view"

local find, floor, getmetatable, ipairs, rawequal, setmetatable, type =
  string.find, math.floor, getmetatable, ipairs, rawequal, setmetatable, type

local require = require "strided.core".require
local fail = require "strided.io.failure".fail

local DTYPES = {} -- those that files have, by name: what is known of them
for _, d in ipairs(core.dtypes()) do
  if d.pt then DTYPES[d.name] = d end
end

-- -- Storages ----------------------------------------------------------------

-- The class of a storage: dtype, size of an element.
local Class = {name = "a class of storages"}

-- A storage: its elements in a tensor of one dimension. `order` is the byte
-- order of bytes whose dtype is still unknown.
local Storage = {name = "a storage", is_argument = true}

local pt_tensors = {DTYPES = DTYPES}

local function is_a(value, meta)
  return type(value) == "table" and getmetatable(value) == meta
end

function pt_tensors.is_class(value) return is_a(value, Class) end
function pt_tensors.is_storage(value) return is_a(value, Storage) end

--- Makes a class of storages.
function pt_tensors.class(dtype, is_untyped)
  return setmetatable({dtype = dtype, size = DTYPES[dtype].size,
                       is_untyped = is_untyped}, Class)
end

function Storage.unwrap(self) return self.t end

--- Converts bytes in the byte order of the file to elements of a dtype.
local function mend(storage, t, dtype)
  local unit = DTYPES[dtype].unit
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
  local all = storage.t:numel()
  if type(first) ~= "number" or type(n) ~= "number" or first < 0 or n < 0 or
     first % 1 ~= 0 or n % 1 ~= 0 or first + n > all then
    fail "a storage is no part of the one that it is said to be of"
  end
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
    storage.as = storage.t:narrow(1, 1, n - n % DTYPES[dtype].size):view(dtype)
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
  if not core.try(t.requires_grad_, t, true) then
    fail "a tensor of integers requires a gradient"
  end
  return t
end

local function make(m, storage, args, dtype)
  if not is_a(storage, Storage) or not is_list(m, args[3]) or
     not is_list(m, args[4]) then
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
  local ok, negative = core.try(t._neg_view, t)
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
    local name = type(dtype) == "string" and dtype or m:describe(dtype)
    fail("a tensor has the dtype %s, which has no equivalent here; in Python, "
         .. "save t.%s", name,
         find(name, "complex") and "to(torch.complex64)" or "float()")
  end
  local t = make(m, args[1], args, dtype)
  t = t and apply_bits(m, t, args[8])
  return t and require_grad(t, args[5])
end

--- A parameter. Attributes that it has in Python, a fourth argument, have no
-- place in a tensor and are left out.
local function rebuild_parameter(_, args)
  if not core.is_tensor(args[1]) then return nil end
  return require_grad(args[1]:detach(), args[2])
end

-- Classes of tensors that are no more than that.
local PLAIN = {
  ["torch.Tensor"] = true, ["torch.nn.parameter.Parameter"] = true,
  ["torch.nn.parameter.Buffer"] = true,
}

--- A tensor with attributes, or of a subclass: a function, the class, the
-- arguments, and the attributes, which are left out.
local function rebuild_from_type(m, args)
  if not is_list(m, args[3]) and m.kinds[args[3]] ~= "call" then return nil end
  local class = m:describe(args[2])
  if not PLAIN[class] then
    fail("it has a tensor of the class %s; in Python, save "
         .. "t.as_subclass(torch.Tensor)", class)
  end
  local t, why = m:call(args[1], "call", args[3])
  if core.is_tensor(t) then return t end
  return nil, why
end

--- A tensor of a device that PyTorch saves by way of the CPU: elements, dtype,
-- device, requires_grad.
local function rebuild_device(m, args)
  local t, dtype = args[1], args[2]
  if not core.is_tensor(t) or not DTYPES[dtype] then return nil end
  if t.dtype ~= dtype then
    m:spend_tensor(t:numel() * DTYPES[dtype].size)
    t = t:to {dtype = dtype}
  end
  return require_grad(t:detach(), args[4])
end

--- A tensor without elements: dtype, sizes, strides, requires_grad.
local function rebuild_meta(m, args)
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

-- -- Objects of PyTorch before 0.4 --------------------------------------------

-- A tensor or parameter that BUILD completes: it is `t` then.
local Object = {}

function Object.unwrap(self) return self.t end

--- Sets the state: storage, offset, sizes and strides; or what a Variable had,
-- its tensor in front or not: requires_grad, volatile, hooks.
function Object.build(m, self, state)
  local kind = type(state) == "table" and m.kinds[state]
  if kind ~= "tuple" and kind ~= "call" then
    fail("the state of %s is no tuple", self.class)
  end
  if #state == 4 then
    self.t = make(m, state[1], state)
  elseif #state == 5 and core.is_tensor(state[1]) then
    self.t = require_grad(state[1]:detach(), state[4])
  elseif #state == 3 and self.t then
    self.t = require_grad(self.t:detach(), state[1])
  else
    fail("the state of %s is another than PyTorch's", self.class)
  end
end

--- A function that makes such an object of a tensor or of nothing.
local function object_of(class, is_variable)
  local meta = {name = class, unwrap = Object.unwrap, build = Object.build}
  return function(_, args)
    local t = args[1]
    if t ~= nil and (not is_variable or not core.is_tensor(t)) then
      return nil
    end
    return setmetatable({t = t, class = class}, meta)
  end
end

--- A Variable or Parameter that is called: its tensor, requires_grad.
local function variable_of(default)
  return function(_, args)
    if not core.is_tensor(args[1]) then return nil end
    local is_wanted = args[2]
    if is_wanted == nil then is_wanted = default end
    return require_grad(args[1]:detach(), is_wanted)
  end
end

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
  if id[1] ~= "storage" or not is_a(class, Class) or type(key) ~= "string" or
     type(n) ~= "number" or n < 0 or n ~= floor(n) or n >= 2 ^ 48 then
    local why = m:refusal(class)
    if why then fail("%s", why) end
    fail("it has a persistent id that is not of a storage: %s",
         type(class) == "table" and m:describe(class) or "a " .. type(class))
  end
  return key, class, n, id[6]
end

pt_tensors.calls = {
  _rebuild_tensor = rebuild_v1, _rebuild_tensor_v2 = rebuild_v2,
  _rebuild_tensor_v3 = rebuild_v3, _rebuild_parameter = rebuild_parameter,
  _rebuild_parameter_with_state = rebuild_parameter,
  _rebuild_meta_tensor_no_storage = rebuild_meta,
  _rebuild_device_tensor_from_numpy = rebuild_device,
  _rebuild_device_tensor_from_cpu_tensor = rebuild_device,
  _rebuild_xla_tensor = rebuild_device,
}
pt_tensors.rebuild_from_type = rebuild_from_type
pt_tensors.object_of, pt_tensors.variable_of = object_of, variable_of
pt_tensors.is_list = is_list

return pt_tensors
