/* The room of the process: threads, generators, memory, signals, terminals.
 */
#ifndef ST_LUA_PROCESS_PROCESS_H
#define ST_LUA_PROCESS_PROCESS_H

#include "value/value.h"

#define ST_PROCESS_OPENERS(X) \
  X(system) X(signal) X(terminal) X(child_process) X(memory) X(worker_threads) \
  X(devices)
ST_PROCESS_OPENERS(ST_DECLARE_OPENER)

#endif
