-- Made by spec/vectors/checkpoints.py with PyTorch 2.15.0.
return function(tensor, int, none) return {
{files = {"zip.pt", "zip5.pt", "legacy.pt", "legacy4.pt", "packed.pt"}, value
= {["epoch"] = 3, ["net"] = {["0.weight"] = tensor("float32", {2, 3}, {3, 1},
{0.09563267230987549, 0.20971733331680298, -0.3751871585845947,
-0.3248958885669708, -0.12237351387739182, 0.05482500046491623}, false),
["0.bias"] = tensor("float32", {2}, {1}, {0.08523257821798325,
0.5572031736373901}, false), ["1.weight"] = tensor("float32", {2}, {1},
{0.9000000357627869, 0.8999999761581421}, false), ["1.bias"] =
tensor("float32", {2}, {1}, {-0.09226061403751373, -0.0986211746931076},
false), ["1.running_mean"] = tensor("float32", {2}, {1},
{-0.015735361725091934, 0.05691828951239586}, false), ["1.running_var"] =
tensor("float32", {2}, {1}, {0.9224566221237183, 0.9254651069641113}, false),
["1.num_batches_tracked"] = tensor("int64", {}, {}, {1}, false)}, ["opt"] =
{["state"] = {[0] = {["step"] = tensor("float32", {}, {}, {1.0}, false),
["exp_avg"] = tensor("float32", {2, 3}, {3, 1}, {-2.2316105514619267e-06,
6.783979915780947e-05, -5.579286880674772e-05, -7.812248077243567e-05,
-2.202638643211685e-05, 2.340224091312848e-05}, false), ["exp_avg_sq"] =
tensor("float32", {2, 3}, {3, 1}, {4.980085354516772e-13,
4.602238867779107e-10, 3.1128444266670385e-10, 6.103122451861509e-10,
4.8516170247925317e-11, 5.476648648472526e-11}, false)}, [1] = {["step"] =
tensor("float32", {}, {}, {1.0}, false), ["exp_avg"] = tensor("float32", {2},
{1}, {-2.9045622795820236e-08, -1.738910242465863e-07}, false), ["exp_avg_sq"]
= tensor("float32", {2}, {1}, {8.436482565366314e-17, 3.023808942359497e-15},
false)}, [2] = {["step"] = tensor("float32", {}, {}, {1.0}, false),
["exp_avg"] = tensor("float32", {2}, {1}, {0.799952507019043,
0.7999582886695862}, false), ["exp_avg_sq"] = tensor("float32", {2}, {1},
{0.06399240344762802, 0.06399332731962204}, false)}, [3] = {["step"] =
tensor("float32", {}, {}, {1.0}, false), ["exp_avg"] = tensor("float32", {2},
{1}, {1.1920929132713809e-08, 7.152557657263969e-08}, false), ["exp_avg_sq"] =
tensor("float32", {2}, {1}, {1.4210855390181384e-17, 5.115907477244155e-16},
false)}}, ["param_groups"] = {{["lr"] = 0.1, ["betas"] = {0.9, 0.999}, ["eps"]
= 1e-08, ["weight_decay"] = 0, ["amsgrad"] = false, ["maximize"] = false,
["capturable"] = false, ["differentiable"] = false, ["decoupled_weight_decay"]
= false, ["params"] = {0, 1, 2, 3}}}}, ["history"] = {1.5, none, 2},
["dtypes"] = {["bool"] = tensor("bool", {3}, {1}, {false, true, true}, false),
["uint8"] = tensor("uint8", {3}, {1}, {0, 1, 1}, false), ["int8"] =
tensor("int8", {3}, {1}, {0, 1, 1}, false), ["int16"] = tensor("int16", {3},
{1}, {0, 1, 1}, false), ["int32"] = tensor("int32", {3}, {1}, {0, 1, 1},
false), ["int64"] = tensor("int64", {3}, {1}, {0, 1, 1}, false), ["uint16"] =
tensor("uint16", {3}, {1}, {0, 1, 1}, false), ["uint32"] = tensor("uint32",
{3}, {1}, {0, 1, 1}, false), ["uint64"] = tensor("uint64", {3}, {1}, {0, 1,
1}, false), ["float16"] = tensor("float16", {3}, {1}, {0.0, 1.0, 1.0}, false),
["bfloat16"] = tensor("bfloat16", {3}, {1}, {0.0, 1.0, 1.0}, false),
["float32"] = tensor("float32", {3}, {1}, {0.0, 1.0, 1.0}, false), ["float64"]
= tensor("float64", {3}, {1}, {0.0, 1.0, 1.0}, false), ["complex64"] =
tensor("complex64", {3}, {1}, {{re = 0.0, im = 0.0}, {re = 1.0, im = 0.0}, {re
= 1.0, im = 0.0}}, false), ["complex128"] = tensor("complex128", {3}, {1},
{{re = 0.0, im = 0.0}, {re = 1.0, im = 0.0}, {re = 1.0, im = 0.0}}, false)},
["half"] = tensor("float16", {2}, {1}, {1.5, -2.25}, false), ["conjugate"] =
tensor("complex64", {1}, {1}, {{re = 1.0, im = -2.0}}, false), ["negative"] =
tensor("float32", {1}, {2}, {-2.0}, false), ["grid"] = tensor("float32", {4,
3}, {1, 4}, {0.0, 4.0, 8.0, 1.0, 5.0, 9.0, 2.0, 6.0, 10.0, 3.0, 7.0, 11.0},
false), ["column"] = tensor("float32", {3}, {4}, {1.0, 5.0, 9.0}, false),
["scalar"] = tensor("int64", {}, {}, {5}, false), ["expanded"] =
tensor("float32", {5}, {0}, {1.0, 1.0, 1.0, 1.0, 1.0}, false), ["empty"] =
tensor("float32", {0, 3}, {3, 1}, {}, false), ["first"] = tensor("float32",
{3}, {1}, {2.0, 3.0, 4.0}, false), ["second"] = tensor("float32", {4}, {1},
{4.0, 5.0, 6.0, 7.0}, false), ["parameter"] = tensor("float32", {2}, {1},
{1.0, 1.0}, true), ["ints"] = {9007199254740991, int "9007199254740993", int
"9223372036854775808", int "18446744073709551615", int "-9223372036854775808",
-1099511627776, -1, 0, 255, 256, 65536, 2147483648, -2147483648}, ["floats"] =
{0.1, -2.5e-310, 1e+300, 1 / 0, -1 / 0, -1 / (1 / 0)}, ["set"] = {["a"] =
true, [1] = true}, ["frozen"] = {[2] = true}, ["bytes"] = "\255\000\001",
["array_of_bytes"] = "hi\128", ["text"] = "\195\169\226\130\172\000",
["complex"] = {re = 1.0, im = -2.0}, ["size"] = {1, 2}, ["dtype"] =
"bfloat16", ["device"] = "cuda:1", ["tuple"] = {1, {2, "z"}, true},
["ordered"] = {["x"] = 1, [2] = "y"}, ["numpy"] = {["float"] = 1.5, ["bool"] =
true, ["array"] = tensor("int64", {2, 3}, {3, 1}, {0, 1, 2, 3, 4, 5}, false),
["fortran"] = tensor("float64", {2, 3}, {1, 2}, {0.0, 1.0, 2.0, 3.0, 4.0,
5.0}, false), ["big"] = tensor("int32", {3}, {1}, {0, 1, 2}, false),
["in_tuple"] = {1, tensor("int64", {2}, {1}, {0, 1}, false)}}}},
{files = {"big.pt"}, value = {["f"] = tensor("float32", {2}, {1}, {1.5, -2.0},
false), ["i"] = tensor("int64", {2}, {1}, {1, 1099511627776}, false), ["b"] =
tensor("bool", {2}, {1}, {true, false}, false), ["c"] = tensor("complex64",
{1}, {1}, {{re = 1.0, im = 2.0}}, false), ["h"] = tensor("bfloat16", {1}, {1},
{0.5}, false)}},
{files = {"tensor.pth"}, value = tensor("int64", {3}, {1}, {0, 1, 2}, false)},
{files = {"allowed.pt"}, value = {["counter"] = {[3] = 1, [8] = 2},
["no_counter"] = {}, ["ordered"] = {["x"] = 1}, ["multistep"] =
{["milestones"] = {[3] = 1, [8] = 1}, ["gamma"] = 0.1, ["base_lrs"] = {0.1},
["last_epoch"] = 0, ["_step_count"] = 1, ["_is_initial"] = false,
["_get_lr_called_within_step"] = false, ["_last_lr"] = {0.1}}, ["nothing"] =
{"", {}, {}, {}}, ["parameter"] = tensor("float32", {2, 3}, {3, 1}, {0.0, 1.0,
2.0, 3.0, 4.0, 5.0}, true), ["tensor"] = tensor("float32", {2, 3}, {3, 1},
{0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, false), ["fixed"] = tensor("float32", {2},
{1}, {1.0, 1.0}, false), ["buffer"] = tensor("float32", {2, 3}, {3, 1}, {0.0,
1.0, 2.0, 3.0, 4.0, 5.0}, false), ["size"] = {2, 3}, ["layouts"] = {"strided",
"sparse_coo", "sparse_csr"}, ["schemes"] = {"per_tensor_affine",
"per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric",
"per_channel_affine_float_qparams"}, ["dtypes"] = {"complex32", "bcomplex32",
"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
"float8_e8m0fnu", "float4_e2m1fn_x2", "bits8", "bits16", "bits1x8", "bits2x4",
"bits4x2", "qint8", "qint32", "quint8", "quint2x4", "quint4x2", "int1",
"uint1", "int2", "uint2", "int3", "uint3", "int4", "uint4", "int5", "uint5",
"int6", "uint6", "int7", "uint7"}, ["devices"] = {"cpu", "cuda:3"},
["storages"] = {tensor("uint8", {4}, {1}, {0, 1, 2, 3}, false),
tensor("float64", {6}, {1}, {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, false)},
["from_numpy"] = tensor("float64", {2, 3}, {3, 1}, {0.0, 1.0, 2.0, 3.0, 4.0,
5.0}, false), ["from_cpu"] = tensor("float32", {2, 3}, {3, 1}, {0.0, 1.0, 2.0,
3.0, 4.0, 5.0}, true), ["old_parameter"] = tensor("float32", {2, 3}, {3, 1},
{0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, true), ["old_fixed"] = tensor("float32", {2,
3}, {3, 1}, {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, false), ["called_parameter"] =
tensor("float32", {2, 3}, {3, 1}, {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, true),
["old_tensor"] = tensor("float32", {2, 3}, {3, 1}, {0.0, 1.0, 2.0, 3.0, 4.0,
5.0}, false), ["rebuilt"] = tensor("float32", {2, 3}, {3, 1}, {0.0, 1.0, 2.0,
3.0, 4.0, 5.0}, false), ["state"] = tensor("float32", {2, 3}, {3, 1}, {0.0,
1.0, 2.0, 3.0, 4.0, 5.0}, true)}},
{files = {"more.pt"}, value = {["array"] = tensor("float64", {0, 3}, {3, 1},
{}, false), ["frozen"] = {}, ["bytes"] = "", ["missing"] = {["a"] = {1}}}},
{files = {"nocrc.pt"}, value = {["a"] = tensor("int64", {3}, {1}, {0, 1, 2},
false)}},
{files = {"tar.pt"}, value = {["grid"] = tensor("float32", {2, 3}, {3, 1},
{0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, false), ["again"] = tensor("float32", {2, 3},
{3, 1}, {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, false), ["column"] = tensor("float32",
{2}, {3}, {1.0, 4.0}, false), ["n"] = {1}, ["scalar"] = tensor("float32", {},
{}, {0.0}, false), ["part"] = tensor("float32", {2}, {1}, {3.0, 4.0}, false),
["longs"] = tensor("int64", {2}, {1}, {1099511627776, -1}, false)}},
{files = {"binary.t7", "ascii.t7"}, value = {["number"] = 1.5, ["text"] =
"two\010lines\000", ["empty"] = "", ["yes"] = true, ["no"] = false, ["inner"]
= {["x"] = 1}, ["again"] = {["x"] = 1}, [1] = "one", [2.5] = "x", ["nan"] = 0
/ 0, ["inf"] = -1 / 0, ["matrix"] = tensor("float32", {2, 3}, {3, 1}, {0.5,
1.0, 2.0, 3.0, 4.0, 5.0}, false), ["column"] = tensor("float32", {2}, {3},
{1.0, 4.0}, false), ["nothing"] = tensor("float64", {0}, {1}, {}, false),
["longs"] = tensor("int64", {2}, {1}, {int "9007199254740993", int
"-9223372036854775808"}, false), ["kinds"] = {["Byte"] = tensor("uint8", {3},
{1}, {1, 10, 32}, false), ["Char"] = tensor("int8", {3}, {1}, {1, 10, 32},
false), ["Short"] = tensor("int16", {3}, {1}, {1, 10, 32}, false), ["Int"] =
tensor("int32", {3}, {1}, {1, 10, 32}, false), ["Long"] = tensor("int64", {3},
{1}, {1, 10, 32}, false), ["Half"] = tensor("float16", {3}, {1}, {1.0, 10.0,
32.0}, false), ["Float"] = tensor("float32", {3}, {1}, {1.0, 10.0, 32.0},
false), ["Double"] = tensor("float64", {3}, {1}, {1.0, 10.0, 32.0}, false),
["Cuda"] = tensor("float32", {3}, {1}, {1.0, 10.0, 32.0}, false)}, ["net"] =
{["__typename"] = "nn.Sequential", ["modules"] = {{["__typename"] =
"nn.Linear", ["train"] = true, ["weight"] = tensor("float32", {2}, {1}, {0.5,
1.0}, false)}}}}},
} end
