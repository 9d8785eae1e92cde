"""How a request fails: the server refused it, or no answer arrived."""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime
from typing import Any, Mapping, Optional, cast

_TEXTS = ("type", "title", "code", "detail", "request_id")


class CairnError(Exception):
    """The base of all errors of this package."""


class ApiError(CairnError):
    """The server refused the request or failed. `problem` is its problem document (RFC 9457)."""

    def __init__(self, problem: Mapping[str, Any], retry_after: Optional[float] = None) -> None:
        title, detail = str(problem["title"]), str(problem["detail"])
        super().__init__(detail if title.lower() in detail.lower() else f"{title}: {detail}")
        self.problem = problem
        self.status = int(problem["status"])
        self.code = str(problem["code"])
        self.request_id = str(problem["request_id"])
        #: Seconds, from the server's Retry-After.
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.code == "idempotency_in_progress" or self.status in (408, 429) or self.status >= 500


class ConnectionFailed(CairnError):
    """No answer: the server or the network is down, or the connection went silent."""


def read_failure(status: int, headers: Mapping[str, str], text: str, now: float) -> ApiError:
    """Reads a refusal. Proxies answer with their own pages; those become a problem document too."""
    problem = _problem(text) or {
        "type": "about:blank",
        "title": f"HTTP {status}",
        "status": status,
        "code": "internal" if status >= 500 else "bad_request",
        "detail": text[:200] or "no details",
        "request_id": headers.get("x-request-id", ""),
    }
    return ApiError(problem, _retry_after(headers.get("retry-after"), now))


def _problem(text: str) -> Optional[Mapping[str, Any]]:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    problem = cast("Mapping[str, Any]", value)
    fits = isinstance(problem.get("status"), int) and all(isinstance(problem.get(key), str) for key in _TEXTS)
    return problem if fits else None


def _retry_after(header: Optional[str], now: float) -> Optional[float]:
    if header is None:
        return None
    if header.strip().isdigit():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now)
    except ValueError:
        return None
