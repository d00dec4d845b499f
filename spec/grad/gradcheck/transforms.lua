--- The calls of gradcheck/samples.lua for Fourier transforms.

local values = require "spec.grad.gradcheck.values"

local A, P, Z = values.any, values.positive, values.complex

local samples = {}

local function each(names, calls)
  for name in names:gmatch "%S+" do samples[name] = calls end
end

samples["_fft_c2c"] = {
  {Z(3), {1}, 0, true}, {Z(2, 3), {2, 1}, 1, false}, {Z(2, 2), {1}, 2, true},
}
samples["_fft_r2c"] = {
  {A(4), {1}, 0, true}, {A(3, 2), {2, 1}, 1, true}, {A(2, 5), {1, 2}, 2, true},
  {A(5), {1}, 1, false}, {A(2, 3), {1, 2}, 0, false}, {A(1), {1}, 0, true},
}
samples["_fft_c2r"] = {
  {Z(3), {1}, 0, 4}, {Z(3), {1}, 1, 5}, {Z(2, 3), {2, 1}, 2, 3},
  {Z(1), {1}, 0, 1}, {Z(2), {1}, 0, 2},
}
each("fft_fft fft_ifft", {{Z(3)}, {A(3)}, {Z(2, 3), 2, 1}, {A(2, 3), 4, 2},
                          {Z(3), {norm = "ortho"}}})
each("fft_rfft fft_ihfft", {{A(4)}, {A(3)}, {A(2, 3), 5, 1},
                            {A(3), {norm = "ortho"}}})
each("fft_irfft fft_hfft", {{Z(3)}, {Z(3), 5}, {A(3)}, {Z(2, 3), 4, 1},
                            {Z(3), {norm = "ortho"}}})
each("fft_fftn fft_ifftn fft_fft2 fft_ifft2",
     {{Z(2, 3)}, {A(2, 3)}, {A(3, 2), {2, 3}, {norm = "ortho"}}})
each("fft_rfftn fft_ihfftn fft_rfft2 fft_ihfft2",
     {{A(2, 3)}, {A(3, 2), {2, 4}, {norm = "ortho"}}})
each("fft_irfftn fft_hfftn fft_irfft2 fft_hfft2",
     {{Z(2, 3)}, {Z(3, 2), {2, 3}, {norm = "ortho"}}})

samples["_fft_r2r"] = {
  {A(5), 1, false, false, false, 0.5, 1.5, 0.5},
  {A(5), 1, true, false, false}, {A(5), 1, false, true, false, 1, 1, 0.7},
  {A(2, 4), 1, true, true, false}, {A(4), 1, false, false, true, 2, 1.5, 1},
  {A(5), 1, true, false, true}, {A(2, 4), 2, false, true, true},
  {A(5), 1, true, true, true},
}
each("fft_dct fft_idct fft_dst fft_idst",
     {{A(4)}, {A(5), 1}, {A(2, 3), 3, 4, 1, "ortho"}, {Z(3), 4},
      {A(5), 1, {norm = "ortho"}}, {A(4), 3, {norm = "forward"}}})
each("fft_dctn fft_idctn fft_dstn fft_idstn",
     {{A(2, 3)}, {A(3, 2), 1, {2, 3}, {norm = "ortho"}}})

samples["stft"] = {{A(7), 4, values.none, values.none, P(4),
                    {return_complex = true}},
                   {Z(6), 4, 2, 3, A(3)}}
samples["stft.center"] = {{A(7), 4, {return_complex = true}},
                          {A(2, 6), 4, 2, 3, A(3), {return_complex = true}}}
samples["istft"] = {{Z(3, 4), 4, values.none, values.none, P(4)},
                    {Z(2, 4, 3), 4, 2, 3, P(3), {return_complex = true}}}

return samples
