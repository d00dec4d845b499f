--- Helpers of benchmarks: shell commands, the folder of the build, and a Python
-- with PyTorch, NumPy and, if they can be installed, numexpr, SciPy, pandas,
-- ducc0 and pyFFTW.
--
-- The Python is in a virtual environment outside of the source tree, which is
-- created if it does not exist. An environment variable:
--
--     STRIDED_BENCH_VENV    its folder; empty: no Python
--                           (${XDG_CACHE_HOME:-~/.cache}/strided/bench-venv)

local getenv, popen, execute = os.getenv, io.popen, os.execute
local concat, ipairs = table.concat, ipairs

local peers = {}

-- -- The shell ---------------------------------------------------------------

--- Prints a message to standard error.
function peers.say(...)
  io.stderr:write("bench: ", concat({...}), "\n")
end

--- Quotes a word for the shell.
function peers.quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

--- A command line: the words quoted, what follows them as it is.
function peers.line(words, rest)
  local quoted = {}
  for i, word in ipairs(words) do quoted[i] = peers.quote(word) end
  return concat(quoted, " ") .. (rest and " " .. rest or "")
end

--- Runs a command; true if it succeeds.
function peers.run(command)
  local code = execute(command)
  return code == 0 or code == true
end

--- What the command prints.
function peers.text(command)
  local pipe = popen(command)
  local text = pipe:read "*a"
  pipe:close()
  return text
end

--- The first line that the command prints, "" for none.
function peers.output(command)
  return peers.text(command):match "[^\n]*"
end

local say, line, run = peers.say, peers.line, peers.run

-- -- The build ---------------------------------------------------------------

--- The folder of the build that `require "strided"` finds.
function peers.build()
  local binding = assert(package.searchpath("strided.core", package.cpath))
  return binding:match "^(.*)/lua/strided/core%.so$"
end

--- The name of the processor.
function peers.processor()
  return peers.output "sed -n 's/^model name.*: //p' /proc/cpuinfo"
end

-- -- PyTorch -----------------------------------------------------------------

local function pip(venv)
  return line({venv .. "/bin/python", "-m", "pip", "install",
               "--disable-pip-version-check"})
end

local function install_torch(venv)
  say("installing PyTorch into ", venv, " (once, up to some gigabytes)")
  return run(line({"python3", "-m", "venv", venv}, ">&2")) and
    (run(pip(venv) .. " --retries 0 --timeout 15 --index-url " ..
         "https://download.pytorch.org/whl/cpu torch numpy >&2") or
     run(pip(venv) .. " torch numpy >&2"))
end

local function want(venv, module)
  if run(line({venv .. "/bin/python", "-c", "import " .. module},
              ">/dev/null 2>&1")) then return end
  say("installing ", module, " into ", venv)
  run(pip(venv) .. " --retries 0 --timeout 15 " .. module .. " >&2")
end

--- A Python that has PyTorch and NumPy, and what else the set `wanted` has if
-- pip can install it; nil and the reason.
function peers.python(wanted)
  local venv = getenv "STRIDED_BENCH_VENV"
  if venv == "" then return nil, "STRIDED_BENCH_VENV is empty" end
  if not venv then
    local cache = getenv "XDG_CACHE_HOME"
    if not cache or cache == "" then
      cache = (getenv "HOME" or "") .. "/.cache"
    end
    venv = cache .. "/strided/bench-venv"
  end
  local python = venv .. "/bin/python"
  local has_torch = line({python, "-c", "import torch, numpy"},
                         ">/dev/null 2>&1")
  if not run(has_torch) then
    if not run "command -v python3 >/dev/null" then
      return nil, "no python3"
    end
    if not install_torch(venv) then return nil, "pip could not install it" end
    if not run(has_torch) then return nil, "it cannot be imported" end
  end
  for _, module in ipairs {"numexpr", "scipy", "pandas", "ducc0", "pyfftw"} do
    if wanted and wanted[module] then want(venv, module) end
  end
  return python
end

return peers
