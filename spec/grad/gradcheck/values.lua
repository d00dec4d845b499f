--- Descriptions of arguments, and the tensors that they describe.

local st = require "strided"

local getmetatable, ipairs, pairs, setmetatable, type = getmetatable, ipairs,
  pairs, setmetatable, type

local values = {}

local Random, Constant = {}, {} -- metatables of descriptions

--- Stands for an argument that is none.
values.none = st.none

-- -- Describing --------------------------------------------------------------

local function random(low, high, either_sign, ...)
  return setmetatable({low = low, high = high, either_sign = either_sign,
                       dtype = "float64", shape = {...}}, Random)
end

--- Numbers of either sign, none near 0.
function values.any(...) return random(0.2, 2, true, ...) end

function values.positive(...) return random(0.3, 2, false, ...) end

--- Of either sign, below 1.
function values.small(...) return random(0.1, 0.9, true, ...) end

function values.between(low, high, ...) return random(low, high, false, ...) end

function values.above(low, ...)
  return random(low + 0.2, low + 2, false, ...)
end

function values.complex(...)
  local d = random(0.2, 1.5, true, ...)
  d.dtype = "complex128"
  return d
end

--- A tensor of a number or of nested lists, whose gradient is wanted or not.
function values.constant(dtype, data, has_gradient)
  return setmetatable({dtype = dtype, data = data,
                       has_gradient = has_gradient}, Constant)
end

-- -- Making ------------------------------------------------------------------

local function uniform(d, shape, generator)
  local options = {dtype = "float64", generator = generator}
  local t = st.rand(shape, options):mul_(d.high - d.low):add_(d.low)
  if not d.either_sign then return t end
  return t:mul_(st.rand(shape, options):gt(0.5):mul(2):sub(1))
end

local function elements(d, generator)
  if getmetatable(d) == Constant then
    return st.tensor(d.data, {dtype = d.dtype})
  end
  if d.dtype == "float64" then return uniform(d, d.shape, generator) end
  local pairs_of = {}
  for i, n in ipairs(d.shape) do pairs_of[i] = n end
  pairs_of[#pairs_of + 1] = 2
  return st.view_as_complex(uniform(d, pairs_of, generator))
end

--- A tensor like t with gaps between the elements, the first dimension the
-- fastest. The gaps are zeros, for as_strided may look into them.
local function spread(t)
  local strides, step = {}, 2
  for i, n in ipairs(t.shape) do
    strides[i] = step
    step = step * n
  end
  local memory = st.zeros(step, {dtype = t.dtype})
  return memory:as_strided(t.shape, strides):detach()
end

--- The description of a tensor whose sizes are others, if there is a `size`.
local function resized(d, size)
  if not size or getmetatable(d) ~= Random then return d end
  local out, shape = {}, {}
  for k, v in pairs(d) do out[k] = v end
  for i, n in ipairs(d.shape) do shape[i] = size(n) end
  out.shape = shape
  return setmetatable(out, Random)
end

local function leaf(d, maker)
  d = resized(d, maker.size)
  local t = elements(d, maker.generator)
  if maker.layout == "spread" then t = spread(t):copy_(t) end
  if getmetatable(d) == Random or d.has_gradient then
    t = t:detach():requires_grad_()
    maker.leaves[#maker.leaves + 1] = t
  end
  return t
end

local function make(x, maker)
  local meta = type(x) == "table" and getmetatable(x)
  if meta == Random or meta == Constant then return leaf(x, maker) end
  if type(x) ~= "table" then return x end
  local out = {}
  for k, v in pairs(x) do out[k] = make(v, maker) end
  return out
end

--- The arguments that a call describes, `dense` left out, and the list of those
-- whose gradients are wanted. layout: "dense" or "spread". seed: of random
-- elements. size: nil, or what a size of random tensors becomes.
function values.make(call, layout, seed, size)
  local maker = {leaves = {}, layout = layout, size = size,
                 generator = st.Generator(seed or 42)}
  local args = {}
  for i, x in ipairs(call) do args[i] = make(x, maker) end
  return args, maker.leaves
end

--- The arguments as the operator gets them: the first one prepared.
function values.prepared(call, args)
  if not call.prepare then return args end
  local out = {}
  for i, x in ipairs(args) do out[i] = x end
  out[1] = call.prepare(args[1])
  return out
end

return values
