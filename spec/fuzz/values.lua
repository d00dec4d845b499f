--- Random values for the fuzzer: numbers, tensors of every layout, arguments.
--
-- A case `c` is what one round of the fuzzer knows: its random source, the
-- shape and dtype that its tame values agree on, and the tensors made so far;
-- c.reuse is how often one of those serves, c.odd what makes odd values, when
-- that differs. A tame case mostly fits its operator, a wild one mostly does
-- not.

local st = require "strided"
local core = require "strided.core"
local contents = require "spec.fuzz.contents"
local dtypes = require "spec.fuzz.dtypes"
local images = require "spec.fuzz.images"
local numeric = require "spec.fuzz.numeric"
local optimizers = require "spec.fuzz.optimizers"
local sequences = require "spec.fuzz.sequences"

local unpack = unpack or table.unpack

local floor, huge, max = math.floor, math.huge, math.max
local char, rep = string.char, string.rep
local sort = table.sort
local getenv, pairs = os.getenv, pairs

local M = {}

M.DTYPES = dtypes.common

-- -- The random source -------------------------------------------------------

-- Park and Miller's generator: the same on every Lua.
local Case = {}
Case.__index = Case

local function step(self)
  self.state = self.state * 16807 % 2147483647
  return self.state
end

--- An integer of [a, b].
function Case:int(a, b)
  return a + floor(step(self) / 2147483647 * (b - a + 1))
end

function Case:chance(p) return step(self) / 2147483647 < p end

function Case:pick(list) return list[self:int(1, #list)] end

--- A list of n values of make(c).
function Case:list(n, make, ...)
  local out = {}
  for i = 1, n do out[i] = make(self, ...) end
  return out
end

-- -- Numbers -----------------------------------------------------------------

-- No amount between the small and the huge: those may really be allocated.
local HUGE = {
  2 ^ 48, 2 ^ 53, -2 ^ 53, 2 ^ 62, -2 ^ 62, -2 ^ 63, 2 ^ 63 - 1024,
  st.int "9223372036854775807", st.int "-9223372036854775808",
  st.int "9223372036854775806", st.int "9007199254740993",
}

-- For runs whose memory is limited from outside.
if getenv "FUZZ_MEDIUM" then
  for _, n in pairs {70000, 2 ^ 20, 2 ^ 31, 2 ^ 31 - 1, 2 ^ 32, -2 ^ 31, 2 ^ 40}
  do
    HUGE[#HUGE + 1] = n
  end
end

local ODD = {
  0, -1, 1.5, -0.0, huge, -huge, 0 / 0, 1e-320, "", "x", "cpu", "float32",
  true, false, {}, {{}}, {1, 2}, {1, 2.5}, {"a"}, {dim = 1}, {true}, print,
  st.complex(1, 2), st.float(3), st.newaxis, st.ellipsis, st.none, core,
  coroutine.create(function() end), io.stdout,
}

--- Any value, most of them wrong.
function M.odd(c)
  if c.odd then return c:odd() end
  if c:chance(0.2) then return c:pick(HUGE) end
  return c:pick(ODD)
end

function M.integer(c)
  if c.tame and c:chance(0.95) then return c:int(1, 3) end
  if c:chance(0.7) then return c:int(-6, 7) end
  return c:pick(HUGE)
end

local function dim(c)
  local n = #c.sizes
  if c.tame and n > 0 and c:chance(0.9) then
    local d = c:int(1, n)
    return c:chance(0.3) and d - n - 1 or d
  end
  return M.integer(c)
end

local REALS = {
  0.5, 1, 2, -1, 0, 1.5, -2.5, 1e30, 1e-30, 1e308, -1e308, huge, -huge, 0 / 0,
}

local function real(c)
  if c.tame and c:chance(0.8) then return c:pick {0.5, 1, 2, 3} end
  if c:chance(0.1) then return c:pick(HUGE) end
  return c:pick(REALS)
end

local function scalar(c)
  local k = c:int(1, 12)
  if k == 1 then return st.complex(real(c), real(c)) end
  if k == 2 then return c:chance(0.5) end
  if k < 7 then return M.integer(c) end
  return real(c)
end

-- -- Shapes ------------------------------------------------------------------

local MOST = 600 -- elements of a tensor, mostly

local function random_sizes(c)
  if c.is_few then return {c:int(0, 5)} end
  local k = c:int(1, 60)
  if k == 1 then return {c:pick {17, 64, 65, 129, 1000}} end
  if k == 2 then return {c:pick {17, 33}, c:pick {16, 31, 70}} end
  if k == 3 and c:chance(0.1) then return {40000} end
  local sizes, numel = {}, 1
  for i = 1, c:int(0, 5) do
    local n = c:chance(0.05) and 0 or c:int(1, 5)
    if numel * n > MOST then n = 1 end
    sizes[i], numel = n, numel * n
  end
  return sizes
end

--- The case's shape, or one that broadcasts with it.
local function tame_sizes(c)
  local sizes, first = {}, 1
  if c:chance(0.15) and #c.sizes > 0 then first = c:int(1, #c.sizes) end
  for i = first, #c.sizes do
    sizes[#sizes + 1] = c:chance(0.08) and 1 or c.sizes[i]
  end
  return sizes
end

local function int_list(c)
  if c.tame and c:chance(0.4) then return {unpack(c.sizes)} end
  if not c.tame and c:chance(0.03) then
    return c:list(c:pick {64, 65, 70, 300}, c:chance(0.5) and M.integer or
                  function() return 1 end)
  end
  return c:list(c:int(0, c.tame and 3 or 6), M.integer)
end

local function dim_list(c)
  if c.tame and c:chance(0.3) then -- a permutation
    local out = {}
    for i = 1, #c.sizes do out[i] = i end
    for i = #out, 2, -1 do
      local k = c:int(1, i)
      out[i], out[k] = out[k], out[i]
    end
    return out
  end
  return c:list(c:int(0, c.tame and 2 or 5), dim)
end

-- -- Tensors -----------------------------------------------------------------

local SPECIALS = {
  0, -0.0, 1, -1, 2, 0.5, -2.5, huge, -huge, 0 / 0, 1e300, -1e300, 65504,
  1e-40, 255, 128, -129, 2 ^ 31, -2 ^ 63, 2 ^ 63, 3,
}

--- Gives the n elements of a vector something to hold.
local function fill(c, t, n, dtype)
  local k = c:int(1, 4)
  if k <= 2 or n == 0 then
    t:copy_(st.randint(c:pick {-3, 0, 1}, 6, {max(n, 0)}))
    return
  end
  local unit
  if k == 3 then
    local few = c:list(8, c.pick, SPECIALS)
    local s = st.tensor(few, {dtype = "float64"}):to(dtype)
    unit = core.get_bytes(s, 0, 8 * s:element_size())
  elseif dtype == "bool" then
    unit = rep("\0\1\1", 8)
  else
    unit = char(unpack(c:list(32, function(r) return r:int(0, 255) end)))
  end
  local bytes = n * t:element_size()
  core.set_bytes(t, 0, rep(unit, floor(bytes / #unit) + 1):sub(1, bytes))
end

--- Strides in elements for the sizes: any order, with gaps, or overlapping.
local function random_strides(c, sizes)
  local order, strides, unit = {}, {}, c:pick {1, 1, 1, 1, 2, 3}
  local kind = c:int(1, 6)
  for i = 1, #sizes do order[i] = {#sizes - i, i} end
  if kind > 3 then
    for i = 1, #sizes do order[i][1] = c:int(1, 9) end
    sort(order, function(a, b)
      if a[1] ~= b[1] then return a[1] < b[1] end
      return a[2] < b[2]
    end)
  end
  for _, o in pairs(order) do
    local i = o[2]
    strides[i] = unit
    if kind == 5 and c:chance(0.4) then strides[i] = 0 end
    if kind == 6 then strides[i] = c:int(0, 4) end
    unit = unit * max(sizes[i], 1)
  end
  return strides
end

local function last_element(sizes, strides)
  local last = 0
  for i = 1, #sizes do
    if sizes[i] == 0 then return -1 end
    last = last + (sizes[i] - 1) * strides[i]
  end
  return last
end

local VIEWS = {
  function(c, t) return t:transpose(c:int(1, 3), c:int(1, 3)) end,
  function(c, t) return t:select(1, c:int(1, 2)) end,
  function(c, t) return t:slice(1, c:int(1, 2), -1, c:int(1, 2)) end,
  function(_, t) return t:unsqueeze(1) end,
  function(_, t) return t:view(-1) end,
  function(c, t) return t:unfold(1, 2, c:int(1, 2)) end,
  function(_, t) return t:diagonal() end,
  function(c, t) return t:expand(c:int(1, 3), -1, -1) end,
  function(c, t) return t:view(c:pick(M.DTYPES)) end,
  function(_, t) return st.view_as_real(t) end,
  function(_, t) return st.imag(t) end,
  function(_, t) return t:detach() end,
}

--- A tensor that shares its elements with t, if a random view fits it.
local function view_of(c, t)
  local ok, view = pcall(c:pick(VIEWS), c, t)
  return ok and view or t
end

--- lo, hi: what an integer tensor is filled with, else anything.
local function fresh(c, dtype, sizes, lo, hi)
  if c:chance(0.06) then
    return st.empty(sizes, {dtype = dtype, device = "meta"})
  end
  -- their rows are contiguous
  if dtypes.is_subbyte[dtype] then return st.randint(0, 2, sizes):to(dtype) end
  local strides = random_strides(c, sizes)
  local offset = c:chance(0.3) and c:int(0, 5) or 0
  local n = offset + last_element(sizes, strides) + 1
  if c:chance(0.2) then n = n + c:int(1, 9) end
  local base = st.empty({n}, {dtype = dtype})
  if lo then base:copy_(st.randint(lo, hi, {n}))
  else fill(c, base, n, dtype) end
  return base:as_strided(sizes, strides, offset)
end

function M.tensor(c)
  local made = c.made
  local t
  if #made > 0 and c:chance(c.reuse or 0.25) then
    t = c:pick(made)
    if c.reuse then return t end
  else
    local dtype = c.tame and c:chance(0.75) and c.dtype or c:pick(M.DTYPES)
    if c:chance(0.1) then dtype = "int64" end
    if c:chance(0.05) then dtype = "bool" end
    t = fresh(c, dtype, c.tame and c:chance(0.9) and tame_sizes(c) or
                        random_sizes(c))
  end
  if c:chance(c.tame and 0.08 or 0.3) then t = view_of(c, t) end
  made[#made + 1] = t
  return t
end

-- -- Arguments ---------------------------------------------------------------

local function tensor_list(c) return c:list(c:int(0, 4), M.tensor) end

local function index_list(c)
  return c:list(c:int(0, 4), function()
    return c:chance(0.3) and st.none or M.tensor(c)
  end)
end

local function texts(...)
  local list = {...}
  return function(c) return c:pick(list) end
end

local function flag(c) return c:chance(0.5) end

--- Positions for a dimension of the case, most of them inside.
local function positions(c)
  if c.is_bag then return fresh(c, "int64", {3}, 1, 3) end
  local sizes = c:chance(0.5) and {c:int(0, 4)} or tame_sizes(c)
  local lo = c:pick {1, 1, 1, 1, 0, -2}
  return fresh(c, c:chance(0.9) and "int64" or "int32", sizes, lo,
               lo + c:int(1, 3))
end

local function mask(c) return fresh(c, "bool", tame_sizes(c)) end

local function ranked(rank)
  return function(c)
    local sizes = {}
    for i = 1, rank do sizes[i] = c:chance(0.9) and c.square or c:int(0, 3) end
    return fresh(c, c:chance(0.9) and c.dtype or c:pick(M.DTYPES), sizes)
  end
end

--- Of an operator with a dimension of channels: one number for each.
local function per_channel(c)
  return c.has_channels and ranked(1)(c) or M.tensor(c)
end

--- Of several dimensions, where the operator says how many.
local function weight(c)
  return c.weight_rank and ranked(c.weight_rank)(c) or per_channel(c)
end

local function product(sizes, first)
  local n = 1
  for i = first, #sizes do n = n * sizes[i] end
  return n
end

-- What an argument of this name and type wants.
--- Points of a histogram have as many coordinates as the last dimension.
local function of_points(make)
  return function(c)
    return c.points and c:list(c.points, make, c) or nil
  end
end

local function real_part(c) return fresh(c, "float32", c.sizes) end

local HINTS = {
  ["Tensor real"] = real_part, ["Tensor imag"] = real_part,
  ["Tensor abs"] = real_part, ["Tensor angle"] = real_part,
  ["Tensor self"] = function(c)
    return c.points and fresh(c, "float64", c.sizes, 0, 9) or M.tensor(c)
  end,
  ["int[] bins"] = of_points(function(c) return c.points > 4 and 1 or
                                                c:int(1, 3) end),
  ["Tensor[] bins"] = of_points(function(c)
    return fresh(c, "float64", {c.points > 4 and 2 or c:int(1, 4)}, 0, 9)
  end),
  ["Tensor weight"] = weight, ["Tensor bias"] = per_channel,
  ["Tensor logsumexp"] = function(c)
    return fresh(c, c.dtype, {unpack(c.sizes, 1, #c.sizes - 1)})
  end,
  ["Tensor offsets"] = function(c) return fresh(c, "int64", {1}, 1, 2) end,
  ["Tensor starts"] = function(c) return fresh(c, "int64", {2}, 0, 1) end,
  ["Tensor numbers"] = function(c) return fresh(c, "int64", {3}, 0, 1) end,
  ["Tensor spans"] = function(c) return fresh(c, "int64", {2, 2}, 0, 2) end,
  ["Tensor weights"] = function(c)
    return c.is_resample and fresh(c, c.dtype, {2, 2}) or M.tensor(c)
  end,
  ["int[] size"] = function(c)
    return c.is_affine and {c.sizes[1] or 1, 1, 2, 3} or int_list(c)
  end,
  ["Tensor running_mean"] = per_channel, ["Tensor running_var"] = per_channel,
  ["Tensor mean"] = per_channel, ["Tensor var"] = per_channel,
  ["Tensor gg_weight"] = per_channel, ["Tensor gg_bias"] = per_channel,
  ["Tensor target"] = function(c)
    if c.lists_classes then return fresh(c, "int64", c.sizes, -1, 1) end
    if not c.has_classes then return M.tensor(c) end
    return fresh(c, "int64", {c.sizes[1], unpack(c.sizes, 3)}, 1, 3)
  end,
  ["int reduction"] = function(c) return c:int(0, 2) end,
  ["int N"] = function(c) return c.sizes[1] or 1 end,
  ["int C"] = function(c) return c.sizes[2] or 1 end,
  ["int HxW"] = function(c) return product(c.sizes, 3) end,
  ["int base"] = function(c) return c:int(0, 1) end,
  ["Tensor index"] = positions, ["Tensor indices"] = positions,
  ["Tensor start"] = function(c)
    return fresh(c, "int64", {}, 1, 3)
  end,
  ["Tensor q"] = function(c)
    return st.rand(c:list(c:int(0, 1), c.int, 1, 3), {dtype = "float64"})
      :to(c.dtype)
  end,
  ["Tensor repeats"] = function(c)
    return fresh(c, "int64", {c.sizes[1] or 1}, 0, 3)
  end,
  ["Tensor tensor_indices_or_sections"] = positions,
  ["Tensor mask"] = mask, ["Tensor condition"] = mask,
  ["Tensor vec"] = ranked(1), ["Tensor vec1"] = ranked(1),
  ["Tensor vec2"] = ranked(1),
  ["Tensor A"] = ranked(2), ["Tensor LU"] = ranked(2),
  ["Tensor B"] = ranked(2), ["Tensor LD"] = ranked(2),
  ["Tensor tau"] = ranked(1), ["Tensor grad_residuals"] = ranked(1),
  ["Tensor input2"] = function(c)
    return c.reflects and ranked(1)(c) or M.tensor(c)
  end,
  ["Tensor pivots"] = function(c)
    return st.ones({c.square}, {dtype = "int32"})
  end,
  ["Tensor LU_data"] = ranked(2), ["Tensor LU_pivots"] = function(c)
    return st.ones({c.square}, {dtype = "int32"})
  end,
  ["Tensor info"] = function() return st.zeros({}, {dtype = "int32"}) end,
  ["Tensor mat"] = ranked(2), ["Tensor mat1"] = ranked(2),
  ["Tensor mat2"] = ranked(2), ["Tensor batch1"] = ranked(3),
  ["Tensor batch2"] = ranked(3),
  ["Tensor?[] indices"] = function(c)
    return c:list(c:int(0, math.max(#c.sizes, 1)), function()
      if c:chance(0.25) then return st.none end
      return c:chance(0.3) and mask(c) or positions(c)
    end)
  end,
  ["str rounding_mode"] = texts("trunc", "floor"),
  ["str indexing"] = texts("ij", "xy"),
  ["str approximate"] = texts("none", "tanh"),
  ["str reduce"] = texts("sum", "prod", "mean", "amax", "amin"),
  ["str side"] = texts("left", "right"), ["str UPLO"] = texts("L", "U"),
  ["str ord"] = texts("fro", "nuc"), ["str p"] = texts("fro", "nuc"),
  ["str norm"] = texts("backward", "ortho", "forward"),
  ["str driver"] = texts("gels", "gelsy", "gelsd", "gelss"),
  ["str pad_mode"] = texts("reflect", "constant", "replicate", "circular"),
  ["int normalization"] = function(c) return c:int(0, 2) end,
  ["int n_fft"] = function(c)
    return c.is_istft and 2 * c.square - c:int(1, 2) or M.integer(c)
  end,
  ["int last_dim_size"] = function(c)
    return c.square and 2 * c.square - c:int(1, 2) or M.integer(c)
  end,
  ["int offset"] = function(c) return c.is_diagonal and 0 or M.integer(c) end,
  ["int[] input_sizes"] = function(c)
    return c.is_diagonal and {c.square, c.square} or int_list(c)
  end,
  ["Tensor src"] = function(c)
    return c.is_diagonal and ranked(1)(c) or M.tensor(c)
  end,
}

-- Operators whose self has this many dimensions.
local RANKS = {
  mm = 2, addmm = 2, addmm_ = 2, bmm = 3, baddbmm = 3, baddbmm_ = 3, mv = 2,
  addmv = 1, addmv_ = 1, dot = 1, vdot = 1, ger = 1, outer = 1, inner = 1,
  addr = 2, addr_ = 2, addbmm = 2, addbmm_ = 2, embedding = 2, _int_mm = 2,
  instance_norm = 3, native_group_norm = 3, nll_loss = 2, nll_loss_nd = 3,
  nll_loss2d = 3, multi_margin_loss = 2, multilabel_margin_loss = 2,
  diagonal_backward = 1, diagonal_scatter = 2, histogramdd = 2,
  linalg_cholesky_ex = 2, linalg_cholesky = 2, cholesky = 2, cholesky_solve = 2,
  lu_solve = 2, linalg_solve_triangular = 2, _solve_triangular_backward = 2,
  _linalg_solve_backward = 2, _linalg_lu_solve_backward = 2, inverse = 2,
  det = 2, slogdet = 2, logdet = 2, linalg_eigh = 2, linalg_eigvalsh = 2,
  linalg_matrix_exp = 2, matrix_exp = 2, matrix_exp_backward = 2,
  linalg_matrix_sqrth = 2, _linalg_lyapunov = 2, linalg_polar = 2,
  cholesky_inverse = 2, triangular_solve = 2, linalg_tensorsolve = 2,
  _fft_c2r = 1, istft = 2, linalg_householder_product = 2, orgqr = 2, ormqr = 2,
  linalg_lstsq = 2, _linalg_lstsq = 2, _linalg_lstsq_backward = 2, bilinear = 2,
  conv_tbc = 3, convolve = 1, correlate = 1, segment_reduce = 1,
}

-- Operators of some dtypes only.
local DTYPES = {affine_grid = "float32", affine_grid_generator = "float64",
                embedding_bag = "float32", _bag_sums = "float32",
                _bag_maxima = "float32", _bag_sums_backward = "float32",
                _bag_scales_backward = "float64", embedding_renorm = "float32",
                embedding_renorm_ = "float64",
                _resample = "float32", _resample_backward = "float64",
                complex = "complex64", polar = "complex64",
                correlate = "float64", istft = "complex64",
                _fft_c2r = "complex64", histogram = "float64",
                histogramdd = "float64", orgqr = "float64",
                linalg_householder_product = "float64", ormqr = "float64",
                linalg_ldl_solve = "float64", convolve = "float64",
                segment_reduce = "float64", linalg_lstsq = "float64",
                _linalg_lstsq = "float64", _linalg_lstsq_backward = "float64"}

-- Operators whose result grows with a power of the vectors' sizes.
local FEW = {combinations = true, cartesian_prod = true}

-- Operators of tensors of these sizes.
local SIZES = {affine_grid = {2, 2, 3}, affine_grid_generator = {1, 2, 3},
               embedding_bag = {3, 2}, _bag_sums = {4, 2},
               _bag_maxima = {4, 2}, _bag_sums_backward = {4, 2},
               _bag_scales_backward = {4, 2}, embedding_renorm = {4, 2},
               embedding_renorm_ = {4, 2},
               _resample = {2, 2, 2}, _resample_backward = {3, 2}}

-- Operators whose weight has this many dimensions.
local WEIGHTS = {bilinear = 3, conv_tbc = 3}

local CHANNELS = {
  conv_tbc = true, bilinear = true, multi_margin_loss = true, group_norm = true,
  batch_norm = true, instance_norm = true, native_group_norm = true,
  nll_loss = true, nll_loss_nd = true, nll_loss2d = true,
}

--- Makes the case fit an operator.
function M.prepare(c, name)
  c.square = c:pick {0, 1, 2, 3, 4, 5, 8, 33}
  c.has_channels = CHANNELS[name] or name:find "_batch_norm" ~= nil
  c.has_classes = name:find "^nll_loss" ~= nil or name == "multi_margin_loss"
  c.lists_classes = name == "multilabel_margin_loss"
  images.prepare(c, name)
  c.reflects = name == "orgqr" or name == "ormqr"
  c.is_istft = name == "istft"
  c.is_qr = name == "linalg_qr"
  numeric.prepare(c, name)
  c.is_diagonal = name:find "^diagonal_" ~= nil
  c.is_few = FEW[name]
  c.dtype = DTYPES[name] or c.dtype
  c.points = name == "histogramdd" and c.square or nil
  if c.is_few then c.sizes = random_sizes(c) end
  sequences.prepare(c, name)
  optimizers.prepare(c, name)
  c.is_bag = name:find "bag" ~= nil
  c.is_resample = name:find "^_resample" ~= nil
  c.is_affine = name:find "^affine_grid" ~= nil
  c.weight_rank = WEIGHTS[name]
  local is_three = name:find "_dot_product_attention" or
                   name:find "batch_norm"
  local rank = is_three and 3 or RANKS[name]
  if not c.tame then return end
  if SIZES[name] then c.sizes = {unpack(SIZES[name])} end
  c.sizes = rank and {} or c.sizes
  for i = 1, rank or 0 do c.sizes[i] = c.square end
end

local MAKE = {
  Tensor = M.tensor, ["Tensor[]"] = tensor_list, ["Tensor?[]"] = index_list,
  int = M.integer, ["int[]"] = int_list, Dim = dim, ["Dim[]"] = dim_list,
  Index = M.integer, End = M.integer, ["Index[]"] = int_list,
  float = real, ["float[]"] = function(c)
    return c:list(c:int(0, 3), real)
  end,
  Scalar = scalar, complex = scalar, bool = flag,
  ["Scalar[]"] = function(c) return c:list(c:int(0, 3), real) end,
  ["bool[]"] = function(c) return c:list(c:int(0, 3), flag) end,
  str = texts("none", "tanh", "trunc", "floor", "ij", "xy", "left", "right",
              "sum", "", "mean", "bogus"),
  ScalarType = function(c) return c:pick(M.DTYPES) end,
  Layout = texts "strided", Device = texts("cpu", "cpu", "meta"),
  MemoryFormat = texts("contiguous", "preserve", "channels_last",
                       "channels_last_3d"),
  Generator = function(c) return st.Generator(c:int(0, 99)) end,
}

for key, make in pairs(images.hints(fresh, setmetatable({}, {
  __index = function(_, key) return HINTS[key] or MAKE[key:match "^%S+"] end,
}))) do
  HINTS[key] = make
end
for key, make in pairs(numeric.hints(fresh, HINTS)) do HINTS[key] = make end
for _, family in ipairs {sequences, optimizers} do
  for key, make in pairs(family.hints(fresh, setmetatable({}, {
    __index = function(_, key) return HINTS[key] or MAKE[key:match "^%S+"] end,
  }))) do
    HINTS[key] = make
  end
end

--- A value for an argument of the type, written as schemas write it, and
-- with the name, if it has one.
function M.argument(c, text, name)
  if c:chance(c.tame and 0.005 or 0.04) then return M.odd(c) end
  local plain = text:gsub("%b()", ""):gsub("%[%d+%]", "[]")
  if plain:sub(-1) == "?" then
    plain = plain:sub(1, -2)
    if c:chance(0.3) then return c:chance(0.5) and st.none or nil end
  end
  local make = c.tame and name and c:chance(0.85) and
               HINTS[plain .. " " .. name] or MAKE[plain]
  if not make then return M.odd(c) end
  return make(c) -- a flag may be false
end

--- A case of its own for round i of a seed.
function M.case(seed, i)
  local c = setmetatable({made = {}}, Case)
  c.state = (seed * 7919 + i * 104729) % 2147483646 + 1
  for _ = 1, 5 do step(c) end
  st.manual_seed(i)
  c.tame = c:chance(0.65)
  c.dtype = c:pick(M.DTYPES)
  if i % 13 == 3 then
    c.dtype = dtypes.rare[floor(i / 13) % #dtypes.rare + 1]
  end
  c.sizes = random_sizes(c)
  return c
end

for name, f in pairs(contents) do M[name] = f end

return M
