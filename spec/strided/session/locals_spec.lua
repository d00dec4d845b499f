--- The local variables of a session: what one chunk declares, the next ones
-- have, and the functions that captured a variable share it with them. Values
-- follow from the rules of Lua for one script.
-- axes: lua unsanitized

local files = require "spec.support.files"
local build = require "spec.support.build"
local complete = require("strided.session.complete").complete
local locals = require "strided.session.locals"
local session = require "strided.session"
local typed_session = require "spec.support.typed_session"

local process = typed_session.new()
teardown(process.remove)

--- What a session shows for lines from a pipe, errors among them.
local function piped(text)
  return build.shell(process.settings .. process.command .. " <'"
                     .. process.write("input", text) .. "' 2>&1")
end

local has_attributes = (loadstring or load) "local x <const> = 1" ~= nil

-- Lines that are typed, and what is shown.
local SESSIONS = {
  {"stay in the lines that follow", [[
local x = 1
x
local a, b = 2, 3; print(a + b)
x + a + b]], "1\n5\n6\n"},
  {"are no globals", [[
local x = 1
_G.x, rawget(_G, "x"), x
x = 2
x, _G.x]], "nil\tnil\t1\n2\tnil\n"},
  {"are shared with functions that captured them", [[
local n = 0
local function inc() n = n + 1 end
inc() inc()
n
n = 10; inc(); print(n)
local function dec() n = n - 1 end
dec() dec()
inc()
n]], "2\n11\n10\n"},
  {"are assigned in loops that LuaJIT compiles", [[
local sum = 0
for i = 1, 1000 do sum = sum + i end
sum
local function add(n) for i = 1, n do sum = sum + i end end
add(1000)
sum
local w = 0 error("oops", 0)
for i = 1, 1000 do w = w + i end
w]], "500500\n1001000\noops\n500500\n"},
  {"hide those of the same name, which functions keep", [[
local n = 1
local function get() return n end
local n = n + 1
n, get()
n = 5
n, get()]], "2\t1\n5\t1\n"},
  {"may be nil and hide a global", [[
g = 1
local g
g
g = 2
g, _G.g]], "nil\n2\t1\n"},
  {"are functions that call themselves", [[
local function fact(n)
  if n < 2 then return 1 end
  return n * fact(n - 1)
end
fact(5)]], "120\n"},
  {"are only those of the top level", [[
do local inner = 1 end
for i = 1, 2 do local inner = i end
(function() local inner = 3 end)()
local s = "local inner = 4" -- local inner = 5
local t = {[=[
local inner = 6
]=], local_ = 7}
inner, s, #t, t.local_]], "nil\tlocal inner = 4\t1\t7\n"},
  {"stay before a return and after comments", [[
local u = 6; return u * 7
local v = 8 -- eight
u, v]], "42\n6\t8\n"},
  {"stay after an error, with the values they had", [[
local a, b = 1, 2; b = 3 error("oops", 0) local c = 4
a, b, c
local _, d = 5, 6 error("oops", 0)
d]], "oops\n1\t3\tnil\noops\n6\n"},
  {"may be called arg, and others leave the global", [[
local x = 1
x, arg == rawget(_G, "arg")
local arg = 7
arg
local b, arg = 1, 8 error("oops", 0)
arg, b
local c, arg = {...}, 9 error("oops", 0)
arg
local function f() return arg end
f()]], "1\ttrue\n7\noops\n8\t1\noops\n9\n9\n"},
  {"leave _ to the last value", [[
local _, q = 1, 7
q
"last"
_]], "7\nlast\nlast\n"},
  {"have no other syntax errors, and the lines of the input", [[
local x = = 1
local x = 1
local function f()
  x.y.z = 1
end
f()]], {"input:1:", "near '='", "input:2:", "in 'f'", "in main chunk"}},
  {"are what ?name describes", [[
local function f(a) return a end
local n = 7
?n
?f]], {"number: 7", "input:1"}},
  {"are listed by %who with the globals of the session", [[
%who
local t = st.ones(2)
n = 3
local print = print
"a value"
%who]], "there are no variables\na value\n  n      number  3\n"
        .. "  print  function\n  t      Tensor  float32  {2}\n"},
  {"go with functions to the threads of a loader", [[
local st = require "strided"
local data, k, cannot = st.data, 3, setmetatable({}, {})
local function scale(x) return x * k end
local function again(n) if n == 0 then return k end return again(n - 1) + k end
local numbers = data.TensorDataset(st.arange(10))
local scaled = numbers:map(function(a) return scale(a) + st.zeros({}) end)
for a in data.DataLoader(scaled, {num_workers = 1, batch_size = 10}):iter() do
  print(("%d"):format(a:sum():item()))
end
local more = numbers:map(function(a) return a + again(2) end), cannot
for a in data.DataLoader(more, {num_workers = 1, batch_size = 10}):iter() do
  print(("%d"):format(a:sum():item()))
end]], "135\n135\n"},
  {"may be called quit", "local quit = 3\nquit\nexit\n1", "3\n"},
}
if has_attributes then
  SESSIONS[#SESSIONS + 1] = {"stay constant if they are", [[
local c <const> = 5
c
c = 6
local y <const> = st.ones(2)
y = 3
local function f() return c, y end
f()]], "5\ninput:1: attempt to assign to const variable 'c'\n"
       .. "input:1: attempt to assign to const variable 'y'\n"
       .. "5\ttensor([1., 1.])\n"}
  SESSIONS[#SESSIONS + 1] = {"end with their chunk if they are to be closed", [[
local z <close> = setmetatable({}, {__close = function() print "closed" end})
z]], "closed\nnil\n"}
end

describe("Local variables of a session", function()
  for _, row in ipairs(SESSIONS) do
    it(row[1], function()
      local text = piped(row[2])
      if type(row[3]) == "string" then return assert.equal(row[3], text) end
      local at = 1
      for _, expected in ipairs(row[3]) do
        local from, to = text:find(expected, at, true)
        assert.truthy(from, expected .. " in " .. text)
        at = to + 1
      end
    end)
  end

  it("may be more than the upvalues of a function", function()
    local lines, names = {}, {}
    for i = 1, 150 do
      names[i] = "v" .. i
      lines[i] = ("local v%d = %d"):format(i, i)
    end
    lines[#lines + 1] = "print(" .. table.concat(names, " + ") .. ")"
    for _, name in ipairs {"v1", "v99", "v100", "v150"} do
      lines[#lines + 1] = "function get() return " .. name .. " end"
      lines[#lines + 1] = "for _, x in ipairs {" .. table.concat(names, ", ")
        .. "} do " .. name .. " = 1000 end print(get())"
      lines[#lines + 1] = name
    end
    lines[#lines + 1] = "v140 = 0 for i = 1, 1000 do v140 = v140 + i end "
      .. "print(v140) return " .. table.concat(names, ", ") .. ";"
    local declared = {}
    for i = 1, 130 do declared[i] = "w" .. i end
    local list = table.concat(declared, ", ")
    lines[#lines + 1] = "local " .. list .. " = " .. list:gsub("w", "")
    lines[#lines + 1] = "w1 + w77 + w130"
    assert.equal("11325\n" .. ("1000\n"):rep(8) .. "500500\n208\n",
                 piped(table.concat(lines, "\n")))
  end)

  it("are completed", function()
    local variables = locals.new()
    local chunk = session.compile("local a_name, a_table = 1, {field = 2}",
                                  "=input", variables)
    chunk(function(...) return ... end)
    local env = variables:environment()
    assert.same({"a_name", "a_table"}, (complete("print(a_", env)))
    assert.same({"a_table.field"}, (complete("a_table.f", env)))
    assert.same({"string"}, (complete("strin", env)))
    assert.same({"a_name"}, (complete("?a_n", env)))
  end)

  it("are no variables of a file that the session runs", function()
    local path = process.write("file.lua", "local in_file = 1\nglobal = 2\n")
    assert.equal("nil\t2\n", piped(("dofile %q\nin_file, global"):format(path)))
    assert.truthy(files.read(path))
  end)
end)
