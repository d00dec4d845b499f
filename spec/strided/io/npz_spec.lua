--- .npz files: what is read, what is written, what is refused.
-- axes: lua

local st = require "strided"
local refuses = require "spec.support.refusal"
local core = require "strided.core"

local build = require "spec.support.build"
local files = require "spec.support.files"
local tensors = require "spec.support.tensors"

local live, raises = tensors.live, tensors.raises

local char, floor = string.char, math.floor

-- -- Archives, written down -------------------------------------------------

local path

local function write(bytes) files.write(path, bytes) end
local function read() return files.read(path) end

local function le(x, n)
  local list = {}
  for i = 1, n do
    list[i] = char(x % 256)
    x = floor(x / 256)
  end
  return table.concat(list)
end

--- A .npy file of uint8.
local function npy(elements, shape)
  local text = ("{'descr': '|u1', 'fortran_order': False, 'shape': %s, }\n")
               :format(shape or "(" .. #elements .. ",)")
  return "\147NUMPY\1\0" .. le(#text, 2) .. text .. elements
end

local function crc(bytes) return core.crc32(bytes) end

--- An archive of these members: {name =, bytes =, ...}, where every field of
-- the headers can be said otherwise.
local function archive(members, with)
  local parts, entries, at = {}, {}, 0
  with = with or {}
  for _, m in ipairs(members) do
    local packed = m.packed_bytes or m.bytes
    local fields = le(m.version or 20, 2) .. le(m.flags or 0, 2) ..
      le(m.method or 0, 2) .. le(0, 4) .. le(m.crc or crc(m.bytes), 4) ..
      le(m.packed or #packed, 4) .. le(m.full or #m.bytes, 4)
    local extra = m.extra or ""
    local here = "PK\3\4" .. fields .. le(#m.name, 2) .. le(#extra, 2) ..
      (m.own_name or m.name) .. extra .. packed .. (m.gap or "")
    entries[#entries + 1] = "PK\1\2" .. le(20, 2) .. fields ..
      le(#m.name, 2) .. le(#extra, 2) .. le(0, 10) ..
      le(m.offset or at, 4) .. m.name .. extra
    parts[#parts + 1] = here
    at = at + #here
  end
  local directory = table.concat(entries) .. (with.junk or "")
  return table.concat(parts) .. directory .. (with.gap or "") ..
    "PK\5\6" .. le(with.disk or 0, 4) .. le(with.n or #members, 2) ..
    le(with.n or #members, 2) .. le(with.size or #directory, 4) ..
    le(with.offset or at, 4) .. le(#(with.comment or ""), 2) ..
    (with.comment or "")
end

local function load(bytes, options)
  write(bytes)
  return st.load(path, options)
end

local A = {name = "a.npy", bytes = npy "\1\2\3"}
local B = {name = "b.npy", bytes = npy "\4"}

--- What deflates to 1234 bytes: as many zeros as that can be.
local function bomb(full)
  local m = {name = "a.npy", method = 8, bytes = "", full = full, crc = 0}
  m.packed_bytes = ("\0"):rep(1234)
  return m
end

-- ----------------------------------------------------------------------------

describe("A .npz file", function()
  local before

  setup(function()
    path = os.tmpname()
    before = live()
  end)

  teardown(function() os.remove(path) end)

  before_each(function()
    os.remove(path)
    os.remove(path .. ".npz")
  end)

  for _, compress in ipairs {false, true} do
    it("gives back what was saved" .. (compress and ", deflated" or ""),
       function()
      local name = path .. ".npz"
      local saved = {
        x = st.arange(3000):view(30, 100), y = st.tensor {true, false},
        ["a/b \195\188"] = st.arange(12):view(3, 4):t(), none = st.zeros(0, 3),
        one = st.tensor(2.5), c = st.zeros({2}, {dtype = "complex128"}),
      }
      st.save(name, saved, {compress = compress})
      local loaded = st.load(name)
      for key, t in pairs(saved) do
        assert.is_true(loaded[key]:equal(t), key)
        assert.equal(t.dtype, loaded[key].dtype)
        loaded[key] = nil
      end
      assert.is_nil(next(loaded))
      os.remove(name)
    end)
  end

  it("is smaller when it is deflated", function()
    local name = path .. ".NPZ"
    local function size(compress)
      st.save(name, {x = st.zeros(100000)}, {compress = compress})
      return tonumber(build.output("stat -c %s '" .. name .. "'"))
    end
    assert.is_true(size(false) > 400000)
    assert.is_true(size(true) < 4000)
    os.remove(name)
  end)

  it("is the same, byte by byte, for the same tensors", function()
    local name = path .. ".npz"
    st.save(name, {b = st.frombuffer("\4", {dtype = "uint8"})})
    local head = "\147NUMPY\1\0\118\0" ..
      "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }"
    local bytes = head .. (" "):rep(127 - #head) .. "\n\4"
    local fields = "\0\0\0\0\0\0\33\0" .. le(crc(bytes), 4) ..
                   le(129, 4) .. le(129, 4) .. "\5\0\0\0"
    assert.equal("PK\3\4\20\0" .. fields .. "b.npy" .. bytes ..
      "PK\1\2\45\0\20\0" .. fields .. ("\0"):rep(14) .. "b.npy" ..
      "PK\5\6\0\0\0\0\1\0\1\0\51\0\0\0\164\0\0\0\0\0", files.read(name))
    os.remove(name)
  end)

  it("may have no member", function()
    assert.same({}, load(archive {}))
    local name = path .. ".npz"
    st.save(name, {})
    assert.same({}, st.load(name))
    os.remove(name)
  end)

  it("may be from elsewhere, with a comment and a gap", function()
    local t = load(archive({A, {name = "notes.txt", bytes = "hello"}, B,
                            {name = "f", bytes = ""}}, {comment = "PK\5\6x"}))
    assert.same({1, 2, 3}, t.a:totable())
    assert.same({4}, t.b:totable())
    assert.is_nil(t.f)
    A.gap = "xx"
    t = load(archive {A, B})
    A.gap = nil
    assert.same({4}, t.b:totable())
  end)

  it("may have members in any order of the directory", function()
    local size = #archive {B} - 22 - 46 - #B.name
    local text = archive {A, B}
    local first = size - #B.bytes + #A.bytes
    A.offset, B.offset = size, 0
    local t = load(archive({B}):sub(1, size) .. text:sub(1, first) ..
                   archive {A, B}:sub(first + size + 1, -23) ..
                   archive({A, B}):sub(-22))
    A.offset, B.offset = nil, nil
    assert.same({1, 2, 3}, t.a:totable())
  end)

  it("may have sizes in 64 bits", function()
    local m = {name = "a.npy", bytes = A.bytes, packed = 0xffffffff,
               full = 0xffffffff, crc = crc(A.bytes)}
    m.extra = "\9\9\1\0x\1\0\16\0" .. le(#A.bytes, 8) .. le(#A.bytes, 8)
    assert.same({1, 2, 3}, load(archive {m}).a:totable())
    -- and the directory's own
    local text = archive {A}
    local size = 46 + #A.name
    local offset = #text - 22 - size
    local stop = offset + size
    assert.same({1, 2, 3}, load(text:sub(1, -23) .. "PK\6\6" .. le(44, 8) ..
      le(45, 2) .. le(45, 2) .. le(0, 8) .. le(1, 8) .. le(1, 8) ..
      le(size, 8) .. le(offset, 8) .. "PK\6\7" .. le(0, 4) .. le(stop, 8) ..
      le(1, 4) .. "PK\5\6" .. le(0, 4) .. "\255\255\255\255" ..
      ("\255"):rep(8) .. "\0\0").a:totable())
  end)

  it("gives only the tensors that are asked for", function()
    local damaged = {name = "c.npy", bytes = npy "\4", crc = 1}
    local t = load(archive {A, damaged, B}, {names = {"a", "b"}})
    assert.same({1, 2, 3}, t.a:totable())
    assert.is_nil(t.c)
    for _, name in ipairs {"x", 1, "notes.txt"} do
      raises("'" .. path .. "': it has no member '" .. name .. "'",
             st.load, path, {names = {name}})
    end
    raises({"load: ", "option 'names' must be a list of names"},
           st.load, path, {names = "a"})
  end)

  local long = archive {A}
  for _, row in ipairs {
    {"ends in a member", long:sub(1, 60), "no directory"},
    {"ends in its directory", long:sub(1, -30), "no directory"},
    {"lacks its last byte", long:sub(1, -2), "no directory"},
    {"has bytes behind it", long .. "x", "no directory"},
    {"has bytes in front", "PK\3\4" .. long, "not where it should be"},
    {"is one of many disks", archive({A}, {disk = 1}), "several parts"},
    {"has more members than it says", archive({A, B}, {n = 1}), "damaged"},
    {"says it has more", archive({A}, {n = 2}), "damaged"},
    {"has junk in its directory", archive({A}, {junk = ("x"):rep(50)}),
     "damaged"},
    {"has its directory beyond its end", archive({A}, {offset = 99999}),
     "not where it should be"},
    {"has a huge directory", archive({A}, {size = 0xfffffff0}),
     "not where it should be"},
    {"has a member twice", archive {A, A}, "two members 'a.npy'"},
    {"colours its names", archive {{name = "../\27[31m", bytes = A.bytes}},
     "the name '../?[31m'"},
    {"colours a name twice", archive {
      {name = "\27[31m", bytes = A.bytes}, {name = "\27[31m", bytes = A.bytes}},
     "two members '?[31m'"},
    {"has a member with the header of another", archive {A, {
      name = "a.npz", bytes = A.bytes, offset = 0}},
     "not what the directory says"},
    {"has a member in a member", archive {
      {name = "a.txt", bytes = archive {B}:sub(1, 35 + #B.bytes)},
      {name = "b.npy", bytes = B.bytes, offset = 35}},
     "'a.txt' and 'b.npy' overlap"},
    {"has a member outside", archive {{
      name = "a.npy", bytes = "", packed = 1000}}, "not what the directory"},
    {"has a member in nowhere", archive {{
      name = "a.npy", bytes = A.bytes, offset = 5}}, "not where it should"},
    {"has a member beyond its end", archive {{
      name = "a.npy", bytes = A.bytes, offset = 0xfffffff0}},
     "not where it should"},
    {"names a member otherwise", archive {{
      name = "a.npy", own_name = "b.npy", bytes = A.bytes}},
     "not what the directory"},
    {"climbs", archive {{name = "../a.npy", bytes = A.bytes}}, "the name"},
    {"climbs inside", archive {{name = "b/../a.npy", bytes = A.bytes}},
     "the name"},
    {"starts at the root", archive {{name = "/a.npy", bytes = A.bytes}},
     "the name"},
    {"has a NUL in a name", archive {{name = "a\0.npy", bytes = A.bytes}},
     "the name"},
    {"has a member without a name", archive {{name = "", bytes = ""}},
     "the name"},
    {"is encrypted", archive {{name = "a.npy", bytes = A.bytes, flags = 1}},
     "encrypted"},
    {"has another method", archive {{name = "a.npy", bytes = A.bytes,
                                     method = 12}}, "method 12"},
    {"has bytes that changed", archive {{
      name = "a.npy", bytes = A.bytes, crc = 7}}, "the CRC differs"},
    {"stores fewer bytes than it says", archive {{
      name = "a.npy", bytes = A.bytes, full = #A.bytes + 1}}, "impossible"},
    {"inflates beyond measure", archive {bomb(1e9)}, "impossible"},
    {"is not deflated", archive {bomb(1e6)}, "damaged"},
    {"has no .npy in .npy", archive {{name = "a.npy", bytes = "text text"}},
     "member 'a.npy': not a .npy file"},
    {"has an empty .npy", archive {{name = "a.npy", bytes = ""}},
     "member 'a.npy'"},
    {"has a .npy that claims more", archive {{
      name = "a.npy", bytes = npy("\1", "(1000000000000,)")}},
     "needs 1000000000000 bytes and 1 follow"},
    {"has sizes in 64 bits that are not there", archive {{
      name = "a.npy", bytes = A.bytes, full = 0xffffffff,
      extra = "\1\0\4\0xxxx"}}, "damaged"},
    {"has extra fields that end early", archive {{
      name = "a.npy", bytes = A.bytes, extra = "\7\0\9\0xx"}}, "damaged"},
    {"has a size of 2^64", archive {{
      name = "a.npy", bytes = A.bytes, full = 0xffffffff,
      extra = "\1\0\8\0" .. ("\255"):rep(8)}}, "damaged"},
  } do
    it("that " .. row[1] .. " is refused", function()
      write(row[2])
      refuses(path, row[3])
    end)
  end

  it("that was deflated is refused with any byte changed or missing",
     function()
    local name = path .. ".npz"
    st.save(name, {a = st.arange(20)}, {compress = true})
    local bytes = files.read(name)
    os.remove(name)
    local unharmed = 0
    for i = 1, #bytes do
      write(bytes:sub(1, i - 1) .. char((bytes:byte(i) + 1) % 256) ..
            bytes:sub(i + 1))
      local ok, t = pcall(st.load, path)
      -- times, versions and the like may be what they want
      if ok and t.a and t.a:equal(st.arange(20)) then
        unharmed = unharmed + 1
      elseif ok then
        assert.is_nil(t.a)
      end
      write(bytes:sub(1, i - 1))
      refuses(path, i < 4 and "not a .npy file" or "truncated")
    end
    assert.is_true(unharmed < 50, unharmed)
  end)

  it("is not mapped, and takes no other options", function()
    write(archive {A})
    for _, options in ipairs {{mmap = "r"}, {lazy = true}} do
      raises({"load: ", ".npz file: there is no option"},
             st.load, path, options)
    end
  end)

  for name, row in pairs {
    ["a tensor"] = {st.ones(1), "takes a table"},
    ["a text"] = {"x", "takes a table"},
    ["names that are numbers"] = {{st.ones(1)}, "must be strings"},
    ["what is no tensor"] = {{a = 1}, "'a' must be a Tensor"},
    ["a name that climbs"] = {{["../a"] = st.ones(1)}, "cannot have the name"},
    ["no name"] = {{[""] = st.ones(1)}, "cannot have the name"},
    ["a name that is no UTF-8"] = {{["a\255"] = st.ones(1)},
                                   "cannot have the name"},
    ["bfloat16"] = {{a = st.ones({1}, {dtype = "bfloat16"})}, "no equivalent"},
  } do
    it("is not made from " .. name .. ", and the old one stays", function()
      local new = path .. ".npz"
      os.rename(path, new)
      path, new = new, path
      write "old"
      path, new = new, path
      raises(row[2], st.save, new, row[1])
      assert.equal("old", build.output("cat '" .. new .. "'"))
      os.remove(new)
    end)
  end

  it("is read or refused when memory runs out", function()
    local name = path .. ".npz"
    local t = st.arange(300):view(3, 100):t()["2:9"]
    st.save(name, {t = t}, {compress = true})
    local alive = live()
    for _, fn in ipairs {
      function() assert(st.load(name).t:equal(t)) end,
      function() st.save(name, {t = t}, {compress = true}) end,
    } do
      local k = 0
      repeat
        k = k + 1
        st.memory_fail_at(k)
        local ok = pcall(fn)
        local left = st.memory_fail_at(0)
        assert.is_true(st.load(name).t:equal(t))
        assert.equal(alive, live())
      until ok and left > 0 or k > 100
      assert.is_true(k > 1 and k < 100)
    end
    os.remove(name)
  end)

  it("leaves nothing behind", function()
    assert.is_nil(read())
    assert.equal(before, live())
  end)
end)
