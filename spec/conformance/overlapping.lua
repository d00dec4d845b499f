--- Random calls of every operator that writes to an argument and reads another
-- tensor, on tensors that are views of one storage.

local api = require "spec.conformance.api"
local core = require "strided.core"
local generator = require "spec.support.random"
local given = require "spec.conformance.arguments"
local overlap = require "spec.conformance.overlap"
local values = require "spec.conformance.values"

local st = api.st
local max = math.max

local overlapping = {}

-- -- Random numbers, the same in every Lua -----------------------------------

local random = generator(1)

function overlapping.seed(n) random = generator(n) end

local function pick(list) return list[random(#list)] end

local function chance(percent) return random(100) <= percent end

-- -- Operators ---------------------------------------------------------------

-- They change the tensor itself, read nothing of the other one, write another
-- dtype than they read, which no case has, or write two tensors of one dtype,
-- which may not share memory but would in a case; or hardly a case fits them.
local LEFT_OUT = {}
for name in ([[set_.source_Tensor resize_as_ resize_as_sparse_ record_stream
               complex.out polar.out view_copy.dtype_out view_as_real_copy.out
               view_as_complex_copy.out linalg_inv_ex.inverse
               linalg_solve_ex.out linalg_lu_factor.out linalg_lu_factor_ex.out
               linalg_lu_solve.out lu_unpack.out multinomial.out
               linalg_svd.U linalg_qr.out linalg_slogdet.out slogdet.out
               linalg_polar.out triangular_solve.X svd.U linalg_lu.out
               linalg_lstsq.out geqrf.a linalg_eig.out linalg_ldl_factor.out
               linalg_ldl_factor_ex.out
               _fft_r2c.out _fft_c2r.out fft_rfft.out fft_rfft2.out
               fft_rfftn.out fft_irfft.out fft_irfft2.out fft_irfftn.out
               fft_hfft.out fft_hfft2.out fft_hfftn.out fft_ihfft.out
               fft_ihfft2.out fft_ihfftn.out
               baddbmm.dtype_out segment_reduce.out index_fill.int_Tensor_out
               index_fill_.int_Tensor bincount.out mm.dtype_out
               bmm.dtype_out addmm.dtype_out as_strided_scatter.out
               ]]):gmatch "%S+" do
  LEFT_OUT["aten::" .. name] = true
end

local function is_overlapping(op)
  local writes, reads = false, false
  for _, a in ipairs(op.arguments) do
    if a.kind == "Tensor" and a.written then writes = true end
    if a.kind == "Tensor" and not a.written then reads = true end
  end
  return writes and reads
end

--- The names of the operators, in order.
function overlapping.operators()
  local list, seen = {}, {}
  for _, name in ipairs((core.operators())) do
    for _, full in ipairs(not seen[name] and name:find "^aten::" and
                          api.overloads(name) or {}) do
      local op = api.operator(full)
      if op and not LEFT_OUT[full] and is_overlapping(op) then
        list[#list + 1] = full
      end
    end
    seen[name] = true
  end
  table.sort(list)
  return list
end

-- -- Layouts -----------------------------------------------------------------

local SHAPES = {
  {4}, {3, 3}, {2, 3}, {2, 2, 2}, {5}, {1, 4}, {3, 3, 3}, {2, 1, 3}, {},
  {1, 2, 3, 3},
}

local ELEMENTS = 96 -- of a storage

--- Strides of a random order and spacing, and how far the last element is.
local function layout(shape, may_repeat)
  local order, strides = {}, {}
  for d = 1, #shape do table.insert(order, random(d), d) end
  local step = chance(25) and 2 or 1
  for i = #order, 1, -1 do
    local d = order[i]
    if may_repeat and chance(8) then
      strides[d] = 0
    else
      strides[d] = step
      step = step * max(shape[d], 1)
    end
  end
  local last = 0
  for d = 1, #shape do last = last + (max(shape[d], 1) - 1) * strides[d] end
  return strides, last
end

--- What a vector says of a tensor: a view of the storage of the case.
local function view(shape, dtype, may_repeat)
  local strides, last = layout(shape, may_repeat)
  if last >= ELEMENTS then return nil end
  local offset = max(0, random(8) - 2)
  return {dtype = dtype, shape = shape, strides = strides, storage_id = 1,
          offset = offset + last < ELEMENTS and offset or 0}
end

local function smaller(shape)
  local out = {}
  for d = 1, #shape do out[d] = chance(25) and 1 or shape[d] end
  while #out > 0 and chance(20) do table.remove(out, 1) end
  return out
end

-- -- Arguments ---------------------------------------------------------------

-- the dtype of the storage, and those that its bytes are read as
local DTYPES = {
  {"float32", "float32", "float32", "float32", "int32"},
  {"float64", "float64"}, {"int64", "int64"}, {"complex64", "complex64"},
  {"int64", "int64", "float64"}, {"uint8", "uint8", "bool", "int8"},
  {"bool", "bool"}, {"bfloat16", "bfloat16"},
}

local POSITIONS = {index = true, indices = true, ind = true, target = true,
                   boundaries = false}
local MASKS = {mask = true, condition = true}

local WORDS = {
  reduce = {"sum", "prod", "amax", "amin", "mean", "add", "multiply",
            "add", "multiply"},
  rounding_mode = {"floor", "trunc"}, indexing = {"ij"}, side = {"left"},
  approximate = {"none", "tanh"}, padding_mode = {"zeros"},
  ord = {"fro", "nuc"}, p = {"fro", "nuc"},
  norm = {"backward", "ortho", "forward"},
}

local NUMBERS = {{float = 0.5}, 1, 2, {float = 2}, -1}

local MAKE = {
  Scalar = function() return pick(NUMBERS) end,
  float = function() return {float = pick {0.5, 1, 2, 0.1}} end,
  bool = function() return chance(50) end,
  Dim = function(rank) return random(2 * max(rank, 1)) - 1 - max(rank, 1) end,
  int = function() return random(3) - 1 end,
}
MAKE.Index, MAKE.End = MAKE.int, MAKE.int

local function make_plain(a, rank)
  if a.kind == "str" then
    return WORDS[a.name] and pick(WORDS[a.name])
  end
  if a.kind == "ScalarType" and not a.optional and a.default == nil then
    return pick {"float32", "float64"}
  end
  local make = MAKE[a.kind]
  if not make then return nil end
  if not a.list then return make(rank) end
  local list = {}
  for i = 1, random(2) do list[i] = make(rank) end
  return list
end

local function dtype_of(a, dtypes)
  if POSITIONS[a.name] then
    return dtypes[1] == "int64" and "int64" or dtypes[2]
  end
  if MASKS[a.name] then return dtypes[1] == "uint8" and "bool" or dtypes[2] end
  return dtypes[random(#dtypes - 1) + 1]
end

local function make_tensor(a, shape, dtypes)
  if a.written then return view(shape, dtype_of(a, dtypes), false) end
  return view(chance(25) and smaller(shape) or shape, dtype_of(a, dtypes),
              true)
end

local function make_tensors(a, shape, dtypes)
  local list = {}
  for i = 1, 1 + random(2) do list[i] = make_tensor(a, shape, dtypes) end
  return list
end

--- The elements: small, so that many are positions, and some are 0.
local function elements(dtype)
  local list = {}
  for i = 1, ELEMENTS do
    local x = random(4) - 1
    if dtype == "bool" then x = x % 2 end
    if dtype == "complex64" then x = {x, random(3) - 2} end
    if dtype:find "float" then x = x + (chance(40) and 0.5 or 0) end
    list[i] = x
  end
  return list
end

--- The arguments of a case: positional ones, and keywords.
local function make_arguments(op, shape, dtypes)
  local args, kwargs, skipped = {}, {}, false
  for i, a in ipairs(op.arguments) do
    local v
    if a.kind == "Tensor" then
      v = (a.list and make_tensors or make_tensor)(a, shape, dtypes)
      if v == nil then return nil end
    else
      v = make_plain(a, #shape)
    end
    local may_miss = a.optional or a.default ~= nil
    if may_miss and (v == nil or chance(a.kind == "Tensor" and 30 or 60)) then
      skipped = true
    elseif v == nil then
      return nil
    elseif a.keyword or skipped then
      kwargs[a.name] = v
    else
      args[i] = v
    end
  end
  return args, kwargs
end

--- For overlap.as_on_copies.
local function maker(case)
  local op = api.operator(case.op)
  return function(apart)
    local seen = given.new(nil, apart)
    local s = {dtype = case.dtype, n = ELEMENTS, bytes = case.bytes}
    s.tensor = api.storage(s.dtype, s.n, s.bytes)
    seen.by_id[1] = s
    local args, kwargs = given.of_call(seen, op, case.args, case.kwargs)
    local written, read = overlap.operands(op, args, kwargs)
    return seen, function()
      st.manual_seed(1)
      return api.call(case.op, args, kwargs)
    end, written, read, kwargs
  end
end

--- Gives the outputs the shapes that the results have. False if the call is
-- refused.
local function fit(case)
  local op, outputs = api.operator(case.op), {}
  for _, a in ipairs(op.arguments) do
    local v = case.kwargs[a.name]
    if a.written and a.keyword and v then
      outputs[a.name] = v
      v.shape, v.strides, v.offset = {0}, {1}, 0
    end
  end
  if next(outputs) == nil then return true end
  local _, call, _, _, kwargs = case.make(true)
  if not pcall(call) then return false end
  for name, v in pairs(outputs) do
    local found = view(api.shape(kwargs[name]), v.dtype, false)
    if not found then return false end
    case.kwargs[name] = found
  end
  return true
end

--- A random case of an operator: `op`, `args`, `kwargs`, and `make` for
-- overlap.as_on_copies. Nil if there is none, or no output shares memory with
-- an input: more calls find others. Two outputs that share memory are refused.
function overlapping.case(name)
  local shape, dtypes = pick(SHAPES), pick(DTYPES)
  local args, kwargs = make_arguments(api.operator(name), shape, dtypes)
  if not args then return nil end
  local case = {
    op = name, args = args, kwargs = kwargs, dtype = dtypes[1],
    bytes = values.pack_list(dtypes[1], elements(dtypes[1])),
  }
  case.make = maker(case)
  if not fit(case) then return nil end
  local _, _, written, read = case.make(false)
  for i = 1, #written do
    for k = i + 1, #written do
      if overlap.between(written[i], written[k]) then return nil end
    end
  end
  return overlap.shared(written, read) and case or nil
end

return overlapping
