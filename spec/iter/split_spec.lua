--- Parts of a plan: narrowed, halved, cut until 32 bits do (I15),
-- and with other operands (I11).
-- axes: lua

local st = require "strided"
local tensors = require "spec.support.tensors"

local failure, lists = tensors.failure, tensors.lists

local unpack = unpack or table.unpack

local function meta(shape, dtype)
  return st.empty(shape, {device = "meta", dtype = dtype})
end

--- A reduction of x along the dimensions that out has a size of 1 in.
local function fold(out, x)
  return st.iterator {preset = "reduce", outputs = {out}, inputs = {x}}
end

local function over(t) -- nothing but t
  return st.iterator {preset = "nullary", outputs = {t}}
end

--- Adds the last operand to the first one.
local function accumulate(plan)
  local n = #plan.operands
  plan:run(function(at, stride, n0, n1)
    for j = 0, n1 - 1 do
      for i = 0, n0 - 1 do
        local out = at[1] + i * stride[1] + j * stride[n + 1]
        plan:set(1, out, plan:get(1, out)
                 + plan:get(n, at[n] + i * stride[n] + j * stride[2 * n]))
      end
    end
  end)
end

--- The first elements that the inputs of a plan have.
local function firsts(plan)
  local values = {}
  for i = #plan.outputs + 1, #plan.operands do
    values[#values + 1] = plan:get(i, 0)
  end
  return values
end

describe("a part of a plan", function()
  local before
  setup(function()
    require "spec.support.collect" ()
    before = st.memory()
  end)

  describe("that is narrowed", function()
    it("begins where it is told, with the strides it had", function()
      local x = st.arange(24):view(4, 6)
      local plan = st.iterator {outputs = {false}, inputs = {x, x:t()
                                :contiguous():t()}}
      assert.same({6, 4}, lists(plan.shape))
      plan:narrow(1, 3, 2)
      plan:narrow(2, 2, 3)
      assert.same({2, 3}, lists(plan.shape))
      assert.same({2, 1}, lists(plan.view_offsets))
      assert.same({8, 48}, lists(plan.strides[2]))
      assert.same({32, 8}, lists(plan.strides[3]))
      assert.equal(6, plan.numel)
      assert.same({8, 8}, firsts(plan))
      plan:narrow(1, 2, 1)
      assert.same({9, 9}, firsts(plan))
    end)

    it("loses a dimension of one position", function()
      local plan = st.iterator {outputs = {false},
                                inputs = {st.empty(6, 4):t(), st.empty(4, 6)}}
      assert.equal(2, plan.ndim)
      plan:narrow(2, 3, 1)
      assert.equal(1, plan.ndim)
      assert.is_true(plan.is_coalesced)
    end)

    it("but not in a reduction", function()
      local plan = fold(st.zeros(4, 1), st.ones(4, 6))
      plan:narrow(1, 6, 1)
      assert.same({1, 4}, lists(plan.shape))
      assert.same({5, 0}, lists(plan.view_offsets))
      assert.is_false(plan:is_dim_reduced(1))
    end)

    it("walks its elements and no others", function()
      local x = st.zeros(5, 7)
      local plan = st.iterator {outputs = {x}, inputs = {st.ones(7, 5):t()}}
      plan:narrow(plan.perm[1] == 2 and 1 or 2, 3, 4) -- columns
      plan:narrow(plan.perm[1] == 2 and 2 or 1, 2, 3) -- rows
      accumulate(plan)
      assert.equal(12, x:sum():item())
      assert.equal(12, x["2:4, 3:6"]:sum():item())
    end)

    -- what is wrong, its arguments, what the error says
    for _, row in ipairs {
      {"a dimension 0", {0, 1, 1}, "no dimension 0"},
      {"a dimension that is not there", {2, 1, 1}, "no dimension 2, only 1"},
      {"a dimension far away", {2 ^ 40, 1, 1}, "no dimension"},
      {"a position 0", {1, 0, 1}, "narrowed to 1 indices from"},
      {"no position", {1, 1, 0}, "narrowed to 0 indices from 1"},
      {"too many", {1, 2, 3}, "has size 3 and cannot be narrowed to 3"},
      {"far too many", {1, 3, 2 ^ 53}, "has size 3"},
      {"part of one", {1, 1.5, 1}, "must be an integer"},
    } do
      it("has not " .. row[1], function()
        local plan = over(st.empty(3))
        assert.matches(row[3], failure(plan.narrow, plan, unpack(row[2])))
        assert.equal(3, plan.numel)
      end)
    end
  end)

  describe("that is split", function()
    it("has the first half, and the plan the rest", function()
      local x = st.arange(15):view(3, 5)
      local plan = st.iterator {outputs = {false}, inputs = {x, x:t()
                                :contiguous():t()}}
      local first = plan:split(1)
      assert.same({2, 3}, lists(first.shape))
      assert.same({3, 3}, lists(plan.shape))
      assert.same({0, 0}, lists(first.view_offsets))
      assert.same({2, 0}, lists(plan.view_offsets))
      assert.same({0, 0}, firsts(first))
      assert.same({2, 2}, firsts(plan))
      assert.is_true(first.final_output and plan.final_output)
      assert.is_false(first.accumulate or plan.accumulate)
      assert.equal(first.outputs[1]:stride()[1], plan.outputs[1]:stride()[1])
    end)

    it("outlives the other half", function()
      local plan = st.iterator {preset = "binary", outputs = {false},
                                inputs = {st.ones(8), 2.5}}
      local first = plan:split()
      plan = nil -- luacheck: ignore 311
      require "spec.support.collect" ()
      assert.same({1, 2.5}, {first:get(2, 12), first:get(3, 0)})
    end)

    -- sizes and strides of a tensor, and the dimension of its plan, whose
    -- first one is the fastest, that reaches farthest
    for _, row in ipairs {
      {{7}, {2}, 1}, {{3, 4}, {9, 2}, 2}, {{2, 9}, {3, 2}, 1},
      {{2, 3}, {1, 5}, 2}, {{2, 3}, {2, 5}, 2}, {{5, 2}, {2, 1}, 1},
      {{1, 1}, {5, 7}, nil}, {{4, 2, 2}, {1, 10, 100}, 3},
    } do
      it(("is cut along dimension %s of strides {%s}"):format(
         tostring(row[3]), table.concat(row[2], ",")), function()
        local plan = over(st.empty(200):as_strided(row[1], row[2]))
        assert.equal(row[3], plan.dim_to_split)
      end)
    end

    it("accumulates where both halves write the same", function()
      local x, out = st.rand({4, 6}, {dtype = "float64"}), st.zeros(
        {4, 1}, {dtype = "float64"})
      local plan = fold(out, x)
      local first = plan:split(1)
      assert.is_true(plan.accumulate and plan.final_output)
      assert.is_false(first.accumulate or first.final_output)
      local other = first:split(2)
      assert.is_false(other.final_output or other.accumulate)
      accumulate(other)
      accumulate(first)
      accumulate(plan)
      assert.is_true(out:allclose(x:sum {dim = 2, keepdim = true}))
    end)

    it("has two positions at least", function()
      local plan = over(st.empty(1))
      assert.matches("cannot be split", failure(plan.split, plan, 1))
      assert.matches("no dimension 2", failure(plan.split, plan, 2))
      assert.is_nil(plan.dim_to_split)
      plan = over(st.tensor(1))
      assert.matches("no dimension 1, only 0", failure(plan.split, plan))
    end)

    it("fails without a trace when memory runs out", function()
      local shape = {}
      for d = 1, 64 do shape[d] = d > 60 and 2 or 1 end
      local x = meta(shape)
      local plan = st.iterator {outputs = {false},
                                inputs = {x, x, x, x:transpose(-1, -2)}}
      require "spec.support.collect" ()
      local count = st.memory().scratch.count
      local k = 0
      local left
      repeat
        k = k + 1
        st.memory_fail_at(k)
        local ok, half = pcall(plan.split, plan, 1)
        left = st.memory_fail_at(0)
        if not ok then
          assert.matches("memory", half)
          assert.equal(16, plan.numel)
        end
        half = nil -- luacheck: ignore 311
        require "spec.support.collect" ()
        if not ok then assert.equal(count, st.memory().scratch.count) end
      until left > 0 or k > 20
      assert.equal(3, k)
    end)
  end)

  describe("for 32-bit offsets", function()
    -- shape, dtype, how many parts, elements of the first and the last one
    for _, row in ipairs {
      {{2 ^ 31 - 1}, "uint8", 1, 2 ^ 31 - 1, 2 ^ 31 - 1},
      {{2 ^ 31}, "uint8", 2, 2 ^ 30, 2 ^ 30},
      {{2 ^ 32 + 1}, "uint8", 4, 2 ^ 30, 2 ^ 30 + 1},
      {{2 ^ 30}, "float32", 2, 2 ^ 29, 2 ^ 29},
      {{2 ^ 20, 2 ^ 12}, "int16", 4, 2 ^ 30, 2 ^ 30},
      {{3, 2 ^ 30}, "int8", 2, 3 * 2 ^ 29, 3 * 2 ^ 29},
      {{10}, "float64", 1, 10, 10},
    } do
      it(("%s of %s are %d"):format(row[2], table.concat(row[1], " x "),
                                    row[3]), function()
        local x = meta(row[1], row[2])
        local plan = st.iterator {outputs = {x}, inputs = {x}}
        local total, sizes, numel = 0, {}, plan.numel
        for part in plan:split_32bit() do
          assert.is_true(part.can_use_32bit_indexing)
          sizes[#sizes + 1] = part.numel
          total = total + part.numel
        end
        assert.equal(numel, total)
        assert.equal(row[3], #sizes)
        assert.same({row[4], row[5]}, {sizes[1], sizes[#sizes]})
      end)
    end

    it("come in order, by huge strides as by huge sizes", function()
      local x = meta({2 ^ 45}):as_strided({3, 4}, {2 ^ 40, 2 ^ 29})
      local plan = st.iterator {preset = "copy", outputs = {meta {3, 4}},
                                inputs = {x}}
      local seen = {}
      for part in plan:split_32bit() do
        assert.is_true(part.can_use_32bit_indexing)
        for _, step in ipairs(part:steps()) do
          assert.same({1, 1}, step.size)
        end
        seen[#seen + 1] = part.numel
      end
      assert.same({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, seen)
    end)

    it("are made where no operand moves", function()
      local x = st.empty(1):expand(2 ^ 20, 2 ^ 12)
      local plan = st.iterator {preset = "reduce", outputs = {st.empty(1, 1)},
                                inputs = {x}}
      local n = 0
      for part in plan:split_32bit() do n = n + part.numel end
      assert.equal(2 ^ 32, n)
      assert.is_true(plan.accumulate)
    end)

    it("are the whole where that will do", function()
      local plan = over(st.empty(0, 3))
      local parts = 0
      for part in plan:split_32bit() do
        parts = parts + 1
        assert.equal(plan, part)
      end
      assert.equal(1, parts)
    end)
  end)

  describe("of its operands", function()
    it("is left when one is taken out", function()
      local a, b = st.tensor {1, 2}, st.tensor {3, 4}
      local plan = st.iterator {preset = "binary", outputs = {false},
                                inputs = {a, 0.5, b}}
      plan:remove_operand(2)
      assert.equal(3, #plan.operands)
      assert.same({0.5, 3}, firsts(plan))
      assert.equal(1, #plan.outputs)
      plan:remove_operand(1)
      assert.equal(0, #plan.outputs)
      assert.same({0.5, 3}, firsts(plan))
      assert.same({2, 2}, {#plan.strides, #plan:steps()[1].offsets})
      plan:remove_operand(1)
      assert.matches("at least one", failure(plan.remove_operand, plan, 1))
      assert.matches("no operand 2", failure(plan.remove_operand, plan, 2))
    end)

    it("is read elsewhere when that is replaced", function()
      local plan = st.iterator {outputs = {st.zeros(3)},
                                inputs = {st.ones(3)}}
      local other = st.arange(10):to "float32"
      plan:replace_operand(2, other[{{5, 7}}])
      accumulate(plan)
      assert.same({4, 5, 6}, plan.outputs[1]:totable())
      assert.same({-16, 24}, {plan.operands[2].low, plan.operands[2].high})
      assert.matches("outside of its storage", failure(plan.get, plan, 2, 24))
      assert.matches("dtype float32, but the new tensor has int32",
                     failure(plan.replace_operand, plan, 2,
                             other:to "int32"))
      assert.matches("must be a Tensor",
                     failure(plan.replace_operand, plan, 2, 7))
      assert.matches("no operand", failure(plan.replace_operand, plan, 3,
                                           other))
      for _, lazy in ipairs {st._efficientzerotensor({3}),
                             st.ones(3):_neg_view()} do
        assert.matches("operand 2 is a lazy", failure(plan.replace_operand,
                                                      plan, 2, lazy))
      end
    end)

    it("is made on the device that is asked for", function()
      local plan = st.iterator {outputs = {false}, inputs = {st.ones(2, 3)},
                                static_device = "meta",
                                check_all_same_device = false}
      assert.equal("meta", tostring(plan.outputs[1].device))
      assert.same({2, 3}, lists(plan.outputs[1].shape))
      assert.matches("static_device", failure(st.iterator, {
        outputs = {false}, inputs = {st.ones(2)}, static_device = "toaster"}))
    end)
  end)

  it("is cut for the threads and the grain of the plan", function()
    local x = st.empty(100)
    local plan = st.iterator {outputs = {x}, inputs = {x}, threads = 4,
                              grain = 10}
    assert.equal(4, #plan:chunks())
    assert.equal(4, #plan:split():chunks())
    assert.same({{0, 50}}, plan:chunks(1))
    assert.matches("threads", failure(st.iterator, {inputs = {x},
                                                    threads = 0}))
  end)

  it("leaves nothing behind", function()
    require "spec.support.collect" ()
    local after = st.memory()
    assert.equal(before.tensors.count, after.tensors.count)
    assert.equal(before.data.count, after.data.count)
    assert.equal(before.scratch.count, after.scratch.count)
  end)
end)
