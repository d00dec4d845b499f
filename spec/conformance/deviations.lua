--- Where strided differs from PyTorch on purpose. The replay asks for the
-- difference: one that is gone is a failure, as is one that is not here.

local deviations = {}

--- Schemas that PyTorch accepts and strided refuses (S3).
deviations.schema_parse = {
  ["foo(Tensor x, *, *, int y) -> Tensor"] = "there is one '*'",
  ["foo(Tensor x, *) -> Tensor"] = "'*' without an argument behind it",
  ["foo(int[2] x=[1,2,3]) -> Tensor"] = "a default of another length",
  ["foo(int x=1.0) -> int"] = "a default of another type",
  ["foo(bool x=1) -> bool"] = "a default of another type",
  ["foo(Tensor x, Tensor x) -> Tensor"] = "two arguments of one name",
  ["foo(int x=None) -> Tensor"] = "None for what is not optional",
}

local LOSES = "no derivative: raises where a gradient would be lost"

--- Keys at which PyTorch 1.13 falls through by default and strided does not
-- (R12).
deviations.fallbacks = {
  AutogradOther = LOSES, AutogradCPU = LOSES, AutogradCUDA = LOSES,
  AutogradXLA = LOSES,
}

--- Keys at which PyTorch has no fallback and strided has one.
deviations.more_fallbacks = {AutogradMeta = LOSES}

-- -- Overlap (I2, Y1) --------------------------------------------------------

--- Ids of vectors in which an output shares memory with an input, other than
-- by being the same elements in the same order. PyTorch refuses some and is
-- silently wrong about the others; here the answer is that of operands that
-- share nothing.
deviations.overlap = {}

local function list(reason, ids)
  for id in ids:gmatch "%S+" do deviations.overlap[id] = reason end
end

list("raises in PyTorch: the input is read from a copy", [[
  c52 c65 c112 c230 c238 c374 c380 c416 c523 c605 c621 c648 c724 c745 c761
  c770 c816 c922 c937 c939 c988 c1004 c1054 c1214 c1220 c1232 c1279 c1405
  c1419 c1502 c1524 c1527 c1557 c1562 c1581 c1588 c1632 c1650 c1687 c1722
  c1758 c1777 c1781 c1801 c1815 c1867 c1945 c2024 c2045 c2368 c2380 c2383
  c2526 c2650 c2705 c2775 c2780 c2796 c2826 c2936 c2938 c3039 c3137 c3239
  c3276 c3313 c3317 c3324 c3382 c3402 c3500 c3540 c3547 c3592 c3756 c3759
  c3812 c3867 c3881 c3906 c3964 c3990 c4011 c4019 c4050 c4114 c4198 c4250
  c4324 c4345 c4375 c4388 c4507 c4586 c4637 c4657 c4681 c4707 c4734 c4746
  c4785 c4797 c4830 c4870 c4882 c4905 c4928 c4932 c4950 c5059 c5279 c5296
  c5304 c5347 c5389 c5415 c5436 c5450 c5502 c5547 c5583 c5595 c5607 c5676
  c5857 c5861 c5886 c5941 c5998
]])

list("wrong in PyTorch, without a word: the input is read from a copy", [[
  c44 c173 c271 c396 c535 c582 c1077 c1141 c1646 c2707 c2733 c2966 c4392
  c5690 c5877
]])

list("raises in PyTorch: as on copies", [[
  copy-04b04477b2 copy-070411bf6b copy-0a1b336fe0 copy-0bee1c854c
  copy-0cd42a81a6 copy-1229046abe copy-139c0a9d38 copy-14c66310c8
  copy-167d06f921 copy-20decd9fb5 copy-2307e84f21 copy-2ae74b9307
  copy-2eeedfa94e copy-335f086858 copy-3e5fa710ff copy-4582b42336
  copy-471cee2e77 copy-4a2e76969a copy-4f31310d7a copy-53a4511e92
  copy-58acb9f561 copy-5ab01f9281 copy-5ab7a31617 copy-5e2d2e5192
  copy-5f2f1afc63 copy-614515c7e3 copy-6899e16b11 copy-6d6ec42dc3
  copy-72460930cb copy-733b347084 copy-74ebb0c378 copy-7a95919d07
  copy-7cedacccde copy-7f8f7f5b59 copy-824003fc6d copy-850466c223
  copy-86410dee97 copy-94d47a4610 copy-9825f0f6f8 copy-a07bdd31d6
  copy-a26cf8a943 copy-a29ba040fe copy-aaba5c6ba2 copy-aca1694e95
  copy-acb512f4c2 copy-af833c828f copy-bb77d35ffa copy-c234d3eda5
  copy-c48ddb0ce0 copy-caa799188b copy-ced9bfa0fe copy-d0fa0bdb62
  copy-dc0800f78d copy-e0340b4a56 copy-e6fd9519c9 copy-e7a9ea030d
  copy-e7c5af931e copy-e85d37a5be copy-e961d1df37 copy-eb1ca9dc81
  copy-ed9c15bd74 copy-eedba18fa7 copy-f8788e44a8 copy-fb7572cbb5
  copy-fcda5483ca copy-fedc8438ae autograd-15819a9a6d
  autograd-26c9e90494 autograd-5fc253fceb
]])

return deviations
