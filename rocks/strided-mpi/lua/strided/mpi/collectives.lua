--- Communicators and the functions of `strided.mpi` that call operators.
--
-- A function with options is made from a row: its operators, and the names of
-- the values that they take. A call without a table of options reads none.
--
-- @module strided.mpi.collectives

local st = require "strided"
local check = require "strided.mpi.check"
local core = require "strided.mpi.core"

local debug, getmetatable, next, pairs, rawget, setmetatable, type =
  debug, getmetatable, next, pairs, rawget, setmetatable, type
local call, raise = check.call, check.raise

core.on_error(raise)

local ops = st.ops.mpi

-- -- Communicators ------------------------------------------------------------

local Comm = core.comm_metatable()
local methods = {}
Comm.__index = methods

local id_of, new_comm = core.comm_id, core.new_comm

--- The rank of this process in the communicator, from 0.
-- @function Comm:rank
-- @treturn integer
function methods.rank(comm) return core.rank(id_of(comm)) end

--- The number of its ranks.
-- @function Comm:size
-- @treturn integer
function methods.size(comm) return core.size(id_of(comm)) end

--- The number by which operators know it.
-- @function Comm:id
-- @treturn integer
function methods.id(comm) return id_of(comm) end

--- Parts the ranks: those with the same color make a communicator, in the order
-- of their keys.
-- @function Comm:split
-- @tparam ?integer color nil: in none
-- @tparam[opt] integer key the rank by default
-- @return the communicator, nil for a rank without a color
function methods.split(comm, color, key)
  local own = id_of(comm)
  if color ~= nil then
    if type(color) == "number" and color < 0 then
      raise "comm:split: a color must not be negative"
    end
    check.int("comm:split", "color", color, 0)
  end
  if key ~= nil then check.int("comm:split", "key", key, -2147483648) end
  local id = core.split(own, color, key)
  return id and new_comm(id)
end

--- A communicator of the same ranks, whose messages do not meet those of comm.
-- @function Comm:dup
function methods.dup(comm) return new_comm(core.dup(id_of(comm))) end

--- Frees the communicator; all of its ranks call it. The others live until MPI
-- ends.
-- @function Comm:free
function methods.free(comm) core.free(id_of(comm)) end

function Comm.__tostring(comm) return "mpi.comm " .. id_of(comm) end

local world = new_comm(0)

-- -- Handles ------------------------------------------------------------------

local Handle = {}
Handle.__index = Handle

--- Completes the operation.
-- @function Handle:wait
-- @return what the call without `async` returns
function Handle:wait()
  if getmetatable(self) ~= Handle then
    raise("handle:wait: expected a handle, got %s: call it with ':'",
          type(self))
  end
  if self.request then
    local source = core.wait(self.request)
    self.request = nil
    if self.receives then self.source = source end
  end
  return self.result, self.source
end

--- Has the operation completed, so that `wait` returns at once?
-- @function Handle:test
-- @treturn boolean
function Handle:test()
  if getmetatable(self) ~= Handle then
    raise("handle:test: expected a handle, got %s: call it with ':'",
          type(self))
  end
  return self.request == nil or core.test(self.request)
end

local function new_handle(result, id, receives)
  return setmetatable({result = result, request = core.request(id),
                       receives = receives}, Handle)
end

local function wait_all(handles)
  if type(handles) ~= "table" then
    raise("mpi.wait_all: expected a list of handles, got %s", type(handles))
  end
  for i = 1, #handles do
    local h = handles[i]
    if type(h) ~= "table" or type(h.wait) ~= "function" then
      raise("mpi.wait_all: element %d must be a handle, got %s", i, type(h))
    end
  end
  local results = {}
  for i = 1, #handles do results[i] = handles[i]:wait() end
  return results
end

-- -- Options ------------------------------------------------------------------

--- Checks the options of a call; `short` is what may stand for them.
local function options_of(name, o, known, short)
  if type(o) ~= "table" then
    if not short then check.options("mpi." .. name, o, known) end
    raise("mpi.%s: expected the %s or a table of options, got %s", name, short,
          type(o))
  end
  for key in next, o do
    if not known[key] then check.options("mpi." .. name, o, known) end
  end
  check.boolean("mpi." .. name, "async", o.async)
  check.boolean("mpi." .. name, "deterministic", o.deterministic)
  return o
end

--- The number of the communicator of a call on `comm` with options.
local function comm_of(name, o, comm)
  local given = o.comm
  if given == nil then return comm end
  if type(given) ~= "userdata" or debug.getmetatable(given) ~= Comm then
    raise("mpi.%s: comm must be a communicator, got %s", name, type(given))
  end
  return id_of(given)
end

local function set(...)
  local known = {comm = true, async = true}
  for _, name in pairs {...} do known[name] = true end
  return known
end

-- -- Collectives --------------------------------------------------------------

-- Functions f(comm, x, options), where comm is a number.
local calls = {}
-- The operators of functions whose defaults are those of the schema, which are
-- found faster than arguments are read.
local takes_defaults = {}

--- Calls the operator of a row that the options ask for. Its arguments are x
-- and comm, or x, another one and comm.
local function run_plain(row, o, x, comm)
  local out = o.out
  if out == nil or not row.run_out then
    if o.async then return new_handle(call(row.start, x, comm)) end
    return row.run(x, comm)
  end
  if o.async then return new_handle(call(row.start_out, x, comm, out)) end
  return row.run_out(x, comm, out)
end

local function run_with(row, o, x, how, comm)
  local out = o.out
  if out == nil or not row.run_out then
    if o.async then return new_handle(call(row.start, x, how, comm)) end
    return row.run(x, how, comm)
  end
  if o.async then
    return new_handle(call(row.start_out, x, how, comm, out))
  end
  return row.run_out(x, how, comm, out)
end

--- The operators of a name, and the options that it has.
local function row_of(name, has_out, ...)
  local start = name:find "_$" and name:gsub("_$", "_async_")
    or name .. "_async"
  local known = {comm = true, async = true, out = has_out or nil}
  for _, option in pairs {...} do known[option] = true end
  return {
    known = known, run = ops[name], start = ops[start],
    run_out = has_out and ops[name].out,
    start_out = has_out and ops[start].out,
  }
end

--- Defines a reduction: `op` may stand for the options.
local function define_reduction(name, has_out)
  local has_parts = name == "all_reduce"
  local row = row_of(name, has_out, "op", has_parts and "deterministic" or nil)
  local run = row.run
  takes_defaults[name] = run
  calls[name] = function(comm, x, o)
    if o == nil then return run(x, "sum", comm) end
    if type(o) == "string" then return run(x, o, comm) end
    options_of(name, o, row.known, "op")
    comm = comm_of(name, o, comm)
    local op = o.op or "sum"
    if o.deterministic then
      if o.out then
        raise("mpi.%s: out does not combine with deterministic", name)
      end
      if o.async then
        return new_handle(call(ops.all_reduce_parts_async, x, op, comm))
      end
      return ops.all_reduce_parts(x, op, comm)
    end
    return run_with(row, o, x, op, comm)
  end
end

--- Defines a collective with a root, which may stand for the options.
local function define_rooted(name, has_out)
  local row = row_of(name, has_out, "root")
  local run = row.run
  takes_defaults[name] = run
  calls[name] = function(comm, x, o)
    if o == nil then return run(x, 0, comm) end
    if type(o) == "number" then return run(x, o, comm) end
    options_of(name, o, row.known, "root")
    return run_with(row, o, x, o.root or 0, comm_of(name, o, comm))
  end
end

--- Defines a collective that takes nothing but x.
local function define_plain(name)
  local row = row_of(name, true)
  local run = row.run
  takes_defaults[name] = run
  calls[name] = function(comm, x, o)
    if o == nil then return run(x, comm) end
    options_of(name, o, row.known)
    return run_plain(row, o, x, comm_of(name, o, comm))
  end
end

define_reduction("all_reduce", true)
define_reduction "all_reduce_"
define_reduction("reduce_scatter", true)
define_rooted "broadcast"
define_rooted "broadcast_"
define_rooted "gather"
define_rooted("scatter", true)
define_plain "all_gather"
define_plain "all_to_all"

local REDUCE = set("root", "op", "deterministic")
function calls.reduce(comm, x, o)
  if o == nil then return ops.reduce(x, 0, "sum", comm) end
  if type(o) == "number" then return ops.reduce(x, o, "sum", comm) end
  options_of("reduce", o, REDUCE, "root")
  comm = comm_of("reduce", o, comm)
  local root, op = o.root or 0, o.op or "sum"
  if o.deterministic then
    if o.async then
      return new_handle(call(ops.reduce_parts_async, x, root, op, comm))
    end
    return ops.reduce_parts(x, root, op, comm)
  end
  if o.async then
    return new_handle(call(ops.reduce_async, x, root, op, comm))
  end
  return ops.reduce(x, root, op, comm)
end

local NONE = set()
function calls.barrier(comm, o)
  if o == nil then return ops.barrier(comm) end
  options_of("barrier", o, NONE)
  comm = comm_of("barrier", o, comm)
  if o.async then return new_handle(nil, call(ops.barrier_async, comm)) end
  call(ops.barrier, comm)
end

-- -- Messages -----------------------------------------------------------------

local SEND, RECV = set "tag", set("tag", "dtype")

local function message_options(name, o, known)
  if o == nil then return {} end
  if type(o) == "number" then return {tag = o} end
  return options_of(name, o, known, "tag")
end

function calls.send(comm, x, dest, o)
  o = message_options("send", o, SEND)
  comm = comm_of("send", o, comm)
  local tag = o.tag or 0
  if o.async then
    return new_handle(nil, call(ops.send_async, x, dest, tag, comm))
  end
  call(ops.send, x, dest, tag, comm)
end

local function receive(comm, x, source, o)
  local tag = o.tag or 0
  if o.async then
    local t, id = call(ops.recv_async_, x, source or -1, tag, comm)
    return new_handle(t, id, true)
  end
  return ops.recv_(x, source or -1, tag, comm)
end

function calls.recv_(comm, x, source, o)
  o = message_options("recv_", o, SEND)
  return receive(comm_of("recv_", o, comm), x, source, o)
end

function calls.recv(comm, shape, source, o)
  o = message_options("recv", o, RECV)
  comm = comm_of("recv", o, comm)
  return receive(comm, call(st.empty, shape, {dtype = o.dtype}), source, o)
end

-- -- The two faces ------------------------------------------------------------

-- The functions whose first argument is no tensor.
local TAKES_NONE = {barrier = true, recv = true}

local function refuse(name, x)
  raise("mpi.%s: the first argument must be a Tensor, got %s", name,
        type(x))
end

--- The function whose errors name the caller's line. In LuaJIT a tail call of
-- an operator leaves no line of this file that they could name.
local is_jit = rawget(_G, "jit") ~= nil
local function located(fn)
  if is_jit then return fn end
  return function(...) return call(fn, ...) end
end

local functions = {}
for name, fn in pairs(calls) do
  local run, takes_any = takes_defaults[name], TAKES_NONE[name]
  run, fn = run and located(run), located(fn)
  functions[name] = run and function(x, o)
    if type(x) ~= "userdata" then refuse(name, x) end
    if o == nil then return run(x) end
    return fn(0, x, o)
  end or function(a, b, c)
    if not takes_any and type(a) ~= "userdata" then refuse(name, a) end
    return fn(0, a, b, c)
  end
  methods[name] = function(comm, a, b, c)
    local id = id_of(comm)
    if not takes_any and type(a) ~= "userdata" then refuse(name, a) end
    return fn(id, a, b, c)
  end
end

return {Comm = Comm, world = world, functions = functions,
        wait_all = wait_all}
