--- The examples of the articles this engine is modelled on, with their
-- numbers (g1 to g28), and what they have wrong (W1 to W10).
-- Permutations are given 0-based there; a plan's are 1-based.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, raises = tensors.live, tensors.raises

local unpack = unpack or table.unpack

st.warnings(false) -- an out= tensor of another shape is on purpose here

local CL = "channels_last"

local function empty_cl(...)
  return st.empty({...}, {memory_format = CL})
end

local function strided(size, stride)
  return st.empty_strided(size, stride)
end

--- The plan of an operator that promotes nothing (unary, binary, copy).
local function plan_of(outputs, inputs, flags)
  local config = {outputs = outputs, inputs = inputs}
  for k, v in pairs(flags or {}) do config[k] = v end
  return st.iterator(config)
end

local function perm0(plan)
  local out = {}
  for i, d in ipairs(plan.perm) do out[i] = d - 1 end
  return out
end

local function shape(t) return {unpack(t.shape)} end

local function times(list, k)
  local out = {}
  for i, v in ipairs(list) do out[i] = v * k end
  return out
end

--- The list in the order of a plan's dimensions.
local function permuted(plan, list)
  local out = {}
  for i, d in ipairs(plan.perm) do out[i] = list[d] end
  return out
end

--- A broadcast operand's strides: 0 where it is repeated.
local function effective(t, ...) return t:expand(...):stride() end

describe("the seeds' examples", function()
  local before
  setup(function() before = live() end)

  describe("of memory formats", function()
    it("g1: rand(1,64,5,4) as channels_last", function()
      local x = st.rand(1, 64, 5, 4):contiguous {memory_format = CL}
      assert.same({1280, 1, 256, 64}, x:stride())
      assert.is_false(x:is_contiguous())
      assert.is_true(x:is_contiguous {memory_format = CL})
    end)

    it("g12: (2,2048,1,1) with strides (2048,1,1,1) is both", function()
      local x = strided({2, 2048, 1, 1}, {2048, 1, 1, 1})
      assert.is_true(x:is_contiguous())
      assert.is_true(x:is_contiguous {memory_format = CL})
    end)

    it("g13: empty then restrided", function()
      local x = st.empty(1, 64, 5, 4)
      assert.same({1280, 20, 4, 1}, x:stride())
      assert.same({1280, 1, 256, 64}, empty_cl(1, 64, 5, 4):stride())
    end)

    it("g22: contiguous keeps an ambiguous tensor, to restrides it",
       function()
      local x = strided({2, 1, 4, 4}, {16, 16, 4, 1})
      assert.is_true(x:is_contiguous())
      assert.is_true(x:is_contiguous {memory_format = CL})
      local same = x:contiguous {memory_format = CL}
      assert.same({16, 16, 4, 1}, same:stride())
      assert.is_true(rawequal(x, same))
      local moved = x:to {dtype = "float32", memory_format = CL}
      assert.same({16, 1, 4, 1}, moved:stride())
      assert.not_equal(x:data_ptr(), moved:data_ptr())
    end)

    it("g23: (2,4,1,1) with strides (4,1,1,1) is both", function()
      local x = strided({2, 4, 1, 1}, {4, 1, 1, 1})
      assert.is_true(x:is_contiguous())
      assert.is_true(x:is_contiguous {memory_format = CL})
    end)

    it("g26: [4,2,3] with strides [8,3,1] is not dense", function()
      local x = strided({4, 2, 3}, {8, 3, 1})
      assert.is_false(x:is_non_overlapping_and_dense())
      local plan = plan_of({false}, {x})
      assert.same({2, 1, 0}, perm0(plan))
    end)

    it("g27: [3,4] with strides [1,3] is dense and not contiguous", function()
      local x = strided({3, 4}, {1, 3})
      assert.is_true(x:is_non_overlapping_and_dense())
      assert.is_false(x:is_contiguous())
    end)
  end)

  describe("of the copy from NCHW to NHWC", function()
    local src, dst, plan
    setup(function()
      src = st.empty(1, 64, 5, 4)
      dst = empty_cl(1, 64, 5, 4)
      plan = plan_of({dst}, {src}, {resize_outputs = false})
    end)
    teardown(function() src, dst, plan = nil, nil, nil end)

    it("g2: is reordered by [1,3,2,0]", function()
      assert.same({1, 64, 5, 4}, plan.common_shape)
      local out, into = times(src:stride(), 4), times(dst:stride(), 4)
      assert.same({5120, 80, 16, 4}, out)
      assert.same({5120, 4, 1024, 256}, into)
      assert.same({1, 3, 2, 0}, perm0(plan))
      assert.same({64, 4, 5, 1}, permuted(plan, plan.common_shape))
      assert.same({80, 4, 16, 5120}, permuted(plan, out))
      assert.same({4, 256, 1024, 5120}, permuted(plan, into))
    end)

    it("g3: coalesces to one loop of 64 x 20", function()
      assert.same({64, 20}, plan.shape)
      assert.same({4, 256}, plan.strides[1])
      assert.same({80, 4}, plan.strides[2])
      assert.is_true(plan.is_coalesced)
      assert.same({{64, 20, 0, 0}}, plan:steps(0, 1280))
    end)

    it("g10: has no vector loop, its inner strides differ", function()
      assert.is_false(plan.has_contiguous_first_dim)
      assert.is_false(plan.is_contiguous)
      assert.equal("strided", plan.inner)
      assert.is_true(plan.is_tiled_copy)
    end)

    it("gives the values of the source", function()
      local values = st.arange(1280):view(1, 64, 5, 4)
      local copy = values:contiguous {memory_format = CL}
      assert.is_true(copy:equal(values))
      assert.equal(64 * 20 - 1, copy[{1, 64, 5, 4}]:item())
    end)
  end)

  describe("of the dim counter", function()
    -- [64,2000,10], byte strides [4,512,1200000]: nothing coalesces.
    local plan
    setup(function()
      local x = strided({10, 2000, 64}, {300000, 128, 1})
      plan = plan_of({x}, {x})
    end)
    teardown(function() plan = nil end)

    it("g5, g6: element 1066670 is at [46,666,8]", function()
      assert.same({64, 2000, 10}, plan.shape)
      local first = plan:steps(1066670, 1280000)[1]
      assert.equal(46 * 4 + 666 * 512 + 8 * 1200000, first[3])
      assert.equal(9941176, first[3])
      local flat = st.empty(1280000)
      local flat_plan = plan_of({flat}, {flat})
      assert.equal(4266680, flat_plan:steps(1066670, 1280000)[1][3])
    end)

    it("g7: the range [1066670,1280000) takes three steps", function()
      local steps = plan:steps(1066670, 1280000)
      local sizes, at = {}, {}
      for i, s in ipairs(steps) do
        sizes[i], at[i] = {s[1], s[2]}, s[3]
      end
      assert.same({{18, 1}, {64, 1333}, {64, 2000}}, sizes)
      assert.same({9941176, 667 * 512 + 8 * 1200000, 9 * 1200000}, at)
    end)

    for _, row in ipairs {
      {"g8", 1066670, 1100000, {{18, 1}, {64, 520}, {32, 1}}},
      {"g9", 0, 100, {{64, 1}, {36, 1}}},
      {"g9", 10, 20, {{10, 1}}},
      {"g9", 32768, 65536, {{64, 512}}},
    } do
      it(("%s: the range [%d,%d)"):format(row[1], row[2], row[3]), function()
        local sizes = {}
        for i, s in ipairs(plan:steps(row[2], row[3])) do
          sizes[i] = {s[1], s[2]}
        end
        assert.same(row[4], sizes)
      end)
    end
  end)

  describe("of broadcasting and reordering", function()
    it("g4: {2,1,3} with {4,3} gives {2,4,3}", function()
      assert.same({2, 4, 3},
                  shape(st.zeros(2, 1, 3) + st.zeros(4, 3)))
    end)

    it("g16: a (2,3) unary takes the fast path: [6], [4]", function()
      local x = st.empty(2, 3)
      assert.same({12, 4}, times(x:stride(), 4))
      local plan = plan_of({false}, {x})
      assert.is_nil(plan.perm)
      assert.equal("contiguous", plan.fast)
      assert.same({6}, plan.shape)
      assert.same({4}, plan.strides[2])
    end)

    it("g17: [3,2] in bytes [8,4] becomes [2,3] in [4,8]", function()
      local plan = plan_of({false}, {st.empty(3, 2), st.empty(1, 2)})
      assert.same({1, 0}, perm0(plan))
      assert.same({2, 3}, plan.shape)
      assert.same({4, 8}, plan.strides[2])
    end)

    it("g20: channels_last plus contiguous (3,4,5)", function()
      local a, b = empty_cl(2, 3, 4, 5), st.empty(3, 4, 5)
      local plan = plan_of({false}, {a, b})
      assert.same({1, 3, 2, 0}, perm0(plan))
      assert.same({1, 3, 15, 60}, permuted(plan, a:stride()))
      assert.same({60, 1, 15, 3}, (a + b):stride())
      assert.same({60, 1, 15, 3}, plan.outputs[1]:stride())
    end)

    it("g21: the other order decides otherwise", function()
      local a, b = st.empty(3, 4, 5), empty_cl(2, 3, 4, 5)
      assert.same({3, 2, 1, 0}, perm0(plan_of({false}, {a, b})))
      assert.same({60, 20, 5, 1}, (a + b):stride())
    end)

    it("g24: the ambiguous (2,3,1,1) plus (3,1,1)", function()
      local a = strided({2, 3, 1, 1}, {3, 1, 3, 3})
      local b = strided({3, 1, 1}, {1, 1, 1})
      assert.same({3, 1, 3, 3}, effective(a, 2, 3, 1, 1))
      assert.same({0, 1, 1, 1}, effective(b, 2, 3, 1, 1))
      local plan = plan_of({false}, {a, b})
      assert.same({1, 3, 2, 0}, perm0(plan))
      assert.same({1, 3, 3, 3}, permuted(plan, a:stride()))
      assert.same({3, 1, 3, 3}, (a + b):stride())
    end)

    it("g25: (2,3,1,1) plus a non-contiguous (3,1,3)", function()
      local a = strided({2, 3, 1, 1}, {3, 1, 3, 3})
      local b = strided({3, 1, 3}, {1, 3, 3})
      assert.same({3, 1, 3, 0}, effective(a, 2, 3, 1, 3))
      assert.same({0, 1, 3, 3}, effective(b, 2, 3, 1, 3))
      local plan = plan_of({false}, {a, b})
      assert.same({1, 2, 3, 0}, perm0(plan))
      assert.same({1, 3, 3, 9}, permuted(plan, (a + b):stride()))
      assert.same({3, 3, 2}, plan.shape)
      assert.same({2, 3, 1, 3}, shape(a + b))
      assert.same({9, 1, 3, 3}, (a + b):stride())
    end)

    it("g28: the left operand's format wins", function()
      local ct, cl = st.empty(2, 3, 4, 5), empty_cl(2, 3, 4, 5)
      assert.same({60, 20, 5, 1}, (ct + cl):stride())
      assert.same({60, 1, 15, 3}, (cl + ct):stride())
    end)

    it("g28: a full tensor decides over an ambiguous NC11", function()
      local formats = {
        {st.empty(2, 3, 4, 5), {60, 20, 5, 1}},
        {empty_cl(2, 3, 4, 5), {60, 1, 15, 3}},
      }
      local ambiguous = {st.empty(2, 3, 1, 1), empty_cl(2, 3, 1, 1)}
      for _, full in ipairs(formats) do
        for _, nc11 in ipairs(ambiguous) do
          assert.same(full[2], (full[1] + nc11):stride())
          assert.same(full[2], (nc11 + full[1]):stride())
        end
      end
    end)
  end)

  describe("of reductions", function()
    it("g15: the sum of three, keepdim", function()
      local x = st.tensor {1.0, 2.0, 3.0}
      local sum = x:to("float32"):sum {dim = 1, keepdim = true}
      assert.same({6}, sum:totable())
      local plan = plan_of({st.empty(1)}, {st.empty(3)},
                           {is_reduction = true, resize_outputs = false})
      assert.same({3}, plan.shape)
      assert.same({0}, plan.strides[1])
      assert.same({4}, plan.strides[2])
    end)

    it("g18: without keepdim the result is viewed as (4,1,6)", function()
      local result = st.empty(4, 6)
      local viewed = result:as_strided({4, 1, 6}, {6, 0, 1})
      local plan = plan_of({viewed}, {st.empty(4, 5, 6)},
                           {is_reduction = true, resize_outputs = false})
      assert.same({5, 6, 4}, plan.shape)
      assert.same({1, 2, 0}, perm0(plan))
      assert.same({0, 4, 24}, plan.strides[1])
      assert.same({24, 4, 120}, plan.strides[2])
      assert.same({4, 6}, shape(st.empty(4, 5, 6):sum {dim = 2}))
    end)
  end)

  describe("of clone and of the dispatcher", function()
    it("g11: AutogradCUDA comes first, then ADInplaceOrView, then CUDA",
       function()
      local keys = st.keyset("AutogradCUDA", "CUDA", "ADInplaceOrView")
      assert.equal("AutogradCUDA", keys:highest())
      keys = keys:remove "AutogradCUDA"
      assert.equal("ADInplaceOrView", keys:highest())
      keys = keys:remove "ADInplaceOrView"
      assert.equal("CUDA", keys:highest())
    end)

    it("g14: clone is an operator of its own memory", function()
      local x = st.tensor {1.5, 2.5}
      local y = x:clone()
      assert.is_true(x:equal(y))
      assert.not_equal(x:data_ptr(), y:data_ptr())
      local names = {}
      for _, e in ipairs(st.trace(function() x:clone() end)) do
        names[#names + 1] = e.op
      end
      assert.equal("aten::clone", names[1])
      assert.equal("CloneBackward0", x:requires_grad_():clone().grad_fn.name)
    end)
  end)

  describe("of the iterator's configuration (g19)", function()
    local a, b, out
    setup(function()
      a, b, out = st.empty(3), st.empty(3, {dtype = "int64"}), st.empty(2)
    end)
    teardown(function() a, b, out = nil, nil, nil end)

    it("checks memory overlap", function()
      local twice = st.empty(1):expand(3)
      raises({"iterator: ", "in one place"}, plan_of, {twice}, {a})
      plan_of({twice}, {a}, {check_mem_overlap = false})
    end)

    it("resizes outputs", function()
      plan_of({out}, {a})
      assert.same({3}, shape(out))
      out = st.empty(2)
      raises({"iterator: ", "[2] and [3]"},
             plan_of, {out}, {a}, {resize_outputs = false})
    end)

    it("wants one dtype and promotes nothing", function()
      raises({"input", "int64, expected float32"}, plan_of, {false}, {a, b})
      local plan = plan_of({false}, {a, b},
                           {promote_inputs_to_common_dtype = true})
      assert.equal("float32", tostring(plan.common_dtype))
    end)

    it("keeps integers unless told to make floats of them", function()
      local plan = plan_of({false}, {b, b},
                           {promote_inputs_to_common_dtype = true})
      assert.equal("int64", tostring(plan.common_dtype))
      plan = plan_of({false}, {b, b},
                     {promote_inputs_to_common_dtype = true,
                      promote_integer_inputs_to_float = true})
      assert.equal("float32", tostring(plan.common_dtype))
    end)

    it("allows an unsafe cast unless told to refuse it", function()
      local flags = {promote_inputs_to_common_dtype = true,
                     cast_common_dtype_to_outputs = true}
      plan_of({b}, {a}, flags)
      flags.enforce_safe_casting_to_output = true
      raises({"dtype float32", "output", "of dtype int64"}, plan_of, {b}, {a},
             flags)
    end)

    it("may be held to the linear order", function()
      local x = strided({3, 4}, {1, 3})
      assert.equal("non_overlapping_dense", plan_of({false}, {x}).fast)
      local plan = plan_of({false}, {x}, {enforce_linear_iteration = true})
      assert.same({1, 0}, perm0(plan))
    end)
  end)

  describe("corrected", function()
    it("W1: two ambiguous operands of one shape give a contiguous result",
       function()
      local ct = strided({2, 3, 1, 1}, {3, 1, 1, 1})
      local cl = strided({2, 3, 1, 1}, {3, 1, 3, 3})
      assert.same({3, 1, 1, 1}, (ct + cl):stride())
      assert.same({3, 1, 1, 1}, (cl + ct):stride())
      ct = strided({2, 1, 4, 4}, {16, 16, 4, 1})
      cl = strided({2, 1, 4, 4}, {16, 1, 4, 1})
      assert.same({16, 16, 4, 1}, (ct + cl):stride())
      assert.same({16, 16, 4, 1}, (cl + ct):stride())
    end)

    it("W1: NC11 with broadcasting is channels_last in both orders",
       function()
      local function pair(n, strides) return strided({n, 3, 1, 1}, strides) end
      local ct2, cl2 = pair(2, {3, 1, 1, 1}), pair(2, {3, 1, 3, 3})
      local ct1, cl1 = pair(1, {3, 1, 1, 1}), pair(1, {3, 1, 3, 3})
      for _, row in ipairs {{ct2, cl1}, {cl1, ct2}, {cl2, ct1}, {ct1, cl2}} do
        assert.same({3, 1, 3, 3}, (row[1] + row[2]):stride())
      end
    end)

    it("W3: dense operands of equal strides keep them", function()
      local x = strided({3, 4}, {1, 3})
      assert.same({1, 3}, (x + x):stride())
    end)

    it("W4: coalescing may leave more than two dimensions", function()
      local x = strided({10, 2000, 64}, {300000, 128, 1})
      assert.equal(3, #plan_of({x}, {x}).shape)
    end)

    it("W6: a copy to another dtype converts values", function()
      assert.same({1, -1, 3},
                  st.tensor({1.9, -1.9, 3.5}):to("int32"):totable())
    end)

    it("W7: taking a key away leaves the backends", function()
      local keys = st.keyset("CPU", "CUDA", "AutogradCUDA")
      local rest = keys:remove "AutogradCUDA"
      assert.equal("CUDA", rest:highest())
      assert.is_true(rest:has "CPU")
    end)

    it("W8: a given output's strides count for the fast set-up", function()
      local x = strided({3, 4}, {1, 3})
      assert.equal("non_overlapping_dense", plan_of({false}, {x}).fast)
      assert.equal("none", plan_of({st.empty(3, 4)}, {x}).fast)
    end)

    it("W9: clone is explicit, and Autograd comes before it", function()
      local clone = st.ops.aten.clone.default
      assert.equal("autograd kernel", select(2, clone:kernel "AutogradCPU"))
      assert.equal("default backend kernel", select(2, clone:kernel "CPU"))
      local keys = {}
      local x = st.ones(1):requires_grad_()
      for _, e in ipairs(st.trace(x.clone, x)) do
        if e.op == "aten::clone" then keys[#keys + 1] = e.key end
      end
      assert.same({"AutogradCPU", "CPU"}, keys)
    end)

    it("W10: a one-dimensional range needs no second dimension", function()
      local x = st.empty(7)
      assert.same({{4, 1, 8, 8}}, plan_of({x}, {x}):steps(2, 6))
    end)
  end)

  it("leave no tensor behind", function() assert.equal(before, live()) end)
end)
