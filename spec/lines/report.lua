--- Which lines of core/ and lua/bind/ the specs run, out of the counts that a
-- build with gcov left.
--
--     ./dev lines
--
-- prints a table by folder, writes the lines that never ran, with their text,
-- into build/lines/never_ran.txt, and writes spec/LINES.md, which has a reason
-- for each. Fails if fewer lines of core/ ran than the goal says.

local json = require "cjson"
local files = require "spec.support.files"
local reasons = require "spec.lines.reasons"

local GOAL = 95 -- percent of the lines of core/
local AT_ONCE = 40 -- files of counts per call of gcov

local build, is_whole = arg[1], arg[2] == "whole"

--- The counts of all lines, file -> line -> count, and the functions that they
-- belong to. A line that is compiled several times has the sum.
local function read_counts()
  local counts, functions = {}, {}
  local function add(file, name)
    counts[name] = counts[name] or {}
    functions[name] = functions[name] or {}
    local count, owner = counts[name], functions[name]
    for _, line in ipairs(file.lines) do
      local n = line.line_number
      count[n] = (count[n] or 0) + line.count
      owner[n] = type(line.function_name) == "string" and line.function_name
                 or owner[n] or ""
    end
  end
  local pipe = assert(io.popen(("find %s/CMakeFiles/strided.dir " ..
    "%s/CMakeFiles/kernels_*.dir %s/CMakeFiles/core_lua.dir -name '*.gcda' | "
    .. "xargs -n %d gcov -t -j 2>/dev/null")
    :format(build, build, build, AT_ONCE)))
  for text in pipe:lines() do
    for _, file in ipairs(json.decode(text).files) do
      local name = file.file:match "core/.*%.[ch]$"
      local bound = file.file:match "lua/bind/.*%.[ch]$"
      if bound or name then add(file, bound or name) end
    end
  end
  pipe:close()
  return counts, functions
end

-- -- Blocks ------------------------------------------------------------------

--- The lines of a file that never ran, a block per function: its name, its
-- lines and their text.
local function blocks_of(name, count, owner)
  local text, lines = {}, {}
  for line in io.lines(name) do text[#text + 1] = line end
  for n, times in pairs(count) do
    if times == 0 and text[n] then lines[#lines + 1] = n end
  end
  table.sort(lines)
  local blocks, by_owner = {}, {}
  for _, n in ipairs(lines) do
    local key = owner[n]
    local block = by_owner[key]
    if not block then
      block = {file = name, name = key, lines = {}, text = {}}
      by_owner[key] = block
      blocks[#blocks + 1] = block
    end
    table.insert(block.lines, n)
    table.insert(block.text, text[n])
  end
  return blocks
end

--- The key of a block's reason. A function of a template is named after the
-- dtype of one of its copies.
local function reason_of(block)
  local name = block.file:match "[^/]*$" .. " " ..
               (block.name == "" and "-" or block.name)
  local key = reasons.functions[name]
  local text = table.concat(block.text, "\n")
  for _, row in ipairs(reasons.texts) do
    if not key and (text:find(row[2]) or block.name:find(row[2])) then
      key = row[1]
    end
  end
  return key or "todo"
end

-- -- The report --------------------------------------------------------------

local function percent(sum) return 100 * (1 - sum.never / sum.all) end

local function row(name, sum)
  return ("| %s | %d | %d | %.1f %% |"):format(name, sum.all, sum.never,
                                              percent(sum))
end

local counts, functions = read_counts()
local names, blocks, sums, folders = {}, {}, {}, {}
for name in pairs(counts) do names[#names + 1] = name end
table.sort(names)
local function add(key, n, never)
  if not sums[key] then
    sums[key] = {all = 0, never = 0}
    folders[#folders + 1] = key
  end
  sums[key].all = sums[key].all + n
  sums[key].never = sums[key].never + never
end
for _, name in ipairs(names) do
  local n, never = 0, 0
  for _, block in ipairs(blocks_of(name, counts[name], functions[name])) do
    block.reason = reason_of(block)
    blocks[#blocks + 1] = block
    never = never + #block.lines
  end
  for _ in pairs(counts[name]) do n = n + 1 end
  add(name:match "^(.*)/[^/]*$", n, never)
  add(name:match "^core/" and "all of core" or "all of lua/bind", n, never)
end
table.sort(folders)

local out = {[[
# Lines

How many lines of the C code the specs run. `./dev lines` writes this file: it
runs the specs under LuaJIT with each instruction set of the machine, in a
build that counts for gcov. `build/lines/never_ran.txt` then has the numbers and
the text of the lines that never ran.

| folder | lines | never ran | ran |
|---|---|---|---|]]}
for _, folder in ipairs(folders) do
  out[#out + 1] = row(folder, sums[folder])
end
out[#out + 1] = "\n## Why lines never ran\n\n" ..
  "By function, with the number of its lines; `spec/lines/reasons.lua` has\n"
  .. "the reasons."
local never = {}
for _, reason in ipairs(reasons.kinds) do
  local total, list = 0, {}
  for _, block in ipairs(blocks) do
    if block.reason == reason[1] then
      total = total + #block.lines
      list[#list + 1] = ("- `%s` %s (%d)"):format(
        block.file, block.name == "" and "several" or block.name,
        #block.lines)
      never[#never + 1] = ("%s %s: %s"):format(block.file, block.name,
                                               reason[2])
      for i, n in ipairs(block.lines) do
        never[#never + 1] = ("%6d  %s"):format(n, block.text[i])
      end
    end
  end
  if total > 0 then
    out[#out + 1] = ("\n### %s (%d)\n"):format(reason[2], total)
    out[#out + 1] = table.concat(list, "\n")
  end
end

files.write(build .. "/never_ran.txt", table.concat(never, "\n") .. "\n")
for _, folder in ipairs(folders) do
  local sum = sums[folder]
  print(("%-24s %7d lines %5d never ran %6.1f %%")
        :format(folder, sum.all, sum.never, percent(sum)))
end
print("The lines that never ran are in " .. build .. "/never_ran.txt")
if is_whole then
  files.write("spec/LINES.md", table.concat(out, "\n") .. "\n")
  if percent(sums["all of core"]) < GOAL then
    print(("fewer than %d %% of the lines of core ran"):format(GOAL))
    os.exit(1)
  end
end
