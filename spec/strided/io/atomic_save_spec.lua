--- Temporary files of saves that were killed: the next save into the folder
-- deletes them, and no others.
-- axes: lua

local build = require "spec.support.build"
local files = require "spec.support.files"
local raises = require("spec.support.tensors").raises
local core = require "strided.core"
local st = require "strided"

local folder, path

--- The names in the folder that are not the saved file's.
local function others()
  local list = {}
  for name in build.output(("ls -A '%s'"):format(folder)):gmatch "[^\n]+" do
    if name ~= "a.npy" then list[#list + 1] = name end
  end
  return list
end

local function write(name, text)
  files.write(folder .. "/" .. name, text)
end

--- Runs a script in another process, in the background if told so.
local function run(script, after)
  write("script.lua", script)
  local text = build.output(("%s '%s/script.lua' %s"):format(build.lua, folder,
                                                             after or ""))
  os.remove(folder .. "/script.lua")
  return text
end

--- A process that is killed while it saves files of these names.
local function killed(...)
  run(([[
    local core = require "strided.core"
    local files = {}
    for name in ("%s"):gmatch "%%S+" do
      files[#files + 1] = assert(core.open_aside("%s/" .. name))
      assert(files[#files]:write "half of it")
    end
    os.execute "kill -9 $PPID"
  ]]):format(table.concat({...}, " "), folder), ">/dev/null 2>&1")
end

describe("A save", function()
  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert.equal("", build.output(("mkdir '%s'"):format(folder)))
    path = folder .. "/a.npy"
  end)

  after_each(function()
    collectgarbage()
    collectgarbage()
    build.output(("rm -rf '%s'"):format(folder))
  end)

  it("deletes what killed ones left, whatever their target", function()
    killed("a.npy", "a.npy", "b.safetensors")
    local left = others()
    assert.equal(3, #left)
    for _, name in ipairs(left) do
      assert.matches("^%l%.%l+%.strided%-%x%x%x%x%x%x%x%x%-%d+%-%d+%.tmp$",
                     name)
    end
    st.save(path, st.ones(2))
    assert.same({}, others())
    assert.same({1, 1}, st.load(path):totable())
  end)

  it("deletes them when it fails, too", function()
    killed "a.npy"
    raises("save: '\255' must be a Tensor, got number",
           st.save, folder .. "/x.npz", {["\255"] = 1})
    killed "a.npy"
    local file = assert(core.open_aside(path))
    file:abort()
    assert.same({}, others())
  end)

  it("leaves the temporary of another save under way", function()
    local first = assert(core.open_aside(path))
    local second = assert(core.open_aside(path))
    assert(first:write "first")
    assert(second:write "second")
    st.save(folder .. "/b.npy", st.ones(1))
    assert.equal(3, #others())
    assert(first:commit())
    st.save(folder .. "/b.npy", st.ones(1))
    assert(second:commit())
    assert.same({"b.npy"}, others())
    local saved = assert(io.open(path))
    assert.equal("second", saved:read "*a")
    saved:close()
  end)

  it("leaves that of another process", function()
    run(([[
      local core = require "strided.core"
      local file = assert(core.open_aside "%s")
      assert(file:write "slow")
      local other = assert(io.popen("%s -e '" ..
        "require(\"strided\").save(\"%s/b.npy\", " ..
        "require(\"strided\").ones(1))'"))
      other:read "*a"
      other:close()
      assert(file:commit())
    ]]):format(path, build.lua, folder))
    assert.same({"b.npy"}, others())
    local saved = assert(io.open(path))
    assert.equal("slow", saved:read "*a")
    saved:close()
  end)

  it("leaves names that are not of that form, and what is no file", function()
    killed "a.npy"
    local mine = others()[1]
    local host = mine:match "%.strided%-(%x+)%-"
    local other = host:gsub("^.", host:find "^0" and "1" or "0")
    local names = {
      "a.npy.123.1.tmp", "a.npy.strided-1-1.tmp", "x.tmp", ".tmp",
      ("a.npy.strided-%s-1-1.tmp"):format(other),
      (".strided-%s-1-1.tmp"):format(host),
      ("a.npy.strided-%s-1-1.tmp2"):format(host),
      ("a.npy.strided-%s-1-.tmp"):format(host),
      ("a.npy.strided-%s--1.tmp"):format(host),
      ("a.npy.strided-%s-1-1"):format(host),
    }
    for _, name in ipairs(names) do write(name, "") end
    local special = ("a.strided-%s-%%d-1.tmp"):format(host)
    local link, dir, fifo =
      special:format(7), special:format(8), special:format(9)
    build.output(("cd '%s' && ln -s x.tmp '%s' && mkdir '%s' && mkfifo '%s'")
                 :format(folder, link, dir, fifo))
    st.save(path, st.ones(1))
    local want = {link, dir, fifo}
    for _, name in ipairs(names) do want[#want + 1] = name end
    local got = others()
    table.sort(want)
    table.sort(got)
    assert.same(want, got)
  end)

  it("is not lost while others clean up", function()
    write("saver.lua", ([[
      local st = require "strided"
      for i = 1, 60 do
        st.save(("%s/" .. arg[1] .. ".npy"), st.full({3}, i))
      end
      io.write "well\n"
    ]]):format(folder))
    local command = {}
    for k = 1, 4 do
      command[k] = ("%s '%s/saver.lua' %d &"):format(build.lua, folder,
                                                     k % 2 + 1)
    end
    assert.equal(("well\n"):rep(4),
                 build.output(table.concat(command, " ") .. " wait"))
    assert.same({"1.npy", "2.npy", "saver.lua"}, others())
    assert.same({60, 60, 60}, st.load(folder .. "/1.npy"):totable())
  end)
end)
