--- st.help of functions and classes in Lua: the comments in their files.
-- axes: lua unsanitized

local st = require "strided"
local core = require "strided.core"

-- Neither functions nor classes that one calls.
local LEFT_OUT = {init = true, utils = true, rnn = true, transforms = true,
                  parametrize = true, parametrizations = true,
                  lr_scheduler = true, swa_utils = true}

--- The names of a table that have no help, as text.
local function lacking(place, t)
  local list = {}
  for name, value in pairs(t) do
    local kind = type(value)
    if type(name) == "string" and not name:find "^_" and not LEFT_OUT[name] and
       (kind == "function" or kind == "table") then
      local text = st.help(place .. name)
      local title = "st." .. place .. name
      if text:sub(1, #title + 1) ~= title .. "(" then
        list[#list + 1] = name
      end
    end
  end
  table.sort(list)
  return table.concat(list, " ")
end

local function has(text, ...)
  for _, part in ipairs {...} do
    assert.truthy(text:find(part, 1, true), part .. " is not in:\n" .. text)
  end
end

describe("st.help of Lua", function()
  it("tells the arguments, their types and what they mean", function()
    local text = st.help "nn.Linear"
    has(text, "st.nn.Linear(in_features, out_features, [options])\n",
        "\n  in_features integer the size of the last dimension of x\n",
        "\n  options table `bias = false`")
    assert.equal(text, st.help "Linear")
    assert.equal(text, st.help "st.nn.Linear")
    assert.equal(text, st.help(st.nn.Linear))
    has(st.help "st.save", "st.save(path, value, [options])\nSaves tensors",
        "\n  path string\n")
  end)

  it("tells what a function returns, and keeps to the width", function()
    local text = st.help "random_split"
    has(text, "\n  returns the parts, each a Subset")
    for _, name in ipairs {"DataLoader", "OneCycleLR", "MultiheadAttention"} do
      for line in st.help(name):gmatch "[^\n]+" do
        assert.is_true(#line <= 80, line)
      end
    end
  end)

  it("finds methods by their class or by any object", function()
    has(st.help "Module:state_dict", "Module:state_dict([options])\n")
    assert.is_nil(st.help("Module:state_dict"):find "Optimizer")
    has(st.help "net:state_dict", "Module:state_dict(", "Optimizer:state_dict(",
        "Scheduler:state_dict(")
    has(st.help "x:sum", "sum: Sum of all elements")
    has(st.help "x:grad_fn", "grad_fn: ")
    has(st.help "x:to", "to: ", "Module:to(")
    has(st.help "optimizer:step", "Optimizer:step([closure])\n")
    has(st.help "DataLoader:iter", "DataLoader:iter()\nAn iterator over")
  end)

  it("repeats what a comment calls the same", function()
    has(st.help "BatchNorm2d", "st.nn.BatchNorm2d()\nThe same for {batch",
        "\nst.nn.BatchNorm1d(num_features, [options])\nNormalizes each")
    has(st.help "nn.MaxPool3d", "st.nn.MaxPool3d()\nst.nn.MaxPool1d(kernel")
  end)

  it("is about the place that is named", function()
    has(st.help "init.xavier_uniform_", "st.nn.init.xavier_uniform_(")
    has(st.help "optim.Linear", "nothing is known about 'optim.Linear'",
        "nn.Linear")
    has(st.help "nosuch", "nothing is known about 'nosuch'")
    has(st.help ":", "nothing is known about ':'")
    has(st.help "my::load", "nothing is known about 'my::load'")
    has(st.help "relu", "st.relu(self: Tensor)")
    has(st.help "nn.ReLU", "`nn.ReLU()(x)` is `st.relu(x)`")
  end)

  it("knows all classes and functions of networks", function()
    assert.equal("", lacking("nn.", st.nn))
    assert.equal("", lacking("nn.utils.", st.nn.utils))
    assert.equal("", lacking("nn.utils.rnn.", st.nn.utils.rnn))
    assert.equal("", lacking("nn.init.", st.nn.init))
    assert.equal("", lacking("optim.", st.optim))
    assert.equal("", lacking("optim.lr_scheduler.", st.optim.lr_scheduler))
    assert.equal("MapDataset", lacking("data.", st.data))
    assert.equal("", lacking("data.transforms.", st.data.transforms))
  end)

  it("knows functions in C by what their names stand for", function()
    for _, name in ipairs {"no_grad", "enable_grad", "manual_seed", "tensor",
                           "get_rng_state", "set_rng_state", "Generator",
                           "scope", "keep", "set_num_threads", "warnings",
                           "is_tensor", "config", "load"} do
      assert.is_function(core[name] or st[name])
      has(st.help(name), "st." .. name .. "(")
    end
  end)
end)
