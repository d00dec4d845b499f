/* Observers that only measure, such as a profile. A fused function runs under
 * them as it does without them, so they do not see the calls that are one loop.
 */
#ifndef ST_DISPATCH_WATCH_H
#define ST_DISPATCH_WATCH_H

#include "abi/types.h"
#include "abi/strided_dispatch.h"

/* As st__is_isolated_thread, but observers that only measure are permitted. */
bool st__may_fuse(void);

#endif
