--- Examples of st.help: operators that are rarely used. The rows are explained
-- in strided.help.examples.
--
-- @module strided.help.examples.rare

return [==[
adaptive_avg_pool1d:
  st.adaptive_avg_pool1d(st.tensor {{{1, 3, 5, 7}}}:float(), 2)
  --> tensor([[[2., 6.]]])
adaptive_avg_pool3d: st.adaptive_avg_pool3d(st.ones(1, 4, 4, 4), 2).shape
  --> {1, 2, 2, 2}
adaptive_max_pool1d:
  st.adaptive_max_pool1d(st.tensor {{{1, 3, 5, 7}}}:float(), 2)
  --> tensor([[[3., 7.]]])
      tensor([[[2, 4]]])
adaptive_max_pool2d: st.adaptive_max_pool2d(st.ones(1, 4, 4), 2).shape
  --> {1, 2, 2}
addbmm: st.addbmm(st.zeros(1, 1), st.ones(3, 1, 2), st.ones(3, 2, 1))
  --> tensor([[6.]])
affine_grid:
  st.affine_grid(st.tensor {{{1, 0, 0}, {0, 1, 0}}}:float(), {1, 1, 2, 2}).shape
  --> {1, 2, 2, 2}
alias: t:alias():is_alias_of(t)
  --> true
as_strided_scatter: st.as_strided_scatter(t, st.tensor {7, 8}, {2}, {3})
  --> tensor([[7, 2],
              [3, 8]])
avg_pool3d: st.avg_pool3d(st.ones {1, 4, 4, 4}, 2).shape
  --> {1, 2, 2, 2}
bartlett_window: st.bartlett_window(4)
  --> tensor([0.0000, 0.5000, 1.0000, 0.5000])
bilinear: st.bilinear(st.ones(1, 2), st.ones(1, 3), st.ones(4, 2, 3))
  --> tensor([[6., 6., 6., 6.]])
binary_cross_entropy_with_logits:
  st.binary_cross_entropy_with_logits(st.zeros(2), st.tensor {0, 1}:float())
  --> tensor(0.6931)
celu: st.celu(st.tensor {-1.5, 1.5})
  --> tensor([-0.7769,  1.5000])
channel_shuffle: st.channel_shuffle(st.arange(4):view(1, 4, 1, 1), 2):view(-1)
  --> tensor([0, 2, 1, 3])
cholesky_solve:
  st.cholesky_solve(st.ones(2, 1), st.tensor {{2, 0}, {0, 4}}:float())
  --> tensor([[0.2500],
              [0.0625]])
conj_physical: st.conj_physical(st.complex(st.tensor {1.5}, st.tensor {2.5}))
  --> tensor([1.5000-2.5000j])
constant_pad_nd: st.constant_pad_nd(st.tensor {5, 6}, {1, 2}, 9)
  --> tensor([9, 5, 6, 9, 9])
conv3d: st.conv3d(st.ones(1, 1, 3, 3, 3), st.ones(1, 1, 3, 3, 3)):view(1)
  --> tensor([27.])
conv_transpose2d:
  st.conv_transpose2d(st.ones(1, 1, 2, 2), st.ones(1, 1, 2, 2))[{1, 1}]
  --> tensor([[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]])
conv_transpose3d:
  st.conv_transpose3d(st.ones(1, 1, 2, 2, 2), st.ones(1, 1, 2, 2, 2)).shape
  --> {1, 1, 3, 3, 3}
convolve: st.convolve(st.tensor {1, 2, 3}, st.tensor {1, 1})
  --> tensor([1, 3, 5, 3])
correlate: st.correlate(st.tensor {1, 2, 3}, st.tensor {0, 1}, "valid")
  --> tensor([2, 3])
cosine_embedding_loss:
  st.cosine_embedding_loss(t:float(), t:float(), st.tensor {1, 1})
  --> tensor(0.)
embedding_bag: (st.embedding_bag(t:float(), st.tensor {1, 2}, st.tensor {1}))
  --> tensor([[2., 3.]])
empty_permuted: st.empty_permuted({2, 3}, {2, 1}):stride()[2]
  --> 2
empty_strided: st.empty_strided({2, 3}, {1, 2}).shape
  --> {2, 3}
fft_hfft: st.fft.hfft(st.tensor {1, 2}:float())
  --> tensor([ 3., -1.])
fft_irfftn: st.fft.irfftn(st.fft.rfftn(t:float()))
  --> tensor([[1., 2.],
              [3., 4.]])
fft_rfftn: st.fft.rfftn(t:float())
  --> tensor([[10.+0.j, -2.+0.j],
              [-4.+0.j,  0.+0.j]])
fold: st.fold(st.ones(1, 4, 1), {2, 2}, 2).shape
  --> {1, 1, 2, 2}
gaussian_nll_loss: st.gaussian_nll_loss(st.zeros(2), st.zeros(2), st.ones(2))
  --> tensor(0.)
geqrf: (st.geqrf(st.eye(2)))
  --> tensor([[1., 0.],
              [0., 1.]])
gradient: st.gradient(st.tensor {1, 4, 9, 16}:float())[1]
  --> tensor([3., 4., 6., 7.])
gru_cell:
  st.gru_cell(st.ones(1, 2), st.zeros(1, 3), st.ones(9, 2), st.ones(9, 3)).shape
  --> {1, 3}
hamming_window: st.hamming_window(4)
  --> tensor([0.0800, 0.5400, 1.0000, 0.5400])
hinge_embedding_loss:
  st.hinge_embedding_loss(st.tensor {0.5, 0.5}, st.tensor {1, -1})
  --> tensor(0.5000)
i0: st.i0(st.tensor {0, 1})
  --> tensor([1.0000, 1.2661])
igammac: st.igammac(st.tensor {1.5}, st.tensor {0})
  --> tensor([1.])
im2col: st.im2col(st.arange(4):float():view(1, 1, 2, 2), 2, 1, 0, 1):view(-1)
  --> tensor([0., 1., 2., 3.])
index_reduce:
  st.index_reduce(st.ones(2), 1, st.tensor {1, 1}, st.tensor {2.5, 4}, "prod")
  --> tensor([10.,  1.])
interpolate: st.interpolate(st.tensor {{{1, 2}}}:float(), {scale_factor = 2})
  --> tensor([[[1., 1., 2., 2.]]])
is_conj: st.complex(st.ones(1), st.ones(1)):conj():is_conj()
  --> true
is_neg: t:is_neg()
  --> false
is_set_to: t:is_set_to(t:view(2, 2))
  --> true
kaiser_window: st.kaiser_window(3)
  --> tensor([5.2773e-05, 5.1884e-01, 5.1884e-01])
lexsort: st.lexsort(st.tensor {{1, 2, 1}, {3, 3, 2}})
  --> tensor([3, 1, 2])
linalg_cholesky_ex:
  (st.linalg.cholesky_ex(st.tensor {{4, 0}, {0, 9}}:float()))
  --> tensor([[2., 0.],
              [0., 3.]])
linalg_diagonal: st.linalg.diagonal(t)
  --> tensor([1, 4])
linalg_eig: (st.linalg.eig(st.tensor {{2, 0}, {0, 3}}:float()))
  --> tensor([2.+0.j, 3.+0.j])
linalg_inv_ex: (st.linalg.inv_ex(st.tensor {{2, 0}, {0, 4}}:float()))
  --> tensor([[0.5000, 0.0000],
              [0.0000, 0.2500]])
linalg_lu_factor: (st.linalg.lu_factor(st.tensor {{2, 1}, {1, 4}}:float()))
  --> tensor([[2.0000, 1.0000],
              [0.5000, 3.5000]])
linalg_matrix_sqrth:
  st.linalg.matrix_sqrth(st.tensor {{4, 0}, {0, 9}}:float())
  --> tensor([[2., 0.],
              [0., 3.]])
linalg_polar: (st.linalg.polar(st.tensor {{2, 0}, {0, 3}}:float()))
  --> tensor([[1., 0.],
              [0., 1.]])
linalg_solve_ex:
  (st.linalg.solve_ex(st.tensor {{2, 0}, {0, 4}}:float(), st.ones(2)))
  --> tensor([0.5000, 0.2500])
linalg_tensorinv: st.linalg.tensorinv(st.eye(4):view(2, 2, 4), 2).shape
  --> {4, 2, 2}
linalg_tensorsolve: st.linalg.tensorsolve(st.eye(4):view(2, 2, 4), t:float())
  --> tensor([1., 2., 3., 4.])
linalg_vander: st.linalg.vander(st.tensor {2, 3})
  --> tensor([[1, 2],
              [1, 3]])
linalg_vecdot: st.linalg.vecdot(t:float(), t:float())
  --> tensor([ 5., 25.])
local_response_norm: st.local_response_norm(st.ones(1, 2, 1), 2).shape
  --> {1, 2, 1}
logaddexp2: st.logaddexp2(st.tensor {3}:float(), st.tensor {3}:float())
  --> tensor([4.])
logcumsumexp: st.logcumsumexp(st.zeros(2), 1)
  --> tensor([0.0000, 0.6931])
logdet: st.logdet(st.eye(3))
  --> tensor(0.)
lp_pool1d: st.lp_pool1d(st.tensor {{{3, 4}}}:float(), 2, 2)
  --> tensor([[[5.]]])
lp_pool2d: st.lp_pool2d(st.ones(1, 1, 2, 2), 1, 2)
  --> tensor([[[[4.]]]])
mH: t:mH()
  --> tensor([[1, 3],
              [2, 4]])
margin_ranking_loss:
  st.margin_ranking_loss(st.tensor {1.5}, st.tensor {2}, st.tensor {1})
  --> tensor(0.5000)
matrix_H: t:matrix_H()
  --> tensor([[1, 3],
              [2, 4]])
max_pool3d: st.max_pool3d(st.ones(1, 4, 4, 4), 2).shape
  --> {1, 2, 2, 2}
max_unpool1d:
  st.max_unpool1d(st.tensor {{{5, 6}}}:float(), st.tensor {{{2, 3}}}, 2)
  --> tensor([[[0., 5., 6., 0.]]])
mish: st.mish(st.tensor {0, 1}:float())
  --> tensor([0.0000, 0.8651])
multi_margin_loss: st.multi_margin_loss(st.tensor {{0.5, 1.5}}, st.tensor {2})
  --> tensor(0.)
multilabel_soft_margin_loss:
  st.multilabel_soft_margin_loss(st.zeros(1, 2), st.ones(1, 2))
  --> tensor(0.6931)
nanmedian: st.nanmedian(st.tensor {1, st.nan, 3, 2})
  --> tensor(2.)
nanpercentile: st.nanpercentile(st.tensor {1, st.nan, 3}, 50)
  --> tensor(2.)
nanquantile: st.nanquantile(st.tensor {1, st.nan, 3}, 0.5)
  --> tensor(2.)
nanstd: st.nanstd(st.tensor {1, st.nan, 3})
  --> tensor(1.4142)
nanvar: st.nanvar(st.tensor {1, st.nan, 3})
  --> tensor(2.)
narrow_copy: st.narrow_copy(t, 1, 2, 1)
  --> tensor([[3, 4]])
new_empty: t:new_empty({3}).dtype
  --> int64
new_full: t:new_full({2}, 7)
  --> tensor([7, 7])
new_ones: t:new_ones({2})
  --> tensor([1, 1])
new_zeros: t:new_zeros({2})
  --> tensor([0, 0])
nonzero_static: st.nonzero_static(st.tensor {0, 5, 6}, {size = 2})
  --> tensor([[2],
              [3]])
normalize: st.normalize(st.tensor {{3, 4}}:float())
  --> tensor([[0.6000, 0.8000]])
numpy_T: t:numpy_T()
  --> tensor([[1, 3],
              [2, 4]])
pairwise_distance:
  st.pairwise_distance(st.zeros(1, 2), st.tensor {{3, 4}}:float())
  --> tensor([5.0000])
pdist: st.pdist(st.tensor {{0, 0}, {3, 4}}:float())
  --> tensor([5.])
percentile: st.percentile(st.tensor {1, 2, 3.5}, 50)
  --> tensor(2.)
pixel_unshuffle: st.pixel_unshuffle(st.ones(1, 1, 2, 2), 2).shape
  --> {1, 4, 1, 1}
poisson_nll_loss: st.poisson_nll_loss(st.zeros(2), st.ones(2))
  --> tensor(1.)
polyadd: st.polyadd(st.tensor {1, 2}, st.tensor {3})
  --> tensor([1, 5])
polyder: st.polyder(st.tensor {3, 2, 1})
  --> tensor([6, 2])
polyint: st.polyint(st.tensor {2, 2})
  --> tensor([1., 2., 0.])
polymul: st.polymul(st.tensor {1, 1}, st.tensor {1, -1})
  --> tensor([ 1,  0, -1])
polysub: st.polysub(st.tensor {1, 2}, st.tensor {3})
  --> tensor([ 1, -1])
positive: st.positive(t)
  --> tensor([[1, 2],
              [3, 4]])
prelu: st.prelu(st.tensor {-2, 3}:float(), st.tensor {0.5})
  --> tensor([-1.,  3.])
promote_types: st.promote_types("int8", "uint8")
  --> int16
put: st.put(t, st.tensor {1, 4}, st.tensor {7, 8})
  --> tensor([[7, 2],
              [3, 8]])
rad2deg: st.rad2deg(st.tensor {math.pi})
  --> tensor([180.])
rand_like: st.rand_like(st.ones(2)).shape
  --> {2}
randint_like: st.randint_like(t, 10).dtype
  --> int64
randn_like: st.randn_like(st.ones(2)).shape
  --> {2}
range: st.range(1, 3)
  --> tensor([1, 2, 3])
ravel: t:ravel()
  --> tensor([1, 2, 3, 4])
ravel_multi_index:
  st.ravel_multi_index({st.tensor {1, 2}, st.tensor {1, 2}}, {2, 2})
  --> tensor([1, 4])
reciprocal: st.reciprocal(t)
  --> tensor([[1.0000, 0.5000],
              [0.3333, 0.2500]])
reflection_pad1d: st.reflection_pad1d(st.tensor {{1, 2, 3}}:float(), {2, 0})
  --> tensor([[3., 2., 1., 2., 3.]])
relu6: st.relu6(st.tensor {-1, 5, 9})
  --> tensor([0, 5, 6])
renorm: st.renorm(st.tensor {{3, 4}, {0, 1}}:float(), 2, 1, 1)
  --> tensor([[0.6000, 0.8000],
              [0.0000, 1.0000]])
repeat: st["repeat"](t, {1, 2})
  --> tensor([[1, 2, 1, 2],
              [3, 4, 3, 4]])
replication_pad1d: st.replication_pad1d(st.tensor {{1, 2}}:float(), {2, 1})
  --> tensor([[1., 1., 1., 2., 2.]])
reshape_as: st.arange(4):reshape_as(t)
  --> tensor([[0, 1],
              [2, 3]])
resize_: st.arange(4):resize_({2})
  --> tensor([0, 1])
resolve_conj: t:resolve_conj()
  --> tensor([[1, 2],
              [3, 4]])
resolve_neg: t:resolve_neg()
  --> tensor([[1, 2],
              [3, 4]])
rms_norm: st.rms_norm(st.tensor {{3, 4}}:float(), {2}, nil, 0)
  --> tensor([[0.8485, 1.1314]])
row_stack: st.row_stack {st.tensor {1, 2}, st.tensor {3, 4}}
  --> tensor([[1, 2],
              [3, 4]])
rsub: st.rsub(t, 10)
  --> tensor([[9, 8],
              [7, 6]])
scalar_tensor: st.scalar_tensor(3)
  --> tensor(3.)
selu: st.selu(st.tensor {0, 1}:float())
  --> tensor([0.0000, 1.0507])
setxor1d: st.setxor1d(st.tensor {1, 2}, st.tensor {2, 3})
  --> tensor([1, 3])
sgn: st.sgn(st.tensor {-2.5, 0, 3})
  --> tensor([-1.,  0.,  1.])
signal_windows_bartlett: st.signal.windows.bartlett(3)
  --> tensor([0., 1., 0.])
signal_windows_cosine: st.signal.windows.cosine(3)
  --> tensor([0.5000, 1.0000, 0.5000])
signal_windows_exponential: st.signal.windows.exponential(3)
  --> tensor([0.3679, 1.0000, 0.3679])
signal_windows_gaussian: st.signal.windows.gaussian(3)
  --> tensor([0.6065, 1.0000, 0.6065])
signal_windows_hamming: st.signal.windows.hamming(3)
  --> tensor([0.0800, 1.0000, 0.0800])
signal_windows_hann: st.signal.windows.hann(5)
  --> tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
signal_windows_kaiser: st.signal.windows.kaiser(3)
  --> tensor([5.2773e-05, 1.0000e+00, 5.2773e-05])
signal_windows_nuttall: st.signal.windows.nuttall(3)
  --> tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
signbit: st.signbit(st.tensor {-1.5, 0, 2})
  --> tensor([ True, False, False])
sinh: st.sinh(st.tensor {0, 1})
  --> tensor([0.0000, 1.1752])
slice: st.slice(t, 1, 2)
  --> tensor([[3, 4]])
slice_scatter: st.slice_scatter(t, st.tensor {{8, 9}}, 1, 2)
  --> tensor([[1, 2],
              [8, 9]])
soft_margin_loss: st.soft_margin_loss(st.zeros(2), st.ones(2))
  --> tensor(0.6931)
softmin: st.softmin(st.zeros(2), 1)
  --> tensor([0.5000, 0.5000])
softshrink: st.softshrink(st.tensor {-1.5, 0.25, 2})
  --> tensor([-1.0000,  0.0000,  1.5000])
softsign: st.softsign(st.tensor {-1, 3})
  --> tensor([-0.5000,  0.7500])
special_airy_ai: st.special.airy_ai(st.tensor {0})
  --> tensor([0.3550])
special_bessel_j1: st.special.bessel_j1(st.tensor {0, 1})
  --> tensor([0.0000, 0.4401])
special_bessel_y0: st.special.bessel_y0(st.tensor {1})
  --> tensor([0.0883])
special_bessel_y1: st.special.bessel_y1(st.tensor {1})
  --> tensor([-0.7812])
special_chebyshev_polynomial_t:
  st.special.chebyshev_polynomial_t(st.tensor {0.5}, 2)
  --> tensor([-0.5000])
special_chebyshev_polynomial_u:
  st.special.chebyshev_polynomial_u(st.tensor {0.5}, 2)
  --> tensor([0.])
special_gammaincc: st.special.gammaincc(st.tensor {1.5}, st.tensor {0})
  --> tensor([1.])
special_hermite_polynomial_h:
  st.special.hermite_polynomial_h(st.tensor {1.5}, 2)
  --> tensor([7.])
special_hermite_polynomial_he:
  st.special.hermite_polynomial_he(st.tensor {1.5}, 2)
  --> tensor([1.2500])
special_i1e: st.special.i1e(st.tensor {0, 1})
  --> tensor([0.0000, 0.2079])
special_laguerre_polynomial_l:
  st.special.laguerre_polynomial_l(st.tensor {1.5}, 1)
  --> tensor([-0.5000])
special_legendre_polynomial_p:
  st.special.legendre_polynomial_p(st.tensor {0.5}, 2)
  --> tensor([-0.1250])
special_modified_bessel_i0: st.special.modified_bessel_i0(st.tensor {0, 1})
  --> tensor([1.0000, 1.2661])
special_modified_bessel_k0: st.special.modified_bessel_k0(st.tensor {1})
  --> tensor([0.4210])
special_ndtr: st.special.ndtr(st.tensor {0})
  --> tensor([0.5000])
special_spherical_bessel_j0: st.special.spherical_bessel_j0(st.tensor {0, 1})
  --> tensor([1.0000, 0.8415])
special_xlog1py: st.special.xlog1py(st.tensor {2}, st.tensor {0})
  --> tensor([0.])
split_with_sizes: t:split_with_sizes({1, 1}, 2)[2]
  --> tensor([[2],
              [4]])
square: st.square(t)
  --> tensor([[ 1,  4],
              [ 9, 16]])
sum_to_size: t:sum_to_size({1, 2})
  --> tensor([[4, 6]])
svd: (select(2, st.svd(st.tensor {{3, 0}, {0, 4}}:float())))
  --> tensor([4., 3.])
swapaxes: t:swapaxes(1, 2)
  --> tensor([[1, 3],
              [2, 4]])
t: t:t()
  --> tensor([[1, 3],
              [2, 4]])
tanhshrink: st.tanhshrink(st.tensor {0, 1})
  --> tensor([0.0000, 0.2384])
tensor_split: st.arange(5):tensor_split(2)[1]
  --> tensor([0, 1, 2])
threshold: st.threshold(st.tensor {1, 5}, 3, 0)
  --> tensor([0, 5])
to: t:to "float32"
  --> tensor([[1., 2.],
              [3., 4.]])
triangular_solve:
  (st.triangular_solve(st.ones(2, 1), st.tensor {{2, 0}, {0, 4}}:float()))
  --> tensor([[0.5000],
              [0.2500]])
triplet_margin_loss:
  st.triplet_margin_loss(t:float(), t:float(), t:float() + 9)
  --> tensor(0.)
triu_indices: st.triu_indices(2, 2)
  --> tensor([[1, 1, 2],
              [1, 2, 2]])
true_divide: st.true_divide(t, 2)
  --> tensor([[0.5000, 1.0000],
              [1.5000, 2.0000]])
type_as: t:type_as(st.ones(1)).dtype
  --> float32
unfold: st.arange(4):unfold(1, 2, 1)
  --> tensor([[0, 1],
              [1, 2],
              [2, 3]])
union1d: st.union1d(st.tensor {2, 1}, st.tensor {2, 3})
  --> tensor([1, 2, 3])
unique: (st.unique(st.tensor {3, 1, 3}))
  --> tensor([1, 3])
unique_counts: st.unique_counts(st.tensor {3, 1, 3})
  --> tensor([1, 3])
      tensor([1, 2])
unique_values: st.unique_values(st.tensor {3, 1, 3})
  --> tensor([1, 3])
unravel_index: st.unravel_index(st.tensor {3}, {2, 2})[1]
  --> tensor([2])
unwrap: st.unwrap(st.tensor {0, 6.5})
  --> tensor([0.0000, 0.2168])
view_as: st.arange(4):view_as(t)
  --> tensor([[0, 1],
              [2, 3]])
view_as_complex: st.view_as_complex(t:float())
  --> tensor([1.+2.j, 3.+4.j])
view_as_real: st.view_as_real(st.complex(st.ones(1), st.zeros(1)))
  --> tensor([[1., 0.]])
vstack: st.vstack {st.tensor {1, 2}, st.tensor {3, 4}}
  --> tensor([[1, 2],
              [3, 4]])
zero: st.zero(t)
  --> tensor([[0, 0],
              [0, 0]])
]==]
