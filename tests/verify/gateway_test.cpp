// pawl serve in front of the payments example keeps every promise, on both stores and in both
// profiles, and while it is killed.
#include <atomic>
#include <fstream>

#include "src/core/sha256.hpp"
#include "tests/payments/payments_fixture.hpp"
#include "tests/verify/verify_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::IsEmpty;
using Names = std::set<std::string>;

class VerifiedGateway : public PaymentsTest {
 protected:
  // Two callers that the gateway knows by their tokens, as the payments API does.
  static Settings settings_of(const std::string& profile, const std::string& more = {}) {
    Settings settings;
    settings.top = "sweep_interval = \"200ms\"";
    settings.policy = "profile = \"" + profile + "\"\nlease = \"1s\"\n" + more;
    settings.rest = "[caller]\nfrom = \"api-key\"\nheader = \"Authorization\"\n";
    for (const std::string name : {"shop", "other"}) {
      settings.rest +=
          "[[caller.api_key]]\nscope = \"" + name + "\"\nsha256 = \"" + hex(sha256(name)) + "\"\n";
    }
    return settings;
  }

  // The service behind it, and a gateway that a shell can kill and start again.
  void start_all(Settings settings) {
    start_api({"--complete-every-ms", "200"});
    settings.upstream = api_->url();
    const ServeProcess& gateway = start(settings);
    url_ = gateway.url();
    port_ = gateway.port();
    std::ofstream(pid_file()) << gateway.pid();
    std::ofstream(config_file()) << config_of(settings);
  }

  ~VerifiedGateway() override {
    testing::run_program({"/bin/sh", "-c", kill_command() + " 2>/dev/null; true"});
  }

  [[nodiscard]] std::string pid_file() const { return folder() / "gateway.pid"; }
  [[nodiscard]] std::string config_file() const { return folder() / "gateway.toml"; }
  [[nodiscard]] std::string kill_command() const { return "kill -9 $(cat " + pid_file() + ")"; }
  [[nodiscard]] std::string restart_command() const {
    return std::string(PAWL_BINARY) + " serve --config " + config_file() +
           " --listen 127.0.0.1:" + std::to_string(port_) + " --admin 127.0.0.1:0 & echo $! > " +
           pid_file();
  }
  [[nodiscard]] std::string mishap_command(const std::string& name) const {
    return "curl -sf " + provider_.url() + "/_faults -d '{\"delay_ms\":700,\"next\":[\"" + name +
           "\"]}'";
  }

  [[nodiscard]] Lines flags_of(const std::string& profile) const {
    return {url_ + "/v1/payments",
            "--body",
            R"({"customer":"cus_1","amount":1200,"currency":"EUR"})",
            "-H",
            "Authorization: Bearer shop",
            "--second-caller-header",
            "Authorization: Bearer other",
            "--profile",
            profile,
            "--other-path",
            "/v1/transfers",
            "--count",
            "GET " + provider_.url() + "/v1/ledger",
            "--count-pointer",
            "/charges",
            "--fail-command",
            mishap_command("error_after"),
            "--refuse-command",
            mishap_command("error_before"),
            "--slow-command",
            mishap_command("delay_after"),
            "--kill",
            kill_command(),
            "--restart",
            restart_command(),
            "--concurrency",
            "20",
            "--seed",
            "1",
            "--format",
            "json",
            "--quiet"};
  }

  std::string url_;
  std::uint16_t port_ = 0;
};

class EveryProfile : public VerifiedGateway {
 protected:
  void expect_all_kept(const std::string& profile) {
    start_all(settings_of(profile));
    Lines flags = flags_of(profile);
    // The example takes no forms and answers briefly, and the gateway knows no browsers yet;
    // limits, forms and large answers have tests of their own.
    flags.insert(flags.end(), {"--skip",
                               "body-multipart-boundary,replay-large,errors-cors,"
                               "replay-under-rate-limit"});
    const testing::Finished finished = run_verify(flags);
    EXPECT_THAT(named(finished.out, "failed"), IsEmpty()) << finished.out;
    EXPECT_THAT(named(finished.out, "not run"), IsEmpty()) << finished.out;
    EXPECT_GE(named(finished.out, "passed").size(), 35U);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
  }
};

TEST_P(EveryProfile, IetfPassesEveryCheck) { expect_all_kept("ietf"); }
TEST_P(EveryProfile, StripePassesEveryCheck) { expect_all_kept("stripe"); }

TEST_P(EveryProfile, AReplayIsServedUnderARateLimit) {
  start_all(settings_of("ietf", "new_keys_per_second = 3\n"));
  const testing::Finished finished = run_verify(
      {url_ + "/v1/payments", "--body", R"({"customer":"cus_1","amount":1200,"currency":"EUR"})",
       "-H", "Authorization: Bearer shop", "--rate-limit", "30", "--only",
       "replay-under-rate-limit", "--format", "json", "--quiet"});
  EXPECT_EQ(named(finished.out, "passed"), Names{"replay-under-rate-limit"})
      << finished.out << finished.err;
}

TEST_P(EveryProfile, LargeAnswersAreReplayedAndFormsAreRead) {
  std::atomic<int> number = 0;
  upstream.behave([&](const ReceivedRequest&) {
    return Behaviour::answer(201, "{\"id\":" + std::to_string(++number) + ",\"text\":\"" +
                                      std::string(100'000, 't') + "\"}");
  });
  const ServeProcess& gateway = start();
  const testing::Finished finished =
      run_verify({gateway.url() + "/v1/reports", "--body", "{}", "--large-body", R"({"all":true})",
                  "--form", "amount=1200", "--form", "currency=EUR", "--only",
                  "replay-large,body-multipart-boundary", "--format", "json", "--quiet"});
  EXPECT_EQ(named(finished.out, "passed"), (Names{"body-multipart-boundary", "replay-large"}))
      << finished.out << finished.err;
}

PAWL_ON_EVERY_STORE(EveryProfile);

}  // namespace
}  // namespace pawl::e2e
