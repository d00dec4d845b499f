-- A call of every operator, on the stack that the program stack gives: prints
-- the number of calls and the most bytes of the stack that one used.

local st = require "strided"
local calls = require "spec.fuzz.calls"

st.warnings(false)
local n, most, of = 0, 0, ""

local function measure(name, fn)
  paint()                             -- luacheck: globals paint
  pcall(fn)
  n = n + 1
  local bytes = used()                -- luacheck: globals used
  if bytes > most then most, of = bytes, name end
end

for _, call in ipairs(calls.all()) do
  if call.make then measure(call.name, call.make().run) end
end

-- Loops whose blocks are the largest, with several threads, too.
for _, threads in ipairs {1, 2} do
  st.set_num_threads(threads)
  for _, dtype in ipairs {"float32", "float64", "int64", "float16"} do
    local long = st.ones({100000}, {dtype = dtype})
    local square = st.ones({300, 300}, {dtype = dtype})
    for _, name in ipairs {"sum", "prod", "amax", "var", "argmax", "norm"} do
      for _, t in ipairs {long, square, square:t()} do
        measure(name, function() return st[name](t) end)
        measure(name, function() return st[name](t, {dim = 1}) end)
      end
    end
    measure("matmul", function() return square:matmul(square:t()) end)
    measure("copy", function() return square:t():contiguous():to "float64" end)
  end
  local x = st.ones({100000}, {requires_grad = true})
  measure("backward", function() (x * x):sum():backward() end)
  assert(x.grad[1] == 2)
  local square = st.ones({300, 300}, {requires_grad = true})
  measure("backward of var", function()
    square:var {dim = 1}:sum():backward()
  end)
end

-- What calls itself without end is an error here, too.
local function again() return st.scope(again) end
local ok, why = pcall(again)
assert(not ok and (why:find("too deep", 1, true) or
                   why:find("C stack overflow", 1, true)), why)
assert(st.scope(function() return 7 end) == 7)

io.write(n > 1000 and "all operators" or n, ", most in ",
         most <= 48 * 1024 and "48 KB" or of .. ": " .. most, "\n")
