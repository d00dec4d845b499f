--- How a session shows values.
-- axes: lua lua5.2

local show = require "strided.session.show"
local st = require "strided"

describe("A value", function()
  local function many(n)
    local t = {}
    for i = 1, n do t[i] = i end
    return t
  end
  local cycle = {name = "me"}
  cycle.self = cycle
  local cases = {
    {nil, "nil"}, {true, "true"}, {1.5, "1.5"}, {"raw\n", "raw\n"},
    {{}, "{}"}, {{1, 2, "a\n\0\""}, [[{1, 2, "a\n\000\""}]]},
    {{b = 1, a = 2, [3] = 4, ["end"] = 5, ["x y"] = 6, [true] = 7},
     '{[3] = 4, a = 2, b = 1, ["end"] = 5, ["x y"] = 6, [true] = 7}'},
    {{1, nil, 3}, "{1, [3] = 3}"},
    {cycle, '{name = "me", self = <cycle>}'},
    {{{{{{1}}}}}, "{{{{{...}}}}}"}, {{{{{{}}}}}, "{{{{{}}}}}"},
    {many(41), "{\n  1,\n.*  40,\n  %.%.%. 1 more\n}", is_pattern = true},
    {{("x"):rep(90)}, '{\n  "' .. ("x"):rep(90) .. '"\n}'},
    {setmetatable({}, {__tostring = function() return "own" end}), "own"},
    {setmetatable({}, {__tostring = function() return true end}),
     "<table: its tostring fails>"},
    {setmetatable({1}, {__index = error, __metatable = "locked"}), "{1}"},
  }
  for i, case in ipairs(cases) do
    it("is shown: " .. i, function()
      local text = show.value(case[1])
      if case.is_pattern then
        assert.matches("^" .. case[2] .. "$", text)
      else
        assert.equal(case[2], text)
      end
    end)
  end

  it("that is large is cut short", function()
    local wide = {}
    for i = 1, 30 do wide[i] = {many(30)} end
    local _, lines = show.value(wide):gsub("\n", "\n")
    assert.is_true(lines < 300)
  end)

  it("of several lines stays aligned", function()
    assert.equal("{\n  t = tensor([[1., 1.],\n              [1., 1.]])\n}",
                 show.value {t = st.ones(2, 2)})
    assert.equal("tensor([[1.],\n        [1.]])\n1",
                 show.values(false, st.ones(2, 1), 1))
  end)

  it("that is a tensor shows what requires a gradient", function()
    local w = st.tensor({1, 2}, {dtype = "float32", requires_grad = true})
    assert.equal("tensor([1., 2.], requires_grad=true)", show.value(w))
    assert.equal("tensor([2., 4.], grad_fn=<MulBackward0>)", show.value(w * 2))
    assert.equal("{tensor([1., 2.], requires_grad=true), "
                 .. "n = tensor([1., 2.])}",
                 show.value {w, n = w:detach()})
    local wide = st.ones({1, 13}, {requires_grad = true})
    assert.equal("tensor([[1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., "
                 .. "1.]],\n"
                 .. "       requires_grad=true)", show.value(wide))
  end)

  -- The breaks are those of PyTorch 2.15.
  it("that is a tensor is printed by print(t) in the same way", function()
    local w = st.ones({2}, {requires_grad = true})
    assert.equal("tensor([1., 1.], requires_grad=true)", tostring(w))
    assert.equal("tensor([2., 2.], grad_fn=<MulBackward0>)", tostring(w * 2))
    assert.equal("tensor([1., 1.])", tostring(w:detach()))
    local ones = st.ones({1, 12}, {requires_grad = true})
    assert.is_nil(tostring(ones):find "\n")
    assert.matches("1%.%]%],\n       requires_grad=true%)$",
                   tostring(st.ones({1, 13}, {requires_grad = true})))
    assert.is_nil(tostring(st.ones({11}, {requires_grad = true}) * 2):find "\n")
    assert.matches("2%.%],\n       grad_fn=<MulBackward0>%)$",
                   tostring(st.ones({12}, {requires_grad = true}) * 2))
  end)

  it("that is a list of tensors shows them", function()
    local list = st.arange(4):split(2)
    assert.equal("{tensor([0, 1]), tensor([2, 3])}", tostring(list))
    assert.equal(tostring(list), show.value(list))
    assert.equal("{parts = " .. tostring(list) .. "}",
                 show.value {parts = list})
  end)

  it("that is a trace has a line for each event", function()
    local list = st.trace(st.flatten, st.arange(6):view(2, 3):t())
    local text = show.value(list):gsub("%d+%.?%d* [num]?s", "T"):gsub(" +", " ")
    assert.equal(" time operator key arguments\n"
                 .. " T flatten.using_ints CPU int64 {3, 2} strided\n"
                 .. " T clone CPU int64 {3, 2} strided\n"
                 .. " T view ADInplaceOrView int64 {3, 2}\n"
                 .. " view CPU", text)
    assert.matches("\n +%d+%.?%d* %a?s    clone ", show.value(list))
    assert.equal('{{op = "x"}}', show.value {{op = "x"}})
  end)

  it("that is a long error is broken between words", function()
    local word = ("x"):rep(39)
    assert.equal(word .. " y", show.fold(word .. " y"))
    assert.equal("  " .. word .. "\n    " .. word .. "\nshort",
                 show.fold("  " .. word .. " " .. word .. "\nshort"))
    local trace = "\t" .. word .. " " .. word .. " " .. word
    assert.equal(trace, show.fold(trace))
  end)

  it("has a colour of its kind, if asked for", function()
    assert.equal('{\27[36m1\27[0m, \27[32m"a"\27[0m}',
                 show.value({1, "a"}, true))
    assert.equal("a", show.value("a", true))
  end)
end)
