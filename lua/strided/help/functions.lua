--- What st.help says about functions and methods in Lua: the signature, one
-- line, and an example with its result, which a spec runs; `t` is the tensor
-- {{1, 2}, {3, 4}}.
--
-- @module strided.help.functions

local ipairs, require = ipairs, require

local functions = {}

local function add(name, signature, line, example, result)
  functions[name] = {signature = signature, line = line, example = example,
                     result = result}
end

-- -- Functions of st ----------------------------------------------------------

add("finfo", "st.finfo(dtype: dtype? = nil) -> table",
    "The limits of a floating-point dtype: bits, min, max, eps, tiny, "
    .. "smallest_normal, resolution.",
    'st.finfo("float64").eps == 2 ^ -52', "true")
add("iinfo", "st.iinfo(dtype: dtype) -> table",
    "The limits of an integer dtype: bits, min, max.",
    'st.iinfo("int8").max', "127")
add("isdtype", "st.isdtype(dtype: dtype, kind: string | {string}) -> boolean",
    'True if a dtype is of a kind: a dtype, "bool", "signed integer", '
    .. '"unsigned integer", "integral", "real floating", "complex floating", '
    .. '"numeric", or a list of these.',
    'st.isdtype("int8", {"bool", "integral"})', "true")
add("result_type", "st.result_type(Tensor | dtype | number, ...) -> dtype",
    "The dtype of an operation on any number of tensors, dtypes and numbers.",
    'st.result_type("uint8", "int8", 1.5)', "float32")
add("broadcast_shapes", "st.broadcast_shapes(shape, ...) -> Size",
    "The shape that shapes broadcast to.",
    "st.broadcast_shapes({2, 1}, {3})", "{2, 3}")
add("expand_dims", "st.expand_dims(self: Tensor, dim: dim | {dim}) -> Tensor",
    "Inserts dimensions of size 1, whose places in the result a list gives.",
    "t:expand_dims({1, -1}).shape", "{1, 2, 2, 1}")
add("asarray", "st.asarray(value, {dtype: dtype? = nil, device: device? = nil, "
    .. "copy: boolean? = nil, requires_grad: boolean? = nil}) -> Tensor",
    "A tensor itself, converted if need be, or a tensor of a table, a number "
    .. "or what DLPack exports.",
    "st.asarray({1, 2}, {dtype = \"float64\"})",
    "tensor([1., 2.], dtype=float64)")
add("as_tensor", "st.as_tensor(value, {dtype: dtype? = nil, device: device? "
    .. "= nil}) -> Tensor",
    "A tensor itself, converted if need be, or one of a table or a number.",
    "st.as_tensor(t):is_set_to(t)", "true")
add("astype", "st.astype(self: Tensor, dtype: dtype, {copy: boolean = true, "
    .. "device: device? = nil}) -> Tensor",
    "A tensor of another dtype; a copy also where the dtype is the same.",
    't:astype("float32")', "tensor([[1., 2.],\n        [3., 4.]])")
add("cumulative_sum", "st.cumulative_sum(self: Tensor, dim: dim? = nil, "
    .. "{dtype: dtype? = nil, include_initial: boolean = false}) -> Tensor",
    "The running sums along a dimension; include_initial begins with 0.",
    "t:cumulative_sum(1, {include_initial = true})",
    "tensor([[0, 0],\n        [1, 2],\n        [4, 6]])")
add("cumulative_prod", "st.cumulative_prod(self: Tensor, dim: dim? = nil, "
    .. "{dtype: dtype? = nil, include_initial: boolean = false}) -> Tensor",
    "The running products along a dimension; include_initial begins with 1.",
    "t:cumulative_prod(2)", "tensor([[ 1,  2],\n        [ 3, 12]])")
add("__array_namespace_info__", "st.__array_namespace_info__() -> table",
    "What the Array API standard asks: capabilities, default_device, "
    .. "default_dtypes, dtypes, devices, as methods.",
    "st.__array_namespace_info__():default_device()", "cpu")
add("linalg.trace", "st.linalg.trace(self: Tensor, {offset: integer = 0, "
    .. "dtype: dtype? = nil}) -> Tensor",
    "The sums of the diagonals of the matrices of a batch.",
    "st.linalg.trace(t, {offset = 1})", "tensor(2)")
add("autocast", "st.autocast([{dtype: dtype? = nil, enabled: boolean = true, "
    .. "cache_enabled: boolean? = nil},] body: function, ...) -> results",
    "Calls body(...) in mixed precision: products and convolutions run in "
    .. "bfloat16 or float16, losses in float32.",
    "st.autocast(st.mm, t:float(), t:float()).dtype", "bfloat16")
add("is_autocast_enabled", "st.is_autocast_enabled() -> boolean",
    "True within st.autocast.", "st.autocast(st.is_autocast_enabled)", "true")
add("get_autocast_dtype", "st.get_autocast_dtype() -> dtype",
    "The dtype that st.autocast converts products and convolutions to.",
    "st.get_autocast_dtype()", "bfloat16")
add("is_autocast_cache_enabled", "st.is_autocast_cache_enabled() -> boolean",
    "True if st.autocast keeps casts of parameters.",
    "st.is_autocast_cache_enabled()", "true")
add("clear_autocast_cache", "st.clear_autocast_cache()",
    "Forgets the casts of parameters that st.autocast keeps.",
    "st.autocast(st.clear_autocast_cache)", "nil")
add("lobpcg", "st.lobpcg(A: Tensor, k: integer = 1, {B: Tensor? = nil, X: "
    .. "Tensor? = nil, n: integer? = nil, iK: Tensor? = nil, niter: integer = "
    .. "1000, tol: number? = nil, largest: boolean = true, method: string = "
    .. "\"ortho\"}) -> Tensor, Tensor",
    "Some of the largest or smallest eigenvalues of a symmetric matrix, and "
    .. "their vectors.",
    "(st.lobpcg(st.arange(1, 7, {dtype = \"float32\"}):diag(), 2)):round()",
    "tensor([6., 5.])")
add("seed", "st.seed() -> integer",
    "Seeds the default generator from the system; returns the seed.",
    "st.seed() == st.initial_seed()", "true")
add("initial_seed", "st.initial_seed() -> integer",
    "The seed of the default generator.",
    "(st.manual_seed(7) or st).initial_seed()", "7")
add("use_deterministic_algorithms",
    "st.use_deterministic_algorithms(flag: boolean)",
    "Does nothing: the same call has the same result.",
    "st.use_deterministic_algorithms(true)", "nil")
add("are_deterministic_algorithms_enabled",
    "st.are_deterministic_algorithms_enabled() -> boolean",
    "True: the same call has the same result.",
    "st.are_deterministic_algorithms_enabled()", "true")

add("multi_head_attention_forward",
    "st.multi_head_attention_forward(query: Tensor, key: Tensor, value: "
    .. "Tensor, embed_dim: integer, num_heads: integer, in_proj_weight: "
    .. "Tensor?, in_proj_bias: Tensor?, bias_k: Tensor?, bias_v: Tensor?, "
    .. "add_zero_attn: boolean, dropout_p: number, out_proj_weight: Tensor, "
    .. "out_proj_bias: Tensor?, {attn_mask: Tensor? = nil, key_padding_mask: "
    .. "Tensor? = nil, training: boolean = true, need_weights: boolean = true, "
    .. "...}) -> Tensor, Tensor?",
    "Attention of several heads, and its weights.",
    "st.multi_head_attention_forward(t:float(), t:float(), t:float(), 2, 1, "
    .. "st.ones(6, 2), nil, nil, nil, false, 0, st.eye(2)).shape",
    "{2, 2}")
add("triplet_margin_with_distance_loss",
    "st.triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, "
    .. "negative: Tensor, {distance_function: function? = nil, margin: number "
    .. "= 1, swap: boolean = false, reduction: string = \"mean\"}) -> Tensor",
    "triplet_margin_loss by any distance.",
    "st.triplet_margin_with_distance_loss(t:float(), t:float() + 1, t:float())",
    "tensor(2.4142)")

-- -- Functions of st.masked ---------------------------------------------------

-- name, line, result, further options
for _, row in ipairs {
  {"sum", "The sum of the elements that count.", "tensor(4)"},
  {"prod", "The product of the elements that count.", "tensor(3)"},
  {"amax", "The greatest element that counts.", "tensor(3)"},
  {"amin", "The least element that counts.", "tensor(1)"},
  {"mean", "The mean of the elements that count.", "tensor(2.)",
   "dtype = \"float32\""},
  {"var", "The variance of the elements that count.", "tensor(2.)"},
  {"std", "The standard deviation of the elements that count.",
   "tensor(1.)", "correction = 0"},
  {"norm", "The norm of the vector of the elements that count.",
   "tensor(4.)", "ord = 1, dtype = \"float32\""},
  {"median", "The lower median of the elements that count.",
   "tensor([1., 3.])", "dtype = \"float32\""},
  {"logsumexp", "log(sum(exp)) of the elements that count.",
   "tensor([1., 3.])", "dim = 2, dtype = \"float32\""},
  {"argmax", "The position of the greatest element that counts.",
   "tensor(3)"},
  {"argmin", "The position of the least element that counts.",
   "tensor(1)"},
  {"cumsum", "The running sums of the elements that count.",
   "tensor([[1, 1],\n        [3, 3]])", "dim = 2"},
  {"cumprod", "The running products of the elements that count.",
   "tensor([[1, 1],\n        [3, 3]])", "dim = 2"},
  {"softmax", "softmax of the elements that count, 0 elsewhere.",
   "tensor([[1., 0.],\n        [1., 0.]])", "dim = 2, dtype = \"float32\""},
  {"softmin", "softmin of the elements that count, 0 elsewhere.",
   "tensor([[1., 0.],\n        [1., 0.]])", "dim = 2, dtype = \"float32\""},
  {"log_softmax", "log_softmax of the elements that count, -inf "
   .. "elsewhere.", "tensor([[0., -inf],\n        [0., -inf]])",
   "dim = 2, dtype = \"float32\""},
} do
  local name = "masked." .. row[1]
  add(name, ("st.%s(input: Tensor, %s%s, {mask: Tensor? = nil, dtype: dtype? "
             .. "= nil, ...}) -> Tensor"):format(
               name, row[1] == "norm" and "ord: number = 2, " or "",
               "dim: dim? = nil"), row[2],
      ("st.%s(t, {mask = st.tensor {true, false}%s})"):format(
        name, row[4] and ", " .. row[4] or ""), row[3])
end
add("masked.normalize", "st.masked.normalize(input: Tensor, ord: number, dim: "
    .. "dim, {mask: Tensor? = nil, eps: number = 1e-12}) -> Tensor",
    "The input divided by its norm along a dimension; 0 where the mask is "
    .. "false.",
    "st.masked.normalize(t:float(), 1, 2, {mask = st.tensor {true, false}})",
    "tensor([[1., 0.],\n        [1., 0.]])")
add("masked.logaddexp", "st.masked.logaddexp(input: Tensor, other: Tensor, "
    .. "{input_mask: Tensor? = nil, other_mask: Tensor? = nil}) -> Tensor",
    "log(exp(input) + exp(other)), where what does not count adds nothing.",
    "st.masked.logaddexp(t:float(), t:float(), {input_mask = t:lt(0)})",
    "tensor([[1., 2.],\n        [3., 4.]])")

-- -- Methods ------------------------------------------------------------------

add("new_tensor", "t:new_tensor(value, {dtype: dtype? = nil, device: device? "
    .. "= nil, requires_grad: boolean = false}) -> Tensor",
    "A tensor of a table, a number or a tensor, with self's dtype and device.",
    "t:new_tensor {5, 6}", "tensor([5, 6])")
add("cpu", "t:cpu() -> Tensor",
    "The tensor itself on the CPU, or a copy of it there.",
    "t:cpu():is_set_to(t)", "true")
add("type", "t:type(dtype: dtype? = nil) -> dtype, or Tensor",
    "The name of the dtype; with a dtype, the tensor converted to it.",
    "t:type()", "int64")
add("dim_order", "t:dim_order() -> table",
    "The dimensions in the order of their strides, the largest first.",
    "st.Size(t:mT():dim_order())", "{2, 1}")
add("__array_namespace__", "t:__array_namespace__() -> table",
    "The module, whose functions are those of the Array API standard.",
    "t:__array_namespace__() == st", "true")
add("apply_", "t:apply_(fn: function) -> Tensor",
    "Sets each element to fn(element), by Lua.",
    "t:clone():apply_(function(a) return 10 * a end)",
    "tensor([[10, 20],\n        [30, 40]])")
add("map_", "t:map_(other: Tensor, fn: function) -> Tensor",
    "Sets each element to fn(element, that of other), by Lua.",
    "t:clone():map_(t, function(a, b) return a * b end)",
    "tensor([[ 1,  4],\n        [ 9, 16]])")
add("map2_", "t:map2_(x: Tensor, y: Tensor, fn: function) -> Tensor",
    "Sets each element to fn(element, that of x, that of y), by Lua.",
    "t:clone():map2_(t, t, function(a, b, c) return a + b + c end)",
    "tensor([[ 3,  6],\n        [ 9, 12]])")

for _, row in ipairs(require "strided.help.functions_in_c") do
  add(row[1], row[2], row[3], row[4], row[5])
end

return functions
