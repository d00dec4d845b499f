--- A host of sandbox_memory_spec: a script keeps things of one kind until a
-- limit. Arguments: the kind, the limit in bytes. Prints how many, the bytes
-- that are charged, by how many the resident memory grew at most, what of that
-- is Lua's heap, and the error.

local collectgarbage, io, tonumber, tostring = collectgarbage, io, tonumber,
  tostring
local st = require "strided"

local what, limit = ...
local box = st.sandbox {memory = tonumber(limit), threads = 1,
                        namespaces = {"mine"}}

local x = st.ones(2)
local w = st.ones(1):requires_grad_()

local function define(i, method, ...)
  local lib = st.library("mine", "FRAGMENT")
  lib[method](lib, ("op%d(Tensor x) -> Tensor"):format(i), ...)
  return lib
end

local function same(t) return t end

local identity = st.autograd.Function {
  forward = function(ctx, t)
    ctx.kept = t
    return t * 2
  end,
  backward = function(_, g) return g end,
}

local ways = {
  tensors = function() return st.ones(1000) end,
  elements = function() return st.ones(1):resize_ {10000} end,
  views = function() return x:view(2) end,
  gradients = function()
    w = w + 0
    return w
  end,
  graphs = function() return st.ones(4):requires_grad_() * 2 end,
  contexts = function() return identity(st.ones(2):requires_grad_()) end,
  fused = function(i)
    local f = st.fuse(function(t) return (t * i + 1):tanh() end)
    f(x)
    return f
  end,
  capsules = function() return st.ones(2):to_dlpack() end,
  operators = function(i) return define(i, "def", same) end,
  elementwise = function(i)
    return define(i, "elementwise", "x * " .. i .. " + 1")
  end,
  derivatives = function(i)
    return define(i, "def", same):derivative("op" .. i, "x: grad")
  end,
  kernels = function(i)
    return define(i, "def"):impl("op" .. i, "CPU", same)
  end,
  profiles = function() return st.profile(st.exp, x) end,
  plans = function()
    return st.iterator {outputs = {st.ones(4)}, inputs = {st.ones(4)}}
  end,
  generators = function(i) return st.Generator(i) end,
  philox = function(i)
    return st.Generator {algorithm = "philox", seed = i}
  end,
  layers = function() return st.nn.Linear(8, 8) end,
  optimizers = function()
    local p = st.ones(10):requires_grad_()
    p:sum():backward()
    local o = st.optim.Adam {p}
    o:step()
    return o
  end,
  bytes = function() return st.frombuffer(("x"):rep(1000)) end,
  csv = function() return st.read_csv {text = "a,b\n1,2\n"} end,
  scopes = function() return st.scope(function() return st.ones(10) end) end,
}

--- The most resident memory so far, in bytes.
local function peak()
  for line in io.lines "/proc/self/status" do
    local kilobytes = line:match "^VmHWM:%s+(%d+)"
    if kilobytes then return tonumber(kilobytes) * 1024 end
  end
end

local before, n = peak(), 0
local ok, why = box:run(function()
  local kept = {}
  for i = 1, 1e6 do
    kept[i] = ways[what](i)
    n = i
  end
  return #kept
end)
local grown = peak() - before
io.write(("%.0f %.0f %.0f %.0f %s %s\n"):format(n, box:used(), grown,
  collectgarbage "count" * 1024, tostring(ok), tostring(why)))
