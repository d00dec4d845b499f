--- Products of moderate size, whose kernel packs panels of the second factor,
-- and dot products. The elements are small integers, so that every order of
-- the sum gives the same floats.
-- axes: isa threads
-- sampled: 3

local st = require "strided"

local unpack = table.unpack or unpack

local function matrix(rows, cols, dtype)
  local n = st.arange(rows * cols):mul(7):remainder(11) - 5
  return n:view(rows, cols):to(dtype)
end

local LAYOUTS = {
  rows = function(m) return m end,
  columns = function(m) return m:t():contiguous():t() end,
  stepped = function(m)
    local wide = st.zeros({m:size(1), 3 * m:size(2)}, {dtype = m.dtype})
    local view = wide:as_strided({m:size(1), m:size(2)},
                                 {3 * m:size(2), 3})
    return view:copy_(m)
  end,
}

-- rows, inner size, columns: all heights of a tile and parts of a panel, more
-- than one block of the inner size and of rows, several parts for the threads
local SIZES = {{55, 700, 41}, {75, 256, 64}, {300, 300, 130}, {24, 40, 24},
               {29, 3600, 10}, {2100, 300, 11}}

describe("A product of moderate size", function()
  for _, dtype in ipairs {"float32", "float64"} do
    it("of " .. dtype, function()
      for _, size in ipairs(SIZES) do
        local m, k, n = unpack(size)
        local a, b = matrix(m, k, dtype), matrix(k, n, dtype)
        local want = a:to "int64":mm(b:to "int64")
        local sum = want * 3 + matrix(m, n, "int64") * 2
        local row = matrix(1, n, dtype)
        local line = want * 3 + row:to "int64" * 2
        row = row:view(-1)
        for left, place in pairs(LAYOUTS) do
          for right, lay in pairs(LAYOUTS) do
            local x, y = place(a), lay(b)
            local name = ("%d %d %d %s %s"):format(m, k, n, left, right)
            assert.is_true(x:mm(y):to "int64":equal(want), name)
            local out = lay(st.full({m, n}, 0 / 0, {dtype = dtype}))
            st.mm(x, y, {out = out})
            assert.is_true(out:to "int64":equal(want), name .. " out")
            local added = st.addmm(matrix(m, n, dtype), x, y,
                                   {beta = 2, alpha = 3})
            assert.is_true(added:to "int64":equal(sum), name .. " added")
            added = st.addmm(row, x, y, {beta = 2, alpha = 3})
            assert.is_true(added:to "int64":equal(line), name .. " row")
          end
        end
      end
    end)
  end

  it("with a row that is added reads it, and its own result never", function()
    local a, b = matrix(60, 500, "float32"), matrix(500, 70, "float32")
    local want, nan = a:mm(b), 0 / 0
    local row = matrix(2, 140, "float32"):slice(2, 1, 140, 2)[2] -- not adjacent
    assert.is_true(st.addmm(row, a, b):equal(want + row))
    assert.is_true(st.addmm(st.full({70}, nan), a, b, {beta = 0}):equal(want))
    row = row:contiguous()
    local out = st.full({60, 70}, nan)
    st.addmm(row, a, b, {out = out})
    assert.is_true(out:equal(want + row))
    local y = st.linear(a:view(3, 4, 5, 500), b:t(), row)
    assert.is_true(y:equal((want + row):view(3, 4, 5, 70)))
    b:requires_grad_()
    for _, r in ipairs {st.linear(a:view(3, 20, 500), b:t(), row),
                        st.linear(a:view(3, 20, 500), b:t()),
                        st.matmul(a:view(3, 20, 500), b)} do
      assert.is_nil(r.base) -- not a view: it can be written and detached
      assert.is_false(r:detach_().requires_grad)
    end
  end)

  it("of a matrix and its transpose has the bits of one with a copy", function()
    for _, dtype in ipairs {"float32", "float64", "complex64"} do
      for _, size in ipairs {{97, 30}, {144, 300}, {241, 14}} do
        local a = st.randn(size, {dtype = dtype})
        local b = a:t():contiguous()
        local want = a:mm(b)
        for _, y in ipairs {a:mm(a:t()), b:t():mm(b),
                            st.addmm(want, a, a:t(), {beta = 0})} do
          assert.is_true(y:equal(want))
        end
        local out = st.full(want.shape, 0 / 0, {dtype = dtype}):t()
        st.mm(a, a:t(), {out = out})
        assert.is_true(out:equal(want))
        st.addmm(want, a, a:t(), {beta = 0.5, alpha = 3, out = out})
        assert.is_true(out:equal(st.addmm(want, a, b, {beta = 0.5, alpha = 3})))
        local c = st.stack {a, a * 2, a + 1}
        local d = c:transpose(2, 3)
        assert.is_true(c:bmm(d):equal(c:bmm(d:contiguous())))
      end
    end
  end)

  it("of no terms is zero, or the addend", function()
    for _, dtype in ipairs {"float32", "float64", "float16", "complex64"} do
      local like = {dtype = dtype}
      local turned = st.zeros({24, 0}, like):t()
      local stepped = st.empty({400}, like):as_strided({100, 0}, {2, 200})
      for a, b in pairs {[st.zeros({100, 0}, like)] = turned,
                         [stepped] = st.zeros({0, 24}, like)} do
        local out = st.full({100, 24}, 7, like)
        st.mm(a, b, {out = out})
        assert.is_true(out:equal(st.zeros({100, 24}, like)), dtype)
        local ones = st.ones({100, 24}, like)
        assert.is_true(st.addmm(ones, a, b, {beta = 2}):equal(ones * 2), dtype)
      end
    end
  end)

  it("with a factor of zero does not read its matrices", function()
    for _, dtype in ipairs {"float32", "complex64", "int32"} do
      for _, n in ipairs {2, 20, 200} do
        local like = {dtype = dtype}
        local a, c = st.full({n, n}, 7, like), st.full({n, n}, 3, like)
        if dtype ~= "int32" then a[1][2] = 0 / 0 end
        local none = {alpha = 0, beta = 2}
        assert.is_true(st.addmm(c, a, a, none):equal(c * 2), dtype)
        assert.is_true(st.addmv(c[1], a, a[2], none):equal(c[1] * 2), dtype)
        assert.is_true(st.addmm(c[1], a, a, none):equal(c * 2), dtype)
      end
    end
  end)

  it("of a batch and a matrix, whatever the order of the dimensions", function()
    local a, b = matrix(5 * 70, 90, "float32"), matrix(90, 33, "float32")
    local want = a:to "int64":mm(b:to "int64"):view(5, 70, 33)
    local turned = a:view(5, 70, 90):transpose(2, 3):contiguous()
    turned = turned:transpose(2, 3)
    assert.is_true(st.matmul(turned, b):to "int64":equal(want))
    local apart = a:view(5, 70, 90):transpose(1, 2):contiguous()
    apart = apart:transpose(1, 2)
    assert.is_true(st.matmul(apart, b):to "int64":equal(want))
  end)
end)

describe("A dot product", function()
  for _, dtype in ipairs {"float32", "float64"} do
    it("of " .. dtype .. " has the same bits for any layout and threads",
       function()
      local before = st.get_num_threads()
      for _, n in ipairs {1, 31, 1000, 9000, 300007} do
        st.manual_seed(7)
        local a = st.randn({n}, {dtype = dtype})
        local b = st.randn({n}, {dtype = dtype})
        st.set_num_threads(1)
        local want = a:dot(b):item()
        local exact = (a:double() * b:double()):sum():item()
        assert.is_true(math.abs(want - exact) < 1e-3 * (1 + n ^ 0.5))
        for threads = 1, 3 do
          st.set_num_threads(threads)
          local x = st.zeros({n, 2}, {dtype = dtype}):select(2, 1):copy_(a)
          assert.are.equal(want, a:dot(b):item())
          assert.are.equal(want, x:dot(b):item())
          assert.are.equal(want, b:view(1, n):mm(x:view(n, 1)):item())
        end
      end
      st.set_num_threads(before)
    end)
  end

  it("with an expanded vector", function()
    local a = st.arange(1, 101, {dtype = "float32"})
    local two = st.full({1}, 2):to "float32"
    assert.are.equal(10100, a:dot(two:expand(100)):item())
  end)
end)
