--- Tensors and operators for Lua.
--
--     local st = require "strided"
--     local x = st.rand(2, 3)
--     print((x * 2 + 1):sum {dim = 1})
--
-- Every operator of the engine is `st.<name>`, a method of tensors, and
-- `st.ops.<namespace>.<name>[.<overload>]`. They are looked up when they are
-- first used. Dimensions and positions count from 1, ranges are inclusive.
--
-- @module strided

local core = require "strided.core"

local debug, pairs, rawset, require, setmetatable, type =
  debug, pairs, rawset, require, setmetatable, type

local st = {}

-- Errors are reported where our own files were called.
core.set_home((debug.getinfo(1, "S").source:gsub("init%.lua$", "")))

-- -- LuaJIT's integers -------------------------------------------------------

local has_ffi, ffi = pcall(require, "ffi")
if has_ffi then
  local int64, uint64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"
  local istype, high = ffi.istype, ffi.new("int64_t", 4294967296)
  core.set_int64(
    function(x) return istype(int64, x) or istype(uint64, x) end,
    function(hi, lo) return int64(hi) * high + int64(lo) end)
end

-- -- Values ------------------------------------------------------------------

for _, name in pairs {
  "complex", "float", "int64", "none", "newaxis", "ellipsis", "tensor",
  "is_tensor", "may_share_memory", "memory", "memory_fail_at", "scope", "keep",
  "get_num_threads", "set_num_threads", "config", "manual_seed", "Generator",
  "get_rng_state", "set_rng_state",
  "keyset", "keyset_full", "keyset_after", "include_keys", "exclude_keys",
  "included_keys", "excluded_keys", "below_autograd",
  "below_adinplaceorview", "no_grad", "enable_grad", "is_grad_enabled",
  "set_grad_enabled", "grad", "backward",
  "inference_mode", "is_inference_mode_enabled", "is_jit_enabled",
  "set_jit_enabled", "mode", "observe", "listen",
  "trace", "dump", "dangling_impls", "check_registry",
  "strict_registration", "warnings", "schema", "get_default_dtype",
  "set_default_dtype", "contiguous_format", "preserve_format",
  "channels_last", "channels_last_3d", "bool", "uint8", "int8", "int16",
  "int32", "float16", "bfloat16", "float32", "float64", "complex32",
  "complex64", "complex128",
} do
  st[name] = core[name]
end

--- What memory the engine uses: `st.memory()` is a table by kind ("tensors",
-- "storages", "data", ...) of `{count =, bytes =, peak =}`, process-wide.
-- @function memory

--- The same as `kinds`, and in bytes: `live`, `peak`, `cached` (kept for
-- reuse), `cache_limit` and `limit` (nil without one).
-- @function memory.stats

--- Gives the cached blocks of this thread, and those of all threads, back to
-- the system. Collect garbage first to have the memory of dead tensors there.
-- @function memory.trim
-- @return the bytes that were cached

--- Begins to measure the peaks anew.
-- @function memory.reset_peak

--- What would make more than `bytes` live collects garbage, gives cached blocks
-- back, and then fails with an error that says how much was asked for.
-- @function memory.set_limit
-- @tparam ?integer bytes without it there is no limit, as at the start
-- @return the limit before, nil without one

--- At most so many bytes are kept for reuse: at the start a quarter of the
-- memory that there is, or that the control group allows.
-- @function memory.set_cache_limit
-- @tparam ?integer bytes
-- @return the limit before

--- Calls `body(...)` and releases the tensors that were made meanwhile when it
-- returns or fails, except those that it returns, also in tables; they belong
-- to the scope around it. To use one that was released is an error. `body`
-- cannot yield.
-- @function scope
-- @tparam function body
-- @return what it returns

--- Takes tensors, and those in tables, out of the innermost scope.
-- @function keep
-- @return its arguments

--- The gradients of outputs by inputs, which are tensors or lists of them, as
-- results: one for each input. Nothing is added to anybody's `grad`.
-- @function grad
-- @param outputs
-- @param inputs
-- @tparam[opt] table options `grad_outputs`, the gradients of outputs that are
-- no scalars; `create_graph`, to differentiate the result; `retain_graph`, to
-- go through the graph again, by default what `create_graph` is;
-- `allow_unused`, nil for an input that the outputs do not depend on

--- Adds the gradients of outputs to the `grad` of the leaves, or of the option
-- `inputs` alone. `t:backward(gradient, options)` is the same of one tensor.
-- @function backward
-- @param outputs a tensor or a list of them
-- @tparam[opt] table options `grad_outputs`, `create_graph`, `retain_graph`,
-- as for `grad`; `inputs`

--- Calls `body(...)` with the recording of gradients on or off.
-- @function set_grad_enabled
-- @tparam boolean flag
-- @tparam function body
-- @return what it returns

--- Is machine code made for fused operators? Where it can be (on x86-64 with
-- AVX2), unless it was switched off, as `STRIDED_JIT=0` in the environment
-- does. Results are the same without it.
-- @function is_jit_enabled
-- @treturn boolean

--- Switches it on or off, for what all threads make from now on.
-- @function set_jit_enabled
-- @tparam boolean flag
-- @treturn boolean what it was

-- -- Tensors -----------------------------------------------------------------

local methods, properties, index = core.methods, core.properties, core.index

local function look_up(t, key)
  local method = methods[key]
  if method ~= nil then return method end
  local property = properties[key]
  if property then return property(t) end
  return index(t, key)
end

-- What getmetatable(t) is, empty itself: Note [Metatables on first use] in
-- bind.h.
core.set_index(look_up, setmetatable({}, {
  __index = function(_, name)
    local method = methods[name]
    if method ~= nil or type(name) ~= "string" then return method end
    local keep
    method, keep = core.named(name, true)
    if keep then methods[name] = method end
    return method
  end,
  __newindex = methods,
  __pairs = function(self) -- from Lua 5.2 on
    return pairs(require "strided.methods".all(self))
  end,
}))

function methods.to_dlpack(t, options)
  return require "strided.io.buffer".to_dlpack(t, options)
end

-- -- Operators ---------------------------------------------------------------

local function namespace(ns)
  return setmetatable({}, {
    __index = function(self, name)
      if type(name) ~= "string" then return nil end
      local packet = core.packet(ns .. "::" .. name)
      if ns == "aten" then rawset(self, name, packet) end -- they stay
      return packet
    end,
  })
end

--- Operators as objects: `st.ops.aten.add`, `st.ops.aten.add.Tensor`. They
-- are called like functions and have the methods `schema`, `doc`, `name`,
-- `overloads`, `tags`, `signature`, `kernel(key)`, `table`, `dump`,
-- `redispatch(keys, ...)` and `call_for_key(key, ...)`.
st.ops = setmetatable({}, {
  __index = function(self, ns)
    if type(ns) ~= "string" then return nil end
    local operators = namespace(ns)
    rawset(self, ns, operators)
    return operators
  end,
})

-- -- Parts that are loaded when they are used --------------------------------

local LAZY = {
  load = "io.file", save = "io.file", frombuffer = "io.buffer",
  from_dlpack = "io.buffer", share = "io.share", attach = "io.share",
  unshare = "io.share", library = "library", iterator = "iterator",
  help = "session.help", layout = "layout", explain = "explain",
  set_printoptions = "printing", get_printoptions = "printing",
  autograd = "autograd", gradcheck = "autograd", gradgradcheck = "autograd",
  checkpoint = "autograd", detect_anomaly = "autograd", nn = "nn",
  optim = "optim", fuse = "fuse",
}

setmetatable(st, {
  names = LAZY,  -- for completers
  __index = function(self, name)
    if type(name) ~= "string" then return nil end
    local value, keep
    if LAZY[name] then
      local part = require("strided." .. LAZY[name])
      value, keep = part[name], true
      if value == nil then value = part end -- st.nn is all of it
    else
      value, keep = core.named(name, false)
    end
    if keep then rawset(self, name, value) end
    return value
  end,
})

return st
