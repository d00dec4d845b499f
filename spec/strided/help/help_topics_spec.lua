--- st.help by topic, st.apropos, and what programs document themselves.
-- axes: lua unsanitized
-- sampled: 3

local build = require "spec.support.build"
local files = require "spec.support.files"
local raises = require("spec.support.tensors").raises
local core = require "strided.core"
local st = require "strided"

require "strided.io.reader" -- has a function double of its own

local function has(text, ...)
  for _, part in ipairs {...} do
    assert.truthy(text:find(part, 1, true), part .. " is not in:\n" .. text)
  end
end

--- The names at the beginning of the lines of a list, in one line.
local function names(text)
  local list = {}
  for name in ("\n" .. text):gmatch "\n  (%S+)" do list[#list + 1] = name end
  return table.concat(list, " ")
end

describe("st.help of a class", function()
  for name, methods in pairs {
    library = "def impl fallback elementwise reduction derivative close",
    Generator = "manual_seed jump get_state", iterator = "run get set",
    GradScaler = "scale unscale_ step update", plot = "line scatter svg",
    ["data.DataLoader"] = "close iter size", ["data.Dataset"] = "map",
    ["nn.Module"] = "state_dict parameters register_buffer",
    ["optim.SGD"] = "step zero_grad state_dict",
    ["optim.LBFGS"] = "step zero_grad add_param_group",
    ["optim.lr_scheduler.StepLR"] = "step get_last_lr load_state_dict",
    ["distributions.Normal"] = "sample rsample log_prob entropy",
  } do
    it("lists its methods: " .. name, function()
      local text = st.help(name)
      local list = text:match "[Mm]ethods?[ :].*$"
      for method in methods:gmatch "%S+" do
        assert.matches("%f[%w_]" .. method .. "%f[^%w_]", list or text)
      end
    end)
  end

  it("lists those alone that exist and are public", function()
    local nn, lr = st.nn, st.optim.lr_scheduler
    for name, class in pairs {
      ["nn.Module"] = nn.Module, ["data.DataLoader"] = st.data.DataLoader,
      ["optim.Adam"] = st.optim.Adam, ["optim.lr_scheduler.StepLR"] = lr.StepLR,
      ["distributions.Gamma"] = st.distributions.Gamma,
    } do
      local list = st.help(name):match "\n  methods (.-)\n%f[^ \n]" or
                   st.help(name):match "\n  methods (.*)$"
      local n = 0
      for method in list:gmatch "[%w_]+" do
        assert.equal("function", type(class[method]), name .. ":" .. method)
        n = n + 1
      end
      assert.is_true(n > 2)
    end
    assert.is_nil(st.help "optim.lr_scheduler.StepLR":find("undo", 1, true))
    assert.is_nil(st.help "nn.Linear":find("\n  methods", 1, true))
  end)
end)

describe("st.help of a topic", function()
  it("lists what the files of operators and the modules have", function()
    has(st.help "linalg", "linalg: products", "\n  matmul ", "\n  linalg.inv ",
        "\n  cholesky ")
    has(st.help "reduce", "\n  sum ", "\n  amax ", "\n  cumsum ")
    has(st.help "nn", "\n  nn.Linear ", "\n  softmax ", "\n  nn.init.xavier")
    has(st.help "optim", "\n  optim.SGD ", "lr_scheduler.OneCycleLR ")
    has(st.help "io", "\n  load ", "\n  save ")
    has(st.help "data", "\n  data.DataLoader ")
    has(st.help "shape", "\n  cat ", "\n  permute ")
    has(st.help "random", "\n  rand ", "\n  manual_seed ")
    has(st.help(st.fft), "\n  fft.fft ")
    assert.is_nil(st.help "linalg":find("\n  sum ", 1, true))
  end)

  it("is within 80 columns", function()
    for topic in st.help():match "\ntopics\n(.*)$":gmatch "\n  (%w+)" do
      for line in st.help(topic):gmatch "[^\n]+" do
        assert.is_true(#line <= 80, line)
      end
    end
  end)

  it("has groups where it is long, with every name once", function()
    local wanted = {elementwise = 0, nn = 0, linalg = 0}
    for _, e in ipairs(require("strided.help.catalogue").all()) do
      if wanted[e.topic] and e.kind ~= "method" and
         not e.name:find "_backward$" then
        wanted[e.topic] = wanted[e.topic] + 1
      end
    end
    for topic, count in pairs(wanted) do
      local seen, n = {}, 0
      for name in st.help(topic):gmatch "\n  (%S+)" do
        assert.is_nil(seen[name], name)
        seen[name], n = true, n + 1
      end
      assert.equal(count, n)
    end
    has(st.help "nn", "\n\nlosses (", "\n\nactivations (")
    has(st.help "elementwise":match "\nangles.-\n\n", "\n  sin ", "\n  atan2 ")
    has(st.help "linalg":match "\nequations.-\n\n", "linalg.inv ")
    assert.is_nil(st.help "elementwise":find("\nothers", 1, true))
  end)

  it("is known for the functions of every module", function()
    assert.is_nil(st.help():find("operators of the library", 1, true))
    has(st.help "general", "\n  timeit ")
  end)

  it("is that of the folder of the operator's row", function()
    assert.matches("debug: core/op/reduce/ops.def\n", st.ops.aten.sum:dump())
    assert.matches("debug: core/op/shape/ops.def\n",
                   st.ops.aten.view.default:dump())
  end)

  it("is also the namespace of a library of the user", function()
    local lib = st.library "topical"
    lib:def("half(Tensor x) -> Tensor", "Half of x. Rounded.")
    has(st.help "topical", "library topical", "\n  topical::half  Half of x.")
    has(st.help "topical::half", "topical::half: Half of x. Rounded.",
        "st.ops.topical.half(x: Tensor) -> Tensor")
    has(st.apropos "topical half", "topical::half")
    lib:close()
    assert.matches("nothing is known", st.help "topical")
  end)
end)

describe("st.apropos", function()
  it("finds words in names and sentences, the best first", function()
    local found = names(st.apropos "inverse")
    assert.matches("^inverse ", found)
    has(found, "linalg.inv", "cholesky_inverse", "acos")
    has(st.apropos "learning rate", "optim")
    has(names(st.apropos "Running mean"), "batch_norm", "optim.RMSprop")
    has(st.apropos "broadcasting", "broadcasting")
  end)

  it("finds other forms of a word", function()
    for _, word in ipairs {"interpolate", "interpolation", "interpolating"} do
      has("\n" .. names(st.apropos(word)):gsub(" ", "\n"), "interp\n",
          "interpolate\n")
    end
    has(names(st.apropos "inverted"), "inverse")
    has(names(st.apropos "normalised"), "normalize")
  end)

  it("finds parts of names, and nothing within a word", function()
    has(names(st.apropos "transpose2d"), "conv_transpose2d")
    has(names(st.apropos "sum"), "cumsum", "nansum", "sum")
    has(names(st.apropos "norm2d"), "BatchNorm2d")
    assert.equal("coming-from", names(st.apropos "coming"))
    for _, word in ipairs {"ormalis", "nterp", "uadr"} do
      assert.equal("nothing is known about '" .. word .. "'",
                   st.apropos(word))
    end
  end)

  it("is cut short unless all is asked for", function()
    local short, long = st.apropos "sum", st.apropos("sum", {all = true})
    local _, lines = short:gsub("\n", "\n")
    assert.equal(20, lines)
    assert.is_true(#long > #short)
    has(short, 'more: st.apropos("sum", {all = true})')
  end)

  it("says what it cannot find or take", function()
    assert.equal("nothing is known about 'qqzzy'", st.apropos "qqzzy")
    raises({"apropos: ", "string", "number"}, st.apropos, 1)
    raises({"apropos: ", "has no word"}, st.apropos, "%%")
    raises({"apropos: there is no option 'al'"}, st.apropos, "x", {al = 1})
  end)
end)

describe("The page on dtypes", function()
  it("names all that tensors have", function()
    local header = files.read(build.root .. "/core/abi/dtypes.h")
    local map = header:match "#define ST_DTYPE_MAP%(X%)(.-)\n\n"
    local page, count = st.help "dtypes", 0
    for name in map:gmatch '"([%w_]+)"' do
      count = count + 1
      if name ~= "int128" then -- of type promotion only
        assert.truthy(page:find("%f[%w_]" .. name .. "%f[^%w_]"), name)
      end
    end
    assert.is_true(count > 20)
  end)
end)

describe("A name that is not there", function()
  it("says so if the library does not have it, or names its page", function()
    has(st.help "vmap", "there is no vmap")
    has(st.help "torch.vmap", "there is no vmap")
    has(st.help "sparse", "there are no sparse tensors")
    has(st.help "compile", "write st.fuse(fn)")
    has(st.help "coming", "Coming from PyTorch, NumPy or torch7")
    for _, name in ipairs {"F", "nn.functional", "functional"} do
      has(st.help(name), "functional: where the functions of ")
    end
    has(st.help(), "\n  absent ", "\n  functional ")
    has(st.help "absent", "sparse tensors", "ONNX", "vmap", "splines")
  end)

  it("brings similar ones, of the same letters first", function()
    has(st.help "sofmax", "did you mean softmax")
    has(st.help "nn.linear_", "linear")
    has(st.help "optim.Adamm", "optim.Adam")
  end)

  it("is searched for by its words", function()
    has(st.help "qqz speeds", 'search by st.apropos "qqz speeds"')
    has(st.help "qqz.qqzz", 'search by st.apropos "qqz"')
    assert.equal("nothing is known about '1+': st.help() lists the topics",
                 st.help "1+")
    has(st.help "types", "dtypes: types of elements", "language servers")
  end)

  it("may be the name of another library", function()
    has(st.help "from_numpy", "st.frombuffer")
    has(st.help "cmul", "t:mul")
    has(st.help "+", "+ is st.add\nadd: ")
    assert.equal('double: t:double() is t:to "float64"', st.help "double")
  end)
end)

describe("st.document", function()
  it("gives a function a text", function()
    local function area(r) return 3 * r * r end
    assert.equal(area, st.document(area, "The area of a circle."))
    has(st.help(area), "The area of a circle.", "help_topics_spec.lua:")
    rawset(_G, "spec_area", area)
    has(st.apropos "circle", "spec_area", "The area of a circle.")
    has(st.help "yours", "spec_area")
    rawset(_G, "spec_area", nil)
  end)

  it("refuses what has no identity", function()
    raises({"document: argument 1", "number"}, st.document, 1, "One.")
    raises({"document: argument 2", "nil"}, st.document, print)
  end)
end)

describe("A function of a program", function()
  --- Twice a number.
  -- Or a string.
  local function twice(a) return a .. a end

  it("is described by the comment above it", function()
    has(st.help(twice), "Twice a number.\nOr a string.\n", "twice(",
        "function at ", "help_topics_spec.lua:")
    has(st.help(print), "written in C")
  end)

  --- Adds a number to what it gets.
  local Adder = st.nn.Module:extend "SpecAdder"
  function Adder:init(n) self.n = n end
  function Adder:forward(x) return x + self.n end

  it("or a class, by the comment above its declaration", function()
    for _, value in ipairs {Adder, Adder(3)} do
      has(st.help(value), "SpecAdder(", "\nAdds a number to what it gets.\n",
          "class at ", "help_topics_spec.lua:")
    end
    assert.matches("^st.nn.Linear", st.help(st.nn.Linear(2, 2)))
    assert.matches("^st.nn.Sequential", st.help(st.nn.Sequential()))
  end)
end)

describe("Everything public", function()
  -- Tables of names, and a class for what the loader makes itself.
  local LEFT_OUT = {
    ["data.MapDataset"] = true, ["distributions.constraints"] = true,
    ["distributions.transforms"] = true, ["nn.utils.parametrize"] = true,
    ["nn.utils.parametrizations"] = true,
  }

  --- The names of a table without help, in one line.
  local function lacking(place, t)
    local list = {}
    for name, value in pairs(t) do
      local kind = type(value)
      if type(name) == "string" and not name:find "^_" and
         (kind == "function" or kind == "table") and
         not LEFT_OUT[place .. name] and
         st.help(place .. name):find "^nothing is known" then
        list[#list + 1] = place .. name
      end
    end
    table.sort(list)
    return table.concat(list, " ")
  end

  for _, place in ipairs {"nn.", "nn.utils.", "nn.init.", "optim.", "data.",
                          "optim.lr_scheduler.", "data.transforms.",
                          "autograd.", "distributions.", "memory.",
                          "masked."} do
    it("has help: st." .. place, function()
      local t = st
      for part in place:gmatch "[%w_]+" do t = t[part] end
      assert.equal("", lacking(place, t))
    end)
  end

  it("has help: st, methods and properties", function()
    for name in pairs(debug.getmetatable(st).names()) do
      assert.is_not_nil(st[name])
    end
    assert.equal("", lacking("", st))
    assert.equal("", lacking("", core.methods))
    assert.equal("", lacking("", core.properties))
  end)
end)
