--- Integers of fewer than eight bits: how they lie in memory, conversions,
-- views by rows, writes beside other elements, operators on bytes, files.
-- axes: isa

local st = require "strided"
local raises = require "spec.support.tensors".raises

-- -- A plain loop ------------------------------------------------------------

local BITS = {int4 = 4, uint4 = 4, int2 = 2, uint2 = 2}
local NAMES = {"int4", "uint4", "int2", "uint2"}

local function is_signed(dtype) return dtype:sub(1, 1) == "i" end

local function byte_dtype(dtype)
  return is_signed(dtype) and "int8" or "uint8"
end

--- A whole number modulo 2^bits, from -2^(bits - 1) or 0 on.
local function wrapped(dtype, x)
  local all = 2 ^ BITS[dtype]
  x = x % all
  return is_signed(dtype) and x >= all / 2 and x - all or x
end

--- The bytes of rows of numbers, the first ones in the low bits.
local function packed(dtype, rows)
  local bits, out = BITS[dtype], {}
  for _, row in ipairs(rows) do
    for first = 1, #row, 8 / bits do
      local byte = 0
      for k = 0, 8 / bits - 1 do
        byte = byte + (row[first + k] or 0) % 2 ^ bits * 2 ^ (k * bits)
      end
      out[#out + 1] = string.char(byte)
    end
  end
  return table.concat(out)
end

--- n whole numbers around 0, of more bits than any of these dtypes has.
local function numbers(n)
  local list, x = {}, 7
  for i = 1, n do
    x = (x * 61 + 17) % 509
    list[i] = x - 254
  end
  return list
end

local function wrapped_list(dtype, list)
  local out = {}
  for i, x in ipairs(list) do out[i] = wrapped(dtype, x) end
  return out
end

--- Rows of numbers as a tensor of int16, and what they are in the dtype.
local function sample(dtype, nrows, n)
  local wide, rows = {}, {}
  local list = numbers(nrows * n)
  for i = 1, nrows do
    wide[i], rows[i] = {}, {}
    for j = 1, n do
      wide[i][j] = list[(i - 1) * n + j]
      rows[i][j] = wrapped(dtype, wide[i][j])
    end
  end
  return st.tensor(wide, {dtype = "int16"}), rows
end

local function list_of(sizes)
  local out = {}
  for i = 1, #sizes do out[i] = sizes[i] end
  return out
end

-- -- Specs -------------------------------------------------------------------

describe("An integer of fewer than eight bits", function()
  it("lies in the low bits first, and its rows begin at bytes", function()
    for _, dtype in ipairs(NAMES) do
      local per = 8 / BITS[dtype]
      for _, n in ipairs {1, 2, 3, 4, 5, 7, 8, 33} do
        local wide, rows = sample(dtype, 3, n)
        local t = wide:to(dtype)
        local bytes = math.ceil(n / per)
        assert.equal(dtype, t.dtype)
        assert.same(rows, t:totable())
        assert.equal(packed(dtype, rows), t:tostring_bytes())
        assert.same({per * bytes, 1}, list_of(t:stride()))
        assert.equal(3 * bytes, t.nbytes)
        assert.equal(3 * bytes, select(2, t:storage()))
        assert.is_true(t:is_contiguous())
        assert.equal(BITS[dtype] / 8, t.itemsize)
        local same = st.frombuffer(packed(dtype, rows), {dtype = dtype,
                                                         shape = {3, n}})
        assert.same(rows, same:totable())
      end
    end
    assert.same({2, 1}, list_of(st.zeros({3, 1}, {dtype = "int4"}):stride()))
    assert.same({24, 8, 1},
                list_of(st.empty({2, 3, 5}, {dtype = "int2"}):stride()))
    local meta = st.empty({3, 5}, {dtype = "uint4", device = "meta"})
    assert.same({6, 1}, list_of(meta:stride()))
    assert.equal(9, meta.nbytes)
    assert.equal(0, st.empty({3, 0}, {dtype = "int4"}).nbytes)
    assert.equal(5, st.frombuffer("\21", {dtype = "uint4"})[1])
    assert.same({1, 1, 1, 0}, st.frombuffer("\21", {dtype = "int2"}):totable())
  end)

  it("without elements has no padding, and any size", function()
    for _, dtype in ipairs(NAMES) do
      local t = st.empty({2 ^ 61, 0}, {dtype = dtype})
      assert.equal(0, t:clone():numel())
      assert.same({1, 1}, list_of(t:stride()))
    end
  end)

  it("is no position and no mask, and nothing is written", function()
    for _, dtype in ipairs(NAMES) do
      local at = st.ones({2, 3}, {dtype = "uint8"}):to(dtype)
      for _, other in ipairs {"bool", "int64"} do
        local t = st.zeros({2, 3}, {dtype = other})
        raises("common dtype", function() t[at] = 3 end)
        raises("common dtype", function() t:masked_fill_(at, 3) end)
        raises("common dtype", function()
          t:index_copy_(1, st.tensor({1, 2}, {dtype = "int64"}), at)
        end)
        assert.equal(0, t:sum():item())
      end
      raises("common dtype", function() at[at] = 3 end)
    end
  end)

  it("is every number of its dtype, which iinfo has", function()
    local LIMITS = {int4 = {-8, 7}, uint4 = {0, 15}, int2 = {-2, 1},
                    uint2 = {0, 3}}
    for dtype, limits in pairs(LIMITS) do
      local info, list = st.iinfo(dtype), {}
      assert.same({dtype = dtype, bits = BITS[dtype], min = limits[1],
                   max = limits[2]}, info)
      for x = limits[1], limits[2] do list[#list + 1] = x end
      local t = st.tensor(list, {dtype = dtype})
      assert.same(list, t:totable())
      for i, x in ipairs(list) do
        assert.equal(x, t[i])
        assert.equal(x, st.full({}, x, {dtype = dtype}):item())
      end
      local text = tostring(st.tensor(limits, {dtype = dtype}))
      assert.equal(("tensor([%d,%d],dtype=%s)"):format(limits[1], limits[2],
                                                      dtype),
                   (text:gsub(" ", "")))
      assert.is_true(st.isdtype(dtype, "integral"))
      raises({"finfo", dtype}, st.finfo, dtype)
      raises({dtype}, st.set_default_dtype, dtype)
    end
  end)

  it("is converted as to int8 and uint8, and wraps", function()
    local SOURCES = {"bool", "uint8", "int8", "int16", "int32", "int64",
                     "uint16", "uint32", "uint64", "float16", "bfloat16",
                     "float32", "float64", "complex64", "float8_e5m2"}
    st.warnings(false)
    for _, dtype in ipairs(NAMES) do
      for _, from in ipairs(SOURCES) do
        local source = st.tensor(numbers(137), {dtype = "int16"}):to(from)
        local want = wrapped_list(dtype, source:to(byte_dtype(dtype))
                                               :totable())
        assert.same(want, source:to(dtype):totable())
        -- and from there to the other one, in place and with gaps
        local back = st.zeros({137, 2}, {dtype = from}):select(2, 2)
        back:copy_(source:to(dtype))
        assert.is_true(back:equal(st.tensor(want, {dtype = "int16"}):to(from)),
                       dtype .. " to " .. from)
      end
      local odd = st.tensor({2.7, -2.7, 100.5, -1e9, 0 / 0, 1 / 0})
      assert.same(wrapped_list(dtype, odd:to(byte_dtype(dtype)):totable()),
                  odd:to(dtype):totable())
    end
    for _, from in ipairs(NAMES) do
      for _, to in ipairs(NAMES) do
        local wide, rows = sample(from, 3, 37)
        local want = {}
        for i, row in ipairs(rows) do want[i] = wrapped_list(to, row) end
        assert.same(want, wide:to(from):to(to):totable())
      end
    end
    st.warnings(true)
  end)

  it("is converted in pieces and by all threads", function()
    for _, dtype in ipairs(NAMES) do
      for _, n in ipairs {4095, 4096, 4097, 100003} do
        local wide = st.arange(n):mul(7):remainder(251)
        local all, half = 2 ^ BITS[dtype], 2 ^ (BITS[dtype] - 1)
        local want = wide:remainder(all)
        if is_signed(dtype) then
          want = want:sub(want:ge(half):long():mul(all))
        end
        local t = wide:to(dtype)
        assert.is_true(t:long():equal(want), dtype)
        assert.is_true(t:float():equal(want:float()), dtype)
      end
    end
    -- rows that are transposed, and of another stride
    local x = st.arange(60 * 90):remainder(7):view {60, 90}
    assert.is_true(x:t():to("int4"):long():equal(x:t()))
    assert.is_true(x[{{}, {1, 90, 3}}]:to("uint4"):long()
                   :equal(x[{{}, {1, 90, 3}}]))
  end)

  it("is viewed by rows and by bytes", function()
    local wide, rows = sample("int4", 4, 6)
    local t = wide:to "int4"
    local all = wide:to("int4"):to "int8"
    assert.same(rows[2], t[2]:totable())
    assert.same({rows[2], rows[3]}, t[{{2, 3}}]:totable())
    assert.same(all[{{}, {3, 5}}]:totable(), t[{{}, {3, 5}}]:totable())
    assert.same(all:view({2, 2, 6}):transpose(1, 2):totable(),
                t:view({2, 2, 6}):transpose(1, 2):totable())
    assert.same(all:view(-1):totable(), t:view(-1):totable())
    assert.same(all[1]:expand({3, 6}):totable(), t[1]:expand({3, 6}):totable())
    assert.same({{2, 6}, {2, 6}}, {list_of(t:split(2)[1].shape),
                                   list_of(t:chunk(2)[2].shape)})
    assert.is_true(t[{{2, 3}}]:is_alias_of(t))
    t[{{2, 3}}]:fill_(1)
    assert.same({rows[1], {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, rows[4]},
                t:totable())
    local bytes = st.tensor({{0x21, 0x43}, {0x65, 0x87}}, {dtype = "uint8"})
    assert.same({{1, 2, 3, 4}, {5, 6, 7, -8}}, bytes:view("int4"):totable())
    assert.same({{1, 0, 2, 0, 3, 0, 0, 1}, {1, 1, 2, 1, 3, 1, 0, 2}},
                bytes:view("uint2"):totable())
    assert.same(bytes:totable(), bytes:view("int4"):view("uint8"):totable())
    assert.same({{0x4321}, {-0x789b}},
                bytes:view("uint4"):view("int16"):totable())
    assert.same({{1, 2, 3}, {5, 6, 7}},
                bytes:view("uint4")[{{}, {1, 3}}]:totable())
    -- the padding of rows is 0
    local odd = st.tensor({{1, 2, 3}, {4, 5, 6}}, {dtype = "uint4"})
    assert.same({{0x21, 3}, {0x54, 6}}, odd:view("uint8"):totable())
    assert.same({{1, 2, 3, 0}, {4, 5, 6, 0}},
                odd:view("uint8"):view("uint4"):totable())
  end)

  it("is refused as a view that begins inside a byte", function()
    local t = st.zeros({4, 6}, {dtype = "int4"})
    local function inside(f)
      raises({"inside a byte", "2 elements of int4", "contiguous()"}, f)
    end
    local function over(f)
      raises({"stride over bytes", "int4", 't:to "int8"', "contiguous()"}, f)
    end
    inside(function() return t[1]:narrow(1, 2, 3) end)
    inside(function() return t[{{}, {2, 3}}] end)
    inside(function() return t:view(-1):view {8, 3} end)
    inside(function() return t:as_strided({2}, {1}, 3) end)
    inside(function() return t:unsqueeze(-1) end)
    inside(function() return st.zeros({4, 5}, {dtype = "int4"}):split(1, 2) end)
    over(function() return t:t() end)
    over(function() return t:select(2, 1) end)
    over(function() return t[{{}, {1, 6, 2}}] end)
    over(function() return t[{{}, {1, 1}}]:expand({4, 3}) end)
    over(function()
      return st.empty_strided({2, 2}, {1, 2}, {dtype = "int4"})
    end)
    raises({"contiguous()"}, function()
      return t[{{}, {1, 3}}]:view "uint8"
    end)
    raises({"cannot be viewed as int16"}, function()
      return st.zeros({4, 2}, {dtype = "int4"}):view "int16"
    end)
    over(function()
      return st.empty({1, 2, 2, 2}, {dtype = "int4",
                                     memory_format = "channels_last"})
    end)
    -- what cannot be a view is a copy
    assert.same({6, 4}, list_of(t:t_copy().shape))
    assert.same({8, 3}, list_of(t:reshape({8, 3}).shape))
    assert.same({20}, list_of(st.zeros({4, 5}, {dtype = "int4"}):flatten()
                              .shape))
  end)

  it("leaves the elements alone that share a byte", function()
    for _, dtype in ipairs(NAMES) do
      for n = 1, 9 do
        local t = st.full({12}, 1, {dtype = dtype})
        local want = {}
        t[{{1, n}}]:fill_(0)
        for i = 1, 12 do want[i] = i > n and 1 or 0 end
        assert.same(want, t:totable())
        t:fill_(1)
        t[{{1, n}}]:copy_(st.zeros {n})
        assert.same(want, t:totable())
        t:fill_(1)
        t[{{1, n}}]:copy_(st.zeros({n}, {dtype = dtype}))
        assert.same(want, t:totable())
        t:fill_(1)
        t[n] = 0
        for i = 1, 12 do want[i] = i == n and 0 or 1 end
        assert.same(want, t:totable())
      end
    end
    local m = st.zeros({2, 3}, {dtype = "int4"})
    m[{2, 3}], m[{1, 2}], m[{2, -3}] = -8, 7, 1
    assert.same({{0, 7, 0}, {1, 0, -8}}, m:totable())
    raises({"8 does not fit in int4"}, function() m[{1, 1}] = 8 end)
    raises({"-9 does not fit in int4"}, function() m[1][1] = -9 end)
    raises({"16 does not fit in uint4"}, st.full, {2}, 16, {dtype = "uint4"})
    raises({"9 does not fit in int4"}, function() m:fill_(9) end)
    raises({"out of range"}, function() m[1][4] = 1 end)
  end)

  it("is copied from what shares its memory", function()
    local t = st.tensor({{1, 2}, {3, 4}, {5, 6}}, {dtype = "int4"})
    t[{{2, 3}}]:copy_(t[{{1, 2}}])
    assert.same({{1, 2}, {1, 2}, {3, 4}}, t:totable())
    local bytes = t:view "uint8"
    t:copy_(bytes)
    assert.same({{1, 1}, {1, 1}, {3, 3}}, t:totable())
    raises({"several elements in one place"}, function()
      t[1]:expand({3, 2}):copy_(t)
    end)
    t:copy_(st.tensor {1, 2})
    assert.same({{1, 2}, {1, 2}, {1, 2}}, t:totable())
    t:copy_(st.tensor({{3}, {4}, {5}}, {dtype = "int4"}))
    assert.same({{3, 3}, {4, 4}, {5, 5}}, t:totable())
    raises({"does not expand"}, function() t:copy_(st.ones {3}) end)
  end)

  it("is moved and compared as bytes are", function()
    for _, dtype in ipairs(NAMES) do
      local wide = sample(dtype, 4, 5)
      local t, u = wide:to(dtype), wide:to(dtype):to(byte_dtype(dtype))
      local at, mask = st.tensor {3, 1}, st.tensor {true, false, true, true,
                                                    false}
      local function both(f)
        local got, want = f(t), f(u)
        assert.equal(dtype, got.dtype)
        assert.same(want:totable(), got:totable())
      end
      both(function(x) return st.cat {x, x} end)
      both(function(x) return st.cat({x, x[{{}, {1, 1}}]}, 2) end)
      both(function(x) return st.stack {x[1], x[2]} end)
      both(function(x) return st.vstack {x, x} end)
      both(function(x) return x:flip(2) end)
      both(function(x) return x:roll(2, 2) end)
      both(function(x) return x:t_copy() end)
      both(function(x) return x:permute_copy(2, 1) end)
      both(function(x) return x:narrow_copy(2, 2, 3) end)
      both(function(x) return x:repeat_interleave(2, 2) end)
      both(function(x) return x:reshape(5, 4) end)
      both(function(x) return x:flatten() end)
      both(function(x) return x[{at}] end)
      both(function(x) return x:index_select(2, at) end)
      both(function(x) return x:gather(2, st.tensor {{5}, {4}, {3}, {2}}) end)
      both(function(x) return x:masked_select(mask) end)
      both(function(x) return st.where(mask, x, st.zeros_like(x)) end)
      both(function(x) return x:masked_fill(mask, 1) end)
      both(function(x) return x:clone():masked_fill_(mask, 1) end)
      both(function(x)
        x = x:clone()
        x[{at}] = 1
        return x
      end)
      both(function(x)
        x = x:clone()
        return x:index_put_({at}, x[{{1, 2}}])
      end)
      for _, name in ipairs {"eq", "ne", "lt", "le", "gt", "ge"} do
        local v = t:flip(1)
        assert.same(u[name](u, u:flip(1)):totable(),
                    t[name](t, v):totable())
        assert.same(u[name](u, 1):totable(), t[name](t, 1):totable())
      end
      assert.is_true(t:equal(t:clone()))
      assert.is_false(t:equal(t:flip(1)))
      raises({"100 does not fit in " .. dtype}, t.masked_fill, t, mask, 100)
    end
  end)

  it("has no arithmetic, and promotes with no other dtype", function()
    local t = st.ones({2, 2}, {dtype = "int4"})
    local convert = 'not implemented for dtype int4; convert it first, as in t:'
                    .. 'to "int8"'
    for _, f in ipairs {st.add, st.mul, st.matmul, st.maximum, st.bitwise_and}
    do
      raises({convert}, f, t, t)
    end
    for _, f in ipairs {st.neg, st.sum, st.sort, st.exp, st.argmax} do
      raises({convert}, f, t)
    end
    raises({convert}, function() return t + 1 end)
    raises({convert}, st.add, st.ones {2, 2}, t)
    raises({convert}, st.add, st.ones {2, 2}, 1, {out = t})
    for _, other in ipairs {"int8", "uint4", "float32", "bool"} do
      local u = st.ones({2, 2}, {dtype = other})
      raises({"int4", "no common dtype"}, st.eq, t, u)
      raises({"int4", "no common dtype"}, st.promote_types, "int4", other)
    end
    for _, other in ipairs {"int8", "uint4", "float32"} do
      local u = st.ones({2, 2}, {dtype = other})
      raises({"int4", "no common dtype"}, st.cat, {t, u})
    end
    assert.is_true(st.can_cast("int4", "int8") and st.can_cast("int8", "int4"))
    assert.is_false(st.can_cast("float32", "int4"))
    for _, f in ipairs {st.rand, st.arange, st.eye, st.randperm, st.randn} do
      raises({"int4"}, f, 3, {dtype = "int4"})
    end
    raises({"int4"}, st.linspace, 0, 1, 3, {dtype = "int4"})
    raises({"int4"}, st.sum, st.ones {3}, {dtype = "int4"})
    raises({"int4"}, st.cumsum, st.ones {3}, 1, {dtype = "int4"})
    raises({"int4"}, function() return t:resize_(3) end)
    raises({"floating"}, function() return t:requires_grad_() end)
  end)

  it("is made on the meta device, and calls there have its shapes", function()
    local t = st.zeros({3, 5}, {dtype = "uint4", device = "meta"})
    assert.same({6, 1}, list_of(t[{{2, 3}}]:stride()))
    assert.equal("float32", t:to("float32").dtype)
    assert.same({6, 5}, list_of(st.cat({t, t}).shape))
    assert.equal("uint4", st.cat({t, t}).dtype)
    raises({"no data"}, function() return t[1][1] end)
    assert.equal("tensor(..., device='meta', size=(3, 5), dtype=uint4)",
                 tostring(t))
  end)

  it("counts writes, and is shared and fused", function()
    local t = st.tensor({1, 2, 3}, {dtype = "int4"})
    local before = t._version
    t[2] = 5
    t:fill_(1)
    assert.equal(before + 2, t._version)
    local same = st.attach(st.share(t))
    same[3] = -1
    assert.same({1, 1, -1}, t:totable())
    local f = st.fuse(function(w, s) return w:float() * s end)
    assert.same({2, 2, -2}, f(t, st.tensor(2.0)):totable())
    assert.same({2, 2, -2}, f(t, st.tensor(2.0)):totable())
  end)

  it("goes through DLPack with its own bits", function()
    for _, dtype in ipairs(NAMES) do
      local wide, rows = sample(dtype, 3, 8)
      local t = wide:to(dtype)[{{2, 3}}]
      local back = st.from_dlpack(t:to_dlpack())
      assert.equal(dtype, back.dtype)
      assert.same({rows[2], rows[3]}, back:totable())
      assert.is_true(st.may_share_memory(t, back))
    end
  end)

  it("is saved as its bytes", function()
    local t = st.tensor({{1, 2, 3}, {4, 5, 6}}, {dtype = "uint4"})
    local path = os.tmpname()
    for suffix, name in pairs {[".safetensors"] = ".safetensors",
                               [".npy"] = ".npy", [".pt"] = "PyTorch"} do
      raises({"uint4 has no equivalent in " .. name, 't:view "uint8"'},
             st.save, path .. suffix, suffix == ".npy" and t or {a = t})
    end
    st.save(path .. ".safetensors", {a = t:view "uint8"})
    local back = st.load(path .. ".safetensors").a:view "uint4"
    assert.same(t:totable(), back[{{}, {1, 3}}]:totable())
    t:tofile(path)
    assert.same(t:totable(), st.fromfile(path, {dtype = "uint4",
                                                shape = {2, 3}}):totable())
    assert.same(t:totable(), st.fromfile(path, {
      dtype = "uint4", shape = {2, 3}, mmap = true}):totable())
    assert.equal(8, st.fromfile(path, {dtype = "uint4"}):numel())
    raises({"need 6 bytes"}, st.fromfile, path, {dtype = "uint4",
                                                 shape = {3, 3}})
    for _, suffix in ipairs {"", ".safetensors", ".npy", ".pt"} do
      os.remove(path .. suffix)
    end
  end)
end)
