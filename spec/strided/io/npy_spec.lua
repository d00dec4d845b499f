--- .npy files: what is read, what is refused, what is left behind.
-- axes: lua

local st = require "strided"
local refuses = require "spec.support.refusal"
local core = require "strided.core"

local build = require "spec.support.build"
local files = require "spec.support.files"
local tensors = require "spec.support.tensors"

local live, raises, raises_here = tensors.live, tensors.raises,
                                  tensors.raises_here

local HERE = build.root .. "/spec"

-- -- Help --------------------------------------------------------------------

local path

local function write(bytes) files.write(path, bytes) end

local function read() return files.read(path) end

--- A file of this header text and these elements.
local function npy(text, data, version)
  version = version or 1
  local length = #text + 1
  local bytes = string.char(length % 256, math.floor(length / 256))
  if version > 1 then bytes = bytes .. "\0\0" end
  return "\147NUMPY" .. string.char(version, 0) .. bytes .. text .. "\n" ..
         (data or "")
end

local function dict(descr, fortran, shape)
  return ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }")
         :format(descr, fortran and "True" or "False", shape)
end

local function load(bytes)
  write(bytes)
  return st.load(path)
end

local function leftovers()
  return build.output("ls '" .. path .. "'* 2>/dev/null")
end

local DTYPES = {
  bool = "|b1", uint8 = "|u1", int8 = "|i1", int16 = "<i2", int32 = "<i4",
  int64 = "<i8", float16 = "<f2", float32 = "<f4", float64 = "<f8",
  complex64 = "<c8", complex128 = "<c16",
}

-- ----------------------------------------------------------------------------

describe("A .npy file", function()
  local before

  setup(function()
    path = os.tmpname()
    before = live()
  end)

  teardown(function() os.remove(path) end)

  before_each(function() os.remove(path) end)

  describe("that was saved", function()
    for dtype, descr in pairs(DTYPES) do
      it("gives a " .. dtype .. " tensor back", function()
        local t = st.arange(0, 6):to(dtype):view(2, 3)
        st.save(path, t)
        local u = st.load(path)
        assert.equal(dtype, tostring(u.dtype))
        assert.same({2, 3}, u.shape)
        assert.is_true(u:equal(t))
        assert.truthy(read():find("'descr': '" .. descr .. "'", 1, true))
      end)
    end

    it("is one value, with no nil behind it", function()
      st.save(path, st.ones(2))
      assert.equal(1, select("#", st.load(path)))
      local list = {}
      table.insert(list, st.load(path))
      assert.equal(1, #list)
    end)

    it("is byte for byte what NumPy writes", function()
      st.save(path, st.tensor({{1, 2, 3}, {4, 5, 6}}, {dtype = "int16"}))
      local text = "{'descr': '<i2', 'fortran_order': False, " ..
                   "'shape': (2, 3), }"
      assert.equal("\147NUMPY\1\0\118\0" .. text ..
                   (" "):rep(117 - #text) .. "\n" ..
                   "\1\0\2\0\3\0\4\0\5\0\6\0", read())
    end)

    it("starts its elements at a multiple of 64", function()
      for ndim = 0, 40 do
        local shape = {}
        for i = 1, ndim do shape[i] = 1 end
        st.save(path, st.zeros(shape, {dtype = "uint8"}))
        assert.equal(0, (#read() - 1) % 64)
        assert.same(shape, st.load(path).shape)
      end
    end)

    it("may have no dimension or no element", function()
      st.save(path, st.tensor(2.5))
      assert.same({}, st.load(path).shape)
      assert.equal(2.5, st.load(path):item())
      st.save(path, st.zeros(3, 0, 2))
      assert.same({3, 0, 2}, st.load(path).shape)
    end)

    it("keeps special floats and exact int64", function()
      local t = st.tensor({0 / 0, 1 / 0, -1 / 0, -0.0, 1e-45})
      st.save(path, t)
      local u = st.load(path)
      assert.equal(core.get_bytes(t, 0, 20), core.get_bytes(u, 0, 20))
      local big = st.zeros({1}, {dtype = "int64"})
      core.set_bytes(big, 0, "\1\2\3\4\5\6\7\128")
      st.save(path, big)
      assert.equal("\1\2\3\4\5\6\7\128", core.get_bytes(st.load(path), 0, 8))
    end)

    it("has C order when the tensor had neither order", function()
      local t = st.arange(24):view(2, 3, 4):transpose(1, 2)
      st.save(path, t)
      assert.truthy(read():find("'fortran_order': False", 1, true))
      assert.is_true(st.load(path):equal(t))
      local part = st.arange(10)["2:9:3"]
      st.save(path, part)
      assert.is_true(st.load(path):equal(part))
    end)

    it("keeps Fortran order, and loads it as strides", function()
      local t = st.arange(6):view(3, 2):t()
      st.save(path, t)
      assert.truthy(read():find("'fortran_order': True", 1, true))
      local u = st.load(path)
      assert.same({1, 2}, u:stride())
      assert.is_true(u:equal(t))
    end)

    it("may be larger than a chunk", function()
      local t = st.arange(300001)
      st.save(path, t)
      assert.is_true(st.load(path):equal(t))
    end)
  end)

  describe("from elsewhere", function()
    it("may be a photo", function()
      local t = st.load(HERE .. "/../examples/data/raccoon.npy")
      assert.same({384, 512, 3}, t.shape)
      assert.equal("uint8", tostring(t.dtype))
    end)

    it("may have version 1, 2 or 3 and either quote", function()
      for version = 1, 3 do
        local t = load(npy(dict("|u1", false, "(3,)"), "\1\2\3", version))
        assert.same({1, 2, 3}, t:totable())
      end
      local t = load(npy(dict("|u1", false, "(1,)"):gsub("'", '"'), "\9"))
      assert.same({9}, t:totable())
    end)

    for _, row in ipairs {
      {"<i2", "\1\0\2\0", {1, 2}}, {">i2", "\0\1\0\2", {1, 2}},
      {"=i2", "\1\0\2\0", {1, 2}},
      {">i4", "\0\0\1\2\255\255\255\255", {258, -1}},
      {">i8", "\0\0\0\0\0\0\0\7" .. ("\255"):rep(8), {7, -1}},
      {">f4", "\63\128\0\0\192\32\0\0", {1, -2.5}},
      {">f8", "\63\240\0\0\0\0\0\0\192\4\0\0\0\0\0\0", {1, -2.5}},
      {">u1", "\1\2", {1, 2}}, {"<b1", "\1\0", {true, false}},
    } do
      it("may have the dtype " .. row[1], function()
        local t = load(npy(dict(row[1], false, "(2,)"), row[2]))
        assert.same(row[3], t:totable())
      end)
    end

    it("may have lines in its dictionary, and strings of Python 2", function()
      for _, text in ipairs {
        "{'descr': '|u1',\n 'fortran_order': False,\n 'shape': (2,),\n}",
        "\n{ 'descr'\n:\r\n'|u1',\t'fortran_order':\nFalse,'shape':(\n2\n,\n)}",
        "{u'descr': u'|u1', u'fortran_order': False, u'shape': (2L,), }",
        '{U"descr": U"|u1", U"fortran_order": False, U"shape": (2,)}',
      } do
        assert.same({1, 2}, load(npy(text, "\1\2")):totable())
      end
    end)

    it("may hold big-endian complex numbers", function()
      local t = load(npy(dict(">c8", false, "()"),
                         "\63\128\0\0\192\32\0\0"))
      assert.equal("\0\0\128\63\0\0\32\192", core.get_bytes(t, 0, 8))
    end)

    it("may be in Fortran order", function()
      local t = load(npy(dict("|u1", true, "(2, 3)"), "\1\2\3\4\5\6"))
      assert.same({{1, 3, 5}, {2, 4, 6}}, t:totable())
      assert.same({1, 2}, t:stride())
    end)

    it("may have a shape as Python 2 wrote it", function()
      local t = load(npy(dict("|u1", false, "(2L, 1L)"), "\1\2"))
      assert.same({2, 1}, t.shape)
    end)

    it("may have its fields in any order", function()
      local t = load(npy("{'shape':(2 , ),'fortran_order' : False," ..
                         "'descr':'|u1'}", "\1\2"))
      assert.same({1, 2}, t:totable())
    end)

    it("has only true and false where dtype is bool", function()
      local t = load(npy(dict("|b1", false, "(4,)"), "\0\1\2\255"))
      assert.equal("\0\1\1\1", core.get_bytes(t, 0, 4))
    end)
  end)

  local good = npy(dict("<f4", false, "(2,)"), ("\0"):rep(8))

  for _, row in ipairs {
    {"is empty", "", "not a .npy file"},
    {"is something else", "PNG or whatever it may be", "not a .npy file"},
    {"ends in the magic", "\147NUM", "not a .npy file"},
    {"has version 4", "\147NUMPY\4\0" .. good:sub(9), "version 4.0"},
    {"has version 1.1", "\147NUMPY\1\1" .. good:sub(9), "version 1.1"},
    {"ends before its header", good:sub(1, 9), "truncated"},
    {"ends in its header", good:sub(1, 40), "truncated"},
    {"ends in its elements", good:sub(1, -2), "8 bytes and 7 follow"},
    {"has more than its elements", good .. "x", "8 bytes and 9 follow"},
    {"has a header of 4 GB", "\147NUMPY\2\0\255\255\255\255", "too large"},
    {"has no dictionary", npy "[1, 2]", "not a dictionary"},
    {"has an empty header", npy "", "not a dictionary"},
    {"lacks a field", npy "{'descr': '<f4', 'shape': (2,), }",
     "lacks 'fortran_order'"},
    {"repeats a field", npy "{'descr': '<f4', 'descr': '<f4'}", "no field"},
    {"has another field", npy "{'os': 'rm'}", "no field"},
    {"calls a function", npy "{'descr': exit(), }", "'descr'.*malformed"},
    {"goes on after the dictionary", npy(dict("<f4", false, "(2,)") .. "+1"),
     "something follows"},
    {"has no comma", npy "{'descr': '<f4' 'shape': ()}", "ends early"},
    {"is not closed", npy "{'descr': '<f4', ", "no field"},
    {"has an object dtype", npy(dict("|O", false, "(2,)")), "no equivalent"},
    {"has a text dtype", npy(dict("<U4", false, "(2,)")), "no equivalent"},
    {"has float128", npy(dict("<f16", false, "(2,)")), "no equivalent"},
    {"has a string that is not closed", npy "{'descr': '<f4\n', ",
     "'descr'.*malformed"},
    {"has records", npy "{'descr': [('a', '<f4')], ", "elements are records"},
    {"has a word for an order", npy(dict("<f4", false, "(2,)")
     :gsub("False", "0")), "'fortran_order'.*malformed"},
    {"has a number for a shape", npy(dict("<f4", false, "2")),
     "'shape'.*malformed"},
    {"has a bracketed number for a shape", npy(dict("<f4", false, "(2)")),
     "'shape'.*malformed"},
    {"has a negative size", npy(dict("<f4", false, "(-2,)")),
     "'shape'.*malformed"},
    {"has a fractional size", npy(dict("<f4", false, "(2.5,)")),
     "'shape'.*malformed"},
    {"has two commas", npy(dict("<f4", false, "(2,,)")),
     "'shape'.*malformed"},
    {"has 65 dimensions", npy(dict("<f4", false, "(" .. ("1,"):rep(65) ..
     ")")), "'shape'.*malformed"},
    {"claims an exabyte", npy(dict("<f4", false, "(1152921504606846976,)")),
     "too large"},
    {"claims a product beyond 64 bits", npy(dict("<f4", false,
     "(4294967296, 4294967296)")), "too large"},
    {"claims the same beside a zero", npy(dict("<f4", false,
     "(0, 4294967296, 4294967296)")), "too large"},
    {"claims a terabyte", npy(dict("<f4", false, "(274877906944,)")),
     "needs 1099511627776 bytes and 0 follow"},
    {"has a size of a thousand digits", npy(dict("<f4", false, "(" ..
     ("9"):rep(1000) .. ",)")), "too large"},
  } do
    it("that " .. row[1] .. " is refused", function()
      write(row[2])
      refuses(path, row[3], true)
    end)
  end

  it("that is not there is an error at the caller's line", function()
    raises_here("load: cannot load '" .. path .. ".missing'", function()
      local t = st.load(path .. ".missing") -- the line below this one
      return t
    end)
    raises({"load: ", "must be a string", "nil"}, st.load, nil)
    raises("cannot load '/'", st.load, "/")
  end)

  describe("that cannot be saved", function()
    it("is left as it was when the dtype has no equivalent", function()
      write "old"
      raises({"save: ", path, "bfloat16 has no equivalent in .npy"},
             st.save, path, st.zeros({2}, {dtype = "bfloat16"}))
      assert.equal("old", read())
    end)

    local function script_of(text, target)
      local script = os.tmpname()
      files.write(script, text:format(target))
      return script
    end

    -- What a full disk does to a write, a limit on the size of files does.
    it("is left as it was when the disk is full", function()
      write "old"
      local script = script_of([[
        local st = require "strided"
        print(pcall(st.save, %q, st.zeros(600000)))
      ]], path)
      local said = build.output(("sh -c 'ulimit -f 1000; exec %s %s'")
                                :format(build.lua, script))
      os.remove(script)
      assert.truthy(said:find "false.*cannot save.*too large", said)
      assert.equal("old", read())
      assert.equal(path .. "\n", leftovers())
    end)

    -- Packing noise takes seconds; the process is killed when it has begun. No
    -- other process may save in the folder, because it would remove the
    -- temporary file.
    it("is left as it was when the process is killed half way", function()
      local folder = path .. ".folder"
      local archive = folder .. "/t.npz"
      os.execute(("mkdir '%s'"):format(folder))
      finally(function() os.execute(("rm -r '%s'"):format(folder)) end)
      files.write(archive, "old")
      local script = script_of([[
        local st = require "strided"
        st.save(%q, {a = st.rand(24000000)}, {compress = true})
      ]], archive)
      build.output(([[
        %s %s & pid=$!
        while kill -0 $pid; do
          for file in '%s'.*.tmp; do [ ! -s "$file" ] || break 2; done
          sleep 0.02
        done
        kill -9 $pid
        wait $pid]]):format(build.lua, script, archive))
      os.remove(script)
      assert.equal("old", files.read(archive))
      assert.truthy(build.output(("ls '%s'"):format(folder)):find "%.tmp\n")
      st.save(archive, {a = st.zeros(3)})
      assert.same({0, 0, 0}, st.load(archive).a:totable())
    end)

    it("is no device and no pipe", function()
      raises({"save: ", "not a regular file"},
             st.save, "/dev/null", st.zeros(3))
      os.execute("mkfifo '" .. path .. "'")
      raises({"save: ", "not a regular file"}, st.save, path, st.zeros(3))
      raises({"load: ", "not a regular file"}, st.load, path)
    end)

    it("leaves no temporary file when renaming fails", function()
      os.execute("mkdir -p '" .. path .. "/full'")
      raises({"save: ", "Is a directory"}, st.save, path, st.zeros(3))
      local names = leftovers()
      os.execute("rm -r '" .. path .. "'")
      assert.is_nil(names:find(".tmp", 1, true))
    end)

    it("is not made when the folder is not there", function()
      raises(("cannot save '%s.missing/t.npy'"):format(path), st.save,
             path .. ".missing/t.npy", st.zeros(3))
    end)

    it("is not made from something that is no tensor", function()
      for _, x in ipairs {1, "x", print} do
        raises({"save: ", "'t' must be a Tensor"}, st.save, path, x)
      end
      raises({"save: ", "tables of tensors"}, st.save, path, {})
      assert.is_nil(read())
    end)
  end)

  describe("that is replaced", function()
    local function mode()
      return build.output("stat -c %a '" .. path .. "'")
    end

    it("keeps its mode", function()
      write "old"
      for _, bits in ipairs {"600", "644", "755", "666"} do
        os.execute(("chmod %s '%s'"):format(bits, path))
        st.save(path, st.zeros(3))
        assert.equal(bits .. "\n", mode())
      end
    end)

    it("is the one that a symbolic link points to", function()
      write "old"
      local link = path .. ".link"
      os.execute(("ln -sf '%s' '%s'"):format(path, link))
      st.save(link, st.zeros(3))
      assert.equal("symbolic link\n",
                   build.output("stat -c %F '" .. link .. "'"))
      assert.same({3}, st.load(path).shape)
      os.remove(path)
      raises({"save: ", "symbolic link"}, st.save, link, st.zeros(3))
      os.remove(link)
    end)

    it("may have a name as long as a name can be", function()
      local long = path .. ("x"):rep(255 - #path:match "[^/]*$")
      st.save(long, st.zeros(3))
      assert.same({3}, st.load(long).shape)
      os.remove(long)
      raises({"save: ", "too long"}, st.save, long .. "x", st.zeros(3))
    end)

    it("may lie in the folder one is in", function()
      local name = "npy_spec_" .. path:match "%w+$" .. ".npy"
      st.save(name, st.ones(2))
      assert.same({1, 1}, st.load(name):totable())
      os.remove(name)
    end)
  end)

  describe("that is mapped", function()
    it("has the elements that are read without", function()
      for dtype in pairs(DTYPES) do
        for _, t in ipairs {st.arange(6):view(2, 3), st.tensor(1),
                            st.arange(6):view(3, 2):t(), st.zeros(0, 3)} do
          t = t:to(dtype)
          st.save(path, t)
          local u = st.load(path, {mmap = "r"})
          assert.is_true(u:equal(t))
          assert.same(st.load(path):stride(), u:stride())
          assert.equal(dtype, tostring(u.dtype))
        end
      end
    end)

    it("privately is not written to", function()
      for _, how in ipairs {true, "r", "c"} do
        st.save(path, st.zeros(5000))
        local was = read()
        local t = st.load(path, {mmap = how})
        t:add_(1)
        assert.equal(5000, t:sum():item())
        assert.equal(was, read())
      end
    end)

    it("to write is written to", function()
      st.save(path, st.zeros(5000))
      local t = st.load(path, {mmap = "r+"})
      t[5000] = 7
      t:free()
      assert.equal(7, st.load(path)[5000])
    end)

    it("stays while any view of it does, also when it is replaced", function()
      st.save(path, st.arange(5000))
      local view = st.load(path, {mmap = "r"})["4999:5000"]
      st.save(path, st.zeros(3))
      collectgarbage()
      collectgarbage()
      assert.same({4998, 4999}, view:totable())
      os.remove(path)
      assert.same({4998, 4999}, view:totable())
    end)

    it("takes no memory for its elements, and may grow into some", function()
      st.save(path, st.zeros(100000))
      collectgarbage()
      local bytes = st.memory().data.bytes
      local t = st.load(path, {mmap = "r"})
      assert.is_true(st.memory().data.bytes <= bytes)
      t:resize_(200000)
      assert.equal(0, t["1:100000"]:sum():item())
    end)

    it("is read where elements are not aligned", function()
      local odd = npy(dict("<f4", false, "(2,)"):sub(1, -2) .. "  }",
                      "\0\0\128\63\0\0\0\192")
      while (#odd - 8) % 4 == 0 do odd = odd:gsub("}", " }", 1) end
      odd = npy(odd:sub(11, -10), "\0\0\128\63\0\0\0\192")
      write(odd)
      assert.same({1, -2}, st.load(path, {mmap = "r"}):totable())
      raises({"load: ", "not aligned"}, st.load, path, {mmap = "r+"})
    end)

    it("has only true and false where dtype is bool", function()
      write(npy(dict("|b1", false, "(4,)"), "\0\1\2\255"))
      assert.equal("\0\1\1\1",
                   st.load(path, {mmap = "r"}):tostring_bytes())
      raises({"load: ", "neither true nor false"}, st.load, path, {mmap = "r+"})
    end)

    for _, row in ipairs {
      {"other byte order", npy(dict(">i2", false, "(1,)"), "\0\1"), "r",
       "byte order"},
      {"too few elements", npy(dict("<i2", false, "(2,)"), "\0\1"), "r",
       "4 bytes and 2 follow"},
      {"no header", "", "r+", "not a .npy file"},
      {"a mode that is none", good, "w", "'mmap' must be"},
      {"a number for a mode", good, 1, "'mmap' must be"},
    } do
      it("is refused for " .. row[1], function()
        write(row[2])
        raises(row[4], st.load, path, {mmap = row[3]})
      end)
    end
  end)

  it("has no options but those", function()
    st.save(path, st.zeros(1))
    for _, call in ipairs {
      function() st.load(path, {map = "r"}) end,
      function() st.load(path, "r") end,
      function() st.save(path, st.zeros(1), {compress = true}) end,
      function() st.save(path, {a = st.zeros(1)}) end,
      function() st.load(path .. "\0x") end,
    } do
      raises_here({}, call)
    end
    assert.same({0}, st.load(path, {mmap = false}):totable())
  end)

  -- Lua 5.1 has finalisers for userdata alone, which newproxy makes. A step
  -- of the collector is made to be a cycle, at the next allocation.
  it("may be closed by a finaliser in the middle", function()
    st.save(path, st.arange(1000))
    local newproxy = rawget(_G, "newproxy")
    local closed = 0
    for _, use in ipairs {
      function(source, now)
        now "restart"
        return source:read(0, 8000)
      end,
      function(source, now, shape)
        now "restart"
        return source:view(128, "int64", shape)
      end,
      function(source, now)
        now "restart"
        return core.open_member(source, 0, 8, true)
      end,
    } do
      local source = core.open_source(path)
      assert(source:map())
      collectgarbage()
      local multiplier = collectgarbage("setstepmul", 1e7)
      local function close() source:close() end
      if newproxy then getmetatable(newproxy(true)).__gc = close
      else setmetatable({}, {__gc = close}) end
      local ok, why = pcall(use, source, collectgarbage, {1000})
      collectgarbage("setstepmul", multiplier)
      if not ok then
        assert.truthy(why:find("is closed", 1, true), why)
        closed = closed + 1
      end
    end
    -- how soon other collectors come by is their business
    assert.is_true(closed == 3 or _VERSION ~= "Lua 5.1", closed)
  end)

  it("leaves no tensor behind", function() assert.equal(before, live()) end)
end)
