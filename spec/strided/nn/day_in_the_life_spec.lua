--- A day in the life of a training: it is killed, and resumed in another
-- process from what it saved last.
-- axes: lua

local build = require "spec.support.build"
local files = require "spec.support.files"
local st = require "strided"

local read = files.read

local SCRIPT = build.root .. "/spec/strided/nn/day_in_the_life.lua"
local EPOCHS = 4

local base = os.tmpname()

--- Runs the training; $$ among the words is its process.
local function run(name, words)
  return build.shell(("sh -c \"exec %s '%s' '%s' %s\""):format(
                     build.lua, SCRIPT, base .. name, words))
end

--- The numbers of the epochs, and the last loss.
local function epochs_of(text)
  local list, loss = {}, nil
  for n, value in text:gmatch "epoch (%d+) loss (%S+)" do
    list[#list + 1], loss = tonumber(n), tonumber(value)
  end
  return list, loss
end

--- Raises an error unless two checkpoints have the same values.
local function same(name, a, b)
  if type(a) == "table" then
    for key, value in pairs(a) do same(name .. "." .. key, value, b[key]) end
  elseif st.is_tensor(a) then
    assert.is_true(a:equal(b), name)
  else
    assert.equal(a, b, name)
  end
end

describe("A training", function()
  setup(function()
    local text, code = run("whole.safetensors", EPOCHS)
    assert.equal(0, code, text)
    local epochs, loss = epochs_of(text)
    assert.same({1, 2, 3, 4}, epochs)
    assert.is_true(loss < 1, "it learns something") -- chance is 2.3
  end)

  teardown(function() os.execute("rm -f '" .. base .. "'*") end)

  for _, suffix in ipairs {".safetensors", ".pt"} do
    it("that is killed goes on from its checkpoint, " .. suffix, function()
      local name = "killed" .. suffix
      -- epoch and batch of the kill, the epochs before it in that process
      for _, row in ipairs {{1, 5, {}}, {3, 2, {1, 2}}, {3, 10, {}}} do
        local text, code = run(name, ("%d \\$\\$ %d %d"):format(
                                     EPOCHS, row[1], row[2]))
        assert.equal(128 + 9, code, text)
        assert.same(row[3], (epochs_of(text)))
      end
      local text, code = run(name, EPOCHS)
      assert.equal(0, code, text)
      assert.same({3, 4}, (epochs_of(text)))
      same("", st.load(base .. "whole.safetensors"), st.load(base .. name))
      if suffix == ".safetensors" then
        assert.is_true(read(base .. "whole.safetensors") ==
                       read(base .. name), "not byte by byte")
      end
    end)

    it("that is killed while it saves has its former checkpoint, " .. suffix,
       function()
      local path, steps = base .. "saving" .. suffix, {}
      for k = 1, 4 do
        local text = build.output(
          ("%s '%s' '%s' save & pid=$!; while ! [ -e '%s' ]; do sleep 0.01; "
           .. "done; sleep 0.0%d; kill -KILL $pid; wait $pid 2>/dev/null")
          :format(build.lua, SCRIPT, path, path, 2 * k))
        assert.is_nil(text:find "error", text)
        local saved = st.load(path)
        local low, high = saved.net.weight:aminmax()
        assert.equal(saved.step, low:item())
        assert.equal(saved.step, high:item())
        assert.equal(10000, #saved.note)
        steps[k] = saved.step
      end
      assert.equal(4, #steps)
    end)
  end
end)
