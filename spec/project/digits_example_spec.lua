--- examples/digits.lua, trained for a little while, in a process of its own.
-- axes: isa lua

local build = require "spec.support.build"
local files = require "spec.support.files"

local lines_of, read = files.lines_of, files.read

local ROOT = build.root
ROOT = build.output("cd '" .. ROOT .. "' && pwd"):gsub("\n$", "")

local EPOCHS = 3
local LEAST = 85 -- per cent, after so few epochs; all of them give 97

-- -- Help --------------------------------------------------------------------

local folder

--- What the example prints, and its exit code; started from another folder.
local function run(words)
  local said = build.output(("cd '%s' && %s '%s/examples/digits.lua' %s; "
                             .. "echo exit code $?")
                            :format(folder, build.lua, ROOT, words))
  local text, code = said:match "^(.*)exit code (%d+)\n$"
  return text, tonumber(code)
end

--- A pattern for lines like this one, whatever the numbers and the folder.
local function form_of(line)
  local pattern = line:gsub("[^%w%s]", "%%%0"):gsub("%d+%%%.%d+", "%%d+%%.%%d+")
                      :gsub("%f[%w]%d+%f[%W]", "%%d+")
                      :gsub(" %S+digits", " %%S+digits")
  return "^" .. pattern .. "$"
end

setup(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(build.output("mkdir '" .. folder .. "'") == "")
end)

teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

-- -- The example -------------------------------------------------------------

describe("The digits", function()
  local said

  it("are learnt, and the network is read back", function()
    local code
    said, code = run(("--epochs %d --seed 1 'some place/out'"):format(EPOCHS))
    assert.equal(0, code, said)
    local per_cent = said:match "\nDone: ([%d.]+) %% of 359 digits "
    assert.truthy(per_cent, said)
    assert.is_true(tonumber(per_cent) >= LEAST, said)
    assert.truthy(said:find("wrote some place/out/digits.safetensors, read "
                            .. "back: the same answers\n", 1, true), said)
  end)

  it("show how far they are", function()
    local losses = {}
    for epoch = 1, EPOCHS do
      local line = ("epoch %d of %d  loss "):format(epoch, EPOCHS)
      local loss = said:match(line .. "([%d.]+)  [%d.]+ %% of those held out"
                              .. "  %d+ s left *\n")
      losses[epoch] = assert(tonumber(loss), said)
    end
    assert.is_true(losses[EPOCHS] < losses[1] / 2)
  end)

  it("come with a picture of what was taken for what", function()
    local picture = read(folder .. "/some place/out/digits.svg")
    assert.truthy(picture:find "^<svg .*</svg>\n$")
    local total, cells = 0, 0
    for _ in picture:gmatch "<rect x=" do cells = cells + 1 end
    for count in picture:gmatch 'class="%l+" x="%d+" y="%d+">(%d+)<' do
      total = total + tonumber(count)
    end
    assert.equal(100, cells)
    assert.equal(359, total)
  end)

  it("give the same network for the same seed", function()
    local _, code = run "--epochs 1 --seed 7 one"
    assert.equal(0, code)
    run "--seed 7 --epochs 1 two"
    run "--epochs 1 --seed 8 three"
    local one = read(folder .. "/one/digits.safetensors")
    assert.is_true(one == read(folder .. "/two/digits.safetensors"))
    assert.is_false(one == read(folder .. "/three/digits.safetensors"))
  end)

  it("print what the README shows", function()
    local shown = read(ROOT .. "/README.md")
                    :match "digits%.lua[^\n]*\n.-\n(    epoch .-)\n\n"
    assert.truthy(shown)
    local printed = lines_of(said)
    for _, line in ipairs(lines_of(shown)) do
      local form, found = form_of(line:gsub("^    ", "")), false
      for _, each in ipairs(printed) do
        found = found or each:gsub("some place/out", "out"):find(form) ~= nil
      end
      assert.is_true(found, line)
    end
  end)

  it("explain themselves to who asks, or errs", function()
    local text, code = run "--help"
    assert.equal(0, code)
    assert.truthy(text:find "^usage: ")
    assert.same({text, 0}, {run "-h"})
    for words, expected in pairs {
      ["--epoch 3"] = "digits: '--epoch' is not understood\n",
      ["a b"] = "digits: 'b' is not understood\n",
      ["--epochs"] = "digits: --epochs needs a number, got ''\n",
      ["--seed 1.5"] = "digits: --seed needs a number, got '1.5'\n",
    } do
      local why, failed = run(words)
      assert.equal(2, failed)
      assert.equal(expected .. "\n" .. text, why)
    end
    assert.equal(1, select(2, run "/dev/null/no"))
  end)
end)
