"""What every benchmark writes beside its numbers."""

import json
import platform


def cpu_name() -> str:
    """The processor as Linux names it; elsewhere whatever Python knows."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def write(path: str | None, results: dict[str, object]) -> None:
    """Write results as JSON, if a path was given."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
