--- Adafactor: second moments of matrices as products of a row and a column.
--
-- @module strided.optim

local st = require "strided"
local declare = require "strided.optim.optimizer".declare
local keep = require "strided.core".keep_from_all
local raise = require "strided.argument.caller_error"

local finfo, norm, vector_norm = st.finfo, st.norm, st.linalg.vector_norm
local ipairs, max, min, sqrt, tostring, type = ipairs, math.max, math.min,
                                               math.sqrt, tostring, type

local adafactor = {}

--- A function for `ranges`: two numbers from 0.
local function check_eps(value)
  for i = 1, 2 do
    local number = value[i]
    if type(number) ~= "number" or number < 0 or number ~= number then
      return "must be two numbers from 0"
    end
  end
end

--- Adafactor (Shazeer, Stern: "Adafactor: Adaptive Learning Rates with
-- Sublinear Memory Cost", ICML 2018): of the second moments of a matrix it
-- keeps the means of rows and of columns.
-- @function Adafactor
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options `lr` (1e-2), at most 1 / sqrt(step) is used;
-- `beta2_decay` (-0.8): the moments decay by 1 - step ^ beta2_decay; `eps`
-- ({0, 1e-3}): the least root of a moment, where 0 stands for the dtype's eps,
-- and the least size of a parameter; `d` (1): updates with a
-- greater root of the mean of squares are scaled down; `weight_decay` (0),
-- decoupled; `maximize` (false)
adafactor.Adafactor = declare {
  name = "Adafactor",
  defaults = {lr = 1e-2, beta2_decay = -0.8, eps = {0, 1e-3}, d = 1,
              weight_decay = 0, maximize = false},
  ranges = {
    beta2_decay = function(value)
      if value > 0 or value ~= value then
        return "must not be positive, got " .. value
      end
    end,
    d = function(value)
      if value < 1 or value ~= value then
        return "must be at least 1, got " .. value
      end
    end,
    eps = check_eps,
  },
  kept = {step = "number", row_var = "factor", col_var = "factor",
          variance = "factor"},
}

function adafactor.Adafactor.check_parameter(p)
  if p:is_complex() then
    raise("Adafactor: a parameter must be real, got %s", tostring(p.dtype))
  end
end

local NONE = {}

function adafactor.Adafactor.lists() return NONE end

--- The mean of squares along dimension d of t, or its moving mean.
local function mean_of_squares(state, name, t, d, weight)
  local mean = vector_norm(t, 2, {dim = d, keepdim = true}):square_()
                 :div_(t:size(d))
  local var = state[name]
  if not var then
    var = keep(st.zeros_like(mean, {memory_format = "contiguous_format"}))
    state[name] = var
  end
  return var:lerp_(mean, weight)
end

--- A new tensor of estimated second moments.
local function second_moments(state, grad, weight, eps)
  if grad:dim() > 1 then
    local row = mean_of_squares(state, "row_var", grad, -1, weight)
    local column = mean_of_squares(state, "col_var", grad, -2, weight)
    local mean = row:mean {dim = -2, keepdim = true}
    return row:matmul(column):div_(mean:clamp_ {min = eps})
  end
  if not state.variance then state.variance = keep(st.zeros_like(grad)) end
  return state.variance:lerp_(grad * grad, weight):clone()
end

--- The root of the mean of squares.
local function size_of(t) return norm(t):item() / sqrt(t:numel()) end

function adafactor.Adafactor.update(batch, group)
  for i, p in ipairs(batch.params) do
    local state, grad = batch.states[i], batch.grads[i]:to(p.dtype)
    if group.maximize then grad = -grad end
    local eps = group.eps[1] > 0 and group.eps[1] or finfo(p.dtype).eps
    local rate = max(group.eps[2], size_of(p)) *
                 min(group.lr, 1 / sqrt(state.step))
    if group.weight_decay ~= 0 then
      p:mul_(1 - group.lr * group.weight_decay)
    end
    local moments = second_moments(state, grad, state.step ^ group.beta2_decay,
                                   eps)
    local update = moments:clamp_({min = eps * eps}):rsqrt_():mul_(grad)
    p:add_(update, {alpha = -rate / max(1, size_of(update) / group.d)})
  end
end

return adafactor
