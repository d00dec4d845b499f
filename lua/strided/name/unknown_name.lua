--- Names that a user looks for and that are not there: synonyms from PyTorch,
-- NumPy and torch7 give what they stand for; any other name raises an error
-- that says what to write, or lists the most similar names.
--
-- A name that begins with an underscore is nil instead, and so is every name in
-- st.ops: a script can test there whether an operator exists.
--
-- @module strided.name.unknown_name

local core = require "strided.core"
local raise = require "strided.argument.caller_error"

local byte, concat, find, ipairs, min, next, sort, type = string.byte,
  table.concat, string.find, ipairs, math.min, next, table.sort, type

local require = require "strided.core".require

local names = {}

-- -- Synonyms -----------------------------------------------------------------

-- Pairs "synonym=name", with the same arguments in the same order.
local function read(text)
  local map = {}
  for synonym, name in text:gmatch "(%S+)=(%S+)" do map[synonym] = name end
  return map
end

--- Operators, as functions and as methods.
names.synonyms = read [[
  absolute=abs arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan
  arctan2=atan2 arctanh=atanh clip=clamp clip_=clamp_ conjugate=conj divide=div
  divide_=div_ equals=eq fabs=abs fix=trunc greater=gt greater_equal=ge less=lt
  less_equal=le multiply=mul multiply_=mul_ negative=neg negative_=neg_
  not_equal=ne power=pow subtract=sub subtract_=sub_ around=round rint=round
  mod=remainder invert=bitwise_not bitwise_invert=bitwise_not
  left_shift=bitwise_left_shift right_shift=bitwise_right_shift
  degrees=rad2deg radians=deg2rad expit=sigmoid logistic=sigmoid signum=sign
  gammaln=lgamma psi=digamma ger=outer product=prod average=mean sometrue=any
  alltrue=all permute_dims=permute array_equal=equal
  in1d=isin broadcast_arrays=broadcast_tensors matrix_transpose=mT
  take_along_axis=take_along_dim unstack=unbind vecdot=linalg_vecdot
  absolute_=abs_ arccos_=acos_ arccosh_=acosh_ arcsin_=asin_ arcsinh_=asinh_
  arctan_=atan_ arctanh_=atanh_ arctan2_=atan2_ fix_=trunc_ greater_=gt_
  greater_equal_=ge_ less_=lt_ less_equal_=le_ not_equal_=ne_
  T=numpy_T H=matrix_H to_device=to ndimension=dim

  expandAs=expand_as indexSelect=index_select isContiguous=is_contiguous
  isSameSizeAs=is_same_size maskedSelect=masked_select nDimension=dim
  nElement=numel nelement=numel repeatTensor=repeat storageOffset=storage_offset
  typeAs=type_as viewAs=view_as tolist=totable
]]

--- Functions of the module.
names.functions = read [[
  array=tensor identity=eye permutation=randperm
  cross_entropy=cross_entropy_loss
  isTensor=is_tensor manualSeed=manual_seed getNumThreads=get_num_threads
  setNumThreads=set_num_threads getnumthreads=get_num_threads
  setnumthreads=set_num_threads getRNGState=get_rng_state
  setRNGState=set_rng_state
]]

--- Methods that convert to a dtype: x:long().
names.casts = read [[
  bool=bool byte=uint8 char=int8 short=int16 int=int32 long=int64 half=float16
  bfloat16=bfloat16 float=float32 double=float64 chalf=complex32
  cfloat=complex64 cdouble=complex128
]]

--- Options, as pandas, NumPy and tqdm call them.
names.options = read [[
  sep=delimiter separator=delimiter nrows=max_rows skiprows=skip_rows
  skip_header=skip_rows usecols=columns na_values=missing
  missing_values=missing filling_values=fill fill_value=fill quotechar=quote
  comments=comment desc=label
]]

-- -- Advice -------------------------------------------------------------------

local IN_PLACE = "torch7 changes the tensor; write t:%s_(...), or %s(...) for "
  .. "a new one"

local WITH_FIELDS = "write %s in the method forward of a module, with fields "
  .. "weight = nn.Parameter(t)"

local NO_INSERT = "write st.cat {t[\"1:2\"], other, t[\"3:\"]}"

local NO_COUNTER = "write for row, i in t:iter() do"

local PAIR = "write local values, indices = t:max(dim)"

local IMAGES = "the rock strided-image reads and writes pictures: with it "
  .. "write st.load(\"a.png\"), st.save(\"a.png\", t)"

local NO_LOOP = "write operators on whole tensors; st.fuse makes one loop of "
  .. "them, and for row in t:iter() do visits rows"

--- What to write for names that stand for something else.
names.advice = {
  type = "t.dtype is the name of the dtype, t:to(dtype) converts, "
    .. "st.is_tensor(value) tests for a tensor",
  dtype = "a dtype is its name, as in t.dtype == \"float32\"; "
    .. "st.dtype_info(name) gives its size and limits",
  device = "a device is its name, as in t:to(\"cpu\")",
  is_cuda = "write t.device == \"cuda\"",
  shape = "write t.shape; st.Size {2, 3} makes a shape from a list",
  size = "write t.shape, or t:numel() for the number of elements",
  ndim = "write t.ndim",
  isSize = "write t.shape == st.Size {2, 3}",
  flat = "write t:flatten(), or t:view(-1) for a view",
  isTypeOf = "write t.dtype == \"float32\"",
  typename = "write t.dtype, or st.is_tensor(value)",
  totable = "write t:totable()",
  apply = NO_LOOP, map = NO_LOOP, map2 = NO_LOOP, vectorize = NO_LOOP,
  fromfunction = NO_LOOP,
  set = "t:copy_(source) copies elements, t:view(...) shares them",
  functional = "the functions are operators: st.relu(x), st.softmax(x, 2); "
    .. "st.help \"functional\" lists them",
  View = "write nn.Unflatten, nn.Flatten or x:view(...)",
  Reshape = "write nn.Unflatten, nn.Flatten or x:reshape(...)",
  utils = "batches are t:split(n); nn.utils has clip_grad_norm_ and others",
  StochasticGradient = "write a loop: optimizer:zero_grad(), then loss:"
    .. "backward() of loss = criterion(module(x), y), then optimizer:step()",
  adam = "write optim.Adam(parameters, {lr = number}) and its step()",
  sgd = "write optim.SGD(parameters, {lr = number}) and its step()",
  ClassNLLCriterion = "write nn.NLLLoss", MSECriterion = "write nn.MSELoss",
  CrossEntropyCriterion = "write nn.CrossEntropyLoss",
  BCECriterion = "write nn.BCELoss",
  swap = "write a, b = b, a",
  tic = "write os.clock()", toc = "write os.clock()",
  Timer = "write os.clock()",
  serialize = "write st.save(path, t)", deserialize = "write st.load(path)",
  initialSeed = "write generator:initial_seed() of an st.Generator",
  isStorage = "a tensor has its elements: st.is_tensor(value)",
  resize = "torch7 changes the tensor; write t:resize_(2, 3), or "
    .. "t:reshape(3, 2) for another shape of the same elements",
  inv = "write t:inverse()", gesv = "write st.linalg_solve(A, B)",
  gels = "write st.linalg_lstsq(A, B)", eig = "write st.linalg_eig(t)",
  lstsq = "write st.linalg_lstsq(A, B)", lu = "write st.linalg_lu(t), or "
    .. "st.linalg_lu_factor(t)",
  potrf = "write t:cholesky()", symeig = "write st.linalg_eigh(t)",
  qr = "write st.linalg_qr(t)",
  numpy = "t:totable() gives a table, t:to_dlpack() shares the memory",
  copy = "t:clone() copies a tensor, t:copy_(source) writes to t",
  cuda = "there is no such device; st.ops and libraries may bring others",
  random = "st.rand, st.randn and st.randint make tensors, t:random_() fills "
    .. "t, st.manual_seed(n) seeds",
  uniform = "st.rand(...) makes a tensor, t:uniform_(from, to) fills t",
  shuffle = "write t[st.randperm(#t)]",
  rollaxis = "write t:movedim(source, destination)",
  ptp = "write t:max() - t:min()",
  from_numpy = "write st.frombuffer(...), st.from_dlpack(...) or st.load(path)",
  memmap = "write st.load(path, {mmap = true}), or st.create(path, shape) for "
    .. "a new file",
  open_memmap = "write st.load(path, {mmap = true}), or st.create(path, shape) "
    .. "for a new file",
  hist = "write st.plot(x, {kind = \"hist\"})",
  imshow = "write st.plot(t, {kind = \"image\"})",
  heatmap = "write st.plot(t, {kind = \"heatmap\"})",
  figure = "write st.plot()", plt = "write st.plot(x, y)",
  tqdm = "write st.progress(loader)",
  savetxt = "write st.write_csv(path, t)",
  savez = "st.save(\"file.npz\", {name = t}) writes several tensors",
  genfromtxt = "write st.read_csv(path)",
  loadtxt = "write st.read_csv(path, {delimiter = \"whitespace\", as = "
    .. "\"tensor\"})",
  Tensor = "write st.empty(2, 3) for sizes, st.tensor {1, 2} for elements",
  resizeAs = "write t:resize_as_(other)",
  setdefaulttensortype = "write st.set_default_dtype(dtype)",
  getdefaulttensortype = "write st.get_default_dtype()",
  setDefaultTensorType = "write st.set_default_dtype(dtype)",
  fill = IN_PLACE:format("fill", "st.full_like"),
  zero = IN_PLACE:format("zero", "st.zeros_like"),
  ["st.autograd.functional"] = "write st.autograd.jacobian(fn, inputs), "
    .. "hessian, vjp, jvp or hvp",
  __version__ = "write st.config().version",
  version = "write st.config().version",
  get_device = "write t.device", print = "write print(t)",
  class = "write nn.Module:extend \"Name\"",
  ["a bar.update"] = "write bar:step(n)",
  ["a bar.close"] = "write bar:finish()",
  ["a bar.write"] = "write bar:print(text)",
  ["a bar.set_description"] = "write st.progress(n, {label = function() "
    .. "return text end})",
  set_default_device = "write t:to(device), or {device = name} for new tensors",
  enumerate = NO_COUNTER, zip = NO_COUNTER, len = "write #t, the first size",
  values = PAIR, indices = PAIR,
  imread = IMAGES, imsave = IMAGES, imwrite = IMAGES,
  tobytes = "write t:tostring_bytes()",
  append = "write st.cat {t, other}",
  insert = NO_INSERT, delete = NO_INSERT,
  conv2 = "write st.conv2d(x, weight)", xcorr2 = "write st.conv2d(x, weight)",
  cmax = "write t:maximum(other)",
  cmin = "write t:minimum(other)",
}
for _, kind in next, {"Float", "Double", "Half", "Long", "Int", "Short",
                      "Char", "Byte", "Bool"} do
  names.advice[kind .. "Storage"] = "write st.empty(n, {dtype = \""
    .. names.casts[kind:lower()] .. "\"})"
  names.advice[kind .. "Tensor"] = "write st.empty(2, 3, {dtype = \""
    .. names.casts[kind:lower()] .. "\"}), or st.tensor for elements"
end
for field, call in next, read [[
  Q=qr R=qr U=svd S=svd Vh=svd V=svd L=eigh eigenvalues=eigh eigenvectors=eigh
  solution=lstsq residuals=lstsq LU=lu_factor pivots=lu_factor P=lu
  logabsdet=slogdet
]] do
  names.advice["a tensor." .. field] = "several results are several values: "
    .. "write local a, b = st.linalg." .. call .. "(...)"
end
for layer, call in next, read [[
  SoftMax=nn.Softmax(2) LogSoftMax=nn.LogSoftmax(2) SoftPlus=nn.Softplus()
  SpatialMaxPooling=nn.MaxPool2d(n) SpatialAveragePooling=nn.AvgPool2d(n)
  SpatialConvolution=nn.Conv2d(inputs,outputs,n)
  BatchNormalization=nn.BatchNorm1d(n)
  SpatialBatchNormalization=nn.BatchNorm2d(n) LookupTable=nn.Embedding(n,size)
]] do
  names.advice[layer] = "write " .. call:gsub(",", ", ")
end
for layer, call in next, read [[
  RNN=st.rnn_tanh(x,h,weights,...) LSTM=st.lstm(x,{h,c},weights,...)
  GRU=st.gru(x,h,weights,...) RNNCell=st.rnn_tanh_cell(x,h,w_ih,w_hh)
  LSTMCell=st.lstm_cell(x,{h,c},w_ih,w_hh) GRUCell=st.gru_cell(x,h,w_ih,w_hh)
  MultiheadAttention=st.multi_head_attention_forward(x,x,x,...)
]] do
  names.advice[layer] = WITH_FIELDS:format(call:gsub(",", ", "))
end
names.advice.Transformer = "write a module of st.multi_head_attention_forward "
  .. "and nn.Linear layers: nn.Module:extend \"Name\""
for torch7, name in next, read [[
  cmul=mul cdiv=div csub=sub cpow=pow cinv=reciprocal indexFill=index_fill
  indexCopy=index_copy indexAdd=index_add maskedFill=masked_fill
  maskedCopy=masked_scatter
]] do
  names.advice[torch7] = IN_PLACE:format(name, "t:" .. name)
end

-- -- What is absent ----------------------------------------------------------

-- Patterns of names of what the library does not have, each from the beginning
-- of a name: the page `?absent`.
local ABSENT = {
  {{"^sparse$", "^_?sparse_", "^to_sparse", "^is_sparse"},
   "there are no sparse tensors: x:index_add(1, i, v), scatter_add and "
   .. "st.bincount sum by index"},
  {"^_?coalesce", "there are no sparse tensors"},
  {"^to_dense$", "there are no sparse tensors: every tensor is dense"},
  {"^vmap$", "there is no vmap: operators take batches in leading dimensions "
   .. "and broadcast, as st.bmm and st.linalg do"},
  {"^func$", "st.grad and st.autograd have gradients: jacobian, hessian, vjp, "
   .. "jvp; there is no vmap"},
  {{"^quantized?$", "^quantized?_", "^dequantize$", "^_?fake_quantize_",
    "^is_quantized$"}, "there are no quantized tensors: write (x / scale)"
   .. ":round():clamp(-128, 127):to \"int8\""},
  {"^q_%a+$", "there are no quantized tensors"},
  {"^compile$", "write st.fuse(fn), which runs fn with few loops"},
  {"^jit$", "write st.fuse(fn), which runs fn with few loops"},
  {"^script$", "write st.fuse(fn), which runs fn with few loops"},
  {{"^splines?$", "^spline_", "_splines?$", "^%u[%a%d]*Spline$", "^Spline$"},
   "there are no splines: st.interp(x, xp, fp) interpolates "
   .. "linearly, st.polyfit(x, y, degree) fits a polynomial"},
  {"^interp1d$", "write st.interp(x, xp, fp)"},
  {{"^ode$", "^odeint", "^ode_", "^solve_ivp$"},
   "there are no solvers of differential equations: a step is a few operators, "
   .. "of which st.fuse makes one loop"},
  {{"^nested$", "^nested_", "^_nested_", "^as_nested_", "^is_nested$"},
   "there are no nested tensors: st.nn.utils.rnn.pad_sequence pads "
   .. "tensors of several lengths"},
  {"^onnx$", "there is no ONNX: st.save writes .pt, .safetensors and .npz"},
  {"^export$", "there is no export of programs: st.save writes tensors as .pt, "
   .. ".safetensors and .npz"},
  {"^distributed$", "the rock strided-mpi has several processes"},
  {"^hub$", "there are no trained models: st.load reads .pt and .safetensors"},
  {"^models$", "there are no trained models: st.load reads .pt and "
   .. ".safetensors"},
  {{"^parquet$", "^read_parquet$", "^to_parquet$"},
   "there is no Parquet: st.read_csv reads CSV, st.load .npz"},
  {{"^h5py$", "^hdf5$", "^h5$", "^read_hdf$"},
   "there is no HDF5: st.read_csv reads CSV, st.load .npz"},
  {"^read_excel$", "there are no spreadsheets: st.read_csv reads CSV"},
  {"^DataFrame$", "st.read_csv gives a table of columns"},
  {"^groupby$", "write local u, i = st.unique_inverse(keys), then index_add"},
  {"^refine_names$", "dimensions are numbers, from 1"},
  {"^align_to$", "dimensions are numbers, from 1"},
  {"^profiler$", "write st.profile(fn)"},
}

--- What to say of a name of what the library does not have; nil for others.
-- @tparam string name
-- @treturn ?string
function names.absent(name)
  for _, row in ipairs(ABSENT) do
    local patterns = type(row[1]) == "table" and row[1] or {row[1]}
    for _, pattern in ipairs(patterns) do
      if find(name, pattern) then return row[2] end
    end
  end
end

-- -- Similar names ------------------------------------------------------------

-- The optimal string alignment distance: the number of insertions, deletions,
-- substitutions and exchanges of neighbours that turn a into b.
local function distance(a, b)
  local before, row = {}, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local older
    older, before, row = before, row, {[0] = i}
    for j = 1, #b do
      local x, y = byte(a, i), byte(b, j)
      local d = min(before[j] + 1, row[j - 1] + 1,
                    before[j - 1] + (x == y and 0 or 1))
      if i > 1 and j > 1 and x == byte(b, j - 1) and y == byte(a, i - 1) then
        d = min(d, older[j - 2] + 1)
      end
      row[j] = d
    end
  end
  return row[#b]
end

local MAX_SHOWN = 3

--- The names in a set that are most similar to a name.
-- @tparam string name
-- @tparam table set names as keys
-- @treturn table at most three, the most similar first
function names.similar(name, set)
  local found, low = {}, name:lower()
  local limit = #name <= 4 and 1 or #name <= 7 and 2 or 3
  for other in next, set do
    if type(other) == "string" and byte(other) ~= 95 and
       min(#other - #name, #name - #other) >= -limit then
      local d = distance(low, other:lower())
      -- Two letters of six are no mistyping if the first one is among them.
      local is_near = d <= limit and
                      (d < 2 or byte(other:lower()) == byte(low))
      if is_near then found[#found + 1] = {other, d} end
    end
  end
  sort(found, function(a, b)
    if a[2] ~= b[2] then return a[2] < b[2] end
    return a[1] < b[1]
  end)
  for i = 1, #found do found[i] = i <= MAX_SHOWN and found[i][1] or nil end
  return found
end

--- Raises the error for a name that is not there; returns nil for one that
-- begins with an underscore.
-- @tparam string owner what was indexed: "st", "a tensor", "st.nn"
-- @tparam string name
-- @tparam table set the names that are there, as keys
-- @tparam[opt] string all what to say if no name is similar
function names.missing(owner, name, set, all)
  if type(name) ~= "string" then return nil end
  local text = names.advice[owner .. "." .. name] or names.advice[name] or
               names.absent(name)
  if not text then
    if byte(name) == 95 then return nil end
    local similar = names.similar(name, set)
    text = #similar > 0 and "did you mean " .. concat(similar, ", ") .. "?"
           or all or "st.help() lists pages and topics, st.help \"absent\" "
           .. "what is not there"
  end
  raise("%s has no '%.40s': %s", owner, name, text)
end

--- A function that raises the advice for a method of torch7.
function names.refuse(name)
  raise("%s: %s", name, names.advice[name])
end

-- -- Lookup -------------------------------------------------------------------

--- The value of a synonym, for st.<name>; raises for other names.
-- @tparam table st
-- @tparam string name
-- @tparam table fields those of st; not st itself in a sandbox
-- @tparam table lazy names of modules that are loaded on first use, as keys
function names.find(st, name, fields, lazy)
  local target = names.synonyms[name] or names.functions[name]
  if target then return st[target] end
  local dtype = names.casts[name]
  if dtype then return dtype end
  if not (names.advice[name] or names.absent(name)) then
    if core.properties[name] then
      raise("st has no '%s': write t.%s", name, name)
    elseif core.methods[name] then
      raise("st has no '%s', a method: write t:%s()", name, name)
    end
  end
  local set = {}
  for _, full in ipairs((core.operators())) do
    set[full:match "^aten::(.*)$" or ""] = true
  end
  for _, keys in ipairs {fields, lazy} do
    for key in next, keys do set[key] = true end
  end
  return names.missing("st", name, set)
end

--- The method that a synonym stands for; raises for other names.
-- @param t a tensor
-- @tparam string name
function names.find_method(t, name)
  local target = names.synonyms[name]
  if target then return t[target] end
  local method = require "strided.tensor.tensor_methods"[name]
  if method then return method end
  local dtype = names.casts[name]
  if dtype then
    return function(self)
      if not core.is_tensor(self) then
        raise("%s: write t:%s() with a colon", name, name)
      end
      return self:to(dtype)
    end
  end
  local set = require("strided.name.method_names").names()
  for key in next, core.properties do set[key] = true end
  return names.missing("a tensor", name, set)
end

return names
