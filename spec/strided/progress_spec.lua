--- st.progress: what its lines say, what it iterates, and misuse.
-- axes: lua unsanitized

local st = require "strided"
local build = require "spec.support.build"
local files = require "spec.support.files"
local progress = require "strided.progress"
local tensors = require "spec.support.tensors"

local raises_here = tensors.raises_here

describe("A line of progress", function()
  -- what is done, of how many, in how many seconds; the line
  for _, row in ipairs {
    {0, 10, 0, "0/10, 0:00"},
    {5, 10, 2, "5/10, 2.5/s, 0:02, 0:02 left"},
    {10, 10, 4, "10/10, 2.5/s, 0:04"},
    {7, nil, 70, "7, 0.1/s, 1:10"},
    {1, 7200, 1, "1/7200, 1/s, 0:01, 1:59:59 left"},
    {40000, nil, 2, "40000, 20k/s, 0:02"},
    {3e6, nil, 1, "3000000, 3M/s, 0:01"},
    {1500, 3000, 1, "1.5 kB/3.0 kB, 1.5 kB/s, 0:01, 0:01 left", true},
    {2.5e9, 5e9, 10, "2.5 GB/5.0 GB, 250.0 MB/s, 0:10, 0:10 left", true},
    {12, nil, 2, "12 B, 6 B/s, 0:02", true},
  } do
    it("says " .. row[4], function()
      assert.equal(row[4], progress.text("", row[1], row[2], row[3], row[5]))
    end)
  end
end)

describe("st.progress", function()
  it("iterates a count, a list, rows, a loader and an iterator", function()
    local list = {}
    for i in st.progress(3) do list[#list + 1] = i end
    for i, x in st.progress({"a", "b"}, "label") do list[#list + 1] = i .. x end
    for i, row in st.progress(st.tensor {{1, 2}, {3, 4}}) do
      list[#list + 1] = i .. ":" .. row:sum():item()
    end
    local loader = st.data.DataLoader(st.arange(4), {batch_size = 2})
    for batch in st.progress(loader) do list[#list + 1] = batch:numel() end
    for word in st.progress(("x y"):gmatch "%a") do list[#list + 1] = word end
    for _ in st.progress(0) do list[#list + 1] = "never" end
    assert.equal("1 2 3 1a 2b 1:3 2:7 2 2 x y",
                 (table.concat(list, " "):gsub("%.0", "")))
  end)

  it("iterates what pairs, ipairs and io.lines return", function()
    local list = {}
    for k, v in st.progress(pairs {a = 1}) do list[#list + 1] = k .. v end
    for i, v in st.progress(ipairs {"x", "y"}) do list[#list + 1] = i .. v end
    local function count(n, i) if i < n then return i + 1 end end
    for i in st.progress(count, 2, 0) do list[#list + 1] = i end
    local line = st.progress(io.lines(build.root .. "/LICENSE"))()
    list[#list + 1] = line and "line"
    assert.equal("a1 1x 2y 1 2 line", table.concat(list, " "))
    assert.equal(3, st.progress(pairs {1, 2, x = 3}).total)
    assert.equal(2, st.progress(ipairs {1, 2, x = 3}).total)
    assert.is_nil(st.progress(count, 2, 0).total)
  end)

  it("counts a number of steps with a fraction down, as a loop does", function()
    local n, bar = 0, st.progress(2.5)
    for _ in bar do n = n + 1 end
    assert.same({2, 2}, {n, bar.total})
  end)

  it("counts the steps that are over", function()
    local bar, seen = st.progress(3), {}
    for _ in bar do seen[#seen + 1] = bar.done end
    assert.same({0, 1, 2}, seen)
    assert.equal(3, bar.done)
    assert.is_nil(bar())
    local own = st.progress(nil, {total = 10, label = "own"})
    own:step()
    own:step(4)
    own:finish()
    assert.matches("^own 5/10", tostring(own))
  end)

  it("writes to terminals alone, a few times a second", function()
    local path = os.tmpname()
    files.write(path, [[
      local st = require "strided"
      local bar = st.progress(200000, "many")
      for i in bar do
        if i == 7 then bar:print("at %d", i) end
        if i == 8 then bar:print "100% %d" end
      end
      st.save(arg[1], {a = st.ones(9)}, {progress = "saving"})
      st.load(arg[1], {progress = "loading"})
      print "done"
    ]])
    local run = ("%s %s %s.npz"):format(build.lua, path, path)
    assert.equal("at 7\n100% %d\ndone\n", build.output(run))
    files.write(path .. ".keys", "expect done\nwait\n")
    local text, status = build.shell(("%s %s.keys %s"):format(
      build.program "pty/pty", path, run))
    os.remove(path .. ".keys")
    os.remove(path .. ".npz")
    os.remove(path)
    if status == 97 then return end -- no terminals here
    assert.equal(0, status, text)
    assert.truthy(text:find("\r\27[Kmany 0/200000, 0:00", 1, true), text)
    assert.truthy(text:find("\r\27[Kat 7\r\n\r\27[Kmany 6/200000", 1, true),
                  text)
    assert.truthy(text:find("many 200000/200000, ", 1, true), text)
    assert.truthy(text:find("saving 36 B/36 B", 1, true), text)
    assert.truthy(text:find("loading 36 B/36 B", 1, true), text)
    local _, times = text:gsub("many", "")
    assert.is_true(times < 100)
  end)

  -- what is wrong, the call, what the error says
  for _, row in ipairs {
    {"a text", function() st.progress "many" end,
     "progress: argument 'what' must be a number, a list, a tensor"},
    {"less than no steps", function() st.progress(-1) end,
     "progress: the number of steps must be from 0 on, got -1"},
    {"another option", function() st.progress(1, {lable = "x"}) end,
     "progress: there is no option 'lable': did you mean label?"},
    {"a label of no words", function() st.progress(1, {label = {}}) end,
     "progress: option 'label' must be a text or a function"},
    {"a total of a text", function() st.progress(3, {total = "x"}) end,
     "progress: option 'total' must be a number from 0 on, got string"},
    {"a total of less than nothing", function()
       st.progress(nil, {total = -1})
     end, "progress: option 'total' must be a number from 0 on, got -1"},
    {"a total that is infinite", function()
       st.progress(nil, {total = math.huge})
     end, "progress: option 'total' must be a number from 0 on, got inf"},
    {"bytes that are counted in a text", function()
       st.progress(3, {bytes = "yes"})
     end, "progress: option 'bytes' must be true or false, got string"},
    {"pairs that nobody called", function()
       st.progress(pairs, {a = 1})
     end, "progress: there is no option 'a'"},
    {"a step of no number", function() st.progress(1):step(0 / 0) end,
     "step: argument 'n' must be a number from 0 on, got nan"},
    {"a step backwards", function() st.progress(1):step(-1) end,
     "step: argument 'n' must be a number from 0 on, got -1"},
    {"a step without an end", function() st.progress(1):step(math.huge) end,
     "step: argument 'n' must be a number from 0 on, got inf"},
    {"a format of another value", function()
       st.progress(1):print("%d", "x")
     end, "print: bad argument #2 (number expected, got string)"},
    {"a loop over nothing", function() st.progress()() end,
     "progress: a bar without a count cannot be iterated"},
    {"a step of a text", function() st.progress(1):step "x" end,
     "step: argument 'n' must be a number from 0 on, got string"},
    {"no text to print", function() st.progress(1):print(7) end,
     "print: argument 'text' must be a text, got number"},
    {"a method of tqdm", function() st.progress(1):update(5) end,
     "a bar has no 'update': write bar:step(n)"},
    {"another method", function() st.progress(1):stepp(5) end,
     "a bar has no 'stepp': did you mean step?"},
    {"a call with a dot", function() st.progress(1).step(1) end,
     "step: write bar:step() with a colon"},
    {"progress of load that is none", function()
       st.load("a.npy", {progress = {}})
     end, "load: option 'progress' must be true, a text, or a function"},
  } do
    it("refuses " .. row[1], function() raises_here(row[3], row[2]) end)
  end
end)
