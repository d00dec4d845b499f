--- How names of PyTorch and of the Array API that do not exist are written
-- here, and why others are out of scope; which names exist with the meaning
-- that PyTorch gives them, where the standard gives them another.
-- spec/coverage/table.lua reads it.

--- "name = code" lines. In the code, a name is of st, and t, u and v are
-- tensors; a spec looks the names up.
local function read(text)
  local map = {}
  for line in text:gmatch "[^\n]+" do
    local name, code = line:match "^%s*(%S+)%s+= (.*)$"
    map[name] = code
  end
  return map
end

local spellings = {}

-- -- Written otherwise -------------------------------------------------------

spellings.written = {
  ["torch"] = read [[
    cond                         = if t:any():item() then end
    while_loop                   = while t:any():item() do end
    compile                      = st.fuse(function(x) return x end)
    from_file                    = st.load("a.npy", {mmap = "r"})
    from_numpy                   = st.from_dlpack(capsule)
    typename                     = t.dtype
    is_storage                   = st.is_tensor(t)
    get_device                   = t.device
    get_default_device           = st.ones(2).device
    set_default_device           = st.ones({2}, {device = "cpu"})
    set_default_tensor_type      = st.set_default_dtype("float64")
    is_anomaly_enabled           = st.detect_anomaly(function() end)
    is_anomaly_check_nan_enabled = st.detect_anomaly(function() end)
    set_anomaly_enabled          = st.detect_anomaly(function() end)
    frobenius_norm               = st.linalg.matrix_norm(t, "fro")
    nuclear_norm                 = st.linalg.matrix_norm(t, "nuc")
    native_norm                  = st.norm(t)
    lu                           = st.linalg.lu_factor(t)
    matrix_rank                  = st.linalg.matrix_rank(t)
    qr                           = st.linalg.qr(t)
    solve                        = st.linalg.solve(t, u)
    symeig                       = st.linalg.eigh(t)
    get_file_path                = package.searchpath("strided", package.path)
    compiled_with_cxx11_abi      = st.config().version
    set_autocast_cache_enabled = st.autocast({cache_enabled = false}, st.det, t)
    set_autocast_cpu_dtype       = st.autocast({dtype = "float16"}, st.mm, t, u)
    set_autocast_cpu_enabled     = st.autocast(st.mm, t, u)
    set_autocast_dtype           = st.autocast({dtype = "float16"}, st.mm, t, u)
    set_autocast_enabled         = st.autocast(st.mm, t, u)
    get_autocast_cpu_dtype       = st.get_autocast_dtype()
    is_autocast_cpu_enabled      = st.is_autocast_enabled()
    autocast_increment_nesting   = st.autocast(st.mm, t, u)
    autocast_decrement_nesting   = st.autocast(st.mm, t, u)
    vmap                         = for row in t:iter() do st.sum(row) end]],
  ["torch.nn"] = read [[
    Buffer                    = st.nn.Module.register_buffer
    CrossMapLRN2d             = st.nn.LocalResponseNorm(5)
    RNNBase                   = st.nn.RNN(3, 4)
    RNNCellBase               = st.nn.RNNCell(3, 4)
    LinearCrossEntropyOptions = st.nn.LinearCrossEntropyLoss]],
  ["torch.nn.utils"] = read [[
    convert_conv2d_weight_memory_format = st.nn.Module.to
    convert_conv3d_weight_memory_format = st.nn.Module.to
    fuse_conv_bn_weights                = st.nn.utils.fuse_conv_bn_eval
    fuse_linear_bn_weights              = st.nn.utils.fuse_linear_bn_eval]],
  ["torch.optim"] = read [[
    Optimizer = require "strided.optim.optimizer"]],
  ["torch.optim.lr_scheduler"] = read [[
    LRScheduler = require "strided.optim.lr_scheduler.scheduler"]],
  ["torch.utils.data"] = read [[
    ChainDataset       = st.data.FunctionDataset
    IterableDataset    = st.data.DataLoader(function() return t:iter() end)
    Sampler            = {iter = t.iter, size = t.size}
    StackDataset       = st.data.TensorDataset({t = t, u = u})
    DistributedSampler = require "strided.mpi".DistributedSampler]],
  ["torch.amp"] = read [[
    is_autocast_available = st.autocast(st.mm, t, u)]],
  ["torch.Tensor"] = read [[
    numpy          = t:totable()
    get_device     = t.device
    is_cpu         = t.device == "cpu"
    is_cuda        = t.device == "cuda"
    is_meta        = t.device == "meta"
    is_sparse      = t.layout ~= "strided"
    const_data_ptr = t:data_ptr()
    untyped_storage = t:storage()
    storage_type   = t.dtype
    share_memory_  = st.share(t)
    set_           = u = v:as_strided({2, 2}, {2, 1}, 1)
    new            = t:new_empty({2, 3})
    resize         = t:reshape(3, 2)
    resize_as      = t:reshape_as(u)
    to_dense       = t
    lu             = st.linalg.lu_factor(t)
    qr             = st.linalg.qr(t)
    solve          = st.linalg.solve(t, u)
    symeig         = st.linalg.eigh(t)
    grad_dtype     = t.grad.dtype]],
  ["Array API array"] = read [[
    __abs__       = t:abs()
    __add__       = t + u
    __and__       = t:bitwise_and(u)
    __bool__      = t:is_nonzero()
    __complex__   = t:item()
    __dlpack__    = t:to_dlpack()
    __dlpack_device__ = t.device
    __eq__        = t:eq(u)
    __float__     = t:item()
    __floordiv__  = t:floor_divide(u)
    __ge__        = t:ge(u)
    __getitem__   = t["1:2, 3"]
    __gt__        = t:gt(u)
    __index__     = t:item()
    __int__       = t:item()
    __invert__    = t:bitwise_not()
    __iter__      = for row in t:iter() do st.sum(row) end
    __le__        = t:le(u)
    __lshift__    = t:bitwise_left_shift(u)
    __lt__        = t:lt(u)
    __matmul__    = t:matmul(u)
    __mod__       = t % u
    __mul__       = t * u
    __ne__        = t:ne(u)
    __neg__       = -t
    __or__        = t:bitwise_or(u)
    __pos__       = t:positive()
    __pow__       = t ^ u
    __rshift__    = t:bitwise_right_shift(u)
    __setitem__   = t["1:2, 3"] = 0
    __sub__       = t - u
    __truediv__   = t / u
    __xor__       = t:bitwise_xor(u)
    __iadd__      = t:add_(u)
    __iand__      = t:bitwise_and_(u)
    __ifloordiv__ = t:floor_divide_(u)
    __ilshift__   = t:bitwise_left_shift_(u)
    __imatmul__   = t:copy_(t:matmul(u))
    __imod__      = t:remainder_(u)
    __imul__      = t:mul_(u)
    __ior__       = t:bitwise_or_(u)
    __ipow__      = t:pow_(u)
    __irshift__   = t:bitwise_right_shift_(u)
    __isub__      = t:sub_(u)
    __itruediv__  = t:div_(u)
    __ixor__      = t:bitwise_xor_(u)
    __radd__      = 2 + t
    __rand__      = st.bitwise_and(2, t)
    __rfloordiv__ = st.floor_divide(st.tensor(2), t)
    __rlshift__   = st.bitwise_left_shift(2, t)
    __rmatmul__   = st.matmul(u, t)
    __rmod__      = 2 % t
    __rmul__      = 2 * t
    __ror__       = st.bitwise_or(2, t)
    __rpow__      = 2 ^ t
    __rrshift__   = st.bitwise_right_shift(2, t)
    __rsub__      = 2 - t
    __rtruediv__  = 2 / t
    __rxor__      = st.bitwise_xor(2, t)]],
}

-- -- Of another meaning -------------------------------------------------------

-- Names that exist and mean what PyTorch means by them: how what the standard
-- means is written.
spellings.meaning = {
  ["Array API"] = read [[
    all           = st.all(t:bool())
    any           = st.any(t:bool())
    argsort       = st.argsort(t, {stable = true, descending = false})
    arange        = st.arange(0, 10, 2)
    clip          = t:clone()
    can_cast      = st.promote_types("int8", "int16") == "int16"
    concat        = st.concat({t, u}, 1)
    count_nonzero = st.sum(t:ne(0), {dim = 1, keepdim = true})
    equal         = st.eq(t, u)
    eye           = st.ones(2, 3):tril(1):triu(1)
    flip          = st.flip(t, {1, 2})
    linspace      = st.linspace(0, 1, 6):narrow(1, 1, 5)
    matmul        = st.matmul(t, u:type_as(t))
    max           = st.amax(t, {1}, true)
    meshgrid      = st.meshgrid({t, u}, {indexing = "xy"})
    min           = st.amin(t, {1}, true)
    nonzero       = st.nonzero_numpy(t)
    prod          = st.prod(t:flatten(1, 2), 1)
    remainder     = st.copysign(st.remainder(t, u), u)
    repeat        = st.repeat_interleave(t, 2, 1)
    reshape       = t:clone():reshape(3, 2)
    round         = st.view_as_complex(st.round(st.view_as_real(t)))
    sign          = st.sgn(t)
    sort          = (st.sort(t, {stable = true, descending = false}))
    std           = st.std(t, {dim = 1, correction = 0})
    sum           = st.sum(t, {dtype = "uint64"})
    take          = st.index_select(t, 1, u:long())
    take_along_axis = st.take_along_dim(t, u:long(), 1)
    tensordot     = st.tensordot(t, u:type_as(t), 1)
    var           = st.var(t, {dim = 1, correction = 0})
    vecdot        = st.sum(t * u, -1)]],
}

-- -- Out of scope ------------------------------------------------------------

-- Names as patterns of Lua, each for the whole name.
spellings.out_of_scope = {
  {why = "sparse layouts", names = [[
    .*sparse.* .*coalesce.* .*crow_indices.* .*ccol_indices.* col_indices.*
    row_indices.* indices indices_copy values values_copy dense_dim smm hsmm
    dsmm hspmm spmm sspaddmm saddmm SparseAdam]],
   families = {["torch"] = true, ["torch.Tensor"] = true,
               ["torch.nn.functional"] = true, ["torch.masked"] = true,
               ["torch.optim"] = true}},
  {why = "quantization and numbers of 8 bits", names = [[
    quantize_.* quantized_.* dequantize fake_quantize_.* fbgemm_.*
    fused_moving_avg_obs_fake_quant choose_qparams_optimized q_.* qscheme
    int_repr is_quantized empty_quantized scaled_.*mm_?]]},
  {why = "named, nested and padded tensors", names = [[
    name names rename.* align_.* refine_names has_names is_nested
    to_padded_tensor]]},
  {why = "CUDA, other devices and their libraries", names = [[
    cudnn_.* miopen_.* mkldnn_.* .*_mkldnn cuda ipu mtia xpu is_ipu is_maia
    is_mps is_mtia is_vulkan.* is_xla is_xpu record_stream pin_memory is_pinned
    get_device_module profiler_.* batch_norm_.*elemt
    batch_norm_gather_stats.* batch_norm_stats batch_norm_update_stats
    batch_norm_backward_.* grouped_mm]]},
  {why = "mixed precision of other devices, settings of the processor",
   names = [[
    .*autocast_[gix]pu.* .*autocast_xla.* .*float32_matmul_precision
    set_flush_denormal
    .*deterministic_debug_mode .*_warn_only_enabled .*warn_always.*
    .*interop_threads init_num_threads]]},
  {why = "symbolic shapes and TorchScript", names = [[
    sym_.* import_ir_.* parse_.* merge_type_.* unify_type_list fork wait
    boolean_dispatch assert_int_or_pair]]},
  {why = "Python and processes of Python", names = [[
    classproperty .*has_torch_function.* handle_torch_function Optional
    as_subclass module_load prepare_multiprocessing_environment is_shared
    is_distributed thread_safe_generator]]},
  {why = "obsolete or a prototype in PyTorch itself", names = [[
    reinforce volatile slice_inverse output_nr hash_tensor as_masked_tensor
    is_masked_tensor masked_tensor]]},
  {why = "removed from PyTorch, where it is an error", names = "eig lstsq",
   families = {["torch"] = true, ["torch.Tensor"] = true}},
  {why = "parameters that get a shape at the first call", names = [[
    Lazy.* Uninitialized.*]], families = {["torch.nn"] = true}},
  {why = "several devices in a process", names = "DataParallel SyncBatchNorm",
   families = {["torch.nn"] = true}},
  {why = "old names in PyTorch itself, of functions with an underscore behind",
   names = [[Container constant dirac eye kaiming_normal kaiming_uniform normal
    orthogonal sparse uniform xavier_normal xavier_uniform clip_grad_norm
    stateless skip_init]],
   families = {["torch.nn"] = true, ["torch.nn.init"] = true,
               ["torch.nn.utils"] = true}},
  {why = "pipes of data and other parts of PyTorch's library", names = [[
    .*DataPipe DataChunk functional_datapipe .*determin.* runtime_validation.*
    argument_validation default_convert _DatasetKind]],
   families = {["torch.utils.data"] = true}},
  {why = "autocast in an autograd.Function of Python",
   names = "custom_bwd custom_fwd", families = {["torch.amp"] = true}},
}

return spellings
