--- Operators defined in Lua.
--
--     local lib = st.library "geo"
--     lib:def  "hypot2(Tensor a, Tensor b, *, float scale=1.0) -> Tensor"
--     lib:impl("hypot2", "CompositeImplicitAutograd",
--              function(a, b, scale) return (a * a + b * b) * scale end)
--     st.ops.geo.hypot2(x, y, {scale = 0.5})
--
-- A library has the methods
--
-- * `def(schema[, doc][, kernel])`, where doc is a string or a table
--   `{doc = , tags = {...}}` and kernel one for CompositeImplicitAutograd;
-- * `impl(name[, key], kernel[, {with_keys = true}])`; without a key
--   CompositeImplicitAutograd, with_keys puts the key set of the call in
--   front of the arguments;
-- * `fallback(key, kernel)`: `kernel(op, keys, ...)` runs for every operator
--   that has none for the key; keys are those below it, for
--   `op:redispatch(keys, ...)`;
-- * `derivative(name, formulas)`, a list of strings such as
--   `"self: grad * other"`, or `derivative(name, fn)`: `fn(ctx, grad ...)` gets
--   a gradient for each result, and `ctx.args` and `ctx.results` as they were,
--   and returns a gradient, or nil, for each argument;
-- * `close()`;
--
-- and a field `ns`. A kernel is a function or `"fallthrough"`; it gets all
-- arguments of its schema in order, keyword-only ones and defaults included,
-- in Lua's conventions. What a library registered goes away when it is closed
-- or collected, so keep it in a variable. Opening a namespace again closes the
-- library that had it, registering a name again replaces it, unless
-- `st.strict_registration(true)` was called before.
--
-- @module strided.library

local core = require "strided.core"

local type = type

--- Opens a namespace for definitions and kernels. With a function last, what
-- it registers takes effect when it returns, all at once, or, when it raises,
-- not at all.
-- @function library
-- @tparam string ns the namespace; `"_"` for fallbacks
-- @tparam[opt="DEF"] string kind `"DEF"`, the owner of the namespace;
-- `"FRAGMENT"`, which adds definitions to it; `"IMPL"`, which adds kernels
-- @tparam[opt] string key the one key of all its kernels
-- @tparam[opt] function body is called with the library
-- @return the library
local function library(ns, kind, key, body)
  if type(kind) == "function" then
    kind, body = nil, kind
  elseif type(key) == "function" then
    key, body = nil, key
  end
  local lib = core.open_library(ns, kind, key, body ~= nil)
  if body ~= nil then core.transact(lib, body) end
  return lib
end

return {library = library}
