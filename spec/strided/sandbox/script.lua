--- What scripts in a sandbox can do.

local st = require "strided"

local box = st.sandbox {memory = 2^26, seconds = 60, threads = 1,
                        namespaces = {"mine"}}

local function script()
  -- operators, methods, views
  local x = st.arange(6):view(2, 3):to "float32"
  assert((x * 2 + 1)["1, 2"]:item() == 3)
  assert(x:sum {dim = 1}.shape[1] == 3)
  assert(st.ops.aten.add(x, x):equal(x * 2))
  assert(st.is_tensor(st.tensor {1, 2}))
  assert(tostring(st.tensor {1, 2}) == "tensor([1, 2])")

  -- gradients, networks
  local w = st.tensor {1, 2, 3.5}:requires_grad_()
  local seen
  w:register_hook(function(g) seen = g end)
  ;(w * w):sum():backward()
  assert(seen:equal(w.grad))
  assert(st.gradcheck(function(t) return t * t end,
                      st.ones({2}, {dtype = "float64"}):requires_grad_()))
  st.checkpoint(function(t) return t * t end, w):sum():backward()
  local net = st.nn.Sequential {st.nn.Linear(2, 4), st.nn.Tanh(),
                                st.nn.Linear(4, 1)}
  local optimizer = st.optim.AdamW(net:parameters(), {lr = 0.1})
  st.nn.MSELoss()(net(st.ones(3, 2)), st.zeros(3, 1)):backward()
  optimizer:step()

  -- bytes and capsules within this state, random numbers
  assert(st.frombuffer("\1\0\2\0", {dtype = "int16"})[2] == 2)
  assert(st.from_dlpack(x:to_dlpack()):equal(x))
  local g = st.Generator(1)
  g:manual_seed(2)
  assert(st.rand({2}, {generator = g}):equal(
         st.rand({2}, {generator = st.Generator(2)})))

  -- operators of its own, fused functions, modes
  local lib = st.library "mine"
  lib:def("twice(Tensor x) -> Tensor", function(t) return t * 2 end)
  lib:elementwise("ramp(Tensor x) -> Tensor", "clamp(x, 0, 1) * 2")
  assert(st.ops.mine.twice(x):equal(x + x))
  assert(st.ops.mine.ramp(x):sum():item() == 10)
  local f = st.fuse(function(t) return t * 2 + 1 end)
  assert(f(x):equal(f(x)))
  local calls = 0
  st.dispatch_mode(function(op, keys, ...)
    calls = calls + 1
    return op:redispatch(keys, ...)
  end, function() return x + 1 end)
  assert(calls == 1)

  -- help, layout, memory, plans, printing
  assert(st.help("add"):find "add")
  assert(st.help(st.add) == st.help "add")
  assert(st.help "linalg":find "linalg.inv")
  assert(st.help "nn.Linear":find "in_features")
  assert(st.help(st.nn.Linear):find "in_features")
  assert(st.help "indexing":find "negative indices")
  assert(st.apropos "inverse":find "cholesky_inverse")
  assert(st.help():find "topics")
  assert(st.help "sofmax":find "did you mean softmax")
  assert(st.help(function() end):find "^function at")
  assert(st.timeit(st.neg, x).best > 0)
  assert(tostring(st.layout(x)):find "%S")
  local fig = st.plot(x:view(-1)):hist(x)
  assert(tostring(fig):find "┤" and fig:svg():find "</svg>")
  assert(st.plot(x, {kind = "heatmap"}):svg():find "<path fill")
  local written, because = pcall(fig.save, fig, "plot.svg")
  assert(not written and because:find "plot: save: not available in a sandbox")
  local steps = 0
  for i in st.progress(3, "steps") do steps = steps + i end
  assert(steps == 6)
  assert(st.memory().tensors.count > 0 and st.memory.stats().live > 0)
  assert(st.iterator {outputs = {x}, inputs = {x}}.numel)
  assert(st.explain("relu", x):find "CPU")
  st.set_printoptions {precision = 2}
  assert(st.scope(function() return x + 1 end):equal(x + 1))
  local p = st.profile(st.exp, x)
  assert(p:rows()[1].name == "aten::exp" and tostring(p):find "exp")
  assert(#p:hints() == 0 and p.stop(p) == p)
  local saved, why = pcall(p.save, p, "trace.json")
  assert(not saved and why:find "profile: save: not available in a sandbox")
  return "done"
end

print((select(2, box:run(script))))
