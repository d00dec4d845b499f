--- Sorting of lines of every length, on both sides of where the algorithm
-- changes: the elements in order, NaN last, equal ones as they were.
-- axes: isa
-- sampled: 3

local st = require "strided"

local LENGTHS = {1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 79, 80, 81, 95,
                 127, 128, 129, 143, 144, 145, 161, 191, 255, 256, 257, 511,
                 512, 513, 1000, 4095, 4096, 65535, 65537}
local DTYPES = {"bool", "uint8", "int8", "int16", "int32", "int64", "uint16",
                "uint32", "uint64", "float16", "bfloat16", "float32",
                "float64"}
local FLOATS = {float16 = true, bfloat16 = true, float32 = true,
                float64 = true}

local function random(n, low, high)
  return st.empty(n, {dtype = "float64"}):uniform_(low, high)
end

--- Lines of float64 values that the dtypes represent or round.
local PATTERNS = {
  {"random numbers", function(n) return random(n, -100, 100) end},
  {"few numbers", function(n) return random(n, -2, 3):floor() end},
  {"one number", function(n) return st.full({n}, 7, {dtype = "float64"}) end},
  {"many zeros below others", function(n)
    return random(n, -100, 100):clamp {min = 0} end},
  {"many zeros above others", function(n)
    return random(n, -100, 100):clamp {max = 0} end},
  {"a narrow range", function(n) return random(n, 90, 120):floor() end},
  {"a sorted line", function(n)
    return st.arange(n, {dtype = "float64"}):div(n / 50) end},
  {"a line sorted backwards", function(n)
    return st.arange(n, {dtype = "float64"}):div(-n / 50) end},
  {"numbers close together, and one far away", function(n)
    local t = random(n, 1, 1 + 1e-9)
    t[n] = -1e4
    return t
  end},
  {"zeros of both signs, infinities and NaN", function(n)
    local t = random(n, -3, 3):floor()
    t[t:eq(2)], t[t:eq(-2)], t[t:eq(1)] = 0 / 0, math.huge, -math.huge
    return t:mul(random(n, -1, 1):sign())
  end, true}
}

--- How often a condition on neighbours of a sorted line is broken.
local function count(t) return t:sum():item() end

local function check(x, descending, what)
  local n = x:numel()
  local values, indices = x:sort(1, descending)
  local at = st.zeros(n, {dtype = "int64"})
  at:index_add_(1, indices, st.ones(n, {dtype = "int64"}))
  assert.equal(n, count(at:eq(1)), what .. ": a permutation")
  local taken = x:gather(1, indices)
  local same = taken:eq(values):bitwise_or(taken:ne(taken)
                                           :bitwise_and(values:ne(values)))
  assert.equal(n, count(same), what .. ": the values")
  if n == 1 then return end
  local a, b = values:narrow(1, 1, n - 1), values:narrow(1, 2, n - 1)
  local i, j = indices:narrow(1, 1, n - 1), indices:narrow(1, 2, n - 1)
  local first, last = a, b
  if descending then first, last = b, a end
  local is_nan = last:ne(last)
  assert.equal(n - 1, count(first:le(last):bitwise_or(is_nan)),
               what .. ": the order")
  local are_equal = a:eq(b):bitwise_or(a:ne(a):bitwise_and(b:ne(b)))
  assert.equal(n - 1, count(i:lt(j):bitwise_or(are_equal:logical_not())),
               what .. ": stable")
end

describe("A sorted line", function()
  for _, pattern in ipairs(PATTERNS) do
    it("of " .. pattern[1] .. " is in order, and stable", function()
      for _, dtype in ipairs(DTYPES) do
        for _, n in ipairs(LENGTHS) do
          local is_short = n < 4000 or dtype == "float32" or dtype == "int64"
          if is_short and (FLOATS[dtype] or not pattern[3]) then
            local x = pattern[2](n):to(dtype)
            local what = ("%d of %s"):format(n, dtype)
            check(x, false, what)
            check(x, true, what .. " descending")
          end
        end
      end
    end)
  end

  -- more pairs of key and index than half of the largest cache that the engine
  -- counts on
  local large = {int32 = 2 ^ 21 + 1, float16 = 2 ^ 21 + 1,
                 float32 = 2 ^ 21 + 1, float64 = 2 ^ 20 + 1}
  -- The sanitizers need one dtype of a size of the keys.
  if os.getenv "STRIDED_SANITIZED" then
    large.int32, large.float16 = nil, nil
  end
  for dtype, n in pairs(large) do
    it("of many " .. dtype .. " is in order, and stable", function()
      for _, pattern in ipairs {"random numbers", "one number",
                                "numbers close together, and one far away",
                                "zeros of both signs, infinities and NaN"} do
        for _, row in ipairs(PATTERNS) do
          if row[1] == pattern and (FLOATS[dtype] or not row[3]) then
            local x = row[2](n):to(dtype)
            check(x, dtype == "float64", n .. ": " .. pattern)
            local values, indices = x:sort()
            assert.is_true(x:argsort():equal(indices))
            local out = {st.empty({0}, {dtype = dtype}),
                         st.empty({0}, {dtype = "int64"})}
            st.sort(x, {out = out})
            assert.is_true(out[2]:equal(indices))
            assert.is_true(out[1]:view("uint8"):equal(values:view "uint8"))
          end
        end
      end
    end)
  end

  it("of integers far apart is in order, and stable", function()
    for _, n in ipairs(LENGTHS) do
      local high = random(n, -2^31, 2^31):floor():to "int64"
      local x = high:mul(2 ^ 31):add(random(n, 0, 9):floor():to "int64")
      check(x, false, n .. " far apart")
      check(x:add(-high[1] * 2 ^ 31):abs(), true, n .. " far apart")
    end
  end)

  it("of integers that differ in one bit is in order, and stable", function()
    for k = 0, 62 do
      local x = random(300, 0, 2):floor():to("int64"):mul(2 ^ k)
      check(x, k % 2 == 1, "bit " .. k)
      if k < 31 then check(x:to "int32", k % 2 == 0, "bit " .. k) end
    end
  end)

  it("may have any stride", function()
    local x = random(600, -9, 9):view(200, 3)
    local values, indices = x:sort(1)
    for k = 1, 3 do
      local v, i = x:select(2, k):clone():sort(1)
      assert.is_true(values:select(2, k):equal(v))
      assert.is_true(indices:select(2, k):equal(i))
    end
  end)

  -- Short lines are sorted together, in groups whose size is one of these.
  it("of an expanded tensor is that of its copy", function()
    local x = random(21, -3, 3):floor():view {1, 7, 1, 3}
    local wide = x:expand {4, 7, 5, 3}
    local copy = wide:contiguous()
    local function same(name, ...)
      local a, b = {st[name](wide, ...)}, {st[name](copy, ...)}
      for i = 1, 2 do
        assert.same(b[i]:size(), a[i]:size())
        assert.equal(a[i]:numel(), count(a[i]:eq(b[i])), name)
      end
    end
    for dim = 1, 4 do
      same("sort", dim)
      same("sort", dim, true)
      same("topk", 2, dim)
      same("kthvalue", 3, dim)
      same("median", dim)
      same("mode", dim)
    end
  end)

  it("of many lines is that of each line alone", function()
    for _, n in ipairs {2, 3, 7, 8, 9, 16, 17, 64, 65, 161, 256, 257} do
      for _, lines in ipairs {3, 4, 8, 9, 17, 65} do
        for _, d in ipairs {"uint8", "int64", "float32", "float64"} do
          local x = st.stack({random(n * lines, 0, 9):floor(),
                              random(n * lines, 0, 1e6)}, 1)
          if FLOATS[d] then x[x:eq(3)] = 0 / 0 end
          x = x:to(d):view(2, lines, n)[n % 2 + 1]
          local t = lines % 2 == 0 and x:t():clone():t() or x
          local v, i = t:sort(2, lines > 8)
          local least, where = t:topk(2, 2, false)
          for k = 1, lines do
            local what = ("%s, line %d of %d, length %d"):format(d, k, lines, n)
            local one, at = x[k]:clone():sort(1, lines > 8)
            assert.is_true(at:equal(i[k]), what)
            assert.is_true(st.allclose(one, v[k], {equal_nan = true}), what)
            one, at = x[k]:clone():sort(1)
            assert.is_true(at:narrow(1, 1, 2):equal(where[k]), what)
            assert.is_true(st.allclose(one:narrow(1, 1, 2), least[k],
                                       {equal_nan = true}), what)
          end
        end
      end
    end
  end)

  it("of lines copied by tiles is that of each line alone", function()
    for _, shape in ipairs {{257, 3}, {300, 37}, {1030, 130}} do
      for _, d in ipairs {"uint8", "bfloat16", "float32", "int64"} do
        local x = random(shape[1] * shape[2], 0, 200):to(d):view(shape)
        local lines = x:t():contiguous()
        for name, run in pairs {
          sort = function(t, dim) return t:sort(dim) end,
          descending = function(t, dim) return t:sort(dim, true) end,
          topk = function(t, dim) return t:topk(7, dim) end,
          kthvalue = function(t, dim) return t:kthvalue(9, dim) end,
          median = function(t, dim) return t:median(dim) end
        } do
          local a, b = {run(x, 1)}, {run(lines, 2)}
          for i = 1, 2 do
            local expected = b[i]:dim() == 2 and b[i]:t() or b[i]
            assert.is_true(a[i]:equal(expected), name .. " of " .. d)
          end
        end
      end
    end
  end)

  it("of every number of 16 bits is that of float32", function()
    local bits = (st.randperm(65536) - 32769):to "int16"
    for _, d in ipairs {"float16", "bfloat16"} do
      local x = bits:view(d)
      local wide = x:to "float32"
      for _, descending in ipairs {false, true} do
        local o = {stable = true, descending = descending}
        local _, at = x:sort(o)
        local _, expected = wide:sort(o)
        assert.is_true(at:equal(expected), d)
      end
      for _, right in ipairs {false, true} do
        local o = {right = right}
        assert.is_true(st.searchsorted(x:sort(), x, o):equal(
          st.searchsorted(wide:sort(), wide, o)), d)
      end
    end
  end)

  it("has first the first of the least elements, or of the greatest", function()
    for _, pattern in ipairs(PATTERNS) do
      for _, d in ipairs(DTYPES) do
        for _, n in ipairs {260, 319, 321, 1000} do
          local x = pattern[2](n):to(FLOATS[d] and d or "int64"):to(d)
          for _, largest in ipairs {true, false} do
            local v, i = x:sort(1, largest)
            local one, at = x:topk(1, 1, largest)
            local what = ("%s of %s, length %d"):format(pattern[1], d, n)
            assert.equal(i[1], at:item(), what)
            assert.equal(tostring(v[1]), tostring(one:item()), what)
          end
        end
      end
    end
  end)

  it("has the element of each rank, and the medians", function()
    for _, pattern in ipairs(PATTERNS) do
      for _, n in ipairs {300, 1000, 5000, 40000} do
        for _, dtype in ipairs {"int32", "int64", "float32", "float64"} do
          local is_float = FLOATS[dtype]
          local x = (pattern[3] and not is_float and random(n, -9, 9)
                     or pattern[2](n)):to(dtype)
          local values, indices = x:sort()
          local numbers = n - count(x:ne(x))
          local function expect(k, value, index)
            assert.equal(tostring(indices[k]), tostring(index:item()))
            assert.equal(tostring(values[k]), tostring(value:item()))
          end
          for _, k in ipairs {1, math.floor(n / 3), n - 5, n} do
            expect(k, x:kthvalue(k))
          end
          expect(numbers < n and numbers + 1 or math.floor((n + 1) / 2),
                 x:median(1))
          expect(math.floor((numbers + 1) / 2), x:nanmedian(1))
        end
      end
    end
  end)

  it("finds the place of values in lines of every length", function()
    for _, n in ipairs {0, 1, 2, 7, 24, 25, 64, 65, 200, 1024, 1025, 3000} do
      for _, d in ipairs(DTYPES) do
        local line = random(n, 0, 100):to(d):sort(1)
        local x = random(150, -1, 101):abs():to(d)
        if n > 0 then x:narrow(1, 3, 1):copy_(line:narrow(1, n, 1)) end
        for _, right in ipairs {false, true} do
          local below = line:unsqueeze(1)[right and "le" or "lt"](
            line:unsqueeze(1), x:unsqueeze(2))
          local places = below:sum(2)
          assert.is_true(places:equal(st.searchsorted(
            line, x, {right = right, base = 0})), d .. " " .. n)
          local few = st.searchsorted(line, x:narrow(1, 1, 3),
                                      {right = right, base = 0})
          assert.is_true(few:equal(places:narrow(1, 1, 3)), d .. " " .. n)
        end
      end
    end
  end)
end)
