# SPDX-License-Identifier: Apache-2.0
"""What schemathesis has to know of Kubernetes' API: a watch lasts, and some server errors are the right answers."""

import json

import schemathesis

# Code and a part of the message: the real API server answers these, too. So it does with errors of Go that are no Status: 500
# without a reason.
RIGHT = (
    (504, "Timeout: Too large resource version"),
    (500, "could not find referenced "),
    (500, "could not get parent CloudProfile: "),
    (500, "not found in CloudProfile"),
)


@schemathesis.hook
def before_call(context, case, kwargs):
    """A watch without an end would be judged as a request that hangs: it ends after a second."""
    query = case.query
    if isinstance(query, dict) and "watch" in query:
        query["timeoutSeconds"] = 1


@schemathesis.check
def no_server_error(context, response, case):
    """Every answer is the client's doing."""
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
