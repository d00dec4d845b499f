--- Gradient checkpointing: intermediate results of a function are not saved
-- for the backward pass, which recomputes them. It trades time for memory.
--
-- The function runs twice and must do the same both times; the second run gets
-- the same random numbers. It may capture tensors that are not arguments, such
-- as a module's parameters: they are found in the graph of the first run,
-- which is then released.
--
-- @module strided.autograd.checkpoint

local st = require "strided"
local core = require "strided.core"
local raise = require "strided.argument.caller_error"
local callable = require "strided.argument.callable"

local error, ipairs, pairs, pcall, select, type = error, ipairs, pairs, pcall,
  select, type
local unpack = unpack or table.unpack
local autocast, enable_grad, get_rng_state, grad, is_grad_enabled, is_tensor,
  set_rng_state = core.autocast, st.enable_grad, core.copy_rng, st.grad,
  st.is_grad_enabled, st.is_tensor, core.restore_rng

local function pack(...) return {n = select("#", ...), ...} end

local function wants_grad(x) return is_tensor(x) and x.requires_grad end

-- -- Runs --------------------------------------------------------------------

--- The arguments, with tensors that require a gradient detached: the graph of a
-- run does not reach the caller's graph.
local function own(args)
  local out = {n = args.n}
  for i = 1, args.n do
    local x = args[i]
    out[i] = wants_grad(x) and x:detach():requires_grad_() or x
  end
  return out
end

local function run(fn, args)
  return pack(enable_grad(fn, unpack(args, 1, args.n)))
end

--- The arguments of core.autocast, by which the second run has the dtypes of
-- the first.
local function autocast_state()
  return {st.is_autocast_enabled(), st.get_autocast_dtype(),
          st.is_autocast_cache_enabled()}
end

--- Runs the function with the random numbers and the autocast of the first run,
-- then restores the state of the generator.
local function run_again(segment, args)
  local state, cast = get_rng_state(), segment.autocast
  set_rng_state(segment.rng)
  local results = pack(pcall(autocast, cast[1], cast[2], cast[3], run,
                             segment.fn, args))
  set_rng_state(state)
  if not results[1] then error(results[2], 0) end
  return results[2]
end

--- The indices of the elements for which the predicate is true.
local function positions(list, predicate)
  local out = {}
  for i = 1, list.n do
    if predicate(list[i]) then out[#out + 1] = i end
  end
  return out
end

local function picked(list, at)
  local out = {}
  for k, i in ipairs(at) do out[k] = list[i] end
  return out
end

local function check_results(results)
  for i = 1, results.n do
    if type(results[i]) == "table" then
      for _, x in pairs(results[i]) do
        if wants_grad(x) then
          raise("checkpoint: result %d is a table of tensors; return the " ..
                "tensors themselves", i)
        end
      end
    end
  end
end

--- The leaves that the tensors were computed from, except those in `known`.
local function captured(tensors, known)
  local waiting, seen, out = {}, {}, {}
  for _, t in ipairs(known) do seen[t] = true end
  for _, t in ipairs(tensors) do
    waiting[#waiting + 1] = t.grad_fn
    if t.is_leaf and not seen[t] then seen[t], out[#out + 1] = true, t end
  end
  while #waiting > 0 do
    local node = waiting[#waiting]
    waiting[#waiting] = nil
    local leaf = node.leaf
    if not seen[leaf or node.sequence] then
      seen[leaf or node.sequence] = true
      out[#out + 1] = leaf
      for _, edge in ipairs(node.next) do
        if edge then waiting[#waiting + 1] = edge[1] end
      end
    end
  end
  return out
end

-- -- Autograd function -------------------------------------------------------

local checkpoint

--- A function of the arguments, followed by the gradients of the results. It
-- returns the gradients with respect to the arguments that require one, then
-- with respect to the captured leaves.
local function gradients_of(segment, has_grad, create_graph)
  return function(...)
    local n = segment.args.n
    local args = {n = n, unpack({...}, 1, n)}
    local grads = {unpack({...}, n + 1, select("#", ...))}
    local results = picked(run_again(segment, args), segment.results)
    local inputs = picked(args, segment.inputs)
    for _, leaf in ipairs(segment.leaves) do inputs[#inputs + 1] = leaf end
    return enable_grad(grad, picked(results, has_grad), inputs, {
      grad_outputs = grads, create_graph = create_graph,
      retain_graph = true, allow_unused = true,
    })
  end
end

local Segment = core.autograd_function {
  name = "Checkpoint",
  forward = function(ctx, segment, values)
    ctx.segment = segment
    ctx:save(unpack(picked(segment.args, segment.tensors)))
    for _, i in ipairs(segment.tensors) do segment.args[i] = nil end
    return unpack(values)
  end,
  backward = function(ctx, ...)
    local segment, saved = ctx.segment, {ctx:saved()}
    local args = {n = segment.args.n, unpack(segment.args, 1, segment.args.n)}
    for k, i in ipairs(segment.tensors) do args[i] = saved[k] end
    local grads, has_grad = {}, {}
    for k = 1, #segment.results do
      local g = select(k, ...)
      if g then grads[#grads + 1], has_grad[#has_grad + 1] = g, k end
    end
    local create_graph = is_grad_enabled()
    local f = gradients_of(segment, has_grad, create_graph)
    for _, i in ipairs(create_graph and {} or segment.inputs) do
      args[i] = args[i]:detach():requires_grad_()
    end
    for k, g in ipairs(grads) do args[args.n + k] = g end
    args.n = args.n + #grads
    if create_graph then
      return nil, nil, checkpoint(f, unpack(args, 1, args.n))
    end
    return nil, nil, f(unpack(args, 1, args.n))
  end,
}

--- Calls fn(...) without saving intermediate results for the backward pass,
-- which calls fn again. While gradients are disabled it is a plain call.
-- @function checkpoint
-- @tparam function fn returns tensors, not tables of tensors
-- @param ... the arguments of fn
-- @return the results of fn
function checkpoint(fn, ...)
  callable("checkpoint", fn)
  if not is_grad_enabled() then return fn(...) end
  local args = pack(...)
  local first, rng = own(args), get_rng_state()
  local results = run(fn, first)
  check_results(results)
  local segment = {
    fn = fn, args = args, rng = rng, autocast = autocast_state(),
    tensors = positions(args, is_tensor),
    inputs = positions(args, wants_grad),
    results = positions(results, wants_grad),
  }
  local outputs = picked(results, segment.results)
  if #outputs == 0 then return unpack(results, 1, results.n) end
  segment.leaves = captured(outputs, picked(first, segment.inputs))
  local values = {}
  for k, y in ipairs(outputs) do values[k] = y.data end
  local inputs = picked(args, segment.inputs)
  for _, leaf in ipairs(segment.leaves) do inputs[#inputs + 1] = leaf end
  local recorded = pack(Segment(segment, values, unpack(inputs)))
  for k, i in ipairs(segment.results) do results[i] = recorded[k] end
  return unpack(results, 1, results.n)
end

return {checkpoint = checkpoint}
