"""What the web said, kept on the disk: results by the final query, pages by their URL, in one sqlite file."""

import json
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

from flare_local.errors import DiskFull, IndexFault

_TABLE = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL)"


class WebCache:
    """Keys and JSON values; safe to use from several threads and processes. A key once kept does not change."""

    def __init__(self, path: Path) -> None:
        """Raises `IndexFault` for a file that is no cache, `DiskFull` where none can be made."""
        self._path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute(_TABLE)
        except OSError as error:
            raise DiskFull(f"The web cache {path} cannot be made: {error.strerror}.") from None
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def get(self, *key: str) -> Any:
        """The value kept under `key`, or None."""
        try:
            with self._lock:
                row = self._base.execute("SELECT value FROM kept WHERE key = ?", (json.dumps(key),)).fetchone()
            return None if row is None else json.loads(row[0])
        except (sqlite3.Error, ValueError) as error:
            raise self._broken(error) from None

    def put(self, value: Any, *key: str) -> None:
        """Keeps `value` under `key`, unless something is there; it is on the disk then."""
        row = (json.dumps(key), json.dumps(value), time.time())
        try:
            with self._lock:
                self._base.execute("INSERT OR IGNORE INTO kept VALUES (?, ?, ?)", row)
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def close(self) -> None:
        """Frees the file."""
        with self._lock:
            self._base.close()

    def _broken(self, error: Exception) -> IndexFault:
        return IndexFault(f"The web cache {self._path} cannot be used ({error}).", "Delete it, or mend its disk.")
