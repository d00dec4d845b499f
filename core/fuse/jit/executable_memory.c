/* Executable pages. They are written first and made executable afterwards,
 * because some systems refuse pages that are both writable and executable.
 */
#include "fuse/jit/executable_memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/call_limits.h"

void *st__exec_pages_new(const void *code, size_t n, size_t *size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  *size = (n + page - 1) / page * page;
  void *pages = mmap(NULL, *size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return NULL;
  memcpy(pages, code, n);
  if (mprotect(pages, *size, PROT_READ | PROT_EXEC) == 0 &&
      st__charge_block(pages, *size)) {
    return pages;
  }
  munmap(pages, *size);
  return NULL;
}

void st__exec_pages_free(void *pages, size_t size) {
  st__credit_block(pages);
  munmap(pages, size);
}
