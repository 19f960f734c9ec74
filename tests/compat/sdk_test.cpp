// SDKs that people use, in front of the gateway: they look at `error`, at the status or at header
// fields of their own, and must come to the right conclusion in every profile.
#include <filesystem>

#include "tests/e2e/key_api_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

const std::string scripts = std::string(PAWL_SOURCE_DIR) + "/tests/compat/";

// One route for each kind of refusal, and an upstream that does what the request's description
// says.
class Sdk : public OnSqlite, public ::testing::WithParamInterface<const char*> {
 protected:
  Sdk() {
    upstream.behave([this](const ReceivedRequest& request) { return act(request); });
    gateway = &start({.policy = "profile = \"" + profile + "\"\n" + "on_server_error = \"hold\"\n",
                      .top = "",
                      .rest = api_keys({{"tenant-a", "secret-of-a"}}) + routes()});
  }

  static std::string routes() {
    return "[[route]]\nmatch = \"POST /v1/refunds\"\nname = \"refunds\"\nkey_scope = "
           "\"caller+route\"\n"
           "new_keys_per_second = 0.001\n"
           "[[route]]\nmatch = \"POST /v1/payouts\"\nresponse_limit = 100\n"
           "[[route]]\nmatch = \"POST /v1/customers\"\nbody_limit = 100\n";
  }

  Behaviour act(const ReceivedRequest& request) {
    const auto asks = [&](const char* what) {
      return request.body.find(std::string("description=") + what) != std::string::npos;
    };
    if (request.target == "/v1/charges/garbage") {
      return Behaviour::raw("no HTTP at all\r\n\r\n", Behaviour::End::close);
    }
    if (request.target == "/v1/charges/arrived") return Behaviour::answer(200).after(arrived);
    if (request.target == "/v1/charges/release") release->release();
    if (asks("reset")) return Behaviour::reset();
    if (asks("large")) return Behaviour::answer(200, R"({"id":"po_1","x":")" + large + "\"}");
    const Behaviour paid = Behaviour::answer(200, R"({"id":"ch_1","object":"charge"})");
    if (!asks("held")) return paid;
    arrived->release();
    return paid.after(release);
  }

  void expect_ok(const std::vector<std::string>& command) const {
    const testing::Finished ended = testing::run_program(command);
    EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
    EXPECT_TRUE(ended.out.ends_with("all ok\n")) << ended.out;
  }
  [[nodiscard]] std::string port() const { return std::to_string(gateway->port()); }

  const std::string profile = GetParam();
  const std::string large = std::string(500, 'x');
  std::shared_ptr<Gate> arrived = std::make_shared<Gate>();
  std::shared_ptr<Gate> release = std::make_shared<Gate>();
  ServeProcess* gateway = nullptr;
};
INSTANTIATE_TEST_SUITE_P(All, Sdk, ::testing::Values("ietf", "stripe", "strict"),
                         [](const auto& named) { return std::string(named.param); });

TEST_P(Sdk, StripeNodeThrowsTheRightClassForEachOfOurErrors) {
  const testing::TemporaryFolder installed_in;
  for (const char* const name : {"stripe_node.mjs", "package.json", "package-lock.json"}) {
    std::filesystem::copy(scripts + name, installed_in.path());
  }
  const testing::Finished installed =
      testing::run_program({PAWL_NPM, "ci", "--prefer-offline", "--no-audit", "--no-fund",
                            "--prefix", installed_in.path()});
  ASSERT_EQ(installed.exit_code, 0) << installed.out << installed.err;
  expect_ok({PAWL_NODE, installed_in.path() / "stripe_node.mjs", port(), profile});
  EXPECT_EQ(upstream.effects("stripe-node-" + profile + "-held"), 1U);
  EXPECT_EQ(upstream.effects("stripe-node-" + profile + "-lost"), 1U);
}

#ifdef PAWL_PYTHON_STRIPE
TEST_P(Sdk, PythonStripeThrowsTheRightClassForEachOfOurErrors) {
  expect_ok({PAWL_PYTHON_STRIPE, scripts + "stripe_python.py", port(), profile});
  EXPECT_EQ(upstream.effects("stripe-python-" + profile + "-lost"), 1U);
}
#endif

}  // namespace
}  // namespace pawl::e2e
