--- DataParallel: a network whose gradients are averaged over the ranks while
-- the backward pass runs.
--
--     local net = mpi.DataParallel(make_network())
--     local optimizer = st.optim.SGD(net:parameters(), {lr = 0.1})
--     for x, y in loader:iter() do          -- this rank's samples
--       optimizer:zero_grad()
--       criterion(net(x), y):backward()     -- averages the gradients
--       optimizer:step()
--     end
--
-- Every rank has the whole network. Its parameters and buffers are those of
-- rank 0 at first; afterwards they stay equal, because all ranks make the same
-- step. The gradients are the mean of those of the ranks. Where ranks may have
-- different numbers of samples, or the result shall not depend on the number of
-- ranks, the pass is a loop over parts of the batch:
--
--     local net = mpi.DataParallel(make_network(), {deterministic = true,
--                                                   parts = 4})
--     for x, y in loader:iter() do
--       optimizer:zero_grad()
--       for xs, ys in net:parts(x, y) do
--         criterion(net(xs), ys):backward() -- the mean over the samples
--       end
--       optimizer:step()
--     end
--
-- @module strided.mpi.data_parallel

local st = require "strided"
local agree = require "strided.mpi.agree"
local check = require "strided.mpi.check"
local Reducer = require "strided.mpi.reducer"
local split = require "strided.mpi.split"

local nn = st.nn
local concat = table.concat
local error, ipairs, next, pcall, select, setmetatable, tonumber, tostring,
  type, unpack = error, ipairs, next, pcall, select, setmetatable, tonumber,
  tostring, type, unpack or table.unpack

local raise = check.raise

local KNOWN = {comm = true, bucket_cap_mb = true, deterministic = true,
               parts = true, find_unused_parameters = true,
               broadcast_buffers = true}
-- Options that must be the same on all ranks.
local SAME = {"bucket_cap_mb", "deterministic", "parts", "broadcast_buffers"}
local MB = 2 ^ 20
local SEEDS = 2 ^ 52

local function pack(...) return {n = select("#", ...), ...} end

-- -- What outputs depend on --------------------------------------------------

--- Adds the leaves that a node leads to.
local function add_leaves(node, seen, leaves)
  local list = {node}
  while list[1] do
    local at = list[#list]
    list[#list] = nil
    local number = tostring(at.sequence)
    if not seen[number] then
      seen[number] = true
      local leaf = at.leaf
      if leaf then leaves[leaf] = true end
      for _, edge in ipairs(at.next) do
        if edge then list[#list + 1] = edge[1] end
      end
    end
  end
end

--- Adds the leaves that the tensors of a value depend on: of a tensor, or of a
-- table, in depth.
local function add_used(value, seen, leaves)
  if st.is_tensor(value) then
    if value.grad_fn then add_leaves(value.grad_fn, seen, leaves)
    elseif value.requires_grad then leaves[value] = true end
  elseif type(value) == "table" and not seen[value] then
    seen[value] = true
    for _, each in next, value do add_used(each, seen, leaves) end
  end
end

-- -- The module --------------------------------------------------------------

local DataParallel = nn.Module:extend "DataParallel"

-- By communicator: a duplicate of it, for all networks on it, and their number.
local duplicates = setmetatable({}, {__mode = "k"})

--- The duplicate of a communicator: {comm =, count =}.
local function duplicate_of(parent)
  local it = duplicates[parent]
  if not it then
    it = {comm = parent:dup(), count = 0}
    duplicates[parent] = it
  end
  return it
end

--- The parameters that require gradients, with their names.
local function trained(net)
  local entries = {}
  for name, p in net:named_parameters() do
    if p.device ~= "cpu" then
      raise("DataParallel: parameter '%s' is on the device %s, not cpu", name,
            tostring(p.device))
    end
    if p.requires_grad then
      entries[#entries + 1] = {name = name, parameter = p}
    end
  end
  return entries
end

--- Makes tensors equal to those of rank 0.
local function broadcast(comm, list)
  local handles = {}
  st.no_grad(function()
    for i, t in ipairs(list) do
      handles[i] = comm:broadcast_(t:detach(), {root = 0, async = true})
    end
    for _, handle in ipairs(handles) do handle:wait() end
  end)
end

--- A line that says what a parameter or a buffer is.
local function describe(kind, name, t)
  return ("the %s '%s', %s {%s}%s"):format(
    kind, name, t.dtype, concat(t.shape, ", "),
    kind == "parameter" and not t.requires_grad and " without gradient" or "")
end

--- Raises an error on all ranks unless they have the same options, parameters
-- and buffers, in the same order.
local function check_same(comm, net, o)
  local lines = {}
  for i, key in ipairs(SAME) do
    lines[i] = ("the option %s = %s"):format(key, tostring(o[key]))
  end
  for name, p in net:named_parameters() do
    lines[#lines + 1] = describe("parameter", name, p)
  end
  for name, t in net:named_buffers() do
    lines[#lines + 1] = describe("buffer", name, t)
  end
  local said = agree.difference(comm, lines)
  if said then
    raise("DataParallel: the ranks have different networks: %s", said)
  end
end

local function check_parts(o, size)
  if o.parts ~= nil then
    check.count("DataParallel", "option 'parts'", o.parts, 1)
    if o.parts < size then
      raise("DataParallel: %d parts are too few for %d ranks", o.parts, size)
    end
  elseif o.deterministic then
    raise("DataParallel: deterministic needs the option 'parts': how many "
          .. "parts a batch has on all ranks together, for any number of ranks")
  end
end

function DataParallel:init(net, given, world)
  if not nn.is_module(net) then
    raise("DataParallel: argument 'net' must be a module, got %s", type(net))
  end
  local o = check.options("DataParallel", given, KNOWN)
  local parent = check.comm("DataParallel", o.comm, world)
  check_parts(o, parent:size())
  local cap = o.bucket_cap_mb or 25
  if type(cap) ~= "number" or cap <= 0 or cap ~= cap then
    raise("DataParallel: option 'bucket_cap_mb' must be a number above 0, got "
          .. "%s", tostring(cap))
  end
  local entries = trained(net)
  local duplicate = duplicate_of(parent)
  local comm = duplicate.comm
  check_same(comm, net, o)
  duplicate.count = duplicate.count + 1
  self.parent = parent
  self.module, self.comm, self.step = net, comm, 0
  self.nparts = o.parts or comm:size()
  self.has_fixed_parts = o.parts ~= nil
  self.is_deterministic = o.deterministic or false
  self.finds_unused = o.find_unused_parameters or false
  self.sends_buffers = o.broadcast_buffers ~= false
  self.syncs = true
  self.reducer = Reducer.new(comm, entries, {
    first_bytes = cap < 1 and cap * MB or MB, most_bytes = cap * MB,
    deterministic = self.is_deterministic,
  })
  local seed = st.empty({1}, {dtype = "int64"}):random_()
  broadcast(comm, {seed})
  self.seed = tonumber((seed % SEEDS):item())
  broadcast(comm, net:parameters())
  broadcast(comm, net:buffers())
end

--- Frees what the network has for its gradients; all ranks call it. The last
-- network on a communicator frees the duplicate. The network within stays as it
-- is. A second call does nothing.
-- @function DataParallel:free
function DataParallel:free()
  local comm = self.comm
  if not comm then return end
  self.reducer:free()
  self.comm = nil
  local duplicate = duplicates[self.parent]
  duplicate.count = duplicate.count - 1
  if duplicate.count == 0 then
    duplicates[self.parent] = nil
    comm:free()
  end
end

--- Raises an error if the network was freed.
local function check_alive(self, name)
  if not self.comm then
    raise("%s: the DataParallel was freed; the network is net.module", name)
  end
end

local function share_buffers(self)
  if self.sends_buffers and self.training then
    broadcast(self.comm, self.module:buffers())
  end
end

function DataParallel:forward(...)
  local reducer = self.reducer
  check_alive(self, "DataParallel")
  if not st.is_grad_enabled() or reducer:is_in_parts() then
    return self.module(...)
  end
  reducer:recover()
  if not self.syncs then
    reducer:disarm()
    return self.module(...)
  elseif self.is_deterministic and self.training then
    raise("DataParallel: deterministic: call the network in a loop over "
          .. "net:parts(...)")
  end
  share_buffers(self)
  reducer:arm()
  reducer.is_calling = self.training -- also after an error in the call
  local outputs = pack(self.module(...))
  reducer.is_calling = false
  if self.finds_unused then
    local used = {}
    add_used(outputs, {}, used)
    reducer:use(used)
  end
  return unpack(outputs, 1, outputs.n)
end

--- Calls fn(...), in which gradients are not averaged, but added up on each
-- rank: the next backward pass outside averages what came together.
-- @function DataParallel:no_sync
-- @tparam function fn
-- @param ...
-- @return what fn returns
function DataParallel:no_sync(fn, ...)
  if type(fn) ~= "function" then
    raise("no_sync: argument 'fn' must be a function, got %s", type(fn))
  end
  local before = self.syncs
  self.syncs = false
  local results = pack(pcall(fn, ...))
  self.syncs = before
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2, results.n)
end

--- Ends a step that an error or `break` interrupted: call it after catching an
-- error of a forward or backward pass, or of a loop over parts. Ranks that
-- complete the step raise an error. Gradients are those before the loop over
-- parts; without one, what the pass has computed so far.
--
-- A later call of the network, or of `parts`, does the same if it sees that the
-- step was interrupted, or raises an error that says so. It cannot see an error
-- between a call of the network and the first gradient.
-- @function DataParallel:reset
function DataParallel:reset() self.reducer:abandon() end

-- -- Parts -------------------------------------------------------------------

--- The first dimension of the tensors of a batch.
local function rows_of(batch)
  local n
  for i = 1, batch.n do
    local t = batch[i]
    if t ~= nil then
      if not st.is_tensor(t) or t.ndim == 0 then
        raise("parts: argument %d must be a Tensor with rows, got %s", i,
              st.is_tensor(t) and "one without dimensions" or type(t))
      elseif n and t.shape[1] ~= n then
        raise("parts: argument %d has %d rows, those before have %d", i,
              t.shape[1], n)
      end
      n = t.shape[1]
    end
  end
  return n or 0
end

--- How many samples all ranks have together.
local function total_of(comm, rows)
  local n = st.tensor({rows}, {dtype = "int64"})
  return tonumber(comm:all_reduce(n):item())
end

--- The parts of this rank, as a list of {rows before, rows, number}.
local function parts_of(self, rows, total)
  local comm = self.comm
  if not self.has_fixed_parts then return {{0, rows, comm:rank()}} end
  local first, count, p, nparts = split.share(total, self.nparts, comm:size(),
                                              comm:rank())
  if count ~= rows then
    raise("parts: rank %d has %d samples of a batch of %d, but %d parts on %d "
          .. "ranks give it %d: take the batches from "
          .. "mpi.DistributedBatchSampler with parts = %d", comm:rank(), rows,
          total, self.nparts, comm:size(), count, self.nparts)
  end
  local list = {}
  for k = 1, nparts do
    local before, n = split.block(total, self.nparts, p + k - 1)
    list[k] = {before - first, n, p + k - 1}
  end
  return list
end

--- Iterates over the parts of this rank's samples of a batch: in each round a
-- backward pass computes the gradient of the mean loss of the part. After the
-- last one the gradients are those of the mean loss over all samples of all
-- ranks. All ranks make the loop, also one without samples.
--
-- Random numbers in the loop depend on the part, and on the number of the loop,
-- but not on the rank that has the part.
-- @function DataParallel:parts
-- @tparam Tensor ... the rows are the samples, on all of them the same number
-- @treturn function an iterator that returns such tensors, with fewer rows
function DataParallel:parts(...)
  local batch, reducer = pack(...), self.reducer
  check_alive(self, "parts")
  local rows = rows_of(batch)
  reducer:recover()
  local total = total_of(self.comm, rows)
  if total == 0 then raise "parts: no rank has samples" end
  local list = parts_of(self, rows, total)
  share_buffers(self)
  local state, first = st.get_rng_state(), self.step * self.nparts
  reducer:arm_parts(#list, function() st.set_rng_state(state) end)
  self.step = self.step + 1
  local k = 0
  local function nextpart()
    if k > 0 then reducer:end_part() end
    k = k + 1
    local part = list[k]
    if not part then return reducer:finish() end
    reducer:next_part(part[2] / total)
    if part[2] == 0 then return nextpart() end
    st.manual_seed((self.seed + first + part[3]) % SEEDS)
    local out = {}
    for i = 1, batch.n do
      if batch[i] then out[i] = batch[i]:narrow(1, part[1] + 1, part[2]) end
    end
    return unpack(out, 1, batch.n)
  end
  return nextpart
end

-- -- The network within ------------------------------------------------------

-- Names are those of the network, without "module." in front: a state can be
-- loaded with DataParallel and without.
for _, name in ipairs {
  "state_dict", "named_state", "load_state_dict", "named_parameters",
  "named_buffers", "get_parameter", "get_buffer", "get_submodule", "clone",
} do
  DataParallel[name] = function(self, ...)
    return self.module[name](self.module, ...)
  end
end

function DataParallel.to()
  raise "to: convert the network before: write mpi.DataParallel(net:to(...))"
end

return DataParallel
