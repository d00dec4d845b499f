/* Binary search in sorted sequences: searchsorted, bucketize.
 */
#ifndef ST_OP_SORT_SEARCHSORTED_H
#define ST_OP_SORT_SEARCHSORTED_H

#include "op/registry/op.h"

st_status st__searchsorted_meta(st_run *r);
st_status st__bucketize_meta(st_run *r); /* arguments 0 and 1 swapped */
st_status st__searchsorted_impl(st_run *r); /* both */

#endif
