--- st.fuse: functions of tensors that are recorded and run with fused loops.
--
--     local softmax = st.fuse(function(x)
--       local e = (x - x:amax(2, true)):exp()
--       return e / e:sum(2, true)
--     end)
--
-- The function is called once with fake tensors, which have the dtypes and
-- shapes of its arguments but no elements, and its operator calls are recorded.
-- Later calls with arguments of the same dtypes and shapes, of which the same
-- ones require gradients, run the recording, with adjacent elementwise
-- operators fused into one loop. Everything else is captured at recording time:
-- numbers, and the tensors that the function refers to; their elements are read
-- at each call. A function that cannot be recorded is called directly, and so
-- is one in which a call fails: its error is that of the function, and a pcall
-- in it catches. One that reads elements, by `x[1]`, `item()` or `totable`, or
-- writes a tensor that it has not created, cannot be recorded: its first call
-- with arguments of a kind stops there, before anything is written, and begins
-- again with the arguments themselves.
--
-- @module strided.fuse

local core = require "strided.core"

local raise = require "strided.argument.caller_error"
local callable = require "strided.argument.callable"
local options = require "strided.option.options"

local getinfo, type = debug.getinfo, type

local function location(fn)
  if type(fn) ~= "function" then return "a fused function" end
  local info = getinfo(fn, "S")
  return info.short_src .. ":" .. info.linedefined
end

--- Returns a callable object f that computes what `fn` computes, with fused
-- loops. `f:explain(...)` describes what a call with these arguments runs, or
-- says why they cannot be recorded and in which line, as when `fn` reads an
-- element of a tensor: then `fn` is called. `f:clear()` clears the compile
-- cache.
-- @function fuse
-- @tparam function fn takes tensors, numbers, strings, booleans and nils, and
-- returns tensors and constants; with arguments of other types it is called
-- directly
-- @tparam[opt] table opts `name`, for messages
-- @return f
local function fuse(fn, opts)
  callable("fuse", fn)
  local o = options("fuse", opts, {name = true})
  local name = o.name
  if name == nil then name = location(fn) end
  if type(name) ~= "string" then
    raise("fuse: 'name' must be a string, got %s", type(name))
  end
  return core.fuse(fn, name)
end

return {fuse = fuse}
