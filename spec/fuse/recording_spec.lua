--- Recordings of st.fuse leave nothing out: what an operator looks at, checks
-- and fills beside the operators it calls, failures, warnings, and what the
-- recorded function does to its arguments.
-- axes: lua5.4 ffi

local st = require "strided"
local collect = require "spec.support.collect"
local recorded = require "spec.support.recorded.comparison"
local tensors = require "spec.support.tensors"

local failure, raises = tensors.failure, tensors.raises
local ipairs, pcall, tostring = ipairs, pcall, tostring

local function T(t) return st.tensor(t, {dtype = "float64"}) end
local function I(t) return st.tensor(t, {dtype = "int64"}) end

-- -- Elements ----------------------------------------------------------------

-- What it is, the function, lists of arguments: those of the later calls lead
-- to other operators inside than those of the first.
local LOOKS = {
  {"digitize", function(x, bins) return st.digitize(x, bins) end,
   {T {.5, 1.5, 3.5}, T {1, 2, 3}}, {T {.5, 1.5, 3.5}, T {3, 2, 1}}},
  {"nonzero_static", function(x) return st.nonzero_static(x, {size = 4}) end,
   {T {1, 0, 3}}, {T {0, 0, 2}}},
  {"polymul", function(a, b) return st.polymul(a, b) end,
   {T {1, 2, 4}, T {1, 5, 9}}, {T {0, 2, 4}, T {0, 0, 9}}},
  {"index_fill with a value in a tensor",
   function(x, at, v) return x:index_fill(1, at, v) end,
   {T {1, 2, 3}, I {1}, T(7)}, {T {1, 2, 3}, I {3}, T(-1)}},
  {"masked_scatter behind a product",
   function(x, mask, y) return (x * 2):masked_scatter(mask, y) end,
   {T {1, 2, 3}, st.tensor {true, false, true}, T {7, 8, 9}},
   {T {1, 2, 3}, st.tensor {false, true, true}, T {5, 6, 7}}},
  {"ctc_loss", function(x, targets)
    return st.ctc_loss(x, targets, {3, 3}, {1, 2})
  end, {st.randn(3, 2, 4):log_softmax(3), I {{2, 3}, {2, 2}}},
   {st.randn(3, 2, 4):log_softmax(3), I {{4, 3}, {3, 4}}}},
  {"ctc_loss with lengths in tensors", function(x, targets, n, m)
    return st.ctc_loss(x, targets, n, m)
  end, {st.randn(3, 2, 4):log_softmax(3), I {{2, 3}, {2, 2}}, I {3, 3},
        I {1, 2}},
   {st.randn(3, 2, 4):log_softmax(3), I {{2, 3}, {2, 2}}, I {2, 3}, I {1, 1}}},
  {"cross_entropy with all targets ignored", function(x, targets)
    return st.cross_entropy(x, targets, {ignore_index = 1})
  end, {T {{1, 2}, {3, 1}}, I {1, 2}}, {T {{1, 2}, {3, 1}}, I {1, 1}}},
  {"stft", function(x, window)
    return st.view_as_real(st.stft(x, 4, {return_complex = true,
                                          window = window, center = true}))
  end, {st.randn(16), st.hann_window(4)}, {st.randn(16), st.ones(4)}},
  {"istft", function(x, window)
    return st.istft(st.stft(x, 4, {return_complex = true, window = window,
                                   center = true}), 4, {window = window})
  end, {st.randn(16), st.hann_window(4)}, {st.randn(16), st.ones(4)}},
  {"Upsample", st.nn.Upsample {scale_factor = 2}, {st.randn(1, 1, 3, 4)},
   {st.randn(1, 1, 3, 4)}},
}
for _, mode in ipairs {"nearest", "linear", "nearest-exact"} do
  LOOKS[#LOOKS + 1] = {"interpolate, " .. mode .. " along a line", function(x)
    return st.interpolate(x, {size = {6}, mode = mode})
  end, {st.randn(1, 1, 3)}, {st.randn(1, 1, 3)}}
end
for _, mode in ipairs {"nearest", "bilinear", "bicubic", "nearest-exact"} do
  for _, antialias in ipairs {false, mode:find "bi" ~= nil or nil} do
    LOOKS[#LOOKS + 1] = {"interpolate, " .. mode .. tostring(antialias),
      function(x)
        return st.interpolate(x, {size = {2, 5}, mode = mode,
                                  antialias = antialias})
      end, {st.randn(1, 1, 3, 4)}, {st.randn(1, 2, 3, 4)}}
  end
end

-- What it is, the function, arguments, and others that are refused.
local CHECKS = {
  {"one_hot", function(x) return st.one_hot(x, 4) end, {I {1, 2}}, {I {1, 5}}},
  {"binary_cross_entropy", function(x, y)
    return st.binary_cross_entropy(x, y)
  end, {T {.5}, T {1}}, {T {1.2}, T {1}}},
  {"gaussian_nll_loss", function(x, y, v)
    return st.gaussian_nll_loss(x, y, v)
  end, {T {1, 2}, T {1, 1}, T {1, 1}}, {T {1, 2}, T {1, 1}, T {1, -1}}},
  {"nanargmax", function(x) return st.nanargmax(x) end, {T {1, 2}},
   {T {0 / 0, 0 / 0}}},
  {"nanargmin", function(x) return st.nanargmin(x) end, {T {1, 2}},
   {T {0 / 0, 0 / 0}}},
  {"segment_reduce", function(x, n)
    return st.segment_reduce(x, "sum", {lengths = n})
  end, {T {3, 1, 3}, I {1, 2}}, {T {3, 1, 3}, I {2, 2}}},
  {"segment_reduce of a negative length", function(x, n)
    return st.segment_reduce(x, "sum", {lengths = n})
  end, {T {3, 1, 3}, I {3}}, {T {3, 1, 3}, I {-100}}},
  {"cov", function(x, w) return st.cov(x, {aweights = w}) end,
   {T {{1, 2, 4}, {3, 1, 7}}, T {1, 2, 3}},
   {T {{1, 2, 4}, {3, 1, 7}}, T {1, -2, 3}}},
  {"cross_entropy", function(x, y) return st.cross_entropy(x, y) end,
   {T {{1, 2}, {3, 1}}, I {1, 2}}, {T {{1, 2}, {3, 1}}, I {1, 3}}},
  {"embedding", function(w, i) return st.embedding(w, i) end,
   {T {{1, 2}, {3, 1}}, I {1, 2}}, {T {{1, 2}, {3, 1}}, I {1, 3}}},
  {"index_select", function(x, i) return x:index_select(1, i) end,
   {T {1, 2}, I {1, 2}}, {T {1, 2}, I {3}}},
  {"linalg_inv", function(x) return st.linalg_inv(x) end,
   {T {{1, 2}, {3, 1}}}, {T {{1, 2}, {2, 4}}}},
  {"linalg_cholesky", function(x) return st.linalg_cholesky(x) end,
   {T {{2, 1}, {1, 2}}}, {T {{1, 2}, {2, 1}}}},
  {"bernoulli", function(p) return st.bernoulli(p) end, {T {.5, .2}},
   {T {.5, 1.2}}},
  {"multinomial", function(p) return st.multinomial(p, 1) end, {T {.5, .2}},
   {T {.5, -1}}},
  {"unravel_index", function(i) return (unpack or table.unpack)(
    st.unravel_index(i, {2, 3})) end, {I {1, 2}}, {I {1, 7}}},
}

local before = tensors.kinds()

describe("A recording", function()
  for _, row in ipairs(LOOKS) do
    it("has what is done to elements: " .. row[1], function()
      assert.is_nil(recorded.compare(row[2], {row[3], row[4]}))
      assert.is_nil(recorded.compare(row[2], {row[4], row[3]}))
    end)
  end

  for _, row in ipairs(CHECKS) do
    it("checks elements: " .. row[1], function()
      assert.is_nil(recorded.compare(row[2], {row[3], row[4], row[3]}))
      assert.is_nil(recorded.compare(row[2], {row[4], row[3]}))
    end)
  end

  it("has an operator that looks at elements as one call", function()
    local f = st.fuse(function(x) return st.one_hot(x + 1, 5) * 2 end)
    local text = f:explain(I {1, 2})
    assert.matches("call one_hot at", text)
    assert.is_nil(text:find("call eq", 1, true))
  end)

  it("is given up when shapes depend on elements", function()
    local calls = 0
    local f = st.fuse(function(a, b)
      calls = calls + 1
      return st.polymul(a, b) + 1
    end)
    for _ = 1, 3 do
      assert.same({41, 81, 145}, f(T {0, 2, 4}, T {20, 20, 0}):totable()
                  and {41, 81, 145})
    end
    assert.same({19, 37}, f(T {0, 2, 4}, T {0, 0, 9}):totable())
    assert.same({19, 37}, f(T {0, 2, 4}, T {0, 0, 9}):totable())
    assert.is_true(calls > 1)
    assert.matches("what aten::polymul returns depends on elements",
                   f:explain(T {0, 2, 4}, T {0, 0, 9}))
  end)

  it("has the warnings of an operator", function()
    local n = 0
    local setting = st.warnings(function() n = n + 1 end)
    local f = st.fuse(function(x, y) return st.l1_loss(x * 2, y) end)
    for _ = 1, 3 do f(st.ones(1, 19), st.ones(23, 1)) end -- warns once
    st.warnings(setting)
    assert.equal(1, n)
  end)

  it("does not take the meta device for that of tensors", function()
    local f = st.fuse(function(x) return (x * 2):to "meta" end)
    for _ = 1, 2 do assert.equal("meta", f(T {1}).device) end
    local g = st.fuse(function(x) return x * 2, st.zeros(2, {device = "meta"})
                      end)
    for _ = 1, 2 do assert.equal("meta", select(2, g(T {1})).device) end
    local h = st.fuse(function(x) return x * st.ones(1, {device = x.device})
                      end)
    for _ = 1, 2 do assert.equal("cpu", h(T {1}).device) end
  end)
end)

-- -- Expressions -------------------------------------------------------------

describe("An elementwise operator", function()
  local lib
  before_each(function() lib = st.library "specrecording" end)
  after_each(function() lib:close() end)

  it("is not made of what looks at elements", function()
    raises("'binary_cross_entropy' (", lib.elementwise, lib,
           "f(Tensor x, Tensor y) -> Tensor", function(x, y)
             return st.binary_cross_entropy(x, y, {reduction = "none"})
           end)
  end)

  it("fails though the result of a call is unused", function()
    lib:elementwise("f(Tensor x, Tensor y) -> Tensor", function(x, y)
      st.floor_divide(x, y)
      return x * 2
    end)
    local f = st.ops.specrecording.f
    assert.same({8, 12}, f(I {4, 6}, I {2, 1}):totable())
    raises("division of integers by zero", f, I {4, 6}, I {2, 0})
  end)
end)

-- -- Failures ----------------------------------------------------------------

describe("A call that fails in a recording", function()
  local UNUSED = {
    {"floor_divide", function(x, y) st.floor_divide(x, y) end},
    {"remainder", function(x, y) st.remainder(x, y) end},
    {"fmod", function(x, y) local _ = x:fmod(y) end},
    {"a division among others", function(x, y)
      local z = (x * 2):floor_divide(y)
      local _ = z + 1
    end},
    {"index_select", function(x, y) x:index_select(1, y) end},
    {"gather", function(x, y) x:gather(1, y) end},
    {"one_hot", function(_, y) st.one_hot(y - 1, 9) end},
  }
  for _, row in ipairs(UNUSED) do
    it("fails though its result is unused: " .. row[1], function()
      assert.is_nil(recorded.compare(function(x, y)
        row[2](x, y)
        return x * 2
      end, {{I {4, 6}, I {2, 1}}, {I {4, 6}, I {2, 0}}, {I {4, 6}, I {1, 1}}}))
    end)
  end

  it("is caught by the function", function()
    local f = st.fuse(function(x, y)
      local ok, z = pcall(st.floor_divide, x, y)
      return ok and z or x * 0 - 1
    end)
    for _ = 1, 2 do
      assert.same({2, 6}, f(I {4, 6}, I {2, 1}):totable())
      assert.same({-1, -1}, f(I {4, 6}, I {2, 0}):totable())
    end
  end)

  it("names the line of the function", function()
    local f = st.fuse(function(x, y)
      return x:floor_divide(y) + 1
    end, {name = "f"})
    local line = debug.getinfo(1, "l").currentline - 2
    f(I {4}, I {2})
    assert.matches("recording_spec.lua:" .. line .. ": floor_divide: division",
                   failure(f, I {4}, I {0}))
  end)

  it("has drawn no random numbers", function()
    local function body(x, y)
      local noise = st.rand_like(x)
      local ok = pcall(st.floor_divide, y, y)
      return ok and noise or noise * 2
    end
    local f = st.fuse(body)
    f(T {1, 2}, I {1, 1})
    for _, y in ipairs {I {1, 1}, I {0, 1}} do
      st.manual_seed(5)
      local want = body(T {1, 2}, y)
      local after = st.rand(1)
      st.manual_seed(5)
      assert.is_true(want:equal(f(T {1, 2}, y)))
      assert.is_true(after:equal(st.rand(1)))
    end
  end)
end)

-- -- Arguments ---------------------------------------------------------------

describe("A function that is recorded", function()
  -- Each does something to its argument a, or to one that it refers to.
  local DOES = {
    {"frees what it refers to", function(a) a:free() end},
    {"resizes what it refers to", function(a) a:resize_ {1000} end},
    {"transposes what it refers to", function(a) a:t_() end},
  }
  for _, row in ipairs(DOES) do
    it("may do what it likes: it " .. row[1], function()
      for _, when in ipairs {"first", "last"} do
        for _ = 1, 20 do
          local a, b = st.ones(3, 4), st.ones(3, 4)
          local f = st.fuse(function(x, y)
            if when == "first" then row[2](a) end
            local ok, r = pcall(function() return y * 2 + 1 end)
            if when == "last" then r = x * y + 1 row[2](a) end
            return ok and r or y
          end)
          local _, r = pcall(f, a, b)
          assert.is_true(st.is_tensor(r), tostring(r))
          assert.equal(when == "first" and 3 or 2, r:sum():item() / 12)
          pcall(f.explain, f, st.zeros(3, 4), st.zeros(3, 4))
        end
      end
    end)
  end

  it("frees its argument once, when it is called", function()
    local f = st.fuse(function(x, y)
      local r = x + y
      x:free()
      return r
    end)
    local a = T {1, 2}
    assert.same({2, 4}, f(a, T {1, 2}):totable())
    raises("freed", function() return a + 1 end)
    assert.matches("it frees a tensor", f:explain(T {1, 2}, T {1, 2}))
  end)

  --- Calls f when the returned object is collected.
  local function finalized(f)
    local meta = {__gc = f}
    if not newproxy then return setmetatable({}, meta) end
    local object = newproxy(true)
    getmetatable(object).__gc = f
    return object
  end

  it("is not harmed by finalizers that free its arguments", function()
    for _ = 1, 50 do
      local a, b = st.ones(3, 4), st.ones(3, 4)
      local f = st.fuse(function(x, y)
        finalized(function() a:free() end)
        collectgarbage()
        return x * y
      end)
      pcall(f, a, b)
      pcall(f.explain, f, st.ones(3, 4), b)
    end
  end)

  teardown(function()
    LOOKS, CHECKS = nil, nil
    collect()
    assert.same(before, tensors.kinds())
  end)
end)
