--- The programs of spec/programs, under mpirun with 1, 2, 3 and 4 ranks. Rank
-- 0 prints what has gone well; an error of one rank ends all of them.

local HERE = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"
local mpirun = dofile(HERE .. "/support/mpirun.lua")

-- How many ranks; the specs of the source tree may give fewer.
local given = ...
local RANKS = type(given) == "table" and given.ranks or {1, 2, 3, 4}

-- Programs that can share a process. Others end early, change the process, or
-- count its pages, of which a sanitizer keeps too many.
local SHARES = {}
for _, name in ipairs {
  "async", "collectives", "comms", "data_parallel", "deterministic",
  "deterministic_async", "deterministic_training", "dispatch", "gradients",
  "interrupted", "overlap", "sampler", "strides", "together",
} do
  SHARES[name] = true
end
local LEFT_OUT = {check = true, memory = os.getenv "STRIDED_SANITIZED" ~= nil}

-- The most ranks of a program that takes long with more than there are cores.
local MOST = {memory = 2}

--- The programs: those that run in one process, the others.
local function programs()
  local several, own = {}, {}
  local pipe = assert(io.popen("ls '" .. mpirun.folder .. "/programs'"))
  for line in pipe:lines() do
    local name = line:match "^(.*)%.lua$"
    if name and not LEFT_OUT[name] then
      local list = SHARES[name] and several or own
      list[#list + 1] = name
    end
  end
  pipe:close()
  return several, own
end

--- Raises an error unless a program ended well and printed nothing else.
local function check(text, code)
  assert(code == 0 and ("\n" .. text):find "\nok ",
         text .. "\nexit code " .. code)
  for line in text:gmatch "[^\n]+" do
    assert(line:find "^ok " or line:find "^program ", text)
  end
end

describe("strided.mpi:", function()
  local several, own = programs()
  for _, n in ipairs(RANKS) do
    local on = (", on %d rank%s"):format(n, n > 1 and "s" or "")
    it(table.concat(several, ", ") .. on, function()
      local paths = {}
      for i, name in ipairs(several) do
        paths[i] = ("'%s/programs/%s.lua'"):format(mpirun.folder, name)
      end
      local text, code = mpirun.run(n, "support/several.lua", 240,
                                    table.concat(paths, " "))
      check(text, code)
      local _, count = ("\n" .. text):gsub("\nprogram ", "")
      assert.equal(#several, count)
    end)
    for _, name in ipairs(own) do
      if n <= (MOST[name] or n) then
        it(name .. on, function()
          check(mpirun.run(n, "programs/" .. name .. ".lua"))
        end)
      end
    end
  end
end)
