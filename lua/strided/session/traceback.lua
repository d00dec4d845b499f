--- Formats errors of a session or a script: the message and the traceback of
-- the user's frames.
--
-- @module strided.session.traceback

local core = require "strided.core"
core.check_taken("session", "strided.session.traceback")
local advice = require "strided.session.advice"
local show = require "strided.session.show"

local concat = table.concat
local debug, format, getinfo, pcall, rawget, setmetatable, tostring, type,
  xpcall = debug, string.format, debug.getinfo, pcall, rawget, setmetatable,
  tostring, type, xpcall

local FRAMES = 8
local DEEPEST = 10000 -- a lookup of a level visits all levels above it
local HOME = getinfo(1, "S").source:gsub("session/traceback%.lua$", "")

-- Chunks of a session that are functions: strided.session.locals.
local chunks = setmetatable({}, {__mode = "k"})

local failure = {}

--- Makes a function a main chunk in tracebacks.
function failure.is_chunk(fn) chunks[fn] = true end

--- One line for a frame; nil for C functions and for the library's files.
local function frame_text(info)
  if info.currentline <= 0 or info.source:sub(1, #HOME) == HOME then
    return nil
  end
  local is_main = info.what == "main" or chunks[info.func]
  local what = is_main and "in main chunk"
    or info.name and format("in '%s'", info.name)
    or format("in function <%s:%d>", info.short_src, info.linedefined)
  return format("\t%s:%d: %s", info.short_src, info.currentline, what)
end

-- The frames below these functions belong to the session.
local BOTTOM = {[xpcall] = true, [core.interruptible] = true}

--- The lines of the user's frames, from a level on.
local function frames(level)
  local lines, left = {}, 0
  local info = getinfo(level, "Slnf")
  while info and not BOTTOM[info.func] and level <= DEEPEST do
    local text = frame_text(info)
    if text and #lines < FRAMES then
      lines[#lines + 1] = text
    elseif text then
      left = left + 1
    end
    level = level + 1
    info = getinfo(level, "Slnf")
  end
  if left > 0 then
    local is_all = level <= DEEPEST
    lines[#lines + 1] = format(is_all and "\t... %d more"
                               or "\t... more than %d more", left)
  end
  return lines
end

--- An error object as text.
local function message_of(e)
  if type(e) == "string" then return e end
  local meta = debug.getmetatable(e)
  if type(meta) == "table" and rawget(meta, "__tostring") then
    local ok, text = pcall(tostring, e)
    if type(text) == "string" and (ok or text == "interrupted") then
      return text
    end
  end
  return "error object: " .. show.value(e)
end

--- The message handler of a session's xpcall: the error as text, with a
-- traceback if there is more than one frame.
-- @param e the error object
-- @tparam[opt] number more functions between the error and this one
-- @treturn string
function failure.text(e, more)
  local message = message_of(e)
  -- coroutine.wrap prepends locations.
  if ("x:1: " .. message):find "^[^\n]*:%d+: interrupted$" then
    return "interrupted"
  end
  message = advice.add(message, advice.error(message))
  local lines = frames(3 + (more or 0))
  -- Errors in Lua kernels have a traceback of the frames above the engine.
  local has_head = message:find("\nstack traceback:", 1, true)
  if #lines == 0 or #lines == 1 and not has_head then return message end
  return message .. (has_head and "\n" or "\nstack traceback:\n")
    .. concat(lines, "\n")
end

return failure
