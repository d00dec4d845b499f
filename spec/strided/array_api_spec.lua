--- Functions of the Array API standard, 2025.12, and what PyTorch has beside
-- them. The values are those of the standard's text and of PyTorch 2.15.
-- axes: lua

local st = require "strided"
local tensors = require "spec.support.tensors"

local unpack = unpack or table.unpack

local lists, live, raises = tensors.lists, tensors.live, tensors.raises

local before = live()

describe("The constants", function()
  it("are numbers of Lua", function()
    assert.equal(math.pi, st.pi)
    assert.equal(math.exp(1), st.e)
    assert.equal(math.huge, st.inf)
    assert.is_true(st.nan ~= st.nan)
    assert.equal("2025.12", st.__array_api_version__)
  end)
end)

describe("finfo and iinfo", function()
  it("give the limits of a dtype, or of a tensor's", function()
    for dtype, row in pairs {
      float16 = {16, 2 ^ -10, 65504, 2 ^ -14, 1e-3},
      bfloat16 = {16, 2 ^ -7, (2 - 2 ^ -7) * 2 ^ 127, 2 ^ -126, 1e-2},
      float32 = {32, 2 ^ -23, (2 - 2 ^ -23) * 2 ^ 127, 2 ^ -126, 1e-6},
      float64 = {64, 2 ^ -52, (2 - 2 ^ -52) * 2 ^ 1023, 2 ^ -1022, 1e-15},
    } do
      local info = st.finfo(dtype)
      assert.same({dtype = dtype, bits = row[1], eps = row[2], max = row[3],
                   min = -row[3], tiny = row[4], smallest_normal = row[4],
                   resolution = row[5]}, info)
      assert.same(info, st.finfo(st.ones(2, {dtype = dtype})))
    end
    assert.same({dtype = "int8", bits = 8, min = -128, max = 127},
                st.iinfo "int8")
    assert.same({dtype = "uint8", bits = 8, min = 0, max = 255},
                st.iinfo(st.ones(2, {dtype = "uint8"})))
  end)

  it("give those of the parts of a complex dtype", function()
    assert.same(st.finfo "float32", st.finfo "complex64")
    assert.same(st.finfo "float64", st.finfo "complex128")
    assert.same(st.finfo(st.get_default_dtype()), st.finfo())
  end)

  it("refuse dtypes of another kind", function()
    raises({"finfo: ", "must be floating-point, got int64", "st.iinfo"},
           st.finfo, "int64")
    raises({"iinfo: ", "an integer dtype, got float32", "st.finfo"}, st.iinfo,
           "float32")
    raises({"iinfo: ", "got bool"}, st.iinfo, "bool")
    raises({"there is no dtype 'uint128'"}, st.iinfo, "uint128")
    raises({"iinfo: ", "got complex32"}, st.iinfo, "complex32")
  end)
end)

-- the kinds of each dtype, beside "numeric" of all but bool
local KINDS = {
  bool = {"bool"}, uint8 = {"unsigned integer", "integral"},
  uint16 = {"unsigned integer", "integral"},
  uint64 = {"unsigned integer", "integral"},
  int8 = {"signed integer", "integral"},
  int64 = {"signed integer", "integral"}, bfloat16 = {"real floating"},
  float32 = {"real floating"}, float64 = {"real floating"},
  complex64 = {"complex floating"}, complex128 = {"complex floating"},
}

describe("isdtype", function()
  for dtype, kinds in pairs(KINDS) do
    it("knows the kinds of " .. dtype, function()
      local is = {[dtype] = true, numeric = dtype ~= "bool" or nil}
      for _, kind in ipairs(kinds) do is[kind] = true end
      for _, kind in ipairs {
        "bool", "signed integer", "unsigned integer", "integral",
        "real floating", "complex floating", "numeric", "int8", dtype,
      } do
        assert.equal(is[kind] or false, st.isdtype(dtype, kind), kind)
        assert.equal(is[kind] or false,
                     st.isdtype(dtype, {"float16", kind}), kind)
      end
      assert.is_false(st.isdtype(dtype, {}))
    end)
  end

  it("refuses other kinds", function()
    raises({"isdtype: ", "\"integral\"", "got integral kind"}, st.isdtype,
           "int8", "integral kind")
    raises({"there is no dtype 'foo'"}, st.isdtype, "foo", "bool")
  end)
end)

describe("result_type", function()
  local half = st.ones({2}, {dtype = "float16"})
  local byte = st.ones({2}, {dtype = "uint8"})
  local single = st.ones({}, {dtype = "float64"})
  for _, row in ipairs {
    {"int8", "int8"}, {"int16", "int8", "uint8"}, {"uint8", byte, 3},
    {"float32", byte, 2.5}, {"float16", half, single},
    {"float64", byte, single}, {"float64", byte, single, 2},
    {"complex64", half, "float32", st.complex(0, 1)},
    {"complex128", single, st.complex(0, 1)},
    {"int64", 1, true}, {"bool", true}, {"float32", 1, 2.5},
    {"float16", single, 2, half, 3}, {"float32", "int32", byte, 1, 2.5},
    {"int64", st.ones({}, {dtype = "int64"}), true},
    {"float64", half, "float64"},
  } do
    it("is " .. row[1], function()
      assert.equal(row[1], st.result_type(unpack(row, 2)))
    end)
  end

  it("agrees with the operator on pairs", function()
    for _, a in ipairs {half, byte, single, st.tensor(2), 3, 0.5, true} do
      for _, b in ipairs {half, byte, single, st.tensor(2), 3, 0.5, true} do
        assert.equal(st.ops.aten.result_type(a, b), st.result_type(a, b))
      end
    end
  end)

  it("refuses other values", function()
    raises({"result_type: it needs a tensor"}, st.result_type)
    raises({"result_type: "}, st.result_type, half, {})
    raises({"must be a dtype, got string 'foo'"}, st.result_type, half, "foo")
  end)
end)

describe("broadcast_shapes", function()
  for _, row in ipairs {
    {{}}, {{2, 3}, {2, 3}}, {{5, 2, 3}, {2, 1}, {3}, {5, 1, 1}},
    {{3}, 3}, {{0, 4}, {0, 1}, {1, 4}}, {{1, 1}, {1}, {1, 1}},
    {{2, 3}, st.Size {1, 3}, {2, 1}},
  } do
    it("gives " .. tostring(st.Size(row[1])), function()
      assert.is_true(st.broadcast_shapes(unpack(row, 2)) == st.Size(row[1]))
    end)
  end

  it("refuses sizes that differ, and what is no shape", function()
    raises({"broadcast_shapes: size 3 of dimension 2 of shape 2 does not " ..
            "broadcast with size 4"}, st.broadcast_shapes, {4}, {1, 3})
    raises({"size 1 of shape 1 must be an integer", "-1"},
           st.broadcast_shapes, {-1})
    raises({"argument 2 must be a shape, got string"}, st.broadcast_shapes,
           {1}, "2")
  end)
end)

describe("asarray", function()
  local x = st.ones(2, 2)

  it("gives a tensor itself where nothing changes", function()
    for _, f in ipairs {st.asarray, st.as_tensor} do
      assert.is_true(f(x):is_set_to(x))
      assert.is_true(f(x, {dtype = "float32"}):is_set_to(x))
      assert.equal("int64", f(x, {dtype = "int64"}).dtype)
    end
    assert.is_true(st.asarray(x, {copy = false}):is_set_to(x))
    assert.is_false(st.asarray(x, {copy = true}):is_alias_of(x))
    raises({"as_tensor: there is no option 'copy'"}, st.as_tensor, x,
           {copy = true})
  end)

  it("reads tables, numbers and booleans", function()
    assert.same({{1, 2}, {3, 4}}, lists(st.asarray {{1, 2}, {3, 4}}))
    assert.equal("float64", st.asarray(1, {dtype = "float64"}).dtype)
    assert.equal("bool", st.asarray(true).dtype)
    assert.is_true(st.asarray({1.5}, {requires_grad = true}).requires_grad)
  end)

  it("shares what DLPack exports", function()
    local y = st.asarray(x:to_dlpack())
    assert.is_true(y:equal(x) and y:data_ptr() == x:data_ptr())
  end)

  it("keeps the graph, or leaves it", function()
    local w = st.ones(2):requires_grad_()
    assert.truthy(st.asarray(w * 2).grad_fn)
    assert.is_nil(st.asarray(w * 2, {requires_grad = false}).grad_fn)
    local leaf = st.asarray(w * 2, {requires_grad = true})
    assert.is_true(leaf.is_leaf and leaf.requires_grad)
  end)

  it("refuses a copy that is not wanted", function()
    raises({"asarray: ", "float32 on cpu", "to dtype int8"}, st.asarray, x,
           {copy = false, dtype = "int8"})
    raises({"asarray: a table can only be copied"}, st.asarray, {1},
           {copy = false})
    raises({"asarray: there is no option 'dtpe': did you mean dtype?"},
           st.asarray, x, {dtpe = 1})
  end)
end)

describe("astype", function()
  it("copies, unless told not to", function()
    local x = st.tensor {1, 2}
    assert.is_false(x:astype("int64"):is_alias_of(x))
    assert.is_true(x:astype("int64", {copy = false}):is_set_to(x))
    assert.equal("float64", st.astype(x, "float64", {copy = false}).dtype)
    assert.equal("meta", x:astype("int8", {device = "meta"}).device)
    raises({"astype: argument 'self' must be a Tensor"}, st.astype, 1, "int8")
    raises({"there is no dtype 'real'"}, st.astype, x, "real")
  end)
end)

describe("expand_dims", function()
  local x = st.arange(6):view(2, 3)

  it("inserts a dimension, or several at places in the result", function()
    for _, row in ipairs {
      {1, {1, 2, 3}}, {-1, {2, 3, 1}}, {3, {2, 3, 1}}, {{2}, {2, 1, 3}},
      {{1, 4}, {1, 2, 3, 1}}, {{-1, 1}, {1, 2, 3, 1}},
      {{4, 1, 3}, {1, 2, 1, 1, 3}}, {{}, {2, 3}},
    } do
      local out = st.expand_dims(x, row[1])
      assert.is_true(out.shape == st.Size(row[2]))
      assert.is_true(out:is_alias_of(x))
      assert.same(lists(x:flatten()), lists(out:flatten()))
      assert.is_true(x:expand_dims {axis = row[1]}.shape == out.shape)
    end
  end)

  it("refuses places that the result does not have", function()
    raises({"expand_dims: place 2 must be a dimension of the result, which ",
            "has 4, got 5"}, st.expand_dims, x, {1, 5})
    raises({"expand_dims: place 1 ", "got 0"}, st.expand_dims, x, {0})
    raises({"expand_dims: dimension 4 appears more than once"},
           st.expand_dims, x, {-1, 4})
    raises({"expand_dims: ", "dimension"}, st.expand_dims, x, 4)
    raises({"expand_dims: "}, st.expand_dims, x)
  end)
end)

describe("A complex number", function()
  it("has twice the bits of the default dtype", function()
    local i = st.complex(0, 1)
    finally(function() st.set_default_dtype "float32" end)
    for default, dtype in pairs {float32 = "complex64",
                                 float64 = "complex128"} do
      st.set_default_dtype(default)
      assert.equal(dtype, st.asarray(i).dtype)
      assert.equal(dtype, st.tensor(i).dtype)
      assert.equal(dtype, st.tensor({1, i}).dtype)
    end
  end)
end)

describe("roll", function()
  it("shifts every listed dimension by a single shift", function()
    local x = st.arange(6):view(2, 3)
    assert.same({{5, 3, 4}, {2, 0, 1}}, lists(st.roll(x, 1, {1, 2})))
    assert.same({{4, 5, 3}, {1, 2, 0}}, lists(st.roll(x, {-1}, {1, -1})))
    raises({"roll: shifts has 2 entries, but dims has 1"}, st.roll, x, {1, 2},
           1)
    raises({"roll: shifts has 2 entries, but dims has 0"}, st.roll, x, {1, 2})
  end)

  it("has a derivative then", function()
    local x = st.zeros({2, 2}, {requires_grad = true})
    st.roll(x, 1, {1, 2}):mul(st.tensor {{1, 2}, {3, 4}}):sum():backward()
    assert.same({{4, 3}, {2, 1}}, lists(x.grad))
  end)
end)

describe("Running totals", function()
  local x = st.tensor {{1, 2, 3}, {4, 5, 6}}

  it("begin with 0 or 1 where they include it", function()
    assert.same({{0, 0, 0}, {1, 2, 3}, {5, 7, 9}},
                lists(x:cumulative_sum(1, {include_initial = true})))
    assert.same({{1, 1, 2, 6}, {1, 4, 20, 120}},
                lists(st.cumulative_prod(x, -1, {include_initial = true})))
    assert.same({{1, 3, 6}, {4, 9, 15}}, lists(st.cumulative_sum(x, 2)))
    assert.same({1, 2, 6}, lists(st.cumulative_prod(x[{1}])))
    assert.same({{1}}, lists(st.zeros(1, 0):cumulative_prod {
      axis = 2, include_initial = true}))
  end)

  it("are int64 or uint64 of narrower integers", function()
    for dtype, total in pairs {
      bool = "int64", int8 = "int64", int64 = "int64", uint8 = "uint64",
      uint16 = "uint64", uint64 = "uint64", float32 = "float32",
      complex64 = "complex64",
    } do
      local t = x:to(dtype)
      assert.equal(total, t:cumulative_sum(1).dtype, dtype)
      assert.equal(total, t:cumulative_prod(
        1, {include_initial = true}).dtype, dtype)
    end
    assert.same({200, 400},
                lists(st.tensor({200, 200}, {dtype = "uint8"})
                      :cumulative_sum()))
  end)

  it("have the dtype that is asked for", function()
    local byte = x:to "uint8"
    assert.equal("float64", byte:cumulative_sum {
      dim = 1, dtype = "float64", include_initial = true}.dtype)
    local w = st.ones(3):requires_grad_()
    w:cumulative_sum {include_initial = true}:sum():backward()
    assert.same({3, 2, 1}, lists(w.grad))
  end)

  it("need the dimension of a matrix", function()
    raises({"cumulative_sum: a tensor of 2 dimensions needs argument 'dim'"},
           st.cumulative_sum, x)
    raises({"cumulative_prod: include_initial needs a tensor with dimensions"},
           st.cumulative_prod, st.tensor(2), {include_initial = true})
    raises({"cumulative_sum: there is no option 'include'"},
           st.cumulative_sum, x, {dim = 1, include = true})
  end)
end)

describe("__array_namespace_info__", function()
  local info = st.__array_namespace_info__()

  it("says what there is", function()
    assert.same({["boolean indexing"] = true,
                 ["data-dependent shapes"] = true, ["max dimensions"] = 64},
                info:capabilities())
    assert.equal("cpu", info:default_device())
    assert.same({"cpu"}, info:devices()) -- those with elements
    assert.same({["real floating"] = "float32", ["complex floating"] =
                 "complex64", integral = "int64", indexing = "int64"},
                info.default_dtypes())
    assert.equal(64, st.ones(st.full({64}, 1):totable()).ndim)
    assert.is_false(pcall(st.ones, st.full({65}, 1):totable()))
  end)

  it("lists dtypes by kind", function()
    assert.same({bool = "bool"}, info:dtypes {kind = "bool"})
    local unsigned = {uint8 = "uint8", uint16 = "uint16", uint32 = "uint32",
                      uint64 = "uint64"}
    assert.same(unsigned, info.dtypes {kind = "unsigned integer"})
    unsigned.float32, unsigned.float64 = "float32", "float64"
    assert.same(unsigned,
                info:dtypes {kind = {"real floating", "unsigned integer"}})
    for dtype in pairs(info.dtypes()) do st.zeros(1, {dtype = dtype}) end
    raises({"dtypes: argument 'kind' must be"}, info.dtypes, {kind = "all"})
  end)

  it("is the namespace of its tensors", function()
    assert.equal(st, st.ones(2):__array_namespace__())
  end)
end)

describe("Seeds", function()
  it("come from the system, or are known", function()
    local state = st.get_rng_state()
    st.manual_seed(7)
    assert.equal(7, st.initial_seed())
    local seed = st.seed()
    assert.equal(seed, st.initial_seed())
    assert.is_true(seed ~= st.seed())
    st.set_rng_state(state)
  end)

  it("make the same call have the same result", function()
    st.use_deterministic_algorithms(true)
    assert.is_true(st.are_deterministic_algorithms_enabled())
    raises({"use_deterministic_algorithms: ", "boolean"},
           st.use_deterministic_algorithms, 1)
  end)
end)

describe("linalg.trace", function()
  it("sums diagonals of a batch, from an offset, in a dtype", function()
    local x = st.arange(12):view(2, 2, 3)
    assert.same({4, 16}, lists(st.linalg.trace(x)))
    assert.same({6, 18}, lists(st.linalg.trace(x, {offset = 1})))
    assert.same(4, lists(st.linalg.trace(x[{1}])))
    assert.equal("float64", st.linalg.trace(x, {dtype = "float64"}).dtype)
    assert.equal("int64", st.linalg.trace(x:to "int8").dtype)
    assert.equal("uint64", st.linalg.trace(x:to "uint8").dtype)
    raises({"linalg.trace: there is no option 'k'"}, st.linalg.trace, x,
           {k = 1})
  end)
end)

describe("The functions of the standard", function()
  it("leave no tensor", function()
    collectgarbage() collectgarbage()
    assert.is_true(live() <= before + 8)
  end)
end)
