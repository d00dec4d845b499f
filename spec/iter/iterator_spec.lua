--- Plans of the tensor iterator, and loops that scripts run over them
-- (I1 to I20). The numbers of the articles are in article_examples_spec.
-- axes: isa lua ffi threads

local st = require "strided"
local tensors = require "spec.support.tensors"

local failure, lists = tensors.failure, tensors.lists
local live, raises = tensors.live, tensors.raises

st.warnings(false) -- an out= tensor of another shape is on purpose here

local has_ffi, ffi = pcall(require, "ffi")

local unpack = unpack or table.unpack

--- A loop body that sets output 1 to what fn makes of the inputs, or of all
-- operands from one on.
local function body(plan, fn, from)
  local n = #plan.operands
  from = from or #plan.outputs + 1
  return function(at, stride, n0, n1)
    for j = 0, n1 - 1 do
      for i = 0, n0 - 1 do
        local values = {}
        for k = from, n do
          local offset = at[k] + i * stride[k] + j * stride[n + k]
          values[#values + 1] = plan:get(k, offset)
        end
        plan:set(1, at[1] + i * stride[1] + j * stride[n + 1],
                 fn(unpack(values)))
      end
    end
  end
end

local function add(x, y) return x + y end

--- A plan that only writes t.
local function nullary(t)
  return st.iterator {preset = "nullary", outputs = {t}}
end

describe("the iterator", function()
  local before
  setup(function()
    require "spec.support.collect" ()
    before = st.memory()
  end)

  describe("has presets: ", function()
    local OVERLAP, RESIZE = "check_mem_overlap", "resize_outputs"
    local DEVICE, DTYPE = "check_all_same_device", "check_all_same_dtype"
    local PROMOTE = "promote_inputs_to_common_dtype"
    local CAST = "cast_common_dtype_to_outputs"
    local SAFE = "enforce_safe_casting_to_output"
    local FLOAT = "promote_integer_inputs_to_float"
    local SCALARS = "allow_cpu_scalars"
    local presets = {
      default = {OVERLAP, RESIZE, DTYPE, DEVICE},
      unary = {OVERLAP, RESIZE, DTYPE, DEVICE},
      unary_float = {OVERLAP, RESIZE, DEVICE, PROMOTE, CAST, SAFE, FLOAT},
      force_boolean = {OVERLAP, RESIZE, DEVICE},
      binary = {OVERLAP, RESIZE, DEVICE, SCALARS, PROMOTE, CAST, SAFE},
      binary_float = {OVERLAP, RESIZE, DEVICE, SCALARS, PROMOTE, CAST, SAFE,
                      FLOAT},
      comparison = {OVERLAP, RESIZE, DEVICE, SCALARS, PROMOTE, CAST},
      ternary = {OVERLAP, RESIZE, DEVICE, PROMOTE, SAFE},
      nullary = {OVERLAP, DEVICE},
      reduce = {DEVICE, PROMOTE, "is_reduction"},
      copy = {OVERLAP},
    }
    local preset_of = require "strided.core".plan_preset
    for name, want in pairs(presets) do
      it(name, function()
        local got, dtype = preset_of(name)
        local count = 0
        for _, is_set in pairs(got) do count = count + (is_set and 1 or 0) end
        for _, flag in ipairs(want) do assert.is_true(got[flag], flag) end
        assert.equal(#want, count)
        local is_bool = name == "comparison" or name == "force_boolean"
        assert.equal(is_bool and st.bool or nil, dtype)
      end)
    end

    it("these and no more", function()
      local n = 0
      for _ in pairs(presets) do n = n + 1 end
      assert.equal(n, #preset_of())
      assert.matches("no preset 'nosuch', only default, ",
                     failure(st.iterator, {preset = "nosuch"}))
    end)

    it("whose flags can be overridden", function()
      local x, ints = st.ones(3), st.ones({3}, {dtype = "int32"})
      local out = st.empty({3}, {dtype = "float64"})
      local plan = st.iterator {preset = "binary", outputs = {out},
                                inputs = {x, ints}}
      assert.is_true(plan.operands[1].is_temporary)
      plan = st.iterator {preset = "binary", outputs = {out},
                          inputs = {x, ints},
                          cast_common_dtype_to_outputs = false}
      assert.is_false(plan.operands[1].is_temporary)
    end)
  end)

  describe("refuses what makes no sense: ", function()
    local x = st.ones(2, 3)
    local rows = {
      {"to be walked by a flag", "must be a table", "contiguous"},
      {"an option that is none", "no option 'input'", {input = {x}}},
      {"inputs that are no list", "must be a list", {inputs = x}},
      {"no operands", "1 to 16 operands", {}},
      {"a boolean as an input", "Tensor or a number", {inputs = {true}}},
      {"a string as an output", "Tensor or false", {outputs = {"x"}}},
      {"floats without promotion", "needs promote_inputs",
       {inputs = {x}, promote_integer_inputs_to_float = true}},
      {"dtypes that differ", "expected float32",
       {outputs = {false}, inputs = {x, x:to "int32"}}},
      {"a negative static size", "negative size",
       {outputs = {false}, static_shape = {-1}}},
      {"a static shape of text", "must be an integer",
       {outputs = {false}, static_shape = {"many"}}},
      {"an operand too small for the static shape",
     "operand 1 .*does not cover",
       {inputs = {x}, static_shape = {2, 4}}},
      {"an operand of another rank", "does not cover",
       {inputs = {x}, static_shape = {2}}},
      {"an operand with dimensions for one without", "0%-dim",
       {inputs = {x}, static_shape = {}}},
      {"too large a static shape", "",
       {outputs = {false}, static_shape = {2 ^ 40, 2 ^ 40}, dtype = "int8"}},
      {"dimensions to squash in nothing", "needs static_shape",
       {inputs = {x}, squash_dims = {1}}},
      {"a dimension to squash that is not there", "no dimension 3",
       {inputs = {x}, static_shape = {2, 3}, squash_dims = {3}}},
      {"dimensions to squash that are no list", "must be a list",
       {inputs = {x}, static_shape = {2, 3}, squash_dims = "2"}},
      {"a static dtype that is none", "static_dtype",
       {outputs = {false}, static_shape = {1}, static_dtype = "word"}},
    }
    for _, row in ipairs(rows) do
      it(row[1], function()
        assert.matches(row[2], failure(st.iterator, row[3]))
      end)
    end
    teardown(function()
      x:free()
      for _, row in ipairs(rows) do row[3] = nil end
    end)
  end)

  it("walks a static shape, squashed where it is told", function()
    local t = st.zeros(4, 6)
    local plan = st.iterator {outputs = {t}, static_shape = {3, 6},
                              squash_dims = -2}
    assert.same({1, 6}, lists(plan.common_shape))
    assert.same({6}, lists(plan.shape))
    plan = st.iterator {outputs = {false}, static_shape = {2, 3},
                        static_dtype = "int16"}
    assert.equal(st.int16, plan.outputs[1].dtype)
    assert.same({2, 3}, lists(plan.outputs[1].shape))
  end)

  it("takes numbers as inputs, which promote as numbers do", function()
    local plan = st.iterator {preset = "binary", outputs = {false},
                              inputs = {st.ones({2}, {dtype = "int8"}), 300}}
    assert.equal(st.int8, plan.common_dtype)
    plan = st.iterator {preset = "binary", outputs = {false},
                        inputs = {st.ones({2}, {dtype = "int8"}), 0.5}}
    assert.equal(st.float32, plan.common_dtype)
    local list = {st.ones(2), 2}
    st.iterator {preset = "binary", outputs = {false}, inputs = list}
    assert.equal(2, list[2])
  end)

  -- the folded dimensions from 0, shape, strides of output and input (E4)
  for _, row in ipairs {
    {{1}, {5, 6, 4}, {0, 4, 24}, {24, 4, 120}, 24, 1},
    {{0, 2}, {6, 4, 5}, {0, 0, 4}, {4, 120, 24}, 5, 2},
    {{0, 1, 2}, {120}, {0}, {4}, 1, 1},
    {{2}, {6, 20}, {0, 4}, {4, 24}, 20, 1},
    {{0}, {4, 30}, {0, 4}, {120, 4}, 30, 1},
  } do
    it("folds (4,5,6) along {" .. table.concat(row[1], ",") .. "} (E4)",
       function()
      local shape = {4, 5, 6}
      for _, d in ipairs(row[1]) do shape[d + 1] = 1 end
      local plan = st.iterator {preset = "reduce", inputs = {st.empty(4, 5, 6)},
                                outputs = {st.empty(shape)}}
      assert.same(row[2], lists(plan.shape))
      assert.same(row[3], lists(plan.strides[1]))
      assert.same(row[4], lists(plan.strides[2]))
      assert.equal(row[5], plan.num_output_elements)
      assert.equal(row[6], plan.num_reduce_dims)
      assert.is_true(plan:is_dim_reduced(1))
      assert.equal(#row[2] == 1, plan.is_trivial_1d)
      raises("iterator: there is no dimension 4", plan.is_dim_reduced, plan, 4)
    end)
  end

  it("says what its operands are (I11)", function()
    local x = st.ones(2, 3)
    local plan = st.iterator {preset = "binary", outputs = {x},
                              inputs = {x, st.tensor(2.5)}}
    assert.is_true(plan.operands[1].is_read_write)
    assert.is_false(plan:is_scalar(1))
    assert.is_true(plan:is_scalar(3))
    raises("iterator: there is no operand 4", plan.is_scalar, plan, 4)
    assert.same({0, 24}, {plan.operands[1].low, plan.operands[1].high})
    plan = st.iterator {outputs = {false}, inputs = {x[{2}]}}
    assert.same({-12, 12}, {plan.operands[2].low, plan.operands[2].high})
    plan = st.iterator {outputs = {st.empty(7)}, inputs = {x}}
    assert.is_true(plan.operands[1].is_resized)
  end)

  it("says what its inner loop meets (I16)", function()
    for inner, b in pairs {vector = st.empty(6), scalar = st.empty({}),
                           strided = st.empty(12)[{{1, 12, 2}}]} do
      local plan = st.iterator {preset = "binary", outputs = {false},
                                inputs = {st.empty(6), b}}
      assert.equal(inner, plan.inner)
    end
  end)

  -- elements, threads, grain, chunks (I13)
  for _, row in ipairs {
    {32768, 2, nil, {{0, 32768}}},
    {32769, 2, nil, {{0, 16385}, {16385, 32769}}},
    {32769, 8, nil, {{0, 16385}, {16385, 32769}}},
    {32769, 1, nil, {{0, 32769}}},
    {100, 4, 10, {{0, 25}, {25, 50}, {50, 75}, {75, 100}}},
    {9, 4, 2, {{0, 3}, {3, 6}, {6, 9}}},
    {3, 256, 1, {{0, 1}, {1, 2}, {2, 3}}},
    {0, 4, 1, {}},
  } do
    it(("cuts %d elements for %d threads (I13)"):format(row[1], row[2]),
       function()
      local plan = nullary(st.empty(row[1]))
      assert.same(row[4], plan:chunks(row[2], row[3]))
    end)
  end

  it("cuts for the threads there are, and only for some (I13)", function()
    local plan = nullary(st.empty(100))
    assert.same(plan:chunks(st.get_num_threads(), 1), plan:chunks(nil, 1))
    for _, bad in ipairs {0, -1, 257} do
      raises({"iterator: ", "1 to 256 threads"}, plan.chunks, plan, bad)
    end
    for _, bad in ipairs {1.5, "two"} do
      raises({"chunks: ", "'threads' must be an integer"},
             plan.chunks, plan, bad)
    end
    raises({"iterator: ", "a grain of at least 1"}, plan.chunks, plan, 2, 0)
  end)

  describe("runs loops of a script: ", function()
    it("a sum of broadcast operands of different dtypes", function()
      local x = st.arange(12):view(3, 4):t()
      local y = st.tensor {0.5, 1.5, 2.5}
      local plan = st.iterator {preset = "binary", outputs = {false},
                                inputs = {x, y}}
      plan:run(body(plan, add))
      assert.is_true(plan.outputs[1]:equal(x + y))
      assert.same((x + y):stride(), plan.outputs[1]:stride())
    end)

    it("a reduction", function()
      local x = st.arange(120):view(4, 5, 6):to "float32"
      local out = st.zeros(4, 1, 6)
      local plan = st.iterator {preset = "reduce", outputs = {out},
                                inputs = {x}}
      plan:run(body(plan, add, 1))
      assert.is_true(out:equal(x:sum {dim = 2, keepdim = true}))
    end)

    it("a transposed copy", function()
      local x, out = st.rand(5, 7), st.empty(7, 5)
      local plan = st.iterator {preset = "copy", outputs = {out},
                                inputs = {x:t()}}
      plan:run(body(plan, function(v) return v end))
      assert.is_true(out:equal(x:t()))
    end)

    it("chunk by chunk, in steps that cover every element once", function()
      local x = st.arange(60):view(3, 4, 5):permute(3, 1, 2)
      local out = st.zeros({4, 5, 3}, {dtype = "int64"}):permute(2, 3, 1)
      local plan = st.iterator {preset = "binary", outputs = {out},
                                inputs = {x, out}}
      for _, c in ipairs(plan:chunks(7, 3)) do
        local covered = 0
        local count = body(plan, add)
        plan:run(function(at, stride, n0, n1)
          covered = covered + n0 * n1
          count(at, stride, n0, n1)
        end, c[1], c[2])
        assert.equal(c[2] - c[1], covered)
      end
      assert.is_true(out:equal(x))
    end)

    it("nothing for no elements", function()
      local plan = st.iterator {outputs = {false}, inputs = {st.empty(0, 3)}}
      plan:run(function() error "there is nothing to do" end)
      assert.same({}, plan:steps())
      assert.is_true(plan.num_output_elements == 0)
    end)

    it("outputs of another dtype, cast back at the end", function()
      local out = st.zeros({3}, {dtype = "float64"})
      local plan = st.iterator {
        preset = "binary", outputs = {out},
        inputs = {st.tensor {1, 2, 3}, st.tensor {1, 2, 3}}}
      plan:run(body(plan, add), 0, 2)
      assert.same({0, 0, 0}, out:totable())
      plan:run(body(plan, add))
      assert.same({2, 4, 6}, out:totable())
    end)

    it("whose errors go on to the caller", function()
      local plan = nullary(st.empty(3))
      local sign = {}
      assert.equal(sign,
                   failure(plan.run, plan, function() error(sign) end))
    end)

    it("which must be functions, within the elements", function()
      local plan = nullary(st.empty(3))
      assert.matches("must be a function", failure(plan.run, plan, 7))
      assert.matches("outside the 3", failure(plan.run, plan, add, 0, 4))
      assert.matches("outside the 3", failure(plan.run, plan, add, -1, 2))
      assert.matches("must be a plan", failure(plan.run, add))
    end)
  end)

  describe("reaches elements", function()
    -- dtype, value in, value out
    for _, row in ipairs {
      {"bool", true, true}, {"uint8", 200, 200}, {"int8", -5, -5},
      {"int16", -300, -300}, {"int32", 2 ^ 30, 2 ^ 30},
      {"int64", -2 ^ 40, -2 ^ 40}, {"float16", 0.1, 0.0999755859375},
      {"bfloat16", 1.5, 1.5}, {"float32", 0.5, 0.5}, {"float64", 0.1, 0.1},
    } do
      it("of dtype " .. row[1], function()
        local t = st.zeros({3}, {dtype = row[1]})
        local plan = nullary(t)
        plan:set(1, t:element_size(), row[2])
        assert.equal(row[3], plan:get(1, t:element_size()))
        assert.equal(row[3], t[2])
        local zero = 0
        if row[1] == "bool" then zero = false end
        assert.equal(zero, plan:get(1, 0))
      end)
    end

    it("that are complex or too large for a number", function()
      local t = st.zeros({1}, {dtype = "complex64"})
      local plan = nullary(t)
      plan:set(1, 0, st.complex(1, -2))
      assert.equal(tostring(st.complex(1, -2)), tostring(plan:get(1, 0)))
      t = st.zeros({1}, {dtype = "int64"})
      plan = nullary(t)
      plan:set(1, 0, st.int "9007199254740993")
      assert.equal(tostring(t[{1}]:item()), tostring(plan:get(1, 0)))
    end)

    it("of its storage, not beyond", function()
      local t = st.zeros(4, 4)[{2}]
      local plan = st.iterator {outputs = {t}, inputs = {t}}
      for _, at in ipairs {0, -16, 44} do
        assert.equal(0, plan:get(1, at))
        plan:set(1, at, 0)
      end
      for _, at in ipairs {-17, -20, 45, 48, 2 ^ 40, -2 ^ 62, 2 ^ 62} do
        assert.matches("outside of its storage", failure(plan.get, plan, 1,
                                                         at))
        assert.matches("outside of its storage", failure(plan.set, plan, 1,
                                                         at, 1))
      end
      for _, operand in ipairs {0, -1, 3, 17, 2 ^ 40} do
        assert.matches("no operand", failure(plan.get, plan, operand, 0))
      end
      raises({"plan_get: ", "'offset' must be an integer"},
             plan.get, plan, 1, 0.5)
      raises({"plan_get: ", "'offset' must be an integer"}, plan.get, plan, 1)
    end)

    it("of outputs only, with values that fit", function()
      local plan = st.iterator {outputs = {st.zeros({1}, {dtype = "int8"})},
                                inputs = {st.zeros({1}, {dtype = "int8"})}}
      assert.matches("is an input", failure(plan.set, plan, 2, 0, 1))
      assert.matches("does not fit", failure(plan.set, plan, 1, 0, 1000))
      assert.matches("must be a number", failure(plan.set, plan, 1, 0, "1"))
      assert.equal(0, plan:get(1, 0))
    end)

    it("of converted numbers, which live in the plan", function()
      local plan = st.iterator {preset = "binary", outputs = {false},
                                inputs = {st.ones(2), 2.5}}
      assert.equal(2.5, plan:get(3, 0))
      for _, at in ipairs {16, -1} do
        raises({"operand 3", "outside of its storage"}, plan.get, plan, 3, at)
      end
    end)

    it("of tensors that were resized or freed meanwhile", function()
      local t = st.zeros(4)
      local plan = nullary(t)
      t:resize_({1000})
      plan:set(1, 12, 7)
      assert.equal(7, t[4])
      t:free()
      assert.equal(7, plan:get(1, 12))
    end)

    it("but none on the meta device", function()
      local t = st.empty({4}, {device = "meta"})
      local plan = st.iterator {outputs = {false}, inputs = {t}}
      assert.matches("device 'meta'", failure(plan.get, plan, 2, 0))
      assert.matches("device 'meta'", failure(plan.set, plan, 1, 0, 1))
    end)
  end)

  describe("runs loops over pointers", function()
    if not has_ffi then
      it("where there is an FFI, which is not here", function()
        local plan = nullary(st.empty(3))
        assert.matches("no FFI", failure(plan.run_ffi, plan, add))
      end)
      return
    end

    local function multiply(data, stride, n0, n1)
      for j = 0, n1 - 1 do
        for i = 0, n0 - 1 do
          local out = data[0] + i * stride[0] + j * stride[3]
          local a = data[1] + i * stride[1] + j * stride[4]
          local b = data[2] + i * stride[2] + j * stride[5]
          ffi.cast("float *", out)[0] =
            ffi.cast("float *", a)[0] * ffi.cast("float *", b)[0]
        end
      end
    end

    local function operands()
      return st.rand(6, 5, 4):permute(2, 3, 1), st.rand(4, 1)
    end

    it("with a function of the script", function()
      local a, b = operands()
      local plan = st.iterator {preset = "binary", outputs = {false},
                                inputs = {a, b}}
      plan:run_ffi(multiply, 0, 50)
      plan:run_ffi(multiply, 50, plan.numel)
      assert.is_true(plan.outputs[1]:equal(a * b))
    end)

    it("with a C function", function()
      local a, b = operands()
      local loop = ffi.cast("void (*)(char **, const int64_t *, int64_t, "
                            .. "int64_t)", function(data, stride, n0, n1)
        multiply(data, stride, tonumber(n0), tonumber(n1))
      end)
      local plan = st.iterator {preset = "binary", outputs = {false},
                                inputs = {a, b}}
      plan:run_ffi(loop)
      loop:free()
      assert.is_true(plan.outputs[1]:equal(a * b))
    end)

    it("anew for each step, whatever happened to the tensors", function()
      local t = st.zeros(2, 3)
      local plan = nullary(t[":, 1:2"])
      local steps = 0
      plan:run_ffi(function(data)
        steps = steps + 1
        ffi.cast("float *", data[0])[0] = steps
        t:resize_({steps * 1000})
      end, 0, 3)
      assert.equal(2, steps)
      assert.same({1, 2}, {t[1], t[4]})
    end)

    it("but none on the meta device", function()
      local plan = st.iterator {
        outputs = {false}, inputs = {st.empty({4}, {device = "meta"})}}
      assert.matches("device 'meta'", failure(plan.run_ffi, plan, add))
    end)
  end)

  describe("as text", function()
    it("says how it walks", function()
      local x = st.rand(1, 64, 5, 4)
      local out = x:contiguous {memory_format = "channels_last"}
      local text = tostring(st.iterator {preset = "copy", outputs = {out},
                                         inputs = {x}})
      for _, line in ipairs {
        "plan of 1280 elements, computed in float32",
        "dimensions {2, 4, 3, 1} of {1, 64, 5, 4}, fastest first",
        "shape       {64, 20}, coalesced",
        "output 1    float32  byte strides {4, 256}",
        "input 1     float32  byte strides {80, 4}",
        "a copy goes tile by tile", "steps       64 x 20\n",
      } do
        assert.truthy(text:find(line, 1, true), line .. "\n" .. text)
      end
    end)

    it("says what it folds and what it spreads", function()
      local text = tostring(st.iterator {
        preset = "reduce", inputs = {st.empty(4, 5, 6)},
        outputs = {st.empty(4, 1, 6)}})
      assert.matches("reduces     to 24 elements, along 1 dimension\n", text)
      assert.matches("5 x 6, 5 x 6, 5 x 6, %.%.%.", text)
      text = tostring(st.iterator {preset = "binary", outputs = {false},
                                   inputs = {st.empty(3), 2}})
      assert.matches("byte strides {0}, in a temporary", text)
      assert.matches("is spread over it", text)
    end)
  end)

  it("fails without a trace when memory runs out", function()
    local a, b = st.ones(2, 3), st.ones({3}, {dtype = "int32"})
    local out = st.empty({2, 3}, {dtype = "float64"})
    local count = live()
    local options = {preset = "binary", outputs = {out}, inputs = {a, b, 2}}
    local k = 0
    local left
    repeat
      k = k + 1
      st.memory_fail_at(k)
      local ok, plan = pcall(st.iterator, options)
      left = st.memory_fail_at(0)
      if not ok then assert.matches("memory", plan) end
      plan = nil -- luacheck: ignore 311
      assert.equal(count, live())
    until left > 0 or k > 100
    assert.is_true(k > 3 and k < 100)
  end)

  it("leaves nothing behind", function()
    if has_ffi then jit.flush() end -- what was compiled holds its tensors
    require "spec.support.collect" ()
    local after = st.memory()
    assert.equal(before.tensors.count, after.tensors.count)
    assert.equal(before.data.count, after.data.count)
  end)
end)
