--- Tensors from bytes and addresses, and bytes and addresses of tensors.
-- axes: lua ffi

local st = require "strided"
local core = require "strided.core"

local build = require "spec.support.build"
local collect = require "spec.support.collect"
local tensors = require "spec.support.tensors"

local live, raises = tensors.live, tensors.raises

local has_ffi, ffi = pcall(require, "ffi")

local before

-- -- Sources -----------------------------------------------------------------

describe("A source of bytes", function()
  it("is read up to its last byte", function()
    local source = core.open_bytes "abc"
    assert.equal("abc", source:read(0, 3))
    assert.equal("c", source:read(2, 1))
    assert.equal("", source:read(3, 0))
    for _, range in ipairs {{0, 4}, {2, 2}, {3, 1}, {4, 0}} do
      local bytes, why = source:read(range[1], range[2])
      assert.is_nil(bytes)
      assert.equal("the file is truncated", why)
    end
    source:close()
  end)
end)

-- -- Strings -----------------------------------------------------------------

describe("The bytes of a string", function()
  setup(function() before = live() end)

  for _, row in ipairs {
    {"all of it", "\1\0\2\0", {dtype = "int16"}, {1, 2}},
    {"a shape", "\1\2\3\4", {dtype = "uint8", shape = {2, 2}},
     {{1, 2}, {3, 4}}},
    {"a count and an offset", "xx\1\0\2\0\3\0",
     {dtype = "int16", offset = 2, count = 2}, {1, 2}},
    {"what is behind an offset", "xx\1\0", {dtype = "int16", offset = 2}, {1}},
    {"fewer than there are", "\1\2\3", {dtype = "uint8", count = 2}, {1, 2}},
    {"strides", "\1\2\3\4", {dtype = "uint8", shape = {2, 2},
                              strides = {1, 2}}, {{1, 3}, {2, 4}}},
    {"elements that lie in each other", "\1\2\3",
     {dtype = "uint8", shape = {2, 2}, strides = {1, 1}}, {{1, 2}, {2, 3}}},
    {"floats by default", "\0\0\128\63\0\0\0\192", nil, {1, -2}},
    {"nothing", "", nil, {}},
    {"no elements", "abc", {dtype = "uint8", shape = {0, 7}}, {}},
    {"one element", "\7\0\0\0", {dtype = "int32", shape = {}}, 7},
    {"true and false", "\0\1\2\255", {dtype = "bool"},
     {false, true, true, true}},
  } do
    it("make a tensor of " .. row[1], function()
      assert.same(row[4], st.frombuffer(row[2], row[3]):totable())
    end)
  end

  it("are copied, at any offset", function()
    local text = ("x"):rep(1) .. "\1\0\0\0\0\0\0\0"
    local t = st.frombuffer(text, {dtype = "int64", offset = 1})
    t:fill_(-1)
    assert.equal("x\1\0\0\0\0\0\0\0", text)
    assert.equal("\1\0\0\0\0\0\0\0", st.frombuffer(text, {
      dtype = "int64", offset = 1}):tostring_bytes())
  end)

  for _, row in ipairs {
    {"too few", "abc", {dtype = "int16", count = 2}, {"need 4 bytes", "has 3"}},
    {"not a whole number of elements", "abc", {dtype = "int16"},
     "no whole number"},
    {"skipped to the last and further", "abc", {dtype = "uint8", offset = 4},
     "no whole number"},
    {"skipped, with a count", "abc",
     {dtype = "uint8", offset = 9, count = 0}, "offset 9"},
    {"a terabyte", "abc", {dtype = "uint8", shape = {2 ^ 20, 2 ^ 20}},
     "need 1099511627776 bytes"},
    {"more than can be counted", "abc",
     {dtype = "uint8", shape = {2 ^ 52, 2 ^ 52}}, "more elements than"},
    {"of a negative size", "abc", {dtype = "uint8", shape = {-1}}, "negative"},
    {"at negative strides", "abc",
     {dtype = "uint8", shape = {2}, strides = {-1}}, "negative"},
    {"with a stride too many", "abc",
     {dtype = "uint8", shape = {2}, strides = {1, 1}}, "differ"},
    {"of both a shape and a count", "abc", {shape = {1}, count = 1},
     "exclude"},
    {"of a text for a shape", "abc", {shape = "3"}, "'shape' must be a table"},
    {"of words in a shape", "abc", {shape = {"x"}}, "'shape' must be"},
    {"at a fraction", "abc", {offset = 0.5}, "'offset' must be"},
    {"at a negative offset", "abc", {offset = -1}, "'offset' must be"},
    {"with an owner", "abc", {owner = {}}, "no argument 'owner'"},
    {"with an unknown option", "abc", {copy = false}, "no option 'copy'"},
    {"of no dtype", "abcd", {dtype = "float31"}, "dtype"},
    {"of a dtype and more", "abcd", {dtype = "uint8\0x"}, "no dtype"},
    {"of a dtype that is none", "abcd", {dtype = "none"}, "no dtype 'none'"},
    {"of another mark", "abcd", {dtype = st.newaxis}, "must be a dtype"},
    {"of 65 dimensions", "a", {dtype = "uint8", shape = st.ones(65)
     :totable()}, "more than 64"},
  } do
    it("are refused when they are " .. row[1], function()
      raises(row[4], st.frombuffer, row[2], row[3])
    end)
  end

  it("come from a string or an address, not from a number", function()
    for _, x in ipairs {0, 4096, true, {}, print, st.ones(1)} do
      raises({"frombuffer: ", "'source' must be a string or an address"},
             st.frombuffer, x,
             {shape = {1}})
    end
    raises({"frombuffer: ", "options must be a table"},
           st.frombuffer, "abc", "uint8")
  end)

  it("leave nothing behind", function() assert.equal(before, live()) end)
end)

-- -- Out again ---------------------------------------------------------------

describe("tostring_bytes()", function()
  setup(function() before = live() end)

  it("is what frombuffer takes", function()
    for _, dtype in ipairs {"bool", "uint8", "int64", "bfloat16",
                            "complex128"} do
      local t = st.arange(6):to(dtype):view(2, 3)
      local u = st.frombuffer(t:tostring_bytes(), {dtype = dtype,
                                                   shape = {2, 3}})
      assert.is_true(u:equal(t))
    end
  end)

  it("has the elements in their order, however they lie", function()
    local t = st.arange(6):to "uint8":view(2, 3)
    assert.equal("\0\1\2\3\4\5", t:tostring_bytes())
    assert.equal("\0\3\1\4\2\5", t:t():tostring_bytes())
    assert.equal("\1\4", t[":, 2"]:tostring_bytes())
    assert.equal("\3\4\5", t[2]:tostring_bytes())
    assert.equal("\3\3", t["2, 1:1"]:expand(2):tostring_bytes())
    assert.equal("", t["1:0"]:tostring_bytes())
  end)

  it("leaves the collector at work", function()
    local function watch() return setmetatable({{}}, {__mode = "v"}) end
    local weak, t = watch(), st.zeros(1000)
    for i = 1, 1e5 do
      t:fill_(i)
      assert.equal(4000, #t:tostring_bytes())
      if not weak[1] then break end
    end
    assert.is_nil(weak[1])
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

-- -- Addresses ---------------------------------------------------------------

local function when_ffi(name, fn)
  if has_ffi then return it(name, fn) end
  pending(name .. " (only LuaJIT has the ffi)", function() end)
end

--- A light userdata, which scripts do not make: one that lies in a closure,
-- or the state, which is a key of where PUC 5.1 keeps hooks.
local function light()
  local _, host = debug.getupvalue(core.is_tensor, 1)
  if host then return host end
  debug.sethook(print, "", 1e9)
  for key, hooks in pairs(debug.getregistry()) do
    local first = type(hooks) == "table" and next(hooks)
    if type(key) == "userdata" and type(first) == "userdata" then
      host = first
    end
  end
  debug.sethook()
  return host
end

describe("An address", function()
  setup(function() before = live() end)

  it("may be a light userdata", function()
    assert.equal("userdata", type(light()))
    local t = st.frombuffer(light(), {dtype = "int32", shape = {1}})
    assert.same({1}, t.shape)
    assert.equal(0, st.frombuffer(light(), {nbytes = 0}):numel())
  end)

  it("needs a size, which is held to", function()
    raises({"frombuffer: ", "has no size"}, st.frombuffer, light(), {})
    raises({"frombuffer: ", "need 8 bytes", "has 4"}, st.frombuffer, light(),
           {dtype = "int64", shape = {1}, nbytes = 4})
    raises({"frombuffer: ", "no whole number"}, st.frombuffer, light(),
           {dtype = "int64", nbytes = 7})
    raises({"frombuffer: ", "aligned"}, st.frombuffer, light(),
           {dtype = "int64", nbytes = 64, offset = 3, count = 1})
  end)

  it("has an owner that lives as long as any view", function()
    local weak = setmetatable({}, {__mode = "v"})
    weak.owner = {}
    local t = st.frombuffer(light(), {dtype = "uint8", count = 4,
                                      owner = weak.owner})
    local view = t["2:3"]
    t = nil -- luacheck: ignore
    collect()
    assert.is_not_nil(weak.owner)
    assert.equal(2, view:numel())
    view = nil -- luacheck: ignore
    collect()
    collect()
    assert.is_nil(weak.owner)
    weak.owner = {}
    t = st.frombuffer(light(), {dtype = "uint8", count = 4,
                                owner = weak.owner})
    t:free()
    collect()
    assert.is_nil(weak.owner)
  end)

  it("lets go of the owner when the tensor cannot be made", function()
    local weak = setmetatable({}, {__mode = "v"})
    weak.owner = {}
    raises({"frombuffer: ", "aligned"}, st.frombuffer, light(), {
      dtype = "int64", count = 1, offset = 1, owner = weak.owner})
    collect()
    assert.is_nil(weak.owner)
  end)

  when_ffi("may be an array, which is written through", function()
    local a = ffi.new("float[6]")
    local t = st.frombuffer(a, {shape = {2, 3}})
    t:fill_(2)
    a[5] = 7
    assert.same({{2, 2, 2}, {2, 2, 7}}, t:totable())
    assert.equal(2, a[0])
    assert.equal(6, st.frombuffer(a):numel())
    raises({"frombuffer: ", "need 28 bytes"}, st.frombuffer, a, {count = 7})
    raises("frombuffer: nbytes is 25", st.frombuffer, a, {nbytes = 25})
    local b = ffi.new("uint8_t[?]", 5)
    assert.equal(5, st.frombuffer(b, {dtype = "uint8"}):numel())
    local s = ffi.new "struct { int32_t x, y; }"
    s.y = 9
    assert.same({0, 9}, st.frombuffer(s, {dtype = "int32"}):totable())
  end)

  -- In a process of its own: busted's hooks keep the arrays.
  when_ffi("may be an array, which stays while the tensor does", function()
    assert.equal("10 stay, 0 are left\n", build.output(build.lua .. [[ -e '
      local ffi, st = require "ffi", require "strided"
      local weak, list = setmetatable({}, {__mode = "v"}), {}
      local function stay()
        collectgarbage()
        collectgarbage()
        local n = 0
        for i = 1, 10 do
          local same = list[i] and list[i][1] == i and list[i][2] == i
          if weak[i] and (same or not list[i]) then n = n + 1 end
        end
        return n
      end
      for i = 1, 10 do
        weak[i] = ffi.new("double[2]", i)
        list[i] = st.frombuffer(weak[i], {dtype = "float64"})
      end
      io.write(stay(), " stay, ")
      list = {}
      print(stay() .. " are left")']]))
  end)

  when_ffi("may be a pointer", function()
    local a = ffi.new("int64_t[3]", {1, 2, 3})
    for _, pointer in ipairs {ffi.cast("int64_t *", a), ffi.cast("void *", a),
                              ffi.cast("const char *", a)} do
      local t = st.frombuffer(pointer, {dtype = "int64", count = 3,
                                        owner = a})
      assert.same({1, 2, 3}, t:totable())
      raises({"frombuffer: ", "has no size"},
             st.frombuffer, pointer, {dtype = "int64"})
    end
    raises({"frombuffer: ", "NULL"},
           st.frombuffer, ffi.cast("void *", nil), {count = 1})
    local weak = setmetatable({}, {__mode = "v"})
    for i = 1, 10 do
      weak[i] = ffi.new "float[1]"
      st.frombuffer(ffi.cast("float *", weak[i]), {
        count = 1, owner = weak[i]}):free()
    end
    collect()
    local left = 0
    for _ in pairs(weak) do left = left + 1 end
    assert.is_true(left <= 1) -- the last may still lie on the stack
    for _, x in ipairs {ffi.new("int64_t", 1), ffi.new("double", 1),
                        ffi.typeof "int", ffi.typeof "char[4]",
                        ffi.typeof "char *"} do
      raises({"frombuffer: ", "neither a pointer nor an array"},
             st.frombuffer, x,
             {count = 1})
    end
  end)

  when_ffi("of a tensor is data_ptr()", function()
    local t = st.zeros(2, 3)
    local p = ffi.cast("float *", t:data_ptr())
    p[4] = 5
    assert.equal(5, t[{2, 2}]:item())
    t[2]:fill_(8)
    assert.equal(8, p[5])
    assert.equal(8, ffi.cast("float *", t[2]:data_ptr())[0])
    assert.equal(0, st.empty({2}, {device = "meta"}):data_ptr())
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
