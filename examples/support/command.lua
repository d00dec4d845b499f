--- What the examples share as commands: options, folders, lines of progress.

local st = require "strided"

local floor, format, huge = math.floor, string.format, math.huge

local command = {}

-- -- Options -----------------------------------------------------------------

local function number_of(word, least, most)
  local x = tonumber(word)
  return x and x >= least and x <= most and x
end

local function count_of(word, least)
  local n = number_of(word, least, 2 ^ 53 - 1)
  return n and n == floor(n) and n
end

-- by kind: what a word of the command line stands for, or nil; what is expected
local KINDS = {
  count = {function(word) return count_of(word, 0) end, "a whole number"},
  size = {function(word) return count_of(word, 1) end,
          "a whole number from 1 on"},
  number = {function(word)
    local x = number_of(word, 0, huge)
    return x and x < huge and x
  end, "a number"},
  share = {function(word) return number_of(word, 0, 1) end,
           "a number from 0 to 1"},
  tables = {function(word)
    return (word:find "%.safetensors$" or word:find "%.pt$") and word
  end, "a file named .safetensors or .pt"},
  text = {function(word) return word end, "a text"},
}

--- Ends the program with a message and the usage.
-- @tparam table self `name` and `usage`
-- @tparam string ... as for string.format
function command.refuse(self, ...)
  io.stderr:write(self.name, ": ", format(...), "\n\n", self.usage)
  os.exit(2)
end

--- Ends the program with a message.
-- @tparam table self
-- @tparam string why
function command.fail(self, why)
  io.stderr:write(self.name, ": ", (why:gsub("^[^\n]-:%d+: ", "")), "\n")
  os.exit(1)
end

--- Reads the words of the command line. Words that are no options are the list
-- part of the result.
-- @tparam table self `name`, `usage`; `options`: by name, {kind, default}, with
-- the kind "count", "size", "number", "share", "text", "tables", a file that
-- has tables in tables, or "flag"; `most` other words
-- @tparam table words
-- @treturn table the values by the names of the options
function command.parse(self, words)
  local values, given, i = {}, {}, 1
  for name, option in pairs(self.options) do values[name] = option[2] end
  while words[i] do
    local word = words[i]
    local name = word:match "^%-%-(.+)$"
    local option = self.options[name]
    if word == "-h" or word == "--help" then
      io.write(self.usage)
      os.exit(0)
    elseif option and option[1] == "flag" then
      values[name] = true
    elseif option then
      local kind = KINDS[option[1]]
      local value = words[i + 1] and kind[1](words[i + 1])
      if not value then
        command.refuse(self, "%s needs %s, got '%s'", word, kind[2],
                       words[i + 1] or "")
      end
      values[name], given[name], i = value, true, i + 1
    elseif word:find "^%-" or #values >= (self.most or huge) then
      command.refuse(self, "'%s' is not understood", word)
    else
      values[#values + 1] = word
    end
    i = i + 1
  end
  values.given = given
  return values
end

-- -- Files -------------------------------------------------------------------

--- Creates a folder, or ends the program.
function command.make_folder(folder)
  local quoted = "'" .. folder:gsub("'", "'\\''") .. "'"
  local code = os.execute("mkdir -p -- " .. quoted)
  if code ~= 0 and code ~= true then os.exit(1) end
end

--- The text of a file, or nil and why not.
function command.read(path)
  local file, why = io.open(path, "rb")
  if not file then return nil, why end
  local text
  text, why = file:read "*a"
  file:close()
  return text, why
end

-- -- Progress ----------------------------------------------------------------

--- A function that returns the seconds since its creation. The wall clock has a
-- resolution of one second; the processor clock is finer, but adds up the time
-- of all threads.
function command.stopwatch()
  local wall, processor = os.time(), os.clock()
  return function()
    local seconds = os.difftime(os.time(), wall)
    return math.min(math.max(os.clock() - processor, seconds - 1), seconds + 1)
  end
end

--- Prints a line at once, where Lua may keep it for later.
function command.say(...)
  print(format(...))
  io.flush()
end

--- Saves tables, or ends the program with the reason.
function command.save(self, path, value)
  local ok, why = pcall(st.save, path, value)
  if not ok then command.fail(self, tostring(why)) end
end

return command
