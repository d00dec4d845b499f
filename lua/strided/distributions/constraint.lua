--- Constraints: which values a parameter or a sample may have.
--
--     st.distributions.constraints.positive:check(st.tensor {1, -1})
--       --> tensor([true, false])
--
-- A constraint has `name`, `event_dim` (the trailing dimensions that make one
-- value), `is_discrete` and `check(x)`, a bool tensor without those dimensions;
-- intervals have `lower_bound` and `upper_bound`. Its `kind` is the function
-- that makes constraints like it, or itself: biject_to and transform_to find
-- their transform by it.
--
-- @module strided.distributions.constraint

local st = require "strided"
local raise = require "strided.argument.caller_error"

local format, getmetatable, ipairs, max, rawequal, setmetatable, tostring,
  type = string.format, getmetatable, ipairs, math.max, rawequal, setmetatable,
  tostring, type

local constraints = {}

-- -- Making ------------------------------------------------------------------

local meta = {__tostring = function(self) return self.name end}

--- A constraint with some fields, of which `kind` may be one.
local function make(name, check, event_dim, is_discrete, fields)
  local c = fields or {}
  c.name, c.event_dim = name, event_dim or 0
  c.is_discrete = is_discrete or false
  c.check = function(_, x) return check(x) end
  c.kind = c.kind or c
  return setmetatable(c, meta)
end

--- True for constraints.
-- @param v
-- @treturn boolean
function constraints.is_constraint(v)
  return type(v) == "table" and getmetatable(v) == meta
end

local is_constraint = constraints.is_constraint

--- A constraint of one's own, for biject_to:register and for classes of
-- distributions.
-- @tparam table c `name`; `check`, a function of a tensor; `event_dim` (0);
-- `is_discrete` (false)
-- @treturn Constraint
function constraints.Constraint(c)
  if type(c) ~= "table" or type(c.name) ~= "string" or
     type(c.check) ~= "function" then
    raise("Constraint: give a table with a name and the function check")
  end
  return make(c.name, c.check, c.event_dim, c.is_discrete)
end

local function text(v)
  if st.is_tensor(v) then
    if v:numel() ~= 1 then return "..." end
    v = v:detach():item()
  end
  return format("%g", v)
end

local function all(x) return st.all(x, -1) end
local function both(a, b) return st.logical_and(a, b) end
local function is_whole(x) return x:eq(x:floor()) end

-- -- Arguments ---------------------------------------------------------------

--- A bound: a number or a tensor.
local function bound(name, argument, v)
  if type(v) == "number" or st.is_tensor(v) then return v end
  raise("%s: %s must be a number or a tensor, got %s", name, argument, type(v))
end

--- The integer `v`, at least `least` if that is given, or an error.
function constraints.read_integer(name, argument, v, least)
  if type(v) ~= "number" or v % 1 ~= 0 or least and v < least then
    raise("%s: %s must be an integer%s, got %s", name, argument,
          least and " from " .. least .. " on" or "", tostring(v))
  end
  return v
end

local read_integer = constraints.read_integer

local function check_constraint(name, c)
  if not is_constraint(c) then
    raise("%s: the argument must be a constraint", name)
  end
end

--- A name of bounds and the bounds.
local function between(name, words, low, high)
  return format(words, text(bound(name, "lower_bound", low)),
                text(bound(name, "upper_bound", high)))
end

-- -- Of an element -----------------------------------------------------------

constraints.real = make("real", function(x) return x:eq(x) end)
constraints.boolean = make("0 or 1", function(x)
  return st.logical_or(x:eq(0), x:eq(1))
end, 0, true)
constraints.nonnegative_integer = make("an integer from 0 on", function(x)
  return both(is_whole(x), x:ge(0))
end, 0, true)
constraints.positive_integer = make("an integer from 1 on", function(x)
  return both(is_whole(x), x:ge(1))
end, 0, true)

local function greater_than(low, name)
  bound("greater_than", "lower_bound", low)
  return make(name or "greater than " .. text(low), function(x)
    return x:gt(low)
  end, 0, false, {kind = constraints.greater_than, lower_bound = low})
end

--- Elements that are greater than `low`.
function constraints.greater_than(low) return greater_than(low) end

local function greater_than_eq(low, name)
  bound("greater_than_eq", "lower_bound", low)
  return make(name or "at least " .. text(low), function(x)
    return x:ge(low)
  end, 0, false, {kind = constraints.greater_than_eq, lower_bound = low})
end

--- Elements that are `low` or greater.
function constraints.greater_than_eq(low) return greater_than_eq(low) end

--- Elements that are less than `high`.
function constraints.less_than(high)
  bound("less_than", "upper_bound", high)
  return make("less than " .. text(high), function(x)
    return x:lt(high)
  end, 0, false, {kind = constraints.less_than, upper_bound = high})
end

--- Elements from `low` to `high`.
function constraints.interval(low, high)
  local name = between("interval", "from %s to %s", low, high)
  return make(name, function(x)
    return both(x:ge(low), x:le(high))
  end, 0, false, {kind = constraints.interval, lower_bound = low,
                  upper_bound = high})
end

--- Elements from `low` to below `high`.
function constraints.half_open_interval(low, high)
  local name = between("half_open_interval", "from %s to below %s", low, high)
  return make(name, function(x)
    return both(x:ge(low), x:lt(high))
  end, 0, false, {kind = constraints.half_open_interval, lower_bound = low,
                  upper_bound = high})
end

--- Integers from `low` to `high`.
function constraints.integer_interval(low, high)
  local name = between("integer_interval", "an integer from %s to %s", low,
                       high)
  return make(name, function(x)
    return both(is_whole(x), both(x:ge(low), x:le(high)))
  end, 0, true, {kind = constraints.integer_interval, lower_bound = low,
                 upper_bound = high})
end

constraints.positive = greater_than(0, "positive")
constraints.nonnegative = greater_than_eq(0, "not negative")
constraints.unit_interval = constraints.interval(0, 1)

--- What depends on other parameters: it has no check.
constraints.dependent = make("dependent", function()
  raise("dependent: what it allows depends on other parameters")
end)

--- True for `dependent`.
function constraints.is_dependent(c)
  return rawequal(c, constraints.dependent)
end

-- -- Of constraints ----------------------------------------------------------

--- All of the last n dimensions.
local function all_of(x, n)
  for _ = 1, n do x = all(x) end
  return x
end

local function independent(base, n, name)
  return make(name or base.name .. " in each element", function(x)
    return all_of(base:check(x), n)
  end, base.event_dim + n, base.is_discrete, {
    kind = constraints.independent, base_constraint = base,
    reinterpreted_batch_ndims = n,
  })
end

--- A constraint whose last `n` further dimensions make one value.
function constraints.independent(base, n)
  check_constraint("independent", base)
  read_integer("independent", "reinterpreted_batch_ndims", n, 0)
  return n == 0 and base or independent(base, n)
end

--- What each component of a mixture allows, in a dimension before the event.
function constraints.MixtureSameFamilyConstraint(base)
  check_constraint("MixtureSameFamilyConstraint", base)
  return make(base.name, function(x)
    local ok = base:check(x:unsqueeze(-1 - base.event_dim))
    return all_of(ok, ok:dim() - (x:dim() - base.event_dim))
  end, base.event_dim, base.is_discrete, {
    kind = constraints.MixtureSameFamilyConstraint, base_constraint = base,
  })
end

--- The largest event_dim of a list, and whether one is discrete.
local function common(name, list)
  local event_dim, is_discrete = 0, false
  if type(list) ~= "table" or #list == 0 then
    raise("%s: the first argument must be a list of constraints", name)
  end
  for i, c in ipairs(list) do
    if not is_constraint(c) then
      raise("%s: element %d is no constraint", name, i)
    end
    event_dim = max(event_dim, c.event_dim)
    is_discrete = is_discrete or c.is_discrete
  end
  return event_dim, is_discrete
end

--- The dimension counted from 1, of n.
local function place(name, dim, n)
  local d = dim < 0 and n + 1 + dim or dim
  if d < 1 or d > n then
    raise("%s: a tensor of %d dimensions has no dimension %d", name, n, dim)
  end
  return d
end
constraints.place = place

--- Puts the checks of parts together: in the dimension d of the value, or
-- each with each if that is one of an event.
local function together(join, parts, list, event_dim, d)
  for i, c in ipairs(list) do
    parts[i] = all_of(parts[i], event_dim - c.event_dim)
  end
  if d <= parts[1]:dim() + (join == st.stack and 1 or 0) then
    return join(parts, d)
  end
  local out = parts[1]
  for i = 2, #parts do out = both(out, parts[i]) end
  return out
end

--- Constraints of consecutive parts of a dimension.
-- @tparam table list
-- @tparam[opt=1] integer dim
-- @tparam[opt] table lengths of the parts; default 1 each
function constraints.cat(list, dim, lengths)
  local event_dim, is_discrete = common("cat", list)
  dim = read_integer("cat", "dim", dim or 1)
  if lengths and type(lengths) ~= "table" then
    raise("cat: lengths must be a list of sizes, got %s", type(lengths))
  end
  if lengths and #lengths ~= #list then
    raise("cat: %d lengths for %d constraints", #lengths, #list)
  end
  for i, n in ipairs(lengths or {}) do
    read_integer("cat", "length " .. i, n, 0)
  end
  return make("the parts' own", function(x)
    local d, start, parts = place("cat", dim, x:dim()), 1, {}
    for i, c in ipairs(list) do
      local n = lengths and lengths[i] or 1
      parts[i], start = c:check(x:narrow(d, start, n)), start + n
    end
    return together(st.cat, parts, list, event_dim, d)
  end, event_dim, is_discrete, {
    kind = constraints.cat, cseq = list, dim = dim, lengths = lengths,
  })
end

--- Constraints of the elements of a dimension.
-- @tparam table list
-- @tparam[opt=1] integer dim
function constraints.stack(list, dim)
  local event_dim, is_discrete = common("stack", list)
  dim = read_integer("stack", "dim", dim or 1)
  return make("the elements' own", function(x)
    local d, parts = place("stack", dim, x:dim()), {}
    for i, c in ipairs(list) do parts[i] = c:check(x:select(d, i)) end
    return together(st.stack, parts, list, event_dim, d)
  end, event_dim + (dim + event_dim < 0 and 1 or 0), is_discrete, {
    kind = constraints.stack, cseq = list, dim = dim,
  })
end

-- -- Of a vector -------------------------------------------------------------

constraints.real_vector = independent(constraints.real, 1, "a real vector")
constraints.simplex = make("a vector of shares with the sum 1", function(x)
  return both(all(x:ge(0)), (x:sum(-1) - 1):abs():lt(1e-6))
end, 1)
constraints.weights = make("a vector of weights, not all 0", function(x)
  return both(all(x:ge(0)), x:sum(-1):gt(0))
end, 1)
constraints.one_hot = make("a vector of 0 and one 1", function(x)
  return both(all(st.logical_or(x:eq(0), x:eq(1))), x:sum(-1):eq(1))
end, 1, true)

--- Vectors of counts whose sum is `most`.
function constraints.multinomial(most)
  bound("multinomial", "upper_bound", most)
  return make("counts with the sum " .. text(most), function(x)
    return both(all(both(is_whole(x), x:ge(0))), x:sum(-1):eq(most))
  end, 1, true, {kind = constraints.multinomial, upper_bound = most})
end

-- -- Of a matrix -------------------------------------------------------------

local function all_entries(x) return all(all(x)) end

local function diagonal(x) return st.diagonal(x, {dim1 = -2, dim2 = -1}) end

local function is_lower(x) return all_entries(x:tril():eq(x)) end

local function is_cholesky(x)
  return both(is_lower(x), all(diagonal(x):gt(0)))
end

--- What `check` says of square matrices; false for others.
local function of_squares(check)
  return function(x)
    local shape = x.shape
    local n = #shape
    if shape[n] == shape[n - 1] then return check(x) end
    local outer = {}
    for i = 1, n - 2 do outer[i] = shape[i] end
    return x:new_zeros(outer, {dtype = "bool"})
  end
end

local function symmetric(x)
  return all_entries((x - x:mT()):abs():le(1e-6 + 1e-5 * x:abs()))
end

constraints.square = make("square", of_squares(function(x)
  return all_entries(st.ones_like(x, {dtype = "bool"}))
end), 2)
constraints.symmetric = make("symmetric", of_squares(symmetric), 2)
constraints.lower_triangular = make("lower triangular", is_lower, 2)
constraints.lower_cholesky = make(
  "lower triangular with a positive diagonal", is_cholesky, 2)
constraints.corr_cholesky = make(
  "lower triangular with a positive diagonal and rows of norm 1", function(x)
    if not x:is_floating_point() then x = x:to(st.get_default_dtype()) end
    local most = 10 * st.dtype_info(x.dtype).eps * x.shape[x:dim()]
    local norms = st.linalg_vector_norm(x:detach(), 2, {-1})
    return both(is_cholesky(x), all((norms - 1):abs():le(most)))
  end, 2)
constraints.positive_semidefinite = make(
  "symmetric and positive semidefinite", of_squares(function(x)
    return both(symmetric(x), all(st.linalg_eigvalsh(x):ge(0)))
  end), 2)
constraints.positive_definite = make(
  "symmetric and positive definite", of_squares(function(x)
    local _, info = st.linalg_cholesky_ex(x)
    return both(symmetric(x), info:eq(0))
  end), 2)

-- -- Names -------------------------------------------------------------------

--- The constraint of that name, or itself.
function constraints.find(c)
  return type(c) == "string" and constraints[c] or c
end

return constraints
