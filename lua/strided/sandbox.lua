--- A sandbox for hosts that run scripts which they do not trust.
--
--     local st = require "strided"
--     local box = st.sandbox {memory = 2^26, seconds = 1, threads = 1}
--     local ok, result = box:run(script, st.tensor {1, 2, 3})
--
-- It takes away, in this Lua state and for good:
--
-- * files: `load`, `save` and files mapped into memory;
-- * addresses: `frombuffer` and `from_dlpack` of an address, `from_arrow`,
--   `to_arrow`,
--   `t:data_ptr()`, `capsule:pointer()`, `capsule:take()`, `plan:run_ffi()`;
--   `t:storage()` identifies the storage by another number;
-- * sharing with other Lua states: `share`, `attach`, `unshare`;
-- * registration, which is for the whole process: `library`, so new
--   operators, kernels and fallbacks, other than in the `namespaces` that the
--   host gives; there, existing operators cannot be replaced.
--   `strict_registration`, and `listen`, which hears of other states;
-- * settings of the whole process: `set_num_threads`, `set_default_dtype`,
--   `set_jit_enabled`, `warnings`, `memory_fail_at`, `memory.set_limit`,
--   `memory.set_cache_limit`, `memory.trim`, `memory.reset_peak`;
--   `manual_seed`, `get_rng_state` and `set_rng_state` of the default
--   generator: a script passes a `Generator` of its own;
-- * the session: the modules `strided.session.*`, which reach the terminal,
--   the history file and the globals;
-- * internals: the module `strided.core`; assignments to fields of `st`,
--   `st.ops` and `st.memory` and to methods of tensors; in LuaJIT and Lua 5.1
--   the globals, as the environment of functions of the library.
--
-- Calls of what is taken raise an error that says so. The test is in C, below
-- these modules, so it does not matter how a script has come by a function.
--
-- `box:run(fn, ...)` calls `fn(...)` as `pcall` does, under the limits. The
-- memory limit is for what calls of this state create, inside `run` or not. It
-- counts until it is released: elements, headers of tensors, nodes of
-- gradients, generators, temporaries, but not what Lua itself allocates. The
-- time limit is for each `run`. It is tested at every call of an operator, in
-- long calls about every millisecond, and, by a debug hook, every 1,000
-- instructions of Lua. `run` cannot yield. Under LuaJIT a time limit turns the
-- compiler for Lua off, since compiled code calls no hooks. Give scripts
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
-- * `getfenv` reads the globals of the thread: `setfenv(0, env)` replaces them;
-- * scripts in the same Lua state share its tables, those of `st.nn` and
--   `string` among them, so each tenant should have a state. `rawset` changes
--   even the tables that are read-only here.
--
-- The environment variable `STRIDED_SANDBOX=1` turns the sandbox on where the
-- library is loaded, for every Lua state of the process;
-- `STRIDED_SANDBOX=memory=100000000,threads=2` does so with limits.
--
-- @module strided.sandbox

local core = require "strided.core"

local debug, next, pairs, require, setfenv, type =
  debug, next, pairs, require, rawget(_G, "setfenv"), type
local getinfo, getmetatable, getupvalue =
  debug.getinfo, debug.getmetatable, debug.getupvalue

local HOME = getinfo(1, "S").source:gsub("sandbox%.lua$", "")

-- Modules that functions load when they are first called.
local LATE = {
  "io.csv", "io.csv_read", "io.csv_write", "io.npy", "io.npz", "io.pt",
  "io.pt_writer", "io.raw", "io.replace", "io.safetensors", "io.t7",
  "expression", "layout.svg", "method_names", "nn.layer", "nn.loss",
  "nn.module", "unknown_name",
}

--- Gives all functions of the library's files that can be reached from a value
-- an empty environment.
local function empty_environments(root)
  local seen, list, empty = {}, {root}, {}
  local function add(value)
    local kind = type(value)
    if (kind == "table" or kind == "function" or kind == "userdata")
      and not seen[value] then
      seen[value] = true
      list[#list + 1] = value
    end
  end
  local function visit(fn)
    if getinfo(fn, "S").source:sub(1, #HOME) ~= HOME then return end
    setfenv(fn, empty)
    local i, name, value = 1, getupvalue(fn, 1)
    while name do
      add(value)
      i = i + 1
      name, value = getupvalue(fn, i)
    end
  end
  while #list > 0 do
    local value = list[#list]
    list[#list] = nil
    if type(value) == "function" then visit(value) end
    if type(value) == "table" then
      for k, v in next, value do
        add(k)
        add(v)
      end
    end
    if type(value) ~= "function" then add(getmetatable(value)) end
  end
end

local sandbox = {}

--- Closes the Lua side of a sandbox that is on, once.
-- @local
function sandbox.close()
  sandbox.close = nil
  for _, name in pairs(LATE) do require("strided." .. name) end
  core.seal()
  local ours = {core}
  for name, part in pairs(core.hide_modules()) do
    if type(name) == "string" and name:find "^strided" then
      ours[#ours + 1] = part
    end
  end
  if setfenv then empty_environments(ours) end
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
  local box = core.sandbox(options)
  sandbox.close()
  return box
end

return sandbox
