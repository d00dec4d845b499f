/* Norms and standard deviations of elements whose powers leave the range of
 * doubles.
 *
 * Note [Sums that leave the range]
 * The square of 1e160 is infinite and that of 1e-170 is 0, but norms and
 * standard deviations of such elements are numbers. The step that finishes a
 * sum of powers notes whether one has over- or underflowed; then, and only
 * then, the elements of such a sum are read again and divided by one that is
 * about as large as the greatest (or the least, for negative powers). A sum
 * that is small because its elements are 0, or all equal for a deviation, is
 * found by comparing their bits. Results of other sums keep their bits. The
 * meta functions let them be written apart from a given output, which may share
 * memory with the input, and stays as it is if the second reading fails.
 */
#ifndef ST_OP_REDUCE_SUMS_OUT_OF_RANGE_H
#define ST_OP_REDUCE_SUMS_OUT_OF_RANGE_H

#include "op/reduce/reduction.h"

/* Sums of powers below it may have lost bits of terms that underflowed. */
#define ST_LEAST_SUM 1e-290

/* True if a sum of powers has left the range. */
static inline bool st__is_out_of_range(double sum) {
  return sum < ST_LEAST_SUM || sum > 1.7976931348623157e308;
}

/* Corrects the norms of order p, or the standard deviations, in out[0] whose
 * sums have left the range. */
st_status st__norm_out_of_range(st_run *r, double p);
st_status st__std_out_of_range(st_run *r, double correction);

#endif
