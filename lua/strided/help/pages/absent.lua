--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.absent

return [=[
absent: what is not there, and what to write

  sparse tensors      x:index_add(1, i, v), scatter_add and st.bincount sum by
                      index; st.segment_reduce by length; masks select
  nested tensors      st.nn.utils.rnn.pad_sequence makes one of many lengths
  vmap, torch.func    operators take batches in leading dimensions and
                      broadcast: st.bmm, st.linalg.*; st.grad, and
                      st.autograd.jacobian, hessian, vjp and jvp
  quantized tensors   (x / s):round():clamp(-128, 127):to "int8"
  torch.compile, jit  st.fuse(fn), lib:elementwise(schema, fn)
  splines             st.interp(x, xp, fp) is linear; st.polyfit
  differential        a step of Runge and Kutta is a few operators, and
  equations           st.fuse makes one loop of them
  group by, tables    local u, i = st.unique_inverse(x), then index_add;
                      st.read_csv gives a tensor or a list for each column
  a GPU               there are cpu and meta: rocks and libraries may bring
                      devices (?devices)
  torch.distributed   the rock strided-mpi
  torchvision         the rock strided-image reads and writes pictures; there
                      are no trained models: st.load reads .pt and .safetensors
  export, ONNX        st.save writes .pt, .safetensors and .npz
  HDF5, Parquet       .npy, .npz, CSV and raw files: st.load, st.read_csv
  names of dims       dimensions are numbers, from 1

  > x, i = st.tensor {1, 2, 3}, st.tensor {2, 1, 2}
  > st.zeros(2, {dtype = "int64"}):index_add(1, i, x)
  tensor([2, 4])

Names that are written otherwise raise an error that says how. ?coming-from has
PyTorch, NumPy and torch7 side by side, ?functional the functions of F.]=]
