--- What Tab completes in a session.
-- axes: lua unsanitized

local complete = require("strided.session.complete").complete
local live = require("spec.support.tensors").live
local st = require "strided"

local HERE = require("spec.support.build").root .. "/spec"

describe("Completion", function()
  local before, env, has_run
  setup(function()
    before = live()
    env = {
      st = st, t = st.ones(2, 3), s = "text", print = print, string = string,
      fields = {one = {two = 2, ["not a name"] = 1, _hidden = 1}, f = print},
      object = setmetatable({}, {__index = {method = print, field = 1}}),
      trap = setmetatable({}, {__index = function() has_run = true end}),
    }
  end)
  teardown(function() env = nil end)

  local cases = {
    {"prin", "print"}, {"x = prin", "print"}, {"f(prin", "print"},
    {"whi", "while"},
    {"fields.", "fields.f fields.one"},
    {"fields.one.", "fields.one.two"}, {"fields.one._", "fields.one._hidden"},
    {"fields:", "fields:f"}, {"-fields.o", "fields.one"},
    {"object:", "object:method"}, {"object.f", "object.field"},
    {"s:fo", "s:format"}, {"string.rep", "string.rep"},
    {"t:softma", "t:softmax"}, {"t.sha", "t.shape"}, {"t:sha", ""},
    {"t:totab", "t:totable"},
    {"st.linalg", "st.linalg"}, {"st.linalg_inv", "st.linalg_inv "
     .. "st.linalg_inv_ex"}, {"st.linalg.inv", "st.linalg.inv "
     .. "st.linalg.inv_ex"}, {"st.fft", "st.fft"}, {"st.speci", "st.special"},
    {"st.softma", "st.softmax"}, {"st.get_print", "st.get_printoptions"},
    {"st.ops.at", "st.ops.aten"}, {"st.ops.aten.softma", "st.ops.aten.softmax"},
    {"st.ops.aten.add.Sc",
     "st.ops.aten.add.Scalar st.ops.aten.add.Scalar_out"},
    {"st.ops.aten.add:sch", "st.ops.aten.add:schema"},
    {"st.ops.aten.relu.", "st.ops.aten.relu.default st.ops.aten.relu.out"},
    {"?softma", "softmax"}, {"?st.softma", "st.softmax"},
    {"??linalg.invers", ""}, {"?nn.MSEL", "nn.MSELoss"},
    {"?broadcasti", "broadcasting"}, {"?fields", "fields"},
    {"t:sum {keep", "keepdim = "}, {"t:sum(1, {dt", "dtype = "},
    {"st.zeros({2}, {dev", "device = "},
    {"st.optim.SGD(p, {lr = 1, mom", "momentum = "},
    {"nn.Linear(2, 3, {b", "bias = "}, {"{t, pri", "print"},
    {"st.asarray(1, {co", "copy = "}, {"x[{fiel", "fields"},
    {"f({a = {1}, fiel", "fields"},
    {"t:to 'floa", "float16 float32 float64 float8_e4m3fn float8_e5m2 "
     .. "float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2"},
    {"t:to('cp", "cpu"},
    {"{dtype = 'bf", "bfloat16"}, {"{device = 'm", "meta"},
    {"{memory_format = 'channels_last_", "channels_last_3d"},
    {"st.help 'linalg.in", "linalg.inv linalg.inv_ex"},
    {"st.load '" .. HERE .. "/strided/session/re",
     HERE .. "/strided/session/repl_spec.lua"},
    {"st.load('" .. HERE .. "/strided/session/co",
     HERE .. "/strided/session/comments_spec.lua " .. HERE
     .. "/strided/session/completion_spec.lua"},
    {"st.load '/no/such/", ""},
    {"trap.x", ""}, {"trap.x.y", ""}, {"nope.x", ""}, {"f().x", ""},
    {"t[1].sh", ""}, {"1.", ""}, {"a..pri", ""}, {"'prin", ""},
    {'"a\\"prin', ""}, {"'a' .. prin", "print"},
  }
  for _, case in ipairs(cases) do
    it("of " .. case[1], function()
      assert.equal(case[2], table.concat(complete(case[1], env), " "))
      assert.is_nil(has_run)
    end)
  end

  it("of a family is itself, whatever was looked up", function()
    assert.truthy(st.linalg_vector_norm)
    assert.same({"st.linalg"}, (complete("st.linalg", env)))
  end)

  it("of nothing lists the globals", function()
    local words = " " .. table.concat(complete("", env), " ") .. " "
    assert.matches(" fields .* print .* while ", words)
  end)

  it("knows libraries while they are open", function()
    local lib = st.library "completed"
    lib:def "frobnicate(Tensor x) -> Tensor"
    assert.same({"st.ops.completed.frobnicate"},
                (complete("st.ops.completed.f", env)))
    assert.same({"st.frobnicate"}, (complete("st.frob", env)))
    assert.same({"completed::frobnicate"}, (complete("?completed::f", env)))
    lib:close()
    assert.same({}, (complete("st.frob", env)))
  end)

  it("takes any bytes", function()
    for i = 0, 255 do
      local c = string.char(i)
      assert.equal("table", type((complete("st." .. c, env))))
      assert.equal("table", type((complete(c .. "st.ops." .. c .. ".", env))))
    end
  end)

  it("leaves no tensor behind", function()
    env = nil
    assert.equal(before, live())
  end)
end)
