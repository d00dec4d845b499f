--- What to write instead: for Python typed into Lua, and for errors of Lua that
-- do not say what is wrong with a tensor.
--
-- @module strided.session.advice

local core = require "strided.core"
core.check_taken("session", "strided.session.advice")
local KEYWORDS = require("strided.session.show").KEYWORDS
local tokens = require "strided.session.tokens"

local find, gmatch, gsub, match, sub = string.find, string.gmatch, string.gsub,
  string.match, string.sub
local globals, io, ipairs, math, rawget, tonumber, type = _G, io, ipairs, math,
  rawget, tonumber, type

local require = require "strided.core".require

local advice = {}

-- -- Text that is no Lua ------------------------------------------------------

-- Patterns of a line without its strings and its tables, the special before
-- the general.
local SYNTAX = {
  {"^%s*import%s", "a module comes by require; the library is the global st"},
  {"^%s*from%s+[%w_.]+%s+import", "a module comes by require; the library is "
   .. "the global st"},
  {"^%s*class%s+[%w_]+", "write Net = st.nn.Module:extend \"Net\", then "
   .. "function Net:init() and function Net:forward(x)"},
  {"^%s*def%s+[%w_]+", "write function f(x) ... return y end"},
  {"%f[%w]lambda%f[%W]", "write function(x) return x end"},
  {"^%s*with%s", "write st.no_grad(function() ... end); others take a "
   .. "function, too"},
  {"^%s*try%s*:", "write local ok, result = pcall(f, x)"},
  {"^%s*for%s.+%sin%s.*:%s*$", "write for i = 1, n do ... end, or for i, x in "
   .. "ipairs(list) do ... end"},
  {"^%s*for%s.+%sin%s.*:%s", "write for i = 1, n do ... end, or for i, x in "
   .. "ipairs(list) do ... end"},
  {"^%s*if%s.*:%s*$", "write if condition then ... end"},
  {"^%s*elif%s", "write elseif condition then"},
  {"^%s*while%s.*:%s*$", "write while condition do ... end"},
  {"[%w_%])]%s+if%s.*%selse%s", "write condition and a or b"},
  {"^%s*#", "a comment begins with --"},
  {"[%w_%])]%s*@%s*[%w_(]", "Lua has no operator @: write a:matmul(b)"},
  {"%*%*", "a power is a ^ b"},
  {"!=", "unequal is ~=, and for the elements of tensors a:ne(b)"},
  {"[%w_%])]%s*[-+*/%%]=", "write a = a + b, or a:add_(b) in place"},
  {"%(%([^()]*,[^()]*%)", "sizes are f(2, 3), or a list: f({2, 3})"},
  {"[&|]", "of booleans write a:logical_and(b), a:logical_or(b), "
   .. "a:logical_not(); of integers a:bitwise_and(b)"},
  {"~[^=]", "write a:logical_not()"},
  {"//", "write st.floor_divide(a, b), or math.floor(a / b) of numbers"},
  {"%[[^%[%]]*:[^%[%]]*%]", "write x[\"1:8\"] or x[{{1, 8}}], of two "
   .. "dimensions x[\":, 1\"] or x[{{}, 1}]: indices count from 1, and the "
   .. "last one belongs to the range",
   unless = ":[%a_][%w_]*%s*[({\"']"},
  {"%[[^%[%]]*,[^%[%]]*%]", "an element is x[{1, 2}] or x[1][2]; a list is "
   .. "{1, 2, 3}"},
  {"%([^(){}]*%f[%w_][%a_][%w_]*%s*=[^=]", "named arguments go into a table: "
   .. "f(x, {name = value})"},
  {"[=(,{]%s*%[", "a list is {1, 2, 3}"},
}

--- A call without parentheses, as in print x; nil for others.
local function bare_call(line)
  local fn, argument = match(line, "^%s*([%a_][%w_.:]*)%s+([%w_.]+)%s*$")
  local is_function = fn and (find(fn, "[.:]") or
                              type(rawget(globals, fn)) == "function")
  if not is_function or KEYWORDS[argument] then return nil end
  return ("a call has parentheses: %s(%s)"):format(fn, argument)
end

local function of_line(line)
  line = gsub(gsub(line, '"[^"]*"', '""'), "'[^']*'", "''")
  line = gsub(gsub(line, "%-%-.*", ""), "%b{}", "{}")
  for _, row in ipairs(SYNTAX) do
    if find(line, row[1]) and not (row.unless and find(line, row.unless)) then
      return row[2]
    end
  end
  return bare_call(line)
end

local METHOD = "a method is called: write x:%s()"

--- What to write for a text that ends in a method without its call, as x:sum
-- does outside of brackets and blocks; nil for others.
-- @tparam string text
-- @treturn ?string
function advice.method(text)
  local list = tokens.list(text)
  local n = #list
  if n < 3 or list[n - 1] ~= ":" or list[n - 2] == ":" or KEYWORDS[list[n]]
    or not find(list[n], tokens.NAME) then
    return nil
  end
  local depth = 0
  for _, token in ipairs(list) do depth = depth + (tokens.DEPTH[token] or 0) end
  return depth == 0 and METHOD:format(list[n]) or nil
end

--- True for a text that Lua goes on reading and that is the head of a block of
-- Python, as in for i in range(3): and while x:.
function advice.is_python(text)
  return find(text, "^%s*%a+%s[^\n]*:%s*$") ~= nil and of_line(text) ~= nil
end

--- What to write instead of a text that is no Lua.
-- @tparam string why the error of the compiler, "input:LINE: ..."
-- @tparam string text
-- @treturn ?string nil if the line looks like Lua
function advice.syntax(why, text)
  local wanted, n = tonumber(match(why, ":(%d+):")), 0
  for line in gmatch(text .. "\n", "([^\n]*)\n") do
    n = n + 1
    local found = n == wanted and of_line(line)
    if found then return found end
  end
  if find(why, "function arguments expected") then
    local near = match(why, "near '([^']*)'") or ""
    near = near == "<eof>" and "$" or gsub(near, "%W", "%%%0")
    return METHOD:format(match(text, ":%s*([%a_][%w_]*)%s*" .. near)
                         or "method")
  end
end

--- The same for a file.
-- @tparam string why
-- @tparam string path
-- @treturn ?string
function advice.syntax_of_file(why, path)
  local file = io.open(path)
  if not file then return nil end
  local text = file:read "*a"
  file:close()
  return text and advice.syntax(why, text)
end

-- -- Errors of Lua ------------------------------------------------------------

local LIBRARY = "the library is the global st: write st.name"
local MISSING = {
  np = LIBRARY, numpy = LIBRARY, torch = LIBRARY,
  F = "the functions are operators: st.relu(x), x:relu(): ?functional",
  nn = "write nn = st.nn", optim = "write optim = st.optim",
  plt = LIBRARY, pd = "write st.read_csv(path)",
  len = "write #t for the first size, t.shape for all",
  range = "write for i = 1, n do, or st.arange(n)",
  enumerate = "write for i, x in ipairs(list) do",
  zip = "write for i = 1, #a do", str = "write tostring(x)",
  int = "write math.floor(x), or t:item() of a tensor",
  float = "write t:item(), or t:float() for another dtype",
  abs = "write t:abs(), or math.abs(x) of a number",
  sum = "write t:sum()", max = "write t:max(), or math.max of numbers",
  min = "write t:min(), or math.min of numbers",
  sqrt = "write t:sqrt(), or math.sqrt(x) of a number",
  exp = "write t:exp(), or math.exp(x) of a number",
  round = "write t:round(), or math.floor(x + 0.5) of a number",
  isinstance = "write st.is_tensor(x)", help = "write st.help(x)",
  open = "write io.open(path)", list = "write t:totable()",
  sorted = "write t:sort(), or table.sort(list)",
  tensor = "write st.tensor {1, 2}",
}

-- Both spellings: of LuaJIT and Lua 5.1, and of Lua 5.3 and 5.4.
local function missing_global(text)
  local name = match(text, "attempt to %a+ global '([%w_]+)' %(a nil value%)")
               or match(text, "%(a nil value%) %(global '([%w_]+)'%)")
               or match(text, "a nil value %(global '([%w_]+)'%)")
  return name and MISSING[name]
end

local NUMBER = "the number of a tensor of one element is t:item()"
local LOOP = "write for row, i in t:iter() do"

local ERRORS = {
  {"attempt to compare number with userdata", "write t:lt(1) or t:gt(1), "
   .. "which compare each element"},
  {"attempt to compare userdata with number", "write t:lt(1) or t:gt(1), "
   .. "which compare each element"},
  {"attempt to perform bitwise operation on", "of booleans write "
   .. "a:logical_and(b), a:logical_or(b); of integers a:bitwise_and(b)"},
  {"bad argument #1 to 'ipairs' %(table expected, got [uT]%a+%)", LOOP},
  {"bad argument #1 to 'pairs' %(table expected, got [uT]%a+%)", LOOP},
  {"bad argument #1 to 'for iterator' %(table expected, got [uT]%a+%)", LOOP},
  {"attempt to index [^\n]*number value",
   "v[i] of a vector is a number already; a number has no item()"},
  {"bad argument #%d to '(%w+)' %(number expected, got [uT]%a+%)",
   "of a tensor write t:%1(), or t:item() for its number"},
  {"bad argument #%d to '[%w_?]+' %(number expected, got [uT]%a+%)", NUMBER},
  {"'for' [%a ]+ must be a number", NUMBER},
  {"bad 'for' [%a ]+ %(number expected, got [uT]%a+%)", NUMBER},
  {"must be a Tensor, got function", "a method is called: x:T(), not x.T"},
  {"must be [^\n]*float[^\n]*, not u?int%d+",
   "write t:float(), or t:double()"},
  {"not implemented for dtype u?int%d+", "write t:float(), or t:double()"},
  {"module 'torch' not found", "the library is the global st"},
  {"module 'numpy' not found", "the library is the global st"},
}

--- A method that was not called: x.T + 1.
local function uncalled(text)
  local name = match(text, "attempt to [%a ]+ %a+ '([%w_]+)' %(a function val")
               or match(text, "a function value %(%a+ '([%w_]+)'%)")
  local is_method = name and (core.methods[name] or core.named(name, true))
  return is_method and ("a method is called: x:%s(), not x.%s"):format(name,
                                                                     name)
end

-- A message with its location, which is in a file of the library.
local INSIDE = "^[^\n:]*strided/[%w_/]+%.lua:%d+: "

--- What to write after an error of Lua; nil for others.
-- @tparam string text the message
-- @treturn ?string
function advice.error(text)
  local found = missing_global(text) or uncalled(text)
  if found then return found end
  for _, row in ipairs(ERRORS) do
    local first, last, name = find(text, row[1])
    if first and (not name or math[name]) then
      return (gsub(sub(text, first, last), row[1], row[2]))
    end
  end
  if find(text, INSIDE) and find(text, "a nil value") then
    return "this is inside the library: a method is called with a colon, as in "
           .. "d:sample(), and an argument may be missing"
  end
end

--- An error with advice in a line of its own.
-- @tparam string text
-- @tparam ?string found
-- @treturn string
function advice.add(text, found)
  if not found then return text end
  return text .. "\n" .. require "strided.help.wrap"(found, "  ", "  ")
end

return advice
