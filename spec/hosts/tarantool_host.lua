--- Tarantool computes in fibers, which have C stacks of their own.

local host = require "spec.hosts.host"

-- what spec/hosts/tarantool/fibers.lua prints
local TOPICS = {
  "1000 computations in 20 fibers",
  "a yield inside a Lua kernel", "a yield inside a mode's body",
  "a yield inside a mode", "a yield inside a body without gradients",
  "a yield inside a body with excluded keys", "a yield inside an observer",
  "a yield inside a traced body", "a yield inside a scope",
  "a tensor beside a scope", "a fiber that is cancelled inside",
  "nothing left: 0",
}

host.suite("Tarantool", host.lacks "tarantool", function()
  it("computes in fibers; yields where there must be none are harmless",
     function()
    local output, code = host.run("cd '" .. host.scratch() .. "' && " ..
      "exec tarantool '" .. host.here .. "/tarantool/fibers.lua'", 60)
    for _, topic in ipairs(TOPICS) do
      assert.truthy(output:find(topic .. "\n", 1, true), output)
    end
    assert.equal(0, code, output)
    host.report("Tarantool %s: 1000 computations in 20 fibers, yields in "
                .. "kernels, modes, guards, observers, traces and scopes",
                host.run "tarantool --version":match "Tarantool (%S+)")
  end)
end)
