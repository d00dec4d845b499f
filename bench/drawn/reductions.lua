--- Draws cases of operators that reduce, accumulate and sort.

local elementwise = require "bench.drawn.elementwise"
local tensors = require "bench.drawn.tensors"

local IS_FLOAT, IS_HALF = tensors.IS_FLOAT, tensors.IS_HALF
local described = elementwise.described

local reductions = {}

-- -- Reductions --------------------------------------------------------------

-- `dims`: 0 of all elements, 1 over a dimension, 2 over some; `to`: the result.
-- NumPy adds float16 in float16, so it takes no part in these.
local REDUCTIONS = elementwise.read([[
  sum           fib  i  0:1      012  sum      1
  sum           f    =  0:1      012  sum      1
  mean          f    =  0:1      012  mean     1
  prod          d    =  0.9:1.1  01   prod     1
  prod          i    i  1:3      01   prod     1
  amax          fi   =  -9:9     012  max      1
  amin          fi   =  -9:9     012  min      1
  max           fi   =  -9:9     0    max      1
  min           fi   =  -9:9     0    min      1
  max           f    =  -9:9     1    -        1
  min           f    =  -9:9     1    -        1
  argmax        di   p  -99:99   01   argmax   1
  argmin        di   p  -99:99   01   argmin   1
  any           bif  b  0:2      01   any      1
  all           bif  b  0:2      01   all      1
  count_nonzero bif  i  0:2      01   count_nonzero 1
  std           f    =  -1:1     012  std      1
  var           f    =  -1:1     012  var      1
  nansum        f    =  0:1      012  nansum   1
  nanmean       f    =  0:1      012  nanmean  1
  norm          d    =  -1:1     0    linalg.norm 1
  norm          f    =  -1:1     0    -        1
  aminmax       f    =  -1:1     0    -        1
  logsumexp     f    =  -3:3     12   -        1
]], {"name", "kinds", "to", "range", "dims", "numpy", "cost"})

local METHODS = {sum = true, mean = true, prod = true, max = true, min = true,
                 argmax = true, argmin = true, any = true, all = true,
                 std = true, var = true}

--- The kind of a reduction's result.
local function kind_of(row, kind)
  if row.to == "b" then return "bool" end
  if row.to == "p" then return "i64" end
  return row.to == "i" and not IS_FLOAT[kind] and "i64" or kind
end

--- NumPy's expression of a reduction.
local function in_numpy(row, kind, dims)
  if not row.numpy or IS_HALF[kind] and row.to == "=" and
     not row.numpy:find "^m[ai][xn]$" or IS_HALF[kind] and row.name == "sum"
  then return false end
  local ddof = (row.name == "std" or row.name == "var") and "ddof=1" or nil
  local rest = dims
  if ddof then rest = rest and rest .. ", " .. ddof or ddof end
  if METHODS[row.name] then
    return ("a.%s(%s)"):format(row.numpy, rest or "")
  end
  return ("@.%s(a%s)"):format(row.numpy, rest and ", " .. rest or "")
end

--- The sum of many halves must be finite.
local function range_of(row, kind)
  if kind == "f16" and row.name:find "sum$" then return {0, 0.01} end
  return row.range
end

function reductions.reduce(g)
  local row = g:pick(REDUCTIONS)
  local kind = g:kind(row.kinds)
  local at = g:int(1, #row.dims)
  local over = tonumber(row.dims:sub(at, at))
  local sizes = g:sizes(4e6, over == 2 and 2 or 1)
  local dims, about
  if over == 0 then about = row.name
  elseif over == 1 then
    local d = g:int(1, #sizes)
    dims = "$" .. d
    about = ("%s over %d of %d"):format(row.name, d, #sizes)
  else
    local d = g:int(1, #sizes - 1)
    local e = g:int(d + 1, #sizes)
    dims = ("{$%d, $%d}"):format(d, e)
    about = ("%s over %d and %d of %d"):format(row.name, d, e, #sizes)
  end
  local numpy = in_numpy(row, kind, dims)
  local keeps = dims and g:happens(0.2) and row.name ~= "count_nonzero"
  local strided = ("@.%s(a%s)"):format(row.name, dims and ", " .. dims or "")
  local torch = strided
  if keeps then
    about = about .. ", keepdim"
    torch = strided:gsub("%)$", ", keepdim=True)")
    strided = strided:gsub("%)$", ", {keepdim = true})")
    numpy = numpy and numpy:gsub("%)$", ", keepdims=True)")
  end
  local layout = g:layout(#sizes)
  return {name = described(about, kind, layout), sizes = sizes,
          inputs = g:input("a", kind, sizes, layout, range_of(row, kind)),
          strided = strided, torch = torch, numpy = numpy,
          kind = kind_of(row, kind), base = row.to == "p" and 1 or 0}
end

-- name, kinds, range, expression, PyTorch's, NumPy's
local SCANS = {
  {"cumsum", "di", "0:1", "@.cumsum(a, $d)", nil, nil},
  {"cumprod", "d", "0.9:1.1", "@.cumprod(a, $d)", nil, nil},
  {"cummax", "di", "-99:99", "@.cummax(a, $d)", nil,
   "@.maximum.accumulate(a, $d)"},
  {"cummin", "di", "-99:99", "@.cummin(a, $d)", nil,
   "@.minimum.accumulate(a, $d)"},
  {"logcumsumexp", "d", "-3:3", "@.logcumsumexp(a, $d)", nil,
   "@.logaddexp.accumulate(a, $d)"},
  {"softmax", "f", "-3:3", "@.softmax(a, $d)", nil, false},
  {"softmax", "f", "-3:3", "@.softmax(a, $d)", nil, false},
  {"log_softmax", "f", "-3:3", "@.log_softmax(a, $d)", nil, false},
  {"diff", "di", "0:99", "@.diff(a, 1, $d)", nil, nil},
  {"trapezoid", "d", "0:9", "@.trapezoid(a, {dim = $d})",
   "@.trapezoid(a, dim=$d)", "@.trapezoid(a, axis=$d)"},
}

-- NumPy adds one element after the other: the error of many is large.
function reductions.scan(g)
  local row = g:pick(SCANS)
  local kind = g:kind(row[2])
  local sizes = g:sizes(1e6)
  local d = g:int(1, #sizes)
  if row[1] == "diff" or row[1] == "trapezoid" then
    sizes[d] = math.max(2, sizes[d])
  end
  local function at(text) return text and text:gsub("%$d", "$" .. d) end
  local lo, hi = row[3]:match "^(.+):(.+)$"
  local layout = g:layout(#sizes)
  local result = not IS_FLOAT[kind] and row[1]:find "^cum[sp]" and "i64" or kind
  return {name = described(("%s over %d of %d"):format(row[1], d, #sizes),
                           kind, layout), sizes = sizes, kind = result,
          is_lossy = sizes[d] > 1e4 and IS_FLOAT[kind] and "f16" or nil,
          inputs = g:input("a", kind, sizes, layout,
                           {tonumber(lo), tonumber(hi)}),
          strided = at(row[4]), torch = at(row[5]), numpy = at(row[6])}
end

-- -- Sorting -----------------------------------------------------------------

-- $k is a number of elements. The order of equal elements is unspecified unless
-- a sort is stable.
local SORTS = {
  {"sort", "fi", "@.sort(a, $d)", nil, nil},
  {"sort, descending", "fi", "@.sort(a, $d, {descending = true})",
   "@.sort(a, $d, descending=True)", false},
  {"stable sort", "fi", "@.sort(a, {dim = $d, stable = true})",
   "@.sort(a, dim=$d, stable=True)", "@.sort(a, $d, kind='stable')"},
  {"argsort", "fi", "@.argsort(a, $d)", nil, nil, any = true},
  {"stable argsort", "fi", "@.argsort(a, {dim = $d, stable = true})",
   "@.argsort(a, dim=$d, stable=True)", "@.argsort(a, $d, kind='stable')",
   base = 1},
  {"topk", "fi", "@.topk(a, $k, $d)", nil, false},
  {"smallest k", "fi", "@.topk(a, $k, $d, false)",
   "@.topk(a, $k, $d, False)", false},
  {"kthvalue", "fi", "@.kthvalue(a, $k, $d)", nil, false},
  {"median", "fi", "@.median(a, $d)", nil, false},
  {"median of all", "fi", "@.median(a)", nil, false},
  {"nanmedian", "f", "@.nanmedian(a, $d)", nil, false},
  {"quantile", "d", "@.quantile(a, 0.3, $d)", nil, nil},
  {"mode", "i", "@.mode(a, $d)", nil, false},
  {"searchsorted", "d", "@.searchsorted(s, a)", nil, nil, base = 1},
  {"bucketize", "d", "@.bucketize(a, s)", nil, "@.digitize(a, s, right=True)",
   base = 1},
  {"isin", "i", "@.isin(a, s)", nil, nil},
}

function reductions.sort(g)
  local row = g:pick(SORTS)
  local kind = g:kind(row[2])
  local sizes = g:sizes(2e5)
  local d = g:int(1, #sizes)
  local k = g:int(1, math.min(sizes[d], g:pick {1, 10, 100}))
  local has_k = row[3]:find("$k", 1, true)
  local function at(text)
    return text and text:gsub("%$d", "$" .. d):gsub("%$k", k)
  end
  local name = row[1]
  if row[3]:find("$d", 1, true) then
    name = ("%s over %d of %d"):format(name, d, #sizes)
  end
  local layout = g:layout(#sizes)
  local inputs = g:input("a", kind, sizes, layout, {-99, 99})
  if row[3]:find "%f[%w]s%f[%W]" then
    inputs = inputs .. "; " .. g:input("s", kind, {g:size(1, 500)},
                                       "contiguous", {-99, 99}) .. " sorted"
  end
  local torch = at(row[4])
  -- PyTorch 2.15 gives other elements along a dimension of stride 0.
  if name:find "median" and layout == "expanded" then torch = false end
  local of = (name:find "^is" and "bool") or
             ((row.base or row.any) and "i64") or kind
  return {name = described(has_k and name .. ", k = " .. k or name, kind,
                           layout),
          sizes = sizes, kind = of, inputs = inputs, base = row.base,
          any = row.any, strided = at(row[3]), torch = torch,
          numpy = at(row[5])}
end

return reductions
