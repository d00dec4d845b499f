/* Prints what the files below a folder allow, processors and bytes of memory,
 * compiled with the reader itself.
 *
 *     cgroup ROOT
 */

#include <stdio.h>

#include "os/cgroup.h"

int main(int argc, char **argv) {
  const char *root = argc > 1 ? argv[1] : "";
  printf("%d %lld\n", st__cgroup_cpus(root),
         (long long)st__cgroup_memory(root));
  return 0;
}
