--- Derivatives of functions, built on st.grad.
--
--     local st = require "strided"
--     local function f(x, y) return (x * y):sum() end
--     print(st.autograd.hessian(f, {st.rand(2), st.rand(2)})[1][2])
--
-- `st.autograd` has
--
-- * `vjp`, `jvp`, `jacobian`, `hessian` and `hvp`, which take a function and
--   its inputs. They differentiate with respect to detached copies of the
--   inputs; with `create_graph` the results stay connected to the graph of the
--   inputs;
-- * `Function`, for operations with a custom gradient;
-- * `grad`, `backward`, `detect_anomaly`, `gradcheck`, `gradgradcheck` and
--   `checkpoint`, which are also available as `st.grad` and so on.
--
-- @module strided.autograd

local st = require "strided"
local core = require "strided.core"
local raise = require "strided.argument.caller_error"
local callable = require "strided.argument.callable"
local check = require "strided.autograd.gradcheck"
local checkpoint = require "strided.autograd.checkpoint".checkpoint
local read = require "strided.option.options"

local ipairs, select, tostring, type = ipairs, select, tostring, type
local unpack = unpack or table.unpack
local grad, is_tensor = st.grad, st.is_tensor

local autograd = {}

-- -- Values ------------------------------------------------------------------

local GRAPH = {create_graph = true}
local MATRIX = {create_graph = true, batch = true}

--- Returns a tensor or a list of tensors as a list, and whether x was a single
-- tensor. `what` names the argument in errors.
local function list_of(name, what, x)
  if is_tensor(x) then return {x}, true end
  if type(x) ~= "table" or #x == 0 then
    raise("%s: %s must be a tensor or a list of tensors", name, what)
  end
  for i = 1, #x do
    if not is_tensor(x[i]) then
      raise("%s: %s has no tensor at %d", name, what, i)
    end
  end
  return x, false
end

--- Detached copies of the inputs that require a gradient. With create_graph,
-- inputs that require a gradient become views, connected to their graph.
local function own(inputs, create_graph)
  local out = {}
  for i, x in ipairs(inputs) do
    out[i] = create_graph and x.requires_grad and x:view_as(x) or
             x:detach():requires_grad_()
  end
  return out
end

--- Calls the function; returns the list of its results, and whether the result
-- is a single tensor.
local function results_of(name, fn, inputs)
  local function gather(...)
    if select("#", ...) == 1 then return list_of(name, "the result", (...)) end
    return list_of(name, "the results", {...}), false
  end
  return gather(st.enable_grad(fn, unpack(inputs)))
end

--- The gradients of outputs with respect to inputs; zeros where an output does
-- not depend on an input.
local function gradients(outputs, inputs, grads, create_graph)
  local ours, theirs = {}, {}
  for k, y in ipairs(outputs) do
    if y.requires_grad then
      ours[#ours + 1], theirs[#theirs + 1] = y, grads and grads[k] or nil
    end
  end
  local found = {}
  if #ours > 0 then
    found = {st.enable_grad(grad, ours, inputs, {
      grad_outputs = grads and theirs, create_graph = create_graph,
      retain_graph = true, allow_unused = true,
    })}
  end
  local out = {}
  for i, x in ipairs(inputs) do out[i] = found[i] or st.zeros_like(x) end
  return out
end

local function detached(list, create_graph)
  if create_graph then return list end
  local out = {}
  for i, x in ipairs(list) do out[i] = x:detach() end
  return out
end

--- The only element if is_one, else the list.
local function plain(list, is_one)
  if is_one then return list[1] end
  return list
end

--- Checks that v has the shapes of `like`; returns it as a list. If v is nil,
-- returns ones, provided that each tensor of `like` has one element.
local function vectors(name, v, like)
  if v == nil then
    for _, y in ipairs(like) do
      if y:numel() ~= 1 then
        raise("%s: v may be left out for one element only", name)
      end
    end
    local out = {}
    for i, y in ipairs(like) do out[i] = st.ones_like(y):detach() end
    return out
  end
  v = list_of(name, "v", v)
  if #v ~= #like then
    raise("%s: v has %d tensors, should have %d", name, #v, #like)
  end
  for i, x in ipairs(v) do
    if tostring(x.shape) ~= tostring(like[i].shape) then
      raise("%s: v is of shape %s, should be %s", name, tostring(x.shape),
            tostring(like[i].shape))
    end
  end
  return v
end

-- -- Products ----------------------------------------------------------------

--- The vector v times the Jacobian matrix of a function.
-- @function autograd.vjp
-- @tparam function fn
-- @param inputs a tensor or a list of tensors
-- @param[opt] v of the shapes of fn's results; optional if each result has one
-- element
-- @tparam[opt] table options `create_graph`: the product is differentiable
-- @return the results of fn, a tensor or a list
-- @return the product, of the shapes of inputs
function autograd.vjp(fn, inputs, v, options)
  callable("vjp", fn)
  local create_graph = read("vjp", options, GRAPH).create_graph
  local list, is_one = list_of("vjp", "inputs", inputs)
  local mine = own(list, create_graph)
  local outputs, is_one_output = results_of("vjp", fn, mine)
  local grads = vectors("vjp", v, outputs)
  local out = gradients(outputs, mine, grads, create_graph)
  return plain(detached(outputs, create_graph), is_one_output),
         plain(out, is_one)
end

--- The Jacobian matrix J of a function times the vector v. Two backward passes
-- compute it: u J is linear in u, so J v is its gradient by u, for the output
-- gradient v.
-- @function autograd.jvp
-- @tparam function fn
-- @param inputs a tensor or a list of tensors
-- @param[opt] v of the shapes of inputs; optional if each input has one element
-- @tparam[opt] table options `create_graph`: the product is differentiable
-- @return the results of fn, a tensor or a list
-- @return the product, of the shapes of the results
function autograd.jvp(fn, inputs, v, options)
  callable("jvp", fn)
  local create_graph = read("jvp", options, GRAPH).create_graph
  local list = list_of("jvp", "inputs", inputs)
  local mine = own(list, create_graph)
  local steps = vectors("jvp", v, mine)
  local outputs, is_one = results_of("jvp", fn, mine)
  local dummies = {}
  for k, y in ipairs(outputs) do
    dummies[k] = st.zeros_like(y):detach():requires_grad_()
  end
  local pulled = gradients(outputs, mine, dummies, true)
  local out = gradients(pulled, dummies, steps, create_graph)
  return plain(detached(outputs, create_graph), is_one), plain(out, is_one)
end

-- -- Matrices ----------------------------------------------------------------

local function joined(a, b, from)
  local out = {unpack(a)}
  for i = from or 1, #b do out[#out + 1] = b[i] end
  return out
end

--- The number of components that a result has (per sample, if is_batch), and
-- their shape.
local function components_of(y, is_batch)
  if not is_batch then return y:numel(), y.shape end
  local shape = joined({}, y.shape, 2)
  return st.empty(shape, {device = "meta"}):numel(), shape
end

--- The gradients of component i of y; with options.batch, for all samples in
-- one backward pass.
local function row(y, i, inputs, options)
  local u = st.zeros(y.shape, {dtype = y.dtype, device = y.device})
  if options.batch then
    u:view {y.shape[1], -1}:select(2, i):fill_(1)
  else
    u:view {-1}:select(1, i):fill_(1)
  end
  return gradients({y}, inputs, {u}, options.create_graph)
end

--- The Jacobians of one result with respect to each input.
local function rows_of(y, inputs, options)
  local n, shape = components_of(y, options.batch)
  local at = options.batch and 2 or 1
  local rows, out = {}, {}
  for i = 1, n do rows[i] = row(y, i, inputs, options) end
  for k, x in ipairs(inputs) do
    local full = joined(options.batch and {x.shape[1]} or {},
                        joined(shape, x.shape, at))
    local column = {}
    for i = 1, n do column[i] = rows[i][k] end
    out[k] = n > 0 and st.stack(column, at):reshape(full) or
             st.zeros(full, {dtype = x.dtype, device = x.device})
  end
  return out
end

--- Raises an error unless the first dimension of each tensor has size n, the
-- number of samples.
local function check_batch(name, list, what, n)
  for i, t in ipairs(list) do
    if t.ndim == 0 or t.shape[1] ~= n then
      raise("%s: %s %d has no samples along its first dimension, or not as " ..
            "many as input 1", name, what, i)
    end
  end
end

local function jacobian(name, fn, list, options)
  local mine = own(list, options.create_graph)
  local outputs, is_one = results_of(name, fn, mine)
  if options.batch then
    local n = mine[1].ndim > 0 and mine[1].shape[1]
    check_batch(name, mine, "input", n)
    check_batch(name, outputs, "result", n)
  end
  local out = {}
  for k, y in ipairs(outputs) do out[k] = rows_of(y, mine, options) end
  return out, is_one
end

--- The Jacobian matrix of a function. For each pair of result and input it is a
-- tensor whose shape is the result's, followed by the input's. Its rows are
-- gradients; for complex tensors these are the conjugates of derivatives.
-- @function autograd.jacobian
-- @tparam function fn
-- @param inputs a tensor or a list of tensors
-- @tparam[opt] table options `create_graph`: the Jacobian is differentiable;
-- `batch`: the first dimension of inputs and results is a batch of independent
-- samples. One backward pass then serves the whole batch, and the shape is the
-- batch size, the result's shape per sample, the input's shape per sample.
-- @return a tensor; a list by input, if inputs is a list; if fn returns several
-- results, a list of these by result
function autograd.jacobian(fn, inputs, options)
  callable("jacobian", fn)
  options = read("jacobian", options, MATRIX)
  local list, is_one_input = list_of("jacobian", "inputs", inputs)
  local out, is_one = jacobian("jacobian", fn, list, options)
  for k, rows in ipairs(out) do out[k] = plain(rows, is_one_input) end
  return plain(out, is_one)
end

--- The function that maps inputs to the gradients of fn at these inputs.
local function gradient_function(name, fn, is_batch)
  return function(...)
    local inputs = {...}
    local outputs = results_of(name, fn, inputs)
    local y, n = outputs[1], is_batch and inputs[1].shape[1] or 1
    if #outputs > 1 or y:numel() ~= n then
      raise("%s: the function must give one element%s", name,
            is_batch and " per sample" or "")
    end
    return unpack(gradients({y}, inputs, {st.ones_like(y):detach()}, true))
  end
end

--- The Hessian matrix of a function that returns a single element.
-- @function autograd.hessian
-- @tparam function fn
-- @param inputs a tensor or a list of tensors
-- @tparam[opt] table options as for jacobian; with `batch`, fn must return one
-- element per sample
-- @return a tensor whose shape is the input's shape twice; a list of lists, if
-- inputs is a list
function autograd.hessian(fn, inputs, options)
  callable("hessian", fn)
  options = read("hessian", options, MATRIX)
  local list, is_one = list_of("hessian", "inputs", inputs)
  local out = jacobian("hessian", gradient_function("hessian", fn,
                                                    options.batch),
                       list, options)
  return is_one and out[1][1] or out
end

--- The Hessian matrix of a function that returns a single element, times the
-- vector v. It costs about two gradients; the matrix is never formed.
-- @function autograd.hvp
-- @tparam function fn
-- @param inputs a tensor or a list of tensors
-- @param[opt] v of the shapes of inputs; optional if each input has one element
-- @tparam[opt] table options `create_graph`: the product is differentiable
-- @return the result of fn
-- @return the product, of the shapes of inputs
function autograd.hvp(fn, inputs, v, options)
  callable("hvp", fn)
  local create_graph = read("hvp", options, GRAPH).create_graph
  local list, is_one = list_of("hvp", "inputs", inputs)
  local steps, mine = vectors("hvp", v, list), own(list, create_graph)
  local y
  local firsts = {gradient_function("hvp", function(...)
    y = fn(...)
    return y
  end)(unpack(mine))}
  local out = gradients(firsts, mine, steps, create_graph)
  return plain(detached({y}, create_graph), true), plain(out, is_one)
end

-- ----------------------------------------------------------------------------

--- An operation with a custom gradient. `forward(ctx, ...)` computes the
-- results, `backward(ctx, grad, ...)` returns a gradient, or nil, for each
-- argument. The operation is called by its method `apply(...)`.
-- @function autograd.Function
-- @tparam table functions `forward` and `backward`
autograd.Function = core.autograd_function

--- Calls `body(...)`. What it records remembers its line, and a NaN in a
-- gradient is an error that names the line.
-- @function autograd.detect_anomaly
-- @tparam function body
-- @return the results of body
autograd.detect_anomaly = core.detect_anomaly
autograd.grad, autograd.backward = grad, st.backward
autograd.gradcheck, autograd.gradgradcheck, autograd.checkpoint =
  check.gradcheck, check.gradgradcheck, checkpoint

require("strided.name.guard").names(autograd, "st.autograd")

return {
  autograd = autograd, detect_anomaly = autograd.detect_anomaly,
  gradcheck = check.gradcheck, gradgradcheck = check.gradgradcheck,
  checkpoint = checkpoint,
}
