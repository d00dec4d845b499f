--- Replays engine/opinfo: a public Python function on sample inputs. The
-- overload is the first whose schema takes the arguments.

local api = require "spec.conformance.api"
local reader = require "spec.conformance.reader"
local values = require "spec.conformance.values"

local unpack = unpack or table.unpack

local st, null = api.st, reader.null
local show, same = values.show_list, values.same_list
local byte, char, floor, format = string.byte, string.char, math.floor,
                                  string.format

local opinfo = {}

-- relative, absolute; by the dtype of the result. The samples carry none.
opinfo.TOLERANCES = {
  float16 = {1e-3, 1e-5}, bfloat16 = {1.6e-2, 1e-5},
  float32 = {1.3e-6, 1e-5}, float64 = {1e-7, 1e-7},
  complex64 = {1.3e-6, 1e-5}, complex128 = {1e-7, 1e-7},
}

-- Functions that only move or select elements are exact.
local EXACT = {}
for name in ([[cat chunk expand gather index_select movedim narrow permute
               reshape sort split squeeze stack tile tril unbind unfold view
               where]]):gmatch "%S+" do
  EXACT[name] = true
end

-- -- Values ------------------------------------------------------------------

local DIGITS = {}
do
  local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" ..
                   "0123456789+/"
  for i = 1, 64 do DIGITS[alphabet:byte(i)] = i - 1 end
end

local function from_base64(text)
  local out = {}
  for i = 1, #text, 4 do
    local a, b, c, d = byte(text, i, i + 3)
    local n = DIGITS[a] * 262144 + DIGITS[b] * 4096 +
              (DIGITS[c] or 0) * 64 + (DIGITS[d] or 0)
    local three = char(floor(n / 65536), floor(n / 256) % 256, n % 256)
    out[#out + 1] = three:sub(1, DIGITS[d] and 3 or DIGITS[c] and 2 or 1)
  end
  return table.concat(out)
end

--- Elements in logical order, put where the strides say.
local function tensor(v)
  local dtype = values.codes[v.t]
  local size = values.size(dtype)
  local data = from_base64(v.data)
  local place = {}
  local n = values.extent(v.size, v.stride)
  for i = 1, n do place[i] = ("\0"):rep(size) end
  for k, at in ipairs(values.offsets(v.size, v.stride)) do
    place[at + 1] = data:sub((k - 1) * size + 1, k * size)
  end
  return api.view(api.storage(dtype, n, table.concat(place)), v.size,
                  v.stride, 0)
end

local function hex_float(text)
  local special = {nan = 0 / 0, inf = math.huge, ["-inf"] = -math.huge}
  if special[text] then return special[text] end
  local sign, whole, fraction, exponent =
    text:match "^(-?)0x(%d)%.?(%x*)p([+-]?%d+)$"
  local m = tonumber(whole)
  for i = 1, #fraction do
    m = m + tonumber(fraction:sub(i, i), 16) * 16 ^ -i
  end
  return (sign == "-" and -1 or 1) * math.ldexp(m, tonumber(exponent))
end

--- The value, and what kind of schema argument takes it.
local function decode(v)
  if v == null then return nil, "None" end
  if type(v) == "number" then return reader.integer(v), "int" end
  if type(v) == "boolean" then return v, "bool" end
  if type(v) == "string" then return v, "str" end
  if v.t then return tensor(v), "Tensor" end
  if v.f then return st.float(hex_float(v.f)), "float" end
  if v.c then
    return st.complex(hex_float(v.c[1]), hex_float(v.c[2])), "complex"
  end
  if v.dtype then return values.codes[v.dtype], "ScalarType" end
  if v.memory_format then return v.memory_format, "MemoryFormat" end
  local list, kind = {}, "int"
  for i = 1, #v do list[i], kind = decode(v[i]) end
  return list, kind .. "[]"
end

-- -- Overloads ---------------------------------------------------------------

local TAKES = {
  Tensor = {Tensor = true}, str = {str = true}, bool = {bool = true},
  int = {int = true, Dim = true, Index = true, End = true, Scalar = true,
         float = true},
  float = {float = true, Scalar = true}, complex = {Scalar = true},
  ScalarType = {ScalarType = true}, MemoryFormat = {MemoryFormat = true},
}

local function takes(argument, kind)
  if kind == "None" then return argument.optional end
  local element = kind:match "^(.*)%[%]$"
  if element then
    return argument.list and TAKES[element][argument.kind] == true
  end
  return TAKES[kind][argument.kind] == true and
         (not argument.list or kind == "int")
end

local function fits(arguments, kinds, keyword_kinds)
  for i = 1, #kinds do
    local a = arguments[i]
    if not a or a.keyword or not takes(a, kinds[i]) then return false end
  end
  for name, kind in pairs(keyword_kinds) do
    if not arguments[name] or not takes(arguments[name], kind) then
      return false
    end
  end
  for i = #kinds + 1, #arguments do
    local a = arguments[i]
    if not a.default and not keyword_kinds[a.name] then return false end
  end
  return true
end

local function find_overload(name, kinds, keyword_kinds)
  for _, full in ipairs(api.overloads("aten::" .. name)) do
    if fits(api.operator(full).arguments, kinds, keyword_kinds) then
      return full
    end
  end
end

-- -- Results -----------------------------------------------------------------

local function compare(t, want, name)
  if not api.is_tensor(t) then return false, "not a tensor" end
  local dtype = values.codes[want.t]
  if api.dtype(t) ~= dtype then
    return false, format("dtype is %s, should be %s", api.dtype(t), dtype)
  end
  if not same(api.shape(t), want.size) then
    return false, format("shape is %s, should be %s", show(api.shape(t)),
                         show(want.size))
  end
  if not same(api.strides(t), want.stride) then
    return false, format("strides are %s, should be %s",
                         show(api.strides(t)), show(want.stride))
  end
  if values.numel(want.size) == 0 then return true end
  local data, size = from_base64(want.data), values.size(dtype)
  local got = api.bytes(t)
  local options = {tol = not EXACT[name] and opinfo.TOLERANCES[dtype] or nil}
  for k, at in ipairs(values.offsets(want.size, want.stride)) do
    local element = data:sub((k - 1) * size + 1, k * size)
    if not values.equal(dtype, got, at * size + 1, element, options) then
      return false, format("element %d is %s, should be %s", k,
                           values.show(dtype, got, at * size + 1),
                           values.show(dtype, element, 1))
    end
  end
  return true
end

local function compare_all(results, want, name)
  if want.t then return compare(results[1], want, name) end
  local list = #results == 1 and type(results[1]) == "table" and results[1]
               or results
  if #list ~= #want then
    return false, format("%d results, should be %d", #list, #want)
  end
  for i = 1, #want do
    local ok, why = compare(list[i], want[i], name)
    if not ok then return false, format("result %d: %s", i, why) end
  end
  return true
end

-- -- A case ------------------------------------------------------------------

local function collect(case)
  local args, kinds = {}, {}
  args[1], kinds[1] = decode(case.input)
  for i, v in ipairs(case.args) do args[i + 1], kinds[i + 1] = decode(v) end
  args.n = #case.args + 1
  -- the sample's function is where(self, condition, other)
  if case.op == "where" then args[1], args[2] = args[2], args[1] end
  local kwargs, keyword_kinds = {}, {}
  for k, v in pairs(case.kwargs) do kwargs[k], keyword_kinds[k] = decode(v) end
  return args, kinds, kwargs, keyword_kinds
end

function opinfo.check(case)
  local name = case.op:gsub("^nn%.functional%.", "")
  local args, kinds, kwargs, keyword_kinds = collect(case)
  local full = find_overload(name, kinds, keyword_kinds)
  if not full then return nil, case.op end
  local results = {pcall(api.call, full, args, kwargs)}
  if not results[1] then return false, "raised: " .. tostring(results[2]) end
  return compare_all({unpack(results, 2)}, case.out, name)
end

return opinfo
