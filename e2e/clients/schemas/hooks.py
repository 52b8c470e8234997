# SPDX-License-Identifier: Apache-2.0
"""Hooks of schemathesis for Kubernetes' API: a watch lasts, and some server errors are correct answers."""

import json

import schemathesis

# Code and a part of the message: the real API server returns these, too. It also returns 500 without a reason, for errors of Go
# that are not a Status.
RIGHT = (
    (504, "Timeout: Too large resource version"),
    (500, "could not find referenced "),
    (500, "could not get parent CloudProfile: "),
    (500, "not found in CloudProfile"),
)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Limits watches to a second: one without an end would count as a request that hangs."""
    query = case.query
    if isinstance(query, dict) and "watch" in query:
        query["timeoutSeconds"] = 1


@schemathesis.check
def no_server_error(context, response, case):
    """Fails for server errors that the real API server does not have."""
    if response.status_code < 500:
        return
    try:
        status = json.loads(response.content)
        message, reason = str(status["message"]), status.get("reason")
    except (ValueError, TypeError, KeyError):
        message, reason = response.text, "none"
    is_plain = response.status_code == 500 and not reason
    if not is_plain and not any(response.status_code == code and text in message for code, text in RIGHT):
        raise AssertionError(f"{response.status_code}: {message[:300]}")
