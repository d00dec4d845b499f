--- An error of a debug hook, an interrupt, ends what runs also where the
-- library catches errors of a script's functions and goes on.
-- axes: lua unsanitized

local st = require "strided"

local debug, error, ipairs, pcall = debug, error, ipairs, pcall

--- Calls body() with a hook that raises once; returns what pcall does.
local function interrupted(body, fn)
  local function stop()
    debug.sethook()
    error("the hook's", 0)
  end
  local results = {pcall(function()
    body(function() debug.sethook(stop, "", 100) fn() end)
    for _ = 1, 100 do fn() end
  end)}
  debug.sethook()
  return results[1], results[2]
end

local function spin() for _ = 1, 1000 do end end

local WAYS = {
  {"a listener", function(fn)
    local is_open = false
    local listener = st.listen(function() if is_open then fn() end end)
    is_open = true
    local ok, why = pcall(function()
      st.library("hook_errors"):def("f(Tensor x) -> Tensor")
      spin()
    end)
    listener:close()
    if not ok then error(why, 0) end
  end},
  {"the function that gets warnings", function(fn)
    local before = st.warnings(fn)
    local ok, why = pcall(function()
      st.ones(2, {out = st.ones(3)})
      spin()
    end)
    st.warnings(before)
    if not ok then error(why, 0) end
  end},
}

describe("An error of a hook", function()
  setup(function() if rawget(_G, "jit") then jit.off() end end)
  teardown(function() if rawget(_G, "jit") then jit.on() end end)

  for _, way in ipairs(WAYS) do
    it("in " .. way[1] .. " ends the call", function()
      local ok, why = interrupted(way[2], spin)
      assert.is_false(ok)
      assert.equal("the hook's", why)
      assert.is_nil((debug.gethook()))
    end)

    it("is told from an error of " .. way[1], function()
      local before = st.warnings(false)
      local called = false
      way[2](function()
        called = true
        error "its own"
      end)
      st.warnings(before)
      assert.is_true(called)
    end)
  end
end)
