#!/usr/bin/env python3
"""An svc engine in Python: makes voucher numbers with a check digit, and checks them."""

import json
import re
import secrets
import sys

DESCRIPTION = {
    "name": "voucher",
    "version": "0.1.0",
    "display_name": "Vouchers",
    "description": "Makes voucher numbers with a check digit, and checks them",
    "capabilities": ["secret_generation", "secret_validation"],
}


class Refused(Exception):
    """A request that cannot be met; the message is the response's error and never quotes the request."""


def check_digit(digits):
    """The digit that makes a number end in 0 under the Luhn algorithm (ISO/IEC 7812-1 annex B)."""
    weighed = [int(digit) * (2 - index % 2) for index, digit in enumerate(reversed(digits))]
    return str(-sum(number - 9 if number > 9 else number for number in weighed) % 10)


def text(params, name, default=None):
    value = params.get(name)
    if value is None:
        value = default
    if not isinstance(value, str):
        raise Refused(f"{name} is required" if value is None else f"invalid params: {name} must be a string")
    return value


def generate(params):
    prefix = text(params, "prefix", "V")
    if not re.fullmatch("[A-Z]{1,10}", prefix):
        raise Refused("prefix must be 1 to 10 capital letters")
    digits = "".join(str(secrets.randbelow(10)) for _ in range(15))
    return {"voucher": f"{prefix}-{digits}{check_digit(digits)}"}


def validate(params):
    voucher = re.fullmatch("[A-Z]{1,10}-([0-9]{15})([0-9])", text(params, "voucher"))
    valid = voucher is not None and voucher[2] == check_digit(voucher[1])
    return {"valid": valid, "message": "the check digit is right" if valid else "not a voucher of ours"}


METHODS = {
    "describe": lambda params: DESCRIPTION,
    "ping": lambda params: {"status": "healthy"},
    "generate": generate,
    "validate": validate,
}


def respond(line):
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        raise Refused("invalid params: the request is not valid JSON") from None
    if not isinstance(request, dict) or not isinstance(request.get("params", {}), dict):
        raise Refused("invalid params: the request and its params must be objects")
    method = request.get("method")
    if not isinstance(method, str) or method not in METHODS:
        raise Refused("unknown method")
    return METHODS[method](request.get("params", {}))


# One request a line, one response a line; the end of the input ends the program.
for line in sys.stdin.buffer:
    try:
        response = {"data": respond(line)}
    except Refused as error:
        response = {"error": str(error)}
    print(json.dumps(response), flush=True)
