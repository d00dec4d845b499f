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
local literals = require "strided.io.pickle.literals"
local reader = require "strided.io.reader"

local byte, find, gsub, reverse = string.byte, string.find, string.gsub,
  string.reverse
local getmetatable, ipairs, rawequal, setmetatable, type = getmetatable, ipairs,
  rawequal, setmetatable, type

local require = require "strided.core".require

local clean, double, fail, int32, uint = failure.clean, reader.double,
  failure.fail, reader.int32, reader.uint
local float, integer, long = literals.float, literals.integer, literals.long
local literal, unicode = literals.literal, literals.unicode

-- Note [What a pickle may make]
-- A few bytes of a pickle can make much: they call a function again and again
-- with what is there. So all that is made is charged in bytes of memory, before
-- it is made where its size is known, against a limit that is a multiple of the
-- bytes in the file. What Python writes needs less: an empty tuple, the most
-- for its size, is one byte. Bytes that a call makes, of strings and of
-- elements, weigh more, since Python's pickles make them once or twice of each
-- byte. `Machine:call` charges what functions return, so that none is left out.
local FREE, PER_BYTE = 2 ^ 22, 128
local OPCODE, TABLE, TENSOR = 32, 96, 384 -- with the place in another table
local BULK = 16 -- the weight of a byte that a call makes

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

--- Charges bytes of memory: Note [What a pickle may make].
function Machine:spend(n)
  self.cost = self.cost + n
  if self.cost > self.most then
    fail "its pickle makes more than its size allows"
  end
end

--- Charges n entries of a table that a call makes.
function Machine:spend_entries(n) self:spend(n * OPCODE) end

--- Charges n bytes of a string that a call makes.
function Machine:spend_bytes(n) self:spend(n * BULK) end

--- Charges a tensor with n bytes of its own.
function Machine:spend_tensor(n) self:spend(TENSOR + n * BULK) end

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
  self:spend(TABLE)
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
  self:spend_entries(#list)
  for _, value in ipairs(list) do self:set(set, value, true) end
  return set
end

--- A name on the list or not.
function Machine:name(module, name)
  local full = module .. "." .. name
  local known = self.names[full]
  self:spend(#full)
  if known and known.value ~= nil then return self:push(known.value) end
  self:spend(2 * TABLE)
  known = known or {}
  self:push(setmetatable({name = clean(full), call = known.call,
                          make = known.make, refuse = known.refuse}, Name))
end

--- Calls the function `field` of a name with a tuple; nil and what is wrong if
-- the name has none or refuses the tuple. Ends the reading for a name that is
-- refused with a reason of its own.
function Machine:call(name, field, args)
  if getmetatable(name) ~= Name then return nil end
  if name.refuse then fail("%s", name.refuse) end
  if not name[field] then return nil end
  local result, why = name[field](self, args)
  if result == nil then return nil, why or "with other arguments" end
  local kind = type(result)
  if kind == "string" then self:spend_bytes(#result) end
  if kind == "userdata" then self:spend(TENSOR) end
  if kind == "table" and getmetatable(result) then self:spend(2 * TABLE) end
  return result
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

--- Why a name is refused; nil for other values.
function Machine.refusal(_, value)
  return type(value) == "table" and getmetatable(value) == Name and
         value.refuse or nil
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

--- Pushes a text of the file.
local function push_text(m, text)
  m:spend(#text)
  m:push(text)
end

-- Opcode, width of the size in front of the text.
for _, row in ipairs {
  {"U", 1}, {"T", 4}, {"X", 4}, {"C", 1}, {"B", 4}, {0x8c, 1}, {0x8d, 8},
  {0x8e, 8}, {0x96, 8},
} do
  op(row[1], function(m) push_text(m, m.reader:take(size(m, row[2]))) end)
end

op("S", function(m) push_text(m, literal(m.reader:line())) end)
op("V", function(m) push_text(m, unicode(m.reader:line())) end)

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

op("p", function(m)
  local key = m.reader:line()
  m:spend(#key)
  put(m, key)
end)
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
  if kind ~= "tuple" and kind ~= "call" then
    fail("opcode REDUCE calls %s without a tuple", m:describe(f))
  end
  local result, why = m:call(f, "call", args)
  if result == nil then
    local name = m:describe(f)
    if why then fail("opcode REDUCE calls %s %s", name, why) end
    fail("opcode REDUCE would call %s%s", name, advice(name))
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
  local args, class = m:pop(), m:pop()
  local kind = type(args) == "table" and m.kinds[args]
  local result = (kind == "tuple" or kind == "call") and
                 m:call(class, "make", args)
  if not result then m:refuse("NEWOBJ", class) end
  m:push(result)
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

--- Reads one pickle. Ends by failure.fail if it is malformed, or no data.
-- @tparam Reader bytes
-- @tparam table names what may be named: {call = function(m, args)}, which
-- returns a value, or nil and what is wrong; {make = function(m, args)}, the
-- same for an object of a class; {value = any}; or {refuse = message}
-- @tparam[opt] function persist(m, id) returns the value of a persistent id
-- @return the value; st.none for None
function pickle.load(bytes, names, persistent)
  local m = setmetatable({
    reader = bytes, names = names, persist = persistent, stack = {}, top = 0,
    marks = {}, memo = {}, memos = 0, kinds = {}, cost = 0,
    most = FREE + PER_BYTE * bytes.packed,
    none = require "strided".none,
  }, Machine)
  while true do
    local code = bytes:byte()
    if code == STOP then break end
    m:spend(OPCODE)
    local run = OPS[code]
    if not run then fail("its pickle has the unknown opcode %d", code) end
    run(m)
  end
  return m:data(m:pop()), m
end

return pickle
