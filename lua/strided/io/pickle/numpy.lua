--- NumPy's scalars and arrays in pickles. Scalars become numbers, booleans or
-- complex numbers; arrays become tensors.
--
-- @module strided.io.pickle.numpy

local descr = require "strided.io.npy.descr"
local npy = require "strided.io.npy"
local failure = require "strided.io.failure"
local strided_view = require "strided.io.strided_view"

local getmetatable, ipairs, rawequal, setmetatable, type = getmetatable, ipairs,
  rawequal, setmetatable, type

local require = require "strided.core".require

local clean, fail = failure.clean, failure.fail

-- -- Dtypes ------------------------------------------------------------------

-- A dtype: `code` is NumPy's kind and size, `order` the byte order.
local Dtype = {name = "numpy.dtype"}

function Dtype.build(m, self, state)
  if type(state) ~= "table" or m.kinds[state] ~= "tuple" or
     type(state[2]) ~= "string" or not rawequal(state[4], m.none) or
     not rawequal(state[5], m.none) then
    fail("numpy.dtype %s has no equivalent here", clean(self.code))
  end
  self.order = state[2]
end

local function make_dtype(_, args)
  if type(args[1]) ~= "string" then return nil end
  return setmetatable({code = args[1], order = "|"}, Dtype)
end

--- The tensor of elements in a string.
local function to_tensor(m, dtype, bytes, sizes, strides)
  m:spend_tensor(#bytes)
  local info, why = descr.parse(dtype.order .. dtype.code)
  if not info then fail("an array of NumPy: %s", clean(why)) end
  local n, last = strided_view.check(sizes, strides)
  if n * info.size ~= #bytes or n > 0 and last ~= n - 1 then
    fail("an array of NumPy needs %.0f bytes and has %.0f", n * info.size,
         #bytes)
  end
  local st = require "strided"
  local t = st.frombuffer(bytes, {dtype = info.dtype, shape = {n}})
  npy.mend(t, {unit = info.swap})
  if n == 0 then return t:new_empty(sizes) end
  return t:as_strided(sizes, strides, 0)
end

--- The strides of a shape in C order, or in Fortran order.
local function strides_of(sizes, fortran)
  local strides, step = {}, 1.0
  for i = 1, #sizes do
    local k = fortran and i or #sizes + 1 - i
    strides[k] = step
    if type(sizes[k]) ~= "number" then fail "an array of NumPy has no shape" end
    if sizes[k] > 1 then step = step * sizes[k] end
  end
  return strides
end

-- -- Scalars and arrays ------------------------------------------------------

local function is_dtype(value)
  return type(value) == "table" and getmetatable(value) == Dtype
end

local function scalar(m, args)
  if not is_dtype(args[1]) then return nil end
  if type(args[2]) ~= "string" then
    fail("numpy.dtype %s has no equivalent here", clean(args[1].code))
  end
  return to_tensor(m, args[1], args[2], {}, {}):item()
end

-- An array: its tensor is `t` once its state is set.
local Array = {name = "numpy.ndarray"}

function Array.unwrap(self) return self.t end

--- The state is a version, the shape, the dtype, whether it is in Fortran
-- order, and the elements.
function Array.build(m, self, state)
  local kind = type(state) == "table" and m.kinds[state]
  local sizes = kind == "call" and state[2]
  if type(sizes) ~= "table" or m.kinds[sizes] ~= "tuple" or
     not is_dtype(state[3]) or type(state[5]) ~= "string" then
    fail("an array of NumPy has elements that are no numbers: %s",
         kind == "call" and is_dtype(state[3]) and clean(state[3].code) or
         "its state")
  end
  self.t = to_tensor(m, state[3], state[5], sizes,
                     strides_of(sizes, state[4] == true))
end

local function reconstruct(m, args)
  local class = args[1]
  if m:describe(class) ~= "numpy.ndarray" then return nil end
  return setmetatable({}, Array)
end

--- Bytes, dtype, shape, and the order, "C" or "F".
local function from_buffer(m, args)
  local sizes = args[3]
  if type(args[1]) ~= "string" or not is_dtype(args[2]) or
     type(sizes) ~= "table" or m.kinds[sizes] ~= "tuple" then
    return nil
  end
  return to_tensor(m, args[2], args[1], sizes,
                   strides_of(sizes, args[4] == "F"))
end

local names = {["numpy.dtype"] = {call = make_dtype}}

for _, module in ipairs {"numpy.core.", "numpy._core."} do
  names[module .. "multiarray.scalar"] = {call = scalar}
  names[module .. "multiarray._reconstruct"] = {call = reconstruct}
  names[module .. "numeric._frombuffer"] = {call = from_buffer}
end

return {names = names}
