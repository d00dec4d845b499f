--- What ./dev bench growth measures, as data: a case of each family that has a
-- size, at sizes far apart, at neighbours of powers of two, and at distances in
-- memory that are odd or even.
--
--     {family, name, inputs, expression, bytes = , ...}
--
-- Inputs and expressions are those of cases.lua; N stands for each number of
-- the group, `at` or `sides`. The time is shown per element; there are
-- N ^ power of them (1), or `count`. A row with the power 2 takes the numbers
-- of `sides`. `work` is the power for multiply-adds, `work_count` their number,
-- if the time is shown per one of those. `bytes` is the memory per element that
-- a call reads and writes, `held` that of a few results which wait for the
-- collector, and `touch` ("copy") what the machine itself does
-- with as many, to compare with. `most` is the largest N.
--
-- `rule` says with what a time is compared: with the one before it ("step"),
-- with the least of its three neighbours ("three"), or with the least of the
-- row ("least"). `rows` of a group or of a row are what the machine touches in
-- place of `bytes`: n rows of so many bytes, at a distance in bytes, in each of
-- the `operands` (1) that have them.

local DECADES = {1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7,
                 1e8, 3e8, 1e9}
local SIDES = {10, 18, 32, 56, 100, 178, 316, 562, 1000, 1778, 3162, 5623,
               10000, 17783, 31623}

--- 2^k - 1, 2^k, 2^k + 1 for each k.
local function around(...)
  local list = {}
  for _, k in ipairs {...} do
    for d = -1, 1 do list[#list + 1] = 2 ^ k + d end
  end
  return list
end

local POWERS = around(7, 10, 13, 16, 18, 20, 22, 24)
local SMALL_SIDES, WIDE_SIDES = around(5, 6, 7, 8, 9, 10), around(7, 8, 9, 10,
                                                                 11, 12)

local LINES = {1000, 1001, 1008, 1016, 1023, 1024, 1025, 1040, 1280, 1536,
               2047, 2048, 2049, 4095, 4096, 4097}
local STEPS = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 64}

--- The rows of a square matrix of float32.
local function matrix(n) return {n = n, bytes = 4 * n, distance = 4 * n} end

return {
  {title = "sizes", at = DECADES, sides = SIDES, rule = "step",
    {"pointwise", "add", "a, b, r: f32 N -1:1", "@.add(a, b) -> r",
     bytes = 12},
    {"pointwise", "add, fresh", "a, b: f32 N -1:1", "a + b", bytes = 12,
     held = 8},
    {"math", "exp", "a, r: f32 N -3:3", "@.exp(a) -> r", bytes = 8},
    {"dtype", "float32 + float64", "a: f32 N; b, r: f64 N",
     "@.add(a, b) -> r", bytes = 20},
    {"convert", "float32 to uint8", "a: f32 N 0:200; r: u8 N", "r:copy_(a)",
     bytes = 5},
    {"layout", "transpose", "a: f32 NxN perm=10; r: f32 NxN", "r:copy_(a)",
     bytes = 8, power = 2, touch = "transpose", rows = matrix},
    {"layout", "step 2", "a: f32 Nx2 step=2; r: f32 Nx1", "r:copy_(a)",
     bytes = 12},
    {"layout", "cat, fresh", "a, b: f32 N", "@.cat({a, b})", bytes = 16},
    {"broadcast", "matrix + row", "a, r: f32 NxN; b: f32 N",
     "@.add(a, b) -> r", bytes = 8, power = 2},
    {"broadcast", "row of 3", "a, r: f32 Nx3; b: f32 3", "@.add(a, b) -> r",
     bytes = 24, most = 3e8},
    {"reduction", "sum", "a: f32 N", "a:sum()", bytes = 4, touch = "read"},
    {"reduction", "sum over the first", "a: f32 NxN", "a:sum(1)", bytes = 4,
     power = 2, touch = "read"},
    {"reduction", "sum over the last", "a: f32 NxN", "a:sum(2)", bytes = 4,
     power = 2, touch = "read"},
    {"reduction", "cumsum", "a, r: f32 N", "@.cumsum(a, 1) -> r", bytes = 8},
    {"reduction", "argmax", "a: f32 N", "a:argmax()", bytes = 4,
     touch = "read"},
    {"index", "gather", "a, r: f32 N; i: pos N 0:N", "@.gather(a, 1, i) -> r",
     bytes = 16, touch = "jump"},
    {"index", "masked_select", "a: f32 N; m: bool N", "a:masked_select(m)",
     bytes = 7},
    {"index", "sort", "a: f32 N", "a:sort()", bytes = 16, most = 1e8},
    {"matmul", "matmul", "a, b, r: f32 NxN -1:1", "@.matmul(a, b) -> r",
     bytes = 12, power = 2, work = 3, most = 3162},
    {"matmul", "matrix times vector", "a: f32 NxN -1:1; b: f32 N",
     "@.mv(a, b)", bytes = 4, power = 2, touch = "read"},
    {"memory", "fill_", "a: f32 N", "a:fill_(3)", bytes = 4, touch = "write"},
    {"chain", "2 (a b + c) - a, fresh", "a, b, c: f32 N",
     "(a * b + c) * 2 - a", bytes = 16, held = 12},
    {"fused", "Black-Scholes", "s: f32 N 50:150; k: f32 N 80:120; "
     .. "t: f32 N 0.1:2", "fused.black_scholes(s, k, t)", bytes = 16},
    {"random", "uniform_", "a: f32 N", "a:uniform_()", bytes = 4,
     touch = "write"},
  },

  {title = "neighbours of powers of two", at = POWERS, sides = WIDE_SIDES,
    rule = "three",
    {"pointwise", "add", "a, b, r: f32 N -1:1", "@.add(a, b) -> r",
     bytes = 12},
    {"math", "exp", "a, r: f32 N -3:3", "@.exp(a) -> r", bytes = 8},
    {"convert", "float32 to uint8", "a: f32 N 0:200; r: u8 N", "r:copy_(a)",
     bytes = 5},
    {"reduction", "sum", "a: f32 N", "a:sum()", bytes = 4},
    {"index", "sort", "a: f32 N", "a:sort()", bytes = 16},
    {"layout", "transpose", "a: f32 NxN perm=10; r: f32 NxN", "r:copy_(a)",
     bytes = 8, power = 2},
    {"layout", "a:t() + b", "a: f32 NxN perm=10; b, r: f32 NxN",
     "@.add(a, b) -> r", bytes = 12, power = 2},
    {"layout", "transpose, uint8", "a: u8 NxN perm=10; r: u8 NxN",
     "r:copy_(a)", bytes = 2, power = 2},
    {"reduction", "sum over the first", "a: f32 NxN", "a:sum(1)", bytes = 4,
     power = 2},
    {"reduction", "sum over the last", "a: f32 NxN", "a:sum(2)", bytes = 4,
     power = 2},
    {"reduction", "cumsum over the first", "a, r: f32 NxN",
     "@.cumsum(a, 1) -> r", bytes = 8, power = 2},
    {"reduction", "softmax over the first", "a: f32 NxN", "a:softmax(1)",
     bytes = 8, power = 2},
    {"index", "sort over the first", "a: f32 NxN", "a:sort(1)", bytes = 16,
     power = 2},
  },

  {title = "neighbours of powers of two", sides = SMALL_SIDES,
    rule = "three",
    {"matmul", "matmul", "a, b, r: f32 NxN -1:1", "@.matmul(a, b) -> r",
     bytes = 12, power = 2, work = 3},
    {"matmul", "matmul by a transpose", "a, r: f32 NxN -1:1; "
     .. "b: f32 NxN -1:1 perm=10", "@.matmul(a, b) -> r", bytes = 12,
     power = 2, work = 3},
  },

  -- Rows of 500 elements, N from the beginning of one to that of the next.
  {title = "distances of rows", at = LINES, rule = "least",
    rows = function(n) return {n = 500, bytes = 2000, distance = 4 * n} end,
    {"layout", "copy", "a: f32 500xN keep=500; r: f32 500x500", "r:copy_(a)",
     bytes = 8, count = 25e4},
    {"layout", "transpose", "a: f32 500xN keep=500; r: f32 500x500",
     "r:copy_(a:t())", bytes = 8, count = 25e4, touch = "columns"},
    {"layout", "a:t() + b", "a: f32 500xN keep=500; b, r: f32 500x500",
     "@.add(a:t(), b) -> r", bytes = 12, count = 25e4, touch = "columns"},
    {"reduction", "sum over the first", "a: f32 500xN keep=500", "a:sum(1)",
     bytes = 4, count = 25e4, touch = "read"},
    {"reduction", "sum over the last", "a: f32 500xN keep=500", "a:sum(2)",
     bytes = 4, count = 25e4, touch = "read"},
    {"reduction", "cumsum over the first", "a: f32 500xN keep=500; "
     .. "r: f32 500x500", "@.cumsum(a, 1) -> r", bytes = 8, count = 25e4},
    {"index", "sort over the first", "a: f32 500xN keep=500", "a:sort(1)",
     bytes = 16, count = 25e4},
    {"matmul", "matmul", "a, b: f32 500xN keep=500 -1:1; r: f32 500x500",
     "@.matmul(a, b) -> r", bytes = 12, count = 25e4, work_count = 125e6,
     operands = 2},
  },

  -- 4096 elements, N from one to the next: 1 MB at most.
  {title = "steps", at = STEPS, rule = "step",
    rows = function(n) return {n = 4096, bytes = 4, distance = 4 * n} end,
    {"layout", "copy", "a: f32 4096xN keep=1; r: f32 4096x1", "r:copy_(a)",
     bytes = 8, count = 4096},
    {"pointwise", "add", "a, b: f32 4096xN keep=1; r: f32 4096x1",
     "@.add(a, b) -> r", bytes = 12, count = 4096, operands = 2},
    {"math", "exp", "a: f32 4096xN keep=1; r: f32 4096x1", "@.exp(a) -> r",
     bytes = 8, count = 4096},
    {"reduction", "sum", "a: f32 4096xN keep=1", "a:sum()", bytes = 4,
     count = 4096, touch = "read"},
    {"convert", "float32 to uint8", "a: f32 4096xN 0:200 keep=1; "
     .. "r: u8 4096x1", "r:copy_(a)", bytes = 5, count = 4096},
  },
}
