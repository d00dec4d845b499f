--- st.profile: what it counts, that its sums agree, and what it says.
-- axes: lua

local st = require "strided"

local build = require "spec.support.build"
local collect = require "spec.support.collect"
local files = require "spec.support.files"
local tensors = require "spec.support.tensors"

local near, raises_here = tensors.near, tensors.raises_here

--- The rows of a profile by name; of rows by shapes, the first of a name.
local function by_name(p, opts)
  local rows = {}
  for _, row in ipairs(p:rows(opts)) do
    rows[row.name] = rows[row.name] or row
  end
  return rows
end

local function calls(p)
  local counts = {}
  for _, row in ipairs(p:rows()) do counts[row.name] = row.calls end
  return counts
end

local function events(p)
  local list = {}
  for event in p:events() do list[#list + 1] = event end
  return list
end

--- Enough large results that the library collects garbage.
local function fill()
  for _ = 1, 200 do local _ = st.empty(2 ^ 20) end
end

describe("A profile", function()
  local before
  setup(function()
    collect()
    before = st.memory().tensors.count
  end)
  teardown(function()
    collect()
    assert.equal(before, st.memory().tensors.count)
  end)

  it("returns the results of the function after itself", function()
    local function count(...) return select("#", ...), ... end
    local p, a, b, c = st.profile(count, nil, 5)
    assert.same({}, p:rows())
    assert.same({2, nil, 5}, {a, b, c})
  end)

  it("counts the calls of each operator, also of tiny tensors", function()
    local x = st.ones(3)
    local p = st.profile(function()
      for _ = 1, 7 do local _ = x + x end
      x:add_(1)
      return x:exp()
    end)
    assert.same({["aten::add.Tensor"] = 7, ["aten::add_.Scalar"] = 1,
                 ["aten::exp"] = 1}, calls(p))
  end)

  it("sees what an operator calls, and who called it", function()
    local m = st.ones(2, 3):t()
    local line = debug.getinfo(1, "l").currentline + 1
    local p = st.profile(function() return m:contiguous() end)
    local rows = by_name(p, {shapes = true})
    assert.equal("aten::contiguous", rows["aten::clone"].caller)
    assert.is_nil(rows["aten::contiguous"].caller)
    assert.equal("float32 {3, 2} strided", rows["aten::clone"].shapes)
    assert.matches("profile_spec.lua:" .. line .. "$",
                   rows["aten::clone"].where)
    local list = events(p)
    assert.same({"aten::clone", 1}, {list[1].name, list[1].depth})
    assert.same({"aten::contiguous", 0}, {list[2].name, list[2].depth})
    assert.is_true(list[1].start >= list[2].start)
    assert.is_true(list[1].time <= list[2].time)
  end)

  it("has one row for each operator, dtypes and shapes", function()
    local a, b = st.ones(2, 3), st.ones({3}, {dtype = "int64"})
    local p = st.profile(function()
      return a + b, a + b, b + b, st.cat({a, a}), a:to "int16"
    end)
    local list = {}
    for _, row in ipairs(p:rows {shapes = true}) do
      list[row.name .. " " .. row.shapes] = row.calls
    end
    assert.equal(2, list["aten::add.Tensor float32 {2, 3}, int64 {3}"])
    assert.equal(1, list["aten::add.Tensor int64 {3}, int64 {3}"])
    assert.equal(1, list["aten::cat float32 {2, 3}, float32 {2, 3}"])
    assert.equal(1, list["aten::_to_copy float32 {2, 3}, int16"])
    assert.equal(3, calls(p)["aten::add.Tensor"])
  end)

  it("has times that add up", function()
    local w = st.randn(20, 20):requires_grad_()
    local p = st.profile(function()
      for _ = 1, 5 do (w:mm(w):tanh():t():contiguous()):sum():backward() end
    end)
    local self, outer = 0, 0
    for _, row in ipairs(p:rows()) do
      assert.is_true(row.self >= 0 and row.self <= row.total, row.name)
      self = self + row.self
    end
    for event in p:events() do
      if event.depth == 0 then outer = outer + event.time end
      assert.is_true(event.start + event.time <= p:elapsed())
    end
    near(outer, self, 1e-9)
    assert.is_true(outer <= p:elapsed())
    local shapes = 0
    for _, row in ipairs(p:rows {shapes = true}) do
      shapes = shapes + row.self
    end
    near(self, shapes, 1e-9)
  end)

  it("counts the time of a call inside another of its kind once", function()
    local lib = st.library("aten", "IMPL")
    local deep = 0
    lib:impl("relu", "CPU", function(t)
      deep = deep + 1
      return deep < 3 and st.relu(t) or t:clamp {min = 0}
    end)
    local p = st.profile(st.relu, st.ones(2))
    lib:close()
    local row = by_name(p)["aten::relu"]
    assert.equal(3, row.calls)
    local longest = 0
    for event in p:events() do
      if event.name == "aten::relu" then
        longest = math.max(longest, event.time)
      end
    end
    near(longest, row.total, 1e-12)
  end)

  it("counts the bytes that stay", function()
    local p, x = st.profile(st.ones, 1000)
    local row = by_name(p)["aten::ones"]
    assert.is_true(row.bytes >= 4000 and row.bytes < 8000)
    p = st.profile(function() x:exp_() end)
    assert.equal(0, by_name(p)["aten::exp_"].bytes)
  end)

  it("shows backward passes, with the calls inside", function()
    local w = st.ones(3):requires_grad_()
    local y = w:exp():sum()
    local p = st.profile(function() y:backward() end)
    assert.equal(1, calls(p)["backward pass"])
    assert.equal("backward pass",
                 by_name(p, {shapes = true})["aten::mul.Tensor"].caller)
    w = st.ones(3):requires_grad_()
    p = st.profile(function() return st.grad(w:exp():sum(), w) end)
    assert.equal(1, calls(p)["backward pass"])
  end)

  it("shows the calls of a Lua kernel", function()
    local lib = st.library("profspec", "DEF")
    lib:def("twice(Tensor x) -> Tensor", function(x) return x * 2 end)
    local p = st.profile(st.ops.profspec.twice, st.ones(3))
    lib:close()
    assert.same({["profspec::twice"] = 1, ["aten::mul.Scalar"] = 1}, calls(p))
    assert.equal("profspec::twice",
                 by_name(p, {shapes = true})["aten::mul.Scalar"].caller)
  end)

  it("shows a fused function as one event, and leaves it fused", function()
    local f = st.fuse(function(x) return (x * 2 + 1):exp() end, {name = "wave"})
    local x = st.ones(4)
    local want = f(x)
    local p, y = st.profile(f, x)
    assert.same({["fused wave"] = 1}, calls(p))
    near(want, y)
    -- another observer makes it call its operators
    local seen = 0
    st.observe({before = function() seen = seen + 1 end}, st.profile, f, x)
    assert.equal(3, seen)
  end)

  it("shows the collections of the library", function()
    local p = st.profile(fill)
    assert.is_true(calls(p)["collector"] > 0)
    assert.equal(200, calls(p)["aten::empty.memory_format"])
    assert.matches("%% in [1-9]%d* collections?,", p:table())
  end)

  it("does not change results", function()
    local x = st.randn(9, 9)
    local function work() return (x:mm(x):softmax(2) * x):sum() end
    local _, y = st.profile(work)
    assert.is_true(work():equal(y))
  end)

  it("ends when the function fails, with its error", function()
    local reason = {}
    local ok, why = pcall(st.profile, function() error(reason) end)
    assert.is_false(ok)
    assert.equal(reason, why)
    local f = st.fuse(function(x) return x * 2 end)
    f(st.ones(2))
    ok, why = pcall(st.profile, st.mm, st.ones(2), st.ones(2))
    assert.is_false(ok)
    assert.matches("mm", why)
  end)

  it("counts calls that fail", function()
    local p = st.profile(pcall, st.mm, st.ones(2, 3), st.ones(2, 3))
    assert.equal(1, calls(p)["aten::mm"])
  end)

  it("runs between two points", function()
    local x = st.ones(2)
    local p = st.profile.start()
    assert.equal("profile (running)", tostring(p))
    local thread = coroutine.wrap(function()
      local _ = x + 1
      coroutine.yield()
      return x:exp()
    end)
    thread()
    thread()
    assert.equal(p, p:stop())
    p:stop()
    x:neg()
    assert.same({["aten::add.Scalar"] = 1, ["aten::exp"] = 1}, calls(p))
  end)

  it("may begin and end inside of calls", function()
    local p
    local lib = st.library("aten", "IMPL")
    lib:impl("relu", "CPU", function(t)
      if p then p:stop() else p = st.profile.start() end
      return t:clamp {min = 0}
    end)
    st.relu(st.relu(st.ones(2)))
    lib:close()
    assert.same({["aten::clamp"] = 1, ["aten::relu"] = 1}, calls(p))
    for _, row in ipairs(p:rows()) do assert.is_true(row.self <= row.total) end
  end)

  it("may run inside another", function()
    local x = st.ones(2)
    local outer, inner = st.profile(function()
      local _ = x + x
      return (st.profile(x.exp, x))
    end)
    assert.same({["aten::exp"] = 1}, calls(inner))
    assert.same({["aten::exp"] = 1, ["aten::add.Tensor"] = 1}, calls(outer))
  end)

  it("is dropped while it runs", function()
    local x = st.ones(2)
    st.profile.start()
    collect()
    assert.equal(1, #st.trace(x.exp, x))
  end)

  it("keeps its rows when the timeline is full", function()
    local x = st.ones(2)
    local p = st.profile.start {events = 3}
    for _ = 1, 10 do x:neg() end
    p:stop()
    assert.equal(3, #events(p))
    assert.equal(10, calls(p)["aten::neg"])
    assert.matches("not in the timeline: 7 calls", p:table())
    p = st.profile.start {events = 0, shapes = false}
    x:neg()
    p:stop()
    assert.same({}, events(p))
    assert.same({}, p:rows {shapes = true})
    assert.equal(1, calls(p)["aten::neg"])
  end)

  it("has many rows", function()
    local p = st.profile(function()
      for n = 1, 1000 do st.empty(n):zero_() end
    end)
    local counts = calls(p)
    counts.collector = nil -- it may run
    assert.same({["aten::empty.memory_format"] = 1000, ["aten::zero_"] = 1000},
                counts)
    local seen = {}
    for _, row in ipairs(p:rows {shapes = true}) do
      local shapes = row.shapes or "collector"
      seen[shapes] = (seen[shapes] or 0) + row.calls
    end
    for n = 1, 1000 do assert.equal(1, seen["float32 {" .. n .. "}"]) end
  end)
end)

describe("The table of a profile", function()
  local p = st.profile(function()
    local x = st.ones(2, 3, 4, 5, 6):permute(5, 4, 3, 2, 1)
    for _ = 1, 3 do x = x + st.ones(6, 5, 4, 3, 2) end
    local q = st.ones(1, 2, 3, 4)
    return st.scaled_dot_product_attention(q, q, q), st.cat {x, x, x}
  end)

  it("fits in 80 columns", function()
    for _, text in ipairs {tostring(p), p:table {shapes = true, limit = 99}} do
      for line in text:gmatch "[^\n]+" do assert.is_true(#line <= 80, line) end
    end
  end)

  it("is sorted, and has at most so many rows", function()
    for _, key in ipairs {"self", "total", "calls", "bytes", "average",
                          "name"} do
      local names, rows = {}, by_name(p)
      local text = p:table {sort = key, limit = 4}
      for name in text:gmatch "\n([%w_.]+) [^\n]*%d" do
        if name ~= "and" then names[#names + 1] = "aten::" .. name end
      end
      assert.equal(4, #names)
      local function value(name)
        local row = rows[name]
        return key == "average" and row.total / row.calls or row[key]
      end
      for i = 2, #names do
        local a, b = value(names[i - 1]), value(names[i])
        if key == "name" then a, b = b, a end
        assert.is_true(a >= b, key)
      end
    end
    assert.matches("\nand %d+ more\n$", p:table {limit = 1})
    assert.is_nil(p:table {limit = 99}:find "more\n")
  end)
end)

describe("The hints of a profile", function()
  local function hints(fn, opts)
    local list, found = st.profile(fn):hints(opts or {share = 0}), {}
    for _, hint in ipairs(list) do found[hint.kind] = hint end
    return found
  end

  it("name copies because of the layout", function()
    local m = st.ones(3, 4)
    local hint = hints(function() return m:t():reshape(12) end).copy
    assert.same({"aten::reshape", 1}, {hint.operator, hint.calls})
    assert.matches("^reshape %(.*profile_spec.lua:%d+%) copies", hint.text)
    assert.is_nil(hints(function() return m:reshape(12), m:clone() end).copy)
  end)

  it("name conversions", function()
    local m = st.ones(3, 4)
    local hint = hints(function() return m:to "float64" end).conversion
    assert.matches("converts float32 to float64,\nonce", hint.text)
    assert.is_nil(hints(function() return m:to "float32" end).conversion)
  end)

  it("name loops over single elements", function()
    local function loop() for _ = 1, 20 do local _ = st.ones(1) + 1 end end
    local hint = hints(loop, {share = 0, calls = 20}).loop
    assert.same({"aten::add.Scalar", 20}, {hint.operator, hint.calls})
    assert.is_nil(hints(loop).loop)
    assert.is_nil(hints(function()
      for _ = 1, 20 do local _ = st.ones(2) + 1 end
    end, {share = 0, calls = 20}).loop)
  end)

  it("name a busy collector", function()
    assert.matches("^the collector runs", hints(fill).collector.text)
  end)

  it("leave out what takes little", function()
    local m = st.ones(3, 4)
    assert.same({}, hints(function() return m:t():reshape(12) end,
                          {share = 2}))
  end)
end)

describe("The timeline of a profile", function()
  it("is JSON of complete events", function()
    local name = os.tmpname()
    local f = st.fuse(function(x) return x * 2 + 1 end, {name = 'a "b"\\\n'})
    local x = st.ones(2, 3)
    f(x)
    local p = st.profile(function() return f(x), x:t():contiguous() end)
    p:save(name)
    local text = files.read(name)
    os.remove(name)
    assert.matches('"fused a \\"b\\"\\\\\\u000a"', text)
    local ok, json = pcall(require, "cjson")
    if not ok then return end
    local list = json.decode(text).traceEvents
    assert.equal(4, #list)
    for i, event in ipairs(events(p)) do
      local e = list[i]
      assert.same({event.name, "X", event.shapes},
                  {e.name, e.ph, e.args.shapes})
      near(event.start * 1e6, e.ts, 1e-3)
      near(event.time * 1e6, e.dur, 1e-3)
      assert.equal(event.bytes, e.args.bytes)
    end
  end)
end)

describe("A saved profile", function()
  it("replaces a file and does not write into it", function()
    local name = os.tmpname()
    files.write(name, "before")
    build.output(("ln '%s' '%s.link'"):format(name, name))
    st.profile(st.ones, 2):save(name)
    assert.matches("^{.*}\n$", files.read(name))
    assert.equal("before", files.read(name .. ".link"))
    os.remove(name)
    os.remove(name .. ".link")
  end)

  it("has all events, in pieces", function()
    local name = os.tmpname()
    local p = st.profile(function()
      for _ = 1, 5000 do st.ones(1) end
    end)
    p:save(name)
    local text, n = files.read(name), 0
    os.remove(name)
    for _ in text:gmatch '"name":"aten::ones"' do n = n + 1 end
    assert.equal(5000, n)
    local _, commas = text:gsub("},\n", "")
    local _, all = text:gsub('"ph"', "")
    assert.equal(all - 1, commas)
    assert.matches("}\n]}\n$", text)
  end)
end)

describe("A trace", function()
  it("has the shapes and the times of calls", function()
    local m = st.ones(2, 3):t()
    local list = st.trace(function()
      st.trace(m.exp, m)
      return m:contiguous()
    end)
    assert.equal("aten::contiguous", list[1].op)
    assert.equal("float32 {3, 2} strided", list[1].shapes)
    assert.equal("aten::clone", list[2].op)
    assert.equal("float32 {3, 2} strided", list[2].shapes)
    assert.is_true(list[2].start >= list[1].start)
    assert.is_true(list[2].start + list[2].time <=
                   list[1].start + list[1].time)
  end)

  it("has neither for redispatches", function()
    local x = st.ones(2):requires_grad_()
    local list = st.trace(x.exp, x)
    assert.matches("^redispatch", list[#list].kind)
    assert.is_nil(list[#list].time or list[#list].shapes)
    assert.equal("float32 {2}", list[1].shapes)
  end)
end)

describe("Misuse of a profile", function()
  local p = st.profile(st.ones, 2)
  local running

  for _, row in ipairs {
    {"profile: the first argument must be a function", function()
      st.profile(7)
    end},
    {"start: there is no option 'event'", function()
      st.profile.start {event = 3}
    end},
    {"start: 'events' must be a number", function()
      st.profile.start {events = "x"}
    end},
    {"table: 'sort' must be self, total, calls, bytes, average or name, got " ..
     "time", function()
      p:table {sort = "time"}
    end},
    {"table: 'limit' must be a number", function() p:table {limit = 0} end},
    {"hints: 'share' must be a number, got string", function()
      p:hints {share = "x"}
    end},
    {"save: the path must be a string, got nil", function() p:save() end},
    {"save: cannot write '/nowhere/x': ", function() p:save "/nowhere/x" end},
    {"table: 'limit' must be a number from 1 on, got nan", function()
      p:table {limit = 0 / 0}
    end},
    {"save: the path has a NUL in it", function() p:save "a\0b" end},
    {"a profile has no 'tabel': did you mean table?", function()
      p:tabel()
    end},
    {"st.profile has no 'stop', a method of what st.profile(fn) and " ..
     "st.profile.start() return: write p:stop()", function()
      st.profile.stop()
    end},
    {"st.profile has no 'begin': it has start", function()
      st.profile.begin()
    end},
    {"profile: stop: self must be a profile, got table", function()
      p.stop {}
    end},
    {"profile: rows: call stop first", function() running:rows() end},
  } do
    it("is reported: " .. row[1], function()
      running = st.profile.start()
      raises_here(row[1], row[2])
      running:stop()
    end)
  end
end)
