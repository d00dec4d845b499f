--- Gradients as PyTorch's: versions, views, writing in place, and who wants
-- one (A1 to A9, A11, A12).
-- axes: none

local gradients = require "spec.support.gradients"
local registry = require "spec.grad.gradcheck.registry"
local st = require "strided"

local failure, leaf, list, matrix = gradients.failure, gradients.leaf,
  gradients.list, gradients.matrix

--- The keys that a call goes through, of one operator.
local function path(name, ...)
  local keys = {}
  for _, event in ipairs(st.trace(...)) do
    if event.op == name then keys[#keys + 1] = event.key end
  end
  return keys
end

-- -- Dispatch ----------------------------------------------------------------

local at_start
setup(function() at_start = gradients.live() end)
teardown(function() assert.is_true(gradients.live() <= at_start) end)

describe("A call", function()
  it("is tracked where it writes or views, and nowhere else (A1)", function()
    local wrong, tracked = {}, 0
    registry.each(function(name, _, _, operator)
      local _, provenance = operator:kernel "CPU"
      local acts = operator:schema():find "Tensor%(a[%)! ]" ~= nil
      local falls = operator:kernel "ADInplaceOrView" :find "^fallthrough"
      if provenance ~= "math kernel" and acts == (falls ~= nil) then
        wrong[#wrong + 1] = name
      end
      tracked = tracked + (falls and 0 or 1)
    end)
    assert.same({}, wrong)
    assert.is_true(tracked > 400)
  end)

  it("goes through Autograd only where a gradient is wanted (K9)", function()
    local plain = st.ones(2)
    assert.same({"CPU"}, path("aten::mul.Tensor", st.mul, plain, plain))
    assert.same({"AutogradCPU", "CPU"},
                path("aten::mul.Tensor", st.mul, leaf(1, 2), plain))
  end)

  it("in place goes through both (A12)", function()
    local x = leaf(1, 2) * 1
    assert.same({"AutogradCPU", "ADInplaceOrView", "CPU"},
                path("aten::mul_.Scalar", x.mul_, x, 2))
    x = st.ones(2)
    assert.same({"ADInplaceOrView", "CPU"},
                path("aten::mul_.Scalar", x.mul_, x, 2))
  end)
end)

-- -- Versions ----------------------------------------------------------------

describe("The version of a tensor", function()
  -- what, how often it is written, what is done with x
  local rows = {
    {"counts writing", 2, function(x) x:add_(1):mul_(2) end},
    {"counts writing what was there", 1, function(x) x:copy_(x) end},
    {"counts writing without gradients", 1, function(x)
      st.no_grad(function() x:zero_() end)
    end},
    {"counts writing in the inference mode", 1, function(x)
      st.inference_mode(function() x:zero_() end)
    end},
    {"counts writing through a view", 1, function(x) x[{1}]:fill_(2) end},
    {"counts writing to a detached alias", 1, function(x)
      x:detach():fill_(2)
    end},
    {"counts writing as out", 1, function(x)
      st.add(1, st.ones(3), {out = x})
    end},
    {"counts assigning", 1, function(x) x[2] = 7 end},
    {"does not count writing to its data", 0, function(x)
      x.data:fill_(2)
    end},
    {"does not count reading", 0, function(x) return (x + x):sum():item() end},
    {"does not count views", 0, function(x) return x:view(3, 1):t() end},
  }
  for _, row in ipairs(rows) do
    it(row[1] .. " (A2)", function()
      local x = st.zeros(3)
      local view, alias = x:view(3), x:detach()
      assert.equal(0, x.version)
      row[3](x)
      assert.equal(row[2], x.version)
      assert.equal(row[2], view.version)
      assert.equal(row[2], alias.version)
    end)
  end

  it("counts for the view what is done to the base", function()
    local x = st.zeros(2, 2)
    local row = x:select(1, 1)
    x:add_(1)
    assert.equal(1, row.version)
    row:add_(1)
    assert.equal(2, x.version)
  end)

  it("is not that of a copy", function()
    local x = st.zeros(2):add_(1)
    assert.equal(0, x:clone().version)
  end)

  it("is not kept of an inference tensor (A2)", function()
    local x = st.inference_mode(st.zeros, 2)
    assert.matches("inference", failure(function() return x.version end))
  end)
end)

-- -- Saved tensors -----------------------------------------------------------

describe("What was saved for the backward pass", function()
  -- what, the operation, what is changed, who must be named; or nothing
  local rows = {
    {"the input of sin", function(x) return x:sin() end, "x", "SinBackward0"},
    {"the result of exp", function(x) return x:exp() end, "y", "ExpBackward0"},
    {"the result of sigmoid", function(x) return x:sigmoid() end, "y",
     "SigmoidBackward0"},
    {"an argument of mul", function(x) return x * x end, "x", "MulBackward0"},
    {"the result of relu", function(x) return x:relu() end, "y",
     "ReluBackward0"},
    {"the divisor of div", function(x) return st.ones(2) / x end, "x",
     "DivBackward0"},
    {"the input of mul by a number", function(x) return x * 2 end, "x"},
    {"the input of add", function(x) return x + 1 end, "x"},
    {"the result of mul", function(x) return x * x end, "y"},
    {"the result of sin", function(x) return x:sin() end, "y"},
    {"the input of sum", function(x) return x:sum() end, "x"},
    {"the input of exp", function(x) return x:exp() end, "x"},
    {"the input of sigmoid", function(x) return x:sigmoid() end, "x"},
    {"the input of tanh", function(x) return x:tanh() end, "x"},
    {"the input of expm1", function(x) return x:expm1() end, "x"},
    {"what neg read", function(x) return -x end, "x"},
  }
  for _, row in ipairs(rows) do
    it(("%s changed: %s (A3)"):format(row[1], row[4] and "an error" or "fine"),
       function()
      local x = leaf(1, 2)
      local h = x * 1
      local y = row[2](h)
      local changed = row[3] == "x" and h or y
      st.no_grad(changed.mul_, changed, 2)
      local ok, why = pcall(st.grad, y:sum(), x)
      assert.equal(row[4] == nil, ok, tostring(why))
      if row[4] then
        assert.matches(row[4], why, 1, true)
        assert.matches("version 1", why, 1, true)
        assert.matches("expected 0", why, 1, true)
      end
    end)
  end

  -- (A3) A slope by the result alone, which has lost its digits at 30.
  for name, slope in pairs {
    sigmoid = function(y) return y * (1 - y) end,
    tanh = function(y) return 1 - y * y end,
    expm1 = function(y) return y + 1 end,
  } do
    it("may be read or not by the slope of " .. name, function()
      for _, value in ipairs {0.5, -30, 30} do
        local x = st.tensor({value}, {dtype = "float64"}):requires_grad_()
        local h = x * 1
        local y = h[name](h)
        st.no_grad(h.mul_, h, 2)
        assert.equal(slope(y:item()), st.grad(y:sum(), x):item())
        local z = x * 1
        z = z[name .. "_"](z)
        assert.equal(slope(y:item()), st.grad(z:sum(), x):item())
      end
    end)
  end

  -- through what it is changed, whether that is seen
  local ways = {
    {"a view", true, function(h) return h:view(2, 1) end},
    {"a detached alias", true, function(h) return h:detach() end},
    {"its data", false, function(h) return h.data end},
  }
  for _, way in ipairs(ways) do
    it(("changed through %s is %sseen (A3)"):format(way[1], way[2] and "" or
       "not "), function()
      local x = leaf(1, 2)
      local h = x * 1
      local y = h:sin()
      local alias = way[3](h)
      st.no_grad(alias.mul_, alias, 2)
      local ok, why = pcall(st.grad, y:sum(), x)
      assert.equal(not way[2], ok)
      if not ok then assert.matches("SinBackward0", why, 1, true) end
    end)
  end

  it("goes with the first backward pass (A9)", function()
    local x = leaf(1, 2)
    local y = x:square():sum()
    y:backward()
    assert.matches("retain_graph", failure(y.backward, y))
    local z = (x + 1):sum() -- which saves nothing
    z:backward()
    z:backward()
    assert.same({4, 6}, list(x.grad))
  end)

  it("stays when it is told to (A10)", function()
    local x = leaf(1, 2)
    local y = x:square():sum()
    y:backward {retain_graph = true}
    y:backward()
    assert.same({4, 8}, list(x.grad))
  end)
end)

-- -- Writing in place --------------------------------------------------------

describe("Writing in place", function()
  -- what is refused, how, the words
  local refused = {
    {"to a leaf (A4)", function() leaf(1, 2):mul_(2) end, "leaf"},
    {"to a view of a leaf (A4)", function() matrix()[1]:mul_(2) end, "leaf"},
    {"to a view of a view of a leaf (A4)", function()
      matrix():t():select(1, 2):zero_()
    end, "leaf"},
    {"to one of several views (A6)", function()
      (matrix() * 1):unbind()[1]:mul_(2)
    end, "several views"},
    {"to a part of a split (A6)", function()
      (matrix() * 1):split(1, 2)[1]:mul_(2)
    end, "several views"},
    {"to a chunk (A6)", function()
      (matrix() * 1):chunk(2, 1)[2]:mul_(2)
    end, "several views"},
    {"to a view made without gradients (A6)", function()
      local h = matrix() * 1
      st.no_grad(h.select, h, 1, 1):mul_(2)
    end, "no_grad"},
    {"to an inference tensor (A7)", function()
      st.inference_mode(st.zeros, 2):add_(1)
    end, "inference"},
    {"as out with a gradient among the inputs (A8)", function()
      st.add(leaf(1, 2), 1, {out = st.empty(0, {dtype = "float64"})})
    end, "out"},
    {"as out that wants a gradient (A8)", function()
      st.add(st.ones(2), 1, {out = leaf(1, 2)})
    end, "out"},
  }
  for _, row in ipairs(refused) do
    it(row[1] .. " is refused", function()
      assert.matches(row[3], failure(row[2]))
    end)
  end

  -- what is computed of x = {1, 2, 3}, the gradient of its sum
  local rows = {
    {"goes on in the graph", {4, 8, 12}, function(x)
      local h = x * 2
      h:mul_(x)
      return h
    end},
    {"through a view reaches the base (A5)", {2, 10, 2}, function(x)
      local h = x * 2
      h:select(1, 2):mul_(5)
      return h
    end},
    {"to the base reaches the view (A5)", {0, 10, 10}, function(x)
      local h = x * 2
      local tail = h:narrow(1, 2, 2)
      h:mul_(5)
      return tail
    end},
    {"through a view of a view reaches both (A5)", {2, 10, 2}, function(x)
      local h = x * 2
      h:view(3, 1):select(1, 2):mul_(5)
      return h
    end},
    {"through one view reaches another (A5)", {0, 10, 2}, function(x)
      local h = x * 2
      local tail = h:narrow(1, 2, 2)
      h:select(1, 2):mul_(5)
      return tail
    end},
    {"by zero_ cuts the graph", {0, 0, 0}, function(x)
      local h = x * 2
      h:zero_()
      return h + x * 0
    end},
    {"by fill_ cuts a part", {0, 2, 2}, function(x)
      local h = x * 2
      h:select(1, 1):fill_(7)
      return h
    end},
    {"makes a plain tensor want a gradient (A5)", {1, 1, 1}, function(x)
      local h = st.zeros(3, {dtype = "float64"})
      h:copy_(x)
      return h
    end},
    {"makes the plain base of a view want one (A5)", {3, 3, 3}, function(x)
      local h = st.zeros({2, 3}, {dtype = "float64"})
      h[2]:copy_(x * 3)
      return h
    end},
    {"by assigning reaches the base", {0, 2, 3}, function(x)
      local h = x * 2
      h[1] = 7
      h["3"] = x[{3}] * 3
      return h
    end},
    {"by index_put_ reaches both", {2, 5, 2}, function(x)
      local h = x * 2
      h:index_put_({st.tensor {2}}, x:narrow(1, 2, 1) * 5)
      return h
    end},
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local x = leaf(1, 2, 3)
      local y = row[3](x)
      assert.is_true(y.requires_grad)
      assert.same(row[2], list(st.grad(y:sum(), x)))
    end)
  end

  it("to a leaf without gradients is fine (A4)", function()
    local x = leaf(1, 2)
    st.no_grad(function() x:mul_(2) end)
    assert.same({2, 4}, list(x))
    assert.is_true(x.is_leaf)
  end)

  it("to a view gives the base a node, and the view a new one (A5)", function()
    local h = leaf(1, 2, 3) * 2
    local view = h:narrow(1, 1, 2)
    local before = view.grad_fn.name
    view:mul_(2)
    assert.equal("CopySlices", h.grad_fn.name)
    assert.matches("Backward0$", view.grad_fn.name)
    assert.matches("Backward0$", before)
  end)

  it("to a plain tensor leaves it plain", function()
    local x = st.zeros(2):add_(1)
    assert.is_false(x.requires_grad)
    assert.is_nil(x.grad_fn)
  end)
end)

-- -- Inference tensors -------------------------------------------------------

describe("An inference tensor", function()
  it("is not saved for the backward pass (A7)", function()
    local x = st.inference_mode(st.ones, 2)
    assert.matches("inference", failure(st.mul, leaf(1, 2), x))
    assert.is_true(st.add(leaf(1, 2), x).requires_grad) -- which saves nothing
  end)

  it("wants no gradient (A7)", function()
    local x = st.inference_mode(st.ones, 2)
    assert.matches("inference", failure(x.requires_grad_, x))
  end)

  it("is not what a view of another tensor is (A7)", function()
    local x = st.ones(2, 2)
    local view = st.inference_mode(x.select, x, 1, 1)
    view:add_(1)
    assert.equal(1, x.version)
  end)

  it("may be changed in that mode (A7)", function()
    local x = st.inference_mode(function() return st.ones(2):add_(1) end)
    assert.same({2, 2}, list(x))
  end)
end)

-- -- Views -------------------------------------------------------------------

describe("A view", function()
  -- every view operator: the gradient is that of the copy (A11)
  local rows = {
    {"alias", function(x) return x:alias() end},
    {"as_strided", function(x) return x:as_strided({2, 2}, {3, 1}, 1) end},
    {"diagonal", function(x) return x:diagonal() end},
    {"expand", function(x) return x:expand {2, 2, 3} end},
    {"permute", function(x) return x:permute {2, 1} end},
    {"select", function(x) return x:select(2, 2) end},
    {"slice", function(x) return x:slice(2, 1, 3, 2) end},
    {"split", function(x) return x:split(2, 2)[2] end},
    {"split_with_sizes", function(x)
      return x:split_with_sizes({1, 2}, 2)[1]
    end},
    {"squeeze", function(x) return x:narrow(1, 1, 1):squeeze() end},
    {"t", function(x) return x:t() end},
    {"transpose", function(x) return x:transpose(1, 2) end},
    {"unfold", function(x) return x:unfold(2, 2, 1) end},
    {"flatten", function(x) return x:flatten() end},
    {"unsqueeze", function(x) return x:unsqueeze(1) end},
    {"view", function(x) return x:view(3, 2) end},
    {"unbind", function(x) return x:unbind(1)[2] end},
    {"a subscript", function(x) return x["2, 2:3"] end},
    {"numpy_T", function(x) return x:numpy_T() end},
    {"movedim", function(x) return x:movedim(1, 2) end},
  }
  for _, row in ipairs(rows) do
    it("by " .. row[1] .. " has a base and a gradient (A11)", function()
      local x = matrix()
      local h = x * 1
      local y = row[2](h)
      assert.is_true(y:is_alias_of(h))
      assert.equal(h, y.base)
      assert.is_false(y.is_leaf)
      local ones = st.ones_like(y)
      local got = st.grad(y, x, {grad_outputs = ones})
      local counts = st.zeros(6, {dtype = "float64"}):view(2, 3)
      local at = st.arange(6, {dtype = "float64"}):view(2, 3)
      for _, i in ipairs(list(row[2](at))) do
        counts:view(6)[i + 1] = counts:view(6)[i + 1] + 1
      end
      assert.same(list(counts), list(got))
    end)
  end

  it("of a view has the same base", function()
    local h = matrix() * 1
    assert.equal(h, h:t():select(1, 2).base)
    assert.is_nil(h.base)
  end)

  it("detached has no history, and no base to write through", function()
    local x = matrix()
    local y = x:detach()
    assert.is_false(y.requires_grad)
    assert.is_true(y.is_leaf)
    assert.is_nil(y.grad_fn)
    assert.is_true(y:is_alias_of(x))
  end)
end)

-- -- Leaves ------------------------------------------------------------------

describe("A gradient is wanted", function()
  it("of floating and complex tensors only (A9)", function()
    for _, dtype in ipairs {"bool", "uint8", "int64"} do
      local x = st.zeros(2, {dtype = dtype})
      assert.matches("float", failure(x.requires_grad_, x))
      assert.is_false(x.requires_grad)
    end
    for _, dtype in ipairs {"float16", "bfloat16", "float32", "complex64"} do
      assert.is_true(st.zeros(2, {dtype = dtype}):requires_grad_()
                       .requires_grad)
    end
  end)

  it("of results until a tensor is detached (A9)", function()
    local y = leaf(1, 2) * 2
    assert.matches("leaf", failure(y.requires_grad_, y, false))
    assert.is_true(y.requires_grad)
    y:detach_()
    assert.is_false(y.requires_grad)
    assert.is_true(y.is_leaf)
  end)

  it("of a leaf until it is told otherwise", function()
    local x = leaf(1, 2)
    x:requires_grad_(false)
    assert.is_false(x.requires_grad)
    assert.is_false((x * 2).requires_grad)
  end)

  it("not of what is computed without gradients", function()
    local x = leaf(1, 2)
    assert.is_false(st.no_grad(x.mul, x, 2).requires_grad)
    assert.is_true(st.no_grad(st.enable_grad, x.mul, x, 2).requires_grad)
    assert.is_false(st.inference_mode(x.mul, x, 2).requires_grad)
  end)

  it("not of comparisons and positions", function()
    local x = leaf(2, 1)
    assert.is_false(x:gt(1).requires_grad)
    assert.is_false(x:argmax().requires_grad)
    local values, positions = x:sort()
    assert.is_true(values.requires_grad)
    assert.is_false(positions.requires_grad)
  end)

  it("not of operators that have none without an error", function()
    assert.matches("no derivative", failure(st.special_zeta, leaf(1, 2), 3))
  end)
end)
