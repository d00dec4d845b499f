--- ./dev recorded: runs specs in the mode of mode.lua, each in a process of its
-- own, and prints what differs and how many calls were compared.
--
--     luajit spec/support/recorded/run.lua [SPEC...]

local files = require "spec.support.files"

local SECONDS = tonumber(os.getenv "STRIDED_RECORDED_SECONDS") or 600
local LANES = 2
local MOST_REASONS = 25 -- shown

-- Folders of specs whose calls are worth it, and specs that count calls, run in
-- processes of their own, test the mode, have kernels that act at random, or
-- modes that change what a call was given.
local FOLDERS = "base bind conformance dispatch fuse grad iter kernel op " ..
                "strided tensor"
local LEFT_OUT = {"out_of_memory", "oom", "recorded", "session", "help",
                  "small_stack", "threads", "progress", "plot", "workers",
                  "scripted_kernels", "changed_elements"}

local function is_wanted(name)
  for _, part in ipairs(LEFT_OUT) do
    if name:find(part, 1, true) then return false end
  end
  return name:find "_spec%.lua$" ~= nil
end

local function all_specs()
  local folders = FOLDERS:gsub("%S+", "spec/%0")
  local found = io.popen("find " .. folders .. " -name '*_spec.lua' | sort")
  local names = {}
  for _, name in ipairs(files.lines_of(found:read "*a")) do
    if is_wanted(name) then names[#names + 1] = name end
  end
  found:close()
  return names
end

local function start(name)
  return io.popen(("timeout %d luajit $(command -v busted) -o plainTerminal " ..
                   "--helper=spec/support/recorded/mode.lua '%s' 2>&1")
                  :format(SECONDS, name))
end

local NAMES = {"calls", "recorded", "with a fusion group", "refused",
               "failing both ways", "not compared", "like others",
               "different"}
local sums, reasons, unfinished = {}, {}, {}
for i in ipairs(NAMES) do sums[i] = 0 end

local function read(name, process)
  local counts
  for line in process:lines() do
    if line:find "^DIFFERS" then print(name .. ": " .. line:sub(9)) end
    local n, why = line:match "REASON (%d+) (.*)"
    if n then reasons[why] = (reasons[why] or 0) + tonumber(n) end
    counts = line:match "RECORDED ([%d ]+)" or counts
  end
  process:close()
  if not counts then
    unfinished[#unfinished + 1] = name
    return
  end
  local i = 0
  for n in counts:gmatch "%d+" do
    i = i + 1
    sums[i] = sums[i] + tonumber(n)
  end
end

local names = #arg > 0 and arg or all_specs()
local running = {}
for i = 1, #names + LANES do
  if names[i] then running[i] = start(names[i]) end
  local done = i - LANES
  if done > 0 then read(names[done], running[done]) end
end

local list = {}
for why, n in pairs(reasons) do list[#list + 1] = {n, why} end
table.sort(list, function(a, b) return a[1] > b[1] end)
for i = 1, math.min(#list, MOST_REASONS) do
  print(("%8d  %s"):format(list[i][1], list[i][2]))
end
for _, name in ipairs(unfinished) do print("not finished: " .. name) end
local text = {}
for i, name in ipairs(NAMES) do text[i] = sums[i] .. " " .. name end
print(table.concat(text, ", "))
os.exit(sums[#NAMES] == 0 and 0 or 1)
