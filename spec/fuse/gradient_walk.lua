--- Calls of the samples of the gradient checks as functions of their tensors,
-- and what they give: outputs, first and second derivatives.

local recorded = require "spec.support.recorded.comparison"
local values = require "spec.grad.gradcheck.values"
local st = require "strided"

local ipairs, pcall, tostring = ipairs, pcall, tostring
local unpack = unpack or table.unpack

local M = {}

-- -- Calls -------------------------------------------------------------------

--- One call of a sample: f is the operator as a function of the tensors among
-- the arguments, which are inputs; leaves are those with a gradient.
function M.made(operator, call, layout, seed, size)
  local args, leaves = values.make(call, layout, seed, size)
  local after = call.after or function(...) return ... end
  local f = recorded.function_of(function(...)
    return after(operator(unpack(values.prepared(call, {...}))))
  end, args, #args)
  return {f = f, inputs = recorded.tensors_of(args), leaves = leaves,
          call = call}
end

local function is_differentiable(t)
  return st.is_tensor(t) and (t:is_floating_point() or t:is_complex())
end

local function scaled(list, factor)
  local out = {}
  for i, t in ipairs(list) do
    out[i] = is_differentiable(t) and t * factor or t
  end
  return out
end

--- The operator between elementwise ones.
function M.surrounded(c)
  return function(...)
    return unpack(scaled({c.f(unpack(scaled({...}, 1)))}, 2))
  end
end

--- The number of results of a call if all of them are floating or complex and
-- have the common shape of its tensors, so that it may be an expression.
function M.broadcasts(operator, call)
  local c = M.made(operator, call, "dense")
  local ok, common = pcall(st.broadcast_tensors, c.inputs)
  if not ok or #c.inputs == 0 then return nil end
  local out = {c.f(unpack(c.inputs))}
  for _, t in ipairs(out) do
    if not is_differentiable(t) or
       tostring(t.shape) ~= tostring(common[1].shape) then
      return nil
    end
  end
  return #out > 0 and #out or nil
end

--- The schema of an operator of n tensors.
function M.schema(name, n, results)
  local args, rets = {}, {}
  for i = 1, n do args[i] = "Tensor t" .. i end
  for i = 1, results do rets[i] = "Tensor" end
  local list = table.concat(rets, ", ")
  return ("%s(%s) -> %s"):format(name, table.concat(args, ", "),
                                 results == 1 and list or "(" .. list .. ")")
end

-- -- Derivatives -------------------------------------------------------------

local function map(f, list)
  local out = {}
  for i, x in ipairs(list) do out[i] = f(x) end
  return out
end

--- A tensor like t of numbers between the two.
local function ramp(t, from, to)
  local u = st.linspace(from, to, t:numel(), {dtype = "float64"})
  if t:is_complex() then u = st.complex(u, u:flip {1} * 0.5 + 1) end
  return u:view(t.shape):to(t.dtype)
end

--- The same elements in a tensor that is lazily conjugated and negated.
local function lazy(t)
  if t:is_complex() then t = t:conj():resolve_conj():conj() end
  return t:neg():_neg_view()
end

--- By name: a list of results, n long, with holes.
local function derivatives(f, inputs, leaves)
  local outputs = {f(unpack(inputs))}
  local ys, found = {}, {outputs = {n = #outputs, unpack(outputs)}}
  for _, y in ipairs(outputs) do
    if st.is_tensor(y) and y.requires_grad then ys[#ys + 1] = y end
  end
  if #ys == 0 then return found end
  local us = map(function(y) return ramp(y, 0.5, 1.5) end, ys)
  found.first = {n = #leaves, st.grad(ys, leaves, {
    grad_outputs = map(lazy, us), allow_unused = true, retain_graph = true})}
  for _, u in ipairs(us) do u:requires_grad_() end
  local firsts = {st.grad(ys, leaves, {grad_outputs = us, allow_unused = true,
                                       create_graph = true})}
  local dys, by = {}, {unpack(leaves)}
  for i = 1, #leaves do
    local dy = firsts[i]
    if dy and dy.requires_grad then dys[#dys + 1] = dy end
  end
  if #dys == 0 then return found end
  for _, u in ipairs(us) do by[#by + 1] = u end
  found.second = {n = #by, st.grad(dys, by, {
    grad_outputs = map(function(dy) return lazy(ramp(dy, 1, 0.25)) end, dys),
    allow_unused = true})}
  return found
end

--- What f gives for the tensors of a call.
function M.run(c, f)
  local function seeded(...)
    if c.call.seeded then st.manual_seed(1) end
    return f(...)
  end
  return derivatives(seeded, c.inputs, c.leaves)
end

local function is_same(want, got)
  if not (st.is_tensor(want) and st.is_tensor(got)) then return want == got end
  return tostring(want.shape) == tostring(got.shape) and
         want.dtype == got.dtype and
         st.allclose(got, want, {rtol = 1e-9, atol = 1e-9, equal_nan = true})
end

--- What differs; nil if nothing does.
function M.compare(want, got)
  for _, order in ipairs {"outputs", "first", "second"} do
    local a, b = want[order], got[order]
    if (a == nil) ~= (b == nil) then return order .. ": only one has them" end
    for i = 1, a and a.n or 0 do
      if not is_same(a[i], b[i]) then
        return ("%s, %d: %s for %s"):format(order, i, tostring(b[i]),
                                            tostring(a[i]))
      end
    end
  end
end

return M
