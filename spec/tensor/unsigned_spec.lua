--- The dtypes uint16, uint32 and uint64: numbers up to 2^64 - 1, arithmetic
-- modulo 2^16, 2^32 and 2^64, and the order of unsigned numbers. The expected
-- numbers are written out.
-- axes: isa

local st = require "strided"

local TOP = {uint16 = "65535", uint32 = "4294967295",
             uint64 = "18446744073709551615"}
local HALF = {uint16 = "32768", uint32 = "2147483648",
              uint64 = "9223372036854775808"}
local LESS = {uint16 = "65534", uint32 = "4294967294",
              uint64 = "18446744073709551614"}
local BITS = {uint16 = 16, uint32 = 32, uint64 = 64}
local DTYPES = {"uint16", "uint32", "uint64"}

--- A tensor of numbers, which strings write out.
local function of(dtype, list)
  local numbers = {}
  for i, x in ipairs(list) do
    numbers[i] = type(x) == "string" and st.int(x) or x
  end
  return st.tensor(numbers, {dtype = dtype})
end

--- The elements in decimal digits.
local function digits(t)
  local list = t:flatten():totable()
  for i, x in ipairs(list) do
    list[i] = type(x) == "number" and ("%.0f"):format(x)
      or tostring(x):gsub("ULL$", ""):gsub("LL$", "")
  end
  return list
end

local function is(dtype, expected, t)
  assert.equal(dtype, tostring(t.dtype))
  assert.same(expected, digits(t))
end

describe("A promotion of unsigned integers", function()
  -- The narrowest dtype that holds the numbers of both: Array API standard.
  for _, row in ipairs {
    {"uint8", "uint16", "uint16"}, {"uint8", "uint32", "uint32"},
    {"uint8", "uint64", "uint64"}, {"uint16", "uint32", "uint32"},
    {"uint16", "uint64", "uint64"}, {"uint32", "uint64", "uint64"},
    {"uint16", "int8", "int32"}, {"uint16", "int16", "int32"},
    {"uint16", "int32", "int32"}, {"uint16", "int64", "int64"},
    {"uint32", "int8", "int64"}, {"uint32", "int16", "int64"},
    {"uint32", "int32", "int64"}, {"uint32", "int64", "int64"},
    {"uint16", "bool", "uint16"}, {"uint64", "bool", "uint64"},
    {"uint16", "float16", "float16"}, {"uint32", "bfloat16", "bfloat16"},
    {"uint64", "float32", "float32"}, {"uint64", "complex64", "complex64"},
  } do
    local a, b, common = row[1], row[2], row[3]
    it(("of %s and %s gives %s"):format(a, b, common), function()
      assert.equal(common, tostring(st.promote_types(a, b)))
      assert.equal(common, tostring(st.promote_types(b, a)))
      local sum = st.ones({3}, {dtype = a}) + st.ones({3}, {dtype = b})
      assert.equal(common, tostring(sum.dtype))
      assert.is_true(sum:eq(2):all():item())
    end)
  end

  it("of uint64 and signed integers is refused", function()
    local x = st.ones({2}, {dtype = "uint64"})
    for _, dtype in ipairs {"int8", "int16", "int32", "int64"} do
      local y = st.ones({2}, {dtype = dtype})
      for _, call in ipairs {st.add, st.maximum, st.bitwise_and, st.lt,
                             st.where, st.cat, st.stack, st.diff, st.isin} do
        local ok, message
        if call == st.where then ok, message = pcall(call, x:gt(0), x, y)
        elseif call == st.diff then
          ok, message = pcall(call, x, {prepend = y})
        elseif call == st.isin then
          ok, message = pcall(call, x:repeat_interleave(50):view(20, 5),
                              y:repeat_interleave(50))
        else ok, message = pcall(call, x, y) end
        assert.is_false(ok)
        assert.matches("uint64 and signed integers give int128", message, 1,
                       true)
      end
    end
    assert.equal("float32", tostring(st.div(x, st.ones(2)).dtype))
  end)

  it("with a number, or a tensor of no dimensions, keeps the dtype",
     function()
    for _, dtype in ipairs(DTYPES) do
      local x = of(dtype, {1, 2})
      is(dtype, {"3", "4"}, x + 2)
      is(dtype, {"3", "4"}, x + st.tensor(2, {dtype = "int64"}))
      assert.equal("float32", tostring((x * 1.5).dtype))
    end
  end)
end)

for _, dtype in ipairs(DTYPES) do
  local top, half, less = TOP[dtype], HALF[dtype], LESS[dtype]

  describe("A tensor of " .. dtype, function()
    local x
    before_each(function() x = of(dtype, {0, 1, top, half, 7}) end)

    it("holds its greatest number", function()
      is(dtype, {"0", "1", top, half, "7"}, x)
      is(dtype, {top}, st.full({1}, st.int(top), {dtype = dtype}))
      is(dtype, {top}, st.zeros({1}, {dtype = dtype}):fill_(x[3]))
      local info = st.dtype_info(dtype)
      is(dtype, {"0", top}, of(dtype, {info.min, info.max}))
      assert.equal(false, info.is_signed)
      x[1] = x[3]
      is(dtype, {top, "1", top, half, "7"}, x)
      x[1] = -2
      is(dtype, {less, "1", top, half, "7"}, x)
    end)

    it("is printed with it", function()
      assert.matches(top, tostring(x), 1, true)
      assert.matches("dtype=" .. dtype, tostring(x), 1, true)
      assert.equal(("tensor(%s, dtype=%s)"):format(top, dtype),
                   tostring(x[{3}] and x:max()))
    end)

    it("refuses numbers that do not fit", function()
      local over = {uint16 = 65536, uint32 = 2 ^ 32, uint64 = 2 ^ 64}
      for _, n in ipairs {over[dtype], 1e30, -1.5} do
        assert.error_matches(function() x:fill_(n) end, "does not fit")
      end
      is(dtype, {"0", "1", top, half, "7"}, x)
    end)

    it("computes modulo 2^" .. BITS[dtype], function()
      is(dtype, {"1", "2", "0", tostring(st.int(half)):gsub("8U?L?L?$", "9"),
                 "8"}, x + 1)
      is(dtype, {top, "0", less}, x[{{1, 3}}] - 1)
      is(dtype, {"0", "1", "1", "0", "49"}, x * x)
      is(dtype, {"0", "1", "1", "0", "49"}, x:square())
      is(dtype, {"0", top, "1", half}, -x[{{1, 4}}])
      is(dtype, {"0", "1", top, half, "7"}, x:abs())
      is(dtype, {"0", "1", "1", "1", "1"}, x:sign())
      is(dtype, {top, less, "0"}, x[{{1, 3}}]:bitwise_not())
      is(dtype, {"0", "2", less, "0", "14"}, x:bitwise_left_shift(1))
      is(dtype, {"0", "0", "1", "1", "0"},
         x:bitwise_right_shift(BITS[dtype] - 1))
      is(dtype, {"0", "0", "0", "0", "0"},
         x:bitwise_right_shift(of(dtype, {BITS[dtype]})))
      is(dtype, {"0", "1", top, "0", "343"}, x:pow(3))
      is(dtype, {"0", "1", top, "0", "343"}, x:pow(of(dtype, {3})))
      is(dtype, {"1", top}, of(dtype, {0, top}):pow(of(dtype, {0, top})))
      is("int64", {"14"}, x[{{5, 5}}]:sum() + 7)
      is(dtype, {"14"}, of(dtype, {half, half, 14}):sum {dtype = dtype})
      is(dtype, {"0", "1", "0"}, x[{{1, 3}}]:cumsum(1, {dtype = dtype}))
      is(dtype, {"1"}, of(dtype, {top, top}):prod {dtype = dtype})
      is(dtype, {"2"}, of(dtype, {top, top}):matmul(of(dtype, {top, top})))
    end)

    it("divides unsigned numbers", function()
      local by = of(dtype, {top, less, 7, half, 1})
      local y = of(dtype, {top, top, top, top, top})
      local sevenths = {uint16 = {"9362", "1"}, uint32 = {"613566756", "3"},
                        uint64 = {"2635249153387078802", "1"}}
      local below = {uint16 = "32767", uint32 = "2147483647",
                     uint64 = "9223372036854775807"}
      local rest = {"0", "1", sevenths[dtype][2], below[dtype], "0"}
      is(dtype, {"1", "1", sevenths[dtype][1], "1", top},
         y:floor_divide(by))
      is(dtype, {"1", "1", sevenths[dtype][1], "1", top},
         y:div(by, {rounding_mode = "trunc"}))
      is(dtype, rest, y:remainder(by))
      is(dtype, rest, y:fmod(by))
      assert.error_matches(function() y:remainder(0) end, "zero")
      assert.equal(1, (y / y):mean():item())
      is(dtype, {half, half}, of(dtype, {half, 0}):gcd(of(dtype, {0, half})))
      is(dtype, {top, half},
         of(dtype, {top, half}):lcm(of(dtype, {top, 2})))
    end)

    it("is ordered by unsigned numbers", function()
      local order = of(dtype, {half, 0, top, 1, less})
      local values, indices = order:sort()
      is(dtype, {"0", "1", half, less, top}, values)
      assert.same({2, 4, 1, 5, 3}, indices:totable())
      assert.same({3, 5, 1, 4, 2},
                  order:argsort {dim = 1, descending = true}:totable())
      is(dtype, {top}, order:max())
      is(dtype, {"0"}, order:min())
      assert.equal(3, order:argmax():item())
      assert.equal(2, order:argmin():item())
      is(dtype, {half}, order:median())
      is(dtype, {top, less}, (order:topk(2)))
      is(dtype, {less}, (order:kthvalue(4)))
      is(dtype, {"0", "1", half, less, top}, (order:unique()))
      is(dtype, {half, half, top, top, top}, (order:cummax(1)))
      is(dtype, {half, "0", "0", "0", "0"}, (order:cummin(1)))
      assert.same({3, 1, 5, 2, 4},
                  st.searchsorted(values, order):totable())
      assert.same({true, false, true, false, false},
                  order:isin(of(dtype, {top, half})):totable())
      assert.same({true, false, true, false, true}, order:gt(1):totable())
      assert.same({false, true, false, false, false},
                  order:lt(of(dtype, {1})):totable())
      is(dtype, {half, "1", half, "1", half},
         order:clamp(1, st.int(half)))
      is(dtype, {half, half, top, half, less},
         order:maximum(of(dtype, {half})))
      is(dtype, {half, "0", half, "1", half},
         order:minimum(of(dtype, {half})))
      local least, greatest = order:aminmax()
      is(dtype, {"0", top}, st.stack {least, greatest})
    end)

    it("converts to and from other dtypes", function()
      local same = {float64 = {uint16 = 65535, uint32 = 4294967295,
                               uint64 = 2 ^ 64},
                    float32 = {uint16 = 65535, uint32 = 2 ^ 32,
                               uint64 = 2 ^ 64}}
      for to, value in pairs(same) do
        assert.equal(value[dtype], x[{{3, 3}}]:to(to):item())
      end
      assert.same({false, true, true, true, true}, x:to("bool"):totable())
      assert.same({-1, -2}, of(dtype, {top, less}):to("int8"):totable())
      local wide = {uint16 = 65535, uint32 = 4294967295, uint64 = -1}
      assert.equal(wide[dtype], x:to("int64")[3])
      is("uint64", {"0", "1", top, half, "7"}, x:to "uint64")
      is(dtype, {top, "1"}, st.tensor({-1, 1}, {dtype = "int8"}):to(dtype))
      is(dtype, {"0", "3", top, "200"},
         st.tensor {0.9, 3.7, -1, 200}:to(dtype))
      -- uint16 and int16 have the same bits
      local signed = dtype:sub(2)
      is(dtype, {top, "1"}, st.tensor({-1, 1}, {dtype = signed}):view(dtype))
      assert.same({-1, 1}, of(dtype, {top, 1}):view(signed):totable())
    end)

    it("is gathered, scattered and masked", function()
      is(dtype, {top, "0"}, x:index_select(1, st.tensor {3, 1}))
      is(dtype, {top, half, "7"}, x[x:gt(1)])
      is(dtype, {"7", "1", "7", "7", "7"},
         st.where(x:eq(1), x, of(dtype, {7})))
      local twice = st.tensor {1, 1}
      is(dtype, {"0", "1", top, half, "7"},
         x:index_add(1, twice, of(dtype, {top, 1})))
      is(dtype, {top, "1", top, half, "7"},
         x:scatter_reduce(1, twice, of(dtype, {top, half}), "amax"))
      is(dtype, {"0", "1", top, half, "7"},
         x:scatter_reduce(1, twice, of(dtype, {top, half}), "amin"))
      is(dtype, {half},
         of(dtype, {1}):scatter_reduce(1, twice, of(dtype, {top, half}),
                                       "prod"))
      is(dtype, {half}, of(dtype, {0}):scatter_reduce(
        1, twice, of(dtype, {top, half}), "amin", {include_self = false}))
      is(dtype, {"7", half, top, "1", "0"}, x:flip {1})
      is(dtype, {"0", "1", top, half, "7", "0", "1"},
         st.cat {x, x[{{1, 2}}]})
      assert.equal(4, x:count_nonzero():item())
      assert.same({{2}, {3}, {4}, {5}}, x:nonzero():totable())
      assert.is_true(x:any():item())
      assert.is_false(x:all():item())
    end)

    it("is made by factories and random numbers", function()
      is(dtype, {"1", "2", "3"}, st.arange(1, 4, {dtype = dtype}))
      is(dtype, {"0", "5", "10"}, st.linspace(0, 10, 3, {dtype = dtype}))
      is(dtype, {"1", "0", "0", "1"}, st.eye(2, {dtype = dtype}))
      st.manual_seed(1)
      local drawn = st.empty({4000}, {dtype = dtype}):random_()
      local upper = drawn:ge(st.int(half)):sum():item()
      assert.is_true(upper > 1800 and upper < 2200) -- 3 sigma is 95
      local odd = drawn:bitwise_and(1):sum():item()
      assert.is_true(odd > 1800 and odd < 2200)
      local low = st.randint(3, 9, {1000}, {dtype = dtype})
      is(dtype, {"3", "4", "5", "6", "7", "8"}, (low:unique()))
    end)

    it("is written to files and read", function()
      for _, name in ipairs {"x.npy", "x.safetensors"} do
        local path = os.tmpname() .. "." .. name
        st.save(path, name == "x.npy" and x or {x = x})
        local read = st.load(path)
        os.remove(path)
        if name == "x.safetensors" then read = read.x end
        is(dtype, {"0", "1", top, half, "7"}, read)
      end
    end)

    it("is computed with by fused functions", function()
      local fn = function(a, b)
        return (a * b + a):bitwise_xor(b):maximum(a):floor_divide(3)
      end
      local a = st.arange(0, 2000, {dtype = dtype}) - 1000
      local b = st.arange(0, 2000, {dtype = dtype}) * 77 + 1
      assert.is_true(st.fuse(fn)(a, b):equal(fn(a, b)))
      local below = st.fuse(function(u) return u:lt(5) end)
      assert.is_true(below(a):equal(a:lt(5)))
    end)
  end)
end

describe("A float beyond int64", function()
  it("becomes a uint64", function()
    for _, dtype in ipairs {"float32", "float64"} do
      local x = st.tensor({2 ^ 63, 2 ^ 64 - 2 ^ 40, 2 ^ 62, 5.5, -1},
                          {dtype = dtype})
      is("uint64", {"9223372036854775808", "18446742974197923840",
                    "4611686018427387904", "5", "18446744073709551615"},
         x:to "uint64")
      is("uint32", {"0", "0", "0", "5", "4294967295"}, x:to "uint32")
    end
    assert.equal(2 ^ 63, st.tensor(2 ^ 63, {dtype = "uint64"})
                 :to("float64"):item())
  end)

  it("is counted by arange", function()
    local big = st.int "9223372036854775806"
    local range = st.arange(big, st.int "9223372036854775810", 1,
                            {dtype = "uint64"})
    is("uint64", {"9223372036854775806", "9223372036854775807",
                  "9223372036854775808", "9223372036854775809"}, range)
    is("uint64", {"18446744073709551613", "18446744073709551615"},
       st.range(st.int "18446744073709551613", st.int "18446744073709551615",
                2))
    assert.equal(0, st.arange(big, big):numel())
  end)

  it("is an exponent, and a number of a mean", function()
    local half = st.int "9223372036854775808"
    is("uint64", {"1", "0"}, of("uint64", {1, 2}):pow(half))
    is("uint64", {"1", "6148914691236517205"},
       of("uint64", {1, 0}):scatter_reduce(
         1, st.tensor {2, 2},
         of("uint64", {"9223372036854775807", half}), "mean"))
    assert.equal(2 ^ 63 + 2 ^ 40,
                 st.tensor({st.int "9223372586610589697"},
                           {dtype = "float32"}):item())
    assert.equal("uint64", st.result_type(of("uint8", {1}), "uint64", half))
  end)

  it("is what an integer beyond int64 becomes", function()
    local big = st.int "18446744073709551615"
    assert.equal(2 ^ 64, (st.zeros {1} + big):item())
    assert.equal(2 ^ 64, st.tensor({big, 0.5}):max():item())
    assert.equal("uint64", tostring(st.tensor {big}.dtype))
    assert.error_matches(function()
      return st.full({1}, big, {dtype = "int64"})
    end, "value 18446744073709551615 does not fit in int64", 1, true)
  end)
end)
