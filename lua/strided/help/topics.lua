--- What the topics of st.help are about. Which names belong to a topic follows
-- from the operator's file or the module: strided.help.catalogue.
--
-- @module strided.help.topics

local LINES = {
  amp = "mixed precision",
  autograd = "gradients, checkpoints and their tests",
  create = "tensors from sizes, numbers and tables; copies and conversions",
  data = "datasets, loaders and transforms",
  distributions = "probability distributions to sample and to fit",
  dtypes = "element types, their limits and promotion",
  elementwise = "arithmetic, comparisons and functions of each element",
  fft = "Fourier transforms and windows",
  general = "settings, conversions and other functions",
  indexing = "reading and writing elements by index, mask or place",
  io = "files, memory shared between processes, and exchange",
  layout = "pictures of memory, and plans of loops over it",
  linalg = "products, factorizations, equations, eigenvalues, norms",
  masked = "reductions of the elements that a mask selects",
  memory = "statistics, limits and early release",
  nn = "layers, losses and functions of neural networks",
  normalization = "batch, layer and group normalization",
  numeric = "quantiles, histograms, differences, polynomials, sets",
  operators = "operators of your own, fusion, and what runs",
  optim = "optimizers and schedules of their learning rates",
  plot = "pictures of numbers, as text, SVG and PNG",
  pooling = "means and maxima of windows",
  random = "random tensors and generators",
  recurrent = "LSTM, GRU and others",
  reduce = "sums, means, extrema and running sums along dimensions",
  shape = "views, joining, splitting, repeating, flipping",
  sorting = "sorting, searching and unique elements",
  special = "Bessel, gamma, zeta, orthogonal polynomials and others",
  vision = "resizing, sampling and shuffling of pixels",
  yours = "what st.document has documented",
}

-- What others call them.
local ALSO = {
  reduction = "reduce", reductions = "reduce", neural = "nn", layers = "nn",
  optimizers = "optim", index = "indexing", shapes = "shape", files = "io",
  saving = "io", norm = "normalization", rnn = "recurrent", pool = "pooling",
  sort = "sorting", creation = "create", math = "elementwise",
  statistics = "numeric", linear_algebra = "linalg", signal = "fft",
}

local next = next

local topics = {}

function topics.line(topic)
  return LINES[topic] or "operators of the library " .. topic
end

--- The topic that a name stands for.
function topics.named(name)
  return LINES[name] and name or ALSO[name] or name
end

--- True for the topics here.
function topics.is_known(topic) return LINES[topic] ~= nil end

--- The topics as entries of strided.help.catalogue.
function topics.entries()
  local list = {}
  for name, line in next, LINES do
    list[#list + 1] = {name = name, kind = "page", line = line, topic = name}
  end
  return list
end

return topics
