"""The programs that carry out cases with each language's client."""
import json
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = Path(os.environ.get("PAWL_CLIENTS_BUILD", ROOT / "build" / "clients"))
PYTHON = os.environ.get("PAWL_PYTHON", "/usr/bin/python3")  # Debian's, which has psycopg


def command_of(language):
    if language == "node":
        return ["node", str(HERE / "node_driver.mjs")]
    if language.startswith("python"):
        return [PYTHON, str(HERE / "python_driver.py"), language]
    if language == "go":
        return [str(BUILD / "go_driver")]
    raise ValueError(f"no such language: {language}")


class Driver:
    def __init__(self, language):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src")}
        self.process = subprocess.Popen(command_of(language), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)

    def ask(self, case):
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the driver ended during {case.get('name')}")
        return json.loads(line)
