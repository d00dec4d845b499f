--- Draws cases for ./dev bench --draw: operators, dtypes, sizes and layouts
-- that nobody has chosen, so that strided cannot be tuned to them.
--
-- A seed and a number name a case: it is the same on every machine, and does
-- not depend on how many are drawn. The families are functions of a generator
-- (drawn/chance.lua, drawn/tensors.lua); each returns a table:
--
--     name, sizes or size       what is shown
--     inputs                    the text for inputs.lua
--     strided, torch, numpy     the expressions, as in cases.lua
--     kind                      the result's dtype, for its tolerance
--     is_lossy                  a less exact dtype that takes part
--     base, any                 as in cases.lua

local chance = require "bench.drawn.chance"
local rows = require "bench.rows"
local tensors = require "bench.drawn.tensors"

local ipairs, max, select = ipairs, math.max, select

local draw = {}

-- -- Families ----------------------------------------------------------------

local FAMILIES = {}

--- Adds a module's families, in this order.
local function add(module, ...)
  for i = 1, select("#", ...) do
    local name = select(i, ...)
    FAMILIES[#FAMILIES + 1] = {name = name, draw = module[name]}
  end
end

add(require "bench.drawn.elementwise", "unary", "binary", "ternary", "convert")
add(require "bench.drawn.layouts", "contiguous", "move", "view")
add(require "bench.drawn.reductions", "reduce", "scan", "sort")
add(require "bench.drawn.products", "matmul")
add(require "bench.drawn.indexing", "index", "create", "random")
add(require "bench.drawn.numeric", "numeric")
add(require "bench.drawn.layers", "convolution", "pool", "norm", "activation",
    "loss")

--- The names of the families.
function draw.families()
  local names = {}
  for i, family in ipairs(FAMILIES) do names[i] = family.name end
  return names
end

-- -- Cases -------------------------------------------------------------------

--- The tolerance of a result: that of the least exact dtype.
local function tolerance(drawn)
  local of = tensors.TOLERANCES
  return max(of[drawn.kind] or 0, of[drawn.is_lossy] or 0)
end

--- The case with a number of a seed's draw, like those of rows.lua, and with
-- `threads` of the list. No size is beyond `limit` elements, if there is one.
function draw.case(seed, number, threads, limit)
  local g = chance.new(seed, number)
  g.limit = limit
  local family = g:pick(FAMILIES)
  local count = g:pick(threads)
  local drawn = family.draw(g)
  local numpy = drawn.numpy
  if drawn.inputs:find ": bf16" or drawn.kind == "bf16" then numpy = false end
  local case = rows.expand {{family = family.name, {
    drawn.name, drawn.inputs, drawn.strided, drawn.torch, numpy,
    base = drawn.base, any = drawn.any,
  }}}[1]
  case.draw = ("%d/%d"):format(seed, number)
  case.size = drawn.size or tensors.joined(drawn.sizes)
  case.threads, case.tolerance = count, tolerance(drawn)
  return case
end

--- The first `count` cases of a seed.
function draw.cases(seed, count, threads, limit)
  local cases = {}
  for number = 1, count do
    cases[number] = draw.case(seed, number, threads, limit)
  end
  return cases
end

return draw
