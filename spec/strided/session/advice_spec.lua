--- What a session and the command say to Python that is typed into Lua, and
-- after errors of Lua about tensors.
-- axes: lua unsanitized

local advice = require "strided.session.advice"
local failure = require "strided.session.traceback"
local st = require "strided"

local compile = loadstring or load

describe("Python that is no Lua", function()
  local cases = {
    {"import torch", "require"}, {"from torch import nn", "require"},
    {"a @ b", "a:matmul(b)"}, {"x[:8]", 'x["1:8"]'}, {"x[0, 1:3]", 'x["1:8"]'},
    {"x[:, 0]", 'x[":, 1"]'}, {"y = f(x, dim=1)", "{name = value}"},
    {"a += 1", "a = a + b"}, {"x = [1, 2]", "{1, 2, 3}"},
    {"2 ** 3", "a ^ b"}, {"f = lambda x: x", "function(x)"},
    {"class Net(nn.Module):", 'st.nn.Module:extend "Net"'},
    {"def f(x):", "function f(x)"}, {"if x > 0:", "then"},
    {"with torch.no_grad():", "st.no_grad(function()"},
    {"x != 1", "~="}, {"1 if x else 2", "condition and a or b"},
    {"for x in y: print(x)", "do"}, {"# a comment", "--"},
    {"try: f()", "pcall"}, {"~x", "logical_not"},
    {"print('a: [1:2]') @ b", "a:matmul(b)"},
    {"print x", "print(x)"}, {"print x.y ", "print(x.y)"},
    {"st.zeros((2, 3))", "f(2, 3)"}, {"x:reshape((2, -1))", "f({2, 3})"},
    {"net:save x", "net:save(x)"},
    {"y = 1 + x:sum 2", "x:sum()"}, {"y = x:sum", "x:sum()"},
  }
  for _, case in ipairs(cases) do
    it("is told what to write: " .. case[1], function()
      local chunk, why = compile("x = 1\n" .. case[1], "=input")
      if chunk then return end -- `~x` is Lua 5.3
      local found = advice.syntax(why, "x = 1\n" .. case[1])
      assert.truthy(found and found:find(case[2], 1, true), found)
    end)
  end

  it("ends where Lua would read on", function()
    assert.is_true(advice.is_python "for i in range(3):")
    assert.is_true(advice.is_python "while x:")
    assert.is_false(advice.is_python "for i = 1, 3 do")
    assert.is_false(advice.is_python "x = object:")
  end)

  it("is not seen in wrong Lua", function()
    for _, text in ipairs {"f(x, {dim = 1)", "t[x:size(1]", "x = = 1",
                           "if x ~= 1 the", "f(x, {a = 1}, )", "'x[:8]' = 1",
                           "local x y", "for x in", "return x y"} do
      local _, why = compile(text, "=input")
      assert.is_nil(advice.syntax(why, text))
    end
  end)
end)

describe("An error of Lua", function()
  local t = st.tensor {1.5, 2.5}

  --- What a session says to the error of a text.
  local function said(text)
    local chunk = assert(compile("local st, t = ...\n" .. text, "=input"))
    local _, message = xpcall(function() chunk(st, t) end, failure.text)
    return message
  end

  local cases = {
    {"np.zeros(1)", "the global st"}, {"F.relu(t)", "?functional"},
    {"return len(t)", "#t"},
    {"local _ = math.sqrt(t)", "t:sqrt()"}, {"return t[1]:item()", "item()"},
    {"return st.cov(t.T)", "x:T(), not x.T"},
    {"return st.linalg.inv(st.tensor {{1, 2}, {3, 4}})", "t:float()"},
    {"return st.poisson(st.tensor {4})", "\n  write t:float()"},
    {"st.histc(st.tensor({1}, {dtype = 'uint16'}))", "\n  write t:float()"},
    {'local s = ("%.3f"):format(t:sum()) return s', "is t:item()"},
    {"local s = ('a'):rep(t:sum()) return s", "is t:item()"},
    {"for _ = 1, t:sum() do end", "is t:item()"},
    {"return t.T + 1", "x:T(), not x.T"}, {"return t.mT.shape", "x:mT()"},
    {"return #t.sum", "x:sum()"}, {"return -t.sum", "x:sum()"},
    {"st.nn.Linear(1, 2):save 'a.pt'", "st.save(path, module:state_dict())"},
    {'require "torch"', "the global st"},
    {"return st.distributions.Gamma(2, 1).sample({3})", "with a colon"},
    {"return st.nn.Linear.extra_repr(nil)", "with a colon"},
  }
  if not (pcall(function() return t[{1}] > 1 end)) then
    cases[#cases + 1] = {"return t[{1}] > 1", "t:gt(1)"}
  end
  for _, case in ipairs(cases) do
    it("is told what to write: " .. case[1], function()
      local text = said(case[1])
      assert.truthy(text:find(case[2], 1, true), text)
    end)
  end

  it("of something else is as it was", function()
    assert.is_nil(said("local t = {f = print} return t.f.x"):find "colon")
    assert.is_nil(said("local t = {f = print} return t.f + 1"):find "method")
    assert.is_nil(said("return ('%d'):format('a')"):find "item")
    assert.matches("^input:2: mine\nstack traceback:", said "error 'mine'")
    assert.is_nil(advice.error "input:1: attempt to call a nil value")
  end)
end)

describe("A name that was meant otherwise", function()
  local raises = require("spec.support.tensors").raises

  it("is told at the call", function()
    raises({"frombuffer: ", 'write {dtype = "int16"}'}, st.frombuffer,
           "\1\0", "int16")
    raises({"write local a, b = st.linalg.qr(...)"}, function()
      return st.ones(2, 2).Q
    end)
    raises({"tostring_bytes"}, function() return st.ones(2).tobytes end)
    raises({"strided-image"}, function() return st.imread end)
    raises({"got table and nothing; write local re, im = unpack(list)"},
           st.complex, {})
    local sgd = st.optim.SGD({st.ones(1):requires_grad_()}, {lr = 1})
    raises({"it is not in a table: write StepLR(optimizer, 50)"},
           st.optim.lr_scheduler.StepLR, sgd, {step_size = 50})
    local loader = st.data.DataLoader(st.data.TensorDataset(st.ones(2)))
    raises({"write for a, b in loader:iter() do"}, function()
      for _ in loader do error "it ran" end
    end)
    local Net = st.nn.Module:extend "Net"
    function Net:__init() self.a = 1 end
    raises({"the constructor is called init; write function Net:init(...)"},
           Net)
  end)
end)
