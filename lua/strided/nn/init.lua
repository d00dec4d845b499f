--- Initial values of parameters: `nn.init.xavier_uniform_(layer.weight)`.
--
-- Each fills a tensor in place, outside of any graph, and returns it. Numbers
-- are options, `nn.init.normal_(t, {std = 0.02})`, or given by position. After
-- the same seed the values are PyTorch's.
--
-- @module strided.nn.init

local st = require "strided"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local floor, huge, ipairs, max, min, no_grad, pairs, select, sqrt, type =
  math.floor, math.huge, ipairs, math.max, math.min, st.no_grad, pairs, select,
  math.sqrt, type

local init = {}

local KNOWN = {mean = true, std = true, a = true, b = true, generator = true}

-- -- Arguments ---------------------------------------------------------------

local function check_tensor(name, t)
  if not st.is_tensor(t) then
    raise("%s: the first argument must be a tensor", name)
  end
end

--- Arguments that have positions, `names`, and others, as in a table of
-- options; defaults by name.
local function arguments(name, names, defaults, ...)
  local n, given = select("#", ...), nil
  local last = n > 0 and select(n, ...)
  if type(last) == "table" and not st.is_tensor(last) then
    given, n = last, n - 1
  end
  local values, known = {}, {generator = true}
  for key, value in pairs(defaults) do
    values[key], known[key] = value, true
  end
  for i = 1, n do
    if not names[i] then raise("%s: too many arguments", name) end
    values[names[i]] = (select(i, ...))
  end
  for key, value in pairs(options(name, given, known)) do
    values[key] = value
  end
  for key, value in pairs(defaults) do
    if type(values[key]) ~= type(value) then
      raise("%s: '%s' must be a %s, got %s", name, key, type(value),
            type(values[key]))
    end
  end
  return values, values.generator and {generator = values.generator} or nil
end

-- -- Simple ------------------------------------------------------------------

--- Uniform numbers.
-- @function uniform_
-- @tparam Tensor t
-- @tparam[opt] table o `a` (0), `b` (1), `generator`
-- @treturn Tensor t
function init.uniform_(t, ...)
  check_tensor("uniform_", t)
  local o, from = arguments("uniform_", {"a", "b"}, {a = 0, b = 1}, ...)
  no_grad(function() t:uniform_(o.a, o.b, from) end)
  return t
end

--- Normal numbers.
-- @function normal_
-- @tparam Tensor t
-- @tparam[opt] table o `mean` (0), `std` (1), `generator`
-- @treturn Tensor t
function init.normal_(t, ...)
  check_tensor("normal_", t)
  local o, from = arguments("normal_", {"mean", "std"}, {mean = 0, std = 1},
                            ...)
  no_grad(function() t:normal_(o.mean, o.std, from) end)
  return t
end

--- One number.
-- @function constant_
-- @tparam Tensor t
-- @tparam number value
-- @treturn Tensor t
function init.constant_(t, value)
  check_tensor("constant_", t)
  if type(value) ~= "number" and type(value) ~= "boolean" then
    raise("constant_: argument 'value' must be a number, got %s", type(value))
  end
  no_grad(function() t:fill_(value) end)
  return t
end

--- Ones.
-- @function ones_
-- @tparam Tensor t
-- @treturn Tensor t
function init.ones_(t)
  check_tensor("ones_", t)
  return init.constant_(t, 1)
end

--- Zeros.
-- @function zeros_
-- @tparam Tensor t
-- @treturn Tensor t
function init.zeros_(t)
  check_tensor("zeros_", t)
  return init.constant_(t, 0)
end

--- The identity matrix.
-- @function eye_
-- @tparam Tensor t of two dimensions
-- @treturn Tensor t
function init.eye_(t)
  check_tensor("eye_", t)
  if t.ndim ~= 2 then
    raise("eye_: the tensor must have 2 dimensions, it has %d", t.ndim)
  end
  no_grad(function()
    t:zero_()
    t:diagonal():fill_(1)
  end)
  return t
end

--- The weight of a convolution that passes its input on, as far as it has
-- channels.
-- @function dirac_
-- @tparam Tensor t {out, in / groups, sizes of the kernel}
-- @tparam[opt] table o `groups` (1)
-- @treturn Tensor t
function init.dirac_(t, ...)
  check_tensor("dirac_", t)
  local groups = arguments("dirac_", {"groups"}, {groups = 1}, ...).groups
  if t.ndim < 3 or t.ndim > 5 then
    raise("dirac_: the tensor must have 3 to 5 dimensions, it has %d", t.ndim)
  end
  if t.shape[1] % groups ~= 0 then
    raise("dirac_: %d channels do not make %d groups", t.shape[1], groups)
  end
  local n = t.shape[1] / groups
  no_grad(function()
    t:zero_()
    local centre = t
    for d = t.ndim, 3, -1 do
      centre = centre:select(d, floor(t.shape[d] / 2) + 1)
    end
    local k = min(n, t.shape[2])
    for g = 0, groups - 1 do
      centre:narrow(1, g * n + 1, n):narrow(1, 1, k):narrow(2, 1, k)
        :diagonal():fill_(1)
    end
  end)
  return t
end

-- -- By fans -----------------------------------------------------------------

local GAINS = {
  linear = 1, conv1d = 1, conv2d = 1, conv3d = 1, conv_transpose1d = 1,
  conv_transpose2d = 1, conv_transpose3d = 1, sigmoid = 1, tanh = 5 / 3,
  relu = sqrt(2), selu = 3 / 4,
}

--- The factor of the standard deviation for an activation.
-- @function calculate_gain
-- @tparam string nonlinearity the name of an operator, such as "relu"
-- @tparam[opt=0.01] number param the slope of "leaky_relu"
-- @treturn number
function init.calculate_gain(nonlinearity, param)
  if nonlinearity == "leaky_relu" then
    local slope = param == nil and 0.01 or param
    if type(slope) ~= "number" then
      raise("calculate_gain: the slope of leaky_relu must be a number, got %s",
            type(slope))
    end
    return sqrt(2 / (1 + slope * slope))
  end
  local gain = GAINS[nonlinearity]
  if not gain then
    raise("calculate_gain: there is no gain for %s",
          type(nonlinearity) == "string" and "'" .. nonlinearity .. "'" or
          type(nonlinearity))
  end
  return gain
end

--- The numbers of inputs and outputs of an element of a weight's layer.
local function fans(name, t)
  check_tensor(name, t)
  if t.ndim < 2 then
    raise("%s: the tensor must have at least 2 dimensions, it has %d", name,
          t.ndim)
  end
  local size = 1
  for d = 3, t.ndim do size = size * t.shape[d] end
  return t.shape[2] * size, t.shape[1] * size
end

local function fill_uniform(t, bound, from)
  no_grad(function() t:uniform_(-bound, bound, from) end)
  return t
end

local function fill_normal(t, std, from)
  no_grad(function() t:normal_(0, std, from) end)
  return t
end

local function xavier(name, fill, scale)
  init[name] = function(t, ...)
    local inputs, outputs = fans(name, t)
    local o, from = arguments(name, {"gain"}, {gain = 1}, ...)
    local std = o.gain * sqrt(2 / (inputs + outputs))
    return fill(t, scale * std, from)
  end
end

--- Uniform numbers of Glorot's standard deviation, gain * sqrt(2 / (fan_in +
-- fan_out)).
-- @function xavier_uniform_
-- @tparam Tensor t
-- @tparam[opt] table o `gain` (1), `generator`
-- @treturn Tensor t
xavier("xavier_uniform_", fill_uniform, sqrt(3))

--- Normal numbers of Glorot's standard deviation.
-- @function xavier_normal_
-- @tparam Tensor t
-- @tparam[opt] table o `gain` (1), `generator`
-- @treturn Tensor t
xavier("xavier_normal_", fill_normal, 1)

local KAIMING = {a = 0, mode = "fan_in", nonlinearity = "leaky_relu"}

local function kaiming(name, fill, scale)
  init[name] = function(t, ...)
    check_tensor(name, t)
    local o, from = arguments(name, {"a", "mode", "nonlinearity"}, KAIMING,
                              ...)
    if t:numel() == 0 then return t end
    local inputs, outputs = fans(name, t)
    if o.mode ~= "fan_in" and o.mode ~= "fan_out" then
      raise("%s: option 'mode' must be \"fan_in\" or \"fan_out\", got '%s'",
            name, o.mode)
    end
    local fan = o.mode == "fan_in" and inputs or outputs
    local std = init.calculate_gain(o.nonlinearity, o.a) / sqrt(fan)
    return fill(t, scale * std, from)
  end
end

--- Uniform numbers of He's standard deviation, gain / sqrt(fan).
-- @function kaiming_uniform_
-- @tparam Tensor t
-- @tparam[opt] table o `a` (0), the slope of leaky_relu; `mode` ("fan_in" or
-- "fan_out"), `nonlinearity` ("leaky_relu"), `generator`
-- @treturn Tensor t
kaiming("kaiming_uniform_", fill_uniform, sqrt(3))

--- Normal numbers of He's standard deviation.
-- @function kaiming_normal_
-- @tparam Tensor t
-- @tparam[opt] table o as for kaiming_uniform_
-- @treturn Tensor t
kaiming("kaiming_normal_", fill_normal, 1)

-- -- Matrices ----------------------------------------------------------------

--- An orthogonal matrix: that of the QR decomposition of normal numbers. The
-- dimensions after the first count as one.
-- @function orthogonal_
-- @tparam Tensor t
-- @tparam[opt] table o `gain` (1), `generator`
-- @treturn Tensor t
function init.orthogonal_(t, ...)
  check_tensor("orthogonal_", t)
  local o, from = arguments("orthogonal_", {"gain"}, {gain = 1}, ...)
  if t.ndim < 2 then
    raise("orthogonal_: the tensor must have at least 2 dimensions, it has %d",
          t.ndim)
  end
  if t:numel() == 0 then return t end
  local rows = t.shape[1]
  no_grad(function()
    local x = st.empty({rows, t:numel() / rows},
                       {dtype = t.dtype, device = t.device})
    x:normal_(0, 1, from)
    local wide = rows < x.shape[2]
    local q, r = st.linalg.qr(wide and x:t() or x)
    q = q * r:diagonal():sign()
    t:copy_((wide and q:t() or q):reshape(t.shape)):mul_(o.gain)
  end)
  return t
end

--- Normal numbers, and zeros in a share of each column.
-- @function sparse_
-- @tparam Tensor t of two dimensions
-- @tparam[opt] table o `sparsity`, the share of zeros; `std` (0.01),
-- `generator`
-- @treturn Tensor t
function init.sparse_(t, ...)
  check_tensor("sparse_", t)
  local o, from = arguments("sparse_", {"sparsity", "std"},
                            {sparsity = huge, std = 0.01}, ...)
  if t.ndim ~= 2 then
    raise("sparse_: the tensor must have 2 dimensions, it has %d", t.ndim)
  end
  if not (o.sparsity >= 0 and o.sparsity <= 1) then
    raise("sparse_: 'sparsity' must be a number from 0 to 1")
  end
  local rows, columns = t.shape[1], t.shape[2]
  local zeros = -floor(-o.sparsity * rows)
  no_grad(function()
    t:normal_(0, o.std, from)
    for c = 1, columns do
      local order = st.randperm(rows, from):to(t.device)
      t:select(2, c):index_fill_(1, order:narrow(1, 1, zeros), 0)
    end
  end)
  return t
end

-- -- Truncated ---------------------------------------------------------------

--- The normal distribution function.
local function below(x)
  return st.tensor(x, {dtype = "float64"}):special_ndtr():item()
end

--- Normal numbers, drawn again where they are not from a to b.
local function reject_outside(t, mean, std, a, b, o)
  local like = {dtype = t.dtype, device = t.device}
  local low, high = st.tensor(a, like):item(), st.tensor(b, like):item()
  local x = t:normal_(mean, std, o)
  while true do
    local outside = st.logical_or(x:lt(low), x:gt(high))
    if not outside:any():item() then break end
    x = st.where(outside, st.empty_like(x):normal_(mean, std, o), x)
  end
  t:copy_(x)
end

--- Uniform numbers from a to b, drawn again by the density: for intervals that
-- few normal numbers meet.
local function reject_by_density(t, mean, std, a, b, o)
  local peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ^ 2
  local x, pending = t:uniform_(a, b, o), nil
  local tried = x:clone()
  while true do
    local density = ((tried - mean) / std):square() * -0.5 - peak
    local refused = st.empty_like(t):uniform_(0, 1, o):log():gt(density)
    pending = pending and st.logical_and(pending, refused) or refused
    if not pending:any():item() then break end
    tried:uniform_(a, b, o)
    x = st.where(pending, tried, x)
  end
  t:copy_(x)
end

--- Fills t with numbers of a normal distribution that are from a to b: those of
-- torch.nn.init.trunc_normal_ for a seed.
-- @function trunc_normal_
-- @tparam Tensor t
-- @tparam[opt] table o `mean` (0) and `std` (1) of the distribution, `a` (-2),
-- `b` (2), `generator`
-- @treturn Tensor t
function init.trunc_normal_(t, o)
  if not st.is_tensor(t) then
    raise("trunc_normal_: the first argument must be a tensor")
  end
  o = options("trunc_normal_", o, KNOWN)
  local mean, std, a, b = o.mean or 0, o.std or 1, o.a or -2, o.b or 2
  for _, v in ipairs {mean, std, a, b} do
    if type(v) ~= "number" then
      raise("trunc_normal_: mean, std, a and b must be numbers")
    end
  end
  if not (std > 0 and a < b) then
    raise("trunc_normal_: std must be positive, and a less than b")
  end
  if t.device == "meta" then return t end
  local share = below((b - mean) / std) - below((a - mean) / std)
  local fill = share > 0.3 and reject_outside or reject_by_density
  local from = o.generator and {generator = o.generator} or nil
  no_grad(function() fill(t, mean, std, a, b, from) end)
  return t
end

return init
