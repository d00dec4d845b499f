--- Initial values: PyTorch 2.15's numbers of a seed, and their distribution.
-- axes: lua

local st = require "strided"
local samples = require "spec.support.samples"
local tensors = require "spec.support.tensors"

local near, raises = tensors.near, tensors.raises
local trunc_normal_ = st.nn.init.trunc_normal_

local function last_four(t) return t:narrow(1, 17, 4):totable() end

describe("nn.trunc_normal_", function()
  local before
  setup(function() before = tensors.live() end)
  teardown(function() assert.equal(before, tensors.live()) end)

  -- torch.manual_seed(3), torch.nn.init.trunc_normal_
  it("gives PyTorch's numbers", function()
    st.manual_seed(3)
    near({0.803276062, 0.174833387, 0.0889780968, -0.613718033, 0.0461824499},
         trunc_normal_(st.empty {5}):totable(), 1e-7)
    local t = st.empty({20}, {dtype = "float64"})
    st.manual_seed(3)
    near({1.01437643, 1.12121855, 1.05644891, 0.500790832},
         last_four(trunc_normal_(t, {mean = 1, std = 0.5, a = 0.5, b = 1.2})),
         1e-7)
    st.manual_seed(3)
    near({2.34469142, 2.38410479, 3.07491466, 3.32447956},
         last_four(trunc_normal_(t, {a = 2, b = 5})), 1e-7)
  end)

  it("is distributed as it says, for both ways and generators", function()
    for _, algorithm in ipairs {"mt19937", "philox"} do
      for _, row in ipairs {{0, 1, -2, 2}, {1, 0.5, 0.5, 1.2}, {0, 1, 2, 5}} do
        local mean, std, a, b = row[1], row[2], row[3], row[4]
        local t = st.empty({20000}, {dtype = "float64"})
        assert.equal(t, trunc_normal_(t, {
          mean = mean, std = std, a = a, b = b,
          generator = st.Generator {algorithm = algorithm, seed = 2}}))
        local function cdf(x) return st.special_ndtr((x - mean) / std) end
        local low, high = cdf(tensors.f64 {a}), cdf(tensors.f64 {b})
        samples.check_continuous(t, function(x)
          return (cdf(x) - low) / (high - low)
        end)
      end
    end
  end)

  it("fills parameters, and checks its arguments", function()
    local w = st.nn.Parameter(st.zeros(3, 4))
    trunc_normal_(w)
    assert.is_true(w.requires_grad and w:ne(0):all():item())
    raises("a less than b", trunc_normal_, w, {a = 2, b = 1})
    raises("must be a tensor", trunc_normal_, 1)
    raises("sdt", trunc_normal_, w, {sdt = 1})
  end)
end)
