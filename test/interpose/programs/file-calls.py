"""
Makes the file calls that lines ask for, one a line, below a directory: `file-calls.py ROOT`. Answers each line
with what the call said, as JSON: a result, or the name of an error. What may differ between two directories with
the same files is left out: where they are, numbers of inodes, and times of what was changed.

A line is a list: the name of a call, and its arguments. Descriptors and streams are named by slots.
"""
import ctypes, errno, hashlib, json, mmap, os, signal, stat, sys

ROOT = sys.argv[1]
SLOTS = {}
LIBC = ctypes.CDLL(None, use_errno=True)
for name in ["fopen", "freopen"]:
    getattr(LIBC, name).restype = ctypes.c_void_p
LIBC.fread.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
LIBC.fseek.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int]
LIBC.freopen.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
for name in ["fclose", "ftell", "fileno"]:
    getattr(LIBC, name).argtypes = [ctypes.c_void_p]


ABOVE = os.path.dirname(ROOT)
TOP = os.path.dirname(ABOVE)


def without_root(path):
    return path.replace(ROOT, "ROOT").replace(ABOVE, "ABOVE").replace(TOP, "TOP")


def shown(data):
    return [len(data), hashlib.sha1(data).hexdigest()[:8]]


def at(path):
    """Paths that begin with a colon are relative, and those with a caret begin in front of the mount."""
    if path.startswith("^"):
        return TOP + path[1:]
    return path[1:] if path.startswith(":") else ROOT + path


def fd(slot):
    return SLOTS.get(slot, -1)


def directory(slot):
    return {} if slot is None else {"dir_fd": fd(slot)}


# What is there at first: names of inodes, and times.
NAMES, TIMES = {}, {}


def note(path):
    said = os.lstat(ROOT + path)
    NAMES[said.st_dev, said.st_ino] = path
    TIMES[path] = said.st_mtime_ns
    if stat.S_ISDIR(said.st_mode):
        for name in os.listdir(ROOT + path):
            note(f"{path}/{name}")


def described(said):
    """Directories differ in their sizes and modes. The inode of a file that was removed may be used again."""
    if stat.S_ISDIR(said.st_mode):
        return "directory"
    name = NAMES.get((said.st_dev, said.st_ino))
    is_old = name is not None and TIMES.get(name) == said.st_mtime_ns
    return [oct(said.st_mode), said.st_size, said.st_uid, said.st_gid, name if is_old else "changed"]


def close_slot(slot):
    if slot in SLOTS:
        os.close(SLOTS.pop(slot))


def put(slot, number):
    close_slot(slot)
    SLOTS[slot] = number
    return "done"


def in_child(work):
    """What another process finds that has the same descriptors."""
    sys.stdout.flush()
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(theirs, json.dumps(answer_to(work)).encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(theirs)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    os.waitpid(child, 0)
    return json.loads(said)


def mapped(slot):
    with mmap.mmap(fd(slot), 0, access=mmap.ACCESS_READ) as memory:
        return shown(memory[:])


def sent(slot, count):
    to = os.memfd_create("sent")
    try:
        os.sendfile(to, fd(slot), None, count)
        return shown(os.pread(to, count, 0))
    finally:
        os.close(to)


def copied(slot, count, offset):
    to = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR, 0o600)
    try:
        os.copy_file_range(fd(slot), to, count, offset)
        return shown(os.pread(to, count, 0))
    finally:
        os.close(to)


def of_libc(result, is_error):
    if is_error:
        raise OSError(ctypes.get_errno(), "libc")
    return result


def by_stream(path, mode, offset, count):
    stream = LIBC.fopen(at(path).encode(), mode.encode())
    of_libc(stream, stream is None)
    return by_open_stream(stream, offset, count)


def by_open_stream(stream, offset, count):
    try:
        LIBC.fseek(stream, offset, os.SEEK_SET)
        room = ctypes.create_string_buffer(count)
        read = LIBC.fread(room, 1, count, stream)
        return [shown(room.raw[:read]), LIBC.ftell(stream), described(os.fstat(LIBC.fileno(stream)))]
    finally:
        LIBC.fclose(stream)


def by_reopened_stream(path, other, mode, offset, count):
    stream = LIBC.fopen(at(path).encode(), b"r")
    of_libc(stream, stream is None)
    stream = LIBC.freopen(at(other).encode(), mode.encode(), stream)
    of_libc(stream, stream is None)
    return by_open_stream(stream, offset, count)


def listed(path):
    with os.scandir(path) as entries:
        return sorted([entry.name, entry.is_dir(), entry.is_file(), entry.is_symlink()] for entry in entries)


def removed(path):
    result = LIBC.remove(at(path).encode())
    return of_libc(result, result != 0)


def made(path):
    result = LIBC.mkstemp(ctypes.create_string_buffer(path.encode() + b"XXXXXX"))
    return of_libc(result, result < 0)


CALLS = {
    "open": lambda slot, path, flags, where: put(slot, os.open(at(path), flags, 0o644, **directory(where))),
    "close": lambda slot: os.close(SLOTS.pop(slot, -1)),
    "dup": lambda slot, to: put(to, os.dup(fd(slot))),
    "dup2": lambda slot, to: os.dup2(fd(slot), fd(to)) == fd(to) if slot != to and to in SLOTS else "none",
    "read": lambda slot, count: shown(os.read(fd(slot), count)),
    "pread": lambda slot, count, offset: shown(os.pread(fd(slot), count, offset)),
    "readv": lambda slot, count: (lambda room: [os.readv(fd(slot), [room]), shown(room)])(bytearray(count)),
    "lseek": lambda slot, offset, whence: os.lseek(fd(slot), offset, whence),
    "fstat": lambda slot: described(os.fstat(fd(slot))),
    "mmap": mapped,
    "sendfile": sent,
    "copy_file_range": copied,
    "fchdir": lambda slot: os.fchdir(fd(slot)),
    "flistdir": lambda slot: sorted(os.listdir(fd(slot))),
    "fopen": by_stream,
    "freopen": by_reopened_stream,
    "by number": lambda slot, how, flags, to: put(to, os.open(f"{how}/{fd(slot)}", flags)),
    "stat": lambda path, follow, where: described(os.stat(at(path), follow_symlinks=follow, **directory(where))),
    "access": lambda path, mode, where: os.access(at(path), mode, **directory(where)),
    "readlink": lambda path: os.readlink(at(path)),
    "realpath": lambda path: without_root(os.path.realpath(at(path))),
    "listdir": lambda path: sorted(os.listdir(at(path))),
    "scandir": lambda path: listed(at(path)),
    "chdir": lambda path: os.chdir(at(path)),
    "getcwd": lambda: without_root(os.getcwd()),
    "fork": in_child,
    "write": lambda slot, text: os.write(fd(slot), text.encode()),
    "pwrite": lambda slot, text, offset: os.pwrite(fd(slot), text.encode(), offset),
    "ftruncate": lambda slot, size: os.ftruncate(fd(slot), size),
    "truncate": lambda path, size: os.truncate(at(path), size),
    "unlink": lambda path: os.unlink(at(path)),
    "rename": lambda path, to: os.rename(at(path), at(to)),
    "mkdir": lambda path: os.mkdir(at(path)),
    "mkfifo": lambda path: os.mkfifo(at(path)),
    "mknod": lambda path: os.mknod(at(path)),
    "mkstemp": lambda path: made(at(path)),
    "remove": removed,
    "setxattr": lambda path: os.setxattr(at(path), "user.x", b""),
    "rmdir": lambda path: os.rmdir(at(path)),
    "symlink": lambda to, path: os.symlink(to, at(path)),
    "link": lambda path, to: os.link(at(path), at(to)),
    "chmod": lambda path, mode: os.chmod(at(path), mode),
    "utime": lambda path, time: os.utime(at(path), ns=(time, time)),
}


def answer_to(line):
    name, *arguments = line
    try:
        return CALLS[name](*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    except (ValueError, OverflowError) as error:
        return type(error).__name__


note("")
os.chdir(ROOT)
for line in sys.stdin:
    print(json.dumps(answer_to(json.loads(line))), flush=True)
