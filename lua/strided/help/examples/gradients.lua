--- Examples of st.help: the gradients that are operators, and the copies of
-- views. The rows are explained in strided.help.examples.
--
-- @module strided.help.examples.gradients

return [==[
-- Gradients
constant_pad_nd_backward:
  st.constant_pad_nd_backward(st.tensor {1, 2, 3, 4, 5}, {1, 2})
  --> tensor([2, 3])
diagonal_backward: st.diagonal_backward(st.tensor {5, 6}, {2, 2}, 0, 1, 2)
  --> tensor([[5, 0],
              [0, 6]])
elu_backward:
  st.elu_backward(st.ones(2), 1, 1, 1, true, st.tensor {-0.25, 2})
  --> tensor([0.7500, 1.0000])
gelu_backward: st.gelu_backward(st.ones(2), st.tensor {0, 9.5})
  --> tensor([0.5000, 1.0000])
hardshrink_backward:
  st.hardshrink_backward(st.ones(3), st.tensor {-1.5, 0.25, 2}, 0.5)
  --> tensor([1., 0., 1.])
hardsigmoid_backward:
  st.hardsigmoid_backward(6 * st.ones(2), st.tensor {0.5, 4})
  --> tensor([1., 0.])
hardswish_backward:
  st.hardswish_backward(st.ones(4), st.tensor {-4.5, 0, 1.5, 5})
  --> tensor([0.0000, 0.5000, 1.0000, 1.0000])
hardtanh_backward:
  st.hardtanh_backward(st.ones(3), st.tensor {-2.5, 0.5, 2}, -1, 1)
  --> tensor([0., 1., 0.])
im2col_backward:
  st.im2col_backward(st.ones(1, 4, 4), {3, 3}, 2, 1, 0, 1)[{1, 1}]
  --> tensor([[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]])
index_select_backward:
  st.index_select_backward(st.tensor {5, 6, 7}, {3}, 1, st.tensor {1, 3, 3})
  --> tensor([ 5,  0, 13])
leaky_relu_backward:
  st.leaky_relu_backward(st.ones(2), st.tensor {-1.5, 2}, 0.25, false)
  --> tensor([0.2500, 1.0000])
log_sigmoid_backward: st.log_sigmoid_backward(st.ones(2), st.tensor {-99.5, 0})
  --> tensor([1.0000, 0.5000])
logit_backward: st.logit_backward(st.ones(2), st.tensor {0.5, 0.2})
  --> tensor([4.0000, 6.2500])
masked_select_backward: st.masked_select_backward(st.tensor {7, 8}, t, t:gt(2))
  --> tensor([[0, 0],
              [7, 8]])
matrix_exp_backward: st.matrix_exp_backward(st.zeros(2, 2), t:float())
  --> tensor([[1., 2.],
              [3., 4.]])
mish_backward: st.mish_backward(st.ones(1), st.zeros(1))
  --> tensor([0.6000])
native_layer_norm_backward:
  st.native_layer_norm_backward(st.ones(1, 2), st.tensor {{-1, 1}}:float(), {2},
    st.zeros(1, 1), st.ones(1, 1), st.ones(2), st.zeros(2))
  --> tensor([[0., 0.]])
      tensor([-1.,  1.])
      tensor([1., 1.])
rrelu_with_noise_backward:
  st.rrelu_with_noise_backward(st.ones(2), st.tensor {-1.5, 2}, st.ones(2), 0,
    0.5, false, false)
  --> tensor([0.2500, 1.0000])
select_backward: st.select_backward(st.tensor {5, 6}, {2, 2}, 1, 2)
  --> tensor([[0, 0],
              [5, 6]])
sigmoid_backward: st.sigmoid_backward(st.ones(2), st.tensor {0.5, 0.1})
  --> tensor([0.2500, 0.0900])
silu_backward: st.silu_backward(st.ones(2), st.tensor {0, 99.5})
  --> tensor([0.5000, 1.0000])
slice_backward: st.slice_backward(st.tensor {5, 6}, {5}, 1, 2, 4, 2)
  --> tensor([0, 5, 0, 6, 0])
softplus_backward: st.softplus_backward(st.ones(2), st.tensor {0, 30.5}, 1, 20)
  --> tensor([0.5000, 1.0000])
softshrink_backward:
  st.softshrink_backward(st.ones(3), st.tensor {-1.5, 0.25, 2}, 0.5)
  --> tensor([1., 0., 1.])
tanh_backward: st.tanh_backward(st.ones(2), st.tensor {0.5, 0})
  --> tensor([0.7500, 1.0000])
threshold_backward:
  st.threshold_backward(st.tensor {5, 6, 7}, st.tensor {-1, 0, 2}, 0)
  --> tensor([0, 0, 7])
unfold_backward: st.unfold_backward(st.ones(2, 2), {3}, 1, 2, 1)
  --> tensor([1., 2., 1.])
value_selecting_reduction_backward:
  st.value_selecting_reduction_backward(st.tensor {5, 6}, 2, st.tensor {2, 1},
    {2, 2}, false)
  --> tensor([[0, 5],
              [6, 0]])
-- Copies
alias_copy: t:alias_copy():is_alias_of(t)
  --> false
as_strided_copy: st.as_strided_copy(t, {2}, {3})
  --> tensor([1, 4])
detach_copy: st.ones({2}, {requires_grad = true}):detach_copy().requires_grad
  --> false
diagonal_copy: st.diagonal_copy(t)
  --> tensor([1, 4])
expand_copy: st.expand_copy(st.tensor {1, 2}, {2, 2})
  --> tensor([[1, 2],
              [1, 2]])
permute_copy: st.permute_copy(t, {2, 1})
  --> tensor([[1, 3],
              [2, 4]])
select_copy: st.select_copy(t, 1, 2)
  --> tensor([3, 4])
slice_copy: st.slice_copy(st.arange(6), 1, 2, 6, 2)
  --> tensor([1, 3, 5])
split_copy: st.split_copy(st.arange(5), 2)[2]
  --> tensor([2, 3])
split_with_sizes_copy: st.split_with_sizes_copy(st.arange(5), {1, 4})[2]
  --> tensor([1, 2, 3, 4])
squeeze_copy: st.squeeze_copy(st.ones(1, 2, 1))
  --> tensor([1., 1.])
t_copy: st.t_copy(t)
  --> tensor([[1, 3],
              [2, 4]])
transpose_copy: st.transpose_copy(t, 1, 2)
  --> tensor([[1, 3],
              [2, 4]])
unbind_copy: st.unbind_copy(t)[1]
  --> tensor([1, 2])
unfold_copy: st.unfold_copy(st.arange(4), 1, 2, 2)
  --> tensor([[0, 1],
              [2, 3]])
unsqueeze_copy: st.unsqueeze_copy(st.tensor {5, 6}, 2)
  --> tensor([[5],
              [6]])
view_as_complex_copy: st.view_as_complex_copy(t:float())
  --> tensor([1.+2.j, 3.+4.j])
view_as_real_copy:
  st.view_as_real_copy(st.complex(st.ones(1), st.zeros(1)))
  --> tensor([[1., 0.]])
view_copy: st.view_copy(t, {4})
  --> tensor([1, 2, 3, 4])
]==]
