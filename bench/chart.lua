--- Draws the families of files of measurements as SVG: the geometric mean of
-- the time relative to the fastest peer, with one thread and with two.
--
--     ./dev bench chart FILE... [--against FILE]... [--out FILE]
--
-- The chart is written to bench/results/speed.svg, unless --out says otherwise.
-- With --against a ring shows the mean in the files of another build. The same
-- files give the same bytes.

local results = require "bench.results"

local format, ipairs, log, max, min = string.format, ipairs, math.log, math.max,
                                      math.min

local chart = {}

local LEFT, RIGHT, TOP, ROW, WIDTH = 120, 70, 64, 22, 760
local TICKS = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10}

local HEAD = [[
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d"
 viewBox="0 0 %d %d" role="img">
<title>%s</title>
<style>
text { font: 12px system-ui, Helvetica, Arial, sans-serif; fill: #1f2328 }
.name, .tick, .about { fill: #59636e }
.name, .value { text-anchor: end }
.tick { text-anchor: middle }
.grid { stroke: #d1d9e0 }
.one { stroke: #1f2328; stroke-width: 1.5 }
.t1 { fill: #0969da }
.t2 { fill: #bc4c00 }
.old { fill: none; stroke: #818b98 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.name, .tick, .about { fill: #9198a1 }
.grid { stroke: #3d444d }
.one { stroke: #f0f6fc }
.t1 { fill: #4493f8 }
.t2 { fill: #f0883e }
}
</style>
]]

local TITLE = "Time relative to the faster of PyTorch and NumPy, geometric mean"

local function escape(text)
  return (text:gsub("[&<>\"]", {["&"] = "&amp;", ["<"] = "&lt;",
                                [">"] = "&gt;", ['"'] = "&quot;"}))
end

--- The ticks that enclose the means of all families.
local function ends(families)
  local least, most = 0.5, 1
  for _, family in ipairs(families) do
    for threads = 1, 2 do
      local mean = family[threads] and family[threads].mean or 1
      least, most = min(least, mean), max(most, mean)
    end
  end
  local low, high = TICKS[1], TICKS[#TICKS]
  for i, tick in ipairs(TICKS) do
    if tick <= least then low = tick end
    if TICKS[#TICKS + 1 - i] >= most then high = TICKS[#TICKS + 1 - i] end
  end
  return low, max(high, 2)
end

local function put(out, ...) out[#out + 1] = format(...) end

local function put_axis(out, low, high, at, bottom)
  for _, tick in ipairs(TICKS) do
    if tick >= low and tick <= high then
      put(out, '<line class="%s" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>',
          tick == 1 and "one" or "grid", at(tick), TOP, at(tick), bottom)
      put(out, '<text class="tick" x="%.1f" y="%d">%g</text>', at(tick),
          TOP - 6, tick)
    end
  end
end

local function put_legend(out, has_before)
  put(out, '<text x="8" y="18">%s</text>', TITLE)
  local x = LEFT
  local function entry(class, text)
    put(out, '<circle class="%s" cx="%d" cy="34" r="5"/>', class, x)
    put(out, '<text x="%d" y="38">%s</text>', x + 10, text)
    x = x + 100
  end
  entry("t1", "1 thread")
  entry("t2", "2 threads")
  if has_before then entry("old", "before") end
end

--- A family's row, around y.
local function put_family(out, family, before, at, y)
  put(out, '<text class="name" x="%d" y="%d">%s</text>', LEFT - 12, y + 4,
      escape(family.name))
  local texts = {}
  for threads = 1, 2 do
    local now, old = family[threads], before and before[threads]
    local offset = threads == 1 and -4 or 4
    if old then
      put(out, '<circle class="old" cx="%.1f" cy="%d" r="4"/>', at(old.mean),
          y + offset)
    end
    if now then
      put(out, '<circle class="t%d" cx="%.1f" cy="%d" r="4"/>', threads,
          at(now.mean), y + offset)
    end
    texts[threads] = now and format("%.2f", now.mean) or "-"
  end
  put(out, '<text class="value" x="%d" y="%d">%s</text>', WIDTH - 4, y + 4,
      table.concat(texts, "  "))
end

--- The chart of files, which are lists of lines, as a text; `against` are those
-- of another build.
function chart.svg(files, against)
  local families, total, abouts = results.families(files)
  local before = {}
  local old, old_total = results.families(against)
  for _, family in ipairs(old) do before[family.name] = family end
  before.all = old_total
  if total.all then families[#families + 1] = total end
  local low, high = ends(families)
  local bottom = TOP + #families * ROW
  local height = bottom + 26
  local span = (WIDTH - LEFT - RIGHT) / log(high / low)
  local function at(ratio)
    return LEFT + span * log(max(low, min(high, ratio)) / low)
  end
  local out = {(format(HEAD, WIDTH, height, WIDTH, height, TITLE)
                :gsub("\n$", ""))}
  put_legend(out, #against > 0)
  put_axis(out, low, high, at, bottom)
  for i, family in ipairs(families) do
    put_family(out, family, before[family.name], at,
               TOP + i * ROW - ROW / 2)
  end
  put(out, '<text class="about" x="8" y="%d">%s</text>', height - 8,
      escape(abouts[1] or ""))
  out[#out + 1] = "</svg>\n"
  return table.concat(out, "\n")
end

function chart.main(words)
  local names, against, options =
    results.parse(words, {out = "bench/results/speed.svg"})
  local text = chart.svg(results.read(names), results.read(against))
  local file = assert(io.open(options.out, "w"))
  file:write(text)
  assert(file:close())
  print("wrote " .. options.out)
end

return chart
