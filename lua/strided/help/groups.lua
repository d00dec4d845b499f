--- The groups in which st.help lists a long topic.
--
-- @module strided.help.groups

local find, format, gmatch, ipairs = string.find, string.format, string.gmatch,
  ipairs

-- A title and what the names of the group look like: words, each a pattern of
-- the whole name. The first group that fits has the name.
local GROUPS = {
  elementwise = {
    {"arithmetic", "add sub mul div floor_divide true_divide remainder fmod "
     .. "neg positive reciprocal pow float_power square sqrt rsqrt cbrt hypot "
     .. "addc%a+ lerp rsub abs sign sgn copysign gcd lcm"},
    {"comparisons and choices", "eq ne lt le gt ge max%a* min%a* fmax fmin "
     .. "isclose allclose clamp.* where masked_fill heaviside threshold"},
    {"rounding and parts of numbers", "ceil floor round trunc frac frexp "
     .. "ldexp nextafter nan_to_num signbit"},
    {"exponents and logarithms", "exp%d? expm1 log%d* log1p log%a+exp%d? "
     .. "xlogy"},
    {"angles", "a?sinh? a?cosh? a?tanh? atan2 sinc deg2rad rad2deg"},
    {"logic and bits", "logical_.* bitwise_.*"},
    {"tests of elements", "is.*"},
    {"activations", ".*relu6? elu celu gelu selu silu mish hard.* soft.* "
     .. "tanhshrink log_?sigmoid sigmoid logit"},
    {"complex numbers", "adjoint angle conj.* mH matrix_H resolve_.*"},
    {"functions of statistics and physics", "erf.* .*gamma.* i0"},
  },
  nn = {
    {"networks of modules", "nn%.Sequential nn%.Module.* nn%.Param.* "
     .. "nn%.Identity nn%.is_.* nn%.summary"},
    {"linear maps and embeddings", "nn%.Linear nn%.Bilinear nn%.Embedding.* "
     .. "bilinear embedding.* one_hot"},
    {"losses", ".*Loss.* .*_loss.* .*cross_entropy.* kl_div"},
    {"convolutions", "nn%.Conv.* conv.* nn%.Fold nn%.Unfold fold im2col "
     .. "col2im"},
    {"pooling", ".*Pool.* .*Unpool.*"},
    {"normalization", "nn%.%a+Norm.* normalize"},
    {"recurrent layers and sequences", "nn%.RNN.* nn%.LSTM.* nn%.GRU.* "
     .. "nn%.utils%.rnn.*"},
    {"attention and transformers", "nn%.Transformer.* nn%.MultiheadAttention "
     .. ".*attention.*"},
    {"dropout", ".*[dD]ropout.*"},
    {"padding", ".*Pad%dd .*_pad%dd pad constant_pad.*"},
    {"shapes and images", "nn%.Flatten nn%.Unflatten nn%.Pixel.* nn%.Ups.* "
     .. "nn%.ChannelShuffle"},
    {"distances", "nn%.CosineSimilarity nn%.PairwiseDistance"},
    {"initial values: nn.init", "nn%.init.*"},
    {"tools: nn.utils", "nn%.utils.*"},
    {"activations", "nn%.%u[%a%d]* softm.. glu log_softmax"},
  },
  linalg = {
    {"products", "mm mv bmm matmul dot vdot inner outer kron addmm addmv "
     .. "addbmm baddbmm addr chain_matmul tensordot einsum .*cross .*vecdot "
     .. "linalg%.multi_dot linalg%.matmul linalg%.outer"},
    {"equations and inverses", ".*solve.* .*lstsq .*inv .*inv_ex .*inverse "
     .. ".*pinv .*cholesky_inverse linalg%.tensorinv"},
    {"eigenvalues and singular values", ".*eig.* .*svd.* lobpcg pca_lowrank"},
    {"factorizations", ".*cholesky.* .*qr .*lu_.* .*lu .*ldl.* geqrf .*qr "
     .. ".*householder.* .*polar"},
    {"norms, determinants and rank", ".*norm.* .*det .*det .*cond .*rank "
     .. ".*trace .*logdet cdist pdist dist"},
  },
}

local groups = {}

local function fits(name, words)
  for word in gmatch(words, "%S+") do
    if find(name, "^" .. word .. "$") then return true end
  end
  return false
end

--- The entries of a topic by group.
-- @tparam string topic
-- @tparam {table,...} entries
-- @treturn ?{table,...} {title =, entries =} of each group; nil for a topic
-- without groups
function groups.of(topic, entries)
  local rows = GROUPS[topic]
  if not rows then return nil end
  local list, others = {}, {title = "others", entries = {}}
  for i, row in ipairs(rows) do list[i] = {title = row[1], entries = {}} end
  for _, entry in ipairs(entries) do
    local place = others
    for i, row in ipairs(rows) do
      if fits(entry.name, row[2]) then place = list[i] break end
    end
    place.entries[#place.entries + 1] = entry
  end
  list[#list + 1] = others
  local found = {}
  for _, group in ipairs(list) do
    if group.entries[1] then found[#found + 1] = group end
  end
  return found
end

--- The line above a group.
function groups.heading(group)
  return format("\n%s (%d)", group.title, #group.entries)
end

return groups
