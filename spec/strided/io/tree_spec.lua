--- Tables in tables in .safetensors and .pt files: what comes back, how the
-- header describes them, what is refused.
-- axes: lua lua5.2

local files = require "spec.support.files"
local refuses = require "spec.support.refusal"
local st = require "strided"
local tensors = require "spec.support.tensors"

local live, raises_here = tensors.live, tensors.raises_here

local base

--- The bytes of a .safetensors file of one tensor `a`, with this description.
local function file_of(description)
  local header = ('{"__metadata__":{"strided.tree":"%s"},"a":{"dtype":"U8",'
    .. '"shape":[2],"data_offsets":[0,2]}}'):format((description:gsub('["\\]',
                                                                      "\\%0")))
  return string.char(#header % 256, math.floor(#header / 256)) ..
         ("\0"):rep(6) .. header .. "\5\7"
end

local function check(a, b, path)
  if st.is_tensor(a) then
    assert.is_true(st.is_tensor(b), path)
    assert.equal(a.dtype, b.dtype, path)
    return assert.is_true(a:equal(b), path)
  end
  if type(a) ~= "table" then
    assert.equal(type(a), type(b), path)
    if a ~= a then return assert.is_true(b ~= b, path) end
    return assert.is_true(a == b and (a ~= 0 or 1 / a == 1 / b), path)
  end
  for key, value in next, a do check(value, b[key], path .. tostring(key)) end
  for key in next, b do assert.is_not_nil(a[key], path .. tostring(key)) end
end

local function values()
  local t = st.arange(12):to("float32"):view(3, 4)
  return {
    epoch = 3, lr = 0.1, small = 5e-324, great = 1e308, yes = true, no = false,
    net = {["fc.weight"] = t, ["fc.bias"] = t:t(), row = t[2]},
    ["net.row"] = st.ones(1), tied = {t, t}, history = {1.5, 1.2, {3, {}}},
    nan = 0 / 0, inf = 1 / 0, less = -1 / 0, zero = -1 / (1 / 0), n54 = 2 ^ 54,
    int = st.int "9223372036854775807", uint = st.int "18446744073709551615",
    least = st.int "-9223372036854775808", ["\255\0\"\\"] = "\0\255\n",
    ["$table"] = "x", [1] = "one", [2.5] = "half", [-3] = {}, [true] = "key",
    uint16 = st.arange(4):to "uint16", scalar = st.tensor(5),
    none = st.zeros(0, 3), bools = st.tensor {true, false},
    __metadata__ = st.zeros(2), text = "\195\169\226\130\172",
    column = st.arange(30):view(10, 3):select(2, 1),
  }
end

describe("A table of values", function()
  local before

  setup(function()
    base = os.tmpname()
    before = live()
  end)

  teardown(function() os.remove(base) end)

  for _, suffix in ipairs {".safetensors", ".pt", ".pth"} do
    local path
    before_each(function() path = base .. suffix end)
    after_each(function() os.remove(path) end)

    it("comes back from " .. suffix, function()
      local saved = values()
      st.save(path, saved)
      check(saved, st.load(path), "")
      saved.none_here = {1, st.none, 2}
      st.save(path, saved)
      assert.equal(st.none, st.load(path).none_here[2])
      assert.equal(2, st.load(path).none_here[3])
    end)

    it("has a tensor once that occurs twice, " .. suffix, function()
      local t = st.rand(1000)
      st.save(path, {a = {t}, b = {c = t}, d = t:view(1000)})
      assert.is_true(#files.read(path) < 5500)
      local loaded = st.load(path)
      loaded.a[1]:fill_(3)
      assert.is_true(loaded.b.c:eq(3):all():item())
      assert.is_true(loaded.d:eq(3):all():item())
    end)

    it("is refused for what is no value, with its place, " .. suffix,
       function()
      local cycle = {net = {layers = {{}}}}
      cycle.net.layers[1]["to root"] = cycle.net
      local deep = {}
      local inner = deep
      for _ = 1, 250 do
        inner.x = {}
        inner = inner.x
      end
      for why, value in pairs {
        ["opt.f is a function"] = {opt = {f = print}},
        ["a.b[2] is a userdata"] = {a = {b = {1, io.stdout}}},
        ["net.layers[1][\"to root\"] is a table that it is in"] = cycle,
        ["rng is a Generator; save its get_state()"] =
          {rng = st.get_rng_state()},
        ["a has a key that is a Tensor"] = {a = {[st.ones(1)] = 1}},
        ["a has a key that is a table"] = {a = {[{}] = 1}},
        ["tables deep"] = deep,
        ["net is an object; save its state_dict()"] =
          {net = st.nn.Linear(2, 2)},
      } do
        raises_here({"save: cannot save '" .. path .. "': ", why},
                    function() st.save(path, value) end)
        assert.is_nil(files.read(path))
      end
    end)
  end

  it("keeps shared elements and strides in .pt", function()
    local path = base .. ".pt"
    local t = st.arange(20):view(4, 5)
    st.save(path, {t = t[{{2, 3}}], u = t:t(), v = t:select(2, 1)})
    local loaded = st.load(path)
    assert.same({1, 5}, {loaded.u:stride(1), loaded.u:stride(2)})
    loaded.u:fill_(9)
    assert.is_true(loaded.t:eq(9):all():item())
    assert.is_true(loaded.v:eq(9):all():item())
    os.remove(path)
  end)

  it("has no unused elements of a slice in .pt", function()
    local path = base .. ".pt"
    st.save(path, st.arange(100000):slice(1, 1, 3))
    assert.is_true(#files.read(path) < 1500)
    assert.same({0, 1, 2}, st.load(path):totable())
    st.save(path, st.arange(100000):view(1000, 100):select(2, 1))
    assert.is_true(#files.read(path) < 10000)
    os.remove(path)
  end)

  it("says in .pt which tensors require a gradient", function()
    local path = base .. ".pt"
    st.save(path, {p = st.nn.Parameter(st.ones(2)), t = st.ones(2)})
    local loaded = st.load(path)
    assert.is_true(loaded.p.requires_grad and loaded.p.is_leaf)
    assert.is_false(loaded.t.requires_grad)
    os.remove(path)
  end)

  it("is described in JSON", function()
    local path = base .. ".safetensors"
    st.save(path, {epoch = 3, loss = {1.5, 0 / 0}, net = {w = st.ones(1)},
                   z = {[5] = "\255"}}, {metadata = {by = "me"}})
    local text = files.read(path)
    local tree = [=[{"epoch":3,"loss":[1.5,{"$number":"nan"}],"net":{"w":{]=]
      .. [=["$tensor":"net.w"}},"z":{"$table":[[5,{"$bytes":"ff"}]]}}]=]
    assert.truthy(text:find('{"__metadata__":{"by":"me","strided.tree":"' ..
      tree:gsub('"', "\\u0022") .. '"},"net.w":{"dtype":"F32"', 1, true), text)
    local loaded, metadata = st.load(path)
    assert.equal(3, loaded.epoch)
    assert.same({by = "me"}, metadata)
    local flat = st.load(path, {names = {"net.w"}})
    assert.same({1}, flat["net.w"]:totable())
    os.remove(path)
  end)

  it("that is names and tensors is as other programs write it", function()
    local path = base .. ".safetensors"
    st.save(path, {a = st.ones(1)})
    assert.is_nil(files.read(path):find("__metadata__", 1, true))
    os.remove(path)
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

describe("A description of a tree", function()
  setup(function() base = os.tmpname() end)
  teardown(function() os.remove(base) end)

  it("may come from other programs", function()
    files.write(base, file_of(
      ' { "x" : [ 1 , -2.5e1, null ] , "t":{ "$tensor" : "a" } } '))
    local loaded = st.load(base)
    assert.equal(-25, loaded.x[2])
    assert.same({5, 7}, loaded.t:totable())
  end)

  -- description, what is said
  local rows = {
    {'', "malformed at byte 1"}, {'{"t":{"$tensor":"a"}', "malformed"},
    {'{"t":{"$tensor":"b"}}', "its tree names the tensor 'b'"},
    {'{}', "its tree has no place for the tensor 'a'"},
    {'{"t":{"$tensor":"a"}} x', "malformed"},
    {'{"t":{"$tensor":"a"},"t":1}', "malformed"},
    {'{"t":{"$tensor":"a"},"x":01}', "malformed"},
    {'{"t":{"$tensor":"a"},"x":0x10}', "malformed"},
    {'{"t":{"$tensor":"a"},"x":nil}', "malformed"},
    {'{"t":{"$tensor":"a"},"x":{"$call":"os.exit"}}', "unknown tag '$call'"},
    {'{"t":{"$tensor":"a"},"x":{"$int":"18446744073709551616"}}', "malformed"},
    {'{"t":{"$tensor":"a"},"x":{"$bytes":"abc"}}', "malformed"},
    {'{"t":{"$tensor":"a"},"x":{"$table":[[{},1]]}}', "malformed"},
    {'{"t":{"$tensor":"a"},"x":{"$table":[[1,1],[1,2]]}}', "malformed"},
    {'{"$tensor":"a"}', "malformed"},
    {("["):rep(5000), "tables deep"},
    {('{"$complex":['):rep(3000), "tables deep"},
  }
  for i, row in ipairs(rows) do
    it("is refused if it is malformed, row " .. i, function()
      files.write(base, file_of(row[1]))
      refuses(base, row[2])
    end)
  end
end)
