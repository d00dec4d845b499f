--- Which instruction set the kernels run on, and how many threads there are:
-- what the environment says, what the process may use, and what can be made.
-- What takes longer is in spec/hosts.
-- axes: isa threads
-- sampled: 3

local build = require "spec.support.build"
local on_disk = require "spec.support.files"
local raises = require("spec.support.tensors").raises

-- The sanitizers need address space and threads of their own.
local _it = build.is_sanitized and pending or it

describe("The instruction set", function()
  _it("is the best there is, reported, for a name that is none (U1)", function()
    local print_it = build.lua ..
      " -e 'print(require(\"strided\").config().isa)'"
    local best = build.run("env -u STRIDED_ISA " .. print_it)
    assert.matches("^%w+\n$", best)
    local names = table.concat(build.isas, ", "):gsub(", (%w+)$", " or %1")
    assert.equal("strided: STRIDED_ISA=sse9: unknown, must be " .. names ..
                 "\n" .. best,
                 build.run("env STRIDED_ISA=sse9 " .. print_it))
    assert.equal("base\n", build.run("env STRIDED_ISA=base " .. print_it))
  end)

  _it("is one below, with the reason, if it cannot be had", function()
    local function used(environment)
      return build.run("env " .. environment .. " " .. build.lua ..
        " -e 'io.write(require(\"strided\").config().isa)'")
    end
    local cache = on_disk.read(build.folder .. "/CMakeCache.txt")
    local asked = cache:match "\nSTRIDED_KERNEL_ISAS:[^=]*=([^\n]*)" or ""
    local made = asked == "" and table.concat(build.isas, ";") or
                 (asked == "native" or asked == "best") and
                 used "-u STRIDED_ISA" or asked
    for _, isa in ipairs(build.isas) do
      local said = used("STRIDED_ISA=" .. isa)
      if said ~= isa then
        local why = (";" .. made .. ";"):find(";" .. isa .. ";", 1, true) and
          "CPU supports at most " or
          "build has no kernels for it; those in use are of "
        local got = said:match "%w+$"
        assert.is_true(got ~= isa)
        assert.equal(("strided: STRIDED_ISA=%s: this %s%s\n%s"):format(
          isa, why, got, got), said)
      end
    end
  end)
end)

describe("The number of threads", function()
  it("is refused in the caller's own words beyond 1 to 256", function()
    local st = require "strided"
    local before = st.get_num_threads()
    for _, row in ipairs {
      {1e9, "1000000000"}, {1e10, "10000000000"}, {257, "257"}, {0, "0"},
      {-1, "-1"}, {-3e9, "-3000000000"}, {2 ^ 32 + 1, "4294967297"},
    } do
      raises("the number of threads must be 1 to 256, not " .. row[2],
             st.set_num_threads, row[1])
      assert.equal(before, st.get_num_threads())
    end
  end)

  local program, cgroup
  setup(function()
    program = build.program "process/limits"
    cgroup = build.program "process/cgroup"
  end)

  _it("is as large as the user's limit of processes allows", function()
    assert.equal("0\n", build.run(program .. " processes; echo $?"))
  end)

  _it("is as large as the address space allows", function()
    assert.equal("0\n", build.run(program .. " memory; echo $?"))
  end)

  local function number(environment)
    return build.output("unset LD_PRELOAD STRIDED_NUM_THREADS OMP_NUM_THREADS;"
                        .. environment .. " " .. program .. " number")
  end

  for _, row in ipairs {
    {"STRIDED_NUM_THREADS=3", "3"},
    {"STRIDED_NUM_THREADS=' 3 '", "3"},
    {"STRIDED_NUM_THREADS=256", "256"},
    {"STRIDED_NUM_THREADS=3 OMP_NUM_THREADS=5", "3"},
    {"STRIDED_NUM_THREADS= OMP_NUM_THREADS=5", "5"},
    {"OMP_NUM_THREADS=3", "3"},
    {"OMP_NUM_THREADS=3,2", "3"},
    {"OMP_NUM_THREADS=1000", "256"},
    {"STRIDED_NUM_THREADS=4 OMP_THREAD_LIMIT=2", "2"},
    {"OMP_NUM_THREADS=4 OMP_THREAD_LIMIT=2", "2"},
    {"taskset -c $(taskset -cp $$ | sed 's/.*[:,-] *//')", "1"},
  } do
    it(("is %s with %s"):format(row[2], row[1]), function()
      assert.equal(row[2] .. "\n", number(row[1]))
    end)
  end

  for _, text in ipairs {
    "abc", "0", "-3", "257", "3x", "1e2", "99999999999999999999",
  } do
    it("is what it is without, reported, for " .. text, function()
      assert.equal(
        ("strided: STRIDED_NUM_THREADS=%s: must be 1 to 256\n"):format(text)
        .. number "", number("STRIDED_NUM_THREADS=" .. text))
    end)
  end

  -- what /proc/self/cgroup says, files below /sys/fs/cgroup, processors, bytes
  for _, row in ipairs {
    {"0::/\n", {}, 0},
    {"0::/\n", {["cpu.max"] = "max 100000"}, 0},
    {"0::/\n", {["cpu.max"] = "200000 100000"}, 2},
    {"0::/a/b\n", {["a/b/cpu.max"] = "150000 100000"}, 2},
    {"0::/a/b\n", {["a/b/cpu.max"] = "1000 100000"}, 1},
    {"0::/a/b\n", {["a/cpu.max"] = "300000 100000",
                   ["a/b/cpu.max"] = "max 100000"}, 3},
    {"0::/a/b\n", {["a/cpu.max"] = "100000 100000",
                   ["a/b/cpu.max"] = "400000 100000"}, 1},
    {"0::/a\n", {["cpu.max"] = "400000 100000", ["b/cpu.max"] = "1 1"}, 4},
    {"0::/host/only\n", {["cpu.max"] = "500000 100000"}, 5},
    {"0::/../..\n", {["cpu.max"] = "500000 100000"}, 5},
    {"0::/a\n", {["a/cpu.max"] = "junk"}, 0},
    {"0::/a\n", {["a/cpu.max"] = "-5 0"}, 0},
    {"0::/a\n", {["a/cpu.max"] = "9000000000000000000 1"}, 2147483647},
    {"4:cpu,cpuacct:/a\n", {["cpu,cpuacct/a/cpu.cfs_quota_us"] = "250000",
                            ["cpu,cpuacct/a/cpu.cfs_period_us"] = "100000"},
     3},
    {"4:cpuacct,cpu:/a\n", {["cpu/cpu.cfs_quota_us"] = "50000",
                            ["cpu/cpu.cfs_period_us"] = "100000"}, 1},
    {"4:cpu:/a\n", {["cpu/a/cpu.cfs_quota_us"] = "-1",
                    ["cpu/a/cpu.cfs_period_us"] = "100000"}, 0},
    {"4:cpuset:/a\n", {["cpuset/a/cpu.cfs_quota_us"] = "100000",
                       ["cpuset/a/cpu.cfs_period_us"] = "100000"}, 0},
    {"4:cpu:/\n0::/u\n", {["cpu/cpu.cfs_quota_us"] = "700000",
                          ["cpu/cpu.cfs_period_us"] = "100000",
                          ["unified/u/cpu.max"] = "600000 100000"}, 6},
    {"0::/a\n", {["a/memory.max"] = "1073741824"}, 0, 1073741824},
    {"0::/a\n", {["a/memory.max"] = "max", ["memory.max"] = "4096"}, 0, 4096},
    {"0::/a/b\n", {["a/memory.max"] = "8192", ["a/b/memory.max"] = "16384",
                   ["a/b/cpu.max"] = "1 1"}, 1, 8192},
    {"9:memory:/a\n", {["memory/a/memory.limit_in_bytes"] = "65536"}, 0,
     65536},
    {"9:memory:/a\n",
     {["memory/a/memory.limit_in_bytes"] = "9223372036854771712"}, 0},
    {"9:cpu:/a\n", {["cpu/a/memory.limit_in_bytes"] = "65536"}, 0},
    {"0::/a\n", {["a/memory.max"] = "-1"}, 0},
    {"0::/a\n", {["a/memory.max"] = "junk"}, 0},
    {"", {["cpu.max"] = "200000 100000"}, 0},
    {"nonsense\n:::\n0:\n0::\n", {["cpu.max"] = "200000 100000"}, 0},
  } do
    local text, files, cpus, bytes = row[1], row[2], row[3], row[4] or 0
    it(("may have %d processors and %d bytes in %q"):format(
       cpus, bytes, text:match "[^\n]*"),
       function()
      local root = os.tmpname()
      os.remove(root)
      local function write(path, content)
        path = root .. path
        os.execute(("mkdir -p '%s'"):format(path:match "^(.*)/"))
        on_disk.write(path, content)
      end
      write("/proc/self/cgroup", text)
      for name, content in pairs(files) do
        write("/sys/fs/cgroup/" .. name, content .. "\n")
      end
      local said = build.run(("%s '%s'"):format(cgroup, root))
      os.execute(("rm -r '%s'"):format(root))
      assert.equal(("%d %d\n"):format(cpus, bytes), said)
    end)
  end
end)
