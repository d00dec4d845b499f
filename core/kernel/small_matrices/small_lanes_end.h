/* The end of what small_lanes.h defines.
 */
#undef NAME
#undef NAME2
#undef NAME_
#undef EACH
#undef WIDE
#undef T
#undef I
#undef LANES
#undef TAG
