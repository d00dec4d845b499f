/* Note [Backing off from a slow team]
 * An OpenMP region ends when all members have arrived, including those without
 * work. Two things make members late, and so the time of regions is measured.
 *
 * A member whose region has ended spins for some milliseconds, then sleeps, and
 * waking it takes as long as 100,000 additions, or four times that where a
 * hypervisor has put the processor to sleep, too. So a thread whose team sleeps
 * runs its loops alone until they have taken as long as waking took last time;
 * only then it wakes the team, whose members are there for the loops that
 * follow. A loop that comes alone never waits for sleepers, and a sequence of
 * loops takes at most twice its time in the beginning. The scheduler may wake a
 * member on the caller's processor while others are idle, and correct that ms
 * later; such a member moves to another one.
 *
 * On a busy machine a member may wait some milliseconds for a processor, a
 * thousand times the run time of a small job. The time that regions save,
 * compared with the caller alone, is credit. If a region loses more time than
 * there is credit, and not because its members slept, callers work alone for a
 * multiple of the loss; a job that runs for several times that loss still
 * starts the team for the rest. The multiple grows while the team stays late,
 * which limits the cost of waiting to a few percent. This changes which threads
 * do the work and never the result. */

#include "os/backoff.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum {
  AWAKE_NS = 4000000,  /* after a region, members spin at least that long */
  MOST_WAKING_NS = 1000000, /* after which a thread wakes its team anyway */
  LATE_NS = 200000,    /* members that spin do not arrive later */
  MOST_CREDIT_NS = 20000000,
  BACKOFF_FACTOR = 4,  /* a job runs alone for this many last losses at most */
  BACKOFF_RESET_NS = 1000000000, /* after this time the multiple is reset */
  BACKOFF_MAX_NS = BACKOFF_RESET_NS
};

/* -- Members that sleep --------------------------------------------------- */

static _Atomic int64_t waking = 100000; /* the time that it took last, ns */

static _Thread_local struct {
  int64_t last_region; /* its end */
  int64_t last_loop;   /* its end */
  int64_t alone;       /* ns of loops alone, in a sequence without long gaps */
} thread_loops;

static bool is_asleep(int64_t now) {
  return now - thread_loops.last_region > AWAKE_NS;
}

static int64_t asleep_until(int64_t now) {
  if (!is_asleep(now)) return now;
  if (now - thread_loops.last_loop > AWAKE_NS) thread_loops.alone = 0;
  return now + waking - thread_loops.alone;
}

void st__ran_alone(int64_t start, int64_t end) {
  thread_loops.alone += end - start;
  thread_loops.last_loop = end;
}

#ifdef __linux__
int st__processor(void) { return sched_getcpu(); }

/* It excludes that processor for a moment; a change of its affinity from
 * outside in that moment is lost. */
void st__leave_processor(int processor) {
  const int own = sched_getcpu();
  cpu_set_t allowed, others;
  if (own < 0 || own != processor ||
      sched_getaffinity(0, sizeof allowed, &allowed)) {
    return;
  }
  others = allowed;
  CPU_CLR(own, &others);
  if (CPU_COUNT(&others) == 0) return;
  sched_setaffinity(0, sizeof others, &others);
  if (sched_setaffinity(0, sizeof allowed, &allowed)) { /* no longer allowed */
    memset(&allowed, 0xff, sizeof allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
  }
}
#else
int st__processor(void) { return -1; }
void st__leave_processor(int processor) { (void)processor; }
#endif

/* -- Members that wait for a processor ------------------------------------ */

static _Atomic int64_t backoff_end;     /* ns */
static _Atomic int64_t last_loss;       /* ns */
static _Atomic int backoff_multiple;    /* backoff time / last_loss */
static _Atomic int64_t credit = MOST_CREDIT_NS;

static int64_t backoff_until(int64_t now) {
  const int64_t enough = now + BACKOFF_FACTOR * last_loss;
  return enough < backoff_end ? enough : backoff_end;
}

/* Pays a loss with credit, or adds what was saved (lost < 0) to it. False if
 * there was too little. */
static bool pay(int64_t lost) {
  const int64_t left = credit - lost;
  credit = left < 0 ? 0 : left < MOST_CREDIT_NS ? left : MOST_CREDIT_NS;
  return left >= 0;
}

static void extend_backoff(const st_region *r) {
  const bool again = r->start - backoff_end < BACKOFF_RESET_NS;
  const int old = backoff_multiple;
  const int times = !again ? 8 : old < 64 ? 2 * old : 128;
  const int64_t rest = times * r->lost;
  backoff_multiple = times;
  last_loss = r->lost;
  backoff_end = r->end + (rest < BACKOFF_MAX_NS ? rest : BACKOFF_MAX_NS);
}

/* -- Both ----------------------------------------------------------------- */

int64_t st__alone_until(int64_t now) {
  const int64_t asleep = asleep_until(now), backoff = backoff_until(now);
  return asleep > backoff ? asleep : backoff;
}

void st__region_ended(const st_region *r) {
  const bool slept = is_asleep(r->start);
  const int64_t took = r->arrival - r->start;
  if (slept) waking = took < MOST_WAKING_NS ? took : MOST_WAKING_NS;
  const int64_t lost = r->lost - (slept ? waking : 0);
  if (!pay(lost) && lost >= LATE_NS) extend_backoff(r);
  thread_loops.last_region = thread_loops.last_loop = r->end;
  thread_loops.alone = 0;
}
