--- Tables that pages include: names of other libraries, measurements, and the
-- operators whose bits may differ.
--
-- @module docs.generate.lists

local markdown = require "docs.generate.markdown"
local reasons = require "spec.op.operator_bits.reasons"
local results = require "bench.results"
local unknown_name = require "strided.name.unknown_name"

local concat, sort = table.concat, table.sort

local lists = {}

--- A table of the pairs of maps, sorted by name.
local function pairs_table(maps, shown)
  local names, texts = {}, {}
  for _, map in ipairs(maps) do
    for name, text in pairs(map) do
      if not texts[name] then names[#names + 1] = name end
      texts[name] = text
    end
  end
  sort(names)
  local rows = {"| there | here |\n|---|---|"}
  for _, name in ipairs(names) do
    rows[#rows + 1] = ("| `%s` | %s |"):format(name, shown(texts[name]))
  end
  return concat(rows, "\n") .. "\n"
end

local function names_page()
  local synonyms = pairs_table({unknown_name.synonyms, unknown_name.functions},
                               function(name) return "`" .. name .. "`" end)
  local advice = pairs_table({unknown_name.advice}, markdown.cell)
  return "Synonyms, which work as methods or functions:\n\n" .. synonyms
         .. "\nOthers, which raise this as an error:\n\n" .. advice
end

--- The families of the draws that bench/results/speed.svg shows.
local function bench_page()
  local paths = markdown.files "bench/results -name 'draw-8*.jsonl'"
  local families, total, abouts = results.families(results.read(paths))
  local rows = {"| family | cases | 1 thread | 2 threads | both | worst |\n"
                .. "|---|---|---|---|---|---|"}
  local function mean(of) return of and ("%.2f"):format(of.mean) or "" end
  local function add(f)
    rows[#rows + 1] = ("| %s | %d | %s | %s | %s | %.2f |"):format(
      f.name, f.all.count, mean(f[1]), mean(f[2]), mean(f.all), f.all.worst)
  end
  for _, family in ipairs(families) do add(family) end
  add(total)
  return markdown.escape(abouts[1]) .. ". Time relative to the faster of "
         .. "PyTorch and NumPy; below 1 strided is faster.\n\n"
         .. concat(rows, "\n") .. "\n"
end

--- The operators that a predicate is true for, and how many.
local function operators(predicate)
  local names = {}
  for _, name in ipairs(reasons.operators()) do
    if predicate(name) then names[#names + 1] = "`" .. name .. "`" end
  end
  return #names, concat(names, " ")
end

--- The operators whose bits may differ, by reason, and the others.
local function bits_page()
  local rows = {"| | why | operators |\n|---|---|---|"}
  for _, reason in ipairs(reasons) do
    local n, names = operators(function(name)
      return reasons.has(reason, name)
    end)
    rows[#rows + 1] = ("| %s: %d | %s | %s |"):format(
      reason.title, n, (reason.why:gsub("\n", " ")), names)
  end
  rows[#rows + 1] = ("| same everywhere: %d | | %s |"):format(
    operators(reasons.has_none))
  return concat(rows, "\n") .. "\n"
end

--- Writes include/names.md, include/bench.md and include/bits.md.
function lists.write(folder)
  markdown.write(folder .. "/include/bits.md", bits_page())
  markdown.write(folder .. "/include/names.md", names_page())
  markdown.write(folder .. "/include/bench.md", bench_page())
end

return lists
