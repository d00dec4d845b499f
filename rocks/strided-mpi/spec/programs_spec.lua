--- The programs of spec/programs, under mpirun with 1, 2, 3 and 4 ranks. Rank
-- 0 prints what has gone well; an error of one rank ends all of them.

local HERE = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"
local mpirun = dofile(HERE .. "/support/mpirun.lua")

-- How many ranks; the specs of the source tree may give fewer.
local given = ...
local RANKS = type(given) == "table" and given.ranks or {1, 2, 3, 4}

-- Programs that share a process; the last ones turn checked mode on, which
-- stays so. Others end early, change the process, or count its pages, of which
-- a sanitizer keeps too many.
local SEVERAL = {
  "async", "collectives", "comms", "data_parallel", "deterministic",
  "deterministic_async", "deterministic_training", "dispatch", "gradients",
  "interrupted", "overlap", "sampler", "strides", "together",
  "checked_messages", "checked",
}
local LEFT_OUT = {check = true, memory = os.getenv "STRIDED_SANITIZED" ~= nil}

-- The most ranks of a program that takes long with more than there are cores.
local MOST = {memory = 2}

--- The programs that run in processes of their own.
local function programs()
  local shares, own = {}, {}
  for _, name in ipairs(SEVERAL) do shares[name] = true end
  local pipe = assert(io.popen("ls '" .. mpirun.folder .. "/programs'"))
  for line in pipe:lines() do
    local name = line:match "^(.*)%.lua$"
    if name and not LEFT_OUT[name] and not shares[name] then
      own[#own + 1] = name
    end
  end
  pipe:close()
  return own
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
  local several, own = SEVERAL, programs()
  for _, n in ipairs(RANKS) do
    local on = (", on %d rank%s"):format(n, n > 1 and "s" or "")
    local paths = {}
    for i, name in ipairs(several) do
      paths[i] = ("'%s/programs/%s.lua'"):format(mpirun.folder, name)
    end
    local together = mpirun.later(n, "support/several.lua", 240,
                                  table.concat(paths, " "))
    it(table.concat(several, ", ") .. on, function()
      local text, code = together()
      check(text, code)
      local _, count = ("\n" .. text):gsub("\nprogram ", "")
      assert.equal(#several, count)
    end)
    for _, name in ipairs(own) do
      if n <= (MOST[name] or n) then
        local run = mpirun.later(n, "programs/" .. name .. ".lua")
        it(name .. on, function() check(run()) end)
      end
    end
  end
end)
