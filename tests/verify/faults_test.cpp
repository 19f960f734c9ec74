// The tester is tested: each fault is found by the checks that are there for it and by no others,
// and a server without faults passes all of them.
#include "tests/verify/python_server.hpp"
#include "tests/verify/verify_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::IsEmpty;
using Names = std::set<std::string>;

struct Fault {
  const char* name;
  Names found_by;
  Names or_by_chance = {};  // it depends on when a hang-up or a kill struck
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class Faults : public ::testing::TestWithParam<Fault> {};

// Everything that a check may ask for.
Lines everything(const PythonServer& server) {
  const std::string note(20'000, 'n');
  return {server.url() + "/payments",
          "--body",
          R"({"amount":1200,"currency":"EUR","note":""})",
          "-H",
          "Authorization: Bearer shop",
          "--second-caller-header",
          "Authorization: Bearer other",
          "--large-body",
          R"({"amount":1,"note":")" + note + "\"}",
          "--form",
          "amount=1200",
          "--form",
          "currency=EUR",
          "--other-path",
          "/transfers",
          "--count",
          "GET /effects",
          "--count-pointer",
          "/total",
          "--fail-header",
          "X-Fail: 1",
          "--refuse-header",
          "X-Refuse: 1",
          "--slow-header",
          "X-Slow: 1500",
          "--origin",
          "https://shop.example",
          "--kill",
          server.kill_command(),
          "--restart",
          server.restart_command(),
          "--concurrency",
          "10",
          "--timeout",
          "20",
          "--seed",
          "1",
          "--format",
          "json",
          "--quiet"};
}

testing::Finished verify_everything(const PythonServer& server) {
  Lines flags = everything(server);
  flags.insert(flags.end(), {"--skip", "replay-under-rate-limit"});
  return run_verify(flags);
}

TEST(Correct, AServerWithoutFaultsPassesEveryCheck) {
  const PythonServer server;
  const testing::Finished finished = verify_everything(server);
  EXPECT_THAT(named(finished.out, "failed"), IsEmpty()) << finished.out;
  EXPECT_THAT(named(finished.out, "not run"), IsEmpty()) << finished.out;
  EXPECT_GE(named(finished.out, "passed").size(), 35U);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

TEST_P(Faults, IsFoundByExactlyTheChecksThatAreThereForIt) {
  const PythonServer server(GetParam().name);
  const testing::Finished finished = verify_everything(server);
  Names found = named(finished.out, "failed");
  for (const std::string& name : GetParam().or_by_chance) found.erase(name);
  EXPECT_EQ(found, GetParam().found_by) << finished.out << finished.err;
  EXPECT_EQ(finished.exit_code, 1) << finished.err;
}

INSTANTIATE_TEST_SUITE_P(
    Each, Faults,
    ::testing::Values(
        Fault{"no-lock", {"concurrent-one-effect", "hang-up-waiting"}},
        Fault{"no-fingerprint",
              {"body-other-refused", "body-difference-at-end", "body-exact-numbers",
               "key-on-another-path"}},
        Fault{"first-kilobyte", {"body-difference-at-end"}},
        Fault{"raw-fingerprint",
              {"body-json-order", "body-json-escapes", "body-json-numbers",
               "body-multipart-boundary"}},
        Fault{"double-precision", {"body-exact-numbers"}}, Fault{"global-key", {"callers-apart"}},
        Fault{"leaks", {"callers-no-leak"}}, Fault{"any-path", {"key-on-another-path"}},
        Fault{"caches-errors", {"refusal-not-final"}},
        Fault{"executes-after-500", {"error-after-effect"}},
        Fault{"replays-as-200", {"replay-status"}}, Fault{"re-serialises", {"replay-body"}},
        Fault{"drops-headers", {"replay-headers"}}, Fault{"unmarked", {"replay-marked"}},
        Fault{"no-expiry", {"expiry-told"}}, Fault{"cuts-large", {"replay-large"}},
        Fault{"forgets-errors", {"replay-validation-error"}},
        Fault{"frees-on-hang-up", {"hang-up-waiting"}}, Fault{"executes-half", {"hang-up-in-body"}},
        Fault{"forgets-at-kill", {"killed-after-answer", "killed-at-effect"}, {"killed-at-start"}},
        Fault{"misuse-overwrites", {"body-other-unharmed"}},
        Fault{"any-key",
              {"key-empty", "key-too-long", "key-twice", "key-not-ascii", "key-unbalanced-quote",
               "key-quoted-or-bare"}},
        Fault{"quotes-count", {"key-quoted-or-bare", "key-unbalanced-quote"}},
        Fault{"key-not-required", {"key-missing"}},
        Fault{"key-on-everything", {"key-other-methods"}},
        Fault{"late-conflict", {"in-flight-at-once"}},
        Fault{"absurd-retry-after", {"in-flight-retry-after"}},
        Fault{"plain-errors", {"errors-readable"}}, Fault{"no-cors", {"errors-cors"}}),
    [](const auto& fault) {
      std::string name = fault.param.name;
      std::erase(name, '-');
      return name;
    });

// A caller that is limited to ten new keys.
Names limited(const PythonServer& server, const std::string& result) {
  const testing::Finished finished =
      run_verify({server.url() + "/payments", "--body", R"({"amount":1200})", "-H",
                  "Authorization: Bearer limited", "--rate-limit", "20", "--only",
                  "replay-under-rate-limit", "--format", "json", "--quiet"});
  return named(finished.out, result);
}

TEST(Limited, AReplayIsAskedForUnderTheLimit) {
  const Names check{"replay-under-rate-limit"};
  EXPECT_EQ(limited(PythonServer(), "passed"), check);
  EXPECT_EQ(limited(PythonServer("limits-replays"), "failed"), check);
}

}  // namespace
}  // namespace pawl::e2e
