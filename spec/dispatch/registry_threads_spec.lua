--- The registry under threads: the program in spec/threads, which sees the
-- one public header. STRIDED_TSAN names a build with ThreadSanitizer, for
-- which there are more operators, and tensors that are handed over as well;
-- otherwise it is the build that is used.
-- axes: threads

local build = require "spec.support.build"

local TSAN = os.getenv "STRIDED_TSAN"
local OPERATORS = os.getenv "STRIDED_WHOLE" and TSAN and 10000 or TSAN and 3000
                  or 1000
local output = build.run

-- What it prints, numbers as it should be asked for or as %d+.
local SCENES = {
  ("storm: %d operators came and went, 10 threads called %%d+ times, "
   .. "met %%d+ and missed %%d+ of them"):format(OPERATORS),
  "replaced: 10 calls ended in the kernel they began in",
  ("two registered: %d kernels each"):format(OPERATORS),
  ("coming and going: %d threads"):format(OPERATORS / 10 + 10),
  not TSAN and build.is_sanitized and "forks: none"
    or ("forks: %d children called and registered"):format(OPERATORS / 100),
  "nothing left of %d+ kernels",
}

describe("Threads", function()
  it("call while operators come and go, threads end and processes fork",
     function()
    local program = build.program("threads/threads", TSAN)
    local text = output(("%s %d"):format(program, OPERATORS))
    if TSAN then io.stderr:write(text) end
    local rest = text
    for _, scene in ipairs(SCENES) do
      local line, after = rest:match "^([^\n]*)\n(.*)$"
      assert.truthy(line and line:find("^" .. scene .. "$"), text)
      rest = after
    end
    assert.equal("", rest)
  end)
end)

if TSAN then
  describe("Calls on several threads", function()
    it("are interrupted and limited without a race", function()
      assert.equal("a signal\na deadline\na thread of its own\nthe process\n",
                   output(build.program("embed/interrupt", TSAN)))
      assert.equal("memory\nthreads\ngenerator\nseconds\nrefusals\n"
                   .. "nothing left\n",
                   output(build.program("embed/limits", TSAN)))
    end)
  end)

  describe("Tensors shared by threads", function()
    it("are handed over without a race", function()
      local program = build.program("embed/share", TSAN)
      assert.equal("a line of threads\na race for tokens\nrefusals\n"
                   .. "nothing left\n", output(program .. " without-forks"))
    end)
  end)
end
