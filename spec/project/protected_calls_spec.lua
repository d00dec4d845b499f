--- Protected calls in the library's Lua files: those that catch any error are
-- listed, with what becomes of an interrupt. All others use core.try, which
-- catches refusals only (Note [Errors that may be caught]).
-- axes: none

local build = require "spec.support.build"
local files = require "spec.support.files"

-- How many calls of pcall and xpcall a file has, and why.
local AGAIN = "cleans up and raises the same error"
local TEXT = "raises what is no refusal again"
local TYPED = "a session shows what came, an interrupt too"
local ALLOWED = {
  ["autograd/checkpoint.lua"] = {1, AGAIN},
  ["autograd/gradcheck.lua"] = {1, AGAIN},
  ["data/dataset.lua"] = {1, TEXT},
  ["data/loader.lua"] = {1, AGAIN},
  ["data/worker.lua"] = {3, "a worker is a state of its own: errors are sent"},
  ["io/csv.lua"] = {3, TEXT},
  ["io/csv_read.lua"] = {1, AGAIN},
  ["io/failure.lua"] = {1, AGAIN},
  ["io/file.lua"] = {3, TEXT},
  ["io/image.lua"] = {2, TEXT},
  ["io/raw.lua"] = {1, TEXT},
  ["io/replace.lua"] = {1, TEXT},
  ["io/values.lua"] = {1, TEXT},
  ["iterator.lua"] = {1, TEXT},
  ["profile.lua"] = {1, AGAIN},
  ["session/advice.lua"] = {1, "a text that a session shows"},
  ["progress.lua"] = {1, TEXT},
  ["session.lua"] = {2, TYPED},
  ["session/command.lua"] = {1, TYPED},
  ["session/complete.lua"] = {2, TYPED},
  ["session/complete_in.lua"] = {1, TYPED},
  ["session/input.lua"] = {2, TYPED},
  ["session/show.lua"] = {1, TYPED},
  ["session/traceback.lua"] = {1, TYPED},
  ["types/classes.lua"] = {1, "writes the types, in a process of its own"},
}

--- Calls of pcall and xpcall, and uses of them as values, outside of comments
-- and of the imports.
local function count(text)
  local n = 0
  for line in text:gmatch "[^\n]+" do
    if not line:find "^%s*%-%-" and not line:find '"' then
      for _ in line:gmatch "[^%w_.]x?pcall%(" do n = n + 1 end
    elseif not line:find "^%s*%-%-" and line:find "[=,(] ?x?pcall%(" then
      n = n + 1
    end
  end
  return n
end

describe("Protected calls of the library", function()
  it("let interrupts pass, or are listed with a reason", function()
    local found, wrong = {}, {}
    local list = build.output(("cd '%s/lua/strided'; find . -name '*.lua'")
                              :format(build.root))
    for name in list:gmatch "%./([^\n]+)" do
      local n = count(files.read(build.root .. "/lua/strided/" .. name))
      local row = ALLOWED[name]
      found[name] = n > 0
      if n ~= (row and row[1] or 0) and not name:find "^help/pages" then
        wrong[#wrong + 1] = ("%s has %d protected calls"):format(name, n)
      end
    end
    for name in pairs(ALLOWED) do
      if not found[name] then wrong[#wrong + 1] = name .. " has none" end
    end
    assert.same({}, wrong)
  end)
end)
