"""Runs cases in processes of their own: one that crashes or hangs is a finding like any other."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

from .errors import TooLongError
from .invariants import Finding, Outcome
from .kinds import Seed
from .known import reason_of
from .names import within

PATIENCE = 8.0  # seconds of a processor for a case
FATAL = 120.0  # seconds of an idle machine after which its process is ended
OF_THE_ORIGINAL = 20.0  # the same, before a case is announced: no end of SciPy's is a finding
CONTEXT = multiprocessing.get_context("fork")
CASES = 400  # of a process, before another one takes its place


def as_loaded(seconds: float) -> float:
    """How long something may take that takes so many seconds on an idle machine."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def examined(seed: Seed, announce: Callable[[str], None] = lambda text: None) -> Outcome:
    """A case, whose text is announced first; a mistake of this machine is a finding, too."""
    try:
        with within(PATIENCE):
            outcome = seed.examine(announce)
    except TooLongError:
        return Outcome("too long")
    except Exception:
        text = traceback.format_exc(limit=-4)
        return Outcome(findings=[Finding("the search itself", text)])
    case = f"{seed} {outcome.text}"
    for finding in list(outcome.findings):
        reason = reason_of(case, f"{finding.invariant}: {finding.message}")
        if reason:
            outcome.findings.remove(finding)
            outcome.known.append(reason)
    return outcome


def serve(connection: Connection) -> None:
    """A worker: seeds come in, outcomes go out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    while (seed := connection.recv()) is not None:
        connection.send(examined(seed, connection.send))


class Worker:
    """A process that examines one case at a time."""

    def __init__(self) -> None:
        self.connection, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.count = 0

    def examine(self, seed: Seed) -> Outcome:
        self.count += 1
        text = ""
        try:
            self.connection.send(seed)
            while self.connection.poll(as_loaded(FATAL if text else OF_THE_ORIGINAL)):
                came = self.connection.recv()
                if isinstance(came, Outcome):
                    return came
                text = came
            message = f"{FATAL:.0f} s, or longer where others were at work"
            return self.lost(text, "cases come to an end", message)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.process.join(5)
            return self.lost(text, "nothing crashes", f"exit code {self.process.exitcode}")

    def lost(self, text: str, invariant: str, message: str) -> Outcome:
        """What became of a case; before it is announced, the original is at work."""
        self.end()
        if not text:
            return Outcome("no case")
        return Outcome(text=text, findings=[Finding(invariant, message)])

    @property
    def is_usable(self) -> bool:
        return not self.connection.closed and self.process.is_alive() and self.count < CASES

    def end(self) -> None:
        if not self.connection.closed:
            self.process.kill()
            self.process.join()
            self.connection.close()


def run(
    seeds: Iterator[Seed], seconds: float, jobs: int, note: Callable[[Seed, Outcome, float], None]
) -> None:
    """Examine cases until the time is over or there are no more."""
    end, lock = time.monotonic() + seconds, threading.Lock()
    trouble: queue.Queue[BaseException] = queue.Queue()

    def lane(worker: Worker) -> None:
        try:
            while time.monotonic() < end:
                with lock:
                    seed = next(seeds, None)
                    if not worker.is_usable:
                        worker.end()
                        worker = Worker()
                if seed is None:
                    return
                begun = time.monotonic()
                outcome = worker.examine(seed)
                with lock:
                    note(seed, outcome, time.monotonic() - begun)
        except BaseException as error:
            trouble.put(error)
        finally:
            worker.end()

    workers = [Worker() for _ in range(jobs)]  # before there are threads that hold locks
    lanes = [threading.Thread(target=lane, args=(worker,)) for worker in workers]
    for each in lanes:
        each.start()
    for each in lanes:
        each.join()
    if not trouble.empty():
        raise trouble.get()
