--- Functions that call themselves without end through strided: each way ends in
-- an error that Lua catches, and everything works afterwards.
-- axes: lua lua5.2
-- sampled: 3

local st = require "strided"
local collect = require "spec.support.collect"
local tensors = require "spec.support.tensors"
local with_library = require "spec.support.with_library"

local failure, live, raises = tensors.failure, tensors.live, tensors.raises
local nests_too_deep = tensors.nests_too_deep

local TOO_DEEP = "too deep: functions call each other through strided more " ..
                 "than 200 times"

local function leaf() return st.ones(2, {requires_grad = true}) end

-- -- Ways --------------------------------------------------------------------

-- A function that never ends; its errors start with the name.
local WAYS = {}

for _, name in ipairs {"scope", "no_grad", "enable_grad", "inference_mode",
                       "autocast", "below_autograd", "below_adinplaceorview",
                       "detect_anomaly", "trace"} do
  WAYS[name] = function()
    local function again() return st[name](again) end
    again()
  end
end

function WAYS.set_grad_enabled()
  local function again() return st.set_grad_enabled(true, again) end
  again()
end

function WAYS.include_keys()
  local function again() return st.include_keys("Lua", again) end
  again()
end

function WAYS.exclude_keys()
  local function again() return st.exclude_keys("Tracer", again) end
  again()
end

function WAYS.mode()
  local function call(op, _, ...) return op(...) end
  local function again() return st.dispatch_mode(call, again) end
  again()
end

function WAYS.observe()
  local function again() return st.observe({before = print}, again) end
  again()
end

function WAYS.fuse()
  local f
  f = st.fuse(function(x) return f(x) + 1 end)
  f(st.ones(2))
end

-- names in errors that differ from that of the way
local NAMES = {
  ["fuse of new functions"] = "fuse", ["fuse without tensors"] = "fuse",
  elementwise = "trace", reduction = "trace",
  checkpoint = "enable_grad", ["autograd.Function"] = "Twice",
  backward = "", hook = "",
  ["field of options"] = "grad_outputs",
  ["field of a format"] = "memory_format", ["field of a body"] = "observe",
  ["a coroutine in each"] = "scope", ["a fused coroutine in each"] = "fuse",
  ["all kinds by turns"] = "",
}

WAYS["fuse of new functions"] = function()
  local function again(x) return st.fuse(again)(x) end
  again(st.ones(2))
end

WAYS["fuse without tensors"] = function()
  local f
  f = st.fuse(function() return f() end)
  f()
end

function WAYS.elementwise()
  with_library("specnested", nil, function(lib)
    local function body(x)
      lib:elementwise("f(Tensor x) -> Tensor", body)
      return x
    end
    body(st.ones(1))
  end)
end

function WAYS.reduction()
  with_library("specnested", nil, function(lib)
    local function again(x)
      lib:reduction("r", {map = again,
                          combine = function(a, b) return a + b end})
      return x
    end
    again(st.ones(1))
  end)
end

function WAYS.library()
  local function again() st.library("specnested", again) end
  again()
end

WAYS["autograd.Function"] = function()
  local f
  f = st.autograd.Function {
    name = "Twice", forward = function(_, x) return f(x) end,
    backward = function(_, g) return g end,
  }
  f(leaf())
end

function WAYS.backward()
  local again
  local f = st.autograd.Function {
    name = "Again", forward = function(_, x) return x * 1 end,
    backward = function(_, g) again() return g end,
  }
  function again() st.enable_grad(function() f(leaf()):sum():backward() end) end
  again()
end

function WAYS.hook()
  local x = leaf()
  local function again()
    st.enable_grad(function() (x * 2):sum():backward() end)
  end
  x:register_hook(again)
  again()
end

function WAYS.checkpoint()
  local function again(x) return st.checkpoint(again, x) end
  again(leaf())
end

--- A table whose fields call a function.
local function asking(fn)
  return setmetatable({}, {__index = function() return fn() end})
end

WAYS["field of options"] = function()
  local function again() st.backward(leaf():sum(), asking(again)) end
  again()
end

WAYS["field of a format"] = function()
  local function again() return st.ones(1):is_contiguous(asking(again)) end
  again()
end

WAYS["field of a body"] = function()
  local function again() return st.observe(asking(again), print) end
  again()
end

WAYS["a coroutine in each"] = function()
  local function again()
    return coroutine.wrap(function() return st.scope(again) end)()
  end
  again()
end

WAYS["a fused coroutine in each"] = function()
  local f
  f = st.fuse(function() return coroutine.wrap(function() return f() end)() end)
  f()
end

WAYS["all kinds by turns"] = function()
  local names, n, again = {"scope", "no_grad", "detect_anomaly", "trace"}, 0,
                          nil
  local f = st.fuse(function() return again() end)
  function again()
    n = n + 1
    local name = names[n % 5 + 1]
    if name then return st[name](again) end
    return f()
  end
  again()
end

-- -- Each of them ------------------------------------------------------------

local function works()
  local x = leaf()
  st.scope(function() (x * 2):sum():backward() end)
  assert.same({2, 2}, x.grad:totable())
  assert.is_true(st.is_grad_enabled())
  assert.equal(3, st.fuse(function(a) return a + 1 end)(x):detach()
               :sum():item() - 1)
  assert.equal(7, st.dispatch_mode(function(op, _, ...) return op(...) end,
                          function() return 7 end))
end

describe("A function that calls itself without end", function()
  local before
  setup(function() before = live() end)
  teardown(function()
    collect()
    assert.equal(before, live())
  end)
  -- Lua 5.4 drops what it collects where its own limit of C calls is near.
  before_each(function() collectgarbage "stop" end)
  after_each(function() collectgarbage "restart" end)

  for way, go in pairs(WAYS) do
    local name = NAMES[way] or way
    local text = name == "" and TOO_DEEP or name .. ": " .. TOO_DEEP

    it("by way of " .. way .. " is an error, and everything works", function()
      for _ = 1, 3 do nests_too_deep(text, go) end
      works()
    end)

    it("by way of " .. way .. " is one in a coroutine, too", function()
      nests_too_deep(text, coroutine.wrap(go))
      works()
    end)
  end

  it("may go 199 deep", function()
    if not rawget(_G, "jit") then return end -- the others stop before
    local n = 0
    local function again()
      n = n + 1
      return n < 200 and st.scope(again) or n
    end
    assert.equal(200, again())
  end)

  it("counts no call that has ended in an error", function()
    local f = st.fuse(function() error "so it ends" end)
    local wrong = setmetatable({}, {__index = function() error "so, too" end})
    for _ = 1, 1000 do
      raises("so it ends", f)
      assert.is_nil(failure(st.scope, error))
      raises("so, too", st.observe, wrong, print)
      raises("so, too", st.backward, leaf():sum(), wrong)
    end
    works()
  end)
end)
