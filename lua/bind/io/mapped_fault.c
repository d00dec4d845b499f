/* Faults of mapped files: a Lua error instead of the end of the process.
 *
 * Note [Truncated files]
 * An access to a mapped page that the file no longer has, because another
 * program truncated it, or that the disk cannot read or has no room for, is
 * SIGBUS, which ends the process. The handler puts zeros in place of the rest
 * of the mapping, so that the kernel, on whatever thread, comes to its end. The
 * call then raises an error, once for each fault: the zeros may be used after
 * it. It is the call that is the first to return, which on several threads need
 * not be the one with the fault. A call that fails says it behind its message,
 * since it may have failed because of the zeros.
 *
 * What is written to such a page never reaches the file. So all calls with a
 * tensor of a mapping that writes to its file ("r+", st.create) raise an error
 * once it is lost, as long as it is mapped. Only then do calls look at their
 * tensors.
 *
 * The handler is installed with the first mapping; faults elsewhere go to the
 * handler that was there before.
 */

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "io/io.h"

static struct sigaction earlier;

static bool (*_Atomic replace_rest)(uintptr_t p);

/* As if this handler were not there. */
static void pass_on(int sig, siginfo_t *info, void *context) {
  if (earlier.sa_flags & SA_SIGINFO) {
    earlier.sa_sigaction(sig, info, context);
  } else if (earlier.sa_handler == SIG_DFL ||
             (earlier.sa_handler == SIG_IGN && info->si_code > 0)) {
    signal(sig, SIG_DFL);
    raise(sig); /* comes when the handler returns */
  } else if (earlier.sa_handler != SIG_IGN) {
    earlier.sa_handler(sig);
  }
}

static void on_fault(int sig, siginfo_t *info, void *context) {
  const int error = errno;
  if (info->si_code > 0 &&
      atomic_load(&replace_rest)((uintptr_t)info->si_addr)) {
    st__note_lost_pages();
  } else {
    pass_on(sig, info, context);
  }
  errno = error;
}

static void install(void) {
  struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
  ours.sa_sigaction = on_fault;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, &earlier);
}

void st__catch_faults(bool (*replace)(uintptr_t p)) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  atomic_store(&replace_rest, replace);
  pthread_once(&once, install);
}
