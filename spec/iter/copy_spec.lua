--- Copies move every element to its place and touch nothing else, whatever
-- the ranks, permutations, steps, offsets, element sizes and dtypes.
--
-- The expected elements come from a loop over logical indices that knows
-- only sizes, strides and offsets.
-- axes: isa threads
-- sampled: 3

local st = require "strided"
local live = require("spec.support.tensors").live

local DTYPES = {"bool", "uint8", "int8", "int16", "int32", "int64", "float16",
                "bfloat16", "float32", "float64", "complex64", "complex128"}
local FILL, MODULUS = 99, 97 -- exact in every dtype

-- -- The naive copy ----------------------------------------------------------

--- The elements of a whole buffer as Lua numbers, in order.
local function numbers(buffer)
  local dtype = tostring(buffer.dtype)
  if dtype:find "^complex" then buffer = buffer:real() end
  local list = buffer:to "float64":totable()
  for i, x in ipairs(list) do
    if type(x) == "boolean" then list[i] = x and 1 or 0 end
  end
  return list
end

--- Calls fn(dst place, src place) for every logical index, 0-based.
local function each(sizes, dst, src, fn)
  local index, n = {}, 1
  for d = 1, #sizes do index[d], n = 0, n * sizes[d] end
  local to, from = dst.offset, src.offset
  for _ = 1, n do
    fn(to, from)
    for d = #sizes, 1, -1 do
      index[d] = index[d] + 1
      to, from = to + dst.strides[d], from + src.strides[d]
      if index[d] < sizes[d] then break end
      to = to - sizes[d] * dst.strides[d]
      from = from - sizes[d] * src.strides[d]
      index[d] = 0
    end
  end
end

local function view(buffer, sizes, g)
  return buffer:as_strided(sizes, g.strides, g.offset)
end

--- The place of the first element that differs, or nil.
local function first_difference(expected, got)
  for i = 1, #expected do
    if expected[i] ~= got[i] then
      return ("place %d: %s instead of %s"):format(i, got[i], expected[i])
    end
  end
end

--- Copies between two buffers and says what went wrong, if anything.
local function check(sizes, dst, src)
  local from = st.arange(src.room):remainder(MODULUS):to(src.dtype)
  local to = st.full({dst.room}, FILL, {dtype = "int64"}):to(dst.dtype)
  local expected, elements = numbers(to), numbers(from)
  local is_bool = dst.dtype == "bool"
  each(sizes, dst, src, function(i, j)
    local x = elements[j + 1]
    expected[i + 1] = is_bool and (x ~= 0 and 1 or 0) or x
  end)
  view(to, sizes, dst):copy_(view(from, sizes, src))
  return first_difference(expected, numbers(to))
end

-- -- Geometries --------------------------------------------------------------

--- Room for sizes laid out in the order of perm (slowest first), with a step
-- between the elements of the fastest dimension, `gap` elements behind each
-- row, and an offset.
local function layout(sizes, perm, dtype, step, gap, offset)
  local strides, run = {}, step or 1
  for k = #perm, 1, -1 do
    strides[perm[k]] = run
    run = run * sizes[perm[k]] + (k == #perm and gap or 0)
  end
  offset = offset or 0
  return {strides = strides, offset = offset, room = run + offset,
          dtype = dtype}
end

local function plain(sizes, dtype)
  local perm = {}
  for d = 1, #sizes do perm[d] = d end
  return layout(sizes, perm, dtype)
end

-- what, sizes, the order of src; dst is contiguous
local SHAPES = {
  {"a square", {67, 67}, {2, 1}},
  {"whole tiles", {128, 64}, {2, 1}},
  {"one row more than tiles", {65, 129}, {2, 1}},
  {"rows of pages", {17, 1024}, {2, 1}},
  {"columns of pages", {1024, 17}, {2, 1}},
  {"too narrow for a tile", {3, 500}, {2, 1}},
  {"too low for a tile", {500, 3}, {2, 1}},
  {"as high as a register", {4, 33}, {2, 1}},
  {"as wide as a register", {33, 16}, {2, 1}},
  {"two by two", {2, 2}, {2, 1}},
  {"a row", {1, 300}, {2, 1}},
  {"planes that become pixels", {2, 3, 20, 21}, {1, 3, 4, 2}},
  {"pixels that become planes", {2, 20, 21, 3}, {1, 4, 2, 3}},
  {"many channels last", {2, 33, 7, 9}, {1, 3, 4, 2}},
  {"channels last in five", {2, 17, 3, 5, 7}, {1, 3, 4, 5, 2}},
  {"the last dimension first", {9, 31, 37}, {3, 1, 2}},
  {"the first dimension last", {31, 37, 9}, {2, 3, 1}},
  {"all reversed", {9, 11, 13}, {3, 2, 1}},
  {"five reversed", {3, 4, 5, 6, 7}, {5, 4, 3, 2, 1}},
  {"runs of one, two", {50, 40, 2}, {2, 1, 3}},
  {"runs of three", {50, 40, 3}, {2, 1, 3}},
  {"runs of five", {20, 40, 5}, {2, 1, 3}},
  {"runs of seven", {20, 40, 7}, {2, 1, 3}},
  {"runs of sixteen", {20, 40, 16}, {2, 1, 3}},
  {"runs as long as lines", {9, 11, 64}, {2, 1, 3}},
  {"longer runs", {9, 11, 65}, {2, 1, 3}},
  {"heads of attention", {2, 8, 9, 12}, {1, 3, 2, 4}},
  {"blocks of pixels", {6, 8, 4, 4, 3}, {1, 3, 2, 4, 5}},
}
local SIZES = {"uint8", "int16", "float32", "float64", "complex128"}

-- what, the layouts of dst and src for sizes in the order of perm
local STEPS = {
  {"a step of 2", function(sizes, perm, t)
    return plain(sizes, t), layout(sizes, perm, t, 2)
  end},
  {"a step of 3", function(sizes, perm, t)
    return plain(sizes, t), layout(sizes, perm, t, 3, 1)
  end},
  {"a step of 5 and an offset", function(sizes, perm, t)
    return plain(sizes, t), layout(sizes, perm, t, 5, 0, 7)
  end},
  {"gaps and odd offsets", function(sizes, perm, t)
    local order = {}
    for d = 1, #sizes do order[d] = d end
    return layout(sizes, order, t, 1, 3, 5), layout(sizes, perm, t, 1, 1, 3)
  end},
  {"a destination with steps", function(sizes, perm, t)
    local order = {}
    for d = 1, #sizes do order[d] = d end
    return layout(sizes, order, t, 2, 1, 1), layout(sizes, perm, t)
  end},
  {"both permuted", function(sizes, perm, t)
    local back = {}
    for d = 1, #perm do back[d] = perm[#perm + 1 - d] end
    return layout(sizes, back, t, 1, 1), layout(sizes, perm, t)
  end},
}

-- -- Specs -------------------------------------------------------------------

describe("A copy", function()
  local threads, before
  setup(function()
    threads = st.get_num_threads()
    before = live()
  end)
  teardown(function() st.set_num_threads(threads) end)

  for _, row in ipairs(SHAPES) do
    local what, sizes, perm = row[1], row[2], row[3]
    it("moves elements of every size: " .. what, function()
      for _, t in ipairs(SIZES) do
        local wrong = check(sizes, plain(sizes, t), layout(sizes, perm, t))
        assert.is_nil(wrong, t)
        -- and the other way round
        wrong = check(sizes, layout(sizes, perm, t), plain(sizes, t))
        assert.is_nil(wrong, t .. ", back")
      end
    end)
  end

  for _, row in ipairs(STEPS) do
    local what, make = row[1], row[2]
    it("keeps inside its view: " .. what, function()
      for i, shape in ipairs(SHAPES) do
        local t = SIZES[i % #SIZES + 1]
        local dst, src = make(shape[2], shape[3], t)
        assert.is_nil(check(shape[2], dst, src), shape[1] .. ", " .. t)
      end
    end)
  end

  for i, from in ipairs(DTYPES) do
    it("converts and transposes at once: from " .. from, function()
      for k, to in ipairs(DTYPES) do
        local shape = SHAPES[(5 * i + k) % #SHAPES + 1]
        local sizes, perm = shape[2], shape[3]
        local wrong = check(sizes, plain(sizes, to),
                            layout(sizes, perm, from))
        assert.is_nil(wrong, shape[1] .. ", to " .. to)
        wrong = check(sizes, plain(sizes, to),
                      layout(sizes, perm, from, 2 + (i + k) % 3))
        assert.is_nil(wrong, shape[1] .. " in steps, to " .. to)
      end
    end)
  end

  it("takes every k-th element of long and short rows", function()
    for _, t in ipairs(SIZES) do
      for step = 2, 18 do
        for _, n in ipairs {127, 128, 129, 144, 145, 160, 161, 1025} do
          local wrong = check({n}, plain({n}, t),
                              {strides = {step}, offset = 1, dtype = t,
                               room = (n - 1) * step + 2})
          assert.is_nil(wrong, ("%d in steps of %d, %s"):format(n, step, t))
        end
      end
    end
  end)

  -- sizes, strides of src: broadcast, and windows that overlap
  local REPEATED = {
    {{40, 50}, {0, 1}}, {{40, 50}, {1, 0}}, {{40, 50}, {0, 0}},
    {{300, 4}, {1, 0}}, {{4, 300}, {1, 0}}, {{300, 3}, {0, 1}},
    {{30, 20}, {1, 1}}, {{30, 20}, {1, 2}}, {{30, 20}, {2, 1}},
    {{5, 1, 70}, {0, 3, 1}}, {{7, 8, 9}, {1, 0, 3}},
  }
  for i, row in ipairs(REPEATED) do
    it(("repeats elements of src: row %d"):format(i), function()
      local sizes = row[1]
      for _, t in ipairs(SIZES) do
        local src = {strides = row[2], offset = 2, room = 400, dtype = t}
        assert.is_nil(check(sizes, plain(sizes, t), src), t)
      end
    end)
  end

  it("gives the same elements on every number of threads", function()
    local sizes = {301, 257}
    for n = 1, 4 do
      st.set_num_threads(n)
      assert.is_nil(check(sizes, plain(sizes, "float32"),
                          layout(sizes, {2, 1}, "float32")), n)
      assert.is_nil(check(sizes, plain(sizes, "float32"),
                          layout(sizes, {2, 1}, "int64")), n)
    end
  end)

  -- Larger than any cache, with rows that start anywhere in a line.
  local LARGE = {
    {"float32", {3001, 1403}}, {"uint8", {4001, 4199}},
    {"float64", {1601, 1309}},
  }
  for _, row in ipairs(LARGE) do
    local dtype, sizes = row[1], row[2]
    it("streams what is large: " .. dtype, function()
      local a = st.arange(sizes[1] * sizes[2]):remainder(MODULUS)
        :to(dtype):view(sizes)
      local b = a:t():contiguous()
      -- a place at a time, in steps that meet every row
      for i = 1, sizes[1], 7 do
        local j = (i * 31) % sizes[2] + 1
        local x = ((i - 1) * sizes[2] + j - 1) % MODULUS
        assert.equal(x, b[j][i])
        assert.equal(x, a[i][j])
      end
      assert.is_true(b:t():equal(a))
      assert.is_true(a:clone():equal(a))
      assert.is_true(a:t():clone():equal(b))
    end)
  end

  -- what, dtypes, sizes, order of src, gap and offset of dst
  local BORDERS = {
    {"odd rows", "float32", "float32", {2101, 1203}, {2, 1}, 3, 5},
    {"whole lines from within a line", "float32", "float32", {1600, 1408},
     {2, 1}, 0, 3},
    {"lines with gaps of lines", "int16", "int16", {2400, 2048}, {2, 1}, 64,
     0},
    {"bytes", "uint8", "uint8", {3001, 3203}, {2, 1}, 0, 1},
    {"halves", "float16", "float16", {2901, 2003}, {2, 1}, 1, 0},
    {"doubles", "float64", "float64", {1301, 1103}, {2, 1}, 0, 7},
    {"complex doubles", "complex128", "complex128", {701, 803}, {2, 1}, 0, 1},
    {"short rows", "float32", "float32", {110003, 21}, {2, 1}, 0, 3},
    {"rows of five lines", "float32", "float32", {31013, 77}, {2, 1}, 0, 3},
    {"few rows", "float32", "float32", {21, 110003}, {2, 1}, 0, 3},
    {"runs", "float32", "float32", {901, 903, 3}, {2, 1, 3}, 0, 1},
    {"three dimensions", "float32", "float32", {31, 401, 203}, {3, 1, 2}, 0,
     1},
    {"other dtypes", "float32", "int64", {1901, 1203}, {2, 1}, 0, 1},
    {"powers of two", "uint8", "uint8", {4095, 4096}, {2, 1}, 0, 0},
    {"bytes of another dtype", "uint8", "int32", {3001, 3203}, {2, 1}, 0, 1},
  }
  for _, row in ipairs(BORDERS) do
    it("streams rows that begin within lines: " .. row[1], function()
      local sizes, order = row[4], {}
      for d = 1, #sizes do order[d] = d end
      local dst = layout(sizes, order, row[2], 1, row[6], row[7])
      local src = layout(sizes, row[5], row[3])
      local from = view(st.arange(src.room):remainder(MODULUS):to(src.dtype),
                        sizes, src)
      local function filled()
        return st.full({dst.room + 64}, FILL, {dtype = dst.dtype})
      end
      local to, expected = filled(), filled()
      view(to, sizes, dst):copy_(from)
      -- pieces that are not streamed
      local rows = math.ceil(sizes[1] / 16)
      for i = 1, sizes[1], rows do
        local n = math.min(rows, sizes[1] - i + 1)
        view(expected, sizes, dst):narrow(1, i, n):copy_(from:narrow(1, i, n))
      end
      assert.is_true(to:equal(expected))
    end)
  end

  it("fills what is large", function()
    local a = st.empty(17000001):narrow(1, 2, 17000000)
    a:fill_(1.5)
    assert.equal(17000000, a:eq(1.5):sum():item())
  end)

  it("leaves no tensor behind", function() assert.equal(before, live()) end)
end)

-- -- Flips -------------------------------------------------------------------

describe("A flip", function()
  -- sizes, dimensions, 1-based
  local ROWS = {
    {{300}, {1}}, {{7}, {1}}, {{33, 17}, {1}}, {{33, 17}, {2}},
    {{33, 17}, {1, 2}}, {{9, 10, 11}, {2}}, {{9, 10, 11}, {1, 3}},
    {{5, 64, 3}, {2}}, {{5, 64, 3}, {3}}, {{1, 1}, {1}}, {{20, 1, 30}, {2, 3}},
  }

  local function reversed(list, sizes, dims)
    local n, out, stride = #sizes, {}, 1
    local flips, strides = {}, {}
    for _, d in ipairs(dims) do flips[d] = true end
    for d = n, 1, -1 do strides[d], stride = stride, stride * sizes[d] end
    for place = 0, #list - 1 do
      local from = 0
      for d = 1, n do
        local k = math.floor(place / strides[d]) % sizes[d]
        from = from + (flips[d] and sizes[d] - 1 - k or k) * strides[d]
      end
      out[place + 1] = list[from + 1]
    end
    return out
  end

  for i, row in ipairs(ROWS) do
    local sizes, dims = row[1], row[2]
    it(("turns dimensions round: row %d"):format(i), function()
      for _, dtype in ipairs(SIZES) do
        local n = 1
        for _, size in ipairs(sizes) do n = n * size end
        local buffer = st.arange(n):remainder(MODULUS):to(dtype)
        local expected = reversed(numbers(buffer), sizes, dims)
        local got = buffer:view(sizes):flip(dims)
        assert.is_nil(first_difference(expected, numbers(got:view(n))), dtype)
        -- the same elements from a permuted tensor
        if #sizes == 2 then
          local columns = buffer:view(sizes):t():contiguous():t():flip(dims)
          assert.is_true(columns:equal(got), dtype)
        end
      end
    end)
  end

  it("reverses rows of every length", function()
    for _, dtype in ipairs(SIZES) do
      for length = 1, 140 do
        local buffer = st.arange(3 * length):remainder(MODULUS):to(dtype)
        local expected = reversed(numbers(buffer), {3, length}, {2})
        local got = buffer:view(3, length):flip(2):view(-1)
        assert.is_nil(first_difference(expected, numbers(got)),
                      ("%s, length %d"):format(dtype, length))
      end
    end
  end)
end)

-- -- Rows ---------------------------------------------------------------------

describe("A copy of rows", function()
  local ROWS = 3

  local function list_of(t) return numbers(t:contiguous():view(-1)) end

  it("with gaps gives rows of every length and alignment", function()
    for length = 1, 200 do
      local wide = st.arange(ROWS * (length + 7)):remainder(MODULUS)
      local expected, got = {}, wide:to "uint8":view(ROWS, length + 7)
      for i = 0, ROWS * length - 1 do
        local row = math.floor(i / length)
        expected[i + 1] = (i + row * 7 + 5) % MODULUS
      end
      got = list_of(got:narrow(2, 6, length))
      assert.is_nil(first_difference(expected, got), "length " .. length)
    end
  end)

  it("repeats a row, or the elements of a column", function()
    for _, dtype in ipairs(SIZES) do
      for length = 1, 140 do
        local t = st.arange(length):remainder(MODULUS):to(dtype)
        local rows = list_of(t:expand(ROWS, length))
        local columns = list_of(t:narrow(1, 1, 1 + (length - 1) % ROWS)
                                 :view(-1, 1):expand(-1, length))
        local row, column = {}, {}
        for i = 0, ROWS * length - 1 do row[i + 1] = i % length % MODULUS end
        for i = 0, #columns - 1 do column[i + 1] = math.floor(i / length) end
        assert.is_nil(first_difference(row, rows), dtype)
        assert.is_nil(first_difference(column, columns), dtype)
      end
    end
  end)
end)
