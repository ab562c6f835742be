/* Counts the calls of a process that change the disk, and kills it just before the one that was asked for.
 *
 * Preloaded (LD_PRELOAD) before the C library, it sees what Python and the engines of the stores do alike. Nothing
 * is counted before `kill_before` is called. Every child that is forked after that counts for itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int armed;
static atomic_long seen;
static long wanted;

void kill_before(long number)
{
    wanted = number;
    atomic_store(&seen, 0);
    atomic_store(&armed, 1);
}

long points_seen(void) { return atomic_load(&seen); }

static void point(void)
{
    if (atomic_load(&armed) && atomic_fetch_add(&seen, 1) + 1 == wanted)
        kill(getpid(), SIGKILL);
}

static void point_if_file(int descriptor)
{
    struct stat found;
    if (atomic_load(&armed) && descriptor > 2 && fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode))
        point();
}

static int is_for_writing(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)); }

#define NEXT(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

int rename(const char *from, const char *to)
{
    point();
    return NEXT(int, "rename", const char *, const char *)(from, to);
}

int renameat(int a, const char *from, int b, const char *to)
{
    point();
    return NEXT(int, "renameat", int, const char *, int, const char *)(a, from, b, to);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned int flags)
{
    point();
    return NEXT(int, "renameat2", int, const char *, int, const char *, unsigned int)(a, from, b, to, flags);
}

int unlink(const char *path)
{
    point();
    return NEXT(int, "unlink", const char *)(path);
}

int unlinkat(int folder, const char *path, int flags)
{
    point();
    return NEXT(int, "unlinkat", int, const char *, int)(folder, path, flags);
}

int rmdir(const char *path)
{
    point();
    return NEXT(int, "rmdir", const char *)(path);
}

int mkdir(const char *path, mode_t mode)
{
    point();
    return NEXT(int, "mkdir", const char *, mode_t)(path, mode);
}

int link(const char *from, const char *to)
{
    point();
    return NEXT(int, "link", const char *, const char *)(from, to);
}

int fsync(int descriptor)
{
    point();
    return NEXT(int, "fsync", int)(descriptor);
}

int fdatasync(int descriptor)
{
    point();
    return NEXT(int, "fdatasync", int)(descriptor);
}

int msync(void *address, size_t length, int flags)
{
    point();
    return NEXT(int, "msync", void *, size_t, int)(address, length, flags);
}

int ftruncate(int descriptor, off_t length)
{
    point();
    return NEXT(int, "ftruncate", int, off_t)(descriptor, length);
}

int ftruncate64(int descriptor, off64_t length)
{
    point();
    return NEXT(int, "ftruncate64", int, off64_t)(descriptor, length);
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    point_if_file(descriptor);
    return NEXT(ssize_t, "write", int, const void *, size_t)(descriptor, data, size);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset)
{
    point_if_file(descriptor);
    return NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t)(descriptor, data, size, offset);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset)
{
    point_if_file(descriptor);
    return NEXT(ssize_t, "pwrite64", int, const void *, size_t, off64_t)(descriptor, data, size, offset);
}

/* Each of the four ways to open: the mode is there only where a file may be made. */
#define OPENING(name)                                                                                                  \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;                                      \
        va_end(more);                                                                                                  \
        if (is_for_writing(flags))                                                                                     \
            point();                                                                                                   \
        return NEXT(int, #name, const char *, int, ...)(path, flags, mode);                                            \
    }
#define OPENING_AT(name)                                                                                               \
    int name(int folder, const char *path, int flags, ...)                                                             \
    {                                                                                                                  \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;                                      \
        va_end(more);                                                                                                  \
        if (is_for_writing(flags))                                                                                     \
            point();                                                                                                   \
        return NEXT(int, #name, int, const char *, int, ...)(folder, path, flags, mode);                               \
    }

OPENING(open)
OPENING(open64)
OPENING_AT(openat)
OPENING_AT(openat64)
