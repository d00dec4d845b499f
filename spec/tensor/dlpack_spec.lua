--- Tensors that go out through DLPack and come back. What other libraries
-- make of them is in hosts/python_host.lua, C in embed/dlpack.c.
-- axes: lua ffi

local st = require "strided"
local core = require "strided.core"

local collect = require "spec.support.collect"
local raises = require("spec.support.tensors").raises

local has_ffi, ffi = pcall(require, "ffi")

local function counts()
  collect()
  local m = st.memory()
  return m.tensors.count, m.storages.count, m.shared.count
end

local before

-- -- Capsules ----------------------------------------------------------------

describe("A capsule", function()
  setup(function() before = {counts()} end)

  for _, versioned in ipairs {false, true} do
    local options = {versioned = versioned}
    local kind = versioned and " (versioned)" or ""

    it("goes out and comes back over the same elements" .. kind, function()
      for dtype in pairs {bool = 1, uint8 = 1, int8 = 1, int16 = 1, int32 = 1,
                          int64 = 1, float16 = 1, bfloat16 = 1, float32 = 1,
                          float64 = 1, complex64 = 1, complex128 = 1,
                          uint16 = 1, uint32 = 1, uint64 = 1} do
        for _, t in ipairs {st.arange(6):view(2, 3), st.arange(6):view(2, 3)
                            :t(), st.tensor(1), st.arange(9)["2:8:3"]} do
          t = t:to(dtype)
          local u = st.from_dlpack(t:to_dlpack(options))
          assert.is_true(u:equal(t))
          assert.equal(dtype, tostring(u.dtype))
          assert.same(t:stride(), u:stride())
          assert.equal(t:data_ptr(), u:data_ptr())
        end
      end
    end)

    it("keeps expanded and empty shapes" .. kind, function()
      local t = st.from_dlpack(st.ones(3, 1):expand(3, 4):to_dlpack(options))
      assert.same({1, 0}, t:stride())
      t = st.from_dlpack(st.zeros(2, 0, 3):to_dlpack(options))
      assert.same({2, 0, 3}, t.shape)
    end)

    it("keeps the elements when the tensor goes first" .. kind, function()
      local t = st.arange(4)
      local c = t:to_dlpack(options)
      t:free()
      local u = st.from_dlpack(c)
      c = nil -- luacheck: ignore
      collect()
      assert.same({0, 1, 2, 3}, u:totable())
    end)
  end

  it("is used once", function()
    local c = st.ones(2):to_dlpack()
    assert.equal("capsule(dltensor)", tostring(c))
    assert.is_false(c:is_used())
    assert.equal("number", type(c:pointer()))
    st.from_dlpack(c)
    assert.is_true(c:is_used())
    assert.equal("capsule(used)", tostring(c))
    raises({"from_dlpack: ", "has been used"}, st.from_dlpack, c)
    raises("has been used", c.pointer, c)
    raises("has been used", c.take, c)
    c:release()
  end)

  it("may be given back", function()
    local c = st.ones(2):to_dlpack {versioned = true}
    assert.equal("capsule(dltensor_versioned)", tostring(c))
    c:release()
    c:release()
    assert.is_true(c:is_used())
  end)

  it("has the storage stay where it is", function()
    local t = st.ones(2)
    local c = t:to_dlpack()
    raises({"resize_: ", "cannot grow"}, t.resize_, t, {1000})
    t:resize_(1)
    c:release()
  end)

  for name, row in pairs {
    ["requires a gradient"] = {function() return st.ones(2):requires_grad_()
                               end, "detach"},
    ["is a lazy conjugate"] = {function()
      return st.zeros({2}, {dtype = "complex64"}):conj()
    end, "clone"},
    ["is a lazy negative"] = {function() return st.ones(2):_neg_view() end,
                              "clone"},
    ["has no data"] = {function() return st.empty({2}, {device = "meta"}) end,
                       "device 'meta'"},
  } do
    it("is not made of a tensor that " .. name, function()
      raises(row[2], function() row[1]():to_dlpack() end)
    end)
  end

  it("is not made of memory with an owner", function()
    if not has_ffi then return end
    local t = st.frombuffer(ffi.new "float[2]")
    raises({"to_dlpack: a tensor whose memory is freed with the state that " ..
            "created it", "clone it"}, t.to_dlpack, t)
    assert.same({0, 0}, st.from_dlpack(t:clone():to_dlpack()):totable())
  end)

  it("comes from a capsule or an address, and from nothing else", function()
    for _, x in ipairs {0, 4096, true, {}, print, "abc", st.ones(1)} do
      raises({"from_dlpack: ", "must be a capsule or an address"},
             st.from_dlpack, x)
    end
    raises({"from_dlpack: ", "no option 'copy'"},
           st.from_dlpack, 1, {copy = true})
    raises({"from_dlpack: ", "options must be a table"},
           st.from_dlpack, 1, true)
    local t = st.ones(1)
    raises({"to_dlpack: ", "no option 'stream'"}, t.to_dlpack, t, {stream = 1})
    raises({"to_dlpack: ", "must be a Tensor"}, core.to_dlpack, 1)
  end)

  it("leaves nothing behind", function()
    assert.same(before, {counts()})
  end)
end)

-- -- Structures of others ----------------------------------------------------

if has_ffi then
  pcall(ffi.cdef, [[
    typedef struct { int32_t device_type, device_id; } st_spec_device;
    typedef struct { uint8_t code, bits; uint16_t lanes; } st_spec_type;
    typedef struct {
      void *data; st_spec_device device; int32_t ndim; st_spec_type dtype;
      int64_t *shape, *strides; uint64_t byte_offset;
    } st_spec_tensor;
    typedef struct st_spec_managed {
      st_spec_tensor t; void *ctx; void (*deleter)(struct st_spec_managed *);
    } st_spec_managed;
    typedef struct st_spec_versioned {
      uint32_t major, minor; void *ctx;
      void (*deleter)(struct st_spec_versioned *);
      uint64_t flags; st_spec_tensor t;
    } st_spec_versioned;
  ]])
end

--- A producer's structure: float32 2 x 3, whose changes are in `with`. Its
-- deleter counts.
local function producer(with, versioned)
  local p = {
    data = ffi.new("float[7]", {9, 1, 2, 3, 4, 5, 6}),
    shape = ffi.new("int64_t[65]", {2, 3}),
    strides = ffi.new("int64_t[65]", {3, 1}), deleted = 0,
  }
  p.m = ffi.new(versioned and "st_spec_versioned" or "st_spec_managed")
  p.deleter = ffi.cast(versioned and "void (*)(st_spec_versioned *)"
                       or "void (*)(st_spec_managed *)",
                       function() p.deleted = p.deleted + 1 end)
  p.m.deleter = p.deleter
  if versioned then p.m.major = 1 end
  local t = p.m.t
  t.data, t.shape, t.strides, t.ndim = p.data, p.shape, p.strides, 2
  t.device.device_type, t.byte_offset = 1, 4
  t.dtype.code, t.dtype.bits, t.dtype.lanes = 2, 32, 1
  if with then with(t, p) end
  p.pointer = ffi.cast("void *", p.m)
  return p
end

--- Nothing calls it any more, once what subscripts and the like made is gone.
local function finish(p)
  collect()
  p.deleter:free()
end

describe("A DLPack structure", function()
  if not has_ffi then
    pending("of others (only LuaJIT has the ffi)", function() end)
    return
  end

  setup(function() before = {counts()} end)

  for _, versioned in ipairs {false, true} do
    it("is imported, and deleted with the last view" ..
             (versioned and " (versioned)" or ""), function()
      local p = producer(nil, versioned)
      local t = st.from_dlpack(p.pointer, {versioned = versioned})
      assert.same({{1, 2, 3}, {4, 5, 6}}, t:totable())
      t[{2, 3}] = 7
      assert.equal(7, p.data[6])
      local view = t[1]
      t:free()
      assert.equal(0, p.deleted)
      assert.same({1, 2, 3}, view:totable())
      view:free()
      finish(p)
      assert.equal(1, p.deleted)
    end)
  end

  it("that is read-only is copied and deleted at once", function()
    local p = producer(function(_, made) made.m.flags = 1 end, true)
    local t = st.from_dlpack(p.pointer, {versioned = true})
    assert.equal(1, p.deleted)
    t:fill_(0)
    assert.equal(1, p.data[1])
    finish(p)
  end)

  for name, row in pairs {
    ["has no strides"] = {function(t) t.strides = nil end,
                          {{1, 2, 3}, {4, 5, 6}}},
    ["is transposed"] = {function(_, p)
      p.shape[0], p.shape[1], p.strides[0], p.strides[1] = 3, 2, 1, 3
    end, {{1, 4}, {2, 5}, {3, 6}}},
    ["has no dimension"] = {function(t)
      t.ndim, t.shape, t.strides = 0, nil, nil
    end, 1},
    ["has no elements and no data"] = {function(t, p)
      p.shape[1], p.strides[0], t.data = 0, -5, nil
    end, {{}, {}}},
    ["has a negative stride nobody walks along"] = {function(_, p)
      p.shape[0], p.strides[0] = 1, -3
    end, {{1, 2, 3}}},
    ["has a huge stride nobody walks along"] = {function(_, p)
      p.shape[0], p.strides[0] = 1, 2 ^ 62
    end, {{1, 2, 3}}},
    ["has no deleter"] = {function(_, p) p.m.deleter = nil end,
                          {{1, 2, 3}, {4, 5, 6}}},
    ["is on a CPU with a number"] = {function(t)
      t.device.device_id = 3
    end, {{1, 2, 3}, {4, 5, 6}}},
  } do
    it("is imported when it " .. name, function()
      local p = producer(row[1])
      local t = st.from_dlpack(p.pointer)
      assert.same(row[2], t:totable())
      t:free()
      finish(p)
    end)
  end

  for name, row in pairs {
    ["65 dimensions"] = {function(t) t.ndim = 65 end, "0 to 64 dimensions"},
    ["-1 dimensions"] = {function(t) t.ndim = -1 end, "0 to 64 dimensions"},
    ["another device"] = {function(t) t.device.device_type = 2 end,
                          "device type is 2"},
    ["no shape"] = {function(t) t.shape = nil end, "shape is NULL"},
    ["no data"] = {function(t) t.data = nil end, "data is NULL"},
    ["a negative size"] = {function(_, p) p.shape[0] = -2 end, "negative"},
    ["a negative stride"] = {function(_, p) p.strides[0] = -3 end,
                             "cannot be negative"},
    ["sizes that overflow"] = {function(_, p)
      p.shape[0], p.shape[1] = 2 ^ 62, 2 ^ 62
    end, "more elements than"},
    ["strides that overflow"] = {function(_, p) p.strides[0] = 2 ^ 62 end,
                                 "address space"},
    ["an offset that overflows"] = {function(t)
      t.byte_offset = t.byte_offset - 5
    end, "address space"},
    ["an offset beyond all memory"] = {function(t)
      t.byte_offset = 2 ^ 63
    end, "address space"},
    ["elements not aligned"] = {function(t) t.byte_offset = 3 end, "aligned"},
    ["lanes"] = {function(t) t.dtype.lanes = 4 end, "4 lanes"},
    ["no lanes"] = {function(t) t.dtype.lanes = 0 end, "0 lanes"},
    ["floats of 8 bits"] = {function(t) t.dtype.bits = 8 end, "8 bits"},
    ["unsigned 128 bits"] = {function(t)
      t.dtype.code, t.dtype.bits = 1, 128
    end, "128 bits of code 1"},
    ["handles"] = {function(t) t.dtype.code = 3 end, "code 3"},
    ["a kind of 200"] = {function(t) t.dtype.code = 200 end, "code 200"},
    ["no bits"] = {function(t) t.dtype.code, t.dtype.bits = 0, 0 end, "0 bits"},
  } do
    it("is refused and left alone when it has " .. name, function()
      local p = producer(row[1])
      raises(row[2], st.from_dlpack, p.pointer)
      assert.equal(0, p.deleted)
      finish(p)
    end)
  end

  it("is refused when it is of version 2", function()
    local p = producer(function(_, made) made.m.major = 2 end, true)
    raises({"from_dlpack: ", "version 2.0"},
           st.from_dlpack, p.pointer, {versioned = true})
    assert.equal(0, p.deleted)
    finish(p)
  end)

  it("is no NULL, and no structure of Lua's own", function()
    raises({"from_dlpack: ", "NULL"}, st.from_dlpack, ffi.cast("void *", nil))
    raises({"from_dlpack: ", "is not a pointer"},
           st.from_dlpack, ffi.new "st_spec_managed")
    raises({"from_dlpack: ", "neither a pointer nor an array"}, st.from_dlpack,
           ffi.new("int64_t", 1))
  end)

  it("of ours is as the standard has it", function()
    local t = st.arange(24):view(2, 3, 4):to "int16"["2, :, 2:3"]
    local m = ffi.cast("st_spec_managed *", t:to_dlpack():take())
    assert.equal(2, m.t.ndim)
    assert.same({3, 2, 4, 1}, {
      tonumber(m.t.shape[0]), tonumber(m.t.shape[1]),
      tonumber(m.t.strides[0]), tonumber(m.t.strides[1])})
    assert.same({0, 16, 1, 1, 0}, {
      m.t.dtype.code, m.t.dtype.bits, m.t.dtype.lanes,
      m.t.device.device_type, m.t.device.device_id})
    local data = ffi.cast("char *", m.t.data) + m.t.byte_offset
    assert.equal(13, ffi.cast("int16_t *", data)[0])
    m.deleter(m)
    local v = ffi.cast("st_spec_versioned *",
                       t:to_dlpack({versioned = true}):take())
    assert.same({1, 0, 0}, {v.major, v.minor, tonumber(v.flags)})
    assert.equal(2, v.t.ndim)
    v.deleter(v)
    m = ffi.cast("st_spec_managed *", st.zeros(0, 2):to_dlpack():take())
    assert.is_true(m.t.data == nil)
    m.deleter(m)
  end)

  it("leaves nothing behind", function()
    assert.same(before, {counts()})
  end)
end)

-- -- Out of memory -----------------------------------------------------------

describe("DLPack and buffers", function()
  it("fail cleanly when memory runs out", function()
    local t = st.ones(2, 3)
    before = {counts()}
    for _, fn in ipairs {
      function() t:to_dlpack():release() end,
      function() st.from_dlpack(t:to_dlpack()):free() end,
      function() st.frombuffer("abcdabcd"):free() end,
    } do
      local k = 0
      repeat
        k = k + 1
        st.memory_fail_at(k)
        local ok = pcall(fn)
        local left = st.memory_fail_at(0)
        if not ok then assert.equal(0, left) end
        assert.same(before, {counts()})
      until ok and left > 0 or k > 50
      assert.is_true(k > 1 and k < 50)
    end
  end)
end)
