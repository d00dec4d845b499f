--- What surrounds tensors: generators, options, key sets, memory, help.
-- axes: lua threads
-- sampled: 3

local st = require "strided"
local build = require "spec.support.build"
local tensors = require "spec.support.tensors"

local live, raises = tensors.live, tensors.raises

local unpack = unpack or table.unpack

-- Not every Lua asks __pairs.
local has_pairs = not pcall(pairs, setmetatable({}, {__pairs = error}))

describe("a session", function()
  local before
  setup(function() before = live() end)

  it("says what it runs on", function()
    local config = st.config()
    assert.matches("^%d+%.%d+", config.version)
    assert.equal("strided " .. config.version, st._VERSION)
    assert.is_true(config.api_version >= 1000)
    local isas = " " .. table.concat(build.isas, " ") .. " "
    assert.truthy(isas:find(" " .. config.isa .. " ", 1, true))
    assert.equal("boolean", type(config.fma)) -- which: product_bits_spec
    assert.equal(st.get_num_threads(), config.threads)
  end)

  it("sets the number of threads, within limits", function()
    local n = st.get_num_threads()
    st.set_num_threads(1)
    assert.equal(1, st.get_num_threads())
    for _, bad in ipairs {0, -1, 257, 1e9, 2 ^ 40} do
      raises("threads must be 1 to 256", st.set_num_threads, bad)
    end
    for _, bad in ipairs {1.5, "many"} do
      raises({"set_num_threads: ", "'n' must be an integer"},
             st.set_num_threads, bad)
    end
    assert.equal(1, st.get_num_threads())
    st.set_num_threads(n)
  end)

  it("repeats random numbers from a seed", function()
    st.manual_seed(7)
    local a = st.rand(5)
    st.manual_seed(7)
    assert.is_true(st.rand(5):equal(a))
    local g = st.Generator(7)
    assert.equal(7, g:initial_seed())
    assert.is_true(st.rand({5}, {generator = g}):equal(a))
    assert.is_false(st.rand({5}, {generator = g}):equal(a))
    assert.is_true(st.rand({5}, {generator = g:manual_seed(7)}):equal(a))
    raises({"rand: ", "'generator'"}, st.rand, {5}, {generator = 7})
  end)

  it("draws the same numbers whatever the number of threads (I18)", function()
    local n, drawn = st.get_num_threads(), {}
    for threads = 1, 3 do
      st.set_num_threads(threads)
      st.manual_seed(7)
      drawn[threads] = st.cat {st.rand(100000), st.randn(100000)}
      assert.is_true(drawn[threads]:equal(drawn[1]))
    end
    st.set_num_threads(n)
  end)

  it("prints as it is told", function()
    local t = st.tensor {1.5, 2.25}
    st.set_printoptions {precision = 1}
    local short = tostring(t)
    st.set_printoptions {profile = "default"}
    assert.equal("tensor([1.5, 2.2])", short)
    assert.equal("tensor([1.5000, 2.2500])", tostring(t))
    assert.equal(4, st.get_printoptions().precision)
    raises({"set_printoptions: ", "no option 'precison'"},
           st.set_printoptions, {precison = 1})
    raises({"set_printoptions: ", "no profile 'x'"},
           st.set_printoptions, {profile = "x"})
    raises("set_printoptions: 'linewidth' must be",
           st.set_printoptions, {linewidth = -1})
  end)

  it("prints shapes as tables", function()
    assert.equal("{2, 3}", tostring(st.zeros(2, 3).shape))
    assert.equal("{}", tostring(st.tensor(1).shape))
  end)

  it("knows sets of dispatch keys", function()
    local set = st.keyset("CPU", "AutogradCPU")
    assert.equal("DispatchKeySet(CPU, AutogradCPU)", tostring(set))
    assert.is_true(set:has "CPU")
    assert.is_false(set:has "Meta")
    assert.equal("AutogradCPU", set:highest())
    assert.equal("CPU", set:remove("AutogradCPU"):highest())
    assert.equal("Undefined", st.keyset():highest())
    assert.is_true(st.keyset("CPU"):add("AutogradCPU") == set)
    raises({"keyset: ", "no dispatch key 'CPUU'"}, st.keyset, "CPUU")
  end)

  it("helps with operators", function()
    assert.matches("aten::add%.Tensor%(", st.help("add", {all = true}))
    assert.matches("permute", st.help(nil, {all = true}))
    assert.matches("linalg", st.help())
    assert.equal(st.help "add", st.help(st.ops.aten.add))
    assert.matches("nothing is known", st.help "no_such_thing")
    assert.is_nil(rawget(st, "no_such_thing"))
    assert.is_nil(st.ops.aten.no_such_thing)
    assert.equal("aten::add", tostring(st.ops.aten.add))
  end)

  it("lists the methods of a tensor for completers", function()
    local t = st.zeros(1)
    local shown = getmetatable(t)
    local all = require "strided.name.method_names".all(shown)
    for _, name in ipairs {"add", "view", "sum", "stride", "totable"} do
      assert.equal("function", type(shown[name]), name)
      assert.equal(shown[name], all[name])
      assert.equal(shown[name], t[name])
    end
    assert.is_nil(shown.no_such_thing)
    assert.is_nil(all.zeros)
    assert.is_nil(shown[1])
    if has_pairs then
      local listed = {}
      for name, method in pairs(shown) do listed[name] = method end
      assert.same(all, listed)
    end
  end)

  it("lists them in every Lua by the metatable's __index", function()
    local t = st.zeros(1)
    local listed = getmetatable(t).__index
    local count = 0
    for name, method in pairs(listed) do
      assert.equal("function", type(method), name)
      assert.equal(t[name], method)
      count = count + 1
    end
    assert.is_true(count > 500)
    for _, name in ipairs {"add", "add_", "view", "sum", "stride", "totable"} do
      assert.is_function(listed[name])
    end
    assert.is_nil(t.__index)
    getmetatable(t).thrice = function(self) return self * 3 end
    assert.is_function(getmetatable(t).__index.thrice)
    getmetatable(t).thrice = nil
    assert.is_nil(getmetatable(t).__index.thrice)
  end)

  it("costs those who do not look at the methods nothing", function()
    local out = build.output(build.lua .. [[ -e '
      local st = require "strided"
      local t = st.ones(2)
      collectgarbage() collectgarbage()
      local before = collectgarbage "count"
      for _ = 1, 3 do local m = getmetatable(t) ; assert(m.add) end
      collectgarbage() collectgarbage()
      local between = collectgarbage "count"
      local n = 0
      for _ in pairs(getmetatable(t).__index) do n = n + 1 end
      print(between - before < 8, n > 500)']])
    assert.equal("true\ttrue\n", out)
  end)

  it("takes methods from who adds them", function()
    local t = st.ones(1)
    local methods = getmetatable(t)
    function methods:twice() return self * 2 end
    assert.equal(2, t:twice()[1])
    methods.twice = nil
    assert.is_nil(methods.twice)
  end)

  it("counts memory", function()
    collectgarbage() -- what is garbage before must not be freed meanwhile
    collectgarbage()
    local start = st.memory()
    local t = st.zeros({1000}, {dtype = "float64"})
    local now = st.memory()
    assert.equal(start.tensors.count + 1, now.tensors.count)
    assert.is_true(now.data.bytes - start.data.bytes >= 8000)
    local view = t:view(10, 100)
    assert.equal(now.data.bytes, st.memory().data.bytes)
    t:free()
    assert.equal(now.data.bytes, st.memory().data.bytes)
    view:free()
    assert.equal(start.data.bytes, st.memory().data.bytes)
    assert.is_true(now.data.peak >= now.data.bytes)
  end)

  it("lets go of temporaries in time", function()
    require "spec.support.collect" ()
    local a = st.zeros(1024, 1024) -- 4 MB
    local start, most = st.memory().data.bytes, 0
    -- The floor grows with what is alive and with the Lua heap, which holds
    -- all specs that ran before.
    local floor = math.max(16 * 2 ^ 20, 2 * start,
                           8 * 1024 * collectgarbage "count")
    for _ = 1, 100 do
      local b = a + 1
      most = math.max(most, st.memory().data.bytes)
      assert.equal(1, b[{1, 1}]:item())
    end
    assert.is_true(most - start < 1.5 * floor + 16 * 2 ^ 20)
  end)

  it("runs out of memory with an error, not a crash", function()
    raises({"toplevel_spec.lua:", "empty: out of memory"},
           function() return (st.empty(2 ^ 50)) end)
  end)

  it("plans iterations", function()
    local x = st.empty(4, 3)
    local plan = st.iterator {outputs = {false}, inputs = {x:t(), x:t()}}
    assert.equal("non_overlapping_dense", plan.fast)
    assert.same({12}, plan.shape)
    assert.same({12, 1, 0, 0, 0}, {unpack(plan:steps(0, 12)[1])})
    assert.same({12, 1}, plan:steps(0, 12)[1].size)
    assert.equal(st.float32, plan.common_dtype)
    raises({"iterator: ", "[0, 13)", "12 elements"}, plan.steps, plan, 0, 13)
    raises({"iterator: ", "[-1, 2)", "12 elements"}, plan.steps, plan, -1, 2)
    raises({"iterator: ", "no option 'inputz'"}, st.iterator, {inputz = {x}})
    raises({"'inputs'", "got string"}, st.iterator, {inputs = {"1"}})
    raises({"'inputs'", "got boolean"}, st.iterator, {inputs = {false}})
  end)

  it("leaves no tensor behind", function() assert.equal(before, live()) end)
end)
