"""What a URL keeps to itself: users and passwords, tokens and keys, hidden wherever a URL is told or kept."""

from __future__ import annotations

import re

HIDDEN = "***"
# two letters at least, as "C:/" is a drive; three slashes begin a path, which has neither user nor password
_BEFORE_HOST = re.compile(r"([A-Za-z][\w+.-]+:/{1,2})[^\s/@][^\s@]*@(?:\S*@)?")
_WITHOUT_SCHEME = re.compile(r"([\w.+-]*:)[^\s/@][^\s@]*@")
_OPTION = re.compile(
    r"([?&][\w.-]*(?:pass|pwd|secret|token|key|auth|credential|signature)[\w.-]*="
    r"|\b(?:password|passwd|pwd|secret|token|api_?key)=)[^\s&]+",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """The text with what stands in any URL as user and password, or as an option like ?token=, hidden.

    Also in a URL that was made a path, where `//` has become `/`. A password may hold any mark but a space.
    """
    text = _BEFORE_HOST.sub(rf"\1{HIDDEN}@", text)
    return _OPTION.sub(rf"\1{HIDDEN}", _WITHOUT_SCHEME.sub(rf"\1{HIDDEN}@", text))
