--- The example rock, built against nothing but the public header, in a
-- process of its own: rocks/strided-example, and spec/example/*.lua: check.lua,
-- device.lua and layout.lua; walk.lua, which calls every operator on the
-- device, or on that of wrong.lua; module_walk.lua, which does so with what is
-- written in Lua, and layout_walk.lua, which calls operators with tensors of
-- the layout.
-- axes: lua

local build = require "spec.support.build"
local HERE = build.root .. "/spec"

local HEADERS = build.headers()
-- What is built for LuaJIT is for the other Lua of the ABI, too.
local LUAS = HEADERS and {build.lua} or {"luajit", "lua5.1"}
local BUILD, output = build.folder, build.output

local TOPICS = {
  "a boxed kernel", "a typed kernel", "an operator made of operators",
  "a structured operator imposes strides on what it makes",
  "out= keeps odd strides, and is written through others",
  "out= of another shape gets that and the strides",
  "in place, whatever the strides of self are",
  "what the variants refuse, and leave alone",
  "an output that overlaps an input, as if it did not",
  "a meta tensor gets shape and strides, and no data",
  "what fails for memory changes nothing", "a device by name",
  "there and back", "an addition on the device", "expressions on the device",
  "fused expressions are one loop", "gradients on the device",
  "what a review found",
  "two devices of one backend", "a kernel that inherits a meta function",
  "the rest through the CPU and back",
  "what touches elements does it on the CPU", "views and subscripts",
  "lazy negatives and conjugates, of which the device knows nothing",
  "nothing reads the device's memory as the CPU's",
  "no memory for the device", "nothing left",
}

local ON_DEVICE = {
  "arguments that share memory", "strides and numbers are as on the CPU",
  "tensors of the CPU beside those of the device",
  "a failed call leaves what it was given",
  "a kernel that comes after a function was fused", "nothing left",
}

local OF_LAYOUT = {
  "a layout by name and key", "kernels of the layout",
  "what shares the parts, and what copies them",
  "what needs strides says so", "gradients of a layout",
  "a kernel in Lua", "factories of the layout", "a fallback of the key",
  "fused functions run what has a layout unrecorded",
  "what fails for memory leaves nothing", "no tensor of a layout left",
}

-- Cases of each operator, and how they are called: layout_walk.lua.
local WALKS = {"4", "2 grad", "2 key", "1 fuse"}

describe("The example rock", function()
  local folder = os.tmpname()
  os.remove(folder)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  it("builds without a warning", function()
    local said = output(("env -u LD_PRELOAD sh -c \"cmake -S '%s/../rocks/" ..
      "strided-example' -B '%s' -DCMAKE_PREFIX_PATH='%s' %s && " ..
      "cmake --build '%s'\" && echo built"):format(
        HERE, folder, BUILD, HEADERS and "-DLUA_INCDIR=" .. HEADERS or "",
        folder))
    assert.truthy(said:find "built\n$", said)
    assert.is_nil(said:find "warning", said)
  end)

  --- Runs a script with the rock; returns what it prints.
  local function run(lua, script, arguments)
    return output((
      "env -u LUA_CPATH_5_2 -u LUA_CPATH_5_3 -u LUA_CPATH_5_4 " ..
      "LUA_CPATH='%s/?.so;%s' LUA_PATH='%s/?.lua;%s' %s '%s/example/%s.lua' " ..
      "%s; echo exit code $?"):format(folder, package.cpath, build.root,
                                      package.path, lua, HERE, script,
                                      arguments or ""))
  end

  for _, lua in ipairs(LUAS) do
    it("does in " .. lua .. " what it says", function()
      local said = run(lua, "check")
      assert.equal(table.concat(TOPICS, "\n") .. "\nexit code 0\n", said)
    end)

    it("does in " .. lua .. " on its device what the CPU does", function()
      assert.equal(table.concat(ON_DEVICE, "\n") .. "\nexit code 0\n",
                   run(lua, "device"))
    end)

    it("does in " .. lua .. " what it says of its layout", function()
      assert.equal(table.concat(OF_LAYOUT, "\n") .. "\nexit code 0\n",
                   run(lua, "layout"))
    end)
  end

  for _, walk in ipairs(WALKS) do
    it("gives its layout to every operator: " .. walk, function()
      assert.equal("done\nexit code 0\n", run(LUAS[1], "layout_walk", walk))
    end)
  end

  it("runs every operator on its device", function()
    local step = (build.is_sanitized or build.lua ~= "luajit") and 8 or 1
    local said = run(LUAS[1], "walk", step)
    local calls, failed, results, gradients =
      said:match "(%d+) calls, (%d+) failed, (%d+) results, (%d+) gradients"
    assert.truthy(said:find("0 different\n", 1, true), said)
    assert.truthy(said:find("exit code 0\n", 1, true), said)
    assert.equal("0", failed)
    assert.is_true(tonumber(calls) > 1300 / step, said)
    assert.is_true(tonumber(results) > 1500 / step, said)
    assert.is_true(tonumber(gradients) > 1800 / step, said)
    assert.is_true(tonumber(said:match "(%d+) loops") > 5000 / step, said)
    assert.truthy(said:find("\n0 calls ran a kernel of the device\n", 1, true))
  end)

  it("runs a kernel for float32 where operators are walked in it", function()
    local said = run(LUAS[1], "walk", "1 example strided_example float32")
    assert.truthy(said:find("0 different\n", 1, true), said)
    assert.truthy(said:find("3 calls ran a kernel of the device: aten::dot 3\n",
                            1, true), said)
  end)

  it("is seen to be wrong where a kernel is", function()
    local said = run(LUAS[1], "walk", "8 example spec.example.wrong float32")
    assert.is_true(tonumber(said:match "(%d+) different") > 100, said)
    assert.truthy(said:find("aten::mul.Tensor %d+\n"), said)
  end)

  it("runs layers, distributions and optimizers on its device", function()
    local step = (build.is_sanitized or build.lua ~= "luajit") and 8 or 1
    local said = run(LUAS[1], "module_walk", step)
    local cases, tensors = said:match "(%d+) cases, (%d+) tensors"
    assert.truthy(said:find(" 0 different\n", 1, true), said)
    assert.truthy(said:find("exit code 0\n", 1, true), said)
    assert.is_true(tonumber(cases) > 330 / step, said)
    assert.is_true(tonumber(tensors) > 1000 / step, said)
  end)
end)
