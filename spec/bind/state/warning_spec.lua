--- What is allowed but seldom meant is said, to whom the script wants.
-- axes: lua lua5.2

local build = require "spec.support.build"
local collect = require "spec.support.collect"
local raises = require("spec.support.tensors").raises
local st = require "strided"

local function said_by(body)
  local texts = {}
  local before = st.warnings(function(text) texts[#texts + 1] = text end)
  local ok, why = pcall(body)
  st.warnings(before)
  assert(ok, why)
  return texts
end

describe("A warning", function()
  it("is given when out= has elements and another shape", function()
    local out = st.zeros(2)
    local texts = said_by(function() st.add(st.ones(3), 1, {out = out}) end)
    assert.equal(1, #texts)
    assert.truthy(texts[1]:find("[2]", 1, true))
    assert.truthy(texts[1]:find("[3]", 1, true))
    assert.same({2, 2, 2}, out:totable())
  end)

  for name, call in pairs {
    ["a pointwise operator"] = function(out) st.mul(st.ones(3), 2, out) end,
    ["a reduction"] = function(out) st.sum(st.ones(3, 2), 2, out) end,
    ["a composite"] = function(out) st.stack({st.ones(3), st.ones(3)}, out) end,
    ["a factory"] = function(out) st.zeros(3, out) end,
  } do
    it("comes from " .. name, function()
      assert.equal(1, #said_by(function() call {out = st.zeros(4)} end))
    end)

    it("does not, for an empty one or one that fits: " .. name, function()
      local fitting = st.empty(0)
      assert.same({}, said_by(function()
        call {out = fitting}
        call {out = fitting}
      end))
    end)
  end

  it("is not given for what was asked for", function()
    assert.same({}, said_by(function() st.zeros(4):resize_(2) end))
  end)

  it("goes to a function that may call operators", function()
    local sum
    local before = st.warnings(function() sum = st.ones(4):sum():item() end)
    local out = st.add(st.ones(3), 1, {out = st.zeros(2)})
    st.warnings(before)
    assert.equal(4, sum)
    assert.same({2, 2, 2}, out:totable())
  end)

  it("is kept from one that warns itself", function()
    local count = 0
    local before = st.warnings(function() count = count + 1 end)
    for _ = 1, 3 do st.add(st.ones(3), 1, {out = st.zeros(2)}) end
    assert.is_function(st.warnings(before))
    assert.equal(3, count)
  end)

  for name, call in pairs {
    ["a copy"] = function(out)
      return st.cat({st.ones(40), st.ones(40)}, out)
    end,
    ["an elementwise operator"] = function(out)
      return st.add(st.ones(80), 0, out)
    end,
    ["a scan"] = function(out) return st.cumprod(st.ones(80), 1, out) end,
  } do
    it("comes when the elements are written, so its function may change " ..
       "shapes: " .. name, function()
      local out, seen = st.zeros(2), nil
      local before = st.warnings(function()
        seen = out:sum():item()
        out:as_strided_({2}, {1}, 78) -- the end of its memory
      end)
      call {out = out}
      st.warnings(before)
      assert.equal(80, seen)
      assert.same({1, 1}, out:totable())
    end)
  end

  it("leaves a failure what it says", function()
    local count = 0
    local before = st.warnings(function()
      count = count + 1
      pcall(st.ones(2).view, st.ones(2), 3)
    end)
    local _, why = pcall(st.sort, st.ones(3), 1, {
      out = {st.zeros(2), st.zeros({2}, {dtype = "float32"})}
    })
    st.warnings(before)
    assert.equal(1, count)
    assert.matches("^[^\n]*sort: ", tostring(why))
  end)

  it("does not keep a function that is not in use any more", function()
    local weak = setmetatable({}, {__mode = "k"})
    local before = st.warnings(false)
    do
      local handler = function() return weak end
      weak[handler] = true
      st.warnings(handler)
    end
    st.warnings(false)
    collect()
    assert.is_nil(next(weak))
    st.warnings(before)
  end)

  it("is for a function or a boolean to take", function()
    raises("warnings: argument 'handler' must be a function, got number",
           st.warnings, 1)
    raises("warnings: argument 'handler' must be a function, got table",
           st.warnings, {})
  end)
end)

-- -- On stderr ---------------------------------------------------------------

local function stderr_of(script)
  return build.script("local st = require 'strided'\n" .. script)
end

local RESIZE = "st.add(st.ones(3), 1, {out = st.zeros(2)})\n"

describe("Without a function for it, a warning", function()
  it("is printed", function()
    assert.truthy(stderr_of(RESIZE):find("strided: warning: ", 1, true))
  end)

  it("is printed again after st.warnings(true)", function()
    local text = stderr_of("assert(st.warnings(false) == true)\n" .. RESIZE ..
                           "assert(st.warnings(true) == false)\n" .. RESIZE)
    assert.equal(1, select(2, text:gsub("strided: warning: ", "")))
  end)

  it("is silenced by false", function()
    assert.equal("", stderr_of("st.warnings(false)\n" .. RESIZE))
  end)

  it("of a function that fails tells so, and the call goes on", function()
    local text = stderr_of [[
      st.warnings(function() error("no", 0) end)
      print(st.add(st.ones(3), 1, {out = st.zeros(2)}):sum():item())
    ]]
    assert.truthy(text:find("failed: no", 1, true))
    assert.truthy(text:find("6", 1, true))
  end)

  it("says once that imaginary parts are lost", function()
    local text = stderr_of [[
      local z = st.ones(3):to "complex64"
      st.zeros(3):copy_(z)
      print(z:to "float32")
      st.zeros(3):copy_(z)
    ]]
    assert.equal(1, select(2, text:gsub("strided: warning: ", "")))
    assert.truthy(text:find("imaginary", 1, true))
  end)
end)
