/* Limits that Linux control groups set for this process. */
#ifndef ST_OS_CGROUP_H
#define ST_OS_CGROUP_H

#include <stdint.h>

/* The CPU quota in processors, rounded up; 0 if there is none. `root` is put
 * in front of all file names; it is "" except in tests. */
int st__cgroup_cpus(const char *root);
/* The memory limit in bytes; 0 if there is none. */
int64_t st__cgroup_memory(const char *root);

#endif
