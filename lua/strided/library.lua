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
-- * `elementwise(schema, body[, doc])`: see below;
-- * `reduction(schema, {map =, combine =, init =, final =, doc =})`: likewise;
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
-- An elementwise operator is an expression:
--
--     lib:elementwise("ramp(Tensor x, Tensor lo, Tensor hi) -> Tensor", [[
--       t = clamp((x - lo) / (hi - lo), 0, 1)
--       t * t * (3 - 2 * t)
--     ]])
--     st.ops.geo.ramp(x, -1, 1)
--
-- `body` is a text (see `strided.expression`) or a function of the schema's
-- arguments. It is called once, with symbols: tensors of no dtype, shape and
-- elements, and numbers without a value; what it calls with them, pointwise
-- operators of any library, is what the operator computes. It runs as one loop
-- over the memory, with the kernels that its parts have, or as machine code
-- (`st.is_jit_enabled`) where these are plain arithmetic, and gives the very
-- bits that the calls would give one after the other. It broadcasts, promotes
-- and casts as they do; a result has the shape that all tensors broadcast to.
-- There are `name_`, which writes the first argument, and `out=`, if it has one
-- result; it runs on Meta; and it has a derivative, which is derived from the
-- body and fused as well (a derivative of that one is computed call by call).
-- A schema may have tensors (up to 12), numbers (`float`, `int`, `bool`,
-- `Scalar`) and up to four results. Numbers are constants of the program that
-- is made for them: an operator keeps the last 32 programs, by dtypes and
-- numbers, and making one takes some tenths of a millisecond, or more for
-- hundreds of parts; what changes from call to call had better be a tensor of
-- no dimension. Whatever
-- cannot be traced is an error that says where: an operator that is not
-- pointwise, a tensor that is no argument, a question for an element, a shape
-- or a dtype, a number that is compared, a part whose kernel is a Lua function.
-- (Lua itself answers `k == 0` for such a number: false, whatever it will be.)
--
-- A reduction folds what an expression gives into one value:
--
--     lib:reduction("rms(Tensor x, Tensor w, *, float eps=0.0) -> Tensor", {
--       map = "x * x * w", combine = "a + b", init = 0,
--       final = "sqrt(acc / n + eps)",
--     })
--     st.ops.geo.rms(x, w, {dim = {2}, keepdim = true})
--
-- * `map` is given an element of each tensor and the numbers, and makes one to
--   four values of them; without it, the element of the only tensor;
-- * `combine` makes one value of two, `a` and `b`, where `a` is to the left; of
--   several values it is given those of the left, `a1, a2, ..`, then those of
--   the right, `b1, b2, ..`, and returns as many;
-- * `init`, a number or a list of one for each value, is where every fold
--   begins, and the value of nothing; without it there must be something;
-- * `final` is given the last value, `acc` or `acc1, acc2, ..`, the number `n`
--   of elements that it is made of, a plain number, and the numbers of the
--   schema; it returns the results. Without it the values are the results.
--
-- Each is a text or a function, traced and fused as above: nothing of the size
-- of the tensors is written. A schema may have `Dim[1]? dim` (`int[1]?` is the
-- same) and `bool keepdim`; they are appended as keywords otherwise, and a name
-- alone is a reduction of one tensor with `dim` and `keepdim`.
-- There is `out=`, it runs on Meta, and it has a derivative. Values have the
-- dtypes that `map` gives them, raised to hold `init` and what `combine` gives:
-- whoever adds many small integers or halves converts them in `map`.
--
-- Neighbours are combined in pairs, those pairs in pairs, and so on, in the
-- order of the positions. So combine should be associative, but need not
-- commute; and the bits of a result depend on the elements and their number
-- alone, not on strides, threads or the instruction set. A combine that is a
-- sum, a product, an extremum or a bitwise or logical operator, of each value
-- on its own, knows no order: it is folded in 32 lanes, element i in lane i %
-- 32, which are combined last. That is a fixed tree, too, and the faster one.
-- Integers that `combine` or `final` divide by zero give 0; in `map` that is an
-- error.
--
-- @module strided.library

local core = require "strided.core"

local require, type = require, type

core.set_compiler(function(text, names)
  return require "strided.expression".compile(text, names)
end)

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
