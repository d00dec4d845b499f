--- Tensors without elements, whose other sizes may be anything, and numbers
-- that nothing could have: an error or the right result.
-- axes: lua5.4
-- sampled: 3

local empty_calls = require "spec.fuzz.empty_calls"
local extremes = require "spec.fuzz.extremes"
local operators = require "spec.fuzz.operators"
local st = require "strided"

-- All operators take 40 s with the sanitizers: every so many will do, unless
-- everything is asked for.
local STEP = os.getenv "STRIDED_WHOLE" and 1 or
             os.getenv "STRIDED_SANITIZED" and 20 or 12
local LIMIT = 2 ^ 26 -- bytes

local BIGGEST = st.int "9223372036854775807"
local SMALLEST = st.int "-9223372036854775808"
local NUMBERS = {0, -1, 1, 2 ^ 31 - 1, 2 ^ 31, -2 ^ 31, 2 ^ 62, BIGGEST,
                 SMALLEST}

st.warnings(false)

-- -- What is known -----------------------------------------------------------

--- Zeros of the sizes, 1 in place of those that expand gives.
local function wide(...)
  local sizes = {...}
  for d, n in ipairs(sizes) do if n ~= 0 then sizes[d] = 1 end end
  return st.zeros(sizes):expand(...)
end

local rows = wide(0, BIGGEST) -- 0 by 2^63 - 1

-- what it is, the call, then a part of its error or the shape that it gives
local ROWS = {
  {"repeat_interleave", function() return rows:repeat_interleave(2, 2) end,
   "repeat_interleave: the size of the result is too large"},
  {"repeat_interleave without slices",
   function() return st.zeros(0, 3):repeat_interleave(BIGGEST, 1) end, {0, 3}},
  {"diag_embed", function() return rows:diag_embed(1) end,
   "diag_embed: the diagonal offset 1 is too large for shape [0, " ..
   "9223372036854775807]"},
  {"diag_embed below", function() return rows:diag_embed(-1) end,
   "diag_embed: the diagonal offset -1 is too large for shape [0, "},
  {"diag_embed without an offset",
   function() return st.zeros(0, 2):diag_embed() end, {0, 2, 2}},
  {"dstack", function() return st.dstack {rows, rows} end,
   "dstack: shape [0, 9223372036854775807, 2] has more elements than 64 bits"},
  {"cat", function()
    local t = wide(0, 1, BIGGEST)
    return st.cat({t, t}, 2)
  end, "cat: shape [0, 2, 9223372036854775807] has more elements than 64 bits"},
  {"the padding of im2col", function()
    return wide(0, 1, 1, BIGGEST):im2col({1, 1}, {1, 1}, {0, 1}, {1, 1})
  end, "im2col: dimension 1 from the end, of size 9223372036854775807, is too "
   .. "large for a padding of 1"},
  {"the padding of conv1d", function()
    return st.conv1d(wide(0, 1, BIGGEST), st.ones(1, 1, 3), nil, {1}, {2})
  end, "conv1d: dimension 1 from the end, of size 9223372036854775807, is too "
   .. "large for a padding of 2"},
  {"the padding \"same\" of conv1d", function()
    return st.conv1d(wide(0, 1, BIGGEST), st.ones(1, 1, 3), nil, {1}, "same")
  end, "conv1d: dimension 1 from the end, of size 9223372036854775807, is too "
   .. "large for a padding of 1"},
  {"conv_transpose1d", function()
    return st.conv_transpose1d(wide(0, 1, BIGGEST), st.ones(1, 1, 3))
  end, "conv_transpose1d: the result would be too large in dimension 3, for "
   .. "9223372036854775807 windows with a stride of 1"},
  {"the stride of conv_transpose1d", function()
    return st.conv_transpose1d(wide(0, 1, BIGGEST), st.ones(1, 1, 3), nil, {9})
  end, "for 9223372036854775807 windows with a stride of 9"},
  {"_window_sum_backward", function()
    local most = 2 ^ 31 - 1
    return st.ops.aten._window_sum_backward(
      st.zeros(1, 1, 1, 1, 1), {1, 1, 4, 4, 4}, {most, most, most}, {1, 1, 1},
      {0, 0, 0}, {1, 1, 1})
  end, "_window_sum_backward: kernel_size is too large"},
  {"cov", function() return st.cov(st.zeros(2, 0), {correction = SMALLEST}) end,
   {2, 2}},
  {"pixel_shuffle",
   function() return wide(0, BIGGEST, 1):pixel_shuffle(2 ^ 31 - 1) end,
   "pixel_shuffle: "},
  {"two shapes", function() return wide(0, 1, BIGGEST) + wide(0, 2, 1) end,
   "add: shape [0, 2, 9223372036854775807] has more elements than 64 bits"},
  {"two index tensors", function()
    local i = st.zeros({0, 1, 1}, {dtype = "int64"})
    return st.zeros(3, 3)[{i:expand(0, 1, BIGGEST),
                           st.zeros({0, 2, 1}, {dtype = "int64"})}]
  end, "index: shape [0, 2, 9223372036854775807] has more elements than 64"},
}

describe("Without elements", function()
  for _, row in ipairs(ROWS) do
    local what, run, expected = row[1], row[2], row[3]
    it(what .. " may have any size", function()
      local ok, result = pcall(run)
      if type(expected) == "string" then
        assert.is_false(ok)
        assert.truthy(tostring(result):find(expected, 1, true), result)
        return
      end
      assert.is_true(ok, result)
      assert.equal(#expected, #result.shape)
      for d, n in ipairs(expected) do
        assert.equal(n, extremes.value(result.shape[d]))
      end
    end)
  end
end)

-- -- Whatever the number -----------------------------------------------------

local function count_places(call) return #extremes.places(call) end

describe("Without elements, whatever number it is given", function()
  teardown(function() st.memory.set_limit() end)

  it("an operator fails or gives a tensor", function()
    st.memory.set_limit(LIMIT)
    local all, broken, count = operators.overloads(), {}, 0
    local function try(o, call, place, number)
      local what = extremes.try(call.make, place, number)
      count = count + 1
      if what then
        broken[#broken + 1] = ("%s of %s, %s in %s: %s"):format(
          o.name, call.shapes, extremes.show(number),
          place and "place " .. place or "all places", what)
      end
    end
    for k = 1, #all, STEP do
      for _, call in ipairs(empty_calls.of(all[k], count_places)) do
        local n = count_places(call.make())
        try(all[k], call, 0)
        for _, number in ipairs(NUMBERS) do
          for place = 1, n do try(all[k], call, place, number) end
          if n > 1 then try(all[k], call, nil, number) end
        end
      end
    end
    assert.same({}, broken)
    assert.is_true(count > 100000 / STEP)
  end)
end)
