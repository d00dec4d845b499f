--- Trains a small network to recognize handwritten digits, and saves it.
--
--     ./dev lua examples/digits.lua [--epochs N] [--seed N] [FOLDER]
--
-- Of 1797 grey images of 8 x 8 pixels, four fifths are the training set and the
-- others the test set. Writes the network, which is loaded again and must give
-- the same answers, and an image of the confusion matrix into FOLDER, if one is
-- given.

local st = require "strided"
local nn = require "strided.nn"
local optim = require "strided.optim"

local floor, format, max, min = math.floor, string.format, math.max, math.min

local USAGE = [[
usage: ./dev lua examples/digits.lua [OPTION]... [FOLDER]

Trains a network on handwritten digits and writes digits.safetensors, the
network, and digits.svg, its confusion matrix, into FOLDER, if one is given.

  --epochs N   how often it sees every picture (40)
  --seed N     of all random numbers: the same seed, the same network (0)
  -h, --help   this
]]

local HERE = arg[0]:match "^(.*)/[^/]*$" or "."
local DATA = HERE .. "/data/"
local BATCH, RATE = 32, 3e-3

-- -- Options -----------------------------------------------------------------

local function refuse(...)
  io.stderr:write("digits: ", format(...), "\n\n", USAGE)
  os.exit(2)
end

local function parse(words)
  local options, i = {["--epochs"] = 40, ["--seed"] = 0}, 1
  while words[i] do
    local word = words[i]
    if word == "-h" or word == "--help" then
      io.write(USAGE)
      os.exit(0)
    elseif options[word] then
      local n = tonumber(words[i + 1])
      if not n or n < 0 or n ~= floor(n) then
        refuse("%s needs a number, got '%s'", word, words[i + 1] or "")
      end
      options[word], i = n, i + 1
    elseif word:find "^%-" or options.folder then
      refuse("'%s' is not understood", word)
    else
      options.folder = word
    end
    i = i + 1
  end
  return options["--epochs"], options["--seed"], options.folder
end

local function make_folder(folder)
  local quoted = "'" .. folder:gsub("'", "'\\''") .. "'"
  local code = os.execute("mkdir -p -- " .. quoted)
  if code ~= 0 and code ~= true then os.exit(1) end
end

-- -- The digits --------------------------------------------------------------

--- The images as rows of numbers from 0 to 1, and their classes: digit + 1.
local function load_digits()
  local x = st.load(DATA .. "digits_images.npy"):flatten(2):to "float32" / 16
  local y = st.load(DATA .. "digits_labels.npy"):to "int64" + 1
  return x, y
end

--- The training set {x =, y =}, and the test set, a fifth of the images.
local function split(x, y)
  local n = x.shape[1]
  local order, held = st.randperm(n), floor(n / 5)
  local function part(first, last)
    local at = order:slice(1, first, last)
    return {x = x:index_select(1, at), y = y:index_select(1, at)}
  end
  return part(held + 1, n), part(1, held)
end

-- -- The network -------------------------------------------------------------

local function new_network()
  return nn.Sequential {
    nn.Linear(64, 128), nn.LayerNorm(128), nn.GELU(), nn.Dropout(0.2),
    nn.Linear(128, 10),
  }
end

--- The predicted classes.
local function predict(net, x)
  net:eval()
  return st.no_grad(function() return net(x):argmax(2) end)
end

--- The accuracy in per cent.
local function accuracy(net, part)
  local right = predict(net, part.x):eq(part.y)
  return 100 * right:sum():item() / right:numel()
end

--- Trains for one epoch, in random order; returns the mean loss.
local function learn(net, optimizer, part)
  local n, total = part.x.shape[1], 0
  local criterion, order = nn.CrossEntropyLoss(), st.randperm(n)
  net:train()
  for first = 1, n, BATCH do
    local at = order:slice(1, first, min(first + BATCH - 1, n))
    local loss = criterion(net(part.x:index_select(1, at)),
                           part.y:index_select(1, at))
    optimizer:zero_grad()
    loss:backward()
    optimizer:step()
    total = total + loss:item() * at:numel()
  end
  return total / n
end

-- -- Progress ----------------------------------------------------------------

--- A function that returns the seconds since its creation. The wall clock has a
-- resolution of one second; the processor clock is finer, but adds up the time
-- of all threads.
local function stopwatch()
  local wall, processor = os.time(), os.clock()
  return function()
    local seconds = os.difftime(os.time(), wall)
    return min(max(os.clock() - processor, seconds - 1), seconds + 1)
  end
end

--- A function that prints a line; on a terminal it replaces the last one.
local function progress()
  local code = os.execute "test -t 1"
  local is_live, width = code == 0 or code == true, 0
  return function(text)
    width = max(width, #text)
    io.write(is_live and "\r" or "", text, (" "):rep(width - #text),
             is_live and "" or "\n")
    io.flush()
  end, function() io.write(is_live and "\n" or "") end
end

--- Trains with cosine decay of the learning rate.
local function train(net, training, held_out, epochs)
  local optimizer = optim.AdamW(net:parameters(), {lr = RATE})
  local show, finish = progress()
  local seconds = stopwatch()
  for epoch = 1, epochs do
    optimizer.param_groups[1].lr =
      RATE * (1 + math.cos(math.pi * (epoch - 1) / epochs)) / 2
    local loss = learn(net, optimizer, training)
    show(format("epoch %d of %d  loss %.4f  %.1f %% of those held out  "
                .. "%.0f s left", epoch, epochs, loss,
                accuracy(net, held_out),
                seconds() / epoch * (epochs - epoch)))
  end
  if epochs > 0 then finish() end
  return seconds()
end

-- -- The confusion matrix ----------------------------------------------------

local CELL, EDGE = 40, 56

local HEAD = [[
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img">
<title>Handwritten digits and what they were taken for</title>
<style>text { font: 15px system-ui, Helvetica, Arial, sans-serif;
text-anchor: middle; dominant-baseline: central; fill: #1f2328 }
.light { fill: #ffffff }</style>
<rect width="100%%" height="100%%" fill="#ffffff"/>
<text x="%d" y="16">taken for</text>
<text transform="translate(16 %d) rotate(-90)">written</text>
]]

--- The confusion matrix: counts[class][predicted class].
local function confusion(net, part)
  local pairs_of = (part.y - 1) * 10 + predict(net, part.x)
  return pairs_of:bincount {minlength = 100}:view(10, 10):totable()
end

local function draw_cell(file, row, column, count, share)
  local x, y = EDGE + (column - 1) * CELL, EDGE + (row - 1) * CELL
  file:write(format('<rect x="%d" y="%d" width="%d" height="%d" '
                    .. 'fill="rgb(%.0f,%.0f,%.0f)" stroke="#ffffff"/>\n', x, y,
                    CELL, CELL, 246 - 226 * share, 248 - 160 * share,
                    250 - 84 * share))
  if count > 0 then
    file:write(format('<text class="%s" x="%d" y="%d">%d</text>\n',
                      share > 0.5 and "light" or "dark", x + CELL / 2,
                      y + CELL / 2, count))
  end
end

local function draw(path, counts)
  local file = assert(io.open(path, "w"))
  local side = EDGE + 10 * CELL
  file:write(format(HEAD, side + 16, side + 16, EDGE + 5 * CELL,
                    EDGE + 5 * CELL))
  for i, row in ipairs(counts) do
    local at, total = EDGE + i * CELL - CELL / 2, 0
    file:write(format('<text x="%d" y="42">%d</text>\n', at, i - 1),
               format('<text x="42" y="%d">%d</text>\n', at, i - 1))
    for _, count in ipairs(row) do total = total + count end
    for j, count in ipairs(row) do
      draw_cell(file, i, j, count, count / max(total, 1))
    end
  end
  file:write "</svg>\n"
  assert(file:close())
end

-- -- Main --------------------------------------------------------------------

local epochs, seed, folder = parse(arg)
if folder then make_folder(folder) end
st.manual_seed(seed)
local training, held_out = split(load_digits())
local net = new_network()
local seconds = train(net, training, held_out, epochs)

if folder then
  local path = folder .. "/digits.safetensors"
  st.save(path, net:state_dict())
  local again = new_network()
  again:load_state_dict(st.load(path))
  assert(predict(again, held_out.x):equal(predict(net, held_out.x)),
         "the network that was read back gives other answers")
  print("wrote " .. path .. ", read back: the same answers")

  draw(folder .. "/digits.svg", confusion(again, held_out))
  print("wrote " .. folder .. "/digits.svg, what was taken for what")
end
print(format("Done: %.1f %% of %d digits never seen before are read, after "
             .. "%.1f s.", accuracy(net, held_out), held_out.y:numel(),
             seconds))
