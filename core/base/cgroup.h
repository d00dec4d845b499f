/* What the control groups of Linux leave to this process. */
#ifndef ST_BASE_CGROUP_H
#define ST_BASE_CGROUP_H

#include <stdint.h>

/* Processors that the quotas amount to, rounded up; 0: there is no quota. The
 * files are looked for below `root`, which is "" but in tests. */
int st__cgroup_cpus(const char *root);
/* Bytes of memory that they allow; 0: they do not say. */
int64_t st__cgroup_memory(const char *root);

#endif
