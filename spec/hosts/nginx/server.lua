--- Starts nginx with its Lua module, to rank vectors or with another
-- configuration.

local host = require "spec.hosts.host"

local server = {WORKERS = 4}

local LIMIT = 900 -- seconds

local MODULE = host.folder .. "/hosts/nginx" -- unpacked there by ./dev hosts

--- Why it cannot be started, or nil.
function server.lacks()
  local why = host.lacks("nginx", "wrk")
  if not why and not host.read(MODULE .. "/version") then
    why = "the Lua module of nginx is not there; ./dev hosts unpacks it"
  end
  return why
end

--- The folders of the unpacked libraries; some packages have /lib.
local function library_path()
  local folders = {}
  local text = host.run(("ls -d '%s'/usr/lib/*-linux-* '%s'/lib/*-linux-*")
                        :format(MODULE, MODULE))
  for line in text:gmatch "[^\n]+" do
    if line:find("/", 1, true) == 1 then folders[#folders + 1] = line end
  end
  return table.concat(folders, ":")
end

--- Values for a configuration: the folders of modules and of Lua files, the
-- user, the port.
local function values_of(self)
  local is_root = host.run "id -u":match "^0\n"
  return {
    modules = MODULE .. "/usr/lib/nginx/modules",
    resty = MODULE .. "/usr/share/lua/5.1",
    user = is_root and "user root;" or "", port = self.port,
  }
end

--- Starts it in the scratch folder, and waits until its port answers.
-- write: gets values of this machine, returns the path of a configuration.
function server.run(write)
  local self = setmetatable({port = host.port(), folder = host.scratch()},
                            {__index = server})
  local values = values_of(self)
  local conf = write(values)
  self.command = ("LD_LIBRARY_PATH='%s' LUA_PATH='%s' LUA_CPATH='%s' exec "
    .. "nginx -p '%s/' -c '%s'"):format(library_path(), values.resty ..
    "/?.lua;" .. host.path, host.cpath, self.folder, conf)
  self.process = host.start(self.command, LIMIT)
  if not host.answers(self.port, 30) then
    error("nginx does not answer:\n" .. self.process:output() .. self:log())
  end
  return self
end

--- Starts it on the vectors in the scratch folder. options: init, Lua for the
-- master; more, directives.
function server.start(options)
  options = options or {}
  return server.run(function(values)
    values.path = host.path:gsub(";;$", "")
    values.cpath = host.cpath:gsub(";;$", "")
    values.vectors = host.scratch() .. "/vectors.npy"
    values.init, values.more = options.init or "", options.more or ""
    return host.write("nginx.conf", host.fill("nginx/nginx.conf", values))
  end)
end

--- Sends the master a signal by its own means: reload, quit, ...
function server:signal(name)
  local output, code = host.run(self.command .. " -s " .. name)
  assert(code == 0, output)
end

--- What it wrote into its log.
function server:log() return host.read(self.folder .. "/error.log") or "" end

--- How often a text occurs there.
function server:logged(text)
  return select(2, self:log():gsub(text:gsub("%p", "%%%0"), ""))
end

--- The process ids of its workers, and its master's.
function server:workers()
  local master = host.read(self.folder .. "/nginx.pid"):match "%d+"
  local text = host.run("ps -o pid=,args= --ppid " .. master)
  local pids = {}
  for pid in text:gmatch "(%d+) nginx: worker process\n" do
    pids[#pids + 1] = tonumber(pid)
  end
  return pids, tonumber(master)
end

return server
