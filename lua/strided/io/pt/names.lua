--- What pickles of PyTorch may name: all that torch.load allows itself with
-- weights_only, and names of PyTorch before 0.4. A name that has no equivalent
-- here, as those of sparse tensors, is refused with what to do.
--
-- * A dtype, layout, device or quantization scheme becomes its name.
-- * The attributes of a tensor are left out.
--
-- @module strided.io.pt.names

local builtins = require "strided.io.pickle.builtins"
local numpy = require "strided.io.pickle.numpy"
local pt_tensors = require "strided.io.pt.tensors"

local find, format, gmatch, ipairs, match, pairs, type = string.find,
  string.format, string.gmatch, ipairs, string.match, pairs, type

local names = {}

for _, list in ipairs {builtins.names, numpy.names} do
  for name, entry in pairs(list) do names[name] = entry end
end

-- -- Storages ----------------------------------------------------------------

for dtype, known in pairs(pt_tensors.DTYPES) do
  if known.pt ~= "" then
    local class = pt_tensors.class(dtype)
    for _, module in ipairs {"torch.", "torch.cuda.", "torch.storage."} do
      names[module .. known.pt .. "Storage"] = {value = class}
    end
  end
end

local untyped = pt_tensors.class("uint8", true)
for name in gmatch("torch.UntypedStorage torch.storage.UntypedStorage "
                   .. "torch.storage._UntypedStorage", "%S+") do
  names[name] = {value = untyped}
end

-- -- Names as data -----------------------------------------------------------

-- Dtypes that tensors have only in PyTorch, and quantization schemes.
local WORDS = "bits8 bits16 bits1x8 "
  .. "bits2x4 bits4x2 qint8 qint32 quint8 quint2x4 quint4x2 int1 int2 int3 "
  .. "int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7 "
  .. "per_tensor_affine per_tensor_symmetric per_channel_affine "
  .. "per_channel_symmetric per_channel_affine_float_qparams"

for word in gmatch(WORDS, "%S+") do names["torch." .. word] = {value = word} end
for dtype in pairs(pt_tensors.DTYPES) do
  names["torch." .. dtype] = {value = dtype}
end

names["torch.Size"] = {call = function(m, args)
  if pt_tensors.is_list(m, args[1]) then return args[1] end
end}

names["torch.device"] = {call = function(_, args)
  local kind, index = args[1], args[2]
  if type(kind) ~= "string" then return nil end
  if index == nil and find(kind, "^%l+:%d%d?%d?$") then return kind end
  if not find(kind, "^%l+$") or #kind > 32 then return nil end
  if index == nil then return kind end
  if type(index) == "number" and index >= 0 and index < 1000 and
     index % 1 == 0 then
    return format("%s:%.0f", kind, index)
  end
end}

names["torch.serialization._get_layout"] = {call = function(_, args)
  return type(args[1]) == "string" and match(args[1], "^torch%.([%l_]+)$") or
         nil
end}

-- -- Tensors -----------------------------------------------------------------

for name, call in pairs(pt_tensors.calls) do
  names["torch._utils." .. name] = {call = call}
end
names["torch._tensor._rebuild_from_type_v2"] =
  {call = pt_tensors.rebuild_from_type}

for _, row in ipairs {
  {"torch.nn.parameter.Parameter", true},
  {"torch.autograd.variable.Variable", false},
} do
  names[row[1]] = {call = pt_tensors.variable_of(row[2]),
                   make = pt_tensors.object_of(row[1], true)}
end

--- A name that is refused.
local function refuse(name, what, advice)
  names[name] = {refuse = format("it has %s, and there are none here; in "
                                 .. "Python, save %s", what, advice)}
end

local DENSE = {"sparse tensors", "t.to_dense()"}

for kind in gmatch("Byte Char Short Int Long Half BFloat16 Float Double Bool",
                   "%S+") do
  local class = kind .. "Tensor"
  for _, module in ipairs {"torch.", "torch.cuda."} do
    names[module .. class] =
      {make = pt_tensors.object_of(module .. class, false)}
    refuse(module .. "sparse." .. class, DENSE[1], DENSE[2])
  end
end
names["torch.Tensor"] = {make = pt_tensors.object_of("torch.Tensor", false)}

refuse("torch._utils._rebuild_sparse_tensor", DENSE[1], DENSE[2])
refuse("torch._utils._rebuild_sparse_csr_tensor", DENSE[1], DENSE[2])
refuse("torch._utils._rebuild_nested_tensor", "nested tensors", "t.unbind()")
refuse("torch._utils._rebuild_wrapper_subclass", "tensors of a class that "
       .. "keeps its elements elsewhere", "plain tensors")
for name in gmatch("torch._utils._rebuild_qtensor torch.QInt8Storage "
                   .. "torch.QInt32Storage torch.QUInt8Storage "
                   .. "torch.QUInt2x4Storage torch.QUInt4x2Storage", "%S+") do
  refuse(name, "quantized tensors", "t.dequantize()")
end

return names
