--- Muon: steps that are nearly orthogonal matrices.
--
-- @module strided.optim

local st = require "strided"
local check = require "strided.optim.check"
local declare = require "strided.optim.optimizer".declare
local raise = require "strided.argument.caller_error"

local addmm, bfloat16 = st.addmm, st.bfloat16
local ipairs, max, sqrt = ipairs, math.max, math.sqrt
local table, tostring = table, tostring

local muon = {}

--- Factors of lr for a matrix of `rows` by `columns`.
local FACTORS = {
  original = function(rows, columns) return sqrt(max(1, rows / columns)) end,
  match_rms_adamw = function(rows, columns)
    return 0.2 * sqrt(max(rows, columns))
  end,
  spectral_unclamped = function(rows, columns) return sqrt(rows / columns) end,
}

--- Muon, for the matrices of hidden layers: the momentum is orthogonalized, in
-- bfloat16, by steps of Newton and Schulz.
-- @function Muon
-- @tparam table params a list of matrices, or of groups
-- @tparam[opt] table options `lr` (1e-3); `weight_decay` (0.1), decoupled;
-- `momentum` (0.95); `nesterov` (true); `ns_coefficients` ({3.4445, -4.775,
-- 2.0315}) and `ns_steps` (5) of the iteration; `eps` (1e-7); `adjust_lr_fn`,
-- how lr depends on the shape: "original" (the default), "match_rms_adamw" or
-- "spectral_unclamped"
muon.Muon = declare {
  name = "Muon",
  defaults = {lr = 1e-3, weight_decay = 0.1, momentum = 0.95, nesterov = true,
              ns_coefficients = {3.4445, -4.7750, 2.0315}, eps = 1e-7,
              ns_steps = 5, adjust_lr_fn = check.OPTIONAL},
  types = {adjust_lr_fn = "string"},
  ranges = {ns_coefficients = check.numbers,
            adjust_lr_fn = check.one_of {"original", "match_rms_adamw",
                                         "spectral_unclamped"}},
  kept = {step = "number", momentum_buffer = "tensor"},
}

function muon.Muon.check(group)
  if group.ns_steps >= 100 then return "option 'ns_steps' must be below 100" end
end

function muon.Muon.check_parameter(p)
  if p:dim() ~= 2 or p:is_complex() then
    raise("Muon: a parameter must be a real matrix, got %s of shape {%s}",
          tostring(p.dtype), table.concat(p.shape, ", "))
  end
end

local BUFFER = {"momentum_buffer"}

function muon.Muon.lists() return BUFFER end

--- A matrix near to u v^T where u s v^T is that of t.
local function orthogonalized(t, group)
  local c = group.ns_coefficients
  local x = t:to(bfloat16, {copy = true})
  local is_tall = t:size(1) > t:size(2)
  if is_tall then x = x:t() end
  x:div_(x:norm():clamp {min = group.eps})
  for _ = 1, group.ns_steps do
    local gram = x:matmul(x:t())
    local update = addmm(gram, gram, gram, {beta = c[2], alpha = c[3]})
    x = addmm(x, update, x, {beta = c[1]})
  end
  return is_tall and x:t() or x
end

function muon.Muon.update(batch, group)
  local momentum = group.momentum
  for i, p in ipairs(batch.params) do
    local grad, buffer = batch.grads[i], batch.momentum_buffer[i]
    buffer:lerp_(grad, 1 - momentum)
    local update = group.nesterov and grad:lerp(buffer, momentum) or buffer
    update = orthogonalized(update, group)
    local factor = FACTORS[group.adjust_lr_fn or "original"]
    p:mul_(1 - group.lr * group.weight_decay)
    p:add_(update, {alpha = -group.lr * factor(p:size(1), p:size(2))})
  end
end

return muon
