--- Examples of st.help: rarely used operators of linear algebra, transforms,
-- special functions, random numbers and indices. The rows are explained in
-- strided.help.examples.
--
-- @module strided.help.examples.numbers

return [==[
-- Linear algebra
cholesky_inverse: st.cholesky_inverse(st.tensor {{2, 0}, {2, 1}}:float())
  --> tensor([[ 1.2500, -1.0000],
              [-1.0000,  1.0000]])
linalg_householder_product:
  st.linalg.householder_product(st.ones(2, 1), st.ones(1))
  --> tensor([[ 0.],
              [-1.]])
linalg_ldl_factor: st.linalg.ldl_factor(st.tensor {{4, 2}, {2, 5}}:float())
  --> tensor([[4.0000, 0.0000],
              [0.5000, 4.0000]])
      tensor([1, 2], dtype=int32)
linalg_ldl_factor_ex:
  st.linalg.ldl_factor_ex(st.tensor {{4, 0}, {0, 9}}:float())
  --> tensor([[4., 0.],
              [0., 9.]])
      tensor([1, 2], dtype=int32)
      tensor(0, dtype=int32)
linalg_ldl_solve:
  st.linalg.ldl_solve(st.tensor {{4, 0}, {0.5, 4}}, st.tensor {1, 2}:int(),
    st.tensor {{8}, {8}}:float())
  --> tensor([[1.5000],
              [1.0000]])
linalg_lu_factor_ex:
  st.linalg.lu_factor_ex(st.tensor {{2, 1}, {1, 4}}:float())
  --> tensor([[2.0000, 1.0000],
              [0.5000, 3.5000]])
      tensor([1, 2], dtype=int32)
      tensor(0, dtype=int32)
linalg_lu_solve:
  st.linalg.lu_solve(st.tensor {{2, 1}, {0.5, 3.5}}, st.tensor {1, 2}:int(),
    st.tensor {{4}, {9}}:float())
  --> tensor([[1.],
              [2.]])
lu_solve:
  st.lu_solve(st.tensor {{4}, {9}}:float(), st.tensor {{2, 1}, {0.5, 3.5}},
    st.tensor {1, 2}:int())
  --> tensor([[1.],
              [2.]])
lu_unpack: st.lu_unpack(st.tensor {{2, 1}, {0.5, 3}}, st.tensor {2, 2}:int())
  --> tensor([[0., 1.],
              [1., 0.]])
      tensor([[1.0000, 0.0000],
              [0.5000, 1.0000]])
      tensor([[2., 1.],
              [0., 3.]])
norm_except_dim: st.norm_except_dim(st.tensor {{3, 4}, {0, 2}}:float())
  --> tensor([[5.],
              [2.]])
ormqr: st.ormqr(st.eye(2), st.tensor {2, 0}:float(), t:float())
  --> tensor([[-1., -2.],
              [ 3.,  4.]])
pca_lowrank:
  select(2, st.pca_lowrank(st.tensor {{3, 0}, {3, 8}}:float(), 1)):square()
    :round()
  --> tensor([32.])
svd_lowrank:
  select(2, st.svd_lowrank(st.tensor {{3, 0}, {0, 4}}:float(), 2)):round()
  --> tensor([4., 3.])
-- Transforms and windows
blackman_window: st.blackman_window(4):narrow(1, 2, 3)
  --> tensor([0.3400, 1.0000, 0.3400])
fft_dct: st.fft.dct(st.tensor {1, 2, 3}:float(), {type = 1})
  --> tensor([ 8., -2.,  0.])
fft_dctn: st.fft.dctn(t:float(), {type = 1})
  --> tensor([[10., -2.],
              [-4.,  0.]])
fft_dst: st.fft.dst(st.tensor {3}:float(), {type = 1})
  --> tensor([6.])
fft_dstn: st.fft.dstn(st.tensor {{3}}:float(), {type = 1})
  --> tensor([[12.]])
fft_hfft2: st.fft.hfft2(st.tensor {{1, 2}}:float())
  --> tensor([[ 3., -1.]])
fft_hfftn: st.fft.hfftn(t:float())
  --> tensor([[10., -2.],
              [-4.,  0.]])
fft_idct: st.fft.idct(st.tensor {8, -2, 0}:float(), {type = 1})
  --> tensor([1., 2., 3.])
fft_idctn: st.fft.idctn(st.tensor {{10, -2}, {-4, 0}}:float(), {type = 1})
  --> tensor([[1., 2.],
              [3., 4.]])
fft_idst: st.fft.idst(st.tensor {6}:float(), {type = 1})
  --> tensor([3.])
fft_idstn: st.fft.idstn(st.tensor {{12}}:float(), {type = 1})
  --> tensor([[3.]])
fft_ifftn: st.fft.ifftn(st.tensor {{4, 0}, {0, 0}}:float()):real()
  --> tensor([[1., 1.],
              [1., 1.]])
fft_ihfft: st.fft.ihfft(st.tensor {3, -1}:float()):real()
  --> tensor([1., 2.])
fft_ihfft2: st.fft.ihfft2(st.tensor {{3, -1}}:float()):real()
  --> tensor([[1., 2.]])
fft_ihfftn: st.fft.ihfftn(st.tensor {{10, -2}, {-4, 0}}:float()):real()
  --> tensor([[1., 2.],
              [3., 4.]])
fft_irfft2: st.fft.irfft2(st.tensor {{10, -2}, {-4, 0}}:float())
  --> tensor([[1., 2.],
              [3., 4.]])
istft:
  st.istft(st.stft(st.arange(1, 5):float(), 4, {return_complex = true}), 4)
  --> tensor([1., 2., 3., 4.])
signal_windows_blackman: st.signal.windows.blackman(5):narrow(1, 2, 3)
  --> tensor([0.3400, 1.0000, 0.3400])
signal_windows_general_cosine:
  st.signal.windows.general_cosine(3, {a = {0.75, 0.25}})
  --> tensor([0.5000, 1.0000, 0.5000])
signal_windows_general_hamming:
  st.signal.windows.general_hamming(3, {alpha = 0.75})
  --> tensor([0.5000, 1.0000, 0.5000])
-- Special functions
special_chebyshev_polynomial_v:
  st.special.chebyshev_polynomial_v(st.tensor {0.5, 3}, 1)
  --> tensor([0., 5.])
special_chebyshev_polynomial_w:
  st.special.chebyshev_polynomial_w(st.tensor {0.5, 3}, 1)
  --> tensor([2., 7.])
special_modified_bessel_i1: st.special.modified_bessel_i1(st.tensor {0, 1})
  --> tensor([0.0000, 0.5652])
special_modified_bessel_k1: st.special.modified_bessel_k1(st.ones(1))
  --> tensor([0.6019])
special_scaled_modified_bessel_k0:
  st.special.scaled_modified_bessel_k0(st.ones(1))
  --> tensor([1.1445])
special_scaled_modified_bessel_k1:
  st.special.scaled_modified_bessel_k1(st.ones(1))
  --> tensor([1.6362])
special_shifted_chebyshev_polynomial_t:
  st.special.shifted_chebyshev_polynomial_t(st.tensor {0.5, 3}, 2)
  --> tensor([-1., 49.])
special_shifted_chebyshev_polynomial_u:
  st.special.shifted_chebyshev_polynomial_u(st.tensor {0.5, 3}, 2)
  --> tensor([-1., 99.])
special_shifted_chebyshev_polynomial_v:
  st.special.shifted_chebyshev_polynomial_v(st.tensor {0.5, 3}, 1)
  --> tensor([-1.,  9.])
special_shifted_chebyshev_polynomial_w:
  st.special.shifted_chebyshev_polynomial_w(st.tensor {0.5, 3}, 1)
  --> tensor([ 1., 11.])
-- Polynomials and histograms
histogramdd:
  (st.histogramdd(st.tensor {{0, 0}, {1, 1}, {1, 1}}:float(), 2))
  --> tensor([[1., 0.],
              [0., 2.]])
polyfit:
  st.polyfit(st.arange(3):float(), st.tensor {1, 3, 5}:float(), 1)
  --> tensor([2.0000, 1.0000])
roots: st.roots(st.tensor {1, -3, 2}:float())
  --> tensor([2.+0.j, 1.+0.j])
-- Random numbers
binomial: st.binomial(st.tensor {3, 3}:float(), st.tensor {0, 1}:float())
  --> tensor([0., 3.])
cauchy_: st.empty({2}):cauchy_(0, 1, {generator = st.Generator(0)})
  --> tensor([10.5977,  0.7648])
geometric_: st.empty({3}):geometric_(0.5, {generator = st.Generator(0)})
  --> tensor([1., 1., 2.])
gumbel_softmax: st.gumbel_softmax(st.tensor {0, 99}:float(), 1, true)
  --> tensor([0., 1.])
log_normal_: st.empty({2}):log_normal_(0, 1, {generator = st.Generator(0)})
  --> tensor([4.6692, 0.7457])
random_: st.arange(3):random_(10, {generator = st.Generator(0)})
  --> tensor([4, 9, 3])
rrelu: st.rrelu(st.tensor {-4, 2}:float(), 0, 0.5)
  --> tensor([-1.,  2.])
rrelu_with_noise:
  st.rrelu_with_noise(st.tensor {-4, 2}:float(), st.ones(2), 0, 0.5)
  --> tensor([-1.,  2.])
-- Indices and shapes
index: st.index(t, {st.tensor {2, 1}, st.tensor {1, 2}})
  --> tensor([3, 2])
new_empty_strided: t:new_empty_strided({2, 3}, {1, 2}):stride()[2]
  --> 2
nonzero_numpy: st.nonzero_numpy(st.tensor {{0, 5}, {6, 0}})[2]
  --> tensor([2, 1])
resize_as_: st.arange(6):resize_as_(t)
  --> tensor([[0, 1],
              [2, 3]])
segment_reduce:
  st.segment_reduce(st.tensor {1, 2, 3.5}, "sum", {lengths = st.tensor {2, 1}})
  --> tensor([3.0000, 3.5000])
unique_all: st.unique_all(st.tensor {3, 1, 3})
  --> tensor([1, 3])
      tensor([2, 1])
      tensor([2, 1, 2])
      tensor([1, 2])
unique_dim: (st.unique_dim(st.tensor {{3, 4}, {1, 2}, {3, 4}}, 1))
  --> tensor([[1, 2],
              [3, 4]])
unique_inverse: st.unique_inverse(st.tensor {3, 1, 3})
  --> tensor([1, 3])
      tensor([2, 1, 2])
]==]
