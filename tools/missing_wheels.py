"""Prints the requirements of a file that are not installed whole in this Python, one a line.

Exits 1 where there are any.

A requirement is `name==version` or `name`. Installed whole: pip wrote its record, and every file of
the record exists with the recorded size, so an interrupted or damaged installation is found.
"""

import importlib.metadata
import sys


def installed_whole(requirement):
    name, _, version = requirement.partition("==")
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    if version and distribution.version.split("+")[0] != version:
        return False
    files = distribution.files
    if not files:
        return False
    for file in files:
        if file.size is None:  # what pip compiles or writes itself
            continue
        try:
            if file.locate().stat().st_size != file.size:
                return False
        except OSError:
            return False
    return True


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        requirements = [line.split("#")[0].strip() for line in lines]
    missing = [r for r in requirements if r and not installed_whole(r)]
    for requirement in missing:
        print(requirement)
    return 1 if missing else 0


sys.exit(main())
