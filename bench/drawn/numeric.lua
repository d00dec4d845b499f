--- Draws cases of operators that the other families leave out: statistics,
-- products of vectors, images, writes into slices, lists of tensors.

local elementwise = require "bench.drawn.elementwise"

local described = elementwise.described

local numeric = {}

-- A name, the dtypes, inputs in the language of inputs.lua, with the dtype T
-- and sizes M and N; expression, PyTorch's, NumPy's.
local ROWS = {
  {"cov", "d", "a: T MxN -1:1", "@.cov(a)"},
  {"corrcoef", "d", "a: T MxN -1:1", "@.corrcoef(a)"},
  {"histc", "d", "a: T MxN 0:9", "@.histc(a, 20, 0, 9)", nil,
   "@.histogram(a, 20, (0, 9))"},
  {"bincount", "l", "a: T M 1:50", "@.bincount(a, {base = 0})",
   "@.bincount(a)", "@.bincount(a)"},
  {"unique_consecutive", "i", "a: T M 0:3", "@.unique_consecutive(a)", nil,
   false},
  {"var_mean", "f", "a: T MxN", "@.var_mean(a, $2)", nil, false},
  {"std_mean", "f", "a: T MxN", "@.std_mean(a)", nil, false},
  {"gradient", "d", "a: T M 0:9", "@.gradient(a)", nil, nil},
  {"cross", "d", "a, b: T Mx3 -1:1", "@.cross(a, b, $2)"},
  {"addr", "d", "c: T MxN -1:1; a: T M; b: T N", "@.addr(c, a, b)", nil,
   "c + @.outer(a, b)"},
  {"dist", "d", "a, b: T MxN -1:1", "@.dist(a, b)", nil,
   "@.linalg.norm(a - b)"},
  {"vecdot", "d", "a, b: T MxN", "@.linalg_vecdot(a, b)",
   "@.linalg.vecdot(a, b)", "@.vecdot(a, b)"},
  {"renorm", "d", "a: T MxN -1:1", "@.renorm(a, 2, $1, 1)", nil, false},
  {"trace", "d", "a: T MxN", "@.trace(a)"},
  {"diag", "d", "a: T MxN", "@.diag(a)", nil, "@.diag(a).copy()"},
  {"ldexp", "d", "a: T MxN -1:1; b: i32 MxN 0:5", "@.ldexp(a, b)"},
  {"float_power", "d", "a: T MxN 0.1:2; b: T MxN -2:2",
   "@.float_power(a, b)"},
  {"polygamma", "d", "a: T M 1:9", "@.polygamma(1, a)", nil, false},
  {"round to decimals", "d", "a: T MxN -9:9", "@.round(a, {decimals = 2})",
   nil, false},
  {"frexp", "d", "a: T MxN 0.1:9", "@.frexp(a)"},
  {"rsub", "fi", "a: T MxN 0:9", "@.rsub(a, 9)", nil, "9 - a"},
  {"allclose", "d", "a: T MxN", "@.allclose(a, a) and 1 or 0",
   "torch.tensor(int(torch.allclose(a, a)))", "int(np.allclose(a, a))"},
  {"equal", "fi", "a: T MxN", "@.equal(a, a) and 1 or 0",
   "torch.tensor(int(torch.equal(a, a)))", "int(np.array_equal(a, a))"},
  {"masked_scatter", "d", "a, s: T MxN; m: bool MxN",
   "@.masked_scatter(a, m, s)", nil, false},
  {"select_scatter", "fi", "a: T MxN; s: T N", "@.select_scatter(a, s, $1, $1)",
   nil, false},
  {"slice_scatter", "fi", "a: T MxN; s: T 1xN",
   "@.slice_scatter(a, s, $1, $1, 1)", nil, false},
  {"column_stack", "fi", "a, b: T MxN", "@.column_stack({a, b})"},
  {"dstack", "fi", "a, b: T MxN", "@.dstack({a, b})"},
  {"block_diag", "d", "a, b: T MxN", "@.block_diag({a, b})",
   "@.block_diag(a, b)", false},
  {"meshgrid, then contiguous", "fi", "a: T M; b: T N",
   "@.meshgrid({a, b}, {indexing = 'ij'})[1]:contiguous()",
   "@.meshgrid(a, b, indexing='ij')[0].contiguous()",
   "@.meshgrid(a, b, indexing='ij')[0].copy()"},
  {"cartesian_prod", "d", "a: T M; b: T N", "@.cartesian_prod({a, b})",
   "@.cartesian_prod(a, b)", false},
  {"nanquantile", "d", "a: T MxN", "@.nanquantile(a, 0.3, $2)", nil, nil},
  {"upsample, nearest", "d", "a: T 2x3xMxN",
   "@.upsample_nearest2d(a, {SIDE, 33})",
   "F.interpolate(a, (SIDE, 33), mode='nearest')", false},
  {"upsample, bilinear", "d", "a: T 2x3xMxN",
   "@.upsample_bilinear2d(a, {SIDE, 33}, false)",
   "F.interpolate(a, (SIDE, 33), mode='bilinear')", false},
  {"grid_sampler", "d", "a: T 2x3xMxN; g: T 2xMxNx2 -1:1",
   "@.grid_sampler(a, g, 0, 0, false)", "@.grid_sampler(a, g, 0, 0, False)",
   false},
  {"pixel_unshuffle", "d", "a: T 2xMx6x8", "F.pixel_unshuffle(a, 2)", nil,
   false},
  {"soft_margin_loss", "d", "a, b: T MxN -1:1", "F.soft_margin_loss(a, b)",
   nil, false},
  {"poisson_nll_loss", "d", "a, b: T MxN", "F.poisson_nll_loss(a, b)", nil,
   false},
  {"triplet_margin_loss", "d", "a, b, c: T MxN",
   "F.triplet_margin_loss(a, b, c)", nil, false},
}

function numeric.numeric(g)
  local row = g:pick(ROWS)
  local kind = g:kind(row[2])
  local m, n = g:size(2, 500), g:size(2, 500)
  local is_stepped = g:happens(0.2)
  local inputs = row[3]:gsub("%f[%w]T%f[%W]", kind)
  if is_stepped then -- where the sizes are M and N
    inputs = inputs:gsub(" MxN", (" Mx%d step=2"):format(2 * n))
  end
  inputs = inputs:gsub("M", m):gsub("N", n)
  local function at(text)
    return text and text:gsub("SIDE", math.max(2, m % 64))
  end
  local layout = inputs:find "step" and "stepped" or "contiguous"
  return {name = described(row[1], kind, layout),
          size = ("%dx%d"):format(m, n), kind = kind, inputs = inputs,
          strided = at(row[4]), torch = at(row[5]), numpy = at(row[6])}
end

return numeric
