--- The build under test, for specs that start programs.

local files = require "spec.support.files"

local build = {}

--- The root of the source tree.
build.root = debug.getinfo(1, "S").source:match "^@(.*)/spec/support/[^/]*$"

for template in package.cpath:gmatch "[^;]+" do
  local path = template:gsub("%?", "strided/core")
  local file = not build.core and io.open(path, "rb")
  if file then
    file:close()
    build.core = path
    build.folder = path:gsub("/lua[%d.]*/strided/core%.so$", "")
  end
end

--- The names of the instruction sets, those of core/os/isa.def.
build.isas = {}
for isa in ("\n" .. files.read(build.root .. "/core/os/isa.def"))
           :gmatch "\nST_ISA%((%w+)," do
  build.isas[#build.isas + 1] = isa
end

--- The command of the Lua that runs the specs.
build.lua = rawget(_G, "jit") and "luajit" or "lua" .. _VERSION:match "%d.%d"

--- The folder of that Lua's lua.h; nil for LuaJIT.
function build.headers()
  local cache = io.open(build.folder .. "/CMakeCache.txt")
  if not cache then return nil end
  local text = cache:read "*a"
  cache:close()
  return text:match("\nLUA" .. _VERSION:match "%d.%d" .. "_INCLUDE:[^=]*=(%C+)")
end

build.is_sanitized = os.getenv "STRIDED_SANITIZED" ~= nil

--- True for a build by Clang: what is known of frames and of counts of
-- instructions is of GCC.
function build.is_by_clang()
  local cache = files.read((build.folder or "") .. "/CMakeCache.txt")
  return (cache or ""):find "\nCMAKE_C_COMPILER:[^=]*=[^\n]*clang" ~= nil
end

--- The path of the C program built from spec/NAME, quoted for the shell.
function build.program(name, folder)
  local path = ("%s/spec/%s"):format(folder or build.folder, name)
  local file = io.open(path, "rb")
  assert(file, path .. " is not there: ./dev build makes it")
  file:close()
  return "'" .. path .. "'"
end

--- Runs a shell command; returns its output, including errors, and its exit
-- status.
function build.shell(command)
  local pipe = assert(io.popen("{ " .. command .. "\n} 2>&1; echo \"|$?\""))
  local text, status = pipe:read "*a":match "^(.*)|(%d+)\n$"
  pipe:close()
  return text, tonumber(status)
end

--- Runs a shell command; returns its output.
function build.output(command) return (build.shell(command)) end

--- Runs a script with the Lua that runs the specs; returns its output.
function build.script(text)
  local path = os.tmpname()
  files.write(path, text)
  local output = build.output(build.lua .. " " .. path)
  os.remove(path)
  return output
end

--- Like output, but without preloading the sanitizer library.
function build.run(command)
  return build.output("env -u LD_PRELOAD " .. command)
end

--- What a command prints on an instruction set.
function build.on_instruction_set(isa, command)
  local text = build.output(("env STRIDED_ISA=%s %s"):format(isa, command))
  -- a CPU or a build that lacks it is said to
  return (text:gsub("^strided: STRIDED_ISA=[^\n]*\n", ""))
end

--- The same, and the one that it ran on, whose name the command prints last.
local function printed_on(isa, command)
  local text = build.on_instruction_set(isa, command)
  local printed, used = text:match "^(.*)%f[%w](%w+)\n$"
  return printed, assert(used, text)
end

--- True if multiply-adds are fused on an instruction set.
function build.has_fma(isa)
  local script = "'local c = require([[strided]]).config() " ..
                 "print(c.fma, c.isa)'"
  local printed = printed_on(isa, build.lua .. " -e " .. script)
  return printed:find "^true" ~= nil
end

--- Runs a command once per instruction set, and fails unless what it prints
-- before the name of the one that it ran on is always the same. `of`:
-- "products" of floats, whose bits are others where multiply-adds are fused.
function build.same_by_instruction_set(command, of)
  local firsts = {}
  for _, isa in ipairs(build.isas) do
    local text, used = printed_on(isa, command)
    local kind = of == "products" and build.has_fma(used)
    local first = firsts[kind] or {isa = used, text = text}
    firsts[kind] = first
    assert(text == first.text, used .. " prints\n" .. text .. first.isa ..
                               " prints\n" .. first.text)
  end
end

--- The files below folders of the source tree, by the pattern of their names.
function build.files(folders, pattern)
  local list = {}
  local found = build.output("cd '" .. build.root .. "' && find " .. folders ..
                             " -type f 2>/dev/null | sort")
  for _, name in ipairs(files.lines_of(found)) do
    if name:find(pattern) then list[#list + 1] = name end
  end
  return list
end

--- The bytes of a file of the source tree.
function build.read(name) return files.read(build.root .. "/" .. name) end

return build
