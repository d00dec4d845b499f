--- Gradients for rounds of the fuzzer: some of the arguments begin to require
-- them, and what comes out is differentiated, at times again.

local st = require "strided"

local M = {}

--- Which tensors of a round are to require gradients; often none. Not those
-- of an operator that is made of several writes.
function M.plan(c, tensors, name)
  local plan = {}
  if not c:chance(0.5) or name == "instance_norm" then return plan end
  for _, t in ipairs(tensors) do
    if c:chance(0.7) then plan[#plan + 1] = t end
  end
  plan.is_twice = c:chance(0.3)
  plan.accumulates = c:chance(0.3)
  plan.fails = c:chance(0.15) and c:int(1, 40) or 0
  return plan
end

--- Before the call. Not all can: those of integers, inference tensors.
function M.require(plan)
  for _, t in ipairs(plan) do pcall(t.requires_grad_, t) end
end

local function recorded(list)
  local out = {}
  for _, t in ipairs(list) do
    if t.requires_grad then out[#out + 1] = t end
  end
  return out
end

local function pass(plan, outputs, inputs)
  local seeds = {}
  for i, t in ipairs(outputs) do
    seeds[i] = st.no_grad(st.ones_like, t)
  end
  st.memory_fail_at(plan.fails)
  if plan.accumulates and not plan.is_twice then
    st.backward(outputs, {grad_outputs = seeds})
    return {}
  end
  return {st.grad(outputs, inputs, {
    grad_outputs = seeds, allow_unused = true, create_graph = plan.is_twice,
  })}
end

--- After it, with all the tensors that it gave: the gradients. A formula may
-- refuse, but only as strided does.
function M.differentiate(plan, results)
  local inputs, outputs = recorded(plan), recorded(results)
  local all = {}
  for _ = 1, plan.is_twice and 2 or 1 do
    if #inputs == 0 or #outputs == 0 then break end
    local ok, found = pcall(pass, plan, outputs, inputs)
    st.memory_fail_at(0)
    if not ok then
      if tostring(found):find "attempt to " then error(found, 0) end
      break
    end
    local seen = {}
    for i = 1, #inputs do seen[#seen + 1] = found[i] end -- some are nil
    for _, g in ipairs(seen) do all[#all + 1] = g end
    outputs = recorded(seen)
  end
  return all
end

return M
