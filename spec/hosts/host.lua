--- Programs that bring their own Lua, started with the build that is tested.
--
-- A suite has a scratch folder and any number of programs. When it ends,
-- however it ends, they are killed and the folder is removed; and no program
-- outlives its time limit, should the suite itself be killed.

local build = require "spec.support.build"
local on_disk = require "spec.support.files"

local host = {}

local ROOT = build.output(("cd '%s' && pwd"):format(build.root)):match "[^\n]+"
local LIMIT = 120 -- seconds

--- For configuration files; processes find the same in their environment.
host.here = ROOT .. "/spec/hosts"
host.folder = build.output(("cd '%s' && pwd"):format(build.folder)):match
              "[^\n]+"
host.path = ("%s/lua/?.lua;%s/lua/?/init.lua;%s/?.lua;;"):format(
            ROOT, ROOT, ROOT)
host.cpath = host.folder .. "/lua/?.so;;"

--- How often something is repeated: n times in ./dev hosts and ./dev test all,
-- a quarter of that in ./dev test.
function host.times(n)
  return os.getenv "STRIDED_WHOLE" and n or math.ceil(n / 4)
end

local started, adopted, folder, files = {}, {}, nil, 0

-- -- Files -------------------------------------------------------------------

--- The scratch folder of this suite.
function host.scratch()
  if not folder then
    folder = build.output "mktemp -d":match "^/[^\n]+"
    assert(os.execute(("chmod 755 '%s'"):format(folder)))
  end
  return folder
end

local function next_file(suffix)
  files = files + 1
  return ("%s/%d.%s"):format(host.scratch(), files, suffix)
end

host.read = on_disk.read

--- Writes text under a name in the scratch folder: its path.
function host.write(name, text)
  local path = host.scratch() .. "/" .. name
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
  return path
end

--- A file beside this one, its ${name}s replaced.
function host.fill(name, values)
  return (assert(host.read(host.here .. "/" .. name)):gsub("%${([%w_]+)}",
          function(key) return tostring(assert(values[key], key)) end))
end

-- -- Waiting -----------------------------------------------------------------

--- Calls condition until it returns something true, which it returns, or
-- nil after so many seconds (10); at least once.
function host.eventually(condition, seconds)
  for _ = 0, (seconds or 10) * 50 do
    local value = condition()
    if value then return value end
    os.execute "sleep 0.02"
  end
end

-- -- Processes ---------------------------------------------------------------

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local function limited(command, seconds)
  return ("timeout -k 2 %d sh -c %s </dev/null"):format(
         seconds or LIMIT, quote(command))
end

--- Runs a shell command to its end, or for so many seconds (120): what it
-- printed, errors included, and its exit code (124: it took too long).
function host.run(command, seconds)
  local text = build.output(limited(command, seconds) ..
                            "; printf '\\n%d' $?")
  local output, code = text:match "^(.*)\n(%d+)$"
  return output, tonumber(code)
end

local process = {}
process.__index = process

--- Starts a shell command in the background, for so many seconds (120).
-- Begin it with exec, so that signals reach the program.
function host.start(command, seconds)
  local self = setmetatable({log = next_file "log", code = next_file "code"},
                            process)
  local pipe = assert(io.popen(("{ %s >'%s' 2>&1 & echo $!; wait $!; "
    .. "echo $? >'%s'; } 2>/dev/null &"):format(limited(command, seconds),
    self.log, self.code)))
  self.pid = assert(tonumber(pipe:read "*l"))
  pipe:close()
  started[#started + 1] = self
  return self
end

--- What it has printed so far.
function process:output() return host.read(self.log) or "" end

--- Its exit code once it has ended, or nil after so many seconds (10).
function process:wait(seconds)
  return host.eventually(function()
    return tonumber((host.read(self.code) or ""):match "^(%d+)\n")
  end, seconds)
end

--- Sends it and all that it started a signal (TERM).
function process:signal(name)
  os.execute(("kill -%s -%d 2>/dev/null"):format(name or "TERM", self.pid))
end

--- Signals it and waits: its exit code, or nil if it had to be killed.
function process:stop(name, seconds)
  self:signal(name)
  local code = self:wait(seconds)
  self:signal "KILL"
  return code
end

--- Takes charge of a process that left its group, such as a daemon.
function host.adopt(pid)
  host.start(("sleep %d; kill -KILL %d"):format(LIMIT, pid), LIMIT + 10)
  adopted[#adopted + 1] = pid
end

-- -- Servers -----------------------------------------------------------------

--- A port that nobody listens to.
function host.port()
  local socket = require "socket"
  local server = assert(socket.bind("127.0.0.1", 0))
  local _, port = server:getsockname()
  server:close()
  return tonumber(port)
end

--- Waits until a port answers: whether it did within so many seconds (10).
function host.answers(port, seconds)
  local socket = require "socket"
  return host.eventually(function()
    local client = socket.connect("127.0.0.1", port)
    return client and client:close()
  end, seconds) ~= nil
end

--- One HTTP request: the answer's body and status, or nil and why not.
function host.request(port, path, body)
  local http, ltn12 = require "socket.http", require "ltn12"
  http.TIMEOUT = 30
  local chunks = {}
  local ok, status = http.request {
    url = ("http://127.0.0.1:%d%s"):format(port, path),
    method = body and "POST" or "GET",
    headers = {["content-length"] = body and #body or 0},
    source = body and ltn12.source.string(body),
    sink = ltn12.sink.table(chunks),
  }
  if not ok then return nil, status end
  return table.concat(chunks), status
end

--- Resident memory of a process in kilobytes.
function host.resident(pid)
  local status = host.read(("/proc/%d/status"):format(pid))
  return status and tonumber(status:match "VmRSS:%s*(%d+)")
end

-- -- Suites ------------------------------------------------------------------

--- Why a suite cannot run: the first of the programs that is not in PATH.
function host.lacks(...)
  for _, program in ipairs {...} do
    local _, code = host.run("command -v " .. program, 10)
    if code ~= 0 then return program .. " is not in PATH" end
  end
end

--- A line of the host table: what ran, in what, and what came of it.
function host.report(...)
  io.stdout:write("\nhost: ", string.format(...), "\n")
end

--- Ends what was started and removes the scratch folder.
function host.clean()
  for _, p in ipairs(started) do
    p:signal "KILL"
    p:wait(5) -- until nothing of it writes any more
  end
  for _, pid in ipairs(adopted) do
    os.execute(("kill -KILL %d 2>/dev/null"):format(pid))
  end
  if folder then os.execute(("rm -rf '%s'"):format(folder)) end
  started, adopted, folder = {}, {}, nil
end

--- Describes a host, or leaves it pending with the reason why it cannot run.
function host.suite(name, reason, body)
  local env = getfenv(body)
  env.describe(name, function()
    if reason then
      env.it("runs here", function() env.pending(reason) end)
      return
    end
    env.teardown(host.clean)
    body()
  end)
end

return host
