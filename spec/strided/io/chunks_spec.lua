--- Blocks of tensors that are larger than memory, and files for such results.
-- axes: lua
-- sampled: 3

local build = require "spec.support.build"
local files = require "spec.support.files"
local tensors = require "spec.support.tensors"
local core = require "strided.core"
local st = require "strided"

local live, raises, raises_here = tensors.live, tensors.raises,
                                  tensors.raises_here

-- -- Help --------------------------------------------------------------------

local folder, path

--- What a pass yields: the first row, the number of rows and the first element
-- of each block.
local function blocks_of(x, rows)
  local list = {}
  for block, first in st.chunks(x, rows) do
    list[#list + 1] = {first, block.shape[1], block:flatten()[1]}
  end
  return list
end

--- Kilobytes of files that this process has mapped and read.
local function resident()
  return tonumber(files.read("/proc/self/status"):match "RssFile:%s*(%d+) kB")
end

--- How often this process has the file, mapped and open.
local function uses()
  local _, mapped = files.read("/proc/self/maps"):gsub(path:gsub("%p", "%%%0"),
                                                       "")
  local opened = build.output(("ls -l /proc/$PPID/fd | grep -c '%s'")
                              :format(path))
  return mapped, tonumber(opened)
end

local function rows_and_columns(rows, columns)
  return st.arange(rows * columns):view(rows, columns):to "float32"
end

describe("A pass by chunks", function()
  local before

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert.equal("", build.output(("mkdir '%s'"):format(folder)))
    path = folder .. "/x.npy"
    before = live()
  end)

  after_each(function()
    assert.same(before, live())
    os.execute(("rm -rf '%s'"):format(folder))
  end)

  -- -- Blocks ----------------------------------------------------------------

  it("takes an integer of st.int as the number of rows", function()
    assert.same(blocks_of(st.arange(10), 3), blocks_of(st.arange(10),
                                                       st.int(3)))
  end)

  it("has all rows, the last block fewer", function()
    local x = rows_and_columns(10, 3)
    assert.same({{1, 4, 0}, {5, 4, 12}, {9, 2, 24}}, blocks_of(x, 4))
    assert.same({{1, 5, 0}, {6, 5, 15}}, blocks_of(x, 5))
    assert.same({{1, 10, 0}}, blocks_of(x, 10))
    assert.same({{1, 10, 0}}, blocks_of(x, 2 ^ 40))
    assert.same({{1, 10, 0}}, blocks_of(x))
    assert.same({}, blocks_of(x:narrow(1, 1, 0), 4))
    assert.same({{1, 2, 0}, {3, 1, 2}}, blocks_of(st.arange(3), 2))
  end)

  it("has blocks of 16 MB unless told otherwise", function()
    local x = st.empty({2 ^ 20, 5}, {device = "meta", dtype = "float64"})
    local rows = math.floor(2 ^ 24 / 40)
    local block, first = st.chunks(x)()
    assert.same({rows, 5}, {block.shape[1], block.shape[2]})
    assert.equal(1, first)
    block = st.chunks({x, x}, {progress = false})()
    assert.equal(math.floor(rows / 2), block.shape[1])
    block = st.chunks(st.empty({3, 2 ^ 30}, {device = "meta"}))()
    assert.equal(1, block.shape[1])
  end)

  it("has views, which are written through", function()
    local x = st.zeros(5, 2)
    for block, first in st.chunks(x, 2) do
      assert.is_true(st.may_share_memory(x, block))
      block:fill_(first)
      block:free()
    end
    assert.same({{1, 1}, {1, 1}, {3, 3}, {3, 3}, {5, 5}}, x:totable())
  end)

  it("goes through several tensors at once", function()
    local list, from, to = {}, st.arange(5), st.zeros(5, 2)
    for a, b, first in st.chunks({from, to}, 2) do
      b:copy_(a:view(-1, 1):expand(#a, 2))
      list[#list + 1] = {first, a.shape[1], b.shape[1]}
    end
    assert.same({{1, 2, 2}, {3, 2, 2}, {5, 1, 1}}, list)
    assert.same({{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}}, to:totable())
  end)

  it("ends once and for all", function()
    local iter = st.chunks(st.ones(2), 2)
    assert.is_truthy(iter())
    assert.is_nil((iter()))
    assert.is_nil((iter()))
  end)

  -- -- Mapped files ----------------------------------------------------------

  it("reads a mapped file", function()
    local x = rows_and_columns(3000, 7)
    for _, order in ipairs {x, x:t():contiguous():t()} do
      st.save(path, order)
      for _, mode in ipairs {true, "r", "c", "r+"} do
        local y = st.load(path, {mmap = mode})
        local sum, rows = 0, 0
        for block, first in st.chunks(y, 700) do
          assert.is_true(block:equal(x:narrow(1, first, #block)))
          sum, rows = sum + block:sum {dtype = "float64"}, rows + #block
        end
        assert.same({x:sum({dtype = "float64"}):item(), 3000},
                    {sum:item(), rows})
        for block, first in st.chunks(y:t(), 2) do
          assert.is_true(block:equal(x:t():narrow(1, first, #block)))
        end
      end
    end
  end)

  it("keeps what was written to a private mapping, and drops the rest",
     function()
    st.save(path, st.zeros(40, 2048))
    local y = st.load(path, {mmap = true})
    for block, first in st.chunks(y, 4) do
      if first % 8 == 1 then block:fill_(first) end
    end
    for block, first in st.chunks(y, 4) do
      assert.equal(first % 8 == 1 and first or 0, block:mean():item())
    end
    assert.equal(0, st.load(path):abs():sum():item())
  end)

  it("writes to a file that is mapped to write", function()
    st.save(path, st.zeros(40, 2048))
    local y = st.load(path, {mmap = "r+"})
    for block, first in st.chunks(y, 3) do block:fill_(first) end
    y:free()
    local firsts = {}
    for row = 1, 40 do firsts[row] = row - (row - 1) % 3 end
    assert.same(firsts, st.load(path):amax({dim = 2}):totable())
    assert.same(firsts, st.load(path):amin({dim = 2}):totable())
  end)

  it("holds one block, however large the file is", function()
    local size = 2 ^ 15 -- kilobytes
    local x = st.create(path, {size, 256})
    for block in st.chunks(x, 512) do block:fill_(1) end
    x:free()
    for _, mode in ipairs {"r", "r+"} do
      x = st.load(path, {mmap = mode})
      local was, most, sum = resident(), 0, 0
      for block in st.chunks(x, 512) do
        sum = sum + block:sum():item()
        most = math.max(most, resident() - was)
      end
      assert.equal(size * 256, sum)
      assert.is_true(most >= 512 and most < 4096, most .. " kB")
      assert.is_true(resident() - was < 4096)
      x:sum()
      assert.is_true(resident() - was > size - 4096)
      x:free()
      live() -- collects the blocks, which are views of it
      assert.is_true(resident() - was < 4096)
    end
  end)

  -- The system may map 2 MB at a time.
  it("holds pieces of the columns of a file in Fortran order", function()
    st.save(path, st.ones(2, 2 ^ 22):t())
    local x = st.load(path, {mmap = true})
    local was, most, sum = resident(), 0, 0
    for block in st.chunks(x, 2 ^ 15) do
      sum = sum + block:sum():item()
      most = math.max(most, resident() - was)
    end
    assert.equal(2 ^ 23, sum)
    assert.is_true(most >= 256 and most < 12288, most .. " kB")
    assert.is_true(resident() - was < 1024)
  end)

  it("leaves no mapping and no open file", function()
    st.save(path, rows_and_columns(100, 10))
    local x = st.load(path, {mmap = true})
    for block in st.chunks(x, 30) do block:sum() end
    local block = st.chunks(x, 30)()
    assert.same({1, 0}, {uses()})
    x:free()
    assert.same({1, 0}, {uses()})
    block:free()
    live()
    assert.same({0, 0}, {uses()})
  end)

  it("is said by st.explain to be of a file", function()
    st.save(path, rows_and_columns(100, 10))
    local x, y = st.load(path, {mmap = true}), st.load(path, {mmap = "r+"})
    local text = st.explain("add", x:t(), y:t())
    assert.truthy(text:find("\n  mapped         argument 1, mmap = \"r\", " ..
                            "0.004128 MB\n  mapped         argument 2, " ..
                            "mmap = \"r+\", 0.004128 MB\n", 1, true), text)
    assert.falsy(st.explain("add", st.ones(2), 1):find "mapped")
  end)

  it("finds one of many mappings", function()
    local list = {}
    for round = 1, 2 do
      for i = 1, 8 do
        st.save(path, st.full({5000}, i))
        list[i] = st.load(path, {mmap = true})
      end
      for i = round, 8, 2 do
        assert.is_true(core.fetch_pages(list[i]))
        assert.is_true(core.populate_pages(list[i]:narrow(1, 4000, 1000)))
        list[i]:free()
      end
      collectgarbage()
    end
    for i = 1, 8 do list[i] = nil end
    live() -- unmaps them; what is mapped next is where they were
    for _ = 1, 4 do
      st.create(path, {2 ^ 22}):free()
      assert.is_false(core.fetch_pages(st.ones(2 ^ 22)))
    end
    assert.is_false(core.discard_pages(st.ones(0)))
    assert.is_false(core.populate_pages(st.empty({2}, {device = "meta"})))
  end)

  it("of a file that is truncated is an error", function()
    local x = st.create(path, {10000, 8}, {dtype = "float64"})
    raises_here({"chunks: cannot read rows 4001 to 6000: the file was "
                 .. "truncated"},
                function()
      for _, first in st.chunks(x, 2000) do
        if first == 2001 then files.write(path, "") end
      end
    end)
    x = st.create(path, {10, 8192})
    files.write(path, "")
    raises({"rows 1 to 3 of entry 2 of 'x'"}, function()
      for _ in st.chunks({st.ones(10), x}, 3) do end
    end)
  end)

  -- -- Truncated files -------------------------------------------------------

  --- A mapping of ones, of whose file little is left.
  local function lost()
    st.save(path, st.ones(2 ^ 17))
    local x = st.load(path, {mmap = true})
    files.write(path, files.read(path):sub(1, 8192))
    return x
  end

  it("leaves the process where the file is truncated", function()
    local why = "a mapped file, maybe that of another tensor, was truncated"
    for name, read in pairs {
      sum = function(x) return x:sum() end,
      add = function(x) return x + x end,
      fill_ = function(x) return x:fill_(2) end,
      clone = function(x) return x["1000:60000"]:clone() end,
      sort = function(x) return x:sort() end,
    } do
      local x = lost()
      raises({name .. ": " .. why}, read, x)
      assert.equal(3, st.ones(3):sum():item())
      assert.equal(name == "fill_" and 2 or 0, x[2 ^ 17])
      raises({"chunks: cannot read rows 1 to 10: the file was truncated"},
             function() for _ in st.chunks(x, 10) do end end)
    end
    for name, access in pairs {
      totable = function(x) return x:totable() end,
      index = function(x) return x[2 ^ 17] end,
      ["index: "] = function(x) x[2 ^ 17] = 3 end,
      tostring_bytes = function(x) return x:tostring_bytes() end,
      tostring = function(x) return tostring(x) end,
    } do
      raises({name, why}, access, lost())
      assert.equal(3, st.ones(3):sum():item())
    end
    raises({"save: cannot save", "the mapped file of the tensor was truncated"},
           st.save, path .. ".other", lost())
    assert.equal(3, st.ones(3):sum():item())
  end)

  it("writes nothing to a file that is lost, without an error", function()
    local function gone()
      local x = st.create(path, {2 ^ 17})
      files.write(path, files.read(path):sub(1, 8192))
      raises({"fill_: a mapped file"}, x.fill_, x, 2)
      return x
    end
    local why = "the mapped file of a tensor was truncated, or cannot be read "
      .. "or written; nothing more is written to it"
    local x = gone()
    for name, write in pairs {
      fill_ = function() x:fill_(3) end,
      add = function() st.add(x, 1, {out = x}) end,
      narrow = function() x:narrow(1, 1, 3):zero_() end,
      index = function() x[1] = 3 end,
      ["index: "] = function() x["1:3"] = 3 end,
      sum = function() x:sum() end,
    } do
      raises({name, why}, write)
      assert.equal(3, st.ones(3):sum():item())
    end
    raises({"save: cannot save", why}, st.save, path .. ".other", x)
    local y = gone()
    x:free()
    raises({"fill_: " .. why}, y.fill_, y, 3)
    y:free()
    local z = st.create(path, {2 ^ 17}):fill_(1)
    assert.equal(2 ^ 17, z:sum():item())
    x = lost() -- a private mapping has its zeros after the error
    raises({"sum: a mapped file"}, x.sum, x)
    assert.equal(3 * 2 ^ 17, x:fill_(3):sum():item())
  end)

  it("leaves other faults as they are", function()
    local text, status = build.shell(build.lua .. " -e '" .. ([[
      local st = require "strided"
      st.save("%s", st.ones(3))
      local x = st.load("%s", {mmap = true})
      os.execute "kill -BUS $PPID"
      print(x:sum())
    ]]):format(path, path) .. "'")
    assert.is_true(status ~= 0, text)
    assert.falsy(text:find("tensor", 1, true), text)
  end)

  -- -- Progress --------------------------------------------------------------

  local SCRIPT = [[
    local st = require "strided"
    local n = 0
    for block in st.chunks(st.ones(10), 3, {progress = "adding"}) do
      n = n + block:sum():item()
    end
    print(string.format("%d in all", n))
  ]]

  it("writes nothing but to a terminal", function()
    assert.equal("10 in all\n", build.script(SCRIPT))
  end)

  it("shows on a terminal how far it is", function()
    files.write(folder .. "/script.lua", SCRIPT)
    files.write(folder .. "/keys",
                "expect adding 4/4\nexpect 10 in all\nwait\n")
    local text, status = build.shell(("%s '%s/keys' %s '%s/script.lua'"):format(
      build.program "pty/pty", folder, build.lua, folder))
    if status == 97 then return end -- no terminals here
    assert.equal(0, status, text)
    assert.truthy(text:find("\r\27[Kadding 0/4, 0:00", 1, true), text)
  end)

  -- -- Misuse ----------------------------------------------------------------

  it("says what is wrong", function()
    local x = st.ones(4, 2)
    for _, row in ipairs {
      {{"'x' must be a Tensor or a list of Tensors, got number"}, 3, 1},
      {{"'x' must be a Tensor or a list of Tensors, got table"}, {}, 1},
      {{"'x' must be a Tensor or a list of Tensors, got nil"}, nil, 1},
      {{"entry 2 of 'x' must be a Tensor, got number"}, {x, 2}, 1},
      {{"entry 2 of 'x' has 3 rows where the first has 4"},
       {x, st.ones(3)}, 1},
      {{"x has no dimension for its rows"}, st.tensor(1), 1},
      {{"entry 2 of 'x' has no dimension for its rows"}, {x, st.tensor(1)}},
      {{"'rows'", "from 1 on, got 0"}, x, 0},
      {{"'rows'", "got 1.5"}, x, 1.5},
      {{"'rows'", "got inf"}, x, math.huge},
      {{"'rows'", "got x"}, x, "x"},
      {{"'row'"}, x, 1, {row = 1}},
      {{"the options must be a table, got number"}, x, 1, 2},
      {{"'progress' must be true, a text, or a function"}, x, 1,
       {progress = {}}},
    } do
      table.insert(row[1], "chunks: ")
      raises_here(row[1], function() st.chunks(row[2], row[3], row[4]) end)
    end
  end)

  it("of a tensor that was freed is an error", function()
    local x = st.ones(4)
    local iter = st.chunks(x, 2)
    iter()
    x:free()
    raises({"freed Tensor"}, iter)
  end)
end)

-- -- Datasets ----------------------------------------------------------------

describe("A mapped dataset larger than memory", function()
  local limit

  before_each(function()
    path = os.tmpname()
    limit = st.memory.set_cache_limit(1000) -- so memory is 4 kB large
  end)

  after_each(function()
    st.memory.set_cache_limit(limit)
    live()
    os.remove(path)
  end)

  --- Bytes of the file in the system's cache, after it was emptied and rows
  -- were asked for; nil where the system cannot tell or empty it.
  local function cached(x, rows)
    local fincore = ("fincore -b -n -o RES '%s'"):format(path)
    build.output(("sync '%s'; dd if='%s' iflag=nocache count=0"):format(path,
                                                                        path))
    if tonumber(build.output(fincore)) ~= 0 then return nil end
    core.fetch_rows(x, rows)
    local bytes
    for _ = 1, 20 do
      bytes = tonumber(build.output(fincore))
      if bytes > 0 then break end
    end
    return bytes
  end

  it("has the rows of a batch read at once, and them alone", function()
    st.save(path, rows_and_columns(2 ^ 13, 2 ^ 10))
    local x = st.load(path, {mmap = true})
    local empty = cached(x, {})
    if empty == nil then return end
    local function within(least, most, rows)
      local bytes = cached(x, rows)
      assert.is_true(bytes >= least and bytes <= most, bytes .. " bytes")
    end
    within(0, 0, {})
    within(4096, 8192, 5000)
    within(4096, 8192, {5000})
    within(3 * 4096, 3 * 8192, {5000, 7, 8000})
    within(0, 0, {5000, 5001, 5002})  -- the system reads ahead
    within(0, 0, {0, -1, 2 ^ 13 + 1, 2 ^ 60, 0 / 0, -2 ^ 60})
    within(8192, 2 * 8192, {5000, "7"})
    st.memory.set_cache_limit(limit)
    within(0, 0, {5000, 7, 8000})     -- the file fits into memory
  end)

  it("has the rows that it has in memory", function()
    local x = rows_and_columns(500, 3)
    st.save(path, x)
    local y = st.load(path, {mmap = true})
    local order = st.randperm(500)
    for _, dataset in ipairs {y, y:t():contiguous():t(),
                              st.data.TensorDataset(y):map(function(row)
                                return row
                              end)} do
      local at = 1
      for batch in st.data.DataLoader(st.data.Subset(dataset, order),
                                      {batch_size = 64}):iter() do
        local rows = order:narrow(1, at, #batch)
        assert.is_true(batch:equal(x:index_select(1, rows)))
        at = at + #batch
      end
      assert.equal(501, at)
    end
  end)
end)

describe("A file that is created", function()
  before_each(function()
    path = os.tmpname()
    os.remove(path)
  end)

  after_each(function()
    live()
    os.remove(path)
  end)

  it("has zeros, and what is written to it", function()
    for _, dtype in ipairs {"float32", "int16", "bool", "complex128"} do
      local x = st.create(path, {3, 4}, {dtype = dtype})
      assert.same({dtype, {3, 4}, true}, {tostring(x.dtype),
                  {x.shape[1], x.shape[2]}, x:is_contiguous()})
      assert.is_true(st.load(path):equal(st.zeros({3, 4}, {dtype = dtype})))
      x:narrow(1, 2, 1):fill_(1)
      local y = st.load(path)
      assert.equal(dtype, tostring(y.dtype))
      assert.is_true(y:equal(x))
      assert.equal(4, y:ne(0):sum():item())
    end
  end)

  it("may have no elements or no dimensions", function()
    for _, shape in ipairs {{0, 3}, {}} do
      local x = st.create(path, shape)
      assert.is_true(st.load(path):equal(st.zeros(shape)))
      assert.equal("float32", tostring(x.dtype))
    end
  end)

  it("replaces another, which stays where it is mapped", function()
    st.save(path, st.ones(5000))
    local old = st.load(path, {mmap = "r"})
    local new = st.create(path, {2})
    new:fill_(7)
    assert.equal(5000, old:sum():item())
    assert.same({7, 7}, st.load(path):totable())
  end)

  it("leaves the old file where it fails", function()
    st.save(path, st.ones(3))
    for _, row in ipairs {
      {{"cannot create"}, path, {2 ^ 41}},
      {{"bfloat16 has no equivalent in .npy"}, path, {3}, {dtype = "bfloat16"}},
      {{"Not a directory"}, path .. "/none/x.npy", {3}},
      {{"negative size -3"}, path, {-3}},
      {{"'dtype' must be a dtype"}, path, {3}, {dtype = "float33"}},
      {{"argument 'shape' must be a list of sizes, got number"}, path, 3},
      {{"argument 'shape' must be a list of sizes, got a Tensor"}, path,
       st.ones(3)},
      {{"is a .npy file, and 'x.npz' names another format"}, "x.npz", {3}},
      {{"'.png' names"}, "x.png", {3}},
      {{"the path must be a string, got number"}, 3, {3}},
      {{"'shape'"}, path, {3}, {shape = {3}}},
    } do
      table.insert(row[1], "create: ")
      raises_here(row[1], function() st.create(row[2], row[3], row[4]) end)
    end
    assert.same({1, 1, 1}, st.load(path):totable())
  end)

  it("is no larger than the process may write", function()
    local text = build.output(("ulimit -f 64; %s -e '%s' 2>&1"):format(
      build.lua, ([[print(pcall(require"strided".create, "%s", {100000}))]])
                 :format(path)))
    assert.truthy(text:find("^false\t.*File too large"), text)
    assert.is_nil(files.read(path))
  end)
end)
