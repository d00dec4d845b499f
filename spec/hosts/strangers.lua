--- Sends scripts to a server and compares what comes of them.

local host = require "spec.hosts.host"
local scripts = require "spec.hosts.scripts"

--- Checks every example; returns their number.
return function(port, path)
  for _, row in ipairs(scripts.examples) do
    local answer = host.request(port, path, row[1])
    assert(answer and answer:find(row[2], 1, true),
           row[1] .. ": " .. tostring(answer))
  end
  return #scripts.examples
end
