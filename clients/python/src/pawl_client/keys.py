"""Idempotency keys."""
from __future__ import annotations

import os
import threading
import time
import uuid

_lock = threading.Lock()
_last = (0, 0)


def new_key() -> str:
    """A key for one intent: a UUID of version 7. Later ones of this process sort after earlier ones."""
    global _last
    now = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    with _lock:
        at, count = _last
        if now > at:
            at, count = now, random >> 69  # 11 bits, so that there is room to count
        else:
            count += 1
            if count > 0xFFF:
                at, count = at + 1, 0
        _last = (at, count)
    tail = random & ((1 << 62) - 1)
    return str(uuid.UUID(int=at << 80 | 0x7 << 76 | count << 64 | 0b10 << 62 | tail))
