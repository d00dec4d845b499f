--- What a worker thread of a loader does: Note [Workers] in
-- lua/bind/state/worker_threads.c.
--
-- @module strided.data.worker

local core = require "strided.core"
local st = require "strided"
local collate = require "strided.data.collate"
local dataset = require "strided.data.dataset"
local message = require "strided.data.message"
local raise = require "strided.argument.caller_error"

local debug, error, ipairs, math, pairs, pcall, rawget, tostring, type = debug,
  error, ipairs, math, pairs, pcall, rawget, tostring, type

-- math.random is of this state; elsewhere it is of the process.
local HAS_OWN_RANDOM = rawget(_G, "jit") ~= nil or _VERSION == "Lua 5.4"

local worker = {}

-- -- The process -------------------------------------------------------------

-- Setters of what all threads of the process share.
local SETTERS = {"set_default_dtype", "set_jit_enabled", "memory_fail_at"}
local SETTERS_OF_MEMORY = {"set_limit", "set_cache_limit", "reset_peak"}

local function refuse(name)
  raise("%s: a worker cannot change what belongs to the process", name)
end

--- A worker has one thread already, and no more.
local function set_num_threads(n)
  if n ~= 1 then refuse "set_num_threads" end
end

--- Replaces the setters in this Lua state.
local function protect_process()
  for _, name in ipairs(SETTERS) do
    st[name] = function() refuse(name) end
    core[name] = st[name]
  end
  for _, name in ipairs(SETTERS_OF_MEMORY) do
    st.memory[name] = function() refuse("memory." .. name) end
  end
  st.set_num_threads, core.set_num_threads = set_num_threads, set_num_threads
end

-- -- Jobs --------------------------------------------------------------------

--- Seeds the random numbers of this thread.
local function seed_all(seed)
  st.manual_seed(seed)
  if HAS_OWN_RANDOM then math.randomseed(seed % 2 ^ 31) end
end

--- Frees the tensors of a batch that was made here, which have been shared.
local function free(value)
  if st.is_tensor(value) then
    value:free()
  elseif type(value) == "table" then
    for _, each in pairs(value) do free(each) end
  end
end

local function work(setup, number, job)
  seed_all(job.seed)
  local batch = message.list(collate.fetch(
    setup.dataset, job.indices, setup.collate,
    function() return core.worker_stops(number) end))
  local bytes, tensors = message.pack(batch)
  if not bytes then
    error("a batch has a value that is not sent: " .. tensors, 0)
  end
  core.worker_send(number, false, bytes, tensors)
  if not setup.collate and not setup.dataset.batch then free(batch) end
end

--- The text of an error value.
local function text_of(why)
  if type(why) == "string" then return why end
  local meta = debug.getmetatable(why)
  if type(why) == "number" or meta and meta.__tostring then
    local ok, text = pcall(tostring, why)
    if ok then return text end
  end
  return "an error without text, a " .. type(why)
end

--- Calls a function; its error begins with a text.
local function attempt(text, fn, ...)
  local ok, result = pcall(fn, ...)
  if not ok then error(text .. text_of(result), 0) end
  return result
end

--- Receives what all jobs need, and makes the dataset.
local function begin(id, bytes, tensors)
  local setup = message.unpack(bytes, tensors)
  worker.info = {id = id, num_workers = setup.num_workers}
  if setup.worker_init then attempt("worker_init: ", setup.worker_init, id) end
  local own, first = {}, #tensors - setup.tensors
  for i = 1, setup.tensors do own[i] = tensors[first + i] end
  setup.dataset = dataset.as_dataset("DataLoader",
                                     message.unpack(setup.dataset, own))
  worker.info.dataset = setup.dataset
  return setup
end

--- Answers the jobs of the state that started this one.
-- @tparam integer id of the worker
function worker.run(id)
  protect_process()
  local number, bytes, tensors = core.worker_receive()
  if not number then return end
  local setup = attempt("", begin, id, bytes, tensors)
  while true do
    number, bytes, tensors = core.worker_receive()
    if not number then break end
    local job = message.unpack(bytes, tensors)
    local ok, why = pcall(work, setup, number, job)
    if not ok then core.worker_send(number, true, text_of(why), {}) end
  end
end

return worker
