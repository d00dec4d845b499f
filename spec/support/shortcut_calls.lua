--- Calls operators that have shortcuts with random small operands, three times
-- each, and prints what they return. The same seed makes the same calls:
--
--     lua spec/support/shortcut_calls.lua SEED CALLS

local st = require "strided"

local unpack = rawget(_G, "unpack") or table.unpack
local DTYPES = {"bool", "uint8", "int32", "int64", "float16", "bfloat16",
                "float32", "float64", "complex64", "complex128"}
local SHAPES = {{}, {1}, {3}, {0}, {2, 3}, {1, 3}, {3, 1}, {4, 1}, {5, 7}, {33},
                {2, 3, 2, 2, 1, 2}}
local NUMBERS = {0, 1, 2, -1, 0.5, -2.5, 300, true, false, 1e10}

local state = tonumber(arg[1])

local function random(n)
  state = (state * 16807) % 2147483647
  return state % n + 1
end

local function pick(list) return list[random(#list)] end

-- -- Operators ----------------------------------------------------------------

local function is_pointwise(packet)
  for _, name in ipairs(packet:overloads()) do
    local overload = packet[name:match "%.(.*)$" or "default"]
    for _, tag in ipairs(overload:tags()) do
      if tag == "pointwise" then return true end
    end
  end
  return false
end

local names = {}
for _, full in ipairs((require "strided.core".operators())) do
  local name = full:match "^aten::(%a[%w_]*)$"
  if name and is_pointwise(st.ops.aten[name]) then names[#names + 1] = name end
end
table.sort(names)

-- -- Operands -----------------------------------------------------------------

local function tensor(shape, dtype)
  local n, values = 1, {}
  for _, size in ipairs(shape) do n = n * size end
  for i = 1, n do values[i] = random(7) - 3 + (random(3) == 1 and 0.5 or 0) end
  local t = n == 0 and st.zeros(0) or st.tensor(values)
  t = t:reshape(shape)
  if dtype == "bool" then return t:gt(0) end
  return (dtype == "uint8" and t:abs() or t):to(dtype)
end

local function operand(first, shape, dtype)
  local kind = random(16)
  if kind <= 8 then return tensor(shape, dtype) end
  if kind == 9 then return tensor(pick(SHAPES), pick(DTYPES)) end
  if kind == 10 then return first end
  return pick(NUMBERS)
end

-- -- Views, factories, elements ----------------------------------------------

local function dim(n) return random(2 * n + 3) - n - 2 end

--- A list of up to four indices and ranges, sometimes with other parts.
local function subscript()
  local items = {}
  for k = 1, random(4) - 1 do
    local kind = random(6)
    items[k] = kind <= 3 and dim(3) or kind == 4 and {} or kind == 5 and
               {dim(3), dim(3), random(6) == 1 and random(3) or nil} or
               {dim(3)}
  end
  local odd = random(20)
  if odd == 1 then items.x = 1 end
  if odd == 2 then items[#items + 2] = 1 end
  if odd == 3 then items[1] = 1.5 end
  if odd == 4 then items[#items + 1] = st.newaxis end
  if odd == 5 then items[#items + 1] = st.ellipsis end
  return items
end

--- Sometimes singular, or not square.
local function matrix(dtype)
  local n = random(10)
  return tensor({n, random(9) == 1 and n + 1 or n}, dtype), n
end

--- Expressions of a tensor t: what scripts call most, with good and bad
-- arguments.
local OTHERS = {
  function(t) return t:t() end,
  function(t, n) return t:transpose(dim(n), dim(n)) end,
  function(t, n) return t:permute(dim(n), dim(n)) end,
  function(t, n) return t:select(dim(n), dim(4)) end,
  function(t) return t[dim(4)] end,
  function(t) return t[dim(4)][dim(3)] end,
  function(t, n) return t:narrow(dim(n), dim(4), random(5) - 2) end,
  function(t, n) return t:unsqueeze(dim(n + 1)) end,
  function(t) return t:squeeze() end,
  function(t, n) return t:squeeze(dim(n)) end,
  function(t) return t:view(-1) end,
  function(t) return t:view(random(4), -1) end,
  function(t) return t:expand(random(3), -1, -1) end,
  function(t, n) return t:diagonal(random(3) - 2, dim(n), dim(n)) end,
  function(t, n) return t:unfold(dim(n), random(3), random(2)) end,
  function(t) return t:detach() end,
  function(t) return st.real(t) end,
  function(t) return st.moveaxis(t, 1, -1) end,
  function(t) return t:item() end,
  function() return st.zeros(random(4), random(5) - 2) end,
  function(_, _, d) return st.zeros({random(70)}, {dtype = d}) end,
  function() return st.empty(random(4), random(4)):size() end,
  function(_, _, d) return st.empty({random(9)}, {dtype = d}):size() end,
  function(t, n) return t:sum(random(2) == 1 and dim(n) or nil) end,
  function(t, n) return t:mean(dim(n), random(2) == 1) end,
  function(t, n) return t:amax({dim(n), dim(n)}) end,
  function(t) return t:max() end,
  function(t) return t:any() end,
  function(t, n) return t:argmax(random(2) == 1 and dim(n) or nil) end,
  function(t, n) return t:cumsum(dim(n)) end,
  function(t, n) return t:softmax(dim(n)) end,
  function(t) return t:abs() end,
  function(t, _, d) return st.where(t:gt(0), t, tensor(pick(SHAPES), d)) end,
  function(t) return t:matmul(tensor(pick(SHAPES), pick(DTYPES))) end,
  function(t) return t:mm(t:transpose(-1, -2)) end,
  function(t) return t:reshape(random(4), -1) end,
  function(t) return t:clone() end,
  function(t) return t:to(pick(DTYPES)) end,
  function(t) return t:contiguous() end,
  function(t, n) return t:transpose(dim(n), dim(n)):contiguous() end,
  function(t) return rawequal(t:contiguous(), t) end,
  function(t) return rawequal(t:to(t.dtype), t) end,
  function(t) return t:clone():copy_(operand(t, pick(SHAPES), "int32")) end,
  function(t) return t:clone():fill_(pick(NUMBERS)) end,
  function(t) return t:expand(3, -1, -1):fill_(pick(NUMBERS)) end,
  function(t) return t:clone():zero_() end,
  function(t) return t[subscript()] end,
  function(t) return t[{dim(3), dim(3)}] end,
  function(t)
    t = t:clone()
    t[subscript()] = random(5) == 1 and t or pick(NUMBERS)
    return t
  end,
  function(t, n) return {t:max(dim(n))} end,
  function(t, n) return {t:sort(dim(n))} end,
  function(t, n) return {t:topk(random(3), dim(n))} end,
  function(t) return {t:aminmax()} end
}

--- Decompositions of small matrices.
local MATRICES = {
  function(a) return {st.linalg.qr(a)} end,
  function(a) return {st.linalg.qr(a, pick {"complete", "r", "x"})} end,
  function(a) return {st.linalg.eigh(a)} end,
  function(a) return {st.linalg.eigh(a, pick {"U", "L", "x"})} end,
  function(a) return st.linalg.eigvalsh(a) end,
  function(a) return {st.linalg.svd(a)} end,
  function(a) return {st.linalg.svd(a, random(2) == 1)} end,
  function(a) return st.linalg.svdvals(a) end,
  function(a) return {st.linalg.slogdet(a)} end,
  function(a, n, d)
    return st.linalg.solve(a, tensor(pick {{n}, {n, 2}, {n, n}, {3}, {2, n, 1},
                                           {n, 0}}, d))
  end,
  function(a, n, d)
    local b = tensor(pick {{n, 3}, {3, n}, {n}, {n, n}}, d)
    return st.linalg.solve(a, b, {left = random(2) == 1})
  end,
  function(a, n, d) return st.linalg.solve(a, tensor({3, n}, d):t()) end
}
for _, fn in ipairs(MATRICES) do
  OTHERS[#OTHERS + 1] = function(t)
    local dtype = pick {"float32", "float64", "float64", t.dtype}
    local a, n = matrix(dtype)
    return fn(random(2) == 1 and a:t() or a, n, dtype)
  end
end

-- -- Calls --------------------------------------------------------------------

local function text(v)
  if type(v) == "table" then
    local texts = {text(v.out), text(v.alpha)}
    for _, each in ipairs(v) do texts[#texts + 1] = text(each) end
    return table.concat(texts, ", ")
  end
  if not st.is_tensor(v) then return tostring(v) end
  return ("%s [%s] (%s) +%d v%d %s"):format(
    v.dtype, table.concat(v.shape, ","), table.concat(v:stride(), ","),
    v:storage_offset(), v.version, tostring(v))
end

--- The same state of the generator for each repetition.
local function others()
  local shape, dtype = pick(SHAPES), pick(DTYPES)
  local t = tensor(shape, dtype)
  if #shape >= 2 and random(3) == 1 then t = t:transpose(1, 2) end
  local fn, before = pick(OTHERS), state
  local lines = {}
  for _ = 1, 4 do
    state = before
    local _, result = pcall(fn, t, #shape, dtype)
    lines[#lines + 1] = text(result)
    if st.is_tensor(result) then
      lines[#lines + 1] = tostring(result:is_alias_of(t))
    end
  end
  lines[#lines + 1] = text(t)
  print(table.concat(lines, " | "))
end

for _ = 1, tonumber(arg[2]) do
  local name = random(8) == 1 and pick {"add", "sub"} or pick(names)
  local shape, dtype = pick(SHAPES), pick(DTYPES)
  local args = {tensor(shape, dtype)}
  for k = 2, random(3) do args[k] = operand(args[1], shape, dtype) end
  if #shape >= 2 and random(3) == 1 then args[1] = args[1]:transpose(1, 2) end
  local fn, how = st[name], random(5)
  if how == 3 then -- memory that overlaps partly
    local memory, at = tensor({40}, dtype), random(5)
    args[1] = memory:narrow(1, at, 33)
    args[#args + 1] = {out = memory:narrow(1, random(5), 33)}
    if random(2) == 1 and #args > 2 then
      args[#args] = nil
      args[2], how = memory:narrow(1, random(5), 33), 2
    end
  end
  if how == 1 then
    args[#args + 1] = {out = random(8) == 1 and args[1] or
                             tensor(random(4) == 1 and pick(SHAPES) or shape,
                                    random(3) == 1 and pick(DTYPES) or dtype)}
  elseif how == 2 then
    local ok, inplace = pcall(function() return args[1][name .. "_"] end)
    if ok then fn = inplace end
  elseif how == 4 and (name == "add" or name == "sub") then
    args[#args + 1] = {alpha = pick(NUMBERS)}
  end
  local lines = {name}
  for _ = 1, 3 do
    local _, result = pcall(fn, unpack(args))
    lines[#lines + 1] = text(result)
  end
  for _, v in ipairs(args) do lines[#lines + 1] = text(v) end
  print(table.concat(lines, " | "))
  others()
end
