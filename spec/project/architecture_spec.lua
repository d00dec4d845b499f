--- The shape of the house: what includes and calls what, what is exported, and
-- how long files are. How many places a new operator takes:
-- contributing_spec.lua.
-- axes: unsanitized

local build = require "spec.support.build"
local call_graph = require "spec.support.source.call_graph"
local on_disk = require "spec.support.files"

-- -- Help --------------------------------------------------------------------

local ROOT = build.root
local MAX_LINES, MAX_COLUMNS, MAX_FILES = 600, 80, 25

local lines_of = on_disk.lines_of
local output = build.output
local files, read = build.files, build.read

local CORE, BUILD, SANITIZED = build.core, build.folder, build.is_sanitized
local ENGINE = BUILD .. "/lib/libstrided.so"

-- -- Includes ----------------------------------------------------------------

--- The ranks of folders in the table of a README: one may include and call
-- itself and what stands before it there.
local function ranks_in(name, pattern)
  local rank, n = {}, 0
  for row in read(name):gmatch "\n| (`[^|]+) |" do
    for room in row:gmatch(pattern) do
      assert(not rank[room], room .. " is in the table twice")
      n = n + 1
      rank[room] = n
    end
  end
  return rank
end

local RANK = ranks_in("core/README.md", "`([%l%d_/]+)/`")
local BIND_RANK = ranks_in("lua/README.md", "`bind/(%l+)/`")

-- The folders of architectures: core/kernel/x86, core/kernel/math/x86.
local ARCHITECTURES = {}
for _, name in ipairs(files("core/kernel", "/isa%.h$")) do
  ARCHITECTURES[name:match "^core/kernel/([^/]+)/" or ""] = true
end

--- Whether a file is of an architecture alone.
local function is_architectures(name)
  return ARCHITECTURES[name:match "([^/]+)/[^/]+$"] or
         ARCHITECTURES[name:match "/(%w+)_%w+%.[ch]$"]
end

--- The folder of a file of core below it: "op/row", "" for core itself.
-- signature.h is a part of the public header alone. What there is for an
-- architecture is a part of the folder that it is in.
local function room_of(name)
  if name:find "^abi/signature%f[^%w]" then return "" end
  local folder = name:match "^(.*)/" or ""
  local outer, last = folder:match "^(.*)/([^/]+)$"
  return ARCHITECTURES[last] and outer or folder
end

--- Whether a file of room may use one of another room.
local function may_use(room, other)
  return room == other or room == "" or
         other ~= "" and RANK[other] < RANK[room]
end

--- The same for folders of the binding; core.c, in none, opens all.
local function may_bind(room, other)
  return room == other or room == "" or
         other ~= "" and BIND_RANK[other] < BIND_RANK[room]
end

--- The texts of the C files below a folder, by name. The name of a table of
-- kernels has no meaning: ST_EXPORT adds the instruction set.
local function texts_of(folder)
  local texts = {}
  for _, name in ipairs(files(folder, "%.[ch]$")) do
    if not name:find "^core/build/" then
      texts[name:sub(#folder + 2)] = read(name):gsub("ST_EXPORT%b()", "")
    end
  end
  return texts
end

local function quoted_includes(name)
  local list = {}
  for included in ("\n" .. read(name)):gmatch '\n%s*#%s*include%s*"([^"]+)"' do
    list[#list + 1] = included
  end
  return list
end

--- The includes of the files that is_wrong(name, included) refuses, as texts.
local function wrong_includes(names, is_wrong)
  local wrong = {}
  for _, name in ipairs(names) do
    for _, included in ipairs(quoted_includes(name)) do
      if is_wrong(name, included) then
        wrong[#wrong + 1] = name .. " includes " .. included
      end
    end
  end
  return wrong
end

describe("Includes", function()
  it("point left only inside core", function()
    assert.same({}, wrong_includes(files("core", "%.[ch]$"),
                                   function(name, included)
      local room = room_of(name:match "^core/(.*)")
      return room ~= "build" and included:find "%.h$" and
             not may_use(room, room_of(included))
    end))
  end)

  it("leave a folder's internal headers to the folder", function()
    local internal = {["dispatch/thread.h"] = true, ["dispatch/entry.h"] = true}
    assert.same({}, wrong_includes(files("core", "%.[ch]$"),
                                   function(name, included)
      local folder = included:match "^[^/]+"
      return internal[included] and not name:find("core/" .. folder, 1, true)
    end))
  end)

  it("give core no header of Lua", function()
    local wrong = {}
    for _, name in ipairs(files("core", "%.[ch]$")) do
      if read(name):find '#%s*include%s*[<"]l[ua]%w*%.h' then
        wrong[#wrong + 1] = name
      end
    end
    assert.same({}, wrong)
  end)

  it("point left only inside the binding", function()
    assert.same({}, wrong_includes(files("lua/bind", "%.[ch]$"),
                                   function(name, included)
      return included:find "/" and
             not may_bind(room_of(name:match "^lua/bind/(.*)"),
                          room_of(included))
    end))
  end)

  it("give the binding the public header and nothing else of core", function()
    local own, names = {}, files("lua/bind", "%.[ch]$")
    for _, name in ipairs(names) do own[name:match "^lua/bind/(.*)"] = true end
    assert.is_true(#names > 0)
    assert.same({}, wrong_includes(names, function(_, included)
      return not own[included] and included ~= "strided.h" and
             not included:find "^lua%w*%.h$" and included ~= "lauxlib.h"
    end))
  end)
end)

describe("Modules of Lua", function()
  it("are in rooms of which no two require each other", function()
    local uses, wrong = {}, {}
    for _, name in ipairs(files("lua/strided", "%.lua$")) do
      local room = name:match "^lua/strided/([%l_]+)/"
      if room then
        uses[room] = uses[room] or {}
        for other in read(name):gsub("%-%-[^\n]*", "")
                               :gmatch 'require%s*%(?"strided%.([%l_]+)%.' do
          if other ~= room then uses[room][other] = name end
        end
      end
    end
    assert.truthy(uses.session.help)
    for room, others in pairs(uses) do
      for other, name in pairs(others) do
        if uses[other] and uses[other][room] then
          wrong[#wrong + 1] = name .. " requires " .. other
        end
      end
    end
    assert.same({}, wrong)
  end)
end)

-- -- Calls -------------------------------------------------------------------

--- The text of a C file without comments and strings, and without the names of
-- tables of kernels, to which ST_EXPORT adds the instruction set.
local function code_of(name)
  return (call_graph.code_of(read(name)):gsub("ST_EXPORT%b()", ""))
end

describe("Calls", function()
  local uses = call_graph.of(texts_of "core")
  local own = call_graph.of(texts_of "lua/bind")

  it("are found in texts", function()
    local found = call_graph.of {
      ["a.h"] = "int st__b(void);\n/* st__c() */\n" ..
                "static inline int st__both(void) {\n  return 2 * st__b();\n}",
      ["a.c"] = "static int st__none(void) { return 0; }\n" ..
                "int st__a(int i,\n    int k) {\n  return st__none();\n}",
      ["b.c"] = "int st__c(void);\nint st__b(void) { return st__c(); }",
      ["c.c"] = "int st__n = 1;\nint st__c(void) { return st__a(1, 2); }",
      ["d.c"] = "int st__d(void) { return st__n; } /* st__b() */",
      ["e.h"] = "#define E(x) \\\n  do st__d(x); while (0)\nint st__a(int);",
    }
    assert.same({a = {b = {st__b = true}}, b = {c = {st__c = true}},
                 c = {a = {st__a = true}}, d = {c = {st__n = true}},
                 e = {d = {st__d = true}}}, found)
    assert.same({"a, b, c"}, call_graph.circles(found))
    local ring = {a = {b = true}, b = {a = true}}
    assert.same({}, call_graph.circles(ring))
  end)

  it("go to folders that stand before, or are given as pointers", function()
    local n = 0
    assert.same({}, call_graph.wrong(uses, function(module, other)
      n = n + 1
      return may_use(room_of(module), room_of(other))
    end))
    assert.is_true(n > 1000)
  end)

  it("go to folders that stand before in the binding, too", function()
    local n = 0
    assert.same({}, call_graph.wrong(own, function(module, other)
      n = n + 1
      return may_bind(room_of(module), room_of(other))
    end))
    assert.is_true(n > 300, tostring(n))
  end)

  it("make circles of at most two files", function()
    assert.same({}, call_graph.circles(uses))
    assert.same({}, call_graph.circles(own))
  end)
end)

-- -- Instruction sets --------------------------------------------------------

describe("Instruction sets", function()
  -- Files that know one or a processor, besides those of an architecture, such
  -- as core/kernel/x86 and core/fuse/jit/x86_codegen.c, and why.
  local MAY_KNOW = {
    ["core/kernel/isa.h"] = "chooses the folder",
    ["core/os/cpu.c"] = "asks the CPU",
    ["core/fuse/jit/codegen.c"] = "lists the targets",
    ["core/fuse/jit/jit_target.h"] = "declares them",
  }
  local WORDS = {"__AVX", "__SSE", "__FMA__", "__F16C__", "__BMI", "__ARM",
                 "__aarch64__", "__x86_64__", "__i386__", "mmintrin",
                 "arm_neon", "__builtin_ia32", "%f[%w_]_mm%d*_", "__m%d%d%d",
                 "[Aa][Vv][Xx]", "[Nn][Ee][Oo][Nn]", "[%f_]x86_", "st__x64"}

  it("are known to their own files alone", function()
    local wrong, used = {}, {}
    for _, name in ipairs(files("core lua/bind", "%.[ch]$")) do
      local code = code_of(name):gsub("\n#if[^\n]*__clang__[^\n]*", "")
      for _, word in ipairs(WORDS) do
        local found = code:match(word .. "[%w_]*")
        used[name] = used[name] or found
        if found and not MAY_KNOW[name] and not is_architectures(name) then
          wrong[#wrong + 1] = name .. ": " .. found
        end
      end
    end
    assert.same({}, wrong)
    for name in pairs(MAY_KNOW) do assert.truthy(used[name], name) end
  end)

  it("are listed in core/os/isa.def alone", function()
    local wrong = {}
    local names = files("spec/support spec/lint spec/test_matrix.sh bench dev "
                        .. "CMakeLists.txt", "%.?[%l]+$")
    for _, name in ipairs(names) do
      local text = read(name):gsub("\n *#[^\n]*", ""):gsub("%-%-[^\n]*", "")
      local row = text:match "[^\n]*avx512[^\n]*"
      if row and not name:find "^bench/results/" and
         name ~= "bench/sizes.txt" then
        wrong[#wrong + 1] = name .. ": " .. row
      end
    end
    assert.same({}, wrong)
    assert.equal("base", build.isas[1])
    assert.is_true(#build.isas > 1)
  end)

  it("are in the passes of the specs up to that of the library", function()
    if SANITIZED then return end
    local rows = output("cd '" .. ROOT ..
                        "' && env -u ISAS sh spec/test_matrix.sh rows guard")
    local best = rows:match "guard%-start%-(%w+) [^\n]*\n$"
    assert.equal(best, (build.run("env -u STRIDED_ISA " .. build.lua ..
      " -e 'io.write(require(\"strided\").config().isa)'")))
  end)
end)

-- -- Sizes -------------------------------------------------------------------

-- Folders of data, which may have more files, and why.
local IS_DATA = {
  ["spec/fuzz/corpus"] = "the inputs that fuzzing has found for a target",
  ["rocks/strided-image/spec/data"] = "pictures of every format",
}

describe("Files", function()
  local names = files("core lua spec bench examples tools dev CMakeLists.txt",
                      "[%w_]$")
  local function is_shell(name) return name == "dev" or name:find "%.sh$" end

  it("have at most 600 lines", function()
    local long = {}
    for _, name in ipairs(names) do
      if name:find "%.[ch]$" or name:find "%.lua$" or is_shell(name) then
        local _, n = read(name):gsub("\n", "")
        if n > MAX_LINES then long[#long + 1] = name .. ": " .. n end
      end
    end
    assert.same({}, long)
  end)

  it("are at most 25 in a folder", function()
    local count, wrong, used = {}, {}, {}
    for _, name in ipairs(files(
        "bench core docs examples lua rocks rockspecs spec", "")) do
      if not name:find "/build/" and not name:find "/__pycache__/" then
        local folder = name:match "^(.*)/"
        count[folder] = (count[folder] or 0) + 1
      end
    end
    assert.is_not_nil(count["lua/strided/nn"])
    assert.is_not_nil(count["core/kernel/linalg"])
    for folder, n in pairs(count) do
      local data = IS_DATA[folder] and folder or folder:match "^(.*)/"
      if n > MAX_FILES and IS_DATA[data] then used[data] = IS_DATA[data]
      elseif n > MAX_FILES then
        wrong[#wrong + 1] = ("%s: %d"):format(folder, n)
      end
    end
    assert.same({}, wrong)
    assert.same(IS_DATA, used)
  end)

  it("have lines of at most 80 columns", function()
    local wide = {}
    for _, name in ipairs(names) do
      if name:find "%.[ch]$" or name:find "%.lua$" or is_shell(name) then
        local number = 0
        for line in read(name):gmatch "([^\n]*)\n" do
          number = number + 1
          -- a UTF-8 character is one column
          local columns = #line:gsub("[\128-\191]", "")
          if columns > MAX_COLUMNS then
            wide[#wide + 1] = ("%s:%d"):format(name, number)
          end
        end
      end
    end
    assert.same({}, wide)
  end)
end)

-- -- Elements ---------------------------------------------------------------

-- Files that ask where a tensor is, without a note (Note [Elements that are not
-- there] in core/tensor/tensor.h), and why.
local ASK_DEVICE = {
  ["core/op/row/structured.c"] = "kernels, which run whole",
  ["core/op/table/direct_pointwise.c"] = "kernels, which run whole",
  ["core/op/table/register.c"] = "the device of a kernel, not of a tensor",
  ["core/op/row/scripted.c"] = "compares the device of a result",
  ["core/op/create/fill.c"] = "captured: st__capture_fill makes the note",
  ["core/op/elementwise/clamp_where.c"] = "captured: st__capture_data_read",
  ["core/op/print/format_tensor.c"] = "is no operator",
}

describe("Operators that look for elements", function()
  it("ask by st__has_elements or st__is_cpu, which make a note", function()
    local wrong, used = {}, {}
    for _, name in ipairs(files("core/op", "%.[ch]$")) do
      local number = 0
      for line in read(name):gmatch "([^\n]*)\n" do
        number = number + 1
        if line:find "st__is_meta%(" or
           line:find "device [!=]= ST_DEVICE_[CM]" and line:find "%->device" or
           line:find "if .*storage%->data" then
          used[name] = true
          if not ASK_DEVICE[name] then
            wrong[#wrong + 1] = ("%s:%d"):format(name, number)
          end
        end
      end
    end
    assert.same({}, wrong)
    for name in pairs(ASK_DEVICE) do assert.is_true(used[name], name) end
  end)
end)

-- -- Axes --------------------------------------------------------------------

-- What the result of a spec may depend on: spec/test_matrix.sh goes by it.
local AXES = {isa = true, lua = true, ["lua5.2"] = true, ["lua5.4"] = true,
              ffi = true, threads = true, alone = true, unsanitized = true}

describe("A spec", function()
  it("says below its opening comment which axes it depends on", function()
    local wrong = {}
    local names = files("spec", "_spec%.lua$")
    for _, name in ipairs(names) do
      local opening = read(name):match "^(.-\n)\n"
      local axes = opening and opening:gsub("\n%-%- sampled: [2-9]\n$", "\n")
                               :match "\n%-%- axes: ([^\n]+)\n$"
      if axes ~= "none" then
        for axis in (axes or "no such line"):gmatch "%S+" do
          if not AXES[axis] then wrong[#wrong + 1] = name .. ": " .. axis end
        end
      end
    end
    assert.is_true(#names > 0)
    assert.same({}, wrong)
  end)
end)

-- -- Globals -----------------------------------------------------------------

describe("Functions of Lua modules", function()
  -- A sandbox gives them an empty environment in Lua 5.1 and LuaJIT. The
  -- session and the generator of types do not run in one.
  it("read no global, only main chunks do", function()
    local names = {}
    for _, name in ipairs(files("lua/strided", "%.lua$")) do
      if not name:find "^lua/strided/session" and
         not name:find "^lua/strided/types" then
        names[#names + 1] = "'" .. name .. "'"
      end
    end
    local listing = output("cd '" .. ROOT .. "' && luac5.1 -l -p "
                           .. table.concat(names, " "))
    local found, at, n = {}, nil, 0
    for line in listing:gmatch "[^\n]+" do
      at = line:match "^%l+ <(%S+:%d+),%d+>" or at
      n = n + (at and 1 or 0)
      local global = line:match "[GS]ETGLOBAL.*; (%S+)"
      if global and not at:find ":0$" then
        found[#found + 1] = at .. ": " .. global
      end
    end
    assert.is_true(n > 10000)
    assert.same({}, found)
  end)
end)

-- -- Symbols -----------------------------------------------------------------

describe("A kernel object", function()
  it("exports one table of data and nothing else", function()
    if SANITIZED then return end -- sanitizers add symbols of their own
    local objects = lines_of(output("find '" .. BUILD .. "/CMakeFiles' " ..
                                    "-path '*kernels_*' -name '*.o'"))
    assert.is_true(#objects > 0)
    for _, object in ipairs(objects) do
      local symbols = lines_of(output("nm -g --defined-only " .. object))
      assert.equal(1, #symbols, object)
      assert.truthy(symbols[1]:find "^%x+ [DRBG] st__[%w_]+$", object .. ": " ..
                    symbols[1])
    end
  end)
end)

describe("A function", function()
  it("has a name that no other one of engine and binding has", function()
    local home, twice = {}, {}
    for _, name in ipairs(files("core lua/bind", "%.c$")) do
      for line in ("\n" .. read(name)):gmatch "\n(%l[^\n]*%)? *{?)" do
        local f = line:match "%f[%w_](st__?[%w_]+)%("
        if f and not line:find "^static " and not line:find "^return " and
           not line:find ";$" then
          if home[f] and home[f] ~= name then
            twice[#twice + 1] = f .. ": " .. home[f] .. ", " .. name
          end
          home[f] = name
        end
      end
    end
    assert.truthy(home.st__call)
    assert.same({}, twice)
  end)

  it("that LINES.md gives a reason for is in that file", function()
    local text, gone = {}, {}
    for _, name in ipairs(files("core lua/bind", "%.[ch]$")) do
      local file = name:match "[^/]+$"
      text[file] = (text[file] or "") .. read(name)
    end
    for key in pairs(require("spec.lines.reasons").functions) do
      local file, name = key:match "(%S+) (%S+)"
      if not text[file] or name ~= "-" and
         not text[file]:find("%f[%w_]" .. name .. "%f[^%w_]") then
        gone[#gone + 1] = key
      end
    end
    assert.same({}, gone)
  end)
end)

-- What has a dtype and is no tensor: options, facts of files and of dtypes.
local NO_TENSOR = {opt = true, o = true, d = true, info = true, none = true,
                   class = true}

describe("A Lua module", function()
  it("makes tensors like another one on the device of that one", function()
    local found, right = {}, 0
    for _, name in ipairs(files("lua/strided", "%.lua$")) do
      for options in read(name):gmatch "{([^{}]*)}" do
        local of = (", " .. options):match "[,{%s]dtype = ([%w_.:()]+)%.dtype"
        if of and options:find "device = " then
          right = right + 1
        elseif of and not NO_TENSOR[of] then
          found[#found + 1] = ("%s: {%s}"):format(name, options)
        end
      end
    end
    assert.is_true(right > 20)
    assert.same({}, found)
  end)
end)

describe("The libraries", function()
  it("export names that start with st_, and the module its opener", function()
    if SANITIZED then return end
    for _, line in ipairs(lines_of(output("nm -D --defined-only " ..
                                          ENGINE))) do
      assert.truthy(line:find " st_[^_]", line)
    end
    local opener = lines_of(output("nm -D --defined-only " .. CORE))
    assert.equal(1, #opener)
    assert.truthy(opener[1]:find " T luaopen_strided_core$")
  end)

  for name, path in pairs {engine = ENGINE, binding = CORE} do
    it("are not linked to Lua: the " .. name, function()
      local dynamic = output("readelf -d " .. path)
      assert.truthy(dynamic:find "NEEDED")
      assert.is_nil(dynamic:find "NEEDED[^\n]*lua")
    end)

    it("take little of the static TLS, Note [Static TLS]: the " .. name,
       function()
      if SANITIZED then return end
      local segments = output("readelf -lW " .. path)
      local size = segments:match " TLS +0x%x+ 0x%x+ 0x%x+ 0x%x+ 0x(%x+)"
      assert.truthy(tonumber(size, 16) < 512, size)
    end)

    it("stay loaded when their Lua state is closed: the " .. name, function()
      assert.truthy(output("readelf -d " .. path):find "NODELETE")
    end)
  end
end)
