--- Functions of tensors, run in fused pieces.
--
--     local softmax = st.fuse(function(x)
--       local e = (x - x:amax(2, true)):exp()
--       return e / e:sum(2, true)
--     end)
--
-- The function is called once with doubles of its arguments, which have
-- dtypes and shapes but no elements, and what it does is recorded. From then
-- on calls with arguments like these run what was recorded, with neighbouring
-- elementwise operators as one loop. Everything else in it is as it was at that
-- time: numbers, and which tensors it refers to; their elements are read at
-- each call. What cannot be recorded is called as it is.
--
-- @module strided.fuse

local core = require "strided.core"

local raise = require "strided.caller_error"
local callable = require "strided.callable"
local options = require "strided.options"

local getinfo, type = debug.getinfo, type

local function place(fn)
  if type(fn) ~= "function" then return "a fused function" end
  local info = getinfo(fn, "S")
  return info.short_src .. ":" .. info.linedefined
end

--- A function that does what `fn` does, in fused pieces. `f:explain(...)` says
-- what a call with these arguments runs, `f:clear()` forgets what was
-- recorded. To look at an element of a tensor on the way is an error.
-- @function fuse
-- @tparam function fn of tensors, numbers, strings, booleans and nils, for
-- which it may return tensors and constants; with other arguments it is called
-- @tparam[opt] table opts `name`, for messages
-- @return f, which can be called
local function fuse(fn, opts)
  callable("fuse", fn)
  local o = options("fuse", opts, {name = true})
  local name = o.name
  if name == nil then name = place(fn) end
  if type(name) ~= "string" then
    raise("fuse: 'name' must be a string, got %s", type(name))
  end
  return core.fuse(fn, name)
end

return {fuse = fuse}
