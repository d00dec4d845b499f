/* Observers that only measure, such as a profile. A fused function runs under
 * them as it does without them, so they do not see the calls that are one loop.
 */
#ifndef ST_DISPATCH_WATCH_H
#define ST_DISPATCH_WATCH_H

#include "abi/types.h"

/* As st__observe and st__unobserve. Each st__watch needs one st__unwatch. */
void st__watch(st_observer *o);
void st__unwatch(st_observer *o);
/* As st__is_isolated, but observers that only measure are permitted. */
bool st__may_fuse(void);

#endif
