--- Positions count from 1, with base = 0 from 0: one rule for every operator
-- that takes or gives tensors of positions, classes, categories or bins.
-- axes: none

local registry = require "spec.grad.gradcheck.registry"
local st = require "strided"

local unpack = unpack or table.unpack

local X = st.tensor {{3, 1, 2}, {0, 5, 4}}:to "float64"
local V = st.tensor {2, 9, 4}:to "float64"
local IMAGE = st.tensor {{{1, 5, 2, 7}, {3, 8, 6, 4}}}:to "float64"
local SQUARE = IMAGE:unsqueeze(3):expand(1, 2, 4, 4):contiguous()
local CUBE = SQUARE:unsqueeze(3):expand(1, 2, 4, 4, 4):contiguous()
local LOGS = st.tensor {{1, 2, 3}, {3, 1, 2}}:to "float64":log_softmax(2)
local STEPS = st.linspace(0, 1, 12, {dtype = "float64"}):view(4, 1, 3)
  :log_softmax(3)
local SAMPLES = st.full({1, 2, 2}, 0.5, {dtype = "float64"})

local function given(o, more)
  local out = {base = o.base}
  for k, v in pairs(more) do out[k] = v end
  return out
end

-- Operator; function(p, o): p gives positions, listed from 0, in the base of
-- the options o. It returns positions, which may be lists, then what is none.
local ROWS = {}
local function row(name, call) ROWS[name] = call end

-- -- Positions as results ----------------------------------------------------

for name in ("argmax argmin nanargmax nanargmin argsort"):gmatch "%S+" do
  ROWS[name] = function(_, o) return st[name](X, 2, o) end
end
for name in ("cummax cummin median nanmedian mode max min sort topk kthvalue")
  :gmatch "%S+" do
  local first = (name == "topk" or name == "kthvalue") and {2, 2} or {2}
  ROWS[name] = function(_, o)
    local args = {X, unpack(first)}
    args[#args + 1] = o
    local values, indices = st[name](unpack(args))
    return indices, values
  end
end
row("argwhere", function(_, o) return st.argwhere(X:gt(2), o) end)
row("nonzero", function(_, o) return st.nonzero(X:gt(2), o) end)
row("nonzero_numpy", function(_, o) return {st.nonzero_numpy(X:gt(2), o)} end)
row("where", function(_, o) return {st.where(X:gt(2), o)} end)
row("flatnonzero", function(_, o) return st.flatnonzero(X:gt(2), o) end)
row("nonzero_static", function(_, o)
  return st.nonzero_static(X:gt(2), given(o, {size = 2}))
end)
row("lexsort", function(_, o) return st.lexsort({V, V}, o) end)
row("multinomial", function(_, o)
  return st.multinomial(st.tensor {0, 1, 0}:float(), 2, true, o)
end)
row("randperm", function(_, o)
  return st.randperm(5, given(o, {generator = st.Generator(1)}))
end)
row("tril_indices", function(_, o) return st.tril_indices(3, 2, o) end)
row("triu_indices", function(_, o) return st.triu_indices(3, 2, o) end)
row("searchsorted", function(_, o)
  return st.searchsorted(V:sort(), st.tensor {3, 9}:to "float64", o)
end)
row("bucketize", function(_, o) return st.bucketize(X, V:sort(), o) end)
row("digitize", function(_, o) return st.digitize(X, V:sort(), o) end)
row("repeat_interleave", function(_, o)
  return st.repeat_interleave(st.tensor {2, 0, 1}, o)
end)
row("unique", function(_, o)
  local values, inverse, counts = st.unique(
    X, given(o, {return_inverse = true, return_counts = true}))
  return inverse, values, counts
end)
row("unique_consecutive", function(_, o)
  local values, inverse, counts = st.unique_consecutive(V, true, true, o)
  return inverse, values, counts
end)
row("unique_dim", function(_, o)
  local values, inverse, counts = st.unique_dim(X, 1, true, true, true, o)
  return inverse, values, counts
end)
row("unique_all", function(_, o)
  local values, indices, inverse, counts = st.unique_all(X, o)
  return {indices, inverse}, values, counts
end)
row("unique_inverse", function(_, o)
  local values, inverse = st.unique_inverse(X, o)
  return inverse, values
end)
row("intersect1d", function(_, o)
  local both, a, b = st.intersect1d(V, st.tensor {9, 2}:to "float64", false,
                                    true, o)
  return {a, b}, both
end)
for name, call in pairs {
  max_pool1d_with_indices = {IMAGE, 2}, max_pool2d_with_indices = {SQUARE, 2},
  max_pool3d_with_indices = {CUBE, 2}, adaptive_max_pool1d = {IMAGE, 2},
  adaptive_max_pool2d = {SQUARE, 2}, adaptive_max_pool3d = {CUBE, 2},
  adaptive_max_pool1d_with_indices = {IMAGE, 2},
  adaptive_max_pool2d_with_indices = {SQUARE, 2},
  adaptive_max_pool3d_with_indices = {CUBE, 2},
  fractional_max_pool2d = {SQUARE, 2, 2, SAMPLES},
  fractional_max_pool3d = {CUBE, 2, 2,
                           SAMPLES["..., 1"]:unsqueeze(3):expand(1, 2, 3)},
} do
  ROWS[name] = function(_, o)
    local args = {unpack(call)}
    args[#args + 1] = o
    local values, indices = st[name](unpack(args))
    return indices, values
  end
end
row("fractional_max_pool2d_with_indices", function(_, o)
  local values, indices = st.fractional_max_pool2d_with_indices(
    SQUARE, 2, 2, given(o, {_random_samples = SAMPLES}))
  return indices, values
end)
row("fractional_max_pool3d_with_indices", function(_, o)
  local values, indices = st.fractional_max_pool3d_with_indices(
    CUBE, 2, 2, given(o, {_random_samples = SAMPLES["..., 1"]:unsqueeze(3)
                                              :expand(1, 2, 3)}))
  return indices, values
end)

-- -- Positions as arguments --------------------------------------------------

row("bincount", function(p, o)
  return nil, st.bincount(p {0, 2, 2}, o), st.bincount(p {0, 2, 2}, V, 5, o),
         st.bincount(p {}, given(o, {minlength = 2}))
end)
row("one_hot", function(p, o)
  return nil, st.one_hot(p {0, 2, 1}, o), st.one_hot(p {0, 1}, 4, o)
end)
row("gather", function(p, o) return nil, st.gather(X, 2, p {{2}, {0}}, o) end)
row("take", function(p, o) return nil, st.take(X, p {5, 0}, o) end)
row("take_along_dim", function(p, o)
  return nil, st.take_along_dim(X, p {{2}, {0}}, 2, o)
end)
row("index", function(p, o) return nil, st.index(X, {p {1, 0}}, o) end)
row("index_select", function(p, o)
  return nil, st.index_select(X, 2, p {2, 0}, o)
end)
row("narrow", function(p, o)
  return nil, st.narrow(X, 2, p {1}:squeeze(), 2, o)
end)
row("index_put", function(p, o)
  return nil, st.index_put(V, {p {2, 0}}, V["1:2"], o)
end)
row("put", function(p, o) return nil, st.put(X, p {5, 0}, V["1:2"], o) end)
for _, name in ipairs {"index_add", "index_copy"} do
  row(name, function(p, o)
    return nil, st[name](V, 1, p {2, 0}, V["1:2"], o)
  end)
end
row("index_reduce", function(p, o)
  return nil, st.index_reduce(V, 1, p {2, 0}, V["1:2"], "prod", o)
end)
row("index_fill", function(p, o)
  return nil, st.index_fill(V, 1, p {2, 0}, 7, o)
end)
row("scatter", function(p, o)
  return nil, st.scatter(V, 1, p {2, 0}, V["1:2"], o),
         st.scatter(V, 1, p {2, 0}, 7, o)
end)
row("scatter_add", function(p, o)
  return nil, st.scatter_add(V, 1, p {2, 0}, V["1:2"], o)
end)
row("scatter_reduce", function(p, o)
  return nil, st.scatter_reduce(V, 1, p {2, 0}, V["1:2"], "amax", o)
end)
row("segment_reduce", function(p, o)
  return nil, st.segment_reduce(V, "sum", given(o, {offsets = p {0, 1, 3}}))
end)
row("embedding", function(p, o) return nil, st.embedding(X, p {1, 0}, o) end)
row("embedding_renorm", function(p, o)
  return nil, st.embedding_renorm(X, p {1}, 1, 2, o)
end)
row("embedding_bag", function(p, o)
  return nil, st.embedding_bag(X, p {1, 0, 1}, given(o, {offsets = p {0, 2}}))
end)
row("max_unpool1d", function(p, o)
  return nil, st.max_unpool1d(IMAGE["..., 1:2"], p {{{1, 3}, {0, 2}}}, 2, o)
end)
row("max_unpool2d", function(p, o)
  return nil, st.max_unpool2d(SQUARE["..., 1:1, 1:2"],
                              p {{{{1, 3}}, {{0, 2}}}}, {2, 4}, o)
end)
row("max_unpool3d", function(p, o)
  return nil, st.max_unpool3d(CUBE["..., 1:1, 1:1, 1:2"],
                              p {{{{{1, 3}}}, {{{0, 2}}}}}, {1, 2, 4},
                              {1, 2, 2}, {0, 0, 0}, o)
end)
for _, name in ipairs {"cross_entropy_loss", "nll_loss", "nll_loss_nd",
                       "multi_margin_loss"} do
  row(name, function(p, o) return nil, st[name](LOGS, p {2, 0}, o) end)
end
row("nll_loss2d", function(p, o)
  return nil, st.nll_loss2d(LOGS:view(2, 3, 1, 1), p {{{2}}, {{0}}}, o)
end)
row("multilabel_margin_loss", function(p, o)
  local classes = p {{2, 0, -1}, {1, -1, -1}}
  return nil, st.multilabel_margin_loss(
    LOGS, st.where(classes:lt(o.base), -1, classes), o)
end)
row("linear_cross_entropy", function(p, o)
  return nil, st.linear_cross_entropy(LOGS, st.eye(3, {dtype = "float64"}),
                                      p {2, 0}, o)
end)
row("ctc_loss", function(p, o)
  return nil, st.ctc_loss(STEPS, p {{1, 2}}, {4}, {2}, 1, 0, o)
end)
row("unravel_index", function(p, o)
  return {st.unravel_index(p {5, 0}, {2, 3}, o)}
end)
row("ravel_multi_index", function(p, o)
  return st.ravel_multi_index({p {1, 0}, p {2, 0}}, {2, 3}, o)
end)

-- -- The rule ----------------------------------------------------------------

--- Nested lists of results; positions less their base.
local function lists(x, less)
  if st.is_tensor(x) then
    return (x - less):reshape(-1):totable()
  elseif type(x) == "table" then
    local out = {}
    for i, t in ipairs(x) do out[i] = lists(t, less) end
    return out
  end
  return x
end

local function results(call, base)
  local function p(list)
    return st.tensor(list, {dtype = "int64"}) + base
  end
  local all = {call(p, {base = base})}
  local out, n = {lists(all[1], base)}, 0
  for k in pairs(all) do n = math.max(n, k) end
  for k = 2, n do out[k] = lists(all[k], 0) end
  return out
end

describe("Positions", function()
  local with_base = {}
  registry.each(function(_, name, overload, operator)
    if operator:schema():find "int base=0" and not name:find "^_" and
       not name:find "_$" and not name:find "backward" and
       not overload:find "out" then
      with_base[name] = true
    end
  end)

  it("are in the table of this spec, for every operator", function()
    local missing = {}
    for name in pairs(with_base) do
      if not ROWS[name] then missing[#missing + 1] = name end
    end
    for name in pairs(ROWS) do
      if not with_base[name] then missing[#missing + 1] = "not " .. name end
    end
    assert.same({}, missing)
  end)

  it("have a base wherever a schema has a tensor of them", function()
    local wrong = {}
    registry.each(function(name, base, _, operator)
      local schema = operator:schema()
      for list, word in schema:gmatch "Tensor%f[^%w](%S*) ([%w_]+)" do
        -- the pivots of LAPACK count from 1 in PyTorch, too
        local is_position = word:find "ind[ei][cx]" or
                            word:find "inverse_" or word == "sorter" or
                            word == "offsets"
        if is_position and not schema:find "int base" and list ~= "[]" and
           not word:find "indices_or_sections" and not base:find "^_" then
          wrong[#wrong + 1] = name .. ": " .. word
        end
      end
    end)
    assert.same({}, wrong)
  end)

  for name, call in pairs(ROWS) do
    it("count from 1, or from 0 with base = 0: " .. name, function()
      assert.same(results(call, 0), results(call, 1))
    end)
  end
end)
