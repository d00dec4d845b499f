--- Attempts to get out of a sandbox: {name, what comes of it, a function}.
--
-- A function gets the library and what a script may have kept from the time
-- before the sandbox. What comes of it is a part of the error message, or
-- "nothing": it returns nil or false. Functions run with the environment that a
-- careful host gives to scripts.

local function taken(name, class)
  return name .. ": not available in a sandbox, which takes " .. class ..
         " away"
end

local INTERNALS = taken("strided[%w_.]*", "internals")

local function evil() return "evil" end

--- The first environment up the stack that has the host's globals.
local function host_globals()
  for level = 1, 40 do
    local ok, env = pcall(getfenv, level)
    if ok and rawget(env, "os") then return level end
  end
end

local list = {
  -- files
  {"loads a file", taken("load", "files"),
   function(st) return st.load "/etc/passwd" end},
  {"maps a file", taken("load", "files"),
   function(st) return st.load("/dev/zero", {mmap = "r+"}) end},
  {"saves a file", taken("save", "files"),
   function(st) return st.save("/tmp/out.npy", st.ones(2)) end},
  {"saves a table", taken("save", "files"),
   function(st) return st.save("/tmp/out.npz", {a = st.ones(2)}) end},
  {"calls a load that it kept", taken("load", "files"),
   function(_, kept) return kept.load "/etc/passwd" end},
  {"takes load out of its module", INTERNALS,
   function() return require "strided.io.file".load "/etc/passwd" end},
  {"loads in a coroutine", taken("load", "files"),
   function(st) return coroutine.wrap(st.load)("/etc/passwd") end},
  {"loads in a mode", taken("load", "files"), function(st)
    return st.dispatch_mode(function() return st.load "/etc/passwd" end,
                   function() return st.ones(1) end)
  end},
  {"loads in a hook of a gradient", taken("load", "files"), function(st)
    local x = st.ones(2):requires_grad_()
    x:register_hook(function() return st.load "/etc/passwd" end)
    return x:sum():backward()
  end},
  {"loads in a scope", taken("load", "files"),
   function(st) return st.scope(function() return st.load "x" end) end},
  {"loads in a custom function", taken("load", "files"), function(st)
    local f = st.autograd.Function {
      forward = function() return st.load "/etc/passwd" end,
      backward = evil,
    }
    return f(st.ones(1))
  end},
  {"opens a file in C", taken("load", "files"),
   function(_, kept) return kept.core.open_source "/etc/passwd" end},
  {"replaces a file in C", taken("save", "files"),
   function(_, kept) return kept.core.open_aside "/tmp/out" end},
  {"appends to a file in C", taken("append", "files"),
   function(_, kept) return kept.core.append("/tmp/out", "x") end},
  {"copies bytes that are counted", "the limit here is 16777216",
   function(_, kept)
    local list = {}
    for i = 1, 1e5 do list[i] = kept.core.open_bytes(("x"):rep(1000)) end
    return #list
  end},
  {"dumps load and loads it again", "attempt to", function(st)
    return (loadstring or load)(string.dump(st.load))("/etc/passwd")
  end},

  -- addresses
  {"reads an address", taken("data_ptr", "addresses"),
   function(st) return st.ones(2):data_ptr() end},
  {"reads it with a method that it kept", taken("data_ptr", "addresses"),
   function(st, kept) return kept.data_ptr(st.ones(2)) end},
  {"takes the storage's number for an address", "nothing",
   function(_, kept) return kept.tensor:storage() == kept.storage end},
  {"makes a tensor at a number",
   taken("frombuffer of an address", "addresses"),
   function(st) return st.frombuffer(16, {count = 4}) end},
  {"makes a tensor at a table in C",
   taken("frombuffer of an address", "addresses"), function(_, kept)
    return kept.core.frombuffer({}, nil, 8, 0, kept.core.float64, {1})
  end},
  {"takes a number for a capsule",
   taken("from_dlpack of an address", "addresses"),
   function(st) return st.from_dlpack(65) end},
  {"reads the address of a capsule", taken("capsule:pointer", "addresses"),
   function(st) return st.ones(2):to_dlpack():pointer() end},
  {"takes a capsule's structure", taken("capsule:take", "addresses"),
   function(st) return st.ones(2):to_dlpack {versioned = true}:take() end},
  {"reads the addresses of an iterator", taken("plan:run_ffi", "addresses"),
   function(_, kept) return kept.core.plan_data() end},

  -- other Lua states
  {"shares a tensor", taken("share", "sharing"),
   function(st) return st.share(st.ones(2), math.huge) end},
  {"attaches a tensor", taken("attach", "sharing"),
   function(st, kept) return st.attach(kept.token) end},
  {"withdraws a token", taken("unshare", "sharing"),
   function(st, kept) return st.unshare(kept.token) end},
  {"shares with a function that it kept", taken("share", "sharing"),
   function(st, kept) return kept.core.share(st.ones(2)) end},

  {"starts a thread with another state",
   taken("DataLoader with workers", "internals"), function(st)
    return st.data.DataLoader({1}, {num_workers = 1}):iter()
  end},
  {"starts one with a function that it kept",
   taken("DataLoader with workers", "internals"),
   function(_, kept) return kept.core.start_workers(1, "", "", "", {}) end},

  -- the process's operators
  {"replaces operators of aten", taken("library", "registration"),
   function(st) return st.library("aten", "IMPL"):impl("add", evil) end},
  {"adds to aten", taken("library", "registration"),
   function(st) return st.library("aten", "FRAGMENT") end},
  {"registers a fallback", taken("library", "registration"),
   function(st) return st.library("_", "IMPL"):fallback("CPU", evil) end},
  {"takes a namespace that is not given", taken("library", "registration"),
   function(st) return st.library "theirs" end},
  {"names two namespaces", taken("library", "registration"),
   function(st) return st.library "mine aten" end},
  {"opens a library in C", taken("library", "registration"),
   function(_, kept) return kept.core.open_library("aten", "IMPL") end},
  {"puts a kernel of aten into its namespace", "mine",
   function(st) return st.library("mine", "IMPL"):impl("aten::add", evil) end},
  {"puts a fallback into its namespace", "fallback", function(st)
    return st.library("mine", "IMPL", "CPU"):fallback("CPU", evil)
  end},
  {"closes the host's library by opening its namespace", "mine",
   function(st) return st.library "mine" end},
  {"defines the host's operator again", "theirs", function(st)
    return st.library("mine", "FRAGMENT"):def("theirs(Tensor x) -> Tensor")
  end},
  {"puts a kernel for another key into the host's operator", "theirs",
   function(st)
    return st.library("mine", "IMPL"):impl("theirs", "Autograd", evil)
  end},
  {"puts a kernel for a key of its library into it", "theirs", function(st)
    return st.library("mine", "IMPL", "CPU"):impl("mine::theirs", evil)
  end},
  {"adds an overload to the host's operator", "theirs", function(st)
    return st.library("mine", "FRAGMENT"):def(
      "theirs.more(Tensor x, int n) -> Tensor", evil)
  end},
  {"adds one behind a blank", "theirs", function(st)
    return st.library("mine", "FRAGMENT"):def(
      " theirs.more(Tensor x, int n) -> Tensor", evil)
  end},
  {"adds one behind blanks and colons", "theirs", function(st)
    return st.library("mine", "FRAGMENT"):def(
      "\tmine:: theirs.more(Tensor x, int n) -> Tensor", evil)
  end},
  {"derives the host's operator", "theirs", function(st)
    return st.library("mine", "FRAGMENT"):derivative("theirs", "x: grad")
  end},
  {"traces an overload of it", "theirs", function(st)
    return st.library("mine", "FRAGMENT"):elementwise(
      "theirs.more(Tensor x, Tensor y) -> Tensor", "x + y")
  end},
  {"waits with a kernel for an operator of the host", "later", function(st)
    return st.library("mine", "IMPL"):impl("later", "CPU", evil)
  end},
  {"puts a kernel for each key into it", "nothing", function(st)
    local lib, done = st.library("mine", "IMPL"), nil
    for _, key in ipairs {"CPU", "Meta", "Autograd", "Tracer", "Conjugate",
                          "CompositeImplicitAutograd", "PrivateUse1"} do
      done = done or pcall(lib.impl, lib, "theirs", key, evil)
    end
    return done
  end},
  {"allows replacement", taken("strict_registration", "registration"),
   function(st) return st.strict_registration(false) end},
  {"listens to other states", taken("listen", "registration"),
   function(st) return st.listen(evil) end},

  -- the process's settings
  {"lifts the memory limit", taken("memory.set_limit", "settings"),
   function(st) return st.memory.set_limit(nil) end},
  {"lifts it with a function that it kept",
   taken("memory.set_limit", "settings"),
   function(_, kept) return kept.set_limit(nil) end},
  {"changes the cache", taken("memory.set_cache_limit", "settings"),
   function(st) return st.memory.set_cache_limit(2^40) end},
  {"empties the cache", taken("memory.trim", "settings"),
   function(st) return st.memory.trim() end},
  {"resets the peaks", taken("memory.reset_peak", "settings"),
   function(st) return st.memory.reset_peak() end},
  {"makes the host's next allocation fail",
   taken("memory_fail_at", "settings"),
   function(st) return st.memory_fail_at(1) end},
  {"takes more threads", taken("set_num_threads", "settings"),
   function(st) return st.set_num_threads(64) end},
  {"has more threads in a call", "nothing",
   function(st) return st.config().threads ~= 1 end},
  {"changes the default dtype", taken("set_default_dtype", "settings"),
   function(st) return st.set_default_dtype "float64" end},
  {"switches machine code", taken("set_jit_enabled", "settings"),
   function(st) return st.set_jit_enabled(true) end},
  {"seeds the host's random numbers", taken("manual_seed", "settings"),
   function(st) return st.manual_seed(1) end},
  {"reads their state", taken("get_rng_state", "settings"),
   function(st) return st.get_rng_state() end},
  {"sets their state", taken("set_rng_state", "settings"),
   function(st) return st.set_rng_state(st.Generator(1)) end},
  {"replaces the handler of warnings", taken("warnings", "settings"),
   function(st) return st.warnings(evil) end},

  -- sessions
  {"writes the history file", INTERNALS, function()
    return require "strided.session.history".add("/tmp/out", "x")
  end},
  {"runs code as the command does", INTERNALS, function()
    return require "strided.session.command".main {"-e", "os.exit(9)"}
  end},
  {"compiles code as a session does", INTERNALS, function()
    return require "strided.session".compile "os.exit(9)"
  end},
  {"runs a session", INTERNALS, function(_, kept)
    kept.package.loaded["strided.session"] = nil
    return require "strided.repl"
  end},
  {"gets at a module that was loaded before", INTERNALS, function()
    return require "strided.session.show".value
  end},
  {"clears the host's debug hook", taken("interruptible", "session"),
   function(_, kept) return kept.core.interruptible(false, evil) end},
  {"handles the host's signals", taken("catch_interrupts", "session"),
   function(_, kept) return kept.core.catch_interrupts(true) end},
  {"waits for input", taken("wait_input", "session"),
   function(_, kept) return kept.core.wait_input() end},

  -- internals
  {"requires the C module", INTERNALS,
   function() return require "strided.core".open_source end},
  {"writes to the C module", INTERNALS,
   function() require "strided.core".open_source = evil end},
  {"opens the C module again", INTERNALS, function(_, kept)
    local loaded = kept.package.loaded
    local was = loaded["strided.core"]
    loaded["strided.core"] = nil
    local ok, core = pcall(require, "strided.core")
    loaded["strided.core"] = was
    return ok and core.open_source or error(core, 0)
  end},
  {"loads the library again", "nothing", function(st, kept)
    kept.package.loaded.strided = nil
    return require "strided" ~= st
  end},
  {"replaces a function of st", "st is read-only in a sandbox: cannot set "
   .. "'ones'", function(st) st.ones = evil end},
  {"adds a function to st", "st is read-only in a sandbox: cannot set 'x'",
   function(st) st.x = evil end},
  {"replaces a function of st.memory", "st.memory is read-only in a sandbox: "
   .. "cannot set 'stats'", function(st) st.memory.stats = evil end},
  {"replaces an operator", "st.ops.aten is read-only in a sandbox: cannot set "
   .. "'add'", function(st) st.ops.aten.add = evil end},
  {"replaces a namespace", "st.ops is read-only in a sandbox: cannot set 'my'",
   function(st) st.ops.my = {add = evil} end},
  {"replaces an operator of another namespace",
   "st.ops.mine is read-only in a sandbox: cannot set 'theirs'",
   function(st) st.ops.mine.theirs = evil end},
  {"replaces a method of tensors",
   "the metatable of tensors is read-only in a sandbox: cannot set 'sum'",
   function(st) getmetatable(st.ones(1)).sum = evil end},
  {"replaces it past the metatable", "nothing", function(st)
    rawset(getmetatable(st.ones(1)), "sum", evil)
    return st.ones(1):sum() == "evil"
  end},
  {"replaces the metatable of st", "protected metatable",
   function(st) setmetatable(st, {}) end},
  {"gets at the metatable of st", "nothing",
   function(st) return type(getmetatable(st)) == "table" end},
  {"replaces the metatable of a metatable", "protected metatable",
   function(st) setmetatable(getmetatable(st.ones(1)), {}) end},
  {"replaces what tensors are compared with",
   taken("set_metamethod", "internals"),
   function(_, kept) return kept.core.set_metamethod("__lt", evil) end},
  {"replaces what tensors are indexed with", taken("set_index", "internals"),
   function(_, kept) return kept.core.set_index(evil, {}) end},
  {"replaces the compiler of expressions",
   taken("set_compiler", "internals"),
   function(_, kept) return kept.core.set_compiler(evil) end},
  {"makes its files the library's", taken("set_home", "internals"),
   function(_, kept) return kept.core.set_home "@" end},
  {"makes a sandbox with more rights",
   "sandbox: this Lua state is in a sandbox already",
   function(st) return st.sandbox {allow = {"files"}} end},
  {"makes one in C", "sandbox: this Lua state is in a sandbox already",
   function(_, kept) return kept.core.sandbox {memory = 2^40} end},
  {"closes it again", INTERNALS,
   function() return require "strided.sandbox".close() end},

  -- memory
  {"allocates more than it may",
   "out of memory: %d+ bytes requested; %d+ are live, the limit here is "
   .. "16777216", function(st) return st.ones(2^24) end},
  {"keeps many tensors", "the limit here is 16777216", function(st)
    local t = {}
    for i = 1, 1e6 do t[i] = st.ones(1000) end
    return #t
  end},
  {"keeps many views", "the limit here is 16777216", function(st)
    local t, x = {}, st.ones(2)
    for i = 1, 1e6 do t[i] = x:view(2) end
    return #t
  end},
  {"keeps a long graph", "the limit here is 16777216", function(st)
    local x = st.ones(1):requires_grad_()
    for _ = 1, 1e6 do x = x + 0 end
  end},
  {"keeps many generators", "the limit here is 16777216", function(st)
    local t = {}
    for i = 1, 1e5 do t[i] = st.Generator(i) end
    return #t
  end},
  {"enlarges a tensor", "the limit here is 16777216",
   function(st) return st.ones(1):resize_ {2^24} end},
  {"enlarges an output", "the limit here is 16777216",
   function(st) return st.ones(2^24, {out = st.ones(1)}) end},
  {"has more than it was given", "nothing", function(st)
    for _ = 1, 100 do pcall(st.ones, 2^20) end
    local t = {}
    for i = 1, 100 do t[i] = select(2, pcall(st.ones, 2^20)) end
    return type(t[5]) ~= "string"
  end},
}

if rawget(_G, "getfenv") then
  for _, row in ipairs {
    {"finds globals in the environment of a function", "nothing",
     function(st) return getfenv(st.save).os end},
    {"finds globals in that of a method", "nothing",
     function(st) return getfenv(st.nn.Linear.forward).os end},
    {"finds globals in that of a new function", "nothing", function(st)
      return getfenv((st.nn.Linear(2, 2):named_parameters())).os
    end},
    {"finds globals in that of an inner module", INTERNALS,
     function() return getfenv(require "strided.io.zip".read).os end},
    {"finds globals in that of an operator", "nothing",
     function(st) return getfenv(st.ones).os end},
    {"finds globals up the stack of a callback", "nothing", function(st)
      local found
      st.checkpoint(function(x)
        found = host_globals()
        return x
      end, st.ones(2):requires_grad_())
      return found
    end},
    {"finds globals up the stack of a key's text", "is read-only in a sandbox",
     function(st)
      local found
      local key = setmetatable({}, {__tostring = function()
        found = host_globals()
        return "x"
      end})
      local ok, why = pcall(function() st.nn[key] = 1 end)
      return found or not ok and error(why, 0)
    end},
    {"finds globals up the stack of a kernel", "nothing", function(st)
      local found
      st.dispatch_mode(function(op, keys, ...)
        found = host_globals()
        return op:redispatch(keys, ...)
      end, function() return st.ones(1) end)
      return found
    end},
  } do
    list[#list + 1] = row
  end
end

list.host_globals = host_globals

local OVER = "the time limit of 0.25 s is over"

--- The same for time; a function would not end.
list.timed = {
  {"loops", OVER, function() while true do end end},
  {"loops and catches errors", OVER, function()
    while true do pcall(function() while true do end end) end
  end},
  {"loops in a coroutine", OVER, function()
    coroutine.wrap(function() while true do end end)()
  end},
  {"loops in coroutines that catch errors", OVER, function()
    while true do
      coroutine.wrap(function() pcall(function() while true do end end) end)()
    end
  end},
  {"loops in the handler of a closed variable", OVER, function()
    local source = [[
      local function loop() while true do end end
      local function close()
        for _ in pairs, {}, nil, setmetatable({}, {__close = loop}) do
          loop()
        end
      end
      coroutine.wrap(close)()
      local thread = coroutine.create(close)
      coroutine.resume(thread)
      coroutine.close(thread)]]
    if not rawget(coroutine, "close") then source = "while true do end" end
    return (loadstring or load)(source)()
  end},
  {"closes what a limit has ended", "nothing", function()
    local ended = rawget(_G, "ENDED")
    return rawget(coroutine, "close") and ended and
           coroutine.close(ended)
  end},
  {"calls operators", OVER, function(st)
    local t = st.ones(1)
    while true do t:add_(1) end
  end},
  {"calls operators and catches errors", OVER, function(st)
    local t = st.ones(1)
    while true do pcall(t.add_, t, 1) end
  end},
  {"loops in a mode", OVER, function(st)
    st.dispatch_mode(function() while true do end end,
                     function() st.ones(1) end)
  end},
  {"loops in a body", OVER,
   function(st) st.no_grad(function() while true do end end) end},
  {"loops in a scope", OVER,
   function(st) st.scope(function() while true do end end) end},
  {"runs a backward pass without an end", OVER, function(st)
    local x = st.ones(1):requires_grad_()
    while true do
      local y = x
      for _ = 1, 1000 do y = y + 1 end
      y:backward()
    end
  end},
}

-- Where a coroutine cannot be suspended, in Lua 5.4: below functions of C, by
-- what ends the coroutine.
for i, way in ipairs {
  "table.sort({3, 2, 1}, loop)", "string.gsub('a', '.', loop)",
  "tostring(setmetatable({}, {__tostring = loop}))",
  "string.gsub('a', '.', function() pcall(loop) loop() end)",
} do
  for k, ending in ipairs {
    "coroutine.wrap(body)()",
    "ENDED = coroutine.create(body); coroutine.resume(ENDED); "
    .. "coroutine.close(ENDED)",
  } do
    if rawget(coroutine, "close") then
      table.insert(list.timed, 1, {
        ("loops in a handler below C %d %d"):format(i, k), OVER, function()
          return load("local function loop() while true do end end "
            .. "local function body() local x <close> = setmetatable({}, "
            .. "{__close = loop}) " .. way .. " end " .. ending)()
        end})
    end
  end
end

return list
