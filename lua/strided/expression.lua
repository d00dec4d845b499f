--- Expressions: a small language whose programs can only call operators.
--
--     t = clamp((x - lo) / (hi - lo), min=0, max=1)
--     t * t * (3 - 2 * t)
--
-- A program is a list of statements, separated by newlines or `;`. Each is an
-- assignment `name = expression`, optionally after `local`; the last one is the
-- result, optionally after `return`, or several results separated by commas.
-- A statement continues on the next line within parentheses, after an operator,
-- and before an operator that cannot begin a statement. `-`, `+` and `~` can.
--
-- Primary expressions are Lua's numbers, `true`, `false`, names, and the
-- constants `pi`, `inf` and `nan`, which a variable may shadow. The operators,
-- in order of increasing precedence, are
--
-- * `c ? a : b`, right-associative;
-- * `or` or `||`; `and` or `&&`; `< <= > >= == ~= !=`, which cannot be chained;
-- * `|`; `~`, exclusive or; `&`; `<<` and `>>`;
-- * `+` and `-`; `*`, `/`, `//`, which rounds down, and `%`;
-- * unary `-`, `+`, `not` or `!`, and `~`;
-- * `^` or `**`, the power, right-associative;
-- * calls of operators by name, `f(a, b, key=value)`, `ns::f(a)`, and as
--   methods, `a.f(b)` or `a:f(b)`. Between `?` and `:`, a method call needs the
--   dot, or parentheses around it. Arguments may be strings in single or double
--   quotes.
--
-- An operation with a tensor operand calls a tensor operator. Operations on
-- numbers alone are computed in Lua: those above, also by their names (`add(1,
-- 2)`), `where`, `maximum`, `minimum`, `clamp`, `fmod`, `abs`, `floor`, `ceil`,
-- `sqrt`, `exp`, `log`, `sin`, `cos`, `tan`, `asin`, `acos`, `atan`, `atan2`.
--
-- @module strided.expression

local raise = require "strided.argument.caller_error"
local core = require "strided.core"
local operators = require "strided.expression.operators"
local lexer = require "strided.expression.lexer"

local concat, ipairs, pairs, type = table.concat, ipairs, pairs, type
local unpack = unpack or table.unpack
local callable, is_tensor, named = core.callable, core.is_tensor, core.named
local fail, unexpected = lexer.fail, lexer.unexpected
local BINARY, UNARY, COMPARISON = operators.BINARY, operators.UNARY,
                                  operators.COMPARISON
local named_plain = operators.named_plain
local where = callable("aten::where", false)

local MAX_DEPTH = 200
local CONSTANTS = {pi = math.pi, inf = math.huge, nan = 0 / 0}

-- -- Steps -------------------------------------------------------------------

-- A program is a list of steps. Each is a function that computes one value from
-- the list of earlier values. Running a program does not recurse, however long
-- the expression is.

local function emit(p, step)
  p.n = p.n + 1
  p.steps[p.n] = step
  return p.n
end

local function emit_constant(p, value)
  return emit(p, function() return value end)
end

--- Emits an operator with one or two operands.
local function emit_operator(p, op, a, b)
  local takes, plain, operator = op.takes, op.plain, op.operator
  if not b then
    return emit(p, function(v)
      return (takes(v[a]) and plain or operator)(v[a])
    end)
  end
  return emit(p, function(v)
    local x, y = v[a], v[b]
    return (takes(x) and takes(y) and plain or operator)(x, y)
  end)
end

local function emit_where(p, c, a, b)
  return emit(p, function(v)
    local x, y = v[a], v[b]
    if type(v[c]) ~= "boolean" or is_tensor(x) or is_tensor(y) then
      return where(v[c], x, y)
    end
    if v[c] then return x end
    return y
  end)
end

--- Emits a call, which yields the operator's first result. keys maps the names
-- of keyword arguments to their slots, or is nil. name is the operator's.
local function emit_call(p, name, operator, args, keys)
  if name == "where" and #args == 3 and not keys then
    return emit_where(p, unpack(args))
  end
  return emit(p, function(v)
    local list, n = {}, #args
    for i = 1, n do list[i] = v[args[i]] end
    local plain = not keys and named_plain(name, list, n)
    if plain then return plain(unpack(list, 1, n)) end
    if keys then
      n = n + 1
      list[n] = {}
      for key, slot in pairs(keys) do list[n][key] = v[slot] end
    end
    return (operator(unpack(list, 1, n)))
  end)
end

-- -- Parsing -----------------------------------------------------------------

local function advance(p)
  local token = p.token
  p.at = p.at + 1
  p.token = p.tokens[p.at]
  return token
end

local function accept(p, kind)
  return p.token.kind == kind and advance(p)
end

local function expect(p, kind)
  return accept(p, kind) or unexpected(p.text, p.token)
end

local function is_named(p)
  return p.token.kind == "name" and p.tokens[p.at + 1].kind == "="
end

--- Parses a nested expression, with a limit on the depth. In a branch, between
-- `?` and `:`, a colon does not call a method.
local function nest(p, parse, in_branch)
  local depth, outer = p.depth, p.in_branch
  if depth == MAX_DEPTH then
    fail(p.text, p.token.at, "nested deeper than %d", MAX_DEPTH)
  end
  p.depth, p.in_branch = depth + 1, in_branch
  local slot = parse(p)
  p.depth, p.in_branch = depth, outer
  return slot
end

local parse_expression

local function parse_argument(p)
  local token = accept(p, "string")
  if token then return emit_constant(p, token.value) end
  return nest(p, parse_expression)
end

--- Parses a call from its parenthesis on. name is the operator's token; args
-- has the slot of the receiver of a method call, or is empty.
local function parse_call(p, name, namespace, args)
  local full = namespace and namespace .. "::" .. name.text or name.text
  local operator = (namespace and callable or named)(full, false)
  if not operator then
    fail(p.text, name.at, "there is no operator '%s'", full)
  end
  local plain_name = (not namespace or namespace == "aten") and name.text
  expect(p, "(")
  if accept(p, ")") then return emit_call(p, plain_name, operator, args) end
  local keys
  repeat
    local key = is_named(p) and advance(p)
    if key then
      advance(p)
      keys = keys or {}
      if keys[key.text] then
        fail(p.text, key.at, "'%s' is given twice", key.text)
      end
      keys[key.text] = parse_argument(p)
    elseif keys then
      fail(p.text, p.token.at, "arguments without a name come first")
    else
      args[#args + 1] = parse_argument(p)
    end
  until not accept(p, ",")
  expect(p, ")")
  return emit_call(p, plain_name, operator, args, keys)
end

local function parse_name(p)
  local name = advance(p)
  if accept(p, "::") then
    return parse_call(p, expect(p, "name"), name.text, {})
  end
  if p.token.kind == "(" then return parse_call(p, name, nil, {}) end
  local slot = p.slots[name.text]
  if slot then return slot end
  local value = CONSTANTS[name.text]
  if value then return emit_constant(p, value) end
  return fail(p.text, name.at, "there is no '%s' here: %s", name.text,
              p.names[1] and "the arguments are " .. concat(p.names, ", ")
              or "there are no arguments")
end

local function parse_primary(p)
  local kind = p.token.kind
  if kind == "name" then return parse_name(p) end
  if kind == "number" then return emit_constant(p, advance(p).value) end
  if kind == "true" or kind == "false" then
    return emit_constant(p, advance(p).kind == "true")
  end
  expect(p, "(")
  local slot = nest(p, parse_expression)
  expect(p, ")")
  return slot
end

local function is_method(p)
  local kind, name, open = p.token.kind, p.tokens[p.at + 1], p.tokens[p.at + 2]
  return (kind == "." or kind == ":" and not p.in_branch) and
         name.kind == "name" and open.kind == "("
end

local function parse_methods(p)
  local slot = parse_primary(p)
  while is_method(p) do
    advance(p)
    slot = parse_call(p, advance(p), nil, {slot})
  end
  return slot
end

local function parse_unary(p)
  local op = UNARY[p.token.kind]
  if op then
    advance(p)
    return emit_operator(p, op, nest(p, parse_unary, p.in_branch))
  end
  local slot = parse_methods(p)
  if not accept(p, "^") then return slot end
  return emit_operator(p, operators.POWER, slot,
                       nest(p, parse_unary, p.in_branch))
end

local function parse_binary(p, least)
  local slot = parse_unary(p)
  local op = BINARY[p.token.kind]
  while op and op.level >= least do
    advance(p)
    slot = emit_operator(p, op, slot, parse_binary(p, op.level + 1))
    local after = BINARY[p.token.kind]
    if after and after.level == COMPARISON and op.level == COMPARISON then
      fail(p.text, p.token.at, "two comparisons in a row: unexpected '%s'",
           p.token.text)
    end
    op = after
  end
  return slot
end

function parse_expression(p)
  local slot = parse_binary(p, 1)
  if not accept(p, "?") then return slot end
  local yes = nest(p, parse_expression, true)
  expect(p, ":")
  return emit_where(p, slot, yes, nest(p, parse_expression, p.in_branch))
end

--- Parses all statements; returns the slots of the results.
local function parse_statements(p)
  while accept(p, "newline") do end
  while p.token.kind == "local" or is_named(p) do
    accept(p, "local")
    local name = expect(p, "name")
    expect(p, "=")
    p.slots[name.text] = parse_expression(p)
    if p.token.kind ~= "end" then expect(p, "newline") end
    while accept(p, "newline") do end
    if p.token.kind == "end" then
      fail(p.text, name.at, "'%s' is the last statement: there is no result",
           name.text)
    end
  end
  accept(p, "return")
  local results = {}
  repeat results[#results + 1] = parse_expression(p) until not accept(p, ",")
  local is_over = p.token.kind == "newline"
  while accept(p, "newline") do end
  if p.token.kind == "end" then return results end
  if is_over then fail(p.text, p.token.at, "nothing follows the result") end
  return unexpected(p.text, p.token)
end

local expression = {}

--- Compiles an expression. Syntax errors, unknown names and unknown operators
-- raise errors here.
-- @tparam string text
-- @tparam {string,...} names of the arguments
-- @treturn function takes the arguments in the order of the names and returns
-- the results
function expression.compile(text, names)
  if type(text) ~= "string" then
    raise("expression: the text must be a string, got %s", type(text))
  end
  local p = {text = text, tokens = lexer.read(text), at = 1, names = names,
             slots = {}, steps = {}, n = #names, depth = 0}
  p.token = p.tokens[1]
  for i, name in ipairs(names) do p.slots[name] = i end
  local results, steps, first, last = parse_statements(p), p.steps, #names + 1,
                                      p.n
  return function(...)
    local values, out = {...}, {}
    for i = first, last do values[i] = steps[i](values) end
    for i, slot in ipairs(results) do out[i] = values[slot] end
    return unpack(out, 1, #results)
  end
end

return expression
