--- Cdata of LuaJIT as integers and addresses, in a host that removed the FFI
-- from package.loaded and package.preload, or has it. Each script runs in a
-- process of its own.
-- axes: ffi

local build = require "spec.support.build"
local on_disk = require "spec.support.files"

-- What a host does before it opens strided.
local HOSTS = {
  ["has the FFI"] = "",
  ["removed the FFI before it was open"] = [[
    package.preload.ffi = nil
  ]],
  ["removed the FFI once it was open"] = [[
    KEPT = {require "ffi"}
    local meta = debug.getregistry()
    meta.kept, KEPT = KEPT, nil
    package.preload.ffi, package.loaded.ffi = nil, nil
  ]],
  ["has functions of a script in place of the FFI"] = [[
    local function yes() return true end
    local fake = {istype = coroutine.wrap(yes), cast = rawget, sizeof = yes,
                  typeof = function() return "ctype<void *>" end}
    package.preload.ffi, package.loaded.ffi = nil, fake
  ]],
}

local START = [[
  local st = require "strided"
  local function refuse(text, f, ...)
    local ok, why = pcall(f, ...)
    assert(not ok, "it was not refused")
    assert(why:find(text, 1, true), why)
  end
  -- The lexer makes these without the FFI.
  local small, minus, all = 0x10ULL, -3LL, 0xFFFFFFFFFFFFFFFFULL
]]

local NO_ADDRESS = [[
  for _, x in ipairs {small, minus, all, 0x41ULL} do
    for _, f in ipairs {st.frombuffer, st.from_dlpack} do
      refuse(HIDDEN and "this host hides the FFI"
             or "int64_t> is neither a pointer nor an array", f, x, f ==
             st.frombuffer and {count = 4} or nil)
    end
  end
  local core = require "strided.core"
  refuse(HIDDEN and "hides the FFI" or "neither a pointer nor an array",
         core.frombuffer, small, nil, nil, 0, "uint8", {4})
  refuse(HIDDEN and "hides the FFI" or "neither a pointer nor an array",
         core.from_dlpack, small)
  refuse(HIDDEN and "hides the FFI" or "neither a pointer nor an array",
         core.cdata_size, small)
  assert(core.set_int64 == nil)
]]

local NUMBERS = [[
  local t = st.tensor({0}, {dtype = "int64"})
  assert((t + small):item() == 16)
  assert((t + minus):item() == -3)
  assert((t + all):item() == -1)
  assert(tostring(st.tensor({small, minus}).dtype) == "int64")
  assert(st.zeros(small, 2LL):numel() == 32)
  assert((t + 9007199254740993LL):item() == st.int "9007199254740993" or
         HIDDEN)
]]

local NO_FFI = [[
  assert(not pcall(require, "ffi") or package.loaded.ffi.typeof(0LL) ==
         "ctype<void *>")
  assert(load == nil or not pcall(load "return require 'ffi'.C.getenv"))
]]

--- The host prepares its LuaJIT, opens strided and runs a script, whose
-- literals would open the FFI. Returns what it prints.
local function run(host, ...)
  local first, path = os.tmpname(), os.tmpname()
  on_disk.write(first, host .. "\nrequire 'strided'")
  on_disk.write(path, table.concat({START, ...}, "\n") ..
                      "\ncollectgarbage() collectgarbage()\nio.write 'done'")
  local text = build.output(("luajit -e 'dofile %q' '%s'"):format(first, path))
  os.remove(first)
  os.remove(path)
  return text
end

describe("Where a host", function()
  if not rawget(_G, "jit") then return end

  for name, host in pairs(HOSTS) do
    local hidden = "HIDDEN = " ..
                   tostring(name == "removed the FFI once it was open")
    describe(name .. ",", function()
      it("an integer is no address", function()
        assert.equal("done", run(host, hidden, NO_ADDRESS))
      end)

      it("an integer is a number", function()
        assert.equal("done", run(host, hidden, NUMBERS))
      end)

      if host ~= "" then
        it("strided does not bring the FFI back", function()
          assert.equal("done", run(host, NO_FFI))
        end)
      end
    end)
  end

  it("hides the FFI, a pointer of the host's is refused", function()
    assert.equal("done", run(
      "POINTER = require('ffi').new('int[4]')\n" ..
      HOSTS["removed the FFI once it was open"], [[
      refuse("this host hides the FFI", st.frombuffer, POINTER)
    ]]))
  end)

  it("has the FFI, reading pointers leaves nothing", function()
    if build.is_sanitized then return end -- it keeps what is freed for a while
    assert.equal("done", run("", [[
      local ffi = require "ffi"
      local block = ffi.new "int32_t[4]"
      local function resident()
        local file = assert(io.open "/proc/self/statm")
        local pages = file:read("*a"):match "^%d+ (%d+)"
        file:close()
        return tonumber(pages) * 4096
      end
      local function read(n)
        for _ = 1, n do st.frombuffer(block, {dtype = "int32"}):free() end
        collectgarbage() collectgarbage()
        return resident()
      end
      local before = read(2e4)
      local after = read(1e5)
      assert(after - before < 1e6, after - before)
    ]]))
  end)

  it("has the FFI, what has a pointer's name is no pointer", function()
    assert.equal("done", run("", [[
      local ffi = require "ffi"
      local one = ffi.new("int64_t[1]", 7)
      local number = ffi.cast("int64_t &", one)
      for _, x in ipairs {ffi.typeof "float *", ffi.typeof "int64_t",
                          ffi.new("double", 1), number,
                          ffi.new "complex", ffi.cast("int8_t", 1)} do
        refuse("is neither a pointer nor an array", st.frombuffer, x,
               {count = 1})
        refuse("got cdata", function() return st.zeros(1) + x end)
      end
      ffi.cdef "struct st_spec_fake { int64_t address; };"
      ffi.metatype("struct st_spec_fake", {
        __tostring = function() return "cdata<void *>: 0x41" end})
      local fake = ffi.new("struct st_spec_fake", 0x41)
      assert(st.frombuffer(fake, {dtype = "int64"}):item() == 0x41)
      refuse("is not a pointer", st.from_dlpack, fake)
      ffi.cdef "struct st_spec_deep { int x; };"
      local function again(x) return tostring(st.frombuffer(x)) end
      ffi.metatype("struct st_spec_deep", {__tostring = again})
      refuse("too deep", st.frombuffer, ffi.new "struct st_spec_deep")
    ]]))
  end)
end)
