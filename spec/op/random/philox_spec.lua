--- Philox generators: the reference's numbers, the same for every number of
-- threads, children that are independent, states, and both algorithms against
-- the distributions of every operator that draws.
-- axes: isa
-- sampled: 3

local st = require "strided"
local samples = require "spec.support.samples"
local tensors = require "spec.support.tensors"
local words_of = require "spec.support.words"

local exp, pi = math.exp, math.pi

local live, raises = tensors.live, tensors.raises

local function philox(seed)
  return st.Generator {algorithm = "philox", seed = seed}
end

local function from(g) return {generator = g} end

--- The next n words.
local function words(g, n)
  return words_of(g, n):totable()
end

local function plain(list)
  local out = {}
  for i, v in ipairs(list) do out[i] = tonumber(tostring(v)) end
  return out
end

--- A state: key, stream and block, as pairs of a low and a high half.
local function state(key, stream, block)
  local bytes = {}
  for _, half in ipairs {key[1], key[2], stream[1], stream[2], block[1],
                         block[2], 0, 0, 0, 0} do
    for _ = 1, 4 do
      bytes[#bytes + 1] = half % 256
      half = math.floor(half / 256)
    end
  end
  return st.tensor(bytes, {dtype = "uint8"})
end

-- Calls that draw, by name; n elements where that can be chosen.
local DRAWS = {
  uniform_ = function(g, n) return st.empty {n}:uniform_(-1, 2, from(g)) end,
  normal_ = function(g, n) return st.empty {n}:normal_(1, 2, from(g)) end,
  strided_normal = function(g, n)
    local t = st.empty {n, 2}:narrow(2, 1, 1)
    return t:normal_(0, 1, from(g)):contiguous()
  end,
  complex_normal = function(g, n)
    return st.view_as_real(st.empty({n}, {dtype = "complex64"})
                           :normal_(0, 1, from(g))):contiguous()
  end,
  double = function(g, n)
    return st.rand({n}, {generator = g, dtype = "float64"})
  end,
  half = function(g, n)
    return st.randn({n}, {generator = g, dtype = "float16"})
  end,
  exponential_ = function(g, n)
    return st.empty {n}:exponential_(2, from(g))
  end,
  cauchy_ = function(g, n) return st.empty {n}:cauchy_(0, 1, from(g)) end,
  log_normal_ = function(g, n)
    return st.empty {n}:log_normal_(0, 1, from(g))
  end,
  geometric_ = function(g, n) return st.empty {n}:geometric_(0.3, from(g)) end,
  random_ = function(g, n)
    return st.empty({n}, {dtype = "int32"}):random_(from(g))
  end,
  randint = function(g, n) return st.randint(-5, 9, {n}, from(g)) end,
  bernoulli_ = function(g, n) return st.empty {n}:bernoulli_(0.3, from(g)) end,
  bernoulli = function(g, n)
    return st.bernoulli(st.linspace(0, 1, n), from(g))
  end,
  randperm = function(g, n) return st.randperm(n, from(g)) end,
  multinomial = function(g, n)
    return st.multinomial(st.ones {7}, n, true, from(g))
  end,
  poisson = function(g, n) return st.poisson(st.linspace(0, 40, n), g) end,
  binomial = function(g, n)
    return st.binomial(st.full({n}, 30.5), st.linspace(0, 1, n), g)
  end,
  _standard_gamma = function(g, n)
    return st._standard_gamma(st.linspace(0.1, 9, n), g)
  end,
  _sample_dirichlet = function(g, n)
    return st._sample_dirichlet(st.ones(n, 3), g)
  end,
}

describe("Philox", function()
  local before, threads
  setup(function() before, threads = live(), st.get_num_threads() end)
  after_each(function() st.set_num_threads(threads) end)
  teardown(function() assert.equal(before, live()) end)

  -- Random123's kat_vectors: philox4x32, 10 rounds
  it("gives the reference's blocks", function()
    for _, row in ipairs {
      {{0, 0}, {0, 0}, {0, 0},
       {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0xa4093822, 0x299f31d0}, {0x13198a2e, 0x03707344},
       {0x243f6a88, 0x85a308d3},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    } do
      local g = philox(1):set_state(state(row[1], row[2], row[3]))
      assert.same(row[4], words(g, 4))
    end
  end)

  it("gives the same words in pieces, after jumps and from states", function()
    local want = words(philox(9), 2000)
    local pieces, g, at = {}, philox(9), 0
    for _, n in ipairs {4, 8, 500, 12, 1476} do
      for _, w in ipairs(words(g, n)) do pieces[#pieces + 1] = w end
    end
    assert.same(want, pieces)
    for _, skip in ipairs {1, 2, 3, 4, 5, 517, 1000} do
      local h = philox(9):jump(skip)
      local copy, restored = h:clone(), philox(1):set_state(h:get_state())
      for _, source in ipairs {h, copy, restored} do
        local got = words(source, 300)
        for i = 1, 300 do assert.equal(want[skip + i], got[i]) end
      end
      at = at + 1
    end
    assert.equal(7, at)
  end)

  it("gives no word to two draws", function()
    for skip = 0, 3 do
      for _, n in ipairs {1, 2, 3, 15} do
        local g = philox(9):jump(skip)
        st.empty(n):normal_(from(g))
        local block = plain(g:get_state():totable())[17]
        local read = skip + 4 * math.ceil(n / 2)
        assert.equal(math.ceil(read / 4), block, skip .. " and " .. n)
      end
    end
  end)

  for name, draw in pairs(DRAWS) do
    it(name .. " draws the same on any number of threads", function()
      for _, n in ipairs {1, 15, 40, 1003, 70001} do
        local want, after
        for _, count in ipairs {1, 2, 5} do
          st.set_num_threads(count)
          local g = philox(21)
          local got = draw(g, n)
          want = want or got
          assert.is_true(want:equal(got), ("%d elements, %d threads"):format(
                         n, count))
          local next_words = words(g, 8)
          after = after or next_words
          assert.same(after, next_words)
        end
        local g = philox(21) -- other numbers for another draw
        draw(g, n)
        if n > 500 then assert.is_false(draw(g, n):equal(want)) end
      end
    end)
  end

  it("splits off generators that are independent", function()
    local parent = philox(4)
    local list = {parent, parent:split(3)}
    local a, b = parent:split()
    local grandchild = a:split(1)
    for _, g in ipairs {a, b, grandchild} do list[#list + 1] = g end
    local again = philox(4)
    local c = again:split(1)
    assert.is_true(st.rand({9}, {generator = c}):equal(
                   st.rand({9}, {generator = list[2]:clone()})))
    local n, rows = 20000, {}
    for i, g in ipairs(list) do
      rows[i] = st.randn({n}, {generator = g, dtype = "float64"})
      for j = 1, i - 1 do
        for lag = 0, 2 do
          local r = (rows[i]:narrow(1, 1 + lag, n - 2) *
                     rows[j]:narrow(1, 1, n - 2)):mean():item()
          assert.is_true(math.abs(r) < 5 / math.sqrt(n), r)
        end
      end
    end
    -- splitting takes no words
    assert.is_true(rows[1]:equal(st.randn({n}, {
      generator = philox(4), dtype = "float64"})))
  end)

  it("splits off others after draws of unknown length", function()
    local g, h = philox(4), philox(4)
    st.poisson(st.ones {3}, g)
    local a, _ = g:split(1), h:split(1)
    local b = h:split(1)
    assert.is_true(st.rand({9}, {generator = a}):equal(
                   st.rand({9}, {generator = b})))
  end)

  it("becomes the default generator by its state", function()
    local saved = st.get_rng_state()
    st.set_rng_state(philox(3))
    local x = st.rand {5}
    local kept = st.dropout(st.ones {1000}, 0.5, true)
    st.manual_seed(3)
    assert.is_true(st.rand {5}:equal(x))
    assert.is_true(st.dropout(st.ones {1000}, 0.5, true):equal(kept))
    assert.is_true(st.rand({5}, {generator = philox(3)}):equal(x))
    st.set_rng_state(saved)
  end)

  it("becomes it by the bytes of a state, as a Twister does", function()
    local saved = st.get_rng_state()
    local first, second = philox(3):jump(9), st.Generator(4)
    st.rand({7}, {generator = second})
    for _, g in ipairs {first, second, first} do
      st.set_rng_state(g:get_state())
      assert.equal(g:algorithm(), st.get_rng_state():algorithm())
      assert.is_true(st.rand {5}:equal(st.rand({5}, {generator = g})))
    end
    raises("set_rng_state: a state is a contiguous tensor of bytes",
           st.set_rng_state, st.zeros(5056))
    raises("set_rng_state: a state of this generator has 5056 bytes, not 7",
           st.set_rng_state, st.zeros({7}, {dtype = "uint8"}))
    raises("set_rng_state: the bytes are no state of Philox", st.set_rng_state,
           st.full({40}, 255, {dtype = "uint8"}))
    assert.is_true(st.get_rng_state():get_state():equal(first:get_state()))
    st.set_rng_state(saved)
  end)

  it("says what it is", function()
    local g = philox(7)
    assert.equal('Generator {algorithm = "philox", seed = 7}', tostring(g))
    assert.equal('Generator {algorithm = "mt19937", seed = 8}',
                 tostring(st.Generator(8)))
    assert.equal("philox", g:algorithm())
    assert.equal("mt19937", st.Generator {seed = 1}:algorithm())
    assert.equal(7, tonumber(tostring(g:initial_seed())))
    assert.is_true(st.rand({9}, {generator = philox(5)}):equal(
      st.rand({9}, {generator = g:manual_seed(5)})))
  end)

  it("refuses what a generator is not", function()
    raises("algorithm must be \"mt19937\" or \"philox\"", st.Generator,
           {algorithm = "pcg"})
    raises("Generator: unknown option 'sed'", st.Generator, {sed = 1})
    raises("seed", st.Generator, {seed = "x"})
    local mersenne = st.Generator(1)
    raises("split: a Mersenne Twister cannot", mersenne.split, mersenne)
    raises("jump: a Mersenne Twister cannot", mersenne.jump, mersenne, 3)
    raises("n must be 1 to 200", mersenne.split, philox(1), 0)
    raises("n must not be negative", mersenne.jump, philox(1), -1)
    local far = philox(1):jump(st.int "9223372036854775807")
    far:jump(st.int "9223372036854775807")
    raises("jump: the numbers of a generator end after 2^64 words", far.jump,
           far, 6)
    far:jump(2)
    raises("has 5056 bytes, not 40", mersenne.set_state, mersenne,
           philox(1):get_state())
    raises("has 40 bytes, not 5056", mersenne.set_state, philox(1),
           mersenne:get_state())
    raises("no state of Philox", mersenne.set_state, philox(1),
           st.full({40}, 255, {dtype = "uint8"}))
    raises("no state of a Mersenne Twister", mersenne.set_state, mersenne,
           st.full({5056}, 255, {dtype = "uint8"}))
    raises("a contiguous tensor of bytes", mersenne.set_state, mersenne,
           st.zeros {40})
  end)
end)

describe("A Mersenne Twister", function()
  -- torch.Generator().manual_seed(5), then normal_ of three float64 numbers:
  -- seed, left, next, the first word, the normal number that is kept
  it("has PyTorch's states", function()
    local g = st.Generator(5)
    st.empty({3}, {dtype = "float64"}):normal_(0, 1, from(g))
    local bytes = plain(g:get_state():totable())
    local function number(at, n)
      local v = 0
      for i = at + n - 1, at, -1 do v = v * 256 + bytes[i] end
      return v
    end
    assert.equal(5056, #bytes)
    assert.same({5, 617, 1, 8, 4081643083, 1},
                {number(1, 8), number(9, 4), number(13, 4), number(17, 8),
                 number(25, 8), number(25 + 8 * 624 + 24, 4)})
    local h = st.Generator(1):set_state(g:get_state())
    for _ = 1, 3 do
      local a = st.randn({3}, {generator = g, dtype = "float64"})
      assert.is_true(a:equal(st.randn({3}, {generator = h,
                                            dtype = "float64"})))
      assert.is_true(st.rand({400}, from(g)):equal(
                     st.rand({400}, {generator = h})))
    end
    local fresh = st.Generator(2):set_state(st.Generator(5):get_state())
    assert.is_true(st.rand({9}, {generator = fresh}):equal(
                   st.rand({9}, {generator = st.Generator(5)})))
  end)
end)

-- Distribution functions, and probabilities of counts.

local CONTINUOUS = {
  {"uniform_", {-1, 2}, function(x) return (x + 1) / 3 end},
  {"normal_", {1, 2}, function(x)
    return st.special_ndtr((x - 1) / 2)
  end},
  {"exponential_", {2}, function(x) return -st.expm1(-2 * x) end},
  {"cauchy_", {1, 2}, function(x)
    return st.atan((x - 1) / 2) / pi + 0.5
  end},
  {"log_normal_", {1, 0.5}, function(x)
    return st.special_ndtr((x:log() - 1) / 0.5)
  end},
}

local function factorial(k)
  return exp(st.lgamma(tensors.f64 {k + 1}):item())
end

local COUNTS = {
  {"geometric_", {0.3}, function(k)
    return k < 1 and 0 or 0.3 * 0.7 ^ (k - 1)
  end},
  {"bernoulli_", {0.3}, function(k) return k == 1 and 0.3 or 0.7 end},
  {"random_", {10}, function() return 0.1 end},
}

for _, algorithm in ipairs {"mt19937", "philox"} do
  describe("Numbers of " .. algorithm .. " are distributed as", function()
    local function generator(seed)
      return {generator = st.Generator {algorithm = algorithm, seed = seed}}
    end

    for _, row in ipairs(CONTINUOUS) do
      local name, arguments, cdf = row[1], row[2], row[3]
      it(name .. " says", function()
        for _, dtype in ipairs {"float32", "float64"} do
          for _, layout in ipairs {"contiguous", "strided"} do
            local x = st.empty({20000, 2}, {dtype = dtype})
            x = layout == "strided" and x:select(2, 1) or x:view(-1)
            local a, b = arguments[1], arguments[2]
            if b then x[name](x, a, b, generator(5))
            else x[name](x, a, generator(5)) end
            samples.check_continuous(x, cdf)
          end
        end
      end)
    end

    for _, row in ipairs(COUNTS) do
      it(row[1] .. " says", function()
        local x = st.empty {20000}
        x[row[1]](x, row[2][1], generator(6))
        samples.check_counts(x, row[3])
      end)
    end

    it("poisson, binomial, multinomial and randperm say", function()
      local g = generator(7).generator
      local e = exp(-3.5)
      samples.check_counts(st.poisson(st.full({20000}, 3.5), g), function(k)
        return e * 3.5 ^ k / factorial(k)
      end)
      samples.check_counts(
        st.binomial(st.ones {20000} * 6, st.full({20000}, 0.4), g),
        function(k)
          if k > 6 then return 0 end
          return factorial(6) / factorial(k) / factorial(6 - k) * 0.4 ^ k *
                 0.6 ^ (6 - k)
        end)
      for _, rate in ipairs {20, 57.5} do
        samples.check_counts(
          st.poisson(tensors.f64({rate}):expand(20000), g), function(k)
            return exp(k * math.log(rate) - rate) / factorial(k)
          end)
      end
      samples.check_counts(
        st.binomial(st.ones {20000} * 60, st.full({20000}, 0.3), g),
        function(k)
          if k > 60 then return 0 end
          return factorial(60) / factorial(k) / factorial(60 - k) * 0.3 ^ k *
                 0.7 ^ (60 - k)
        end)
      local weights = tensors.f64 {1, 2, 3, 4}
      for _, n in ipairs {1, 2} do
        local first = st.multinomial(weights:expand(20000, 4), n, false,
                                     from(g)):select(2, 1) - 1
        samples.check_counts(first, function(k) return (k + 1) / 10 end)
      end
      samples.check_counts(
        st.multinomial(weights, 20000, true, from(g)) - 1,
        function(k) return (k + 1) / 10 end)
      local first = {}
      for i = 1, 6000 do first[i] = st.randperm(5, from(g))[1] - 1 end
      samples.check_counts(st.tensor(first), function() return 0.2 end)
    end)
  end)
end
