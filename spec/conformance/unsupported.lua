--- The operators that the vectors ask for and strided does not have, with the
-- number of cases of each: a new hole is seen, and so is one that is gone.

return {
  ["aten::_batch_norm_with_update"] = 13,
  ["aten::_chunk_cat"] = 15,
  ["aten::_unsafe_masked_index"] = 26,
  ["aten::_unsafe_masked_index_put_accumulate"] = 26,
  ["aten::cholesky_inverse"] = 10,
  ["aten::fft_fft"] = 9,
  ["aten::fft_fft2"] = 5,
  ["aten::fft_fftn"] = 10,
  ["aten::fft_hfft"] = 12,
  ["aten::fft_hfft2"] = 6,
  ["aten::fft_ifft2"] = 4,
  ["aten::fft_ifftn"] = 9,
  ["aten::fft_ihfft2"] = 4,
  ["aten::fft_irfft2"] = 6,
  ["aten::fft_irfftn"] = 13,
  ["aten::fft_rfft2"] = 4,
  ["aten::fft_rfftn"] = 7,
  ["aten::istft"] = 3,
  ["aten::linalg_matrix_sqrth"] = 11,
  ["aten::linalg_polar"] = 21,
  ["aten::linalg_tensorinv"] = 8,
  ["aten::matrix_exp"] = 8,
  ["aten::triangular_solve"] = 8,
}
