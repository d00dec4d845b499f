/* Bessel functions, modified ones of the second kind, and the Airy function in
 * double precision.
 *
 * As in Cephes (Moshier, Methods and Programs for Mathematical Functions, 1989)
 * each has a range with a series in its argument and one with a series in the
 * reciprocal, here all of Chebyshev polynomials. The coefficients are those of
 * the interpolating polynomial at 64 nodes, computed with 50 digits. A function
 * of the second kind is a series and a logarithm times the first kind.
 */
#ifndef ST_KERNEL_MATH_BESSEL_AIRY_H
#define ST_KERNEL_MATH_BESSEL_AIRY_H

#include <math.h>

#include "kernel/math/bessel.h"

/* -- Coefficients, the highest first --------------------------------------- */

/* In x^2 / 32 - 1: j0(x), j1(x) / x, and the rests of y0(x) and y1(x) / x. */
static const double st_j0_near[17] = {
  1.2218515873961411e-17, -7.5885081254475459e-16, 4.1253205956343741e-14,
  -1.9438346867370164e-12, 7.8486963144794648e-11, -2.6792535305576728e-09,
  7.6081635924187821e-08, -1.7619469077621507e-06, 3.2460328821005083e-05,
  -0.00046062616620627504, 0.0048191800694676046, -0.034893769411408884,
  0.15806710233209725, -0.37009499387264977, 0.2651786132033368,
  -0.0087234423528522211, 0.31545594294978024};
static const double st_j1_near[17] = {
  3.6912682997929334e-19, -2.4441972916190464e-17, 1.4232144003513942e-15,
  -7.2217552396517734e-14, 3.1601545803480032e-12, -1.178026622695885e-10,
  3.6871337590971481e-09, -9.5219847567504361e-08, 1.9858774049915165e-06,
  -3.2555548668572587e-05, 0.0004050337728354822, -0.0036469406007692759,
  0.022213639654966037, -0.08268049176681791, 0.16099926235720971,
  -0.14897514506765211, 0.16208969265131623};
static const double st_y0_near[17] = {
  -2.6977881152566837e-17, 1.6434898714919468e-15, -8.7473412033107693e-14,
  4.0263308183061204e-12, -1.5837552541812015e-10, 5.2487947873305158e-09,
  -1.44072332740187e-07, 3.2065325376548008e-06, -5.6320791410569873e-05,
  0.0007531135932577742, -0.0072879624795520789, 0.04719668959576339,
  -0.17730201278114358, 0.26156734625504663, 0.17903431407718265,
  -0.27447430552974528, -0.066292226406569885};
static const double st_y1_near[17] = {
  -8.224911372021585e-19, 5.3466803857286703e-17, -3.0511859694473254e-15,
  1.51429151205002e-13, -6.4651518414115946e-12, 2.3443379059115162e-10,
  -7.1105500498992796e-09, 1.7707804556154404e-07, -3.5380800186893499e-06,
  5.5059828733387439e-05, -0.0006414551451326356, 0.0052898975441671133,
  -0.028328123944594365, 0.084451972596523456, -0.095912045360830742,
  -0.016087173047668751, 0.0050760264714835631};

/* In 128 / x^2 - 1: P and x Q of DLMF 10.18. */
static const double st_bessel_p0[13] = {
  1.6305919233744186e-17, -1.0011513723467786e-16, 6.7480722157338734e-16,
  -5.0690340959352359e-15, 4.3265957431549404e-14, -4.3045788699253914e-13,
  5.1682623873491928e-12, -7.8640913772370698e-11, 1.6306464635151382e-09,
  -5.1705945376060975e-08, 3.0751847875194745e-06, -0.00053652204681321172,
  1.9989206986950374};
static const double st_bessel_q0[16] = {
  1.0473158973776097e-18, -4.9528926298865157e-18, 2.4865952389390515e-17,
  -1.3348852171502517e-16, 7.7297031762426054e-16, -4.8799441053120397e-15,
  3.4041800321963686e-14, -2.6690625482579414e-13, 2.404916100281365e-12,
  -2.5653979367973079e-11, 3.3760975237349908e-10, -5.8175327494930561e-09,
  1.4377965798375193e-07, -5.9315987288485175e-06, 0.00054708159540893195,
  -0.24889367368539214};
static const double st_bessel_p1[13] = {
  -1.7312313216116335e-17, 1.0667689114335412e-16, -7.2211808422740179e-16,
  5.4526748960447171e-15, -4.6842237839904895e-14, 4.699195515230542e-13,
  -5.7048636403956448e-12, 8.8168986595823391e-11, -1.8718907491063067e-09,
  6.1776339606442988e-08, -3.9872843004889084e-06, 0.00089898983308594083,
  2.0018060817200274};
static const double st_bessel_q1[15] = {
  5.2192649196714085e-18, -2.6267615898385291e-17, 1.4141084390211833e-16,
  -8.2153180254585947e-16, 5.2066263662267069e-15, -3.6490019160618379e-14,
  2.8774212663332235e-13, -2.61145253946232e-12, 2.8121750359748866e-11,
  -3.7490909505415562e-10, 6.5833546621204433e-09, -1.6767825107266739e-07,
  7.3108922063643636e-06, -0.00077021788393256637, 0.74844459311256517};

/* In x^2 / 2 - 1: i0(x), i1(x) / x, and the rests of k0(x) and k1(x) / x. */
static const double st_i0_small[10] = {
  6.0905165060589554e-17, 1.984280622680562e-14, 5.1149979020112795e-12,
  1.0114797900674826e-09, 1.4738449008423848e-07, 1.4983654208927293e-05,
  0.00098287812725147993, 0.036854859694361759, 0.63880962565117705,
  3.2058456136159266};
static const double st_i1_small[10] = {
  3.0315021220933553e-18, 1.0962998348773076e-15, 3.1748793113101202e-13,
  7.1611066927992791e-11, 1.2138074968740922e-08, 1.4739165119093128e-06,
  0.00011988137174638708, 0.0058987426800207882, 0.14753932014919341,
  1.2835179939823749};
static const double st_k0_near[10] = {
  1.7966278703136082e-16, 5.6352146618418469e-14, 1.3895141631982779e-11,
  2.6056207418988497e-09, 3.5563825166277007e-07, 3.3247998700597626e-05,
  0.0019458946141853283, 0.061525778602440719, 0.787078990859296,
  1.6867954551544446};
static const double st_k1_near[10] = {
  -9.0921508800330666e-18, -3.1733487638923218e-15, -8.819221396228751e-13,
  -1.8945972239916101e-10, -3.0267041466557711e-08, -3.4112002554142968e-06,
  -0.00025132335864834032, -0.010725575310322739, -0.2114356597763456,
  -1.0178475690641651};

/* In 4 / x - 1: sqrt(x) exp(x) k(x). */
static const double st_k0_far[25] = {
  5.3004337711773354e-18, -1.6475805939842632e-17, 5.2103917776435543e-17,
  -1.6782311257549006e-16, 5.5120559994043335e-16, -1.8485933779209071e-15,
  6.3400764762766461e-15, -2.2275133267462965e-14, 8.0328907750683746e-14,
  -2.9800969231481784e-13, 1.1403405882073441e-12, -4.5145978833745193e-12,
  1.8559491149549264e-11, -7.9574892444773965e-11, 3.5773972814003283e-10,
  -1.6975345093890614e-09, 8.5740340174142253e-09, -4.6604898976879478e-08,
  2.7668136394450149e-07, -1.8317555227191195e-06, 1.39498137188765e-05,
  -0.00012849549581627802, 0.0015698838857300533, -0.031448101311964502,
  2.4403030820659555};
static const double st_k1_far[25] = {
  -5.7567444820733025e-18, 1.7940510478863572e-17, -5.6894628491936484e-17,
  1.8380935752430455e-16, -6.0570472706430177e-16, 2.038703166239861e-15,
  -7.0198370892147685e-15, 2.4771544242195988e-14, -8.9767051820101463e-14,
  3.3484196660522431e-13, -1.2891739609498229e-12, 5.1396396734823432e-12,
  -2.1299678384277909e-11, 9.2183151876053146e-11, -4.1903547593419254e-10,
  2.0150497551970347e-09, -1.0345762465678097e-08, 5.7410841254500495e-08,
  -3.5019606030878126e-07, 2.406484947837217e-06, -1.936197974166083e-05,
  0.00019521551847135162, -0.0028578168596227792, 0.10392373657681724,
  2.7206261904844427};

/* In (x + 1) / 3: Ai(x). */
static const double st_airy_near[32] = {
  3.4839894424594161e-18, -2.9502705833721254e-17, 3.5978991422145034e-17,
  9.5196501457001704e-16, -6.8950809278850354e-15, 4.8741837202287105e-15,
  2.0885896604502407e-13, -1.2805447574198059e-12, 2.6582413274795728e-13,
  3.5857642041278925e-11, -1.8343326708789198e-10, -5.1062451179042341e-11,
  4.6605527741638838e-09, -1.9495992841846798e-08, -1.4627095866197506e-08,
  4.388747958436033e-07, -1.4587201524168717e-06, -1.7594742389691562e-06,
  2.8167833107042442e-05, -7.1254992530606821e-05, -0.00011697538709676606,
  0.0011250768750654559, -0.0020196817905494225, -0.0041325916497489497,
  0.024051904281273857, -0.026814703186039963, -0.064187283063052492,
  0.20236324198370076, -0.095120140135030548, -0.25092438703233599,
  0.18996030881729123, 0.12157051370159452};

/* In 2 zeta(2) / zeta - 1: 2 sqrt(pi) x^(1/4) exp(zeta) Ai(x). */
static const double st_airy_far[25] = {
  4.2613499074124002e-18, -1.2969972135960937e-17, 4.0151263340158709e-17,
  -1.2655832256452891e-16, 4.0665820464562309e-16, -1.3338094674756683e-15,
  4.4723403933000248e-15, -1.5356466802223836e-14, 5.4101162570683925e-14,
  -1.9599793911089723e-13, 7.3207120951255979e-13, -2.8277067823193509e-12,
  1.1336099808224236e-11, -4.737267332192277e-11, 2.0745855483677591e-10,
  -9.5838637081127331e-10, 4.7097934400543277e-09, -2.4893194223220961e-08,
  1.436225340438052e-07, -9.2372297354039818e-07, 6.8347669755726903e-06,
  -6.1259542341782504e-05, 0.00073271774654267146, -0.014792784850104199,
  1.9688106098343103};

/* In 2 (zeta(4) / zeta)^2 - 1: P and zeta Q of DLMF 9.7.9. */
static const double st_airy_p[18] = {
  -5.6930843621137698e-18, 1.913939683718707e-17, -6.709077463464858e-17,
  2.4632810885752603e-16, -9.5239767849070643e-16, 3.9029451485408149e-15,
  -1.708757321110567e-14, 8.0716781107414672e-14, -4.1655288920103501e-13,
  2.3869274114924661e-12, -1.5518841909929856e-11, 1.1794620737908535e-10,
  -1.0938736172758127e-09, 1.3216283888528755e-08, -2.3162698135017581e-07,
  7.1811937743686453e-06, -0.00062168365843741163, 1.9987417781485557};
static const double st_airy_q[22] = {
  -6.1916696207832748e-19, 1.7706787947400164e-18, -5.2061295818384578e-18,
  1.5773435797781153e-17, -4.9375274403528065e-17, 1.6016711026585234e-16,
  -5.4030405414093075e-16, 1.9032114367198917e-15, -7.0344821126325798e-15,
  2.7441377308322258e-14, -1.1378513792256329e-13, 5.0590472378720842e-13,
  -2.4385297571082901e-12, 1.2923809452698712e-11, -7.6722909751150242e-11,
  5.2322853768344934e-10, -4.2477317329547258e-09, 4.3275373422984992e-08,
  -6.0140719129082983e-07, 1.3174151014089972e-05, -0.00060891518408326937,
  0.13764341112616002};

/* -- Functions ------------------------------------------------------------- */

/* The sum of a series at t, from -1 to 1. */
#define ST_SUM(table, t) \
  st_chebyshev(table, (int)(sizeof table / sizeof *table), (t) + (t))

/* sqrt(pi x) times the function of order 0 or 1 of the first or the second
 * kind, for x > 8: p and q are those of DLMF 10.17.3 and 10.17.4, with the
 * shift of the angle by a multiple of pi / 4 done exactly. */
static inline double st_bessel_wave(double x, int order, int is_second) {
  const double t = 128 / x / x - 1;
  const double p = order ? ST_SUM(st_bessel_p1, t) : ST_SUM(st_bessel_p0, t);
  const double q = (order ? ST_SUM(st_bessel_q1, t)
                          : ST_SUM(st_bessel_q0, t)) / x;
  const double s = sin(x), c = cos(x), more = s + c, less = s - c;
  if (order) return is_second ? q * less - p * more : p * less + q * more;
  return is_second ? p * less + q * more : p * more - q * less;
}

/* The function divided by the square root of pi x. */
static inline double st_bessel_far(double x, int order, int is_second) {
  return st_bessel_wave(x, order, is_second) /
         (sqrt(x) * 1.7724538509055160273);
}

/* The Bessel function of the first kind, of order 0 or 1. */
static inline double st_bessel_j(double x, int order) {
  const double y = fabs(x), t = y * y / 32 - 1;
  const int is_odd = order && x < 0;
  if (y > 8) return st_bessel_far(y, order, 0) * (is_odd ? -1 : 1);
  /* Exactly half of x may be a tie between two subnormal numbers. */
  if (order) return x * (y < 0x1p-60 ? 0.5 : ST_SUM(st_j1_near, t));
  return y < 0x1p-28 ? 1 : ST_SUM(st_j0_near, t);
}

/* The Bessel function of the second kind, of order 0 or 1. */
static inline double st_bessel_y(double x, int order) {
  const double two_over_pi = 0.63661977236758134308, t = x * x / 32 - 1;
  if (!(x > 0)) return x == 0 ? -INFINITY : NAN;
  if (x > 8) return st_bessel_far(x, order, 1);
  const double logs = two_over_pi * log(x) * st_bessel_j(x, order);
  if (!order) return logs + ST_SUM(st_y0_near, t);
  return logs + x * ST_SUM(st_y1_near, t) - two_over_pi / x;
}

/* The modified Bessel function of the second kind, of order 0 or 1, times
 * exp(x) if scaled. */
static inline double st_bessel_k(double x, int order, int scaled) {
  if (!(x > 0)) return x == 0 ? INFINITY : NAN;
  if (x > 2) {
    const double t = 4 / x - 1;
    const double sum = order ? ST_SUM(st_k1_far, t) : ST_SUM(st_k0_far, t);
    return sum / sqrt(x) * (scaled ? 1 : exp(-x));
  }
  const double t = x * x / 2 - 1, scale = scaled ? exp(x) : 1;
  if (!order) {
    return (ST_SUM(st_k0_near, t) - log(x) * ST_SUM(st_i0_small, t)) * scale;
  }
  return (1 / x + x * (ST_SUM(st_k1_near, t) +
                       log(x) * ST_SUM(st_i1_small, t))) * scale;
}

/* sin(x) / x */
static inline double st_spherical_j0(double x) {
  if (isinf(x)) return 0;
  return x == 0 ? 1 : sin(x) / x;
}

/* zeta = 2/3 x^(3/2) in two parts: the second is the rounding error of the
 * first, by which large zeta would change the exponential and the angle. */
static inline double st_airy_zeta(double x, double *rest) {
  const double root = sqrt(x), y = x * root, zeta = y / 1.5;
  const double root_rest = fma(-root, root, x) / (root + root);
  const double y_rest = fma(x, root, -y) + x * root_rest;
  *rest = (fma(-1.5, zeta, y) + y_rest) / 1.5;
  return zeta;
}

/* The Airy function Ai: by its series from -4 to 2, and beyond by those of
 * DLMF 9.7.5 and 9.7.9 in 1 / zeta. */
static inline double st_airy_ai(double x) {
  const double root_pi = 1.7724538509055160273;
  const double first = 3.7712361663282536959; /* zeta of 2 */
  double rest;
  if (isnan(x) || x == -(double)INFINITY) return NAN;
  if (x >= -4 && x <= 2) return ST_SUM(st_airy_near, (x + 1) / 3);
  if (x > 110) return 0;
  const double y = fabs(x), zeta = st_airy_zeta(y, &rest);
  const double size = root_pi * sqrt(sqrt(y));
  if (x > 0) {
    return ST_SUM(st_airy_far, first / zeta - 1) * exp(-zeta) * (1 - rest) /
           (size + size);
  }
  const double over = 5.333333333333333333 / zeta, t = 2 * over * over - 1;
  const double p = ST_SUM(st_airy_p, t), q = ST_SUM(st_airy_q, t) / zeta;
  const double s0 = sin(zeta), c0 = cos(zeta);
  const double s = s0 + c0 * rest, c = c0 - s0 * rest;
  return (p * (c + s) + q * (s - c)) / (size * 1.4142135623730950488);
}

#undef ST_SUM
#endif
