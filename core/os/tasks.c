/* Counts the threads of this process.
 */

#include "os/tasks.h"

#include <stdio.h>

int st__count_tasks(void) {
  FILE *const file = fopen("/proc/self/status", "re");
  char line[128];
  int n = 0;
  if (!file) return 0;
  while (n == 0 && fgets(line, sizeof line, file)) {
    if (sscanf(line, "Threads: %d", &n) != 1) n = 0;
  }
  fclose(file);
  return n;
}
