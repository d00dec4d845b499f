/* What a terminal says about itself: its size, and answers to escape sequences.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "process/process.h"

enum { ANSWER = 256 };

/* terminal_size(fd): returns the columns and rows of a terminal, or nothing */
static int terminal_size(lua_State *L) {
  struct winsize size = {0};
  if (ioctl((int)luaL_checkinteger(L, 1), TIOCGWINSZ, &size) != 0 ||
      size.ws_col == 0)
    return 0;
  lua_pushinteger(L, size.ws_col);               /* [+1] */
  lua_pushinteger(L, size.ws_row);               /* [+1] */
  return 2;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* True if fd has something to read within the seconds. */
static bool is_readable(int fd, double seconds) {
  struct pollfd input = {.fd = fd, .events = POLLIN};
  return poll(&input, 1, seconds > 0 ? (int)(seconds * 1000) + 1 : 0) > 0 &&
         (input.revents & POLLIN);
}

/* Reads up to the byte `last`, one byte at a time, so that what is typed after
 * it stays. Returns the length, 0 if the answer is not complete in time. */
static size_t read_answer(int fd, char last, double seconds, char *answer) {
  const double end = now() + seconds;
  for (size_t n = 0; n < ANSWER;) {
    const double left = end - now();
    if (left <= 0 || !is_readable(fd, left) || read(fd, answer + n, 1) != 1)
      return 0;
    if (answer[n++] == last) return n;
  }
  return 0;
}

/* ask_terminal(question, last, seconds): writes an escape sequence to the
 * terminal of the process and returns its answer, which ends in the byte
 * `last`; nothing without an answer in time, without a terminal, in the
 * background, and while typed input waits, which would be taken for it. */
static int ask_terminal(lua_State *L) {
  size_t n;
  const char *question = luaL_checklstring(L, 1, &n);
  const char *last = luaL_checkstring(L, 2);
  const double seconds = luaL_checknumber(L, 3);
  const int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return 0;
  char answer[ANSWER];
  size_t length = 0;
  struct termios before, quiet;
  if (tcgetpgrp(fd) == getpgrp() && tcgetattr(fd, &before) == 0) {
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    quiet.c_cc[VMIN] = 1;
    quiet.c_cc[VTIME] = 0;
    if (tcsetattr(fd, TCSANOW, &quiet) == 0) {
      if (!is_readable(fd, 0) && write(fd, question, n) == (ssize_t)n)
        length = read_answer(fd, *last, seconds, answer);
      tcsetattr(fd, TCSANOW, &before);
    }
  }
  close(fd);
  if (length == 0) return 0;
  lua_pushlstring(L, answer, length);            /* [+1] */
  return 1;
}

void st__open_terminal(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"terminal_size", terminal_size}, {"ask_terminal", ask_terminal},
    {NULL, NULL}
  };
  st__set_functions(h, L, functions);
}
