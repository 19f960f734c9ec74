"""What a call can end with, apart from an answer."""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .caller import Answer


class PawlError(Exception):
    """The base of every error of this package. Keep `key`: a later try must use the same one."""

    def __init__(
        self,
        message: str,
        *,
        key: Optional[str] = None,
        code: Optional[str] = None,
        status: Optional[int] = None,
        answer: Optional["Answer"] = None,
    ) -> None:
        super().__init__(message)
        self.key = key
        self.code = code
        self.status = status
        self.answer = answer


class Unknown(PawlError):
    """It may have happened. Never send it under a new key: look it up, or try again with the same one."""


class Misuse(PawlError):
    """The key stands for another request, or is no key: a bug in this program."""


class Refused(PawlError):
    """Pawl refused it before anything was executed, and trying again as it is does not help."""


class Unavailable(PawlError):
    """Nothing was executed, and the time ran out. The same key may be tried later."""


class InFlight(PawlError):
    """Consumer: another owner is at it now."""


class LeaseLost(Unknown):
    """Consumer: the lease ended while the work ran. What the work had done by then is not known."""


class StaleFence(PawlError):
    """Another owner has this request now. Nothing of this transaction was kept."""


class TransactionEnded(PawlError):
    """Service: the handler committed, rolled back or closed the transaction that it was given."""


class EnqueueConflict(PawlError):
    """pawl.enqueue: another message was enqueued in this place before (PW002)."""


class NotGuarded(PawlError):
    """Service: the request did not come through a transactional route of Pawl."""


class NotExecuted(PawlError):
    """Raised by a consumer's work, and only where it is certain that nothing happened."""
