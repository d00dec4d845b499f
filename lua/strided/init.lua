--- Tensors and operators for Lua.
--
--     local st = require "strided"
--     local x = st.rand(2, 3)
--     print((x * 2 + 1):sum {dim = 1})
--
-- Every operator of the engine is `st.<name>`, a method of tensors, and
-- `st.ops.<namespace>.<name>[.<overload>]`. It is looked up on first use.
-- Dimensions and indices count from 1; ranges are inclusive.
--
-- @module strided

-- Lua 5.1 marks a module that loads, and keeps the mark after an error: Note
-- [Modules load whole or not at all].
package.loaded[... or "strided"] = nil

local core = require "strided.core"
if core.closed then -- by STRIDED_SANDBOX: sandbox_close.c
  package.loaded["strided.core"] = nil
  return require "strided"
end

local debug, error, gmatch, match, pairs, rawget, rawset, setmetatable, type =
  debug, error, string.gmatch, string.match, pairs, rawget, rawset,
  setmetatable, type

local require = require "strided.core".require

local set_rng_state = core.set_rng_state

local st = {}

-- Errors are reported at the caller of the library's files, which lie here.
core.set_home((debug.getinfo(1, "S").source:gsub("init%.lua$", "")))

-- -- Values ------------------------------------------------------------------

for _, name in pairs {
  "Size", "complex", "float", "int", "none", "newaxis", "ellipsis", "tensor",
  "is_tensor", "may_share_memory", "memory", "memory_fail_at", "scope", "keep",
  "get_num_threads", "set_num_threads", "config", "manual_seed", "Generator",
  "get_rng_state",
  "keyset", "keyset_full", "keyset_after", "include_keys", "exclude_keys",
  "included_keys", "excluded_keys", "below_autograd",
  "below_adinplaceorview", "no_grad", "enable_grad", "is_grad_enabled",
  "set_grad_enabled", "grad", "backward",
  "inference_mode", "is_inference_mode_enabled", "is_autocast_enabled",
  "is_autocast_cache_enabled", "get_autocast_dtype", "clear_autocast_cache",
  "devices", "device_properties", "synchronize", "is_jit_enabled",
  "set_jit_enabled", "dispatch_mode", "observe", "listen",
  "trace", "dump", "dangling_impls", "check_registry",
  "strict_registration", "warnings", "schema", "dtype_info",
  "get_default_dtype", "set_default_dtype", "contiguous_format",
  "preserve_format", "channels_last", "channels_last_3d", "_VERSION",
} do
  st[name] = core[name]
end
for _, name in pairs(core.dtype_names()) do st[name] = name end

--- The memory that the engine uses in this process: `st.memory()` returns a
-- table of `{count =, bytes =, peak =}` by kind ("tensors", "storages", "data",
-- ...).
-- @function memory

--- Memory statistics: a table with `kinds`, the table that `st.memory()`
-- returns, and in bytes: `live`, `peak`, `cached` (kept for reuse),
-- `cache_limit` and `limit` (nil without a limit).
-- @function memory.stats

--- Returns the cached blocks of this thread and of the shared cache to the
-- system. Collect garbage first to include the memory of unreachable tensors.
-- @function memory.trim
-- @return the number of bytes that were cached

--- Resets the peaks to the current values.
-- @function memory.reset_peak

--- Limits the live memory. An allocation that would exceed the limit collects
-- garbage, returns cached blocks to the system, and then, if it still does not
-- fit, fails with an error that states its size.
-- @function memory.set_limit
-- @tparam ?integer bytes the limit; nil, the initial state, for no limit
-- @return the previous limit, nil if there was none

--- Limits the memory that is kept for reuse. The initial limit is a quarter of
-- the physical memory or of the control group's limit.
-- @function memory.set_cache_limit
-- @tparam ?integer bytes
-- @return the previous limit

--- Calls `body(...)`. When it returns or fails, releases the tensors that were
-- created during the call, except those that it returns, including those in
-- tables; these belong to the enclosing scope. Using a released tensor is an
-- error. `body` cannot yield.
-- @function scope
-- @tparam function body
-- @return the results of body

--- Removes tensors, including those in tables, from the innermost scope, which
-- then does not release them.
-- @function keep
-- @return its arguments

--- Returns the gradients of outputs with respect to inputs, one for each input.
-- Does not change the `grad` of any tensor.
-- @function grad
-- @param outputs a tensor or a list of tensors
-- @param inputs a tensor or a list of tensors
-- @tparam[opt] table options `grad_outputs`: the gradients of the outputs,
-- required for outputs of more than one element; `create_graph`: the result is
-- differentiable; `retain_graph`: keep the graph for another backward pass, by
-- default the value of `create_graph`; `allow_unused`: return nil, instead of
-- raising an error, for an input that the outputs do not depend on

--- Adds the gradients of outputs to the `grad` of the leaves, or only of the
-- option `inputs`. `t:backward(gradient, options)` does this for one tensor.
-- @function backward
-- @param outputs a tensor or a list of tensors
-- @tparam[opt] table options `grad_outputs`, `create_graph`, `retain_graph`,
-- as for `grad`; `inputs`

--- Calls `body(...)` without recording gradients: `st.no_grad(net, x)`, or
-- `st.no_grad(function() ... end)`.
-- @function no_grad
-- @tparam function body or a module
-- @return the results of body

--- Calls `body(...)` and records gradients, as outside of no_grad.
-- @function enable_grad
-- @tparam function body or a module
-- @return the results of body

--- Are gradients recorded now?
-- @function is_grad_enabled
-- @treturn boolean

--- Calls `body(...)` without recording gradients and without what they need:
-- tensors that it makes can never be part of a graph.
-- @function inference_mode
-- @tparam function body or a module
-- @return the results of body

--- Calls `body(...)` with gradient recording enabled or disabled.
-- @function set_grad_enabled
-- @tparam boolean flag
-- @tparam function body
-- @return the results of body

--- Calls `fn(op, keys, ...)` in place of every operator that `body(...)` calls;
-- its results are those of the call. `op:redispatch(keys, ...)` runs the
-- operator. `st.mode` is the operator that finds the most frequent element.
-- @function dispatch_mode
-- @tparam function fn
-- @tparam function body
-- @return the results of body

--- Calls `body(...)` and lists the dispatcher's events meanwhile: tables with
-- `op`, the operator's name, `kind` ("call", "redispatch", ...), `key`, the
-- dispatch key, `kernel`, `keys`, `depth` and `start`, in seconds. Calls have
-- `shapes`, the dtypes and shapes of the arguments as a text, and `time`, how
-- long they took. For a tensor, `st.trace` is the operator.
-- @function trace
-- @tparam function body
-- @treturn table the list, then the results of body

--- True inside of `st.autocast`.
-- @function is_autocast_enabled
-- @treturn boolean

--- The dtype of lower precision of `st.autocast`: "bfloat16" unless the region
-- around says otherwise.
-- @function get_autocast_dtype
-- @treturn string

--- True if `st.autocast` keeps casts of parameters.
-- @function is_autocast_cache_enabled
-- @treturn boolean

--- Forgets the casts of parameters that `st.autocast` keeps in this thread.
-- @function clear_autocast_cache

--- True if fused operators are compiled to machine code. That requires x86-64
-- with AVX2, and can be disabled, also by `STRIDED_JIT=0` in the environment.
-- Results are the same without machine code.
-- @function is_jit_enabled
-- @treturn boolean

--- Enables or disables machine code for programs that are compiled from now on,
-- on any thread.
-- @function set_jit_enabled
-- @tparam boolean flag
-- @treturn boolean the previous value

--- What a dtype is: `dtype`, its name, `itemsize` in bytes (0.5 for int4),
-- `bits` (of a part, for a complex dtype), `is_integer`, `is_floating_point`,
-- `is_complex`, `is_signed`, and the limits `min`, `max`, `eps` (of 1) and
-- `tiny` (the smallest normal number), which bool, and `eps` and `tiny`
-- integers do not have.
--
-- A dtype is a string, its name, so a comparison is `t.dtype == "float32"`; a
-- string has no fields, so `t.dtype.itemsize` is nil.
-- @function dtype_info
-- @tparam string dtype
-- @treturn table

--- Seeds the generator of operators that are given none. Until then the system
-- has seeded it, otherwise in every process and forked child: `st.initial_seed`
-- says by what.
-- @function manual_seed
-- @tparam integer seed

--- A copy of the generator of operators that are given none.
-- @function get_rng_state
-- @treturn Generator

--- Sets the generator of operators that are given none.
-- @function set_rng_state
-- @param state a Generator, or what its `get_state()` returned
function st.set_rng_state(state)
  local ok, why = core.try(set_rng_state, state)
  if ok then return end
  error(type(why) == "string" and why:gsub("set_state:", "set_rng_state:", 1)
        or why, 0)
end

--- A random generator: `st.Generator(seed)`, or `st.Generator {algorithm =
-- "philox", seed = seed}`. Operators that draw take it as `generator`, as in
-- `st.rand({3}, {generator = g})`.
--
-- The algorithm "mt19937" is a Mersenne Twister, which gives PyTorch's numbers
-- for a seed, on one thread; the last bits of exponential, gamma and Dirichlet
-- ones in float64 may differ. "philox" is Philox 4x32-10, whose draws the
-- threads share: their number does not change a result.
--
-- Methods: `manual_seed(seed)`, `initial_seed()`, `algorithm()`, `clone()`,
-- `get_state()` (a tensor of bytes; those of a Mersenne Twister are PyTorch's)
-- and `set_state(t)`. Of Philox only: `split(n)` returns n generators (2 if n
-- is nil) that are independent of this one and of each other; the same splits
-- of equal generators give the same ones. `jump(n)` skips n words of 32 bits.
--
-- The generator of operators that are given none becomes Philox by
-- `st.set_rng_state(st.Generator {algorithm = "philox"})`. `st.get_rng_state()`
-- returns a copy of it, and `st.set_rng_state` takes that or its state, which
-- can be saved: `st.save(path, {rng = st.get_rng_state():get_state()})`.
-- @function Generator
-- @param[opt] seed an integer, or a table with `algorithm` and `seed`; without
-- one the system chooses it

--- The names of all devices: "cpu", "meta", and those that libraries brought,
-- such as "opencl", "opencl:1".
-- @function devices
-- @treturn table

--- What is known of a device: a table with `name`, that of the hardware, and
-- where the library says so `alignment`, `max_bytes` of one tensor,
-- `total_bytes` and `free_bytes` of its memory, and `units`, the number of its
-- processors.
-- @function device_properties
-- @tparam string device
-- @treturn table

--- Waits until the work of a device is done. What failed in it is the error of
-- this call, unless `item`, or a copy to the CPU, had it before.
-- @function synchronize
-- @tparam[opt] string device without it all devices

--- How many threads share the work of an operator.
-- @function get_num_threads
-- @treturn integer

--- Sets how many threads share the work of an operator. Results do not depend
-- on it.
-- @function set_num_threads
-- @tparam integer n from 1 to 256

--- What the library runs on: a table with `version`, `api_version` of the C
-- interface, `isa`, `fma`, true if multiply-adds of its kernels are fused,
-- `threads`, `machine`, the choices made for this machine, and `kernels`, the
-- instruction set of each operator's kernel.
-- `st._VERSION` is "strided" and the version.
-- @function config
-- @treturn table

--- Sets what becomes of warnings about what is permitted but rarely intended:
-- false ignores them, true prints them to stderr, a function gets their texts.
-- @function warnings
-- @param setting
-- @return the previous setting

--- The dtype of tensors of numbers with fractions: "float32" at first.
-- @function get_default_dtype
-- @treturn string

--- Sets the dtype of tensors of numbers with fractions.
-- @function set_default_dtype
-- @tparam string dtype

--- A tensor of numbers or booleans, in tables of tables for several dimensions:
-- `st.tensor {{1, 2}, {3, 4}}`. Integers give int64, fractions the default
-- dtype.
-- @function tensor
-- @param values a table, a number or a boolean
-- @tparam[opt] table options `dtype`, `device`, `requires_grad`
-- @treturn Tensor

--- Is a value a tensor?
-- @function is_tensor
-- @param value
-- @treturn boolean

-- -- Tensors -----------------------------------------------------------------

local methods, properties, index = core.methods, core.properties, core.index

-- A trace of LuaJIT knows the type of a key; elsewhere the test is a call,
-- which takes longer than to look a number up in vain.
local knows_types = rawget(_G, "jit") ~= nil

local function look_up(t, key)
  local method = methods[key]
  if method ~= nil then return method end
  if knows_types and type(key) == "number" then return index(t, key) end
  local property = properties[key]
  if property then return property(t) end
  local value = index(t, key)
  if value == nil and type(key) == "string" then
    value = require "strided.name.unknown_name".find_method(t, key)
    methods[key] = value
  end
  return value
end

-- The metatable that getmetatable(t) returns. It is empty itself: see Note
-- [Metatables on first use] in state.h. `pairs` goes through all methods from
-- Lua 5.2 on. LuaJIT and Lua 5.1 have no __pairs, so there it finds nothing;
-- `pairs(getmetatable(t).__index)` goes through all methods in every Lua, and
-- is what completers look at.
local shown = {
  __index = function(self, name)
    local method = methods[name]
    if method ~= nil or type(name) ~= "string" then return method end
    if name == "__index" then
      return require "strided.name.method_names".all(self)
    end
    local keep
    method, keep = core.named(name, true)
    if method == nil then
      method = require "strided.tensor.tensor_methods"[name]
    end
    if keep then methods[name] = method end
    return method
  end,
  __newindex = methods,
  __pairs = function(self) -- from Lua 5.2 on
    return pairs(require "strided.name.method_names".all(self))
  end,
}
core.set_index(look_up, setmetatable({}, shown))

require "strided.tensor.comparison"

function methods.to_dlpack(t, options)
  return require "strided.io.buffer".to_dlpack(t, options)
end

function methods.to_arrow(t, schema, array)
  return require "strided.io.buffer".to_arrow(t, schema, array)
end

function methods.tofile(t, path)
  return require "strided.io.raw".tofile(t, path)
end

for _, name in pairs {"is_floating_point", "is_complex", "is_signed",
                      "is_inference", "numel", "detach_", "to_dlpack"} do
  st[name] = methods[name]
end

-- aten's operators of these names return a new tensor.
for _, name in pairs {"fill", "zero"} do
  methods[name] = function()
    require "strided.name.unknown_name".refuse(name)
  end
end

-- -- Operators ---------------------------------------------------------------

local function new_namespace(ns)
  return setmetatable({}, {
    __index = function(self, name)
      if type(name) ~= "string" then return nil end
      local packet = core.packet(ns .. "::" .. name)
      if ns == "aten" then rawset(self, name, packet) end -- permanent
      return packet
    end,
  })
end

local namespaces = setmetatable({}, {__mode = "v"})
local seal_namespace -- in a sandbox

local function namespace(_, ns)
  if type(ns) ~= "string" then return nil end
  local operators = namespaces[ns]
  if not operators then
    operators = new_namespace(ns)
    if seal_namespace then seal_namespace(operators, ns) end
    namespaces[ns] = operators
  end
  return operators
end

--- Operators as objects: `st.ops.aten.add`, `st.ops.aten.add.Tensor`. They
-- are called like functions and have the methods `schema`, `doc`, `name`,
-- `overloads`, `tags`, `signature`, `kernel(key)`, `table`, `dump`,
-- `redispatch(keys, ...)` and `call_for_key(key, ...)`.
st.ops = setmetatable({aten = namespace(nil, "aten")}, {__index = namespace})

-- -- Modules loaded on first use ---------------------------------------------

local PARTS = { -- a module, and the names of st that it makes
  "io.file", " load save create ",
  "io.csv", " read_csv write_csv ",
  "io.raw", " fromfile ",
  "io.chunks", " chunks ",
  "io.buffer", " frombuffer from_dlpack from_arrow ",
  "io.share", " share attach unshare ",
  "library", " library ",
  "iterator", " iterator ",
  "session.help", " help apropos document ",
  "timeit", " timeit ",
  "layout", " layout ",
  "plot", " plot ",
  "progress", " progress ",
  "explain", " explain ",
  "printing", " set_printoptions get_printoptions ",
  "autograd", " autograd gradcheck gradgradcheck checkpoint detect_anomaly ",
  "nn", " nn ",
  "optim", " optim ",
  "data", " data ",
  "amp", " amp autocast ",
  "fuse", " fuse ",
  "sandbox", " sandbox ",
  "profile", " profile ",
  "name.families", " linalg fft special signal ",
  "distributions", " distributions ",
  "nn.functional", " multi_head_attention_forward "
    .. "triplet_margin_with_distance_loss ",
  "masked", " masked ",
  "lobpcg", " lobpcg ",
  "array_api", " e pi inf nan finfo iinfo isdtype result_type "
    .. "broadcast_shapes expand_dims asarray as_tensor astype cumulative_sum "
    .. "cumulative_prod seed initial_seed use_deterministic_algorithms "
    .. "are_deterministic_algorithms_enabled ",
}

local function part_of(name)
  if match(name, "^[%w_]+$") then
    local word = " " .. name .. " "
    for i = 2, #PARTS, 2 do
      if PARTS[i]:find(word, 1, true) then return PARTS[i - 1] end
    end
  end
  return match(name, "^__array_") and "array_api"
end

--- The names of all parts, as keys: for completion and similar names.
local function names_of_parts()
  local set = {}
  for i = 2, #PARTS, 2 do
    for name in gmatch(PARTS[i], "%S+") do set[name] = true end
  end
  return set
end

local lookups = {
  names = names_of_parts,
  __index = function(self, name)
    if type(name) ~= "string" then return nil end
    local value, keep
    if name ~= "result_type" then -- the operator takes two arguments only
      value, keep = core.named(name, false)
    end
    if value == nil then
      local from = part_of(name)
      if from then
        local part = require("strided." .. from)
        value = rawget(part, name)
        if value == nil then value = part end -- st.nn is the module itself
      else
        value = require "strided.name.unknown_name".find(st, name, self,
                                                         names_of_parts())
      end
      keep = true
    end
    if keep then rawset(self, name, value) end
    return value
  end,
}
setmetatable(st, lookups)

-- -- Sandboxes ---------------------------------------------------------------

--- Makes st, its operators and the methods of tensors read-only; for
-- strided.sandbox.close.
-- @tparam table shells strided.sandbox.shells
-- @tparam function make_filter(st) returns a function that raises an error for
-- a name that is not public
function core.seal(shells, make_filter)
  core.seal = nil
  local refuse = shells.refuse
  for name in pairs(names_of_parts()) do local _ = st[name] end
  function seal_namespace(operators, ns)
    shells.make(operators, "st.ops." .. ns)
  end
  for ns, operators in pairs(namespaces) do seal_namespace(operators, ns) end
  shells.make(st.ops, "st.ops")
  core.inner_of, core.shell_of = shells.inner_of, shells.shell_of
  core.fields = shells.make(st, "st", make_filter(st))
  shown.__newindex, shown.__metatable = refuse "the metatable of tensors",
                                        "protected"
end

return st
