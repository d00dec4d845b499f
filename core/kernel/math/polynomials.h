/* Polynomials of functions.def, by the Remez exchange algorithm (E. Y. Remez,
 * Sur la determination des polynomes d'approximation de degre donnee, 1934), as
 * bench/minimax.py prints them. A list has the coefficients from the highest
 * degree on: POLYNOMIAL(p, x, NAME) declares p, their value at x.
 */
#ifndef ST_KERNEL_MATH_POLYNOMIALS_H
#define ST_KERNEL_MATH_POLYNOMIALS_H

#define ST_FIRST(p, x, c) T p = c;
#define ST_NEXT(p, x, c) p = FMA(p, x, c);

#define EXP_f4(p, x) \
  ST_FIRST(p, x, 0x1.6db42ap-10f) \
  ST_NEXT(p, x, 0x1.123b56p-7f) \
  ST_NEXT(p, x, 0x1.55545ep-5f) \
  ST_NEXT(p, x, 0x1.55548ep-3f) \
  ST_NEXT(p, x, 0x1p-1f)

#define EXP_f8(p, x) \
  ST_FIRST(p, x, 0x1.af8585250a2efp-26) \
  ST_NEXT(p, x, 0x1.28b04919708f7p-22) \
  ST_NEXT(p, x, 0x1.71dddfcd52713p-19) \
  ST_NEXT(p, x, 0x1.a0199693b537cp-16) \
  ST_NEXT(p, x, 0x1.a01a01bae1b2ep-13) \
  ST_NEXT(p, x, 0x1.6c16c185a75adp-10) \
  ST_NEXT(p, x, 0x1.111111110d63bp-7) \
  ST_NEXT(p, x, 0x1.555555555003p-5) \
  ST_NEXT(p, x, 0x1.5555555555561p-3) \
  ST_NEXT(p, x, 0x1.000000000000bp-1)

#define EXPM1_f4(p, x) \
  ST_FIRST(p, x, 0x1.a378bep-13f) \
  ST_NEXT(p, x, 0x1.6f35fep-10f) \
  ST_NEXT(p, x, 0x1.110e8ep-7f) \
  ST_NEXT(p, x, 0x1.5551bcp-5f) \
  ST_NEXT(p, x, 0x1.555558p-3f) \
  ST_NEXT(p, x, 0x1.000002p-1f)

#define EXPM1_f8(p, x) \
  ST_FIRST(p, x, 0x1.62cb6f1c3ff3p-33) \
  ST_NEXT(p, x, 0x1.204aaffc56a34p-29) \
  ST_NEXT(p, x, 0x1.ae630b03b26a5p-26) \
  ST_NEXT(p, x, 0x1.27e40fb57317fp-22) \
  ST_NEXT(p, x, 0x1.71de3ad8cf32bp-19) \
  ST_NEXT(p, x, 0x1.a01a023c9874ap-16) \
  ST_NEXT(p, x, 0x1.a01a019fe32f6p-13) \
  ST_NEXT(p, x, 0x1.6c16c16be249ep-10) \
  ST_NEXT(p, x, 0x1.11111111111c4p-7) \
  ST_NEXT(p, x, 0x1.5555555555658p-5) \
  ST_NEXT(p, x, 0x1.5555555555555p-3) \
  ST_NEXT(p, x, 0x1p-1)

#define EXP2_f4(p, x) \
  ST_FIRST(p, x, 0x1.446ca6p-13f) \
  ST_NEXT(p, x, 0x1.5f08bep-10f) \
  ST_NEXT(p, x, 0x1.3b29e4p-7f) \
  ST_NEXT(p, x, 0x1.c6af6cp-5f) \
  ST_NEXT(p, x, 0x1.ebfbep-3f) \
  ST_NEXT(p, x, 0x1.62e43p-1f)

#define EXP2_f8(p, x) \
  ST_FIRST(p, x, 0x1.c4c8eabb4001dp-36) \
  ST_NEXT(p, x, 0x1.e9ec3e47413d3p-32) \
  ST_NEXT(p, x, 0x1.e4cef682d04f3p-28) \
  ST_NEXT(p, x, 0x1.b524ebc006b67p-24) \
  ST_NEXT(p, x, 0x1.62c022494f63ap-20) \
  ST_NEXT(p, x, 0x1.ffcbfc6dada44p-17) \
  ST_NEXT(p, x, 0x1.430912f86a0cbp-13) \
  ST_NEXT(p, x, 0x1.5d87fe78a3f8bp-10) \
  ST_NEXT(p, x, 0x1.3b2ab6fba4e7dp-7) \
  ST_NEXT(p, x, 0x1.c6b08d704a0c6p-5) \
  ST_NEXT(p, x, 0x1.ebfbdff82c58fp-3) \
  ST_NEXT(p, x, 0x1.62e42fefa39efp-1)

#define LOG_f4(p, x) \
  ST_FIRST(p, x, -0x1.41ee6ep-4f) \
  ST_NEXT(p, x, 0x1.07d328p-3f) \
  ST_NEXT(p, x, -0x1.0ce15ep-3f) \
  ST_NEXT(p, x, 0x1.226e06p-3f) \
  ST_NEXT(p, x, -0x1.54787p-3f) \
  ST_NEXT(p, x, 0x1.99a598p-3f) \
  ST_NEXT(p, x, -0x1.00022p-2f) \
  ST_NEXT(p, x, 0x1.55554ap-2f)

#define LOG_f8(p, x) \
  ST_FIRST(p, x, 0x1.b90a66f61e569p-6) \
  ST_NEXT(p, x, -0x1.f191b9bf453d1p-5) \
  ST_NEXT(p, x, 0x1.0a97a51c4f85ap-4) \
  ST_NEXT(p, x, -0x1.ce7d51a4eb634p-5) \
  ST_NEXT(p, x, 0x1.cfa2cdc6b6a9dp-5) \
  ST_NEXT(p, x, -0x1.fbff850ba5fd8p-5) \
  ST_NEXT(p, x, 0x1.11dfba3ebb604p-4) \
  ST_NEXT(p, x, -0x1.24d411c744f5p-4) \
  ST_NEXT(p, x, 0x1.3b09b9e45a52cp-4) \
  ST_NEXT(p, x, -0x1.55510a482e214p-4) \
  ST_NEXT(p, x, 0x1.745d581ecac5ap-4) \
  ST_NEXT(p, x, -0x1.9999c22588df1p-4) \
  ST_NEXT(p, x, 0x1.c71c7119841cep-4) \
  ST_NEXT(p, x, -0x1.ffffff29fb634p-4) \
  ST_NEXT(p, x, 0x1.24924924544bap-3) \
  ST_NEXT(p, x, -0x1.5555555671b5fp-3) \
  ST_NEXT(p, x, 0x1.999999999bf4fp-3) \
  ST_NEXT(p, x, -0x1.fffffffffee8p-3) \
  ST_NEXT(p, x, 0x1.5555555555546p-2)

#define TANH_f4(p, x) \
  ST_FIRST(p, x, 0x1.1abd14p-6f) \
  ST_NEXT(p, x, -0x1.b29c1ap-5f) \
  ST_NEXT(p, x, 0x1.10ea8ep-3f) \
  ST_NEXT(p, x, -0x1.5554dap-2f)

#define TANH_f8(p, x) \
  ST_FIRST(p, x, 0x1.dcf62929724a5p-15) \
  ST_NEXT(p, x, -0x1.c8f996a598d11p-13) \
  ST_NEXT(p, x, 0x1.31d658dab80d7p-11) \
  ST_NEXT(p, x, -0x1.7d49d68af3b5dp-10) \
  ST_NEXT(p, x, 0x1.d6ce08bd2697bp-9) \
  ST_NEXT(p, x, -0x1.226e16a635799p-7) \
  ST_NEXT(p, x, 0x1.664f47b82c5f3p-6) \
  ST_NEXT(p, x, -0x1.ba1ba1b71a7bep-5) \
  ST_NEXT(p, x, 0x1.111111110e3d4p-3) \
  ST_NEXT(p, x, -0x1.5555555555538p-2)

#define SINH_f4(p, x) \
  ST_FIRST(p, x, 0x1.7a267cp-19f) \
  ST_NEXT(p, x, 0x1.9ffe12p-13f) \
  ST_NEXT(p, x, 0x1.111136p-7f) \
  ST_NEXT(p, x, 0x1.555556p-3f)

#define SINH_f8(p, x) \
  ST_FIRST(p, x, 0x1.b4cf790bdfbfap-41) \
  ST_NEXT(p, x, 0x1.611a3a1eeb035p-33) \
  ST_NEXT(p, x, 0x1.ae6467668e6cdp-26) \
  ST_NEXT(p, x, 0x1.71de3a45f71d1p-19) \
  ST_NEXT(p, x, 0x1.a01a01a0291fcp-13) \
  ST_NEXT(p, x, 0x1.11111111110a1p-7) \
  ST_NEXT(p, x, 0x1.5555555555556p-3)

#define ERF_f4(p, x) \
  ST_FIRST(p, x, -0x1.6279e8p-11f) \
  ST_NEXT(p, x, 0x1.4f47eep-8f) \
  ST_NEXT(p, x, -0x1.b7abf8p-6f) \
  ST_NEXT(p, x, 0x1.ce2af4p-4f) \
  ST_NEXT(p, x, -0x1.81273ap-2f) \
  ST_NEXT(p, x, 0x1.06eba8p-3f)

#define ERF_f8(p, x) \
  ST_FIRST(p, x, 0x1.8a4a7aa13434cp-27) \
  ST_NEXT(p, x, -0x1.5653e4b24bc18p-23) \
  ST_NEXT(p, x, 0x1.b90f778381fa3p-20) \
  ST_NEXT(p, x, -0x1.f4c5ecd4cc409p-17) \
  ST_NEXT(p, x, 0x1.f9a2b057f6361p-14) \
  ST_NEXT(p, x, -0x1.c02db127a1859p-11) \
  ST_NEXT(p, x, 0x1.565bcd0380669p-8) \
  ST_NEXT(p, x, -0x1.b82ce31257d64p-6) \
  ST_NEXT(p, x, 0x1.ce2f21a0424ddp-4) \
  ST_NEXT(p, x, -0x1.812746b0379ep-2) \
  ST_NEXT(p, x, 0x1.06eba8214db69p-3)

#define LOG_ERFC_f4(p, x) \
  ST_FIRST(p, x, -0x1.2c7d3ep-16f) \
  ST_NEXT(p, x, 0x1.a23dbep-12f) \
  ST_NEXT(p, x, -0x1.067792p-8f) \
  ST_NEXT(p, x, 0x1.94ada2p-6f) \
  ST_NEXT(p, x, -0x1.b8f8f8p-4f) \
  ST_NEXT(p, x, -0x1.448c8p-1f)

#define LOG_ERFC_f8(p, x) \
  ST_FIRST(p, x, -0x1.f63b3c1e26cdp-43) \
  ST_NEXT(p, x, 0x1.7fee9eee3c70ap-37) \
  ST_NEXT(p, x, -0x1.14b8605a726a7p-32) \
  ST_NEXT(p, x, 0x1.f408d5d5e40d3p-29) \
  ST_NEXT(p, x, -0x1.3d5d09ba257abp-25) \
  ST_NEXT(p, x, 0x1.2c3e8395cf754p-22) \
  ST_NEXT(p, x, -0x1.b5745fa77ee27p-20) \
  ST_NEXT(p, x, 0x1.f20b59aad179fp-18) \
  ST_NEXT(p, x, -0x1.b943cf7a1b25ap-16) \
  ST_NEXT(p, x, 0x1.253761ad35adap-14) \
  ST_NEXT(p, x, -0x1.fcfccefbf86f7p-14) \
  ST_NEXT(p, x, 0x1.4b65256a8a188p-15) \
  ST_NEXT(p, x, 0x1.15660c5ae8656p-11) \
  ST_NEXT(p, x, -0x1.b0a03696f8181p-10) \
  ST_NEXT(p, x, 0x1.7d5bcf05b6e9ap-13) \
  ST_NEXT(p, x, 0x1.399b809fe7063p-6) \
  ST_NEXT(p, x, -0x1.a4f973824fedp-4) \
  ST_NEXT(p, x, -0x1.45f2e3829c8f5p-1)

#define ATAN_f4(p, x) \
  ST_FIRST(p, x, -0x1.f2472ap-5f) \
  ST_NEXT(p, x, 0x1.b1ff5cp-4f) \
  ST_NEXT(p, x, -0x1.23b68cp-3f) \
  ST_NEXT(p, x, 0x1.9991acp-3f) \
  ST_NEXT(p, x, -0x1.55554ap-2f)

#define ATAN_f8(p, x) \
  ST_FIRST(p, x, -0x1.0ab2961e1c67bp-6) \
  ST_NEXT(p, x, 0x1.2b338aae5e70bp-5) \
  ST_NEXT(p, x, -0x1.97ad692acf82cp-5) \
  ST_NEXT(p, x, 0x1.dde10a71febe8p-5) \
  ST_NEXT(p, x, -0x1.10d6470f568a2p-4) \
  ST_NEXT(p, x, 0x1.3b0f278a3c438p-4) \
  ST_NEXT(p, x, -0x1.745cdc1da421fp-4) \
  ST_NEXT(p, x, 0x1.c71c6fe008badp-4) \
  ST_NEXT(p, x, -0x1.2492492001f05p-3) \
  ST_NEXT(p, x, 0x1.999999998ea97p-3) \
  ST_NEXT(p, x, -0x1.555555555550cp-2)

#define ASIN_f4(p, x) \
  ST_FIRST(p, x, 0x1.59f3e2p-5f) \
  ST_NEXT(p, x, 0x1.8b86a2p-6f) \
  ST_NEXT(p, x, 0x1.748fp-5f) \
  ST_NEXT(p, x, 0x1.330136p-4f) \
  ST_NEXT(p, x, 0x1.5555cap-3f)

#define ASIN_f8(p, x) \
  ST_FIRST(p, x, 0x1.05febf4697d24p-5) \
  ST_NEXT(p, x, -0x1.0b7ff4fd1b86ep-6) \
  ST_NEXT(p, x, 0x1.41092ca674306p-6) \
  ST_NEXT(p, x, 0x1.aa3622a3848fcp-8) \
  ST_NEXT(p, x, 0x1.8ef2eb21bae18p-7) \
  ST_NEXT(p, x, 0x1.c6f65b5bdaa5fp-7) \
  ST_NEXT(p, x, 0x1.1c6c42e09963p-6) \
  ST_NEXT(p, x, 0x1.6e89edb68f814p-6) \
  ST_NEXT(p, x, 0x1.f1c72c7fb8b5cp-6) \
  ST_NEXT(p, x, 0x1.6db6db419c022p-5) \
  ST_NEXT(p, x, 0x1.333333336fdd2p-4) \
  ST_NEXT(p, x, 0x1.5555555555384p-3)

#define SIN_f4(p, x) \
  ST_FIRST(p, x, 0x1.6cd5ecp-19f) \
  ST_NEXT(p, x, -0x1.a00f94p-13f) \
  ST_NEXT(p, x, 0x1.111108p-7f) \
  ST_NEXT(p, x, -0x1.555556p-3f)

#define SIN_f8(p, x) \
  ST_FIRST(p, x, -0x1.aaa38100c6a11p-41) \
  ST_NEXT(p, x, 0x1.61208f3346d7cp-33) \
  ST_NEXT(p, x, -0x1.ae645292e0056p-26) \
  ST_NEXT(p, x, 0x1.71de3a5335624p-19) \
  ST_NEXT(p, x, -0x1.a01a01a018ab3p-13) \
  ST_NEXT(p, x, 0x1.111111111110bp-7) \
  ST_NEXT(p, x, -0x1.5555555555555p-3)

#define COS_f4(p, x) \
  ST_FIRST(p, x, 0x1.99ff4p-16f) \
  ST_NEXT(p, x, -0x1.6c0c82p-10f) \
  ST_NEXT(p, x, 0x1.55554ap-5f)

#define COS_f8(p, x) \
  ST_FIRST(p, x, -0x1.8facd146e2972p-37) \
  ST_NEXT(p, x, 0x1.1ee9e8909491cp-29) \
  ST_NEXT(p, x, -0x1.27e4f8053384p-22) \
  ST_NEXT(p, x, 0x1.a01a019cab73dp-16) \
  ST_NEXT(p, x, -0x1.6c16c16c1514p-10) \
  ST_NEXT(p, x, 0x1.555555555554cp-5)

#define ASINH_f4(p, x) \
  ST_FIRST(p, x, -0x1.b207c2p-7f) \
  ST_NEXT(p, x, 0x1.cd9b08p-6f) \
  ST_NEXT(p, x, -0x1.6b9b5ep-5f) \
  ST_NEXT(p, x, 0x1.33252ap-4f) \
  ST_NEXT(p, x, -0x1.555536p-3f)

#define ASINH_f8(p, x) \
  ST_FIRST(p, x, 0x1.c29783341d0c1p-10) \
  ST_NEXT(p, x, -0x1.3736b1ec1dbb8p-8) \
  ST_NEXT(p, x, 0x1.e9520e86d8c36p-8) \
  ST_NEXT(p, x, -0x1.386cee0a13891p-7) \
  ST_NEXT(p, x, 0x1.7942963237d31p-7) \
  ST_NEXT(p, x, -0x1.c973068b1bf1bp-7) \
  ST_NEXT(p, x, 0x1.1c4d3120e253p-6) \
  ST_NEXT(p, x, -0x1.6e8b8cc0f6a77p-6) \
  ST_NEXT(p, x, 0x1.f1c71baadb089p-6) \
  ST_NEXT(p, x, -0x1.6db6db6baa25bp-5) \
  ST_NEXT(p, x, 0x1.33333333307bep-4) \
  ST_NEXT(p, x, -0x1.5555555555541p-3)

#define ATANH_f4(p, x) \
  ST_FIRST(p, x, 0x1.6b08c4p-3f) \
  ST_NEXT(p, x, 0x1.a14dd8p-5f) \
  ST_NEXT(p, x, 0x1.e4c3eep-4f) \
  ST_NEXT(p, x, 0x1.2340e2p-3f) \
  ST_NEXT(p, x, 0x1.99a734p-3f) \
  ST_NEXT(p, x, 0x1.55553ep-2f)

#define ATANH_f8(p, x) \
  ST_FIRST(p, x, 0x1.ce28691b82195p-3) \
  ST_NEXT(p, x, -0x1.3c0c4e705685ap-3) \
  ST_NEXT(p, x, 0x1.2ae33261cfd08p-3) \
  ST_NEXT(p, x, 0x1.cf884039a59ep-7) \
  ST_NEXT(p, x, 0x1.eafe117dcb903p-5) \
  ST_NEXT(p, x, 0x1.d8dfe159f2c3dp-5) \
  ST_NEXT(p, x, 0x1.1189e6e05cd8bp-4) \
  ST_NEXT(p, x, 0x1.3b0af3a2c3932p-4) \
  ST_NEXT(p, x, 0x1.745d841e1b32ap-4) \
  ST_NEXT(p, x, 0x1.c71c6e62d0a56p-4) \
  ST_NEXT(p, x, 0x1.2492492c88e57p-3) \
  ST_NEXT(p, x, 0x1.9999999986ca6p-3) \
  ST_NEXT(p, x, 0x1.55555555555d2p-2)

#define LOG_QUOTIENT_f4(p, x) \
  ST_FIRST(p, x, 0x1.5b8c1p-2f) \
  ST_NEXT(p, x, 0x1.b6d052p-2f) \
  ST_NEXT(p, x, 0x1.333336p-1f)

#define LOG_QUOTIENT_f8(p, x) \
  ST_FIRST(p, x, 0x1.a7dcaa1463207p-3) \
  ST_NEXT(p, x, 0x1.d864d847be42ap-3) \
  ST_NEXT(p, x, 0x1.17460a49b91c3p-2) \
  ST_NEXT(p, x, 0x1.555555195ab5ep-2) \
  ST_NEXT(p, x, 0x1.b6db6db6fa79cp-2) \
  ST_NEXT(p, x, 0x1.3333333333303p-1)

#define LOG_ERFC_BASE K(0x1.06p-13, 0x1.860ap-27)
#define LOG_ERFC_SLOPE K(-0x1.211756p0, -0x1.20dd77b10ef51p0)

#endif
