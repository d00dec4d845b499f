--- Sizes, positions and steps that nothing could have: an error or the right
-- result, whatever the number.
-- axes: lua
-- sampled: 3

local calls = require "spec.fuzz.calls"
local lapack = require "spec.support.lapack"
local extremes = require "spec.fuzz.extremes"
local st = require "strided"

local unpack = unpack or table.unpack -- luacheck: ignore 143
local value = extremes.value

local huge = math.huge
local jit = rawget(_G, "jit")
local SANITIZED = os.getenv "STRIDED_SANITIZED"
local BIGGEST = st.int "9223372036854775807"
local SMALLEST = st.int "-9223372036854775808"

st.warnings(false)

-- -- What is known -----------------------------------------------------------

-- the call, then a part of its error, the shape or the elements that it gives;
-- t has 3 elements, x is 3 by 4
local ROWS = {
  {"zeros(2^62)", "does not fit in the address space"},
  {"zeros(2^32, 2^32)", "more elements than 64 bits"},
  {"zeros(2^32, 2^32, 0)", "more elements than 64 bits"},
  {"zeros(BIG)", "address space"},
  {"zeros(BIG, BIG)", "more elements than 64 bits"},
  {"zeros(-1)", "negative size"},
  {"zeros(1.5)", "must be a list of integers, got number 1.5"},
  {"zeros(nan)", "got nan"},
  {"zeros(huge)", "got infinity"},
  {"zeros(1e308)", "beyond 64 bits"},
  {"zeros(2^63)", "beyond 64 bits"},
  {"ones(2^40)", "memory"},
  {"full({2}, BIG):sum()", "", {}},
  {"full({2}, 2^63, {dtype='int64'})", "does not fit in int64"},
  {"full({2}, 1e308, {dtype='int8'})", "does not fit in int8"},
  {"full({2}, 1e308)", "does not fit in float32"},
  {"empty({2^40, 2^40}, {device='meta'})", "more elements than 64 bits"},
  {"empty({2^31, 2^31}, {device='meta'})", "address space"},
  {"empty({2^40}, {device='meta'})", "", {2 ^ 40}},
  {"empty_strided({2, 2}, {2^62, 2^62})", "address space"},
  {"empty_strided({2}, {-1})", "negative"},
  {"randperm(2^62)", "address space"},
  {"randint(SMALL, BIG, {2})", "", {2}},

  {"arange(0, 2^53, 2^52)", "", {2}, {0, 2 ^ 52}},
  {"arange(0, BIG, 2^62)", "", {2}, {0, 2 ^ 62}},
  {"arange(-2^63, 2^62, 2^62)", "", {3}, {-2 ^ 63, -2 ^ 62, 0}},
  {"arange(BIG, BIG)", "", {0}},
  {"arange(0, 1e308)", "too many elements"},
  {"arange(0, 1, 1e-300)", "too many elements"},
  {"arange(0, huge)", "must be finite"},
  {"arange(0, 1, nan)", "step must not be 0 or NaN"},
  {"arange(nan, 1)", "must be finite"},
  {"arange(0, 1, 0)", "step must not be 0 or NaN"},
  {"range(1, 2^62)", "address space"},
  {"linspace(0, 1, 2^62)", "address space"},
  {"linspace(0, 1, -1)", "must not be negative"},
  {"linspace(0, 1, nan)", "got nan"},
  {"logspace(0, 1, 2^62)", "address space"},
  {"eye(2^32)", "more elements than 64 bits"},
  {"eye(2^31, 2^33)", "more elements than 64 bits"},
  {"eye(-1)", "must not be negative"},
  {"tril_indices(2^32, 2^32)", "row and col must be from 0"},
  {"tril_indices(BIG, 1)", "row and col must be from 0"},
  {"tril_indices(2147483647, 2)", "memory"},
  {"tril_indices(2147483647, 2147483647)", "address space"},
  {"tril_indices(2147483647, 2147483647, -2147483645)", "", {2, 3},
   {{2147483646, 2147483647, 2147483647}, {1, 1, 2}}},
  {"triu_indices(2147483647, 2)", "", {2, 3}, {{1, 1, 2}, {1, 2, 2}}},
  {"triu_indices(2147483647, 0)", "", {2, 0}},
  {"triu_indices(2, 2, 2^62)", "", {2, 0}},
  {"triu_indices(2, 2, -2^62)", "", {2, 4}},

  {"t:expand(2^61, 3)", "", {2 ^ 61, 3}},
  {"t:expand(2^62, 3)", "more elements than 64 bits"},
  {"ones(1):expand(BIG)", "", {BIGGEST}},
  {"ones(1):expand(2^32, 2^32)", "more elements than 64 bits"},
  {"ones(1):expand(-2)", "expand"},
  {"t:as_strided({2^62}, {0})", "", {2 ^ 62}},
  {"t:as_strided({2, 2}, {2^62, 2^62})", "address space"},
  {"t:as_strided({3}, {BIG})", "address space"},
  {"t:as_strided({2^32, 2^32}, {0, 0})", "more elements than 64 bits"},
  {"t:as_strided({2}, {1}, BIG)", "address space"},
  {"t:as_strided({2}, {1}, SMALL)", "as_strided"},
  {"t:as_strided({2}, {-1}, 1)", "cannot be negative"},
  {"t:as_strided({1}, {1}, 3)", "as_strided"},
  {"t['repeat'](t, 2^62)", "too large"},
  {"t['repeat'](t, 2^32, 2^32)", "more elements than 64 bits"},
  {"t:tile(2^62)", "too large"},
  {"t:repeat_interleave(2^62)", "too large"},
  {"t:repeat_interleave(BIG)", "too large"},
  {"t:new_zeros(2^62)", "address space"},
  {"x:tril(BIG):sum()", "", {}},
  {"x:triu(SMALL):sum()", "", {}},
  {"x:diagonal(BIG)", "", {0}},
  {"x:diagonal(SMALL)", "", {0}},
  {"t:diag_embed(2^62)", "is too large"},
  {"t:diag_embed(SMALL)", "is too large"},
  {"t:diag(2^62)", "is too large"},

  {"x:narrow(1, 1, BIG)", "reach beyond"},
  {"x:narrow(1, BIG, 1)", "out of range"},
  {"x:narrow(1, 2, SMALL)", "narrow"},
  {"x:slice(1, 1, BIG, BIG)", "too large"},
  {"x:slice(1, SMALL, BIG, 1)", "", {3, 4}},
  {"x:slice(1, 1, 2, 0)", "must be positive"},
  {"x:select(1, BIG)", "out of range"},
  {"x:unfold(1, 2, BIG)", "too large"},
  {"x:unfold(1, BIG, 1)", "do not fit"},
  {"zeros(3, 0, 0):pixel_unshuffle(2147483647)", "the result is too large"},
  {"zeros(1, 0, 0):pixel_unshuffle(3)", "", {9, 0, 0}},
  {"zeros(0, 1, 1):expand(0, 2^62, 1):pixel_shuffle(4)",
   "the result is too large"},
  {"x:roll(BIG, 1)", "", {3, 4}},
  {"x:roll(SMALL, 1)", "", {3, 4}},
  {"x:split(BIG)[1]", "", {3, 4}},
  {"x:split(0)", "is invalid for a dimension of size"},
  {"x:split(-1)", "split"},
  {"x:chunk(BIG)[1]", "", {1, 4}},
  {"x:tensor_split(BIG)", "too many"},
  {"x:view(BIG, -1)", "is not a shape of 12"},
  {"x:view(2^32, 2^32)", "is not a shape of 12"},
  {"x:reshape(-1, 2^62)", "is not a shape of 12"},
  {"x:unflatten(1, {BIG, -1})", "is not a shape of 3"},
  {"x:clone():resize_(2^62)", "address space"},
  {"x:clone():resize_(2^32, 2^32)", "more elements than 64 bits"},
  {"zeros(0):view(2^62, 2^62, 0)", "is not a shape of 0"},
  {"zeros(0):view(-1, 0)", "the size -1 is ambiguous"},

  {"t:topk(BIG)", "out of range"},
  {"t:kthvalue(BIG)", "out of range"},
  {"t:sum(BIG)", "out of range"},
  {"t:transpose(1, SMALL)", "out of range"},
  {"t:unsqueeze(BIG)", "out of range"},
  {"x:bincount {minlength=2^62}", "bincount"},
  {"t:histc(2^62)", "address space"},
  {"t:diff {n=2^62}", "", {0}},
  {"t[1e308]", "beyond 64 bits"},
  {"t[nan]", "nan"},
  {"x[2^62]", "out of range"},
  {"x[{{1, BIG}}]", "", {3, 4}},
  {"x[{{SMALL, BIG}}]", "", {3, 4}},
  {"x[{{1, 2, BIG}}]", "too large"},
  {"x['9223372036854775808']", "a smaller number"},
  {"x['1::99999999999999999999']", "a smaller number"},
}

local WORDS = {
  x = st.arange(0, 12):view(3, 4), t = st.ones(3), huge = huge, nan = 0 / 0,
  BIG = BIGGEST, SMALL = SMALLEST,
}

--- The call that a row says, among the names above and those of st.
local function compile(text)
  local words = setmetatable(WORDS, {__index = st})
  if not setfenv then return load("return " .. text, text, "t", words) end
  return setfenv(assert(loadstring("return " .. text)), words)
end

describe("A size that nothing could have:", function()
  for _, row in ipairs(ROWS) do
    local text, failure, shape, elements = unpack(row)
    it(text, function()
      local ok, result = pcall(compile(text))
      if failure ~= "" then
        assert.is_false(ok)
        assert.truthy(tostring(result):find(failure, 1, true), result)
        return
      end
      assert.is_true(ok, result)
      assert.same(#shape, #result.shape)
      for d, n in ipairs(shape) do
        assert.equal(value(n), value(result.shape[d]))
      end
      if elements then assert.same(elements, result:to "float64":totable()) end
    end)
  end
end)

-- -- Whatever the number -----------------------------------------------------

-- LuaJIT tries all operators. The sanitizers take their time, and another Lua
-- changes how numbers are read, not what an operator makes of them: every so
-- many operators will do there, unless everything is asked for.
local IS_WHOLE = os.getenv "STRIDED_WHOLE" or jit and not SANITIZED
local STEP = IS_WHOLE and 1 or 16

local NUMBERS = {
  0, -1, 2 ^ 53, -2 ^ 53, st.int "9007199254740993", 2 ^ 62, -2 ^ 62,
  2 ^ 63 - 1024, 2 ^ 63, -2 ^ 63, 2 ^ 64, 1e308, -1e308, BIGGEST, SMALLEST,
  st.int "9223372036854775806", st.int "-9223372036854775807",
  st.int "4611686018427387905", huge, -huge, 0 / 0, 0.5, -1.5, 1e-320,
  2 ^ 53 + 2, 2 ^ 40,
}

-- Those of which there might be memory for so many, but for a limit.
local MEDIUM = {2 ^ 31, 2 ^ 31 - 1, -2 ^ 31, 2 ^ 32, 70000}
local LIMIT = 2 ^ 26 -- bytes

-- Half of the numbers in one place, the others in the next.
local EVERY = os.getenv "STRIDED_WHOLE" and 1 or 2

--- Calls every step-th operator with the numbers in each place and in all of
-- them (place 0): what is wrong, and how many calls there were.
local function try_all(all, step, numbers)
  local broken, count = {}, 0
  for k = 1, #all, step do
    local call = all[k]
    local first = call.make()
    local n = #extremes.places(first)
    for place = n > 1 and 0 or 1, n do
      for i = 1 + (k + place) % EVERY, #numbers, EVERY do
        local number = numbers[i]
        local what = extremes.try(call.make, place > 0 and place, number)
        count = count + 1
        if what then
          broken[#broken + 1] = ("%s, %s in place %d: %s"):format(
            call.name, extremes.show(number), place, what)
        end
      end
    end
  end
  return broken, count
end

describe("Whatever number it is given", function()
  local all
  setup(function()
    all = {}
    for _, call in ipairs(calls.all()) do
      if not lapack.is_missing(call.name) then all[#all + 1] = call end
    end
  end)
  teardown(function()
    all = nil
    st.memory.set_limit()
  end)

  lapack.note("an operator of eigenvalues fails or gives a tensor", pending)

  it("an operator fails or gives a tensor", function()
    local broken, count = try_all(all, STEP, NUMBERS)
    assert.same({}, broken)
    assert.is_true(count > 10000 / STEP / EVERY)
  end)

  it("an operator fails or gives a tensor within a limit", function()
    st.memory.set_limit(LIMIT)
    local broken, count = try_all(all, 8, MEDIUM)
    assert.same({}, broken)
    assert.is_true(count > 200 / EVERY)
  end)
end)
