--- Plots on terminals: sizes, colours, pictures where there are any.
-- axes: lua unsanitized

local build = require "spec.support.build"
local files = require "spec.support.files"
local png = require "strided.plot.png"
local st = require "strided"
local terminal = require "strided.plot.terminal"

--- What a script writes on a terminal of 160 columns and 50 rows, with keys as
-- spec/pty/pty.c describes them, or nil where there are no terminals.
local function on_terminal(script, keys, environment)
  local path = os.tmpname()
  files.write(path, "local st = require 'strided'\n"
              .. "local core = require 'strided.core'\n" .. script)
  files.write(path .. ".keys", keys .. "wait\n")
  local text, status = build.shell(("env -u NO_COLOR -u COLORTERM -u TMUX "
    .. "-u STY -u KITTY_WINDOW_ID -u TERM_PROGRAM -u STRIDED_GRAPHICS "
    .. "TERM=xterm %s %s %s.keys %s %s"):format(environment or "",
    build.program "pty/pty", path, build.lua, path))
  os.remove(path)
  os.remove(path .. ".keys")
  if status == 97 then return nil end
  assert.equal(0, status, text)
  return (text:gsub("\r\n", "\n"))
end

describe("A terminal", function()
  it("says its size", function()
    local text = on_terminal("print(core.terminal_size(1))", "")
    if text then assert.equal("160\t50\n", text) end
    assert.equal("nil\n", build.script [[
      print((require "strided.core".terminal_size(1)))]])
  end)

  it("answers questions", function()
    local script = [[
      local a = core.ask_terminal("\27[c", "c", 9)
      print("<" .. tostring(a):gsub("\27", "E") .. ">")
      print("typed " .. io.read())
    ]]
    local text = on_terminal(script, "expect \\e[c\nsend \\e[?62;4c\n"
                             .. "expect <E[?62;4c>\nsend later\\n\n")
    if not text then return end
    -- nothing of it is echoed
    assert.equal("\27[c<E[?62;4c>\nlater\ntyped later\n", text)
  end)

  it("need not answer, and keeps what was typed", function()
    local script = [[
      print(core.ask_terminal("\27[c", "c", 0.05))
      print "ready"
      local line = io.read()
      print("typed " .. line)
    ]]
    local text = on_terminal(script, "expect ready\nsend abc\\n\n")
    if text then assert.equal("\27[cnil\nready\nabc\ntyped abc\n",
                              (text:gsub("\27%[c\n", "\27[cnil\n"))) end
  end)

  it("gets plots of its width, in colours unless it wants none", function()
    local script = "print(st.plot({1, 2}))"
    local text = on_terminal(script, "")
    if not text then return end
    assert.truthy(text:find("\27[38;5;25m", 1, true), text)
    local widest = 0
    for line in text:gsub("\27%[[%d;]*m", ""):gmatch "[^\n]+" do
      widest = math.max(widest, #line:gsub("[\128-\191]", ""))
    end
    assert.is_true(widest > 150 and widest <= 160, widest)
    text = on_terminal(script, "", "NO_COLOR=1")
    assert.is_nil(text:find("\27", 1, true))
    text = on_terminal(script, "", "COLORTERM=truecolor")
    assert.truthy(text:find("\27[38;2;0;114;178m", 1, true))
  end)

  it("gets pictures if it is kitty or says that it has sixel", function()
    local script = "st.plot({1, 2}):show() print 'end'"
    local text = on_terminal(script, "", "KITTY_WINDOW_ID=1")
    if not text then return end
    if build.output "command -v rsvg-convert" ~= "" then
      assert.truthy(text:find("^\27_Ga=T,f=100,m=[01];iVBORw0KGgo"), text)
      assert.truthy(text:find("\27\\\nend\n", 1, true), text)
    end
    -- no answer, and one of a terminal without sixel
    text = on_terminal(script, "expect \\e[c\nsend \\e[?62;22;41c\n")
    assert.truthy(text:find("┤", 1, true), text)
    -- no question
    for _, environment in ipairs {"TMUX=1 KITTY_WINDOW_ID=1",
                                  "STRIDED_GRAPHICS=none KITTY_WINDOW_ID=1"} do
      text = on_terminal(script, "", environment)
      assert.is_nil(text:find("\27[c", 1, true) or text:find("\27_G", 1, true))
      assert.truthy(text:find("┤", 1, true), text)
    end
  end)

  it("alone gets pictures and colours", function()
    local path = os.tmpname()
    files.write(path, "require 'strided'.plot({1, 2}):show()")
    local text = build.output("STRIDED_GRAPHICS=kitty KITTY_WINDOW_ID=1 "
                              .. "COLORTERM=truecolor " .. build.lua .. " "
                              .. path)
    os.remove(path)
    assert.equal(st.plot({1, 2}):text {width = 80, colors = 0} .. "\n", text)
  end)
end)

describe("A picture in escape sequences", function()
  it("is base 64", function() -- the examples of RFC 4648
    for plain, text in pairs {[""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v",
                              foob = "Zm9vYg==", fooba = "Zm9vYmE=",
                              foobar = "Zm9vYmFy"} do
      assert.equal(text, png.base64(plain))
    end
  end)

  it("is in parts of 4096 bytes, all but the last of which say so", function()
    local text = terminal.kitty(("x"):rep(3072 * 2))
    local parts = {}
    for keys, data in text:gmatch "\27_G([^;]*);([^\27]*)\27\\" do
      parts[#parts + 1] = keys .. " " .. #data
    end
    assert.same({"a=T,f=100,m=1 4096", "m=0 4096"}, parts)
  end)

  it("is a PNG that others read", function()
    local path = os.tmpname()
    local pixels = st.tensor({{{255, 0, 0}, {0, 255, 0}, {1, 2, 3}},
                              {{0, 0, 255}, {9, 9, 9}, {255, 255, 255}}},
                             {dtype = "uint8"})
    files.write(path, png.encode(pixels))
    local said, status = build.shell("convert png:" .. path
                                     .. " -depth 8 txt:-")
    os.remove(path)
    if status == 127 then return end -- no ImageMagick
    local colours = {}
    for hex in said:gmatch "#(%x%x%x%x%x%x)" do colours[#colours + 1] = hex end
    assert.equal("FF0000 00FF00 010203 0000FF 090909 FFFFFF",
                 table.concat(colours, " "))
  end)
end)
