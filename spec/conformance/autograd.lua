--- Replays the programs of golden/ops/autograd and autograd_ops: operators on
-- leaves, and the gradients of what they give.
--
-- Values are numbered from 0: the leaves, then whatever tensors the steps
-- return, a gradient that is none among them.

local api = require "spec.conformance.api"
local changes = require "spec.conformance.changes"
local compare = require "spec.conformance.compare"
local deviations = require "spec.conformance.deviations"
local given = require "spec.conformance.arguments"
local overlap = require "spec.conformance.overlap"
local reader = require "spec.conformance.reader"
local values = require "spec.conformance.values"

local st, core, null = api.st, api.core, reader.null
local format = string.format

local autograd = {}

-- -- Values ------------------------------------------------------------------

--- A leaf in the layout that the case says, no view of another tensor.
local function new_leaf(v, requires_grad)
  local t = st.empty_strided(v.shape, v.strides, {dtype = v.dtype})
  core.set_bytes(t, 0, values.pack_list(v.dtype, v.storage))
  return requires_grad and t:requires_grad_() or t
end

--- A program: its values, with null for what is none, and how many.
local function new_program(case)
  local known = {n = #case.args}
  for i, v in ipairs(case.args) do
    known[i] = new_leaf(v, case.kwargs.requires_grad[i])
  end
  return {known = known, seen = given.new(known)}
end

local function append(known, x)
  known.n = known.n + 1
  known[known.n] = x == nil and null or x
end

--- Appends the tensors of the results, those in lists one by one.
local function append_results(known, ...)
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if type(x) == "table" then
      append_results(known, (unpack or table.unpack)(x))
    elseif x == nil or api.is_tensor(x) then
      append(known, x)
    end
  end
end

--- The values that a list of numbers names.
local function named(known, numbers)
  local out = {}
  for i, v in ipairs(numbers) do out[i] = known[v + 1] end
  return out
end

-- -- Steps -------------------------------------------------------------------

local function flag(x)
  if x == null then return nil end
  return x
end

local function pass_options(program, step)
  local grads = step.grad_outputs
  return {
    grad_outputs = flag(grads) and given.decode(program.seen, grads),
    create_graph = flag(step.create_graph),
    retain_graph = flag(step.retain_graph),
    allow_unused = flag(step.allow_unused),
  }
end

local STEPS = {}

function STEPS.grad(program, step)
  local known = program.known
  local function append_all(...)
    for i = 1, #step.inputs do append(known, (select(i, ...))) end
  end
  append_all(st.grad(named(known, step.outputs), named(known, step.inputs),
                     pass_options(program, step)))
end

function STEPS.backward(program, step)
  st.backward(named(program.known, step.outputs), pass_options(program, step))
end

local function arguments(program, step)
  return given.of_call(program.seen, api.operator(step.op), step.args,
                       step.kwargs or {})
end

local function call(step, args, kwargs, substitutes)
  local f = substitutes and substitutes[step.op]
  if f then return f((unpack or table.unpack)(args, 1, args.n)) end
  if not step.no_grad then return api.call(step.op, args, kwargs) end
  return st.no_grad(api.call, step.op, args, kwargs)
end

local function run_step(program, step)
  local special = STEPS[step.op]
  if special then return special(program, step) end
  local args, kwargs = arguments(program, step)
  append_results(program.known, call(step, args, kwargs,
                                     program.substitutes))
end

--- Runs the first n steps: true; or false, what was raised, and the step it
-- was raised by, from 1.
local function run(program, case, n)
  for i = 1, n do
    local ok, why = pcall(run_step, program, case.kwargs.steps[i])
    if not ok then return false, why, i end
  end
  return true
end

-- -- Outcomes ----------------------------------------------------------------

local function check_value(t, want, tol)
  if want == null or t == null or t == nil then
    return want == (t == nil and null or t), "only one of the two is there"
  end
  t = t:detach():resolve_conj():resolve_neg()
  return compare(t, want, {tol = tol, logical = true})
end

local function check_flags(known, wants)
  if known.n ~= #wants then
    return false, format("%d values, should be %d", known.n, #wants)
  end
  for i, want in ipairs(wants) do
    local got = known[i] ~= null and known[i].requires_grad
    if got ~= want then
      return false, format("value %d requires a gradient: %s, should be %s",
                           i - 1, tostring(got), tostring(want))
    end
  end
  return true
end

local function check_outcome(case, known)
  local expect = case.expect
  local ok, why = check_flags(known, expect.wants_grad)
  if not ok then return ok, why end
  for i, number in ipairs(case.kwargs.report) do
    ok, why = check_value(known[number + 1], expect.values[i], case.tol)
    if not ok then return false, format("value %d: %s", number, why) end
  end
  for i, want in ipairs(expect.leaf_grads or {}) do
    ok, why = check_value(known[i].grad, want, case.tol)
    if not ok then return false, format("grad of leaf %d: %s", i - 1, why) end
  end
  return true
end

local function check_error(case, ok, message, at)
  local step = case.error_step + 1
  if ok or at > step then
    return false, format("step %d should have raised %s", step - 1,
                         case.error)
  end
  if at < step or api.is_defect(message) then
    return false, format("step %d raised: %s", at - 1, tostring(message))
  end
  return true
end

--- A step that PyTorch refuses, because a tensor that it writes to shares
-- memory with one that it reads, writes what it would if they shared none.
local function check_overlap(case, why)
  local n = case.error_step + 1
  local overlapping, apart = new_program(case), new_program(case)
  local step = case.kwargs.steps[n]
  if STEPS[step.op] or not run(overlapping, case, n - 1) then
    return false, why
  end
  local operator = api.operator(step.op)
  local args, kwargs = arguments(overlapping, step)
  if not overlap.applies(case, overlap.operands(operator, args, kwargs)) then
    return false, why
  end
  local ok, got = pcall(call, step, args, kwargs)
  if not ok then return false, "raised: " .. tostring(got) end
  run(apart, case, n - 1)
  args, kwargs = arguments(apart, step)
  for i = 1, args.n do
    if api.is_tensor(args[i]) and not operator.arguments[i].written then
      args[i] = args[i]:clone()
    end
  end
  local same, how = overlap.same_result(got:detach(),
                                        call(step, args, kwargs):detach())
  if not same then return false, how end
  return nil, format("%s %s  (%s)", case.id, step.op, overlap.REASON), true
end

-- -- Changes since 1.13 ------------------------------------------------------

local function same_value(x, y)
  if x == null or y == null or x == nil or y == nil then
    return x == y or (x == null and y == nil) or (x == nil and y == null)
  end
  if x.requires_grad ~= y.requires_grad then return false end
  x, y = x:detach(), y:detach()
  return tostring(x.shape) == tostring(y.shape) and x.dtype == y.dtype and
         st.allclose(x, y, {rtol = 1e-9, atol = 1e-10, equal_nan = true})
end

--- Is everything as in a program whose gradients 2.15's rule alone decides?
local function check_ties(case, program)
  local other = new_program(case)
  other.substitutes = changes.SUBSTITUTES
  local ok, why = run(other, case, #case.kwargs.steps)
  if not ok then return false, "raised: " .. tostring(why) end
  for i = 1, program.known.n do
    if not same_value(program.known[i], other.known[i]) then
      return false, format("value %d is not 2.15's", i - 1)
    end
  end
  for i = 1, #case.args do
    if not same_value(program.known[i].grad, other.known[i].grad) then
      return false, format("grad of leaf %d is not 2.15's", i - 1)
    end
  end
  return true
end

--- What of_bessel explains, checked: as check_change.
local function check_rough(case, program, why)
  local reason, new = deviations.of_bessel(case)
  if not reason then return false, why end
  local ok, how = check_outcome(new, program.known)
  if not ok then return false, how end
  return nil, format("%s  (%s)", case.id, reason), true
end

--- What 1.13 gave otherwise, checked: true, or false and why; or nil, what it
-- is, and true.
local function check_change(case, program, why)
  local reason = changes.of_program(case)
  if not reason then return check_rough(case, program, why) end
  local ok, how
  if reason == changes.TIES then
    ok, how = check_ties(case, program)
  else
    ok, how = check_outcome(changes.with_zero_bias(case), program.known)
  end
  if not ok then return false, how end
  return nil, format("%s  (changed since 1.13: %s)", case.id, reason), true
end

-- ----------------------------------------------------------------------------

--- Checks one program: as the checkers of ops.lua.
function autograd.check(case)
  for _, step in ipairs(case.kwargs.steps) do
    if not STEPS[step.op] and not api.operator(step.op) then
      return nil, step.op
    end
  end
  local program = new_program(case)
  local ok, why, at = run(program, case, #case.kwargs.steps)
  if case.error then
    ok, why = check_error(case, ok, why, at)
    if not ok and overlap.refused(case) then return check_overlap(case, why) end
    return ok, why
  end
  if not ok then
    return false, format("step %d raised: %s", at - 1, tostring(why))
  end
  ok, why = check_outcome(case, program.known)
  if ok then return true end
  return check_change(case, program, why)
end

return autograd
