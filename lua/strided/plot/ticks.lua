--- Ticks of axes: round numbers and their texts.
--
-- A tick is a table with `value` and `text`; one without a text is a minor
-- one. The steps of a linear axis are 1, 2, 2.5 or 5 times a power of ten. A
-- text has as many digits as tell it from its neighbours. Where these are more
-- than DIGITS, all texts are relative to an offset.
--
-- @module strided.plot.ticks

local abs, ceil, find, floor, format, gsub, log, max = math.abs, math.ceil,
  string.find, math.floor, string.format, string.gsub, math.log, math.max
local ipairs = ipairs

local DIGITS = 6
local MINORS = 30 -- decades up to which each has a tick
local BIG, SMALL = 1e6, 1e-3 -- texts have an exponent from there on

local SUPERSCRIPTS = {
  ["-"] = "⁻", ["0"] = "⁰", ["1"] = "¹", ["2"] = "²", ["3"] = "³",
  ["4"] = "⁴", ["5"] = "⁵", ["6"] = "⁶", ["7"] = "⁷", ["8"] = "⁸", ["9"] = "⁹",
}

local ticks = {}

--- The exponent of the largest power of ten that is at most x > 0.
local function exponent(x)
  local e = floor(log(x) / log(10))
  if 10.0 ^ (e + 1) <= x then e = e + 1 end
  if 10.0 ^ e > x then e = e - 1 end
  return e
end

-- -- Linear axes -------------------------------------------------------------

--- The least step from raw on: its factor and its exponent.
local function step_of(raw, is_integer)
  local e = exponent(raw)
  local f = raw / 10.0 ^ e
  f = f <= 1.0001 and 1 or f <= 2 and 2 or f <= 2.5 and 2.5 or f <= 5 and 5
      or 10
  if f == 10 then f, e = 1, e + 1 end
  if is_integer and e < 0 then return 1, 0 end
  if is_integer and e == 0 and f == 2.5 then f = 5 end
  return f, e
end

--- The text of x whose last digit counts 10 ^ -places.
local function plain(x, places)
  local text = format(format("%%.%df", max(0, places)), x)
  return (gsub(text, "^%-([0.]*)$", "%1"))
end

local function with_exponent(x, places, e)
  if x == 0 then return "0" end
  return plain(x / 10.0 ^ e, places + e) .. "e" .. format("%d", e)
end

--- Writes texts into ticks; returns the offset's text, or nil.
local function write(list, places, span)
  local most = 0
  for _, tick in ipairs(list) do most = max(most, abs(tick.value)) end
  if most == 0 then
    for _, tick in ipairs(list) do tick.text = "0" end
    return nil
  end
  local e = exponent(most)
  if e + places + 1 > DIGITS and span < most / 100 then
    local unit = 10.0 ^ (exponent(span) + 1)
    local base = floor(list[ceil(#list / 2)].value / unit + 0.5) * unit
    local rest = {}
    for i, tick in ipairs(list) do rest[i] = {value = tick.value - base} end
    write(rest, places, 2 * span + most)
    for i, tick in ipairs(list) do
      local text = rest[i].text
      tick.text = (find(text, "^%-") and "" or "+") .. text
    end
    return format("%.15g", base)
  end
  for _, tick in ipairs(list) do
    if most >= BIG or most < SMALL then
      tick.text = with_exponent(tick.value, places, e)
    else
      tick.text = plain(tick.value, places)
    end
  end
end

--- Ticks from lo to hi at round numbers.
-- @tparam number lo
-- @tparam number hi more than lo
-- @tparam integer n about how many parts
-- @tparam boolean is_integer no fractions
-- @treturn table the list
-- @treturn ?string what is to be added to each text
function ticks.linear(lo, hi, n, is_integer)
  n = max(2, n)
  local raw = hi / n - lo / n -- hi - lo may be infinite
  if raw == 0 then raw = hi - lo end
  local factor, e = step_of(raw, is_integer)
  local step = factor * 10.0 ^ e
  local list = {}
  if step > 0 then
    for i = ceil(lo / step - 1e-6), floor(hi / step + 1e-6) do
      -- i / 10 ^ -e is rounded once, i * 10 ^ e twice
      local value = e < 0 and e > -300 and i * factor / 10.0 ^ -e or i * step
      list[#list + 1] = {value = value}
      if #list > 200 then break end
    end
  end
  return list, write(list, -e + (factor == 2.5 and 1 or 0), hi - lo)
end

-- -- Logarithmic axes --------------------------------------------------------

--- 10 with a raised exponent.
local function power(e)
  return "10" .. gsub(format("%d", e), "[%d-]", SUPERSCRIPTS)
end

local function log_text(value, e, is_plain)
  if is_plain then return plain(value, max(0, -e)) end
  local factor = floor(value / 10.0 ^ e + 0.5)
  return (factor == 1 and "" or format("%d×", factor)) .. power(e)
end

--- The least round number of decades from about x on.
local function skip_of(x)
  for _, skip in ipairs {1, 2, 3, 5, 10, 20, 50, 100} do
    if skip >= 0.8 * x then return skip end
  end
  return 200
end

--- Ticks of a logarithmic axis from lo > 0 to hi.
-- @tparam number lo
-- @tparam number hi more than lo
-- @tparam integer n about how many parts
-- @treturn table the list, with minor ticks
-- @treturn ?string what is to be added to each text
function ticks.log(lo, hi, n)
  local from, to = exponent(lo), exponent(hi)
  local decades = (log(hi) - log(lo)) / log(10)
  if decades < 0.7 then return ticks.linear(lo, hi, n, false) end
  local skip = skip_of(decades / max(1, n))
  local has_fives = decades <= n / 3 -- 1, 2 and 5 have texts
  local is_plain = lo >= 0.99e-4 and hi <= 1.01e5
  local list = {}
  local every = decades <= MINORS and 1 or skip
  for e = ceil(from / every) * every, to, every do
    for factor = 1, skip == 1 and decades <= 12 and 9 or 1 do
      local value = factor * 10.0 ^ e
      if value >= lo * (1 - 1e-9) and value <= hi * (1 + 1e-9) then
        local is_major = factor == 1 and e % skip == 0 or
                         has_fives and (factor == 2 or factor == 5)
        list[#list + 1] = {value = value,
                           text = is_major and log_text(value, e, is_plain)
                                  or nil}
      end
    end
  end
  return list
end

return ticks
