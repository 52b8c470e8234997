// SPDX-License-Identifier: Apache-2.0
// File operations that fail on purpose: preloaded into a process, it counts the operations below one directory, notes them,
// and lets those fail that it is told to.
//
// FAULTS_ROOT   the directory, absolute
// FAULTS_TRACE  file to which each operation is appended: a line, then the bytes that it wrote
// FAULTS        operations that fail: "OPERATION PATH NUMBER KIND", separated by ';'. NUMBER counts the operations of that
//               name and path. KIND: full (ENOSPC), error (EIO), short (half is done, and the next write of the file
//               finds no room)
//
// Nothing is synced: what would be, is noted.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES 4096
#define COUNTERS 8192

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *paths[FILES];
static int append_only[FILES], full_next[FILES];
static struct { char key[300]; unsigned count; } counters[COUNTERS];
static unsigned used;
static int trace = -2;
static const char *root, *faults;
static size_t root_length;

static void begin(void) {
    pthread_mutex_lock(&lock);
    if (trace != -2) return;
    root = getenv("FAULTS_ROOT");
    root_length = root ? strlen(root) : 0;
    faults = getenv("FAULTS");
    const char *file = getenv("FAULTS_TRACE");
    trace = file ? (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
}

static void end(void) { pthread_mutex_unlock(&lock); }

// The path below the directory; NULL: it is elsewhere.
static const char *below(const char *path) {
    if (!root || !path || strncmp(path, root, root_length)) return NULL;
    if (path[root_length] == 0) return ".";
    return path[root_length] == '/' ? path + root_length + 1 : NULL;
}

static const char *of(int fd) { return fd >= 0 && fd < FILES ? paths[fd] : NULL; }

static void note(const char *format, ...) {
    if (trace < 0) return;
    char line[1200];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    syscall(SYS_write, trace, line, length);
}

// Counts an operation; the kind of its fault: 0 none, 'f' full, 'e' error, 's' short.
static int fault(const char *operation, const char *path) {
    char key[300];
    snprintf(key, sizeof key, "%s %s", operation, path);
    unsigned at = 0;
    while (at < used && strcmp(counters[at].key, key)) at++;
    if (at == used) {
        if (used == COUNTERS) abort();
        strcpy(counters[used++].key, key);
    }
    unsigned number = ++counters[at].count;
    note("op %s %u\n", key, number);
    char wanted[340];
    int length = snprintf(wanted, sizeof wanted, "%s %u ", key, number);
    for (const char *one = faults; one && *one;) {
        if (!strncmp(one, wanted, length)) {
            note("hit %s%c\n", wanted, one[length]);
            return one[length];
        }
        one = strchr(one, ';');
        if (one) one++;
    }
    return 0;
}

static int code(int kind) { return kind == 'e' ? EIO : ENOSPC; }

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static unsigned long number_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

static int opened(int directory, const char *path, int flags, mode_t mode) {
    begin();
    char joined[600];
    const char *name = below(path);
    if (!name && path && path[0] != '/' && of(directory)) {
        const char *base = of(directory);
        if (strcmp(base, ".")) snprintf(joined, sizeof joined, "%s/%s", base, path);
        else snprintf(joined, sizeof joined, "%s", path);
        name = joined;
    }
    if (!name) {
        end();
        return (int)syscall(SYS_openat, directory, path, flags, mode);
    }
    int kind = fault(flags & O_CREAT ? "create" : "open", name);
    if (kind == 'e' || (kind && flags & O_CREAT)) {
        end();
        errno = code(kind);
        return -1;
    }
    struct stat before;
    int is_new = flags & O_CREAT && fstatat(directory, path, &before, 0);
    int fd = (int)syscall(SYS_openat, directory, path, flags, mode);
    if (fd >= 0 && fd < FILES) {
        paths[fd] = strdup(name);
        append_only[fd] = !!(flags & O_APPEND);
        full_next[fd] = 0;
        struct stat found;
        if (!fstat(fd, &found) && S_ISREG(found.st_mode)) {
            note("%s %lu %s\n", is_new ? "create" : "found", (unsigned long)found.st_ino, name);
            if (!is_new && flags & O_TRUNC) note("length %lu 0\n", (unsigned long)found.st_ino);
        }
    }
    end();
    return fd;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { va_list a; va_start(a, flags); mode = va_arg(a, mode_t); va_end(a); }

int open(const char *path, int flags, ...) { MODE(flags); return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags); return opened(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags); return opened(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags); return opened(at, path, flags, mode); }

int close(int fd) {
    begin();
    if (of(fd)) {
        free(paths[fd]);
        paths[fd] = NULL;
    }
    int done = (int)syscall(SYS_close, fd);
    end();
    return done;
}

static int control(int fd, int command, void *argument) {
    begin();
    int done = (int)syscall(SYS_fcntl, fd, command, argument);
    if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && done >= 0 && done < FILES && of(fd)) {
        paths[done] = strdup(of(fd));
        append_only[done] = append_only[fd];
        full_next[done] = 0;
    }
    end();
    return done;
}

int fcntl(int fd, int command, ...) {
    va_list a; va_start(a, command); void *argument = va_arg(a, void *); va_end(a);
    return control(fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
    va_list a; va_start(a, command); void *argument = va_arg(a, void *); va_end(a);
    return control(fd, command, argument);
}

// Writes at an offset, or where the file stands if there is none.
static ssize_t written(int fd, const void *bytes, size_t count, off_t at) {
    begin();
    const char *path = of(fd);
    if (!path) {
        end();
        return at < 0 ? syscall(SYS_write, fd, bytes, count) : syscall(SYS_pwrite64, fd, bytes, count, at);
    }
    int kind = fault("write", path);
    if (!kind && full_next[fd]) kind = 'f';
    full_next[fd] = 0;
    if (kind == 'f' || kind == 'e') {
        end();
        errno = code(kind);
        return -1;
    }
    if (kind == 's') {
        full_next[fd] = 1;
        count /= 2;
        if (!count) {
            end();
            errno = ENOSPC;
            return -1;
        }
    }
    struct stat before;
    off_t where = at;
    if (at < 0) where = append_only[fd] && !fstat(fd, &before) ? before.st_size : lseek(fd, 0, SEEK_CUR);
    ssize_t done = at < 0 ? syscall(SYS_write, fd, bytes, count) : syscall(SYS_pwrite64, fd, bytes, count, at);
    if (done > 0) {
        note("bytes %lu %ld %ld\n", number_of(fd), (long)where, (long)done);
        if (trace >= 0) syscall(SYS_write, trace, bytes, done);
    }
    end();
    return done;
}

ssize_t write(int fd, const void *bytes, size_t count) { return written(fd, bytes, count, -1); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t at) { return written(fd, bytes, count, at); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return written(fd, bytes, count, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    // As a short write may do.
    return count > 0 ? written(fd, parts[0].iov_base, parts[0].iov_len, -1) : 0;
}

static ssize_t got(int fd, void *bytes, size_t count, off_t at) {
    begin();
    const char *path = of(fd);
    int kind = path ? fault("read", path) : 0;
    end();
    if (kind == 'e') {
        errno = EIO;
        return -1;
    }
    if (kind == 's' && count > 1) count /= 2;
    return at < 0 ? syscall(SYS_read, fd, bytes, count) : syscall(SYS_pread64, fd, bytes, count, at);
}

ssize_t read(int fd, void *bytes, size_t count) { return got(fd, bytes, count, -1); }
ssize_t pread64(int fd, void *bytes, size_t count, off_t at) { return got(fd, bytes, count, at); }
ssize_t pread(int fd, void *bytes, size_t count, off_t at) { return got(fd, bytes, count, at); }

static int synced(int fd) {
    begin();
    const char *path = of(fd);
    int kind = path ? fault("sync", path) : 0;
    if (path && !kind) note("sync %lu %s\n", number_of(fd), path);
    end();
    if (kind) {
        errno = code(kind);
        return -1;
    }
    return 0;
}

int fsync(int fd) { return synced(fd); }
int fdatasync(int fd) { return synced(fd); }
int sync_file_range(int fd, off_t at, off_t count, unsigned flags) {
    (void)at, (void)count, (void)flags;
    // What it promises is no sync: no metadata, no cache of the disk's.
    begin();
    const char *path = of(fd);
    int kind = path ? fault("range", path) : 0;
    end();
    if (kind) {
        errno = code(kind);
        return -1;
    }
    return 0;
}

static int cut(int fd, off_t length) {
    begin();
    const char *path = of(fd);
    int kind = path ? fault("length", path) : 0;
    int done = -1;
    if (kind) errno = code(kind);
    else {
        done = (int)syscall(SYS_ftruncate, fd, length);
        if (path && !done) note("length %lu %ld\n", number_of(fd), (long)length);
    }
    end();
    return done;
}

int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off_t length) { return cut(fd, length); }

// An operation on names: one that fails, or is done and noted.
static int named(const char *operation, const char *path, const char *to, long number, int at, long a, long b, long c) {
    begin();
    char joined[600];
    const char *name = below(path);
    if (!name && at != AT_FDCWD && of(at)) {
        if (strcmp(of(at), ".")) snprintf(joined, sizeof joined, "%s/%s", of(at), path);
        else snprintf(joined, sizeof joined, "%s", path);
        name = joined;
    }
    int kind = name ? fault(operation, name) : 0;
    int done = -1;
    if (kind) errno = code(kind);
    else {
        done = (int)syscall(number, a, b, c);
        if (name && !done) note("%s %s%s%s\n", operation, name, to ? " " : "", to && below(to) ? below(to) : "");
    }
    end();
    return done;
}

int rename(const char *from, const char *to) {
    return named("rename", from, to, SYS_rename, AT_FDCWD, (long)from, (long)to, 0);
}
int unlink(const char *path) { return named("remove", path, NULL, SYS_unlink, AT_FDCWD, (long)path, 0, 0); }
int rmdir(const char *path) { return named("remove", path, NULL, SYS_rmdir, AT_FDCWD, (long)path, 0, 0); }
int unlinkat(int at, const char *path, int flags) {
    return named("remove", path, NULL, SYS_unlinkat, at, at, (long)path, flags);
}
int mkdir(const char *path, mode_t mode) { return named("folder", path, NULL, SYS_mkdir, AT_FDCWD, (long)path, mode, 0); }

DIR *opendir(const char *path) {
    REAL(DIR *, "opendir", const char *);
    begin();
    const char *name = below(path);
    int kind = name ? fault("list", name) : 0;
    end();
    if (kind == 'e') {
        errno = EIO;
        return NULL;
    }
    return real(path);
}
