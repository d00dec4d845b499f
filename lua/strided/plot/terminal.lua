--- Where plots go: the terminal, with what it can show, and files.
--
-- @module strided.plot.terminal

local core = require "strided.core"
local replace = require "strided.io.replace"

local raise = require "strided.argument.caller_error"

local getenv, io, remove, tmpname, tonumber = os and os.getenv, io, os and
  os.remove, os and os.tmpname, tonumber
local concat, find, format, min, sub = table.concat, string.find,
  string.format, math.min, string.sub
local require = require "strided.core".require

local DEFAULT = 80
local WIDEST = 200   -- a plot does not grow beyond
local CHUNK = 4096   -- bytes of a picture in one escape sequence
local TIMEOUT = 0.5  -- seconds that a terminal has to answer

local IMG2SIXEL = "img2sixel was not found; install libsixel-bin (Debian, "
  .. "Ubuntu) or libsixel"
local PACKAGE = "rsvg-convert was not found; install librsvg2-bin (Debian, "
  .. "Ubuntu), librsvg2-tools (Fedora) or librsvg (Homebrew, Arch)"

local terminal = {}

local function environment(name) return getenv and getenv(name) or nil end

--- True if standard output is a terminal; false in a sandbox.
local function is_terminal()
  local ok, is = core.try(core.is_terminal, 1)
  return ok and is and environment "TERM" ~= "dumb"
end

--- The number of columns.
function terminal.width()
  if not is_terminal() then return DEFAULT end
  local ok, columns = core.try(core.terminal_size, 1)
  columns = ok and columns or tonumber(environment "COLUMNS" or "")
  if not columns or columns < 20 then return DEFAULT end
  return min(columns, WIDEST)
end

--- The number of colours; 0 elsewhere than on a terminal.
function terminal.colours()
  local no = environment "NO_COLOR"
  if not is_terminal() or no and no ~= "" then return 0 end
  local deep = environment "COLORTERM"
  return (deep == "truecolor" or deep == "24bit") and 16777216 or 256
end

-- -- Files -------------------------------------------------------------------

--- Writes a text into a file; returns nil, or why not.
function terminal.write(path, text)
  local ok, why = replace(path, function(file) return file:write(text) end)
  return not ok and (why or "it failed") or nil
end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local bytes = file:read "*a"
  file:close()
  return bytes
end

local FORMATS = {png = true, pdf = true}

--- Converts SVG into a temporary file by rsvg-convert; returns nil, or why not.
local function convert(svg, path, suffix, scale)
  if not FORMATS[suffix] then raise "save: the format must be png or pdf" end
  if not core.find_program "rsvg-convert" then return PACKAGE end
  local from = tmpname()
  local why = terminal.write(from, svg)
  local status = not why and core.run_program({
    "rsvg-convert", "--format=" .. suffix,
    format("--zoom=%g", suffix == "png" and scale or 0.75), "-o", path}, from)
  remove(from)
  return why or status ~= 0 and "rsvg-convert failed" or nil
end

--- Writes SVG into a file as .png or .pdf; returns nil, or why not.
function terminal.write_as(path, svg, suffix, scale)
  local temporary = tmpname()
  local why = convert(svg, temporary, suffix, scale)
  local bytes = not why and read(temporary)
  remove(temporary)
  if not bytes then return why or "rsvg-convert failed" end
  return terminal.write(path, bytes)
end

-- -- Pictures in the terminal ------------------------------------------------

local known -- what the terminal has, after it was asked

--- "kitty", "sixel" or "none".
local function graphics()
  if known then return known end
  local own = environment "STRIDED_GRAPHICS"
  if own == "kitty" or own == "sixel" or own == "none" then return own end
  known = "none"
  if environment "TMUX" or environment "STY" then return known end
  local term = environment "TERM" or ""
  local program = environment "TERM_PROGRAM"
  if environment "KITTY_WINDOW_ID" or term == "xterm-kitty" or
     term == "xterm-ghostty" or program == "ghostty" or program == "WezTerm"
  then
    known = "kitty"
  else
    -- Primary device attributes: 4 stands for sixel.
    local ok, answer = core.try(core.ask_terminal, "\27[c", "c", TIMEOUT)
    if ok and answer and find(answer, "^\27%[%?[%d;]*;4[;c]") then
      known = "sixel"
    end
  end
  return known
end

--- A PNG in escape sequences of kitty's protocol.
local function kitty(bytes)
  local text = require("strided.plot.png").base64(bytes)
  local out, i = {}, 1
  repeat
    local part = sub(text, i, i + CHUNK - 1)
    i = i + CHUNK
    out[#out + 1] = format("\27_G%sm=%d;%s\27\\",
      #out == 0 and "a=T,f=100," or "", i <= #text and 1 or 0, part)
  until i > #text
  return concat(out) .. "\n"
end

-- What was said about a program that is missing, as keys.
local said = {}

--- Says once why a terminal that shows pictures shows text.
local function missing(text)
  if said[text] then return false end
  said[text] = true
  core.warn("plot: shown as text: " .. text)
  return false
end

--- Shows a figure as a picture; false if the terminal has none, or a program
-- that converts it is missing.
function terminal.picture(fig, kind)
  if not is_terminal() then return false end
  kind = kind or graphics()
  if kind == "none" or not io or not tmpname then return false end
  if kind == "sixel" and not core.find_program "img2sixel" then
    return missing(IMG2SIXEL)
  end
  local path = tmpname()
  local failed = convert(fig:svg(), path, "png", 1)
  if failed == PACKAGE then
    remove(path)
    return missing(PACKAGE)
  end
  local bytes = not failed and read(path)
  local shown = false
  io.stdout:flush()
  if bytes and kind == "kitty" then
    io.stdout:write(kitty(bytes))
    shown = true
  elseif bytes then
    shown = core.run_program {"img2sixel", path} == 0
  end
  io.stdout:flush()
  remove(path)
  return shown
end

terminal.kitty = kitty
return terminal
