--- What of the library a script in a sandbox may have. What is not listed here
-- is refused, so a new function is, too, until its row says why it may pass.
--
-- @module strided.sandbox.public

local public = {}

--- Names of st other than operators: why a script may have them, and they.
public.names = {
  "values: no more than the numbers and texts that they hold",
  "Size complex float int none newaxis ellipsis contiguous_format "
    .. "preserve_format channels_last channels_last_3d _VERSION e pi inf nan "
    .. "__array_api_version__ "
    .. table.concat(require "strided.core".dtype_names(), " "),

  "tensors: their elements are charged, and they read only their arguments",
  "tensor is_tensor may_share_memory is_floating_point is_complex is_signed "
    .. "is_inference numel detach_ to_dlpack Generator asarray as_tensor "
    .. "astype cumulative_sum cumulative_prod expand_dims result_type "
    .. "broadcast_shapes isdtype finfo iinfo dtype_info lobpcg masked linalg "
    .. "fft special signal ops",

  "calls of functions that the script gives, within them",
  "scope keep keyset keyset_full keyset_after include_keys exclude_keys "
    .. "included_keys excluded_keys below_autograd below_adinplaceorview "
    .. "no_grad enable_grad is_grad_enabled set_grad_enabled grad backward "
    .. "inference_mode is_inference_mode_enabled is_autocast_enabled "
    .. "is_autocast_cache_enabled get_autocast_dtype clear_autocast_cache "
    .. "dispatch_mode observe trace autograd gradcheck gradgradcheck "
    .. "checkpoint detect_anomaly fuse iterator autocast amp profile timeit "
    .. "progress",

  "networks and training, which are made of tensors and tables",
  "nn optim data distributions multi_head_attention_forward "
    .. "triplet_margin_with_distance_loss",

  "texts: they say what the library is, and what the script gives them",
  "memory devices device_properties synchronize get_num_threads config "
    .. "is_jit_enabled schema dump dangling_impls "
    .. "check_registry get_default_dtype get_printoptions help apropos layout "
    .. "plot explain are_deterministic_algorithms_enabled "
    .. "__array_namespace_info__",

  "settings that end with the run",
  "set_printoptions document use_deterministic_algorithms",

  "taken: they say so themselves, unless the host allows their class",
  "load save create read_csv write_csv fromfile chunks frombuffer from_dlpack "
    .. "from_arrow share attach unshare library listen strict_registration "
    .. "set_num_threads memory_fail_at manual_seed get_rng_state "
    .. "set_rng_state seed initial_seed warnings set_default_dtype "
    .. "set_jit_enabled sandbox",
}

--- Methods and properties of tensors other than operators.
public.methods = {
  "what a tensor is, and what is done with it",
  "backward detach_ dim element_size fill free has_internal_overlap "
    .. "is_alias_of is_complex is_contiguous is_dense is_floating_point "
    .. "is_inference is_non_overlapping_and_dense is_signed iter key_set keys "
    .. "numel register_hook register_post_accumulate_grad_hook requires_grad_ "
    .. "retain_grad size storage storage_offset stride suggest_memory_format "
    .. "to_dlpack tostring_bytes totable zero _version base data device dtype "
    .. "grad grad_fn is_leaf itemsize layout nbytes ndim requires_grad "
    .. "retains_grad shape version astype cumulative_sum cumulative_prod "
    .. "expand_dims new_tensor cpu type __array_namespace__ dim_order apply_ "
    .. "map_ map2_",

  "taken: they say so themselves, unless the host allows their class",
  "data_ptr to_arrow tofile",
}

--- Modules that `require` gives to a script, with the place of each in st, and
-- why. They and the tables below them are read-only.
public.modules = {
  {"strided", "", "the names above, operators and methods of tensors"},
  {"strided.nn", "nn", "layers: tables of tensors, and operators"},
  {"strided.optim", "optim", "optimizers: the same"},
  {"strided.data", "data", "datasets in memory; no workers, no modules by "
    .. "name"},
  {"strided.distributions", "distributions", "the same as nn"},
}

--- Tables below st whose fields are functions and classes. They are read-only;
-- classes and what belongs to these is restored after each run.
public.tables = {
  "nn", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize",
  "nn.utils.parametrizations", "optim", "optim.lr_scheduler",
  "optim.swa_utils", "data", "data.transforms", "distributions",
  "distributions.constraints", "distributions.transforms", "linalg", "fft",
  "special", "signal", "signal.windows", "amp", "masked", "memory", "autograd",
  "profile",
}

--- The names of such a list, as keys.
function public.set(list)
  local set = {}
  for i = 2, #list, 2 do
    for name in list[i]:gmatch "%S+" do set[name] = true end
  end
  return set
end

return public
