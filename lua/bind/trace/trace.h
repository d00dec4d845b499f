/* The room of traces: what calls did, what an operator is, fused functions.
 */
#ifndef ST_LUA_TRACE_TRACE_H
#define ST_LUA_TRACE_TRACE_H

#include "call/call.h"
#include "state/profile.h"

#define ST_TRACE_OPENERS(X) \
  X(inspect) X(explain) X(dispatch_trace) X(profile) X(fused_function)
ST_TRACE_OPENERS(ST_DECLARE_OPENER)

#endif
