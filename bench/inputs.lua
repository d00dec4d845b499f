--- Creates the inputs of a case from a line of text.
--
--     a, b: f32 1000x1000 -1:1; r: f32 1000x1000 perm=10
--
-- A group names tensors, their dtype and sizes. Further words give the range of
-- the values (0:1), and views, in this order: `perm=201` permutes the
-- dimensions (from 0), `cut=2` leaves out the first two elements of the last
-- one, `keep=3` all after the third, `step=2` takes every second one,
-- `expand=4x3` expands dimensions of size 1. `sorted` sorts along the last
-- dimension, and `diagonal=8` adds 8 to the diagonals of matrices, before a
-- view; `grad` requires a gradient. The dtype `pos` stands
-- for int64 indices from lo to below hi, in the engine's index base.
--
-- The values are a hash of the linear index, before the view, and repeat after
-- a million; workers/peers.py computes the same values.

local st = require "strided"
local ffi = require "ffi"

local bit = require "bit"
local band, bxor, rshift = bit.band, bit.bxor, bit.rshift
local floor, min = math.floor, math.min
local error, ipairs, tonumber, unpack = error, ipairs, tonumber, unpack

local inputs = {}

-- -- The grammar -------------------------------------------------------------

local DTYPES = {
  f16 = "float16", bf16 = "bfloat16", f32 = "float32", f64 = "float64",
  u8 = "uint8", i8 = "int8", i16 = "int16", i32 = "int32", i64 = "int64",
  c64 = "complex64", c128 = "complex128", bool = "bool", pos = "int64",
}

local function numbers(text, pattern)
  local list = {}
  for word in text:gmatch(pattern) do list[#list + 1] = tonumber(word) end
  return list
end

local function parse_word(group, word)
  local lo, hi = word:match "^(%-?[%d.]+):(%-?[%d.]+)$"
  if lo then
    group.lo, group.hi = tonumber(lo), tonumber(hi)
    return
  end
  if word == "grad" or word == "sorted" then
    group[word] = true
    return
  end
  local key, value = word:match "^(%l+)=([%dx]+)$"
  if key == "perm" then group.perm = numbers(value, "%d")
  elseif key == "cut" then group.cut = tonumber(value)
  elseif key == "keep" then group.keep = tonumber(value)
  elseif key == "step" then group.step = tonumber(value)
  elseif key == "diagonal" then group.diagonal = tonumber(value)
  elseif key == "expand" then group.expand = numbers(value, "%d+")
  else error("an input's word is not understood: " .. word, 0) end
end

--- The groups of a line, as {names =, kind =, sizes =, lo =, hi =, ...}.
function inputs.parse(text)
  local groups = {}
  for part in text:gmatch "[^;]+" do
    local names, kind, sizes, rest =
      part:match "^%s*([%l%d_, ]+): (%w+) ([%dx]+)(.*)$"
    if not names or not DTYPES[kind] then
      error("inputs are not understood: " .. part, 0)
    end
    local group = {names = {}, kind = kind,
                   sizes = numbers(sizes, "%d+")}
    for name in names:gmatch "[%w_]+" do
      group.names[#group.names + 1] = name
    end
    for word in rest:gmatch "%S+" do parse_word(group, word) end
    groups[#groups + 1] = group
  end
  return groups
end

-- -- The values --------------------------------------------------------------

local K1, K2, LOW = 0x9E3779B9ULL, 0x85EBCA77ULL, 0xFFFFFFFFULL
local PERIOD = 1000003

--- A number in [0, 1) with 24 bits, for a linear index of a tensor.
local function uniform(i, stream)
  local x = band(K1 * (i + 1) + K2 * stream, LOW)
  x = bxor(x, rshift(x, 15))
  x = band(K2 * x, LOW)
  x = bxor(x, rshift(x, 13))
  return tonumber(rshift(x, 8)) / 16777216
end

-- dtype -> C type of an element, usual range
local FILLS = {
  f32 = {"float"}, f64 = {"double"}, u8 = {"uint8_t", 0, 100},
  i8 = {"int8_t", 0, 100}, i16 = {"int16_t", 0, 100}, i32 = {"int32_t", 0, 100},
  i64 = {"int64_t", 0, 100}, bool = {"uint8_t", 0, 2}, pos = {"int64_t", 0, 1},
}

local function fill(t, group, stream)
  local ctype, lo, hi = unpack(FILLS[group.kind] or FILLS.f32)
  lo, hi = group.lo or lo or 0, group.hi or hi or 1
  local data = ffi.cast(ctype .. "*", t:data_ptr())
  local range, base = hi - lo, group.kind == "pos" and 1 or 0
  local is_real = ctype == "float" or ctype == "double"
  local n = t:numel()
  for i = 0, min(n, PERIOD) - 1 do
    local x = lo + uniform(i, stream) * range
    data[i] = is_real and x or floor(x) + base
  end
  for i = PERIOD, n - 1 do data[i] = data[i - PERIOD] end
end

local function make(group, stream)
  local dtype = DTYPES[group.kind]
  local direct = FILLS[group.kind] ~= nil
  local t = st.empty(group.sizes, {dtype = direct and dtype or "float32"})
  fill(t, group, stream)
  if not direct then t = t:to(dtype) end
  if group.sorted then t = t:sort() end
  if group.diagonal then t:diagonal(0, -2, -1):add_(group.diagonal) end
  if group.perm then
    local dims = {}
    for i, d in ipairs(group.perm) do dims[i] = d + 1 end
    t = t:permute(dims)
  end
  if group.cut then
    local dims = t:dim()
    t = t:slice(dims, 1 + group.cut, t:size(dims))
  end
  if group.keep then t = t:slice(t:dim(), 1, group.keep) end
  if group.step then
    local dims = t:dim()
    t = t:slice(dims, 1, t:size(dims), group.step)
  end
  if group.expand then t = t:expand(group.expand) end
  return group.grad and t:requires_grad_() or t
end

--- The tensors of the groups, by name.
function inputs.make(groups)
  local values, stream = {}, 0
  for _, group in ipairs(groups) do
    for _, name in ipairs(group.names) do
      stream = stream + 1
      values[name] = make(group, stream)
    end
  end
  return values
end

return inputs
