--- Interprets the rows of cases.lua.

local ipairs, tonumber, type = ipairs, tonumber, type

local rows = {}

-- -- Expressions -------------------------------------------------------------

local ENGINES = {"strided", "eager", "kernels", "torch", "compile", "numpy",
                 "numexpr", "scipy", "ducc0", "pyfftw"}

-- what rows are about, unless their family says otherwise
local USUAL = {"strided", "torch", "numpy"}

-- name of the module, how out= is passed, how a method is called
local DIALECTS = {
  strided = {module = "st", out = "%1, {out = %2})"},
  torch = {module = "torch", out = "%1, out=%2)", dot = true},
  numpy = {module = "np", out = "%1, out=%2)", dot = true},
  scipy = {module = "scipy", out = "%1, out=%2)", dot = true},
  ducc0 = {module = "ducc0", out = "%1, out=%2)", dot = true},
  pyfftw = {module = "pyfftw", out = "%1, out=%2)", dot = true},
}
DIALECTS.eager, DIALECTS.kernels = DIALECTS.strided, DIALECTS.strided
DIALECTS.compile, DIALECTS.numexpr = DIALECTS.torch, DIALECTS.numpy

--- A list or a table of options in Python: (a, b,) or a=1, b=True.
local function python_table(inner)
  if not inner:find " = " then return "(" .. inner .. ",)" end
  return (inner:gsub(" = ", "="):gsub("%f[%w]true", "True")
               :gsub("%f[%w]false", "False"))
end

--- The expression of a row in an engine's language.
local function translate(expression, engine)
  local dialect = DIALECTS[engine]
  expression = expression:gsub("@", dialect.module)
  if dialect.dot then
    expression = expression:gsub("([%w)]):(%l)", "%1.%2")
                           :gsub("%$(%d)", function(d) return d - 1 end)
                           :gsub("{([^{}]*)}", python_table)
                           :gsub("%f[%w]nil%f[%W]", "None")
  else
    expression = expression:gsub("%$(%d)", "%1")
                           :gsub("( = [^{}]*)}%) %-> ([%w_]+)$",
                                 "%1, out = %2})")
  end
  return (expression:gsub("^(.*)%) %-> ([%w_]+)$", dialect.out))
end

--- True if the result is written to an existing tensor.
local function is_in_place(expression)
  return expression:find("->", 1, true) ~= nil or
         expression:find "[%l%d]_%(" ~= nil
end

-- -- Sizes and goals ---------------------------------------------------------

--- A number of elements in readable form.
local function shown(n)
  if n >= 1e6 then return ("%gM"):format(n / 1e6) end
  if n >= 1e3 then return ("%gk"):format(n / 1e3) end
  return ("%d"):format(n)
end

--- The number of elements of the first input.
local function elements(text)
  local n = 1
  for size in text:match "^[^:]*: %w+ ([%dx]+)":gmatch "%d+" do n = n * size end
  return n
end

--- The goals {torch =, numpy =}; empty without a goal.
local function goal_at(goal, n)
  for _, step in ipairs(type(goal) == "table" and goal or {}) do
    if n <= step[1] then
      goal = step[2]
      break
    end
  end
  if not goal then return {} end
  local torch, numpy = goal:match "^(%S+) (%S+)$"
  return {torch = tonumber(torch), numpy = tonumber(numpy)}
end

-- -- Cases -------------------------------------------------------------------

--- A case {family, name, size, elements, inputs, engines, targets, base, goal,
-- is_fresh, is_checked, is_value, is_recorded} of a row, with N elements if the
-- row leaves them open, and the expression of each engine by its name.
local function case_of(family, row, n)
  local function filled(text)
    return n and text:gsub("%f[%w][%dxN]*N[%dxN]*%f[%W]", function(word)
      return (word:gsub("N", ("%d"):format(n)))
    end) or text
  end
  local case = {
    family = family.family, name = row[1], inputs = filled(row[2]),
    size = n and shown(n) or row[2]:match "^[^:]*: %w+ (%S+)",
    is_fresh = not is_in_place(row[3]), base = row.base or 0,
    is_checked = not row.any and not row.value, is_value = row.value,
    is_recorded = family.records or false,
    engines = family.engines or USUAL, targets = family.targets,
    goal = goal_at(row.goal, n or 0),
  }
  case.elements = elements(case.inputs)
  case.size = case.size:gsub(";", "")
  local expression
  for i, engine in ipairs(case.engines) do
    local own = row[2 + i]
    if own == false then expression = nil
    elseif own ~= nil then expression = own end
    case[engine] = expression and translate(filled(expression), engine) or nil
  end
  return case
end

--- All cases of the families, in the order of the table.
function rows.expand(families)
  local cases = {}
  for _, family in ipairs(families) do
    for _, row in ipairs(family) do
      for _, n in ipairs(row.at or {false}) do
        cases[#cases + 1] = case_of(family, row, n or nil)
      end
    end
  end
  return cases
end

rows.engines, rows.shown = ENGINES, shown

return rows
