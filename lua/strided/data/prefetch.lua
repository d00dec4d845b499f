--- A pass of a loader whose batches are made by worker threads.
--
-- @module strided.data.prefetch

local core = require "strided.core"
local dataset = require "strided.data.dataset"
local message = require "strided.data.message"
local raise = require "strided.argument.caller_error"

local collectgarbage, ipairs, next, package, setmetatable, type =
  collectgarbage, ipairs, next, package, setmetatable, type
local unpack = unpack or table.unpack

local prefetch = {}

-- -- Workers -----------------------------------------------------------------

local function pack(loader, value)
  local bytes, tensors = message.pack(value)
  if bytes then return bytes, tensors end
  raise("DataLoader: num_workers = %d: %s", loader.num_workers, tensors)
end

--- Raises an error for tensors that do not reach a worker as they are.
local function check_tensors(loader, list)
  for _, t in ipairs(list) do
    local why = dataset.why_empty(t)
    if not why and t.requires_grad then
      why = "requires a gradient, which does not pass between threads: "
            .. "detach it"
    end
    if why then
      raise("DataLoader: num_workers = %d: a Tensor for the workers %s",
            loader.num_workers, why)
    end
  end
end

--- The paths of the modules that workers load.
local function check_paths(loader)
  for _, name in ipairs {"path", "cpath"} do
    if type(package[name]) ~= "string" then
      raise("DataLoader: num_workers = %d: package.%s must be a string, got %s",
            loader.num_workers, name, type(package[name]))
    end
  end
end

--- The workers call worker_init before they make the dataset, which is a
-- message of its own. Its tensors are the last ones.
local function start(loader)
  local packed, own = pack(loader, loader.dataset)
  local bytes, tensors = pack(loader, {
    dataset = packed, tensors = #own, collate = loader.collate,
    worker_init = loader.worker_init, num_workers = loader.num_workers})
  for _, t in ipairs(own) do tensors[#tensors + 1] = t end
  check_tensors(loader, tensors)
  check_paths(loader)
  return core.start_workers(loader.num_workers, package.path, package.cpath,
                            bytes, tensors)
end

--- The workers of a persistent loader that are idle; new ones, if it has none,
-- or if they are threads of a parent process.
local function find_workers(loader)
  local workers = loader.workers
  if not workers or not core.try(workers.cancel, workers) then
    workers = start(loader)
  end
  if loader.persistent_workers then loader.workers = workers end
  return workers
end

--- Ends a pass: its workers stop, or wait for the next pass.
local function finish(pass, why)
  if pass.why then return end
  pass.why = why
  for i, each in next, pass.loader.open do
    if each == pass then pass.loader.open[i] = nil end
  end
  if not pass.is_persistent then pass.workers:close() end
end

--- The next pass starts new workers: one has ended, with worker_init or when it
-- made the dataset.
local function drop(pass)
  pass.workers:close()
  if pass.loader.workers == pass.workers then pass.loader.workers = nil end
end

-- -- A pass ------------------------------------------------------------------

--- Adds jobs until enough are open.
local function issue(pass)
  while pass.nextlist and pass.open < pass.room do
    local indices = pass.nextlist()
    if not indices then
      pass.nextlist = nil
      return
    end
    pass.issued = pass.issued + 1
    local bytes, tensors = message.pack {
      seed = pass.seed + pass.issued, indices = indices}
    if not bytes then raise("DataLoader: %s", tensors) end
    pass.workers:send(bytes, tensors)
    pass.open = pass.open + 1
  end
end

local function next_batch(pass)
  if pass.why == "over" then return nil end
  if pass.why then raise("DataLoader: %s", pass.why) end
  issue(pass)
  if pass.open == 0 then
    finish(pass, "over")
    return nil
  end
  local ok, bytes, tensors = pass.workers:receive()
  if not ok then
    finish(pass, "over")
    if not tensors then drop(pass) end
    raise("DataLoader: in a worker: %s", (bytes:gsub("^DataLoader: ", "")))
  end
  pass.open = pass.open - 1
  issue(pass)
  local batch = message.unpack(bytes, tensors)
  return unpack(batch, 1, batch.n)
end

--- Ends the passes that are not over.
function prefetch.stop(loader, why)
  for _, pass in next, loader.open do finish(pass, why) end
end

--- Makes room for a pass: workers that stay serve one at a time; those of
-- passes that a `break` has left are collected.
local function make_room(loader)
  if loader.persistent_workers then
    prefetch.stop(loader, "a later pass of this loader has ended this one: its "
                  .. "workers stay, and serve one pass at a time")
  elseif next(loader.open) then
    collectgarbage()
  end
end

--- Begins a pass, whose workers are its own unless they stay.
-- @tparam table loader
-- @tparam number seed that of batch k is seed + k
-- @tparam function nextlist returns the indices of the next batch
-- @treturn function the iterator
-- @treturn nil
-- @treturn nil
-- @treturn table a value that ends the pass when Lua 5.4 closes it
function prefetch.iter(loader, seed, nextlist)
  make_room(loader)
  local pass = {
    loader = loader, workers = find_workers(loader),
    is_persistent = loader.persistent_workers,
    seed = seed, nextlist = nextlist, issued = 0, open = 0,
    room = loader.num_workers * loader.prefetch_factor}
  loader.open[#loader.open + 1] = pass
  return function() return next_batch(pass) end, nil, nil,
         setmetatable({}, {__close = function() finish(pass, "over") end})
end

--- Stops the workers.
function prefetch.close(loader)
  prefetch.stop(loader, "the loader was closed, which ended this pass; "
                .. "loader:iter() begins another")
  if loader.workers then loader.workers:close() end
  loader.workers = nil
end

return prefetch
