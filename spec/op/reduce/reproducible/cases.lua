--- Reductions and scans whose results depend on the order of operations, the
-- same elements in other layouts, and the bits of results.

local st = require "strided"

local cases = {}

local inf = math.huge

-- -- Bits --------------------------------------------------------------------

local WORDS = {float16 = "int16", bfloat16 = "int16", float32 = "int32",
               float64 = "int64"}

local function is_complex(t) return tostring(t.dtype):find "complex" end

--- The bytes of t's elements as a vector of integers.
function cases.bits(t)
  t = t:contiguous():view(-1)
  if is_complex(t) then t = st.view_as_real(t):view(-1) end
  local words = WORDS[tostring(t.dtype):match "[^.]+$"]
  return words and t:view(words) or t
end

--- One integer for t's bits.
function cases.digest(t)
  local bits = cases.bits(t):to "int64"
  local weights = st.arange(1, bits:numel() + 1) * 2 - 1
  return (bits * (weights * weights + 77)):sum()
end

-- -- The same elements, elsewhere --------------------------------------------

local function reversed(n)
  local dims = {}
  for d = 1, n do dims[d] = n + 1 - d end
  return dims
end

--- The elements of t, stored with dimension order[1] as the slowest.
local function stored(t, order)
  local back = {}
  for k, d in ipairs(order) do back[d] = k end
  return t:permute(order):contiguous():permute(back)
end

local function rotated(n)
  local dims = {}
  for d = 1, n do dims[d] = d % n + 1 end
  return dims
end

--- Every second element of dimension d of something twice as large.
local function spread(t, d)
  local sizes = {}
  for k = 1, t:dim() do sizes[k] = t:size(k) * (k == d and 2 or 1) end
  local out = st.zeros(sizes, {dtype = t.dtype})
  out = out:slice(d, 1, sizes[d], 2)
  out:copy_(t)
  return out
end

-- what, and the elements of t as a view
local LAYOUTS = {
  {"stored backwards", function(t) return stored(t, reversed(t:dim())) end},
  {"stored rotated", function(t) return stored(t, rotated(t:dim())) end},
  {"every second element", function(t) return spread(t, t:dim()) end},
  {"every second row", function(t) return spread(t, 1) end},
  {"rotated and spread", function(t)
    return spread(stored(t, rotated(t:dim())), 1)
  end},
}

local last, made

--- The same elements in other layouts, as pairs of a name and a tensor.
function cases.layouts(t)
  if t == last then return made end
  last, made = t, {}
  for k, row in ipairs(LAYOUTS) do made[k] = {row[1], row[2](t)} end
  if t:dim() == 4 then
    made[#made + 1] = {"channels_last",
                       t:contiguous {memory_format = "channels_last"}}
  end
  return made
end

--- Lets go of the tensors that layouts() keeps.
function cases.forget() last, made = nil, nil end

-- -- What is reduced ---------------------------------------------------------

local function dims_of(shape)
  local all = {}
  for d = 1, #shape do all[d] = d end
  local out = {all}
  for d = 1, #shape do out[#out + 1] = {d} end
  if #shape > 2 then
    out[#out + 1] = {1, #shape}
    out[#out + 1] = {2, #shape}
  end
  return out
end

-- sizes around those of lanes, blocks, segments and chunks
cases.SHAPES = {
  {7}, {40}, {1025}, {300, 7}, {7, 300}, {17000, 2}, {6, 41, 23},
  {270, 3, 5}, {20, 30, 8}, {2, 3, 20, 17}, {110, 310}, {44, 9}, {40, 100},
}

local function along(f)
  return function(t, dims) if #dims == 1 then return f(t, dims[1]) end end
end

local function norm(p)
  return function(t, dims) return st.linalg_vector_norm(t, p, dims) end
end

-- name, call (nil where it has no such form), only for reals
cases.OPERATORS = {
  {"sum", function(t, d) return t:sum(d) end},
  {"mean", function(t, d) return t:mean(d) end},
  {"var", function(t, d) return t:var(d) end},
  {"std", function(t, d) return t:std(d) end},
  {"norm 0", norm(0)}, {"norm 1", norm(1)}, {"norm 2", norm(2)},
  {"norm 2.5", norm(2.5)}, {"norm inf", norm(inf)}, {"norm -inf", norm(-inf)},
  {"prod", along(function(t, d) return t:prod(d) end)},
  {"cumsum", along(function(t, d) return t:cumsum(d) end)},
  {"cumprod", along(function(t, d) return t:cumprod(d) end)},
  {"nansum", function(t, d) return t:nansum(d) end, true},
  {"logsumexp", function(t, d) return t:logsumexp(d) end, true},
  {"amax", function(t, d) return t:amax(d) end, true},
  {"amin", function(t, d) return t:amin(d) end, true},
  {"amax of zeros", function(t, d) return (t * 0):amax(d) end, true},
  {"argmax", along(function(t, d) return t:argmax(d) end), true},
  {"softmax", along(function(t, d) return t:softmax(d) end), true},
  {"log_softmax", along(function(t, d) return t:log_softmax(d) end), true},
  {"logcumsumexp", along(function(t, d) return t:logcumsumexp(d) end), true},
}

--- Numbers of both signs and some magnitudes, whose products stay near 1;
-- zeros of both signs and equal elements among them. Made by arithmetic that
-- is the same everywhere.
function cases.fill(shape, dtype)
  local function random() return st.rand(shape, {dtype = "float64"}) end
  local t = (random() - 0.5):sign() * (random() * 1.6 + 0.35) *
            (random() * 1.6 + 0.35)
  t = st.where(random():lt(0.0005), t * 0, t)
  if not dtype:find "complex" then return t:to(dtype) end
  return st.view_as_complex(st.stack({t, t:flip {1}}, -1)):to(dtype)
end

--- Calls f(name, t, dims, operator) for every shape, dimensions and operator
-- that take dtype.
function cases.each(dtype, f)
  for _, shape in ipairs(cases.SHAPES) do
    local t = cases.fill(shape, dtype)
    for _, dims in ipairs(dims_of(shape)) do
      for _, row in ipairs(cases.OPERATORS) do
        if not (row[3] and is_complex(t)) and row[2](t, dims) then
          f(("%s of %s, %s, dims %s"):format(
            row[1], table.concat(shape, "x"), dtype,
            table.concat(dims, ",")), t, dims, row[2])
        end
      end
    end
  end
end

return cases
