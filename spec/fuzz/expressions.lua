--- Random expressions, fused and call by call: the same bits, the same
-- gradients.
--
--     luajit spec/fuzz/expressions.lua [N [SEED]]
--
-- An expression is a tree of pointwise operators over up to four tensors and
-- two numbers, with parts that are used more than once. It becomes an operator
-- (lib:elementwise) and is called as the Lua function that it is, with tensors
-- of random dtypes, shapes that broadcast, and layouts. What one of them
-- refuses the other one has to refuse, too.

local random = require "spec.support.random"
local st = require "strided"

local max, concat = math.max, table.concat
local unpack = unpack or table.unpack

local M = {}

-- -- Numbers -----------------------------------------------------------------

local draw = random(1)

local function chance(p) return draw(1000) <= p * 1000 end
local function pick(list) return list[draw(#list)] end

-- -- Expressions -------------------------------------------------------------

local UNARY = {
  "neg", "abs", "square", "sqrt", "exp", "log", "sin", "cos", "tanh",
  "sigmoid", "relu", "floor", "ceil", "round", "trunc", "sign", "reciprocal",
  "rsqrt", "erf", "log1p", "expm1", "silu", "gelu", "softplus", "isnan",
  "logical_not", "bitwise_not", "positive", "frac", "hardtanh", "atan",
  "cosh", "exp2", "cbrt", "mish", "signbit", "isfinite", "elu", "logit",
  "nan_to_num",
}
local BINARY = {
  "add", "sub", "mul", "div", "maximum", "minimum", "pow", "atan2", "fmod",
  "remainder", "floor_divide", "lt", "le", "gt", "ge", "eq", "ne",
  "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
  "bitwise_xor", "copysign", "hypot", "fmax", "fmin", "heaviside", "xlogy",
}
-- These drive values to where they say most.
local ARITHMETIC = {"add", "sub", "mul", "div", "maximum", "minimum"}

local LITERALS = {0, 1, 2, 3, -1, 0.5, -2.5, 1e-3, 7, 0.1}

local SPECIAL = {
  function(v) return ("%s:clamp {min = -1, max = 2}"):format(v()) end,
  function(v) return ("%s:clamp {min = 0}"):format(v()) end,
  function(v) return ("st.where(%s:lt(%s), %s, %s)"):format(v(), v(), v(),
                                                          v()) end,
  function(v) return ("st.where(%s:ne(0), %s, %s)"):format(v(), v(), v()) end,
  function(v) return ("%s ^ %s"):format(v(), pick {"2", "3", "0.5", "-1",
                                                   "2.5"}) end,
  function(v) return ("st.lerp(%s, %s, 0.3)"):format(v(), v()) end,
  function(v) return ("st.addcmul(%s, %s, %s, {value = 0.5})")
                     :format(v(), v(), v()) end,
  function(v) return ("st.add(%s, %s, {alpha = 2})"):format(v(), v()) end,
  function(v) return ("%s:masked_fill(%s:gt(1), 0.25)"):format(v(), v()) end,
  function(v) return ("%s:to '%s'"):format(v(), pick {"float32", "float64",
                                                      "int32"}) end,
  function(v) return ("%s * k"):format(v()) end,
  function(v) return ("(k + 1) * %s - j"):format(v()) end,
  function(v) return ("st.leaky_relu(%s, k)"):format(v()) end,
  function(v) return ("(%s + 0):mul_(%s)"):format(v(), pick {"2", "k"}) end,
  function(v) return ("st.zeros_like(%s) + %s"):format(v(), v()) end,
}

-- What looks at the sign of a value is shown no NaN: where two meet, either may
-- go on, and they may have different signs.
local function call1(op, v)
  if op == "signbit" then v = ("st.nan_to_num(%s)"):format(v) end
  return ("st.%s(%s)"):format(op, v)
end

local function call2(op, v, w)
  if op == "copysign" and not tonumber(w) then
    w = ("st.nan_to_num(%s)"):format(w)
  end
  return ("st.%s(%s, %s)"):format(op, v, w)
end

--- Source of a function of so many tensors and the numbers k and j.
local function write(ntensors)
  local lines, values = {}, {}
  for i = 1, ntensors do values[i] = "x" .. i end
  -- recent values more often, so that there are long chains
  local function value()
    return values[max(1, #values + 1 - draw(chance(0.7) and 3 or #values))]
  end
  local function operand()
    return chance(0.2) and tostring(pick(LITERALS)) or value()
  end
  for i = 1, draw(10) do
    local line
    if chance(0.3) then line = call1(pick(UNARY), value())
    elseif chance(0.3) then line = pick(SPECIAL)(value)
    else
      local op = pick(chance(0.6) and ARITHMETIC or BINARY)
      line = call2(op, value(), operand())
    end
    lines[i] = ("local v%d = %s"):format(i, line)
    values[#values + 1] = "v" .. i
  end
  local names = {}
  for i = 1, ntensors do names[i] = "x" .. i end
  return ("local st = ...\nreturn function(%s, k, j)\n%s\nreturn %s\nend")
         :format(concat(names, ", "), concat(lines, "\n"), values[#values])
end

-- -- Tensors -----------------------------------------------------------------

local FLOATS = {"float32", "float64"}
local DTYPES = {"float32", "float64", "float32", "int32", "int64", "uint8",
                "bool", "float16", "bfloat16", "complex64"}

local LAYOUTS = {
  function(t) return t end,
  function(t) return t:t():contiguous():t() end,
  function(t) return st.cat({t, t}, 2):narrow(2, 1, t.shape[2]) end,
  function(t) return st.cat({t, t}, 1)["::2, :"]:narrow(1, 1, t.shape[1]) end,
  function(t) return t:flip {1, 2} end,
}

local SIZES = {{3, 5}, {1, 7}, {33, 4}, {64, 65}, {2, 1100}, {1, 1}}

--- A tensor that broadcasts to the size: rows, columns, single elements.
local function make(size, dtype)
  local r, c = size[1], size[2]
  if chance(0.3) then r, c = pick {r, 1}, pick {c, 1} end
  local t = chance(0.1) and st.randn {} or st.randn {r, c}
  if dtype == "bool" then return t:gt(0) end
  if dtype:find "int" then t = (t * 4):round() else t = t * 2 end
  t = t:to(dtype)
  if t.ndim == 0 then return t end
  t = pick(LAYOUTS)(t)
  if chance(0.1) then t[{1, 1}] = dtype:find "int" and 0 or 0 / 0 end
  return t
end

-- -- One round ---------------------------------------------------------------

local function same(a, b)
  if a.dtype ~= b.dtype then return false, "dtype" end
  if #a.shape ~= #b.shape then return false, "rank" end
  for d = 1, #a.shape do
    if a.shape[d] ~= b.shape[d] then return false, "shape" end
  end
  if a:is_complex() then
    a, b = st.view_as_real(a:contiguous()), st.view_as_real(b:contiguous())
  end
  local is_nan = a:ne(a)
  if not is_nan:equal(b:ne(b)) then return false, "NaN" end
  a, b = a:masked_fill(is_nan, 0), b:masked_fill(is_nan, 0)
  if not a:equal(b) then return false, "values" end
  if a:is_floating_point() and not a:signbit():equal(b:signbit()) then
    return false, "signs of zeros"
  end
  return true
end

--- The largest finite element.
local function size_of(t)
  if t:numel() == 0 then return 0 end
  t = t:detach():to "float64"
  return t:where(t:isfinite(), 0):abs():amax():item()
end

--- Where something is added up, in another order: in float64, so that what
-- cancels out is near zero, or near the last places of terms that are as large
-- as what was differentiated. What is infinite on the way may come out as NaN.
local function is_close(a, b, size)
  if a.dtype ~= b.dtype then return false end
  local finite = a:isfinite():logical_and(b:isfinite())
  a, b = a:where(finite, 0), b:where(finite, 0)
  local scale = max(1, size, b:abs():amax():item())
  return st.allclose(a, b, {rtol = 1e-6, atol = 1e-4 * scale})
end

--- The tensors as such where nothing is added up.
local function widened(inputs)
  local out = {}
  for i, t in ipairs(inputs) do
    out[i] = t:is_floating_point() and t:to "float64" or t
  end
  return out
end

--- The gradients of all inputs by a call of f.
local function gradients(f, inputs, k, j, is_twice)
  local own, wanted = {}, {}
  for i, t in ipairs(inputs) do
    own[i] = t:detach()
    if t:is_floating_point() then
      own[i]:requires_grad_()
      wanted[#wanted + 1] = own[i]
    end
  end
  own[#own + 1], own[#own + 2] = k, j
  local y = f(unpack(own))
  if #wanted == 0 or not y.requires_grad or y:is_complex() then
    return {}
  end
  local list = {st.grad(y:sum(), wanted, {allow_unused = true,
                                          create_graph = is_twice})}
  if is_twice and list[1] and list[1].requires_grad then
    list = {st.grad(list[1]:sum(), wanted, {allow_unused = true})}
  end
  return list, size_of(y)
end

local function compare_gradients(source, f, g, inputs, k, j, broadcasts)
  local is_twice = chance(0.2)
  if broadcasts then inputs = widened(inputs) end
  local ok, expected, size = pcall(gradients, g, inputs, k, j, is_twice)
  local ok2, found = pcall(gradients, f, inputs, k, j, is_twice)
  if ok ~= ok2 then
    error(("%s\ngradients: %s, %s"):format(source, tostring(expected),
                                           tostring(found)), 0)
  end
  if not ok then return end
  for i = 1, 4 do
    local a, b = found[i], expected[i]
    if (a == nil) ~= (b == nil) then
      -- a gradient of zeros may as well be none
      local there = a or b
      if there:ne(0):any():item() then
        error(source .. "\ngradient " .. i .. " is missing", 0)
      end
    elseif a and not (broadcasts and is_close or same)(a, b, size) then
      error(("%s\ngradient %d%s\n%s\n%s"):format(source, i,
            is_twice and " of a gradient" or "", tostring(a), tostring(b)), 0)
    end
  end
end

local function is_one_shape(inputs)
  for _, t in ipairs(inputs) do
    if #t.shape ~= 2 or t.shape[1] ~= inputs[1].shape[1] or
       t.shape[2] ~= inputs[1].shape[2] then
      return false
    end
  end
  return true
end

--- What the tensors are, for a report.
local function described(inputs)
  local list = {}
  for i, t in ipairs(inputs) do
    list[i] = ("x%d: %s %s, strides %s"):format(i, tostring(t.dtype),
                                                tostring(t.shape),
                                                concat(t:stride(), ","))
  end
  return "\n" .. concat(list, "\n")
end

--- One expression, three times with other tensors; raises what differs.
function M.round(lib, ops)
  local ntensors = draw(4)
  local source = write(ntensors)
  local body = assert((loadstring or load)(source))(st)
  -- a result has the shape of all tensors, be they used or not
  local function g(...)
    local y, inputs = body(...), {...}
    inputs[#inputs], inputs[#inputs - 1] = nil, nil
    return y:expand_as(st.broadcast_tensors(inputs)[1])
  end
  local args = {}
  for i = 1, ntensors do args[i] = "Tensor x" .. i end
  local schema = "e(" .. concat(args, ", ") .. ", float k, float j) -> Tensor"
  lib:elementwise(schema, body)
  local f = ops.e
  local computed = 0
  for _ = 1, 3 do
    local size = pick(SIZES)
    local inputs, floats = {}, chance(0.6)
    for i = 1, ntensors do
      inputs[i] = make(size, pick(floats and FLOATS or DTYPES))
    end
    local k, j = pick {0.5, 1.5, 0.25}, pick {0.75, -0.5}
    local list = {unpack(inputs)}
    list[#list + 1], list[#list + 2] = k, j
    local ok, expected = pcall(g, unpack(list))
    local ok2, found = pcall(f, unpack(list))
    if ok ~= ok2 then
      error(("%s\ncall by call: %s\nfused: %s"):format(source,
            tostring(expected), tostring(found)), 0)
    end
    if ok then
      local equal, why = same(found, expected)
      if not equal then
        source = source .. described(inputs)
        error(("%s\nk = %g, j = %g: %s\ncall by call: %s\nfused: %s"):format(
              source, k, j, why, tostring(expected), tostring(found)), 0)
      end
      computed = computed + 1
      compare_gradients(source .. described(inputs), f, g, inputs, k, j,
                        not is_one_shape(inputs))
    end
  end
  return computed
end

--- n rounds; how many calls were computed, and a list of what differs.
function M.run(n, seed)
  draw = random(seed)
  st.manual_seed(seed)
  local lib = st.library "fuzzed"
  local wrong, computed = {}, 0
  for i = 1, n do
    local ok, result = pcall(M.round, lib, st.ops.fuzzed)
    if ok then computed = computed + result
    else wrong[#wrong + 1] = ("round %d: %s"):format(i, tostring(result)) end
    if #wrong >= 10 then break end
  end
  lib:close()
  return computed, wrong
end

if arg and arg[0] and arg[0]:find "expressions%.lua$" then
  local computed, wrong = M.run(tonumber(arg[1] or 1000),
                                tonumber(arg[2] or 1))
  for _, text in ipairs(wrong) do print(text, "\n") end
  print(("%d calls computed, %d differ"):format(computed, #wrong))
  os.exit(#wrong == 0 and 0 or 1)
end

return M
