--- Calls whose work is one long line, one large unit, or a serial loop: they
-- stop at an error of the count hook as well.
-- axes: isa lua threads
-- sampled: 3

local interrupt = require "spec.support.interrupt"
local st = require "strided"

local N = 2 ^ 22

-- the inputs, made once
local random, bytes, doubles, complex, columns, pair, long, small

-- Each takes tens of milliseconds or more in a loop that did not ask.
local CALLS = {
  {"sort", function() return random:sort() end},
  {"sort of a column", function() return columns:select(2, 1):sort() end},
  {"sort of bytes", function() return bytes:sort(1, true) end},
  {"sort of float64", function() return doubles:sort() end},
  {"argsort", function() return random:argsort() end},
  {"msort", function() return random:msort() end},
  {"topk", function() return random:topk(N / 2) end},
  {"topk of few", function() return random:topk(N / 16) end},
  {"median", function() return random:median() end},
  {"median of a dimension", function() return random:nanmedian(1) end},
  {"kthvalue", function() return random:kthvalue(N / 2) end},
  {"mode", function() return random:mode() end},
  {"cummax", function() return long:cummax(1) end},
  {"cummin", function() return long:cummin(1) end},
  {"cumsum", function() return long:cumsum(1) end},
  {"cumprod", function() return long:cumprod(1) end},
  {"logcumsumexp", function() return random:logcumsumexp(1) end},
  {"softmax", function() return long:softmax(1) end},
  {"log_softmax", function() return long:log_softmax(1) end},
  {"a product of integers with a long inner dimension", function()
    local row = st.ones({1}, {dtype = "int64"}):expand(1, 8 * N)
    return row:mm(row:t())
  end},
  {"a complex product", function() return complex:mm(complex) end},
  {"split", function() return random:split(2) end},
  {"unbind", function() return random:unbind() end},
  {"tensor_split", function() return random:tensor_split(N / 4) end},
  {"a table of borders", function()
    return st.replication_pad1d(small, {1, N})
  end},
  {"a table of bins", function()
    return st.adaptive_avg_pool1d(small, N)
  end},
  {"a window of many rows", function()
    return st.max_pool2d(st.ones(1, 1, 1):expand(1, 64 * N, 4), {64 * N, 1})
  end},
  {"a border of one row", function()
    return st.replication_pad1d(st.ones({1, 1, 1}, {dtype = "uint8"}),
                                {64 * N, 0})
  end},
  {"differences of differences", function()
    return random:narrow(1, 1, 20000):diff(19999)
  end},
  {"text", function()
    st.set_printoptions {profile = "full"}
    return tostring(random)
  end},
}

local function make_inputs()
  random, long = st.rand(N), st.rand(8 * N)
  bytes = st.randint(0, 100, {N}, {dtype = "int8"})
  doubles = st.rand({N}, {dtype = "float64"})
  complex = st.ones({1536, 1536}, {dtype = "complex64"})
  columns, pair = random:view(N / 4, 4), random:view(2, N / 2)
  -- On the meta device, only the tables are computed, for the gradient.
  small = st.empty({1, 1, 2}, {device = "meta", dtype = "float32"})
  small:requires_grad_()
end

describe("A call of one long unit", function()
  setup(make_inputs)
  teardown(function()
    random, bytes, doubles, complex, columns = nil, nil, nil, nil, nil
    pair, long, small = nil, nil, nil
    st.set_printoptions {profile = "default"}
  end)
  after_each(function() debug.sethook() end)

  for _, case in ipairs(CALLS) do
    it("stops at an error of the count hook: " .. case[1], function()
      local failure = {}
      local ok, message = interrupt.stopped(case[2], failure)
      assert.is_false(ok)
      assert.equal(failure, message)
    end)
  end

  it("sorts again afterwards", function()
    local sorted, at = pair:sort()
    assert.is_true(sorted:narrow(2, 2, N / 2 - 1)
      :ge(sorted:narrow(2, 1, N / 2 - 1)):all():item())
    assert.is_true(pair:gather(2, at):equal(sorted))
  end)

  it("stops where another thread has the long piece", function()
    local before, runs = st.get_num_threads(), 0
    -- The first line takes a tenth of the time of the second, or less.
    local ones = st.ones({N}, {dtype = "float64"})
    local lines = st.stack {ones, doubles}
    st.set_num_threads(2)
    debug.sethook(function()
      runs = runs + 1
      if runs > 20 then error("stop", 0) end
    end, "", 1000000)
    local ok, message = pcall(lines.sort, lines)
    debug.sethook()
    st.set_num_threads(before)
    assert.is_false(ok)
    assert.equal("stop", message)
  end)
end)
