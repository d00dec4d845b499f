--- Draws cases of the operators of neural networks.

local elementwise = require "bench.drawn.elementwise"
local tensors = require "bench.drawn.tensors"

local described = elementwise.described
local joined = tensors.joined
local floor, max, min = math.floor, math.max, math.min

local layers = {}

--- The sizes of a batch of images, or of signals if `rank` is 1: batch,
-- channels, and sides of at least `least`.
local function images(g, rank, most, least)
  local n, channels = g:size(1, 16), g:size(1, 64)
  if g:happens(0.3) then channels = g:pick {1, 3, 16, 32, 64} end
  most = min(most, g.limit or most)
  local room = max(1, most / n / channels)
  local most_side = max(least + 1, room ^ (1 / rank))
  local side = max(least, floor(g:log(least, most_side)))
  local sizes = {n, channels}
  for _ = 1, rank do
    sizes[#sizes + 1] = max(least, side + g:int(-1, 1))
  end
  return sizes
end

--- The layout of images: in channels_last, as they are, or as a slice.
local function layout_of(g, sizes)
  if #sizes == 4 and g:happens(0.25) then return "channels_last" end
  return g:happens(0.15) and "sliced" or "contiguous"
end

local FLOATS = {"f32", "f32", "f32", "f32", "f64", "bf16"}

-- -- Convolution -------------------------------------------------------------

function layers.convolution(g)
  local rank = g:pick {1, 2, 2, 2}
  local kind = g:pick {"f32", "f32", "f32", "f64"}
  local style = g:pick {"", "", "", "depthwise", "grouped", "transposed",
                        "pointwise"}
  local kernel = style == "pointwise" and 1 or g:pick {1, 2, 3, 3, 3, 5}
  local sizes = images(g, rank, 2e5, 6)
  local channels, out, groups = sizes[2], g:size(1, 64), 1
  if style == "depthwise" then groups, out = channels, channels
  elseif style == "grouped" then
    groups, channels = 2, max(2, channels - channels % 2)
    out, sizes[2] = max(2, out - out % 2), channels
  end
  -- at most some hundred million multiplications
  while tensors.product(sizes) * out / groups * kernel ^ rank > 1e8 do
    out = floor(out / 2)
    if groups > 1 or out < 1 then
      out = max(out, groups)
      if sizes[1] == 1 then break end
      sizes[1] = floor((sizes[1] + 1) / 2)
    end
  end
  local weight = {out, channels / groups}
  if style == "transposed" then weight = {channels, out} end
  for _ = 1, rank do weight[#weight + 1] = kernel end
  if style == "depthwise" then out, weight[1] = channels, channels end
  local layout = layout_of(g, sizes)
  local stride, padding = g:pick {1, 1, 1, 2}, g:int(0, floor(kernel / 2))
  local options = ("{stride = %d, padding = %d%s}"):format(
    stride, padding, groups > 1 and ", groups = " .. groups or "")
  local name = style == "transposed" and "conv_transpose" or "conv"
  local bias = g:happens(0.6)
  local inputs = g:input("a", kind, sizes, layout, {-1, 1}) .. "; " ..
                 g:input("w", kind, weight, nil, {-1, 1})
  if bias then inputs = inputs .. "; " .. g:input("b", kind, {out}) end
  local about = ("%s%dd%s, %s to %d, stride %d"):format(
    name, rank, style ~= "" and style ~= "transposed" and " " .. style or "",
    joined({kernel}), out, stride)
  return {
    name = described(about, kind, layout), sizes = sizes, kind = kind,
    inputs = inputs, numpy = false,
    strided = ("F.%s%dd(a, w, %s, %s)"):format(name, rank, bias and "b" or
                                               "nil", options),
  }
end

-- -- Pools -------------------------------------------------------------------

local POOLS = {
  {"max_pool1d", 1, "F.max_pool1d(a, K, S)"},
  {"avg_pool1d", 1, "F.avg_pool1d(a, K, S)"},
  {"max_pool2d", 2, "F.max_pool2d(a, K, S)"},
  {"max_pool2d", 2, "F.max_pool2d(a, K, S)"},
  {"avg_pool2d", 2, "F.avg_pool2d(a, K, S)"},
  {"avg_pool2d", 2, "F.avg_pool2d(a, K, S)"},
  {"adaptive_avg_pool2d", 2, "F.adaptive_avg_pool2d(a, {K, K})"},
  {"adaptive_max_pool2d", 2, "F.adaptive_max_pool2d(a, {K, K})"},
  {"pixel_shuffle", 2, "F.pixel_shuffle(a, 2)", channels = 4},
  {"reflection pad", 2, "F.pad(a, {1, K, 2, 1}, 'reflect')"},
  {"replication pad", 2, "F.pad(a, {1, K, 2, 1}, 'replicate')"},
}

function layers.pool(g)
  local row, kind = g:pick(POOLS), g:pick(FLOATS)
  local k, s = g:int(2, 3), g:int(1, 3)
  local sizes = images(g, row[2], 5e5, 6)
  if row.channels then sizes[2] = sizes[2] * row.channels end
  local layout = layout_of(g, sizes)
  local about = row[1]
  if row[3]:find "S" then about = ("%s %d, stride %d"):format(about, k, s) end
  return {name = described(about, kind, layout), sizes = sizes, kind = kind,
          inputs = g:input("a", kind, sizes, layout, {-9, 9}), numpy = false,
          strided = (row[3]:gsub("%f[%w]K%f[%W]", k):gsub("%f[%w]S%f[%W]", s))}
end

-- -- Normalization -----------------------------------------------------------

-- C is the number of channels, L the last size; w, b, m, v have C or L elements
local NORMS = {
  {"layer_norm", 0, "w, b", "F.layer_norm(a, {L}, w, b)"},
  {"layer_norm", 0, "w, b", "F.layer_norm(a, {L}, w, b)"},
  {"layer_norm without weights", 0, "", "F.layer_norm(a, {L})"},
  {"rms_norm", 0, "w", "F.rms_norm(a, {L}, w)"},
  {"batch_norm", 2, "w, b; m, v",
   "@.batch_norm(a, w, b, m, v, false)",
   "F.batch_norm(a, m, v, w, b, False)"},
  {"batch_norm, training", 2, "w, b",
   "@.batch_norm(a, w, b, nil, nil, true)",
   "F.batch_norm(a, None, None, w, b, True)"},
  {"group_norm", 2, "w, b", "F.group_norm(a, 1, w, b)"},
  {"instance_norm", 2, "w, b", "F.instance_norm(a, {weight = w, bias = b})"},
}

function layers.norm(g)
  local row, kind = g:pick(NORMS), g:pick {"f32", "f32", "f32", "f64"}
  local sizes = row[2] == 2 and images(g, 2, 5e5, 4) or g:sizes(5e5, 2)
  if row[2] == 0 then sizes[#sizes] = max(4, sizes[#sizes]) end
  local layout = row[2] == 2 and layout_of(g, sizes) or g:layout(#sizes)
  local count = row[2] == 2 and sizes[2] or sizes[#sizes]
  local inputs = g:input("a", kind, sizes, layout, {-3, 3})
  for names in row[3]:gmatch "[^;]+" do
    inputs = inputs .. "; " .. g:input(names:gsub("^ ", ""), kind, {count}, nil,
                                       {0.5, 2})
  end
  local function at(text) return text and text:gsub("L", count) end
  return {name = described(row[1], kind, layout), sizes = sizes, kind = kind,
          inputs = inputs, strided = at(row[4]), torch = at(row[5]),
          numpy = false}
end

-- -- Activations -------------------------------------------------------------

local ACTIVATIONS = {
  {"relu", "F.relu(a)", nil, "@.maximum(a, 0)"},
  {"relu", "F.relu(a)", nil, "@.maximum(a, 0)"},
  {"gelu", "F.gelu(a)"},
  {"gelu with tanh", "F.gelu(a, {approximate = 'tanh'})"},
  {"silu", "F.silu(a)"},
  {"leaky_relu", "F.leaky_relu(a, 0.1)"},
  {"elu", "F.elu(a)"},
  {"selu", "F.selu(a)"},
  {"celu", "F.celu(a)"},
  {"mish", "F.mish(a)"},
  {"softplus", "F.softplus(a)"},
  {"hardswish", "F.hardswish(a)"},
  {"hardsigmoid", "F.hardsigmoid(a)"},
  {"hardtanh", "F.hardtanh(a)"},
  {"relu6", "F.relu6(a)"},
  {"softshrink", "F.softshrink(a)"},
  {"hardshrink", "F.hardshrink(a)"},
  {"log_sigmoid", "@.log_sigmoid(a)", "F.logsigmoid(a)"},
  {"glu", "F.glu(a)", pair = true},
  {"prelu", "F.prelu(a, w)", weight = true},
}

function layers.activation(g)
  local row, kind = g:pick(ACTIVATIONS), g:kind "f"
  local sizes = g:sizes(1e6)
  if row.pair then sizes[#sizes] = sizes[#sizes] * 2 end
  local layout = g:layout(#sizes)
  local inputs = g:input("a", kind, sizes, layout, {-6, 6})
  if row.weight then inputs = inputs .. "; " .. g:input("w", kind, {1}) end
  return {name = described(row[1], kind, layout), sizes = sizes, kind = kind,
          inputs = inputs, strided = row[2], torch = row[3],
          numpy = row[4] or false}
end

-- -- Losses, attention -------------------------------------------------------

-- a and b have sizes nxc; y classes below c
local LOSSES = {
  {"cross_entropy", "F.cross_entropy(a, y)", nil, "y"},
  {"cross_entropy", "F.cross_entropy(a, y)", nil, "y"},
  {"nll_loss", "F.nll_loss(a, y)", nil, "y"},
  {"mse_loss", "F.mse_loss(a, b)", nil, "b"},
  {"l1_loss", "F.l1_loss(a, b)", nil, "b"},
  {"smooth_l1_loss", "F.smooth_l1_loss(a, b)", nil, "b"},
  {"huber_loss", "F.huber_loss(a, b)", nil, "b"},
  {"binary_cross_entropy", "F.binary_cross_entropy(a, b)", nil, "b"},
  {"bce with logits", "F.binary_cross_entropy_with_logits(a, b)", nil, "b"},
  {"kl_div", "F.kl_div(a, b, {reduction = 'sum'})", nil, "b"},
  {"hinge_embedding_loss", "F.hinge_embedding_loss(a, b)", nil, "b"},
  {"margin_ranking_loss", "F.margin_ranking_loss(a, b, b)", nil, "b"},
  {"cosine_similarity", "F.cosine_similarity(a, b, $2)", nil, "b"},
  {"pairwise_distance", "F.pairwise_distance(a, b)", nil, "b"},
}

local function attention(g)
  local kind = g:pick {"f32", "f32", "f64"}
  local heads, length, width = g:size(1, 8), g:size(4, 256), g:size(4, 64)
  local sizes = {g:size(1, 2), heads, length, width}
  return {
    name = described("scaled_dot_product_attention", kind, "contiguous"),
    sizes = sizes, kind = kind, numpy = false,
    inputs = g:input("q, k, v", kind, sizes, nil, {-1, 1}),
    strided = "F.scaled_dot_product_attention(q, k, v)",
  }
end

function layers.loss(g)
  if g:happens(0.1) then return attention(g) end
  local row, kind = g:pick(LOSSES), g:pick {"f32", "f32", "f32", "f64"}
  local n, classes = g:size(1, 4096), g:size(2, 1000)
  while n * classes > 5e5 do n = floor(n / 2) end
  local sizes = {n, classes}
  local layout = g:happens(0.7) and "contiguous" or g:layout(2)
  local inputs = g:input("a", kind, sizes, layout, {0.1, 0.9}) .. "; "
  if row[4] == "y" then
    inputs = inputs .. g:input("y", "pos", {n}, nil, {0, classes})
  else
    inputs = inputs .. g:input("b", kind, sizes, layout, {0.1, 0.9})
  end
  return {name = described(row[1], kind, layout), sizes = sizes, kind = kind,
          inputs = inputs, strided = row[2], torch = row[3], numpy = false}
end

return layers
