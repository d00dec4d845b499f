--- Draws cases of elementwise operators: of one, two and three tensors, and
-- conversions.

local tensors = require "bench.drawn.tensors"

local IS_FLOAT, NAMES, joined = tensors.IS_FLOAT, tensors.NAMES, tensors.joined

local elementwise = {}

-- -- Tables ------------------------------------------------------------------

--- The rows of a text: words, of which `-` stands for nil.
local function read(text, names)
  local rows = {}
  for line in text:gmatch "[^\n]+" do
    local row, i = {}, 0
    for word in line:gmatch "%S+" do
      i = i + 1
      if word ~= "-" then row[names[i]] = word end
    end
    local lo, hi = (row.range or ""):match "^(.+):(.+)$"
    row.range = lo and {tonumber(lo), tonumber(hi)}
    rows[#rows + 1] = row
  end
  return rows
end

-- The kinds of the result: = those of the input, f of a float, b bool, n bool
-- without out=. NumPy's sinc has no out=.
-- What costs much takes fewer elements: see COSTS.
local UNARY = read([[
  abs          fs  =  -9:9      abs          1
  neg          fs  =  -9:9      negative     1
  sign         fi  =  -9:9      sign         1
  square       fi  =  -9:9      square       1
  floor        f   =  -9:9      floor        1
  ceil         f   =  -9:9      ceil         1
  round        f   =  -9:9      round        1
  trunc        f   =  -9:9      trunc        1
  frac         f   =  -9:9      -            1
  sqrt         fi  f  0:99      sqrt         1
  rsqrt        fi  f  1:99      -            1
  reciprocal   f   f  1:9       reciprocal   1
  deg2rad      f   f  -180:180  deg2rad      1
  rad2deg      f   f  -3:3      rad2deg      1
  nan_to_num   f   =  -9:9      -            1
  isnan        f   n  -9:9      isnan        1
  isinf        f   n  -9:9      isinf        1
  isfinite     f   n  -9:9      isfinite     1
  isposinf     f   b  -9:9      isposinf     1
  signbit      fs  b  -9:9      -            1
  logical_not  fib b  -2:2      logical_not  1
  bitwise_not  ib  =  -99:99    bitwise_not  1
  exp          fi  f  -3:5      exp          2
  cbrt         fi  f  -9:9      cbrt         2
  exp2         fi  f  -3:5      exp2         2
  expm1        fi  f  -3:3      expm1        2
  log          fi  f  1:99      log          2
  log2         fi  f  1:99      log2         2
  log10        fi  f  1:99      log10        2
  log1p        fi  f  0:99      log1p        2
  sin          fi  f  -9:9      sin          2
  cos          fi  f  -9:9      cos          2
  tan          f   f  -1.5:1.5  tan          2
  asin         f   f  -1:1      arcsin       2
  acos         f   f  -1:1      arccos       2
  atan         fi  f  -9:9      arctan       2
  sinh         f   f  -3:3      sinh         2
  cosh         f   f  -3:3      cosh         2
  tanh         fi  f  -3:3      tanh         2
  asinh        f   f  -9:9      arcsinh      2
  acosh        f   f  1:99      arccosh      2
  atanh        f   f  -0.9:0.9  arctanh      2
  sigmoid      fi  f  -6:6      -            2
  logit        f   f  0.1:0.9   -            2
  sinc         f   f  -3:3      -            2
  erf          fi  f  -3:3      -            2
  erfc         f   f  -3:3      -            2
  erfinv       f   f  -0.9:0.9  -            3
  lgamma       f   f  0.5:30    -            3
  digamma      f   f  0.5:30    -            3
  i0           f   f  -5:5      -            3
  special_i0e  f   f  -5:5      -            3
  special_i1   f   f  -5:5      -            3
  special_i1e  f   f  -5:5      -            3
  special_erfcx d  f  -3:5      -            3
  special_log_ndtr f f -3:3     -            3
  special_ndtri f  f  0.1:0.9   -            3
  special_ndtr f   f  -3:3      -            3
  special_entr f   f  0.1:5     -            3
]], {"name", "kinds", "to", "range", "numpy", "cost"})

-- `other` is the range of the second; `number` says that it can be one.
local BINARY = read([[
  add           fi  =  -50:50   -50:50  add           1  number
  add           fi  =  -50:50   -50:50  add           1  number
  sub           fi  =  -50:50   -50:50  subtract      1  number
  mul           fi  =  -9:9     -9:9    multiply      1  number
  mul           fi  =  -9:9     -9:9    multiply      1  number
  div           fi  f  -9:9     1:9     true_divide   1  number
  div           f   f  -9:9     1:9     true_divide   1  number
  maximum       fi  =  -9:9     -9:9    maximum       1  -
  minimum       fi  =  -9:9     -9:9    minimum       1  -
  fmax          fi  =  -9:9     -9:9    fmax          1  -
  fmin          fi  =  -9:9     -9:9    fmin          1  -
  copysign      f   =  -9:9     -9:9    copysign      1  -
  eq            fib b  0:9      0:9     equal         1  number
  ne            fib b  0:9      0:9     not_equal     1  number
  lt            fi  b  0:9      0:9     less          1  number
  le            fi  b  0:9      0:9     less_equal    1  number
  gt            fi  b  0:9      0:9     greater       1  number
  ge            fi  b  0:9      0:9     greater_equal 1  number
  logical_and   bfi b  0:2      0:2     logical_and   1  -
  logical_or    bfi b  0:2      0:2     logical_or    1  -
  logical_xor   bfi b  0:2      0:2     logical_xor   1  -
  bitwise_and   ib  =  0:99     0:99    bitwise_and   1  -
  bitwise_or    ib  =  0:99     0:99    bitwise_or    1  -
  bitwise_xor   ib  =  0:99     0:99    bitwise_xor   1  -
  bitwise_left_shift  i = 0:9   0:3     left_shift    1  -
  bitwise_right_shift i = 0:99  0:3     right_shift   1  -
  floor_divide  di  =  1:99     1:9     floor_divide  3  number
  remainder     di  =  1:99     1:9     remainder     3  number
  fmod          di  =  1:99     1:9     fmod          3  number
  gcd           l   =  1:99     1:99    gcd           3  -
  lcm           l   =  1:99     1:99    lcm           3  -
  pow           d   =  0.1:3    -2:2    power         3  number
  pow           i   =  0:5      0:3     power         3  number
  atan2         f   =  -9:9     1:9     arctan2       3  -
  hypot         f   =  -9:9     -9:9    hypot         2  -
  logaddexp     d   =  -9:9     -9:9    logaddexp     3  -
  logaddexp2    d   =  -9:9     -9:9    logaddexp2    3  -
  xlogy         f   =  0:9      1:9     -             2  -
  heaviside     d   =  -9:9     0:1     heaviside     1  -
  nextafter     d   =  -9:9     -9:9    nextafter     2  -
]], {"name", "kinds", "to", "range", "other", "numpy", "cost", "number"})
for _, row in ipairs(BINARY) do
  local lo, hi = row.other:match "^(.+):(.+)$"
  row.other = {tonumber(lo), tonumber(hi)}
end

-- Kinds of two tensors, and of what they become.
local MIXED = {
  {"f32", "f64", "f64"}, {"i32", "f32", "f32"}, {"u8", "f32", "f32"},
  {"i64", "f64", "f64"}, {"i64", "f32", "f32"}, {"u8", "i32", "i32"},
  {"i16", "i64", "i64"}, {"f16", "f32", "f32"}, {"bf16", "f32", "f32"},
  {"bool", "f32", "f32"}, {"f64", "i32", "f64"},
}

local COSTS = {["1"] = 4e6, ["2"] = 1e6, ["3"] = 2e5}

--- The most elements of an operator's case.
local function most(row, kind)
  local n = COSTS[row.cost]
  return (kind == "f16" or kind == "bf16") and n / 4 or n
end

--- The kind of the result.
local function kind_of(row, kind)
  if row.to == "b" or row.to == "n" then return "bool" end
  return row.to == "f" and not IS_FLOAT[kind] and "f32" or kind
end

local function described(op, kind, layout, rest)
  return ("%s, %s%s%s"):format(op, NAMES[kind] or kind,
                               layout == "contiguous" and "" or ", " .. layout,
                               rest or "")
end

--- NumPy's function with arguments; it computes in float32 where integers
-- become float64.
local function numpy_call(row, kind, arguments)
  if not row.numpy then return false end
  if row.to == "f" and not IS_FLOAT[kind] then
    arguments = arguments .. ", dtype=@.float32, casting='unsafe'"
  end
  return ("@.%s(%s)"):format(row.numpy, arguments)
end

-- -- Families ----------------------------------------------------------------

function elementwise.unary(g)
  local row = g:pick(UNARY)
  local kind = g:kind(row.kinds)
  local sizes = g:sizes(most(row, kind))
  local layout = g:layout(#sizes)
  local result = kind_of(row, kind)
  local group, into, out = "", "", ""
  if row.to ~= "n" then group, into, out = g:result(result, sizes) end
  local numpy = numpy_call(row, kind, "a")
  return {
    name = described(row.name, kind, layout, out), sizes = sizes,
    inputs = g:input("a", kind, sizes, layout, row.range) .. group,
    strided = ("@.%s(a)%s"):format(row.name, into),
    torch = ("@.%s(a)%s"):format(row.name:gsub("^special_", "special."), into),
    numpy = numpy and numpy .. into, kind = result,
  }
end

--- The second tensor of an operator: its group, and a word about it.
local function second(g, kind, sizes, layout, range)
  local choice = g:uniform()
  if choice < 0.5 then
    return g:input("b", kind, sizes, layout, range), ""
  elseif choice < 0.7 then
    local other = g:layout(#sizes)
    return g:input("b", kind, sizes, other, range),
           other == layout and "" or " and " .. other
  end
  local less = g:broadcast(sizes)
  return g:input("b", kind, less, "contiguous", range), " and " .. joined(less)
end

function elementwise.binary(g)
  local row = g:pick(BINARY)
  local kind = g:kind(row.kinds)
  local other, result = kind, kind
  if row.name:find "^[asm][du][dbl]$" and g:happens(0.2) then
    kind, other, result = unpack(g:pick(MIXED))
  end
  result = row.to == "=" and result or kind_of(row, kind)
  local sizes = g:sizes(most(row, kind))
  local layout = g:layout(#sizes)
  local group, into, out = g:result(result, sizes)
  local inputs = g:input("a", kind, sizes, layout, row.range)
  local operand, with
  if row.number and kind == other and g:happens(0.25) then
    operand = g:int(1, 3)
    with = " and a number"
  else
    operand = "b"
    local text
    text, with = second(g, other, sizes, layout, row.other)
    inputs = inputs .. "; " .. text
  end
  if other ~= kind then with = with .. ", " .. NAMES[other] end
  local numpy = numpy_call(row, kind, "a, " .. operand)
  return {
    name = described(row.name, kind, layout, with .. out), sizes = sizes,
    inputs = inputs .. group,
    strided = ("@.%s(a, %s)%s"):format(row.name, operand, into),
    numpy = numpy and numpy .. into, kind = result,
    is_lossy = other ~= kind and result,
  }
end

-- name, further inputs (t is the kind), expression, PyTorch's, NumPy's
local TERNARY = {
  {"where", "m: bool; b: t -9:9", "@.where(m, a, b)", nil, nil, "fi"},
  {"where, number", "m: bool", "@.where(m, a, 2)", nil, nil, "fi"},
  {"clamp", "", "@.clamp(a, -2, 3)", nil, "@.clip(a, -2, 3)", "fs"},
  {"clamp by tensors", "b: t -5:0; c: t 0:5", "@.clamp(a, b, c)", nil,
   "@.clip(a, b, c)", "fs"},
  {"clamp_min", "", "@.clamp_min(a, 1)", "@.clamp(a, 1)", "@.maximum(a, 1)",
   "fi"},
  {"lerp", "b: t -9:9", "@.lerp(a, b, 0.3)", nil, false, "f"},
  {"lerp by a tensor", "b: t -9:9; c: t 0:1", "@.lerp(a, b, c)", nil, false,
   "f"},
  {"addcmul", "b, c: t -9:9", "@.addcmul(a, b, c, {value = 2})", nil,
   "a + 2 * b * c", "f"},
  {"addcdiv", "b: t -9:9; c: t 1:9", "@.addcdiv(a, b, c, {value = 2})", nil,
   "a + 2 * b / c", "f"},
  {"masked_fill", "m: bool", "a:masked_fill(m, 2)", nil, "@.where(m, 2, a)",
   "fi"},
  {"threshold", "", "F.threshold(a, 1, 7)", nil, false, "f"},
  {"isclose", "b: t -9:9", "@.isclose(a, b)", nil, nil, "d"},
  {"a * b + c", "b, c: t -9:9", "a * b + c", nil, nil, "f"},
}

function elementwise.ternary(g)
  local row = g:pick(TERNARY)
  local kind = g:kind(row[6])
  local sizes = g:sizes(1e6)
  local layout = g:layout(#sizes)
  local inputs = g:input("a", kind, sizes, layout, {-9, 9})
  for names, of, range in row[2]:gmatch "([%l, ]+): (%l+) ?([%d:-]*)" do
    local lo, hi = range:match "^(.+):(.+)$"
    local own = g:happens(0.7) and sizes or g:broadcast(sizes)
    local view = own == sizes and g:happens(0.5) and layout or "contiguous"
    inputs = inputs .. "; " .. g:input(names, of == "t" and kind or of, own,
                                       view, lo and {tonumber(lo),
                                                     tonumber(hi)})
  end
  local result = row[1] == "isclose" and "bool" or kind
  return {name = described(row[1], kind, layout), sizes = sizes,
          inputs = inputs, strided = row[3], torch = row[4], numpy = row[5],
          kind = result}
end

local ALL_KINDS = {"f32", "f32", "f64", "f64", "f16", "bf16", "u8", "i8",
                   "i16", "i32", "i64", "bool"}

function elementwise.convert(g)
  local from, to = g:pick(ALL_KINDS), g:pick(ALL_KINDS)
  if from == to then to = from == "f32" and "f64" or "f32" end
  local sizes = g:sizes(4e6)
  local layout = g:layout(#sizes)
  local inputs = g:input("a", from, sizes, layout, {0, 99})
  local case = {
    sizes = sizes, kind = to, is_lossy = from, inputs = inputs,
    name = described("from " .. NAMES[from], to, layout),
  }
  case.name = case.name:gsub(",", " to", 1)
  if g:happens(0.35) then
    local view = g:layout(#sizes, true)
    case.inputs = inputs .. "; " .. g:input("r", to, sizes, view)
    case.name = case.name .. ", copy_ " .. view
    case.strided = "r:copy_(a)"
    case.numpy = "@.copyto(r, a, 'unsafe')"
  else
    case.strided = ("a:to '%s'"):format(NAMES[to])
    case.torch = "a.to(torch." .. NAMES[to] .. ")"
    case.numpy = ("a.astype('%s')"):format(NAMES[to])
  end
  return case
end

elementwise.described, elementwise.read = described, read

return elementwise
