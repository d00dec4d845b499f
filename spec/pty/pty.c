/* Drives a program through a pseudo terminal, as a person at a keyboard does.
 *
 *     pty SCRIPT PROGRAM [ARGUMENT]...
 *
 * A line of the script is `send TEXT` (written to the terminal), `expect TEXT`
 * (waits until the program has written it, after what was expected before),
 * or `wait` (waits until the program ends). In TEXT \r, \n, \t, \e, \\ and
 * \xHH stand for a byte. All that the program wrote goes to standard output.
 * The exit status is 0 when every line came true, the program's own after a
 * `wait`, 99 when one took longer than the seconds in PTY_TIMEOUT, 97 where
 * the system has no pseudo terminals.
 */

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMED_OUT = 99, MISUSED = 98, NO_TERMINAL = 97 };
enum { ROWS = 50, COLUMNS = 160 };

typedef struct terminal {
  int fd;
  pid_t child;
  char *text;           /* what the program wrote */
  size_t n, room;
  size_t seen;          /* up to where it was expected */
  bool is_over;
} terminal;

/* -- The script ----------------------------------------------------------- */

/* Replaces escapes in place; returns the length. */
static size_t unescape(char *s) {
  char *out = s, *begin = s;
  unsigned byte;
  for (; *s; s++) {
    if (*s != '\\' || !s[1]) {
      *out++ = *s;
      continue;
    }
    switch (*++s) {
      case 'r': *out++ = '\r'; break;
      case 'n': *out++ = '\n'; break;
      case 't': *out++ = '\t'; break;
      case 'e': *out++ = '\033'; break;
      case 'x':
        if (sscanf(s + 1, "%2x", &byte) == 1) *out++ = (char)byte;
        s += 2;
        break;
      default: *out++ = *s;
    }
  }
  *out = '\0';
  return (size_t)(out - begin);
}

/* -- The terminal --------------------------------------------------------- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Reads what is there, waiting until the deadline; false when it passed. */
static bool read_more(terminal *t, double deadline) {
  struct pollfd p = {.fd = t->fd, .events = POLLIN};
  const double left = deadline - now();
  const int n = left > 0 ? poll(&p, 1, (int)(left * 1000) + 1) : 0;
  if (n == 0) return false;
  if (n < 0) return errno == EINTR;
  if (t->room - t->n < 4096) {
    t->room = 2 * t->room + 8192;
    t->text = realloc(t->text, t->room);
    if (!t->text) exit(MISUSED);
  }
  const ssize_t got = read(t->fd, t->text + t->n, t->room - t->n - 1);
  if (got <= 0) t->is_over = got == 0 || errno != EINTR;
  else t->n += (size_t)got;
  return true;
}

static bool expect(terminal *t, const char *text, size_t n, double deadline) {
  for (;;) {
    char *found = t->n > t->seen
                  ? memmem(t->text + t->seen, t->n - t->seen, text, n) : NULL;
    if (found) {
      t->seen = (size_t)(found - t->text) + n;
      return true;
    }
    if (t->is_over || !read_more(t, deadline)) return false;
  }
}

static bool send_all(terminal *t, const char *text, size_t n) {
  while (n > 0) {
    const ssize_t sent = write(t->fd, text, n);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text += sent;
    n -= (size_t)sent;
  }
  return true;
}

/* -- Running -------------------------------------------------------------- */

/* One line of the script. */
static bool obey(terminal *t, char *line, double deadline) {
  line[strcspn(line, "\n")] = '\0';
  if (strcmp(line, "wait") == 0) {
    while (!t->is_over) {
      if (!read_more(t, deadline)) return false;
    }
    return true;
  }
  char *text = strchr(line, ' ');
  if (!text) return false;
  *text++ = '\0';
  const size_t n = unescape(text);
  if (strcmp(line, "send") == 0) return send_all(t, text, n);
  return strcmp(line, "expect") == 0 && expect(t, text, n, deadline);
}

static int run(terminal *t, FILE *script) {
  char line[4096], failed[4096];
  const char *seconds = getenv("PTY_TIMEOUT");
  const double timeout = seconds ? atof(seconds) : 20;
  while (fgets(line, sizeof line, script)) {
    memcpy(failed, line, sizeof failed);
    if (obey(t, line, now() + timeout)) continue;
    printf("%.*s\n-- stuck at: %s", (int)t->n, t->text ? t->text : "",
           failed);
    kill(t->child, SIGKILL);
    waitpid(t->child, NULL, 0);
    return TIMED_OUT;
  }
  int status = 0;
  if (!t->is_over) kill(t->child, SIGKILL);
  waitpid(t->child, &status, 0);
  fwrite(t->text, 1, t->n, stdout);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv) {
  terminal t = {0};
  const struct winsize size = {ROWS, COLUMNS, 0, 0};
  FILE *script = argc > 2 ? fopen(argv[1], "r") : NULL;
  if (!script) return MISUSED;
  t.child = forkpty(&t.fd, NULL, NULL, &size);
  if (t.child < 0) return NO_TERMINAL;
  if (t.child == 0) {
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  const int status = run(&t, script);
  free(t.text);
  fclose(script);
  return status;
}
