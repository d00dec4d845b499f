--- The operators that the vectors ask for and strided does not have, with the
-- number of cases of each: a new hole is seen, and so is one that is gone.

return {
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
}
