--- On paper: what a step of data-parallel training costs on 8 to 1,024 ranks,
-- and where it stops scaling. Any Lua runs it.
--
--     luajit bench/scaling.lua [--alpha US] [--beta GB/S] [--gamma GB/S]
--                              [--flops T] [--parameters M] [--tokens N]
--                              [--parts N]
--
-- The model: a message of n bytes takes alpha + n / beta, adding n bytes takes
-- n / gamma. An all_reduce of n bytes on P ranks is the faster one of
--
--     ring         2 (P - 1) alpha + 2 (P - 1)/P n/beta + (P - 1)/P n/gamma
--     halving      2 log2(P) alpha + 2 (P - 1)/P n/beta + (P - 1)/P n/gamma
--     doubling     log2(P) (alpha + n/beta + n/gamma)
--
-- (Thakur, Rabenseifner, Gropp: Optimization of Collective Communication
-- Operations in MPICH, Int. J. High Perform. Comput. Appl. 19, 2005.) Halving,
-- that is Rabenseifner's, is counted for powers of two, where no link is used
-- by two messages at once; real networks are worse for it than for the ring, so
-- both are printed.
--
-- A training step of M parameters on T tokens (or samples) per rank takes
-- 2 M T / F for the forward pass and 4 M T / F for the backward pass, at F
-- floating-point operations per second. The backward pass fills buckets evenly;
-- a bucket is reduced once it is full and the one before is done. What is not
-- done when the backward pass ends is waited for. The deterministic reduction
-- costs as much as the ring if the ranks have 2^k parts each, but begins in the
-- backward pass of the last of N parts.

local format, huge, max, min = string.format, math.huge, math.max, math.min

local given = {alpha = 2, beta = 12.5, gamma = 25, flops = 1, parameters = 100,
               tokens = 2 ^ 19, bucket = 25, bytes = 4, parts = 4}

local i = 1
while arg[i] do
  local name, value = arg[i]:match "^%-%-(%a+)$", tonumber(arg[i + 1])
  if not given[name or ""] or not value or value <= 0 then
    io.stderr:write "scaling: see the first lines of bench/scaling.lua\n"
    os.exit(2)
  end
  given[name], i = value, i + 2
end

local ALPHA, BETA, GAMMA = given.alpha / 1e6, given.beta * 1e9,
                           given.gamma * 1e9
local FLOPS, M = given.flops * 1e12, given.parameters * 1e6
local BYTES, BUCKET = M * given.bytes, given.bucket * 2 ^ 20

local function log2(x) return math.log(x) / math.log(2) end

-- -- An all_reduce -----------------------------------------------------------

local ALGORITHMS = {
  ring = function(n, p)
    local share = (p - 1) / p * n
    return 2 * (p - 1) * ALPHA + 2 * share / BETA + share / GAMMA
  end,
  halving = function(n, p)
    local share = (p - 1) / p * n
    return 2 * log2(p) * ALPHA + 2 * share / BETA + share / GAMMA
  end,
  doubling = function(n, p)
    return log2(p) * (ALPHA + n / BETA + n / GAMMA)
  end,
}

-- -- A step ------------------------------------------------------------------

--- Seconds of a step on p ranks with so many tokens per rank: of the whole, of
-- the computation, of all reductions, of those that the backward pass does not
-- hide.
local function step(p, tokens, reduce)
  local forward, backward = 2 * M * tokens / FLOPS, 4 * M * tokens / FLOPS
  local n = math.ceil(BYTES / BUCKET)
  local sent, done = 0, 0
  for k = 1, n do
    local bytes = min(BUCKET, BYTES - (k - 1) * BUCKET)
    local cost = p > 1 and reduce(bytes, p) or 0
    sent = sent + cost
    local full = backward * min(1, k * BUCKET / BYTES)
    done = max(done, full) + cost
  end
  local computed = forward + backward
  return forward + max(backward, done), computed, sent,
         max(0, done - backward)
end

--- The same of a deterministic step: of the whole.
local function deterministic(p, tokens)
  local parts = given.parts
  local _, before = step(1, tokens * (parts - 1) / parts)
  return before + step(p, tokens / parts, ALGORITHMS.ring)
end

local function best(n, p) -- of what does not congest a network
  return min(ALGORITHMS.ring(n, p), ALGORITHMS.doubling(n, p))
end

-- -- Tables ------------------------------------------------------------------

local function seconds(x)
  if x < 1e-3 then return format("%.0f us", x * 1e6) end
  if x < 1 then return format("%.1f ms", x * 1e3) end
  return format("%.2f s", x)
end

local RANKS = {8, 16, 32, 64, 128, 256, 512, 1024}

local function row(...) print("| " .. table.concat({...}, " | ") .. " |") end

local function line(n) print("|" .. ("---:|"):rep(n)) end

print(format("alpha %g us, beta %g GB/s, gamma %g GB/s, %g TFLOP/s per rank,\n"
             .. "%g million parameters of %d bytes, buckets of %g MB\n",
             given.alpha, given.beta, given.gamma, given.flops,
             given.parameters, given.bytes, given.bucket))

print("all_reduce of all gradients, in buckets\n")
row("ranks", "ring", "halving", "doubling", "of the ring: latency")
line(5)
for _, p in ipairs(RANKS) do
  local n = math.ceil(BYTES / BUCKET)
  local cost = {}
  for name, fn in pairs(ALGORITHMS) do
    cost[name] = (n - 1) * fn(BUCKET, p) + fn(BYTES - (n - 1) * BUCKET, p)
  end
  row(p, seconds(cost.ring), seconds(cost.halving), seconds(cost.doubling),
      format("%.0f %%", 100 * 2 * (p - 1) * ALPHA * n / cost.ring))
end

local function scaling(title, tokens_of)
  print("\n" .. title .. "\n")
  row("ranks", "tokens per rank", "step", "computation", "all_reduce",
      "not hidden", "efficiency", "deterministic step", "efficiency")
  line(9)
  for _, p in ipairs(RANKS) do
    local tokens = tokens_of(p)
    local whole, computed, sent, open = step(p, tokens, best)
    local exact = deterministic(p, tokens)
    row(p, format("%.0f", tokens), seconds(whole), seconds(computed),
        seconds(sent), seconds(open),
        format("%.0f %%", 100 * computed / whole), seconds(exact),
        format("%.0f %%", 100 * computed / exact))
  end
end

scaling(format("the same batch for any number of ranks: %.0f tokens (strong "
               .. "scaling)", given.tokens),
        function(p) return given.tokens / p end)

--- The number of ranks from which on the same batch uses them to less than a
-- share, as a text.
local function stops(share)
  local p = 2
  while p < 2 ^ 20 do
    local whole, computed = step(p, given.tokens / p, best)
    if computed / whole < share then return format("%.0f", p) end
    p = p * 2
  end
  return "more than a million"
end

print(format("\nIt stops scaling: the efficiency is below 90 %% from %s ranks "
             .. "on, below 50 %% from %s.", stops(0.9), stops(0.5)))

local each = given.tokens / RANKS[#RANKS]
scaling(format("the same tokens per rank: %.0f (weak scaling)", each),
        function() return each end)

--- The fewest tokens per rank with which p ranks are used to a share.
local function least_tokens(p, share)
  local low, high = 0, 1
  local function reached(t)
    local whole, computed = step(p, t, best)
    return computed / whole >= share
  end
  while not reached(high) and high < huge do high = high * 2 end
  for _ = 1, 60 do
    local middle = (low + high) / 2
    if reached(middle) then high = middle else low = middle end
  end
  return high
end

print "\nfewest tokens per rank for an efficiency of 90 % and of 50 %\n"
row("ranks", "90 %", "50 %")
line(3)
for _, p in ipairs(RANKS) do
  row(p, format("%.0f", least_tokens(p, 0.9)),
      format("%.0f", least_tokens(p, 0.5)))
end
