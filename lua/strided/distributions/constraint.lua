--- Constraints: which values a parameter or a sample may have.
--
--     st.distributions.constraints.positive:check(st.tensor {1, -1})
--       --> tensor([true, false])
--
-- A constraint has `name`, `event_dim` (the trailing dimensions that make one
-- value), `is_discrete` and `check(x)`, a bool tensor without those dimensions.
--
-- @module strided.distributions.constraint

local st = require "strided"

local concat, format, setmetatable, type = table.concat, string.format,
  setmetatable, type

local constraints = {}

-- -- Making ------------------------------------------------------------------

local meta = {__tostring = function(self) return self.name end}

local function make(name, check, event_dim, is_discrete)
  return setmetatable({
    name = name, event_dim = event_dim or 0, is_discrete = is_discrete or false,
    check = function(_, x) return check(x) end,
  }, meta)
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

-- -- Of an element -----------------------------------------------------------

constraints.real = make("real", function(x) return x:eq(x) end)
constraints.boolean = make("0 or 1", function(x)
  return st.logical_or(x:eq(0), x:eq(1))
end, 0, true)
constraints.positive = make("positive", function(x) return x:gt(0) end)
constraints.nonnegative = make("not negative", function(x) return x:ge(0) end)
constraints.unit_interval = make("from 0 to 1", function(x)
  return both(x:ge(0), x:le(1))
end)
constraints.nonnegative_integer = make("an integer from 0 on", function(x)
  return both(is_whole(x), x:ge(0))
end, 0, true)
constraints.positive_integer = make("an integer from 1 on", function(x)
  return both(is_whole(x), x:ge(1))
end, 0, true)

--- Elements that are greater than `low`.
function constraints.greater_than(low)
  return make("greater than " .. text(low), function(x) return x:gt(low) end)
end

--- Elements that are `low` or greater.
function constraints.greater_than_eq(low)
  return make("at least " .. text(low), function(x) return x:ge(low) end)
end

--- Elements that are less than `high`.
function constraints.less_than(high)
  return make("less than " .. text(high), function(x) return x:lt(high) end)
end

--- Elements from `low` to `high`.
function constraints.interval(low, high)
  return make(format("from %s to %s", text(low), text(high)), function(x)
    return both(x:ge(low), x:le(high))
  end)
end

--- Elements from `low` to below `high`.
function constraints.half_open_interval(low, high)
  return make(format("from %s to below %s", text(low), text(high)), function(x)
    return both(x:ge(low), x:lt(high))
  end)
end

--- Integers from `low` to `high`.
function constraints.integer_interval(low, high)
  return make(format("an integer from %s to %s", text(low), text(high)),
              function(x)
    return both(is_whole(x), both(x:ge(low), x:le(high)))
  end, 0, true)
end

-- -- Of a vector -------------------------------------------------------------

constraints.real_vector = make("a real vector", function(x)
  return all(x:eq(x))
end, 1)
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
  return make("counts with the sum " .. text(most), function(x)
    return both(all(both(is_whole(x), x:ge(0))), x:sum(-1):eq(most))
  end, 1, true)
end

-- -- Of a matrix -------------------------------------------------------------

local function all_entries(x) return all(all(x)) end

local function symmetric(x)
  return all_entries((x - x:mT()):abs():le(1e-6 + 1e-5 * x:abs()))
end

local function is_lower(x) return all_entries(x:tril():eq(x)) end

local function diagonal(x) return st.diagonal(x, {dim1 = -2, dim2 = -1}) end

constraints.lower_triangular = make("lower triangular", is_lower, 2)
constraints.lower_cholesky = make(
  "lower triangular with a positive diagonal", function(x)
    return both(is_lower(x), all(diagonal(x):gt(0)))
  end, 2)
constraints.positive_definite = make(
  "symmetric and positive definite", function(x)
    local _, info = st.linalg_cholesky_ex(x)
    return both(symmetric(x), info:eq(0))
  end, 2)

-- -- Of constraints ----------------------------------------------------------

--- A constraint whose last `n` further dimensions make one value.
function constraints.independent(base, n)
  if n == 0 then return base end
  return make(concat({base.name, " in each element"}), function(x)
    local ok = base:check(x)
    for _ = 1, n do ok = all(ok) end
    return ok
  end, base.event_dim + n, base.is_discrete)
end

--- The constraint of that name, or itself.
function constraints.find(c)
  return type(c) == "string" and constraints[c] or c
end

return constraints
