/* Prints the CPU quota of the files below a folder, compiled with the reader
 * itself.
 *
 *     cgroup ROOT
 */

#include <stdio.h>

#include "base/cgroup.h"

int main(int argc, char **argv) {
  printf("%d\n", st__cgroup_cpus(argc > 1 ? argv[1] : ""));
  return 0;
}
