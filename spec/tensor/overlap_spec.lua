--- Operands that share memory: exact answers to whether they do, and results
-- as if they did not (I1, I2, Y1).
-- axes: isa
-- sampled: 3

local geometry = require "spec.tensor.overlap.geometry"
local st = require "strided"
local tensors = require "spec.support.tensors"
local WRITERS = require "spec.tensor.overlap.writers"

local live, raises = tensors.kinds, tensors.raises
local unpack = unpack or table.unpack

st.warnings(false) -- an out= tensor of another shape is on purpose here

local generator, text, view = geometry.generator, geometry.text, geometry.view
local overlaps_itself = geometry.overlaps_itself

-- -- The solver --------------------------------------------------------------

local SIZE = {
  bool = 1, uint8 = 1, int8 = 1, int16 = 2, float16 = 2, bfloat16 = 2,
  int32 = 4, float32 = 4, int64 = 8, float64 = 8, complex64 = 8,
  complex128 = 16,
}
local DTYPES = {}
for name in pairs(SIZE) do DTYPES[#DTYPES + 1] = name end
table.sort(DTYPES)

-- shape, strides, overlaps itself
local ALONE = {
  {{3, 4}, {4, 1}, false}, {{3, 4}, {1, 3}, false}, {{}, {}, false},
  {{3, 0, 4}, {0, 0, 0}, false},
  {{1, 1}, {0, 0}, false},
  {{3, 4}, {0, 1}, true}, {{3, 3}, {1, 1}, true}, -- (I1)
  {{2, 3}, {3, 2}, false}, {{2, 3}, {4, 2}, true}, {{3, 3}, {3, 2}, false},
  {{3, 4}, {3, 2}, true}, -- 3 x 2 = 2 x 3
  {{5, 7}, {7, 5}, false}, {{6, 8}, {7, 5}, true}, -- 5 x 7 = 7 x 5
  {{2, 2, 2}, {5, 3, 2}, true}, {{2, 2, 2}, {7, 3, 2}, false},
  {{1000, 1000}, {1001, 1000}, false}, {{1001, 1002}, {1001, 1000}, true},
}

-- two geometries on one storage, shares memory
local PAIRS = {
  {"rows one apart", {{2, 4}, {4, 1}, 0}, {{2, 4}, {4, 1}, 4}, true},
  {"other rows", {{2, 4}, {4, 1}, 0}, {{2, 4}, {4, 1}, 8}, false},
  {"a square and its transpose", {{4, 4}, {4, 1}, 0}, {{4, 4}, {1, 4}, 0},
   true},
  {"odd and even columns", {{4, 2}, {4, 2}, 0}, {{4, 2}, {4, 2}, 1}, false},
  {"columns one apart", {{4, 3}, {4, 1}, 0}, {{4, 3}, {4, 1}, 1}, true},
  {"the left and the right half", {{4, 2}, {4, 1}, 0}, {{4, 2}, {4, 1}, 2},
   false},
  {"steps of 6 and of 9 from 1", {{9}, {6}, 0}, {{6}, {9}, 1}, false},
  {"steps of 6 and of 9 from 3", {{9}, {6}, 0}, {{6}, {9}, 3}, true},
  {"steps of 6 and of 9 that just miss", {{2}, {6}, 0}, {{3}, {9}, 3}, false},
  {"three strides against two", {{2, 2, 2}, {35, 14, 10}, 0},
   {{3, 3}, {21, 15}, 3}, true},
  {"nothing and everything", {{0, 4}, {4, 1}, 0}, {{16}, {1}, 0}, false},
}

--- A tensor without elements of its own, so that none are too far apart.
local function far(sizes, strides, offset)
  return st.empty({}, {device = "meta", dtype = "uint8"})
           :expand(1):resize_({2 ^ 40}):as_strided(sizes, strides, offset or 0)
end

--- Two to the n elements at sums of large numbers, which no rule sorts out.
local function sums(n)
  local random, sizes, strides = generator(7), {}, {}
  for d = 1, n do sizes[d], strides[d] = 2, random(2 ^ 26, 2 ^ 27) end
  return far(sizes, strides)
end

describe("Whether memory is shared", function()
  local before
  setup(function() before = live() end)

  for _, row in ipairs(ALONE) do
    it(("is known within a tensor: {%s}@{%s}"):format(
       table.concat(row[1], ","), table.concat(row[2], ",")), function()
      assert.equal(row[3], far(row[1], row[2]):has_internal_overlap())
    end)
  end

  for _, row in ipairs(PAIRS) do
    it("is known between two: " .. row[1], function()
      local a = far(unpack(row[2]))
      local b = a:as_strided(unpack(row[3]))
      assert.equal(row[4], st.may_share_memory(a, b))
      assert.equal(row[4], st.may_share_memory(b, a))
    end)
  end

  it("is known for 64 dimensions", function()
    local sizes, strides, stride = {}, {}, 1
    for d = 64, 1, -1 do
      sizes[d], strides[d] = d > 46 and 2 or 1, stride
      if d > 46 then stride = stride * 4 end
    end
    local t = far({2}, {1}):as_strided(sizes, strides, 0)
    assert.is_false(t:has_internal_overlap())
    -- sums of different powers of 4 differ by 3 = 4 - 1, but never by 2
    assert.is_false(st.may_share_memory(t, t:as_strided(sizes, strides, 2)))
    assert.is_true(st.may_share_memory(t, t:as_strided(sizes, strides, 3)))
    strides[47] = 4
    assert.is_true(t:as_strided(sizes, strides, 0):has_internal_overlap())
  end)

  it("is no question between tensors of their own", function()
    local a, b = st.zeros {4}, st.zeros {4}
    assert.is_false(st.may_share_memory(a, b))
    assert.is_true(st.may_share_memory(a, a))
    assert.is_false(st.may_share_memory(a["1:2"], a["3:4"]))
    local none = st.zeros {0}
    assert.is_false(st.may_share_memory(none, none))
  end)

  it("is what a look at every element says, within a tensor", function()
    local seed = 20171
    local random = generator(seed)
    local storage = st.zeros {64}
    for case = 1, 1500 do
      local g = geometry.random(random, geometry.sizes(random), 6)
      if view(storage, g):has_internal_overlap() ~= overlaps_itself(g) then
        error(("seed %d, case %d: %s"):format(seed, case, text(g)))
      end
    end
  end)

  it("is what a look at every byte says, between any two dtypes", function()
    local seed = 1337
    local random = generator(seed)
    local storage = st.zeros({64 * 16}, {dtype = "uint8"})
    for case = 1, 1500 do
      local a, b = DTYPES[random(1, #DTYPES)], DTYPES[random(1, #DTYPES)]
      local g = geometry.random(random, geometry.sizes(random), 9)
      local h = geometry.random(random, geometry.sizes(random), 9)
      local got = st.may_share_memory(view(storage:view(a), g),
                                      view(storage:view(b), h))
      if got ~= geometry.share_bytes(g, SIZE[a], h, SIZE[b]) then
        error(("seed %d, case %d: %s %s and %s %s"):format(
              seed, case, a, text(g), b, text(h)))
      end
    end
  end)

  it("is found out by looking when the search gives up", function()
    local t = sums(16)
    assert.is_false(t:has_internal_overlap())
    local sizes, strides = t.shape, t:stride()
    strides[1] = strides[2] + strides[3] -- now two sums are equal
    assert.is_true(t:as_strided(sizes, strides, 0):has_internal_overlap())
    st.memory_fail_at(1) -- looking takes memory: the search did give up
    local ok, message = pcall(t.has_internal_overlap, t)
    st.memory_fail_at(0)
    assert.is_false(ok)
    assert.truthy(tostring(message):find "out of memory")
  end)

  it("is assumed when that, too, would take too long", function()
    assert.is_true(sums(24):has_internal_overlap())
  end)

  it("leaves nothing behind", function() assert.same(before, live()) end)
end)

-- -- Results -----------------------------------------------------------------

local SEED = 4711

local N = 40 -- elements of a storage

local function square(random)
  local n = random(2, 3)
  return {n, n}
end

--- A geometry that is contiguous more often than chance would have it.
local function some_geometry(random, sizes)
  local g = geometry.random(random, sizes, 6)
  if random(1, 3) == 1 then g.strides = {sizes[2], 1} end
  return g
end

--- Views of one storage: out, which does not overlap itself, and two more,
-- which may be out once more.
local function operands(random)
  local sizes = square(random)
  local out = some_geometry(random, sizes)
  while overlaps_itself(out) do out = some_geometry(random, sizes) end
  local list = {out}
  for i = 2, 3 do
    list[i] = random(1, 4) == 1 and out or some_geometry(random, sizes)
  end
  return list
end

--- f over views of one storage, and the same with copies of what is read.
local function both(row, list)
  local shared, apart = row[2](N), row[2](N)
  local out, a, b = view(shared, list[1]), view(shared, list[2]),
                    view(shared, list[3])
  row[3](out, a, b)
  local other = view(apart, list[1])
  row[3](other, view(apart, list[2]):clone(), view(apart, list[3]):clone())
  assert.same(other.shape, out.shape)
  assert.same(other:totable(), out:totable())
  assert.equal(apart:tostring_bytes(), shared:tostring_bytes())
end

describe("Where operands overlap, the result is that of copies:", function()
  local before
  setup(function() before = live() end)

  for number, row in ipairs(WRITERS) do
    it(row[1], function()
      local random = generator(SEED + number)
      for case = 1, 40 do
        local list = operands(random)
        local ok, message = pcall(both, row, list)
        if not ok then
          error(("row %d, case %d: out %s, a %s, b %s: %s"):format(
                number, case, text(list[1]), text(list[2]), text(list[3]),
                tostring(message)))
        end
      end
    end)
  end

  it("no tensor is left", function() assert.same(before, live()) end)
end)

-- out, a: ranges of one vector; the values that follow
local SHIFTS = {
  {"add_ to what follows", "add_", "2:4", "1:3", {0, 1, 3, 5}}, -- row 12
  {"add_ to what is before", "add_", "1:3", "2:4", {1, 3, 5, 3}},
  {"copy_ to what follows", "copy_", "2:4", "1:3", {0, 0, 1, 2}},
  {"copy_ to what is before", "copy_", "1:3", "2:4", {1, 2, 3, 3}},
}

describe("A vector on top of itself", function()
  for _, row in ipairs(SHIFTS) do
    it("is read before it is written: " .. row[1], function()
      local t = st.arange(4)
      local out = t[row[3]]
      out[row[2]](out, t[row[4]])
      assert.same(row[5], t:totable())
    end)
  end

  it("is so at any length, shift and step", function()
    for _, n in ipairs {100, 5000, 300000} do
      for _, shift in ipairs {-70, -1, 1, 3, 64} do
        for _, step in ipairs {1, 2} do
          for _, method in ipairs {"copy_", "add_"} do
            local t = st.arange(n * step + 64)
            local u = t:clone()
            local from = shift < 0 and -shift or 0
            local size = n - math.abs(shift)
            local function part(x, at)
              return x:as_strided({size}, {step}, at)
            end
            local out, other = part(t, from + shift), part(u, from + shift)
            out[method](out, part(t, from))
            other[method](other, part(u, from):clone())
            assert.is_true(t:equal(u), ("%d %d %d %s"):format(n, shift, step,
                                                              method))
          end
        end
      end
    end
  end)
end)

describe("An output", function()
  it("may grow over what is read", function()
    for _, at in ipairs {0, 3, 50, 299999} do
      local t = st.arange(600000):to "float64"
      local want = t["1:300000"] + t["2:300001"]
      local out = t:as_strided({1}, {1}, at)
      st.add(t["1:300000"], t["2:300001"], {out = out})
      assert.is_true(out:equal(want))
      assert.is_true(t:as_strided({300000}, {1}, at):equal(want))
    end
  end)

  it("may hold the number that is added to it", function()
    for _, at in ipairs {1, 7, 300000} do
      local t = st.arange(1, 300001):to "float64"
      t:add_(t:select(1, at))
      assert.same({1 + at, 300000 + at}, {t[1], t[300000]})
      assert.equal(300000 * (300001 / 2 + at), t:sum():item())
    end
  end)

  it("may hold the elements that are counted", function()
    local t = st.tensor({{0, 1}, {2, 0}}, {dtype = "int64"})
    local u = t:t():clone {memory_format = "contiguous_format"}:t()
    for _, x in ipairs {t, u} do
      st.nonzero(x, {out = x})
      assert.same({{1, 2}, {2, 1}}, x:totable())
    end
  end)

  it("may hold the positions to write to", function()
    local t = st.tensor({2, 1, 3, 4}, {dtype = "int64"})
    t:put_(t, st.tensor({3, 4, 4, 4}, {dtype = "int64"}))
    assert.same({4, 3, 4, 4}, t:totable())
  end)

  it("may hold the positions to look up, even when it is resized", function()
    local t = st.tensor({3, 1, 2, 4, 9, 9}, {dtype = "int64"})
    local out, x = t["1:2"], st.tensor({10, 20, 30}, {dtype = "int64"})
    st.index(x, {t["1:3"]}, {out = out})
    assert.same({30, 10, 20}, out:totable())
    assert.same({30, 10, 20, 4, 9, 9}, t:totable())
  end)

  it("may come to hold what is looked up", function()
    local t = st.tensor({0, 10, 20, 30}, {dtype = "int64"})
    local positions = st.tensor({2, 3, 1}, {dtype = "int64"})
    st.index(t["2:4"], {positions}, {out = t["1:1"]})
    assert.same({20, 30, 10, 30}, t:totable())
  end)

  it("of an iterator shares nothing with another one", function()
    local t = st.zeros {8}
    tensors.raises({"iterator: ", "shares memory"}, st.iterator, {
      outputs = {t["1:4"], t["4:7"]}, inputs = {st.ones {4}}})
    assert.is_truthy(st.iterator {outputs = {t["1:4"], t["5:8"]},
                                  inputs = {st.ones {4}}})
  end)
end)

-- -- Refusals ----------------------------------------------------------------

-- name, f(t) that writes to t
local WRITES = {
  {"add_", function(t) t:add_(1) end},
  {"neg_", function(t) t:neg_() end},
  {"copy_", function(t) t:copy_(t:clone()) end},
  {"an assignment", function(t) t["1:3"] = t:clone() end},
  {"out= of an elementwise operator", function(t)
    st.exp(t:clone(), {out = t})
  end},
  {"out= of cumsum", function(t) st.cumsum(t:clone(), 1, {out = t}) end},
  {"out= of mm", function(t) st.mm(t:clone(), t:clone(), {out = t}) end},
  {"out= of eye", function(t) st.eye(3, {out = t}) end},
  {"index_copy_", function(t)
    t:index_copy_(1, st.tensor({1}, {dtype = "int64"}), t["1:1"]:clone())
  end},
  {"index_fill_", function(t)
    t:index_fill_(1, st.tensor({1}, {dtype = "int64"}), 1)
  end},
  {"index_put_", function(t)
    t:index_put_({st.tensor({1}, {dtype = "int64"})}, t["1:1"]:clone())
  end},
  {"put_", function(t)
    t:put_(st.tensor({1}, {dtype = "int64"}), st.ones {1})
  end},
  {"masked_fill_", function(t) t:masked_fill_(t:gt(1), 1) end},
  {"masked_scatter_", function(t) t:masked_scatter_(t:gt(1), t:clone()) end},
  {"normal_", function(t) t:normal_() end},
  {"random_", function(t) t:random_(3) end},
}

-- strides of a 3 x 3 tensor with two elements in one place
local OVERLAPPING = {{0, 1}, {1, 0}, {1, 1}, {2, 1}, {4, 2}, {3, 6}}
-- ... and with none
local DISJOINT = {{3, 1}, {1, 3}, {3, 2}, {4, 3}, {7, 2}}

describe("A tensor that overlaps itself", function()
  local before
  setup(function() before = live() end)

  for _, row in ipairs(WRITES) do
    it("is not written to by " .. row[1], function()
      for _, strides in ipairs(OVERLAPPING) do
        local t = st.arange(1, 25):to "float32"
        local was = t:clone()
        raises("in one place", row[2], t:as_strided({3, 3}, strides, 0))
        assert.is_true(t:equal(was))
      end
    end)

    it("is no other, which may be written to by " .. row[1], function()
      for _, strides in ipairs(DISJOINT) do
        row[2](st.arange(1, 25):to "float32":as_strided({3, 3}, strides, 0))
      end
    end)
  end

  it("can be filled with one value", function()
    for _, strides in ipairs(OVERLAPPING) do
      local t = st.ones(25):as_strided({3, 3}, strides, 0)
      assert.equal(27, t:fill_(3):sum():item())
      assert.equal(0, t:zero_():sum():item())
    end
  end)

  it("is refused on the meta device, too", function()
    local t = st.empty({3}, {device = "meta"}):expand(3, 3)
    tensors.raises({"add_: ", "in one place"}, t.add_, t, 1)
  end)

  it("may be read", function()
    local t = st.arange(5):as_strided({3, 3}, {1, 1}, 0)
    assert.equal(18, (t + 0):sum():item())
  end)

  it("leaves nothing behind", function() assert.same(before, live()) end)
end)

describe("Two outputs in one place", function()
  -- name, f(out, other)
  local CALLS = {
    {"sort", function(x, a, b) st.sort(x, 1, {out = {a, b}}) end},
    {"max", function(x, a, b) st.max(x, 1, {out = {a, b}}) end},
    {"cummax", function(x, a, b) st.cummax(x, 1, {out = {a, b}}) end},
  }
  for _, row in ipairs(CALLS) do
    it("are refused by " .. row[1], function()
      local x = st.tensor({{3, 1}, {2, 4}}, {dtype = "int64"})
      local t = st.zeros({12}, {dtype = "int64"})
      for _, shift in ipairs {0, 1, 3} do
        local a = t:as_strided({2, 2}, {2, 1}, 0)
        local b = t:as_strided({2, 2}, {2, 1}, shift)
        if row[1] == "max" then -- it takes vectors
          a, b = a[1], t:as_strided({2}, {1}, shift % 2)
        end
        tensors.raises({row[1] .. ": ", "shares memory"}, row[2], x, a, b)
        assert.equal(0, t:sum():item())
      end
      assert.has_no_error(function()
        row[2](x, t["1:4"]:view(2, 2), t["5:8"]:view(2, 2))
      end)
    end)
  end
end)

-- -- Memory ------------------------------------------------------------------

local MOST = 100 -- allocations a call may take before this looks endless

-- name, f(t) that needs a temporary
local CALLS = {
  {"add_ of overlapping rows", function(t) t["2:6"]:add_(t["1:5"]) end},
  {"add_ of a transpose", function(t) t:add_(t:t()) end},
  {"copy_ of a transpose", function(t) t:copy_(t:t()) end},
  {"index_copy_", function(t)
    t:index_copy_(1, st.tensor({2, 1}, {dtype = "int64"}), t["1:2"])
  end},
  {"put_", function(t)
    t:put_(st.tensor({2, 1}, {dtype = "int64"}), t["1:1, 1:2"])
  end},
  {"masked_scatter_", function(t) t:masked_scatter_(t:gt(7), t:t()) end},
  {"cumsum", function(t) st.cumsum(t:t(), 1, {out = t}) end},
  {"mm", function(t) st.mm(t, t, {out = t}) end},
  {"sort", function(t)
    st.sort(t:t(), 1, {out = {t, st.empty({6, 6}, {dtype = "int64"})}})
  end},
}

describe("Without memory for a copy", function()
  local before
  setup(function() before = live() end)

  for _, row in ipairs(CALLS) do
    it(row[1] .. " leaves everything as it was", function()
      local t = st.arange(36):to "float64":view(6, 6)
      row[2](t:clone()) -- what is made once and kept is made here
      local failures, kinds = 0, live()
      for k = 1, MOST do
        local was = t:tostring_bytes()
        st.memory_fail_at(k)
        local ok, message = pcall(row[2], t)
        local left = st.memory_fail_at(0)
        if ok then
          assert.is_true(left > 0, "a failure was swallowed")
          assert.is_true(failures > 0)
          assert.same(kinds, live())
          return
        end
        failures = failures + 1
        assert.truthy(tostring(message):find "out of memory", message)
        assert.equal(was, t:tostring_bytes())
      end
      error "never succeeds"
    end)
  end

  -- name, out, input: geometries of one storage that call for no temporary
  local FREE = {
    {"the same elements", {{6, 6}, {6, 1}, 0}, {{6, 6}, {6, 1}, 0}},
    {"the same elements once more", {{6, 1, 6}, {6, 9, 1}, 0},
     {{6, 1, 6}, {6, 1, 1}, 0}},
    {"other rows", {{3, 6}, {6, 1}, 0}, {{3, 6}, {6, 1}, 18}},
    {"other columns", {{6, 3}, {6, 1}, 0}, {{6, 3}, {6, 1}, 3}},
    {"odd and even columns", {{6, 3}, {6, 2}, 0}, {{6, 3}, {6, 2}, 1}},
    {"a number elsewhere", {{35}, {1}, 0}, {{}, {}, 35}},
    {"a number within", {{36}, {1}, 0}, {{}, {}, 7}},
  }
  for _, row in ipairs(FREE) do
    it("an operator goes on where it needs none: " .. row[1], function()
      local t = st.arange(36):to "float64"
      local out, a = t:as_strided(unpack(row[2])), t:as_strided(unpack(row[3]))
      local want = out:clone():add_(a:clone())
      out:clone():add_(a:clone())
      st.memory_fail_at(1)
      local ok, message = pcall(out.add_, out, a)
      st.memory_fail_at(0)
      assert.is_true(ok, message)
      assert.is_true(out:equal(want))
    end)
  end

  it("a shifted copy needs none", function()
    local t = st.arange(36):to "float64":view(6, 6)
    local from, to = t["1:5"], t["2:6"]
    st.memory_fail_at(1)
    local ok, message = pcall(to.copy_, to, from)
    st.memory_fail_at(0)
    assert.is_true(ok, message)
    assert.same({3, 3, 9, 15, 21, 27}, t:select(2, 4):totable())
  end)

  it("nothing is left behind", function() assert.same(before, live()) end)
end)
