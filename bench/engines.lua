--- The worker processes of the engines: one of each, and of NumPy one for each
-- number of threads, since its BLAS asks for the number when it is loaded.

local engine = require "bench.engine"
local peers = require "bench.peers"
local rows = require "bench.rows"

local assert, ipairs, pairs, print = assert, ipairs, pairs, print
local setmetatable = setmetatable

local WORKERS = assert(package.searchpath("bench.engines", package.path))
                :match "^(.*)/[^/]*$" .. "/workers/"
local IN_LUA = {strided = true, eager = true, kernels = true}
local IN_NUMPY = {numpy = true, numexpr = true, scipy = true, ducc0 = true,
                  pyfftw = true}

local BLAS_THREADS = "env OPENBLAS_NUM_THREADS=%d MKL_NUM_THREADS=%d "

local engines = {}
engines.__index = engines

--- Starts a process for an engine; prints the reason if that fails.
local function start(name, program, script, before)
  local worker, reason = engine.start(
    (before or "") .. peers.line {program, WORKERS .. script, name})
  if not worker then print(("no figures of %s: %s"):format(name, reason)) end
  return worker
end

--- The processes of the engines that the cases need; none is started yet.
function engines.new(cases)
  local self = setmetatable({names = {}, started = {}}, engines)
  local is_used, needs_python, python, reason = {}, false, nil, nil
  for _, case in ipairs(cases) do
    for _, name in ipairs(case.engines) do
      is_used[name] = true
      needs_python = needs_python or not IN_LUA[name]
    end
  end
  if needs_python then python, reason = peers.python(is_used) end
  if needs_python and not python then
    print("no figures of PyTorch and NumPy: " .. reason)
  end
  for _, name in ipairs(rows.engines) do
    if is_used[name] and (python or IN_LUA[name]) then
      self.names[#self.names + 1] = name
    end
  end
  self.python = python
  return self
end

--- The process of a peer, started if there is none.
function engines:peer(name, threads)
  local key, before = name, nil
  if IN_NUMPY[name] then
    key, before = name .. threads, BLAS_THREADS:format(threads, threads)
  end
  if self.started[key] == nil then
    self.started[key] = start(name, self.python, "peers.py", before) or false
  end
  return self.started[key] or nil
end

--- The processes {name = process} with a number of threads, strided's new ones,
-- so that the memory of one case does not affect the next.
function engines:ready(threads)
  local workers = {}
  for _, name in ipairs(self.names) do
    if IN_LUA[name] then
      if self.started[name] then self.started[name]:stop() end
      self.started[name] = start(name, "luajit", "strided.lua") or false
    end
    local worker
    if IN_LUA[name] then worker = self.started[name]
    else worker = self:peer(name, threads) end
    if worker then
      workers[name] = worker
      worker:tell("threads", threads)
    end
  end
  return workers
end

--- The processor and the versions of the engines.
function engines.about(workers)
  local parts = {peers.processor()}
  for _, name in ipairs(rows.engines) do
    local answer = workers[name] and workers[name].about
    if answer ~= parts[#parts] then parts[#parts + 1] = answer end
  end
  return table.concat(parts, "; ")
end

function engines:stop()
  for _, worker in pairs(self.started) do
    if worker then worker:stop() end
  end
end

return engines
