--- .safetensors files: what is read, what is written, what is refused.
-- axes: lua
-- sampled: 3

local st = require "strided"
local refuses = require "spec.support.refusal"

local build = require "spec.support.build"
local collect = require "spec.support.collect"
local files = require "spec.support.files"
local tensors = require "spec.support.tensors"

local char, floor = string.char, math.floor
local read = files.read
local live, raises = tensors.live, tensors.raises

local path

local function write(bytes, name) files.write(name or path, bytes) end

--- A file of this header and these elements.
local function file_of(header, elements, length)
  local list, n = {}, length or #header
  for i = 1, 8 do
    list[i] = char(n % 256)
    n = floor(n / 256)
  end
  return table.concat(list) .. header .. (elements or "")
end

--- The header of one tensor.
local function one(dtype, shape, first, last, name)
  return ('{"%s":{"dtype":"%s","shape":%s,"data_offsets":[%s,%s]}}'):format(
         name or "a", dtype, shape, first, last)
end

local function load(bytes, options)
  write(bytes)
  return st.load(path, options)
end

local DTYPES = {
  bool = "BOOL", uint8 = "U8", int8 = "I8", int16 = "I16", int32 = "I32",
  int64 = "I64", float16 = "F16", bfloat16 = "BF16", float32 = "F32",
  float64 = "F64", complex64 = "C64",
}

-- ----------------------------------------------------------------------------

describe("A .safetensors file", function()
  local before, name

  setup(function()
    path = os.tmpname()
    name = path .. ".safetensors"
    before = live()
  end)

  teardown(function()
    os.remove(path)
    os.remove(name)
  end)

  for _, mmap in ipairs {"r", "c", "r+", false} do
    it("gives back what was saved, mmap = " .. tostring(mmap), function()
      local saved = {
        ['a"\\\n\1\127/\195\188'] = st.ones(2), none = st.zeros(0, 3),
        one = st.tensor(2.5), t = st.arange(6):view(2, 3):t(),
      }
      for dtype in pairs(DTYPES) do
        saved[dtype] = st.arange(6):to(dtype):view(2, 3)
      end
      local about = {format = "pt", ['"\n'] = "\226\130\172"}
      st.save(name, saved, {metadata = about})
      local loaded, metadata = st.load(name, {mmap = mmap})
      assert.same(about, metadata)
      for key, t in pairs(saved) do
        assert.is_true(loaded[key]:equal(t), key)
        assert.equal(t.dtype, loaded[key].dtype)
        loaded[key] = nil
      end
      assert.is_nil(next(loaded))
    end)
  end

  -- Lengths of a header that begin as files of other formats do: a zip, an
  -- empty zip, gzip, a pickle, and the first bytes of a .npy file.
  local STARTS = {
    {"PK\3\4", 67324752}, {"PK\3", 215888}, {"PK\5", 346960},
    {"\31\139", 35615}, {"\128\2", 640}, {"\147NU", 5590675},
    {"{", 123},
  }
  for _, row in ipairs(STARTS) do
    it("is known by more than a length of " .. row[2], function()
      local header = one("U8", "[2]", 0, 2)
      local bytes = file_of(header .. (" "):rep(row[2] - #header), "\5\7")
      assert.equal(row[1], bytes:sub(1, #row[1]))
      write(bytes)
      assert.same({5, 7}, st.load(path).a:totable())
      if row[2] > 1e7 then return end -- one load of it takes half a second
      files.write(name, bytes)
      assert.same({5, 7}, st.load(name).a:totable())
      assert.same({5, 7},
                  st.load(path, {format = "safetensors"}).a:totable())
      raises("load: cannot load '" .. path .. "': ",
             st.load, path, {format = "npz"})
    end)
  end

  it("is told from other files by the option or by the name", function()
    local other = path .. ".npz"
    st.save(other, {a = st.tensor {1, 2}})
    assert.same({1, 2}, st.load(other, {format = "npz"}).a:totable())
    os.rename(other, name)
    raises("it is a .npz file, not what its name says: rename it, or write "
           .. "st.load(path, {format = \"npz\"})", st.load, name)
    assert.same({1, 2}, st.load(name, {format = "npz"}).a:totable())
    raises("cannot load '" .. name .. "'", st.load, name,
           {format = "safetensors"})
    raises("option 'format' must be \"npy\", \"npz\", \"safetensors\", "
           .. "\"pt\", \"t7\", \"csv\", \"tsv\" or \"image\", got \"zip\"",
           st.load, name,
           {format = "zip"})
    raises("option 'format' must be \"npy\", \"npz\", \"safetensors\", "
           .. "\"pt\", \"t7\", \"csv\", \"tsv\" or \"image\", got boolean",
           st.load, name,
           {format = true})
    -- 9 bytes of both formats
    files.write(name, "PK\3\4\0\0\0\0{")
    raises({"load: ", "the file is truncated"}, st.load, name)
    files.write(other, "PK\3\4\0\0\0\0{")
    raises({"load: ", "it has no directory"}, st.load, other)
    os.remove(other)
  end)

  it("is the same, byte by byte, for the same tensors", function()
    st.save(name, {
      b = st.tensor({1, 2}, {dtype = "int16"}),
      a = st.tensor({{1}}, {dtype = "uint8"}),
      c = st.tensor({3}, {dtype = "int16"}),
    }, {metadata = {k = "v"}})
    local header = '{"__metadata__":{"k":"v"},' ..
      '"b":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},' ..
      '"c":{"dtype":"I16","shape":[1],"data_offsets":[4,6]},' ..
      '"a":{"dtype":"U8","shape":[1,1],"data_offsets":[6,7]}}'
    header = header .. (" "):rep(-#header % 8)
    assert.equal(file_of(header, "\1\0\2\0\3\0\1"), read(name))
  end)

  it("may be from elsewhere", function()
    local t, metadata = load(file_of('{ "b" : {"shape":[ 2 , 1 ],\n' ..
      '"data_offsets" :[2,6],"dtype":"I16"},"\\u0061\\ud83d\\ude00\\/\\t":' ..
      '{"dtype":"BOOL","shape":[],"data_offsets":[0,1]},"" : {"dtype":"U8",' ..
      '"data_offsets":[1,2],"shape":[1]}, "e": {"dtype":"F64",' ..
      '"data_offsets":[2,2],"shape":[0]}}   ', "\5\7\1\0\2\0"))
    assert.same({{1}, {2}}, t.b:totable())
    assert.is_true(t["a\240\159\152\128/\t"]:item())
    assert.same({7}, t[""]:totable())
    assert.same({0}, t.e.shape)
    assert.same({}, metadata)
    assert.same({}, (load(file_of "{}")))
    t, metadata = load(file_of('{"__metadata__": null , "a":{"dtype":"U8",' ..
                               '"data_offsets":[0,1],"shape":[1]}}', "\7"))
    assert.same({7}, t.a:totable())
    assert.same({}, metadata)
  end)

  it("is recognised by what it starts with, and by its name", function()
    write(file_of('{"__metadata__":{"a":"b"}}'), name)
    local t, metadata = st.load(name)
    assert.same({}, t)
    assert.same({a = "b"}, metadata)
    write("short", name)
    raises({"load: ", "truncated"}, st.load, name)
  end)

  it("is mapped, and written to only where asked", function()
    st.save(name, {a = st.zeros(3000), b = st.zeros(5)})
    local was = read(name)
    collect()
    local bytes = st.memory().data.bytes
    local t = st.load(name)
    assert.is_true(st.memory().data.bytes <= bytes)
    t.a:fill_(1)
    assert.equal(was, read(name))
    st.load(name, {mmap = false}).a:fill_(1)
    assert.equal(was, read(name))
    st.load(name, {mmap = "r+"}).b:fill_(1)
    assert.equal(5, st.load(name).b:sum():item())
    assert.equal(3000, t.a:sum():item())
  end)

  it("may lie so that elements are not aligned", function()
    local header = one("F64", "[1]", 0, 8)
    while #header % 8 == 0 do header = header .. " " end
    local bytes = file_of(header, "\0\0\0\0\0\0\240\63")
    assert.same({1}, load(bytes).a:totable())
    raises({"load: ", "not aligned"}, load, bytes, {mmap = "r+"})
  end)

  it("has only true and false where dtype is BOOL", function()
    local bytes = file_of(one("BOOL", "[3]", 0, 3), "\0\1\7")
    assert.equal("\0\1\1", load(bytes).a:tostring_bytes())
    assert.equal("\0\1\1", load(bytes, {mmap = false}).a:tostring_bytes())
    raises({"load: ", "neither true nor false"}, load, bytes, {mmap = "r+"})
  end)

  it("gives only the tensors that are asked for", function()
    st.save(name, {a = st.zeros(1), b = st.ones(1)})
    local t = st.load(name, {names = {"b"}})
    assert.same({1}, t.b:totable())
    assert.is_nil(t.a)
    raises({"load: ", "no tensor 'x'"}, st.load, name, {names = {"x"}})
    raises({"load: ", "no tensor '1'"}, st.load, name, {names = {1}})
    raises({"load: ", "'names' must be a list"}, st.load, name, {names = "a"})
  end)

  it("may have tensors of other dtypes beside those that are asked for",
     function()
    local bytes = file_of('{"a":{"dtype":"F6_E2M3","shape":[1],"data_offsets":'
      .. '[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}',
      "\1\2\3\4")
    assert.same({3, 4}, load(bytes, {names = {"b"}}).b:totable())
    for _, options in ipairs {{}, {names = {"b", "a"}}} do
      raises({"load: ", "'a': dtype F6_E2M3 has no equivalent"},
             load, bytes, options)
    end
  end)

  local function two(first, last)
    return ('{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},' ..
            '"b":{"dtype":"U8","shape":[2],"data_offsets":[%d,%d]}}')
           :format(first, last)
  end

  for _, row in ipairs {
    {"is empty", "", "not a .npy file"},
    {"ends in its length", "\1\0\0", "not a .npy file"},
    {"ends in its header", file_of("{}", "", 100), "truncated"},
    {"has a header of 4 GB", file_of("{}", "", 2 ^ 32), "too large"},
    {"has a header of 2^64", ("\255"):rep(8) .. "{}", "too large"},
    {"ends in its elements", file_of(one("U8", "[3]", 0, 3), "\1\2"),
     "need 3 bytes and 2 follow"},
    {"has bytes behind them", file_of(one("U8", "[3]", 0, 3), "\1\2\3\4"),
     "need 3 bytes and 4 follow"},
    {"has a hole", file_of(two(3, 5), "\1\2\3\4\5"), "begins at byte 3"},
    {"has a hole in front", file_of(one("U8", "[2]", 1, 3), "\1\2\3"),
     "begins at byte 1"},
    {"has overlapping tensors", file_of(two(1, 3), "\1\2\3"),
     "begins at byte 1"},
    {"has tensors in one place", file_of(two(0, 2), "\1\2"),
     "begins at byte 0"},
    {"has colours in a name", file_of(
      one("I16", "[2]", 0, 2, "\\u001b[31m\\u009bm\\n\195\188"), "\1\2"),
     "tensor '?[31m?m?\195\188' needs 4 bytes"},
    {"needs more than it has", file_of(one("I16", "[2]", 0, 2), "\1\2"),
     "needs 4 bytes and has 2"},
    {"ends before it begins", file_of(one("U8", "[2]", 2, 0), "\1\2"),
     "needs 2 bytes and has -2"},
    {"claims an exabyte", file_of(one("F64", "[1152921504606846976]", 0, 8),
     ("\0"):rep(8)), "too large"},
    {"claims a product beyond 64 bits", file_of(
     one("U8", "[4611686018427387904,4]", 0, 0)), "too large"},
    {"claims the same beside a zero", file_of(
     one("U8", "[0,4611686018427387904,4]", 0, 0)), "too large"},
    {"has offsets beyond 64 bits", file_of(one("U8", "[1]", ("9"):rep(400),
     ("9"):rep(400)), "\1"), "needs 1 bytes"},
    {"has 65 dimensions", file_of(one("U8", "[" .. ("1,"):rep(64) .. "1]", 0,
     1), "\1"), "'shape' is malformed"},
    {"has a negative size", file_of(one("U8", "[-1]", 0, 1), "\1"),
     "'shape' is malformed"},
    {"has a fractional size", file_of(one("U8", "[1.0]", 0, 1), "\1"),
     "'shape' is malformed"},
    {"has a size with an exponent", file_of(one("U8", "[1e0]", 0, 1), "\1"),
     "'shape' is malformed"},
    {"has a size with a zero in front", file_of(one("U8", "[01]", 0, 1),
     "\1"), "'shape' is malformed"},
    {"has a text for a shape", file_of(one("U8", '"1"', 0, 1), "\1"),
     "'shape' is malformed"},
    {"has a comma too many", file_of(one("U8", "[1,]", 0, 1), "\1"),
     "'shape' is malformed"},
    {"has three offsets", file_of(one("U8", "[1]", 0, "1,1"), "\1"),
     "'data_offsets' is malformed"},
    {"has one offset", file_of('{"a":{"dtype":"U8","shape":[1],' ..
     '"data_offsets":[0]}}', "\1"), "must be a beginning and an end"},
    {"has no offset", file_of('{"a":{"dtype":"BF16","shape":[3],' ..
     '"data_offsets":[]}}', "\1"), "must be a beginning and an end"},
    {"has 6-bit floats without an end",
     file_of('{"a":{"dtype":"F6_E2M3","shape":[1],' ..
     '"data_offsets":[0]}}', "\1"), "must be a beginning and an end"},
    {"lacks a field", file_of('{"a":{"dtype":"U8","shape":[]}}'),
     "has no data_offsets"},
    {"has another field", file_of('{"a":{"exec":"rm"}}'), "no field 'exec'"},
    {"repeats a field", file_of('{"a":{"dtype":"U8","dtype":"U8"}}'),
     "'dtype' twice"},
    {"repeats a tensor", file_of(two(2, 4):gsub('"b"', '"\\u0061"'),
     "\1\2\3\4"), "'a' twice"},
    {"has 6-bit floats", file_of(one("F6_E2M3", "[1]", 0, 1), "\1"),
     "F6_E2M3 has no equivalent"},
    {"has 6-bit floats that end before they begin",
     file_of(one("F6_E2M3", "[1]", 0, -2), ""), "'data_offsets' is malformed"},
    {"has 6-bit floats that go back", file_of(
     '{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},' ..
     '"b":{"dtype":"F6_E2M3","shape":[1],"data_offsets":[2,1]}}', "\1\2"),
     "'b' ends before it begins"},
    {"has an array for a header", file_of "{]", "malformed"},
    {"has a header that is not closed", file_of '{"a":', "malformed"},
    {"has null for a tensor", file_of '{"a":null}', "malformed"},
    {"has numbers for names", file_of "{1:{}}", "malformed"},
    {"has single quotes", file_of "{'a':{}}", "malformed"},
    {"has a comma at the end", file_of '{"__metadata__":{},}', "malformed"},
    {"has no comma", file_of '{"__metadata__":{}"a":{}}', "malformed"},
    {"goes on after its header", file_of "{}{}", "something follows"},
    {"has a comment", file_of "{}//", "something follows"},
    {"has nothing for its metadata", file_of '{"__metadata__":nul}',
     "malformed"},
    {"has null for a tensor", file_of '{"a":null}', "malformed"},
    {"has null in its metadata", file_of '{"__metadata__":{"a":null}}',
     "not a string"},
    {"has numbers in its metadata", file_of '{"__metadata__":{"a":1}}',
     "metadata 'a' is not a string"},
    {"has objects in its metadata", file_of '{"__metadata__":{"a":{}}}',
     "metadata 'a' is not a string"},
    {"has a line end in a text", file_of '{"a\n":{}}', "malformed"},
    {"has an unknown escape", file_of '{"\\x":{}}', "malformed"},
    {"has half a surrogate", file_of '{"\\ud83d":{}}', "malformed"},
    {"has the other half", file_of '{"\\ude00":{}}', "malformed"},
    {"has a short escape", file_of '{"\\u12":{}}', "malformed"},
    {"is not UTF-8", file_of '{"\255":{}}', "not UTF-8"},
    {"has an overlong character", file_of '{"\192\128":{}}', "not UTF-8"},
    {"has a surrogate in UTF-8", file_of '{"\237\160\128":{}}', "not UTF-8"},
    {"is nested for ever", file_of(('{"a":'):rep(10000)), "no field 'a'"},
  } do
    it("that " .. row[1] .. " is refused", function()
      write(row[2])
      refuses(path, row[3])
    end)
  end

  for text, row in pairs {
    ["a tensor"] = {st.ones(1), nil, "takes a table"},
    ["a function"] = {{a = print}, nil, "a is a function"},
    ["the metadata of a tree"] = {{}, {metadata = {["strided.tree"] = "1"}},
                                  "metadata cannot have the name"},
    ["complex128"] = {{a = st.zeros({1}, {dtype = "complex128"})}, nil,
                      "no equivalent"},
    ["numbers for metadata"] = {{}, {metadata = {a = 1}},
                                "'a' is not a string"},
    ["a text for metadata"] = {{}, {metadata = "x"}, "a table of strings"},
    ["other options"] = {{}, {compress = true}, "no option 'compress'"},
  } do
    it("is not made from " .. text .. ", and the old one stays", function()
      write("old", name)
      raises(row[3], st.save, name, row[1], row[2])
      assert.equal("old", read(name))
      assert.equal(name .. "\n", build.output("ls '" .. name .. "'*"))
    end)
  end

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
