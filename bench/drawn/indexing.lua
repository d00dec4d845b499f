--- Draws cases of operators that index by tensors, and of those that create
-- tensors, of random numbers or not.

local elementwise = require "bench.drawn.elementwise"
local tensors = require "bench.drawn.tensors"

local described = elementwise.described
local NAMES, joined = tensors.NAMES, tensors.joined
local ipairs = ipairs

local indexing = {}

-- -- Indexing ----------------------------------------------------------------

-- Inputs beside a: i has indices below the size of dimension $d, as many as `i`
-- says ("one": a vector, "like": of sizes like a's), s like a with i's number
-- in $d, m a mask. Writes have no index twice where the order would matter.
local INDEXINGS = {
  {"gather", "like", "a:gather($d, i)", nil, "@.take_along_axis(a, i, $d)"},
  {"take_along_dim", "like", "@.take_along_dim(a, i, $d)", nil,
   "@.take_along_axis(a, i, $d)"},
  {"index_select", "one", "a:index_select($d, i)", nil, "@.take(a, i, $d)"},
  {"index_select", "one", "a:index_select($d, i)", nil, "@.take(a, i, $d)"},
  {"a[i]", "one", "a[i]", nil, nil, first = true},
  {"take", "flat", "a:take(i)", nil, "@.take(a, i)"},
  {"masked_select", nil, "a:masked_select(m)", nil, "a[m]", mask = true},
  {"nonzero", nil, "m:nonzero()", nil, "@.argwhere(m)", mask = true,
   base = 1},
  {"nonzero of numbers", nil, "a:nonzero()", nil, "@.argwhere(a)", base = 1},
  {"scatter_add", "like", "a:scatter_add($d, i, s)", nil, false, source = true},
  {"scatter_reduce", "like", "a:scatter_reduce($d, i, s, 'amax')", nil, false,
   source = true},
  {"scatter of a number", "like", "a:scatter($d, i, 3)", nil, false},
  {"index_add", "one", "a:index_add($d, i, s)", nil, false, source = true},
  {"index_fill", "one", "a:index_fill($d, i, 3)", nil, false},
  {"index_put, adds", "one", "@.index_put(a, {i}, s, true)",
   "@.index_put(a, {i}, s, True)", false, source = true, first = true},
  {"put_along_dim of a number", "like", "a:scatter_($d, i, 3)", nil,
   "@.put_along_axis(a, i, 3, $d) or a"},
  {"masked_fill_", nil, "a:masked_fill_(m, 2)", nil,
   "@.putmask(a, m, 2) or a", mask = true},
  {"embedding", "one", "F.embedding(i, a)", nil, "a[i]", first = true,
   strided = "F.embedding(a, i)", rank = 2},
}

function indexing.index(g)
  local row, kind = g:pick(INDEXINGS), g:kind "fi"
  local sizes = g:sizes(5e5, row.rank or 1, row.rank)
  local d = row.first and 1 or g:int(1, #sizes)
  local writes = row[3]:find "_%("
  local layout = g:layout(#sizes, writes)
  local range = {-9, 9}
  local groups = {g:input("a", kind, sizes, layout, range)}
  local like = {}
  for i, size in ipairs(sizes) do like[i] = size end
  if row[2] then
    local least = sizes[d]
    local count = g:size(1, math.max(1, least))
    local extent = row[2] == "flat" and tensors.product(sizes) or sizes[d]
    like[d] = count
    local of = row[2] == "like" and like or {count}
    groups[2] = g:input("i", "pos", of, "contiguous", {0, extent})
  end
  if row.source then
    groups[#groups + 1] = g:input("s", kind, like,
                                  g:happens(0.7) and "contiguous" or
                                  g:layout(#like), range)
  end
  if row.mask then
    groups[#groups + 1] = g:input("m", "bool", sizes, g:happens(0.7) and
                                  "contiguous" or g:layout(#sizes))
  end
  local function at(text) return text and text:gsub("%$d", "$" .. d) end
  local name = row[1]
  if row[3]:find("$d", 1, true) then
    name = ("%s, dimension %d of %d"):format(name, d, #sizes)
  end
  return {name = described(name, kind, layout), sizes = sizes,
          kind = row.base and "i64" or kind, base = row.base,
          inputs = table.concat(groups, "; "),
          strided = row.strided or at(row[3]), torch = at(row[4] or row[3]),
          numpy = at(row[5] == nil and row[4] or row[5])}
end

-- -- Creation ----------------------------------------------------------------

-- %s are the sizes, t the dtype; n is the number of elements, q a side of a
-- square; expression, PyTorch's, NumPy's
local CREATIONS = {
  {"zeros", "@.zeros(SIZES, {dtype = T})", nil, "@.zeros({SIZES}, T)"},
  {"ones", "@.ones(SIZES, {dtype = T})", nil, "@.ones({SIZES}, T)"},
  {"full", "@.full({SIZES}, 3, {dtype = T})", nil, "@.full({SIZES}, 3, T)"},
  {"zeros_like", "@.zeros_like(a)", uses = true},
  {"full_like", "@.full_like(a, 3)", uses = true},
  {"empty", "@.empty(SIZES, {dtype = T})", nil, "@.empty({SIZES}, T)",
   any = true},
  {"arange", "@.arange(N, {dtype = T})", nil, "@.arange(N, dtype=T)",
   kinds = "dl", base = 0},
  {"arange with a step", "@.arange(3, 2 * N + 3, 2, {dtype = T})", nil,
   "@.arange(3, 2 * N + 3, 2, dtype=T)", kinds = "dl"},
  {"linspace", "@.linspace(-1, 2, N, {dtype = T})", nil,
   "@.linspace(-1, 2, N, dtype=T)", kinds = "d"},
  {"logspace", "@.logspace(-1, 2, N, {dtype = T})", nil,
   "@.logspace(-1, 2, N, dtype=T)", kinds = "d"},
  {"eye", "@.eye(SIDE, {dtype = T})", nil, "@.eye(SIDE, dtype=T)"},
  {"eye of a rectangle", "@.eye(SIDE, 17, {dtype = T})", nil,
   "@.eye(SIDE, 17, dtype=T)"},
  {"fill_", "a:fill_(3)", nil, "a.fill(3) or a", uses = true},
  {"zero_", "a:zero_()", nil, "a.fill(0) or a", uses = true},
  {"tril_indices", "@.tril_indices(SIDE, SIDE)", nil, false, is_base = true},
  {"one_hot", "F.one_hot(i, 10)", nil, "@.eye(10, dtype=@.int64)[i]",
   indices = true},
}

-- The same of random numbers, of which only the shape agrees.
local RANDOM = {
  {"rand", "@.rand(SIZES, {dtype = T})", nil, "rng.random({SIZES}, T)"},
  {"rand", "@.rand(SIZES, {dtype = T})", nil, "rng.random({SIZES}, T)"},
  {"randn", "@.randn(SIZES, {dtype = T})", nil,
   "rng.standard_normal({SIZES}, T)"},
  {"randn", "@.randn(SIZES, {dtype = T})", nil,
   "rng.standard_normal({SIZES}, T)"},
  {"rand_like", "@.rand_like(a)", nil, false, uses = true},
  {"randint", "@.randint(0, 100, {SIZES})", nil,
   "rng.integers(0, 100, {SIZES})"},
  {"randint of many", "@.randint(0, 1000000007, {SIZES})", nil,
   "rng.integers(0, 1000000007, {SIZES})"},
  {"randperm", "@.randperm(N)", nil, "rng.permutation(N)", most = 3e5},
  {"bernoulli", "@.bernoulli(a)", nil, "rng.random({SIZES}, T) < a",
   uses = true},
  {"normal_", "a:normal_(1, 2)", nil, false, uses = true},
  {"uniform_", "a:uniform_(-1, 1)", nil, false, uses = true},
  {"exponential_", "a:exponential_(2)", nil, false, uses = true},
  {"bernoulli_", "a:bernoulli_(0.3)", nil, false, uses = true},
  {"into rand", "@.rand(SIZES) -> r", nil, "rng.random(dtype=@.float32) -> r",
   into = true},
  {"into randn", "@.randn(SIZES) -> r", nil,
   "rng.standard_normal(dtype=@.float32) -> r", into = true},
  {"dropout", "F.dropout(a, 0.3, true)", "F.dropout(a, 0.3, True)", false,
   uses = true},
}

local function created(g, row, kinds, most)
  local kind = g:kind(row.kinds or kinds)
  local sizes = g:sizes(row.most or most)
  local n = tensors.product(sizes)
  local layout = row.uses and g:layout(#sizes, true) or "contiguous"
  local inputs = "a: f32 1"
  if row.uses then inputs = g:input("a", kind, sizes, layout) end
  if row.into then
    kind = "f32"
    inputs = g:input("r", kind, sizes)
  end
  if row.indices then inputs = g:input("i", "pos", {n}, nil, {0, 10}) end
  local side = math.max(2, math.floor(n ^ 0.5))
  local function at(text, python)
    if not text then return text end
    local dtype = python and python .. NAMES[kind] or
                  ("'%s'"):format(NAMES[kind])
    return (text:gsub("SIZES", joined(sizes, ", ")):gsub("SIDE", side)
                :gsub("%f[%w]N%f[%W]", ("%d"):format(n))
                :gsub("%f[%w]T%f[%W]", dtype))
  end
  local numpy = row[4]
  if numpy == nil then numpy = row[3] or row[2] end
  if (row.is_base or row.indices) and kind ~= "i64" then kind = "i64" end
  if kind == "bool" then numpy = false end
  local shown = joined(sizes)
  if not row.into and row[2]:find "%f[%w]N" or row.indices then shown = n
  elseif row[2]:find "SIDE" then
    shown = ("%dx%s"):format(side, row[2]:match "SIDE, (17)" or side)
  end
  return {name = described(row[1], kind, layout), size = shown, kind = kind,
          inputs = inputs, strided = at(row[2]),
          torch = at(row[3] or row[2], "torch."), numpy = at(numpy, "@."),
          any = row.any, base = row.is_base and 1 or 0}
end

function indexing.create(g)
  return created(g, g:pick(CREATIONS), "fib", 4e6)
end

function indexing.random(g)
  local row = g:pick(RANDOM)
  local case = created(g, row, "d", 1e6)
  case.any = true
  return case
end

return indexing
