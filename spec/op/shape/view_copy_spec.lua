--- Copies of views, views under another name, and shifts of frequencies.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local unpack = unpack or table.unpack

local i64, lists = tensors.i64, tensors.lists
local live, raises = tensors.live, tensors.raises

local function cube() return st.arange(24):view(2, 3, 4) end
local function turned() return cube():permute(3, 1, 2) end
local function pairs_of() return st.randn(3, 4, 2) end

-- name of the view, arguments after self, what self is
local VIEWS = {
  {"alias"}, {"detach"}, {"as_strided", {{2, 2}, {1, 3}, 2}},
  {"view", {{6, 4}}},
  {"view", {"int32"}}, {"view_as_complex", {}, pairs_of},
  {"view_as_real", {}, function() return pairs_of():view_as_complex() end},
  {"t", {}, function() return st.arange(6):view(2, 3) end},
  {"transpose", {1, -1}}, {"permute", {{3, 1, 2}}}, {"select", {2, -1}},
  {"slice", {3, 2, 4, 2}}, {"narrow", {3, 2, 2}},
  {"squeeze", {}, function() return cube():unsqueeze(1) end},
  {"squeeze", {1}, function() return cube():unsqueeze(1) end},
  {"squeeze", {{1, 2}}, function() return cube():unsqueeze(1) end},
  {"unsqueeze", {-1}}, {"expand", {{5, 4, 2, 3}}}, {"diagonal", {0, 1, 3}},
  {"unfold", {3, 3, 1}}, {"split", {2, 2}}, {"split_with_sizes", {{1, 2}, 3}},
  {"unbind", {2}},
}

--- The tensors of what a call returns.
local function list_of(x) return st.is_tensor(x) and {x} or x end

describe("A copy of a view", function()
  local before
  setup(function() before = live() end)

  for i, row in ipairs(VIEWS) do
    it(("has its elements, in memory of its own: %s, %d"):format(row[1], i),
       function()
      local self = (row[3] or (row[1] == "view" and cube or turned))()
      if row[1] == "as_strided" then self = cube() end
      local args = row[2] or {}
      local views = list_of(self[row[1]](self, unpack(args)))
      local copies = list_of(self[row[1] .. "_copy"](self, unpack(args)))
      assert.equal(#views, #copies)
      for k, view in ipairs(views) do
        assert.is_true(copies[k]:equal(view))
        assert.is_true(copies[k]:is_contiguous())
        assert.is_false(copies[k]:is_alias_of(self))
      end
    end)
  end

  it("is written to out", function()
    local out = st.empty(0, {dtype = "int64"})
    cube():narrow_copy(2, 2, 1, {out = out})
    assert.is_true(out:equal(cube():narrow(2, 2, 1)))
    out = st.empty(0, 4, {dtype = "int64"})
    assert.is_true(st.select_copy(cube(), 1, 2, {out = out}):equal(cube()[2]))
  end)

  it("fails as the view does", function()
    raises("out of range", function() return cube():select_copy(1, 3) end)
    raises("narrow", function() return cube():narrow_copy(1, 2, 2) end)
  end)

  it("carries a gradient, but for that of detach", function()
    local x = st.randn({2, 3}):requires_grad_()
    assert.is_true(x:t_copy().requires_grad)
    assert.is_false(x:detach_copy().requires_grad)
    x:unbind_copy(2)[3]:sum():backward()
    assert.same({{0, 0, 1}, {0, 0, 1}}, lists(x.grad))
  end)

  it("has the tag view_copy", function()
    assert.same({"view_copy"}, st.ops.aten.permute_copy:tags())
  end)

  it("leaves nothing behind", function() assert.is_true(live() <= before) end)
end)

describe("Another name:", function()
  it("unsafe_split, unsafe_split_with_sizes and unsafe_chunk split", function()
    local x = cube()
    for _, parts in ipairs {x:unsafe_split(2, 2), x:unsafe_chunk(2, 2),
                            x:unsafe_split_with_sizes({2, 1}, 2)} do
      assert.equal(2, #parts)
      assert.is_true(parts[1]:equal(x:narrow(2, 1, 2)))
      assert.is_true(parts[2]:is_alias_of(x))
    end
  end)

  it("linalg_diagonal is that of the last dimensions", function()
    local x = cube()
    assert.is_true(x:linalg_diagonal():equal(x:diagonal(0, 2, 3)))
    assert.is_true(x:linalg_diagonal {offset = 1, dim1 = 1}:equal(
                   x:diagonal(1, 1, 3)))
  end)
end)

describe("A shift of frequencies", function()
  it("puts the first element in the centre, and back", function()
    local x = i64 {0, 1, 2, -2, -1}
    assert.same({-2, -1, 0, 1, 2}, lists(x:fft_fftshift()))
    assert.is_true(x:fft_fftshift():fft_ifftshift():equal(x))
    assert.same({{2, 3, 1}, {5, 6, 4}},
                lists(i64({{1, 2, 3}, {4, 5, 6}}):fft_ifftshift(2)))
    assert.equal(7, i64(7):fft_fftshift():item())
  end)

  it("refuses a dimension that is not there, or is there twice", function()
    raises("dim", function() return i64 {1, 2}:fft_fftshift(2) end)
    raises("dim", function() return i64 {1, 2}:fft_fftshift {1, -1} end)
  end)
end)
