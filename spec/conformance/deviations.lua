--- Where strided differs from PyTorch on purpose: as rules. A rule says for
-- which cases it is, and checks that our answer is the right one; the replay
-- asks the rules only about a case that differs.

local overlap = require "spec.conformance.overlap"
local schema = require "spec.conformance.schema"

local deviations = {}

-- -- Schemas (S3) ------------------------------------------------------------

local NUMBER = "^[-+]?[%d.]+[eE]?[-+]?%d*$"

local function is_integer(text) return text:find "^[-+]?%d+$" ~= nil end

local function is_bool(text) return text == "True" or text == "False" end

-- type: is this text, a constant, a default of another type?
local ILL_TYPED = {
  int = function(text)
    return is_bool(text) or (text:find(NUMBER) and not is_integer(text))
  end,
  float = is_bool,
  bool = function(text) return text:find(NUMBER) ~= nil end,
  str = function(text) return text:find(NUMBER) ~= nil or is_bool(text) end,
}

--- What is wrong with the default of an argument, and the words of our message.
local function default_fault(text)
  local kind, suffix, default =
    text:match "^%s*(%w+)(%S*)%s+[%a_][%w_]*%s*=%s*(.-)%s*$"
  if not kind then return nil end
  if default == "None" and suffix:sub(-1) ~= "?" then
    return "None for what is not optional", "only an optional argument"
  end
  local n = tonumber(suffix:match "^%[(%d+)%]")
  local inner = default:match "^%[(.*)%]$"
  if n and inner and #schema.split(inner) ~= n then
    return "a default of another length", "a list has the wrong length"
  end
  local ill_typed = ILL_TYPED[kind]
  for _, x in ipairs(ill_typed and schema.split(inner or default) or {}) do
    if ill_typed(x:match "^%s*(.-)%s*$") then
      return "a default of another type", "expected"
    end
  end
end

--- Schemas that PyTorch accepts and strided refuses: why, and what our message
-- has to say; nil for others.
function deviations.of_schema(text)
  local inner = text:match "^[^%(]*(%b())"
  local parts = inner and schema.split(inner:sub(2, -2)) or {}
  local names, stars = {}, 0
  for i, part in ipairs(parts) do
    if part:find "^%s*%*%s*$" then
      stars = stars + 1
      if stars == 2 then return "there is one '*'", "a second '*'" end
      if i == #parts then
        return "'*' without an argument behind it", "no argument follows '*'"
      end
    else
      local name = part:match "^(.-)=" or part
      name = name:match "([%a_][%w_]*)%s*$"
      if name and names[name] then
        return "two arguments of one name", "the same name"
      end
      if name then names[name] = true end
      local fault, words = default_fault(part)
      if fault then return fault, words end
    end
  end
end

-- -- Fallbacks (R12) ---------------------------------------------------------

--- Keys of autograd at which PyTorch falls through by default and strided has a
-- fallback: why. is_missing: PyTorch has nothing there.
function deviations.of_fallback(key, is_missing)
  if (key == "AutogradMeta") == (is_missing == true) and
     key:find "^Autograd%u" then
    return "no derivative: raises where a gradient would be lost"
  end
end

-- -- Poles -------------------------------------------------------------------

--- trigamma is infinite at 0 and at negative integers, as polygamma of any
-- other n is in PyTorch, too. There the sine that its reflection divides by is
-- rounded, so it is not 0 at -1, and the result is about 1e15. Why, and the
-- case with the right elements; nil for others.
function deviations.of_poles(case)
  local n, self = case.args[1], case.args[2]
  local want = case.expect and case.expect.out and case.expect.out[1]
  if not case.op:find "^aten::polygamma" or n ~= 1 or not want or
     want.offset ~= 0 or self.offset ~= 0 or
     table.concat(self.strides, ",") ~= table.concat(want.strides, ",") then
    return nil
  end
  local storage = {}
  for i, y in ipairs(want.storage) do
    local x = self.storage[i]
    local is_pole = type(x) == "number" and x < 0 and x % 1 == 0 and
                    type(y) == "number" and y > 1e10
    storage[i] = is_pole and "inf" or y
  end
  local new = {}
  for name, value in pairs(case) do new[name] = value end
  new.expect = {out = {{dtype = want.dtype, shape = want.shape, offset = 0,
                        strides = want.strides, storage = storage}}}
  return "infinite at a pole", new
end

-- -- Bessel and Airy functions -----------------------------------------------

--- PyTorch's Bessel functions of arguments beyond 5, and its Airy function,
-- have errors of up to 1e-5 in float64; bessel_spec has the exact values. Why,
-- and the case with that tolerance; nil for others. A case may be a program.
function deviations.of_bessel(case)
  local is_rough = false
  for _, step in ipairs(case.kwargs.steps or {case}) do
    is_rough = is_rough or step.op:find "^aten::special_bessel_[jy][01]$" or
               step.op == "aten::special_airy_ai"
  end
  if not is_rough then return nil end
  local new = {}
  for name, value in pairs(case) do new[name] = value end
  new.tol = {1e-5, 1e-6}
  return "a Bessel or Airy function without PyTorch's error", new
end

-- -- Overlap (I2, Y1) --------------------------------------------------------

--- An output that shares memory with an input, other than by being the same
-- elements in the same order: PyTorch refuses some and is silently wrong about
-- others. Here the answer is that of operands that share nothing. Why, if this
-- is such a case, and what is wrong with our answer, if it is not that one.
-- make: as overlap.as_on_copies takes it, with the tensors only read.
function deviations.of_overlap(case, make)
  local _, _, written, read = make(false)
  if not overlap.applies(case, written, read) then return nil end
  local ok, why, refused = overlap.as_on_copies(make)
  if refused then ok, why = false, "is refused" end
  return overlap.REASON, not ok and why or nil
end

return deviations
