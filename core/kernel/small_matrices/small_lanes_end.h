/* The end of what small_lanes.h defines.
 */
#undef T
#undef I
#undef LANES
#undef TAG
