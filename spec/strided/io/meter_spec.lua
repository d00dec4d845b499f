--- The option `progress` of st.load and st.save: one large tensor moves the bar
-- while it is read or written, and every byte counts once.
-- axes: lua

local st = require "strided"

local files = require "spec.support.files"
local meter = require "strided.io.meter"
local progress = require "strided.progress"
local raises_here = require("spec.support.tensors").raises_here

local PIECE = 1000 -- bytes

describe("The progress of a file", function()
  local base, steps, bytes, piece

  setup(function()
    base = os.tmpname()
    bytes, piece = progress.bytes, meter.PIECE
    meter.PIECE = PIECE
    function progress.bytes()
      steps = {}
      local bar = {done = 0}
      function bar:step(n)
        self.done, steps[#steps + 1] = self.done + n, n
      end
      function bar.finish() end
      return bar
    end
  end)

  teardown(function()
    progress.bytes, meter.PIECE = bytes, piece
    os.remove(base)
  end)

  local function sum()
    local n = 0
    for _, step in ipairs(steps) do
      assert.is_true(step <= PIECE, step)
      n = n + step
    end
    return n
  end

  --- Saves and loads a value with a bar; compares with what is there without.
  local function check(suffix, value, options)
    local path = base .. suffix
    st.save(path, value)
    local plain = files.read(path)
    st.save(path, value, {progress = true})
    local size = meter.size(value)
    assert.equal(size, sum())
    assert.is_true(plain == files.read(path))
    options.progress = true
    local back = st.load(path, options)
    assert.equal(size, sum())
    os.remove(path)
    return back
  end

  local big = st.arange(500, {dtype = "float64"}):view(20, 25)

  it("moves within a .npy file, also in Fortran order", function()
    assert.is_true(check(".npy", big, {}):equal(big))
    assert.equal(4, #steps)
    assert.is_true(check(".npy", big:t(), {}):equal(big:t()))
    assert.is_true(check(".npy", big["2:20:3"], {})
                   :equal(big["2:20:3"]))
    local parameter = big:clone():requires_grad_()
    assert.is_true(check(".npy", parameter, {}):equal(big))
    assert.equal(0, check(".npy", st.ones(0, 3), {}):numel())
    assert.equal(7, check(".npy", st.tensor(7), {}):item())
  end)

  it("moves within the members of other files", function()
    local t = {a = big, b = st.ones(3), c = st.arange(1001):to "uint8"}
    for suffix, options in pairs {[".npz"] = {}, [".pt"] = {},
                                  [".safetensors"] = {mmap = false}} do
      local back = check(suffix, t, options)
      assert.equal(4 + 1 + 2, #steps, suffix)
      for key in pairs(t) do assert.is_true(back[key]:equal(t[key]), suffix) end
    end
  end)

  it("counts what is deflated or mapped at once", function()
    local path = base .. ".npz"
    st.save(path, {a = big}, {progress = true, compress = true})
    assert.same({4000}, steps)
    assert.is_true(st.load(path, {progress = true}).a:equal(big))
    assert.same({1000, 1000, 1000, 1000}, steps)
    os.remove(path)
    path = base .. ".safetensors"
    st.save(path, {a = big})
    for _, mode in ipairs {"r", "r+"} do
      assert.is_true(st.load(path, {progress = true, mmap = mode}).a:equal(big))
      assert.same({4000}, steps)
    end
    os.remove(path)
  end)

  it("counts the text of a CSV file, once", function()
    local path = base .. ".csv"
    local t = st.arange(300000):view(-1, 3)
    st.save(path, t, {progress = true})
    local size = #files.read(path)
    local function total()
      local n = 0
      for _, step in ipairs(steps) do n = n + step end
      return n
    end
    assert.is_true(#steps > 1)
    assert.equal(size, total())
    st.write_csv(path, t, {progress = true})
    assert.equal(size, total())
    -- the first column is another dtype in the end: a third pass
    files.write(path, files.read(path) .. "0.5,1,2\n")
    for _, read in ipairs {st.read_csv, st.load} do
      local back = read(path, {progress = true, as = "table"})
      assert.equal("float64 int64", back[1].dtype .. " " .. back[2].dtype)
      assert.is_true(#steps > 1)
      assert.equal(size + 8, total())
    end
    os.remove(path)
  end)

  it("is checked before a file is opened", function()
    raises_here("read_csv: option 'progress' must be true, a text",
                function() st.read_csv("/nowhere", {progress = {}}) end)
    raises_here("write_csv: option 'progress' must be true, a text",
                function() st.write_csv("/nowhere", {{1}}, {progress = {}}) end)
  end)

  it("counts the bytes of a member that is damaged", function()
    local path = base .. ".npz"
    st.save(path, {a = big})
    local text = files.read(path)
    files.write(path, text:gsub("\48\127\64", "\49\127\64", 1))
    local ok, why = pcall(st.load, path, {progress = true})
    os.remove(path)
    assert.is_false(ok)
    assert.matches("its bytes are damaged: the CRC differs", why)
    assert.equal(4000, sum())
  end)
end)
