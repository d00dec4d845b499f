--- Fourier transforms, against their definition: a product with the matrix of
-- exp(-2 pi i j k / n), whose elements are computed by Lua.
-- axes: isa threads
-- sampled: 3

local collect = require "spec.support.collect"
local st = require "strided"
local interrupt = require "spec.support.interrupt"
local tensors = require "spec.support.tensors"

local cos, ipairs, pairs, pi, sin = math.cos, ipairs, pairs, math.pi, math.sin

local unpack = unpack or table.unpack

local fft = st.fft
local kinds, raises = tensors.kinds, tensors.raises

-- -- The definition ----------------------------------------------------------

local matrices = {}

--- The matrix of n numbers, complex128; the exponent has this sign.
local function matrix(n, sign)
  local key = n .. sign
  if matrices[key] then return matrices[key] end
  local list = {}
  for j = 0, n - 1 do
    for k = 0, n - 1 do
      local angle = 2 * pi * ((j * k) % n) / n
      list[#list + 1] = cos(angle)
      list[#list + 1] = (sign == "forward" and -1 or 1) * sin(angle)
    end
  end
  local t = st.tensor(list, {dtype = "float64"}):view(n, n, 2)
  matrices[key] = st.view_as_complex(t)
  return matrices[key]
end

local function dft(t, dim, sign)
  local n = t.shape[dim]
  local lines = t:to "complex128":resolve_conj():movedim(dim, -1)
  return lines:matmul(matrix(n, sign)):movedim(-1, dim)
end

--- n numbers along dim: cut, or zeros behind them.
local function resized(t, dim, n)
  local m = t.shape[dim]
  if n <= m then return t:narrow(dim, 1, n) end
  local shape = {}
  for d, size in ipairs(t.shape) do shape[d] = d == dim and n - m or size end
  return st.cat({t, st.zeros(shape, {dtype = t.dtype})}, dim)
end

--- A half along dim becomes n numbers; the others are conjugates.
local function completed(t, dim, n)
  local rest = n - t.shape[dim]
  if rest <= 0 then return t:narrow(dim, 1, n) end
  return st.cat({t, t:narrow(dim, 2, rest):flip {dim}:conj()}, dim)
end

local SCALES = {
  forward = {backward = 0, ortho = 0.5, forward = 1},
  backward = {backward = 1, ortho = 0.5, forward = 0},
}

local function scaled(t, n, sign, norm)
  return t:div(n ^ SCALES[sign][norm or "backward"])
end

-- -- Comparing ---------------------------------------------------------------

local TOLERANCES = {float32 = 3e-6, float64 = 2e-14, complex64 = 3e-6,
                    complex128 = 2e-14}

--- The norm of the difference is small compared with that of what is wanted,
-- as the theory of transforms says of rounding.
local function same(want, got, tolerance)
  assert.same(want:size(), got:size())
  if want:numel() == 0 then return end
  local off = got:to "complex128":sub(want):abs():square():sum():item()
  local norm = want:abs():square():sum():item()
  assert.is_true(off <= tolerance ^ 2 * math.max(norm, 1e-300),
                 ("off by %g"):format((off / norm) ^ 0.5))
end

local function complex_of(dtype)
  return (dtype == "float32" or dtype == "complex64") and "complex64"
         or "complex128"
end

local function random(shape, dtype)
  if not dtype:find "complex" then return st.randn(shape, {dtype = dtype}) end
  local pairs_of = {}
  for i, n in ipairs(shape) do pairs_of[i] = n end
  pairs_of[#pairs_of + 1] = 2
  local parts = st.randn(pairs_of, {
    dtype = dtype == "complex64" and "float32" or "float64"})
  return st.view_as_complex(parts)
end

local function check_axis(t, dim, n, norm, tolerance)
  local m = n or t.shape[dim]
  local whole = resized(t, dim, m)
  same(scaled(dft(whole, dim, "forward"), m, "forward", norm),
       fft.fft(t, n, dim, norm), tolerance)
  same(scaled(dft(whole, dim, "backward"), m, "backward", norm),
       fft.ifft(t, n, dim, norm), tolerance)
  if not t:is_complex() then
    local half = math.floor(m / 2) + 1
    same(scaled(dft(whole, dim, "forward"), m, "forward", norm)
           :narrow(dim, 1, half), fft.rfft(t, n, dim, norm), tolerance)
    same(scaled(dft(whole, dim, "backward"), m, "backward", norm)
           :narrow(dim, 1, half), fft.ihfft(t, n, dim, norm), tolerance)
  end
end

--- Real results of a half. The imaginary parts of the first number, and of the
-- middle one, do not count.
local function check_half(t, dim, n, norm, tolerance)
  local m = n or 2 * (t.shape[dim] - 1)
  local half = resized(t, dim, math.floor(m / 2) + 1):to "complex128"
  half = half:resolve_conj():clone()
  half:narrow(dim, 1, 1):copy_(half:narrow(dim, 1, 1):real())
  local whole = completed(half, dim, m)
  if m % 2 == 0 then
    local middle = whole:narrow(dim, m / 2 + 1, 1)
    middle:copy_(middle:real():clone())
  end
  same(scaled(dft(whole, dim, "backward"), m, "backward", norm),
       fft.irfft(t, n, dim, norm), tolerance)
  same(scaled(dft(whole:conj(), dim, "backward"):conj(), m, "forward", norm),
       fft.hfft(t, n, dim, norm):to "complex128":conj(), tolerance)
end

-- -- Layouts -----------------------------------------------------------------

--- The elements of t in other layouts: transposed, spread, reversed in memory,
-- repeated, and lazy ones.
local function layouts(t)
  local out = {dense = t, transposed = t:mT():clone():mT(),
               flipped = t:flip {-1}:flip {-1}}
  local wide = {}
  for d, n in ipairs(t.shape) do wide[d] = 2 * n end
  local spread = st.zeros(wide, {dtype = t.dtype})
  for d, n in ipairs(t.shape) do
    spread = spread:slice(d, 1, 2 * n, 2)
  end
  out.spread = spread:copy_(t)
  if t:is_complex() then
    out.conjugate = t:conj():resolve_conj():conj()
    local parts = st.zeros({t:numel() + 1}, {dtype = t.dtype})
    out.shifted = parts:narrow(1, 2, t:numel()):view(t.shape):copy_(t)
  end
  return out
end

-- -- Values ------------------------------------------------------------------

local LENGTHS = {1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 18, 31, 64, 105, 101, 111,
                 128, 202}

for dtype, tolerance in pairs(TOLERANCES) do
  describe("A transform of " .. dtype, function()
    before_each(function() st.manual_seed(4) end)

    for _, n in ipairs(LENGTHS) do
      it("has the numbers of its definition, of " .. n, function()
        local t = random({3, n}, dtype)
        check_axis(t, 2, nil, nil, tolerance)
        if n > 1 then check_half(t, 2, nil, nil, tolerance) end
        check_half(t, 2, 2 * n - 1, "ortho", tolerance)
        local got = fft.fft(t)
        assert.equal(complex_of(dtype), got.dtype)
      end)
    end

    it("is along any dimension, for every norm", function()
      local t = random({4, 6, 5}, dtype)
      for dim = 1, 3 do
        for _, norm in ipairs {"backward", "ortho", "forward"} do
          check_axis(t, dim, nil, norm, tolerance)
          check_half(t, dim, nil, norm, tolerance)
        end
      end
    end)

    it("is cut or padded", function()
      local t = random({4, 6}, dtype)
      for _, n in ipairs {1, 3, 6, 7, 20} do
        check_axis(t, 1, n, nil, tolerance)
        check_axis(t, 2, n, "ortho", tolerance)
        check_half(t, 1, n, nil, tolerance)
        check_half(t, 2, n, "forward", tolerance)
      end
    end)

    it("has the same bits in every layout", function()
      local t = random({6, 5, 20}, dtype)
      for dim = 1, 3 do
        local want = fft.fft(t, nil, dim)
        local real = fft.irfft(t, nil, dim)
        assert.is_true(want:is_contiguous() and real:is_contiguous())
        for name, other in pairs(layouts(t)) do
          assert.is_true(want:equal(fft.fft(other, nil, dim)), name)
          assert.is_true(real:equal(fft.irfft(other, nil, dim)), name)
        end
      end
    end)

    it("has the same bits in every layout of out=", function()
      local t = random({6, 20}, dtype)
      local want = fft.fft(t, nil, 1)
      for name, out in pairs(layouts(st.zeros_like(want))) do
        if name ~= "conjugate" then
          fft.fft(t, nil, 1, {out = out})
          assert.is_true(want:equal(out), name)
        end
      end
    end)

    it("repeats for repeated lines", function()
      local line = random({1, 12}, dtype)
      local got = fft.fft(line:expand(5, 12))
      local want = fft.fft(line)
      for i = 1, 5 do assert.is_true(want[1]:equal(got[i])) end
      assert.is_true(fft.fft(line:select(2, 1):view(1, 1):expand(2, 9))
        [{{}, {2, 9}}]:abs():max():item() < 1e-5)
    end)

    it("of several dimensions is one after the other", function()
      local t = random({4, 3, 5}, dtype)
      local want = dft(dft(dft(t, 1, "forward"), 2, "forward"), 3, "forward")
      same(want, fft.fftn(t), tolerance)
      same(scaled(want, 60, "forward", "ortho"),
           fft.fftn(t, {norm = "ortho"}), tolerance)
      same(dft(dft(t, 3, "forward"), 2, "forward"), fft.fft2(t), tolerance)
      same(dft(dft(t, 3, "forward"), 1, "forward"),
           fft.fftn(t, nil, {3, 1}), tolerance)
      same(t:to "complex128", fft.ifftn(fft.fftn(t)), tolerance)
      same(t:to "complex128", fft.ifft2(fft.fft2(t)), tolerance)
      local small = resized(resized(t, 2, 4), 3, 2)
      same(dft(dft(small, 2, "forward"), 3, "forward"),
           fft.fft2(t, {4, 2}), tolerance)
    end)

    it("of several dimensions has a half of the last one", function()
      local t = random({4, 3, 5}, dtype:gsub("complex64", "float32")
                                       :gsub("complex128", "float64"))
      same(fft.fftn(t:to "float64"):narrow(3, 1, 3), fft.rfftn(t), tolerance)
      same(fft.ifftn(t:to "float64"):narrow(3, 1, 3), fft.ihfftn(t), tolerance)
      same(t:to "complex128", fft.irfftn(fft.rfftn(t), {4, 3, 5}), tolerance)
      same(t:to "complex128", fft.hfftn(fft.ihfftn(t), {4, 3, 5}), tolerance)
      same(t:to "complex128", fft.irfft2(fft.rfft2(t), {3, 5}), tolerance)
      same(t:to "complex128", fft.hfft2(fft.ihfft2(t), {3, 5}), tolerance)
      same(fft.fftn(t:to "float64", nil, {2, 1}):narrow(1, 1, 3),
           fft.rfftn(t, nil, {2, 1}), tolerance)
    end)

    it("leaves its argument as it was, and nothing behind", function()
      local before = kinds()
      local function call()
        local t = random({3, 8}, dtype)
        local copy = t:clone()
        fft.irfftn(t)
        fft.hfft(t)
        fft.fft(t)
        assert.is_true(copy:equal(t))
      end
      call()
      assert.same(before, kinds())
    end)
  end)
end

-- -- Lines side by side -------------------------------------------------------

--- Lengths of every radix, and of several passes; rows by eighths of one octet,
-- or a half, and of several that overlap.
local SIDES = {2, 3, 4, 6, 9, 10, 11, 12, 13, 14, 15, 16, 18, 30, 96, 104, 105,
               128, 220, 32, 60, 64, 120, 200}
-- One of so many.
local STEP = os.getenv "STRIDED_SANITIZED" and 4 or 1

describe("Transforms of many lines", function()
  before_each(function() st.manual_seed(5) end)

  for dtype, tolerance in pairs(TOLERANCES) do
    it("have the numbers of their definition, in " .. dtype, function()
      for i = 1, #SIDES, STEP do
        local n = SIDES[i]
        for dim = 1, 2 do
          local count = ({7, 8, 9, 19, 16, 17, 33})[i % 7 + 1]
          local t = random(dim == 1 and {n, count} or {count, n}, dtype)
          local norm = ({"backward", "ortho", "forward"})[i % 3 + 1]
          check_axis(t, dim, nil, norm, tolerance)
          check_half(t, dim, nil, norm, tolerance)
          check_half(t, dim, 2 * n, norm, tolerance)
        end
      end
      local t = random({3, 1000, 3}, dtype)
      check_axis(t, 2, nil, nil, tolerance)
      check_half(t, 2, nil, nil, tolerance)
    end)
  end

  it("have the same bits at every place", function()
    for dtype in pairs(TOLERANCES) do
      for _, n in ipairs {16, 32, 64, 105, 1000} do
        for _, count in ipairs {8, 9, 10, 19} do
          local t = random({count, n}, dtype)
          local columns = t:t():contiguous()
          for _, name in ipairs {"fft", "ifft", "irfft"} do
            local want = fft[name](t)
            assert.is_true(want:flip {1}:equal(fft[name](t:flip {1})))
            local last = t:narrow(1, count, 1):expand(count, n)
            assert.is_true(want[count]:equal(fft[name](last)[1]))
            want = fft[name](columns, nil, 1)
            assert.is_true(want:flip {2}:equal(
              fft[name](columns:flip {2}, nil, 1)))
          end
        end
      end
    end
  end)

  it("have the same bits in every layout", function()
    for _, dtype in ipairs {"float32", "complex64", "complex128"} do
      for _, shape in ipairs {{9, 60, 5}, {3, 3, 64}, {9, 33}, {9, 1, 49}} do
        local t = random(shape, dtype)
        for dim = 1, #shape do
          local want = fft.fft(t, nil, dim)
          local real = shape[dim] > 1 and fft.irfft(t, nil, dim)
          for name, other in pairs(layouts(t)) do
            assert.is_true(want:equal(fft.fft(other, nil, dim)), name)
            assert.is_true(not real or
                           real:equal(fft.irfft(other, nil, dim)), name)
          end
        end
      end
    end
  end)

  it("need memory for tiles", function()
    local t = random({8, 3 * 2 ^ 12}, "complex64")
    fft.fft(t)
    collect()
    st.memory.set_limit(st.memory.stats().live + t:numel() * 8 + 2 ^ 16)
    local ok, why = pcall(fft.fft, t)
    st.memory.set_limit()
    assert.is_false(ok)
    assert.matches("memory", tostring(why))
  end)
end)

-- -- Long lines --------------------------------------------------------------

describe("A long transform", function()
  it("has a peak where a wave has its frequency", function()
    for _, n in ipairs {9009, 3 ^ 9, 2 ^ 17, 100003, 3 * 2 ^ 17, 500000} do
      local at = 1234
      local angles = st.arange(n, {dtype = "float64"}):mul(at):remainder(n)
        :mul(2 * pi / n)
      local wave = st.complex(angles:cos(), angles:sin())
      local want = st.zeros(n, {dtype = "complex128"})
      want[at + 1] = 1
      for dtype, tolerance in pairs {complex128 = 1e-14, complex64 = 2e-6} do
        local got = fft.fft(wave:to(dtype), {norm = "forward"})
        same(want, got, tolerance)
      end
      same(wave, fft.ifft(fft.fft(wave)), 1e-14)
    end
  end)

  it("of real numbers is half of one of complex ones", function()
    for _, n in ipairs {2 ^ 18, 3 ^ 11, 2 ^ 18 + 2} do
      local t = st.randn(n, {dtype = "float64"})
      local whole = fft.fft(t:to "complex128")
      same(whole:narrow(1, 1, math.floor(n / 2) + 1), fft.rfft(t), 1e-14)
      same(whole, fft.fft(t), 1e-14)
      same(t:to "complex128", fft.irfft(fft.rfft(t), n), 1e-14)
    end
  end)

  it("has the same bits in every layout", function()
    for _, n in ipairs {2 ^ 16, 40009} do
      local t = random({2, n}, "complex64")
      local want, real = fft.fft(t), fft.irfft(t)
      for name, other in pairs(layouts(t)) do
        assert.is_true(want:equal(fft.fft(other)), name)
        assert.is_true(real:equal(fft.irfft(other)), name)
      end
      assert.is_true(want:mT():equal(fft.fft(t:mT():contiguous(), nil, 1)))
      assert.is_true(want[1]:equal(fft.fft(t[1])))
      local both = fft.fftn(t)
      assert.is_true(both[1]:equal(want[1]:add(want[2])))
      local r = real:flip {2}:flip {2}
      assert.is_true(fft.rfft(real):equal(fft.rfft(r)))
      assert.is_true(fft.fft(real):equal(fft.fft(r)))
    end
  end)

  it("has the same bits for every number of threads", function()
    local threads = st.get_num_threads()
    local function all(t)
      local flat = t:view(-1)
      local line = st.complex(flat, flat:flip {1})
      return {fft.fft(t), fft.fft(t, nil, 1), fft.rfft(t), fft.fftn(t),
              fft.irfft(t), fft.irfftn(t), fft.fft(flat), fft.rfft(flat),
              fft.ifft(line), fft.irfft(line), fft.fft(line, 100003),
              fft.fft(line:view(24, 25000)), fft.rfft(flat:view(3, 200000)),
              fft.fft(line:view(2, 300000), 10007)}
    end
    st.manual_seed(2)
    local t = st.randn({600, 1000})
    st.set_num_threads(1)
    local want = all(t)
    for n = 2, 3 do
      st.set_num_threads(n)
      for i, got in ipairs(all(t)) do
        assert.is_true(want[i]:equal(got), n .. ": " .. i)
      end
    end
    st.set_num_threads(threads)
  end)

  it("may follow transforms of any number of other lengths", function()
    local t = random({1, 300}, "complex128")
    for round = 1, 2 do
      for n = 1, 300, round do
        same(t:narrow(2, 1, n), fft.ifft(fft.fft(t, n)), 1e-14)
      end
    end
  end)

  it("stops at an error of the count hook", function()
    local t = st.zeros(1):expand(2 ^ 14, 2 ^ 10)
    local ok, why = interrupt.stopped(function() fft.fft(t) end, "stop")
    assert.is_false(ok)
    assert.equal("stop", why)
  end)
end)

-- -- Bounds ------------------------------------------------------------------

describe("The arguments of transforms", function()
  it("are promoted", function()
    for _, dtype in ipairs {"bool", "uint8", "int64"} do
      assert.equal("complex64", fft.fft(st.ones(3, {dtype = dtype})).dtype)
      assert.equal("float32", fft.irfft(st.ones(3, {dtype = dtype})).dtype)
    end
    assert.equal("float64", fft.hfft(st.ones(3, {dtype = "float64"})).dtype)
  end)

  it("may be empty in other dimensions", function()
    assert.same({0, 3}, fft.fft(st.zeros(0, 3)):size())
    assert.same({0, 2}, fft.rfft(st.zeros(0, 3)):size())
    assert.same({0, 4}, fft.irfft(st.zeros(0, 3)):size())
    assert.same({3, 0}, fft.fftn(st.zeros(3, 0), nil, {1}):size())
    assert.equal(0, fft.fft(st.zeros(0), 4):abs():max():item())
  end)

  it("may name no dimension where the result is complex", function()
    local t = random({2, 2}, "complex64")
    assert.is_true(t:equal(fft.fftn(t, nil, {})))
    assert.equal("complex64", fft.ifftn(st.ones(2), nil, {}).dtype)
    assert.same({}, fft.fftn(st.ones {}):size())
  end)

  local x, z = st.ones(2, 3), st.ones(2, 3):to "complex64"

  local REFUSED = {
    {"fft", {x:to "float16"}, "there are no transforms of float16"},
    {"rfft", {x:to "bfloat16"}, "there are no transforms of bfloat16"},
    {"fft", {x, 0}, "0 numbers cannot be transformed"},
    {"fft", {x, -1}, "-1 numbers cannot be transformed"},
    {"fft", {st.zeros(2, 0)}, "0 numbers cannot be transformed"},
    {"irfft", {st.zeros(2, 1)}, "0 numbers cannot be transformed"},
    {"fft", {x, nil, 3}, "dim"},
    {"fft", {st.ones {}}, "self has no dimensions to transform"},
    {"fft", {x, {norm = "x"}, n = 2},
     "norm must be 'backward', 'forward' or 'ortho', not 'x'"},
    {"rfft", {z}, "self must be real, not complex64"},
    {"ihfft", {z}, "self must be real, not complex64"},
    {"rfftn", {z}, "self must be real, not complex64"},
    {"ihfftn", {z}, "self must be real, not complex64"},
    {"fftn", {x, nil, {1, 1}}, "dim"},
    {"fftn", {x, {2, 2}, {1}}, "s has 2 sizes, but dim has 1 dimensions"},
    {"fftn", {x, {2, 2, 2}}, "s has 3 sizes, but self has shape [2, 3]"},
    {"fftn", {x, {2, 0}}, "0 numbers cannot be transformed"},
    {"rfftn", {x, nil, {}}, "at least one dimension must be transformed"},
    {"irfftn", {x, nil, {}}, "at least one dimension must be transformed"},
    {"hfftn", {x, nil, {}}, "at least one dimension must be transformed"},
    {"ihfftn", {st.ones {}}, "at least one dimension must be transformed"},
    {"fft2", {st.ones(3)}, "dim"},
    {"fftn", {st.ones {}, nil, {1}}, "self has no dimensions to transform"},
    {"fft", {x, {out = st.zeros(2, 3)}, n = 2}, "float32"},
  }

  for _, row in ipairs(REFUSED) do
    it("are refused: fft_" .. row[1] .. ", " .. row[3], function()
      raises({"fft_" .. row[1], row[3]}, fft[row[1]],
             unpack(row[2], 1, row[2].n or 3))
    end)
  end

  it("of what the others are made of are refused", function()
    raises("self must be complex64 or complex128, not float32",
           st._fft_c2c, x, {1}, 0, true)
    raises("self must be float32 or float64, not complex64",
           st._fft_r2c, z, {1}, 0, true)
    raises("dim is empty", st._fft_r2c, x, {}, 0, true)
    raises("normalization must be 0", st._fft_c2c, z, {1}, 3, true)
    raises("last_dim_size 9 needs half of it and 1", st._fft_c2r, z, {2}, 0, 9)
    raises("dimension 2 of self, whose shape is [2, 0], has no numbers",
           st._fft_c2c, z:narrow(2, 1, 0), {2}, 0, true)
  end)

  it("may be on Meta", function()
    local t = st.empty({4, 6}, {device = "meta"})
    assert.same({4, 4}, fft.rfft(t):size())
    assert.equal("complex64", fft.rfft(t).dtype)
    assert.same({4, 10}, fft.irfft(t):size())
    assert.equal("meta", fft.fftn(t).device)
  end)

  it("are stopped at a limit of memory", function()
    local t = st.zeros(1):expand(2 ^ 12, 2 ^ 10)
    fft.fft(st.zeros(2 ^ 10))
    collect()
    st.memory.set_limit(st.memory.stats().live + 2 ^ 20)
    local ok, why = pcall(fft.fft, t)
    st.memory.set_limit()
    assert.is_false(ok)
    assert.matches("memory", tostring(why))
  end)

  it("of real numbers have a real sum", function()
    for _, n in ipairs {35, 37, 101, 202, 1009} do
      for _, dtype in ipairs {"float32", "float64"} do
        local t = st.randn({2, n}, {dtype = dtype})
        for _, name in ipairs {"rfft", "ihfft"} do
          local sums = fft[name](t):select(2, 1)
          assert.equal(0, sums:imag():abs():max():item())
        end
      end
    end
  end)

  it("of large numbers are finite where the result is", function()
    for _, n in ipairs {16, 64, 1024} do
      local line = st.zeros(n)
      line[1] = 3e38
      assert.is_true(fft.rfft(line):abs():isfinite():all():item())
      assert.near(3, (fft.irfft(fft.rfft(line) / 1e38, n))[1], 1e-5)
    end
  end)
end)
