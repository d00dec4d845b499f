--- Trains a convolutional network that reads handwritten digits better than 99
-- times in 100, and saves it.
--
--     ./dev lua examples/cnn.lua [--epochs N] [--seed N] [FOLDER]
--
-- Of 1797 grey images of 8 x 8 pixels, four fifths are the training set and the
-- others the test set. Every image is turned, shifted and stretched a little
-- each time the network sees it, so it sees no image twice. Writes the network
-- into FOLDER, if one is given, as cnn.safetensors, which is loaded again and
-- must give the same answers, and as cnn.pt for PyTorch.
--
-- examples/nginx serves the network.

local HERE = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = HERE .. "/../?.lua;" .. package.path

local st = require "strided"
local cnn = require "examples.support.cnn"
local command = require "examples.support.command"

local nn, optim, data = st.nn, st.optim, st.data

local COMMAND = {
  name = "cnn", most = 1,
  options = {epochs = {"count", 20}, seed = {"count", 0}},
  usage = [[
usage: ./dev lua examples/cnn.lua [OPTION]... [FOLDER]

Trains a convolutional network on handwritten digits and writes
cnn.safetensors and cnn.pt, the network, into FOLDER, if one is given. The 20
epochs take about 5 seconds.

  --epochs N   how often it sees every picture (20)
  --seed N     of all random numbers: the same seed, the same network (0)
  -h, --help   this
]],
}

local DATA = HERE .. "/data/"
local BATCH, RATE = 64, 0.01

-- -- The digits --------------------------------------------------------------

--- Pictures {1, 8, 8} from 0 to 1, and their classes: digit + 1.
local function load_digits()
  local x = st.load(DATA .. "digits_images.npy"):unsqueeze(2)
  local y = st.load(DATA .. "digits_labels.npy")
  return data.TensorDataset(x:to "float32" / cnn.BLACK, y:to "int64" + 1)
end

--- n numbers from lo to hi.
local function uniform(n, lo, hi) return st.empty(n):uniform_(lo, hi) end

--- The pictures of a batch, each turned by up to 11 degrees, stretched by up to
-- a tenth and shifted by up to half a pixel.
local function distort(x)
  local n = x.shape[1]
  local angle, scale = uniform(n, -0.2, 0.2), uniform(n, 0.9, 1.1)
  local c, s = angle:cos() * scale, angle:sin() * scale
  local right, down = uniform(n, -0.15, 0.15), uniform(n, -0.15, 0.15)
  local matrices = st.stack({c, -s, right, s, c, down}, 2):view(n, 2, 3)
  return st.grid_sample(x, st.affine_grid(matrices, x.shape))
end

-- -- Training ----------------------------------------------------------------

--- The logits of a dataset, and how many of its pictures are recognized.
local function test(net, dataset)
  local logits, right = {}, 0
  net:eval()
  for x, y in data.DataLoader(dataset, {batch_size = 512}):iter() do
    local z = st.no_grad(net, x)
    right = right + z:argmax(2):eq(y):sum():item()
    logits[#logits + 1] = z
  end
  net:train()
  return st.cat(logits), right
end

--- Trains for some epochs; the learning rate goes up and down once.
local function train(net, training, held_out, epochs)
  local loader = data.DataLoader(training, {batch_size = BATCH,
                                            shuffle = true})
  local criterion = nn.CrossEntropyLoss {label_smoothing = 0.05}
  local optimizer = optim.AdamW(net:parameters(), {weight_decay = 0.05})
  local scheduler = optim.lr_scheduler.OneCycleLR(optimizer, RATE, {
    epochs = epochs, steps_per_epoch = loader:size(),
  })
  local bar = st.progress(epochs * loader:size(), "training")
  for epoch = 1, epochs do
    local total = 0
    for x, y in loader:iter() do
      local loss = criterion(net(distort(x)), y)
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
      scheduler:step()
      total = total + loss:item()
      bar:step()
    end
    local _, right = test(net, held_out)
    bar:print("epoch %d of %d  loss %.4f  %.1f %% of those held out", epoch,
              epochs, total / loader:size(), 100 * right / held_out:size())
  end
  bar:finish()
end

-- -- Main --------------------------------------------------------------------

local given = command.parse(COMMAND, arg)
local folder = given[1] -- or nil
if folder then command.make_folder(folder) end
st.manual_seed(given.seed)

local training, held_out = data.random_split(load_digits(), {0.8, 0.2}, {
  generator = st.Generator(given.seed),
})
local net = cnn.new()
print(("%d pictures to learn from, %d held out, %d parameters"):format(
      training:size(), held_out:size(), net:num_parameters()))
local seconds = command.stopwatch()
if given.epochs > 0 then train(net, training, held_out, given.epochs) end
local took = seconds()

local logits, right = test(net, held_out)
if folder then
  local path = folder .. "/cnn.safetensors"
  command.save(COMMAND, path, net:state_dict())
  local again, right_again = test(cnn.load(path), held_out)
  assert(again:equal(logits) and right_again == right,
         "the network that was read back gives other answers")
  print("wrote " .. path .. ", read back: the same answers")
  -- PyTorch counts the layers from 0.
  command.save(COMMAND, folder .. "/cnn.pt", net:state_dict {base = 0})
  print("wrote " .. folder .. "/cnn.pt, a state dict for PyTorch")
end
print(("Done: %d of %d digits never seen before are read, %.1f %%, after "
       .. "%.1f s."):format(right, held_out:size(),
                            100 * right / held_out:size(), took))
