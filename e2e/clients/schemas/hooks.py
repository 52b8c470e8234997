# SPDX-License-Identifier: Apache-2.0
"""What schemathesis has to know of Kubernetes' API: a watch lasts, and two answers of a server error are the right ones."""

import json

import schemathesis

# Code and beginning of the message: the real API server answers these, too.
RIGHT = (
    (500, "resourceVersion should not be set on objects to be created"),
    (504, "Timeout: Too large resource version"),
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
        message = str(json.loads(response.content).get("message", ""))
    except (ValueError, AttributeError):
        message = response.text
    if not any(response.status_code == code and message.startswith(text) for code, text in RIGHT):
        raise AssertionError(f"{response.status_code}: {message[:300]}")
