--- Services for HAProxy.

local core = core -- luacheck: ignore

local st = require "strided"
local vectors = require "spec.hosts.rank.vectors"

local service = {}

-- Which answer is whose: a request has a name, and so has its answer.
local function answer(applet, status, text)
  local name = applet.headers.name
  applet:set_status(status)
  if name then applet:add_header("Name", name[0]) end
  applet:add_header("Content-Length", tostring(#text))
  applet:start_response()
  applet:send(text)
end

--- Ranks vectors, under a name.
function service.rank(name)
  vectors.load(os.getenv "VECTORS")
  core.register_service(name, "http", function(applet)
    local query = applet:receive()
    if #query ~= vectors.size() then return answer(applet, 400, "") end
    answer(applet, 200, vectors.top(query, 10))
  end)
end

--- Tells how many threads compute, here and when the vectors were loaded.
function service.who(name)
  core.register_service(name, "http", function(applet)
    answer(applet, 200, ("%d %d"):format(vectors.threads()))
  end)
end

--- Sums up inside a mode, for longer than HAProxy lets Lua run at a time.
function service.modes(name)
  core.register_service(name, "http", function(applet)
    local seen = 0
    local sum = st.dispatch_mode(function(op, keys, ...)
      seen = seen + 1
      return op:redispatch(keys, ...)
    end, function()
      local t, n = st.zeros(1, {dtype = "float64"}), 0
      for i = 1, 200 do
        for j = 1, 1000 do n = n + j % 2 end
        t:add_(i)
      end
      return t:sum():item() + n
    end)
    answer(applet, 200, ("%d %d"):format(sum, seen > 200 and 200 or seen))
  end)
end

--- Runs scripts of strangers, in a sandbox.
function service.script(name)
  local scripts = require "spec.hosts.scripts"
  scripts.open()
  core.register_service(name, "http", function(applet)
    local ok, text = scripts.run(applet:receive())
    answer(applet, ok and 200 or 400, text)
  end)
end

return service
