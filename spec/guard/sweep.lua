--- Calls operators with tensors of every size up to 70 and around the sizes of
-- blocks, in every dtype, contiguous and strided, so that the guard pages of
-- build/guard see where a kernel reads or writes beside them.
--
--     luajit spec/guard/sweep.lua [PART [STEP]] [log]
--
-- PART is registry, rows, fused or all; only every STEP-th dtype of an operator
-- is tried. With log the calls are printed before they run: the last one is
-- the one that ended the process.

local st = require "strided"
local operators = require "spec.fuzz.operators"
local values = require "spec.fuzz.values"
local rows = require "spec.guard.rows"

local unpack = unpack or table.unpack

st.warnings(false) -- casts of complex numbers, empty means

local DTYPES = values.DTYPES

local SIZES, FEW = {}, {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64,
                        65, 70}
for n = 0, 70 do SIZES[#SIZES + 1] = n end
-- Blocks have 16 to 4096 bytes or 64 to 1024 elements.
local BLOCKS = {127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025,
                2049, 4095, 4097}

local part, step, log = "all", 1, false
for _, word in ipairs(arg) do
  if word == "log" then log = true
  elseif tonumber(word) then step = tonumber(word)
  else part = word end
end

local calls, passed = 0, 0

--- Calls f: its first result, or nil where it is refused.
local function try(text, f, ...)
  calls = calls + 1
  if log then
    local shown = {}
    for i = 1, select("#", ...) do shown[i] = values.show((select(i, ...))) end
    io.stderr:write(text, "(", table.concat(shown, ", "), ")\n")
  end
  local ok, result = pcall(f, ...)
  if not ok then return nil, result end
  passed = passed + 1
  return result
end

-- -- Tensors -----------------------------------------------------------------

local function numbers(n, dtype)
  local t = st.arange(1, n + 1):remainder(5)
  return dtype == "bool" and t:gt(1) or t:to(dtype)
end

--- Strided layouts whose first and last elements are those of the storage.
local LAYOUTS = {
  {"vector", SIZES, function(n, d) return numbers(n, d) end},
  {"strided", FEW, function(n, d)
    return numbers(n == 0 and 0 or 2 * n - 1, d):as_strided({n}, {2}, 0)
  end},
  {"long steps", {129, 145, 161}, function(n, d)
    local k = 5 + n % 7
    return numbers(n == 0 and 0 or k * (n - 1) + 1, d)
      :as_strided({n}, {k}, 0)
  end},
  {"rows", FEW, function(n, d) return numbers(3 * n, d):view(3, n) end},
  {"columns", FEW, function(n, d) return numbers(3 * n, d):view(n, 3) end},
  {"transposed", FEW, function(n, d)
    return numbers(3 * n, d):view(3, n):t()
  end},
  {"wide rows", FEW, function(n, d)
    local w = n + 2
    return numbers(n == 0 and 0 or 2 * w + n, d):as_strided({3, n}, {w, 1}, 0)
  end},
  {"blocks", BLOCKS, function(n, d) return numbers(n, d) end},
}

local made = {}

local function tensor(layout, dtype, n)
  local key = layout[1] .. dtype .. n
  made[key] = made[key] or layout[3](n, dtype)
  return made[key]
end

--- Memory like t's for an output, dense or with gaps.
local function output_like(t, has_gaps)
  local shape, numel = t.shape, t:numel()
  if not has_gaps or numel == 0 then return st.empty_like(t) end
  local strides, unit = {}, 2
  for d = #shape, 1, -1 do
    strides[d] = unit
    unit = unit * shape[d]
  end
  return st.empty({2 * numel - 1}, {dtype = t.dtype})
    :as_strided(shape, strides, 0)
end

-- -- The registry ------------------------------------------------------------

-- What arguments without a default are given; a function of the case's tensor.
local GIVEN = {
  Tensor = function(t) return t end,
  Scalar = function() return 2 end,
  float = function() return 0.5 end,
  int = function() return 1 end,
  bool = function() return true end,
  Dim = function(t) return t:dim() end,
  ["Dim[]"] = function(t) return {t:dim()} end,
  ["Tensor[]"] = function(t) return {t, t} end,
  ["int[]"] = function(t) return t.shape end,
  ScalarType = function() return "float32" end,
}

--- The functions that fill the arguments which have to be given; nil for an
-- operator that takes no tensor, or other things, or writes.
local function needs(overload)
  local list, tensors = {}, 0
  local inside = overload.object:schema():match "^[^%(]*%((.*)%)%s*%->" .. ","
  for i, a in ipairs(overload.args) do
    local text = inside:match("%s" .. a.name .. "([=,])") or
                 inside:match("^[^,]-%s" .. a.name .. "([=,])")
    local plain = a.type:gsub("%b()", ""):gsub("%[%d+%]", "[]"):gsub("%?$", "")
    if a.writes then return nil end
    if text ~= "=" then
      if a.keyword or #list ~= i - 1 or not GIVEN[plain] then return nil end
      list[i] = GIVEN[plain]
      if plain:find "^Tensor" then tensors = tensors + 1 end
    end
  end
  return tensors > 0 and list or nil, tensors
end

local function arguments(list, t, other)
  local out, tensors = {}, 0
  for i, make in ipairs(list) do
    out[i] = make(t)
    if make == GIVEN.Tensor then tensors = tensors + 1 end
    if make == GIVEN.Tensor and tensors == 2 and other then out[i] = other end
  end
  return out
end

--- Calls with this layout and dtype; false if they are refused.
local function sweep_layout(o, list, layout, dtype)
  local is_small = true
  for _, n in ipairs(layout[2]) do
    local t = tensor(layout, dtype, n)
    local result = try(o.name, o.object, unpack(arguments(list, t)))
    if result == nil and n >= 3 then return false end
    if st.is_tensor(result) and n >= 3 then
      is_small = result:numel() <= 4 * t:numel()
      if result.device == "cpu" and n % 4 < 2 then
        local args = arguments(list, t)
        args[#args + 1] = {out = output_like(result, n % 2 == 1)}
        try(o.short .. " out", o.packet, unpack(args))
      end
    end
    if not is_small and n > 70 then return true end
  end
  return true
end

--- Operands of two dtypes and shapes.
local function sweep_mixed(o, list, k)
  local rows_of, vector = LAYOUTS[3], LAYOUTS[1]
  for i, n in ipairs(FEW) do
    local a, b = DTYPES[(k + i) % 12 + 1], DTYPES[(k + 5 * i) % 12 + 1]
    local t = tensor(rows_of, a, n)
    try(o.name, o.object, unpack(arguments(list, t, tensor(rows_of, b, n))))
    try(o.name, o.object, unpack(arguments(list, t, tensor(vector, b, n))))
    try(o.name, o.object, unpack(arguments(list, t, tensor(vector, a, 1))))
  end
end

-- Operators that take the cube of the size: the eigenvalues of a matrix.
local CUBIC = {roots = true}

local function sweep_operator(o, k)
  local list, tensors = needs(o)
  if not list or o.short:sub(-1) == "_" then return false end
  local works = false
  for i = 1 + k % step, #DTYPES, step do
    for j, layout in ipairs(LAYOUTS) do
      local fits = j < #LAYOUTS or works and not CUBIC[o.short]
      works = fits and sweep_layout(o, list, layout, DTYPES[i]) or works
    end
  end
  if tensors > 1 then sweep_mixed(o, list, k) end
  return works
end

local function sweep_registry()
  local all, swept = operators.overloads(), 0
  for k, o in ipairs(all) do
    if sweep_operator(o, k) then swept = swept + 1 end
    if k % 20 == 0 then collectgarbage() end
  end
  print(("registry: %d of %d overloads"):format(swept, #all))
end

-- -- All of them -------------------------------------------------------------

local context = {try = try, numbers = numbers, SIZES = SIZES, FEW = FEW,
                 BLOCKS = BLOCKS, DTYPES = DTYPES, step = step,
                 output_like = output_like}

if part == "all" or part == "registry" then sweep_registry() end
if part == "all" or part == "rows" then rows.sweep(context) end
if part == "all" or part == "fused" then rows.sweep_fused(context) end
made = nil
collectgarbage()
collectgarbage() -- what was written beside a tensor is seen when it is freed
print(("%d calls, %d results"):format(calls, passed))
