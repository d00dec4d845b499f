--- Expressions: text that becomes a function of tensors and numbers.
-- axes: isa lua
-- sampled: 3

local expression = require "strided.expression"
local st = require "strided"
local random = require "spec.support.random"
local tensors = require "spec.support.tensors"

local f64, i64, lists = tensors.f64, tensors.i64, tensors.lists

local NAMES = {"x", "y", "b", "k"}

--- The results of a text for a tensor of floats, one of integers, a mask and a
-- number, after these.
local function values()
  return f64 {-1.5, 0.5, 2, 7}, i64 {5, -6, 12, 3},
         st.tensor {true, false, true, false}, 3
end

local function run(text)
  return expression.compile(text, NAMES)(values())
end

--- The message of a text that does not compile.
local function refusal(text, names)
  return tensors.failure(expression.compile, text, names or NAMES)
end

describe("an expression", function()
  local before
  setup(function() before = tensors.live() end)

  -- what Lua 5.4 says of the text
  local NUMBERS = {
    {"1 + 2 * 3 - 4 / 8", 6.5}, {"10 - 4 - 3", 3}, {"64 / 4 / 2", 8},
    {"2 ^ 3 ^ 2", 512}, {"-2 ^ 2", -4}, {"2 ^ -1", 0.5},
    {"-3 ^ 2 ^ 2 * 2", -162}, {"-2 - -3", 1},
    {"7 // 2 * 2 + 7 % 4", 9}, {"-7 // 2", -4}, {"-7 % 3", 2},
    {"7 % -3", -2}, {"1 | 6 ~ 12 & 10", 15}, {"9 ~ 5 & 4 | 16", 29},
    {"1 << 2 + 1", 8}, {"96 >> 1 << 2", 192}, {"3 & 1 << 1", 2},
    {"-5 & 3", 3}, {"-5 | 3", -5}, {"-5 ~ 12", -9}, {"-5 ~ -12", 15},
    {"~5", -6}, {"~-1", 0}, {"~0 & 255", 255},
    {"123456789012 & 68719476735", 54737312276},
    {"123456789012 ~ -1", -123456789013},
    {"5 & 3 == 1", true}, {"1 + 1 < 3", true}, {"2 | 1 ~= 3", false},
    {"3 > 3", false}, {"3 >= 3", true}, {"3 <= 2", false},
    {"not (1 < 2)", false}, {"1 < 2 and 2 < 1", false},
    {"1 > 2 and 1 > 2 or 1 < 2", true}, {"0x10 + 1e-3 + .5 + 2.", 18.501},
  }
  for _, row in ipairs(NUMBERS) do
    it("calculates with numbers alone as Lua does: " .. row[1], function()
      assert.equal(row[2], run(row[1]))
    end)
  end

  -- what C writes, and numbers that stand for a truth
  local MORE = {
    {"2 ** 3 ** 2", 512}, {"1 != 2", true}, {"1 < 2 && !(2 < 1)", true},
    {"2 < 1 || 3 < 2", false}, {"0 || 2", true}, {"0 && 2", false},
    {"!0", true}, {"+4", 4}, {"k * k", 9}, {"pi", math.pi},
    {"inf", math.huge}, {"-inf", -math.huge}, {"true", true},
    {"true ? 1 : 2", 1}, {"1 > 2 ? 1 : 3 > 2 ? 4 : 5", 4},
    {"true ? false : true", false},
    {"true ? 1 < 2 ? 6 : 7 : 8", 6}, {"nan == nan", false},
    {"7 % 0 == 7 % 0", false}, {"1 / 0", math.huge},
    {"add(1, 2) * k", 9}, {"aten::pow(2, 3)", 8}, {"maximum(2, k)", 3},
    {"minimum(2, k)", 2}, {"maximum(nan, 1) == 0", false},
    {"clamp(5, 1, 2)", 2}, {"clamp(-5, 1, 2)", 1}, {"sqrt(16)", 4},
    {"floor(-1.5)", -2}, {"ceil(-1.5)", -1}, {"abs(-k)", 3}, {"exp(0)", 1},
    {"log(1)", 0}, {"atan2(0, 1)", 0}, {"fmod(-7, 3)", -1},
    {"remainder(-7, 3)", 2}, {"neg(k)", -3}, {"k:neg():neg()", 3},
    {"eq(k, 3)", true}, {"logical_and(1, 0)", false},
    {"bitwise_xor(9, 5)", 12}, {"where(2 > 1, 3, 4)", 3},
    {"where(false, 3, where(true, 5, 6))", 5},
  }
  for _, row in ipairs(MORE) do
    it("calculates with numbers alone: " .. row[1], function()
      assert.equal(row[2], run(row[1]))
    end)
  end

  -- what torch.where(x > 0, 1, -1) and so on give
  local CHOICES = {
    {"where(x > 0, 1, -1)", st.int64, {-1, 1, 1, 1}},
    {"x > 0 ? 1 : -1", st.int64, {-1, 1, 1, 1}},
    {"where(x > 0, 1.5, 2)", st.float32, {2, 1.5, 1.5, 1.5}},
    {"where(b, k, -k)", st.int64, {3, -3, 3, -3}},
    {"where(b, true, false)", st.bool, {true, false, true, false}},
    {"where(x > 0, maximum(1, 2), sqrt(0.25)) + 0", st.float32,
     {0.5, 2, 2, 2}},
  }
  for _, row in ipairs(CHOICES) do
    it("chooses between two numbers, called and fused: " .. row[1], function()
      local lib = st.library "spec_choices"
      lib:elementwise("f(Tensor x, Tensor b, Scalar k) -> Tensor", row[1])
      local x, _, b, k = values()
      local results = {run(row[1]), st.ops.spec_choices.f(x, b, k)}
      lib:close()
      for _, t in ipairs(results) do
        assert.equal(row[2], t.dtype)
        assert.same(row[3], lists(t))
      end
      assert.equal(2, #results)
    end)
  end

  it("chooses between two numbers on the meta device", function()
    local t = st.where(st.empty({3}, {device = "meta"}):gt(0), 1, -1)
    assert.equal(st.int64, t.dtype)
    assert.equal("meta", t.device)
  end)

  -- the same in Lua
  local SAME = {
    {"x + 1", function(x) return x + 1 end},
    {"1 - x", function(x) return 1 - x end},
    {"x * x / k", function(x, _, _, k) return x * x / k end},
    {"2 / x % k", function(x, _, _, k) return 2 / x % k end},
    {"7 // y", function(_, y) return st.floor_divide(7, y) end},
    {"x // 2", function(x) return st.floor_divide(x, 2) end},
    {"-x ^ 2", function(x) return -(x ^ 2) end},
    {"2 ^ -x", function(x) return 2 ^ -x end},
    {"+x", function(x) return x end},
    {"x < 2", function(x) return st.lt(x, 2) end},
    {"2 < x", function(x) return st.gt(x, 2) end},
    {"x <= y", function(x, y) return st.le(x, y) end},
    {"2 >= x", function(x) return st.le(x, 2) end},
    {"x == 2", function(x) return st.eq(x, 2) end},
    {"2 ~= x", function(x) return st.ne(x, 2) end},
    {"y & 6 | 1", function(_, y)
      return st.bitwise_or(st.bitwise_and(y, 6), 1)
    end},
    {"6 ~ ~y", function(_, y)
      return st.bitwise_xor(st.bitwise_not(y), 6)
    end},
    {"y << 2 >> 1", function(_, y)
      return st.bitwise_right_shift(st.bitwise_left_shift(y, 2), 1)
    end},
    {"b or x > 0 and y > 0", function(x, y, b)
      return st.logical_or(b, st.logical_and(x:gt(0), y:gt(0)))
    end},
    {"!b && true", function(_, _, b) return st.logical_not(b) end},
    {"not x == 0", function(x) return st.eq(st.logical_not(x), 0) end},
    {"b ? x : k", function(x, _, b, k) return st.where(b, x, k) end},
    {"b ? 0 : x > 1 ? 1 : 2", function(x, _, b)
      return st.where(b, 0, st.where(x:gt(1), 1, 2))
    end},
    {"b ? x > 1 ? 1 : 2 : 0", function(x, _, b)
      return st.where(b, st.where(x:gt(1), 1, 2), 0)
    end},
    {"false ? x : y", function(x, y) return st.where(false, x, y) end},
    {"exp(-x * x)", function(x) return st.exp(-x * x) end},
    {"aten::exp(x)", function(x) return st.exp(x) end},
    {"clamp(x, 0, 2)", function(x) return st.clamp(x, 0, 2) end},
    {"clamp(x, max = k - 1)", function(x) return st.clamp(x, {max = 2}) end},
    {"div(x, 2, rounding_mode='floor')", function(x)
      return st.div(x, 2, {rounding_mode = "floor"})
    end},
    {'x.div(2, rounding_mode="trunc")', function(x)
      return st.div(x, 2, {rounding_mode = "trunc"})
    end},
    {"x:exp():sub(1)", function(x) return st.exp(x) - 1 end},
    {"x.exp().sub(y, alpha=2)", function(x, y)
      return st.sub(st.exp(x), y, {alpha = 2})
    end},
    {"-x.abs() ^ 2", function(x) return -(st.abs(x) ^ 2) end},
    {"b ? x.exp() : x:abs()", function(x, _, b)
      return st.where(b, st.exp(x), st.abs(x))
    end},
    {"b ? (x:exp()) : exp(y)", function(x, y, b)
      return st.where(b, st.exp(x), st.exp(y))
    end},
    {"max(x, 1) + 1", function(x) return (st.max(x, 1)) + 1 end},
    {"t = x * 2; u = t + y; t * u", function(x, y)
      return x * 2 * (x * 2 + y)
    end},
    {"local t = x\n\n  local t = t * t\nreturn t + 1\n", function(x)
      return x * x + 1
    end},
    {"x = x + 1; x = x * 2; x", function(x) return (x + 1) * 2 end},
    {"pi = 3\n x * pi", function(x) return x * 3 end},
    {"t = x\n-t", function(x) return -x end},
    {"t = x *\n y\n  / 2\nt", function(x, y) return x * y / 2 end},
    {"clamp(x,\n  min=0,\n  max=1\n)", function(x)
      return st.clamp(x, 0, 1)
    end},
    {"b\n  ? x\n  : y", function(x, y, b) return st.where(b, x, y) end},
    {"x\n  .exp()\r\n  .abs()", function(x) return st.abs(st.exp(x)) end},
    {";;x + 1;;\n;", function(x) return x + 1 end},
  }
  for _, row in ipairs(SAME) do
    it("is what Lua makes of it: " .. row[1]:gsub("%s+", " "), function()
      local got, want = run(row[1]), row[2](values())
      assert.equal(want.dtype, got.dtype)
      assert.same(lists(want), lists(got))
    end)
  end

  it("has several results", function()
    local sum, product, number = run "t = x + y; t, x * y, k"
    local x, y = values()
    assert.same({lists(x + y), lists(x * y), 3},
                {lists(sum), lists(product), number})
    assert.equal(2, select("#", run "return x,\n y"))
    assert.equal(1, select("#", run "max(x, 1)"))
  end)

  it("may have no arguments", function()
    assert.equal(7, expression.compile("3 + 4", {})())
  end)

  it("is run as often as it is called", function()
    local f = expression.compile("t = x * 2; t + 1", {"x"})
    assert.same({3, 5}, {f(1), f(2)})
    assert.same({{3}, 7}, {lists(f(f64 {1})), f(3)})
  end)

  it("calls operators of libraries", function()
    local lib = st.library "exprspec"
    lib:def("twice(Tensor x, *, float by=2.0) -> Tensor",
            function(x, by) return x * by end)
    local f = expression.compile("exprspec::twice(x)", {"x"})
    assert.same({6}, lists(f(f64 {3})))
    assert.same({6}, lists(expression.compile("twice(x)", {"x"})(f64 {3})))
    f = expression.compile("x:twice(by=4)", {"x"})
    assert.same({12}, lists(f(f64 {3})))
    lib:close()
    tensors.raises("exprspec::twice: there is no such operator", f, f64 {3})
    assert.matches("there is no operator 'exprspec::twice'",
                   refusal "exprspec::twice(x)", 1, true)
  end)

  it("can be the body of an elementwise operator", function()
    local text = "t = clamp((x - lo) / (hi - lo), 0, 1)\n"
      .. "x > k * 2 ? hi : t * t * (3 - 2 * t) ^ k"
    local lib = st.library "exprspec"
    lib:elementwise("step(Tensor x, Tensor lo, Tensor hi, float k) -> Tensor",
                    expression.compile(text, {"x", "lo", "hi", "k"}))
    local x, lo, hi = f64 {-1, 0.5, 1, 5}, f64 {0}, f64 {2}
    local t = st.clamp(x / 2, 0, 1)
    local want = st.where(x:gt(4), hi, t * t * (3 - 2 * t) ^ 2)
    tensors.near(lists(want), lists(st.ops.exprspec.step(x, lo, hi, 2)))
    lib:close()
  end)

  it("is read to its end however long it is", function()
    local n = 20000
    local f = expression.compile(("x + "):rep(n) .. "x", {"x"})
    assert.equal(2 * (n + 1), f(2))
  end)

  it("is as deep as 200 levels", function()
    local function nested(open, close, n)
      return open:rep(n) .. "x" .. close:rep(n)
    end
    local rows = {
      {"(", ")"}, {"- ", ""}, {"x ^ ", ""}, {"exp(", ")"}, {"x.add(", ")"},
      {"true ? x : ", ""}, {"true ? ", " : x"},
      {"1 or 1 and 1 < 1 | 1 ~ 1 & 1 << 1 + 1 * (", ")"},
    }
    for _, row in ipairs(rows) do
      local open, close = row[1], row[2]
      assert.is_function(expression.compile(nested(open, close, 200), {"x"}))
      for _, n in ipairs {201, 5000} do
        assert.matches("expression: nested deeper than 200 (at ",
                       refusal(nested(open, close, n)), 1, true)
      end
    end
    local f = expression.compile(nested("- ", "", 199), {"x"})
    assert.equal(-5, f(5))
  end)

  -- -- Mistakes ---------------------------------------------------------------

  local MISTAKES = {
    {"x + )", "unexpected ')' at 5 in \"x + )\""},
    {"x +", "unexpected end at 4 in \"x +\""},
    {"", "unexpected end at 1 in \"\""},
    {" \n ;", "unexpected end at 5"},
    {"(x", "unexpected end at 3"},
    {"x)", "unexpected ')' at 2"},
    {"x y", "unexpected 'y' at 3"},
    {"x ? y", "unexpected end at 6"},
    {"x : y", "unexpected ':' at 3"},
    {"b ? x:exp() : y", "unexpected ':' at 13"},
    {"x.shape", "unexpected '.' at 2"},
    {"x .5", "unexpected '.5' at 3"},
    {"x[1]", "unexpected '[' at 2"},
    {"{}", "unexpected '{' at 1"},
    {"x -- doubled", "unexpected '--' at 3"},
    {"x $ 2", "unexpected '$' at 3"},
    {"x \195\151 2", "unexpected '\195\151' at 3"},
    {"x \0", "unexpected ' ' at 3"},
    {"x = = 2", "unexpected '=' at 5"},
    {"local 3 = x; x", "unexpected '3' at 7"},
    {"local x", "unexpected end at 8"},
    {"and = 3; x", "unexpected 'and' at 1"},
    {"t =\n", "unexpected end at 5"},
    {"t = x y\nt", "unexpected 'y' at 7"},
    {"(x\n; y)", "unexpected ';' at 4"},
    {"x, y,", "unexpected end at 6"},
    {"'abc'", "unexpected ''abc'' at 1"},
    {"clamp('a' + x)", "unexpected '+' at 11"},
    {"clamp(x", "unexpected end at 8"},
    {"clamp(, x)", "unexpected ',' at 7"},
    {"aten::exp", "unexpected end at 10"},
    {"aten::(x)", "unexpected '(' at 7"},
    {"exp::(x)", "unexpected '(' at 6"},
    {"x < k < 2", "two comparisons in a row: unexpected '<' (at 7 in"},
    {"x == y != k", "two comparisons in a row: unexpected '!=' (at 8 in"},
    {"z", "there is no 'z' here: the arguments are x, y, b, k (at 1 in \"z\")"},
    {"t = u; u = 1; t", "there is no 'u' here"},
    {"exp", "there is no 'exp' here"},
    {"foo(x)", "there is no operator 'foo' (at 1 in"},
    {"x.foo(y)", "there is no operator 'foo' (at 3 in"},
    {"x(y)", "there is no operator 'x' (at 1 in"},
    {"nope::exp(x)", "there is no operator 'nope::exp' (at 7 in"},
    {"clamp(x, min=0, 1)", "arguments without a name come first (at 17 in"},
    {"clamp(x, min=0, min=1)", "'min' is given twice (at 17 in"},
    {"1..2", "malformed number '1..2' (at 1 in"},
    {"x + 3x", "malformed number '3x' (at 5 in"},
    {"0x", "malformed number '0x' (at 1 in"},
    {"1e", "malformed number '1e' (at 1 in"},
    {"div(x, 'abc)", "malformed string (at 8 in"},
    {"div(x, 'a\nb')", "malformed string (at 8 in \"div(x, 'a b')\")"},
    {"t = x", "'t' is the last statement: there is no result (at 1 in"},
    {"x; y", "nothing follows the result (at 4 in"},
    {"return x\nt = y", "nothing follows the result (at 10 in"},
  }
  for _, row in ipairs(MISTAKES) do
    it("is refused with a place: " .. row[1]:gsub("%c", " "), function()
      local message = refusal(row[1])
      assert.truthy(message:find("expression: " .. row[2], 1, true), message)
    end)
  end

  it("is shown where the mistake is when it is long", function()
    local message = refusal(("x + "):rep(50) .. "z" .. (" + y"):rep(50))
    assert.matches("at 201 in \"...", message, 1, true)
    assert.matches("x + z + y", message, 1, true)
    assert.is_true(#message < 250)
  end)

  it("says that there are no arguments", function()
    assert.matches("there is no 'x' here: there are no arguments (at 1",
                   refusal("x", {}), 1, true)
  end)

  it("is a string", function()
    assert.matches("expression: the text must be a string, got table",
                   refusal {}, 1, true)
  end)

  it("blames the line that has it", function()
    local line = debug.getinfo(1, "l").currentline + 2
    tensors.raises("expression_spec.lua:" .. line .. ": expression: ",
                   function() expression.compile("x + )", NAMES) end)
    local compiled = expression.compile("erf(1)", NAMES)
    line = debug.getinfo(1, "l").currentline + 2
    tensors.raises("expression_spec.lua:" .. line .. ": erf: needs a Tensor",
                   function() compiled() end)
  end)

  it("reaches nothing but operators", function()
    for _, name in ipairs {"print", "load", "require", "save", "library",
                           "manual_seed", "tostring", "os", "grad", "memory"} do
      assert.matches("there is no operator '" .. name .. "' (at 1 in",
                     refusal(name .. "(x)"), 1, true)
    end
    for _, name in ipairs {"_G", "st", "core", "print"} do
      assert.matches("there is no '" .. name .. "' here:", refusal(name), 1,
                     true)
    end
  end)

  it("is no trouble, whatever it says", function()
    local words = {"x", "y", "k", "exp", "(", ")", "(", ")", ",", "=", "==",
                   "-", "+", "*", "^", "~", "not", "or", "<", "?", ":", ".",
                   "::", "1", "2.5", "'s'", "\n", ";", "local", "return", "t",
                   "true", "&", "%", "@", "clamp", "min"}
    local pick, compiled = random(1), 0
    for _ = 1, 5000 do
      local text = {}
      for i = 1, pick(8) do text[i] = words[pick(#words)] end
      local joined = table.concat(text, " ")
      local ok, f = pcall(expression.compile, joined, {"x", "y", "k"})
      if ok then
        compiled = compiled + 1
        local ran, why = pcall(f, 2, 3, 4)
        assert.is_true(ran or not why:find "lua/strided/", joined)
      else
        assert.matches("expression_spec.lua:%d+: expression: .*[ (]at %d+ in ",
                       f)
      end
    end
    assert.is_true(compiled > 50)
  end)

  it("leaves nothing behind", function()
    assert.equal(before, tensors.live())
  end)
end)
