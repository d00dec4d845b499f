--- The vectors that PyTorch produced, and the tool that replays them: it has
-- to see every kind of wrong expectation.
-- axes: isa
-- sampled: 4

local reader = require "spec.conformance.reader"
local replay = require "spec.conformance.replay"
local live = require("spec.support.tensors").live
local unsupported = require "spec.conformance.unsupported"

local HERE = require("spec.support.build").root .. "/spec"

-- -- The files ---------------------------------------------------------------

-- Files that are replayed whole in every run.
local FILES = {
  "engine/memory_format", "engine/views", "engine/result_type",
  "engine/tensor_iterator", "engine/schemas", "engine/schema_parse",
  "engine/dispatch_tables", "ops/layouts", "ops/iterator", "ops/views",
  "ops/broadcast", "ops/copy", "ops/promotion", "ops/reduce", "ops/compare",
  "ops/specials", "ops/rounding", "ops/pointwise", "ops/autograd",
  "ops/autograd_ops",
}

-- Files of which `./dev test` replays every STEP-th case and `./dev test all`
-- all of them.
local MORE = {"ops/index", "ops/linalg", "ops/opinfo"}
for name in ([[autograd autograd_ops broadcast compare copy index iterator
               layouts linalg opinfo pointwise promotion reduce rounding
               specials views]]):gmatch "%S+" do
  MORE[#MORE + 1] = "ops-2.15/" .. name
end

local WHOLE = os.getenv "STRIDED_WHOLE" ~= nil
local STEP = WHOLE and 1 or os.getenv "STRIDED_SANITIZED" and 27 or 9

-- How many cases of a file differ by a rule of deviations.lua or changes.lua.
local EXPLAINED = {
  ["engine/schema_parse"] = 7, ["engine/tensor_iterator"] = 144,
  ["ops/copy"] = 66, ["ops/autograd"] = 5, ["ops/autograd_ops"] = 2,
}
-- Files with cases that other rules of changes.lua explain.
local CHANGING = {["engine/result_type"] = true, ["ops/promotion"] = true,
                  ["ops/specials"] = true}

local replayed = {}

local function results(name, step)
  if not replayed[name] then
    local path = ("%s/golden/%s.jsonl.gz"):format(HERE, name)
    replayed[name] = replay.file(path, step)
  end
  return replayed[name]
end

local function check(name, step)
  local result = results(name, step)
  local first = result.failures[1]
  assert.equal(0, result.failed, first and
               ("%s: %s"):format(first[1], tostring(first[2])))
  assert.is_true(result.passed > 0)
end

--- Operators that the files lack, with their counts; types that no tensor
-- engine needs are none.
local function missing_in(names)
  local counts = {}
  for _, name in ipairs(names) do
    for what, n in pairs(replayed[name] and replayed[name].missing or {}) do
      if not what:find "^type " then counts[what] = (counts[what] or 0) + n end
    end
  end
  return counts
end

describe("PyTorch's answers", function()
  local before

  setup(function() before = live() end)

  for _, name in ipairs(FILES) do
    it("are ours: " .. name, function() check(name) end)
    if not CHANGING[name] then
      it("differ as often as the rules have explained: " .. name, function()
        assert.equal(EXPLAINED[name] or 0, #results(name).deviations)
      end)
    end
  end

  for _, name in ipairs(MORE) do
    it("are ours: " .. name, function() check(name, STEP) end)
  end

  it("lack no operator: the files replayed whole", function()
    assert.same({}, missing_in(FILES))
  end)

  it("lack the operators that unsupported.lua lists", function()
    local counts = missing_in(MORE)
    if WHOLE then return assert.same(unsupported, counts) end
    for name, n in pairs(counts) do
      assert.is_true(n <= (unsupported[name] or 0), name)
    end
  end)

  -- What earlier specs left to the collector may go meanwhile.
  it("leave no tensor behind", function()
    assert.is_true(live() <= before)
  end)
end)

-- -- Wrong expectations ------------------------------------------------------

local CASES = {}

CASES.memory_format = [=[{"size":[1,5,3,1],"stride":[5,1,5,5],"contig":false,
"cl":true,"cl3":false,"nod":true,"empty_like":[5,1,5,5],"clone":[5,1,5,5],
"contiguous":[15,3,1,1],"neg":[15,1,5,5],"clone_cl":[15,1,5,5],
"contiguous_cl":[5,1,5,5],"to_cl":[15,1,5,5],"to_cl_alias":false,
"to_ct":[5,1,5,5],"to_ct_alias":true,"strides_like_cl":false}]=]

CASES.view = [=[{"op":"select","size":[3,6],"stride":[6,1],"offset":2,
"args":[-2,1],"out":{"size":[6],"stride":[1],"offset":8,"alias":6}}]=]

CASES.copied_view = [=[{"op":"reshape","size":[3,6],"stride":[0,1],"offset":0,
"args":[1,1,1,2,9],"out":{"size":[1,1,1,2,9],"stride":[18,18,18,9,1],
"offset":0,"alias":null}}]=]

CASES.view_error = [=[{"op":"squeeze","size":[1,3],"stride":[6,1],"offset":0,
"args":[-3],"error":"Dimension out of range"}]=]

CASES.type = [=[["d:f4","z:i8","f4"]]=]
CASES.can_cast = [=[["can_cast","f4","i4",false]]=]
CASES.promote_types = [=[["promote_types","u1","i1","i2"]]=]

CASES.engine_iterator = [=[{"id":"c2015","resize":0,"memoverlap":0,
"reduction":1,"linear":0,"promote":0,"nout":1,"ops":[{"dtype":"f4",
"storage":-1,"offset":0,"size":[1,1],"stride":[0,0]},{"dtype":"f4",
"storage":-1,"offset":0,"size":[5,4],"stride":[4,1]}],"expect":{"shape":[20],
"perm":[1,0],"fast":false,"coalesced":true,"numel":20,"sb":[[0],[4]],
"out":[{"size":[1,1],"stride":[0,0]}],"contig1":false,"b32":true,"loops":[
{"range":[0,20],"steps":[[20,1,0,0]]},
{"range":[1,12],"steps":[[11,1,0,4]]}]}}]=]

CASES.iterator_error = [=[{"id":"c1","resize":1,"memoverlap":1,"reduction":0,
"linear":0,"promote":0,"nout":1,"ops":[null,{"dtype":"f4","storage":-1,
"offset":0,"size":[5],"stride":[1]},{"dtype":"f4","storage":-1,"offset":0,
"size":[4],"stride":[1]}],"expect":{"error":"The size of tensor a (5) must"}}]=]

CASES.add = [=[{"id":"x-1","op":"aten::add.Tensor","args":[{"dtype":"float32",
"shape":[2,2],"strides":[1,2],"offset":1,"storage":[9,1,2,3,4]},{"dtype":
"float32","shape":[2],"strides":[1],"offset":0,"storage":[0.5,-1]}],
"kwargs":{"alpha":2},"expect":{"out":[{"dtype":"float32","shape":[2,2],
"strides":[1,2],"offset":0,"storage":[2,3,1,2]}]}}]=]

CASES.near = [=[{"id":"x-2","op":"aten::exp","args":[{"dtype":"float64",
"shape":[2],"strides":[1],"offset":0,"storage":[1,"inf"]}],"kwargs":{},
"expect":{"out":[{"dtype":"float64","shape":[2],"strides":[1],"offset":0,
"storage":[2.718281829,"inf"]}]},"tol":[1e-6,1e-6]}]=]

CASES.zero = [=[{"id":"x-3","op":"aten::neg","args":[{"dtype":"float32",
"shape":[2],"strides":[1],"offset":0,"storage":[0,"nan"]}],"kwargs":{},
"expect":{"out":[{"dtype":"float32","shape":[2],"strides":[1],"offset":0,
"storage":[-0.0,"nan"]}]},"zero_sign":true}]=]

CASES.copy = [=[{"id":"x-4","op":"aten::copy_","args":[{"dtype":"int64",
"shape":[2],"strides":[2],"offset":0,"storage":[7,8,9]},{"dtype":"int64",
"shape":[2],"strides":[1],"offset":0,"storage":["9223372036854775807",-5]}],
"kwargs":{},"expect":{"out":[{"dtype":"int64","shape":[2],"strides":[2],
"offset":0,"storage":["9223372036854775807",0,-5]}],"alias":{"0":0},
"mutated":{"0":{"shape":[2],"strides":[2],"storage":
["9223372036854775807",8,-5]}}}}]=]

CASES.refused = [=[{"id":"x-5","op":"aten::add_.Tensor","args":[{"dtype":
"float32","shape":[2],"strides":[1],"offset":0,"storage":[1,2]},{"dtype":
"float32","shape":[3],"strides":[1],"offset":0,"storage":[1,2,3]}],
"kwargs":{},"error":"broadcast","message":"sizes"}]=]

CASES.list = [=[{"id":"x-6","op":"aten::split.Tensor","args":[{"dtype":"uint8",
"shape":[3],"strides":[1],"offset":0,"storage":[1,2,3]},2,0],"kwargs":{},
"expect":{"out":[[{"dtype":"uint8","shape":[2],"strides":[1],"offset":0,
"storage":[1,2]},{"dtype":"uint8","shape":[1],"strides":[1],"offset":0,
"storage":[3]}]]}}]=]

CASES.flags = [=[{"id":"x-7","op":"layout_flags","args":[{"dtype":"float32",
"shape":[2,3,4,5],"strides":[60,1,15,3],"offset":0,"storage_size":120}],
"kwargs":{},"expect":{"is_contiguous":{"contiguous_format":false,
"channels_last":true,"channels_last_3d":false},
"is_non_overlapping_and_dense":true,
"suggest_memory_format":"channels_last"}}]=]

CASES.iterator = [=[{"id":"x-8","op":"tensor_iterator","args":[null,
{"shape":[3,3,1,1],"strides":[1,3,9,9]},{"shape":[3,3,1,1],
"strides":[1,4,3,12]}],"kwargs":{"noutputs":1,"is_reduction":false,
"resize_outputs":true,"enforce_linear_iteration":false,"range":[0,9]},
"expect":{"common_shape":[3,3,1,1],"fast_setup":"none","perm":[0,1,2,3],
"iter_shape":[3,3],"iter_strides":[[1,3],[1,3],[1,4]],"outputs":[{"shape":
[3,3,1,1],"strides":[1,3,9,9]}],"calls":[{"size":[3,3],"offsets":[0,0,0],
"strides":[[1,1,1],[3,3,4]]}]}}]=]

CASES.chain = [=[{"id":"x-9","op":"view_chain","args":[{"dtype":"float32",
"shape":[6,2,5],"strides":[1,6,12],"offset":0,"storage_size":60}],"kwargs":
{"steps":[{"op":"aten::expand","args":[[6,-1,5]]},{"op":
"aten::split_with_sizes","args":[[1,1],1],"pick":2},{"op":"aten::unsqueeze",
"args":[2]}]},"expect":{"steps":[{"shape":[6,2,5],"strides":[1,6,12],
"offset":0,"shares_storage":true},{"shape":[6,1,5],"strides":[1,6,12],
"offset":6,"shares_storage":true,"count":2},{"shape":[6,1,1,5],"strides":
[1,6,60,12],"offset":6,"shares_storage":true}]}}]=]

CASES.getitem = [=[{"id":"x-10","op":"getitem","args":[{"dtype":"int32",
"shape":[3,2],"strides":[2,1],"offset":0,"storage":[1,2,3,4,5,6]},
[{"slice":[1,null,null]},-1]],"kwargs":{},"expect":{"out":[{"dtype":"int32",
"shape":[2],"strides":[2],"offset":0,"storage":[4,0,6]}],"view":true}}]=]

CASES.setitem = [=[{"id":"x-11","op":"setitem","args":[{"dtype":"int32",
"shape":[2],"strides":[1],"offset":0,"storage":[6,-8,-8]},[],{"dtype":"int32",
"shape":[1],"strides":[1],"offset":0,"storage":[2,0]}],"kwargs":{},"expect":
{"mutated":{"0":{"shape":[2],"strides":[1],"storage":[2,2,-8]}}}}]=]

CASES.item = [=[{"id":"x-15","op":"aten::item","args":[{"dtype":"complex64",
"shape":[],"strides":[],"offset":0,"storage":[[1.5,-2]]}],"kwargs":{},
"expect":{"out":[{"complex":[1.5,-2]}]}}]=]

CASES.big = [=[{"id":"x-16","op":"aten::item","args":[{"dtype":"int64",
"shape":[],"strides":[],"offset":0,"storage":["9223372036854775807"]}],
"kwargs":{},"expect":{"out":[{"int":"9223372036854775807"}]}}]=]

CASES.out = [=[{"id":"x-17","op":"aten::neg.out","args":[{"dtype":"int32",
"shape":[2,2],"strides":[2,1],"offset":0,"storage":[1,2,3,4]}],"kwargs":{
"out":{"dtype":"int32","shape":[2,2],"strides":[1,2],"offset":0,
"storage":[0,0,0,0]}},"expect":{"out":[{"dtype":"int32","shape":[2,2],
"strides":[1,2],"offset":0,"storage":[-1,-3,-2,-4]}],"alias":{"0":1},
"mutated":{"1":{"shape":[2,2],"strides":[1,2],"storage":[-1,-3,-2,-4]}}}}]=]

CASES.nan = [=[{"id":"x-18","op":"aten::copysign.Scalar","args":[{"dtype":
"float32","shape":[2],"strides":[1],"offset":0,"storage":[1,-2]},{"float":
"nan"}],"kwargs":{},"expect":{"out":[{"dtype":"float32","shape":[2],
"strides":[1],"offset":0,"storage":[1,2]}]}}]=]

CASES.result = [=[{"id":"x-12","op":"result_type","args":[{"dtype":"int32",
"shape":[2],"strides":[1],"offset":0,"storage":[2,2]},{"float":2}],
"kwargs":{},"expect":{"dtype":"float32"}}]=]

CASES.schema = [=[{"str":"aten::f.out(Tensor? x, int[2] stride=[1, 2], bool y\
=True, *, Scalar v=0.5, str s=\"a b\", ScalarType t=4, Tensor(a!) out) -> \
(Tensor(a!), float[] rest)","name":"aten::f","overload":"out","mutable":true,
"args":[{"name":"x","type":"Optional[Tensor]","N":null,"kwarg":false,
"has_default":false,"default":null,"alias":null},{"name":"stride","type":
"List[int]","N":2,"kwarg":false,"has_default":true,"default":"[1, 2]",
"alias":null},{"name":"y","type":"bool","N":null,"kwarg":false,"has_default":
true,"default":"True","alias":null},{"name":"v","type":"number","N":null,
"kwarg":true,"has_default":true,"default":"0.5","alias":null},{"name":"s",
"type":"str","N":null,"kwarg":true,"has_default":true,"default":"'a b'",
"alias":null},{"name":"t","type":"int","N":null,"kwarg":true,"has_default":
true,"default":"4","alias":null},{"name":"out","type":"Tensor","N":null,
"kwarg":true,"has_default":false,"default":null,"alias":{"before":["a"],
"after":["a"],"write":true}}],"rets":[{"name":"","type":"Tensor","alias":
{"before":["a"],"after":["a"],"write":true}},{"name":"rest","type":
"List[float]","alias":null}]}]=]
CASES.schema = CASES.schema:gsub("\\\n", "")

CASES.parsed = [=[{"input":"foo(int x = 3)->int","str":"foo(int x=3) -> int"}]=]
CASES.unparsed = [=[{"input":"foo(Tensr x) -> ()","error":"unknown type"}]=]
CASES.name = [=[{"input":"ns::foo.bar","name_only":"ns::foo.bar"}]=]

CASES.dispatch = [=[{"reg":["CPU","Autograd","CompositeImplicitAutograd"],
"table":{"Undefined":["fn_CompositeImplicitAutograd","math kernel"],"CPU":
["fn_CPU","kernel"],"CUDA":["fn_CompositeImplicitAutograd","math kernel"],
"XLA":["fn_CompositeImplicitAutograd","math kernel"],"Meta":
["fn_CompositeImplicitAutograd","math kernel"],"FPGA":
["fn_CompositeImplicitAutograd","math kernel"],"QuantizedCPU":
["fn_CompositeImplicitAutograd","math kernel"],"SparseCPU":
["fn_CompositeImplicitAutograd","math kernel"],"MkldnnCPU":
["fn_CompositeImplicitAutograd","math kernel"],"AutogradOther":
["fn_CompositeImplicitAutograd","math kernel"],"AutogradCPU":["fn_Autograd",
"autograd kernel"],"AutogradCUDA":["fn_CompositeImplicitAutograd",
"math kernel"],"AutogradXLA":["fn_CompositeImplicitAutograd","math kernel"],
"AutogradMeta":["fn_CompositeImplicitAutograd","math kernel"],"BackendSelect":
["fallthrough in-tree","backend fallback"],"Python":["in-tree",
"backend fallback"],"Functionalize":["in-tree","backend fallback"],"Named":
["in-tree","backend fallback"],"Conjugate":["in-tree","backend fallback"],
"Negative":["in-tree","backend fallback"],"ZeroTensor":["in-tree",
"backend fallback"],"ADInplaceOrView":["fallthrough in-tree",
"backend fallback"],"Tracer":["in-tree","backend fallback"],"AutocastCPU":
["fallthrough in-tree","backend fallback"]}}]=]

CASES.autograd = [=[{"reg":["CPU"],"table":{"CPU":["fn_CPU","kernel"],
"BackendSelect":["fallthrough in-tree","backend fallback"],"Python":["in-tree",
"backend fallback"],"Functionalize":["in-tree","backend fallback"],"Named":
["in-tree","backend fallback"],"Conjugate":["in-tree","backend fallback"],
"Negative":["in-tree","backend fallback"],"ZeroTensor":["in-tree",
"backend fallback"],"ADInplaceOrView":["fallthrough in-tree",
"backend fallback"],"AutogradOther":["fallthrough in-tree",
"backend fallback"],"AutogradCPU":["fallthrough in-tree","backend fallback"],
"AutogradCUDA":["fallthrough in-tree","backend fallback"],"AutogradXLA":
["fallthrough in-tree","backend fallback"],"Tracer":["in-tree",
"backend fallback"],"AutocastCPU":["fallthrough in-tree",
"backend fallback"]}}]=]

CASES.program = [=[{"id":"x-13","op":"autograd","args":[{"dtype":"float64",
"shape":[2],"strides":[1],"offset":0,"storage":[1,2]}],"kwargs":{
"requires_grad":[true],"steps":[{"op":"aten::square","args":[{"v":0}]},{"op":
"aten::mul_.Scalar","args":[{"v":1},3]},{"op":"aten::sum","args":[{"v":1}]},
{"op":"backward","outputs":[3],"grad_outputs":null,"retain_graph":true},{"op":
"grad","outputs":[3],"inputs":[0],"grad_outputs":null}],"report":[1,4]},
"expect":{"values":[{"dtype":"float64","shape":[2],"strides":[1],"offset":0,
"storage":[3,12]},{"dtype":"float64","shape":[2],"strides":[1],"offset":0,
"storage":[6,12]}],"wants_grad":[true,true,true,true,false],"leaf_grads":[
{"dtype":"float64","shape":[2],"strides":[1],"offset":0,"storage":[6,12]}]}}]=]

CASES.misstep = [=[{"id":"x-14","op":"autograd","args":[{"dtype":"float64",
"shape":[1],"strides":[1],"offset":0,"storage":[1]}],"kwargs":{
"requires_grad":[true],"steps":[{"op":"aten::exp","args":[{"v":0}]},{"op":
"aten::mul_.Scalar","args":[{"v":0},3]}],"report":[]},"error":"leaf_inplace",
"error_step":1}]=]

-- case, where, the wrong value ("delete" drops the field)
local WRONG = {
  {"memory_format", "contig", true}, {"memory_format", "cl", false},
  {"memory_format", "cl3", true}, {"memory_format", "nod", false},
  {"memory_format", "clone.1", 15}, {"memory_format", "empty_like.3", 1},
  {"memory_format", "contiguous.1", 1}, {"memory_format", "neg.1", 5},
  {"memory_format", "clone_cl.1", 5}, {"memory_format", "to_cl.4", 1},
  {"memory_format", "to_cl_alias", true},
  {"memory_format", "to_ct_alias", false},
  {"memory_format", "strides_like_cl", true},
  {"view", "out.size.1", 5}, {"view", "out.stride.1", 2},
  {"view", "out.offset", 2}, {"view", "out.alias", 5},
  {"view", "out.alias", reader.null}, {"view", "error", "should raise"},
  {"copied_view", "out.alias", 0}, {"copied_view", "out.stride.4", 0},
  {"view_error", "args.1", -2},
  {"type", "3", "i8"}, {"can_cast", "4", true},
  {"promote_types", "4", "u1"},
  {"engine_iterator", "expect.shape.1", 10},
  {"engine_iterator", "expect.perm.1", 0},
  {"engine_iterator", "expect.fast", true},
  {"engine_iterator", "expect.coalesced", false},
  {"engine_iterator", "expect.numel", 21},
  {"engine_iterator", "expect.sb.1.1", 4},
  {"engine_iterator", "expect.out.1.stride.1", 1},
  {"engine_iterator", "expect.contig1", true},
  {"engine_iterator", "expect.b32", false},
  {"engine_iterator", "expect.loops.1.steps.1.1", 5},
  {"engine_iterator", "expect.loops.2.steps.1.4", 8},
  {"engine_iterator", "expect.error", "should raise"},
  {"iterator_error", "ops.2.size.1", 4},
  {"add", "expect.out.1.storage.2", 4},
  {"add", "expect.out.1.dtype", "float64"},
  {"add", "expect.out.1.shape", {4}},
  {"add", "expect.out.1.strides", {2, 1}},
  {"add", "expect.alias", {["0"] = 0}},
  {"add", "expect.mutated", {["0"] = {shape = {2, 2}, strides = {1, 2},
                                      storage = {9, 1, 2, 3, 5}}}},
  {"add", "error", "should raise"},
  {"near", "tol", "delete"}, {"near", "tol.1", 1e-12, "tol.2", 1e-12},
  {"near", "expect.out.1.storage.2", "-inf"},
  {"near", "expect.out.1.storage.2", "nan"},
  {"zero", "expect.out.1.storage.1", 0},
  {"zero", "expect.out.1.storage.2", 1},
  {"copy", "expect.out.1.storage.1", "9223372036854775806"},
  {"copy", "expect.mutated.0.storage.2", 9},
  {"copy", "expect.mutated", "delete"}, {"copy", "expect.alias", "delete"},
  {"copy", "expect.alias.0", 1},
  {"refused", "args.2.shape.1", 2},
  {"list", "expect.out.1.2.storage.1", 4}, {"list", "expect.out.1.2", "delete"},
  {"flags", "expect.is_contiguous.channels_last", false},
  {"flags", "expect.is_contiguous.contiguous_format", true},
  {"flags", "expect.is_non_overlapping_and_dense", false},
  {"flags", "expect.suggest_memory_format", "contiguous_format"},
  {"iterator", "expect.common_shape.1", 1},
  {"iterator", "expect.fast_setup", "contiguous"},
  {"iterator", "expect.perm.1", 1}, {"iterator", "expect.iter_shape.1", 9},
  {"iterator", "expect.iter_strides.3.2", 3},
  {"iterator", "expect.outputs.1.strides.1", 3},
  {"iterator", "expect.calls.1.size.1", 9},
  {"iterator", "expect.calls.1.offsets.2", 1},
  {"iterator", "expect.calls.1.strides.2.3", 3},
  {"iterator", "expect.calls.1", "delete"},
  {"chain", "expect.steps.2.shape.1", 5},
  {"chain", "expect.steps.2.offset", 0},
  {"chain", "expect.steps.3.strides.3", 1},
  {"chain", "expect.steps.2.count", 3},
  {"chain", "expect.steps.1.shares_storage", false},
  {"chain", "error", "dim_range", "error_step", 2},
  {"getitem", "expect.out.1.storage.3", 5}, {"getitem", "expect.view", false},
  {"getitem", "args.2.2", 0}, {"getitem", "error", "should raise"},
  {"setitem", "expect.mutated.0.storage.1", 6},
  {"setitem", "expect.mutated.0.storage.3", 2},
  {"setitem", "expect.mutated", "delete"},
  {"setitem", "expect.mutated.0.shape.1", 3},
  {"setitem", "expect.mutated.0.strides.1", 2},
  {"item", "expect.out.1.complex.1", 2}, {"item", "expect.out.1.complex.2", 2},
  {"item", "expect.out.1", {float = 1.5}},
  {"big", "expect.out.1.int", "9223372036854775806"},
  {"big", "expect.out.1", 9},
  {"out", "expect.mutated.1.strides", {2, 1}},
  {"out", "expect.mutated.1.shape", {4}},
  {"nan", "expect.out.1.storage.1", -1},
  {"result", "expect.dtype", "int32"},
  {"program", "expect.values.1.storage.2", 4},
  {"program", "expect.values.2.storage.1", 3},
  {"program", "expect.values.2.dtype", "float32"},
  {"program", "expect.values.2.shape.1", 1},
  {"program", "expect.values.2", reader.null},
  {"program", "expect.wants_grad.2", false},
  {"program", "expect.wants_grad.5", true},
  {"program", "expect.wants_grad.5", "delete"},
  {"program", "expect.leaf_grads.1.storage.1", 5},
  {"program", "expect.leaf_grads.1", reader.null},
  {"program", "error", "version_counter", "error_step", 4},
  {"program", "kwargs.steps.4.retain_graph", false},
  {"misstep", "kwargs.requires_grad.1", false}, {"misstep", "error_step", 0},
  {"misstep", "error", "delete"},
  {"schema", "str", "aten::f.out(Tensor? x) -> ()"},
  {"schema", "str", "aten::f.out(Tensr? x) -> ()"},
  {"schema", "name", "aten::g"}, {"schema", "overload", ""},
  {"schema", "mutable", false}, {"schema", "args.7", "delete"},
  {"schema", "rets.2", "delete"}, {"schema", "args.1.name", "y"},
  {"schema", "args.1.type", "Tensor"}, {"schema", "args.2.type", "int"},
  {"schema", "args.2.N", 3}, {"schema", "args.2.N", reader.null},
  {"schema", "args.3.kwarg", true}, {"schema", "args.4.kwarg", false},
  {"schema", "args.1.has_default", true},
  {"schema", "args.2.default", "[1, 3]"}, {"schema", "args.2.default", "[1]"},
  {"schema", "args.3.default", "False"}, {"schema", "args.4.default", "1"},
  {"schema", "args.4.default", "None"}, {"schema", "args.5.default", "'a'"},
  {"schema", "args.6.default", "3"}, {"schema", "args.7.alias", reader.null},
  {"schema", "args.7.alias.before.1", "b"},
  {"schema", "args.7.alias.after.1", "*"},
  {"schema", "args.7.alias.write", false},
  {"schema", "args.1.alias",
   {before = {}, after = {}, write = false}},
  {"schema", "rets.1.alias", reader.null}, {"schema", "rets.2.name", ""},
  {"schema", "rets.2.type", "List[int]"},
  {"parsed", "str", "foo(int x = 3) -> int"}, {"parsed", "str", "delete"},
  {"parsed", "input", "foo(int x = 3)->"},
  {"unparsed", "input", "foo(Tensor x) -> ()"},
  {"unparsed", "error", "delete", "str", "foo(Tensr x) -> ()"},
  {"name", "input", "ns::foo() -> ()"}, {"name", "input", "ns::foo."},
  {"dispatch", "reg.1", "CUDA"}, {"dispatch", "reg.3", "delete"},
  {"dispatch", "table.CPU.1", "fn_CUDA"},
  {"dispatch", "table.CPU", "delete"},
  {"dispatch", "table.CPU.2", "math kernel"},
  {"dispatch", "table.Undefined.2", "default backend kernel"},
  {"dispatch", "table.AutogradCPU", {"fallthrough in-tree",
                                     "backend fallback"}},
  {"dispatch", "table.Named.1", "fallthrough in-tree"},
  {"dispatch", "table.Python", "delete"},
  {"dispatch", "table.BackendSelect.1", "in-tree"},
  {"autograd", "table.AutogradCUDA", "delete"}, {"autograd", "reg.1", "Meta"},
  {"autograd", "table.AutogradCPU.1", "in-tree"},
}

local function set(case, where, value)
  local keys = {}
  for key in where:gmatch "[^.]+" do keys[#keys + 1] = key end
  local at = case
  for i = 1, #keys - 1 do
    local key = keys[i]
    at = at[at[key] == nil and tonumber(key) or key]
  end
  local last = keys[#keys]
  if at[last] == nil and tonumber(last) and #at > 0 then
    last = tonumber(last)
  end
  if value == "delete" then value = nil end
  at[last] = value
end

describe("The replay tool", function()
  local before

  setup(function() before = live() end)
  teardown(replay.leave)

  for name, text in pairs(CASES) do
    it("passes a right case: " .. name, function()
      local ok, why = replay.check(reader.decode(text))
      assert.is_true(ok, tostring(why))
    end)
  end

  for _, row in ipairs(WRONG) do
    it(("sees a wrong case: %s, %s"):format(row[1], row[2]), function()
      local case = reader.decode(CASES[row[1]])
      for i = 2, #row, 2 do set(case, row[i], row[i + 1]) end
      local ok, why = replay.check(case)
      assert.is_false(ok)
      assert.is_string(why)
    end)
  end

  it("counts what is not there as unsupported", function()
    local case = reader.decode(CASES.add)
    case.op = "aten::no_such_operator"
    local ok, what = replay.check(case)
    assert.is_nil(ok)
    assert.equal("aten::no_such_operator", what)
  end)

  it("leaves no tensor behind", function()
    assert.is_true(live() <= before)
  end)
end)
