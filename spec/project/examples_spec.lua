--- The examples that train networks, for a moment each, in processes of their
-- own.
-- axes: lua unsanitized

local build = require "spec.support.build"
local files = require "spec.support.files"
local st = require "strided"

local read = files.read

local ROOT = build.output("cd '" .. build.root .. "' && pwd"):gsub("\n$", "")

-- Epochs of the digits, and the part of them that is recognized then. With
-- sanitizers they take ten times as long.
local EPOCHS = build.is_sanitized and 1 or 3
local LEAST = build.is_sanitized and 0.3 or 0.85

local folder

--- What an example prints, and its exit code; started from another folder.
local function run(name, words)
  return build.shell(("cd '%s' && %s '%s/examples/%s.lua' %s"):format(
                     folder, build.lua, ROOT, name, words))
end

local function succeed(name, words)
  local text, code = run(name, words)
  assert.equal(0, code, text)
  return text
end

setup(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(build.output("mkdir '" .. folder .. "'") == "")
end)

teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

local function path(name) return folder .. "/" .. name end

local function load_example(name)
  local saved = package.path
  package.path = ROOT .. "/?.lua;" .. saved
  local module = require("examples.support." .. name)
  package.path = saved
  return module
end

-- -- All ---------------------------------------------------------------------

-- a mistake, and what is said
local MISTAKES = {
  cnn = {["--epoch 3"] = "'--epoch' is not understood", ["a b"] =
           "'b' is not understood", ["--seed"] =
           "--seed needs a whole number, got ''"},
  gru = {["--steps 1.5"] = "--steps needs a whole number, got '1.5'", x =
           "'x' is not understood", ["--rate x"] =
           "--rate needs a number, got 'x'"},
  gpt = {["--heads 3"] = "--width 160 is no multiple of --heads 3",
         ["--resume"] = "--resume needs --out",
         ["--resume --steps 7"] = "the checkpoint determines --steps",
         ["--context 0"] = "--context needs a whole number from 1 on, got '0'",
         ["--layers 0"] = "--layers needs a whole number from 1 on, got '0'",
         ["--width 0"] = "--width needs a whole number from 1 on, got '0'",
         ["--heads 0"] = "--heads needs a whole number from 1 on, got '0'",
         ["--batch 0"] = "--batch needs a whole number from 1 on, got '0'",
         ["--dropout 2"] = "--dropout needs a number from 0 to 1, got '2'",
         ["--out x.npy"] = "--out needs a file named .safetensors or .pt, got "
           .. "'x.npy'"},
}

for name, mistakes in pairs(MISTAKES) do
  describe("examples/" .. name .. ".lua", function()
    it("explains itself to who asks, or errs", function()
      local text = succeed(name, "--help")
      assert.truthy(text:find "^usage: ")
      for words, why in pairs(mistakes) do
        assert.same({name .. ": " .. why .. "\n\n" .. text, 2},
                    {run(name, words)})
      end
    end)
  end)
end

-- example, arguments that make it quick
local QUICK = {
  {"cnn", "--epochs 0"}, {"digits", "--epochs 0"}, {"photo", ""},
  {"gru", "--steps 0"}, {"gpt", "--width 8 --layers 1 --heads 1 --context 8 "
                                .. "--batch 2 --steps 1 --characters 9"},
}

describe("An example that is told no place", function()
  it("writes nothing", function()
    local before = build.output("ls -A '" .. folder .. "'")
    for _, row in ipairs(QUICK) do succeed(row[1], row[2]) end
    assert.equal(before, build.output("ls -A '" .. folder .. "'"))
  end)

  it("reads nothing of the specs", function()
    for _, name in ipairs(files.lines_of(build.output(("cd '%s' && find " ..
                          "examples -type f -name '*.lua'"):format(ROOT)))) do
      assert.is_nil(read(ROOT .. "/" .. name):find "[%./]spec[%./]", name)
    end
  end)
end)

describe("examples/photo.lua", function()
  it("says what it takes", function()
    assert.truthy(succeed("photo", "--help"):find "^usage: %./dev demo")
  end)

  it("writes a tensor and two pictures, and says what is equal", function()
    assert(build.output("mkdir '" .. path "photo" .. "'") == "")
    local said = succeed("photo", "photo")
    assert.truthy(said:find("wrote photo/luma.npy, read back equal: true\n", 1,
                            true), said)
    assert.is_nil(said:find("equal[^\n]*: false"))
    assert.same({1, 384, 512}, st.load(path "photo/luma.npy").shape)
    for name, start in pairs {luma = "P5\n512 384\n255\n", normalised =
                              "P6\n512 384\n255\n"} do
      local file = name .. (name == "luma" and ".pgm" or ".ppm")
      local bytes = read(path("photo/" .. file))
      assert.equal(start, bytes:sub(1, #start))
      assert.equal(#start + 384 * 512 * (name == "luma" and 1 or 3), #bytes)
    end
  end)
end)

-- -- Digits ------------------------------------------------------------------

describe("examples/cnn.lua", function()
  it("learns to read digits and saves its network twice", function()
    local said = succeed("cnn", ("--epochs %d --seed 1 'some place/out'")
                                :format(EPOCHS))
    local right = said:match "\nDone: (%d+) of 359 digits never seen before "
    assert.is_true(tonumber(right) > LEAST * 359, said)
    assert.truthy(said:find("wrote some place/out/cnn.safetensors, read back: "
                            .. "the same answers\n", 1, true), said)
    local net = load_example "cnn".load(path "some place/out/cnn.safetensors")
    local x = st.load(ROOT .. "/examples/data/digits_images.npy"):unsqueeze(2)
    local y = st.load(ROOT .. "/examples/data/digits_labels.npy")
    local predicted = net(x:to "float32" / 16):argmax(2) - 1
    assert.is_true(predicted:eq(y):sum():item() > LEAST * 1797)
    -- PyTorch's names of the layers
    local state = st.load(path "some place/out/cnn.pt")
    local count = 0
    for name, t in net:named_state {base = 0} do
      assert.is_true(state[name]:equal(t), name)
      count = count + 1
    end
    assert.equal(20, count)
    assert.truthy(state["0.0.weight"] and state["7.bias"])
  end)

  it("makes the same network of the same seed", function()
    local n = build.is_sanitized and 0 or 1
    local function made(words, name)
      succeed("cnn", ("--epochs %s %s"):format(words, name))
      return read(path(name .. "/cnn.safetensors"))
    end
    assert.is_true(made(n .. " --seed 7", "one") ==
                   made(n .. " --seed 7", "two"))
    assert.is_false(made("0 --seed 8", "three") == made("0", "four"))
  end)
end)

-- -- Sums --------------------------------------------------------------------

describe("examples/gru.lua", function()
  it("remembers what a guess cannot know", function()
    local said = succeed("gru", "--steps 400 --longest 6 --units 16 "
                                .. "--rate 0.02")
    local gru, base = said:match "\n%s+2%-6%s+([%d.]+)%s+[%d.]+ %%%s+([%d.]+)"
    assert.is_true(tonumber(base) > 0.13 and tonumber(base) < 0.21, said)
    assert.is_true(tonumber(gru) < 0.02, said)
  end)
end)

-- -- Text --------------------------------------------------------------------

describe("examples/gpt.lua", function()
  local TINY = "--width 16 --layers 1 --heads 2 --context 16 --batch 4 "
  local LINE = "one two three four five six seven eight nine ten\n"
  local gpt

  setup(function()
    gpt = load_example "gpt"
    files.write(path "numbers", LINE:rep(40))
  end)

  --- The last lines, which the network wrote.
  local function written(said) return said:match "\n\n(.*)$" end

  it("learns a text and goes on with it", function()
    local said = succeed("gpt", "--width 32 --layers 1 --heads 2 --context 32 "
      .. "--steps 200 --rate 0.01 --temperature 0 --prompt 'one two th' "
      .. "--characters 30 --out learnt.safetensors numbers")
    local loss, held_out = said:match
                           "step 200 of 200  loss (%S+)  validation (%S+)"
    assert.is_true(tonumber(loss) < 1 and tonumber(held_out) < 1, said)
    assert.equal("one two three four five six seven eight \n", written(said))
  end)

  it("resumes as if it had not stopped", function()
    local options = TINY .. "--characters 40 --save-every 4 --steps 12"
    local whole = succeed("gpt", options .. " --out a.safetensors numbers")
    succeed("gpt", options .. " --out b.safetensors --until 5 numbers")
    assert.is_false(read(path "a.safetensors") == read(path "b.safetensors"))
    local resumed = succeed("gpt", "--out b.safetensors --resume "
                                   .. "--characters 40")
    assert.is_true(read(path "a.safetensors") == read(path "b.safetensors"))
    assert.equal(written(whole), written(resumed))
  end)

  it("continues with the network's likeliest characters", function()
    local model = gpt.load(path "learnt.safetensors")
    local text = "five six seven eight nine ten\none two three four"
    local likely = gpt.likelihoods(model, text)
    assert.equal(#text, #likely)
    -- "four" is certain after two letters
    assert.is_true(likely[#text - 1] > 0.5 and likely[#text] > 0.5)
    local odd = gpt.likelihoods(model, "one two thxee")
    assert.is_true(odd[11] < 0.05)
    -- by the cache and without one, also where the context is full
    local draw = gpt.continue(model, text:sub(1, 20), {temperature = 0})
    local seen = text:sub(1, 20)
    for _ = 1, 12 do
      local character, p = draw()
      local x = model.vocabulary:encode(seen):unsqueeze(1)
      local logits = st.no_grad(model.net, x)[{1, -1}]
      logits[1] = -math.huge -- other bytes are never written
      local best = logits:softmax(1):max():item()
      assert.is_true(math.abs(best - p) < 1e-5)
      seen = seen .. character
    end
    for _ = 1, 100 do assert.equal(1, #draw()) end
  end)

  it("takes any bytes, and says what is not its file", function()
    local model = gpt.load(path "learnt.safetensors")
    assert.equal(4, #gpt.likelihoods(model, "\0\255\195\164"))
    assert.is_string(gpt.continue(model, "")())
    st.save(path "other.safetensors", {a = st.ones(1)})
    for words, why in pairs {
      ["--resume --out other.safetensors"] =
        "'other.safetensors' is not a model of examples/gpt.lua",
      ["--resume --out none.pt"] = "load: cannot load 'none.pt'",
      none = "none: No such file",
      ["--out no/such/folder.safetensors numbers"] = "save: cannot save",
    } do
      local said, code = run("gpt", words)
      assert.equal(1, code)
      assert.truthy(said:find("gpt: " .. why, 1, true), said)
    end
  end)
end)
