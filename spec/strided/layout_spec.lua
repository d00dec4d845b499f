--- Drawings of layouts: every slot with its index, every index with its slot.
-- axes: isa lua

local st = require "strided"
local tensors = require "spec.support.tensors"

local failure, live = tensors.failure, tensors.live

local unpack = unpack or table.unpack

local layout = st.layout

local function has(text, line)
  assert.truthy(text:find(line, 1, true), "no '" .. line .. "' in\n" .. text)
end

--- What the storage part of a text says: {[slot] = what sits there}.
local function storage_of(text)
  local slots, found = {}, {}
  local part = text:match "\nstorage[^\n]*\n(.-)\n\n" or
               text:match "\nstorage[^\n]*\n(.*)$" or ""
  for line in part:gmatch "[^\n]+" do
    local list = line:match "^  slot (.*)$"
    if list then
      slots = {}
      for slot in list:gmatch "%d+" do slots[#slots + 1] = tonumber(slot) end
    elseif line:find "^      " then
      local k = 0
      for what in line:gmatch "%S+" do
        k = k + 1
        found[slots[k]] = what
      end
    end
  end
  return found
end

--- The same by counting through all indices.
local function count_through(t)
  local shape, strides, index = t.shape, t:stride(), {}
  local found, counts = {}, {}
  local function go(d, slot)
    if d > #shape then
      counts[slot] = (counts[slot] or 0) + 1
      found[slot] = found[slot] or (d == 1 and "()"
                                    or table.concat(index, ","))
      return
    end
    for i = 1, shape[d] do
      index[d] = i
      go(d + 1, slot + (i - 1) * strides[d])
    end
    index[d] = nil
  end
  go(1, t:storage_offset())
  local _, nbytes = t:storage()
  for slot = 0, nbytes / t:element_size() - 1 do
    local more = (counts[slot] or 1) - 1
    found[slot] = (found[slot] or ".") .. (more > 0 and "+" .. more or "")
  end
  return found
end

--- Is it well-formed XML, with the elements that open closed in order?
local function check_xml(text)
  local body, open = text:gsub("^<%?xml[^>]*%?>\n", ""), {}
  for slash, name, rest in body:gmatch "<(/?)(%w+)([^<>]*)>" do
    if slash == "/" then
      assert.equal(table.remove(open), name)
    elseif rest:sub(-1) ~= "/" then
      open[#open + 1] = name
    end
  end
  assert.same({}, open)
  local bare = body:gsub("<[^<>]*>", ""):gsub("&%a+;", "")
  assert.is_nil(bare:find "[<>&]")
end

--- The right edge of what is drawn, and the width of the picture.
local function edges(svg)
  local most = 0
  for x, width in svg:gmatch '<rect [^>]-x="([%d.]+)" [^>]-width="([%d.]+)"' do
    most = math.max(most, tonumber(x) + tonumber(width))
  end
  return most, tonumber(svg:match '<svg [^>]-width="(%d+)"')
end

describe("st.layout", function()
  local before
  setup(function() before = live() end)

  -- what it is, the tensor, how many slots are not used and are shared
  local function rows()
    return {
      {"a matrix", st.empty(3, 4)},
      {"a transposed matrix", st.empty(3, 4):t()},
      {"channels_last", st.empty({2, 3, 2, 2},
                                 {memory_format = "channels_last"})},
      {"an expanded column", st.empty(3, 1):expand(3, 4)},
      {"an expanded number", st.empty(1):expand(2, 3)},
      {"every other column of two rows", st.empty(4, 6)["2:3, 1:6:2"]},
      {"a diagonal", st.empty(4, 4):diagonal()},
      {"a number", st.tensor(3)},
      {"an empty tensor", st.empty(0, 3)},
      {"an empty view of something", st.empty(4)["3:2"]},
      {"windows that overlap", st.empty(7):unfold(1, 3, 1)},
      {"an anti-diagonal sum of strides", st.empty(8):as_strided({3, 3},
                                                                 {1, 1})},
      {"a permuted cube", st.empty({2, 3, 4}, {dtype = "int8"})
                            :permute(3, 1, 2)},
      {"seven dimensions", st.empty(2, 1, 2, 1, 2, 1, 2)},
      {"a tensor without data", st.empty({2, 2}, {device = "meta"})},
    }
  end

  for i, row in ipairs(rows()) do
    it("tells the slots of " .. row[1], function()
      local t = rows()[i][2]
      assert.same(count_through(t), storage_of(layout(t)))
    end)

    it("draws " .. row[1], function()
      local t = rows()[i][2]
      for _, width in ipairs {760, 300} do
        local svg = layout(t, {format = "svg", width = width})
        check_xml(svg)
        local most, whole = edges(svg)
        assert.equal(width, whole)
        assert.is_true(most <= whole, most .. " of " .. whole)
        for _, outside in ipairs {"href", "url%(", "<script", "<image",
                                  "@import"} do
          assert.is_nil(svg:find(outside))
        end
      end
    end)
    row[2] = nil
  end

  it("says what a tensor is and where its elements are", function()
    local text = layout(st.empty(4, 6)["2:3, 1:6:2"])
    has(text, "shape {2, 3}, strides {6, 2}, offset 6, float32\n")
    has(text, "in none of the memory formats\n")
    has(text, "6 elements in a storage of 24 slots, 4 bytes each; "
        .. "18 not used\n")
    has(text, "t[i][j] is in slot 6 + 6*(i-1) + 2*(j-1)\n")
    has(text, "  i\\j   1   2   3\n    1   6   8  10\n    2  12  14  16")
  end)

  it("names the memory formats that hold", function()
    local t = st.empty_strided({2, 2048, 1, 1}, {2048, 1, 1, 1}) -- (g12)
    has(layout(t), "in memory format contiguous_format and channels_last\n")
    has(layout(st.tensor(1)), "a single number\n")
  end)

  it("says what does not move", function()
    has(layout(st.empty(1):expand(2, 3)),
        "t[i][j] is in slot 0, whatever i and j\n")
  end)

  it("says which slots are shared", function()
    local text = layout(st.empty(3, 1):expand(3, 4))
    has(text, "3 shared by several indices")
    has(text, "1,1+3")
    has(text, "+n: n more indices share the slot")
    local svg = layout(st.empty(3, 1):expand(3, 4), {format = "svg"})
    has(svg, ">\195\1514<")
  end)

  it("has a grid for each position before the last two dimensions",
     function()
    local text = layout(st.empty({1, 3, 2, 2},
                                 {memory_format = "channels_last"}))
    for c = 1, 3 do
      has(text, ("slots of t[1][%d][k][l]\n  k\\l   1   2\n    1   %d   %d\n"
                 .. "    2   %d  %2d"):format(c, c - 1, c + 2, c + 5, c + 8))
    end
  end)

  it("keeps within the width it is given", function()
    for _, width in ipairs {40, 80, 120} do
      local text = layout(st.empty(300, 7), {width = width})
      local grid = text:match "storage.*"
      for line in grid:gmatch "[^\n]+" do
        assert.is_true(#line <= width, line)
      end
    end
  end)

  it("says what it leaves out", function()
    local t = st.empty(1000, 1000):t()["501:, 3:"]
    local text = layout(t, {max = 10})
    has(text, "left out: 2500 slots before and 997490 slots after")
    has(text, "left out: 490 rows")
    has(text, "columns")
    assert.equal("1,1", storage_of(text)[2500])
    assert.equal("10,1", storage_of(text)[2509])
    assert.is_nil(storage_of(text)[2510])
    has(layout(st.empty(9, 2, 2)), "left out: 3 more blocks")
    local svg = layout(t, {format = "svg"})
    has(svg, "Left out: 2500 slots before and 997380 slots after.")
    has(svg, "rows, ")
  end)

  it("draws a window of a matrix under the matrix's own columns", function()
    local text = layout(st.empty(5, 6)["2:4, 2:4"])
    has(text, "  slot    6    7    8    9   10   11\n")
  end)

  it("is an SVG as wide as needed, and without notes if asked", function()
    local t = st.empty(3, 4)
    local _, whole = edges(layout(t, "svg"))
    assert.is_true(whole < 760)
    local short = layout(t, {format = "svg", notes = false})
    assert.is_nil(short:find("One step is", 1, true))
    has(layout(t, "svg"), "One step is")
    local _, narrow = edges(short)
    assert.is_true(narrow < whole)
    check_xml(short)
  end)

  it("takes huge tensors as easily", function()
    local many = {}
    for d = 1, 20 do many[d] = 1000 end
    local ones = {}
    for d = 1, 20 do ones[d] = 1 end
    local rows_of = {
      st.empty({2 ^ 20, 2 ^ 20}, {device = "meta"}):t(),
      st.empty(1):expand(2 ^ 30, 2 ^ 30),
      st.empty({20000}, {device = "meta"}):as_strided(
        {unpack(many, 1, 6)}, {unpack(ones, 1, 6)}),
    }
    for _, t in ipairs(rows_of) do
      assert.is_true(#layout(t) < 10000)
      check_xml(layout(t, {format = "svg"}))
    end
    has(layout(rows_of[3]), "not all are counted")
  end)

  -- what is wrong, the arguments, what the error says
  for _, row in ipairs {
    {"no tensor", {7}, "must be a Tensor, got number"},
    {"another format", {true, {format = "png"}}, "only text and svg"},
    {"another option", {true, {colour = "red"}}, "no option 'colour'"},
    {"a width of nothing", {true, {width = 0}}, "from 1 on"},
    {"a width of text", {true, {width = "80"}}, "from 1 on"},
    {"a maximum that is none", {true, {max = 0 / 0}}, "from 1 on"},
    {"notes that are no flag", {true, {notes = 1}}, "must be true or false"},
    {"a number for options", {true, 80}, "must be a table"},
  } do
    it("refuses " .. row[1], function()
      local t = row[2][1] == true and st.empty(2) or row[2][1]
      assert.matches(row[3], failure(layout, t, row[2][2]))
    end)
  end

  it("leaves no tensor behind", function() assert.equal(before, live()) end)
end)
