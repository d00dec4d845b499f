--- st.library: operators and kernels defined in Lua.
--
--     local lib = st.library "geo"
--     lib:def  "hypot2(Tensor a, Tensor b, *, float scale=1.0) -> Tensor"
--     lib:impl("hypot2", "CompositeImplicitAutograd",
--              function(a, b, scale) return (a * a + b * b) * scale end)
--     st.ops.geo.hypot2(x, y, {scale = 0.5})
--
-- A library has the methods
--
-- * `def(schema[, doc][, kernel])`: defines an operator. doc is a string or a
--   table `{doc = , tags = {...}}`; kernel is for CompositeImplicitAutograd;
-- * `impl(name[, key], kernel[, {with_keys = true}])`: registers a kernel, by
--   default for CompositeImplicitAutograd. with_keys passes the key set of the
--   call in front of the arguments;
-- * `fallback(key, kernel)`: `kernel(op, keys, ...)` runs for every operator
--   without a kernel for the key; keys are the keys below it, for
--   `op:redispatch(keys, ...)`. Below a backend there are none: there
--   `op:call_for_key("CPU", ...)` calls the kernel of a key;
-- * `elementwise(schema, body[, doc])`: see below;
-- * `reduction(schema, {map =, combine =, init =, final =, doc =})`: see below;
-- * `derivative(name, formulas)`, a list of strings such as
--   `"self: grad * other"`, or `derivative(name, fn)`: `fn(ctx, grad ...)` gets
--   a gradient for each result, and the arguments and results of the call in
--   `ctx.args` and `ctx.results`; it returns a gradient, or nil, for each
--   argument;
-- * `close()`: removes the registrations;
--
-- and a field `ns`. A kernel is a function or `"fallthrough"`. It gets all
-- arguments of its schema in order, including keyword-only arguments and
-- defaults, with Lua's conventions. The registrations of a library are removed
-- when it is closed or collected, so keep it in a variable. Opening a namespace
-- again closes the library that owns it, and registering a name again replaces
-- the registration, unless `st.strict_registration(true)` was called before.
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
-- arguments. It is traced: called once, with symbolic tensors, which have no
-- dtype, shape or elements, and symbolic numbers, which have no value. The
-- pointwise operators that it calls, of any library, define the operator. It
-- runs as one loop over memory, with the kernels of these operators, or as
-- machine code (`st.is_jit_enabled`) where they are plain arithmetic. Results
-- are bit-identical to those of the separate calls. It broadcasts, promotes and
-- casts as the calls do; a result has the shape that all tensors broadcast to.
-- An operator with one result also has the in-place variant `name_`, which
-- writes the first argument, and `out=`. It supports Meta tensors. Its
-- derivative is derived from the body and fused as well; second derivatives run
-- call by call.
--
-- A schema may have up to 12 tensors, numbers (`float`, `int`, `bool`,
-- `Scalar`) and up to four results. Numbers are constants of a compiled
-- program: an operator caches the last 32 programs by dtypes and numbers.
-- Compiling one takes some tenths of a millisecond, or more for hundreds of
-- calls, so pass a value that changes from call to call as a 0-dim tensor.
-- Code that cannot be traced raises an error with its location: an operator
-- that is not pointwise, a tensor that is not an argument, a read of an
-- element, a shape or a dtype, a comparison of a number, an operator whose
-- kernel is a Lua function. (Lua itself evaluates `k == 0` for a symbolic
-- number: it is always false.)
--
-- A reduction combines the values of an expression into one value:
--
--     lib:reduction("rms(Tensor x, Tensor w, *, float eps=0.0) -> Tensor", {
--       map = "x * x * w", combine = "a + b", init = 0,
--       final = "sqrt(acc / n + eps)",
--     })
--     st.ops.geo.rms(x, w, {dim = {2}, keepdim = true})
--
-- * `map` takes an element of each tensor, and the numbers, and returns one to
--   four values. The default is the element of the only tensor;
-- * `combine` combines two values, `a` and `b`, where `a` is to the left. With
--   several values it takes those of the left, `a1, a2, ..`, then those of the
--   right, `b1, b2, ..`, and returns as many;
-- * `init`, a number or a list with one for each value, is the initial value of
--   every accumulator, and the value of an empty reduction. Without it an empty
--   reduction is an error;
-- * `final` takes the accumulated value, `acc` or `acc1, acc2, ..`, the number
--   `n` of reduced elements, a plain number, and the numbers of the schema; it
--   returns the results. The default is the values themselves.
--
-- Each is a text or a function, traced and fused as above: no temporary of the
-- size of the tensors is written. A schema may have `Dim[1]? dim` (or
-- `int[1]?`) and `bool keepdim`; otherwise they are appended as keywords. A
-- name alone is a reduction of one tensor with `dim` and `keepdim`. There is
-- `out=`; Meta tensors are supported; and there is a derivative. A value has
-- the dtype that `map` returns, promoted with `init` and the result of
-- `combine`. To add many small integers or halves, convert them in `map`.
--
-- Adjacent values are combined in pairs, then pairs of pairs, and so on, in the
-- order of their indices. `combine` should be associative but need not be
-- commutative. The bits of a result depend only on the elements and their
-- number, not on strides, threads or the instruction set. A combine that is a
-- sum, a product, an extremum, or a bitwise or logical operator, applied to
-- each value separately, is commutative: it accumulates in 32 lanes, element i
-- in lane i % 32, and combines the lanes at the end. This order is fixed too,
-- and faster. Integer division by zero gives 0 in `combine` and `final`, and is
-- an error in `map`.
--
-- @module strided.library

local core = require "strided.core"

local type = type

local require = require "strided.core".require

core.set_compiler(function(text, names)
  return require "strided.expression".compile(text, names)
end)

--- Opens a namespace for definitions and kernels. If the last argument is a
-- function, its registrations are a transaction: they take effect together when
-- it returns, or, if it raises an error, not at all.
--
-- Methods: `lib:def(schema, [doc], [kernel])` declares an operator,
-- `lib:impl(name, [key], kernel)` gives it a kernel,
-- `lib:fallback(key, kernel)` one for all operators,
-- `lib:elementwise(schema, body)` and `lib:reduction(schema, parts)` compile
-- expressions, `lib:derivative(name, formulas)` adds a derivative,
-- `lib:close()` removes all; `lib.ns` is the namespace.
--
-- A fallback is called as `kernel(op, keys, ...)`: `op:redispatch(keys, ...)`
-- goes on with the keys below it, and where there are none, as below a backend,
-- `op:call_for_key("CPU", ...)` calls the kernel of a key.
-- @function library
-- @tparam string ns the namespace; `"_"` for fallbacks
-- @tparam[opt="DEF"] string kind `"DEF"`, the owner of the namespace;
-- `"FRAGMENT"`, which adds definitions to it; `"IMPL"`, which adds kernels
-- @tparam[opt] string key the dispatch key of all kernels of the library
-- @tparam[opt] function body called with the library
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
