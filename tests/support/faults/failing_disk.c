/* Preloaded into a program: makes the calls that write below one folder fail or wait, as a file steers it while it runs.
 *
 * The file that FAILING_DISK names is mapped: see `struct rule`. An empty folder means no fault. Built by failing_disk.py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { DATA = 1, NAMES = 2, SYNC = 4, FREE = 8, READ = 16 }; /* classes of calls */

struct rule {
    volatile uint32_t calls;     /* the classes of calls that go wrong */
    volatile uint32_t error;     /* errno, 0 for none */
    volatile uint32_t delay_ms;  /* each such call waits so long first */
    volatile uint32_t count;     /* of calls that went wrong or waited */
    char folder[4080];           /* absolute; the fault is below it */
};

static struct rule *rule;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("FAILING_DISK");
    if (name == NULL) return;
    int descriptor = (int)(dlsym(RTLD_NEXT, "open") ? ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open"))(name, O_RDWR | O_CLOEXEC) : -1);
    if (descriptor < 0) return;
    void *found = mmap(NULL, sizeof(struct rule), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (found != MAP_FAILED) rule = found;
}

static int is_below(const char *path) {
    size_t length = strlen(rule->folder);
    return length > 0 && strncmp(path, rule->folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

/* Returns whether the call must fail; waits first. */
static int fails(const char *path) {
    if (!is_below(path)) return 0;
    __sync_fetch_and_add(&rule->count, 1);
    for (uint32_t waited = 0; waited < rule->delay_ms; waited += 10) nanosleep(&(struct timespec){0, 10000000}, NULL);
    if (rule->error == 0) return 0;
    errno = (int)rule->error;
    return 1;
}

static int is_meant(uint32_t calls) { return rule != NULL && (rule->calls & calls) != 0; }

static int fails_at(uint32_t calls, int descriptor) {
    char link[64], path[PATH_MAX];
    if (!is_meant(calls)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return fails(path);
}

static int fails_in(uint32_t calls, int folder, const char *name) {
    char path[2 * PATH_MAX], top[PATH_MAX] = "";
    if (!is_meant(calls) || name == NULL) return 0;
    if (name[0] == '/') return fails(name);
    if (folder == AT_FDCWD) {
        if (getcwd(top, sizeof top) == NULL) return 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, top, sizeof top - 1);
        if (length <= 0) return 0;
        top[length] = 0;
    }
    snprintf(path, sizeof path, "%s/%s", top, name);
    return fails(path);
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (real == NULL) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

/* A disk without room gives no new name either: there is no room for its inode. Opening a file that exists works. */
static int open_fails(int folder, const char *path, int flags) {
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) == 0) return fails_in(READ, folder, path);
    if (rule != NULL && (rule->error == ENOSPC || rule->error == EDQUOT) && faccessat(folder, path, F_OK, 0) == 0) return 0;
    return fails_in(NAMES, folder, path);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, #name, const char *, int, ...); \
        va_list rest; va_start(rest, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return open_fails(AT_FDCWD, path, flags) ? -1 : real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        REAL(int, #name, int, const char *, int, ...); \
        va_list rest; va_start(rest, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return open_fails(folder, path, flags) ? -1 : real(folder, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int descriptor, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    return fails_at(DATA, descriptor) ? -1 : real(descriptor, data, size);
}

ssize_t writev(int descriptor, const struct iovec *data, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    return fails_at(DATA, descriptor) ? -1 : real(descriptor, data, count);
}

#define PWRITE(name) \
    ssize_t name(int descriptor, const void *data, size_t size, off_t at) { \
        REAL(ssize_t, #name, int, const void *, size_t, off_t); \
        return fails_at(DATA, descriptor) ? -1 : real(descriptor, data, size, at); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define TRUNCATE(name) \
    int name(int descriptor, off_t size) { \
        REAL(int, #name, int, off_t); \
        return fails_at(DATA, descriptor) ? -1 : real(descriptor, size); \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

ssize_t read(int descriptor, void *data, size_t size) {
    REAL(ssize_t, "read", int, void *, size_t);
    return fails_at(READ, descriptor) ? -1 : real(descriptor, data, size);
}

int fsync(int descriptor) {
    REAL(int, "fsync", int);
    return fails_at(SYNC, descriptor) ? -1 : real(descriptor);
}

int fdatasync(int descriptor) {
    REAL(int, "fdatasync", int);
    return fails_at(SYNC, descriptor) ? -1 : real(descriptor);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    return fails_in(NAMES, AT_FDCWD, path) ? -1 : real(path, mode);
}

int mkdirat(int folder, const char *path, mode_t mode) {
    REAL(int, "mkdirat", int, const char *, mode_t);
    return fails_in(NAMES, folder, path) ? -1 : real(folder, path, mode);
}

int rename(const char *source, const char *target) {
    REAL(int, "rename", const char *, const char *);
    return fails_in(FREE, AT_FDCWD, target) ? -1 : real(source, target);
}

int renameat(int from, const char *source, int to, const char *target) {
    REAL(int, "renameat", int, const char *, int, const char *);
    return fails_in(FREE, to, target) ? -1 : real(from, source, to, target);
}

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    return fails_in(FREE, AT_FDCWD, path) ? -1 : real(path);
}

int unlinkat(int folder, const char *path, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    return fails_in(FREE, folder, path) ? -1 : real(folder, path, flags);
}
