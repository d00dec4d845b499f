--- Trains a recurrent network to remember two numbers.
--
--     ./dev lua examples/gru.lua [OPTION]...
--
-- The adding problem of Hochreiter and Schmidhuber (1997): a sequence of random
-- numbers from 0 to 1, two of which are marked, one in each half. The answer is
-- the sum of these two, which is known at the end only. A network that does not
-- remember can do no better than to answer 1, the mean of all sums: its mean
-- squared error is their variance, 1/6. Sequences of a batch have different
-- lengths and are packed, so that no step is computed for padding.

local HERE = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = HERE .. "/../?.lua;" .. package.path

local st = require "strided"
local command = require "examples.support.command"

local nn, optim = st.nn, st.optim
local rnn = nn.utils.rnn

local COMMAND = {
  name = "gru", most = 0,
  options = {
    steps = {"count", 3000}, longest = {"count", 50}, units = {"count", 64},
    rate = {"number", 0.005}, seed = {"count", 0},
  },
  usage = [[
usage: ./dev lua examples/gru.lua [OPTION]...

Trains a GRU on sequences of numbers to add the two that are marked. Takes ten
seconds.

  --steps N     of training (3000)
  --longest N   the longest sequences that it learns from; the shortest ones
                have a fifth of it (50)
  --units N     of the GRU (64)
  --rate X      the largest learning rate (0.005)
  --seed N      of all random numbers (0)
  -h, --help    this
]],
}

local BATCH, TESTS = 64, 1000
local NEAR = 0.04     -- an answer so near to the sum counts as right
local EVERY = 500     -- steps per line of progress
local GUESS = 1       -- the best answer without memory

-- -- Sequences ---------------------------------------------------------------

--- Whole numbers from 1 to at most each limit.
local function up_to(limits)
  return (st.rand(limits.shape) * limits):floor():to "int64" + 1
end

--- n sequences with lengths from `shortest` to `longest`: their steps, {n,
-- longest, 2}: a number, and 1 if it is marked; the lengths; the sums {n}.
local function draw(n, shortest, longest)
  local lengths = st.randint(shortest, longest + 1, {n})
  local half = lengths:div(2, {rounding_mode = "floor"})
  local numbers, marks = st.rand(n, longest), st.zeros(n, longest)
  for _, at in ipairs {up_to(half), half + up_to(lengths - half)} do
    marks:scatter_(2, at:unsqueeze(2), 1)
  end
  return st.stack({numbers, marks}, 3), lengths, (numbers * marks):sum(2)
end

-- -- The network -------------------------------------------------------------

local Adder = nn.Module:extend "Adder"

function Adder:init(units)
  self.gru = nn.GRU(2, units, {batch_first = true})
  self.out = nn.Linear(units, 1)
end

function Adder:forward(x, lengths)
  local packed = rnn.pack_padded_sequence(x, lengths, {
    batch_first = true, enforce_sorted = false,
  })
  local _, last = self.gru(packed)
  return self.out(last:select(1, 1)):squeeze(2)
end

-- -- Training ----------------------------------------------------------------

local criterion = nn.MSELoss()

--- The mean squared error of sequences, and the part of right answers.
local function test(net, x, lengths, sums)
  local answers = st.no_grad(net, x, lengths)
  local is_right = (answers - sums):abs():lt(NEAR)
  return criterion(answers, sums):item(), is_right:to "float64":mean():item()
end

local function train(net, given, shortest)
  local optimizer = optim.Adam(net:parameters(), {lr = given.rate})
  local scheduler = optim.lr_scheduler.OneCycleLR(optimizer, given.rate, {
    total_steps = given.steps,
  })
  local x, lengths, sums = draw(TESTS, shortest, given.longest)
  local bar = st.progress(given.steps, "training")
  for step in bar do
    local inputs, n, targets = draw(BATCH, shortest, given.longest)
    local loss = criterion(net(inputs, n), targets)
    optimizer:zero_grad()
    loss:backward()
    nn.utils.clip_grad_norm_(net:parameters(), 1)
    optimizer:step()
    scheduler:step()
    if step % EVERY == 0 or step == given.steps then
      local e, right = test(net, x, lengths, sums)
      bar:print("step %d of %d  error %.5f  %.1f %% right", step,
                given.steps, e, 100 * right)
    end
  end
end

--- What came of it, beside the best answer without memory.
local function report(net, shortest, longest)
  print "\n  length   error of GRU   right   error of always 1   right"
  for _, row in ipairs {{shortest, longest}, {longest, longest},
                        {2 * longest, 2 * longest}} do
    local x, lengths, sums = draw(TESTS, row[1], row[2])
    local e, right = test(net, x, lengths, sums)
    local base, by_chance = test(function()
      return st.full_like(sums, GUESS)
    end, x, lengths, sums)
    local name = row[1] < row[2] and row[1] .. "-" .. row[2] or row[2]
    print(("%8s   %12.5f  %5.1f %%   %17.5f  %5.1f %%"):format(
          name, e, 100 * right, base, 100 * by_chance))
  end
end

-- -- Main --------------------------------------------------------------------

local given = command.parse(COMMAND, arg)
if given.longest < 2 or given.units < 1 then
  command.refuse(COMMAND, "--longest must be at least 2, and --units 1")
end
local shortest = math.max(2, math.floor(given.longest / 5))
st.manual_seed(given.seed)
local net = Adder(given.units)
print(("sequences of %d to %d numbers, %d parameters"):format(
      shortest, given.longest, net:num_parameters()))
local seconds = command.stopwatch()
if given.steps > 0 then train(net, given, shortest) end
local took = seconds()
report(net, shortest, given.longest)
print(("\nDone: trained in %.1f s. The longest sequences are twice as long as "
       .. "any it\nlearned from."):format(took))
