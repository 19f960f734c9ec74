// Destinations and sources that change while the node runs: what is under way is finished by the
// old ones, what comes next goes to the new ones, and nothing is sent twice.
#include "tests/e2e/outbox_fixture.hpp"

namespace pawl::e2e {
namespace {

const std::string new_one_in_force = "the configuration was reloaded";

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

class ReloadOutbound : public OutboxTest {
 protected:
  void reload(ServeProcess& gateway, const Settings& settings) const {
    const std::size_t before = times(gateway.err(), new_one_in_force);
    gateway.rewrite_config(config_of(settings));
    gateway.ask_to_reload();
    ASSERT_TRUE(until([&] { return times(gateway.err(), new_one_in_force) > before; }))
        << gateway.err();
  }
  static Settings with(const std::string& tables) {
    return {.policy = "", .top = "sweep_interval = \"200ms\"", .rest = tables};
  }
  // A source that is asked at that address.
  static std::string source(const std::string& url) {
    return "[[source]]\nname = \"bank\"\nurl = \"" + url +
           "/v1/payments?key={key}\"\ntimeout = \"1s\"\nvisibility_window = \"0s\"\n"
           "backoff = \"50ms\"\nbackoff_max = \"200ms\"\n"
           "[[source.rule]]\nstatus = 200\nthen = \"completed\"\nresponse_status = 201\n";
  }
};

TEST_P(ReloadOutbound, ADestinationThatComesIsSentWhatWaitsForIt) {
  ServeProcess& gateway = start(with(""));
  enqueue(1);
  reload(gateway, with(destination()));
  EXPECT_TRUE(becomes(1, "done"));
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
  reload(gateway, with(""));
  enqueue(2);
  reload(gateway, with(destination()));
  EXPECT_TRUE(becomes(2, "done"));
  EXPECT_EQ(ledger.all(), 2);
  EXPECT_EQ(gateway.terminate(), 0);
}

TEST_P(ReloadOutbound, WhatIsUnderWayIsFinishedByTheDestinationBefore) {
  ServeProcess& gateway = start(with(destination()));
  const auto gate = std::make_shared<Gate>();
  provider.behave(
      [&](const ReceivedRequest& request) { return charge(ledger, request, false).after(gate); });
  enqueue(1);
  provider.wait_for(1);
  UpstreamServer other;
  Ledger others;
  other.behave([&](const ReceivedRequest& request) { return charge(others, request, false); });
  reload(gateway, with(destination("", other.url())));
  enqueue(2);
  EXPECT_TRUE(becomes(2, "done"));
  EXPECT_EQ(others.effects(key_of(2)), 1);
  EXPECT_EQ(status(1), "sending");
  gate->release();
  EXPECT_TRUE(becomes(1, "done"));
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
  EXPECT_EQ(others.effects(key_of(1)), 0) << "sent once, to where it was begun";
  EXPECT_EQ(column(1, "attempt"), "1");
  EXPECT_EQ(gateway.terminate(), 0);
}

TEST_P(ReloadOutbound, ASourceThatIsPutRightIsAsked) {
  UpstreamServer silent;
  silent.behave(Behaviour::answer(500));
  UpstreamServer bank;
  bank.behave(Behaviour::answer(200, R"({"status":"succeeded"})"));
  Settings settings = with(source(silent.url()));
  settings.policy = "lease = \"1s\"\nupstream_timeout = \"1s\"\nreconcile = \"bank\"\n";
  ServeProcess& gateway = start(settings);
  upstream.behave(Behaviour::hang_up());
  EXPECT_EQ(problem_of(post(gateway.port(), payment)), "outcome-unknown");
  silent.wait_for(1);
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
  settings.rest = source(bank.url());
  reload(gateway, settings);
  EXPECT_TRUE(OnEveryStore::becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
  EXPECT_GE(bank.count(), 1U);
}

PAWL_ON_EVERY_STORE(ReloadOutbound);

}  // namespace
}  // namespace pawl::e2e
