--- The `strided` command: runs scripts and sessions with the library as `st`.
--
-- @module strided.session.command

local st = require "strided"
local core = require "strided.core"
core.check_taken("session", "strided.session.command")
local advice = require "strided.session.advice"
local failure = require "strided.session.traceback"

local io, ipairs, loadfile, rawset, select, xpcall = io, ipairs, loadfile,
  rawset, select, xpcall

local require = require "strided.core".require

local compile, unpack = loadstring or load, unpack or table.unpack

local USAGE = [[
strided [OPTION]... [FILE [ARGUMENT]...]

  -e CODE        run CODE
  -l NAME        require NAME
  -i             run a session after FILE or CODE
  -v, --version  print the version
  -h, --help     print this text
  -              run standard input as a file
  --             end of the options

Without FILE and CODE it runs a session, even if the input is not a terminal.
The library is the global st. A script gets its arguments in ... and in arg.
The exit status is 1 after an error. In a session ?session says more.
]]

local function complain(text)
  io.stderr:write("strided: ", text, "\n")
  return 1
end

-- -- Running ------------------------------------------------------------------

--- Runs fn(...); returns the exit status.
local function run(fn, ...)
  local n, args = select("#", ...), {...}
  local function body() fn(unpack(args, 1, n)) end
  local ok, text = xpcall(body, failure.text)
  return ok and 0 or complain(text)
end

local function run_code(code)
  local chunk, why = compile(code, "=(command line)")
  if not chunk then
    return complain(advice.add(why, advice.syntax(why, code)))
  end
  return run(chunk)
end

local function run_module(name) return run_code(("require %q"):format(name)) end

--- Shifts the arguments for a script: [0] is the script, and the arguments
-- before it have negative indices.
local function shift(args, at)
  local shifted = {}
  for i, value in pairs(args) do shifted[i - at] = value end
  return shifted
end

local function run_file(args, at)
  local name = args[at]
  local shifted = shift(args, at)
  rawset(_G, "arg", shifted)
  local chunk, why = loadfile(name ~= "-" and name or nil)
  if not chunk then
    return complain(advice.add(why, advice.syntax_of_file(why, name)))
  end
  return run(chunk, unpack(shifted, 1, #args - at))
end

-- -- Options ------------------------------------------------------------------

--- Parses the command line; returns a plan, or nil and an error message. The
-- actions of a plan, a list of {function, argument}, run before its file.
local function parse(args)
  local plan, i = {actions = {}}, 1
  local takes = {["-e"] = run_code,
                 ["-l"] = run_module}
  while args[i] do
    local flag, value = args[i]:match "^(%-[el])(.*)$"
    if flag then
      if value == "" then i, value = i + 1, args[i + 1] end
      if not value then return nil, flag .. " needs an argument" end
      plan.actions[#plan.actions + 1] = {takes[flag], value}
      plan.has_code = plan.has_code or flag == "-e"
    elseif args[i] == "-i" then
      plan.is_interactive = true
    elseif args[i] == "-h" or args[i] == "--help" then
      plan.shows = USAGE
    elseif args[i] == "-v" or args[i] == "--version" then
      plan.shows = "strided " .. st.config().version .. "\n"
    elseif args[i] == "--" then
      i = i + 1
      break
    elseif args[i]:find "^%-." then
      return nil, "there is no option " .. args[i]
    else
      break
    end
    i = i + 1
  end
  plan.file = args[i] and i
  return plan
end

--- Runs the command, but for the check of what it wrote.
local function run_command(args)
  local plan, why = parse(args)
  if not plan then
    complain(why)
    io.stderr:write(USAGE)
    return 1
  end
  if plan.shows then
    io.write(plan.shows)
    return 0
  end
  rawset(_G, "st", st)
  local status = 0
  for _, action in ipairs(plan.actions) do
    status = action[1](action[2])
    if status ~= 0 then return status end
  end
  if plan.file then status = run_file(args, plan.file) end
  if plan.is_interactive or not (plan.file or plan.has_code) then
    status = require("strided.session").run()
  end
  return status
end

--- Runs the command.
-- @tparam {string,...} args as Lua's global `arg`
-- @treturn number the exit status
local function main(args)
  local status = run_command(args)
  local file = io.type(io.stdout) == "file" and io.stdout
  local ok, why = true
  if file then ok, why = file:flush() end
  if ok and core.has_write_failed() then ok, why = false, "a write failed" end
  if ok then return status end
  return complain("cannot write the output: " .. why)
end

return {main = main}
