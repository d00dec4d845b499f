--- st.explain: how a call would be dispatched, and the plans of its loops.
--
-- The plans are those of the iterators, copies and reductions that the call
-- would run, for any operator. A dry run with fake tensors finds them: no
-- kernel runs, and no tensor of the caller changes. A reduction tiles its input
-- by its own rules; its plan shows the order in which it reads the elements.
--
-- @module strided.explain

local core = require "strided.core"
local fuse = require "strided.fuse".fuse
local plans_of = require "strided.iterator".plans_of
local raise = require "strided.argument.caller_error"

local getinfo = debug.getinfo
local concat, format, ipairs, select, tostring, type = table.concat,
  string.format, ipairs, select, tostring, type

--- The line "  plan" with a text; further lines of the text are indented.
local function entry(text)
  return "\n  plan           " .. text:gsub("\n", "\n  ")
end

-- Operators that may return their input unchanged.
local NOTHING = {
  ["aten::contiguous"] = "none: it is contiguous already, nothing moves",
  ["aten::to"] = "none: it is the tensor itself, nothing moves",
}

--- The plans of a call as text; the error, if the call would fail; or "" if the
-- operator runs no loop.
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

--- The order of the products of a call of einsum as text, or "".
local function path_text(_, ...)
  local ok, text = core.try(core.packet "aten::_einsum_path", ...)
  if not ok or text:find "^{}" then return "" end -- one tensor: no product
  return "\n  path           " .. text:gsub("\n", "\n    ")
end

--- The arguments that are in mapped files, a line each. Their elements are read
-- when the call uses them.
local function mapped_text(...)
  local lines = {}
  for i = 1, select("#", ...) do
    local t = select(i, ...)
    local mode, bytes = core.mapping(t)
    if mode then
      lines[#lines + 1] = format("\n  mapped         argument %d, mmap = %q, "
                                 .. "%.6g MB", i, mode, bytes / 1e6)
    end
  end
  return concat(lines)
end

--- What a Lua function would run if it were fused, or why it cannot be.
local function fused_text(fn, ...)
  local f = fuse(fn)
  local ok, text = core.try(f.explain, f, ...)
  local title = ok and "with st.fuse it would run" or "st.fuse cannot fuse it:"
  local why = ok and text:match "^the function is called: (.*)"
  if why then title, text = "st.fuse would call it as it is:", why end
  return title .. "\n  " ..
         tostring(text):gsub("\n+$", ""):gsub("\n", "\n  ") .. "\n"
end

--- Explains how a call would run, without running it: the chosen overload and
-- why the others do not match, the dispatch keys, the kernel, the order of the
-- products of einsum, the arguments in mapped files, and the plans of its
-- loops.
--
-- Of a fused function it is what `f:explain(...)` returns: the loops and calls
-- of its recording. A Lua function is recorded for that, as `st.fuse` does;
-- `st.profile(fn, ...)` shows where its time goes.
-- @function explain
-- @param op an operator: an object of `st.ops`, a name, or `st.add`; a fused
-- function, or a Lua function
-- @param ... the arguments of the call
-- @treturn string
local function explain(op, ...)
  if type(op) == "function" and getinfo(op, "S").what ~= "C" then
    if select("#", ...) == 0 then
      raise "explain: write the arguments of the function: st.explain(fn, x)"
    end
    return fused_text(op, ...)
  elseif type(op) == "userdata" and core.is_fused(op) then
    return op:explain(...)
  end
  local text = core.explain(op, ...)
  local name = text:match "\n([%w_]+::[%w_]+)"
  local path = name == "aten::einsum" and path_text(op, ...) or ""
  return text .. path .. mapped_text(...) .. plan_text(name, op, ...)
end

return {explain = explain}
