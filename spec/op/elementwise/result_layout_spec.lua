--- The strides of results that PyTorch computes in several steps: isinf,
-- isfinite, isreal, abs, conj_physical, ldexp, addr and group_norm. Expected
-- strides are PyTorch 2.15's.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local unpack = unpack or table.unpack
local concat = table.concat

local live = tensors.live

local DTYPES = {f = "float32", c = "complex64", i = "int64"}

--- A tensor of ones: {sizes, strides, dtype}.
local function make(row)
  local sizes, strides, extent = row[1], row[2], 1
  for d = 1, #sizes do extent = extent + (sizes[d] - 1) * strides[d] end
  for d = 1, #sizes do if sizes[d] == 0 then extent = 0 end end
  return st.as_strided(st.ones({extent}, {dtype = DTYPES[row[3] or "f"]}),
                       sizes, strides)
end

local function strides(t)
  local out = {}
  for d = 1, t:dim() do out[d] = t:stride(d) end
  return out
end

-- a function, the strides of its result, its arguments
local ROWS = {
  {"isinf", {1, 1}, {{1, 5}, {1, 1}, "c"}},
  {"isinf", {1, 5}, {{5, 1}, {1, 5}, "c"}},
  {"isinf", {1, 1}, {{1, 4}, {1, 1}, "c"}},
  {"isinf", {1, 6, 3, 6}, {{3, 1, 2, 1}, {1, 6, 3, 12}}},
  {"isinf", {0, 0, 1, 0}, {{1, 0, 0, 1}, {1, 1, 1, 1}}},
  {"isinf", {9, 0, 3, 1}, {{0, 1, 3, 3}, {18, 9, 3, 1}}},
  {"isinf", {1, 0}, {{0, 1}, {2, 2}, "c"}},
  {"isinf", {60, 20, 5, 1}, {{2, 3, 4, 5}, {60, 20, 5, 1}, "c"}},
  {"isfinite", {5, 1}, {{1, 5}, {1, 4}}},
  {"isfinite", {3, 3, 1, 1}, {{1, 1, 3, 1}, {1, 6, 2, 6}}},
  {"isfinite", {2, 2, 1}, {{1, 1, 2}, {1, 4, 2}, "c"}},
  {"isfinite", {1, 1}, {{3, 1}, {2, 5}}},
  {"isreal", {1, 3}, {{3, 0}, {1, 3}, "c"}},
  {"isreal", {0, 1, 0}, {{1, 0, 1}, {1, 1, 1}, "c"}},
  {"isreal", {8, 1, 4, 4, 4}, {{0, 4, 1, 2, 1}, {32, 1, 5, 8, 8}, "c"}},
  {"isreal", {0, 0, 0, 1}, {{0, 1, 3, 0}, {3, 1, 1, 1}, "c"}},
  {"abs", {1, 4}, {{4, 2}, {1, 8}, "c"}},
  {"abs", {1, 2, 8, 8}, {{2, 4, 4, 1}, {1, 4, 16, 5}, "c"}},
  {"abs", {4, 2}, {{0, 2}, {4, 2}, "c"}},
  {"angle", {2, 1}, {{4, 2}, {1, 8}, "c"}},
  {"conj_physical", {7, 1}, {{1, 1}, {7, 1}, "c"}},
  {"conj_physical", {0, 2, 8}, {{0, 4, 3}, {0, 2, 8}, "c"}},
  {"ldexp", {4, 2, 2}, {{4, 0, 1}, {4, 2, 2}}, {{4, 0, 1}, {1, 1, 1}, "i"}},
  {"ldexp", {9, 3, 1, 1}, {{4, 3, 3, 1}, {0, 24, 8, 4}},
   {{4, 3, 3, 1}, {1, 12, 4, 36}, "i"}},
  {"ldexp", {4, 4, 1, 1}, {{4, 1, 4, 1}, {8, 5, 2, 64}, "i"},
   {{4, 1, 4, 1}, {8, 5, 2, 64}, "i"}},
  {"addr", {1, 2}, {{2, 2}, {1, 2}}, {{2}, {1}}, {{2}, {1}}},
  {"addr", {2, 1}, {{2, 2}, {2, 1}}, {{2}, {1}}, {{2}, {1}}},
  {"addr", {1, 3}, {{3, 1}, {1, 3}}, {{3}, {2}}, {{1}, {1}}},
  {"addr", {1, 1}, {{1, 4}, {1, 1}}, {{1}, {1}}, {{4}, {3}}},
  {"addr", {1, 0}, {{1}, {2}}, {{0}, {2}}, {{1}, {1}}},
  {"addr", {1, 2}, {{2, 0}, {1, 2}}, {{2}, {1}}, {{0}, {1}}},
}

local function text(row)
  local all = {}
  for i = 3, #row do
    all[#all + 1] = ("{%s}{%s}"):format(concat(row[i][1], ","),
                                        concat(row[i][2], ","))
  end
  return row[1] .. " of " .. concat(all, " ")
end

describe("The layout of the result", function()
  local before = live()

  for _, row in ipairs(ROWS) do
    it(text(row), function()
      local args = {}
      for i = 3, #row do args[#args + 1] = make(row[i]) end
      assert.same(row[2], strides(st[row[1]](unpack(args))))
    end)
  end

  it("of addr does not depend on beta", function()
    local self, a, b = make {{2, 2}, {1, 2}}, st.tensor {1.0, 2.0},
                       st.tensor {3.0, 4.0}
    for _, beta in ipairs {0, 1, 0.5} do
      local t = st.addr(self, a, b, {beta = beta})
      assert.same({1, 2}, strides(t))
      assert.same({{3 + beta, 4 + beta}, {6 + beta, 8 + beta}}, t:totable())
    end
    local nan = st.full({2, 2}, 0 / 0):t()
    assert.same({{3, 4}, {6, 8}}, st.addr(nan, a, b, {beta = 0}):totable())
    local leaf = st.ones(2, 2):t():detach():requires_grad_()
    st.addr(leaf, a, b, {beta = 0.5, alpha = 2}):sum():backward()
    assert.same({{0.5, 0.5}, {0.5, 0.5}}, leaf.grad:totable())
  end)

  it("does not keep isinf from writing to out", function()
    local x = st.tensor {{1, 1 / 0}, {-1 / 0, 2}}:t()
    for _, size in ipairs {{0}, {2, 2}} do
      local out = st.ones(size, {dtype = "bool"})
      st.isinf(x, {out = out})
      assert.same({{false, true}, {true, false}}, out:totable())
    end
  end)

  it("of group_norm is that of the input's memory format", function()
    local x = st.rand(2, 4, 3, 5)
    local last = x:contiguous {memory_format = "channels_last"}
    assert.same({60, 1, 20, 4}, strides(st.group_norm(last, 2)))
    assert.same({60, 15, 5, 1}, strides(st.group_norm(x, 2)))
    assert.same({60, 15, 3, 1}, strides(st.group_norm(x:permute(1, 2, 4, 3),
                                                      2)))
    assert.is_true(st.allclose(st.group_norm(x, 2), st.group_norm(last, 2)))
  end)

  it("leaves nothing behind", function()
    assert.is_true(live() <= before)
  end)
end)
