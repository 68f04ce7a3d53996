#!/usr/bin/env python3
"""Prints `restate.identity_key` for the private key that signs the requests of a cluster of Restate. Needs openssl.

    openssl genpkey -algorithm ed25519 -out request-identity.pem
    deploy/restate/public_key.py request-identity.pem
"""

import subprocess
import sys

DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base58(key):
    number, text = int.from_bytes(key, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = DIGITS[digit] + text
    return DIGITS[0] * (len(key) - len(key.lstrip(b"\0"))) + text


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    command = ["openssl", "pkey", "-in", sys.argv[1], "-pubout", "-outform", "DER"]
    key = subprocess.run(command, check=True, capture_output=True).stdout
    # An Ed25519 key: a head of 12 bytes, then the 32 of the key.
    if len(key) != 44:
        raise SystemExit("public_key: %s is no Ed25519 key" % sys.argv[1])
    print("publickeyv1_" + base58(key[12:]))


if __name__ == "__main__":
    main()
