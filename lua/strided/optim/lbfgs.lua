--- LBFGS.
--
-- @module strided.optim

local st = require "strided"
local callable = require "strided.argument.callable"
local check = require "strided.optim.check"
local guard = require "strided.name.guard"
local declare = require "strided.optim.optimizer".declare
local strong_wolfe = require "strided.optim.line_search"

local cat, enable_grad, is_tensor, no_grad, scope, view_as_real =
  st.cat, st.enable_grad, st.is_tensor, st.no_grad, st.scope, st.view_as_real
local keep = require "strided.core".keep_from_all
local abs, floor, ipairs, min, remove =
  math.abs, math.floor, ipairs, math.min, table.remove
local pairs, type = pairs, type

local lbfgs = {}

--- The method of Broyden, Fletcher, Goldfarb and Shanno with limited memory.
-- `step` takes a closure that computes the loss and the gradients anew; it is
-- called several times. All parameters are in one group. In float32, the order
-- in which the products of vectors are summed up changes the last digits of a
-- step, and after some steps more.
-- @function LBFGS
-- @tparam table params a list of tensors
-- @tparam[opt] table options `lr` (1); `max_iter` (20) iterations per step;
-- `max_eval` (5/4 of that) calls of the closure; `tolerance_grad` (1e-7) and
-- `tolerance_change` (1e-9), at which a step ends; `history_size` (100);
-- `line_search_fn`, "strong_wolfe" or nil; `maximize` (false)
local LBFGS = declare {
  name = "LBFGS",
  defaults = {lr = 1, max_iter = 20, max_eval = check.OPTIONAL,
              tolerance_grad = 1e-7, tolerance_change = 1e-9,
              history_size = 100, line_search_fn = check.OPTIONAL,
              maximize = false},
  types = {max_eval = "number", line_search_fn = "string"},
  ranges = {line_search_fn = check.one_of {"strong_wolfe"}},
  has_one_group = true,
  kept = {step = "number", n_iter = "number", func_evals = "number",
          t = "number", H_diag = "number", prev_loss = "number", d = "any",
          prev_flat_grad = "any", old_dirs = "any", old_stps = "any",
          ro = "any"},
}
lbfgs.LBFGS = LBFGS

function LBFGS.needs(_, key) return key == "n_iter" end

-- -- Vectors -----------------------------------------------------------------

local function real(t) return t:is_complex() and view_as_real(t) or t end

--- The gradients of all parameters, one after the other.
local function flat_gradient(group)
  local list = {}
  for i, p in ipairs(group.params) do
    list[i] = real(p.grad or st.zeros_like(p)):reshape(-1)
  end
  local flat = cat(list, 1)
  return group.maximize and flat:neg_() or flat
end

--- Adds t times a vector to the parameters.
local function move(group, t, direction)
  local offset = 0
  for _, p in ipairs(group.params) do
    p = real(p)
    local n = p:numel()
    p:add_(direction:narrow(1, offset + 1, n):view(p.shape), {alpha = t})
    offset = offset + n
  end
end

local function largest(t)
  return t:numel() > 0 and t:abs():max():item() or 0
end

local function dot(a, b) return a:dot(b):item() end

--- The number that a closure's loss is; negative if it is maximized.
local function number(loss, group)
  loss = is_tensor(loss) and loss:item() or loss
  return group.maximize and -loss or loss
end

--- The loss and the gradient at the parameters. What the closure computes is
-- released.
local function evaluate(closure, group)
  local loss = scope(function()
    return number(enable_grad(closure), group)
  end)
  return loss, flat_gradient(group)
end

-- -- Directions --------------------------------------------------------------

--- Adds the change of the gradient and of the parameters to the history.
local function remember(state, group, gradient)
  local y = gradient - state.prev_flat_grad
  local s = state.d * state.t
  local ys = dot(y, s)
  if ys <= 1e-10 then return end
  local dirs, steps, ro = state.old_dirs, state.old_stps, state.ro
  if #dirs == group.history_size then
    remove(dirs, 1)
    remove(steps, 1)
    remove(ro, 1)
  end
  dirs[#dirs + 1], steps[#steps + 1], ro[#ro + 1] = keep(y), keep(s), 1 / ys
  state.H_diag = ys / dot(y, y)
end

--- The gradient times the approximate inverse of the second derivatives.
local function direction(state, gradient)
  local dirs, steps, ro, al = state.old_dirs, state.old_stps, state.ro, {}
  local d = -gradient
  for i = #dirs, 1, -1 do
    al[i] = dot(steps[i], d) * ro[i]
    d:add_(dirs[i], {alpha = -al[i]})
  end
  d:mul_(state.H_diag)
  for i = 1, #dirs do
    d:add_(steps[i], {alpha = al[i] - dot(dirs[i], d) * ro[i]})
  end
  return d
end

local function next_direction(state, group, gradient)
  state.n_iter = state.n_iter + 1
  if state.n_iter == 1 then
    state.old_dirs, state.old_stps, state.ro = {}, {}, {}
    state.H_diag = 1
    state.d = keep(-gradient)
    state.t = min(1, 1 / gradient:abs():sum():item()) * group.lr
  else
    remember(state, group, gradient)
    state.d = keep(direction(state, gradient))
    state.t = group.lr
  end
end

-- -- Steps -------------------------------------------------------------------

--- Moves the parameters to the best point of a line search. Returns its loss
-- and gradient, and the number of evaluations.
local function search(state, group, closure, point, most)
  local d, start, count = state.d, {}, 0
  for i, p in ipairs(group.params) do start[i] = p:clone() end
  local function at(t)
    move(group, t, d)
    local f, g = evaluate(closure, group)
    for i, p in ipairs(group.params) do p:copy_(start[i]) end
    count = count + 1
    return {t = t, f = f, g = g, slope = dot(g, d)}
  end
  local found = strong_wolfe {
    evaluate = at, start = point, t = state.t, norm = largest(d), most = most,
    tolerance = group.tolerance_change}
  state.t = found.t
  move(group, found.t, d)
  return found.f, found.g, count
end

--- One iteration. Returns the loss and the gradient after it, the number of
-- evaluations, and true if the step ends.
local function iterate(state, group, closure, loss, gradient, left)
  next_direction(state, group, gradient)
  state.prev_flat_grad, state.prev_loss = keep(gradient:clone()), loss
  local d, count, is_last = state.d, 0, left.iterations == 1
  local slope = dot(gradient, d)
  if slope > -group.tolerance_change then return loss, gradient, 0, true end
  if group.line_search_fn then
    local point = {t = 0, f = loss, g = gradient, slope = slope}
    loss, gradient, count = search(state, group, closure, point,
                                   left.evaluations)
  else
    move(group, state.t, d)
    if not is_last then
      loss, gradient = evaluate(closure, group)
      count = 1
    end
  end
  local ends = is_last or count >= left.evaluations or
               largest(gradient) <= group.tolerance_grad or
               largest(d * state.t) <= group.tolerance_change or
               abs(loss - state.prev_loss) < group.tolerance_change
  return loss, gradient, count, ends
end

local function run(self, closure, loss)
  local group = self.param_groups[1]
  local state = self.state[group.params[1]]
  local gradient = flat_gradient(group)
  state.step, state.func_evals = state.step + 1, state.func_evals + 1
  if largest(gradient) <= group.tolerance_grad then return end
  local left = {
    iterations = group.max_iter,
    evaluations = (group.max_eval or floor(group.max_iter * 5 / 4)) - 1,
  }
  local count, ends
  while left.iterations > 0 do
    loss, gradient, count, ends = iterate(state, group, closure, loss,
                                          gradient, left)
    state.func_evals = state.func_evals + count
    left.iterations = left.iterations - 1
    left.evaluations = left.evaluations - count
    if ends then break end
  end
end

--- Updates the parameters.
-- @tparam function closure computes the loss and the gradients; returns the
-- loss
-- @return what the first call of the closure returns
function LBFGS:step(closure)
  callable("step", closure)
  local loss = enable_grad(closure)
  no_grad(scope, run, self, closure, number(loss, self.param_groups[1]))
  return loss
end

guard.methods(LBFGS, "optimizer", function(value)
  return type(value) == "table" and value.param_groups ~= nil
end, {"step"})

-- -- State -------------------------------------------------------------------

--- The lists of the state as tensors.
function LBFGS.flatten(state)
  local flat = {}
  for key, value in pairs(state) do
    if type(value) ~= "table" or is_tensor(value) then
      flat[key] = value
    elseif #value > 0 then
      flat[key] = key == "ro" and st.tensor(value, {dtype = "float64"}) or
                  st.stack(value, 1)
    end
  end
  return flat
end

--- The dtype of a vector over all parameters.
local function vector_dtype(group)
  local dtype
  for _, p in ipairs(group.params) do
    local own = real(p).dtype
    dtype = dtype and st.promote_types(dtype, own) or own
  end
  return dtype
end

--- The opposite of flatten.
function LBFGS.unflatten(state, group)
  local dtype = vector_dtype(group)
  for _, key in ipairs {"d", "prev_flat_grad"} do
    if state[key] then state[key] = keep(state[key]:to(dtype)) end
  end
  for _, key in ipairs {"old_dirs", "old_stps"} do
    local list, rows = {}, state[key]
    for i = 1, rows and rows:size(1) or 0 do
      list[i] = keep(rows[i]:to(dtype, {copy = true}))
    end
    state[key] = list
  end
  state.ro = state.ro and state.ro:totable() or {}
end

return lbfgs
