/* Reads the CPU and memory limits of the process's control groups, versions 1
 * and 2.
 *
 * /proc/self/cgroup names one folder per hierarchy. The limits of its parent
 * folders apply, too, so all folders up to the root of the hierarchy are read,
 * and the smallest limit is used. Inside a container the path may exist on the
 * host only: missing folders are skipped, and the root that the container
 * sees is its own folder.
 */

#include "os/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4096 + 256 };

/* -- Quotas --------------------------------------------------------------- */

/* Reads the first line of a file; false if there is none. */
static int read_line(const char *folder, const char *name, char *line,
                     int size) {
  char path[PATH_SIZE + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  const int ok = fgets(line, size, f) != NULL;
  fclose(f);
  return ok;
}

/* Parses "quota period", rounds up; 0 for "max 100000" or -1: no quota. */
static int64_t count_cpus(const char *quota_and_period) {
  long long quota, period;
  if (sscanf(quota_and_period, "%lld %lld", &quota, &period) != 2) return 0;
  if (quota < 1 || period < 1) return 0;
  return (quota - 1) / period + 1;
}

static int64_t cpus_of(const char *folder) {
  char quota[64], period[64], both[160];
  if (read_line(folder, "cpu.max", both, sizeof both)) return count_cpus(both);
  if (!read_line(folder, "cpu.cfs_quota_us", quota, sizeof quota) ||
      !read_line(folder, "cpu.cfs_period_us", period, sizeof period)) {
    return 0;
  }
  snprintf(both, sizeof both, "%s %s", quota, period);
  return count_cpus(both);
}

/* Version 1 reports a number close to 2^63 if there is no limit. */
static int64_t memory_of(const char *folder) {
  char line[64];
  long long bytes = 0;
  if ((read_line(folder, "memory.max", line, sizeof line) ||
       read_line(folder, "memory.limit_in_bytes", line, sizeof line)) &&
      sscanf(line, "%lld", &bytes) != 1) {
    bytes = 0;
  }
  return bytes > 0 && bytes < INT64_MAX >> 1 ? bytes : 0;
}

/* A controller; quota_of reads its quota in a folder, 0 if there is none. */
typedef struct controller {
  const char *name;
  int64_t (*quota_of)(const char *folder);
} controller;

static int64_t smaller(int64_t a, int64_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

/* -- Hierarchies ---------------------------------------------------------- */

/* The smallest quota of the folders from top/path up to top. */
static int64_t smallest_quota(const controller *c, const char *top,
                              const char *path) {
  char folder[PATH_SIZE];
  const size_t shortest = strlen(top);
  const int n = snprintf(folder, sizeof folder, "%s%s", top, path);
  if (n < 0 || n >= (int)sizeof folder) return 0;
  int64_t quota = c->quota_of(folder);
  while (strlen(folder) > shortest) {
    *strrchr(folder, '/') = 0;
    quota = smaller(quota, c->quota_of(folder));
  }
  return quota;
}

static int list_has(const char *controllers, const char *name) {
  for (const char *c = controllers; *c; c += *c == ',') {
    const size_t n = strcspn(c, ",");
    if (n == strlen(name) && memcmp(c, name, n) == 0) return 1;
    c += n;
  }
  return 0;
}

/* Parses a line "id:controllers:/path". The list of controllers is empty for
 * version 2, which is mounted at "unified" if version 1 is in use as well. */
static int64_t quota_of_line(const controller *c, const char *root,
                             char *line) {
  char top[512];
  char *controllers = strchr(line, ':');
  char *path = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!path || path[1] != '/') return 0;
  *controllers++ = *path++ = 0;
  path[strcspn(path, "\n")] = 0;
  if (*controllers && !list_has(controllers, c->name)) return 0;
  const char *const names[] = {*controllers ? controllers : "",
                               *controllers ? c->name : "unified"};
  int64_t quota = 0;
  for (int i = 0; i < 2; i++) {
    snprintf(top, sizeof top, "%s/sys/fs/cgroup%s%.100s", root,
             *names[i] ? "/" : "", names[i]);
    quota = smaller(quota, smallest_quota(c, top, path));
  }
  return quota;
}

static int64_t quota(const controller *c, const char *root) {
  char path[512], line[PATH_SIZE];
  int64_t result = 0;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  while (fgets(line, sizeof line, f)) {
    result = smaller(result, quota_of_line(c, root, line));
  }
  fclose(f);
  return result;
}

int st__cgroup_cpus(const char *root) {
  const int64_t cpus = quota(&(controller){"cpu", cpus_of}, root);
  return cpus > INT_MAX ? INT_MAX : (int)cpus;
}

int64_t st__cgroup_memory(const char *root) {
  return quota(&(controller){"memory", memory_of}, root);
}
