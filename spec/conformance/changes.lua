--- What PyTorch answers otherwise since 1.13, which wrote golden/ops and
-- golden/engine: golden/ops-2.15/README.md has the table. strided follows 2.15.
-- A rule is for a case of which 1.13's answer is another one, and says what
-- 2.15's is; the replay then checks that.

local st = require("spec.conformance.api").st
local null = require("spec.conformance.reader").null

local changes = {}

local function is_tensor(v) return type(v) == "table" and v.shape ~= nil end

local function copy(x)
  if type(x) ~= "table" then return x end
  local out = {}
  for k, v in pairs(x) do out[k] = copy(v) end
  return out
end

local function contiguous(shape)
  local strides, step = {}, 1
  for d = #shape, 1, -1 do
    strides[d] = step
    step = step * math.max(shape[d], 1)
  end
  return strides
end

-- -- Rules: of an operator, gives the case as 2.15 would have written it -----

local function is_nan(v)
  return type(v) == "table" and v.float == "nan"
end

local function fill_with_nan(list)
  for i = 1, #list do list[i] = "nan" end
end

--- A bound that is NaN makes every element NaN.
local function clamp(case)
  local min, max = case.kwargs.min or case.args[2],
                   case.kwargs.max or case.args[3]
  if not (case.expect and (is_nan(min) or is_nan(max))) or
     case.expect.mutated then
    return nil
  end
  local new = copy(case)
  for _, want in ipairs(new.expect.out) do fill_with_nan(want.storage) end
  return new
end

--- Negative padding may leave a dimension of size 0.
local function pad(case)
  local self, padding = case.args[1], case.args[2] or case.kwargs.pad
  if case.error ~= "shape" then return nil end
  local shape, empty = copy(self.shape), false
  for i = 1, #padding do
    local d = #shape - math.floor((i - 1) / 2)
    shape[d] = shape[d] + padding[i]
  end
  for _, n in ipairs(shape) do
    if n < 0 then return nil end
    empty = empty or n == 0
  end
  if not empty then return nil end
  local new = copy(case)
  new.error = nil
  new.expect = {out = {{dtype = self.dtype, shape = shape, offset = 0,
                        strides = contiguous(shape), storage = {}}}}
  return new
end

--- Positions wrap: the remainder of the size.
local function take_along_dim(case)
  local self, index = case.args[1], case.args[2]
  local dim = case.args[3] or case.kwargs.dim
  if case.error ~= "index_range" or type(dim) ~= "number" then return nil end
  local size = self.shape[dim % #self.shape + 1]
  local new = copy(case)
  new.error = nil
  for i, x in ipairs(index.storage) do
    new.args[2].storage[i] = x % size
  end
  return new, true
end

--- The product of two complex vectors; 1.13's build gave 0 for all.
local function dot(case)
  local a, b = case.args[1], case.args[2]
  local want = case.expect and case.expect.out[1]
  if not want or not want.dtype:find "complex" or #a.shape ~= 1 or
     #b.shape ~= 1 or want.storage[1][1] ~= 0 or want.storage[1][2] ~= 0 then
    return nil
  end
  local re, im = 0, 0
  for i = 0, a.shape[1] - 1 do
    local x = a.storage[a.offset + i * a.strides[1] + 1]
    local y = b.storage[b.offset + i * b.strides[1] + 1]
    local xi = case.op == "aten::vdot" and -x[2] or x[2]
    re, im = re + x[1] * y[1] - xi * y[2], im + x[1] * y[2] + xi * y[1]
  end
  local new = copy(case)
  new.expect.out[1].storage = {{re, im}}
  return new
end

local RULES = {
  clamp = {clamp, "a NaN bound gives NaN"},
  clamp_min = {clamp, "a NaN bound gives NaN"},
  clamp_max = {clamp, "a NaN bound gives NaN"},
  constant_pad_nd = {pad, "padding may leave a dimension of 0"},
  take_along_dim = {take_along_dim, "positions wrap"},
  dot = {dot, "not 0"}, vdot = {dot, "not 0"}, matmul = {dot, "not 0"},
}

-- -- bfloat16 with complex numbers -------------------------------------------

local BCOMPLEX = "bfloat16 with a complex number gives bcomplex32"

--- The floating and complex dtypes of tensors with dimensions, of tensors
-- without, and of numbers.
local function dtypes_of(values, found)
  for _, v in pairs(values) do
    if is_tensor(v) then
      local kind = #v.shape > 0 and found.dims or found.zeros
      if v.dtype:find "float" or v.dtype:find "complex" then
        kind[#kind + 1] = v.dtype
      end
    elseif type(v) == "table" and v.complex then
      found.has_number = true
    end
  end
  return found
end

local function all_bfloat16(list)
  for _, name in ipairs(list) do
    if name ~= "bfloat16" then return false end
  end
  return #list > 0
end

local function has_complex(list)
  for _, name in ipairs(list) do
    if name:find "complex" then return true end
  end
  return false
end

--- Do these arguments have the common dtype bcomplex32 by 2.15's promotion? A
-- number takes part by its kind alone, and so does a tensor without dimensions
-- among those with.
local function is_bcomplex(found)
  if all_bfloat16(found.dims) then
    return found.has_number or has_complex(found.zeros)
  end
  return #found.dims == 0 and all_bfloat16(found.zeros) and
         found.has_number == true
end

local function bcomplex(case)
  local found = {dims = {}, zeros = {}}
  dtypes_of(case.args, found)
  dtypes_of(case.kwargs or {}, found)
  return is_bcomplex(found)
end

--- The answer of where, which moves elements of bcomplex32; nil for others.
local function in_bcomplex(case)
  if not case.op:find "^aten::where" then return nil end
  local new = copy(case)
  new.expect.out[1].dtype = "bcomplex32"
  return new
end

--- Whether result_type of these operands ("d:bf", "z:c4", "w:pc") is bcomplex32
-- since then.
function changes.is_bcomplex(...)
  local found = {dims = {}, zeros = {}}
  local names = {bf = "bfloat16", f2 = "float", f4 = "float", f8 = "float",
                 c4 = "complex", c8 = "complex"}
  for _, text in ipairs {...} do
    local kind, code = text:match "^(.):(.+)$"
    local list = kind == "d" and found.dims or kind == "z" and found.zeros
    if list and names[code] then list[#list + 1] = names[code] end
    if code == "pc" then found.has_number = true end
  end
  return is_bcomplex(found) and BCOMPLEX or nil
end

-- ----------------------------------------------------------------------------

--- For a case of an operator: why its answer is another one now, and the case
-- with the new answer; or, then true, a case that has to give the same. For
-- bcomplex32, which has no arithmetic, the second is what our message has to
-- name. Nil if nothing changed.
function changes.of_call(case)
  local rule = RULES[case.op:match "^aten::([%w_]-)_?%.?$" or
                     case.op:match "^aten::([%w_]-)_?%."]
  if rule then
    local new, is_same = rule[1](case)
    if new then return "changed since 1.13: " .. rule[2], new, is_same end
  end
  if case.expect and bcomplex(case) then
    return "changed since 1.13: " .. BCOMPLEX, in_bcomplex(case) or "bcomplex32"
  end
end

--- For result_type of tensors and numbers: the dtype it is now, or nil.
function changes.of_result_type(case)
  return bcomplex(case) and "bcomplex32" or nil
end

-- -- Gradients ---------------------------------------------------------------

changes.TIES = "gradients where two arguments are equal"

--- value, with the gradients that the parts say: pairs of an argument and a
-- tensor of the part that it gets.
local function with_parts(value, ...)
  local linear = 0
  for i = 1, select("#", ...), 2 do
    local x, part = select(i, ...)
    linear = x * part:to(x.dtype) + linear
  end
  return linear + (value:detach() - linear:detach())
end

local function half(mask) return mask:to("float64") / 2 end

--- Of the greater one, or the less one: ties are halved.
local function of_two(name, above)
  return function(x, y)
    local a, b = x:detach(), y:detach()
    local first, second = a:gt(b), b:gt(a)
    if not above then first, second = second, first end
    local tie = half(a:eq(b))
    return with_parts(st.ops.aten[name](x, y), x, tie + first, y,
                      tie + second)
  end
end

local function clamp_number(x, min, max)
  local inside = x:detach():eq(x:detach())
  if min ~= nil then inside = inside:logical_and(x:detach():gt(min)) end
  if max ~= nil then inside = inside:logical_and(x:detach():lt(max)) end
  return with_parts(st.ops.aten.clamp(x, min, max), x, inside)
end

local function clamp_tensors(x, min, max)
  if max == nil then return of_two("maximum", true)(x, min) end
  if min == nil then return of_two("minimum", false)(x, max) end
  local a, low, high = x:detach(), min:detach(), max:detach()
  local open = low:lt(high)
  local on_low = half(a:eq(low):logical_and(open))
  local on_high = half(a:eq(high):logical_and(open))
  local outside = a:lt(low):logical_or(a:gt(high))
  local inside = (1 - on_low - on_high) * outside:logical_not()
  local under = a:lt(low):logical_and(low:le(high))
  local over = a:gt(high):logical_and(low:le(high)):logical_or(high:lt(low))
  return with_parts(st.ops.aten.clamp.Tensor(x, min, max), x, inside,
                    min, on_low + under, max, on_high + over)
end

local function next_after(x, y)
  local differ = x:detach():ne(y:detach())
  return with_parts(st.ops.aten.nextafter(x, y), x, differ, y, differ * 0)
end

--- Operators whose gradients are others now, with the present ones: composed of
-- sums and products with constants.
changes.SUBSTITUTES = {
  ["aten::clamp"] = clamp_number, ["aten::clamp.Tensor"] = clamp_tensors,
  ["aten::clamp_min"] = function(x, min) return clamp_number(x, min, nil) end,
  ["aten::clamp_max"] = function(x, max) return clamp_number(x, nil, max) end,
  ["aten::clamp_min.Tensor"] = of_two("maximum", true),
  ["aten::clamp_max.Tensor"] = of_two("minimum", false),
  ["aten::fmax"] = of_two("fmax", true),
  ["aten::fmin"] = of_two("fmin", false),
  ["aten::nextafter"] = next_after,
}

local BIAS = "zeros for the bias of group_norm, not none"

local function biases_of(case)
  local found = {}
  for _, step in ipairs(case.kwargs.steps) do
    local bias = step.op == "aten::group_norm" and
                 (step.args[4] or step.kwargs and step.kwargs.bias)
    if type(bias) == "table" and bias.v then found[bias.v] = true end
  end
  return found
end

--- Why a program may give other gradients since 1.13, or nil.
function changes.of_program(case)
  for _, step in ipairs(case.kwargs.steps) do
    if changes.SUBSTITUTES[step.op] then return changes.TIES end
  end
  return next(biases_of(case)) ~= nil and BIAS or nil
end

--- The program, where the last gradients of such a bias are zeros, not none.
function changes.with_zero_bias(case)
  local new, biases = copy(case), biases_of(case)
  local step = case.kwargs.steps[#case.kwargs.steps]
  local total = #case.expect.wants_grad
  for k, input in ipairs(step.op == "grad" and step.inputs or {}) do
    local number = total - #step.inputs + k - 1
    for i, value in ipairs(case.kwargs.report) do
      if value == number and biases[input] and
         new.expect.values[i] == null then
        local leaf, zeros = case.args[input + 1], {}
        for j = 1, leaf.shape[1] do zeros[j] = 0 end
        new.expect.values[i] = {dtype = leaf.dtype, shape = leaf.shape,
                                strides = {1}, offset = 0, storage = zeros}
      end
    end
  end
  return new
end

return changes
