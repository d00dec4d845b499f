/* Polynomials of functions.def, as bench/accuracy/minimax.py prints them, by
 * the Remez exchange algorithm (E. Y. Remez, Sur la determination des polynomes
 * d'approximation de degre donnee, 1934). A list has the coefficients from the
 * highest degree on: POLYNOMIAL(p, x, NAME) declares p, their value at x.
 */
#ifndef ST_KERNEL_POLYNOMIALS_H
#define ST_KERNEL_POLYNOMIALS_H

#define ST_FIRST(p, x, c) T p = c;
#define ST_NEXT(p, x, c) p = FMA(p, x, c);

/* Horner's rule, for 2 to 19 coefficients. */
#define ST_HORNER(p, x, c, ...) \
  ST_FIRST(p, x, c) ST_NTH(__VA_ARGS__, 18, 17, 16, 15, 14, 13, 12, 11, 10, \
                           9, 8, 7, 6, 5, 4, 3, 2, 1, 0)(p, x, __VA_ARGS__)
#define ST_NTH(a, b, c, d, e, f, g, h, i, j, k, l, m, o, q, r, s, t, n, ...) \
  ST_H##n
#define ST_H1(p, x, c) ST_NEXT(p, x, c)
#define ST_H2(p, x, c, ...) ST_NEXT(p, x, c) ST_H1(p, x, __VA_ARGS__)
#define ST_H3(p, x, c, ...) ST_NEXT(p, x, c) ST_H2(p, x, __VA_ARGS__)
#define ST_H4(p, x, c, ...) ST_NEXT(p, x, c) ST_H3(p, x, __VA_ARGS__)
#define ST_H5(p, x, c, ...) ST_NEXT(p, x, c) ST_H4(p, x, __VA_ARGS__)
#define ST_H6(p, x, c, ...) ST_NEXT(p, x, c) ST_H5(p, x, __VA_ARGS__)
#define ST_H7(p, x, c, ...) ST_NEXT(p, x, c) ST_H6(p, x, __VA_ARGS__)
#define ST_H8(p, x, c, ...) ST_NEXT(p, x, c) ST_H7(p, x, __VA_ARGS__)
#define ST_H9(p, x, c, ...) ST_NEXT(p, x, c) ST_H8(p, x, __VA_ARGS__)
#define ST_H10(p, x, c, ...) ST_NEXT(p, x, c) ST_H9(p, x, __VA_ARGS__)
#define ST_H11(p, x, c, ...) ST_NEXT(p, x, c) ST_H10(p, x, __VA_ARGS__)
#define ST_H12(p, x, c, ...) ST_NEXT(p, x, c) ST_H11(p, x, __VA_ARGS__)
#define ST_H13(p, x, c, ...) ST_NEXT(p, x, c) ST_H12(p, x, __VA_ARGS__)
#define ST_H14(p, x, c, ...) ST_NEXT(p, x, c) ST_H13(p, x, __VA_ARGS__)
#define ST_H15(p, x, c, ...) ST_NEXT(p, x, c) ST_H14(p, x, __VA_ARGS__)
#define ST_H16(p, x, c, ...) ST_NEXT(p, x, c) ST_H15(p, x, __VA_ARGS__)
#define ST_H17(p, x, c, ...) ST_NEXT(p, x, c) ST_H16(p, x, __VA_ARGS__)
#define ST_H18(p, x, c, ...) ST_NEXT(p, x, c) ST_H17(p, x, __VA_ARGS__)

/* error 2^-28.3 */
#define EXP_f4(p, x) \
  ST_HORNER(p, x, 0x1.6db47ap-10f, 0x1.123b56p-7f, 0x1.55545ep-5f, \
            0x1.55548ep-3f, 0x1p-1f)

/* error 2^-58.0 */
#define EXP_f8(p, x) \
  ST_HORNER(p, x, 0x1.af85bdbfbcde1p-26, 0x1.28b047cf05e8p-22, \
            0x1.71dddfa51c03fp-19, 0x1.a019969553b99p-16, \
            0x1.a01a01baf5c3ep-13, 0x1.6c16c185a6a6cp-10, \
            0x1.111111110d5fap-7, 0x1.5555555550034p-5, 0x1.5555555555561p-3, \
            0x1.000000000000bp-1)

/* error 2^-30.0 */
#define EXPM1_f4(p, x) \
  ST_HORNER(p, x, 0x1.a377f2p-13f, 0x1.6f3606p-10f, 0x1.110e9p-7f, \
            0x1.5551bcp-5f, 0x1.555558p-3f, 0x1.000002p-1f)

/* error 2^-63.2 */
#define EXPM1_f8(p, x) \
  ST_HORNER(p, x, 0x1.62cb4bc0f1e38p-33, 0x1.204aaef6c9e32p-29, \
            0x1.ae630b3e53345p-26, 0x1.27e40fb6f517dp-22, \
            0x1.71de3ad8aa58ep-19, 0x1.a01a023c96ce1p-16, \
            0x1.a01a019fe344fp-13, 0x1.6c16c16be24abp-10, \
            0x1.11111111111c4p-7, 0x1.5555555555658p-5, 0x1.5555555555555p-3, \
            0x1p-1)

/* error 2^-28.0 */
#define EXP2_f4(p, x) \
  ST_HORNER(p, x, 0x1.446ca2p-13f, 0x1.5f08c4p-10f, 0x1.3b29e4p-7f, \
            0x1.c6af6cp-5f, 0x1.ebfbep-3f, 0x1.62e43p-1f)

/* error 2^-63.4 */
#define EXP2_f8(p, x) \
  ST_HORNER(p, x, 0x1.c4c8ea1553088p-36, 0x1.e9ec3f39efd38p-32, \
            0x1.e4cef6834cd5cp-28, 0x1.b524ebbf6efb8p-24, \
            0x1.62c022494f413p-20, 0x1.ffcbfc6dade6bp-17, \
            0x1.430912f86a0cbp-13, 0x1.5d87fe78a3f8ap-10, \
            0x1.3b2ab6fba4e7dp-7, 0x1.c6b08d704a0c6p-5, 0x1.ebfbdff82c58fp-3, \
            0x1.62e42fefa39efp-1)

/* error 2^-29.2 */
#define LOG_f4(p, x) \
  ST_HORNER(p, x, 0x1.31e38ap-2f, 0x1.995eb6p-2f, 0x1.55557ap-1f)

/* error 2^-58.5 */
#define LOG_f8(p, x) \
  ST_HORNER(p, x, 0x1.2f070bf28d91cp-3, 0x1.39a192a45ab4cp-3, \
            0x1.7466406143781p-3, 0x1.c71c5202963fep-3, 0x1.24924941f9018p-2, \
            0x1.999999997fd31p-2, 0x1.5555555555592p-1)

/* error 2^-30.4 */
#define LOG_SERIES_f4(p, x) \
  ST_HORNER(p, x, 0x1.1b415p-4f, -0x1.e2e922p-4f, 0x1.e651p-4f, \
            -0x1.fb4348p-4f, 0x1.2332bap-3f, -0x1.5562e2p-3f, 0x1.99a546p-3f, \
            -0x1.ffffeep-3f, 0x1.555546p-2f, -0x1p-1f)

/* error 2^-27.9 */
#define TANH_f4(p, x) \
  ST_HORNER(p, x, -0x1.7c21a8p-12f, 0x1.2f7dfep-9f, -0x1.050102p-7f, \
            0x1.603f02p-6f, -0x1.b96b28p-5f, 0x1.110c3cp-3f, -0x1.55553ep-2f)

/* error 2^-58.4 */
#define TANH_f8(p, x) \
  ST_HORNER(p, x, 0x1.dcf63365eead9p-15, -0x1.c8f99a2e6afc8p-13, \
            0x1.31d6595df4d8cp-11, -0x1.7d49d69f90646p-10, \
            0x1.d6ce08bf06a4p-9, -0x1.226e16a641de7p-7, 0x1.664f47b82caf9p-6, \
            -0x1.ba1ba1b71a7c3p-5, 0x1.111111110e3d4p-3, \
            -0x1.5555555555538p-2)

/* error 2^-34.0 */
#define SINH_f4(p, x) \
  ST_HORNER(p, x, 0x1.7a2674p-19f, 0x1.9ffe12p-13f, 0x1.111136p-7f, \
            0x1.555556p-3f)

/* error 2^-63.2 */
#define SINH_f8(p, x) \
  ST_HORNER(p, x, 0x1.b4cf78d24bap-41, 0x1.611a3a203c492p-33, \
            0x1.ae64676689f51p-26, 0x1.71de3a45f722ep-19, \
            0x1.a01a01a0291fcp-13, 0x1.11111111110a1p-7, \
            0x1.5555555555556p-3)

/* error 2^-29.3 */
#define ERF_f4(p, x) \
  ST_HORNER(p, x, -0x1.6279e6p-11f, 0x1.4f47fp-8f, -0x1.b7abfap-6f, \
            0x1.ce2af4p-4f, -0x1.81273ap-2f, 0x1.06eba8p-3f)

/* error 2^-60.1 */
#define ERF_f8(p, x) \
  ST_HORNER(p, x, 0x1.8a4a7a4f26294p-27, -0x1.5653e4f265a83p-23, \
            0x1.b90f779a360bbp-20, -0x1.f4c5ecd7e6142p-17, \
            0x1.f9a2b0582fa69p-14, -0x1.c02db127a3ed7p-11, \
            0x1.565bcd038075ap-8, -0x1.b82ce31257d6bp-6, \
            0x1.ce2f21a0424ddp-4, -0x1.812746b0379ep-2, 0x1.06eba8214db69p-3)

/* error 2^-31.7 */
#define LOG_ERFC_f4(p, x) \
  ST_HORNER(p, x, -0x1.2c693ep-16f, 0x1.a237e2p-12f, -0x1.0676dcp-8f, \
            0x1.94ad76p-6f, -0x1.b8f8f4p-4f, -0x1.448c8p-1f)

/* error 2^-61.0 */
#define LOG_ERFC_f8(p, x) \
  ST_HORNER(p, x, -0x1.f77af36c7bd9ep-43, 0x1.80cc47fa5a90ap-37, \
            -0x1.1544bbbeb555ep-32, 0x1.f4e0c8fef7d5dp-29, \
            -0x1.3dce417a8229bp-25, 0x1.2c9487096aeb8p-22, \
            -0x1.b5d69cb1ce39fp-20, 0x1.f261ac0d30706p-18, \
            -0x1.b97f05e71e0c6p-16, 0x1.25575a71e4bdbp-14, \
            -0x1.fd335591eb837p-14, 0x1.4bf7c0aea1dfep-15, \
            0x1.155c6783de02p-11, -0x1.b09c4ad14b0eap-10, \
            0x1.7d48881f0c166p-13, 0x1.399b91e619ddbp-6, \
            -0x1.a4f974d5f93dep-4, -0x1.45f2e37aaaeefp-1)

/* error 2^-27.9 */
#define ERFC_f4(p, x) \
  ST_HORNER(p, x, -0x1.8c297ap-11f, -0x1.898d2ep-12f, 0x1.996a54p-8f, \
            -0x1.ae91dap-6f, 0x1.38c986p-4f, -0x1.646b06p-3f, 0x1.52cad6p-2f)

/* error 2^-57.9 */
#define ERFC_f8(p, x) \
  ST_HORNER(p, x, 0x1.1ca49f267ec3bp-30, -0x1.707e42a9e37a9p-32, \
            -0x1.08b6caa9e4c5cp-26, 0x1.54cac8fb57db4p-29, \
            0x1.0a134ab5a52a3p-23, -0x1.4e44e8d74a1fep-24, \
            -0x1.c62757e4f3bd1p-21, 0x1.7ec9e0159270ap-20, \
            0x1.3b06dcd74de65p-18, -0x1.3c7298c7f27e5p-16, \
            -0x1.e7e5c5bde5af8p-19, 0x1.72cdcc7dbb098p-13, \
            -0x1.dd284734f333dp-12, -0x1.269b559bfabcap-12, \
            0x1.908f47299a729p-8, -0x1.b00c052aa44c4p-6, \
            0x1.38dbd2c8da291p-4, -0x1.645fd8a4bf2ddp-3, \
            0x1.52cac237102dfp-2)

/* error 2^-7.1 */
#define ERFC_BEND_f4(p, x) \
  ST_HORNER(p, x, 0x1.031838p0f, -0x1.953202p0f, 0x1.e32c3ep0f)

/* error 2^-5.8 */
#define ERFC_BEND_f8(p, x) \
  ST_HORNER(p, x, 0x1.c12b958815fd2p-1, -0x1.a5e3b6108287ap0, \
            0x1.e80961d3b3fadp0)

/* error 2^-29.6 */
#define ATAN_f4(p, x) \
  ST_HORNER(p, x, -0x1.dd1bc4p-5f, 0x1.adccf8p-4f, -0x1.236e08p-3f, \
            0x1.998dep-3f, -0x1.555542p-2f)

/* error 2^-57.7 */
#define ATAN_f8(p, x) \
  ST_HORNER(p, x, -0x1.0ab1f6c91dbcdp-6, 0x1.2b3338ea9d2c5p-5, \
            -0x1.97ad44ff6273ap-5, 0x1.dde1016a08562p-5, \
            -0x1.10d6465c1022fp-4, 0x1.3b0f27785274dp-4, \
            -0x1.745cdc1c7bb5bp-4, 0x1.c71c6fdffca1bp-4, \
            -0x1.2492492001cafp-3, 0x1.999999998ea9p-3, \
            -0x1.555555555550cp-2)

/* error 2^-27.6 */
#define ASIN_f4(p, x) \
  ST_HORNER(p, x, 0x1.59f55cp-5f, 0x1.8b84bep-6f, 0x1.748f36p-5f, \
            0x1.330134p-4f, 0x1.5555cap-3f)

/* error 2^-55.9 */
#define ASIN_f8(p, x) \
  ST_HORNER(p, x, 0x1.05fe6ee765cfbp-5, -0x1.0b7eec58edd7ep-6, \
            0x1.41086ee1ba8e2p-6, 0x1.aa37598bc2fbbp-8, 0x1.8ef2c30dc6656p-7, \
            0x1.c6f6621db27b5p-7, 0x1.1c6c42809f443p-6, 0x1.6e89edbd710adp-6, \
            0x1.f1c72c7f6ac46p-6, 0x1.6db6db419cfc1p-5, 0x1.333333336fdbap-4, \
            0x1.5555555555384p-3)

/* error 2^-37.6 */
#define SIN_f4(p, x) \
  ST_HORNER(p, x, 0x1.6cd5f2p-19f, -0x1.a00f94p-13f, 0x1.111108p-7f, \
            -0x1.555556p-3f)

/* error 2^-68.8 */
#define SIN_f8(p, x) \
  ST_HORNER(p, x, -0x1.aaa3812ccdbep-41, 0x1.61208f33d248p-33, \
            -0x1.ae645292e11d4p-26, 0x1.71de3a5335633p-19, \
            -0x1.a01a01a018ab3p-13, 0x1.111111111110bp-7, \
            -0x1.5555555555555p-3)

/* error 2^-33.3 */
#define COS_f4(p, x) \
  ST_HORNER(p, x, 0x1.99ff32p-16f, -0x1.6c0c82p-10f, 0x1.55554ap-5f)

/* error 2^-64.2 */
#define COS_f8(p, x) \
  ST_HORNER(p, x, -0x1.8facd02e518afp-37, 0x1.1ee9e88ea87b1p-29, \
            -0x1.27e4f80531162p-22, 0x1.a01a019cab714p-16, \
            -0x1.6c16c16c1514p-10, 0x1.555555555554cp-5)

/* error 2^-29.6 */
#define ASINH_f4(p, x) \
  ST_HORNER(p, x, -0x1.b20642p-7f, 0x1.cd9a8cp-6f, -0x1.6b9b5p-5f, \
            0x1.33252ap-4f, -0x1.555536p-3f)

/* error 2^-60.4 */
#define ASINH_f8(p, x) \
  ST_HORNER(p, x, 0x1.c2976024e9586p-10, -0x1.3736a407c2774p-8, \
            0x1.e95205253363ep-8, -0x1.386cec48c25fep-7, \
            0x1.794295cd3d67dp-7, -0x1.c973067d75a58p-7, \
            0x1.1c4d312061c93p-6, -0x1.6e8b8cc0f3fc7p-6, \
            0x1.f1c71baadb559p-6, -0x1.6db6db6baa28bp-5, \
            0x1.33333333307bfp-4, -0x1.5555555555541p-3)

/* error 2^-29.4 */
#define ATANH_f4(p, x) \
  ST_HORNER(p, x, 0x1.6b09dp-3f, 0x1.a14ac6p-5f, 0x1.e4c458p-4f, \
            0x1.2340dcp-3f, 0x1.99a734p-3f, 0x1.55553ep-2f)

/* error 2^-57.0 */
#define ATANH_f8(p, x) \
  ST_HORNER(p, x, 0x1.ce28525bcd44dp-3, -0x1.3c0c2cd59d365p-3, \
            0x1.2ae31edd781c7p-3, 0x1.cf88923755788p-7, 0x1.eafe10a900c3cp-5, \
            0x1.d8dfe0569f9c2p-5, 0x1.1189e709278c4p-4, 0x1.3b0af39c8bd6ep-4, \
            0x1.745d841eaa081p-4, 0x1.c71c6e62c8f0dp-4, 0x1.2492492c8903fp-3, \
            0x1.9999999986c9fp-3, 0x1.55555555555d2p-2)

/* error 2^-17.4 */
#define CBRT_f4(p, x) \
  ST_HORNER(p, x, -0x1.ba9ebap-4f, 0x1.4888b2p-3f, -0x1.6813d2p-3f, \
            0x1.c5d8e6p-3f, -0x1.55425cp-2f, 0x1.00004p0f)

/* error 2^-30.7 */
#define CBRT_f8(p, x) \
  ST_HORNER(p, x, 0x1.e6b27626e6e9ap-5, -0x1.9e2c8010233e5p-4, \
            0x1.9658cff8eb5a6p-4, -0x1.973150c114264p-4, \
            0x1.c3d08cbf00c86p-4, -0x1.ff5e371db1216p-4, \
            0x1.2706deffd1e61p-3, -0x1.61f9b9fee45a1p-3, \
            0x1.c71c4b44cb1acp-3, -0x1.555555349c6c6p-2, 0x1.0000000275b3cp0)

/* error 2^-42.9 */
#define LOG_QUOTIENT_f4(p, x) \
  ST_HORNER(p, x, 0x1.5b8bdp-2f, 0x1.b6d054p-2f, 0x1.333336p-1f)

/* error 2^-69.7 */
#define LOG_QUOTIENT_f8(p, x) \
  ST_HORNER(p, x, 0x1.a7dbef56e2343p-3, 0x1.d864de0a73db4p-3, \
            0x1.17460a4115e83p-2, 0x1.5555551966dacp-2, 0x1.b6db6db6fa71ep-2, \
            0x1.3333333333303p-1)

#define LOG_ERFC_BASE K(0x1.06p-13, 0x1.8604p-27)
#define LOG_ERFC_SLOPE K(-0x1.211756p0, -0x1.20dd77b163da3p0)
#define ERFC_0 K(0x1.18932cp0, 0x1.18932bf08e154p0)
#define ERFC_1 K(-0x1.f3fe34p-1, -0x1.f3fe31ecb49cp-1)
#define ERFC_2 K(0x1.8be204p-1, 0x1.8be202d26c702p-1)
#define ERFC_3 K(-0x1.14ea88p-1, -0x1.14eacb1ad02e1p-1)
#define ERFC_LOST K(-0x1.f623p-29, 0x1.0e7831ae8e474p-54)

#endif
