--- Reads and writes whole files.

local files = {}

--- The bytes of a file, or nil if it does not exist.
function files.read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local bytes = file:read "*a"
  file:close()
  return bytes
end

function files.write(path, bytes)
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  file:close()
end

--- The nonempty lines of a text.
function files.lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

return files
