--- A training as a person writes it, for day_in_the_life_spec: it saves a
-- checkpoint after each epoch, begins where that ends if there is one, and may
-- kill itself in the middle of an epoch.
--
--     day_in_the_life.lua CHECKPOINT EPOCHS [PID EPOCH BATCH]
--     day_in_the_life.lua CHECKPOINT save
--
-- PID is its own; EPOCH and BATCH say when it is killed. With `save` it saves
-- checkpoints until it is killed.

local st = require "strided"

local nn, optim, data = st.nn, st.optim, st.data

local HERE = arg[0]:match "^(.*)/[^/]*$"
local DATA = HERE .. "/../../../examples/data/"
local ROWS, BATCH, RATE, TOTAL = 320, 32, 0.01, 4

local path, epochs = arg[1], arg[2]
local pid, last_epoch, last_batch = arg[3], tonumber(arg[4]), tonumber(arg[5])

-- -- Saving only -------------------------------------------------------------

if epochs == "save" then
  for step = 1, math.huge do
    st.save(path, {step = step, net = {weight = st.full({500000}, step)},
                   note = ("x"):rep(10000)})
    io.stdout:write "saved\n"
    io.stdout:flush()
  end
end

-- -- Training ----------------------------------------------------------------

--- The net, its optimizer and so on, as they are at first.
local function begin()
  st.manual_seed(7)
  local x = st.load(DATA .. "digits_images.npy"):narrow(1, 1, ROWS):flatten(2)
  local y = st.load(DATA .. "digits_labels.npy"):narrow(1, 1, ROWS)
  local self = {epoch = 0, order = st.Generator(9)}
  self.net = nn.Sequential {
    nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(32, 10),
  }
  self.loader = data.DataLoader(
    data.TensorDataset(x:to "float32" / 16, y:to "int64" + 1),
    {batch_size = BATCH, shuffle = true, generator = self.order})
  self.optimizer = optim.AdamW(self.net:parameters(), {lr = RATE})
  self.scheduler = optim.lr_scheduler.OneCycleLR(self.optimizer, RATE, {
    epochs = TOTAL, steps_per_epoch = self.loader:size(),
  })
  return self
end

local function save(self)
  st.save(path, {
    epoch = self.epoch, net = self.net:state_dict(),
    optimizer = self.optimizer:state_dict(),
    scheduler = self.scheduler:state_dict(),
    random = st.get_rng_state():get_state(), order = self.order:get_state(),
  })
end

local function resume(self)
  local file = io.open(path)
  if not file then return end
  file:close()
  local saved = st.load(path)
  self.epoch = saved.epoch
  self.net:load_state_dict(saved.net)
  self.optimizer:load_state_dict(saved.optimizer)
  self.scheduler:load_state_dict(saved.scheduler)
  st.set_rng_state(saved.random)
  self.order:set_state(saved.order)
end

local function learn(self)
  local criterion, batch, total = nn.CrossEntropyLoss(), 0, 0
  self.net:train()
  for x, y in self.loader:iter() do
    local loss = criterion(self.net(x), y)
    self.optimizer:zero_grad()
    loss:backward()
    nn.utils.clip_grad_norm_(self.net:parameters(), 1)
    self.optimizer:step()
    self.scheduler:step()
    batch, total = batch + 1, total + loss:item()
    if self.epoch + 1 == last_epoch and batch == last_batch then
      os.execute("kill -KILL " .. pid)
    end
  end
  return total / batch
end

local self = begin()
resume(self)
while self.epoch < tonumber(epochs) do
  local loss = learn(self)
  self.epoch = self.epoch + 1
  save(self)
  print(("epoch %d loss %.3f"):format(self.epoch, loss))
  io.stdout:flush()
end
