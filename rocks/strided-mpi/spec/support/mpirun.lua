--- Runs programs under mpirun, for the specs of strided.mpi.
--
-- The programs use the Lua that runs the specs, and find modules where it finds
-- them: in the tree into which LuaRocks installed the rocks, or where the
-- variables LUA_PATH and LUA_CPATH say.

local mpirun = {}

--- The folder of the specs.
mpirun.folder = debug.getinfo(1, "S").source:match "^@(.*)/support/[^/]*$"

--- The command of the Lua that runs the specs.
mpirun.lua = rawget(_G, "jit") and "luajit" or "lua" .. _VERSION:match "%d.%d"

-- Open MPI does not look for networks: messages go through shared memory. It
-- starts twice as fast. Ranks that wait yield the processor to the others.
local FAST = "OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader " ..
             "OMPI_MCA_mpi_yield_when_idle=1"
-- Programs that run at once.
local LANES = 3
-- What never completes is to be seen soon.
local IMPATIENT = "STRIDED_MPI_PATIENCE=1"

-- Open MPI starts more ranks than cores only if told so; MPICH does anyway.
local known
local function command()
  if known then return known end
  local pipe = assert(io.popen "mpirun --version 2>&1")
  local said = pipe:read "*a"
  pipe:close()
  known = said:find "Open MPI" and "mpirun --oversubscribe" or "mpirun"
  return known
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- The environment of the programs: that of this process, but the paths of its
-- modules. A preloaded sanitizer is for Lua only, not for mpirun; it reports no
-- leaks, which MPI has many of.
local function environment()
  local rock = mpirun.folder:gsub("spec$", "lua/?.lua")
  local paths = ("env -u LUA_PATH_5_2 -u LUA_PATH_5_3 -u LUA_PATH_5_4 "
                 .. "-u LUA_CPATH_5_2 -u LUA_CPATH_5_3 -u LUA_CPATH_5_4 "
                 .. "-u LD_PRELOAD LUA_PATH=%s LUA_CPATH=%s"
                ):format(quoted(package.path .. ";" .. rock),
                         quoted(package.cpath))
  local preloaded = os.getenv "LD_PRELOAD"
  if not preloaded then return paths, "" end
  local options = (os.getenv "ASAN_OPTIONS" or "") .. ":detect_leaks=0"
  return paths, ("env LD_PRELOAD=%s ASAN_OPTIONS=%s"):format(
    quoted(preloaded), quoted(options))
end

--- Starts a program of the specs; returns what it prints, a pipe.
local function start(n, program, seconds, arguments)
  local outer, inner = environment()
  return assert(io.popen(table.concat({
    "{ t=$(date +%s);", outer,
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    "OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1", FAST, IMPATIENT,
    "timeout -k 2", seconds or 120, command(), "-np", n, inner,
    mpirun.lua, quoted(mpirun.folder .. "/" .. program), arguments or "",
    "</dev/null", "; } 2>&1; echo \"|$?|$(($(date +%s) - t))\"",
  }, " ")))
end

local queue = {} -- in the order of `later`: functions that start a program

--- Prepares a run of a program. While one is waited for, those after it run as
-- well, since most of them wait for each other or for a clock.
-- @tparam integer n how many ranks
-- @tparam string program its path in the folder of the specs
-- @tparam[opt=120] number seconds after which it is killed
-- @tparam[opt] string arguments, and variables of the environment before
-- @treturn function that waits for it, and returns what it printed, errors
-- included; its exit code, 124 if it was killed; how many seconds it took
function mpirun.later(n, program, seconds, arguments)
  local place, pipe, was_begun = #queue + 1, nil, false
  local function begin()
    pipe, was_begun = start(n, program, seconds, arguments), true
  end
  queue[place] = function() if not was_begun then begin() end end
  return function()
    for i = place, math.min(place + LANES - 1, #queue) do queue[i]() end
    if not pipe then begin() end -- again
    local text, code, took = pipe:read "*a":match "^(.*)|(%d+)|(%d+)\n$"
    pipe:close()
    pipe = nil
    return text, tonumber(code), tonumber(took)
  end
end

--- Runs a program: as `later`, but waits.
function mpirun.run(...) return mpirun.later(...)() end

return mpirun
