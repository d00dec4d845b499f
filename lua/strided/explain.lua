--- How a call would run, with the iterator's plans: what st.explain says.
--
-- The plans are those of the iterators, copies and reductions that the call is
-- made of, whatever operator it is. They are found by a call on doubles of its
-- tensors that have no data: nothing is run, and no tensor of the caller's is
-- changed. A reduction folds its input in tiles of its own; its plan says in
-- which order it finds the elements.
--
-- @module strided.explain

local core = require "strided.core"
local plans_of = require "strided.iterator".plans_of

local concat, format, ipairs, tostring = table.concat, string.format, ipairs,
  tostring

--- "  plan" and a text, its further lines below.
local function entry(text)
  return "\n  plan           " .. text:gsub("\n", "\n  ")
end

-- Operators that may have nothing to do.
local NOTHING = {
  ["aten::contiguous"] = "none: it is contiguous already, nothing moves",
  ["aten::to"] = "none: it is the tensor itself, nothing moves",
}

--- What the iterator would do in a call, as text; why there can be no call; or
-- "" for operators that walk no elements.
local function plan_text(name, op, ...)
  local plans, count = plans_of(op, ...)
  if not plans then
    return count and entry("none: " .. count:gsub("^[%w_.:]+: ", "")) or ""
  end
  if count == 0 and NOTHING[name] then return entry(NOTHING[name]) end
  local texts = {}
  for k, plan in ipairs(plans) do
    texts[k] = entry(plan.kind .. " of " .. tostring(plan):gsub("^plan of ",
                                                                ""))
  end
  if count > #plans then
    texts[#texts + 1] = entry(format("and %d more", count - #plans))
  end
  return concat(texts)
end

--- How a call would run and why, without running it: the overload that is
-- chosen and why not another, the keys, the kernel, and the iterator's plans
-- for what elements it walks.
-- @param op an operator: an object of `st.ops`, a name, `st.add`
-- @param ... the arguments of the call
-- @treturn string
local function explain(op, ...)
  local text = core.explain(op, ...)
  return text .. plan_text(text:match "\n([%w_]+::[%w_]+)", op, ...)
end

return {explain = explain}
