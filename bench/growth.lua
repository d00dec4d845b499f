--- Measures how the time per element grows with the size, next to powers of
-- two, and with distances in memory; marks where it is above 1.5 times that of
-- a neighbour.
--
--     ./dev bench growth [FAMILY...] [OPTION VALUE]...
--
--     --most N         the largest number of elements (1e7; 1e9 takes minutes)
--     --memory N       the most memory of the tensors of a case in GiB (10)
--     --threads 1,2    the numbers of threads (1)
--     --case PATTERN   only rows whose name matches the Lua pattern
--     --rounds N       the number of turns at a case (3)
--     --ms N           the duration of a turn in ms (20)
--
-- The rows are in growth/cases.lua. Only strided is measured. Beside a mark
-- from one size to the next, or of a distance, is the growth of the machine
-- itself, of a plain copy or read of as many bytes, or of rows so far apart:
-- where a cache ends, or the share of it that a virtual machine has, or the
-- sets of a cache that a distance leaves, both grow. A cache may end for one
-- order of access at half the bytes at which it ends for another: the machine's
-- growth is the largest between half the smaller size and twice the larger one.
-- A time may be 1.5 times the sum of the other one and what the machine takes
-- more, on one thread, or 1.5 times all that the machine takes. What is above
-- that is measured again, both of them, and marked GROWS if it still is.

local peers = require "bench.peers"

local format, ipairs, print = string.format, ipairs, print
local huge, max, min = math.huge, math.max, math.min

local LIMIT = 1.5
local LINE_BYTES = 64 -- a jump to each element
local AGAIN = 2 -- times that what grows is measured again
local GIB = 2 ^ 30
local LINE = "%-12s %9s %10s %9s %9s  %s"

local growth = {}

-- -- Rows --------------------------------------------------------------------

--- A text with a number in place of N.
local function filled(text, n)
  return (text:gsub("%f[%w]N", format("%d", n)):gsub("xN", format("x%d", n)))
end

--- The points of a row: cases of rows.lua with their numbers of elements,
-- multiply-adds and bytes, in the order of the group.
local function points_of(group, row, options)
  local rows = require "bench.rows"
  local points, rows_of = {}, row.rows or group.rows
  for _, n in ipairs(row.power == 2 and group.sides or group.at) do
    local count = row.count or n ^ (row.power or 1)
    local bytes = count * (row.bytes + (row.held or 0))
    if n <= (row.most or n) and count <= options.most and
       bytes <= options.memory * GIB then
      local case = rows.expand {{family = row[1], engines = {"strided"},
                                 {row[2], filled(row[3], n), row[4]}}}[1]
      points[#points + 1] = {
        n = n, case = case, bytes = bytes, each = bytes / count,
        touch = group.rule ~= "three" and (row.touch or "copy") or nil,
        rows = rows_of and rows_of(n), operands = row.operands or 1,
        count = row.work_count or row.work and n ^ row.work or count,
      }
    end
  end
  return points
end

-- -- Marks -------------------------------------------------------------------

--- The point of the least time per element of points i to j.
local function least(points, i, j)
  local found
  for k = i, j do
    local point = points[k]
    if point and point.ns and not (found and found.ns < point.ns) then
      found = point
    end
  end
  return found
end

-- what a point is compared with
local RULES = {
  step = function(points, i) return points[i - 1] end,
  three = function(points, i)
    local first = i - (i - 1) % 3
    return least(points, first, first + 2)
  end,
  least = function(points) return least(points, 1, #points) end,
}

--- Sets the fields of points whose time per element, `ns`, is above the limit:
-- `growth`, how many times; with `own`, what the machine itself takes, also
-- `machine`, how many times as long that is; and `grows`, if the machine does
-- not explain it. `own` and, for the smaller size, `before` are in ns per
-- element, as `ns` is.
function growth.mark(points, rule)
  for i, point in ipairs(points) do
    local other = RULES[rule](points, i)
    local ratio = point.ns and other and other.ns and point.ns / other.ns or 0
    local less = other and (other.before or other.own)
    local more = point.own and less and max(0, point.own - less) or 0
    point.growth = ratio > LIMIT and ratio or nil
    point.machine = point.growth and point.own and point.own / less
    point.grows = point.growth and point.ns > LIMIT * (other.ns + more) and
                  point.ns > LIMIT * (point.own or 0)
  end
  return points
end

-- -- The machine -------------------------------------------------------------

local CACHE = "/sys/devices/system/cpu/cpu0/cache/index%d/%s"

--- The caches of data, as {name =, bytes =}, from the first.
local function caches()
  local list = {}
  for i = 0, 9 do
    local function field(name)
      local file = io.open(format(CACHE, i, name))
      local text = file and file:read "*l" or ""
      if file then file:close() end
      return text
    end
    local size, unit = field "size":match "^(%d+)([KM])"
    if size and field "type" ~= "Instruction" then
      list[#list + 1] = {
        name = "L" .. field "level",
        bytes = tonumber(size) * (unit == "K" and 2 ^ 10 or 2 ^ 20),
      }
    end
  end
  return list
end

--- 1536 KB, 12 MB, ...
local function memory(bytes)
  if bytes < 2 ^ 20 then return format("%.0f KB", bytes / 2 ^ 10) end
  return format("%.0f MB", bytes / 2 ^ 20)
end

-- -- The table ---------------------------------------------------------------

local function print_point(point)
  local mark = ""
  if point.fault then mark = "FAULT " .. point.fault
  elseif point.growth then
    mark = format("%.2f times", point.growth) ..
           (point.machine and format(", %s %.2f", point.touch,
                                     point.machine) or "") ..
           (point.grows and "  GROWS" or "")
  end
  local us = point.ns and point.ns * point.count / 1000
  local text = LINE:format("", format("%.10g", point.n), memory(point.bytes),
                           us and format("%.4g", us) or "-",
                           point.ns and format("%.4f", point.ns) or "-", mark)
  print((text:gsub("%s+$", "")))
end

--- Measures what the machine itself takes for an element of a point: `own` is
-- the longer one of the least times of its size and of twice as much, `before`
-- the shorter one of those of its size and of half of it.
local function measure_machine(point, ms)
  local curve = require "bench.growth.machine_curve"
  local rows = point.rows
  if rows then
    local ns = curve.rows(point.touch, rows.n, rows.bytes, rows.distance,
                          point.operands, ms) / (rows.bytes / 4)
    point.own = min(ns, point.own or huge)
    return
  end
  local each = point.touch == "jump" and LINE_BYTES or point.each
  local times = point.curve or {huge, huge, huge}
  for i, share in ipairs {0.5, 1, 2} do
    local ns = curve.at(point.touch, share * point.bytes, ms) * each
    times[i] = min(ns, times[i])
  end
  point.curve = times
  point.before, point.own = min(times[1], times[2]), max(times[2], times[3])
end

--- Measures a point, and the machine; keeps the least times.
local function measure_point(crew, point, threads, options)
  local entry = require "bench.measure".case(crew:ready(threads), point.case,
                                             threads, options).strided or
                {fault = "it died"}
  local ns = entry.fastest_ns and entry.fastest_ns / point.count
  point.ns = ns and min(ns, point.ns or ns)
  point.fault = entry.fault
  if point.touch then measure_machine(point, options.ms) end
end

--- Measures the points of a row and prints them; returns how many grow more
-- than the machine explains.
local function run_row(crew, group, row, threads, options)
  local points = points_of(group, row, options)
  if #points == 0 then return 0 end
  print(format("%s: %s, %d thread%s  %s", row[1], row[2], threads,
               threads == 1 and "" or "s", row[4]))
  for _, point in ipairs(points) do
    measure_point(crew, point, threads, options)
  end
  for _ = 1, AGAIN do
    for i, point in ipairs(growth.mark(points, group.rule)) do
      if point.grows then
        measure_point(crew, RULES[group.rule](points, i), threads, options)
        measure_point(crew, point, threads, options)
      end
    end
  end
  local grown = 0
  for _, point in ipairs(growth.mark(points, group.rule)) do
    print_point(point)
    if point.grows then grown = grown + 1 end
  end
  io.stdout:flush()
  return grown
end

local function parse(words)
  local options = {most = "1e7", memory = "10", threads = "1", case = "",
                   rounds = "3", ms = "20"}
  local is_wanted, i = {}, 1
  while words[i] do
    local key = words[i]:match "^%-%-(%l+)$"
    if key and options[key] and words[i + 1] then
      options[key], i = words[i + 1], i + 1
    elseif key then error("not understood: " .. words[i], 0)
    else is_wanted[words[i]] = true end
    i = i + 1
  end
  for _, key in ipairs {"most", "memory", "rounds", "ms"} do
    options[key] = tonumber(options[key]) or
                   error(format("--%s %s is not a number", key, options[key]),
                         0)
  end
  options.families = next(is_wanted) and is_wanted
  return options
end

function growth.main(words)
  local options = parse(words)
  local crew = require "bench.engines".new {{engines = {"strided"}}}
  local parts = {peers.processor()}
  for _, cache in ipairs(caches()) do
    parts[#parts + 1] = cache.name .. " " .. memory(cache.bytes)
  end
  print(table.concat(parts, ", "))
  local grown = 0
  for _, group in ipairs(require "bench.growth.cases") do
    print("\n" .. group.title)
    print(LINE:format("", "N", "memory", "us", "ns each", ""))
    for _, row in ipairs(group) do
      if (not options.families or options.families[row[1]]) and
         row[2]:find(options.case) then
        for n in options.threads:gmatch "%d+" do
          grown = grown + run_row(crew, group, row, tonumber(n), options)
        end
      end
    end
  end
  crew:stop()
  print(format("\n%d times above %.1f that the machine does not explain", grown,
               LIMIT))
end

return growth
