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
-- starts twice as fast.
local FAST = "OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader"
-- What never completes is to be seen soon.
local IMPATIENT = "STRIDED_MPI_PATIENCE=1"

-- Open MPI starts more ranks than cores only if told so; MPICH does anyway.
local function command()
  local pipe = assert(io.popen "mpirun --version 2>&1")
  local said = pipe:read "*a"
  pipe:close()
  return said:find "Open MPI" and "mpirun --oversubscribe" or "mpirun"
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- The environment of the programs: that of this process, but the paths of its
-- modules. A preloaded sanitizer is for Lua only, not for mpirun; it reports no
-- leaks, which MPI has many of.
local function environment()
  local rock = mpirun.folder:gsub("spec$", "lua/?.lua")
  local paths = ("env -u LUA_PATH_5_3 -u LUA_CPATH_5_3 -u LUA_PATH_5_4 "
                 .. "-u LUA_CPATH_5_2 -u LUA_CPATH_5_4 -u LD_PRELOAD "
                 .. "LUA_PATH=%s LUA_CPATH=%s"
                ):format(quoted(package.path .. ";" .. rock),
                         quoted(package.cpath))
  local preloaded = os.getenv "LD_PRELOAD"
  if not preloaded then return paths, "" end
  local options = (os.getenv "ASAN_OPTIONS" or "") .. ":detect_leaks=0"
  return paths, ("env LD_PRELOAD=%s ASAN_OPTIONS=%s"):format(
    quoted(preloaded), quoted(options))
end

--- Runs a program of the specs.
-- @tparam integer n how many ranks
-- @tparam string program its path in the folder of the specs
-- @tparam[opt=120] number seconds after which it is killed
-- @tparam[opt] string arguments, and variables of the environment before
-- @treturn string what it printed, errors included
-- @treturn integer its exit code; 124 if it was killed
-- @treturn integer how many seconds it took
function mpirun.run(n, program, seconds, arguments)
  local outer, inner = environment()
  local began = os.time()
  local pipe = assert(io.popen(table.concat({
    "{", outer, "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    "OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1", FAST, IMPATIENT,
    "timeout -k 2", seconds or 120, command(), "-np", n, inner,
    mpirun.lua, quoted(mpirun.folder .. "/" .. program), arguments or "",
    "</dev/null", "; } 2>&1; echo \"|$?\"",
  }, " ")))
  local text, code = pipe:read "*a":match "^(.*)|(%d+)\n$"
  pipe:close()
  return text, tonumber(code), os.difftime(os.time(), began)
end

return mpirun
