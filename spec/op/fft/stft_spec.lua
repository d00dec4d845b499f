--- Short-time transforms, against transforms of frames cut one by one.
-- axes: isa

local gradients = require "spec.support.gradients"
local st = require "strided"
local tensors = require "spec.support.tensors"

local floor, ipairs = math.floor, ipairs

local F64 = {dtype = "float64"}

-- -- The definition ----------------------------------------------------------

--- Sample i of a signal, from 1 on, and what stands before and behind it.
local BORDERS = {
  constant = function() return nil end,
  reflect = function(i, n) return i < 1 and 2 - i or 2 * n - i end,
  replicate = function(i, n) return i < 1 and 1 or n end,
  circular = function(i, n) return i < 1 and i + n or i - n end,
}

local function extended(t, pad, mode)
  local n, list = #t, {}
  for i = 1 - pad, n + pad do
    local at = i >= 1 and i <= n and i or BORDERS[mode](i, n)
    list[#list + 1] = at and t[at] or 0
  end
  return st.tensor(list, F64)
end

--- Of one signal: frequencies and frames.
local function frames(t, n_fft, hop, window, o)
  local pad = o.center == false and 0 or floor(n_fft / 2)
  local x = extended(t, pad, o.pad_mode or "reflect")
  local columns = {}
  for first = 1, #x - n_fft + 1, hop do
    local frame = x:narrow(1, first, n_fft)
    if window then frame = frame * window end
    columns[#columns + 1] = st.fft.rfft(frame)
  end
  return st.stack(columns, 2)
end

local function same(want, got)
  assert.same(want:size(), got:size())
  assert.equal(want.dtype, got.dtype)
  assert.is_true(st.allclose(want, got, 1e-10, 1e-12))
end

-- -- Values ------------------------------------------------------------------

describe("A short-time transform", function()
  local x

  setup(function()
    st.manual_seed(3)
    x = st.randn({37}, F64)
  end)

  it("transforms frame after frame", function()
    local hann = st.hann_window(8, F64)
    for _, o in ipairs {
      {}, {center = false}, {hop_length = 3}, {window = hann},
      {window = hann, hop_length = 5, pad_mode = "constant"},
      {pad_mode = "replicate"}, {pad_mode = "circular"},
    } do
      o.return_complex = true
      same(frames(x, 8, o.hop_length or 2, o.window, o), st.stft(x, 8, o))
    end
    same(frames(x, 7, 1, nil, {}), st.stft(x, 7, {return_complex = true}))
  end)

  it("puts a short window in the middle of a frame", function()
    local window = st.rand(5, F64)
    local wide = st.cat {st.zeros(1, F64), window, st.zeros(2, F64)}
    same(frames(x, 8, 2, wide, {}),
         st.stft(x, 8, {window = window, win_length = 5,
                        return_complex = true}))
    local ones = st.cat {st.zeros(1, F64), st.ones(5, F64), st.zeros(2, F64)}
    same(frames(x, 8, 2, ones, {}),
         st.stft(x, 8, {win_length = 5, return_complex = true}))
  end)

  it("begins with the window if that is wished", function()
    local window = st.rand(5, F64)
    local wide = st.cat {st.zeros(1, F64), window, st.zeros(2, F64)}
    local padded = st.cat {st.zeros(1, F64), x, st.zeros(2, F64)}
    same(frames(padded, 8, 4, wide, {center = false}),
         st.stft(x, 8, 4, 5, window, {center = false, align_to_window = true,
                                      return_complex = true}))
  end)

  it("goes through a batch", function()
    local batch = st.randn({3, 37}, F64)
    local got = st.stft(batch, 8, {return_complex = true})
    for i = 1, 3 do same(frames(batch[i], 8, 2, nil, {}), got[i]) end
  end)

  it("has more forms", function()
    local whole = st.stft(x, 8, {return_complex = true})
    same(st.view_as_real(whole), st.stft(x, 8, {return_complex = false}))
    same(whole / 8 ^ 0.5, st.stft(x, 8, {return_complex = true,
                                         normalized = true}))
    local two = st.stft(x, 8, {return_complex = true, onesided = false})
    same(whole, two:narrow(1, 1, 5))
    same(two, st.stft(x:to "complex128", 8))
    local window = st.complex(st.rand(8, F64), st.rand(8, F64))
    same(st.stft(x * 1, 8, {window = window}),
         st.stft(x:to "complex128", 8, {window = window}))
  end)

  it("is inverted", function()
    for _, o in ipairs {
      {center = true}, {window = st.hann_window(8, F64)}, {hop_length = 3},
      {window = st.hamming_window(6, F64), win_length = 6},
      {normalized = true}, {onesided = false}, {center = false},
    } do
      for _, t in ipairs {x, st.randn({2, 37}, F64)} do
        o.return_complex = true
        local spectrum = st.stft(t, 8, o)
        o.return_complex = nil
        local back = st.istft(spectrum, 8, o)
        same(t:narrow(-1, 1, back:size(-1)), back)
        assert.is_true(back:size(-1) >= 35)
        o.length = 30
        same(t:narrow(-1, 1, 30), st.istft(spectrum, 8, o))
        o.length = nil
      end
    end
    local z = st.randn({37, 2}, F64)
    z = st.view_as_complex(z)
    same(z:narrow(1, 1, 36), st.istft(st.stft(z, 8), 8,
                                      {return_complex = true}))
  end)

  it("warns of samples that no frame has", function()
    local spectrum = st.stft(x, 8, {return_complex = true})
    local texts = {}
    local before = st.warnings(function(text) texts[#texts + 1] = text end)
    local got = st.istft(spectrum, 8, {length = 60})
    st.warnings(before)
    assert.matches("length is more than the frames cover", texts[1])
    assert.same({60}, got:size())
    assert.equal(0, got:narrow(1, 50, 11):abs():max():item())
  end)

  it("has a gradient", function()
    local function power(t)
      return st.stft(t, 8, {return_complex = true}):abs():square()
    end
    local g = gradients.gradient(x, power)
    assert.same(x:size(), g:size())
    local step = 1e-6
    local moved = x:clone()
    moved[5] = moved[5] + step
    local slope = (power(moved):sum():item() - power(x):sum():item()) / step
    assert.is_true(math.abs(slope - g[5]) < 1e-3 * math.abs(g[5]) + 1e-3)
  end)

  local REFUSED = {
    {"stft", function() return st.ones {4, 4, 4}, 2 end,
     "self must be a signal or a batch of them"},
    {"stft", function() return st.arange(9), 2 end,
     "self must be floating or complex, not int64"},
    {"stft", function() return x, 8 end, "return_complex must be given"},
    {"stft", function() return x, 0, {return_complex = true} end,
     "n_fft and hop_length must be positive"},
    {"stft", function() return x, 80, {return_complex = true} end,
     "a signal of 37 samples is too short"},
    {"stft", function()
      return x, 38, {return_complex = true, center = false}
    end, "n_fft is 38, but a signal has 37 samples"},
    {"stft", function()
      return x, 8, {return_complex = true, win_length = 9}
    end, "win_length must be 1 to n_fft, which is 8, not 9"},
    {"stft", function()
      return x, 8, {return_complex = true, window = st.ones(5)}
    end, "window must have one dimension of win_length, which is 8"},
    {"stft", function()
      return x, 8, {return_complex = true, pad_mode = "x"}
    end, "pad_mode must be 'constant'"},
    {"stft", function()
      return x, 8, {return_complex = true, align_to_window = true}
    end, "align_to_window is for center=false only"},
    {"stft", function() return x:to "complex64", 8, {onesided = true} end,
     "onesided must not be true"},
    {"istft", function() return x, 8 end, "self must be complex"},
    {"istft", function() return st.ones {5, 0}:to "complex64", 8 end,
     "self must have the dimensions of frequencies and frames"},
    {"istft", function() return st.ones {4, 3}:to "complex64", 8 end,
     "self has 4 frequencies, but n_fft 8 has 5 (onesided)"},
    {"istft", function()
      return st.ones {5, 3}:to "complex64", 8, {hop_length = 9}
    end, "hop_length must be 1 to win_length, which is 8, not 9"},
    {"istft", function()
      return st.ones {5, 3}:to "complex64", 8, {window = st.zeros(8)}
    end, "the squared windows add up to 0 somewhere"},
    {"istft", function()
      return st.ones {5, 3}:to "complex64", 8, {return_complex = true}
    end, "onesided must not be true with return_complex"},
    {"istft", function()
      return st.ones {5, 3}:to "complex64", 8, {length = -1}
    end, "length must not be negative"},
  }

  for _, row in ipairs(REFUSED) do
    it("is refused: " .. row[1] .. ", " .. row[3], function()
      tensors.refuses(row)
    end)
  end
end)
