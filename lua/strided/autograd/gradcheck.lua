--- Compares the gradients of a function with finite differences.
--
-- Complex numbers are treated as pairs of real numbers. The gradient g of a
-- real result by a complex input means that a step v changes the result by
-- Re(conj(g) v), which is the dot product of g and v as real vectors.
--
-- @module strided.autograd.gradcheck

local st = require "strided"
local raise = require "strided.argument.caller_error"
local callable = require "strided.argument.callable"
local read = require "strided.option.options"

local abs, error, format, huge, ipairs, pairs, pcall, select, tostring, type =
  math.abs, error, string.format, math.huge, ipairs, pairs, pcall, select,
  tostring, type
local unpack = unpack or table.unpack
local is_tensor = st.is_tensor

-- -- Components --------------------------------------------------------------

local function is_complex(t) return tostring(t.dtype):find "^complex" ~= nil end

local function is_differentiable(t)
  return is_complex(t) or tostring(t.dtype):find "float" ~= nil
end

--- All components of t as a float64 vector, detached.
local function components(t)
  t = t:detach()
  if is_complex(t) then t = st.view_as_real(t:resolve_conj():contiguous()) end
  return t:to("float64", {copy = true}):reshape {-1}
end

--- The number of real components of t.
local function size(t) return t:numel() * (is_complex(t) and 2 or 1) end

--- Converts a vector of components to the shape and dtype of t.
local function composed(vector, t)
  local shape = {unpack(t.shape)}
  if is_complex(t) then
    shape[#shape + 1] = 2
    vector = st.view_as_complex(vector:view(shape))
  else
    vector = vector:view(shape)
  end
  return vector:to(t.dtype)
end

--- A vector of the components of t that is 1 at i, and 0 elsewhere.
local function unit(t, i)
  local v = st.zeros(size(t), {dtype = "float64", device = t.device})
  v[i] = 1
  return v
end

-- -- Calls -------------------------------------------------------------------

--- Appends the differentiable tensors among the values and in their tables.
local function flatten(list, ...)
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if is_tensor(x) then
      if is_differentiable(x) then list[#list + 1] = x end
    elseif type(x) == "table" then
      flatten(list, unpack(x))
    end
  end
  return list
end

local KNOWN = {eps = "number", atol = "number", rtol = "number",
               fast = "boolean", raise = "boolean", grad_outputs = false}

local function read_options(name, given)
  given = read(name, given, KNOWN)
  for key, value in pairs(given) do
    if KNOWN[key] and type(value) ~= KNOWN[key] then
      raise("%s: option '%s' must be a %s, got %s", name, key, KNOWN[key],
            type(value))
    end
  end
  return given
end

--- Creates a check: fn, its inputs, the inputs that require a gradient
-- (`wanted`), and their indices (`numbers`).
local function new_check(name, fn, inputs, options)
  callable(name, fn)
  if is_tensor(inputs) then inputs = {inputs} end
  if type(inputs) ~= "table" then
    raise("%s: the inputs must be a tensor or a list, got %s", name,
          type(inputs))
  end
  local check = {
    name = name, fn = fn, inputs = inputs, wanted = {}, numbers = {},
    eps = options.eps or 1e-6, atol = options.atol or 1e-5,
    rtol = options.rtol or 1e-3,
  }
  for i, x in ipairs(inputs) do
    if is_tensor(x) and x.requires_grad then
      local dtype = tostring(x.dtype)
      if dtype ~= "float64" and dtype ~= "complex128" and not options.eps then
        raise("%s: input %d is %s: differences are too coarse for it; use " ..
              "float64 or complex128, or give options.eps", name, i, dtype)
      end
      local k = #check.wanted + 1
      check.wanted[k], check.numbers[k] = x, i
    end
  end
  if #check.wanted == 0 then
    raise("%s: no input requires a gradient", name)
  end
  return check
end

--- The results that require a gradient. If none does, all results: these must
-- not change with the inputs.
local function call(check)
  local all = flatten({}, check.fn(unpack(check.inputs)))
  local some = {}
  for _, y in ipairs(all) do
    if y.requires_grad then some[#some + 1] = y end
  end
  return some[1] and some or all
end

-- -- Differences -------------------------------------------------------------

--- The components of all results at the inputs start + scale * steps.
local function values_at(check, start, steps, scale)
  for k, x in ipairs(check.wanted) do
    local at = start[k]
    if steps[k] then at = at:add(steps[k], {alpha = scale}) end
    x.data:copy_(composed(at, x))
  end
  local out = call(check)
  for k, y in ipairs(out) do out[k] = components(y) end
  return out
end

--- The central differences of the results along a step. steps[k] is the step of
-- wanted input k as a vector of components, or nil for no step.
local function differences(check, start, steps)
  local eps = check.eps
  local before = values_at(check, start, steps, -eps)
  local after = values_at(check, start, steps, eps)
  for k, y in ipairs(after) do
    after[k] = y:sub_(before[k]):div_(2 * eps)
  end
  return after
end

--- Calls body(start), where start holds the components of the wanted inputs,
-- and restores these inputs afterwards.
local function with_inputs(check, body)
  local start = {}
  for k, x in ipairs(check.wanted) do start[k] = components(x) end
  local ok, result = pcall(body, start)
  for k, x in ipairs(check.wanted) do x.data:copy_(composed(start[k], x)) end
  if not ok then error(result, 0) end
  return result
end

-- -- Gradients ---------------------------------------------------------------

--- The gradients of the wanted inputs as vectors of components; zeros where
-- there is none. grads[k] has the components of the gradient of result k, or
-- is nil to leave that result out.
local function gradients(check, results, grads)
  local outputs, grad_outputs = {}, {}
  for k, y in ipairs(results) do
    if grads[k] and y.requires_grad then
      outputs[#outputs + 1] = y
      grad_outputs[#grad_outputs + 1] = composed(grads[k], y)
    end
  end
  local found = {}
  if #outputs > 0 then
    found = {st.grad(outputs, check.wanted, {
      grad_outputs = grad_outputs, retain_graph = true, allow_unused = true,
    })}
  end
  local out = {}
  for k, x in ipairs(check.wanted) do
    out[k] = found[k] and components(found[k]) or components(x):zero_()
  end
  return out
end

-- -- Every component ---------------------------------------------------------

--- The Jacobian by finite differences: rows[result][input][i] is the derivative
-- of the result by component i of the input.
local function numeric_jacobian(check)
  return with_inputs(check, function(start)
    local rows = {}
    for k, x in ipairs(check.wanted) do
      for i = 1, size(x) do
        local steps = {}
        steps[k] = unit(x, i)
        for r, change in ipairs(differences(check, start, steps)) do
          rows[r] = rows[r] or {}
          rows[r][k] = rows[r][k] or {}
          rows[r][k][i] = change
        end
      end
    end
    return rows
  end)
end

--- The Jacobian by backward passes: rows[result][input][i] is the gradient of
-- component i of the result.
local function backward_jacobian(check, results)
  local rows = {}
  for r, y in ipairs(results) do
    rows[r] = {}
    for i = 1, size(y) do
      local grads = {}
      grads[r] = unit(y, i)
      for k, g in ipairs(gradients(check, results, grads)) do
        rows[r][k] = rows[r][k] or {}
        rows[r][k][i] = g
      end
    end
  end
  return rows
end

--- Compares every component; returns nil or the error message.
local function compare_all(check)
  local numeric = numeric_jacobian(check)
  local results = call(check)
  local found = backward_jacobian(check, results)
  for r in ipairs(results) do
    for k in ipairs(check.wanted) do
      local want, got = (numeric[r] or {})[k], found[r][k]
      if want and got then
        want, got = st.stack(want):t(), st.stack(got)
        if not got:allclose(want, check.rtol, check.atol) then
          return format(
            "the gradient of result %d by input %d is wrong (rows are of " ..
            "the result, columns of the input)\nthe backward pass gives\n" ..
            "%s\nfinite differences give\n%s", r, check.numbers[k],
            tostring(got), tostring(want))
        end
      end
    end
  end
end

-- -- Along random directions -------------------------------------------------

local function random_components(generator, list)
  local out = {}
  for k, t in ipairs(list) do
    out[k] = st.rand({size(t)}, {dtype = "float64", device = t.device,
                                 generator = generator})
    out[k]:mul_(2):sub_(1)
  end
  return out
end

--- The dot product of two lists of vectors, and the sum of the magnitudes of
-- its terms.
local function dot(a, b)
  local sum, scale = 0, 0
  for k, x in ipairs(a) do
    local product = x * b[k]
    sum = sum + product:sum():item()
    scale = scale + product:abs():sum():item()
  end
  return sum, scale
end

--- False if the tolerance is NaN or infinite.
local function is_near(got, want, tolerance)
  return abs(got - want) <= tolerance and tolerance < huge
end

--- The gradients of all results in one backward pass, and, if there are several
-- results, the sum of the gradients of one pass per result.
local function pulled_back(check, results, grads)
  local whole = gradients(check, results, grads)
  if #results == 1 then return whole end
  local sum
  for r in ipairs(results) do
    local one = {}
    one[r] = grads[r]
    local part = gradients(check, results, one)
    for k, g in ipairs(sum or {}) do part[k]:add_(g) end
    sum = part
  end
  return whole, sum
end

--- Compares along one random direction; returns nil or the error message.
local function compare_some(check)
  local generator = st.Generator(5489)
  local results = call(check)
  local steps = random_components(generator, check.wanted)
  local grads = random_components(generator, results)
  local changes = with_inputs(check, function(start)
    return differences(check, start, steps)
  end)
  local whole, sum = pulled_back(check, call(check), grads)
  local want, scale = dot(grads, changes)
  for _, found in ipairs {whole, sum} do
    local got = dot(found, steps)
    if not is_near(got, want, check.atol + check.rtol * scale) then
      return format("the gradient is wrong: along a random direction the " ..
                    "backward pass gives %.10g, finite differences %.10g",
                    got, want)
    end
  end
end

-- -- Checks ------------------------------------------------------------------

local function report(check, options, what)
  if not what then return true end
  what = check.name .. ": " .. what
  if options.raise == false then return false, what end
  raise("%s", what)
end

--- Compares the gradients of a function with finite differences. Raises an
-- error if they differ.
-- @function gradcheck
-- @tparam function fn takes the inputs; returns tensors, or tables of tensors
-- @param inputs a tensor or a list. The gradients of those that require one are
-- checked; these must be float64 or complex128, unless `eps` is given.
-- @tparam[opt] table options `eps` (1e-6): the step; `atol` (1e-5) and `rtol`
-- (1e-3): the tolerances; `fast`: compare along one random direction instead of
-- every component; `raise = false`: return false and the message instead of
-- raising an error
-- @return true
local function gradcheck(fn, inputs, options)
  options = read_options("gradcheck", options)
  local check = new_check("gradcheck", fn, inputs, options)
  local compare = options.fast and compare_some or compare_all
  return report(check, options, compare(check))
end

--- Random gradients for the results of fn; these gradients require a gradient.
local function random_gradients(check)
  local generator, out = st.Generator(1812433253), {}
  for _, y in ipairs(call(check)) do
    if y.requires_grad then
      local vector = random_components(generator, {y})[1]
      out[#out + 1] = composed(vector, y):detach():requires_grad_()
    end
  end
  return out
end

--- A function of the inputs, followed by the gradients of the results, that
-- returns the gradients of fn.
local function gradient_function(check)
  local n, fn = #check.inputs, check.fn
  return function(...)
    local args, wanted, outputs = {...}, {}, {}
    for k, i in ipairs(check.numbers) do wanted[k] = args[i] end
    for _, y in ipairs(flatten({}, fn(unpack(args, 1, n)))) do
      if y.requires_grad then outputs[#outputs + 1] = y end
    end
    local found = {st.grad(outputs, wanted, {
      grad_outputs = {unpack(args, n + 1)}, create_graph = true,
      allow_unused = true,
    })}
    local list = {}
    for k = 1, #wanted do list[#list + 1] = found[k] end
    return list
  end
end

--- Compares the second derivatives of a function with finite differences of its
-- gradients. Raises an error if they differ.
-- @function gradgradcheck
-- @tparam function fn as for gradcheck
-- @param inputs as for gradcheck
-- @tparam[opt] table options as for gradcheck, and `grad_outputs`: the
-- gradients of the results to check at (by default random)
-- @return true
local function gradgradcheck(fn, inputs, options)
  options = read_options("gradgradcheck", options)
  local first = new_check("gradgradcheck", fn, inputs, options)
  local all = {unpack(first.inputs)}
  local grads = options.grad_outputs or random_gradients(first)
  if is_tensor(grads) then grads = {grads} end
  if #grads == 0 then
    raise "gradgradcheck: no result of the function has a gradient"
  end
  for _, g in ipairs(grads) do all[#all + 1] = g end
  local check = new_check("gradgradcheck", gradient_function(first), all,
                          options)
  local compare = options.fast and compare_some or compare_all
  return report(check, options, compare(check))
end

return {gradcheck = gradcheck, gradgradcheck = gradgradcheck}
