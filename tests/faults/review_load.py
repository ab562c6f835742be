"""Many people review at once while the server is killed again and again: no answer is lost, none counts twice.

    make faults                                                        50 clients, 10,000 answers, 20 kills
    python tests/faults/review_load.py --clients 8 --answers 200 --kills 2

A client asks for a link and answers it. An answer counts where the server said so. When the server is killed, it is
started again on the same journal, and the clients go on. At the end every answer that counted is in the journal, once.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np

from veclink import sample
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.stores.opening import open_collection

FIELD = re.compile(r'<input type="hidden" name="(link|generation|seen)" value="([^"]*)">')
PARTNERS = 6
"""Links of each row, so that there are more than ten thousand to answer; most of them are wrong."""
SHELL = [sys.executable, "-c", "from veclink.cli.app import main; main()"]


class Server:
    """The review server, and where it is now; it is killed and started again on the same journal."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self.address: tuple[int, str] | None = None

    def start(self) -> None:
        """Start it, and wait until it says where it is."""
        words = ["review", self._folder / "links.parquet", sample.A, sample.B, "--json", "--device", "cpu"]
        self._process = subprocess.Popen([*SHELL, *map(str, words)], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            line = self._process.stdout.readline()
            assert line, f"the server ended with {self._process.wait()} before it told its address"
            told += line
        parts = urlsplit(json.loads(told)["url"])
        assert parts.port is not None
        self.address = parts.port, parts.path.strip("/")

    def kill(self) -> None:
        """End it as a crash would."""
        assert self._process is not None and self._process.stdout is not None
        self.address = None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()

    def megabytes(self) -> float:
        """How much memory it has now."""
        assert self._process is not None
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Load:
    """The clients, and the answers that counted."""

    def __init__(self, server: Server, wanted: int) -> None:
        self.server, self.wanted = server, wanted
        self.counted: list[tuple[int, str]] = []
        self.cut_off = self.overtaken = 0
        self._lock = threading.Lock()

    def client(self, name: str) -> None:
        """Answer links until there are enough answers."""
        connection: http.client.HTTPConnection | None = None
        place: tuple[int, str] | None = None
        shown: dict[str, str] = {}
        while len(self.counted) < self.wanted:
            if self.server.address is None:
                time.sleep(0.02)
                continue
            if connection is None or place != self.server.address:
                place, shown = self.server.address, {}
                connection = http.client.HTTPConnection("127.0.0.1", place[0], timeout=120)
            try:
                shown = self._answer_one(connection, place[1], name, shown)
            except (OSError, http.client.HTTPException):
                with self._lock:
                    self.cut_off += 1
                connection.close()
                connection = None

    def _answer_one(
        self, connection: http.client.HTTPConnection, token: str, name: str, shown: dict[str, str]
    ) -> dict[str, str]:
        """Answer the link that is shown, if one is; what is shown next."""
        if not shown:
            connection.request("GET", f"/{token}/next?{urlencode({'tab': name})}")
            return dict(FIELD.findall(_read(connection)[1]))
        given = "accept" if int(shown["link"]) % 3 else "reject"
        body = urlencode({"tab": name, "answer": given, **shown})
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", f"/{token}/answer", body, headers)
        status, page = _read(connection)
        with self._lock:
            if status == 200:
                self.counted.append((int(shown["link"]), given))
            else:
                assert status == 409, status
                self.overtaken += 1
        return dict(FIELD.findall(page))


def run(folder: Path, clients: int, answers: int, kills: int) -> dict[str, Any]:
    """Let so many clients give so many answers, while the server is killed so many times."""
    links = write_links(folder)
    assert answers <= len(links)
    server, began, memory = Server(folder), time.monotonic(), []
    load = Load(server, answers)
    server.start()
    crowd = [threading.Thread(target=load.client, args=(f"tab{number}",)) for number in range(clients)]
    for each in crowd:
        each.start()
    for kill in range(1, kills + 1):
        at_start = server.megabytes()
        while len(load.counted) < answers * kill // (kills + 1):
            time.sleep(0.02)
        memory.append([len(load.counted), round(at_start, 1), round(server.megabytes(), 1)])
        server.kill()
        server.start()
    for each in crowd:
        each.join()
    memory.append([len(load.counted), None, round(server.megabytes(), 1)])
    server.kill()
    return {
        "clients": clients,
        "kills": kills,
        "counted": len(load.counted),
        "cut_off": load.cut_off,
        "overtaken": load.overtaken,
        **compared(folder, links, load.counted),
        "megabytes": {"columns": ["answers", "after the start", "before the kill"], "rows": memory},
        "seconds": round(time.monotonic() - began, 1),
    }


def compared(folder: Path, links: Links, counted: list[tuple[int, str]]) -> dict[str, int]:
    """The journal beside the answers that counted."""
    columns = links.columns()
    lines = (folder / "links.parquet.review.jsonl").read_text().splitlines()[1:]
    kept = Counter((line["a"], line["b"], line["answer"]) for line in map(json.loads, lines))
    pairs = Counter(key[:2] for key in kept.elements())
    wanted = {(columns["a"][place], columns["b"][place], given) for place, given in counted}
    return {
        "in_the_journal": len(lines),
        "lost": len(wanted - set(kept)) + len(counted) - len(wanted),
        "double": sum(count > 1 for count in pairs.values()),
    }


def write_links(folder: Path) -> Links:
    """Links of the sample's papers: of each row of A with some of B."""
    a, b = open_collection(sample.A), open_collection(sample.B)
    rows = np.repeat(np.arange(len(a)), PARTNERS)
    partners = (rows * 7 + np.tile(np.arange(PARTNERS), len(a)) * 131) % len(b)
    probability = np.random.default_rng(0).uniform(0.05, 0.999, len(rows)).round(4)
    links = Links(
        np.column_stack([rows, partners]),
        probability,
        Summary("span", len(a), len(b), len(rows)),
        ids_a=None if a.ids is None else a.ids[rows],
        ids_b=None if b.ids is None else b.ids[partners],
    )
    links.save(folder / "links.parquet")
    return Links.load(folder / "links.parquet")


def _read(connection: http.client.HTTPConnection) -> tuple[int, str]:
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def main() -> int:
    """Run it and print what came of it; 1 where an answer was lost, or counted twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="veclink-review-") as folder:
        result = run(Path(folder), given.clients, given.answers, given.kills)
    text = json.dumps(result, indent=1) + "\n"
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(text, encoding="utf-8")
    print(text)
    return int(bool(result["lost"] or result["double"]))


if __name__ == "__main__":
    sys.exit(main())
