--- Schema strings (S1 to S4): what parses, how it prints, where an
-- error is.
-- axes: lua

local core = require "strided.core"
local st = require "strided"
local raises = require("spec.support.tensors").raises
local random = require "spec.support.random"

--- What the registry holds.
local function registry()
  require "spec.support.collect" ()
  local m = st.memory().registry
  return {m.count, m.bytes}
end

--- The schema, or nil and the message.
local function parse(text, ns)
  local ok, s = pcall(st.schema, text, ns)
  if ok then return s end
  return nil, s
end

--- What is wrong with a schema and at which character.
local function complaint(text)
  local s, why = parse(text, "x")
  assert.is_nil(s, text .. " should be refused")
  local what, at = why:match '^%S+ (.*), at position (%d+) of "'
  assert.is_string(what, why)
  return what, tonumber(at)
end

-- -- Printing (S1) -----------------------------------------------------------

--- The names of nameless alias sets are printed, as in PyTorch, and no input.
local function is_one_way(text) return text:find("$", 1, true) end

-- what is written between "x::f" and the end, and how it prints; one text
-- prints as it is
local CANONICAL = {
  {"(int x = 3)->int", "(int x=3) -> int"},
  {"( Tensor  x ,\n\tint y )->( Tensor )", "(Tensor x, int y) -> Tensor"},
  {"(str s='a') -> ()", '(str s="a") -> ()'},
  {[[(str s='"') -> ()]], [[(str s="\"") -> ()]]},
  {[[(str s="\x41\102\t\n\\") -> ()]], [[(str s="AB\t\n\\") -> ()]]},
  {"(float x=1) -> float", "(float x=1.) -> float"},
  {"(float x=-0.0) -> ()", "(float x=-0.) -> ()"},
  {"(float x=-1e-05) -> float", "(float x=-1.0000000000000001e-05) -> float"},
  {"(float x=1e10) -> ()", "(float x=10000000000) -> ()"},
  {"(complex c=1j) -> complex", "(complex c=0.+1.j) -> complex"},
  {"(complex c=2.-1j) -> ()", "(complex c=2.-1.j) -> ()"},
  {"(Scalar x=1, Scalar y=1.0, Scalar z=True) -> ()",
   "(Scalar x=1, Scalar y=1., Scalar z=True) -> ()"},
  {"(MemoryFormat m=contiguous_format) -> ()", "(MemoryFormat m=0) -> ()"},
  {"(ScalarType t=long) -> ()", "(ScalarType t=4) -> ()"},
  {"(int r=Mean) -> ()", "(int r=1) -> ()"},
  {"(Layout l=strided) -> ()", "(Layout l=0) -> ()"},
  {'(Device d="cpu") -> ()', "(Device d=cpu) -> ()"},
  {"(int[2] x=7) -> ()"}, {"(int[2] x=[7, 7]) -> ()", "(int[2] x=7) -> ()"},
  {"(int[2] x=[]) -> ()"}, {"(int[1] d=[-2, -1]) -> ()"},
  {"(int[] x=[1,2]) -> ()", "(int[] x=[1, 2]) -> ()"},
  {"(bool[2] x=[True, False]) -> ()"}, {"(float[] x=[1]) -> ()",
   "(float[] x=[1.]) -> ()"},
  {"(int x) -> (int)", "(int x) -> int"}, {"() -> ()"}, {"() -> (int a)",
   "() -> int a"},
  {"(Tensor x) -> (Tensor a, Tensor[] rest)"},
  {"() -> ((int, str))"}, {"() -> ((int, str)[])"},
  {"(Tensor! x) -> ()", "(Tensor($0! -> ) x) -> ()"},
  {"(Tensor! x, Tensor! y) -> ()",
   "(Tensor($0! -> ) x, Tensor($1! -> ) y) -> ()"},
  {"(Tensor(a|b) x) -> Tensor(a|b)", "(Tensor(b|a) x) -> Tensor(b|a)"},
  {"(Tensor(a! -> a|b) x) -> ()", "(Tensor(a! -> b|a) x) -> ()"},
  {"(Tensor(a -> *) x) -> Tensor(*)"}, {"(Tensor(a!)[] x) -> ()"},
  {"(Tensor(a)[](b!) x) -> ()"},
  {"(Tensor x, ...) -> ..."}, {"(...) -> (int a, ...)"},
  {"(Tensor?[]? a, int[]?[] b, int[][] c, int[2]? d=None) -> ()"},
  {"(Dict(str, Tensor)? d, Union(int, str) u, Future(t) f) -> RRef(t)"},
  {"(Tensor self, int lambda, int from=0) -> ()"},
  {"(Dim d, Index i, End e) -> Index"},
  {"(Dim[] dims, Index[2] i=0, End? e=None) -> ()"},
  {"(Tensor self, Dim dim=-1, *, int base=0) -> (Tensor, Tensor)"},
}

describe("A schema", function()
  local before

  setup(function() before = registry() end)

  for _, row in ipairs(CANONICAL) do
    it("prints " .. (row[2] or row[1]), function()
      local text = "x::f" .. (row[2] or row[1])
      assert.equal(text, st.schema("f" .. row[1], "x").text)
      if not is_one_way(text) then
        assert.equal(text, st.schema(text).text)
      end
    end)
  end

  it("has a name, an overload and a namespace", function()
    local s = st.schema "a::b.c() -> ()"
    assert.same({"a::b", "c", "a::b.c() -> ()"}, {s.name, s.overload, s.text})
    assert.same({"x::b", ""}, {st.schema("b() -> ()", "x").name,
                               st.schema("b() -> ()", "x").overload})
    assert.equal("x::b", st.schema("x::b() -> ()", "x").name)
    raises({"schema: ", "no namespace, at position 1"}, st.schema, "b() -> ()")
    for _, ns in ipairs {"", "a b", "a::b", "1", "if", "a\0b"} do
      assert.is_nil(parse("b() -> ()", ns))
    end
    assert.is_nil(parse("y::b() -> ()", "x"))
  end)

  it("tells everything about an argument", function()
    local s = st.schema("f(Tensor?[] a, *, Tensor(a! -> b)[]? b=None, " ..
                        "int[3] n=2) -> Tensor(a! -> b) z", "x")
    assert.same({name = "a", type = "Tensor?[]", kind = "Tensor", list = true,
                 optional = false, elem_optional = true, is_write = false,
                 kwarg_only = false, has_default = false}, s.args[1])
    assert.same({name = "b", type = "Tensor[]?", kind = "Tensor", list = true,
                 optional = true, elem_optional = false, is_write = true,
                 alias = "(a! -> b)", kwarg_only = true, has_default = true},
                s.args[2])
    assert.same({name = "n", type = "int[3]", kind = "int", list = true, n = 3,
                 optional = false, elem_optional = false, is_write = false,
                 kwarg_only = true, has_default = true, default = {2, 2, 2}},
                s.args[3])
    assert.same({{name = "z", type = "Tensor", kind = "Tensor", list = false,
                  optional = false, elem_optional = false, is_write = true,
                  alias = "(a! -> b)"}}, s.returns)
  end)

  it("has defaults that are Lua's", function()
    local s = st.schema("f(int i=-7, float f=1, bool b=True, str s='a b', " ..
                        "Scalar x=0.5, complex c=1j, ScalarType t=float, " ..
                        "MemoryFormat m=contiguous_format, Device d='meta', " ..
                        "Layout l=strided, int[] n=[1, 2], float[] fs=[1], " ..
                        "bool[2] bs=False, int? o=None) -> ()", "x")
    local got = {}
    for i, a in ipairs(s.args) do
      assert.is_true(a.has_default)
      got[i] = a.default
    end
    assert.same({-7, 1, true, "a b", 0.5, st.complex(0, 1), st.float32,
                 "contiguous_format", "meta", "strided", {1, 2}, {1},
                 {false, false}}, got)
    assert.is_nil(s.args[14].default)
    s = st.schema("f(int i=9007199254740993) -> ()", "x") -- no double
    assert.equal(st.int "9007199254740993", s.args[1].default)
  end)

  it("says which C types its operator has", function()
    assert.equal("Tensor, int[], Scalar, Tensor? -> Tensor, int",
                 st.schema("f(Tensor a, Dim[2] d, Scalar s, *, Tensor? t) " ..
                           "-> (Tensor, Index)", "x").signature)
  end)

  it("is mutable when an argument is written (S4)", function()
    for text, mutable in pairs {
      ["(Tensor x) -> Tensor"] = false, ["(Tensor(a) x) -> Tensor(a)"] = false,
      ["(Tensor(a!) x) -> ()"] = true, ["(Tensor! x) -> ()"] = true,
      ["(Tensor[] x, *, Tensor(a!)[] y) -> ()"] = true,
      ["(Tensor x) -> Tensor(a!)"] = false, ["(t[](a!) x) -> ()"] = true,
    } do
      assert.equal(mutable, st.schema("f" .. text, "x").is_mutable, text)
    end
  end)

  it("says where '...' is", function()
    local s = st.schema("f(...) -> ()", "x")
    assert.same({true, false, 0}, {s.is_vararg, s.is_varret, #s.args})
    s = st.schema("f(int x) -> (int, ...)", "x")
    assert.same({false, true, 1}, {s.is_vararg, s.is_varret, #s.returns})
  end)

  it("has at most 64 arguments and 64 results (C8)", function()
    local list = {}
    for i = 1, 64 do list[i] = "int x" .. i end
    local many = table.concat(list, ", ")
    local s = st.schema(("f(%s) -> (%s)"):format(many, many), "x")
    assert.same({64, 64, "x64"}, {#s.args, #s.returns, s.args[64].name})
    local what, at = complaint(("f(%s, int y) -> ()"):format(many))
    assert.matches("at most 64 arguments", what)
    assert.equal(#"f(" + #many + #", " + 1, at)
    what = complaint(("f() -> (%s, int y)"):format(many))
    assert.matches("at most 64 results", what)
  end)

  it("leaves nothing behind", function() assert.same(before, registry()) end)
end)

-- -- Errors (S2, S3) ---------------------------------------------------------

-- schema, part of the message; a '@' stands in front of what is wrong
local ERRORS = {
  {"f(Tensor x@", "expected '%)' but the text ends"},
  {"f(Tensor x) -> @", "expected a type but the text ends"},
  {"f(Tensor x) @Tensor", "expected '%->' but found 'Tensor'"},
  {"f@", "expected '%(' but the text ends"},
  {"@", "expected a name but the text ends"},
  {"f.@", "expected a name"}, {"x::@", "expected a name"},
  {"f(@Tensr x) -> ()", "unknown type"}, {"f(@T x) -> ()", "unknown type"},
  {"f(@Float(2, 3) x) -> ()", "unknown type"},
  {"f(Tensor@) -> ()", "expected a name but found '%)'"},
  {"f(Tensor x,@) -> ()", "expected a type but found '%)'"},
  {"f(Tensor x, int @if) -> ()", "expected a name but found 'if'"},
  {"f(Tensor x=@1) -> ()", "expected None but found '1'"},
  {"f(@..., Tensor x) -> ()", "'...' must be the last argument", 5},
  {"f(@int x=1, ...) -> ()", "has no defaults"},
  {"f() -> (..., @int)", "'...' must be the last result"},
  {"f.@default() -> ()", "an overload cannot have this name"},
  {"f.@__x() -> ()", "an overload cannot have this name"},
  {"x::f@::g() -> ()", "expected '%(' but found ':'"},
  {"f() -> ()@; junk", "expected the end but found ';'"},
  {"f() -> int y @junk", "expected the end but found 'junk'"},
  {"f(int[@2 x) -> ()", "expected '%]' but found 'x'", 2},
  {"f(int[@0] x) -> ()", "invalid size"},
  {"f(int[@99999] x) -> ()", "invalid size"},
  {"f(float x=1.5@.2) -> ()", "expected '%)' but found '.2'"},
  {"f(int x=@9223372036854775808) -> ()", "does not fit in 64 bits"},
  {"f(float x=@1e999) -> ()", "too large"},
  {"f(Tensor(a! @x) -> ()", "expected '%)' but found 'x'"},
  {"f(str[] x=@[\"a\"]) -> ()", "only lists of int, float and bool"},
  {"f(float[]? x=@[1.0]) -> ()", "expected None"},
  {"f(MemoryFormat m=@channels_last) -> ()", "not a default of this type"},
  {"f(MemoryFormat m=@9) -> ()", "is out of range"},
  {"f(ScalarType t=@double) -> ()", "not a default of this type"},
  {"f(Device d=@\"moon\") -> ()", "no such device"},
  {"f(str s=@\"a) -> ()", "expected a string"},
  {"f(int \200x) -> ()", "expected a name", 7},
  -- what PyTorch lets pass, or dies of (S3)
  {"f(Tensor x, int @x) -> ()", "two arguments have the same name"},
  {"f(int[2] x=@[1,2,3]) -> ()", "a list has the wrong length"},
  {"f(int[3] x=@[1]) -> ()", "a list has the wrong length"},
  {"f(int x=@1.0) -> ()", "expected an integer"},
  {"f(int x=@True) -> ()", "expected a number"},
  {"f(bool x=@1) -> ()", "expected True or False"},
  {"f(float x=@1j) -> ()", "expected a real number"},
  {"f(int[] x=[@1.5]) -> ()", "expected an integer"},
  {"f(int x=@None) -> ()", "only an optional argument"},
  {"f(int[2] x=@None) -> ()", "only an optional argument"},
  {"f(Dim d=@Mean) -> ()", "not a default of this type"},
  {"f(Tensor x, int y=1, @Tensor z) -> ()", "follows one with a default"},
  {"f(int y=1, @int[] z) -> ()", "follows one with a default"},
  {"f(Tensor x, *, @*, int y) -> ()", "second '%*'"},
  {"f(Tensor x, @*) -> ()", "no argument follows '%*'"},
  {"f(@*) -> ()", "no argument follows '%*'"},
  {"f(Tensor x, @*, ...) -> ()", "no argument follows '%*'"},
}

--- How many of them a library refuses to define.
local function refusals()
  local lib, n = st.library "schemaspec", 0
  for _, row in ipairs(ERRORS) do
    local ok = pcall(lib.def, lib, (row[1]:gsub("@", "")))
    n = n + (ok and 0 or 1)
  end
  lib:close()
  return n
end

describe("A malformed schema", function()
  local before

  setup(function()
    refusals() -- names where it happened, which are kept for good
    before = registry()
  end)

  for _, row in ipairs(ERRORS) do
    it("is refused with the position: " .. row[1]:gsub("[\128-\255]", "?"),
       function()
      local what, at = complaint((row[1]:gsub("@", "")))
      assert.matches(row[2], what)
      local shift = row[3] or 0
      assert.equal((row[1]:find("@", 1, true) or 0) + shift, at)
    end)
  end

  it("ends at a zero byte", function()
    local _, why = parse "x::f() -> ()\0 or more"
    assert.matches("zero byte, at position 13", why)
  end)

  it("may nest, but not without end", function()
    local function nested(n)
      return "f(" .. ("Future("):rep(n) .. "int" .. (")"):rep(n) .. " x) -> ()"
    end
    assert.is_table(parse(nested(20), "x"))
    assert.matches("nested too deep", (complaint(nested(100000))))
    assert.matches("nested too deep",
                   (complaint("f(int" .. ("[]"):rep(100000) .. " x) -> ()")))
  end)

  it("defines nothing", function()
    assert.equal(#ERRORS, refusals())
    assert.is_nil(st.ops.schemaspec.f)
  end)

  it("leaves nothing behind", function()
    assert.same(before, registry())
  end)
end)

-- -- Totality ----------------------------------------------------------------

local PIECES = {
  "Tensor", "int", "int[2]", "Dim", "End", "Index[]", "str", "t", "Dict(",
  "x", "y", "f", "::", ".", "(", ")", "[", "]", "?", "!", "|", "*", ",", "...",
  "->", " -> ", "=", "1", "-", "2.5", "1e-3", "1j", "None", "True", "'a'",
  '"', "\\", " ", "\n", "\200", "\1", "if", "$", "a!", "(a)", "(a! -> b)",
  "=[1, 2]", "() -> ()", "9999999999999999999",
}

describe("Any text", function()
  local roll = random(20240229)

  local function noise()
    local bytes = {}
    for i = 1, roll(40) do bytes[i] = string.char(roll(256) - 1) end
    return table.concat(bytes)
  end

  local function soup()
    local parts = {"f("}
    for i = 1, roll(12) do parts[i + 1] = PIECES[roll(#PIECES)] end
    return table.concat(parts)
  end

  local function mutant()
    local row = roll(2) == 1 and CANONICAL[roll(#CANONICAL)] or
                ERRORS[roll(#ERRORS)]
    local text = "f" .. row[1]
    for _ = 1, roll(3) do
      local at, kind = roll(#text + 1), roll(3)
      local with = kind == 1 and "" or kind == 2 and PIECES[roll(#PIECES)] or
                   string.char(roll(256) - 1)
      local rest = text:sub(kind == 2 and at or at + 1)
      text = text:sub(1, at - 1) .. with .. rest
    end
    return text
  end

  for name, make in pairs {noise = noise, soup = soup, mutant = mutant} do
    it("parses or is an error with its position: " .. name, function()
      local before = registry()
      for _ = 1, 2000 do
        local text = make()
        local s, why = parse(text, "x")
        if s then -- what it prints says the same
          if not is_one_way(s.text) then
            assert.equal(s.text, st.schema(s.text).text)
          end
        else
          local at = tonumber(why:match "at position (%d+)")
          assert.is_true(at ~= nil and at >= 1 and at <= #text + 1,
                         ("%q: %s"):format(text, why))
        end
      end
      assert.same(before, registry())
    end)
  end

  it("may run out of memory anywhere", function()
    local text = "f(Tensor(a!) x, int[2] y=[1, 2], Dict(str, (int, t))? d=" ..
                 "None, *, str s='a', complex c=1j) -> (Tensor(a!), Tensor[])"
    local before = registry()
    local k = 0
    repeat
      k = k + 1
      st.memory_fail_at(k)
      local s, why = parse(text, "x")
      st.memory_fail_at(0)
      if not s then assert.matches("memory", why) end
      assert.is_true(k < 100)
    until s
    assert.is_true(k > 3)
    assert.same(before, registry())
  end)
end)

-- -- Positions ---------------------------------------------------------------

describe("Dim, Index, End and base", function()
  local lib
  before_each(function() lib = st.library "schemaspec" end)
  after_each(function() lib:close() end)

  --- What a kernel of this schema gets when it is called with ...
  local function seen(schema, ...)
    local got
    lib:def(schema, function(...) got = {...} end)
    st.ops.schemaspec.f(...)
    return got
  end

  it("count from 1 in kernels and for callers", function()
    assert.same({2, -1, 3, {1, 2}},
                seen("f(Dim d, Index i, End e, Dim[] l) -> ()",
                     2, -1, 3, {1, 2}))
  end)

  it("count from 0 in schemas", function()
    assert.same({1, 3, -1, 2, -1, -2, {1, 1}, {1, 2}},
                seen("f(Dim d=0, Index i=2, Dim l=-1, End e=2, " ..
                     "End to=9223372036854775807, End but=-1, " ..
                     "Dim[2] both=0, Index[] list=[0, 1]) -> ()"))
  end)

  it("stay what they are where int64 has no next one", function()
    local most, least = "9223372036854775807", "-9223372036854775808"
    local schema = ("f(Dim d=%s, Index i=%s, End e=%s, Index[] list=[%s, %s])"
                    .. " -> ()"):format(most, most, least, most, least)
    local got = seen(schema)
    local texts = {got[1], got[2], got[3], got[4][1], got[4][2]}
    for i, v in ipairs(texts) do texts[i] = tostring(v):match "^%-?%d+" end
    assert.same({most, most, least, most, least}, texts)
  end)

  it("give positions in tensors their base, which is 1 for Lua", function()
    local schema = "f(*, int base=0) -> ()"
    assert.same({1}, seen(schema))
    assert.same({0}, seen(schema, {base = 0}))
    assert.same({0}, seen "f(*, int bias=0) -> ()")
    local x = st.tensor {3, 9, 4}
    assert.equal(2, x:argmax():item())
    assert.equal(1, x:argmax({base = 0}):item())
  end)
end)

-- -- The built-in operators --------------------------------------------------

local OPTIONS = {dtype = true, layout = true, device = true,
                 pin_memory = true}

--- Arguments that are not written, as text, and which ones are. The options
-- of a factory do not count: a given output has its own.
local function split_arguments(s)
  local read, written, options = {}, {}, 0
  for _, a in ipairs(s.args) do
    if OPTIONS[a.name] then options = options + 1 end
  end
  for _, a in ipairs(s.args) do
    if a.is_write then
      written[#written + 1] = a.name
    elseif options < 4 or not OPTIONS[a.name] then
      read[#read + 1] = ("%s %s"):format(a.type, a.name)
    end
  end
  return table.concat(read, ", "), table.concat(written, ", ")
end

describe("The built-in operators", function()
  local functional, schemas = {}, {}

  setup(function()
    local seen = {}
    for _, name in ipairs((core.operators())) do
      local base = name:match "^aten::(.*)"
      if base and not seen[base] then
        seen[base] = true
        for text in st.ops.aten[base]:schema():gmatch "[^\n]+" do
          schemas[#schemas + 1] = st.schema(text)
        end
      end
    end
    for _, s in ipairs(schemas) do
      local read = split_arguments(s)
      if not s.is_mutable then functional[s.name .. "(" .. read] = true end
    end
  end)

  it("have schemas that print as they are", function()
    assert.is_true(#schemas > 500)
    for _, s in ipairs(schemas) do
      assert.equal(s.text, st.schema(s.text).text)
    end
  end)

  it("have out= variants that take what the functional ones take (S4)",
     function()
    local n = 0
    for _, s in ipairs(schemas) do
      if s.overload == "out" or s.overload:find "_out$" then
        local read, written = split_arguments(s)
        assert.is_true(s.is_mutable, s.text)
        assert.is_true(#written > 0, s.text)
        assert.is_true(functional[s.name .. "(" .. read] or false, s.text)
        n = n + 1
      end
    end
    assert.is_true(n > 100)
  end)
end)
