--- The memory of tensors: figures, limits, what is kept for reuse, scopes, and
-- how the collector is made to keep up.
-- axes: lua ffi threads
-- sampled: 3

local st = require "strided"

local memory = st.memory
local build = require "spec.support.build"
local collect = require "spec.support.collect"
local tensors = require "spec.support.tensors"

local failure, live, raises = tensors.failure, tensors.live, tensors.raises

local is_sanitized = os.getenv "STRIDED_SANITIZED" ~= nil

local MB = 1024 * 1024

local before

setup(function() before = live() end)

describe("st.memory", function()
  after_each(function()
    memory.set_limit()
    collect()
  end)

  it("counts by kind, as a function and in stats", function()
    local t = st.empty(1000)
    local kinds, stats = memory(), memory.stats()
    assert.equal(kinds.tensors.count, stats.kinds.tensors.count)
    assert.is_true(kinds.data.bytes >= 4000)
    local sum = 0
    for _, m in pairs(stats.kinds) do
      sum = sum + m.bytes
      assert.is_true(m.peak >= m.bytes)
    end
    assert.equal(sum, stats.live)
    assert.is_true(stats.peak >= stats.live)
    assert.is_true(stats.cache_limit > 0)
    assert.is_nil(stats.limit)
    t:free()
  end)

  it("counts header, storage and elements each by itself", function()
    for _, n in ipairs {0, 1, 100, 128, 129, 100000} do
      collect()
      local a = memory()
      local t = st.empty(n)
      local b = memory()
      for _, kind in ipairs {"tensors", "storages", "data"} do
        assert.equal(a[kind].count + 1, b[kind].count, kind)
      end
      assert.equal(a.data.bytes + 4 * n, b.data.bytes)
      local v = t:view(-1)
      t:free() -- but v is a view of it and keeps its header
      local c = memory()
      assert.equal(b.tensors.count + 1, c.tensors.count)
      assert.equal(b.data.bytes, c.data.bytes)
      v:fill_(3)
      assert.equal(n, v:eq(3):sum():item())
      v:free()
      collect()
      b = memory()
      for _, kind in ipairs {"tensors", "storages", "data"} do
        assert.equal(a[kind].count, b[kind].count, kind)
        assert.equal(a[kind].bytes, b[kind].bytes, kind)
      end
    end
  end)

  it("knows peaks, which can be reset", function()
    st.empty(4 * MB):free()
    assert.is_true(memory.stats().peak - memory.stats().live >= 16 * MB)
    memory.reset_peak()
    assert.is_true(memory.stats().peak - memory.stats().live < MB)
    assert.is_true(memory().data.peak < memory().data.bytes + MB)
  end)

  it("keeps blocks for reuse and trims them", function()
    st.empty(4 * MB):free()
    local cached = memory.stats().cached
    if is_sanitized then
      assert.equal(0, cached)
      return
    end
    assert.is_true(cached >= 16 * MB)
    assert.equal(cached, memory.trim())
    assert.equal(0, memory.stats().cached)
  end)

  it("keeps no more than its limit", function()
    local old = memory.set_cache_limit(0)
    st.empty(4 * MB):free()
    st.empty(10):free()
    assert.equal(0, memory.stats().cached)
    memory.set_cache_limit(4 * MB)
    st.empty(4 * MB):free()
    assert.is_true(memory.stats().cached <= 4 * MB)
    assert.equal(4 * MB, memory.set_cache_limit(old))
    assert.equal(old, memory.stats().cache_limit)
  end)

  it("keeps the blocks of the last sizes rather than old ones", function()
    if is_sanitized then return end
    memory.trim()
    local old = memory.set_cache_limit(16 * MB)
    st.empty(3 * MB):free()
    local small = {}
    for k = 1, 4 do small[k] = st.empty(MB / 4) end
    for k = 1, 4 do small[k]:free() end
    st.empty(2 * MB):free()
    local cached = memory.stats().cached
    st.empty(2 * MB):free()
    assert.equal(cached, memory.stats().cached)
    assert.is_true(cached >= 12 * MB and cached < 13 * MB)
    memory.set_cache_limit(old)
  end)

  it("has zeros in new blocks and in used ones", function()
    for k = 1, 12 do
      if k % 4 == 1 then memory.trim() end
      for _, n in ipairs {MB / 2 - 1, MB / 2, MB + 17, 3 * MB} do
        local t = st.zeros(n)
        assert.is_false(t:any():item())
        t:fill_(k)
        t:free()
      end
    end
  end)
end)

describe("A limit", function()
  local function limit(bytes) memory.set_limit(memory.stats().live + bytes) end

  before_each(collect)
  after_each(function()
    memory.set_limit()
    collect()
  end)

  it("turns into an error that says what is live", function()
    limit(8 * MB)
    local t = st.empty(MB)
    assert.matches("empty: out of memory: 8388608 bytes requested; %d+ are "
                   .. "live, %d+ were cached, the limit is %d+",
                   failure(st.empty, 2 * MB))
    t:free()
    st.empty(2 * MB - 1000):free()
  end)

  it("collects garbage before it gives up", function()
    limit(8 * MB)
    collectgarbage "stop"
    for _ = 1, 20 do st.empty(MB) end
    local numbers = {}
    for i = 1, 1000 do numbers[i] = i end
    for _ = 1, 4000 do st.tensor(numbers) end
    collectgarbage "restart"
  end)

  it("finds the arguments in its second attempt that a kernel freed in the "
     .. "first", function()
    local a, b = st.rand(20, 20), st.rand(20, 20)
    local lib = st.library("aten", "IMPL")
    lib:impl("abs", "CPU", function(x)
      a:free()
      b:free()
      local result = st.empty(x:size())
      memory.set_limit(0)
      return result
    end)
    local ok, message = pcall(st.isclose, a, b)
    lib:close()
    assert.is_false(ok)
    assert.truthy(message:find "isclose: out of memory", message)
  end)

  it("counts what is cached, and gives it back first", function()
    st.empty(6 * MB):free()
    limit(8 * MB)
    local t = st.empty(MB)
    assert.is_true(memory.stats().live + memory.stats().cached <=
                   memory.stats().limit)
    t:free()
  end)

  it("holds for small tensors as well", function()
    limit(4 * MB)
    local kept, made = {}, 0
    raises("empty: out of memory", function()
      for i = 1, 100000 do
        kept[i] = st.empty(8)
        made = i
      end
    end)
    assert.is_true(made > 1000 and made < 60000)
    assert.equal(made, #kept)
    assert.is_true(memory.stats().live <= memory.stats().limit)
  end)

  it("below what is live stops everything until it goes", function()
    local t = st.ones(4)
    memory.set_limit(0)
    raises({"add: out of memory", "the limit is 0"}, t.add, t, 1)
    memory.set_limit()
    assert.equal(2, (t + 1)[1])
  end)

  it("is a number of bytes or nothing", function()
    assert.is_nil(memory.set_limit(10 * MB))
    assert.equal(10 * MB, memory.set_limit(nil))
    raises("the limit must not be negative, got -1 bytes",
           memory.set_limit, -1)
    for _, bad in ipairs {0.5, "many", {}} do
      raises("set_limit: argument 'bytes' must be an integer, got " ..
             type(bad), memory.set_limit, bad)
    end
    assert.is_nil(memory.stats().limit)
  end)
end)

describe("st.scope", function()
  it("returns what its function returns", function()
    assert.same({n = 4, 1, nil, "three", nil},
                {n = select("#", st.scope(function(...) return ... end,
                                          1, nil, "three", nil)),
                 st.scope(function(...) return ... end, 1, nil, "three",
                          nil)})
  end)

  it("releases what is made inside and not returned", function()
    local n = live()
    local inside
    local kept = st.scope(function()
      inside = st.ones(3)
      local sum = inside + 1
      return sum * 2
    end)
    assert.equal(n + 1, memory().tensors.count)
    assert.equal(4, kept[1])
    assert.equal("tensor(freed)", tostring(inside))
    raises({"add: ", "freed Tensor"}, function() return inside + 1 end)
    raises("freed Tensor", function() return inside[1] end)
  end)

  it("keeps what lies in returned tables", function()
    local result = st.scope(function()
      local cycle = {deep = {{st.ones(1)}}}
      cycle.self = cycle
      cycle[st.ones(2)] = "a key"
      return cycle
    end)
    assert.equal(1, result.deep[1][1][1])
    for key in pairs(result) do
      if st.is_tensor(key) then assert.equal(2, #key) end
    end
  end)

  it("keeps the elements that a returned view shows", function()
    local row = st.scope(function()
      local t = st.arange(6):view(2, 3)
      return t[2]
    end)
    assert.equal(12, row:sum():item())
  end)

  it("leaves alone what was there before", function()
    local t = st.ones(2)
    st.scope(function() return t:add_(1) end)
    st.scope(function() t:add_(1) end)
    assert.equal(3, t[1])
  end)

  it("hands what it returns to the scope around it", function()
    local inner
    local outer = st.scope(function()
      inner = st.scope(function() return st.ones(2) end)
      return inner + 1
    end)
    assert.equal(2, outer[1])
    assert.equal("tensor(freed)", tostring(inner))
  end)

  it("lets st.keep make an exception", function()
    local kept, lost
    st.scope(function()
      kept, lost = st.keep(st.ones(1)), st.ones(1)
    end)
    assert.equal(1, kept[1])
    assert.equal("tensor(freed)", tostring(lost))
    assert.equal(1, st.keep(st.ones(1))[1])
  end)

  it("releases everything when its function fails", function()
    local n, inside = live(), nil
    local sign = {}
    assert.equal(sign, failure(st.scope, function()
      inside = st.ones(3)
      error(sign)
    end))
    assert.equal(n, memory().tensors.count)
    assert.equal("tensor(freed)", tostring(inside))
    assert.equal(1, (st.ones(1))[1])
  end)

  it("cannot be left by a yield", function()
    local inside
    local resumed, message = coroutine.resume(coroutine.create(function()
      st.scope(function()
        inside = st.ones(1)
        coroutine.yield()
      end)
    end))
    assert.is_false(resumed)
    assert.truthy(message:find "yield", message)
    assert.equal("tensor(freed)", tostring(inside))
  end)

  it("bears coroutines that outlive it", function()
    local co
    st.scope(function()
      co = coroutine.wrap(function()
        local t = st.ones(1)
        coroutine.yield()
        return pcall(function() return t + 1 end)
      end)
      co()
    end)
    assert.is_false((co()))
  end)

  it("bears freeing by hand and by the collector inside", function()
    st.scope(function()
      local t = st.ones(2)
      t:free()
      for _ = 1, 100 do st.ones(3) end
      collectgarbage()
      collectgarbage()
      t = st.ones(2)
      return t
    end)
  end)

  it("lets t:free() work at once inside, as other bodies do", function()
    local observers = {}
    for name, run in pairs {
      scope = st.scope,
      no_grad = st.no_grad,
      observe = function(body) return st.observe(observers, body) end,
    } do
      run(function()
        local n = memory().tensors.count
        for _ = 1, 10 do st.empty(10):free() end
        assert.equal(n, memory().tensors.count, name)
      end)
    end
  end)

  it("inside of a Lua kernel releases what that made", function()
    local lib = st.library "scopespec"
    local inside
    lib:def "twice(Tensor a) -> Tensor"
    lib:impl("twice", "CompositeImplicitAutograd", function(a)
      return st.scope(function()
        inside = a + 0
        a:free() -- the caller still has it on its way
        return inside * 2
      end)
    end)
    local result = st.ops.scopespec.twice(st.ones(2))
    lib:close()
    assert.equal(2, result[1])
    assert.equal("tensor(freed)", tostring(inside))
  end)

  it("wants a function or an object that can be called", function()
    local net = setmetatable({}, {__call = function(_, x) return x + 1 end})
    assert.equal(4, st.scope(net, st.tensor {3})[1])
    assert.equal(4, st.scope(st.scope, net, st.tensor {3})[1])
    raises("scope: argument 'body' must be a function", st.scope, 3)
    raises("scope: argument 'body' must be a function", st.scope, st.ones(1))
  end)
end)

-- Calls fn when it is collected.
local function finalised(fn)
  if not newproxy then return setmetatable({}, {__gc = fn}) end
  local proxy = newproxy(true)
  getmetatable(proxy).__gc = fn
end

describe("A finaliser in the middle of a call", function()
  -- What a call does with a tensor that a finaliser frees meanwhile.
  local calls = {
    add = function(t) return t + t end,
    cat = function(t) return st.cat {t, t} end,
    index = function(t) return t[t:gt(0.5)] end,
    newindex = function(t) t[{1, {}}] = 3 end,
    bytes = function(t) return t:t():tostring_bytes() end,
    text = function(t) return tostring(t) end,
  }
  local ways = {
    ["by itself"] = function(t) t:free() end,
    ["in a coroutine"] = function(t)
      coroutine.wrap(function()
        t:free()
      end)()
    end,
    ["below another body in a coroutine"] = function(t)
      coroutine.wrap(function()
        st.scope(function()
          coroutine.wrap(function() t:free() end)()
          return st.ones(1) + 1
        end)
      end)()
    end,
  }

  for name, free in pairs(ways) do
    it("may free its arguments, " .. name, function()
      for _, call in pairs(calls) do
        for i = 1, is_sanitized and 30 or 60 do
          local t = st.ones(4, 4)
          finalised(function() free(t) end)
          for _ = 1, 60 + i do
            if not pcall(call, t) then break end
          end
        end
      end
      collect()
    end)
  end

  it("may make tensors without collections inside of each other", function()
    local made = 0
    for _ = 1, 1000 do
      finalised(function()
        made = made + 1
        return st.empty(2 * MB)
      end)
    end
    for _ = 1, 4 do st.empty(2 * MB) end
    collect()
    assert.equal(1000, made)
  end)
end)

describe("The collector", function()
  for n, loop in ipairs(require "spec.support.loops") do
    it("keeps up with " .. loop[1], function()
      local text = build.output(("%s spec/support/loops.lua %d"):format(
                                build.lua, n))
      local peak = tonumber(text:match "^([%d.]+) MB beside")
      assert.is_true(peak and peak <= loop[2], text)
    end)
  end

  it("has little to walk over at first", function()
    local text = build.output(build.lua .. [[ -e '
      local function heap()
        collectgarbage()
        collectgarbage()
        return collectgarbage "count"
      end
      local start = heap()
      require "strided"
      print(heap() - start)']])
    local size = tonumber(text)
    assert.is_true(size and size <= 85, text) -- KB
  end)

  -- Finalizers fail there: Note [Stack space for finalizers].
  it("does not come from the engine where the stack is full", function()
    local pause, from, depth = collectgarbage("setpause", 1000), math.huge, 0
    local function deep(n)
      depth = n
      if n >= from and n < from + 250 then st.empty(2 * MB) end
      return 1 + deep(n + 1)
    end
    -- Lua 5.1 says the latter if the stack overflows in the message, too.
    local function is_overflow(why)
      return why:find "stack overflow" or why:find "error in error handling"
    end
    raises("stack overflow", deep, 1)
    local alive = live()
    for _ = 1, 2 do
      from = depth - 200 -- Lua 5.1 goes deeper each time
      local ok, why = pcall(deep, 1)
      assert.is_false(ok)
      assert.truthy(is_overflow(why), why)
      assert.is_true(depth > from)
      assert.equal(alive, live())
    end
    collectgarbage("setpause", pause)
  end)

  local function at(n, f)
    if n == 0 then return f() end
    return (at(n - 1, f))
  end

  -- lua_getstack walks to each level from the top, so that a search of all
  -- calls takes long with those that Lua 5.2 allows.
  it("finds what waits for the end of a kernel in a deep stack", function()
    local lib = st.library "deepspec"
    lib:def "take(Tensor a) -> Tensor"
    lib:impl("take", "CompositeImplicitAutograd", function(a)
      a:free() -- released when the call returns, or later
      return st.ones(2)
    end)
    local function take(n)
      for _ = 1, n do st.ops.deepspec.take(st.ones(3)) end
    end
    local can_be_deep = pcall(at, 150000, tostring)
    local count = memory().tensors.count
    for _, depth in ipairs {300, 3000, can_be_deep and 150000 or 6000} do
      at(depth, function() take(1000) return true end)
      st.ones(1):free()
      collect()
      assert.equal(count, memory().tensors.count, depth)
    end
    at(1000, function() -- 16 searches pay for one of 1000 calls
      take(40)
      collect()
      assert.is_true(memory().tensors.count - count <= 16)
    end)
    st.ones(1):free()
    lib:close()
  end)

  --- Calls f when an object of its own is collected.
  local function at_collection(f)
    local new = rawget(_G, "newproxy")
    if not new then return setmetatable({}, {__gc = f}) end
    local object = new(true)
    getmetatable(object).__gc = f
    return object
  end

  it("leaves alone what a coroutine's call holds, in a deep stack", function()
    local stepmul = collectgarbage("setstepmul", 100000)
    local hits, wrong = 0, 0
    at(300, function()
      for _ = 1, 100 do
        collectgarbage()
        collectgarbage "stop"
        local t, caller, ok, sum = st.full({1000}, 7)
        at_collection(function()
          if coroutine.running() ~= caller then return end
          hits = hits + 1
          coroutine.wrap(function()
            t:free()
            for _ = 1, 8 do st.full({1000}, -1) end
          end)()
        end)
        caller = coroutine.create(function()
          collectgarbage "restart"
          ok, sum = pcall(st.add, t, 1)
        end)
        coroutine.resume(caller)
        if ok and sum:sum():item() ~= 8000 then wrong = wrong + 1 end
      end
    end)
    collectgarbage("setstepmul", stepmul)
    assert.equal(0, wrong)
    assert.is_true(hits > 0)
  end)

  it("is left alone by who stopped it", function()
    if not pcall(collectgarbage, "isrunning") then return end -- 5.1 cannot tell
    collect()
    local start = memory().data.bytes
    collectgarbage "stop"
    for _ = 1, 40 do st.empty(MB / 4) end
    assert.is_true(memory().data.bytes - start >= 40 * MB)
    collectgarbage "restart"
  end)
end)

describe("After all that", function()
  it("nothing is left", function() assert.equal(before, live()) end)
end)
