--- nn.utils: vectors of parameters, clipping, normalized weights and
-- parametrizations.
-- axes: lua

local st = require "strided"
local tensors = require "spec.support.tensors"

local nn = st.nn
local live, near, raises_here = tensors.live, tensors.near, tensors.raises_here

local before

setup(function() before = live() end)

local function names_of(iterator)
  local names = {}
  for name in iterator do names[#names + 1] = name end
  return names
end

describe("nn.utils", function()
  it("makes one vector of parameters, and back", function()
    local net = nn.Linear(3, 2)
    local vector = nn.utils.parameters_to_vector(net)
    assert.equal(8, vector:numel())
    near(net.bias, vector:narrow(1, 7, 2), 0)
    nn.utils.vector_to_parameters(st.arange(1, 9):to "float32", net)
    assert.same({{1, 2, 3}, {4, 5, 6}}, net.weight:totable())
    assert.same({7, 8}, net.bias:totable())
    raises_here("the vector must have shape {8}, not {7}",
                nn.utils.vector_to_parameters, st.ones(7), net)
  end)

  it("clips nothing of no gradients, and refuses what is infinite", function()
    local net = nn.Linear(3, 2)
    assert.equal(0, nn.utils.clip_grad_norm_(net, 1):item())
    net.bias.grad = st.tensor {1, math.huge}:to "float32"
    raises_here("clip_grad_norm_: the norm of order 2 is inf",
                nn.utils.clip_grad_norm_, net, 1, {error_if_nonfinite = true})
  end)

  for _, kind in ipairs {"weight", "spectral"} do
    it("undoes a " .. kind .. " norm", function()
      local layer, x = nn.Linear(3, 2), st.rand(4, 3)
      assert.equal(layer, nn.utils[kind .. "_norm"](layer))
      layer:eval()
      local y = layer(x)
      local copy = layer:clone()
      near(y, copy(x), 0)
      nn.utils["remove_" .. kind .. "_norm"](layer)
      assert.same({"weight", "bias"}, names_of(layer:named_state()))
      near(y, layer(x), 1e-6)
      nn.utils["remove_" .. kind .. "_norm"](copy)
      near(y, copy(x), 1e-6)
      raises_here("'weight' has no " .. kind .. " norm",
                  nn.utils["remove_" .. kind .. "_norm"], layer)
      raises_here("Linear has no parameter 'w'", nn.utils[kind .. "_norm"],
                  layer, {name = "w"})
    end)
  end

  it("has a spectral norm of several calls for one gradient", function()
    local layer, x = nn.utils.spectral_norm(nn.Linear(3, 2)), st.rand(4, 3)
    local loss = layer(x):sum() + layer(x):sum()
    loss:backward()
    assert.is_true(layer.weight_orig.grad:isfinite():all():item())
  end)

  it("makes embeddings of tables", function()
    local layer = nn.Embedding.from_pretrained(
      st.tensor {{1, 2}, {3, 4}}:float())
    assert.same({{3, 4}, {1, 2}}, layer(st.tensor {2, 1}):totable())
    assert.is_false(layer.weight.requires_grad)
    layer = nn.EmbeddingBag.from_pretrained(st.ones(2, 3), {freeze = false,
                                                            mode = "sum"})
    assert.same({{2, 2, 2}}, layer(st.tensor {{2, 1}}):totable())
    assert.is_true(layer.weight.requires_grad)
    raises_here("from_pretrained: a Tensor of 2 dimensions and floating point",
                nn.Embedding.from_pretrained, st.tensor {{1, 2}})
  end)
end)

describe("A Linear layer inside another module", function()
  local function normed(kind, layer)
    local utils = nn.utils
    return kind == "hook" and utils.weight_norm(layer) or
           utils.parametrizations.weight_norm(layer)
  end

  --- The trained magnitude of the weight.
  local function magnitude(kind, layer)
    return kind == "hook" and layer.weight_g or
           layer.parametrizations.weight.original0
  end

  for _, kind in ipairs {"hook", "parametrization"} do
    it("has its weight computed for each call: " .. kind, function()
      local attention = nn.MultiheadAttention(4, 2)
      normed(kind, attention.out_proj)
      local x = st.rand(3, 4)
      local y = attention(x, x, x)
      st.no_grad(function() magnitude(kind, attention.out_proj):mul_(2) end)
      near(y:detach() * 2, attention(x, x, x), 1e-6)

      local loss = nn.LinearCrossEntropyLoss(4, 3, {reduction = "none"})
      normed(kind, loss.linear)
      local target = st.tensor {1, 2, 3}
      st.no_grad(function() magnitude(kind, loss.linear):mul_(2) end)
      near(nn.CrossEntropyLoss {reduction = "none"}(loss.linear(x), target),
           loss(x, target), 1e-6)
      st.no_grad(function() magnitude(kind, loss.linear):zero_() end)
      near(st.full({3}, math.log(3)), loss(x, target), 1e-6)
      local sum = loss(x, target):sum()
      sum:backward()
      assert.is_true(magnitude(kind, loss.linear).grad ~= nil)
    end)
  end
end)

describe("A parametrization", function()
  local parametrize = nn.utils.parametrize
  local Symmetric = nn.Module:extend "Symmetric"
  function Symmetric.forward(_, x) return x:triu() + x:triu(1):t() end
  local Twice = nn.Module:extend "Twice"
  function Twice.forward(_, x) return x * 2 end

  it("computes a parameter before each call, others may follow", function()
    local layer = nn.Linear(3, 3)
    assert.is_false(parametrize.is_parametrized(layer))
    assert.equal(layer, parametrize.register_parametrization(
      layer, "weight", Symmetric()))
    local w = layer.parametrizations.weight.original
    near(layer.weight, layer.weight:t(), 0)
    near(w:triu(), layer.weight:triu(), 0)
    assert.same({"bias", "parametrizations.weight.original"},
                names_of(layer:named_parameters()))
    parametrize.register_parametrization(layer, "weight", Twice())
    near(w:triu() * 2, layer.weight:triu(), 0)
    st.no_grad(function() w:fill_(1) end)
    local y = layer(st.ones(1, 3)):sum()
    y:backward()
    near(st.full({3, 3}, 2), layer.weight, 0)
    assert.same({{2, 4, 4}, {0, 2, 4}, {0, 0, 2}}, w.grad:totable())
    assert.is_true(parametrize.is_parametrized(layer, "weight"))
    assert.is_false(parametrize.is_parametrized(layer, "bias"))
    local copy = layer:clone()
    st.no_grad(function()
      copy.parametrizations.weight.original:fill_(3)
    end)
    near(st.full({1, 3}, 18), copy(st.ones(1, 3)) - copy.bias, 1e-6)
  end)

  it("is undone", function()
    for _, leave in ipairs {true, false} do
      local layer = nn.Linear(3, 3)
      local original = layer.weight
      parametrize.register_parametrization(layer, "weight", Twice())
      parametrize.remove_parametrizations(layer, "weight",
                                          {leave_parametrized = leave})
      near(original * (leave and 2 or 1), layer.weight, 0)
      assert.same({"weight", "bias"}, names_of(layer:named_state()))
      near(st.linear(st.ones(1, 3), layer.weight, layer.bias),
           layer(st.ones(1, 3)), 0)
    end
    local layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    raises_here("'weight' is made of 2 tensors",
                parametrize.remove_parametrizations, layer, "weight",
                {leave_parametrized = false})
    raises_here("Linear has no parametrization of 'bias'",
                parametrize.remove_parametrizations, layer, "bias")
  end)

  it("is in the mode of its layer", function()
    local twice = Twice()
    parametrize.register_parametrization(nn.Linear(3, 3):eval(), "weight",
                                         twice)
    assert.is_false(twice.training)
  end)

  it("keeps shape and dtype, or is refused", function()
    local Less = nn.Module:extend "Less"
    function Less.forward(_, x) return x:select(1, 1) end
    local layer = nn.Linear(3, 2)
    raises_here("'weight' of shape {2, 3} and dtype float32 would become of "
                .. "shape {3} and dtype float32",
                parametrize.register_parametrization, layer, "weight", Less())
    assert.same({"weight", "bias"}, names_of(layer:named_state()))
    raises_here("Linear has no parameter 'w'",
                parametrize.register_parametrization, layer, "w", Less())
    raises_here("register_parametrization: a module is expected, got number",
                parametrize.register_parametrization, layer, "weight", 3)
  end)
end)

describe("nn.utils", function()
  it("leaves no tensor behind", function() assert.equal(before, live()) end)
end)
