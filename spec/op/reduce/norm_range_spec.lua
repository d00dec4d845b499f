--- Norms, distances and standard deviations of elements whose powers leave the
-- range of doubles: the result itself is a number.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local inf, nan = math.huge, 0 / 0

local f64, live, near = tensors.f64, tensors.live, tensors.elements_near

--- elements, power, norm
local ROWS = {
  {{3e160, 4e160}, 2, 5e160}, {{3e-170, 4e-170}, 2, 5e-170},
  {{3e-320, 4e-320}, 2, 5e-320}, {{1e160, 0, 1e-160}, 2, 1e160},
  {{2e150, 2e150}, 3, 2 ^ (1 / 3) * 2e150}, {{1e-200, 0}, 2.5, 1e-200},
  {{1e160, 1e160}, -2, 1e160 / 2 ^ 0.5}, {{3e-160}, -4, 3e-160},
  {{0, 1e-160}, -2, 0}, {{0, 0}, 2, 0}, {{inf, 1}, 2, inf}, {{-inf}, -2, inf},
  {{1e308, 1e308, 1e308, 1e308}, 2, inf}, {{1e200, nan}, 2, nan},
}

describe("A norm", function()
  local before
  setup(function() before = live() end)
  teardown(function() assert.equal(before, live()) end)

  it("is right where the sum of powers over- or underflows", function()
    for _, row in ipairs(ROWS) do
      local x, p, want = f64(row[1]), row[2], {row[3]}
      near(st.linalg.vector_norm(x, p, {1}, true), want, 1e-15)
      near(st.norm(-x, p), want, 1e-15)
      near(st.norm(x:to "complex128", p), want, 1e-15)
    end
    near(st.linalg.matrix_norm(f64 {{1e160, 1e160}, {1e160, 1e160}}), {2e160},
         1e-15)
  end)

  it("of floats is so for any power", function()
    for _, x in ipairs {1e38, 1e-38} do
      local t = st.tensor {x, x}
      near(st.norm(t, 10), {2 ^ 0.1 * x}, 1e-6)
    end
  end)

  it("keeps its bits beside such norms", function()
    st.manual_seed(3)
    local x = st.randn({5, 40}, {dtype = "float64"})
    for _, p in ipairs {2, 3.5, -1.5} do
      local want = st.linalg.vector_norm(x, p, 2)
      local y = st.cat {x, f64 {{1e200}, {0}, {1e-200}}:expand(3, 40)}
      local got = st.linalg.vector_norm(y, p, 2)
      assert.is_true(got:narrow(1, 1, 5):equal(want))
      near(got:narrow(1, 6, 3), {1e200 * 40 ^ (1 / p), 0,
                                 1e-200 * 40 ^ (1 / p)}, 1e-11)
      local out = st.zeros({16}, {dtype = "float64"}):as_strided({8}, {2})
      st.linalg.vector_norm(y, p, {2}, {out = out})
      assert.is_true(out:equal(got))
    end
  end)

  it("may be written over its input", function()
    for _, p in ipairs {2, 3, -2} do
      local x = f64 {{3e160}, {4e-170}, {0}, {-5}}
      local want = x:abs()
      st.linalg.vector_norm(x, p, {2}, true, {out = x})
      near(x, want:view(-1):totable(), 1e-15)
      local y = f64 {{3e160, 4e160}, {0, 1}, {6e-170, 8e-170}}
      local first = y:select(2, 1)
      local got = st.linalg.vector_norm(y, p, {2})
      st.linalg.vector_norm(y, p, {2}, {out = first})
      assert.is_true(first:equal(got))
    end
  end)

  it("leaves out= alone where memory runs out", function()
    local x, out = f64 {{3e160, 4e160}, {6e-170, 8e-170}}, f64 {7, 7}
    for name, f in pairs {
      norm = function() st.linalg.vector_norm(x, 2, {2}, {out = out}) end,
      std = function() st.std(x, {2}, {out = out}) end,
    } do
      local failures = 0
      repeat
        out:fill_(7)
        st.memory_fail_at(failures + 1)
        local ok = pcall(f)
        st.memory_fail_at(0)
        if not ok then
          failures = failures + 1
          assert.same({7, 7}, out:totable(), name)
        end
      until ok
      assert.is_true(failures > 10, name)
    end
  end)

  it("is right along any dimensions of any layout", function()
    st.manual_seed(6)
    local sizes = f64 {1, 2 ^ 600, 0, 2 ^ -600, 1}:view(5, 1, 1)
    for _, dtype in ipairs {"float64", "complex128"} do
      local x = st.randn({5, 4, 6}, {dtype = dtype}):index_fill(1, 3, 0)
      for _, order in ipairs {{1, 2, 3}, {2, 3, 1}, {3, 1, 2}} do
        local base, y = x:permute(order), (x * sizes):permute(order)
        local scale = sizes:permute(order)
        for _, dims in ipairs {{1}, {2}, {3}, {1, 2}, {1, 3}, {2, 3}} do
          for _, p in ipairs {2, 3, -2} do
            local top = scale:expand_as(base):amax(dims, true)
            local want = top
            if p < 0 then
              want = scale:expand_as(base):clamp(2 ^ -600):amin(dims, true)
            end
            want = st.linalg.vector_norm(base * (scale / want), p, dims, true)
                   * want
            want = want:masked_fill(top:eq(0), 0)
            local got = st.linalg.vector_norm(y, p, dims, true)
            near(got, want:view(-1):totable(), 1e-14)
            local out = st.zeros(got:squeeze(dims):size(), {dtype = "float64"})
            out = out:t():contiguous():t()
            st.linalg.vector_norm(y, p, dims, {out = out})
            assert.is_true(out:equal(got:squeeze(dims)))
          end
        end
      end
    end
  end)

  it("reads again only what has left the range", function()
    local function requests(f)
      local n = 0
      f()
      repeat
        n = n + 1
        st.memory_fail_at(n)
        local ok = pcall(f)
        st.memory_fail_at(0)
      until ok
      return n
    end
    for dtype, powers in pairs {float64 = {2, 3, 0.5}, float32 = {2, 3, 10},
                                float16 = {3, 30, 50}} do
      local zeros = st.zeros({3, 600}, {dtype = dtype})
      zeros[{1}] = -zeros[{1}]
      local ones = zeros + 1
      for _, p in ipairs(powers) do
        assert.equal(
          requests(function() return st.norm(ones, p, 2) end),
          requests(function() return st.norm(zeros, p, 2) end), dtype)
        assert.same({0, 0, 0}, st.norm(zeros, p, 2):totable())
      end
    end
    local x = f64 {{0, 0, 0}, {0.3, 0.3, 0.3}, {1, 2, 3}, {7e-300, 7e-300,
                   7e-300}}
    for _, dtype in ipairs {"float64", "complex128"} do
      local c, other = x:to(dtype), st.rand({4, 3}, {dtype = dtype})
      assert.equal(requests(function() st.std(other, 2) end),
                   requests(function() st.std(c, 2) end), dtype)
      assert.same({0, 0, 1, 0},
                  st.std(c, 2):mul(2 ^ 40):floor():div(2 ^ 40):totable())
      other, c = st.rand({3, 4}, {dtype = dtype}), c:t():contiguous()
      assert.equal(requests(function() st.std(other, 1) end),
                   requests(function() st.std(c, 1) end), dtype)
    end
    local y = f64 {{1e-170, -1e-170, 0}, {0, 0, 0}}
    near(st.std(y, 2), {1e-170, 0}, 1e-15)
  end)

  it("of narrow floats is right for any power", function()
    for dtype, list in pairs {
      float32 = {2 ^ 127, 2 ^ -149}, bfloat16 = {2 ^ 127, 2 ^ -133},
      float16 = {65504, 2 ^ -24},
    } do
      for _, v in ipairs(list) do
        for _, p in ipairs {0.1, 0.9, 3, 5.9, 6, 6.5, 8, 36.9, 37.1, 45} do
          for _, sign in ipairs {1, -1} do
            local t = st.full({3}, v, {dtype = dtype}):to "float64":to(dtype)
            near(st.linalg.vector_norm(t["1:1"], sign * p):to "float64",
                 t["1:1"]:to "float64":totable(), 0)
          end
        end
      end
    end
  end)

  it("has the gradients of its direction", function()
    for _, size in ipairs {1e160, 1, 1e-170, 1e-300} do
      for _, p in ipairs {2, 3, -2} do
        local x = f64 {3 * size, -4 * size}
        local r = (3 ^ p + 4 ^ p) ^ (1 / p)
        x:requires_grad_()
        near(st.grad(st.linalg.vector_norm(x, p), x),
             {(3 / r) ^ (p - 1), -(4 / r) ^ (p - 1)}, 1e-12)
      end
    end
    local x = f64 {0, 0}
    x:requires_grad_()
    for _, p in ipairs {2, 3, 0.5, -2} do
      assert.same({0, 0}, st.grad(st.norm(x, p), x):totable())
    end
  end)
end)

describe("A distance", function()
  it("is right where squares leave the range", function()
    for _, size in ipairs {1e160, 1e-170} do
      local x = f64 {{3 * size, 0}, {0, -4 * size}}
      near(st.pdist(x), {5 * size}, 1e-15)
      near(st.dist(x[{1}], x[{2}]), {5 * size}, 1e-15)
      near(st.cdist(x, x), {0, 5 * size, 5 * size, 0}, 1e-15)
    end
    near(st.pairwise_distance(f64 {{3e160, 4e160}}, f64 {{0, 0}}), {5e160},
         1e-15)
    near(st.normalize(f64 {{3e160, 4e160}}, 2, 2), {0.6, 0.8}, 1e-15)
    near(st.cosine_similarity(f64 {{3e160, 4e160}}, f64 {{1e200, 0}}), {0.6},
         1e-15)
    near(st.renorm(f64 {{3e160, 4e160}, {0.3, 0.4}}, 2, 1, 1),
         {0.6, 0.8, 0.3, 0.4}, 1e-15)
  end)

  it("by products of matrices is so, too", function()
    st.manual_seed(5)
    local x = st.randn({30, 3}, {dtype = "float64"})
    local y = st.randn({40, 3}, {dtype = "float64"})
    local want = st.cdist(x, y, {compute_mode = 2})
    for dtype, sizes in pairs {float64 = {1e160, 1e-170},
                               float32 = {1e25, 1e-30}} do
      for _, size in ipairs(sizes) do
        local a, b = (x * size):to(dtype), (y * size):to(dtype)
        local got = st.cdist(a, b):to "float64" / size
        local off = (got - want):abs():amax():item()
        assert.is_true(off < (dtype == "float64" and 1e-13 or 1e-4), off)
      end
    end
  end)

  it("of a row out of range leaves the other rows as they are", function()
    for dtype, size in pairs {float64 = 1e300, float32 = 1e30} do
      local x = st.full({2, 30, 3}, 1, {dtype = dtype})
      local y = st.zeros({2, 30, 3}, {dtype = dtype})
      x[{1, 1}] = size
      local got = st.cdist(x, y)
      near(got[{2, 5, {1, 1}}], {3 ^ 0.5}, 1e-6)
      near(got[{1, 5, {1, 1}}], {3 ^ 0.5}, 1e-6)
      near(got[{1, 1, {1, 1}}] / size, {3 ^ 0.5}, 1e-6)
    end
    local none, pair = st.zeros(0, 3), st.zeros(0, 30, 3)
    assert.equal("{0, 30}", tostring(st.cdist(none, st.zeros(30, 3)).shape))
    assert.equal("{0, 30, 30}", tostring(st.cdist(pair, pair).shape))
  end)

  it("has gradients there", function()
    for _, p in ipairs {2, 3} do
      local want
      for _, size in ipairs {1, 2 ^ 530, 2 ^ -560} do
        local x, y = f64 {{3, 1}, {0, -4}} * size, f64 {{1, 0.5}} * size
        x:requires_grad_()
        local got = st.grad(st.cdist(x, y, p):sum(), x)
        want = want or got
        near(got, want:view(-1):totable(), 1e-14)
      end
    end
  end)

  it("has gradients where a quotient underflows", function()
    for _, row in ipairs {{"float16", 8, 1e-7}, {"float32", 1e25, 1e-21},
                          {"float64", 1e200, 1e-200}} do
      local x = st.tensor({{row[2], row[3]}}, {dtype = row[1]})
      x:requires_grad_()
      local y = st.zeros({1, 2}, {dtype = row[1]})
      near(st.grad(st.cdist(x, y, 3):sum(), x), {1, 0}, 1e-3)
    end
  end)
end)

describe("A standard deviation", function()
  local function std(list, size)
    return st.std(f64(list) * size, 1):item() / size
  end

  it("is right where squares leave the range", function()
    for _, size in ipairs {1e160, 1e-170, 1e-310, 1e308} do
      assert.is_true(math.abs(std({-1, 0.5, 1.5}, size) -
                              (19 / 12) ^ 0.5) < 1e-12, size)
    end
    assert.equal(0, std({1, 1}, 1e-200))
    assert.equal(math.huge, st.std(f64 {1.7e308, -1.7e308}):item())
    local s, mean = st.std_mean(f64 {{1e160, 3e160}, {1, 3}}, 2)
    near(s, {2 ^ 0.5 * 1e160, 2 ^ 0.5}, 1e-15)
    near(mean, {2e160, 2}, 1e-15)
    local x = f64 {{3e160, 1e160}, {5e-200, 3e-200}}
    near(st.std(x:to "complex128", 2), {2 ^ 0.5 * 1e160, 2 ^ 0.5 * 1e-200},
         1e-15)
    local over = x:select(2, 1)
    st.std(x, {2}, {out = over})
    near(over, {2 ^ 0.5 * 1e160, 2 ^ 0.5 * 1e-200}, 1e-15)
  end)

  it("keeps its bits beside such ones", function()
    st.manual_seed(4)
    local x = st.randn({5, 40}, {dtype = "float64"})
    local y = st.cat {x, x["1:2"] * 2 ^ 600, x["1:1"] * 2 ^ -600}
    local want, got = st.std(x, 2), st.std(y, 2)
    assert.is_true(got["1:5"]:equal(want))
    assert.is_true((got["6:7"] * 2 ^ -600):equal(want["1:2"]))
    assert.is_true((got["8:8"] * 2 ^ 600):equal(want["1:1"]))
  end)
end)
