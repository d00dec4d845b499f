--- A read-eval-print loop with the library as `st`.
--
-- An expression prints its values, a statement runs; a line that is not
-- finished asks for more. For editing and history run it under rlwrap.
--
-- @module strided.repl

local st = require "strided"

local concat, select, tostring = table.concat, select, tostring
local compile = loadstring or load

local function show(...)
  local texts = {}
  for i = 1, select("#", ...) do texts[i] = tostring((select(i, ...))) end
  if #texts > 0 then print(concat(texts, "\t")) end
end

--- A chunk for text, or nil, the message, and whether more input may help.
local function compile_input(text)
  local chunk = compile("return " .. text:gsub("^%s*=", ""), "=input")
  if chunk then return chunk end
  local why
  chunk, why = compile(text, "=input")
  return chunk, why, why and why:find("<eof>", 1, true) ~= nil
end

local function read(prompt)
  io.write(prompt)
  io.flush()
  return io.read "*l"
end

--- The next chunk that the user typed; nil at the end of the input.
local function next_chunk()
  local text = read "> "
  while text do
    local chunk, why, unfinished = compile_input(text)
    if chunk then return chunk end
    local more = unfinished and read ">> "
    if more then
      text = text .. "\n" .. more
    else
      print(why)
      text = read "> "
    end
  end
end

local function report(ok, ...)
  if ok then show(...) else print((...)) end
end

--- Reads, runs and prints until the input ends.
return function()
  rawset(_G, "st", st)
  print "strided is st; st.help() lists what there is, Ctrl-D leaves"
  for chunk in next_chunk do
    report(xpcall(chunk, function(e) return tostring(e) end))
  end
  print()
end
