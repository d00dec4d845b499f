--- Losses between tensors of different shapes: a warning where PyTorch warns,
-- an error where it raises one.
-- axes: lua

local raises = require("spec.support.tensors").raises
local st = require "strided"

local function listen(f)
  local texts = {}
  local before = st.warnings(function(text) texts[#texts + 1] = text end)
  local ok, why = pcall(f)
  st.warnings(before)
  assert(ok, why)
  return texts
end

local LOSSES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}
local MODULES = {mse_loss = "MSELoss", l1_loss = "L1Loss",
                 huber_loss = "HuberLoss"}

describe("A loss", function()
  for k, name in ipairs(LOSSES) do
    it(name .. " warns once of tensors that broadcast", function()
      local a, b = st.rand(3 + k, 1), st.rand(3 + k)
      local texts = listen(function()
        for _ = 1, 3 do st[name](a, b) end
      end)
      assert.same({("%s: self has shape [%d, 1] and target has shape [%d]; " ..
                    "they broadcast, which is rarely meant: give both the " ..
                    "same shape"):format(name, 3 + k, 3 + k)}, texts)
      texts = listen(function() st[name](b, a) end)
      assert.equal(1, #texts)
    end)

    it(name .. " only fails where shapes do not broadcast", function()
      assert.same({}, listen(function()
        raises(name .. ": shapes [4, 3] and [4, 2] do not broadcast",
               st[name], st.rand(4, 3), st.rand(4, 2))
      end))
    end)

    it(name .. " does not warn of equal shapes", function()
      assert.same({}, listen(function()
        st[name](st.rand(3, 1), st.rand(3, 1))
        st[name](st.tensor(0.5), st.tensor(1.5))
      end))
    end)
  end

  for name, module in pairs(MODULES) do
    it("module " .. module .. " warns, too", function()
      local texts = listen(function()
        st.nn[module]()(st.rand(9, 1), st.rand(9))
      end)
      assert.equal(1, #texts)
      assert.truthy(texts[1]:find(name .. ": self has shape [9, 1] and " ..
                                  "target has shape [9]", 1, true), texts[1])
    end)
  end

  it("smooth_l1_loss of beta 0 warns by its own name", function()
    local texts = listen(function()
      st.smooth_l1_loss(st.rand(11, 1), st.rand(11), {beta = 0})
    end)
    assert.equal(1, #texts)
    assert.truthy(texts[1]:find("^smooth_l1_loss: "), texts[1])
  end)

  for _, name in ipairs {"binary_cross_entropy",
                         "binary_cross_entropy_with_logits"} do
    it(name .. " refuses other shapes", function()
      raises(name .. ": target has shape [3], self has [3, 1]",
             st[name], st.rand(3, 1), st.rand(3))
    end)
  end
end)
