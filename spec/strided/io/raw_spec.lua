--- Raw binary files: elements and nothing else.
-- axes: lua

local st = require "strided"

local files = require "spec.support.files"
local tensors = require "spec.support.tensors"

local live, raises, raises_here = tensors.live, tensors.raises,
                                  tensors.raises_here

local before, path

describe("A raw binary file", function()
  setup(function() before = live() end)
  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  it("has the elements in index order", function()
    local t = st.tensor({{1, 2, 3}, {4, 5, 6}}, {dtype = "int16"})
    t:tofile(path)
    assert.equal("\1\0\2\0\3\0\4\0\5\0\6\0", files.read(path))
    t:t():tofile(path)
    assert.equal("\1\0\4\0\2\0\5\0\3\0\6\0", files.read(path))
    st.ones(0):tofile(path)
    assert.equal("", files.read(path))
    assert.same({}, st.fromfile(path):totable())
    st.tensor({1}, {dtype = "complex64"}):conj()
      :tofile(path)
    assert.equal("\0\0\128\63\0\0\0\128", files.read(path))
  end)

  for _, row in ipairs {
    {"all of it", {dtype = "int16"}, {1, 2, 3, 4}},
    {"a count", {dtype = "int16", count = 2}, {1, 2}},
    {"an offset", {dtype = "int16", offset = 6}, {4}},
    {"a shape", {dtype = "int16", shape = {2, 2}}, {{1, 2}, {3, 4}}},
    {"a shape behind an offset", {dtype = "uint8", shape = {1, 2},
                                  offset = 3}, {{0, 3}}},
    {"nothing behind its end", {dtype = "int16", offset = 8}, {}},
    {"true and false", {dtype = "bool", count = 4},
     {true, false, true, false}},
  } do
    it("is read: " .. row[1], function()
      files.write(path, "\1\0\2\0\3\0\4\0")
      for _, mmap in ipairs {false, true, "c"} do
        row[2].mmap = mmap
        assert.same(row[3], st.fromfile(path, row[2]):totable())
      end
    end)
  end

  it("is mapped, to write too", function()
    files.write(path, "\1\0\2\0")
    local t = st.fromfile(path, {dtype = "int16", mmap = true})
    t:fill_(7)
    assert.equal("\1\0\2\0", files.read(path))
    t = st.fromfile(path, {dtype = "int16", mmap = "r+"})
    t[2] = 258
    assert.equal("\1\0\2\1", files.read(path))
    t = st.fromfile(path, {dtype = "uint8", offset = 1, mmap = "r+"})
    assert.same({0, 2, 1}, t:totable())
    raises("are not aligned: they cannot be mapped", st.fromfile, path,
           {dtype = "int16", offset = 1, count = 1, mmap = "r+"})
    raises("bytes that are neither true nor false", st.fromfile, path,
           {dtype = "bool", mmap = "r+"})
  end)

  for _, row in ipairs {
    {{dtype = "int32"}, "6 bytes from offset 0 on are no whole number of " ..
     "elements of 4 bytes"},
    {{dtype = "int16", count = 4}, "need 8 bytes from offset 0 on, and " ..
     "there are 6"},
    {{dtype = "uint8", shape = {2, 4}, offset = 1}, "need 8 bytes from " ..
     "offset 1 on, and there are 5"},
    {{dtype = "uint8", shape = {2 ^ 40, 2 ^ 40}}, "need 1208925819614629174"},
    {{offset = 7}, "the offset is 7, and it has 6 bytes"},
    {{dtype = "int3"}, "there is no dtype 'int3'"},
    {{count = -1}, "option 'count' must be a number from 0 on, got -1"},
    {{count = 1, shape = {1}}, "'shape' and 'count' exclude each other"},
    {{mmap = "w"}, "option 'mmap' must be true, \"r\", \"c\", \"r+\" or false"},
    {{size = 1}, "there is no option 'size'"},
  } do
    it("is refused: " .. row[2], function()
      files.write(path, "123456")
      raises_here({"fromfile: ", row[2]}, function()
        st.fromfile(path, row[1])
      end)
    end)
  end

  it("says what it cannot open or write", function()
    raises("fromfile: cannot read '/nowhere/x': No such file", st.fromfile,
           "/nowhere/x")
    local t = st.ones(2)
    raises("tofile: cannot write '/nowhere/x': No such file", t.tofile, t,
           "/nowhere/x")
    raises("tofile: the path must be a string, got nil", t.tofile, t)
    raises("meta device has no data", function()
      st.ones({2}, {device = "meta"}):tofile(path)
    end)
  end)

  it("leaves nothing behind", function()
    assert.equal(before, live())
  end)
end)
