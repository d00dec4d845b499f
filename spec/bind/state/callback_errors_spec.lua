--- Errors, yields, interrupts and lack of memory at places where the engine
-- waits for Lua: they arrive, and the engine is as it was before.
-- axes: lua ffi
-- sampled: 3

local build = require "spec.support.build"
local collect = require "spec.support.collect"
local core = require "strided.core"
local send_interrupt = require("spec.support.interrupt").strike
local st = require "strided"
local live = require("spec.support.tensors").kinds
local with_library = require "spec.support.with_library"

-- -- Places ------------------------------------------------------------------

-- Each runs act somewhere; close it or not, its registrations end with it.

--- A kernel of an operator of its own, for a key.
local function own_kernel(key)
  return function(act)
    return with_library("awkward", "DEF", function(lib)
      lib:def "f(Tensor a, Tensor[] b, *, float c=1.0) -> (Tensor, Tensor)"
      lib:impl("f", key, function(a)
        act()
        return a, a
      end)
      local t = st.ones(3)
      return st.ops.awkward.f(t, {t, t})
    end)
  end
end

--- A kernel in the place of one of aten's, for a call that comes upon it.
local function replaced(name, call)
  return function(act)
    local other = st.ones({1}, {dtype = "int8"})
    return with_library("aten", "IMPL", function(lib)
      lib:impl(name, "CPU", function()
        act()
        return other
      end)
      return call()
    end)
  end
end

local function listened(act)
  local ear = st.listen(function() act() end)
  local ok, why = pcall(with_library, "heard", "DEF", function(lib)
    lib:def "f(Tensor a) -> Tensor"
  end)
  ear:close()
  if not ok then error(why, 0) end
end

local function observed(which)
  return function(act)
    local see = {values = true, [which] = function() act() end}
    return st.observe(see, function() return st.ones(2):sum() end)
  end
end

local function with_plan(body)
  return function(act)
    local a = st.ones(4, 4)
    local plan = st.iterator {outputs = {false}, inputs = {a, a:t()}}
    return body(plan, act)
  end
end

local PLACES = {
  ["a kernel"] = own_kernel "CPU",
  ["a composite kernel"] = own_kernel "CompositeImplicitAutograd",
  ["a kernel under a factory"] = replaced("empty.memory_format", function()
    return st.arange(0, 5)
  end),
  ["a kernel under a composite"] = replaced("cat", function()
    return st.hstack {st.ones(2), st.ones(2)}
  end),
  ["a kernel under a subscript"] = replaced("select.int", function()
    return st.ones(2, 3, 4)["1, 1, 1"]
  end),
  ["a kernel under an assignment"] = replaced("fill_.Scalar", function()
    st.ones(2, 3)["1"] = 5
  end),
  ["a fallback"] = function(act)
    return with_library("_", "IMPL", function(lib)
      local t = st.ones(2)
      lib:fallback("Tracer", function(op, keys, ...)
        st.exclude_keys(st.keyset "Tracer", act)
        return op:redispatch(keys, ...)
      end)
      return st.include_keys(st.keyset "Tracer", function() return t:neg() end)
    end)
  end,
  ["a mode"] = function(act)
    return st.dispatch_mode(function(op, keys, ...)
      act()
      return op:redispatch(keys, ...)
    end, function() return st.ones(2):neg() end)
  end,
  ["a mode in a mode"] = function(act)
    local function pass(op, keys, ...) return op:redispatch(keys, ...) end
    return st.dispatch_mode(pass, function()
      return st.dispatch_mode(function(op, keys, ...)
        act()
        return pass(op, keys, ...)
      end, function() return st.ones(2):neg() end)
    end)
  end,
  ["the body of a mode"] = function(act)
    return st.dispatch_mode(function(op, keys, ...)
      return op:redispatch(keys, ...)
    end,
                   act)
  end,
  ["an observer before"] = observed "before",
  ["an observer after"] = observed "after",
  ["the body of a trace"] = function(act) return st.trace(act) end,
  ["a body without gradients"] = function(act) return st.no_grad(act) end,
  ["a body with gradients"] = function(act) return st.enable_grad(act) end,
  ["a body of inference"] = function(act) return st.inference_mode(act) end,
  ["a body below autograd"] = function(act) return st.below_autograd(act) end,
  ["a body with keys"] = function(act)
    return st.include_keys(st.keyset "ADInplaceOrView", act)
  end,
  ["a body without keys"] = function(act)
    return st.exclude_keys(st.keyset "AutogradCPU", act)
  end,
  ["a scope"] = function(act)
    return st.scope(function()
      local t = st.ones(3)
      act()
      return t:sum()
    end)
  end,
  ["a transaction of a library"] = function(act)
    return st.library("awkward", function(lib)
      lib:def "g(Tensor a) -> Tensor"
      act()
    end)
  end,
  ["a listener"] = listened,
  ["the loop of a plan"] = with_plan(function(plan, act)
    plan:run(function() act() end)
  end),
  ["a handler of errors"] = function(act)
    xpcall(function()
      return st.add(st.ones(2), st.ones(3))
    end, function() act() end)
  end,
  ["a kernel in a mode in a body"] = function(act)
    return st.no_grad(function()
      return st.dispatch_mode(function(op, keys, ...)
        return op:redispatch(keys, ...)
      end, own_kernel "CPU", act)
    end)
  end,
  ["a finaliser"] = function(act)
    local fn = newproxy and newproxy(true) or setmetatable({}, {__gc = act})
    getmetatable(fn).__gc = act
    fn = nil -- luacheck: ignore 311
    for _ = 1, 3 do collectgarbage() end
  end,
}

-- Whose errors end elsewhere than with the call.
local KEPT = {
  ["a listener"] = true, ["a finaliser"] = true,
  ["a handler of errors"] = true,
}

-- -- Acts --------------------------------------------------------------------

local OBJECT = {}
local TWO, THREE = st.ones(2), st.ones(3)

local function interrupt()
  debug.sethook(function()
    debug.sethook()
    error("interrupted", 0)
  end, "", 1)
  return TWO:add(1)
end

-- Wide frames, of one size: newer Luas have room for very many small ones.
local function forever(n)
  local a, b, c, d, e, f, g, h = n, n, n, n, n, n, n, n
  return 1 + forever(a + 1, b, c, d, e, f, g, h)
end

-- What is garbage already goes before. Lua may collect where its stack is
-- full, and the call of a finaliser fails there: 5.3 raises that and gives one
-- object up, 5.4 warns and gives up all that are due, whoever made them.
local function overflow()
  collect()
  return forever(1)
end

-- act, what the error says or is
local ACTS = {
  ["an error"] = {function() error("on purpose", 0) end, "on purpose"},
  ["an error with a place"] = {function() error "on purpose" end,
                               "callback_errors_spec.lua:%d+: on purpose"},
  ["an error that is a table"] = {function() error(OBJECT) end, OBJECT},
  ["an error of the engine"] = {function()
    return st.add(TWO, THREE)
  end, "%[2%]"},
  ["a yield"] = {function() coroutine.yield(1) end, "yield"},
  ["an interrupt"] = {interrupt, "interrupted"},
  ["a stack overflow"] = {overflow, "overflow"},
  ["lack of memory"] = {function()
    st.memory_fail_at(1)
    return TWO:neg()
  end, "out of memory"},
}

-- This one is all Lua, so a coroutine may leave it, and come back.
local YIELDS = {["the loop of a plan"] = true}

-- -- The engine's state ------------------------------------------------------

local function state()
  return {
    included = tostring(st.included_keys()),
    excluded = tostring(st.excluded_keys()), grad = st.is_grad_enabled(),
    inference = st.is_inference_mode_enabled(),
    sum = st.arange(1, 5):sum():item(), dangling = #st.dangling_impls(),
  }
end

--- Modes, observers and warnings work, and no old ones see anything.
local function check_watchers()
  local seen, texts = {}, 0
  st.dispatch_mode(function(op, keys, ...)
    seen[#seen + 1] = op:name()
    return op:redispatch(keys, ...)
  end, function() return st.ones(2):neg() end)
  assert.same({"aten::ones", "aten::neg"}, seen)
  assert.is_true(#st.trace(st.neg, st.ones(2)) > 0)
  local before = st.warnings(function() texts = texts + 1 end)
  st.add(st.ones(3), 1, {out = st.zeros(2)})
  st.warnings(before)
  assert.equal(1, texts)
end

local function run(place, act)
  local ok, why = pcall(place, act)
  st.memory_fail_at(0)
  debug.sethook()
  return ok, why
end

-- ----------------------------------------------------------------------------

for where, place in pairs(PLACES) do
  describe("In " .. where, function()
    local before, alive

    setup(function()
      pcall(place, function() end) -- what is made once and kept is made here
      before, alive = state(), live()
    end)

    for what, row in pairs(ACTS) do
      local act, want = row[1], row[2]

      --- Runs it, on a coroutine or not, and looks around.
      local function try(runner)
        if what == "a yield" and YIELDS[where] then return end
        local reached = false
        local ok, why = runner(place, function()
          reached = true
          return act()
        end)
        assert.is_true(reached)
        if not KEPT[where] then
          assert.is_false(ok)
          if want == OBJECT then assert.equal(OBJECT, why)
          else assert.matches(want, tostring(why)) end
        end
        ok, why = nil, nil -- luacheck: ignore 311
        assert.same(before, state())
        check_watchers()
      end

      it(what .. " leaves the engine as it was", function()
        try(run)
        try(function(...)
          local co = coroutine.create(run)
          local alright, ok, why = coroutine.resume(co, ...)
          debug.sethook(co)
          assert.is_true(alright, ok)
          assert.equal("dead", coroutine.status(co))
          return ok, why
        end)
      end)
    end

    it("nothing is left behind", function() assert.same(alive, live()) end)
  end)
end

-- What such a function does wrong is printed, so it is another process's.
local WARNED = [[
local st = require "strided"
local live = require("spec.support.tensors").kinds
local included = tostring(st.included_keys())
local function forever(n) return 1 + forever(n + 1) end
for _, act in ipairs {
  function() error("on purpose", 0) end, function() error {} end,
  function() coroutine.yield() end, function() return forever(1) end,
  function() return st.add(st.ones(2), st.ones(3)) end,
  function() st.memory_fail_at(1) return st.ones(4) end,
} do
  st.warnings(act)
  local t = st.add(st.ones(3), 1, {out = st.zeros(2)})
  st.memory_fail_at(0)
  assert(t:sum():item() == 6)
  coroutine.wrap(function() st.add(st.ones(3), 1, {out = st.zeros(2)}) end)()
  st.memory_fail_at(0)
  assert(tostring(st.included_keys()) == included)
end
st.warnings(false)
io.stderr:write "as before\n"
]]

describe("In a warning handler", function()
  it("anything leaves the engine as it was", function()
    local text = build.script(WARNED)
    assert.matches("as before\n$", text)
    assert.equal(12, select(2, text:gsub("warning handler failed", "")))
  end)
end)

-- LuaJIT calls such a handler again and again, each time deeper.
local HANDLED = [[
local st = require "strided"
local function handler() return st.ones(2) end
st.dispatch_mode(function() error "x" end, function()
  assert(not xpcall(handler, handler))
end)
print(st.ones(2):sum():item())
]]

describe("In a handler of errors that fails", function()
  it("the call ends", function()
    assert.matches("^2%.?0?\n$", build.script(HANDLED))
  end)
end)

-- A call of a leaf allocates before the dispatcher is asked; in a new process
-- many of these allocations collect.
local FREED = [[
local st = require "strided"
local nfreed = 0
for i = 1, 10000 do
  if nfreed == 20 then break end
  local x = st.ones(3):requires_grad_()
  local function free() x:free() end
  if newproxy then getmetatable(newproxy(true)).__gc = free
  else setmetatable({}, {__gc = free}) end
  for k = 1, 50 do
    local _ = ("x"):rep((i * 37 + k * 61) % 1009) -- so that the steps wander
    if not pcall(x.add, x, x) then
      nfreed = nfreed + 1
      break
    end
  end
end
print(nfreed > 0)
]]

describe("In a finalizer", function()
  it("an argument of the call that collects may be freed", function()
    assert.matches("^true\n$", build.script(FREED))
  end)
end)

describe("Ctrl-C", function()
  --- Sends this process the signal and waits for it.
  local function strike()
    send_interrupt()
    for _ = 1, 1e7 do end
  end

  setup(function() core.catch_interrupts(true) end)
  teardown(function() core.catch_interrupts(false) end)

  for _, where in ipairs {
    "a kernel", "a kernel under a factory", "a mode", "an observer after",
    "a body without gradients", "a transaction of a library",
    "the loop of a plan", "a kernel in a mode in a body",
  } do
    it("stops " .. where, function()
      local before = state()
      local ok, why = core.interruptible(not rawget(_G, "jit"), function()
        return PLACES[where](strike)
      end, function(e) return e end)
      assert.is_false(ok)
      assert.matches("interrupted", tostring(why))
      assert.same(before, state())
      check_watchers()
    end)
  end
end)
