--- A signal between two chunks of a session is not lost: it interrupts the next
-- chunk or the next wait for input.
-- axes: lua lua5.2

local core = require "strided.core"
local st = require "strided"

local PER_COROUTINE = not rawget(_G, "jit")

-- Sends SIGINT to this process; $PPID is the parent of the shell.
local strike = require("spec.support.interrupt").strike

local function run(fn)
  return core.interruptible(PER_COROUTINE, fn, function(e) return e end)
end

local function spin() for _ = 1, 1e7 do end end

describe("A signal", function()
  setup(function() core.catch_interrupts(true) end)
  teardown(function() core.catch_interrupts(false) end)

  it("before a chunk interrupts it", function()
    strike()
    local ok, why = run(function()
      spin()
      return "ran"
    end)
    assert.is_false(ok)
    assert.equal("interrupted", why)
    ok, why = run(function() return "ran" end)
    assert.is_true(ok)
    assert.equal("ran", why)
  end)

  it("before a call that takes long interrupts that", function()
    strike()
    local ok, why = run(function()
      return st.ones(1):expand(2 ^ 40):sum()
    end)
    assert.is_false(ok)
    assert.matches("interrupted", tostring(why))
  end)

  it("before a chunk that handles it is one signal", function()
    strike()
    local ok, caught, done = run(function()
      local ran, why = pcall(spin)
      spin()
      return not ran and why, true
    end)
    if ok then -- the hook may fire before pcall
      assert.equal("interrupted", caught)
      assert.is_true(done)
    else
      assert.equal("interrupted", caught)
    end
    assert.is_true((run(spin)))
  end)

  it("between two chunks interrupts the second", function()
    assert.is_true((run(spin)))
    strike()
    local ok, why = run(spin)
    assert.is_false(ok)
    assert.equal("interrupted", why)
    assert.is_true((run(spin)))
  end)

  it("before a wait for input ends that", function()
    strike()
    assert.is_false(core.wait_input())
  end)

  it("during the printing of a value interrupts that", function()
    local show = require "strided.session.show"
    local value = setmetatable({}, {__tostring = function()
      strike()
      spin()
      return "text"
    end})
    for _, shown in ipairs {value, {1, value}} do
      local ok, why = run(function() return show.value(shown) end)
      assert.is_false(ok)
      assert.equal("interrupted", why)
    end
  end)

  it("interrupts a coroutine again after it has handled one", function()
    local caught = 0
    local ok, why = run(function()
      local co = coroutine.wrap(function()
        for _ = 1, 3 do
          local ran, text = pcall(function()
            strike()
            spin()
          end)
          if not ran and text == "interrupted" then caught = caught + 1 end
        end
      end)
      co()
    end)
    assert.is_true(ok, why)
    assert.equal(3, caught)
  end)
end)
