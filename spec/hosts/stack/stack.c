/* A C program that runs a script on a thread whose stack has a given size. It
 * fills the stack with a pattern, so that the script can ask how much of it a
 * call has used. The page below the stack cannot be accessed: a call that needs
 * more ends the process.
 *
 *     stack KILOBYTES SCRIPT
 *
 * Functions of the script: paint() fills the unused part of the stack, used()
 * returns how many bytes have been used since.
 */
#define _GNU_SOURCE

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

enum { PATTERN = 0x5a, GUARD = 1 << 16, OWN_FRAME = 512 };

static volatile char *low;
static size_t size;

static int paint(lua_State *L) {
  const uintptr_t end = (uintptr_t)__builtin_frame_address(0) - OWN_FRAME;
  (void)L;
  for (volatile char *p = low; (uintptr_t)p < end; p++) *p = PATTERN;
  return 0;
}

static int used(lua_State *L) {
  size_t free = 0;
  while (low[free] == PATTERN) free++;
  lua_pushnumber(L, (lua_Number)(size - free));
  return 1;
}

static void *run(void *script) {
  lua_State *L = luaL_newstate();
  if (!L) return NULL;
  luaL_openlibs(L);
  lua_register(L, "paint", paint);
  lua_register(L, "used", used);
  const int failed = luaL_loadfile(L, script) || lua_pcall(L, 0, 0, 0);
  if (failed) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return failed ? NULL : script;
}

int main(int argc, char **argv) {
  pthread_attr_t attr;
  pthread_t thread;
  void *result = NULL;
  if (argc != 3) return 2;
  size = (size_t)atoi(argv[1]) * 1024;
  char *memory = mmap(NULL, size + GUARD, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, GUARD, PROT_NONE)) return 2;
  low = memory + GUARD;
  pthread_attr_init(&attr);
  if (pthread_attr_setstack(&attr, memory + GUARD, size) ||
      pthread_create(&thread, &attr, run, argv[2])) {
    return 2;
  }
  pthread_join(thread, &result);
  return result ? 0 : 1;
}
