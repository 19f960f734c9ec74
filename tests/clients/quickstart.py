#!/usr/bin/env python3
"""Follows the quick start of each language's page word for word, on ports that are free, and expects what it says."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from real import ROOT, Postgres, free_port


def script_of(page):
    text = (ROOT / "docs/clients" / f"{page}.md").read_text()
    part = re.search(r"<!-- a test follows these blocks word for word -->\n(.*?)<!-- end of the blocks -->", text, re.S)
    assert part, f"{page}: no blocks"
    blocks = re.findall(r"```sh\n(.*?)```", part.group(1), re.S)
    assert blocks, f"{page}: no blocks"
    return "\n".join(blocks)


def follow(page, postgres):
    script = script_of(page)
    wanted = re.findall(r"^#> (.*)$", script, re.M)
    assert wanted, f"{page} expects nothing"
    service, gateway = str(free_port()), str(free_port())
    for before, after in ((":3000", f":{service}"), ("(3000,", f"({service},"), ('"127.0.0.1", 3000', f'"127.0.0.1", {service}'), (":8080", f":{gateway}")):
        script = script.replace(before, after)
    # The admin listener's default may be taken on this machine.
    script = script.replace("[key_api]\n", f'[admin]\nlisten = "127.0.0.1:{free_port()}"\n\n[key_api]\n')
    database = f"start_{page}_{os.getpid()}"
    postgres.query("postgres", f"CREATE DATABASE {database}")
    folder = tempfile.mkdtemp(prefix=f"pawl-start-{page}-")
    environment = {**os.environ, "PAWL": str(ROOT), "DATABASE_URL": postgres.url(database)}
    environment.pop("PYTHONPATH", None)
    log = os.path.join(folder, "said")
    with open(log, "wb") as out:
        # A session of its own: what the page starts in the background is ended with it.
        run = subprocess.Popen(["bash", "-e", "-c", script], cwd=folder, env=environment, stdout=out, stderr=out,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        code = run.wait(timeout=300)
        with open(log, errors="replace") as said:
            text = said.read()
        assert code == 0, f"it ended with {code}:\n{text}"
        at = 0
        for line in wanted:
            found = text.find(line, at)
            assert found >= 0, f"it did not say {line!r} in its turn:\n{text}"
            at = found + len(line)
        rows = postgres.query(database, "SELECT count(*) FROM payments")
        assert rows == "1", f"{rows} rows"
    finally:
        try:
            os.killpg(run.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        run.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main(pages):
    passed, failed = 0, 0
    postgres = Postgres()
    try:
        for page in pages:
            try:
                follow(page, postgres)
                passed += 1
            except AssertionError as error:
                failed += 1
                print(f"FAILED {page}: {error}", flush=True)
    finally:
        postgres.close()
    print(f"quick starts: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["node", "python", "go"]))
