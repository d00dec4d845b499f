--- The sizes of libstrided.so and of the binding: by section, by folder of
-- the source and by instruction set of the kernels, and the largest functions;
-- beside the sizes in bench/sizes.txt, which are those of the last release.
--
--     ./dev size          prints them
--     ./dev size keep     writes them into bench/sizes.txt too

local build, mode = arg[1], arg[2]

local KNOWN = "bench/sizes.txt"
local LARGEST = 12 -- functions that are listed

local function lines(command)
  local pipe, list = assert(io.popen(command)), {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

--- Names in the order of the report, and their bytes.
local names, bytes = {}, {}
local function add(name, n)
  if not bytes[name] then names[#names + 1] = name end
  bytes[name] = (bytes[name] or 0) + n
end

local SECTIONS = {[".text"] = "code", [".rodata"] = "constants",
                  [".data"] = "data", [".data.rel.ro"] = "data",
                  [".bss"] = "zeros"}

local function add_library(name, path)
  local file = 0
  for _, line in ipairs(lines("size -A " .. path)) do
    local section, n = line:match "^(%.%S+)%s+(%d+)"
    -- notes of the compiler and debug information are not loaded
    local loaded = section and not section:match "^%.debug"
                   and not section:match "^%.comment"
    if loaded then
      file = file + tonumber(n)
      add(name .. " " .. (SECTIONS[section] or "tables for the loader"),
          tonumber(n))
    end
  end
  add(name, file)
end

--- False for an object whose source has been moved or removed.
local function has_source(object)
  local source = object:match "%.dir/(.*)%.o$"
  local file = not source or source:match "generated" or io.open(source)
  if io.type(file) then file:close() end
  return file ~= nil
end

--- The code, constants and data of the objects of a target, by folder.
local function add_objects(target, prefix)
  local folder = ("%s/CMakeFiles/%s.dir"):format(build, target)
  for _, line in ipairs(lines("find " .. folder .. " -name '*.o' -print0 | " ..
                              "xargs -0 size | sort -k 6")) do
    local text, data, bss, path =
      line:match "^%s*(%d+)%s+(%d+)%s+(%d+)%s+%d+%s+%x+%s+(%S+)"
    if text and has_source(path) then
      local source = path:match "%.dir/(.*)/[^/]*$" or "generated"
      if source:match "generated" then source = "generated" end
      add(prefix .. source, text + data + bss)
    end
  end
end

add_library("libstrided.so", build .. "/lib/libstrided.so")
add_library("core.so", build .. "/lua/strided/core.so")
add_objects("strided", "")
for line in io.lines "core/os/isa.def" do
  local isa = line:match "^ST_ISA%((%w+),"
  if isa then add_objects("kernels_" .. isa, isa .. " ") end
end
add_objects("core_lua", "")

-- -- The report --------------------------------------------------------------

local known = {}
local file = io.open(KNOWN)
if file then
  for line in file:lines() do
    local n, name = line:match "^%s*(%d+)  (.+)$"
    if n then known[name] = tonumber(n) end
  end
  file:close()
end

print(("%-36s %10s %10s %8s"):format("", "bytes", "known", "change"))
for _, name in ipairs(names) do
  local was, now = known[name], bytes[name]
  print(("%-36s %10d %10s %8s"):format(name, now, was or "-",
    was and was > 0 and ("%+.1f %%"):format(100 * (now / was - 1)) or ""))
end
for name, was in pairs(known) do
  if not bytes[name] then
    print(("%-36s %10s %10d"):format(name, "gone", was))
  end
end

print("\nthe largest functions and tables")
for _, line in ipairs(lines(("nm -S --size-sort -r %s/lib/libstrided.so | "
    .. "head -n %d"):format(build, LARGEST))) do
  local size, name = line:match "^%x+ (%x+) %a (%S+)"
  if size then print(("%-36s %10d"):format(name, tonumber(size, 16))) end
end

if mode == "keep" then
  file = assert(io.open(KNOWN, "w"))
  file:write("Bytes of the last release, which `./dev size` compares with.\n")
  for _, name in ipairs(names) do
    file:write(("%10d  %s\n"):format(bytes[name], name))
  end
  file:close()
end
