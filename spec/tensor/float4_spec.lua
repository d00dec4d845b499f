--- The dtype float4_e2m1fn_x2: two numbers of four bits in an element, which is
-- stored and moved.
-- axes: none

local st = require "strided"
local raises = require "spec.support.tensors".raises

local DTYPE = "float4_e2m1fn_x2"

local function of(codes)
  return st.tensor(codes, {dtype = "uint8"}):view(DTYPE)
end

local function codes_of(t) return t:view "uint8":totable() end

describe("A tensor of " .. DTYPE, function()
  local t = of {{0x21, 0xf7, 3}, {0x80, 0, 255}}

  it("has elements of one byte, which are given out as codes", function()
    assert.equal(DTYPE, t.dtype)
    assert.equal(1, t:element_size())
    assert.equal(4, st.dtype_info(DTYPE).bits)
    assert.equal(0x21, t[1][1])
    assert.same({{0x21, 0xf7, 3}, {0x80, 0, 255}}, t:totable())
    assert.equal("tensor([[ 33, 247,   3],\n        [128,   0, 255]], dtype="
                 .. DTYPE .. ")", tostring(t))
  end)

  it("is moved and compared, and has no arithmetic", function()
    assert.same({{0x21, 0x80}, {0xf7, 0}, {3, 255}},
                codes_of(t:t():contiguous()))
    assert.same({{3, 0xf7}, {255, 0}}, codes_of(
      t:flip(2)[{{}, {1, 2}}]:contiguous()))
    assert.same({{0x21, 0xf7, 3}, {0x80, 0, 255}, {0x21, 0xf7, 3},
                 {0x80, 0, 255}}, codes_of(st.cat {t, t}))
    assert.same({{0x80, 0, 255}}, codes_of(t:index_select(1, st.tensor {2})))
    assert.same({{0, 0, 0}, {0, 0, 0}}, codes_of(st.zeros_like(t)))
    assert.same({{true, false, true}, {false, false, true}},
                t:eq(of {0x21, 3, 3}):logical_or(t:eq(of {255})):totable())
    local mask = st.tensor {true, false, true}
    assert.same({{0x21, 0, 3}, {0x80, 0, 255}},
                codes_of(st.where(mask, t, st.zeros_like(t))))
    assert.same({0x21, 3, 0x80, 255}, codes_of(t:masked_select(mask)))
    local to = st.zeros_like(t)
    to:index_put_({st.tensor {2}}, of {1, 2, 3})
    assert.same({{0, 0, 0}, {1, 2, 3}}, codes_of(to))
    for _, f in ipairs {st.add, st.mul, st.lt, st.maximum} do
      raises({"not implemented for dtype " .. DTYPE}, f, t, t)
    end
    for _, f in ipairs {st.neg, st.sort, st.exp, st.isnan} do
      raises({"not implemented for dtype " .. DTYPE}, f, t)
    end
    raises({"sum: ", DTYPE}, st.sum, t)
  end)

  it("is converted to no other dtype, and promotes with none", function()
    local why = "is converted to no other dtype: view its codes"
    for _, other in ipairs {"float32", "uint8", "float8_e5m2", "bool",
                            "complex32"} do
      raises({"to: ", DTYPE, why}, t.to, t, other)
      raises({"to: ", DTYPE, why}, function()
        return st.ones({2}, {dtype = other}):to(DTYPE)
      end)
      raises({"copy_: ", DTYPE, why}, function()
        return st.zeros({2, 3}, {dtype = other}):copy_(t)
      end)
      raises({DTYPE, "no common dtype"}, st.eq, t,
             st.ones({2, 3}, {dtype = other}))
      raises({DTYPE, "no common dtype"}, st.cat,
             {t, st.ones({2, 3}, {dtype = other})})
      assert.is_false(st.can_cast(DTYPE, other))
      assert.is_false(st.can_cast(other, DTYPE))
    end
    raises({DTYPE, why}, st.tensor, {1.5, 2}, {dtype = DTYPE})
    raises({DTYPE}, st.set_default_dtype, DTYPE)
    raises({"iinfo", DTYPE}, st.iinfo, DTYPE)
    raises({"finfo", DTYPE}, st.finfo, DTYPE)
  end)

  it("takes no number but 0", function()
    assert.same({0, 0}, codes_of(of({1, 2}):fill_(0)))
    raises({"does not fit in " .. DTYPE}, function() of({1}):fill_(1) end)
    raises({"does not fit in " .. DTYPE}, st.full, {2}, 0.5, {dtype = DTYPE})
    for _, f in ipairs {st.rand, st.arange, st.eye, st.randperm} do
      raises({"not implemented for dtype " .. DTYPE}, f, 3, {dtype = DTYPE})
    end
    raises({"not implemented for dtype " .. DTYPE}, st.linspace, 0, 1, 3,
           {dtype = DTYPE})
    raises({"not implemented for dtype " .. DTYPE}, st.randint, 0, 3, {2},
           {dtype = DTYPE})
  end)

  it("is kept by files and DLPack", function()
    local path = os.tmpname()
    for _, suffix in ipairs {".safetensors", ".pt"} do
      st.save(path .. suffix, {a = t})
      local back = st.load(path .. suffix).a
      assert.equal(DTYPE, back.dtype)
      assert.same(codes_of(t), codes_of(back))
    end
    local file = assert(io.open(path .. ".safetensors", "rb"))
    local text = file:read "*a"
    file:close()
    -- the file counts numbers
    assert.truthy(text:find('"dtype":"F4","shape":[2,6]', 1, true))
    os.remove(path .. ".safetensors")
    os.remove(path .. ".pt")
    os.remove(path)
    raises({"no equivalent in .safetensors"}, st.save, path .. ".safetensors",
           {a = t[1][{1}]:reshape {}})
    raises({DTYPE .. " has no equivalent in .npy"}, st.save, path .. ".npy", t)
    os.remove(path .. ".npy")
    os.remove(path .. ".safetensors")
    local shared = st.from_dlpack(t:to_dlpack())
    assert.equal(DTYPE, shared.dtype)
    assert.same(codes_of(t), codes_of(shared))
  end)
end)
