-- Made by spec/vectors/checkpoints.py with PyTorch 2.15.0: what weights_only
-- allows; what is said of files that are refused.
return {
allowed = [[_codecs.encode builtins.bytearray builtins.complex builtins.set
collections.Counter collections.OrderedDict torch.BFloat16Storage
torch.BFloat16Tensor torch.BoolStorage torch.BoolTensor torch.ByteStorage
torch.ByteTensor torch.CharStorage torch.CharTensor torch.ComplexDoubleStorage
torch.ComplexFloatStorage torch.DoubleStorage torch.DoubleTensor
torch.FloatStorage torch.FloatTensor torch.HalfStorage torch.HalfTensor
torch.IntStorage torch.IntTensor torch.LongStorage torch.LongTensor
torch.QInt32Storage torch.QInt8Storage torch.QUInt2x4Storage
torch.QUInt4x2Storage torch.QUInt8Storage torch.ShortStorage torch.ShortTensor
torch.Size torch.Tensor torch._tensor._rebuild_from_type_v2
torch._utils._rebuild_device_tensor_from_cpu_tensor
torch._utils._rebuild_device_tensor_from_numpy
torch._utils._rebuild_meta_tensor_no_storage torch._utils._rebuild_parameter
torch._utils._rebuild_parameter_with_state torch._utils._rebuild_qtensor
torch._utils._rebuild_sparse_tensor torch._utils._rebuild_tensor
torch._utils._rebuild_tensor_v2 torch._utils._rebuild_tensor_v3
torch._utils._rebuild_wrapper_subclass torch.bcomplex32 torch.bfloat16
torch.bits16 torch.bits1x8 torch.bits2x4 torch.bits4x2 torch.bits8 torch.bool
torch.complex128 torch.complex32 torch.complex64 torch.cuda.BFloat16Storage
torch.cuda.BFloat16Tensor torch.cuda.BoolStorage torch.cuda.BoolTensor
torch.cuda.ByteStorage torch.cuda.ByteTensor torch.cuda.CharStorage
torch.cuda.CharTensor torch.cuda.ComplexDoubleStorage
torch.cuda.ComplexFloatStorage torch.cuda.DoubleStorage
torch.cuda.DoubleTensor torch.cuda.FloatStorage torch.cuda.FloatTensor
torch.cuda.HalfStorage torch.cuda.HalfTensor torch.cuda.IntStorage
torch.cuda.IntTensor torch.cuda.LongStorage torch.cuda.LongTensor
torch.cuda.ShortStorage torch.cuda.ShortTensor
torch.cuda.sparse.BFloat16Tensor torch.cuda.sparse.ByteTensor
torch.cuda.sparse.CharTensor torch.cuda.sparse.DoubleTensor
torch.cuda.sparse.FloatTensor torch.cuda.sparse.HalfTensor
torch.cuda.sparse.IntTensor torch.cuda.sparse.LongTensor
torch.cuda.sparse.ShortTensor torch.device torch.float16 torch.float32
torch.float4_e2m1fn_x2 torch.float64 torch.float8_e4m3fn torch.float8_e4m3fnuz
torch.float8_e5m2 torch.float8_e5m2fnuz torch.float8_e8m0fnu torch.int1
torch.int16 torch.int2 torch.int3 torch.int32 torch.int4 torch.int5 torch.int6
torch.int64 torch.int7 torch.int8 torch.nn.parameter.Parameter
torch.per_channel_affine torch.per_channel_affine_float_qparams
torch.per_channel_symmetric torch.per_tensor_affine torch.per_tensor_symmetric
torch.qint32 torch.qint8 torch.quint2x4 torch.quint4x2 torch.quint8
torch.serialization._get_layout torch.sparse.BFloat16Tensor
torch.sparse.ByteTensor torch.sparse.CharTensor torch.sparse.DoubleTensor
torch.sparse.FloatTensor torch.sparse.HalfTensor torch.sparse.IntTensor
torch.sparse.LongTensor torch.sparse.ShortTensor torch.storage.TypedStorage
torch.storage.UntypedStorage torch.uint1 torch.uint16 torch.uint2 torch.uint3
torch.uint32 torch.uint4 torch.uint5 torch.uint6 torch.uint64 torch.uint7
torch.uint8]],
refused = {
["refused_sparse.pt"] =
"sparse tensors",
["refused_sparse_csr.pt"] =
"sparse tensors",
["refused_quantized.pt"] =
"quantized tensors",
["refused_nested.pt"] =
"nested tensors",
["refused_bits8.pt"] =
"the dtype bits8, which has no equivalent here",
}}
