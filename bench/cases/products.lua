--- The cases of products of matrices: small to large, odd and prime sizes, in
-- all dtypes with kernels of their own, wide and thin ones, batches, layouts.
-- cases.lua explains the rows.

local SQUARES = {8, 9, 16, 31, 32, 33, 63, 64, 65, 97, 100, 127, 128, 129, 200,
                 256, 257, 400, 500, 512, 640, 1000, 1021, 1024, 2000, 2048,
                 4096}
local FEWER = {8, 16, 33, 64, 100, 128, 256, 500, 1000, 2048}

local family = {family = "products",
  {"float32", "a, b, r: f32 NxN -1:1", "@.matmul(a, b) -> r", at = SQUARES},
  {"float64", "a, b, r: f64 NxN -1:1", "@.matmul(a, b) -> r", at = SQUARES},
  {"complex64", "a, b, r: c64 NxN -1:1", "@.matmul(a, b) -> r", at = FEWER},
  {"complex128", "a, b, r: c128 NxN -1:1", "@.matmul(a, b) -> r",
   at = {16, 64, 100, 256, 500}},
  {"bfloat16", "a, b, r: bf16 NxN -1:1", "@.matmul(a, b) -> r", nil, false,
   at = FEWER},
  {"float16", "a, b, r: f16 NxN -1:1", "@.matmul(a, b) -> r", nil, false,
   at = {64, 256, 1000}},
  {"int32", "a, b: i32 NxN -9:9", "@.matmul(a, b)", at = {16, 100, 500}},

  -- Layouts: transposed, sliced, both.
  {"transposed b", "a: f32 NxN -1:1; b: f32 NxN -1:1 perm=10",
   "@.matmul(a, b)", at = FEWER},
  {"transposed a", "a: f32 NxN -1:1 perm=10; b: f32 NxN -1:1",
   "@.matmul(a, b)", at = FEWER},
  {"both transposed", "a, b: f64 NxN -1:1 perm=10", "@.matmul(a, b)",
   at = FEWER},
  {"parts of rows", "a: f32 NxN -1:1 cut=3", "@.matmul(a, a:t())", nil,
   "@.matmul(a, a.T)", at = {64, 500, 1000}},
  {"every second column", "a: f32 NxN -1:1 step=2; b: f32 NxN -1:1",
   "@.matmul(a:t(), b)", nil, "@.matmul(a.T, b)", at = {64, 500, 1000}},
}

-- Wide, tall and thin ones, and vectors: rows, terms, columns.
local SHAPES = {
  {4, 1000, 1000}, {1000, 1000, 4}, {1000, 8, 1000}, {1000, 16, 1000},
  {64, 1024, 1024}, {128, 784, 512}, {1024, 64, 1024}, {4096, 512, 64},
  {10000, 64, 64}, {100, 20, 30}, {500, 300, 700}, {33, 10000, 33},
  {2000, 2000, 17}, {7, 300, 5}, {20000, 30, 3}, {3, 5000, 3000},
}
for _, dtype in ipairs {"f32", "f64"} do
  for _, s in ipairs(SHAPES) do
    local name = ("%s, %d x %d x %d"):format(dtype, s[1], s[2], s[3])
    family[#family + 1] = {
      name, ("a: %s %dx%d -1:1; b: %s %dx%d -1:1"):format(dtype, s[1], s[2],
                                                          dtype, s[2], s[3]),
      "@.matmul(a, b)"}
  end
  for _, s in ipairs {{64, 64}, {900, 1100}, {4096, 1000}, {3000, 3000},
                      {100000, 20}, {20, 100000}} do
    local text = "a: %s %dx%d -1:1%s; b: %s %d -1:1"
    local name = ("%s, %d x %d and a vector"):format(dtype, s[1], s[2])
    family[#family + 1] = {
      name, text:format(dtype, s[1], s[2], "", dtype, s[2]), "@.matmul(a, b)"}
    family[#family + 1] = {
      name .. ", of columns",
      text:format(dtype, s[2], s[1], " perm=10", dtype, s[2]),
      "@.matmul(a, b)"}
  end
end

-- Batches: matrices, rows, terms, columns.
for _, s in ipairs {{1000, 8, 8, 8}, {64, 64, 64, 64}, {100, 20, 30, 40},
                    {32, 100, 20, 30}, {12, 128, 64, 128}, {8, 300, 300, 300},
                    {10000, 3, 3, 3}} do
  family[#family + 1] = {
    ("batch, %d of %d x %d x %d"):format(s[1], s[2], s[3], s[4]),
    ("a: f32 %dx%dx%d -1:1; b: f32 %dx%dx%d -1:1"):format(s[1], s[2], s[3],
                                                          s[1], s[3], s[4]),
    "@.matmul(a, b)"}
end

return family
