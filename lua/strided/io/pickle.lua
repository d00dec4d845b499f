--- Reads pickles of Python that hold data alone, of protocols 0 to 5.
--
-- A pickle is a program for a stack machine, and some of its opcodes call what
-- it names. This machine calls nothing but the functions of a fixed list, which
-- its caller gives. A name that is not on the list stays a name; an opcode that
-- would call it, make an object of it, or keep it as data is an error.
--
-- * A dictionary becomes a table. A key with the value None is left out.
-- * A list or tuple becomes a list; None in it is st.none.
-- * A set becomes a table of its elements as keys, with the value true.
-- * Strings and bytes become strings, an integer beyond 2^53 the value of
--   st.int. An integer of more than 64 bits is an error.
--
-- @module strided.io.pickle

local failure = require "strided.io.failure"
local literals = require "strided.io.pickle_literals"
local reader = require "strided.io.reader"

local byte, find, gsub, reverse = string.byte, string.find, string.gsub,
  string.reverse
local getmetatable, ipairs, rawequal, require, setmetatable, type =
  getmetatable, ipairs, rawequal, require, setmetatable, type
local clean, double, fail, int32, uint = failure.clean, reader.double,
  failure.fail, reader.int32, reader.uint
local float, integer, long = literals.float, literals.integer, literals.long
local literal, unicode = literals.literal, literals.unicode

-- What a pickle may cost: opcodes, tables, and elements that are copied. Python
-- writes less than 4 per byte.
local FREE_COST, COST_PER_BYTE = 1e5, 8
local MAX_PROTOCOL = 5

local pickle = {}

-- -- The machine -------------------------------------------------------------

local Machine = {}
Machine.__index = Machine

-- A name: `call` is its function, if it may be called.
local Name = {}

--- The value that another stands for: the function `unwrap` of its metatable
-- returns it, once it is complete.
local function unwrap(value)
  local meta = type(value) == "table" and getmetatable(value)
  return meta and meta.unwrap and meta.unwrap(value) or value
end

--- The same for an element of a tuple, which may be arguments: there, values
-- whose metatable has the field `is_argument` stand for themselves.
local function unwrap_argument(value)
  local meta = type(value) == "table" and getmetatable(value)
  return meta and meta.is_argument and value or unwrap(value)
end

--- Counts what a few bytes of the pickle can make much of, so that the memory
-- and the time that it takes are a multiple of its size in the file.
function Machine:spend(n)
  self.cost = self.cost + n
  if self.cost > self.most then fail "its pickle makes too many objects" end
end

--- What a value is, for messages.
function Machine:describe(value)
  if type(value) ~= "table" then return "a " .. type(value) end
  local meta = getmetatable(value)
  if meta == Name then return value.name end
  if meta then return meta.name end
  return "a " .. self.kinds[value]
end

function Machine:push(value)
  self.top = self.top + 1
  self.stack[self.top] = value
end

function Machine:pop()
  local top = self.top
  if top <= (self.marks[#self.marks] or 0) then
    fail "its pickle takes what is not there"
  end
  local value = self.stack[top]
  self.stack[top], self.top = nil, top - 1
  return value
end

--- Removes the last mark; the values above it are those behind this index.
function Machine:pop_mark()
  local n = #self.marks
  local mark = self.marks[n]
  if not mark then fail "its pickle has no mark where it needs one" end
  self.marks[n] = nil
  return mark
end

--- Removes the values above an index.
function Machine:cut(mark)
  for i = self.top, mark + 1, -1 do self.stack[i] = nil end
  self.top = mark
end

--- The value on top of the stack.
function Machine:peek()
  if self.top <= (self.marks[#self.marks] or 0) then
    fail "its pickle takes what is not there"
  end
  return self.stack[self.top]
end

--- A new table of a kind: "dict", "ordered dict", "set", "list", "tuple", or
-- "call" for a tuple that holds what is no data.
function Machine:new(kind)
  self:spend(1)
  local t = {}
  self.kinds[t] = kind
  return t
end

--- True for what may be called or unwrapped, and for tuples of it.
function Machine:is_pending(value)
  return type(value) == "table" and
         (getmetatable(value) ~= nil or self.kinds[value] == "call")
end

--- A value as an element of a table.
function Machine:data(value)
  value = unwrap(value)
  if not self:is_pending(value) then return value end
  if self.kinds[value] == "call" then
    fail "its pickle keeps a class as data"
  end
  fail("opcode GLOBAL names %s, which is no data", self:describe(value))
end

function Machine:set(dict, key, value)
  local kind = type(key)
  if kind == "number" and key ~= key or kind ~= "number" and
     kind ~= "string" and kind ~= "boolean" then
    fail("a dictionary has a key that is %s", kind == "number" and "NaN"
         or rawequal(key, self.none) and "None" or self:describe(key))
  end
  value = self:data(value)
  if rawequal(value, self.none) then value = nil end
  dict[key] = value
end

--- The table on top that an opcode adds to.
function Machine:container(opcode, kind, other)
  local t = self:peek()
  local found = type(t) == "table" and self.kinds[t]
  if not found or found ~= kind and found ~= other then
    fail("opcode %s would change %s", opcode, self:describe(t))
  end
  return t
end

--- A tuple of the values above an index.
function Machine:tuple(mark)
  local t = self:new "tuple"
  for i = mark + 1, self.top do
    local value = unwrap_argument(self.stack[i])
    if self:is_pending(value) then self.kinds[t] = "call" end
    t[i - mark] = value
  end
  self:cut(mark)
  self:push(t)
end

function Machine:append(opcode, mark)
  local values = {}
  for i = mark + 1, self.top do values[i - mark] = self:data(self.stack[i]) end
  self:cut(mark)
  local list = self:container(opcode, "list")
  local n = #list
  for i = 1, #values do list[n + i] = values[i] end
end

--- Adds the keys and values above an index to the dictionary below.
function Machine:set_items(opcode, mark)
  local stack, top = self.stack, self.top
  if (top - mark) % 2 == 1 then fail "its pickle has a key without a value" end
  self.top = mark
  local dict = self:container(opcode, "dict", "ordered dict")
  for i = mark + 1, top, 2 do
    self:set(dict, stack[i], stack[i + 1])
    stack[i], stack[i + 1] = nil, nil
  end
end

function Machine:add_items(opcode, mark)
  local stack, top = self.stack, self.top
  self.top = mark
  local set = self:container(opcode, "set")
  for i = mark + 1, top do
    self:set(set, stack[i], true)
    stack[i] = nil
  end
end

--- A set of the elements of a list.
function Machine:set_of(list)
  local set = self:new "set"
  self:spend(#list)
  for _, value in ipairs(list) do self:set(set, value, true) end
  return set
end

--- A name on the list or not.
function Machine:name(module, name)
  local full = module .. "." .. name
  local known = self.names[full]
  if known and known.value ~= nil then
    self:push(known.value)
  else
    self:push(setmetatable({name = clean(full), call = known and known.call},
                           Name))
  end
end

--- Advice for what is no data.
local function advice(name)
  if find(name, "^torch%.nn") or find(name, "^__main__%.") or
     find(name, "^torch%.optim") then
    return ": it is a whole object and not its state; in Python, "
           .. "torch.save(x.state_dict(), path) writes what can be read here"
  end
  return ""
end

--- Ends the reading at an opcode that makes an object of a class.
function Machine:refuse(opcode, class)
  local name = self:describe(class)
  fail("opcode %s would make an object of %s%s", opcode, name, advice(name))
end

-- -- Opcodes -----------------------------------------------------------------

local OPS = {}

local function op(code, f)
  OPS[type(code) == "string" and byte(code) or code] = f
end

--- An unsigned size of n bytes.
local function size(m, n)
  local s = m.reader:take(n)
  if n == 8 and find(s, "[^%z]", 7) then fail "it is truncated" end
  return uint(s, 1, n == 8 and 6 or n)
end

-- Opcode, width of the size in front of the text.
for _, row in ipairs {
  {"U", 1}, {"T", 4}, {"X", 4}, {"C", 1}, {"B", 4}, {0x8c, 1}, {0x8d, 8},
  {0x8e, 8}, {0x96, 8},
} do
  op(row[1], function(m) m:push(m.reader:take(size(m, row[2]))) end)
end

op("S", function(m) m:push(literal(m.reader:line())) end)
op("V", function(m) m:push(unicode(m.reader:line())) end)

op("N", function(m) m:push(m.none) end)
op(0x88, function(m) m:push(true) end)
op(0x89, function(m) m:push(false) end)
op("J", function(m) m:push(int32(m.reader:take(4))) end)
op("K", function(m) m:push(m.reader:byte()) end)
op("M", function(m) m:push(uint(m.reader:take(2), 1, 2)) end)
op("G", function(m) m:push(double(reverse(m.reader:take(8)))) end)
op("F", function(m) m:push(float(m.reader:line())) end)
op(0x8a, function(m) m:push(long(m.reader:take(m.reader:byte()))) end)
op(0x8b, function(m) m:push(long(m.reader:take(size(m, 4)))) end)
op("L", function(m)
  m:push(integer((gsub(m.reader:line(), "L$", ""))))
end)
op("I", function(m)
  local line = m.reader:line()
  if line == "00" or line == "01" then return m:push(line == "01") end
  m:push(integer(line))
end)

op("(", function(m) m.marks[#m.marks + 1] = m.top end)
op("0", function(m)
  if m.top == m.marks[#m.marks] then m:pop_mark() else m:pop() end
end)
op("1", function(m) m:cut(m:pop_mark()) end)
op("2", function(m) m:push(m:peek()) end)

op("}", function(m) m:push(m:new "dict") end)
op("]", function(m) m:push(m:new "list") end)
op(0x8f, function(m) m:push(m:new "set") end)
op(")", function(m) m:push(m:new "tuple") end)
op("t", function(m) m:tuple(m:pop_mark()) end)
for n = 1, 3 do
  op(0x84 + n, function(m)
    if m.top - (m.marks[#m.marks] or 0) < n then
      fail "its pickle takes what is not there"
    end
    m:tuple(m.top - n)
  end)
end

--- Puts a new table below the values above an index.
local function insert(m, mark, t)
  for i = m.top, mark + 1, -1 do m.stack[i + 1] = m.stack[i] end
  m.stack[mark + 1], m.top = t, m.top + 1
  return mark + 1
end

op("l", function(m)
  m:append("LIST", insert(m, m:pop_mark(), m:new "list"))
end)
op("d", function(m)
  m:set_items("DICT", insert(m, m:pop_mark(), m:new "dict"))
end)
op(0x91, function(m)
  m:add_items("FROZENSET", insert(m, m:pop_mark(), m:new "set"))
end)
op("a", function(m) m:peek(); m:append("APPEND", m.top - 1) end)
op("e", function(m) m:append("APPENDS", m:pop_mark()) end)
op("s", function(m)
  if m.top - (m.marks[#m.marks] or 0) < 3 then
    fail "its pickle takes what is not there"
  end
  m:set_items("SETITEM", m.top - 2)
end)
op("u", function(m) m:set_items("SETITEMS", m:pop_mark()) end)
op(0x90, function(m) m:add_items("ADDITEMS", m:pop_mark()) end)

--- Keeps the value on top under a number.
local function put(m, key)
  if not m.memo[key] then m.memos = m.memos + 1 end
  m.memo[key] = m:peek()
end

local function get(m, key)
  local value = m.memo[key]
  if value == nil then fail "its pickle names a value that it does not have" end
  m:push(value)
end

op("p", function(m) put(m, m.reader:line()) end)
op("q", function(m) put(m, m.reader:byte()) end)
op("r", function(m) put(m, size(m, 4)) end)
op(0x94, function(m) put(m, m.memos) end)
op("g", function(m) get(m, m.reader:line()) end)
op("h", function(m) get(m, m.reader:byte()) end)
op("j", function(m) get(m, size(m, 4)) end)

op(0x80, function(m)
  local version = m.reader:byte()
  if version > MAX_PROTOCOL then
    fail("protocol %d of pickles is unknown", version)
  end
end)
op(0x95, function(m) size(m, 8) end)

-- -- Opcodes that call -------------------------------------------------------

op("c", function(m)
  local module = m.reader:line()
  m:name(module, m.reader:line())
end)
op(0x93, function(m)
  local name = m:pop()
  local module = m:pop()
  if type(name) ~= "string" or type(module) ~= "string" then
    fail "opcode STACK_GLOBAL has a name that is no string"
  end
  m:name(module, name)
end)

op("R", function(m)
  local args, f = m:pop(), m:pop()
  local kind = type(args) == "table" and m.kinds[args]
  if getmetatable(f) ~= Name or not f.call then
    local name = m:describe(f)
    fail("opcode REDUCE would call %s%s", name, advice(name))
  end
  if kind ~= "tuple" and kind ~= "call" then
    fail("opcode REDUCE calls %s without a tuple", f.name)
  end
  local result, why = f.call(m, args)
  if result == nil then
    fail("opcode REDUCE calls %s %s", f.name, why or "with other arguments")
  end
  m:push(result)
end)

op("b", function(m)
  local state, object = m:pop(), m:peek()
  local meta = type(object) == "table" and getmetatable(object)
  if meta and meta.build then return meta.build(m, object, state) end
  -- the attributes of an OrderedDict, such as _metadata of a state dict
  if type(object) == "table" and m.kinds[object] == "ordered dict" then
    return
  end
  fail("opcode BUILD would set the state of %s%s", m:describe(object),
       advice(m:describe(object)))
end)

op("i", function(m)
  local module = m.reader:line()
  m:name(module, m.reader:line())
  m:refuse("INST", m:pop())
end)
op("o", function(m)
  local mark = m:pop_mark()
  m:refuse("OBJ", m.stack[mark + 1])
end)
op(0x81, function(m)
  m:pop()
  m:refuse("NEWOBJ", m:pop())
end)
op(0x92, function(m)
  m:pop()
  m:pop()
  m:refuse("NEWOBJ_EX", m:pop())
end)

for i, n in ipairs {1, 2, 4} do
  op(0x81 + i, function(m)
    fail("opcode EXT%d would make an object of the extension %.0f", n,
         size(m, n))
  end)
end

local function persist(m, id)
  if not m.persist then fail "its pickle has a persistent id" end
  m:push(m.persist(m, id))
end

op("P", function(m) persist(m, m.reader:line()) end)
op("Q", function(m) persist(m, m:pop()) end)
op(0x97, function() fail "opcode NEXT_BUFFER needs a buffer of its caller" end)
op(0x98, function()
  fail "opcode READONLY_BUFFER needs a buffer of its caller"
end)

-- -- The module --------------------------------------------------------------

local STOP = byte "."

--- The names of Python itself.
pickle.names = {}

for _, module in ipairs {"builtins", "__builtin__"} do
  local names = pickle.names
  local function set(m, args)
    local list = args[1]
    if list == nil then return m:new "set" end
    local kind = type(list) == "table" and m.kinds[list]
    if args[2] == nil and (kind == "list" or kind == "tuple") then
      return m:set_of(list)
    end
  end
  names[module .. ".set"] = {call = set}
  names[module .. ".frozenset"] = {call = set}
  names[module .. ".complex"] = {call = function(_, args)
    if type(args[1]) == "number" and type(args[2]) == "number" then
      return require "strided".complex(args[1], args[2])
    end
  end}
  names[module .. ".bytearray"] = {call = function(_, args)
    if args[1] == nil then return "" end
    if type(args[1]) == "string" and args[2] == nil then return args[1] end
  end}
end

pickle.names["_codecs.encode"] = {call = function(m, args)
  if type(args[1]) ~= "string" or args[2] ~= "latin1" then return nil end
  m:spend(#args[1] / 16)
  return literals.latin1(args[1])
end}

pickle.names["collections.OrderedDict"] = {call = function(m, args)
  local dict, list = m:new "ordered dict", args[1]
  if list == nil then return dict end
  if type(list) ~= "table" or m.kinds[list] ~= "list" then return nil end
  m:spend(#list)
  for _, pair in ipairs(list) do
    local kind = type(pair) == "table" and m.kinds[pair]
    if kind ~= "list" and kind ~= "tuple" or #pair ~= 2 then return nil end
    m:set(dict, pair[1], pair[2])
  end
  return dict
end}

--- Reads one pickle. Ends by failure.fail if it is malformed, or no data.
-- @tparam Reader bytes
-- @tparam table names what may be named: {call = function(m, args)}, which
-- returns a value, or nil and what is wrong; or {value = any}
-- @tparam[opt] function persist(m, id) returns the value of a persistent id
-- @return the value; st.none for None
function pickle.load(bytes, names, persistent)
  local m = setmetatable({
    reader = bytes, names = names, persist = persistent, stack = {}, top = 0,
    marks = {}, memo = {}, memos = 0, kinds = {}, cost = 0,
    most = FREE_COST + COST_PER_BYTE * bytes.packed,
    none = require "strided".none,
  }, Machine)
  while true do
    local code = bytes:byte()
    if code == STOP then break end
    m:spend(1)
    local run = OPS[code]
    if not run then fail("its pickle has the unknown opcode %d", code) end
    run(m)
  end
  return m:data(m:pop()), m
end

return pickle
