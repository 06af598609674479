"""What every benchmark writes beside its numbers."""

import json


def write(path: str | None, results: dict[str, object]) -> None:
    """Write results as JSON, if a path was given."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
