/* Programs that the library starts, and folders: what a shell would do, without
 * one. A shell would run what a name, a path or an option has in it.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/process.h"

extern char **environ;

enum {
  MAX_ARGUMENTS = 16,
  LISTING = 1 << 16  /* bytes of the names in a folder, at first */
};

static int fail(lua_State *L, int error) {
  lua_pushnil(L);                                /* [+1] */
  lua_pushstring(L, strerror(error));            /* [+1] */
  return 2;
}

/* -- Programs ------------------------------------------------------------- */

/* find_program(name): returns true if a folder of PATH has it */
static int find_program(lua_State *L) {
  const char *name = luaL_checkstring(L, 1), *at = getenv("PATH");
  char path[PATH_MAX];
  while (at && *at) {
    const int n = (int)strcspn(at, ":");
    struct stat info;
    if (n > 0 && snprintf(path, sizeof path, "%.*s/%s", n, at, name) <
                 (int)sizeof path &&
        access(path, X_OK) == 0 && stat(path, &info) == 0 &&
        S_ISREG(info.st_mode)) {
      lua_pushboolean(L, 1);                     /* [+1] */
      return 1;
    }
    at += n + (at[n] == ':');
  }
  return 0;
}

/* What system() does around a program: the parent ignores what is typed for the
 * program, which does not. */
typedef struct typed_signals {
  struct sigaction interrupt, quit;
} typed_signals;

static void ignore_typed(typed_signals *s) {
  struct sigaction ignored;
  memset(&ignored, 0, sizeof ignored);
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignored, &s->interrupt);
  sigaction(SIGQUIT, &ignored, &s->quit);
}

static void restore_typed(const typed_signals *s) {
  sigaction(SIGINT, &s->interrupt, NULL);
  sigaction(SIGQUIT, &s->quit, NULL);
}

/* Returns an errno. */
static int start(pid_t *child, char *const *arguments, const char *input) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t defaults;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  int error = input ? posix_spawn_file_actions_addopen(
                        &actions, STDIN_FILENO, input, O_RDONLY, 0)
                    : 0;
  if (error == 0) {
    error = posix_spawnp(child, arguments[0], &actions, &attributes, arguments,
                         environ);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/* run_program(arguments, [input]): runs a program of PATH, whose standard input
 * is the file at the path `input`, and waits for its end; returns its exit
 * status, or nil and a reason */
static int run_program(lua_State *L) {
  char *arguments[MAX_ARGUMENTS + 1];
  int n = 0, status = 0;
  pid_t child = 0;
  typed_signals typed;
  luaL_checktype(L, 1, LUA_TTABLE);
  const char *input = luaL_optstring(L, 2, NULL);
  luaL_checkstack(L, MAX_ARGUMENTS + 1, NULL);
  lua_rawgeti(L, 1, MAX_ARGUMENTS + 1);          /* [+1] */
  if (!lua_isnil(L, -1)) return fail(L, E2BIG);
  for (; n < MAX_ARGUMENTS; n++) {
    lua_rawgeti(L, 1, n + 1);                    /* [+1] */
    if (lua_type(L, -1) != LUA_TSTRING) break;
    /* They are not written to. */
    arguments[n] = (char *)(uintptr_t)lua_tostring(L, -1);
  }
  arguments[n] = NULL;
  if (n == 0) return fail(L, EINVAL);
  ignore_typed(&typed);
  int error = start(&child, arguments, input);
  if (error == 0) {
    pid_t ended;
    do ended = waitpid(child, &status, 0); while (ended < 0 && errno == EINTR);
    if (ended < 0) error = errno; /* the host ignores SIGCHLD */
  }
  restore_typed(&typed);
  if (error != 0) return fail(L, error);
  lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status)
                                       : 128 + WTERMSIG(status)); /* [+1] */
  return 1;
}

/* -- Folders -------------------------------------------------------------- */

/* Returns an errno. */
static int make_folders(const char *given, mode_t mode) {
  char path[PATH_MAX];
  struct stat info;
  const size_t n = strlen(given);
  if (n == 0 || n >= sizeof path) return n == 0 ? ENOENT : ENAMETOOLONG;
  strcpy(path, given);
  for (size_t i = 1; i <= n; i++) {
    if (path[i] != '/' && path[i] != '\0') continue;
    const char end = path[i];
    path[i] = '\0';
    if (mkdir(path, mode) != 0 &&
        (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))) {
      return errno ? errno : ENOTDIR;
    }
    path[i] = end;
  }
  return 0;
}

/* make_folder(path): creates a folder and those above it, if they do not exist;
 * returns true, or nil and a reason */
static int make_folder(lua_State *L) {
  const int error = make_folders(luaL_checkstring(L, 1), 0777);
  if (error != 0) return fail(L, error);
  lua_pushboolean(L, 1);                         /* [+1] */
  return 1;
}

/* make_private(folder, path): creates a folder, and in it an empty file, for
 * their owner only; returns true, or nil and a reason */
static int make_private(lua_State *L) {
  const int error = make_folders(luaL_checkstring(L, 1), 0700);
  if (error != 0) return fail(L, error);
  const int fd = open(luaL_checkstring(L, 2), O_WRONLY | O_CREAT | O_CLOEXEC,
                      0600);
  if (fd < 0) return fail(L, errno);
  close(fd);
  lua_pushboolean(L, 1);                         /* [+1] */
  return 1;
}

static bool is_folder(DIR *folder, const struct dirent *entry) {
  struct stat info;
  return fstatat(dirfd(folder), entry->d_name, &info, 0) == 0 &&
         S_ISDIR(info.st_mode);
}

/* Writes the names in a folder into text, each with a NUL after it. Returns the
 * length, -1 if the folder cannot be read, -2 if they do not fit. */
static ptrdiff_t read_folder(const char *path, char *text, size_t size) {
  DIR *folder = opendir(path);
  const struct dirent *entry;
  size_t length = 0;
  if (!folder) return -1;
  while ((entry = readdir(folder))) {
    const char *name = entry->d_name;
    const size_t n = strlen(name);
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    if (length + n + 2 > size) {
      closedir(folder);
      return -2;
    }
    memcpy(text + length, name, n);
    length += n;
    if (is_folder(folder, entry)) text[length++] = '/';
    text[length++] = '\0';
  }
  closedir(folder);
  return (ptrdiff_t)length;
}

/* list_folder(path): returns the names in a folder, those of folders with a
 * slash after them; nil and a reason if it cannot be read */
static int list_folder(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  size_t size = LISTING;
  char *text;
  ptrdiff_t length;
  int n = 0;
  for (;; size *= 2) {
    text = lua_newuserdata(L, size);             /* [+1] */
    length = read_folder(path, text, size);
    if (length != -2) break;
    lua_pop(L, 1);                               /* [-1] */
  }
  if (length < 0) return fail(L, errno);
  lua_newtable(L);                               /* [+1] */
  for (const char *at = text; at < text + length; at += strlen(at) + 1) {
    lua_pushstring(L, at);                       /* [+1] */
    lua_rawseti(L, -2, ++n);                     /* [-1] */
  }
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_child_process(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"find_program", find_program}, {"run_program", run_program},
    {"make_folder", make_folder}, {"make_private", make_private},
    {"list_folder", list_folder}, {NULL, NULL}
  };
  st__set_functions(h, L, functions);
}
