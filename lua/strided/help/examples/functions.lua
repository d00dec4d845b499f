--- Examples of st.help: functions and classes in Lua. The rows are explained in
-- strided.help.examples.
--
-- @module strided.help.examples.functions

return [==[
-- Tensors
tensor: st.tensor {{1, 2.5}, {3, 4}}
  --> tensor([[1.0000, 2.5000],
              [3.0000, 4.0000]])
is_tensor: st.is_tensor(t)
  --> true
dtype_info: st.dtype_info("int8").max
  --> 127
get_default_dtype: st.get_default_dtype()
  --> float32
devices: st.devices()[1]
  --> cpu
device_properties: st.device_properties("cpu").name
  --> cpu
synchronize: select("#", st.synchronize("cpu"))
  --> 0
get_num_threads: st.get_num_threads() >= 1
  --> true
config: type(st.config().version)
  --> string
Generator: st.Generator(7):initial_seed()
  --> 7
scope: st.scope(function() return (t * t):sum() end)
  --> tensor(30)
memory: st.memory().tensors.count > 0
  --> true
chunks: (st.chunks(t, 1)())
  --> tensor([[1, 2]])
frombuffer: st.frombuffer("\1\2\3", {dtype = "uint8"})
  --> tensor([1, 2, 3], dtype=uint8)
get_printoptions: st.get_printoptions().precision
  --> 4

-- Gradients
no_grad: st.no_grad(function() return st.is_grad_enabled() end)
  --> false
grad:
  (function(x) return st.grad((x * x):sum(), x) end)(t:float():requires_grad_())
  --> tensor([[2., 4.],
              [6., 8.]])
is_grad_enabled: st.is_grad_enabled()
  --> true
gradcheck: st.gradcheck(st.sin, {t:double():requires_grad_()})
  --> true
fuse: st.fuse(function(x) return x * 2 + 1 end)(t)
  --> tensor([[3, 5],
              [7, 9]])

-- Networks
nn.Linear: st.nn.Linear(2, 3)(t:float()).shape
  --> {2, 3}
nn.Conv2d: st.nn.Conv2d(3, 8, 3, {padding = 1})(st.ones(1, 3, 5, 5)).shape
  --> {1, 8, 5, 5}
nn.ReLU: st.nn.ReLU()(st.tensor {-1, 1})
  --> tensor([0, 1])
nn.Sequential: st.nn.Sequential(st.nn.Flatten(), st.nn.ReLU())(t)
  --> tensor([[1, 2],
              [3, 4]])
nn.Flatten: st.nn.Flatten()(st.ones(2, 3, 4)).shape
  --> {2, 12}
nn.Embedding: st.nn.Embedding(10, 4)(t).shape
  --> {2, 2, 4}
nn.MSELoss: st.nn.MSELoss()(t:float(), st.zeros(2, 2))
  --> tensor(7.5000)
nn.Dropout: st.nn.Dropout(0.5):eval()(t:float())
  --> tensor([[1., 2.],
              [3., 4.]])
nn.LayerNorm: st.nn.LayerNorm(2)(t:float()).shape
  --> {2, 2}
nn.LSTM: (st.nn.LSTM(2, 5)(st.ones(7, 1, 2))).shape
  --> {7, 1, 5}
optim.SGD: type(st.optim.SGD({st.ones(2):requires_grad_()}, {lr = 0.1}).step)
  --> function
data.TensorDataset: st.data.TensorDataset(t):size()
  --> 2
data.DataLoader: st.data.DataLoader(t, {batch_size = 2}):size()
  --> 1
]==]
