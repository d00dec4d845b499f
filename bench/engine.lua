--- A worker process, which reads commands from a pipe and writes answers to a
-- named pipe.

local peers = require "bench.peers"

local engine = {}
engine.__index = engine

--- Starts a worker, whose field `about` describes the engine; or returns nil
-- and the reason.
function engine.start(command)
  local fifo = os.tmpname()
  os.remove(fifo)
  if not peers.run("mkfifo " .. peers.quote(fifo)) then
    return nil, "no named pipe"
  end
  local self = setmetatable({}, engine)
  self.commands = io.popen(command .. " >" .. peers.quote(fifo), "w")
  self.answers = io.open(fifo)
  os.remove(fifo)
  local words, reason = self:read()
  if not words then
    self:stop()
    return nil, self.is_dead and "it did not start" or reason
  end
  self.about = words[1]
  return self
end

--- Reads an answer; returns its words, or nil and the reason.
function engine:read()
  local text = self.answers:read "*l"
  if not text then
    self.is_dead = true
    return nil, "it died"
  end
  local words = {}
  for word in (text .. "\t"):gmatch "(.-)\t" do words[#words + 1] = word end
  local status = table.remove(words, 1)
  if status ~= "ok" then return nil, table.concat(words, " ") end
  return words
end

--- Sends a command; returns the words of the answer, or nil and the reason.
function engine:tell(...)
  if self.is_dead then return nil, "it died" end
  self.commands:write(table.concat({...}, "\t"), "\n")
  self.commands:flush()
  return self:read()
end

function engine:stop()
  self.commands:close()
  self.answers:close()
end

return engine
