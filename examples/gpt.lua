--- Trains a transformer that writes like the documentation of this project, one
-- character after the other.
--
--     ./dev lua examples/gpt.lua [OPTION]... [TEXT...]
--
-- Nine tenths of the text are the training set. A checkpoint has everything
-- that the training depends on: the network, the optimizer, the schedule of the
-- learning rate, the random generator and the text. So a training that was
-- interrupted and resumed gives the same network as one that was not.
--
-- examples/neovim completes what one types with the network.

local HERE = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = HERE .. "/../?.lua;" .. package.path

local st = require "strided"
local command = require "examples.support.command"
local gpt = require "examples.support.gpt"

local nn, optim = st.nn, st.optim
local floor, min = math.floor, math.min

local COMMAND = {
  name = "gpt",
  options = {
    out = {"tables"}, resume = {"flag"},
    steps = {"count", 1200}, ["until"] = {"count", math.huge},
    ["save-every"] = {"size", 100}, batch = {"size", 16},
    rate = {"number", 0.003}, seed = {"count", 0},
    context = {"size", 64}, width = {"size", 160}, layers = {"size", 3},
    heads = {"size", 4}, dropout = {"share", 0.1},
    prompt = {"text", "A tensor "}, characters = {"count", 400},
    temperature = {"number", 0.8}, ["top-k"] = {"count", 0},
  },
  usage = [[
usage: ./dev lua examples/gpt.lua [OPTION]... [TEXT...]

Trains a transformer on texts, by default the documentation of this project,
and writes what it makes of a prompt. By default it has a million parameters
and trains for about two minutes on two cores.

  --steps N        of training (1200)
  --until N        stop after step N, to be resumed
  --save-every N   save a checkpoint after so many steps (100)
  --out FILE       the checkpoint, .safetensors or .pt; without it, none is
                   saved
  --resume         continue the training of the checkpoint --out, if any is
                   left, with its options and its text
  --batch N        pieces of text per step (16)
  --rate X         the largest learning rate (0.003)
  --seed N         of all random numbers (0)

  --context N      characters that the network sees (64)
  --width N        numbers per character inside it (160)
  --layers N       (3)
  --heads N        of attention; --width is a multiple of it (4)
  --dropout X      (0.1)

  --prompt TEXT    what it continues ("A tensor ")
  --characters N   how many it writes (400)
  --temperature X  0: the likeliest ones; larger: more surprising ones (0.8)
  --top-k N        of the N likeliest characters only (0: all)
  -h, --help       this
]],
}

local TEXTS = {"README.md", "core/README.md", "lua/README.md"}
local EVERY = 100 -- steps per line of progress
local TESTS = 8   -- batches of the validation
local DECAY, NORM = 0.1, 1 -- of weights, the largest of the gradient

-- -- Text --------------------------------------------------------------------

--- The texts of files, or of the documentation.
local function read_texts(paths)
  local parts = {}
  if not paths[1] then
    for i, name in ipairs(TEXTS) do paths[i] = HERE .. "/../" .. name end
  end
  for i, path in ipairs(paths) do
    local text, why = command.read(path)
    if not text then command.fail(COMMAND, why) end
    parts[i] = text
  end
  return table.concat(parts)
end

--- A random batch of pieces: the inputs, and the characters that follow them.
local function draw_batch(text, count, length, generator)
  local first = st.randint(1, text.shape[1] - length + 1, {count, 1},
                           {generator = generator})
  local at = first + st.arange(length + 1)
  local pieces = text:index_select(1, at:flatten()):view(count, length + 1)
  return pieces:narrow(2, 1, length), pieces:narrow(2, 2, length)
end

-- -- Training ----------------------------------------------------------------

--- Matrices decay, vectors do not.
local function groups_of(net)
  local matrices, vectors = {}, {}
  for _, p in ipairs(net:parameters()) do
    local list = p.ndim > 1 and matrices or vectors
    list[#list + 1] = p
  end
  return {{params = matrices, weight_decay = DECAY},
          {params = vectors, weight_decay = 0}}
end

--- A training: the model, the text, the optimizer and its schedule, and what of
-- the options a checkpoint keeps, `run`.
local function new_training(model, text, run)
  local self = {model = model, text = text, run = run, step = 0}
  local classes = model.vocabulary:encode(text)
  local n = classes.shape[1]
  local held = floor(n / 10)
  if held <= model.sizes.context then
    command.refuse(COMMAND, "the text has %d characters, and needs to have %d",
                   n, 10 * (model.sizes.context + 1))
  end
  self.training = classes:narrow(1, 1, n - held)
  self.held_out = classes:narrow(1, n - held + 1, held)
  self.optimizer = optim.AdamW(groups_of(model.net), {lr = run.rate})
  self.scheduler = optim.lr_scheduler.OneCycleLR(self.optimizer, run.rate, {
    total_steps = math.max(run.steps, 1), pct_start = 0.1,
  })
  return self
end

local function save(self, path)
  local state = gpt.state(self.model)
  state.run, state.step = self.run, self.step
  state.text = st.frombuffer(self.text, {dtype = "uint8"})
  state.optimizer = self.optimizer:state_dict()
  state.scheduler = self.scheduler:state_dict()
  state.random = st.get_rng_state():get_state()
  command.save(COMMAND, path, state)
end

-- Options that a checkpoint determines.
local KEPT = {"steps", "batch", "rate", "seed", "context", "width", "layers",
              "heads", "dropout"}

local function resume(given)
  for _, name in ipairs(KEPT) do
    if given.given[name] then
      command.refuse(COMMAND, "the checkpoint determines --%s", name)
    end
  end
  if given[1] then command.refuse(COMMAND, "the checkpoint has its text") end
  if not given.out then command.refuse(COMMAND, "--resume needs --out") end
  local ok, model, saved = pcall(gpt.load, given.out)
  if not ok then command.fail(COMMAND, model) end
  local self = new_training(model, saved.text:tostring_bytes(), saved.run)
  self.step = saved.step
  self.optimizer:load_state_dict(saved.optimizer)
  self.scheduler:load_state_dict(saved.scheduler)
  st.set_rng_state(saved.random)
  return self
end

local criterion = nn.CrossEntropyLoss()

local function loss_of(self, x, y)
  return criterion(self.model.net(x):flatten(1, 2), y:flatten())
end

--- The mean loss of batches of the validation, the same ones each time.
local function validate(self)
  local generator, total = st.Generator(0), 0
  self.model.net:eval()
  for _ = 1, TESTS do
    local x, y = draw_batch(self.held_out, self.run.batch,
                            self.model.sizes.context, generator)
    total = total + st.no_grad(loss_of, self, x, y):item()
  end
  return total / TESTS
end

--- One step; returns the loss.
local function learn(self)
  local x, y = draw_batch(self.training, self.run.batch,
                          self.model.sizes.context)
  self.model.net:train()
  local loss = loss_of(self, x, y)
  self.optimizer:zero_grad()
  loss:backward()
  nn.utils.clip_grad_norm_(self.model.net:parameters(), NORM)
  self.optimizer:step()
  self.scheduler:step()
  self.step = self.step + 1
  return loss:item()
end

--- path: of the checkpoint, or nil.
local function train(self, last, save_every, path)
  local total, count, seconds = 0, 0, command.stopwatch()
  if path and self.step == 0 then save(self, path) end -- fails now or never
  local bar = st.progress(math.max(last - self.step, 0), "training")
  while self.step < last do
    total, count = total + learn(self), count + 1
    bar:step()
    local is_last = self.step == last
    if self.step % EVERY == 0 or is_last then
      bar:print("step %d of %d  loss %.3f  validation %.3f  %.0f s",
                self.step, self.run.steps, total / count, validate(self),
                seconds())
      total, count = 0, 0
    end
    if path and (self.step % save_every == 0 or is_last) then
      save(self, path)
      bar:print("wrote %s", path)
    end
  end
  bar:finish()
end

-- -- Main --------------------------------------------------------------------

local function begin(given)
  local sizes = {context = given.context, width = given.width,
                 layers = given.layers, heads = given.heads,
                 dropout = given.dropout}
  if sizes.width % sizes.heads ~= 0 then
    command.refuse(COMMAND, "--width %d is no multiple of --heads %d",
                   sizes.width, sizes.heads)
  end
  local text = read_texts(given)
  st.manual_seed(given.seed)
  return new_training(gpt.new(sizes, gpt.bytes_of(text)), text, {
    steps = given.steps, batch = given.batch, rate = given.rate,
  })
end

local given = command.parse(COMMAND, arg)
local self = given.resume and resume(given) or begin(given)
print(("%d characters of %d kinds, %d parameters"):format(
      #self.text, self.model.vocabulary.size - 1,
      self.model.net:num_parameters()))
train(self, min(self.run.steps, given["until"]), given["save-every"], given.out)

self.model.net:eval()
local next_character = gpt.continue(self.model, given.prompt, {
  temperature = given.temperature, top_k = given["top-k"],
})
io.write("\n", given.prompt)
for _ = 1, given.characters do io.write((next_character())) end
io.write "\n"
