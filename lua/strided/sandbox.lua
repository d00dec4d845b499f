--- A sandbox for hosts that run scripts which they do not trust.
--
--     local st = require "strided"
--     local box = st.sandbox {memory = 2^26, seconds = 1, threads = 1}
--     local ok, result = box:run(script, st.tensor {1, 2, 3})
--
-- What a script may have is listed, with the reasons, in
-- strided.sandbox.public: names of st, methods of tensors, and the modules that
-- `require` gives. Nothing else of the library can be required or indexed. A
-- host adds a module, of a rock for example, by `sandbox.allow(name, reason)`.
--
-- Of what is listed it takes away, in this Lua state and for good:
--
-- * files: `load`, `save` and files mapped into memory, programs;
-- * addresses: `frombuffer` and `from_dlpack` of an address, `from_arrow`,
--   `to_arrow`,
--   `t:data_ptr()`, `capsule:pointer()`, `capsule:take()`, `plan:run_ffi()`;
--   `t:storage()` identifies the storage by another number;
-- * sharing with other Lua states: `share`, `attach`, `unshare`;
-- * registration, which is for the whole process: `library`, so new
--   operators, kernels and fallbacks, other than in the `namespaces` that the
--   host gives; there, scripts register for operators of scripts only;
--   `strict_registration`, and `listen`, which hears of other states;
-- * settings of the whole process: `set_num_threads`, `set_default_dtype`,
--   `set_jit_enabled`, `warnings`, `memory_fail_at`, `memory.set_limit`,
--   `memory.set_cache_limit`, `memory.trim`, `memory.reset_peak`;
--   `manual_seed`, `get_rng_state` and `set_rng_state` of the default
--   generator: a script passes a `Generator` of its own;
-- * the session: the terminal, the history file and the globals;
-- * internals: workers of a DataLoader; assignments to tables of modules such
--   as `st` and `st.nn`, to `st.ops` and to methods of tensors; the metatables
--   of the library's objects; in LuaJIT and Lua 5.1 the globals, as the
--   environment of functions of the library.
--
-- A run can change the fields of classes, such as `st.nn.Linear.forward`, what
-- `register_kl`, `biject_to:register`, `set_default_validate_args` and
-- `st.document` keep, and printing options: after the run they are what they
-- were. Objects do not see a change of their class.
--
-- Calls of what is taken raise an error that says so. The test is in C, below
-- these modules, so it does not matter how a script has come by a function.
--
-- It is turned on whole or not at all. Wrong options are refused, and nothing
-- is taken. If something fails afterwards, a module of `sandbox.allow` that
-- does not load, memory, or an interrupt, the Lua state loses strided: every
-- operator, `require` of a module and field of `st` is an error that says so.
-- Such a host starts again with a new Lua state.
--
-- `box:run(fn, ...)` calls `fn(...)` as `pcall` does, under the limits. The
-- memory limit is for what calls of this state create, inside `run` or not. It
-- counts until it is released: elements, headers of tensors, graphs of
-- gradients, generators, fused functions and their machine code, operators,
-- capsules, profiles, temporaries, but not what Lua itself allocates: a host
-- limits that by the allocator of the Lua state, `lua_newstate`. The
-- time limit is for each `run`. It is tested at every call of an operator, in
-- long calls about every millisecond, and, by a debug hook, every 1,000
-- instructions of Lua. `run` cannot yield. In LuaJIT and Lua 5.1 a script runs
-- on a thread of its own, whose globals, `getfenv(0)`, are those of the script:
-- of the first Lua function that `run` gets, or those that the host has given
-- its own thread by `setfenv(0, env)`. `print` needs a `tostring` in them.
-- `getfenv(level)` does not reach beyond `run`. Under LuaJIT a time limit turns
-- the compiler for Lua off, since compiled code calls no hooks. Give scripts
-- neither the box nor anything that holds it. A script may set hooks on tensors
-- that it gets: run backward passes over them inside `run`, too.
--
-- A host still takes Lua's own means away:
--
-- * scripts must not have `debug`, `ffi`, `jit`, `io`, `os`, `package`, a
--   `require` for all modules, `dofile`, `loadfile`, or `load` for binary
--   chunks;
-- * for a time limit they must have neither `xpcall` nor finalizers
--   (`newproxy`, `__gc`), where Lua calls no hook, and not `string.rep`,
--   `string.find` and others with arguments that keep one call busy;
-- * functions that a host gives as Lua functions have their environments, which
--   `getfenv` reads in LuaJIT and Lua 5.1: `setfenv(fn, {})` hides them;
-- * in Lua 5.4 an error of a hook leaves hooks off in a coroutine, so nothing
--   would end a handler of a `<close>` variable there. With a time limit,
--   `coroutine.close` and the functions of `coroutine.wrap` leave the variables
--   of a coroutine that the limit has ended. A host gives scripts these two as
--   they are in the table `coroutine` after `st.sandbox`, not earlier copies;
-- * scripts in the same Lua state share its tables, that of `string` among
--   them, so each tenant should have a state. `rawset` changes even the tables
--   that are read-only here, until the end of the run and for scripts only.
--
-- An error of a script is returned as a text, made within the limits. What a
-- script returns is its own: a host that prints a table with `__tostring` runs
-- the script again, without limits.
--
-- The environment variable `STRIDED_SANDBOX=1` turns the sandbox on where the
-- library is loaded, for every Lua state of the process;
-- `STRIDED_SANDBOX=memory=100000000,threads=2` does so with limits.
--
-- @module strided.sandbox

local core = require "strided.core"
local raise = require "strided.argument.caller_error"

local type = type

local require = require "strided.core".require

local sandbox = {}

local allowed = {} -- by the name of a module, why scripts may have it

--- Lets scripts of a later sandbox require a module whose name begins with
-- "strided", as those of rocks do:
-- `sandbox.allow("strided.image", "decodes bytes; opens no file")`. The
-- sandbox loads the module when it is turned on. Its functions can be called by
-- scripts as they are: none may give a script what the sandbox takes away.
-- @tparam string name of the module
-- @tparam string reason
function sandbox.allow(name, reason)
  core.check_taken("internals", "sandbox.allow")
  if type(name) ~= "string" or type(reason) ~= "string" then
    raise "sandbox.allow: the name of a module and a reason are expected"
  end
  allowed[name] = reason
end

--- Closes the Lua side of a sandbox, once.
-- @local
function sandbox.close(given)
  require "strided.sandbox.close".close(allowed, given)
end

--- Takes away what a script must not have, for good, and sets limits.
-- @function sandbox
-- @tparam[opt] table options `memory`, in bytes; `threads`, the most that a
-- call uses; `seconds`, for each `run`; `namespaces`, a list of those in which
-- scripts may define operators; `allow`, a list of what is not taken: "files",
-- "addresses", "sharing", "registration", "settings", "session"
-- @return the box, an object with the methods `run(fn, ...)` and `used()`, the
-- bytes that count for the memory limit. Raises an error if the Lua state is in
-- a sandbox already.
function sandbox.sandbox(options)
  return core.sandbox(options, sandbox.close)
end

return sandbox
