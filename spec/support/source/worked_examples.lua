--- The worked examples of CONTRIBUTING.md: what they change, and their scripts.

local build = require "spec.support.build"
local files = require "spec.support.files"

local examples = {}

local TEXT = files.read(build.root .. "/CONTRIBUTING.md")

--- The changes whose file matches a pattern, in order: {path, before, text};
-- `before` is nil for a new file.
function examples.changes(pattern)
  local list, from = {}, 1
  while true do
    local first, last, path, text = TEXT:find(
      "\nNew, `([^`]+)`:\n\n```%l*\n(.-)```", from)
    local at, stop, inside, before, piece = TEXT:find(
      "\nIn `([^`]+)`, before `([^`]+)`:\n\n```%l*\n(.-)```", from)
    if at and (not first or at < first) then
      last, path, text = stop, inside, piece
    elseif first then
      before = nil
    else
      return list
    end
    if path:find(pattern) then list[#list + 1] = {path, before, text} end
    from = last
  end
end

--- Applies changes to a copy of the sources.
function examples.apply(folder, changes)
  for _, change in ipairs(changes) do
    local path, before, text = folder .. "/" .. change[1], change[2], change[3]
    if before then
      local old = files.read(path)
      local at = ("\n" .. old):find("\n" .. before, 1, true)
      assert(at, change[1] .. " has no line " .. before)
      text = old:sub(1, at - 1) .. text .. old:sub(at)
    else
      os.execute(("mkdir -p '%s'"):format(path:match "^(.*)/"))
    end
    files.write(path, text)
  end
end

--- All scripts, joined: they share their variables. The variable `new` is true
-- if the changes are applied.
-- @tparam boolean is_new
function examples.script(is_new)
  local parts = {"local new = " .. tostring(is_new)}
  local text = TEXT:gsub("\nNew, `[^`]+`:\n\n```.-```", "")
                   :gsub("\nIn `[^`]+`, before `[^`]+`:\n\n```.-```", "")
  for snippet in text:gmatch "```lua\n(.-)```" do
    parts[#parts + 1] = snippet
  end
  return table.concat(parts, "\n")
end

--- The shell commands of the example of a backend.
function examples.commands() return TEXT:match "```sh\n(.-)```" end

examples.text = TEXT

return examples
