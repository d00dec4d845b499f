--- Examples of st.help: rarely used operators of networks and images. The rows
-- are explained in strided.help.examples.
--
-- @module strided.help.examples.networks

return [==[
-- Pooling
adaptive_max_pool3d:
  st.adaptive_max_pool3d(st.tensor {{{{1, 3, 5, 7}}}}:float(), {1, 1, 2})
  --> tensor([[[[3., 7.]]]])
      tensor([[[[2, 4]]]])
fractional_max_pool2d:
  st.fractional_max_pool2d(st.arange(16):float():view(1, 4, 4), 2, 2)
  --> tensor([[[ 5.,  7.],
               [13., 15.]]])
fractional_max_pool2d_with_indices:
  select(2, st.fractional_max_pool2d_with_indices(
    st.arange(16):float():view(1, 4, 4), 2, 2))
  --> tensor([[[ 6,  8],
               [14, 16]]])
fractional_max_pool3d:
  st.fractional_max_pool3d(st.arange(64):float():view(1, 4, 4, 4), 2, 1)
  --> tensor([[[[63.]]]])
fractional_max_pool3d_with_indices:
  select(2, st.fractional_max_pool3d_with_indices(
    st.arange(64):float():view(1, 4, 4, 4), 2, 1))
  --> tensor([[[[64]]]])
lp_pool3d: st.lp_pool3d(st.ones(1, 2, 2, 2), 1, 2)
  --> tensor([[[[8.]]]])
max_pool1d_with_indices:
  st.max_pool1d_with_indices(st.tensor {{{1, 9, 3, 4}}}:float(), 2)
  --> tensor([[[9., 4.]]])
      tensor([[[2, 4]]])
max_pool2d_with_indices:
  st.max_pool2d_with_indices(st.tensor {{{1, 9}, {3, 4}}}:float(), 2)
  --> tensor([[[9.]]])
      tensor([[[2]]])
max_pool3d_with_indices:
  st.max_pool3d_with_indices(st.tensor {{{{1, 9}, {3, 4}}}}:float(), {1, 2, 2})
  --> tensor([[[[9.]]]])
      tensor([[[[2]]]])
max_unpool2d:
  st.max_unpool2d(st.tensor {{{9}}}:float(), st.tensor {{{2}}}, {2, 2})
  --> tensor([[[0., 9.],
               [0., 0.]]])
max_unpool3d:
  st.max_unpool3d(st.tensor {{{{9}}}}:float(), st.tensor {{{{2}}}}, {1, 2, 2},
    {1, 2, 2}, {0, 0, 0})
  --> tensor([[[[0., 9.],
                [0., 0.]]]])
-- Images
affine_grid_generator:
  st.affine_grid_generator(st.tensor {{{1, 0, 0}, {0, 1, 0}}}:float(),
    {1, 1, 1, 2}, false)
  --> tensor([[[[-0.5000,  0.0000],
                [ 0.5000,  0.0000]]]])
grid_sample: st.grid_sample(t:float():view(1, 1, 2, 2), st.zeros(1, 1, 1, 2))
  --> tensor([[[[2.5000]]]])
grid_sampler:
  st.grid_sampler(t:float():view(1, 1, 2, 2), st.ones(1, 1, 1, 2), 1, 0, true)
  --> tensor([[[[4.]]]])
grid_sampler_2d:
  st.grid_sampler_2d(t:float():view(1, 1, 2, 2), -st.ones(1, 1, 1, 2), 0, 0,
    true)
  --> tensor([[[[1.]]]])
grid_sampler_3d:
  st.grid_sampler_3d(st.arange(8):float():view(1, 1, 2, 2, 2),
    st.zeros(1, 1, 1, 1, 3)):view(1)
  --> tensor([3.5000])
upsample: st.upsample(st.tensor {{{1, 2}}}:float(), {4})
  --> tensor([[[1., 1., 2., 2.]]])
upsample_bicubic2d:
  st.upsample_bicubic2d(st.tensor {{{{1, 2}}}}:float(), {1, 3}, true)
  --> tensor([[[[1.0000, 1.5000, 2.0000]]]])
upsample_bilinear:
  st.upsample_bilinear(st.tensor {{{{1, 3}}}}:float(), {1, 3})
  --> tensor([[[[1., 2., 3.]]]])
upsample_bilinear2d:
  st.upsample_bilinear2d(st.tensor {{{{1, 3}}}}:float(), {1, 4})
  --> tensor([[[[1.0000, 1.5000, 2.5000, 3.0000]]]])
upsample_linear1d:
  st.upsample_linear1d(st.tensor {{{1, 3}}}:float(), {3}, true)
  --> tensor([[[1., 2., 3.]]])
upsample_nearest: st.upsample_nearest(t:float():view(1, 1, 2, 2), {2, 4})
  --> tensor([[[[1., 1., 2., 2.],
                [3., 3., 4., 4.]]]])
upsample_nearest2d: st.upsample_nearest2d(t:float():view(1, 1, 2, 2), {2, 3})
  --> tensor([[[[1., 1., 2.],
                [3., 3., 4.]]]])
upsample_nearest3d:
  st.upsample_nearest3d(t:float():view(1, 1, 1, 2, 2), {2, 2, 2}):view(-1)
  --> tensor([1., 2., 3., 4., 1., 2., 3., 4.])
upsample_trilinear3d:
  st.upsample_trilinear3d(st.arange(8):float():view(1, 1, 2, 2, 2), {1, 1, 1})
  --> tensor([[[[[3.5000]]]]])
-- Borders
reflection_pad2d:
  st.reflection_pad2d(t:float():view(1, 2, 2), {1, 0, 0, 1})[1]
  --> tensor([[2., 1., 2.],
              [4., 3., 4.],
              [2., 1., 2.]])
reflection_pad3d:
  st.reflection_pad3d(st.tensor {{{{1, 2, 3}}}}:float(), {2, 0, 0, 0, 0, 0})
  --> tensor([[[[3., 2., 1., 2., 3.]]]])
replication_pad2d:
  st.replication_pad2d(t:float():view(1, 2, 2), {1, 0, 0, 1})[1]
  --> tensor([[1., 1., 2.],
              [3., 3., 4.],
              [3., 3., 4.]])
replication_pad3d:
  st.replication_pad3d(st.tensor {{{{1, 2}}}}:float(), {2, 1, 0, 0, 0, 0})
  --> tensor([[[[1., 1., 1., 2., 2.]]]])
-- Dropout
alpha_dropout: st.alpha_dropout(st.zeros(99), 0.5, true):unique():numel()
  --> 2
dropout1d: (st.dropout1d(st.ones(99, 2)):unique_dim(1))
  --> tensor([[0., 0.],
              [2., 2.]])
dropout2d: (st.dropout2d(st.ones(99, 2, 1, 1)):flatten():unique())
  --> tensor([0., 2.])
dropout3d: (st.dropout3d(st.ones(99, 2, 1, 1, 1)):flatten():unique())
  --> tensor([0., 2.])
feature_alpha_dropout:
  (st.feature_alpha_dropout(st.zeros(1, 99, 2), 0.5, true):unique_dim(2)).shape
  --> {1, 2, 2}
feature_dropout: (st.feature_dropout(st.ones(1, 99, 2)):unique_dim(2))
  --> tensor([[[0., 0.],
               [2., 2.]]])
native_dropout: (st.native_dropout(st.ones(99), 0.75, true)):max()
  --> tensor(4.)
-- Convolutions and embeddings
col2im: st.col2im(st.ones(1, 2, 3), {1, 4}, {1, 2}, 1, 0, 1):view(-1)
  --> tensor([1., 2., 2., 1.])
conv_tbc:
  st.conv_tbc(st.ones(3, 1, 1), st.ones(2, 1, 1), st.zeros(1)):flatten()
  --> tensor([2., 2.])
convolution:
  st.convolution(st.tensor {{{1, 2, 3}}}:float(), st.ones(1, 1, 2), nil,
    {1}, {0}, {1}, false, {0}, 1)
  --> tensor([[[3., 5.]]])
embedding_renorm:
  st.embedding_renorm(st.tensor {{3, 4}, {6, 8}}:float(), st.tensor {1}, 1, 2)
  --> tensor([[0.6000, 0.8000],
              [6.0000, 8.0000]])
-- Losses
ctc_loss: st.ctc_loss(st.full({2, 1, 2}, 0.5):log(), st.tensor {{2}}, {2}, {1})
  --> tensor(0.2877)
linear_cross_entropy:
  st.linear_cross_entropy(st.ones(1, 3), st.zeros(2, 3), st.tensor {1})
  --> tensor(0.6931)
multilabel_margin_loss:
  st.multilabel_margin_loss(st.tensor {0.5, 0.25}, st.tensor {1, 0})
  --> tensor(0.3750)
-- Normalization
instance_norm: st.instance_norm(t:float():view(1, 2, 2))
  --> tensor([[[-1.0000,  1.0000],
               [-1.0000,  1.0000]]])
native_batch_norm:
  st.native_batch_norm(t:float(), nil, nil, nil, nil, true, 0, 0)
  --> tensor([[-1., -1.],
              [ 1.,  1.]])
      tensor([2., 3.])
      tensor([1., 1.])
native_group_norm:
  st.native_group_norm(t:float():view(1, 2, 2), nil, nil, 1, 2, 2, 1, 0)
  --> tensor([[[-1.3416, -0.4472],
               [ 0.4472,  1.3416]]])
      tensor([[2.5000]])
      tensor([[0.8944]])
native_layer_norm: st.native_layer_norm(t:float(), {2}, nil, nil, 0)
  --> tensor([[-1.,  1.],
              [-1.,  1.]])
      tensor([[1.5000],
              [3.5000]])
      tensor([[2.],
              [2.]])
-- Recurrent networks
gru:
  (st.gru(st.zeros(2, 1, 1), st.ones(1, 1, 1), {st.zeros(3, 1), st.zeros(3, 1)},
    false, 1, 0, false, false, false)):view(-1)
  --> tensor([0.5000, 0.2500])
lstm:
  select(3, st.lstm(st.zeros(2, 1, 1), {st.zeros(1, 1, 1), st.ones(1, 1, 1)},
    {st.zeros(4, 1), st.zeros(4, 1)}, false, 1, 0, false, false, false))
  --> tensor([[[0.2500]]])
lstm_cell:
  select(2, st.lstm_cell(st.zeros(1, 1), {st.zeros(1, 1), st.ones(1, 1)},
    st.zeros(4, 1), st.zeros(4, 1)))
  --> tensor([[0.5000]])
rnn_relu:
  (st.rnn_relu(st.ones(3, 1, 1), st.zeros(1, 1, 1),
    {st.ones(1, 1), st.ones(1, 1)}, false, 1, 0, false, false, false)):view(-1)
  --> tensor([1., 2., 3.])
rnn_relu_cell:
  st.rnn_relu_cell(st.tensor {{-3, 4}}:float(), st.ones(1, 2), st.eye(2),
    st.eye(2))
  --> tensor([[0., 5.]])
rnn_tanh:
  (st.rnn_tanh(st.zeros(2, 1, 1), st.ones(1, 1, 1),
    {st.ones(1, 1), st.ones(1, 1)}, false, 1, 0, false, false, false)):view(-1)
  --> tensor([0.7616, 0.6420])
rnn_tanh_cell:
  st.rnn_tanh_cell(st.tensor {{0, 1}}:float(), st.zeros(1, 2), st.eye(2),
    st.eye(2))
  --> tensor([[0.0000, 0.7616]])
]==]
