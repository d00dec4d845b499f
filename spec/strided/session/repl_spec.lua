--- The session and the `strided` command: processes of their own, most of them
-- driven through a pseudo terminal (spec/pty/pty.c), as a person would.
-- axes: lua unsanitized

local build = require "spec.support.build"
local files = require "spec.support.files"
local st = require "strided"
local help = require "strided.session.help"
local typed_session = require "spec.support.typed_session"

local HERE = build.root .. "/spec"
local LUA = build.lua
local read, shell = files.read, build.shell
local line, PROMPT = typed_session.line, typed_session.PROMPT
local session = typed_session.new()
local folder, write = session.folder, session.write
local STRIDED, SETTINGS = session.command, session.settings

--- What the command writes when its standard input is the text.
local function piped(text, arguments)
  return shell(SETTINGS .. STRIDED .. " " .. (arguments or "") .. " <'"
                .. write("input", text) .. "'")
end

-- -- Typing -------------------------------------------------------------------

-- After output that has a "> " of its own: now the prompt is there.
local READY = line("'re' .. 'ady'", "ready")

--- The same, but it is not finished.
local function unfinished(text)
  return "send " .. text .. "\\r\nexpect >> "
end

--- Types into a session and leaves it: session.run.
local function typed(steps, settings, arguments, command)
  local all = {PROMPT}
  for i, step in ipairs(steps) do all[i + 1] = step end
  local text, status, lacks = session.run(
    all, settings, (command or STRIDED) .. " " .. (arguments or ""))
  if lacks then pending(lacks) end
  return text, status
end

--- Types and expects that all came as the steps say.
local function succeeds(steps, settings, arguments)
  local text, status = typed(steps, settings, arguments)
  assert.equal(0, status, text)
  return text
end

-- A terminal without the module: what it is not there for.
local WITHOUT = [[-e 'package.preload.readline = function() error() end' -i]]
local _, absent = shell(LUA .. [[ -e 'require "readline"']])
local with_readline = absent == 0 and it or pending

teardown(session.remove)

-- -- The specs ----------------------------------------------------------------

describe("A session on a terminal", function()
  with_readline("defines, overrides, traces and puts back", function()
    local show_trace = "for _, e in ipairs((st.trace(st.add, t, t))) do "
      .. "print(e.op, e.key, e.kernel == 'input:1') end"
    succeeds {
      line "t = st.ones(2)",
      line("t:softma\\t(1)", "tensor([0.5000, 0.5000])"),
      line 'lib = st.library "demo"',
      line 'lib:def "twice(Tensor x) -> Tensor";',
      line 'lib:impl("twice", function(x) return x * 2 end);',
      line("st.ops.demo.tw\\t(t)", "tensor([2., 2.])"),
      line 'lib:def "twice(Tensor x, int n=3) -> Tensor";',
      line 'lib:impl("twice", function(x, n) return x * 2 * n end);',
      line("st.ops.demo.twice(t)", "tensor([6., 6.])"),
      line 'over = st.library("aten", "IMPL")',
      line 'over:impl("add.Tensor", "CPU", function(a, b) return a - b end);',
      line("t + t", "tensor([0., 0.])"),
      line(show_trace, "aten::add.Tensor\\tCPU\\ttrue",
           "aten::sub.Tensor\\tCPU\\tfalse"),
      line("??add", "dispatch of Tensor", "CPU: input:1"),
      line "over:close()",
      line("t + t", "tensor([2., 2.])"),
      line(show_trace, "aten::add.Tensor\\tCPU\\tfalse"),
      line "lib:close()",
      line("st.ops.demo.twice(t)", "twice"),
    }
  end)

  it("shows values, one semicolon silences, _ is the last", function()
    local text = succeeds({
      line("1 + 1", "2"),
      line("= _ * 10, nil", "20", "nil"),
      line "_ + 0.5;",
      line("_", "20.5"),
      line "x = 7",
      line "x; -- silent",
      line("'a' .. 'b' -- shown", "ab"),
      line("st.ones(2)", "tensor([1., 1.])"),
      line("return 6 * 7", "42"),
    }, "NO_COLOR=1")
    assert.is_nil(text:find("\n7\r", 1, true), text)
    local _, times = text:gsub("\n20%.5\r", "")
    assert.equal(1, times, text)
  end)

  it("asks for more while a chunk is not finished", function()
    succeeds {
      unfinished "for i = 1, 2 do", unfinished "  print('round', i)",
      line("end", "round\\t1", "round\\t2"),
      unfinished "6 *", line("7", "42"),
      unfinished "s = [[one", line "two]]", line("#s", "7"),
      unfinished "print('sum',", line("1)", "sum\\t1"),
      line("x = = 1", "input:1:"),
    }
  end)

  it("runs a chunk that fails once", function()
    succeeds {
      line "n = 0",
      line "function count() n = n + 1 error('failed') end",
      line("count()", "failed"),
      line("n", "1"),
      line("n = n + 1; error('again')", "again"),
      line("n", "2"),
    }
  end)

  local interrupts = {
    -- The terminal drops what nobody has read yet when it sees a Ctrl-C.
    {"the line being typed", {"send x = ", "expect x = ", "send \\x03",
                              "expect ^C", PROMPT, line("x", "nil")}},
    {"an unfinished chunk", {unfinished "(1 +", "send \\x03", "expect ^C",
                             PROMPT, line("2", "2")}},
    {"a loop", {"send print('go') while true do end\\r"}},
    {"a loop in a function that was defined before",
     {line "function f() for i = 1, math.huge do x = i end end",
      "send print('go') f()\\r"}},
    {"a loop over local variables",
     {line "local n = 0", "send print('go') while true do n = n + 1 end\\r"}},
    {"a local function that was defined before",
     {line "local function f() for i = 1, math.huge do x = i end end",
      "send print('go') f()\\r"}},
    {"a call that takes long",
     {"send print('go') print(st.ones(1):expand(2^40):sum())\\r"}},
    {"a coroutine", {"send c = coroutine.wrap(function() print('go') "
                     .. "while true do end end) c()\\r"}},
    {"a kernel of a library",
     {line 'l = st.library "interrupts"', line 'l:def "f(int n) -> int";',
      line "k = function() print('go') while true do end end",
      line 'l:impl("f", "CompositeExplicitAutograd", k);',
      "send st.ops.interrupts.f(1)\\r"}},
  }
  for _, case in ipairs(interrupts) do
    local steps = case[2]
    if steps[#steps]:find "^send .*\\r$" then
      for _, more in ipairs {"expect \\r\\n", "expect go\\r\\n", "send \\x03",
                             "expect interrupted", PROMPT} do
        steps[#steps + 1] = more
      end
    end
    steps[#steps + 1] = line("6 * 7", "42")
    with_readline("gives up " .. case[1] .. " at Ctrl-C", function()
      succeeds(steps)
    end)
    it("gives up " .. case[1] .. " at Ctrl-C without readline", function()
      local plain = table.concat(steps, "\n")
      succeeds({plain}, "TERM=dumb")
    end)
  end

  with_readline("completes names with Tab", function()
    succeeds {
      line "t = st.ones(2, 3)",
      line("t.sha\\t", "{2, 3}"),
      line("getme\\t('').__index == string", "true"),
      line("st.ops.aten.softma\\t:name()", "aten::softmax"),
      line("st.ops.aten.add.Scalar_\\t:name()", "aten::add.Scalar_out"),
      line("#st.ops.at\\t.relu:sch\\t() > 0", "true"),
      "send st.ops.aten.add.\\t\\t", "expect Scalar_out", "send \\x15",
      line("1", "1"),
    }
  end)

  with_readline("completes options, dtypes and files with Tab", function()
    os.execute("mkdir -p '" .. folder .. "/deep'")
    write("deep/only.txt", "here")
    succeeds {
      line "t = st.ones(2, 3)",
      line("t:sum {dim = 1, keepd\\ttrue}.shape", "{1, 3}"),
      line("t:to 'float6\\t", "dtype=float64"),
      line("io.open('" .. folder .. "/de\\t):read()", "here"),
      line("?nn.Linea\\t", "st.nn.Linear("), READY,
    }
  end)

  with_readline("recalls a chunk of several lines whole", function()
    os.execute("rm -rf '" .. folder .. "/state'")
    succeeds {
      line "n = 0",
      unfinished "for i = 1, 3 do -- thrice", unfinished "  n = n + 1",
      line "end",
      "send \\e[A\\r", PROMPT, line("n", "6"),
    }
    local path = folder .. "/state/strided/history"
    assert.equal("n = 0\nfor i = 1, 3 do -- thrice\1  n = n + 1\1end\nn\n",
                 read(path))
    succeeds {line "n = 10", "send \\e[A\\e[A\\e[A\\r", PROMPT,
              line("n", "13")}
  end)

  it("leaves at quit and exit", function()
    for _, word in ipairs {"quit", "exit", "quit()", " exit "} do
      local script = write("script", PROMPT .. "\nsend " .. word
                           .. "\\r\nwait\n")
      local text, status = shell(("%s '%s' '%s' %s"):format(
        SETTINGS, build.program "pty/pty", script, STRIDED):gsub("''", "'"))
      if status == 97 then pending "no pseudo terminal" end
      assert.equal(0, status, text)
    end
    succeeds {line "quit = 7", line("quit", "7")}
  end)

  it("shows long help by the pager", function()
    local steps = {line("?linalg", "P: linalg: ", "P:   linalg.inv "),
                   line("help 'nn'", "P: nn: "),
                   line("st.help 'shape'", "P: shape: "), READY}
    succeeds(steps, "PAGER='sed \"s/^/P: /\"'")
    local text = succeeds({line("?relu", "relu: "), READY},
                          "PAGER='sed \"s/^/P: /\"'")
    assert.is_nil(text:find("P: ", 1, true))
    succeeds({line("?linalg", "linalg.vecdot"), READY},
             "PAGER=no-such-pager")
  end)

  with_readline("remembers lines between sessions", function()
    os.execute("rm -rf '" .. folder .. "/state'")
    succeeds {line "first = 1", line "first = 1", line "second = 2", line " "}
    local path = folder .. "/state/strided/history"
    assert.equal("first = 1\nsecond = 2\n", read(path))
    succeeds {"send \\e[A\\r", "expect second = 2", PROMPT,
              line("second", "2")}
    assert.equal("first = 1\nsecond = 2\nsecond = 2\nsecond\n", read(path))
  end)

  it("does without a history that cannot be written", function()
    local settings = "XDG_STATE_HOME='" .. write("file", "") .. "'"
    local text = succeeds({line("6 * 7", "42")}, settings)
    assert.is_nil(text:find("history", 1, true), text)
    succeeds({line("6 * 7", "42")}, "XDG_STATE_HOME= HOME=")
  end)

  it("keeps its history under HOME without XDG_STATE_HOME", function()
    succeeds({line "x = 1"}, "XDG_STATE_HOME= HOME='" .. folder .. "/home'")
    assert.equal("x = 1\n",
                 read(folder .. "/home/.local/state/strided/history"))
  end)

  it("reads plainly where readline is not installed", function()
    succeeds({line("6 * 7", "42"), unfinished "1 +", line("2", "3")}, "",
             WITHOUT)
  end)

  it("has colours, unless told otherwise", function()
    local steps = {line("6 * 7", "42"), line("error 'e'", "input:1: e")}
    local text = succeeds(steps)
    assert.matches("\27%[36m42\27%[0m", text)
    assert.matches("\27%[31minput:1: e\27%[0m", text)
    for _, settings in ipairs {"NO_COLOR=1", "TERM=dumb", "TERM=",
                               "CLICOLOR=0"} do
      text = succeeds(steps, settings)
      assert.is_nil(text:find "\27%[[%d;]*m", settings)
    end
  end)

  it("is the same as a module of the interpreter", function()
    local text, status = typed({line("1 + 1", "2")}, nil, "-l strided.repl",
                               LUA)
    assert.equal(0, status, text)
  end)
end)

describe("A session on a pipe", function()
  it("has no prompts, no colours and no history", function()
    os.execute("rm -rf '" .. folder .. "/state'")
    local text, status = piped "1 + 1\n_ * 2;\n_\n6 *\n7\nx = 3\n"
    assert.equal("2\n4\n42\n", text)
    assert.equal(0, status)
    assert.is_nil(read(folder .. "/state/strided/history"))
  end)

  it("numbers the last results", function()
    assert.equal("1\n2\n3\n3\t2\t1\n3\t3\n", piped
      "1\n2\n3\n_1, _2, _3\n_1, _2\n")
    local text = {}
    for i = 1, 10 do text[i] = i .. ";" end
    text[11] = "_9, _10"
    assert.equal("2\tnil\n", (piped(table.concat(text, "\n") .. "\n")))
  end)

  it("times what is typed", function()
    local text = piped "%time 6 * 7\n%time\n1\n%time\n2\n"
    assert.matches("^42\ntook [%d.e-]+ [num]?s\ntimes are on\n1\n"
                   .. "took [%d.e-]+ [num]?s\ntimes are off\n2\n$", text)
    assert.matches("took", (piped "%time for i = 1, 2 do\nend\n"))
    local text_of_error, failed_status = piped "%time error 'oh'\n"
    assert.matches("^input:1: oh\n", text_of_error)
    assert.is_nil(text_of_error:find("took", 1, true))
    assert.equal(1, failed_status)
    local failed, status = piped "%tim 1\n"
    assert.matches("^there is no command %%tim: ", failed)
    assert.equal(1, status)
  end)

  it("runs commands of the shell", function()
    assert.equal("a  b\n", (piped "!echo 'a  b'\n"))
    local text, status = piped "!exit 3\n"
    assert.equal("the exit status is 3\n", text)
    assert.equal(1, status)
    assert.equal("1\n", (piped "1\nquit\n2\n"))
  end)

  it("runs a startup file first", function()
    local path = write("init.lua", "answer = 42\n")
    local function run(setting)
      return shell(SETTINGS .. setting .. " " .. STRIDED .. " <'"
                   .. write("input", "answer\n") .. "'")
    end
    assert.equal("42\n", (run("STRIDED_STARTUP='" .. path .. "'")))
    assert.equal("nil\n", (run "STRIDED_STARTUP="))
    assert.matches("^cannot open /no/such[^\n]*\nnil\n$",
                   (run "STRIDED_STARTUP=/no/such"))
    write("init.lua", "error 'early'")
    assert.matches("init.lua:1: early\nnil\n$",
                   (run("STRIDED_STARTUP='" .. path .. "'")))
  end)

  it("goes on after an error and says so in the end", function()
    local text, status = piped "error 'one'\n2\nx x\nnil\n"
    assert.matches("^input:1: one\n2\ninput:1:[^\n]*\nnil\n$", text)
    assert.equal(1, status)
  end)

  it("says what to write instead of Python, at once", function()
    local text = piped "a @ b\nfor i in range(3):\n1 + 1\nnp.ones(2)\n"
    assert.matches("^input:1: [^\n]*\n  [^\n]*a:matmul%(b%)\n"
                   .. "input:1: [^\n]*\n  write for i = 1, n do[^\n]*\n"
                   .. "[^\n]*2\ninput:1: [^\n]*\n  the library[^\n]*\n$", text)
  end)

  it("fails on a chunk that is not finished", function()
    local text, status = piped "for i = 1, 2 do\n"
    assert.matches("<eof>", text)
    assert.equal(1, status)
  end)

  it("leaves print, require and the globals alone", function()
    local names = "n = {} for k in pairs(_G) do n[#n + 1] = k end "
      .. "table.sort(n) "
    local text = piped(names .. "print(table.concat(n, ' '))\n")
    local bare = shell(LUA .. " '" .. write("bare.lua", names
                        .. "print(table.concat(n, ' '))") .. "'")
    local extra = {}
    for name in text:gmatch "%S+" do
      if not (" " .. bare):find("[ \n]" .. name .. "%s") then
        extra[#extra + 1] = name
      end
    end
    assert.same({"help", "st"}, extra)
    assert.equal("true\tC\n", piped(
      "require == package.loaded._G.require, debug.getinfo(print).what\n"))
  end)
end)

describe("The prompt", function()
  local cases = {
    {"ends a method without a call", "x = st.ones(2)\nx:sum\n1 + 1",
     {"function arguments expected", "\n  a method is called: write x:sum()\n",
      "\n2\n"}},
    {"waits for its arguments in brackets", "x = st.ones(2)\nprint(x:sum\n())",
     {"ambiguous|tensor(2.)"}}, -- Lua 5.1 refuses the line
    {"answers ?name between the lines of a chunk",
     "t = {\n?ones\n  1,\n??zeros\n}\n#t",
     {"ones: A tensor of ones.", "zeros: A tensor of zeros.", "\n1\n"}},
    {"leaves ?name to a string and a comment of several lines",
     "s = [[\n?ones\n]] --[[\n?ones\n]]\n#s", {"6\n"}},
    {"says what x.T is", "st.ones(2).T\nst.ones(2).sum\nst.ones",
     {"function: ", "\n  a method is called: write x:T()\n",
      "write x:sum()\n", "function: "}},
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local text, at = piped(case[2] .. "\n", "2>&1"), 1
      for _, expected in ipairs(case[3]) do
        local first, last
        for part in expected:gmatch "[^|]+" do
          if not first then first, last = text:find(part, at, true) end
        end
        assert.truthy(first, expected .. " in " .. text)
        at = expected:sub(-1) == "\n" and last or last + 1
      end
    end)
  end
end)

describe("An error in a session", function()
  local cases = {
    {"has no traceback when its place says it all", "error 'plain'",
     "input:1: plain\n"},
    {"lists the frames of the user", "function f() error 'deep' end\n"
     .. "function g() f() return 1 end\ng()",
     "input:1: deep\nstack traceback:\n\tinput:1: in 'f'\n"
     .. "\tinput:1: in [^\n]*\n\tinput:1: in main chunk\n"},
    {"of the engine is at the user's line", "\nst.ones(2):view(3)",
     "input:1: view: [^\n]*\n"},
    {"in our own Lua files shows none of them", "st.load(1)",
     "[^\n]*load[^\n]*\n"},
    {"that is a table shows its fields", "error {code = 3}",
     "error object: {code = 3}\n"},
    {"with a tostring is shown by it",
     "error(setmetatable({}, {__tostring = function() return 'mine' end}))",
     "mine\n"},
    {"whose tostring fails is shown all the same",
     "error(setmetatable({}, {__tostring = function() error 'no' end}))",
     "error object: <table: its tostring fails>\n"},
    {"that is nil", "error()", "error object: nil\n"},
    {"in a Lua kernel has the frames on both sides",
     "l = st.library 's'\nl:def 'f(int n) -> int';\n"
     .. "l:impl('f', 'CompositeExplicitAutograd', "
     .. "function(n) return n + none end);\nst.ops.s.f(1)",
     "input:1: attempt[^\n]*\nstack traceback:\n\tinput:1: in function "
     .. "<input:1>\n\tinput:1: in main chunk\n"},
    {"of a stack that overflows is short",
     "function r() return 1 + r() end\nr()",
     "[^\n]*stack overflow[^\n]*\n[^\n]*\n?[^\n]*\n?[^\n]*\n?[^\n]*\n?"
     .. "[^\n]*\n?[^\n]*\n?[^\n]*\n?[^\n]*\n?[^\n]*\n?[^\n]*\n?"},
    {"while a value is shown is an error, too",
     "setmetatable({}, {__tostring = function() error 'no' end})",
     "<table: its tostring fails>\n"},
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local text = piped(case[2] .. "\n")
      assert.matches("^" .. case[3] .. "$", text)
      assert.is_nil(text:find("lua/strided", 1, true), text)
    end)
  end
end)

describe("The strided command", function()
  local function file(text) return "'" .. write("file.lua", text) .. "'" end
  local cases = {
    {"-e 'print(st.ones(1))'", "tensor([1.])\n"},
    {"-e 'x = 1' -e 'print(x)'", "1\n"},
    {"-e'print(2)'", "2\n"},
    {"-l os -e 'print(1)'", "1\n"},
    {"--", "3\n", input = "3\n"},
    {"- a b", "a\tb\n", input = "print(...)\n"},
    {"-e 'x = 5' -i", "5\n", input = "x\n"},
  }
  for _, case in ipairs(cases) do
    it("takes " .. case[1], function()
      local text, status = piped(case.input or "", case[1])
      assert.equal(case[2], text)
      assert.equal(0, status)
    end)
  end

  it("runs a file with its arguments", function()
    local text, status = piped("", file "print(arg[0], #arg, ..., st ~= nil)"
                               .. " -e")
    assert.matches("file%.lua\t1\t%-e\ttrue\n$", text)
    assert.equal(0, status)
  end)

  local failures = {
    {"an error", "-e 'error [[x]]'", "strided: %(command line%):1: x\n"},
    {"code that does not compile", "-e '1 +'",
     "strided: %(command line%):1: [^\n]*\n"},
    {"a file that is not there", "no/such.lua",
     "strided: cannot open no/such%.lua[^\n]*\n"},
    {"Python", "'" .. write("python.lua", "x = 1\nx += 1\n") .. "'",
     "strided: [^\n]*python.lua:2: [^\n]*\n  write a = a %+ b[^\n]*\n"},
    {"an option that it does not have", "-z",
     "strided: there is no option %-z\nstrided %[OPTION%].*"},
    {"an option without its argument", "-e",
     "strided: %-e needs an argument\n.*"},
    {"a module that is not there", "-l no_such_module",
     "strided: %(command line%):1: module 'no_such_module' not found:.*"},
  }
  for _, case in ipairs(failures) do
    it("fails on " .. case[1], function()
      local text, status = piped("", case[2])
      assert.matches("^" .. case[3] .. "$", text)
      assert.equal(1, status)
    end)
  end

  it("says its version and its options", function()
    assert.equal("strided " .. st.config().version .. "\n",
                 (piped("", "--version")))
    assert.matches("^strided %[OPTION%]", (piped("", "-h")))
  end)

  it("is a script that finds a Lua", function()
    -- It may be LuaJIT, whose memory the leak checker does not see.
    local text, status = shell('ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" '
      .. "'" .. HERE .. "/../lua/bin/strided' -e 'print(1)'")
    assert.equal("1\n", text)
    assert.equal(0, status)
  end)

  -- LuaRocks starts it with its own Lua, whatever it was built for.
  it("changes to the Lua that it was installed for", function()
    local own = jit and "luajit" or _VERSION:lower():gsub(" ", "")
    local other = own == "lua5.1" and "luajit" or "lua5.1"
    local command = write("strided", (read("lua/bin/strided"):gsub(
      'luas="[^"]*"', 'luas="' .. own .. '"', 1)))
    local text, status = shell(
      'ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" ' .. other .. " '" ..
      command .. "' -e 'print(jit and 1 or _VERSION, ...) os.exit(3)'")
    assert.equal((jit and "1" or _VERSION) .. "\n", text)
    assert.equal(3, status)
  end)
end)

describe("Help", function()
  it("says how an operator is called from Lua", function()
    local text = st.help "sum"
    assert.matches("st.sum(self: Tensor, dim: {dim}?, keepdim: boolean = "
                   .. "false, {dtype: dtype?})", text, 1, true)
    assert.is_nil(text:find("aten::", 1, true))
    assert.is_nil(text:find("CPU", 1, true))
    text = st.help("sum", {all = true})
    assert.matches("\n  aten::sum(Tensor self, ", text, 1, true)
    assert.matches("CPU, Meta: ", text, 1, true)
  end)

  it("counts dimensions from one", function()
    assert.equal("st.softmax(self: Tensor, dim: dim = 1)",
                 help.signature "aten::softmax(Tensor self, Dim dim=0) -> ()")
    assert.equal("st.ops.x.f(a: {integer} = {2, 3}, b: {dim} = {1}) "
                 .. "-> Tensor, {Tensor}",
                 help.signature("x::f(int[] a=[2, 3], Dim[] b=[0]) "
                                .. "-> (Tensor, Tensor[])"))
  end)

  it("takes names, functions, methods and objects", function()
    local text = st.help "relu"
    for _, x in ipairs {"aten::relu", st.relu, st.ones(1).relu,
                        st.ops.aten.relu} do
      assert.equal(text, st.help(x))
    end
    assert.equal(st.help "add.Tensor", st.help(st.ops.aten.add.Tensor))
    assert.matches("nothing is known", st.help "add.nope")
  end)

  it("is at hand in a session", function()
    local text, status = piped("?relu\n? st.relu\nt = st.ones(2)\n?t:relu\n"
                               .. "help(st.relu)\nhelp 'relu'\n")
    assert.equal(st.help("relu"):gsub("%%", "%%%%") .. "\n",
                 text:sub(1, #text / 5))
    assert.equal(text:sub(1, #text / 5):rep(5), text)
    assert.equal(0, status)
  end)

  it("has a word on everything else", function()
    assert.matches("Ctrl%-D", (piped "?\n"))
    assert.matches("Ctrl%-D", (piped "help()\n"))
    assert.matches("nothing is known about 'nope'", (piped "?nope\n"))
    assert.matches("nothing is known about 'a b'", (piped "?a b\n"))
    assert.matches("did you mean softmax", (piped "?sofmax\n"))
    assert.matches("^Tensor of float32, shape {2}",
                   (piped "x = st.ones(2)\n?x\n"))
    assert.matches("^Tensor of float32, shape {2}.*\nt: Transposes",
                   (piped "t = st.ones(2)\n?t\n"))
    assert.matches("\ntopics\n", (piped "?st\n"))
    assert.matches("^function at input:1\n$",
                   (piped "function f() end\n?f\n"))
    assert.matches("^function written in C\n$", (piped "?print\n"))
    assert.matches("^table: {1, 2}\n$", (piped "help {1, 2}\n"))
  end)
end)
