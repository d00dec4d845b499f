--- Buckets of gradients, which are reduced over the ranks while the backward
-- pass that computes them goes on.
--
-- A bucket is one tensor, to which the gradients of some parameters are copied.
-- As soon as it has them all, and the buckets before it were started, its
-- reduction starts. Every rank starts its buckets in the same order, whatever
-- the order in which its gradients come. Behind the gradients the bucket has
-- one element per parameter: 1 if this rank has a gradient for it. Where the
-- sum is 0 no rank has one, and the parameter's `grad` stays as it is.
--
-- Note [Parts]
-- A pass without parts reduces `grad` of the parameters, with what was in them
-- before, to the mean over the ranks. With parts a step consists of several
-- passes, whose gradients are weighted and summed. Then `grad` is set to nil
-- after each pass, and in a deterministic reduction the bucket has a row for
-- each part of this rank.
--
-- Note [Interrupted steps]
-- An error in a backward pass, or a loop over parts that ends early, leaves a
-- step that this rank does not complete, while other ranks may wait for its
-- buckets. So it is abandoned: the buckets that were not started are, in order,
-- and the results are dropped. The last bucket has one more element behind the
-- others: 1 from a rank that abandons the step. Where the sum is not 0 the
-- ranks that complete the step raise an error. For that the last bucket is
-- never started before its rank has nothing left to do in the step.
--
-- @module strided.mpi.reducer

local st = require "strided"
local check = require "strided.mpi.check"

local concat, format, ipairs, pairs, setmetatable = table.concat, string.format,
  ipairs, pairs, setmetatable

local raise = check.raise

local Reducer = {}
Reducer.__index = Reducer

-- -- Buckets -----------------------------------------------------------------

local MOST_NAMES = 10

--- The places of parameters in buckets: those of one dtype, in reverse order,
-- since a backward pass computes the gradients of the last ones first.
local function divide(entries, first_bytes, most_bytes)
  local buckets, open = {}, {}
  for i = #entries, 1, -1 do
    local entry = entries[i]
    local p = entry.parameter
    local bucket = open[p.dtype]
    local bytes = p:numel() * p:element_size()
    if not bucket or bucket.bytes + bytes > bucket.most then
      bucket = {bytes = 0, numel = 0, dtype = p.dtype,
                most = buckets[1] and most_bytes or first_bytes}
      buckets[#buckets + 1], open[p.dtype] = bucket, bucket
    end
    local slot = {name = entry.name, parameter = p, bucket = bucket,
                  at = bucket.numel, numel = p:numel()}
    bucket[#bucket + 1] = slot
    bucket.numel, bucket.bytes = bucket.numel + slot.numel,
                                 bucket.bytes + bytes
  end
  if buckets[1] then buckets[#buckets].is_last = true end
  return buckets
end

--- Gives a bucket its tensor, of so many rows, and its slots their views.
local function allocate(bucket, rows)
  if bucket.rows == rows then return end
  local n = bucket.numel
  bucket.rows = rows
  bucket.data = st.zeros(rows, n + #bucket + (bucket.is_last and 1 or 0),
                         {dtype = bucket.dtype})
  bucket.broken = bucket.is_last and rows > 0 and
                  bucket.data:select(1, 1):narrow(1, n + #bucket + 1, 1)
  for k, slot in ipairs(bucket) do
    slot.views, slot.flags = {}, {}
    for row = 1, rows do
      local line = bucket.data:select(1, row)
      slot.views[row] = line:narrow(1, slot.at + 1, slot.numel)
                            :view(slot.parameter.shape)
      slot.flags[row] = line:narrow(1, n + k, 1)
    end
  end
end

local WEAK = {__mode = "v"}

--- Calls `arrived` when the gradient of a slot is complete. The parameter does
-- not keep the reducer alive.
local function hook(reducer, i)
  local weak = setmetatable({reducer}, WEAK)
  reducer.slots[i].parameter:register_post_accumulate_grad_hook(function(p)
    local self = weak[1]
    if self and self.slots[i] then self:arrived(self.slots[i], p) end
  end)
end

--- A reducer of the gradients of some parameters.
-- @tparam table comm a communicator of its own
-- @tparam table entries a list of {name =, parameter =}
-- @tparam table o `first_bytes` and `most_bytes` of a bucket, `deterministic`
-- @treturn table
function Reducer.new(comm, entries, o)
  local self = setmetatable({
    comm = comm, deterministic = o.deterministic, mode = "idle", slots = {},
    buckets = divide(entries, o.first_bytes, o.most_bytes),
  }, Reducer)
  for _, bucket in ipairs(self.buckets) do
    for _, slot in ipairs(bucket) do
      self.slots[#self.slots + 1] = slot
      hook(self, #self.slots)
    end
  end
  return self
end

-- -- A step ------------------------------------------------------------------

--- Raises the error of a step whose backward pass left out parameters.
local function unfinished(self)
  local names, count = {}, 0
  for i = #self.slots, 1, -1 do
    local slot = self.slots[i]
    if not slot.seen then
      count = count + 1
      if count <= MOST_NAMES then names[count] = slot.name end
    end
  end
  if count > MOST_NAMES then
    names[#names + 1] = format("and %d more", count - MOST_NAMES)
  end
  self.mode = "broken"
  raise("DataParallel: the step before did not end: its backward pass computed "
        .. "no gradient of %s:\nset find_unused_parameters = true, or make the "
        .. "loss depend on them; if an error interrupted the pass, call "
        .. "net:reset() after such an error", concat(names, ", "))
end

--- Begins a step: buckets of so many rows, nothing was seen.
local function begin(self, rows)
  self.mode, self.started, self.tested = "armed", 0, 1
  self.has_come, self.used, self.is_calling = false, nil, false
  for _, bucket in ipairs(self.buckets) do
    allocate(bucket, rows)
    bucket.waits, bucket.handle = #bucket, nil
    if bucket.broken then bucket.broken:zero_() end
  end
  for _, slot in ipairs(self.slots) do slot.seen = false end
end

--- True in a loop over parts.
function Reducer:is_in_parts()
  return self.mode == "armed" and self.has_parts
end

--- Prepares for one backward pass, whose gradients are averaged. It may follow
-- several calls of the network.
function Reducer:arm()
  if self.mode == "armed" then return end
  begin(self, 1)
  self.row, self.weight, self.is_last, self.has_parts = 1, nil, true, false
end

--- From now on gradients stay as they are.
function Reducer:disarm() self.mode = "local" end

--- Prepares for the passes of so many parts; none too.
-- @tparam integer count
-- @tparam function on_end called at the end of the step, an early one too
function Reducer:arm_parts(count, on_end)
  local rows = self.deterministic and count or 1
  begin(self, rows)
  self.has_parts, self.row, self.count, self.part = true, 0, count, 0
  self.on_end, self.weight = on_end, nil
  for _, slot in ipairs(self.slots) do
    slot.before, slot.parameter.grad = slot.parameter.grad, nil
  end
  if rows > 0 and not self.deterministic then
    for _, bucket in ipairs(self.buckets) do bucket.data:zero_() end
  end
end

--- Begins a part of this rank, which has a weight.
function Reducer:next_part(weight)
  self.part, self.weight = self.part + 1, weight
  self.row = self.deterministic and self.part or 1
  self.is_last = self.part == self.count
  for _, bucket in ipairs(self.buckets) do bucket.waits = #bucket end
  for _, slot in ipairs(self.slots) do slot.seen = false end
end

-- -- Gradients ---------------------------------------------------------------

--- Starts the reduction of a bucket.
local function start(self, bucket)
  local data = bucket.data
  if not self.has_parts then
    bucket.handle = self.comm:all_reduce_(data, {op = "avg", async = true})
  elseif self.deterministic then
    bucket.handle = self.comm:all_reduce(data, {deterministic = true,
                                                async = true})
  else
    bucket.handle = self.comm:all_reduce_(data, {async = true})
  end
end

--- Starts the buckets that are complete, in order. In a loop over parts the
-- last one waits for `finish`: see Note [Interrupted steps].
local function start_complete(self)
  local buckets = self.buckets
  local most = self.has_parts and #buckets - 1 or #buckets
  while self.started < most and buckets[self.started + 1].waits == 0 do
    self.started = self.started + 1
    start(self, buckets[self.started])
  end
end

--- Helps MPI on with what was started.
local function progress(self)
  while self.tested <= self.started and
        self.buckets[self.tested].handle:test() do
    self.tested = self.tested + 1
  end
end

--- Copies a gradient, or zeros for nil, to the row of this part.
local function store(self, slot, grad)
  local view, flag = slot.views[self.row], slot.flags[self.row]
  local is_sum = self.has_parts and not self.deterministic
  slot.seen = true
  slot.bucket.waits = slot.bucket.waits - 1
  if not grad then
    if not is_sum then
      view:zero_()
      flag:zero_()
    end
    return
  end
  flag:fill_(1)
  grad = grad:detach()
  if is_sum then
    view:add_(grad, {alpha = self.weight})
  else
    view:copy_(grad)
    if self.weight and self.weight ~= 1 then view:mul_(self.weight) end
  end
end

--- Counts the parameters as seen that a set, by tensor, does not have.
local function skip_others(self, used)
  for _, slot in ipairs(self.slots) do
    if not used[slot.parameter] and not slot.seen then
      store(self, slot, slot.parameter.grad)
    end
  end
end

--- The set of parameters, by tensor, that outputs of the network depend on. The
-- pass computes no gradients of others.
function Reducer:use(used)
  local all = self.used or {}
  for p in pairs(used) do all[p] = true end
  self.used = all
end

--- Called when the gradient of a parameter is complete.
function Reducer:arrived(slot, p)
  if self.mode == "local" then return end
  if self.mode ~= "armed" then
    raise("DataParallel: a backward pass computed a gradient of '%s' after "
          .. "those of the step were averaged, or outside of one:\ncall "
          .. "DataParallel, not the network within, and run all backward "
          .. "passes but the last one within no_sync", slot.name)
  elseif slot.seen then
    raise("DataParallel: the gradient of '%s' came twice: run all backward "
          .. "passes but the last one within no_sync, and call net:reset() "
          .. "after an error, or a loop over net:parts that ended early",
          slot.name)
  elseif self.has_parts and not self.weight then
    raise "DataParallel: a backward pass outside the loop over parts"
  end
  self.has_come = true
  store(self, slot, p.grad)
  if self.has_parts then p.grad = nil end
  if self.used then
    skip_others(self, self.used)
    self.used = nil
  end
  if self.is_last then start_complete(self) end
  progress(self)
  if self.started == #self.buckets and not self.has_parts then
    self:finish()
  end
end

--- Ends a part: parameters without a gradient had none to get.
function Reducer:end_part()
  for _, slot in ipairs(self.slots) do
    if not slot.seen then store(self, slot, nil) end
  end
  self.weight = nil
  if self.is_last then start_complete(self) end
end

-- -- The end of a step -------------------------------------------------------

--- Gives a parameter its reduced gradient; in a loop over parts its slot, for
-- `settle`.
local function deliver(self, slot, line)
  local p = slot.parameter
  local view = line:narrow(1, slot.at + 1, slot.numel):view(p.shape)
  local into = p.grad
  if self.has_parts then into = slot.before end
  if not into then
    into = st.empty_like(p):copy_(view)
  elseif self.has_parts then
    into:add_(view)
  else
    into:copy_(view)
  end
  if self.has_parts then slot.before = into else p.grad = into end
end

--- Starts the buckets that were not, and waits for all: first for the last one.
-- @treturn {Tensor,...} the results
-- @treturn boolean did a rank abandon the step?
local function collect(self)
  local buckets, lines = self.buckets, {}
  while self.started < #buckets do
    self.started = self.started + 1
    start(self, buckets[self.started])
  end
  for k = 0, #buckets - 1 do
    local i = k > 0 and k or #buckets
    local line = buckets[i].handle:wait()
    buckets[i].handle = nil
    lines[i] = line.ndim == 2 and line:select(1, 1) or line
  end
  local last = lines[#buckets]
  return lines, last ~= nil and
                last:narrow(1, last:numel(), 1):ne(0):item()
end

--- Ends a step in any case.
local function settle(self)
  local on_end = self.on_end
  self.mode, self.weight, self.used, self.on_end = "idle", nil, nil, nil
  self.is_calling = false
  if self.has_parts then
    for _, slot in ipairs(self.slots) do
      slot.parameter.grad, slot.before = slot.before, nil
    end
  end
  if on_end then on_end() end
end

--- Waits for all buckets, and gives the parameters their gradients.
function Reducer:finish()
  local is_broken
  st.no_grad(function()
    local lines
    lines, is_broken = collect(self)
    if is_broken then return settle(self) end
    for i, bucket in ipairs(self.buckets) do
      local line = lines[i]
      local flags = line:narrow(1, bucket.numel + 1, #bucket):ne(0):totable()
      for k, slot in ipairs(bucket) do
        if flags[k] then deliver(self, slot, line) end
      end
    end
    settle(self)
  end)
  if is_broken then
    raise("DataParallel: the step was interrupted on another rank: the "
          .. "gradients were not averaged")
  end
end

--- Abandons the step that began, if one did: see Note [Interrupted steps].
function Reducer:abandon()
  if self.mode ~= "armed" and self.mode ~= "broken" then return end
  self.mode = "idle"
  st.no_grad(function()
    for _, bucket in ipairs(self.buckets) do
      if bucket.broken and not bucket.handle then bucket.broken:fill_(1) end
    end
    collect(self)
    settle(self)
  end)
end

--- Has this rank a step that other ranks may wait for?
local function is_interrupted(self)
  return self.mode == "broken" or self.mode == "armed" and
         (self.is_calling or self.has_parts or self.has_come)
end

--- Frees the buckets. Gradients stay as they are from now on.
function Reducer:free()
  if is_interrupted(self) then self:abandon() end
  self.mode, self.buckets, self.slots = "local", {}, {}
end

--- Called before a step: abandons the one before if it was interrupted.
function Reducer:recover()
  if self:is_in_parts() then
    local has_gradients = false
    for _, slot in ipairs(self.slots) do
      has_gradients = has_gradients or slot.before ~= nil
    end
    self:abandon()
    if has_gradients then -- were they to be zero by now? We cannot know.
      raise("DataParallel: the loop over parts before ended early; now the "
            .. "gradients are those before it: call net:reset() after an error "
            .. "in such a loop, or break")
    end
  elseif self.mode == "broken" or self.is_calling then
    self:abandon()
  elseif self.mode == "armed" and self.has_come then
    unfinished(self)
  end
end

return Reducer
