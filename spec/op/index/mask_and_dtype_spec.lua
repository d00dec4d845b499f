--- Indices of dtype int32, masks without dimensions, one value for a mask,
-- take_along_dim beyond the size, rows of index_select. Expected values are
-- PyTorch 2.15's.
-- axes: lua

local st = require "strided"
local tensors = require "spec.support.tensors"

local lists, live, raises = tensors.lists, tensors.live, tensors.raises

local of = tensors.of
local function i32(list) return of("int32", list) end

describe("an int32 index", function()
  local before = live()

  it("is accepted along a dimension", function()
    local x, at, v = of("int64", {1, 2, 3}), i32 {2, 3}, of("int64", {7, 8})
    assert.same({2, 3}, lists(st.gather(x, 1, at)))
    assert.same({1, 7, 8}, lists(st.scatter(x, 1, at, v)))
    assert.same({1, 7, 7}, lists(st.scatter(x, 1, at, 7)))
    assert.same({1, 9, 11}, lists(st.scatter_add(x, 1, at, v)))
    assert.same({1, 14, 24}, lists(st.scatter_reduce(x, 1, at, v, "prod")))
    assert.same({1, 4, 5}, lists(st.scatter_reduce(x, 1, at, v, "mean")))
    assert.same({1, 9, 11}, lists(x:clone():scatter_add_(1, at, v)))
    assert.same({3}, lists(st.gather(x, 1, i32 {-1})))
  end)

  it("has gradients", function()
    local x = of("float64", {1, 2, 3}):requires_grad_()
    st.gather(x, 1, i32 {2, 2}):sum():backward()
    assert.same({0, 2, 0}, lists(x.grad))
    local y = of("float64", {7, 8}):requires_grad_()
    st.scatter_add(x, 1, i32 {1, 1}, y):sum():backward()
    assert.same({1, 3, 1}, lists(x.grad))
    assert.same({1, 1}, lists(y.grad))
  end)

  it("is checked", function()
    local x = of("int64", {1, 2, 3})
    raises("gather: index 4 is out of range for dimension 1 with size 3",
           st.gather, x, 1, i32 {1, 4})
    raises("gather: index must have dtype int64 or int32, not int16",
           st.gather, x, 1, of("int16", {1}))
    raises("scatter_add: index must have dtype int64 or int32, not float32",
           st.scatter_add, x, 1, of("float32", {1}), x)
    raises("take: index must have dtype int64, not int32", st.take, x,
           i32 {1})
  end)

  it("leaves nothing behind", function()
    assert.is_true(live() <= before)
  end)
end)

describe("a mask without dimensions", function()
  local yes, no = st.tensor(true), st.tensor(false)
  local function x() return of("float32", {{0, 1, 2}, {3, 4, 5}}) end

  it("selects all or nothing", function()
    assert.same({1, 2, 3}, st.index(x(), {yes}):size())
    assert.same({0, 2, 3}, st.index(x(), {no}):size())
    assert.same({2, 1, 3}, st.index(x(), {st.none, yes}):size())
    assert.same({2, 3, 0}, st.index(x(), {st.none, st.none, no}):size())
    assert.same({1}, st.index(st.tensor(5), {yes}):size())
    assert.same({0}, st.index(st.tensor(5), {no}):size())
    assert.same({{{0, 1, 2}, {3, 4, 5}}}, lists(st.index(x(), {yes})))
  end)

  it("broadcasts with indices", function()
    local at = of("int64", {2})
    assert.same({{3, 4, 5}}, lists(st.index(x(), {yes, at})))
    assert.same({0, 3}, st.index(x(), {no, at}):size())
    assert.same({{3, 4, 5}, {0, 1, 2}},
                lists(st.index(x(), {of("int64", {2, 1}), yes})))
    raises({"index: ", "index tensor 1 of shape [2] does not broadcast"},
           st.index, x(), {of("int64", {2, 1}), no})
  end)

  it("is where index_put_ writes", function()
    local nine = st.tensor(9, {dtype = "float32"})
    local same = {{0, 1, 2}, {3, 4, 5}}
    assert.same(same, lists(st.index_put_(x(), {no}, nine)))
    assert.same({{9, 9, 9}, {9, 9, 9}},
                lists(st.index_put_(x(), {yes}, nine)))
    assert.same({{9, 10, 11}, {12, 13, 14}},
                lists(st.index_put_(x(), {yes}, nine, true)))
    assert.same(same, lists(st.index_put(x(), {no}, nine)))
    assert.same(same, lists(st.index_put_(x(), {no, of("int64", {1})}, nine)))
    assert.equal(5, st.index_put_(st.tensor(5.0), {no}, nine):item())
    assert.equal(9, st.index_put_(st.tensor(5.5), {yes}, nine):item())
  end)
end)

describe("one value of another dtype", function()
  local function x() return of("float32", {{0, 1, 2}, {3, 4, 5}}) end
  local mask = st.tensor {{true, false, true}, {false, true, false}}
  local filled = {{7, 1, 7}, {3, 7, 5}}

  it("fills where a mask is true", function()
    for _, v in ipairs {of("int64", {7}), st.tensor(7, {dtype = "int64"}),
                        of("float64", {{7}})} do
      local t = x()
      t[mask] = v
      assert.same(filled, lists(t))
      assert.same(filled, lists(st.index_put_(x(), {mask}, v)))
    end
    assert.same({{7, 7, 7}, {3, 4, 5}},
                lists(st.index_put_(x(), {st.tensor {true, false}},
                                    of("int64", {7}))))
  end)

  it("must fit", function()
    local bytes = of("int8", {1, 2})
    raises("index_put_: value 300 does not fit in int8", st.index_put_, bytes,
           {st.tensor {true, false}}, of("int64", {300}))
    raises("index_put_: values has dtype int64, self float32",
           st.index_put_, x(), {mask},
           of("int64", {7, 8, 9}))
    raises("index_put_: values has dtype int64, self float32",
           st.index_put_, x(),
           {of("int64", {1})}, of("int64", {7}))
    raises("index_put_: values has dtype int64, self float32",
           st.index_put_, x(), {mask},
           of("int64", {7}), true)
  end)
end)

describe("take_along_dim", function()
  local x = of("int64", {{1, 2, 3}, {4, 5, 6}})

  it("wraps positions beyond the size", function()
    assert.same({{3}, {5}}, lists(st.take_along_dim(
      x, of("int64", {{77}, {-8}}), 2, {base = 0})))
    assert.same({{2, 3}, {6, 4}}, lists(st.take_along_dim(
      x, of("int64", {{5, 3}, {-1, 4}}), 2)))
    assert.same({{6}, {6}}, lists(st.take_along_dim(
      of("int64", {{6}, {6}}), of("int64", {{9}, {-9}}), 2)))
  end)

  it("takes positions of both bases, with gradients", function()
    local at = of("int64", {{3, 1}, {-1, 2}})
    assert.same({{3, 1}, {6, 5}}, lists(st.take_along_dim(x, at, 2)))
    at = of("int64", {{2, 0}, {-1, 1}})
    assert.same({{3, 1}, {6, 5}}, lists(st.take_along_dim(x, at, 2,
                                                          {base = 0})))
    assert.same({{2, 3}, {6, 4}}, lists(st.take_along_dim(x, at, 2)))
    local y = x:to "float64":requires_grad_()
    st.take_along_dim(y, of("int64", {{3, 3}, {-3, 2}}), 2):sum():backward()
    assert.same({{0, 0, 2}, {1, 1, 0}}, lists(y.grad))
  end)

  it("does not wrap in the flattened tensor", function()
    raises("take_along_dim: index 7 is out of range", st.take_along_dim, x,
           of("int64", {7}))
  end)

  it("has gradients", function()
    local y = x:to "float64":requires_grad_()
    st.take_along_dim(y, of("int64", {{4}, {-1}}), 2):sum():backward()
    assert.same({{1, 0, 0}, {0, 0, 1}}, lists(y.grad))
  end)

  it("take reads few elements of a view that is not contiguous", function()
    local wide = st.arange(60):view(3, 4, 5)
    for _, view in ipairs {wide:transpose(1, 3), wide:narrow(3, 2, 3),
                           wide:narrow(2, 1, 1):expand(3, 6, 5)} do
      local n = view:numel()
      local at = st.tensor {{1, n}, {-1, -n}, {7, 8}}
      for _, index in ipairs {at, at:t()} do
        assert.same(view:clone():take(index):tolist(),
                    view:take(index):tolist())
      end
    end
  end)
end)

describe("nonzero", function()
  --- The coordinates of the elements set among those of these sizes.
  local function coordinates(set, sizes)
    local rows = {}
    for i, is_set in ipairs(set) do
      local row, at = {}, i - 1
      for d = #sizes, 1, -1 do
        row[d] = at % sizes[d] + 1
        at = math.floor(at / sizes[d])
      end
      if is_set then rows[#rows + 1] = row end
    end
    return rows
  end

  it("has the coordinates in order, however far apart", function()
    for _, sizes in ipairs {{4, 3}, {1, 9, 1, 4}, {6, 1, 2, 3}, {2, 700},
                            {700, 2}, {9, 9, 9}} do
      for _, apart in ipairs {1, 2, 5, 40, 300} do
        local x, set = st.zeros(sizes), {}
        for i = 1, x:numel() do set[i] = i % apart == 0 end
        x:view(-1):copy_(st.tensor(set))
        assert.same(coordinates(set, sizes), lists(x:nonzero()))
      end
    end
  end)

  it("counts NaN and the least numbers, but no zero", function()
    local nan, least = 0 / 0, {float16 = 2 ^ -24, bfloat16 = 2 ^ -133,
                               float32 = 2 ^ -149, float64 = 2 ^ -1074}
    for dtype, tiny in pairs(least) do
      local x = of(dtype, {0, -0.0, nan, tiny, -tiny, 1, -0.0, -nan})
      assert.same({{3}, {4}, {5}, {6}, {8}}, lists(x:nonzero()), dtype)
    end
    local x = st.view_as_complex(of("float32", {
      {0, 0}, {1, 0}, {0, nan}, {-0.0, -0.0}, {0, -1}}))
    assert.same({{2}, {3}, {5}}, lists(x:nonzero()))
    assert.same({{2}, {3}, {5}}, lists(x:to "complex128":nonzero()))
  end)
end)

describe("indexing of what is broadcast", function()
  it("repeats each element", function()
    local at = st.tensor {3, 1, 3}
    for _, dtype in ipairs {"uint8", "int16", "float32", "float64",
                            "complex128"} do
      local x = st.arange(1, 13):view(4, 3, 1):to(dtype):expand {4, 3, 5}
      assert.same(lists(x:clone()[at]), lists(x[at]), dtype)
      local y, z = st.zeros({4, 3, 5}, {dtype = dtype}), x:clone()
      y:index_copy_(1, st.tensor {4, 2, 1, 3}, x)
      assert.same(lists(y[st.tensor {4, 2, 1, 3}]), lists(z), dtype)
    end
  end)
end)

describe("masked_scatter", function()
  it("writes what is set, in order, and nothing else", function()
    for _, d in ipairs {"uint8", "int16", "float32", "int64", "complex128"} do
      local x = st.arange(100, 130):view(5, 6):to(d)
      local mask = st.arange(30):mul(7):remainder(5):lt(2):view(5, 6)
      local values = st.arange(1, mask:sum():item() + 1):to(d)
      local nth = mask:flatten():cumsum(1):view(5, 6):to(d)
      local expected = st.where(mask, nth, x)
      assert.same(lists(expected), lists(x:masked_scatter(mask, values)), d)
      local y = x:t():contiguous():t()
      assert.same(lists(expected), lists(y:masked_scatter_(mask, values)), d)
    end
  end)
end)

--- index_select along `dim` by one narrow() per index.
local function selected(x, dim, indices)
  local parts = {}
  for k, at in ipairs(indices) do parts[k] = x:narrow(dim, at, 1) end
  return st.cat(parts, dim)
end

describe("index_select", function()
  it("copies short rows and single columns of any dtype and layout", function()
    local at = {3, 1, 3}
    for _, d in ipairs {"uint8", "int16", "float32", "int64", "complex128"} do
      for width = 1, 17 do
        local x = st.arange(40 * (width + 2)):view(40, width + 2):to(d)
        for _, v in ipairs {x, x:narrow(2, 2, width), x:t():contiguous():t(),
                            x:narrow(2, 1, width):contiguous()} do
          for dim = 1, 2 do
            local rows = dim == 1 and {40, 2, 2, 7, 1, 9, 33, 5, 12} or at
            if v:size(dim) >= 3 then
              local y = v:index_select(dim, st.tensor(rows))
              assert.same(lists(selected(v, dim, rows)), lists(y), d)
            end
          end
        end
      end
    end
  end)

  it("moves slices that follow one another, however often repeated", function()
    local ranges = {{4, 5, 6}, {3, 3, 4, 4, 5, 5}, {7}, {2, 2, 2, 2, 2},
                    {1, 1, 2, 2, 3}, {5, 6, 8}, {9, 9, 10, 10, 10, 10}}
    for _, d in ipairs {"uint8", "bfloat16", "float32", "complex128"} do
      local x = st.arange(10 * 11 * 10):view(10, 11, 10):to(d)
      for _, v in ipairs {x, x:transpose(1, 3), x:slice(2, 1, 11, 3)} do
        for _, rows in ipairs(ranges) do
          for _, dim in ipairs {1, 3} do
            local index = st.tensor(rows)
            local expected = lists(selected(v, dim, rows))
            local out = st.empty(0, {dtype = d})
            assert.same(expected, lists(v:index_select(dim, index)), d)
            st.index_select(v, dim, index, {out = out})
            assert.same(expected, lists(out), d)
          end
        end
      end
    end
  end)
end)
