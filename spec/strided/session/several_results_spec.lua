--- A call of several results whose first one is indexed by a number: the
-- session warns of it, once for each function, and computes what Lua computes.
-- axes: lua unsanitized

local build = require "spec.support.build"
local several = require "strided.session.several_results"
local typed_session = require "spec.support.typed_session"

local process = typed_session.new()
teardown(process.remove)

local function piped(text)
  return build.shell(process.settings .. process.command .. " <'"
                     .. process.write("input", text) .. "' 2>&1")
end

local HEAD = "local x = st.tensor {{3, 1, 2}, {9, 7, 8}}\n"

describe("A session warns of the first of several results", function()
  for _, row in ipairs {
    {"x:topk(2)[1]", "topk", "tensor([3, 2])"},
    {"x:sort()[-1]", "sort", "tensor([7, 8, 9])"},
    {"y = x:max(2)[ 1 ]; print(y)", "max", "3"},
    {"st.linalg.qr(x:float())[1].shape", "qr", "{2}"},
    {"(x + 0):cummin(1)[1]", "cummin", "tensor([3, 1, 2])"},
    {"({x})[1]:view(3, 2):topk(1)[2]", "topk", "tensor([9])"},
    {"x[{{1, 2}}]:topk(2, {dim = 2})[1]", "topk", "tensor([3, 2])"},
    {"local t = {f = function(y) return y:topk(2)[1] end} t.f(x)", "topk"},
    {"local qr = st.linalg.qr; print(#qr(x:float())[1])", "qr", "2"},
  } do
    it("once: " .. row[1], function()
      local code = row[1]
      if code:find "^local" then code = "do " .. code .. " end" end
      local text = piped(HEAD .. code .. "\n" .. code)
      assert.truthy(text:find("warning: " .. row[2] .. " gives 2 values", 1,
                              true), text)
      local _, n = text:gsub("warning", "")
      assert.equal(1, n, text)
      if row[3] then assert.truthy(text:find(row[3], 1, true), text) end
    end)
  end

  it("and of nothing else", function()
    assert.equal("tensor([3, 2])\ntensor([ 6, 24])\ntensor([3, 1, 2])\n"
      .. "tensor([[3, 1, 2]])\n24\ntensor([3, 2])\n11\ntensor(3)\n",
      piped(HEAD .. [[
(x:topk(2))[1]
x:sum(2):view(2)
x:clone()[1]
x:split(1)[1]
x:sum(2)[2]
x:topk(2)["1"]
(function() return {11}, 2 end)()[1]
"x:topk(2)[1]", -- x:topk(2)[1]
x[{1, 1}]
]]):gsub('x:topk%(2%)%[1%]\t', ""))
  end)

  it("in texts that stay the same for others", function()
    for _, text in ipairs {
      "f(x)", "t[1]", "f(x)[i]", "(f(x))[1]", "function f(a) t = {} end",
      "f {1}[1]", "'f(x)[1]'", "-- f(x)[1]", "f(x)['1']", "f(x)[1][2] = 3",
    } do
      local marked = several.mark(text, "check")
      if text:find "%[2%]" then
        assert.equal("check(\"f\", f(x))[1][2] = 3", marked)
      else
        assert.equal(text, marked)
      end
    end
    assert.equal('check("sort", check("topk", a.b[c](d):topk(1))[1]:sort())[2]',
                 several.mark("a.b[c](d):topk(1)[1]:sort()[2]", "check"))
  end)
end)
