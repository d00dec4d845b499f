/* Atomic saves: a temporary file, renamed to its target on commit.
 *
 * Note [Atomic saves]
 * The bytes go into a new file in the target's folder. When all bytes are on
 * disk (fsync), the file is renamed, which replaces the old file atomically;
 * then the folder is synced (fsync), so that the rename is durable. After a
 * full disk, a signal or a power failure before the rename, the old file is
 * unchanged. The new file gets the old file's mode and, if permitted, its
 * owner. If the target is a symbolic link, the file it points to is replaced
 * and the link is kept.
 *
 * Note [Stale temporaries]
 * A process that is killed leaves "NAME.strided-HOST-PID-N.tmp" behind, where
 * HOST is a hash of the host's name. The next save into the folder deletes it.
 * A save holds a lock (flock) on its temporary, and the kernel releases the
 * lock when the process ends; so a temporary that can be locked is stale.
 * Process ids are not compared, as another process may have the id by now or
 * live in another namespace. Stale temporaries are deleted before the new one
 * is created, so that saves that are killed one after the other leave one.
 * Temporaries of other hosts stay, because a network file system may keep locks
 * per host; so do all of them on a file system without locks. A save that is
 * between creating its temporary and locking it may lose it to another save; it
 * notices and takes the next name.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "io/io.h"

typedef struct saved_file {
  int fd;               /* -1 if committed or aborted */
  int64_t size;         /* bytes written */
  size_t folder;        /* length of path through the last slash */
  char path[PATH_MAX];
  char temporary[PATH_MAX];
} saved_file;

enum {
  MAX_NAME = 200,       /* bytes of the target's name in the temporary's */
  TRIES = 1000,
  MAX_ENTRIES = 20000   /* of a folder that are searched for temporaries */
};

/* -- Creating ------------------------------------------------------------- */

/* Sets a->path to the target, with symbolic links resolved. */
static const char *resolve_path(saved_file *a, const char *path) {
  struct stat info;
  if (strlen(path) >= sizeof a->path) return strerror(ENAMETOOLONG);
  strcpy(a->path, path);
  if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
    char *target = realpath(path, NULL);
    if (!target) return "the symbolic link is broken";
    const bool fits = strlen(target) < sizeof a->path;
    if (fits) strcpy(a->path, target);
    free(target);
    if (!fits) return strerror(ENAMETOOLONG);
  }
  const char *slash = strrchr(a->path, '/');
  a->folder = slash ? (size_t)(slash - a->path) + 1 : 0;
  return NULL;
}

/* FNV-1a of the host's name. */
static unsigned host_hash(void) {
  struct utsname host;
  uint32_t hash = 2166136261u;
  if (uname(&host) != 0) return 0;
  for (const char *p = host.nodename; *p; p++) {
    hash = (hash ^ (unsigned char)*p) * 16777619u;
  }
  return hash;
}

/* True if the new temporary is locked and still there, or if the file system
 * has no locks: Note [Stale temporaries]. */
static bool is_kept(int fd) {
  struct stat info;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  return fstat(fd, &info) == 0 && info.st_nlink > 0;
}

/* Creates a temporary file with a unique name in the target's folder. */
static const char *make_temporary(saved_file *a, mode_t mode) {
  static atomic_uint counter;
  for (int i = 0; i < TRIES; i++) {
    const unsigned n = atomic_fetch_add(&counter, 1) + 1;
    const int length =
      snprintf(a->temporary, sizeof a->temporary,
               "%.*s%.*s.strided-%08x-%ld-%u.tmp", (int)a->folder, a->path,
               MAX_NAME, a->path + a->folder, host_hash(), (long)getpid(), n);
    if (length < 0 || length >= (int)sizeof a->temporary) {
      return strerror(ENAMETOOLONG);
    }
    a->fd = open(a->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (a->fd >= 0 && is_kept(a->fd)) return NULL;
    if (a->fd < 0 && errno != EEXIST) return strerror(errno);
    if (a->fd >= 0) close(a->fd);
    a->fd = -1;
  }
  return "no unused name for a temporary file";
}

/* -- Stale temporaries ---------------------------------------------------- */

static const char *skip_digits(const char *p) {
  const char *start = p;
  while (*p >= '0' && *p <= '9') p++;
  return p > start ? p : NULL;
}

/* True for "NAME.strided-HOST-PID-N.tmp" of this host. */
static bool is_temporary(const char *name) {
  char mark[32];
  const char *at = NULL, *next = name;
  const size_t n = (size_t)snprintf(mark, sizeof mark, ".strided-%08x-",
                                    host_hash());
  while ((next = strstr(next, mark))) at = next++;
  if (!at || at == name) return false;
  at = skip_digits(at + n);
  if (!at || *at != '-') return false;
  at = skip_digits(at + 1);
  return at && strcmp(at, ".tmp") == 0;
}

/* Deletes a temporary that no process has locked. */
static void delete_stale(int folder, const char *name) {
  struct stat opened, named;
  const int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK |
                        O_CLOEXEC);
  if (fd < 0) return;
  if (fstat(fd, &opened) == 0 && S_ISREG(opened.st_mode) &&
      flock(fd, LOCK_EX | LOCK_NB) == 0 &&
      fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
      named.st_dev == opened.st_dev && named.st_ino == opened.st_ino) {
    unlinkat(folder, name, 0);
  }
  close(fd);
}

/* What cannot be read or deleted stays. */
static void delete_all_stale(const saved_file *a) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%.*s", (int)a->folder, a->path);
  DIR *folder = opendir(a->folder ? path : ".");
  if (!folder) return;
  const struct dirent *entry;
  for (int i = 0; i < MAX_ENTRIES && (entry = readdir(folder)); i++) {
    if (is_temporary(entry->d_name)) {
      delete_stale(dirfd(folder), entry->d_name);
    }
  }
  closedir(folder);
}

/* -- Starting ------------------------------------------------------------- */

static void abort_save(saved_file *a) {
  if (a->fd < 0) return;
  close(a->fd);
  a->fd = -1;
  unlink(a->temporary);
}

static const char *start(saved_file *a, const char *path) {
  struct stat old;
  const char *why = resolve_path(a, path);
  if (why) return why;
  const bool is_new = stat(a->path, &old) != 0;
  if (is_new && errno != ENOENT) return strerror(errno);
  if (!is_new && S_ISDIR(old.st_mode)) return strerror(EISDIR);
  if (!is_new && !S_ISREG(old.st_mode)) return "it is not a regular file";
  delete_all_stale(a);
  why = make_temporary(a, is_new ? 0666 : old.st_mode & 0777);
  if (why || is_new) return why;
  /* Without privileges fchown fails; the new file keeps our owner. */
  const int is_owned = fchown(a->fd, old.st_uid, old.st_gid);
  (void)is_owned;
  if (fchmod(a->fd, old.st_mode & 0777) == 0) return NULL;
  why = strerror(errno);
  abort_save(a);
  return why;
}

/* open_aside(path): returns a file, or nil and the error */
static int open_save(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  saved_file *a = st__newudata(st__state_of(L), L, ST_UD_SAVE, sizeof *a);
  a->fd = -1;                                    /* [+1] */
  const char *why = start(a, path);
  return why ? st__failed(L, why) : 1;
}

/* -- Writing -------------------------------------------------------------- */

static saved_file *check_open(lua_State *L) {
  st__state *h = st__state_of(L);
  saved_file *a = st__checkudata(h, L, 1, ST_UD_SAVE, "self");
  if (a->fd < 0) st__error(h, L, ST_BAD_STATE, "the file is closed");
  return a;
}

static const char LOST[] = "the mapped file of the tensor was truncated, or "
                           "cannot be read";

static const char *write_all(int fd, const char *p, size_t n, int64_t at) {
  while (n > 0) {
    const ssize_t done = pwrite(fd, p, n, (off_t)at);
    if (done < 0 && errno == EFAULT) return LOST;
    if (done < 0 && errno != EINTR) return strerror(errno);
    if (done < 0) continue;
    p += done;
    at += done;
    n -= (size_t)done;
  }
  return NULL;
}

/* A file that exceeds the process's limit (RLIMIT_FSIZE) is an error like
 * others: SIGXFSZ, which would end the process, is blocked on this thread and
 * consumed. */
static void block_limit(sigset_t *before) {
  sigset_t limit;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, before);
}

static void unblock_limit(const sigset_t *before, bool is_exceeded) {
  const struct timespec now = {0, 0};
  sigset_t limit;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  if (is_exceeded) sigtimedwait(&limit, NULL, &now);
  pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* As write_all, with block_limit. */
static const char *write_at(int fd, const char *p, size_t n, int64_t at) {
  sigset_t before;
  block_limit(&before);
  errno = 0;
  const char *why = write_all(fd, p, n, at);
  unblock_limit(&before, why && errno == EFBIG);
  return why;
}

const char *st__save_write(lua_State *L, int idx, const void *p, size_t n) {
  st__state *h = st__state_of(L);
  saved_file *a = st__checkudata(h, L, idx, ST_UD_SAVE, "file");
  const char *bytes = p, *why = NULL;
  for (size_t part; !why; n -= part) {
    part = n < ST_POLL_BYTES ? n : ST_POLL_BYTES;
    if (a->fd < 0) return "the file is closed";
    why = write_at(a->fd, bytes, part, a->size);
    if (why || n == part) break;
    bytes += part;
    a->size += (int64_t)part;
    why = st__poll_reason(L);
  }
  if (!why) a->size += (int64_t)n;
  return why;
}

/* The bytes of the string or tensor at idx, borrowed. */
const char *st__check_bytes(st__state *h, lua_State *L, int idx, size_t *n) {
  if (lua_type(L, idx) == LUA_TSTRING) return lua_tolstring(L, idx, n);
  return st__check_memory(h, L, idx, n);
}

static int report(lua_State *L, const char *why) {
  if (why) return st__failed(L, why);
  lua_pushboolean(L, true);                      /* [+1] */
  return 1;
}

/* file:write(string | tensor): appends its bytes; returns true, or nil and the
 * error */
static int save_write(lua_State *L) {
  size_t n;
  check_open(L);
  const char *p = st__check_bytes(st__state_of(L), L, 2, &n);
  return report(L, st__save_write(L, 1, p, n));
}

/* False if the file system has fewer than n free bytes. posix_fallocate would
 * take all of them before it fails, and meanwhile every other program that
 * writes would fail. A file system without a limit says that it has no blocks.
 */
static bool has_room(int fd, int64_t n) {
  struct statvfs s;
  if (fstatvfs(fd, &s) != 0 || !s.f_blocks || !s.f_frsize) return true;
  return (uint64_t)n / s.f_frsize <= s.f_bfree;
}

/* file:reserve(n): appends n bytes of zero, for which the disk has room;
 * returns true, or nil and the error */
static int save_reserve(lua_State *L) {
  sigset_t before;
  saved_file *a = check_open(L);
  const int64_t n = st__check_int(st__state_of(L), L, 2, "n");
  if (n <= 0) return report(L, n < 0 ? strerror(EINVAL) : NULL);
  if (n > INT64_MAX - a->size) return report(L, strerror(EFBIG));
  if (!has_room(a->fd, n)) return report(L, strerror(ENOSPC));
  int error;
  const char *why = NULL;
  do {
    block_limit(&before);
    error = posix_fallocate(a->fd, (off_t)a->size, (off_t)n);
    unblock_limit(&before, error == EFBIG);
    if (error == EINTR) why = st__poll_reason(L);
  } while (error == EINTR && !why && a->fd >= 0);
  if (error) return report(L, why ? why : strerror(error));
  a->size += n;
  return report(L, NULL);
}

/* file:patch(offset, string): overwrites bytes that were written before */
static int save_patch(lua_State *L) {
  size_t n;
  st__state *h = st__state_of(L);
  saved_file *a = check_open(L);
  const int64_t at = st__check_int(h, L, 2, "offset");
  const char *p = luaL_checklstring(L, 3, &n);
  if (at < 0 || at > a->size || (int64_t)n > a->size - at) {
    return st__error(h, L, ST_BAD_INDEX, "patch: outside the written bytes");
  }
  return report(L, write_at(a->fd, p, n, at));
}

/* file:tell(): returns the number of bytes written */
static int save_tell(lua_State *L) {
  st__push_int(st__state_of(L), L, check_open(L)->size); /* [+1] */
  return 1;
}

/* append(path, text): adds a text to the end of a file, and makes the file if
 * it does not exist; returns true, or nil and the error */
static int append(lua_State *L) {
  size_t n;
  const char *path = luaL_checkstring(L, 1), *p = luaL_checklstring(L, 2, &n);
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return report(L, strerror(errno));
  const char *why = write_at(fd, p, n, 0);
  close(fd);
  return report(L, why);
}

/* -- Committing ----------------------------------------------------------- */

/* Makes the rename durable. Errors of file systems that cannot sync a folder
 * are ignored. */
static const char *sync_folder(saved_file *a) {
  const char *why = NULL;
  a->path[a->folder] = '\0';
  const int fd = open(a->folder ? a->path : ".", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NULL;
  if (fsync(fd) != 0 && errno != EINVAL && errno != EBADF) {
    why = strerror(errno);
  }
  close(fd);
  return why;
}

static const char *finish(saved_file *a) {
  const char *why = fsync(a->fd) != 0 ? strerror(errno) : NULL;
  if (!why && rename(a->temporary, a->path) != 0) why = strerror(errno);
  if (why) {
    abort_save(a);
    return why;
  }
  close(a->fd);
  a->fd = -1;
  return sync_folder(a);
}

/* file:commit(): replaces the target; returns true, or nil and the error */
static int save_commit(lua_State *L) {
  return report(L, finish(check_open(L)));
}

/* file:abort(): deletes the temporary file */
static int save_gc(lua_State *L) {
  saved_file *a = st__testudata(st__state_of(L), L, 1, ST_UD_SAVE);
  if (a) abort_save(a);
  return 0;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_save(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {
    {"reserve", save_reserve}, {"patch", save_patch}, {"tell", save_tell},
    {"commit", save_commit}, {"abort", save_gc}, {NULL, NULL}
  };
  static const luaL_Reg access[] = {{"write", save_write}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {{"__gc", save_gc}, {NULL, NULL}};
  st__set_functions(h, L, metamethods);
  lua_newtable(L);                               /* [+1] */
  st__set_functions(h, L, methods);
  st__set_access_functions(h, L, access, false);
  lua_setfield(L, -2, "__index");                /* [-1] */
}

void st__open_save(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"open_aside", open_save}, {"append", append}, {NULL, NULL}
  };
  st__fill_meta(h, ST_UD_SAVE, fill_save);
  st__set_functions(h, L, functions);
}
