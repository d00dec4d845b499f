--- The tables of docs/tested.md, from the passes of spec/test_matrix.sh, the
-- axes of the specs and the first sentences of the hosts.

local build = require "spec.support.build"
local files = require "spec.support.files"

local concat, format = table.concat, string.format

local tested = {}

local ROOT = build.root
tested.path = ROOT .. "/docs/tested.md"

local AXES = {"isa", "threads", "lua", "lua5.2", "lua5.4", "unsanitized",
              "ffi"}

local function lines(command)
  return files.lines_of(build.output("cd '" .. ROOT .. "' && " .. command))
end

local function row(...) return "| " .. concat({...}, " | ") .. " |" end

-- -- Passes ------------------------------------------------------------------

local BUILDS = {
  build = "release", ["build/san"] = "AddressSanitizer, UBSan",
  ["build/tsan"] = "ThreadSanitizer", ["build/grind"] = "under valgrind",
  ["build/guard"] = "guard pages", ["-"] = "",
}
local SPECS = {
  all = "all", hosts = "`spec/hosts`", luacheck = "luacheck, all Lua files",
  tsan = "ten threads, `spec/threads`",
  sanitized = "all but axis unsanitized", ["lua5.1"] = "axes lua unsanitized",
  ["lua5.4"] = "axis lua or lua5.4",
}

--- The passes of a command as lines of a table: those for a machine that has
-- all instruction sets.
local function passes(command)
  local list = {
    row("pass", "Lua", "build", "instruction set", "threads", "specs"),
    row("---", "---", "---", "---", "---", "---"),
  }
  for _, line in ipairs(lines(("ISAS='%s' sh spec/test_matrix.sh rows %s")
                             :format(concat(build.isas, " "), command))) do
    local pass, folder, lua, isa, threads, axis = line:match(
      "^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$")
    assert(pass, line)
    local function shown(text, default)
      return text == "-" and default or text
    end
    list[#list + 1] = row(pass, shown(lua, ""), BUILDS[folder] or folder,
      shown(isa, lua == "-" and "" or "best"), shown(threads, ""),
      SPECS[axis] or "axis " .. axis)
  end
  return concat(list, "\n")
end

-- -- Axes --------------------------------------------------------------------

--- By folder of spec: which axes its specs are on.
local function axes()
  local on, order = {}, {}
  for _, path in ipairs(lines "find spec -name '*_spec.lua' | sort") do
    local folder = path:match "^spec/([^/]+)/"
    if not on[folder] then
      on[folder] = {}
      order[#order + 1] = folder
    end
    local text = files.read(ROOT .. "/" .. path):match "\n%-%- axes: ([^\n]*)"
    for axis in (text or ""):gmatch "%S+" do on[folder][axis] = true end
  end
  local list = {row("specs", concat(AXES, " | ")),
                row("---", (("--- | "):rep(#AXES):gsub(" | $", "")))}
  for _, folder in ipairs(order) do
    local cells = {}
    for i, axis in ipairs(AXES) do cells[i] = on[folder][axis] and "x" or "" end
    list[#list + 1] = row("`spec/" .. folder .. "`", concat(cells, " | "))
  end
  return concat(list, "\n")
end

-- -- Hosts and rocks ---------------------------------------------------------

--- What the first comment of a file says.
local function opening(path)
  local text = files.read(ROOT .. "/" .. path):match "^%-%-%-? ?(.-)\n[^%-]"
                   or files.read(ROOT .. "/" .. path):match "^%-%-%-? ?(.-)\n\n"
  return (text:gsub("\n%-%- ?", " "):gsub(" axes: .*", ""):gsub("|", "\\|"))
end

local function openings(command)
  local list = {row("file", "what"), row("---", "---")}
  for _, path in ipairs(lines(command)) do
    list[#list + 1] = row("`" .. path .. "`", opening(path))
  end
  return concat(list, "\n")
end

-- by the name of a table in the page
local TABLES = {
  test = function() return passes "test" end,
  all = function() return passes "all" end,
  axes = axes,
  hosts = function() return openings "find spec/hosts -name '*_host.lua' | sort"
          end,
  rocks = function()
    return openings "find rocks -path '*/spec/*_spec.lua' | sort"
  end,
}

--- The page with its tables written anew.
-- @tparam string text of the page
-- @treturn string
function tested.renew(text)
  return (text:gsub("(<!%-%- table: (%l+) %-%->\n).-(<!%-%- end %-%->)",
                    function(head, name, tail)
    local make = assert(TABLES[name], name)
    return format("%s\n%s\n\n%s", head, make(), tail)
  end))
end

function tested.write()
  files.write(tested.path, tested.renew(files.read(tested.path)))
end

return tested
