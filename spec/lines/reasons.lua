--- Why lines of C are never run by the specs, for spec/lines/report.lua: by the
-- text of the lines or the function's name, and for single functions.

local reasons = {}

--- In the order of spec/LINES.md. The last one is for all that has no other.
reasons.kinds = {
  {"limit", "Inputs too large for a spec: sizes near 2^63, more dimensions, "
            .. "values or calls than the engine has room for"},
  {"memory", "An allocation fails in a place that the specs of failing "
             .. "allocations do not reach"},
  {"host", "The system refuses or lacks something: a library, a page, a "
           .. "thread, a file"},
  {"fork", "Runs in the child of a fork or in a process that ends at once, "
           .. "which writes no counts"},
  {"race", "Another thread changes something between two steps"},
  {"caller", "A C caller breaks a rule of the header, or a row of a table of "
             .. "ours is wrong; from Lua it cannot happen"},
  {"guard", "A second check, behind another one that finds the mistake first"},
  {"long", "Only calls that take seconds ask whether to stop here"},
  {"line", "No count: the end of a function that does not return, or a line "
           .. "that the compiler merged with another one"},
  {"build", "Runs while the library is built, or in a build with other "
            .. "options"},
  {"todo", "No spec yet"},
}

--- Kind and pattern of the text of the lines, or of the function's name. The
-- first that matches counts.
reasons.texts = {
  {"fork", "^reinit_mutex$"},
  {"fork", "^reset_%w+$"},
  {"fork", "in_child$"},
  {"line", "^[%s}]+$"},
  {"line", "^%s*fail:$"},
  {"long", "return !?st__stops%(%);"},
  {"race", "was redefined"},
  {"memory", "NO_MEMORY"},
  {"memory", "out of memory"},
  {"host", "dlerror"},
  {"host", "strerror"},
  {"host", "OpenBLAS"},
  {"caller", "there is no %w+ number"},
  {"caller", "no memory format number"},
  {"limit", "at most %%"},
  {"limit", "more than"},
  {"limit", "more values"},
  {"limit", "too large"},
  {"limit", "too many"},
  {"limit", "too long"},
  {"limit", "too deep"},
  {"limit", "2%^63"},
  {"limit", "does not fit in"},
  {"guard", "out of range"},
  {"guard", "outside the"},
  {"guard", "^%s*default:"},
}

-- Kind, and functions after the name of their file.
local rows = {
  {"limit", [[
    interrupt.c st_add_interrupt_check
    missing_kernel.c list_kernels
    schema_type.c alias_sets
    lower_graph.c write_value
    lower_to_program.c copy_outputs
    register_allocation.c spill
    vector_ir.c append
    x86_encoder.c put_const
    x86_encoder.c st__x64_const
    schedule.c st_schedule_run
    recorder.c fail_listed
    view_history.c view_fn_size
    view_history.c view_fn_free
    view_history.c view_fn_init
    view_history.c free_copy_slices
    far_angle.h st_reduce_far
    conv.c convolve_parts
    conv.c same_padding
    plans.c add_plan
    registration_listener.c enqueue
    worker_threads.c pool_receive
    warning.c enqueue
    profile_record.c add_tensor
    lines.c scatter
    randint_randperm.c swap_some
    long_lines.c stream
    long_lines.c columns_of_tile
  ]]},
  {"memory", [[
    schema_lex.c st__c_locale
    link.c prepare_kernel
    library.c take_namespace
    proxy_tracer.c fail_listed
    graph.c call_node
    nonzero_masked.c chunked_loop_init
    long_lines.c st__fft_matrix
    rrelu.c st__box_rrelu_slopes
    derivatives.c implement_rule
    dry_run.c st_plan_call
    storage.c st__storage_new
    conv_weight.c run_unit
    conv_weight.c st__box_direct_weight_backward
    pool_kernels.c st__box_avg_pool_means
    saved_tensor.c unpack_list
    reachability.c grow
    registry_ref.c st__lua_ref_new
    registration_listener.c listen
    worker_threads.c read_message
    worker_threads.c new_pool
    lua_kernel.c st__run_task
    csv_column.c convert
    lower_graph.c fail_with
    substitution.c restore_args
    antialias.c find_taps
  ]]},
  {"host", [[
    backoff.c st__leave_processor
    cgroup.c count_cpus
    cgroup.c memory_of
    stack.c second_stack
    stack.c run_on
    strided.c start
    strided.c st_init
    storage.c new_data
    mapped_fault.c pass_on
    mapped_fault.c on_fault
    mapped_pages.c populate
    mapped_file.c read_some
    atomic_save.c finish
    interrupt_signal.c on_interrupt
    worker_threads.c start_workers
    worker_threads.c check_pool
    worker_threads.c pool_gc
    bidiagonal.c solve_blocks
    tridiagonal.c st__stedc
    cdata.c ask
    cdata.c take_type
    cdata.c push_ffi
    cdata.c open_cdata
  ]]},
  {"fork", [[
    threads.c unblock_external
    threads.c st_set_num_threads
    threads.c abort_forked_child
    plans.c keep_own_holds
  ]]},
  {"race", [[
    compile_cache.c insert
  ]]},
  {"caller", [[
    dtype.c st__real_dtype
    dtype.c st__scalar_store
    check.c accepts_list
    check.c accepts_one
    check.c check_arg
    check.c check_count
    value.c data_size
    value.c st__value_copy
    missing_kernel.c has_tensor
    missing_kernel.c st__run_ambiguous
    library.c qualify
    link.c check_code
    reduction_op.c read_args
    reduction_op.c check_options
    reduction_op.c check
    elementwise_op.c st_graph_arguments
    elementwise_op.c check
    schedule.c run_call
    graph.c copy_value
    graph.c read_number
    proxy_tracer.c take_value
    proxy_tracer.c st_tracing_number
    proxy_tracer.c st_tracing_number_symbol
    evaluate.c call_operator
    parse.c expect
    parse.c read_name
    parse.c read_call
    parse.c read_targets
    parse.c st__formula_parse
    rule.c parse_all
    derivatives.c register_row
    derivatives.c need_op
    plan.c check_config
    plan.c check_dim
    plan.c find_step
    copy_clone_to.c st__to_cpu
    structured.c check_meta
    register.c select_backend
    storage.c st__storage_wrap
    strided_dispatch.c st_keyset_after
    substitution.c check_written
    zero_tensor.c run_sum
    backward.c check_element
    lua_kernel.c st__push_argument
    lua_kernel.c own_copy
    call_operator.c st__push_value
  ]]},
  {"guard", [[
    dump.c check_op
    fallback.c st__run_mode
    kernel_parser.c apply_to_literals
    kernel_parser.c apply_to_bits
    kernel_parser.c apply
    kernel_parser.c set_local
    kernel_parser.c set_parameters
    lower_graph.c on_map
    recorder.c capture
    recorder.c take_value
    recorder.c check_results
    recorder.c record_inplace
    recorder.c intercept
    history.c check_grad
    grad_fn.c st__tensor_hook
    saved_tensor.c st__saved_unpack
    validate_grad.c st__check_root
    copy.c st__copy
    copy.c st__contiguous
    dry_run.c add_reduction
    fake_tensors.c get_fake_tensor
    arange_linspace.c make_range
    copy_clone_to.c check_layout
    factory.c st__read_options
    factory.c st__check_cpu_or_meta
    reshape.c st__view_dtype
    gather_scatter.c index_select_meta
    scatter_reduce.c check_filler
    segment_reduce.c check_shapes
    pad.c st__box_constant_pad_nd_backward
    embedding_bag.c check_tensors
    embedding_bag.c flatten_bags
    embedding_bag.c functional
    bags.c check_bags
    histogram.c check_bins
    repeat_flip_roll.c check_positions
    interpolate.c find_operator
    resample.c resample
    cross_renorm.c st__box_norm_except_dim
    rnn.c check_matrix
    stft.c check_istft
    conj_neg.c st__run_resolved
    direct_convolution.c run_phase
    csv_reader.c int_field
    csv_read.c first_record
    csv_write.c open_column
    argument_convert.c convert_one
    argument_convert.c convert_list
    describe_call.c describe
    function_context.c keep_list
    userdata.c make_meta
  ]]},
  {"line", [[
    butterflies_template.h -
    pool_template.h -
    overload_resolution.c st__raise_mismatch
  ]]},
  {"build", [[
    tags.c st__row_tags
  ]]},
}

reasons.functions = {}
for _, row in ipairs(rows) do
  for file, name in row[2]:gmatch "(%S+) (%S+)" do
    reasons.functions[file .. " " .. name] = row[1]
  end
end

return reasons
