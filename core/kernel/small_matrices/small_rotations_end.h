/* The end of what small_rotations.h defines.
 */
#undef IS_SINGLE
#undef EPS
#undef ROOT_EPS
#undef LEAST
