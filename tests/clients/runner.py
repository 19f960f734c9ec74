"""Counts tests and says what failed. The last line is what tests/clients/run reads."""
import traceback


class Count:
    def __init__(self, title):
        self.title, self.passed, self.failed = title, 0, 0

    def run(self, name, test, *arguments):
        try:
            test(*arguments)
            self.passed += 1
        except Exception:
            self.failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)

    def exit_code(self):
        print(f"{self.title}: {self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def expect(wanted, got, what):
    assert wanted == got, f"{what}: {got!r} instead of {wanted!r}"
