--- Examples of st.help: linear algebra, Fourier transforms, special functions,
-- random numbers, layers and losses. The rows are explained in
-- strided.help.examples.
--
-- @module strided.help.examples.fields

return [==[
-- Linear algebra
linalg_solve:
  st.linalg.solve(st.tensor {{2, 0}, {0, 0.5}}, st.tensor {2, 0.5})
  --> tensor([1., 1.])
linalg_inv:  st.linalg.inv(st.tensor {{2, 0}, {0, 0.5}})
  --> tensor([[0.5000, 0.0000],
              [0.0000, 2.0000]])
linalg_pinv:  st.linalg.pinv(st.ones {2, 1})
  --> tensor([[0.5000, 0.5000]])
linalg_det:  st.linalg.det(st.tensor {{2, 0}, {1, 0.5}})
  --> tensor(1.)
linalg_slogdet:  st.linalg.slogdet(st.tensor {{-1, 0}, {0, 1.5}})
  --> tensor(-1.)
      tensor(0.4055)
linalg_cholesky:  st.linalg.cholesky(st.tensor {{4, 0}, {0, 2.25}})
  --> tensor([[2.0000, 0.0000],
              [0.0000, 1.5000]])
linalg_qr:  select(2, st.linalg.qr(t / 1)):abs():triu()
  --> tensor([[3.1623, 4.4272],
              [0.0000, 0.6325]])
linalg_lu:  st.linalg.lu(st.tensor {{0, 1}, {2, 0.5}})
  --> tensor([[0., 1.],
              [1., 0.]])
      tensor([[1., 0.],
              [0., 1.]])
      tensor([[2.0000, 0.5000],
              [0.0000, 1.0000]])
linalg_svd:  select(2, st.linalg.svd(st.tensor {{3, 0}, {0, 1.5}}))
  --> tensor([3.0000, 1.5000])
      tensor([[1., 0.],
              [0., 1.]])
linalg_svdvals:  st.linalg.svdvals(st.tensor {{3, 0}, {0, 1.5}})
  --> tensor([3.0000, 1.5000])
linalg_eigh:  (st.linalg.eigh(st.tensor {{2, 0}, {0, 0.5}}))
  --> tensor([0.5000, 2.0000])
linalg_eigvalsh:  st.linalg.eigvalsh(st.ones {2, 2} + st.eye(2))
  --> tensor([1., 3.])
linalg_eigvals:  st.linalg.eigvals(st.tensor {{2, 1}, {0, 0.5}}):real()
  --> tensor([2.0000, 0.5000])
linalg_lstsq:  (st.linalg.lstsq(st.eye(2), st.ones {2, 1}))
  --> tensor([[1.],
              [1.]])
linalg_norm:  st.linalg.norm(st.tensor {1.5, 2})
  --> tensor(2.5000)
linalg_vector_norm:  st.linalg.vector_norm(st.tensor {1.5, -2}, 1)
  --> tensor(3.5000)
linalg_matrix_norm:  st.linalg.matrix_norm(st.tensor {{1.5, 2}, {0, 0}})
  --> tensor(2.5000)
linalg_matrix_rank:  st.linalg.matrix_rank(st.ones {2, 2})
  --> tensor(1)
linalg_matrix_power:  st.linalg.matrix_power(st.ones {2, 2}, 3)
  --> tensor([[4., 4.],
              [4., 4.]])
linalg_matrix_exp:  st.linalg.matrix_exp(st.zeros {2, 2})
  --> tensor([[1., 0.],
              [0., 1.]])
linalg_multi_dot:  st.linalg.multi_dot {t / 1, st.eye(2), t / 1}
  --> tensor([[ 7., 10.],
              [15., 22.]])
linalg_solve_triangular:
  st.linalg.solve_triangular(t / 1, st.eye(2), {upper = true})
  --> tensor([[ 1.0000, -0.5000],
              [ 0.0000,  0.2500]])
linalg_cond:  st.linalg.cond(st.tensor {{3, 0}, {0, 1.5}})
  --> tensor(2.)
linalg_cross:  st.linalg.cross(st.tensor {1, 0, 0}, st.tensor {0, 1, 0})
  --> tensor([0, 0, 1])
-- Fourier transforms
fft_fft:  st.fft.fft(st.tensor {0, 1, 0, 0}):abs()
  --> tensor([1., 1., 1., 1.])
fft_ifft:  st.fft.ifft(st.tensor {4, 0, 0, 0}):real()
  --> tensor([1., 1., 1., 1.])
fft_rfft:  st.fft.rfft(st.tensor {1, 2, 3, 4}):abs()
  --> tensor([10.0000,  2.8284,  2.0000])
fft_irfft:  st.fft.irfft(st.tensor {4, 0, 0})
  --> tensor([1., 1., 1., 1.])
fft_fft2:  st.fft.fft2(st.ones {2, 2}):abs()
  --> tensor([[4., 0.],
              [0., 0.]])
fft_ifft2:  st.fft.ifft2(st.ones {2, 2}):abs()
  --> tensor([[1., 0.],
              [0., 0.]])
fft_fftn:  st.fft.fftn(st.ones {2, 2, 2}).shape
  --> {2, 2, 2}
fft_rfft2:  st.fft.rfft2(st.ones {4, 4}).shape
  --> {4, 3}
fft_fftfreq:  st.fft.fftfreq(4)
  --> tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
fft_rfftfreq:  st.fft.rfftfreq(4)
  --> tensor([0.0000, 0.2500, 0.5000])
fft_fftshift:  st.fft.fftshift(st.arange(4))
  --> tensor([2, 3, 0, 1])
fft_ifftshift:  st.fft.ifftshift(st.arange(4))
  --> tensor([2, 3, 0, 1])
stft:  st.stft(st.ones {16}, 4, {return_complex = true}).shape
  --> {3, 17}
-- Special functions
erf:  st.erf(st.tensor {0, 0.5})
  --> tensor([0.0000, 0.5205])
erfc:  st.erfc(st.tensor {0, 0.5})
  --> tensor([1.0000, 0.4795])
erfinv:  st.erfinv(st.tensor {0, 0.5})
  --> tensor([0.0000, 0.4769])
lgamma:  st.lgamma(st.tensor {1, 5})
  --> tensor([0.0000, 3.1781])
digamma:  st.digamma(st.tensor {1, 2})
  --> tensor([-0.5772,  0.4228])
polygamma:  st.polygamma(1, st.tensor {1, 2})
  --> tensor([1.6449, 0.6449])
igamma:  st.igamma(st.tensor {1.5}, st.tensor {0.5})
  --> tensor([0.1987])
sinc:  st.sinc(st.tensor {0, 0.5})
  --> tensor([1.0000, 0.6366])
logit:  st.logit(st.tensor {0.5, 0.75})
  --> tensor([0.0000, 1.0986])
sigmoid:  st.sigmoid(st.tensor {0, 1})
  --> tensor([0.5000, 0.7311])
xlogy:  st.xlogy(st.tensor {0, 2}, st.tensor {0, 3})
  --> tensor([0.0000, 2.1972])
special_zeta:  st.special.zeta(st.tensor {2.5}, st.tensor {1})
  --> tensor([1.3415])
special_bessel_j0:  st.special.bessel_j0(st.tensor {0, 1})
  --> tensor([1.0000, 0.7652])
special_i0e:  st.special.i0e(st.tensor {0, 1})
  --> tensor([1.0000, 0.4658])
special_i1:  st.special.i1(st.tensor {0, 1})
  --> tensor([0.0000, 0.5652])
special_ndtri:  st.special.ndtri(st.tensor {0.5, 0.975})
  --> tensor([0.0000, 1.9600])
special_log_ndtr:  st.special.log_ndtr(st.tensor {0, 1})
  --> tensor([-0.6931, -0.1728])
special_entr:  st.special.entr(st.tensor {0.5, 0})
  --> tensor([0.3466, 0.0000])
special_erfcx:  st.special.erfcx(st.tensor {0, 1})
  --> tensor([1.0000, 0.4276])
-- Random numbers
rand:  st.rand({2}, {generator = st.Generator(0)})
  --> tensor([0.4963, 0.7682])
randn:  st.randn({2}, {generator = st.Generator(0)})
  --> tensor([ 1.5410, -0.2934])
randint:  st.randint(1, 7, {3}, {generator = st.Generator(0)})
  --> tensor([3, 4, 6])
randperm:  st.randperm(4, {generator = st.Generator(0)})
  --> tensor([1, 2, 4, 3])
bernoulli:  st.bernoulli(st.tensor {0.5, 0.5}, {generator = st.Generator(0)})
  --> tensor([1., 0.])
multinomial:  st.multinomial(st.tensor {0, 0.5}, 1)
  --> tensor([2])
normal:  st.normal(0, 1, {2}, {generator = st.Generator(0)})
  --> tensor([ 1.5410, -0.2934])
poisson:  st.poisson(st.tensor {2.5, 0}, {generator = st.Generator(0)})
  --> tensor([6., 0.])
uniform_:  st.empty({2}):uniform_(0, 1, {generator = st.Generator(0)})
  --> tensor([0.4963, 0.7682])
normal_:  st.empty({2}):normal_(0, 1, {generator = st.Generator(0)})
  --> tensor([ 1.5410, -0.2934])
exponential_:  st.empty({2}):exponential_(1, {generator = st.Generator(0)})
  --> tensor([3.5083, 1.2304])
-- Layers and losses
relu:  st.relu(st.tensor {-1.5, 1.5})
  --> tensor([0.0000, 1.5000])
gelu:  st.gelu(st.tensor {0, 1.5})
  --> tensor([0.0000, 1.3998])
silu:  st.silu(st.tensor {0, 1.5})
  --> tensor([0.0000, 1.2264])
elu:  st.elu(st.tensor {-1.5, 1.5})
  --> tensor([-0.7769,  1.5000])
leaky_relu:  st.leaky_relu(st.tensor {-1.5, 1.5})
  --> tensor([-0.0150,  1.5000])
softplus:  st.softplus(st.tensor {0, 1.5})
  --> tensor([0.6931, 1.7014])
hardtanh:  st.hardtanh(st.tensor {-1.5, 0.5})
  --> tensor([-1.0000,  0.5000])
softmax:  st.softmax(st.tensor {0.5, 0.5}, 1)
  --> tensor([0.5000, 0.5000])
log_softmax:  st.log_softmax(st.tensor {0.5, 0.5}, 1)
  --> tensor([-0.6931, -0.6931])
log_sigmoid:  st.log_sigmoid(st.tensor {0.5})
  --> tensor([-0.4741])
linear:  st.linear(st.ones {1, 2}, st.ones {3, 2})
  --> tensor([[2., 2., 2.]])
conv1d:  st.conv1d(st.ones {1, 1, 4}, st.ones {1, 1, 3})
  --> tensor([[[3., 3.]]])
conv2d:  st.conv2d(st.ones {1, 1, 3, 3}, st.ones {1, 1, 2, 2})
  --> tensor([[[[4., 4.],
                [4., 4.]]]])
conv_transpose1d:  st.conv_transpose1d(st.ones {1, 1, 2}, st.ones {1, 1, 2})
  --> tensor([[[1., 2., 1.]]])
max_pool1d:  st.max_pool1d(st.arange(4, {dtype = "float32"}):view(1, 4), 2)
  --> tensor([[1., 3.]])
max_pool2d:  st.max_pool2d(st.ones {1, 4, 4}, 2).shape
  --> {1, 2, 2}
avg_pool1d:  st.avg_pool1d(st.arange(4, {dtype = "float32"}):view(1, 4), 2)
  --> tensor([[0.5000, 2.5000]])
avg_pool2d:  st.avg_pool2d(st.ones {1, 4, 4}, 2).shape
  --> {1, 2, 2}
adaptive_avg_pool2d:  st.adaptive_avg_pool2d(st.ones {1, 4, 4}, 1)
  --> tensor([[[1.]]])
batch_norm:
  st.batch_norm(st.tensor {{1.5}, {2.5}}, nil, nil, nil, nil, true, 0.1, 0)
  --> tensor([[-1.],
              [ 1.]])
layer_norm:  st.layer_norm(st.tensor {1.5, 2.5}, {2}, nil, nil, 0)
  --> tensor([-1.,  1.])
group_norm:  st.group_norm(st.ones {1, 2, 3}, 2).shape
  --> {1, 2, 3}
dropout:  st.dropout(st.ones {3}, 0.5, false)
  --> tensor([1., 1., 1.])
embedding:  st.embedding(st.tensor {{0.5}, {1.5}}, st.tensor {2, 1})
  --> tensor([[1.5000],
              [0.5000]])
pad:  st.pad(st.tensor {1, 2}, {1, 1})
  --> tensor([0, 1, 2, 0])
mse_loss:  st.mse_loss(st.tensor {1.5, 2}, st.tensor {1, 2.5})
  --> tensor(0.2500)
l1_loss:  st.l1_loss(st.tensor {1.5, 2}, st.tensor {1, 2.5})
  --> tensor(0.5000)
smooth_l1_loss:  st.smooth_l1_loss(st.tensor {1.5}, st.tensor {0.5})
  --> tensor(0.5000)
binary_cross_entropy:
  st.binary_cross_entropy(st.tensor {0.5}, st.tensor {0.25})
  --> tensor(0.6931)
cross_entropy_loss:  st.cross_entropy_loss(st.zeros {1, 2}, st.tensor {1})
  --> tensor(0.6931)
nll_loss:  st.nll_loss(st.tensor {{-0.5, -1.5}}, st.tensor {2})
  --> tensor(1.5000)
kl_div:  st.kl_div(st.tensor {-0.5}, st.tensor {0.5})
  --> tensor(-0.0966)
cosine_similarity:
  st.cosine_similarity(st.tensor {1.5, 0}, st.tensor {0, 1.5}, 1)
  --> tensor(0.)
scaled_dot_product_attention:
  st.scaled_dot_product_attention(t / 1, t / 1, t / 1).shape
  --> {2, 2}
pixel_shuffle:  st.pixel_shuffle(st.ones {4, 1, 1}, 2).shape
  --> {1, 2, 2}
upsample_nearest1d:  st.upsample_nearest1d(st.ones {1, 1, 2}, {4})
  --> tensor([[[1., 1., 1., 1.]]])
]==]
