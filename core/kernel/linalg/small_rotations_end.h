/* The end of what small_rotations.h defines.
 */
#undef WIDE
#undef IS_SINGLE
#undef EPS
#undef ROOT_EPS
#undef LEAST
