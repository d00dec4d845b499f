/* Runs loops on a second stack where the thread's own is small: Note [The
 * stack of a loop].
 */

#include "os/stack.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* AddressSanitizer and ThreadSanitizer do not follow a change of stacks. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SWITCHES false
#else
#define SWITCHES true
#endif

enum {
  ENOUGH = 448 << 10,  /* bytes that a loop may need, with its callees */
  SECOND = 1024 << 10  /* bytes of the second stack, used as needed */
};

typedef struct thread_stack {
  bool is_read, is_second;  /* is_second: the second stack is in use */
  uintptr_t low, high;      /* bounds of the first; 0 if not known */
} thread_stack;

static _Thread_local thread_stack self;

/* -- Bounds --------------------------------------------------------------- */

static void read_bounds(thread_stack *s) {
  pthread_attr_t attr;
  void *low;
  size_t size, guard = 0;
  s->is_read = true;
  if (pthread_getattr_np(pthread_self(), &attr) != 0) return;
  if (pthread_attr_getstack(&attr, &low, &size) == 0) {
    pthread_attr_getguardsize(&attr, &guard);
    s->low = (uintptr_t)low + guard;
    s->high = (uintptr_t)low + size;
  }
  pthread_attr_destroy(&attr);
}

bool st__stack_is_large(void) {
  const uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
  thread_stack *s = &self;
  if (!SWITCHES) return true;
  if (!s->is_read) read_bounds(s);
  return sp >= s->high || sp < s->low || sp - s->low >= ENOUGH ||
         s->is_second;
}

bool st__on_second_stack(void) { return self.is_second; }

/* -- The second stack ----------------------------------------------------- */

static pthread_key_t key;
static bool has_key;

static void unmap(void *p) { munmap(p, SECOND); }
static void make_key(void) {
  has_key = pthread_key_create(&key, unmap) == 0;
}

/* The thread's second stack, whose lowest page cannot be accessed; NULL if it
 * cannot be mapped. */
static char *second_stack(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_key);
  if (!has_key) return NULL;
  char *p = pthread_getspecific(key);
  if (p) return p;
  p = mmap(NULL, SECOND, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  if (mprotect(p, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE) != 0 ||
      pthread_setspecific(key, p) != 0) {
    unmap(p);
    return NULL;
  }
  return p;
}

typedef struct switched {
  void (*fn)(void *arg);
  void *arg;
  ucontext_t before, after;
} switched;

static _Thread_local switched *current;

static void run_switched(void) { current->fn(current->arg); }

static __attribute__((noinline)) void run_on(char *stack,
                                             void (*fn)(void *arg),
                                             void *arg) {
  switched s = {.fn = fn, .arg = arg};
  if (getcontext(&s.after) != 0) {
    fn(arg);
    return;
  }
  s.after.uc_stack.ss_sp = stack;
  s.after.uc_stack.ss_size = SECOND;
  s.after.uc_link = &s.before;
  makecontext(&s.after, run_switched, 0);
  current = &s;
  self.is_second = true;
  swapcontext(&s.before, &s.after);
  self.is_second = false;
}

void st__on_large_stack(void (*fn)(void *arg), void *arg) {
  char *stack = st__stack_is_large() ? NULL : second_stack();
  if (stack) run_on(stack, fn, arg);
  else fn(arg);
}
