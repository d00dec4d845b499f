--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.devices

return [=[
devices: where tensors are

The engine computes on the device "cpu". A tensor on "meta" has a shape, a
dtype and strides, but no elements: operators on it compute shapes only.

  > t = st.ones(2, 3)
  > t.device
  cpu
  > m = st.empty({1000, 1000000}, {device = "meta"})
  > m:t():matmul(m).shape
  {1000000, 1000000}

The option device is of all functions that make tensors; t:to(device) copies.

  > st.zeros({2}, {device = "meta"}).device
  meta
  > t:to("meta").shape
  {2, 3}

Operators take tensors of one device; a number in a tensor without dimensions,
and tensors that index, may be on the CPU. There is no GPU device; a library may
bring devices of its own, "name", "name:1" and so on: st.devices() lists them.
On such a device every operator works, and so do gradients: what the library has
no kernel for, the CPU computes. Work may go on when a call returns; its errors
come up where elements are read, as by item(), and in st.synchronize(device).

  > t + st.ones({2, 3}, {device = "meta"})
  input:1: add: input 1 is on device 'cpu', other tensors are on 'meta'

See also ?config for the instruction set in use, ?set_num_threads, and
?library. How a library brings a device: CONTRIBUTING.md, "A device".]=]
