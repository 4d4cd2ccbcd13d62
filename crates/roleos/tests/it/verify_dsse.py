"""Checks a DSSE envelope with securesystemslib: verify_dsse.py ENVELOPE PUBLIC_KEY_HEX; prints the payload, or why not."""

import json
import sys

from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey


def main() -> int:
    path, public_hex = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    keyid = data["signatures"][0]["keyid"]
    envelope = Envelope.from_dict(data)  # takes the dictionary apart
    key = SSlibKey(keyid, "ed25519", "ed25519", {"public": public_hex})
    try:
        envelope.verify([key], 1)
    except VerificationError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    print(envelope.payload.decode("utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
