--- The engine without Lua: the programs of spec/embed, which the build
-- compiles against the one public header and libstrided.so.
-- axes: none
-- sampled: 3

local build = require "spec.support.build"

-- source, what it prints: a line per topic
local PROGRAMS = {
  {"embed", {"operators", "failures", "foreign memory", "registration",
             "plans", "keys", "nothing left"}},
  {"dispatch", {"either door", "every type", "signatures", "failures",
                "watching", "guards", "autocast", "scripts", "gradients",
                "modes", "shortcuts", "nothing left"}},
  {"library", {"rules", "replacing", "listening", "inspection",
               "built-in schemas", "out of memory", "nothing left"}},
  {"structured", {"variants", "bad schemas", "refusals", "bad metas",
                  "out of memory", "devices", "nothing left"}},
  {"backend", {"registration", "names", "operators", "late errors",
               "inheriting", "out of memory", "without a backend", "limits",
               "nothing left"}},
  {"start", {"forks while it starts", "starts while it forks"}},
  {"team", {"short loops", "a slow member", "a late team",
            "a team in time", "affinity", "every unit", "small work",
            "work in work", "work in lonely work", "shares"}},
  {"share", {"a line of threads", "a race for tokens", "refusals", "forks",
             "writing against the rules", "nothing left"}},
  {"autograd", {"derivatives", "hooks", "functions", "cycles",
                "very many nodes on a small stack", "one leaf, four threads",
                "out of memory", "nothing left"}},
  {"jit", {"executable pages", "none to be had", "switched off",
           "nothing left"}},
  {"limits", {"memory", "threads", "generator", "seconds", "refusals",
              "nothing left"}},
  {"interrupt", {"a signal", "a deadline", "a thread of its own",
                 "the process"}},
  {"types", {"texts", "promotion", "refusals", "parts of 32 bits",
             "nothing left"}},
  {"dlpack", {"there and back", "structures of others", "another thread",
              "nothing left"}},
}

describe("The public header", function()
  it("is C++ as well", function()
    local command = "env -u LD_PRELOAD g++ -std=c++11 -Wall -Wextra -Werror "
                    .. "-fsyntax-only -x c++-header '%s/include/strided.h'"
    assert.same({"", 0}, {build.shell(command:format(build.folder))})
  end)
end)

for _, row in ipairs(PROGRAMS) do
  local source, topics = row[1], row[2]
  describe("The C program " .. source, function()
    it("finds everything in order and leaves nothing", function()
      assert.equal(table.concat(topics, "\n") .. "\n",
                   build.run(build.program("embed/" .. source)))
    end)
  end)
end
