--- Plots as text and as SVG: where points are, what texts say, and misuse.
-- axes: lua unsanitized

local st = require "strided"
local build = require "spec.support.build"
local files = require "spec.support.files"
local tensors = require "spec.support.tensors"
local ticks = require "strided.plot.ticks"

local live, raises = tensors.live, tensors.raises

local UNIT = {xlim = {0, 1}, ylim = {0, 1}}

local function text(fig, width, height)
  return fig:text {width = width, height = height, colors = 0}
end

--- The lines of a text without the indentation of a spec.
local function lines(...) return table.concat({...}, "\n") end

local function new_folder()
  local folder = os.tmpname()
  os.remove(folder)
  assert.equal("", build.output(("mkdir '%s'"):format(folder)))
  return folder
end

local function remove_folder(folder) os.execute("rm -r '" .. folder .. "'") end

--- True if a program is installed.
local function has(program)
  local ok = os.execute("command -v " .. program .. " >/dev/null 2>&1")
  return ok == true or ok == 0
end

-- -- Text --------------------------------------------------------------------

describe("A plot as text", function()
  it("has the diagonal on the diagonal", function()
    -- 16 x 8 cells are 32 x 32 dots, so each cell has two dots of the line
    -- and each row of cells two cells: dots 7 and 6, then 2 and 4.
    assert.equal(lines(
      "1.00 ┤              ⡠⠊",
      "     │            ⡠⠊",
      "0.75 ┤          ⡠⠊",
      "     │        ⡠⠊",
      "0.50 ┤      ⡠⠊",
      "     │    ⡠⠊",
      "0.25 ┤  ⡠⠊",
      "0.00 ┤⡠⠊",
      "     └┬───────┬──────┬",
      "     0.0     0.5    1.0"),
      text(st.plot({0, 1}, {0, 1}, UNIT), 23, 8))
  end)

  it("has 80 columns, 74 of them within the axes", function()
    -- y = 0.5 is in the upper row of dots of the third of four rows; tick k of
    -- 0, 0.2, ... is in column floor(k / 5 * 74), its text one before.
    local fig = st.plot({0, 1}, {0.5, 0.5}, UNIT)
    assert.equal(lines(
      "1.0 ┤",
      "    │",
      "0.5 ┤" .. ("⠉"):rep(74),
      "0.0 ┤",
      "    └┬" .. ("─"):rep(13) .. "┬" .. ("─"):rep(14) .. "┬"
        .. ("─"):rep(14) .. "┬" .. ("─"):rep(14) .. "┬" .. ("─"):rep(13) .. "┬",
      "    0.0" .. (" "):rep(11) .. "0.2" .. (" "):rep(12) .. "0.4"
        .. (" "):rep(12) .. "0.6" .. (" "):rep(12) .. "0.8"
        .. (" "):rep(11) .. "1.0"), text(fig, 80, 4))
  end)

  it("has bars of eighths of blocks", function()
    -- From 0.528 to 2.472 in 36 columns, the bars of width 0.8 at 1 and 2
    -- begin and end at 1.33, 16.15, 19.85 and 34.67 columns. 1.25 of 2 is two
    -- of four rows and a half.
    local fig = st.plot({1.25, 2}, {kind = "bar", ylim = {0, 2}})
    local first, half = ("█"):rep(15), ("▄"):rep(15)
    assert.equal(lines(
      "2 ┤" .. (" "):rep(20) .. first,
      "  │ " .. half .. "    " .. first,
      "1 ┤ " .. first .. "    " .. first,
      "0 ┤ " .. first .. "    " .. first),
      (text(fig, 40, 4):match "^(.*)\n[^\n]*\n[^\n]*$"))
  end)

  it("shows points where they are", function()
    local shown = text(st.plot({0, 1}, {0, 1}, {kind = "scatter",
      xlim = {0, 1}, ylim = {0, 1}}), 23, 8)
    assert.equal("1.00 ┤               ⠈", shown:match "^[^\n]*")
    assert.truthy(shown:find("0.00 ┤⡀\n", 1, true))
    -- so many that each dot has one
    local x = st.linspace(0.005, 0.995, 100)
    local all = text(st.plot(x:repeat_interleave(100), x:tile {100}, {
      kind = "scatter", xlim = {0, 1}, ylim = {0, 1}}), 23, 8)
    assert.equal(16 * 8, select(2, all:gsub("⣿", "")))
  end)

  it("tells series apart without colours, and by colours", function()
    local fig = st.plot {{y = {1, 2}, label = "up"},
                         {y = {2, 1}, label = "down"}}
    local plain = text(fig, 40, 4)
    assert.truthy(plain:find("⠤⠤ up   × down", 1, true), plain)
    local coloured = fig:text {width = 40, height = 4, colors = 256}
    assert.is_nil(coloured:find("×", 1, true))
    -- #0072b2 and #d55e00 are nearest to 0, 95, 175 and 215, 95, 0: 16 + 6 + 3
    -- and 16 + 4 * 36 + 6
    assert.truthy(coloured:find("\27[38;5;25m", 1, true))
    assert.truthy(coloured:find("\27[38;5;166m", 1, true))
    assert.equal(plain:gsub("[^\n]", ""), coloured:gsub("[^\n]", ""))
  end)

  it("shows pixels as shades, and as colours", function()
    local fig = st.plot(st.tensor {{0, 0.5}, {1, 0 / 0}}, {kind = "image"})
    local plain = text(fig, 20, 2)
    assert.truthy(plain:find("┤  ▒▒\n", 1, true), plain)
    assert.truthy(plain:find("┤██??\n", 1, true), plain)
    local red = st.tensor({{{255}}, {{0}}, {{0}}}, {dtype = "uint8"})
    local deep = st.plot(red, {kind = "image"}):text {
      width = 20, height = 1, colors = 16777216}
    assert.truthy(deep:find("\27[38;2;255;0;0;48;2;255;0;0m▀▀\27[0m", 1, true))
  end)

  it("is what tostring gives, and no wider than asked", function()
    local fig = st.plot(st.randn(100), {
      title = ("long "):rep(40), xlabel = ("x"):rep(200),
      ylabel = ("ä"):rep(200), label = ("label "):rep(30)})
    for _, width in ipairs {20, 40, 80, 133} do
      for line in (text(fig, width) .. "\n"):gmatch "(.-)\n" do
        local n = #line:gsub("[\128-\191]", "")
        assert.is_true(n <= width, n .. ": " .. line)
      end
    end
    assert.equal("string", type(tostring(fig)))
  end)
end)

-- -- SVG ---------------------------------------------------------------------

--- The left, top, bottom and right of the axes.
local function axes(svg)
  local left, top, bottom, right =
    svg:match '<path class="axis" d="M([%d.]+) ([%d.]+)V([%d.]+)H([%d.]+)"'
  return tonumber(left), tonumber(top), tonumber(bottom), tonumber(right)
end

local function count(svg, pattern) return select(2, svg:gsub(pattern, "")) end

local function is_near(a, b, bound)
  assert.is_true(math.abs(a - b) <= (bound or 0.11), a .. " is not " .. b)
end

--- Numbers of the first line of a series.
local function path_of(svg)
  local list = {}
  for x, y in svg:match '<path class="line" d="([^"]*)"':gmatch
    "[ML]([%d.]+) ([%d.]+)" do
    list[#list + 1] = {tonumber(x), tonumber(y)}
  end
  return list
end

describe("A plot as SVG", function()
  it("has points where they are", function()
    local svg = st.plot({0.25, 0.5, 1}, {0.5, 0, 0.75}, {
      kind = "scatter", xlim = {0, 1}, ylim = {0, 1}}):svg()
    local left, top, bottom, right = axes(svg)
    local want, k = {{0.25, 0.5}, {0.5, 0}, {1, 0.75}}, 0
    for x, y in svg:gmatch '<circle cx="([%d.]+)" cy="([%d.]+)"' do
      k = k + 1
      is_near(tonumber(x), left + want[k][1] * (right - left))
      is_near(tonumber(y), bottom - want[k][2] * (bottom - top))
    end
    assert.equal(3, k)
  end)

  it("ends on logarithmic axes of the least numbers", function()
    for _, y in ipairs {{5e-324}, {5e-324, 1e-310}, {1e-307}} do
      assert.is_string(st.plot(y, {log = "y"}):svg())
    end
  end)

  it("has points on logarithmic axes", function()
    local svg = st.plot({1, 10, 100}, {1e-3, 1, 1e3}, {
      log = "xy", xlim = {1, 100}, ylim = {1e-3, 1e3}}):svg()
    local left, top, bottom, right = axes(svg)
    local path = path_of(svg)
    assert.equal(3, #path)
    is_near(path[2][1], (left + right) / 2)
    is_near(path[2][2], (top + bottom) / 2)
    is_near(path[3][2], top)
    assert.truthy(svg:find(">0.001<", 1, true) and svg:find(">100<", 1, true))
  end)

  it("clips lines at the axes", function()
    -- The line y = x from (-9, -9) to (9, 9) leaves the unit square at its
    -- corners.
    local svg = st.plot({-9, 9}, {-9, 9}, UNIT):svg()
    local left, top, bottom, right = axes(svg)
    local path = path_of(svg)
    assert.equal(2, #path)
    is_near(path[1][1], left)
    is_near(path[1][2], bottom)
    is_near(path[2][1], right)
    is_near(path[2][2], top)
  end)

  it("has gaps at NaN and infinity, and lone points", function()
    local svg = st.plot({1, 2, 0 / 0, 3, 1 / 0, 5, 6}):svg()
    assert.equal(2, count(svg:match '<path class="line" d="([^"]*)"', "M"))
    assert.equal(1, count(svg, "h0"))
  end)

  it("has a rectangle for each bin or bar", function()
    local svg = st.plot({0, 0, 0, 1, 1, 2}, {kind = "hist"}):svg()
    local heights = {}
    for h in svg:match "<g fill=.-</g>":gmatch 'height="([%d.]+)"' do
      heights[#heights + 1] = tonumber(h)
    end
    assert.equal(3, #heights) -- one bin for each integer
    is_near(heights[1], 3 * heights[3])
    is_near(heights[2], 2 * heights[3])
    local first, last, width
    local pattern = 'x="([%d.]+)".-width="([%d.]+)"'
    for x, w in svg:match "<g fill=.-</g>":gmatch(pattern) do
      first, last, width = first or tonumber(x), tonumber(x), tonumber(w)
    end
    local left, _, _, right = axes(svg)
    is_near(first - left, right - (last + width))
    local bars = st.plot():bar({"a", "b"}, {1, -1}, {label = "one"})
      :bar({"a", "b"}, {2, 2}):svg()
    local _, n = bars:gsub("<g fill=[^\n]*\n<rect[^\n]*\n<rect[^\n]*\n</g>", "")
    assert.equal(2, n)
    assert.truthy(bars:find(">a</text>", 1, true))
  end)

  it("has a path for each colour of few cells", function()
    local svg = st.plot(st.tensor {{1, 2}, {1, 3}}, {kind = "heatmap"}):svg()
    -- 1 is the first colour of viridis and 3 the last one
    local d = svg:match '<path fill="#440154" d="([^"]*)"'
    assert.equal(2, count(d, "M"))
    local last = svg:match '<path fill="#fde725" d="([^"]*)"'
    assert.equal(1, count(last, "M"))
    -- at the bottom right, since row 1 is at the top
    local left, top, bottom, right = axes(svg)
    local x, y = last:match "M([%d.]+) ([%d.]+)"
    is_near(tonumber(x), (left + right) / 2)
    is_near(tonumber(y), (top + bottom) / 2)
    local function place(label)
      return tonumber(svg:match('y="([%d.]+)" text%-anchor="end">' .. label))
    end
    assert.is_true(place "1" < place "2")
    assert.equal(17, count(svg, "<stop "))
    assert.is_nil(st.plot(st.ones(2, 2), {kind = "heatmap", colorbar = false})
      :svg():find "<stop")
  end)

  it("is short whatever the number of points", function()
    local n = 100000
    local y = st.zeros(n)
    y[5001], y[70001] = 7, -9
    y["20000:29999"] = 0 / 0
    local svg = st.plot(y, {ylim = {-9, 7}}):svg()
    assert.is_true(#svg < 60000)
    local _, top, bottom, right = axes(svg)
    local path, low, high, last = path_of(svg), 0, 1e9, 0
    for _, p in ipairs(path) do
      low, high, last = math.max(low, p[2]), math.min(high, p[2]), p[1]
    end
    is_near(low, bottom)
    is_near(high, top)
    assert.is_true(last <= right)
    assert.equal(2, count(svg:match '<path class="line" d="([^"]*)"', "M"))
    local points = st.plot(st.rand(n), st.rand(n), {kind = "scatter"}):svg()
    assert.is_true(#points < 1000000)
    assert.is_true(#st.plot(st.rand(n), st.rand(n)):svg() < 1000000)
    assert.is_true(#st.plot(st.rand(400, 500), {kind = "heatmap"}):svg()
                   < 500000)
  end)

  it("is well-formed and holds any text", function()
    local bad = '<a & "b">\1\255 \237\160\128 é'
    local list = {
      st.plot(st.randn(50), {title = bad, xlabel = bad, ylabel = bad,
                             label = bad}),
      st.plot():bar({bad, "b"}, {1, 2}), st.plot(),
      st.plot(st.randn(70, 60), {kind = "heatmap"}),
      st.plot(st.rand(3, 9, 9), {kind = "image", title = ("w"):rep(300)}),
      st.plot({1e-300, 1e300}, {log = "y"}), st.plot({-1.7e308, 1.7e308}),
      st.plot({5e-324, 1e-323}), st.plot({0 / 0}), st.plot({1 / 0, 3}),
      st.plot(st.empty(0)), st.plot({7}), st.plot({0, 0, 0}, {kind = "hist"}),
      st.plot(st.randn(9, 30), {label = {"a", "b"}}),
      st.plot({1e15, 1e15 + 1}), st.plot(st.empty(0, 3), {kind = "image"}),
    }
    local folder = new_folder()
    for i, fig in ipairs(list) do
      local svg = fig:svg()
      assert.is_nil(svg:gsub("base64,[^\"]*", ""):find "[%s\"-]nan")
      assert.is_nil(svg:gsub("base64,[^\"]*", ""):find "[%s\"-]inf")
      files.write(("%s/%d.svg"):format(folder, i), svg)
      assert.equal("string", type(tostring(fig)))
    end
    assert.truthy(list[1]:svg():find(
      "&lt;a &amp; &quot;b&quot;&gt; ? ??? é", 1, true))
    if has "xmllint" then
      local out, status = build.shell("xmllint --noout " .. folder .. "/*.svg")
      assert.equal("", out)
      assert.equal(0, status)
    end
    remove_folder(folder)
  end)
end)

-- -- Data --------------------------------------------------------------------

describe("What is drawn", function()
  it("may have any dtype and be part of a graph", function()
    local function middle(values)
      local svg = st.plot(values):svg()
      local left, _, _, right = axes(svg)
      return (path_of(svg)[2][1] - left) / (right - left)
    end
    for _, dtype in ipairs {"bool", "uint8", "int64", "float16", "bfloat16",
                            "float64"} do
      is_near(0.5, middle(st.tensor({0, 1, 1}, {dtype = dtype})), 1e-3)
    end
    local w = st.ones(3):requires_grad_()
    assert.equal("string", type(tostring(st.plot(w * 2))))
  end)

  it("is given in several ways", function()
    local x, y = st.tensor {1, 2, 4}, st.tensor {3, 1, 2}
    local want = st.plot(x, y, {title = "t"}):svg()
    assert.equal(want, st.plot({x = x, y = y, title = "t"}):svg())
    assert.equal(want, st.plot({{x = x, y = y}, title = "t"}):svg())
    assert.equal(want, st.plot():line(x, y):set({title = "t"}):svg())
    assert.equal(want, st.plot(st.stack({x, y}, 2):select(2, 1), y,
                               {title = "t"}):svg())
    local both = st.plot(st.stack({x, y}, 2)):svg()
    assert.equal(both, st.plot({x, y}):svg())
    assert.equal(both, st.plot(x):line(y):svg())
  end)

  it("keeps nothing", function()
    tostring(st.plot(st.randn(9000)))
    local before = live()
    for _ = 1, 2 do
      st.plot(st.randn(9000)):svg()
      st.plot(st.randn(50, 50), {kind = "heatmap"}):svg()
    end
    assert.equal(before, live())
  end)
end)

-- -- Ticks -------------------------------------------------------------------

describe("Ticks", function()
  -- low, high, parts, texts, offset
  for _, row in ipairs {
    {0, 1, 5, "0.0 0.2 0.4 0.6 0.8 1.0"},
    {0, 10, 4, "0.0 2.5 5.0 7.5 10.0"},
    {-3, 7, 5, "-2 0 2 4 6"},
    {0, 3e6, 3, "0 1e6 2e6 3e6"},
    {0, 2e-4, 2, "0 1e-4 2e-4"},
    {1e6, 1e6 + 0.004, 2, "+0.000 +0.002 +0.004", "1000000"},
    {-1.79e308, 1.79e308, 4, "-1e308 0 1e308"},
  } do
    it(("from %g to %g"):format(row[1], row[2]), function()
      local list, offset = ticks.linear(row[1], row[2], row[3], false)
      local found = {}
      for i, tick in ipairs(list) do found[i] = tick.text end
      assert.equal(row[4], table.concat(found, " "))
      assert.equal(row[5], offset)
    end)
  end

  it("of any range are within it, few, and what they say", function()
    local random = 7
    local function draw()
      random = (random * 16807) % 2147483647
      return random / 2147483647
    end
    for _ = 1, 300 do
      local size = 10 ^ (draw() * 40 - 20)
      local low = (draw() - 0.5) * size
      local high = low + size * draw() + size / 1e3
      local n = 2 + math.floor(draw() * 8)
      local list, offset = ticks.linear(low, high, n, false)
      assert.is_true(#list >= 1 and #list <= n + 1)
      for _, tick in ipairs(list) do
        local slack = (high - low) * 1e-5
        assert.is_true(tick.value >= low - slack)
        assert.is_true(tick.value <= high + slack)
        local said = tonumber(tick.text) + (tonumber(offset or 0))
        assert.is_true(math.abs(said - tick.value) <= slack, tick.text)
      end
    end
  end)

  it("of logarithmic axes are powers of ten, and others between few", function()
    local function texts(low, high, n)
      local found = {}
      for _, tick in ipairs(ticks.log(low, high, n)) do
        found[#found + 1] = tick.text
      end
      return table.concat(found, " ")
    end
    assert.equal("1 10 100 1000", texts(1, 1000, 5))
    assert.equal("1 2 5 10", texts(1, 10, 5))
    assert.equal("10⁻⁵ 10⁰ 10⁵ 10¹⁰", texts(1e-6, 1e10, 4))
    assert.equal("2.0 2.5 3.0", texts(2, 3, 2))
  end)
end)

-- -- Files and misuse --------------------------------------------------------

describe("A figure", function()
  local folder
  setup(function() folder = new_folder() end)
  teardown(function() remove_folder(folder) end)

  it("is saved as SVG and as text", function()
    local fig = st.plot({1, 2})
    assert.equal(fig, fig:save(folder .. "/a.svg"))
    assert.equal(fig:svg(), files.read(folder .. "/a.svg"))
    fig:save(folder .. "/a.txt")
    assert.equal(fig:text {width = 80, colors = 0} .. "\n",
                 files.read(folder .. "/a.txt"))
  end)

  it("is saved as PNG by rsvg-convert, which may be missing", function()
    local path = folder .. "/it's.png"
    if has "rsvg-convert" then
      st.plot({1, 2}, {width = 320, height = 200}):save(path)
      -- its header has width and height, big-endian: 640, 400
      assert.equal("\137PNG\r\n\26\n\0\0\0\rIHDR\0\0\2\128\0\0\1\144",
                   files.read(path):sub(1, 24))
    end
    files.write(folder .. "/s.lua", ([[
      local st = require "strided"
      print(pcall(function() st.plot({1}):save("%s/b.png") end))
    ]]):format(folder))
    local lua = build.output("command -v " .. build.lua):match "%S+"
    local out = build.output(("PATH=/nowhere %s %s/s.lua"):format(lua, folder))
    assert.truthy(out:find("librsvg2-bin", 1, true), out)
  end)

  -- what is wrong, the call, what the error says
  local x = {1, 2, 3}
  for _, row in ipairs {
    {"sizes that differ", function() st.plot(x, {1, 2}) end,
     "plot: 'x' has 3 elements and 'y' has 2"},
    {"complex numbers", function() st.plot(st.ones({2}, {dtype = "complex64"}))
     end, "plot: argument 'y' is complex64 of shape {2}; draw its parts"},
    {"a text", function() st.plot("abc") end,
     "plot: argument 'y' must be a tensor or a list of numbers, got string"},
    {"texts in a list", function() st.plot {1, "a"} end,
     "plot: argument 'y': tensor: element [2] is a string"},
    {"three dimensions", function() st.plot(st.ones(2, 2, 2)) end,
     "plot: argument 'y' must have one dimension, got float32 of shape {2, 2"},
    {"many columns", function() st.plot(st.ones(2, 99)) end, "at most 64"},
    {"no elements", function() st.plot(st.empty({3}, {device = "meta"})) end,
     "'meta' and has no elements"},
    {"an unknown option", function() st.plot(x, {tilte = "t"}) end,
     "plot: there is no option 'tilte': did you mean title?"},
    {"matplotlib's option", function() st.plot(x, {yscale = "log"}) end,
     "plot: there is no option 'yscale': write log = \"y\""},
    {"an option of another kind", function() st.plot(x, {bins = 3}) end,
     "plot: there is no option 'bins'"},
    {"an unknown kind", function() st.plot(x, {kind = "pie"}) end,
     "plot: option 'kind' must be \"line\""},
    {"an unknown colour", function() st.plot(x, {color = "ultra"}) end,
     "plot: option 'color' must be \"#rrggbb\" or one of"},
    {"an unknown map", function() st.plot():heatmap(st.ones(2, 2),
                                                   {cmap = "jet"}) end,
     "heatmap: option 'cmap' must be one of coolwarm, gray"},
    {"limits that are none", function() st.plot(x, {xlim = {2, 1}}) end,
     "plot: option 'xlim' must be two numbers {low, high}"},
    {"nothing above 0", function() st.plot({-1, 0}, {log = "y"}) end,
     "plot: 'y' has no number above 0 for a logarithmic axis"},
    {"limits below 0", function() st.plot(x, {log = "y", ylim = {-1, 1}}) end,
     "plot: option 'ylim' must begin above 0"},
    {"another axis", function() st.plot(x, {log = "z"}) end,
     "plot: option 'log' must be \"x\", \"y\" or \"xy\", got z"},
    {"bins of none", function() st.plot():hist(x, {bins = 0}) end,
     "hist: option 'bins' must be a whole number"},
    {"edges that fall", function() st.plot():hist(x, {bins = {2, 1}}) end,
     "hist: option 'bins' must be a number, or at least two increasing"},
    {"a vector as a map", function() st.plot():heatmap(st.ones(3)) end,
     "heatmap: argument 't' must have two dimensions"},
    {"five channels", function() st.plot():image(st.ones(5, 5, 5)) end,
     "image: an image has 1, 3 or 4 channels"},
    {"texts of other bars", function() st.plot():bar({"a"}, {1, 2}) end,
     "bar: 'x' has 1 texts and 'y' has 2 elements"},
    {"a series of a list", function() st.plot {{y = {1}}, {x = {1}, y = x}} end,
     "plot: series 2: 'x' has 1 elements and 'y' has 3"},
    {"a call with a dot", function() st.plot(x).line(x) end,
     "line: write fig:line() with a colon"},
    {"an unknown method", function() st.plot(x):lines(x) end,
     "a figure has no 'lines': did you mean line?"},
    {"an option as a method", function() st.plot(x):title "t" end,
     "a figure has no 'title': write fig:set {title = ...}"},
    {"another suffix", function() st.plot(x):save "a.bmp" end,
     "save: 'a.bmp' must end in .svg, .png, .pdf or .txt"},
    {"a depth of colours", function() st.plot(x):text {colors = 3} end,
     "text: option 'colors' must be 0, 256 or 16777216, got 3"},
    {"a text as wide as a book", function() st.plot(x):text {width = 1e5} end,
     "text: option 'width' must be at most 1000, got 100000"},
    {"options of another kind", function() st.plot(x, nil, 5) end,
     "plot: the options must be a table, got number"},
    {"a path with a NUL", function() st.plot(x):save "/nowhere/a\0.svg" end,
     "save: the path has a NUL in it"},
    {"a folder that is not there", function()
      st.plot(x):save "/nowhere/a.svg"
    end, "save: cannot write '/nowhere/a.svg': "},
    {"other graphics", function() st.plot(x):show {graphics = "vga"} end,
     "show: option 'graphics' must be"},
  } do
    it("refuses " .. row[1], function() raises(row[3], row[2]) end)
  end

  it("has bins of large numbers that are equal", function()
    for _, size in ipairs {2 ^ 53, 1e17, -1e300, 1.7976931348623157e308} do
      local fig = st.plot({size, size}, {kind = "hist"})
      assert.equal(2, fig.series[1].counts:sum():item())
      assert.falsy(fig:svg():find "nan")
    end
  end)

  it("is found by those who know other libraries", function()
    for _, name in ipairs {"hist", "imshow", "heatmap", "figure", "plt"} do
      raises("st.plot(", function() return st[name] end)
    end
    raises("st.progress(", function() return st.tqdm end)
  end)

  it("is unchanged by a call that fails", function()
    local fig = st.plot({-1, -2})
    local before = fig:svg()
    raises("above 0", function() fig:set {log = "y"} end)
    raises("above 0", function() fig:line({1}, {title = "t", log = "y"}) end)
    assert.equal(before, fig:svg())
  end)
end)
