--- Sandboxes: what scripts try, and what comes of it.
-- axes: lua ffi
-- sampled: 3

local attempts = require "spec.strided.sandbox.attempts"
local build = require "spec.support.build"

local quoted = "'" .. build.root .. "/spec/strided/sandbox/%s.lua'"

--- Runs a program of this folder with the Lua and the build under test.
local function program(name, arguments, environment)
  return build.shell(("LUA_PATH='%s' LUA_CPATH='%s' %s %s %s %s"):format(
    package.path, package.cpath, environment or "", build.lua,
    quoted:format(name), arguments))
end

--- What came of each attempt, by its name.
local function run(arguments)
  local text, status = program("host", arguments)
  assert.equal(0, status, text)
  local answers = {}
  for line in text:gmatch "[^\n]+" do
    local name, answer = line:match "^(.-)\t(.*)$"
    if name then answers[name] = answer end
  end
  return answers
end

local function run_code(code, environment)
  return build.shell(("LUA_PATH='%s' LUA_CPATH='%s' %s %s -e '%s'"):format(
    package.path, package.cpath, environment or "", build.lua, code))
end

local function describe_attempts(name, list, arguments)
  describe(name, function()
    local answers
    setup(function() answers = run(arguments) end)

    for _, row in ipairs(list) do
      it(row[1], function()
        local answer = answers[row[1]]
        assert.is_string(answer)
        assert.is_truthy(answer:find(row[2]) or
                         answer:find(row[2], 1, true), answer)
      end)
    end

    it("leaves the host as it was", function()
      assert.equal("3", answers.operators:match "^%d+")
      assert.equal("8", answers.free:match "^%d+")
      assert.equal("6", answers.again:match "^%d+")
    end)

    it("is charged for nothing in the end", function()
      -- The registry keeps names.
      assert.is_true(tonumber(answers.used) < 8192, answers.used)
    end)
  end)
end

describe_attempts("A script in a sandbox", attempts, "all")
describe_attempts("A script with a time limit", attempts.timed, "timed")
if rawget(_G, "jit") then
  describe_attempts("A script in a sandbox without ffi", attempts,
                    "all no_ffi")
end

describe("A sandbox", function()
  it("leaves what scripts need", function()
    local text, status = program("script", "")
    assert.equal(0, status, text)
    assert.equal("done\n", text)
  end)

  for _, row in ipairs {
    {"1", "sandbox: options must be a table, got number"},
    {"{memory = 0}", "sandbox: option .memory. must be a number of bytes"},
    {"{memory = 1.5}", "sandbox: option .memory. must be a number of bytes"},
    {"{threads = 257}", "sandbox: option .threads. must be 1 to 256"},
    {"{seconds = 0}", "sandbox: option .seconds. must be a number above 0"},
    {"{seconds = 0/0}", "sandbox: option .seconds. must be a number above 0"},
    {"{allow = true}", "sandbox: option .allow. must be a list of"},
    {"{allow = {\"internals\"}}", "sandbox: option .allow. must be a list of"},
    {"{namespaces = {\"aten\"}}", "sandbox: option .namespaces. must be a "
     .. "list of names other than .aten. and ._."},
    {"{namespaces = {\"a b\"}}", "sandbox: option .namespaces. must be a list"},
    {"{files = true}", "sandbox: there is no option .files."},
    {"{1}", "sandbox: there is no option .%?."},
  } do
    it("refuses " .. row[1], function()
      local text = run_code(([[
        local st = require "strided"
        print((select(2, pcall(st.sandbox, %s))))
        print(pcall(st.memory.trim))]]):format(row[1]))
      assert.is_truthy(text:find(row[2]), text)
      assert.is_truthy(text:find("true\t%d+"), text) -- it is not on
    end)
  end

  it("leaves what the host allows", function()
    local text = run_code [[
      local st = require "strided"
      st.sandbox {allow = {"settings", "addresses", "sharing"}}
      st.memory.set_limit(nil)
      st.manual_seed(1)
      print(st.ones(1):data_ptr() ~= 0, st.attach(st.share(st.ones(2))))
      print((select(2, pcall(st.load, "x"))))]]
    assert.is_truthy(text:find("true\ttensor%(%[1., 1.%]%)"), text)
    assert.is_truthy(text:find("load: not available in a sandbox"), text)
  end)

  it("is turned on by the environment", function()
    local text = run_code([[
      local st = require "strided"
      print((select(2, pcall(st.load, "x"))))
      print((select(2, pcall(st.ones, 1000000))))
      print((select(2, pcall(st.sandbox, {allow = {"files"}}))))
      print((select(2, pcall(function() st.ones = print end))))
      print(st.nn.Linear(2, 1)(st.ones(2)).shape[1])]],
      "STRIDED_SANDBOX=memory=1000000,threads=1")
    assert.is_truthy(text:find("load: not available in a sandbox"), text)
    assert.is_truthy(text:find("the limit here is 1000000"), text)
    assert.is_truthy(text:find("in a sandbox already"), text)
    assert.is_truthy(text:find("st is read%-only"), text)
    assert.is_truthy(text:find("\n1\n$"), text)
  end)

  it("interrupts one call that is too long", function()
    local text = run_code [[
      local st = require "strided"
      local huge = st.ones(1):expand(2^40)
      local box = st.sandbox {seconds = 0.1}
      print(box:run(function() return huge:sum() end))
      print(box:run(function() return st.ones(3):sum():item() end))]]
    assert.equal("false\tthe time limit of 0.1 s is over\ntrue\t3\n",
                 (text:gsub("3%.0", "3")))
  end)

  for _, value in ipairs {"yes", "memory", "memory=0", "memory=1x", "threads=",
                          "threads=300", "seconds=1", "memory=1;threads=1"} do
    it("refuses to start with STRIDED_SANDBOX=" .. value, function()
      local text = run_code([[
        for _ = 1, 2 do print(pcall(require, "strided")) end]],
        "STRIDED_SANDBOX=\"" .. value .. "\"")
      assert.is_truthy(text:find("STRIDED_SANDBOX=" .. value ..
                                 ": must be 1, or limits such as", 1, true),
                       text)
      assert.is_nil(text:find "true\t", text)
    end)
  end

  for _, value in ipairs {"", "0"} do
    it("is off with STRIDED_SANDBOX=" .. value, function()
      local text = run_code([[
        print(pcall(require "strided".memory.set_limit, nil))]],
        "STRIDED_SANDBOX=" .. value)
      assert.equal("true\tnil\n", text)
    end)
  end

  it("restores what a run has changed", function()
    local text = run_code [[
      local st = require "strided"
      local net = st.nn.Linear(2, 1)
      local box = st.sandbox()
      local weights = net.weight:clone()
      box:run(function()
        local D = st.distributions
        D.Normal.arg_constraints.loc = 5
        D.register_kl(D.Normal, D.Normal, function() return 1 end)
        D.biject_to.factories = {}
        D.set_default_validate_args(false)
        st.nn.Linear.forward = function() return "evil" end
        rawset(st.nn, "Linear", 1)
        rawset(st, "ones", 2)
        st.document(net, "evil")
        st.set_printoptions {precision = 1}
        PROFILE = st.profile.start()
      end)
      local D = st.distributions
      print(tostring(D.Normal.arg_constraints.loc),
            D.kl_divergence(D.Normal(0, 1), D.Normal(0, 1)):item() == 0,
            next(D.biject_to.factories) ~= nil, (pcall(D.Normal, 0, -1)),
            type(st.nn.Linear), st.tensor {1.23456}, net.__index,
            net(st.ones(2)):equal(st.nn.Linear.forward(net, st.ones(2))),
            st.help(net):find "evil", #PROFILE:rows())]]
    assert.equal("real\ttrue\ttrue\tfalse\ttable\ttensor([1.2346])\tnil\t"
                 .. "true\tnil\t0\n", text)
  end)

  it("makes a text of an error within its limits", function()
    local text = run_code [[
      local st = require "strided"
      local box = st.sandbox {seconds = 0.1}
      local function raise(f)
        return function() error(setmetatable({}, {__tostring = f})) end
      end
      print(box:run(raise(function() return "own" end)))
      print(box:run(raise(function() while true do end end)))
      print(box:run(raise(error)))
      print(box:run(error, {}))
      print(box:run(error, nil))]]
    assert.truthy(text:find("^false\town\nfalse\t.-the time limit of 0.1 s is "
      .. "over\nfalse\tan error whose text is an error\nfalse\tan error "
      .. "without text, a table\nfalse\tnil\n$"), text)
  end)

  it("gives modules that the host adds", function()
    local text = run_code [[
      package.preload["strided.own"] = function() return {one = 1} end
      local st = require "strided"
      require "strided.sandbox".allow("strided.own", "has a number")
      local box = st.sandbox()
      print(box:run(function() return require "strided.own".one end))
      print((select(2, box:run(require, "strided.other"))))]]
    assert.truthy(text:find("true\t1\n.*strided.other: not available in a "
                            .. "sandbox, which takes internals away"), text)
  end)

  it("gives a script no environment but its own", function()
    if not rawget(_G, "getfenv") then return end
    local text = run_code [[
      local st = require "strided"
      local box = st.sandbox()
      local function script()
        local found = 0
        local function try(...)
          local ok, env = pcall(getfenv, ...)
          if ok and rawget(env, "os") then found = found + 1 end
        end
        local function try_levels()
          for level = 0, 30 do try(level) end
        end
        try_levels()
        coroutine.wrap(try_levels)()
        st.scope(try_levels)
        try(next)
        try((pairs(st.nn)))
        try(st.ones)
        loadstring "own = 7"()
        return found, own, getfenv(0) == getfenv(1)
      end
      setfenv(script, {st = st, getfenv = getfenv, pcall = pcall, next = next,
                       rawget = rawget, loadstring = loadstring, pairs = pairs,
                       coroutine = coroutine})
      print(box:run(script))
      print(box:run(pcall, script))
      print(getfenv(0) == _G, own)]]
    assert.equal("true\t0\t7\ttrue\ntrue\ttrue\t0\t7\ttrue\ntrue\tnil\n", text)
  end)

  it("leaves a host's globals of its thread to the script", function()
    if not rawget(_G, "getfenv") then return end
    local text = run_code [[
      local print, setfenv, st = print, setfenv, require "strided"
      local box = st.sandbox()
      setfenv(0, {own = 7, getfenv = getfenv, tostring = tostring})
      print(box:run(function() return getfenv(0).own end))]]
    assert.equal("true\t7\n", text)
  end)

  it("reports errors at the caller's line", function()
    local text = run_code [[
      local st = require "strided"
      local box = st.sandbox()
      print(box:run(st.ones, "x"))
      print(box:run(st.data.DataLoader, 5))
      print(box:run(function()
        st.ones "x"
      end))
      print(box:run(function() error("x", 2) end))
      print(box:run(coroutine.yield))]]
    assert.truthy(text:find("^false\t[^\n]*:3: ones: argument 'size'"), text)
    assert.truthy(text:find("\nfalse\t[^\n]*:4: DataLoader: "), text)
    assert.truthy(text:find("\nfalse\t[^\n]*:6: ones: argument"), text)
    assert.truthy(text:find "\nfalse\tx\n", text)
    assert.truthy(text:find "\nfalse\t[^\n]*attempt to yield", text)
  end)

  it("refuses the module of a dataset at the caller's line", function()
    local text = run_code [[
      local st = require "strided"
      print(st.sandbox():run(function()
        local loader = st.data.DataLoader({module = "os"})
        return loader
      end))]]
    assert.truthy(text:find("^false\t[^\n]*:3: DataLoader: os: not available "
                            .. "in a sandbox"), text)
  end)

  for _, options in ipairs {"", "{seconds = 30}"} do
    it("is interrupted by a signal " .. options, function()
      local text = run_code(([[
        if jit then jit.off() end -- compiled code calls no hooks
        local box = require "strided".sandbox(%s)
        os.execute "(sleep 0.5; kill -INT $PPID) >/dev/null 2>&1 &"
        print(box:run(function() while true do end end))
        print(box:run(function() return 7 end))]]):format(options))
      assert.truthy(text:find "^false\t.*interrupted!\ntrue\t7\n", text)
    end)
  end

  it("keeps a hook of the host", function()
    local text = run_code [[
      if jit then jit.off() end
      local box = require "strided".sandbox()
      local n = 0
      debug.sethook(function()
        n = n + 1
        if n > 9 then error("the limit of the host", 0) end
      end, "", 10000)
      print(box:run(function() while true do end end))
      print(n)]]
    assert.truthy(text:find "^false\tthe limit of the host\n10\n", text)
  end)

  it("takes and gives many values", function()
    local text = run_code [[
      local box = require "strided".sandbox()
      local unpack = unpack or table.unpack
      print(select("#", box:run(function(...) return ... end,
                                unpack({}, 1, 5000))))]]
    assert.equal("5001\n", text)
  end)

  it("runs one function at a time", function()
    local text = run_code [[
      local st = require "strided"
      local box = st.sandbox()
      print(box:run(function() return box:run(print) end))
      print(box:run(error, "own"))
      print(pcall(box.run, box, 1))]]
    assert.is_truthy(text:find("run: the sandbox runs a function already"),
                     text)
    assert.is_truthy(text:find("false\town"), text)
    assert.is_truthy(text:find("argument 'fn' must be", 1, true), text)
  end)
end)
