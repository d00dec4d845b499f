--- Loaders with worker threads: the same batches and random numbers for any
-- number of them, what can be sent to them, their errors and their end.
-- axes: lua
-- sampled: 3

local collect = require "spec.support.collect"
local core = require "strided.core"
local message = require "strided.data.message"
local st = require "strided"
local tensors = require "spec.support.tensors"

local data = st.data
local live, raises, raises_here = tensors.live, tensors.raises,
  tensors.raises_here

local before

setup(function()
  st.rand(1)
  before = live()
end)

teardown(function()
  collect()
  assert.same(before, live())
end)

local OWN = {module = "spec.support.worker_dataset", args = {4, 10}}

local function plain(v)
  if st.is_tensor(v) then return v:totable() end
  if type(v) ~= "table" then return v end
  local t = {}
  for key, each in pairs(v) do t[key] = plain(each) end
  return t
end

--- The batches of a pass, as lists of their values.
local function all(loader)
  local list = {}
  for a, b in loader:iter() do list[#list + 1] = {plain(a), plain(b)} end
  return list
end

--- How many tokens there are.
local function shared() return st.memory().shared.count end

--- The threads of this process.
local function tasks()
  local pipe = io.popen "ls /proc/$PPID/task | wc -l"
  local n = tonumber(pipe:read "*a")
  pipe:close()
  return n
end

local function with(options, more)
  local o = {}
  for key, value in pairs(options) do o[key] = value end
  for key, value in pairs(more) do o[key] = value end
  return o
end

-- -- Batches -----------------------------------------------------------------

describe("A loader with workers", function()
  local x, y, noisy

  setup(function()
    x, y = st.arange(0, 22):view(11, 2):float(), st.arange(11)
    noisy = data.TensorDataset(x, y):map(function(a, b)
      return a + st.rand(2), b
    end)
  end)

  teardown(function() x, y, noisy = nil, nil, nil end)

  --- Two passes, and a number that is drawn afterwards.
  local function passes(options)
    st.manual_seed(5)
    local loader = data.DataLoader(noisy, with({batch_size = 3, shuffle = true},
                                               options))
    local result = {all(loader), all(loader), st.rand(1):item()}
    loader:close()
    return result
  end

  it("makes the same batches for any number of them", function()
    local want = passes {batch_seeds = true}
    assert.not_same(want[1], want[2])
    for n = 1, 3 do
      assert.same(want, passes {num_workers = n})
      assert.same(want, passes {num_workers = n, prefetch_factor = 1})
      assert.same(want, passes {num_workers = n, persistent_workers = true})
    end
  end)

  it("has the order that it has without them", function()
    local function order(n)
      st.manual_seed(3)
      return all(data.DataLoader(y, {batch_size = 4, shuffle = true,
                                     num_workers = n, drop_last = true,
                                     generator = st.Generator(7)}))
    end
    assert.same(order(0), order(2))
  end)

  it("takes datasets of all kinds", function()
    local path = os.tmpname()
    st.save(path .. ".npy", x)
    local double, many = 2, {}
    for i = 1, 9000 do many[i] = st.full({1}, i) end
    many = data.Subset(many, {3, 1, 2})
    for _, d in ipairs {
      data.TensorDataset(x, y), x, {picture = x, label = y}, {"a", "b", "c"},
      {{1, true}, {2, false}}, data.Subset(data.TensorDataset(x, y), {2, 1, 9}),
      data.ConcatDataset {y, y},
      data.FunctionDataset(5, function(i) return i * double, {name = "s" .. i}
      end), OWN, data.Subset(OWN, {3, 1}),
      st.load(path .. ".npy", {mmap = "r"}), many,
      {make = function(n) return require "strided".arange(n) end, args = {5}},
    } do
      local function without_worker(list)
        for _, row in ipairs(list) do
          if type(row[1]) == "table" then row[1].worker = nil end
        end
        return list
      end
      assert.same(without_worker(all(data.DataLoader(d, {batch_size = 2}))),
                  without_worker(all(data.DataLoader(d, {batch_size = 2,
                                                         num_workers = 2}))))
    end
    os.remove(path)
    os.remove(path .. ".npy")
  end)

  it("shares the elements of tensors with them", function()
    local d = data.FunctionDataset(2, function() return x end)
    local loader = data.DataLoader(d, {num_workers = 1,
                                       collate = function(list)
      return list[1]
    end})
    for t in loader:iter() do
      assert.is_true(t:is_alias_of(x))
      assert.is_false(rawequal(t, x))
    end
  end)

  it("makes a described dataset in each, and tells its number", function()
    local workers = {}
    for batch in data.DataLoader(OWN, {num_workers = 2}):iter() do
      workers[batch.worker:item()] = true
    end
    assert.is_nil(workers[0])
    assert.is_true(workers[1] or workers[2])
    assert.is_nil(data.get_worker_info())
  end)

  it("calls worker_init, and keeps them if it is told so", function()
    local function numbers(persistent)
      local loader = data.DataLoader(
        {make = function()
          local count = _G.offset
          return require "strided".data.FunctionDataset(3, function()
            count = count + 1
            return count
          end)
        end}, {num_workers = 1, persistent_workers = persistent,
               worker_init = function(id) _G.offset = 100 * id end})
      local function first()
        local list = {}
        for t in loader:iter() do list[#list + 1] = t:item() end
        return list
      end
      local result = {first(), first()}
      loader:close()
      return result
    end
    _G.offset = 0
    assert.same({{101, 102, 103}, {101, 102, 103}}, numbers())
    assert.same({{101, 102, 103}, {104, 105, 106}}, numbers(true))
    _G.offset = nil
  end)

  it("runs their calls on one thread each", function()
    local loader = data.DataLoader({make = function()
      local function compute()
        local far = require "strided"
        return far.ones(4000000):mul(2):sum() + far.get_num_threads()
      end
      return require "strided".data.FunctionDataset(1, compute)
    end}, {num_workers = 1, persistent_workers = true})
    local count = tasks()
    assert.same({{{8000001}}}, all(loader))
    assert.equal(count + 1, tasks())
    loader:close()
    assert.equal(count, tasks())
  end)

  it("leaves the settings of the process to it", function()
    local threads, limit = st.get_num_threads(), st.memory.stats().cache_limit
    st.set_num_threads(3)
    all(data.DataLoader({1}, {num_workers = 1, worker_init = function()
      require "strided".set_num_threads(1)
    end}))
    assert.equal(3, st.get_num_threads())
    for name, change in pairs {
      set_num_threads = function() require "strided".set_num_threads(2) end,
      set_default_dtype = function()
        require "strided".set_default_dtype "float64"
      end,
      set_jit_enabled = function() require "strided".set_jit_enabled(false) end,
      memory_fail_at = function() require "strided".memory_fail_at(0) end,
      ["memory.set_limit"] = function()
        require "strided".memory.set_limit(2 ^ 40)
      end,
      ["memory.set_cache_limit"] = function()
        require "strided".memory.set_cache_limit(2 ^ 30)
      end,
      ["memory.reset_peak"] = function()
        require "strided".memory.reset_peak()
      end,
    } do
      raises(name .. ": a worker cannot change what belongs to the process",
             all, data.DataLoader({1}, {num_workers = 1, worker_init = change}))
    end
    assert.equal(3, st.get_num_threads())
    st.set_num_threads(threads)
    assert.equal("float32", st.get_default_dtype())
    assert.equal(limit, st.memory.stats().cache_limit)
    assert.is_nil(st.memory.stats().limit)
  end)
end)

-- -- Ends --------------------------------------------------------------------

describe("The workers of a loader", function()
  local options = {batch_size = 2, num_workers = 2}
  local count, tokens

  before_each(function()
    collect()
    count, tokens = tasks(), shared()
  end)

  after_each(function()
    collect()
    assert.equal(count, tasks())
    assert.equal(tokens, shared())
  end)

  it("stop at the end of a pass", function()
    local loader = data.DataLoader(st.arange(9), options)
    all(loader)
    assert.equal(count, tasks())
    assert.equal(tokens, shared())
    assert.equal(5, #all(loader))
  end)

  it("stop when the iterator is collected", function()
    local loader = data.DataLoader(st.arange(100), options)
    assert.same({0, 1}, loader:iter()():totable())
    collect()
    assert.equal(count, tasks())
    assert.equal(2, loader.num_workers)
  end)

  it("stop when a persistent loader is collected", function()
    local loader = data.DataLoader(st.arange(100), with(options, {
      persistent_workers = true}))
    loader:iter()()
    collect()
    assert.equal(count + 2, tasks())
  end)

  it("stop when the next pass of persistent ones begins", function()
    local loader = data.DataLoader(st.arange(100), with(options, {
      persistent_workers = true}))
    local first = loader:iter()
    first()
    local second = loader:iter()
    assert.same({0, 1}, second():totable())
    assert.equal(count + 2, tasks())
    raises("DataLoader: a later pass of this loader has ended this one", first)
    assert.same({2, 3}, second():totable())
    loader:close()
    raises({"DataLoader: the loader was closed", "loader:iter()"}, second)
    assert.equal(count, tasks())
  end)

  it("are those of one pass, of several at the same time", function()
    local loader = data.DataLoader(st.arange(100), options)
    local first, second = loader:iter(), loader:iter()
    assert.same({0, 1}, first():totable())
    assert.same({0, 1}, second():totable())
    assert.equal(count + 4, tasks())
    assert.same({2, 3}, second():totable())
    assert.same({2, 3}, first():totable())
    local n = 2
    for _ in second do n = n + 1 end
    assert.equal(50, n)
    assert.equal(count + 2, tasks())
    assert.same({4, 5}, first():totable())
    local third = loader:iter()
    third()
    loader:close()
    raises({"DataLoader: the loader was closed"}, first)
    raises({"DataLoader: the loader was closed"}, third)
    assert.equal(count, tasks())
  end)

  it("may be nested, as pairs of batches are", function()
    for _, workers in ipairs {0, 1} do
      local loader = data.DataLoader(st.arange(6), {
        batch_size = 2, num_workers = workers})
      local sums = {}
      for a in loader:iter() do
        for b in loader:iter() do
          sums[#sums + 1] = (a * b):sum():item()
        end
      end
      -- of {0, 1}, {2, 3}, {4, 5}
      assert.same({1, 3, 5, 3, 13, 23, 5, 23, 41}, sums)
    end
    assert.equal(count, tasks())
  end)

  it("stop when the next pass begins behind a break", function()
    local loader = data.DataLoader(st.arange(100), options)
    local function first_of()
      local first
      for t in loader:iter() do
        first = t:totable()
        if first then break end
      end
      return first
    end
    for _ = 1, 5 do assert.same({0, 1}, first_of()) end
    assert.is_true(tasks() <= count + 2)
    loader:close()
    collect()
    assert.equal(count, tasks())
  end)

  if _VERSION == "Lua 5.4" then
    it("stop at once at a break of Lua 5.4", function()
      local loader = data.DataLoader(st.arange(100), options)
      for t in loader:iter() do
        if t[1] == 4 then break end
      end
      assert.equal(count, tasks())
    end)
  end

  it("stop after an error", function()
    local loader = data.DataLoader(data.FunctionDataset(9, function(i)
      if i == 5 then error "sample 5 is bad" end
      return i
    end), options)
    local iter = loader:iter()
    assert.same({1, 2}, iter():totable())
    assert.same({3, 4}, iter():totable())
    raises_here({"DataLoader: in a worker: ", "data_workers_spec.lua:",
                 "sample 5 is bad"}, iter)
    assert.equal(count, tasks())
    assert.is_nil(iter())
  end)

  it("are new ones after they could not begin", function()
    local path = os.tmpname()
    local function is_bad() return io.open(path) == nil end
    local d = {make = function()
      if require "strided".data.get_worker_info() and is_bad() then
        error "no data yet"
      end
      return {7, 8}
    end}
    local function start() if is_bad() then error "not yet" end end
    for _, row in ipairs {{d}, {{7, 8}, start}} do
      local loader = data.DataLoader(row[1], {
        batch_size = 2, num_workers = 1, persistent_workers = true,
        worker_init = row[2]})
      os.remove(path)
      raises("yet", all, loader)
      raises("yet", all, loader)
      assert(io.open(path, "w")):close()
      assert.same({{{7, 8}}}, all(loader))
      os.remove(path)
      assert.same({{{7, 8}}}, all(loader))
      loader:close()
    end
  end)

  it("are not there in the child of a fork", function()
    local ok, ffi = pcall(require, "ffi")
    if not ok or not rawget(_G, "jit") then return end
    ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
    local loader = data.DataLoader(st.arange(9), options)
    local iter = loader:iter()
    assert.same({0, 1}, iter():totable())
    jit.off() -- README: no fork while another thread compiles
    local child = ffi.C.fork()
    if child == 0 then
      local refused, why = pcall(iter)
      local code = refused and 1 or
                   not why:find("threads of the parent process", 1, true) and 2
                   or #all(loader) ~= 5 and 3 or 0
      ffi.C._exit(code)
    end
    local status = ffi.new "int[1]"
    assert.equal(child, ffi.C.waitpid(child, status, 0))
    jit.on()
    assert.equal(0, status[0])
    assert.same({2, 3}, iter():totable())
    loader:close()
  end)
end)

-- -- Misuse ------------------------------------------------------------------

describe("A loader with workers refuses", function()
  local function begin(d, options)
    return function()
      return data.DataLoader(d, with({num_workers = 1}, options or {})):iter()()
    end
  end

  local Local = data.Dataset:extend "Local"
  function Local.size() return 1 end
  function Local.get() return 1 end

  local file, metatable = io.stdout, setmetatable({}, {})
  local function of_file() return file end
  local function of_table() return metatable end

  for _, row in ipairs {
    {"a class that it cannot send", Local(),
     "num_workers = 1: a dataset of class Local cannot be sent"},
    {"an upvalue that it cannot send", data.FunctionDataset(1, of_file),
     "has the upvalue 'file': a userdata cannot be sent"},
    {"an object", data.FunctionDataset(1, of_table),
     "has the upvalue 'metatable': a table with a metatable"},
    {"an object with a locked metatable", {setmetatable({}, {
      __metatable = "locked"})}, "a table with a metatable (an object)"},
    {"one that hides its metatable", {setmetatable({}, {
      __metatable = false, __name = "Own\n"})}, "a metatable (Own?)"},
    {"a batch of such", {1}, "a batch has a value that is not sent: a table "
     .. "with a metatable", {collate = function()
      return setmetatable({}, {__metatable = 5})
    end}},
    {"a coroutine", {coroutine.create(of_file)}, "a thread cannot be sent"},
    {"an iterator", function() return next end, "share an iterator of samples"},
    {"a module that is not there", {module = "no.such"}, "'no.such' not found"},
    {"a description of something else", {make = print, size = 3},
     "not 'size'"},
    {"a dataset that fails", {make = function()
      if require "strided".data.get_worker_info() then error "no data" end
      return {1}
    end}, "no data"},
    {"what worker_init does", {1}, "bad start",
     {worker_init = function() error "bad start" end}},
    {"an error of a C function", {1}, "in a worker: worker_init: bad argument",
     {worker_init = string.rep}},
    {"an error that is a table", {1}, "worker: an error without text, a table",
     {collate = function() error {} end}},
    {"an error that is nil", {1}, "worker_init: an error without text, a nil",
     {worker_init = function() error() end}},
    {"an error that can be a text", {1}, "in a worker: the text",
     {collate = function()
       error(setmetatable({}, {__tostring = function() return "the text" end}))
     end}},
    {"a batch of nil", {1}, "in a worker: the function 'collate' returned nil",
     {collate = function() end}},
    {"a batch that cannot be sent", {1}, "a batch has a value that is not sent:"
     .. " a userdata", {collate = function() return io.stdout end}},
    {"a number that is none", {1}, "must be a number of threads, got two",
     {num_workers = "two"}},
    {"a negative number", {1}, "must be a number of threads",
     {num_workers = -1}},
    {"an infinite one", {1}, "must be a number of threads, got inf",
     {num_workers = 1 / 0}},
    {"too many", {1}, "'num_workers' must be at most 256", {num_workers = 300}},
    {"no batch in advance", {1}, "must be a number of batches",
     {prefetch_factor = 0}},
    {"options without workers", {1}, "'prefetch_factor' needs num_workers",
     {num_workers = 0, prefetch_factor = 3}},
    {"a worker_init that is none", {1}, "'worker_init' must be a function",
     {worker_init = 1}},
  } do
    it(row[1], function()
      raises({"DataLoader: ", row[3]}, begin(row[2], row[4]))
    end)
  end

  it("tensors that do not arrive as they are", function()
    local t = st.ones(2)
    local loader = data.DataLoader(t, {num_workers = 1})
    t:free()
    local who = "DataLoader: num_workers = 1: a Tensor for the workers "
    raises(who .. "was freed", all, loader)
    raises(who .. "is on the meta device",
           begin {st.ones({2}, {device = "meta"})})
    raises(who .. "requires a gradient", begin(st.ones(2):requires_grad_()))
  end)

  it("paths that are none", function()
    local path = package.path
    for _, value in ipairs {5, false} do
      package.path = value or nil
      local ok, why = pcall(begin {1})
      package.path = path
      assert.is_false(ok)
      assert.truthy(why:find("package.path must be a string, got "
                             .. type(value or nil), 1, true), why)
    end
  end)

  it("what only a worker may call", function()
    raises("this thread is no worker", core.worker_receive)
  end)
end)

-- -- Messages ----------------------------------------------------------------

describe("A message", function()
  local function copy(...)
    local bytes, list = message.pack(message.list(...))
    assert.is_string(bytes, list)
    local values = message.unpack(bytes, list)
    return (unpack or table.unpack)(values, 1, values.n)
  end

  it("has values as they were", function()
    local t = st.ones(2)
    local list = {1, 0.1, -0.5, 2 ^ 53, 1 / 0, -1 / 0, "a\0\n;", "", true,
                  {1, {2}, x = "y", [2.5] = false}, t}
    assert.same(list, copy(list))
    local nan, none, int, complex, nothing, last = copy(
      0 / 0, st.none, st.int "9223372036854775807", st.complex(1, -2), nil, 5)
    assert.is_true(nan ~= nan)
    assert.equal(st.none, none)
    assert.equal(st.int "9223372036854775807", int)
    assert.equal(-2, complex.im)
    assert.is_nil(nothing)
    assert.equal(5, last)
    if math.type then
      assert.equal("integer", math.type((copy(3))))
      assert.equal("float", math.type((copy(3.0))))
      assert.equal(math.mininteger, (copy(math.mininteger)))
    end
  end)

  it("has tables that are in themselves, and functions", function()
    local t = {}
    t.own, t.twice = t, {t}
    local got = copy(t)
    assert.equal(got, got.own)
    assert.equal(got, got.twice[1])
    local n = 3
    local function power(x, k)
      if k == 0 then return 1 end
      return x * power(x, k - 1) + n - n
    end
    local floor = math.floor
    assert.equal(81, copy(power)(3, 4))
    assert.equal(2, copy(function()
      return floor(st.full({1}, 2.5):item())
    end)())
    assert.equal(math.floor, (copy(math.floor)))
    local globals = package.loaded._G
    globals.triple = function(x) return 3 * x end
    local triple = copy(globals.triple)
    globals.triple = nil
    assert.equal(6, triple(2))
    local relu = st.relu
    assert.equal(relu, copy(function() return relu end)())
  end)

  it("names families of operators, and classes", function()
    for _, value in ipairs {
      st.linalg, st.fft, st.special, st.signal.windows, st.autograd, st.ops,
      st.nn.Linear, st.nn.init, st.data.Dataset, st.data.Subset, st.optim.SGD,
      st.linalg.norm, st.linalg.trace,
    } do
      assert.equal(value, (copy(value)))
    end
    assert.equal(st.signal.windows, copy(st.signal).windows)
    local linalg = st.linalg
    local d = data.FunctionDataset(1, function(i)
      return linalg.norm(require "strided".ones(4) * i)
    end)
    assert.same({{{2}}}, all(data.DataLoader(d, {num_workers = 1})))
  end)
end)
