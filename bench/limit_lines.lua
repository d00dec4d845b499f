--- What limits the cases in which strided is slower than a peer, as measured
-- with perf, and what was tried. limits.lua finds the first line that applies:
--
--     family      names of families, separated by spaces; default all
--     case        patterns, one of which the case's name has
--     without     a pattern that it does not have
--     from, to    strided's time in us
--
-- Percentages are shares of one thread's time, of AVX2 if no other instruction
-- set is named.

return {
  {name = "A view, or a call on few elements", from = 0, to = 1.6,
   limit = "LuaJIT's own work (userdata, finalizer, collection, stack) is 37 "
        .. "to 62 % of the time of a view and 31 to 48 % of a small map, the "
        .. "engine 19 to 51 %, the binding 8 to 22 %; no function has more "
        .. "than 9 %, but the kernel. NumPy's call costs 20 to 110 ns",
   tried = "shortcuts without dispatch; cached resolutions, of keywords and "
        .. "lists too; no atomics where there is one owner (Note [The budget "
        .. "of a call]); a prefetch of the next block: 1 %; a collection "
        .. "every 500 or 1,000 views, so that they stay in L2: 257 ns, 335 "
        .. "and 285"},

  -- -- Exact functions -------------------------------------------------------

  {name = "Random normals", case = {"^randn", "^into randn", "^normal_"},
   limit = "the bits are PyTorch's: float64 is 49 to 68 % in the C library's "
        .. "sincos, 8 to 13 % in its log",
   tried = "the functions of float32 are vectorised and verified for the 2^24 "
        .. "arguments; a library that rounds as the C library does for "
        .. "float64 would have to be proved for all arguments"},
  {name = "gelu", case = {"^gelu"},
   limit = "83 % in the function, which errs by .92 units; PyTorch's formula "
        .. "x / 2 (1 + erf) cancels for negative arguments and is off by 20 "
        .. "bits at -5",
   tried = "no clamp by comparisons that compilers turn into paths: 6.9 to "
        .. "3.4 ns an element"},
  {name = "Vector maths", family = "math unary chain activation",
   case = {"^exp", "^log", "^tanh", "^sigmoid", "^sin", "^cos", "^tan", "^pow",
           "^a?sinh", "^a?cosh", "^atan", "^asin", "^acos", "^sin%(a%)",
           "^silu"},
   limit = "AVX-512: 89 % in the loop, which both vector units fill: 29 "
        .. "instructions a vector of tanh, 30 of sigmoid. Each function errs "
        .. "by less than a unit, with the same bits in all instruction sets, "
        .. "so without tables: AVX2 cannot look up 32 polynomials in "
        .. "registers, as NumPy's tanh does with AVX-512",
   tried = "shorter functions for plain arguments: pow 1.47 to 1.04 ns; two "
        .. "vectors at a time: sin .36 to .29, pow to .76, sigmoid .40 to .30; "
        .. "Newton steps instead of the quotient of tanh: none; three or four "
        .. "vectors: exp 4 %, sin 8 % slower"},
  {name = "sqrt", case = {"^sqrt"},
   limit = "AVX-512: 89 % in the loop, which waits for the processor's square "
        .. "root, .21 ns a float; PyTorch corrects an estimate, .13 ns",
   tried = "a square root of estimates that is rounded correctly is not "
        .. "written"},
  {name = "rsqrt", case = {"^rsqrt"},
   limit = "it is rounded within .501 units, two corrections after a quotient "
        .. "and a root; PyTorch errs by 1.5 units",
   tried = "a root and a quotient alone err by 1.49 units"},
  {name = "softplus, erf, ndtr", case = {"softplus", "^erf", "ndtr"},
   limit = "83 % in the function, which errs by less than a unit with what "
        .. "each step lost",
   tried = "one exponential and one logarithm instead of log1p of exp"},
  {name = "Bessel functions", case = {"special_i", "^i0", "modified_bessel"},
   limit = "82 % in a series of 26 terms in double, which gives the bits of "
        .. "the base code; PyTorch's is in float",
   tried = "the two ranges by vectors (8 to 14 times), one series for blocks "
        .. "of small arguments: 624 to 449 us"},
  {name = "polygamma", case = {"polygamma"},
   limit = "zeta at order 1: 55 % in the C library's pow, 10 % in the sum; "
        .. "PyTorch has a series of its own for order 1",
   tried = "nothing: such a series is not written"},
  {name = "logspace, ldexp, powers", case = {"logspace", "ldexp", "^pow"},
   limit = "82 % in pow, which errs by less than .89 units for any two numbers",
   tried = "vector loops for bases of 2 and 10, ldexp by the exponent's bits"},
  {name = "hardswish", case = {"hardswish"},
   limit = "66 % in the loop, whose quotient by 6 is ATen's; a product with "
        .. "1 / 6 gives other bits",
   tried = "out= takes as long: 39 us and 40 for 190,000 elements"},
  {name = "fmod, remainder, floor_divide",
   case = {"fmod", "remainder", "floor_divide"},
   limit = "exact quotients: what the vector loop cannot prove exact calls the "
        .. "C library (170 ns an element); of int64 58 % is the loop, double "
        .. "by vectors, 31 % the search for a zero, which is an error",
   tried = "fmod by a truncated quotient and one fused multiply-add: 88 to 2.5 "
        .. "us for 3,925 elements; int64 by double: 59 to 11 us for 10,000"},

  -- -- Several passes --------------------------------------------------------

  {name = "softmax, log_softmax, logsumexp", case = {"softmax", "logsumexp"},
   limit = "a long row is 28 to 38 % in exp, which errs by less than a unit, "
        .. "and 32 % in the pass that subtracts and multiplies; a row of 35 to "
        .. "107 is 20 to 23 % in exp, 21 to 26 % in the largest element, 15 "
        .. "to 21 % in the sum, a tree of float64",
   tried = "several lines at once, two passes of exp less for long rows, "
        .. "halves widened in registers"},
  {name = "Normalisations", family = "norm",
   limit = "three passes: layer_norm is 47 % in the last, 15 % in sums, 14 % "
        .. "in squares of deviations; group_norm 25 % in addcmul, 18 % in "
        .. "squares, 14 % in sums; batch_norm 34 % in tiles of the parameters, "
        .. "18 % in copies of them, 17 % in addcmul",
   tried = "one walk for the short rows of layer_norm and group_norm; a kernel "
        .. "for batch_norm is not written"},
  {name = "Losses of several operators", family = "loss",
   limit = "each operator is a pass over memory: cosine_similarity is 27 % in "
        .. "norms, 19 % in quotients, 15 % in products, 10 % in sums; "
        .. "attention 31 % in OpenBLAS's product, 9 % in its copies, 28 % in "
        .. "softmax",
   tried = "cross_entropy without its matrix, huber and smooth_l1 in one pass: "
        .. "290 us to 42; the sums of the losses in one pass need an order "
        .. "that is the same for every layout"},
  {name = "cross, addr, interpolation, block_diag",
   case = {"^cross", "^addr", "upsample", "interpolate", "block_diag",
           "trapezoid"},
   limit = "composites of other operators: cross has no function above 8 %, "
        .. "it is calls for rows of 3; addr is 43 % in tiles, 27 % in addcmul; "
        .. "bilinear 30 % in index_select, 9 % in addcmul; block_diag 67 % in "
        .. "copies, 5 % in zeros",
   tried = "addcmul for addr: 15.0 to 13.8 us; upsampling reads only the rows "
        .. "that it uses: 286 to 36 us"},

  -- -- Reductions ------------------------------------------------------------

  {name = "Sums", family = "reduction", case = {"^sum", "^mean", "^prod"},
   limit = "the sum is a tree of float64 whose order no layout, thread or "
        .. "instruction set changes: of 100,000 float32 (AVX-512) 64 % is in "
        .. "the row, which widens each element, 10 % in its lanes; of float16 "
        .. "73 % in the row; over the first dimension 75 % in four rows at "
        .. "once. A peer adds in float32; prod multiplies in float64, too",
   tried = "requests 4 KB ahead, several rows at once, halves sixteen at a "
        .. "time: 16 to 6 us for 1398x44"},
  {name = "A reduction of an expression", family = "reduced",
   limit = "AVX-512: the machine code of max(|x| w) has 44 %, with stores of "
        .. "a block to L1 that the tree reads again: 15 % its row, 7 % its "
        .. "lanes; of sum((x - y)^2) the map has 40 %, the row 26 %",
   tried = "blocks that stay in L1; a row of the tree in the machine code is "
        .. "not written"},
  {name = "Extrema and nansum of rows", family = "reduce",
   case = {"^min", "^max", "^amin", "^amax", "^nansum"}, without = "expanded",
   limit = "AVX-512: of rows of 681 floats 37 % is in the row, 27 % in the end "
        .. "of its lanes, 4 % in the walk; nansum over short columns is 70 % "
        .. "in the columns, a tree of float64, 6 % in conversions",
   tried = "short rows side by side in vectors: sum of 27 to 8.4 us"},
  {name = "Sums of halves", family = "reduce", case = {"float16"},
   without = "expanded",
   limit = "the sum is a tree of float64: 75 % in the loop, which widens each "
        .. "element twice; PyTorch adds in float32, so that its result depends "
        .. "on the number of threads",
   tried = "widening in registers: nansum 47 to 25 us, sum 25 to 24; doubles "
        .. "by bits: 15.4 to 11.2 us in a loop apart, but it fails for NaN and "
        .. "infinities"},
  {name = "any, all", family = "reduce reduction", case = {"^any", "^all"},
   limit = "1,048,576 bools that end at once take 2.7 us, 65,536 take .50, "
        .. "1,024 take .27: a block of the tree ends early, but each of the "
        .. "other blocks is begun; of 1,000,000 that do not end (AVX-512) the "
        .. "row has 35 %, the end of its lanes 24 %, the walk 15 %",
   tried = "an early end within a block; the walk over blocks does not ask"},
  {name = "argmax, argmin", case = {"^argm", "^aminmax"},
   limit = "a pass for the largest element and a search for its place; of "
        .. "transposed elements 64 % is the copy into their order, which the "
        .. "first place needs",
   tried = "both in one pass for short rows: 1.2 to 2.9 times faster"},
  {name = "Reductions in another order than memory's", family = "reduce",
   case = {"transposed", "expanded", "stepped", "permuted", "channels_last"},
   limit = "the tree follows the indices, so that a result has the same bits "
        .. "in every layout: elements are copied into that order first, 79 % "
        .. "of amin of a transposed whole, 82 % of max of an expanded one, 32 "
        .. "% of a mean; prod is 87 % in its loop over rows",
   tried = "extrema of columns in memory's order with a second run where a "
        .. "zero or a NaN may differ; not yet of all elements at once"},

  {name = "Norms and products", family = "reduce", case = {"^norm", "^prod"},
   limit = "the tree of the sums: of 282,839 float32 (AVX-512) 74 % of a norm "
        .. "is in the row, which widens each element before its square, 9 % in "
        .. "its lanes; PyTorch squares in float32. prod of rows of 241 doubles "
        .. "is 82 % in the rows, whose order is that of the tree",
   tried = "requests 4 KB ahead; short rows, many in a call"},

  -- -- Sorting and indices ---------------------------------------------------

  {name = "Sorting", family = "sort",
   limit = "positions move with the keys, and equal keys stay in order: radix "
        .. "passes are 42 to 59 %, the network of short rows 42 %, its "
        .. "gathering 18 %; NumPy sorts values alone. isin is 64 % in its "
        .. "search",
   tried = "tables and comparisons for isin; selection for medians; the least "
        .. "of a line without a sort; values from keys: 10 to 7.7 ns for "
        .. "1,000,000; long lines by parts"},
  {name = "Indices", family = "index",
   limit = "each position is checked before it is used (5 to 16 %), and is 64 "
        .. "bits: a[i] of halves is 49 % in loads; scatter_add of bfloat16 "
        .. "44 % in its adds, one after the other as the order demands; small "
        .. "ones are a call",
   tried = "short rows as one element: 5.8 to 2.4 us; steps that are constant, "
        .. "or none: 1.09 to .75 ns"},
  {name = "masked_scatter", case = {"masked_scatter", "^take"},
   limit = "the place of a source element depends on all masks before it",
   tried = "a store without a branch"},

  -- -- Products and images ---------------------------------------------------

  {name = "Convolutions of few channels", family = "convolution",
   limit = "43 to 48 % in copies of rows into columns, 14 to 18 % in the tile "
        .. "of products, 5 to 7 % in the loop; of depthwise ones of width 1 30 "
        .. "% in memmove",
   tried = "direct kernels for depthwise and 3x3; a pointwise one without "
        .. "copies is not written"},
  {name = "Pooling and padding", family = "pool",
   limit = "65 to 78 % in the kernel; about 28 ns of set-up for each row of "
        .. "windows, which images of 6 to 20 columns do not repay; bfloat16 "
        .. "adaptive pooling 42 % in the search of positions; pixel_shuffle "
        .. "35 % in tiles of 4",
   tried = "several images as one, windows of a row by vectors"},
  {name = "Thin products", family = "matmul",
   limit = "OpenBLAS: of a batch 42 % in its kernel, 31 % in its copies; of "
        .. "halves 49 % in float64 sums, 21 % in widening; outer is bound by "
        .. "the stores of its result",
   tried = "register kernels up to 32; an element for a piece of 128: 134 to "
        .. "92 us"},

  -- -- Memory ----------------------------------------------------------------

  {name = "Running extrema, products and sums", family = "scan",
   case = {"^cum", "^log_cum"},
   limit = "76 to 80 % in the loop: each element depends on the one before; "
        .. "values and positions are 24 bytes an element",
   tried = "lines side by side in vectors; half as many columns: no change"},
  {name = "Elements with distances", case = {"transposed", "permuted",
                                             "stepped", "channels_last",
                                             "step 2"},
   family = "binary ternary unary contiguous move convert activation create "
         .. "dtype numeric",
   limit = "71 % in the gathering of elements with distances, or 74 % in the "
        .. "transpose of 8 bytes, in cache lines of which one element is used "
        .. "at a time",
   tried = "tiles of L1, non-temporal stores only for whole lines"},
  {name = "diff", case = {"^diff"},
   limit = "one subtraction of two views: 62 % in its loop, whose rows of 255 "
        .. "begin within lines, the rest in the call and the collection of a "
        .. "fresh result, which PyTorch frees at once",
   tried = "the views are subtracted in place, without copies of them"},
  {name = "Layers of a network, thin products", family = "mlp",
   limit = "57 % in the tiles of 12 rows, of which 10 outputs fill half a "
        .. "vector, 7 % in relu, 11 % in waiting for the other thread, 5 % in "
        .. "copies of rows, 5 % in the packing of weights",
   tried = "a packed kernel of 12 x 32 for moderate products; batches in one "
        .. "call"},
  {name = "Patterns of numbers", case = {"^eye", "tril_indices",
                                         "triu_indices"},
   limit = "67 % in memset of a block that is not in the caches; of indices "
        .. "of a triangle 41 % in the loop, 40 % in copies",
   tried = "new blocks of 2 MB and more are zero and are not set"},
  {name = "Transpose and convert", case = {"transpose and convert"},
   limit = "AVX-512: 22 % in the transpose of 8 bytes, 17 % in memmove, 34 % "
        .. "in the walk that converts each row of a tile, of 32 elements",
   tried = "tiles of whole cache lines that both sides share"},
  {name = "zeros", family = "memory", case = {"^zeros"},
   limit = "40 MB are a new block: 30 % of the 16 us is the system's clearing "
        .. "of page tables, 45 % the collection's; up to 32 MB 70 % is memset "
        .. "of a block that L2 does not have, where calloc returns pages that "
        .. "nobody has touched yet",
   tried = "new blocks from 32 MB on: 1,480 us to 16"},
  {name = "empty", case = {"^empty"}, from = 1.6,
   limit = "the collections, which 1 MB results cause every fourth time: "
        .. "LuaJIT has all of the time, no function more than 6 %",
   tried = "one cycle by a step instead of two sweeps: 23 to 15 us each"},
  {name = "A map of 64 KB to 8 MB", from = 1.6, to = 7000,
   family = "contiguous create convert activation unary binary move ternary "
         .. "numeric pointwise chain broadcast layout fused memory",
   limit = "memory: 66 to 87 % in a loop of loads and stores, and with a fresh "
        .. "result 13 to 24 us of collection every 1 to 4 MB; two or three "
        .. "blocks take turns, while a peer frees each and writes the same one "
        .. "again",
   tried = "collecting before a result instead of after it: 4 MB 335 to 192 "
        .. "us, 167 with y:free(); a bound of 1 MB instead of 4 for results of "
        .. "up to 1 MB: zeros of 512 KB 22 to 16 us; bounds of 8, 16 and 24 "
        .. "MB: 45, 54 and 75 us for 400,000 elements, with 4 MB 44"},
}
