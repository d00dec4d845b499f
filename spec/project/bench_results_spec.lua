--- What ./dev bench makes of its measurements: the families of files, their
-- chart, and the marks of sizes at which the time per element grows.
-- axes: unsanitized

local chart = require "bench.chart"
local growth = require "bench.growth"
local limits = require "bench.limits"
local report = require "bench.report"
local results = require "bench.results"
local summary = require "bench.summary"

--- The lines of a file, {family, case, threads, strided, torch, numpy} each.
local function lines_of(about, rows)
  local lines = {'{"about": "' .. about .. '"}'}
  for _, row in ipairs(rows) do
    for i, engine in ipairs {"strided", "torch", "numpy"} do
      lines[#lines + 1] = row[3 + i] and report.encode {
        family = row[1], case = row[2], size = "1M", threads = row[3],
        engine = engine, fastest_ns = row[3 + i]}
    end
  end
  return lines
end

local FILE = lines_of("A & B", {
  {"sort", "sort", 1, 200, 100, 400}, {"sort", "topk", 1, 200, 800, 400},
  {"sort", "sort", 2, 50, 100, 400}, {"add", "add", 1, 100, 400},
})

describe("The families of measurements", function()
  it("are geometric means relative to the faster peer", function()
    local families, total, abouts = results.families {FILE}
    assert.same({"add", "sort"}, {families[1].name, families[2].name})
    assert.same({"A & B"}, abouts)
    assert.is_true(math.abs(families[2][1].mean - 1) < 1e-12)
    assert.is_true(math.abs(families[2][2].mean - 0.5) < 1e-12)
    assert.same({2, 1, 2}, {families[2][1].count, families[2][1].slower,
                            families[2][1].worst})
    assert.same({4, 1}, {total.all.count, total.all.slower})
  end)

  it("count SciPy where it is measured", function()
    local case = {strided = 3, torch = 4, numpy = 6}
    assert.equal(0.75, results.ratio(case))
    case.scipy = 2
    assert.equal(1.5, results.ratio(case))
    assert.equal(1.5, results.ratio {strided = 3, scipy = 2})
    assert.is_nil(results.ratio {strided = 3})
  end)

  it("count cases of several files apart", function()
    local _, total = results.families {FILE, FILE}
    assert.same({8, 2}, {total.all.count, total.all.slower})
  end)

  it("are listed, with another build beside them", function()
    local text = table.concat(summary.lines({FILE}, {}), "\n")
    assert.is_truthy(text:find("sort%s+3 +1.00 +0.50 +0.79 +1 +2.00\n"))
    local old = lines_of("C", {{"sort", "sort", 1, 300, 100}})
    text = table.concat(summary.lines({FILE}, {old}), "\n")
    assert.is_truthy(text:find("sort%s+3 +1.00 +0.50 +0.79 +1 +2.00 +3.00\n"))
    assert.is_truthy(text:find("add%s+1 +0.25 +%- +0.25 +0 +0.25 +%-\n"))
  end)
end)

describe("The limits of measurements", function()
  local VIEWS = lines_of("D", {
    {"view", "narrow", 1, 200, 100}, {"view", "narrow", 2, 110, 100},
    {"view", "narrow of a giant", 1, 2e9, 1e9}, {"view", "select", 1, 90},
  })

  it("are the lines of the slower cases, and those without a line", function()
    local groups, others = limits.grouped {VIEWS}
    assert.equal(1, #groups)
    assert.equal(1, #groups[1].cases)
    assert.equal("narrow", groups[1].cases[1].name)
    assert.equal(2, groups[1].cases[1].ratio)
    assert.equal(1, #others)
    assert.equal("narrow of a giant", others[1].name)
  end)

  it("say what limits and what was tried", function()
    for _, line in ipairs(require "bench.limit_lines") do
      assert.is_true(#line.name > 0 and #line.limit > 40 and #line.tried > 10,
                     line.name)
    end
  end)
end)

describe("The chart of measurements", function()
  it("is well-formed, with the names of the families", function()
    local svg = chart.svg({FILE}, {FILE})
    local open = {}
    for slash, name, rest in svg:gmatch "<(/?)(%w+)([^<>]*)>" do
      if slash == "/" then assert.equal(table.remove(open), name)
      elseif rest:sub(-1) ~= "/" then open[#open + 1] = name end
    end
    assert.same({}, open)
    local bare = svg:gsub("<[^<>]*>", ""):gsub("&%a+;", "")
    assert.is_nil(bare:find "[<>&]")
    assert.is_truthy(svg:find(">add</text>", 1, true))
    assert.is_truthy(svg:find(">sort</text>", 1, true))
    assert.is_truthy(svg:find("A &amp; B", 1, true))
  end)

  it("is the same for the same files", function()
    assert.equal(chart.svg({FILE}, {}), chart.svg({FILE}, {}))
  end)

  it("has a dot further right for a longer time", function()
    local xs, dot = {}, 'class="t1" cx="([%d.]+)" cy="%d+" r="4"'
    for x in chart.svg({FILE}, {}):gmatch(dot) do xs[#xs + 1] = tonumber(x) end
    assert.is_true(#xs == 3 and xs[1] < xs[3] and xs[3] < xs[2])
  end)
end)

describe("Growth of the time per element", function()
  --- The marks of points {ns, ns of the machine, if another the ns with which
  -- that of the next point is compared}: "GROWS", what the machine explains, or
  -- "".
  local function marks(rule, ...)
    local points = {}
    for i, pair in ipairs {...} do
      points[i] = {ns = pair[1], own = pair[2], before = pair[3]}
    end
    for i, point in ipairs(growth.mark(points, rule)) do
      points[i] = point.grows and "GROWS" or
                  point.growth and ("%.1f"):format(point.machine) or ""
    end
    return points
  end

  it("is marked above 1.5 times the size before", function()
    assert.same({"", "", "GROWS", ""},
                marks("step", {2, 1}, {3, 1}, {4.6, 1}, {1, 1}))
  end)

  it("is explained by as much growth of the machine, up to 1.5 times",
     function()
    assert.same({"", "1.4", "3.0", "GROWS", "GROWS"},
                marks("step", {1, 1}, {2, 1.4}, {6, 4.2}, {15, 4.6}, {27, 2}))
  end)

  it("is explained by what the machine took for half the smaller size",
     function()
    assert.same({"", "3.0", "", "GROWS"},
                marks("step", {2, 2, 1}, {4, 3, 3}, {4, 3, 3}, {7, 3, 1}))
  end)

  it("is explained by what the machine takes in all, up to 1.5 times",
     function()
    assert.same({"", "1.0", "GROWS"},
                marks("step", {2, 3}, {4.4, 3}, {8, 3}))
  end)

  it("is marked beside the least of three neighbours", function()
    assert.same({"", "GROWS", "", "", "", "GROWS"},
                marks("three", {1}, {2}, {1.2}, {5}, {5}, {8}))
  end)

  it("is marked beside the least of a row", function()
    assert.same({"GROWS", "", ""}, marks("least", {2}, {1}, {1.5}))
  end)

  it("passes over what was not measured", function()
    assert.same({"", "", ""}, marks("step", {1, 1}, {nil, 1}, {9, 1}))
  end)
end)
