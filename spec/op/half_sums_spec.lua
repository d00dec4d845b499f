--- Operators of float16 and bfloat16: sums and products are computed in float32
-- and rounded once, so that results are those of float64 rounded to the dtype.
-- axes: isa

local registry = require "spec.grad.gradcheck.registry"
local samples = require "spec.grad.gradcheck.samples"
local st = require "strided"
local values = require "spec.grad.gradcheck.values"

local EPS = {float16 = 2 ^ -10, bfloat16 = 2 ^ -7}

--- x as halves, and the same numbers as float64; what is no floating tensor
-- stays.
local function halves(x, dtype)
  if type(x) == "table" then
    local own, exact = {}, {}
    for k, v in pairs(x) do own[k], exact[k] = halves(v, dtype) end
    return own, exact
  elseif st.is_tensor(x) and x:is_floating_point() then
    local own = x:detach():to(dtype)
    return own, own:to "float64"
  end
  return x, x
end

--- The largest difference in units of the largest element's last place;
-- infinity where one is NaN and the other is not.
local function units(got, exact, dtype)
  if type(got) == "table" then
    local most = 0
    for i = 1, #got do
      most = math.max(most, units(got[i], exact[i], dtype))
    end
    return most
  end
  if not st.is_tensor(got) or got.dtype ~= dtype or got:numel() == 0 or
     exact.dtype ~= "float64" then
    return 0
  end
  exact = exact:detach():to(dtype):to "float64"
  got = got:detach():to "float64"
  if not got:isnan():equal(exact:isnan()) then return math.huge end
  local largest = exact:abs():nan_to_num(0, 0, 0):max():item()
  local off = (got - exact):abs():nan_to_num(0, 0, 0):max():item()
  local _, exponent = math.frexp(largest)
  return largest > 0 and off / (EPS[dtype] * 2 ^ (exponent - 1)) or off
end

local function check(most, dtype, got, exact)
  local off = units(got, exact, dtype)
  assert.is_true(off <= most, ("%g units, %s"):format(off, dtype))
end

-- These are made of other operators, as in PyTorch, whose results are rounded
-- each; a remainder of halves is that of a rounded quotient there, too.
local COMPOSED = {}
for name in ([[rnn_relu_cell rnn_tanh_cell gru_cell lstm_cell chain_matmul
               linalg_multi_dot binary_cross_entropy_with_logits
               multi_margin_loss grid_sampler_3d bilinear remainder.Scalar
               bernoulli _rnn_layer_steps cosine_similarity]]):gmatch "%S+" do
  COMPOSED[name] = true
end

for dtype in pairs(EPS) do
  describe("A result of " .. dtype, function()
    it("is that of float64, rounded, in every operator", function()
      local wrong, count, warnings = {}, 0, st.warnings(false)
      for _, entry in ipairs(registry.all()) do
        for _, one in ipairs(not COMPOSED[entry.name] and samples[entry.name]
                             or {}) do
          local own, exact = halves(values.prepared(one, (values.make(one))),
                                    dtype)
          st.manual_seed(1)
          local ok, got = pcall(function() return {entry.call(unpack(own))} end)
          if ok then
            st.manual_seed(1)
            local off = units(got, {entry.call(unpack(exact))}, dtype)
            count = count + 1
            if off > 1.01 then wrong[#wrong + 1] = entry.name .. " " .. off end
          end
        end
      end
      st.warnings(warnings)
      assert.same({}, wrong)
      assert.is_true(count > 700, count)
    end)

    -- mode, sizes
    for _, row in ipairs {
      {"linear", {2, 3, 31}, {50}}, {"linear", {2, 3, 31}, {13}},
      {"bilinear", {2, 3, 17, 19}, {37, 41}},
      {"bilinear", {2, 3, 17, 19}, {9, 7}},
      {"bicubic", {2, 3, 17, 19}, {37, 41}},
      {"bicubic", {2, 3, 17, 19}, {9, 7}},
      {"trilinear", {1, 2, 7, 9, 8}, {13, 5, 17}},
    } do
      it(("of interpolate is that of float32, %s to %d"):format(
           row[1], row[3][1]), function()
        local g = st.Generator(3)
        for _, corners in ipairs {false, true} do
          local own = halves(st.randn(row[2], {generator = g}), dtype)
          local exact = own:float()
          local o = {size = row[3], mode = row[1], align_corners = corners}
          own:requires_grad_()
          exact:requires_grad_()
          local got, want = st.interpolate(own, o), st.interpolate(exact, o)
          local away = halves(st.randn(got.shape, {generator = g}), dtype)
          assert.is_true(got:equal(want:to(dtype)))
          got:backward(away)
          want:backward(away:float())
          assert.is_true(own.grad:equal(exact.grad:to(dtype)))
        end
      end)
    end
  end)

  describe("Attention in " .. dtype, function()
    local function some(g, ...)
      return halves(st.randn({...}, {generator = g}) * 5, dtype)
    end

    -- what, queries, options
    for _, row in ipairs {
      {"plain", 16, function() end},
      {"with few queries", 2, function() end},
      {"causal", 16, function(o) o.is_causal = true end},
      {"with a mask", 16, function(o, g)
        o.attn_mask = st.rand({16, 24}, {generator = g}):gt(0.3)
      end},
      {"with a bias", 16, function(o, g)
        o.attn_mask = st.randn({2, 16, 24}, {generator = g})
      end},
      {"with shared heads", 16, function(o) o.enable_gqa = true end},
      {"with a scale", 16, function(o) o.scale = 3 end},
    } do
      it("is rounded once, " .. row[1], function()
        local g, o = st.Generator(7), {}
        row[3](o, g)
        local q, exact_q = some(g, 1, 2, row[2], 64)
        local heads = o.enable_gqa and 1 or 2
        local k, exact_k = some(g, 1, heads, 24, 64)
        local v, exact_v = some(g, 1, heads, 24, 64)
        local own, exact = halves(o, dtype)
        for _, t in ipairs {q, k, v, exact_q, exact_k, exact_v} do
          t:requires_grad_()
        end
        local out = st.scaled_dot_product_attention(q, k, v, own)
        local want = st.scaled_dot_product_attention(exact_q, exact_k, exact_v,
                                                     exact)
        assert.equal(dtype, tostring(out.dtype))
        check(1.01, dtype, out, want)
        local away, exactly = some(g, 1, 2, row[2], 64)
        out:backward(away)
        want:backward(exactly)
        check(1.01, dtype, {q.grad, k.grad, v.grad},
              {exact_q.grad, exact_k.grad, exact_v.grad})
      end)
    end

    it("is rounded once in the operator with a derivative", function()
      local g = st.Generator(8)
      local own, exact = {}, {}
      for i, n in ipairs {6, 9, 9} do own[i], exact[i] = some(g, 2, n, 8) end
      local function derivatives(a)
        for i = 1, 3 do a[i]:requires_grad_() end
        local out, lse = st._scaled_dot_product_attention(
          a[1], a[2], a[3], nil, false, 0.1, false)
        local away = out:detach():sin()
        if out.dtype == "float64" then
          away = away:to(dtype):to "float64" -- as the halves have it
        end
        local first = {st.grad({out}, a, {grad_outputs = {away},
                                          create_graph = true})}
        return out, lse, first, {st.grad({first[1]:sum()}, {a[2], a[3]})}
      end
      local out, lse, first, second = derivatives(own)
      local want, exact_lse, exact_first, exact_second = derivatives(exact)
      check(1.01, dtype, {out, lse}, {want, exact_lse})
      check(3, dtype, first, exact_first)
      check(8, dtype, second, exact_second)
    end)

    it("has scores beyond the largest half", function()
      local function of(list) return st.tensor(list):to(dtype) end
      local k, v = of {{{{400, 0}, {-400, 0}, {0, 1}}}}, of {{{{1}, {2}, {3}}}}
      local q = of {{{{400, 0}}}}
      assert.equal(1, st.scaled_dot_product_attention(q, k, v):item())
      assert.equal(1, st.autocast({dtype = dtype},
                                  st.scaled_dot_product_attention, q:float(),
                                  k:float(), v:float()):item())
      assert.equal(2, st.scaled_dot_product_attention(
        q, of {{{{-400, 0}, {-400, 0}, {-400, 1}}}}, v):item())
    end)

    for _, need_weights in ipairs {true, false} do
      it("of nn.MultiheadAttention, " .. (need_weights and "with" or "without")
         .. " weights", function()
        st.manual_seed(9)
        local net = st.nn.MultiheadAttention(8, 2)
        local exactly = st.nn.MultiheadAttention(8, 2)
        net:to(dtype)
        exactly:to(dtype):load_state_dict(net:state_dict())
        exactly:to "float64"
        local x, exact = halves(st.randn(5, 3, 8) * 300, dtype)
        local o = {need_weights = need_weights}
        local out, weights = net(x, x, x, o)
        local want, exact_weights = exactly(exact, exact, exact, o)
        check(16, dtype, out, want)
        if need_weights then
          assert.is_false(weights:isnan():any():item())
          assert.equal(dtype, tostring(weights.dtype))
          assert.equal("float64", tostring(exact_weights.dtype))
        end
        out = st.autocast({dtype = dtype}, function()
          local far = x:float() * 10
          return (st.nn.MultiheadAttention(8, 2)(far, far, x:float(), o))
        end)
        assert.is_false(out:isnan():any():item())
      end)
    end
  end)
end
