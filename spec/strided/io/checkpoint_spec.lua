--- Checkpoints: PyTorch's .pt files and torch7's .t7 files as PyTorch and the
-- formats' definitions have them, and nothing that is no data.
-- axes: lua
-- sampled: 3

local builtins = require "strided.io.pickle.builtins"
local build = require "spec.support.build"
local core = require "strided.core"
local failure = require "strided.io.failure"
local files = require "spec.support.files"
local pickle = require "strided.io.pickle"
local pt_names = require "strided.io.pt.names"
local pt_tensors = require "strided.io.pt.tensors"
local reader = require "strided.io.reader"
local refuses = require "spec.support.refusal"
local st = require "strided"
local t7 = require "strided.io.t7"
local tensors = require "spec.support.tensors"

local live, raises = tensors.live, tensors.raises

local unpack = unpack or table.unpack

local FOLDER = build.root .. "/spec/data/checkpoints/"

-- -- Expected values ---------------------------------------------------------

local Expected = {}

local function expected(dtype, shape, strides, elements, requires_grad)
  return setmetatable({dtype = dtype, shape = shape, strides = strides,
                       elements = elements, requires_grad = requires_grad},
                      Expected)
end

local function is_nan(x) return x ~= x end

local function check_number(want, got, path)
  if type(want) == "table" then
    assert.equal(want.re, got.re, path)
    return assert.equal(want.im, got.im, path)
  end
  if is_nan(want) then return assert.is_true(is_nan(got), path) end
  assert.is_true(want == got, path .. ": " .. tostring(got))
  if want == 0 then assert.equal(1 / want, 1 / got, path) end
end

local function check_tensor(want, got, path)
  assert.is_true(st.is_tensor(got), path)
  assert.equal(want.dtype, got.dtype, path)
  assert.same(want.shape, {unpack(got.shape)}, path)
  if got:numel() > 0 then
    assert.same(want.strides, {unpack(got:stride())}, path)
  end
  assert.equal(want.requires_grad, got.requires_grad, path)
  local flat = got:detach():reshape(-1)
  for i, x in ipairs(want.elements) do
    check_number(x, flat[i], path .. "[" .. i .. "]")
  end
end

local function check(want, got, path)
  if getmetatable(want) == Expected then
    check_tensor(want, got, path)
  elseif type(want) == "table" and not want.re then
    assert.equal("table", type(got), path)
    for key, value in pairs(want) do
      check(value, got[key], path .. "." .. tostring(key))
    end
    for key in pairs(got) do
      assert.is_not_nil(want[key], path .. "." .. tostring(key))
    end
  elseif type(want) == "string" or type(want) == "boolean" or
         want == st.none then
    assert.equal(want, got, path)
  else
    check_number(want, got, path)
  end
end

local rows = dofile(FOLDER .. "values.lua")(expected, st.int, st.none)

local function load(name, options) return st.load(FOLDER .. name, options) end

-- -- Files by hand -----------------------------------------------------------

local path

--- A file of the legacy format with this pickle in the place of the object.
local function legacy(opcodes, rest)
  return "\128\2\138\10l\252\156F\249 j\168P\25.\128\2M\233\3.}." .. opcodes ..
         (rest or "].")
end

local function le(n, width)
  local list = {}
  for i = 1, width do
    list[i] = string.char(n % 256)
    n = math.floor(n / 256)
  end
  return table.concat(list)
end

--- The pickle of a float32 tensor with these tuples, given as opcodes.
local function tensor_pickle(n, offset, sizes, strides, class)
  return "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storage" ..
         (class or "ctorch\nFloatStorage\n") .. "X\1\0\0\0k" ..
         "X\3\0\0\0cpu" .. n .. "NtQ" .. offset .. sizes .. strides ..
         "\137}tR."
end

local function write(bytes) files.write(path, bytes) end

-- ----------------------------------------------------------------------------

describe("st.load of a checkpoint", function()
  local before

  setup(function()
    path = os.tmpname()
    os.remove(path)
    path = path .. ".pt"
    before = live()
  end)

  teardown(function() os.remove(path) end)

  for _, row in ipairs(rows) do
    for _, name in ipairs(row.files) do
      it("reads " .. name, function() check(row.value, load(name), name) end)
      if name:find "%.pt" then
        it("maps " .. name, function()
          check(row.value, load(name, {mmap = "r"}), name)
        end)
      end
    end
  end

  it("keeps what tensors share", function()
    for _, name in ipairs {"zip.pt", "legacy.pt", "zip5.pt"} do
      for _, mmap in ipairs {false, "r"} do
        local t = load(name, {mmap = mmap})
        t.first:fill_(7)
        assert.same({7, 5, 6, 7}, t.second:totable())
        t.grid:fill_(3)
        assert.same({3, 3, 3}, t.column:totable())
      end
    end
    for _, name in ipairs {"binary.t7", "ascii.t7"} do
      local t = load(name)
      assert.equal(t.inner, t.again)
      t.matrix:fill_(7)
      assert.same({7, 7}, t.column:totable())
      assert.same({7, 7}, t.net.modules[1].weight:totable())
    end
  end)

  it("tells a .pt file by its first bytes, a .t7 file by its name", function()
    for _, name in ipairs {"zip.pt", "legacy.pt", "legacy4.pt"} do
      files.write(path .. ".npz", files.read(FOLDER .. name))
      raises("it is a .pt file, not what its name says: rename it, or write "
             .. "st.load(path, {format = \"pt\"})", st.load, path .. ".npz")
      assert.equal(3, st.load(path .. ".npz", {format = "pt"}).epoch)
      os.rename(path .. ".npz", path .. ".weights")
      assert.equal(3, st.load(path .. ".weights").epoch)
      os.rename(path .. ".weights", path .. ".ckpt")
      assert.equal(3, st.load(path .. ".ckpt").epoch)
      os.remove(path .. ".ckpt")
    end
    files.write(path .. ".v1", files.read(FOLDER .. "binary.t7"))
    raises("it is not a .npy file", st.load, path .. ".v1")
    assert.equal(1.5, st.load(path .. ".v1", {format = "t7"}).number)
    os.remove(path .. ".v1")
    raises("mmap must be \"r\"", load, "zip.pt", {mmap = "r+"})
  end)

  it("finds a table inside itself in a .t7 file", function()
    local name = path .. ".t7"
    files.write(name, "3\n1\n1\n2\n4\nself\n3\n1\n")
    local t = st.load(name)
    assert.equal(t, t.self)
    os.remove(name)
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

describe("What PyTorch reads with weights_only", function()
  local names = dofile(FOLDER .. "names.lua")

  it("is read here, or refused with a reason", function()
    local n = 0
    for name in names.allowed:gmatch "%S+" do
      n = n + 1
      local entry = pt_names[name]
      if name == "torch.storage.TypedStorage" then -- of which none is saved
        assert.is_nil(entry)
      else
        assert.is_truthy(entry and (entry.call or entry.make or
                                    entry.value ~= nil or entry.refuse), name)
      end
    end
    assert.is_true(n > 100)
  end)

  for name, why in pairs(names.refused) do
    it("is an error that says why and what to do, " .. name, function()
      raises({"load: cannot load '" .. FOLDER .. name, why, "in Python, save"},
             load, name)
    end)
  end

  it("may be any opcode that calls what it does not have", function()
    for _, row in ipairs {
      {"ctorch.sparse\nFloatTensor\n)R.", "sparse tensors"},
      {"ctorch.cuda.sparse\nHalfTensor\n)\129.", "sparse tensors"},
      {"ctorch._utils\n_rebuild_wrapper_subclass\n)R.",
       "a class that keeps its elements elsewhere"},
      {"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n" ..
       "_rebuild_tensor_v2\ncfoo\nImage\n)}tR.",
       "a tensor of the class foo.Image; in Python, save t.as_subclass("},
      {"ctorch._tensor\n_rebuild_from_type_v2\n(cos\nsystem\n" ..
       "ctorch\nTensor\nX\1\0\0\0x\133}tR.", "_rebuild_from_type_v2"},
      {"ctorch\nFloatTensor\nK\3\133R.", "would call torch.FloatTensor"},
      {"ctorch\nFloatTensor\n)\129.", "names torch.FloatTensor"},
      {"ctorch\nFloatTensor\n)\129}b.", "the state of torch.FloatTensor"},
      {"ctorch\nFloatTensor\n)\129(K\1K\1K\1tb.",
       "the state of torch.FloatTensor is another"},
      {"ctorch\ndevice\nX\3\0\0\0a:bK\1\134R.", "calls torch.device"},
      {"ctorch\ndevice\nX\5\0\0\0cpu:1K\1\134R.", "calls torch.device"},
      {"ctorch.serialization\n_get_layout\nX\1\0\0\0x\133R.",
       "calls torch.serialization._get_layout"},
    } do
      local name = os.tmpname()
      files.write(name, legacy(row[1]))
      raises({"load: cannot load '" .. name, row[2]}, st.load, name)
      os.remove(name)
    end
  end)
end)

-- Every opcode that calls or makes objects: name, pickle, what is said.
local CALLS = {
  {"REDUCE", "cos\nsystem\n(X\4\0\0\0exittR.",
   "opcode REDUCE would call os.system"},
  {"REDUCE, by its own name", "\128\4\140\5posix\140\6system\147\140\1x\133R.",
   "opcode REDUCE would call posix.system"},
  {"REDUCE of data", "]X\1\0\0\0x\133R.", "REDUCE would call a list"},
  {"REDUCE of a dtype", "ctorch\nfloat32\n)R.", "REDUCE would call a string"},
  {"REDUCE without a tuple", "ccollections\nOrderedDict\n]R.",
   "REDUCE calls collections.OrderedDict without a tuple"},
  {"BUILD", "cfoo\nBar\n}b.", "BUILD would set the state of foo.Bar"},
  {"BUILD of data", "}}b.", "BUILD would set the state of a dict"},
  {"INST", "(X\1\0\0\0xios\nsystem\n.",
   "INST would make an object of os.system"},
  {"OBJ", "(csubprocess\nPopen\nX\1\0\0\0xo.",
   "OBJ would make an object of subprocess.Popen"},
  {"NEWOBJ", "cfoo\nBar\n)\129.", "NEWOBJ would make an object of foo.Bar"},
  {"NEWOBJ_EX", "cfoo\nBar\n)}\146.",
   "NEWOBJ_EX would make an object of foo.Bar"},
  {"EXT1", "\130\5.", "EXT1 would make an object of the extension 5"},
  {"EXT2", "\131\1\1.", "EXT2 would make an object of the extension 257"},
  {"EXT4", "\132\1\0\0\1.", "EXT4 would make an object of the extension"},
  {"GLOBAL", "cos\nsystem\n.", "GLOBAL names os.system, which is no data"},
  {"GLOBAL in a list", "]cos\nsystem\na.", "GLOBAL names os.system"},
  {"STACK_GLOBAL", "\140\2os\140\6system\147.", "GLOBAL names os.system"},
  {"STACK_GLOBAL without names", "K\1K\2\147.", "STACK_GLOBAL"},
  {"a class in a tuple", "cos\nsystem\n\133.", "keeps a class as data"},
  {"PERSID", "Pabc\n.", "a persistent id is no tuple"},
  {"NEXT_BUFFER", "\151.", "NEXT_BUFFER"},
  {"READONLY_BUFFER", "\152.", "READONLY_BUFFER"},
  {"APPEND to a class", "cfoo\nBar\nK\1a.", "APPEND would change foo.Bar"},
  {"SETITEM of a class", "cfoo\nBar\nK\1K\1s.",
   "SETITEM would change foo.Bar"},
  {"ADDITEMS to a list", "](K\1\144.", "ADDITEMS would change a list"},
  {"a module", "ctorch.nn.modules.linear\nLinear\n)\129.",
   "torch.nn.modules.linear.Linear: it is a whole object and not its state"},
  {"a module of the legacy format",
   "(X\6\0\0\0modulecfoo\nBar\nX\1\0\0\0fX\1\0\0\0stQ.",
   "it holds a whole module and not its state; in Python, torch.save("},
  {"eval", "c__builtin__\neval\nX\1\0\0\0x\133R.", "__builtin__.eval"},
  {"getattr", "cbuiltins\ngetattr\n}X\1\0\0\0x\134R.", "builtins.getattr"},
  {"bytes that are a pickle", "ctorch.storage\n_load_from_bytes\nC\1x\133R.",
   "REDUCE would call torch.storage._load_from_bytes"},
  {"objects of Python 2",
   "ccopy_reg\n_reconstructor\n(cfoo\nBar\nc__builtin__\nobject\nNtR.",
   "copy_reg._reconstructor"},
}

-- Pickles that are malformed or ask for what they do not have.
local MALFORMED = {
  {"an unknown opcode", "\255.", "unknown opcode 255"},
  {"an empty stack", ".", "takes what is not there"},
  {"no mark", "K\1t.", "no mark"},
  {"values below a mark", "](\133.", "takes what is not there"},
  {"an empty memo", "h\5.", "names a value that it does not have"},
  {"a string beyond the end", "X\255\255\255\127ab.", "truncated"},
  {"bytes beyond any file", "\142" .. ("\255"):rep(8) .. "x.", "truncated"},
  {"protocol 9", "\128\9N.", "protocol 9"},
  {"an integer of 80 bits", "\138\10" .. ("\1"):rep(10) .. ".",
   "more than 64 bits"},
  {"a decimal of 21 digits", "I100000000000000000000\n.", "more than 64 bits"},
  {"letters for an integer", "Iabc\n.", "the number abc"},
  {"hexadecimal digits for a double", "F0x10\n.", "the number 0x10"},
  {"a key that is a list", "}](K\1K\1u.", "would change a list"},
  {"a dictionary as a key", "}(}K\1u.", "a key that is a dict"},
  {"None as a key", "}(NK\1u.", "a key that is None"},
  {"a key without a value", "}(K\1u.", "a key without a value"},
  {"nothing at all", "N.", "it holds None"},
  {"a tensor beyond its storage",
   tensor_pickle("K\2", "K\0", "K\3\133", "K\1\133"),
   "ends at element 3 of a storage of 2"},
  {"a tensor behind its storage",
   tensor_pickle("K\2", "K\2", "K\1\133", "K\1\133"), "ends at element 3"},
  {"a negative offset", tensor_pickle("K\2", "J\255\255\255\255", "K\1\133",
                                      "K\1\133"), "an offset"},
  {"a negative stride", tensor_pickle("K\2", "K\1", "K\2\133",
                                      "J\255\255\255\255\133"),
   "size or stride"},
  {"a huge shape", tensor_pickle("K\2", "K\0",
    "J\255\255\255\127J\255\255\255\127J\255\255\255\127\135", "K\0K\0K\0\135"),
   "too large"},
  {"sizes without strides", tensor_pickle("K\2", "K\0", "K\1\133", ")"),
   "1 sizes and 0 strides"},
  {"a storage of more bytes than the file",
   tensor_pickle("J\255\255\255\127", "K\0", "K\1\133", "K\1\133"),
   "more bytes than the file has"},
  {"a storage of another class",
   tensor_pickle("K\1", "K\0", "K\1\133", "K\1\133",
                 "ctorch\nQInt8Storage\n"), "quantized tensors"},
  {"a storage that is not there",
   tensor_pickle("K\1", "K\0", "K\1\133", "K\1\133"), "'k' is missing"},
}

describe("A pickle", function()
  setup(function()
    path = os.tmpname()
    os.remove(path)
    path = path .. ".pt"
  end)

  teardown(function() os.remove(path) end)

  for _, row in ipairs(CALLS) do
    it("is refused for " .. row[1], function()
      write(legacy(row[2]))
      refuses(path, row[3])
    end)
  end

  for _, row in ipairs(MALFORMED) do
    it("is refused for " .. row[1], function()
      write(legacy(row[2]))
      refuses(path, row[3])
    end)
  end

  it("may read a storage that is there", function()
    write(legacy(tensor_pickle("K\2", "K\1", "K\1\133", "K\1\133"),
                 "]X\1\0\0\0ka." .. le(2, 8) .. "\0\0\0\0\0\0\192\63"))
    assert.same({1.5}, st.load(path):totable())
  end)

  --- Refuses a pickle for what it makes of its bytes, of `packed` in the file.
  local function makes_too_much(bytes, names, packed)
    local source = core.open_bytes(bytes)
    local stream = reader.of_source(source, 0)
    stream.packed = packed or stream.packed
    local value, why = failure.catch(pickle.load, stream, names)
    source:close()
    assert.is_nil(value)
    assert.equal("its pickle makes more than its size allows", why)
  end

  it("is bounded in what a few bytes make", function()
    local calls = 0
    local names = {["x.y"] = {call = function(m)
      calls = calls + 1
      m:spend(2 ^ 22)
      return true
    end}}
    makes_too_much("cx\ny\n\1480(" .. ("h\0)R"):rep(1000) .. "l.", names)
    assert.equal(2, calls)

    -- many sets of one list
    local list = {}
    for i = 0, 2999 do list[i] = "M" .. le(i, 2) end
    makes_too_much("cbuiltins\nset\n\148](" .. table.concat(list, "", 0)
                   .. "e\1480(" .. ("h\0h\1\133R"):rep(6000) .. "l.",
                   builtins.names)
  end)

  it("is bounded in what a few deflated bytes make", function()
    for _, text in ipairs {"N", "(", "]", "N\148", "cx\ny\n"} do
      makes_too_much(text:rep(2e5) .. ".", {}, 400)
    end
  end)

  -- Arguments of each function that a pickle may call, as opcodes. The calls
  -- are repeated with what is there, and with what they have made.
  local long = "X" .. le(20000, 4) .. ("x"):rep(20000)
  local ARGUMENTS = {
    ")", "K\1\133", "K\1K\2\134", long .. "\133", long .. "K\1\134",
    long .. "X\6\0\0\0latin1\134", "X\3\0\0\0cpuK\1\134",
    "](" .. ("K\1"):rep(5000) .. "e\133", "(" .. ("K\1"):rep(5000) .. "t\133",
    "](" .. ("K\1K\2\134"):rep(5000) .. "e\133",
    "(X\1\0\0\0kQK\0K\4\133K\1\133\137}t",
    "(X\1\0\0\0kQK\0K\0\133K\1\133\137}ctorch\nfloat32\n}t",
    "(ctorch\nfloat32\nK\4\133K\1\133\137t",
    long .. "cnumpy\ndtype\nX\2\0\0\0u1\137\136\135R" .. "M\32\78\133"
      .. "X\1\0\0\0C(h\1h\2h\3h\4t",
  }

  -- With the same arguments; and with the last result.
  local AGAIN = {
    ["h\0h\1R"] = 600, ["h\0h\1\129"] = 600, ["q\5h\0h\5\133R"] = 5000,
    ["q\5h\0h\5K\1\134R"] = 5000, ["q\5h\0h\5h\5\134R"] = 5000,
  }

  -- One call of so many.
  local STEP = (os.getenv "STRIDED_WHOLE" or
                jit and not os.getenv "STRIDED_SANITIZED") and 1 or 7

  --- What a pickle leaves and what it makes on the way, in bytes.
  local function bytes_made_by(text)
    local storage = pt_tensors.storage(st.zeros(4), pt_tensors.class "float32",
                                       "<")
    collectgarbage "stop"
    local before, data = collectgarbage "count", st.memory()
    local source = core.open_bytes(text)
    failure.catch(pickle.load, reader.of_source(source, 0), pt_names,
                  function() return storage end)
    source:close()
    local bytes = (collectgarbage "count" - before) * 1024
    local after = st.memory()
    for kind, row in pairs(after) do
      if type(row) == "table" and row.bytes then
        bytes = bytes + row.bytes - data[kind].bytes
      end
    end
    collectgarbage "restart"
    return bytes
  end

  it("makes no more than a multiple of its size by any call", function()
    local n = 0
    for name, entry in pairs(pt_names) do
      if entry.call or entry.make then
        local global = "c" .. name:gsub("^(.*)%.([^.]*)$", "%1\n%2") .. "\n"
        for _, args in ipairs(ARGUMENTS) do
          for again, times in pairs(AGAIN) do
            n = n + 1
            if n % STEP == 0 then
              local text = global .. "\1480" .. args .. "\1480(h\0h\1R" ..
                           again:rep(times) .. "l."
              local bytes = bytes_made_by(text)
              if bytes >= 2 ^ 23 + 160 * #text then
                error(name .. " makes " .. bytes .. " of " .. #text)
              end
            end
          end
        end
      end
    end
    assert.is_true(n > 1000)
  end)

  it("of a whole module is refused", function()
    raises("NEWOBJ would make an object of torch.nn.modules.linear.Linear: it "
           .. "is a whole object", load, "module.pt")
  end)
end)

describe("A checkpoint that is damaged", function()
  setup(function() path = os.tmpname() end)
  teardown(function() os.remove(path) end)

  for name, step in pairs {["zip.pt"] = 499, ["legacy.pt"] = 241,
                           ["binary.t7"] = 31, ["ascii.t7"] = 23,
                           ["big.pt"] = 41} do
    it("is refused where it ends, " .. name, function()
      local bytes = files.read(FOLDER .. name)
      local format = name:match "%w+$"
      for n = 0, #bytes - 1, step do
        files.write(path, bytes:sub(1, n))
        local ok, why = pcall(st.load, path, {format = format})
        assert.is_false(ok, n)
        assert.truthy(why:find(path, 1, true), why)
        assert.is_nil(why:find("attempt to", 1, true), why)
      end
    end)
  end

  it("is refused for a CRC", function()
    local bytes = files.read(FOLDER .. "tensor.pth")
    local at = bytes:find("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 1, true)
    files.write(path, bytes:sub(1, at - 1) .. "\9" .. bytes:sub(at + 1))
    refuses(path, "data/0': its bytes are damaged: the CRC differs")
  end)

  it("is read once, however many storages a .t7 file has", function()
    local n, parts, read = 2000, {}, 0
    for i = 1, n do
      parts[i] = le(5, 4) .. le(1, 4) .. le(4, 4) .. le(i + 1, 4) .. le(3, 4)
                 .. "V 1" .. le(17, 4) .. "torch.LongStorage" .. le(1, 8)
                 .. le(i, 8)
    end
    local bytes = le(3, 4) .. le(1, 4) .. le(n, 4) .. table.concat(parts)
    local source = core.open_bytes(bytes)
    local counting = {}
    function counting.size() return #bytes end
    function counting.read(_, at, count)
      read = read + count
      return source:read(at, count)
    end
    function counting.read_into(_, t, at) return source:read_into(t, at) end
    local value = t7.read(counting)
    source:close()
    assert.same({n}, value[true]:totable())
    assert.is_true(read < 3 * #bytes, read)
  end)

  -- type of the object and what follows, what is said
  local T7 = {
    {"a function", le(6, 4) .. le(1, 4), "a function"},
    {"a function of old files", le(8, 4), "a function"},
    {"an unknown type", le(9, 4), "unknown type 9"},
    {"nil", le(0, 4), "it holds nil"},
    {"a table of many fields", le(3, 4) .. le(1, 4) .. le(1e9, 4), "truncated"},
    {"a long string", le(2, 4) .. le(1e9, 4) .. "x", "truncated"},
    {"a negative length", le(2, 4) .. "\255\255\255\255", "negative length"},
    {"a huge storage", le(4, 4) .. le(1, 4) .. le(3, 4) .. "V 1" .. le(18, 4) ..
     "torch.FloatStorage" .. le(2 ^ 40, 8), "truncated"},
    {"another class", le(4, 4) .. le(1, 4) .. le(3, 4) .. "V 1" .. le(11, 4) ..
     "torch.Timer", "class torch.Timer has no equivalent"},
    {"a class of its own format", le(4, 4) .. le(1, 4) .. le(3, 4) .. "V 1" ..
     le(8, 4) .. "tds.Hash" .. le(5, 4), "tds.Hash has a format of its own"},
    {"tables too deep", (le(3, 4) .. "%s" .. le(1, 4)):rep(300), "deep"},
  }
  for _, row in ipairs(T7) do
    it("is refused for " .. row[1], function()
      local n = 0
      local bytes = row[2]:gsub("%%s", function()
        n = n + 1
        return le(n, 4)
      end)
      local name = path .. ".t7"
      files.write(name, bytes)
      raises({"load: cannot load '" .. name, row[3]}, st.load, name,
             {format = "t7"})
      os.remove(name)
    end)
  end
end)
