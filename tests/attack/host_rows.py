"""What another user of the same machine may try: rows of the table that are no floods.

Each is a function that does it within bounds and says what came of it, as a sentence and as words that hold or do
not. `must` and `later` are as in wire_rows.py: to switch a word on, move it from one to the other in the line of its
row.
"""
import contextlib
import dataclasses
import json
import os
import re
import shlex
import socket
import subprocess
import time

from victims import ADDRESSES, LIMIT_S, READY, Pair, as_stranger, end, environment, run

PYTHON = "/usr/bin/python3"  # one that every user may run
TAGS = 256
LEARN_TRIES = 6
GUESSES, GUESS_RATE = 100_000, 50_000
STRIDES = {"rc": 600, "mrc": 16384}  # sequence numbers that one guess stands for
PMTU = "1024"  # as on Ethernet: of a window of 1 MiB 1024 packets are out
KINDS = {"rc": "rc-nak", "mrc": "mrc-nack"}
SECRET_KEY, SECRET = "hunter2", "tops3cret"
FEW_FILES = 80
MEMORY_MOST = 4 << 30
MEMORY_FAIR = 256 << 20
TCP_PORT = 18515


@dataclasses.dataclass
class Row:
    title: str
    do: callable
    must: str = ""
    later: str = ""
    short: bool = True

    @property
    def case(self):
        kept = "".join(c if c.isalnum() else "_" for c in self.title.lower())
        return "_".join(part for part in kept.split("_") if part)


# Which of the files have all of the numbers in them, as integers of this machine.
READ_FILES = """
import json, struct, sys
files, numbers = json.load(sys.stdin)
found = []
for name in files:
    try:
        with open(name, "rb") as f:
            bytes = f.read(64 << 20)
    except OSError:
        continue
    if all(struct.pack("=I", number) in bytes for number in numbers):
        found.append(name)
print(json.dumps(found))
"""

# Binds abstract unix sockets of these names until its input ends.
TAKE_NAMES = """
import json, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
names, kept = json.loads(sys.stdin.readline()), []
for name in names:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        s.bind("\\0" + name)
        kept.append(s)
    except OSError:
        pass
print(len(kept), flush=True)
sys.stdin.read()
"""


def shared_files(pid):
    """Files that a process has mapped for others to read."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return sorted({line.split(maxsplit=5)[5].strip() for line in f if " rw-s " in line and "/" in line})


def learn_as_stranger(pair):
    """Whether another user finds both numbers in what the victims share, which they write now and then."""
    for _ in range(LEARN_TRIES):
        files = shared_files(pair.client.pid) + shared_files(pair.server.pid)
        done = run([PYTHON, "-c", READ_FILES], input=json.dumps([files, sorted(pair.numbers.values())]), cwd="/",
                   **as_stranger())
        if json.loads(done.stdout):
            return True
        time.sleep(0.2)
    return False


def guess(pair, learned):
    """Packets of another user in the peer's name, until the queue pair dies or there were enough."""
    who = ADDRESSES[4]
    words = [pair.place.forge, KINDS[pair.transport], "--from", who["server"], "--to", who["client"],
             "--count", GUESSES, "--rate", GUESS_RATE, "--ms", 10_000]
    if learned:
        words += ["--qp", pair.numbers["client"], "--stride", STRIDES[pair.transport]]
    else:
        words += ["--tag", pair.numbers["client"] >> 16]
    forger = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True, cwd="/",
                              **as_stranger())
    try:
        while forger.poll() is None and pair.is_running():
            time.sleep(0.01)
    finally:
        end(forger)
    return json.loads(forger.stdout.read())["sent"]


def kill_foreign(transport):
    def do(place, is_short):
        pair = Pair(place, transport, 2.5 if is_short else 5, options=("--pmtu", PMTU))
        try:
            pair.learn()
            learned = learn_as_stranger(pair)
            sent = 0 if is_short else guess(pair, learned)
            outcome = pair.finish()
        finally:
            pair.stop()
        said = f"numbers {'learned' if learned else 'not learned'}"
        if not is_short:
            said += f"; queue pair {'died' if outcome.killed else 'lives'} after {sent} packets"
        return said, {"secret": not learned, "alive": not outcome.killed}
    return do


def open_names():
    """Names of abstract sockets that another user sees, with their last number taken off."""
    seen = run(["cat", "/proc/net/unix"], cwd="/", **as_stranger()).stdout
    return sorted(set(re.findall(r"@(weft\S*-)\d+$", seen, re.M)))


@contextlib.contextmanager
def squatter(prefixes):
    process = subprocess.Popen([PYTHON, "-c", TAKE_NAMES], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, cwd="/", **as_stranger())
    try:
        names = [f"{prefix}{tag}" for prefix in prefixes for tag in range(TAGS)]
        process.stdin.write(json.dumps(names) + "\n")
        process.stdin.flush()
        yield int(process.stdout.readline())
    finally:
        end(process)


def squat(place, is_short):
    del is_short
    prefixes, failed = set(), []
    for transport in ("rc", "mrc"):
        pair = Pair(place, transport, 0.6)
        try:
            pair.learn()
            prefixes.update(open_names())
            pair.finish()
        finally:
            pair.stop()
    with squatter(prefixes) as taken:
        for transport in ("rc", "mrc"):
            try:
                pair = Pair(place, transport, 0.3)
                outcome = pair.finish()
                if not outcome.is_right:
                    failed.append(f"{transport}: {outcome.words()[:60]}")
            except RuntimeError as why:
                failed.append(f"{transport}: {why}")
    said = f"{taken} names taken; " + ("; ".join(failed) if failed else "devices open all the same")
    return said, {"opens": not failed}


def build_opener(place):
    """The set-uid program, with the library of the tree under test."""
    folder = place.folder
    library = place.copy(place.build / "src/verbs/libweft-verbs.so")
    if not (folder / "libmrc.so").exists():
        (folder / "libmrc.so").symlink_to(library)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "opener.c")
    program = folder / "opener"
    run([*shlex.split(os.environ.get("CC", "cc")), "-O2", "-o", program, source, f"-L{folder}", "-lmrc",
         f"-Wl,-rpath,{folder}"])
    program.chmod(0o4755)
    return program


def set_uid(place, is_short):
    del is_short
    program = build_opener(place)
    written, read = place.folder / "root-only-counters", place.folder / "root-only-config"
    written.write_text("")
    read.write_text(f"{SECRET_KEY} = {SECRET}\n")
    for path in (written, read):
        path.chmod(0o600)
    plain = {"WEFT_INTERFACES": "", "WEFT_VERBOSE": "1"}
    first = environment(**plain, WEFT_COUNTERS=str(written))
    second = environment(**plain)
    second["WEFT_CONFIG"] = str(read)
    for env in (first, second):
        del env["WEFT_INTERFACES"]
    one, two = (run([program], env=env, check=False, cwd="/", **as_stranger()) for env in (first, second))
    if "devices" not in one.stdout:
        raise RuntimeError(f"the set-uid program: {one.stderr}")
    is_written = written.stat().st_size > 0
    is_disclosed = any(word in two.stdout + two.stderr for word in (SECRET, SECRET_KEY))
    said = (f"root's file {'written' if is_written else 'not written'} by WEFT_COUNTERS, "
            f"{'disclosed' if is_disclosed else 'not disclosed'} by WEFT_CONFIG")
    return said, {"unwritten": not is_written, "undisclosed": not is_disclosed}


def few_descriptors(place, is_short):
    del is_short
    limit = ["prlimit", f"--nofile={FEW_FILES}:{FEW_FILES}", place.weft, "perf"]
    env, address = environment(), ADDRESSES[4]["server"]
    server = subprocess.Popen([*limit, "--server", "--once", "--bind", address], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        if READY not in server.stderr.readline():
            return "the server does not start", {"works": False}
        client = run([*limit, "--transport", "mrc", "--qps", "2", "--count", "200", "--size", "4096", "--verify",
                      address], env=env, check=False, timeout=LIMIT_S)
        said = "works" if client.returncode == 0 else client.stderr.strip().splitlines()[-1]
    except subprocess.TimeoutExpired:
        return "hung", {"works": False}
    finally:
        end(server)
    return said, {"works": client.returncode == 0}


def endless_file(place, is_short):
    """The memory is that of the largest child so far, so the process has a child of its own for it."""
    del is_short
    code = ("import resource, subprocess, sys\n"
            f"resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_MOST}, {MEMORY_MOST}))\n"
            "try:\n"
            "    done = subprocess.run(sys.argv[1:], capture_output=True, timeout=10)\n"
            "    status, said = done.returncode, done.stderr.decode()[:120]\n"
            "except subprocess.TimeoutExpired:\n"
            "    status, said = None, 'no end after 10 s'\n"
            "print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, said.strip())")
    env = environment()
    env["WEFT_CONFIG"] = "/dev/zero"
    del env["WEFT_INTERFACES"]
    start = time.monotonic()
    out = run([PYTHON, "-c", code, place.weft, "devices"], env=env).stdout.strip()
    took = time.monotonic() - start
    status, kib, _ = (out + "  ").split(" ", 2)
    is_refused = status.isdigit() and int(status) > 0
    said = f"{'refused' if is_refused else 'status ' + status}, {took:.1f} s, {int(kib) >> 10} MiB"
    return said, {"refused": is_refused, "frugal": int(kib) << 10 < MEMORY_FAIR}


def idle_client(place, is_short):
    idle, env, address = 1 if is_short else 3, environment(), ADDRESSES[4]["server"]
    server = subprocess.Popen([place.weft, "perf", "--server", "--bind", address], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    silent = []
    try:
        if READY not in server.stderr.readline():
            raise RuntimeError("the server does not start")
        for _ in range(idle):
            silent.append(socket.create_connection((address, TCP_PORT), timeout=5))
            time.sleep(0.1)
        start = time.monotonic()
        client = run([place.weft, "perf", "--count", "10", address], env=env, check=False,
                     timeout=3 * LIMIT_S)
        took = time.monotonic() - start
    except subprocess.TimeoutExpired:
        return f"not served within {3 * LIMIT_S} s", {"served": False}
    finally:
        for one in silent:
            one.close()
        end(server)
    is_served = client.returncode == 0
    said = f"{idle} idle: the next is {'served' if is_served else 'refused'} after {took:.1f} s"
    return said, {"served": is_served}


ROWS = [
    Row("rc: another user and a queue pair", kill_foreign("rc"), must="secret alive"),
    Row("mrc: another user and a queue pair", kill_foreign("mrc"), must="secret alive"),
    Row("another user takes all names", squat, must="opens"),
    Row("set-uid program, environment of another user", set_uid, must="unwritten undisclosed"),
    Row("mrc: 80 descriptors, two queue pairs", few_descriptors, must="works"),
    Row("configuration without end", endless_file, must="refused frugal"),
    Row("idle client at a server", idle_client, must="served", short=False),
]


def attack(row, place, seed, is_short):
    del seed
    said, held = row.do(place, is_short)
    return {"row": row.title, "result": said, "held": held, "must": row.must, "later": row.later}


def judge(got, words):
    return [f"not {word}: {got['result']}" for word in words.split() if not got["held"][word]]
