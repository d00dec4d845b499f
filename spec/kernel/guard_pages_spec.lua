--- Kernels and machine code keep to the elements that there are: with
-- unreadable pages directly behind or before every block, the operators are
-- called in every dtype, with every size up to 70 and those around the sizes of
-- blocks. The library is that of the build, except that each block has pages
-- of its own (spec/guard/guard.c); nothing has to be instrumented.
--
-- A failure shows the call that ended the process. An operator is tried with
-- every GUARD_STEP-th dtype: one of them here, all of them in ./dev guard and
-- ./dev test all, where STRIDED_GUARD names a side.
-- axes: isa
-- sampled: 3

local build = require "spec.support.build"

local FOLDER = build.folder .. "/guard"
local SWEEP = ("'%s/spec/guard/sweep.lua'"):format(build.root)
local STEP = tonumber(os.getenv "GUARD_STEP" or 12)

local library = io.open(FOLDER .. "/libstrided.so", "rb")
if library then library:close() end

--- Runs a Lua command with the block's end or start next to such a page. Freed
-- blocks are unreadable where every dtype is tried.
local function guarded(side, command)
  return build.shell(("env -u LD_PRELOAD LD_LIBRARY_PATH='%s' "
    .. "STRIDED_GUARD=%s STRIDED_GUARD_FREED=%d %s %s"):format(FOLDER, side,
    STEP == 1 and 1 or 0, build.lua, command))
end

--- What the sweep printed; fails with its last call if the process ended.
local function sweep(side, part, step)
  local command = ("%s %s %d"):format(SWEEP, part, step)
  local text, status = guarded(side, command)
  if status ~= 0 then
    local last = guarded(side, command .. " log"):match "([^\n]*)\nguard:"
    error(("%s\n%s"):format(last or part, text), 0)
  end
  return text
end

if not library then
  describe("Guard pages", function()
    it("are not there in a sanitized build", function()
      assert.is_true(build.is_sanitized)
    end)
  end)
  return
end

if rawget(_G, "jit") then
  local SCRIPT = [[-e "local st, ffi = require [=[strided]=], require [=[ffi]=]
    local t = st.ones({%d}, {dtype = [=[%s]=]})
    local p = ffi.cast([=[uint8_t *]=], t:data_ptr())
    local byte = p[%d]
    %s
    t:free()
    print(byte)"]]

  describe("A guard page", function()
    -- side, elements, dtype, byte, what else, the report
    for _, row in ipairs {
      {"end", 15, "float32", 59, "", nil},
      {"end", 15, "float32", 60, "", "at byte 60 of a block of 60 bytes"},
      {"end", 3, "uint8", 3, "", "at byte 3 of a block of 3 bytes"},
      {"end", 5000, "float64", 40000, "", "at byte 40000 of a block of 40000"},
      {"end", 0, "int64", 0, "", "at byte 0 of a block of 0 bytes"},
      {"end", 3, "int16", 0, "p[-1] = 1", "a write before a block of 6 bytes"},
      {"start", 3, "int16", 0, "", nil},
      {"start", 3, "int16", -1, "", "1 bytes before a block of 6 bytes"},
      {"start", 3, "int16", 6, "p[6] = 1", "a write behind a block of 6 bytes"},
    } do
      it(("reports %s at the %s of %d of %s"):format(row[6] or "nothing",
         row[1], row[2], row[3]), function()
        local text, status = guarded(row[1], SCRIPT:format(row[2], row[3],
                                                           row[4], row[5]))
        if not row[6] then
          assert.equal(0, status, text)
        else
          assert.is_true(status ~= 0, text)
          assert.truthy(text:find(row[6], 1, true), text)
        end
      end)
    end
  end)
end

local SIDES = {os.getenv "STRIDED_GUARD" or "end"}
-- The other instruction sets try one side, unless every dtype is asked for.
if not os.getenv "STRIDED_GUARD" and (STEP == 1 or not os.getenv "STRIDED_ISA")
then
  SIDES[2] = "start"
end

describe("Next to unreadable pages", function()
  for _, side in ipairs(SIDES) do
    it("the operators of the registry keep to the " .. side, function()
      local text = sweep(side, "registry", STEP)
      local n, calls, results = text:match
        "^registry: (%d+) of %d+ overloads\n(%d+) calls, (%d+) results\n$"
      assert.is_true(tonumber(n) > (STEP > 6 and 300 or 400), text)
      assert.is_true(results / calls > 0.6, text)
    end)

    it("operators with indices and kernels keep to the " .. side, function()
      assert.truthy(sweep(side, "rows", STEP):find "^%d+ calls, %d+ results\n$")
    end)

    it("fused functions keep to the " .. side, function()
      assert.truthy(sweep(side, "fused", STEP):find
                    "^%d+ calls, %d+ results\n$")
    end)
  end
end)
