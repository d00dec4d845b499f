--- Programs that the library starts, and the folders that it makes: no shell
-- sees a name, a path or an option.
-- axes: lua
-- sampled: 3

local build = require "spec.support.build"
local core = require "strided.core"
local terminal = require "strided.plot.terminal"
local types = require "strided.types"

local NAME = "/a'b \"c\"; touch $(echo x) `echo y` &"

describe("A program", function()
  local folder

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(core.make_folder(folder))
  end)

  after_each(function() build.shell("rm -rf '" .. folder .. "'") end)

  local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    return text
  end

  --- Writes a program into the folder, which is first in PATH meanwhile.
  local function with_program(name, text, code)
    local path = folder .. "/" .. name
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    build.shell("chmod +x '" .. path .. "'")
    return build.shell(("PATH='%s':\"$PATH\" LUA_PATH='%s' LUA_CPATH='%s' "
      .. "%s -e '%s'"):format(folder, package.path, package.cpath, build.lua,
                              code))
  end

  it("gets its arguments as they are", function()
    local out = folder .. "/out"
    assert.equal(0, core.run_program {"cp", "--", "/proc/self/cmdline", out})
    assert.equal(("cp\0--\0/proc/self/cmdline\0%s\0"):format(out), read(out))
    assert.equal(0, core.run_program {"cp", out, folder .. NAME})
    assert.equal(read(out), read(folder .. NAME))
  end)

  it("reads a file and tells its status", function()
    local path = folder .. NAME
    local file = assert(io.open(path, "w"))
    file:write "one\ntwo\n"
    file:close()
    assert.equal(0, core.run_program({"grep", "-q", "two"}, path))
    assert.equal(1, core.run_program({"grep", "-q", "three"}, path))
    assert.equal(128 + 15, core.run_program {"sh", "-c", "kill -TERM $$"})
  end)

  it("that is missing is an error", function()
    local status, why = core.run_program {"no-such-program"}
    assert.is_nil(status)
    assert.equal("No such file or directory", why)
    assert.is_nil(core.find_program "no-such-program")
    assert.is_true(core.find_program "sh")
    assert.is_nil(core.run_program({"cat"}, folder .. "/none"))
    assert.is_nil(core.run_program {})
  end)

  it("converts plots of known formats only", function()
    local ok, why = pcall(terminal.write_as, folder .. "/x.png", "<svg/>",
                          "png -o /dev/null; touch " .. folder .. "/out; #", 1)
    assert.is_false(ok)
    assert.truthy(why:find "the format must be png or pdf", why)
    assert.is_nil(io.open(folder .. "/out"))
  end)

  it("converts plots to files of any name", function()
    local code = ([[
      local st = require "strided"
      st.plot(st.tensor {1, 2}):save "%s"
      print "done"]]):format((folder .. "/a b; exit 3;.png"))
    local text = with_program("rsvg-convert", [[#!/bin/sh
      [ "$1" = --format=png ] && [ "$2" = --zoom=2 ] && cat >"$4"]], code)
    assert.equal("done\n", text)
    assert.truthy(read(folder .. "/a b; exit 3;.png"):find "<svg")
  end)

  it("is a shell nowhere in the library", function()
    local found = {}
    for line in io.popen("cd '" .. build.root .. "' && grep -rnE "
                         .. "'execute|popen|system *[(]|execl?p? *[(]' "
                         .. "lua rocks/*/lua rocks/*/src core "
                         .. "--include=*.lua --include=*.[ch]"):lines() do
      local path, code = line:match "^([^:]+):%d+:(.*)$"
      -- `!command` of a session is for the shell.
      if code:find "os%.execute" or code:find "popen" or
         path:find "%.lua$" and code:find "[^%w_]execute *[=(]" or
         code:find "[^%w_]system *%(" or code:find "[^%w_]execl?p? *%(" then
        if not code:find "^%s*[/%-]?[*%-]" then found[#found + 1] = path end
      end
    end
    assert.same({"lua/strided/session/line_commands.lua"}, found)
  end)
end)

describe("A folder", function()
  local folder

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
  end)

  after_each(function() build.shell("rm -rf '" .. folder .. "'") end)

  it("is made with those above it", function()
    assert.is_true(core.make_folder(folder .. NAME .. "/b/c"))
    assert.is_true(core.make_folder(folder .. NAME .. "/b/c"))
    assert.same({"b/"}, core.list_folder(folder .. NAME))
    assert.is_true(core.make_private(folder .. "/p/q", folder .. "/p/q/r"))
    assert.equal("drwx------\n-rw-------\n",
                 (build.shell(("ls -ld '%s/p/q' '%s/p/q/r' | cut -c1-10")
                              :format(folder, folder))))
  end)

  it("with very many files is listed whole", function()
    assert.is_true(core.make_folder(folder))
    build.shell(("cd '%s' && seq -f '%%0200g' 3000 | xargs touch")
                :format(folder))
    assert.equal(3000, #core.list_folder(folder))
  end)

  it("that cannot be made or read is an error", function()
    local ok, why = core.make_folder "/proc/x/y"
    assert.is_nil(ok)
    assert.equal("No such file or directory", why)
    assert.is_nil(core.make_folder "")
    assert.is_nil(core.make_folder "/dev/null/x")
    assert.is_nil(core.make_folder(("x"):rep(5000)))
    assert.is_nil(core.list_folder(folder))
  end)

  it("is written to with core alone, whose errors are no signals", function()
    local found = {}
    for line in io.popen("cd '" .. build.root .. "' && grep -rnE "
                         .. "'open *[(].*, *.([wa]b?|r[+])' lua rocks/*/lua "
                         .. "--include=*.lua"):lines() do
      local code = line:match "^[^:]+:%d+:(.*)$"
      local mode = not code:find "^ *%-%-" and
                   code:match "%f[%w]open *%(.*, *[\"']([^\"']+)[\"']%)"
      if mode and mode:find "^[war]%+?b?$" then found[#found + 1] = line end
    end
    assert.same({}, found)
  end)

  it("has a history and plots within the limit of a file's size", function()
    local code = ([[
      local history = require "strided.session.history"
      local path = "%s"
      for _ = 1, 300 do history.add(path, ("x"):rep(99)) end
      print(#history.entries(path))
      local st = require "strided"
      local fig = st.plot(st.rand(2000))
      print((pcall(fig.save, fig, path .. ".png")))]]):format(folder)
    local text, status = build.shell(("ulimit -f 8; LUA_PATH='%s' "
      .. "LUA_CPATH='%s' %s -e '%s'"):format(package.path, package.cpath,
                                            build.lua, code))
    assert.equal(0, status, text)
    assert.matches("^%d+\nfalse\n$", text)
  end)

  it("gets annotations, whatever its name is", function()
    assert.is_true(types.write(folder .. NAME) > 10)
    assert.truthy(io.open(folder .. NAME .. "/strided.lua")):close()
  end)

  it("gets no annotations beyond the limit of a file's size", function()
    local text, status = build.shell((
      "ulimit -f 8; LUA_PATH='%s' LUA_CPATH='%s' %s -e 'print(pcall("
      .. "require \"strided.types\".write, \"%s\"))'"):format(
        package.path, package.cpath, build.lua, folder))
    assert.equal(0, status, text)
    assert.truthy(text:find "false\t.*types.write: cannot write .*: File too "
                  and text:find "too large", text)
  end)
end)
