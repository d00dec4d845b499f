/* fork() in every state that a process can be in: while others compute, in a
 * thread that never did, in a child, inside a parallel region.
 *
 *     forks [CHILDREN]
 */

#include "process.h"

#include <spawn.h>

/* -- A busy parent -------------------------------------------------------- */

enum { BUSY = 3 };
static atomic_bool is_over;
static _Atomic int rounds;

static st_generator *generator; /* of all threads */

static void draw(void) {
  st_tensor *t = filled(SIDE, SIDE, 2);
  const st_value args[] = {
    {ST_TAG_TENSOR, 0, {.tensor = t}}, {ST_TAG_FLOAT, 0, {.f = 0}},
    {ST_TAG_FLOAT, 0, {.f = 1}}, {ST_TAG_GENERATOR, 0, {.generator = generator}}
  };
  st_value ret;
  CHECK(st_call_op(st_op_find("aten::uniform_", ""), 4, args, &ret) == ST_OK);
  CHECK(first_of(ret.u.tensor) < 1);
  st_tensor_release(&ret.u.tensor);
  st_tensor_release(&t);
}

static void *stay_busy(void *unused) {
  (void)unused;
  while (!is_over) {
    compute_both();
    draw();
    rounds++;
  }
  return NULL;
}

static void start(pthread_t *threads) {
  is_over = false;
  rounds = 0;
  for (int i = 0; i < BUSY; i++) {
    CHECK(pthread_create(&threads[i], NULL, stay_busy, NULL) == 0);
  }
  while (rounds < BUSY) usleep(100);
}

static void finish(const pthread_t *threads) {
  is_over = true;
  for (int i = 0; i < BUSY; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

/* -- Children ------------------------------------------------------------- */

static void compute_alone(void) {
  CHECK(st_num_threads() == 1);
  compute_both();
  draw();
}

static void compute_with_help(void) {
  compute_alone();
  CHECK(st_set_num_threads(2) == ST_OK && st_num_threads() == 2);
  CHECK(has_help());
  compute_both();
}

static void have_a_child(void) {
  compute_with_help();
  CHECK(is_well(compute_with_help));
  compute_both();
}

static void *run_a_child(void *n) {
  for (int i = 0; i < *(int *)n; i++) CHECK(is_well(compute_with_help));
  return NULL;
}

static void forks_of_a_busy_parent(int n) {
  pthread_t threads[BUSY];
  start(threads);
  for (int i = 0; i < n; i++) {
    CHECK(is_well(i % 10 ? compute_with_help : have_a_child));
  }
  finish(threads);
  printf("a busy parent: %d children\n", n);
}

static void forks_of_a_thread_without_a_team(void) {
  pthread_t thread;
  int n = 5;
  CHECK(pthread_create(&thread, NULL, run_a_child, &n) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  puts("a thread without a team");
}

static void two_fork_at_once(void) {
  pthread_t threads[2];
  int n = 10;
  for (int i = 0; i < 2; i++) {
    CHECK(pthread_create(&threads[i], NULL, run_a_child, &n) == 0);
  }
  for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  puts("two at once");
}

/* -- Inside a region ------------------------------------------------------ */

static meeting inside;
static int children, well;
static _Atomic int naps;
static bool returns;

static void compute_for_good_alone(void) {
  compute_alone();
  CHECK(st_set_num_threads(2) == ST_BAD_STATE);
  CHECK(strstr(st_message(), "forked inside a parallel region"));
  CHECK(st_set_num_threads(1) == ST_OK);
  CHECK(is_well(compute_alone));
}

/* Once, and only where the team has come. A child returns while the other
 * member is still at work in the parent. */
static void fork_inside(void *unused, int64_t begin, int64_t end) {
  (void)unused;
  meet(&inside, begin, end);
  if (!pthread_equal(inside.caller, pthread_self())) {
    if (returns && naps++ == 0) usleep(200000);
    return;
  }
  if (inside.others == 0 || children++ > 0) return;
  if (!returns) {
    well += is_well(compute_for_good_alone);
    return;
  }
  int status;
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(PATIENCE / 4);
    fclose(stderr);
    return;
  }
  CHECK(waitpid(child, &status, 0) == child);
  well += WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void forks_inside_a_region(bool child_returns) {
  inside = (meeting){.caller = pthread_self()};
  children = well = 0;
  returns = child_returns;
  while (children == 0) {
    inside.others = 0;
    st_parallel_for(0, 64, 1, fork_inside, NULL);
  }
  CHECK(well == 1);
  CHECK(has_help());
  puts(returns ? "a child that returns into a region" : "inside a region");
}

/* -- Programs that are started -------------------------------------------- */

static void programs(void) {
  extern char **environ;
  pthread_t threads[BUSY];
  char *argv[] = {(char[]){"true"}, NULL};
  pid_t child;
  int status;
  start(threads);
  CHECK(system("exit 7") == 7 << 8);
  FILE *pipe = popen("echo 42", "r");
  int answer = 0;
  CHECK(pipe && fscanf(pipe, "%d", &answer) == 1 && answer == 42);
  CHECK(pclose(pipe) == 0);
  CHECK(posix_spawnp(&child, "true", NULL, NULL, argv, environ) == 0);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  finish(threads);
  CHECK(st_num_threads() == 2);
  puts("programs");
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  alarm(PATIENCE);
  CHECK(n > 0 && st_init() == ST_OK && st_set_num_threads(2) == ST_OK);
  CHECK(st_generator_new(1, &generator) == ST_OK);
  forks_of_a_thread_without_a_team();
  CHECK(is_well(compute_with_help));
  CHECK(has_help());
  CHECK(is_well(compute_with_help));
  puts("a parent at rest");
  forks_of_a_busy_parent(n);
  two_fork_at_once();
  forks_inside_a_region(false);
  forks_inside_a_region(true);
  programs();
  compute_both();
  st_generator_release(&generator);
  return 0;
}
