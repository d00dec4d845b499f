--- The gradients of batch_norm, number by number against their formula, in
-- every layout; and the gradient of max pooling.
-- axes: isa threads

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, near, raises = tensors.live, tensors.near, tensors.raises

local ipairs, min, sqrt = ipairs, math.min, math.sqrt

local EPS = 1e-5
local F64 = {dtype = "float64"}

local before

setup(function()
  before = live()
  st.manual_seed(7)
end)

teardown(function() assert.equal(before, live()) end)

-- -- batch_norm --------------------------------------------------------------

--- The gradients of input, weight and bias of an input {N, C, L}, in Lua
-- numbers.
local function expected(x, g, w, mean, var, is_measured)
  local n, channels, length = x:size(1), x:size(2), x:size(3)
  local gx, gw, gb = st.zeros({n, channels, length}, F64), {}, {}
  local X, G, out = x:totable(), g:totable(), gx:totable()
  for c = 1, channels do
    local r = 1 / sqrt(var[c] + EPS)
    local of_g, of_gh = 0, 0
    for i = 1, n do
      for k = 1, length do
        of_g = of_g + G[i][c][k]
        of_gh = of_gh + G[i][c][k] * (X[i][c][k] - mean[c]) * r
      end
    end
    gw[c], gb[c] = of_gh, of_g
    local count = is_measured and n * length or math.huge
    for i = 1, n do
      for k = 1, length do
        out[i][c][k] = w[c] * r * (G[i][c][k] - of_g / count -
          (X[i][c][k] - mean[c]) * r * of_gh / count)
      end
    end
  end
  return st.tensor(out, F64), st.tensor(gw, F64), st.tensor(gb, F64)
end

--- The mean and the biased variance of each channel.
local function statistics(x)
  local flat = x:transpose(1, 2):flatten(2)
  return flat:mean(2):totable(), flat:var(2, {correction = 0}):totable()
end

--- Names of layouts, and functions that lay out {N, C, L}, L = 6, as an image.
local LAYOUTS = {
  {"contiguous", function(t) return t:unflatten(3, {2, 3}):contiguous() end},
  {"channels_last", function(t)
    return t:unflatten(3, {2, 3})
            :contiguous {memory_format = "channels_last"}
  end},
  {"channels_last_3d", function(t)
    return t:unflatten(3, {1, 2, 3})
            :contiguous {memory_format = "channels_last_3d"}
  end},
  {"three dimensions", function(t) return t:contiguous() end},
  {"neither", function(t)
    return t:unflatten(3, {2, 3}):transpose(3, 4):contiguous():transpose(3, 4)
  end},
}

describe("The gradient of batch_norm", function()
  for _, dtype in ipairs {"float32", "float64", "bfloat16"} do
    local accuracy = ({float32 = 2e-5, float64 = 1e-12, bfloat16 = 0.06})[dtype]
    for _, layout in ipairs(LAYOUTS) do
      for _, is_measured in ipairs {true, false} do
        it(("is its formula: %s, %s, %s"):format(dtype, layout[1],
           is_measured and "training" or "not training"), function()
          local base = st.randn(5, 70, 6):to(dtype)
          local g = st.randn(5, 70, 6):to(dtype)
          local w = (st.rand(70) + 0.5):to(dtype)
          local mean, var = statistics(base:to "float64")
          if not is_measured then
            for c = 1, 70 do mean[c], var[c] = 0.25, 1.5 end
          end
          local gx, gw, gb = expected(base:to "float64", g:to "float64",
                                      w:totable(), mean, var, is_measured)
          local x = layout[2](base):requires_grad_()
          local b = st.zeros({70}, {dtype = dtype}):requires_grad_()
          w:requires_grad_()
          local o = {dtype = dtype}
          local y = st.batch_norm(x, w, b, st.full({70}, 0.25, o),
                                  st.full({70}, 1.5, o), is_measured, 0, EPS)
          local grads = {st.grad(y, {x, w, b}, {grad_outputs = layout[2](g)})}
          near(gx:view(x:size()), grads[1]:to "float64", accuracy)
          near(gw, grads[2]:to "float64", 20 * accuracy)
          near(gb, grads[3]:to "float64", 20 * accuracy)
          assert.equal(dtype, grads[1].dtype)
        end)
      end
    end
  end

  it("has the layout of the input, whatever that of the gradient", function()
    local CL = {memory_format = "channels_last"}
    local x = st.randn(2, 3, 4, 5):contiguous(CL):requires_grad_()
    local y = st.batch_norm(x, {training = true})
    local gx = st.grad(y, {x}, {grad_outputs = st.randn(2, 3, 4, 5)})
    assert.is_true(gx:is_contiguous "channels_last")
  end)

  it("sums many values as exactly as few", function()
    local x = st.randn(2, 2, 100000):requires_grad_()
    local b = st.zeros(2):requires_grad_()
    local y = st.batch_norm(x, nil, b, {training = true})
    local g = st.full({2, 2, 100000}, 0.1)
    local gb = st.grad(y, {b}, {grad_outputs = g})
    local want = g:to("float64"):sum {1, 3}
    near(want, gb:to "float64", 2e-3)
  end)

  it("of given statistics does not depend on the input", function()
    for _, dtype in ipairs {"float32", "bfloat16"} do
      local x = st.tensor({{1, 2}, {1 / 0, 3}, {5, -1 / 0}})
      x = x:to(dtype):requires_grad_()
      local like = {dtype = dtype}
      local y = st.batch_norm(x, nil, nil, st.zeros({2}, like),
                              st.ones({2}, like), false, 0, 0)
      local gx = st.grad(y, {x}, {grad_outputs = st.ones({3, 2}, like)})
      near(st.ones(3, 2), gx, 0)
    end
  end)

  it("refuses what does not fit", function()
    local x, v = st.zeros(2, 3), st.ones(3)
    local back = st._batch_norm_backward
    raises("_batch_norm_backward: grad_out has shape [3, 2], input has [2, 3]",
           back, st.zeros(3, 2), x, v, v, v, true, EPS)
    raises("_batch_norm_backward: mean must have shape [3], not [2]",
           back, x, x, v, st.ones(2), v, true, EPS)
    raises("_batch_norm_backward: input needs 2 dimensions",
           back, v, v, v, v, v, true, EPS)
  end)
end)

-- -- max_pool ----------------------------------------------------------------

describe("The gradient of max_pool", function()
  --- The gradient of an input of two dimensions, in Lua numbers.
  local function scattered(x, g, kernel, stride)
    local X, G = x:totable(), g:totable()
    local rows, columns = x:size(1), x:size(2)
    local out = st.zeros({rows, columns}, F64):totable()
    for i, line in ipairs(G) do
      for j, value in ipairs(line) do
        local best, at_i, at_j = -math.huge, 0, 0
        for u = (i - 1) * stride + 1, min(rows, (i - 1) * stride + kernel) do
          for v = (j - 1) * stride + 1,
                  min(columns, (j - 1) * stride + kernel) do
            if X[u][v] > best then best, at_i, at_j = X[u][v], u, v end
          end
        end
        out[at_i][at_j] = out[at_i][at_j] + value
      end
    end
    return st.tensor(out, F64)
  end

  for _, dtype in ipairs {"float32", "float64", "bfloat16"} do
    for _, format in ipairs {"contiguous_format", "channels_last"} do
      for _, row in ipairs {{2, 2, 33}, {3, 1, 7}, {3, 2, 34}, {2, 3, 300}} do
        local kernel, stride, columns = row[1], row[2], row[3]
        it(("is where the maximum was: %s, %s, %d / %d"):format(dtype, format,
           kernel, stride), function()
          local x = st.randn(2, 3, 7, columns):to(dtype)
                      :contiguous {memory_format = format}:requires_grad_()
          local y = st.max_pool2d(x, kernel, stride)
          local g = st.randint(-4, 5, y:size()):to(dtype)
                      :contiguous {memory_format = format}
          local gx = st.grad(y, {x}, {grad_outputs = g})
          assert.is_true(gx:is_contiguous(format))
          for n = 1, 2 do
            for c = 1, 3 do
              near(scattered(x[n][c]:detach(), g[n][c], kernel, stride),
                   gx[n][c]:to "float64", 0)
            end
          end
        end)
      end
    end
  end

  it("refuses indices that are not in the image", function()
    local x, g = st.zeros(1, 2, 2), st.zeros(1, 1, 1)
    for _, at in ipairs {0, 5, -2 ^ 53, 2 ^ 53} do
      raises("_max_pool_back: indices must be from 1 to 4", st._max_pool_back,
             g, x, st.full({1, 1, 1}, at, {dtype = "int64"}), {2, 2})
    end
    raises("_max_pool_back: the tensors are on different devices",
           st._max_pool_back, g, x:to "meta",
           st.ones({1, 1, 1}, {dtype = "int64"}), {2, 2})
    raises("_max_pool_back: indices must be int64, of a pooled image",
           st._max_pool_back, g, x, g, {2, 2})
  end)
end)
