// in_flight = "wait": duplicates wait for the first to finish and get its answer.
#include <atomic>

#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class Wait : public OnEveryStore {
 protected:
  static double waiting(const ServeProcess& gateway) {
    return metric(gateway, "pawl_waiting_requests");
  }
  static double reservations(const ServeProcess& gateway) {
    return metric(gateway, "pawl_store_seconds_count{operation=\"reserve\"}");
  }
  static double lookups(const ServeProcess& gateway) {
    return metric(gateway, "pawl_store_seconds_count{operation=\"find\"}");
  }

  const std::shared_ptr<Gate> gate = std::make_shared<Gate>();
};

TEST_P(Wait, FiveHundredDuplicatesCostOneReservationAndNoLookup) {
  ServeProcess& gateway = start({"in_flight = \"wait\"\nwaiters = 1000\n", "", ""});
  upstream.behave(Behaviour::answer(201).after(gate));
  std::list<RawClient> clients;
  for (int i = 0; i < 500; ++i) clients.emplace_back(gateway.port()).send(to_bytes(payment));
  EXPECT_TRUE(until([&] { return waiting(gateway) == 499; })) << waiting(gateway);
  gate->release();
  int replays = 0;
  for (RawClient& client : clients) {
    const HttpAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 201);
    EXPECT_EQ(answer.body, R"({"ok":true})");
    if (answer.value("Idempotent-Replayed") == "true") ++replays;
  }
  EXPECT_EQ(replays, 499);
  EXPECT_EQ(upstream.effects(payment.key), 1U);
  EXPECT_EQ(reservations(gateway), 1);
  EXPECT_LE(lookups(gateway), 0);  // -1: never asked at all
}

TEST_P(Wait, ADuplicateOnAnotherNodeWaitsToo) {
  const Settings patient{"in_flight = \"wait\"\n", "", ""};
  ServeProcess& first = start(patient);
  ServeProcess& second = start(patient);
  upstream.behave(Behaviour::answer(201).after(gate));
  RawClient original(first.port());
  original.send(to_bytes(payment));
  upstream.wait_for(1);
  RawClient duplicate(second.port());
  duplicate.send(to_bytes(payment));
  EXPECT_TRUE(until([&] { return reservations(second) == 1; }));
  gate->release();
  EXPECT_EQ(original.read_answer().status, 201);
  const HttpAnswer answer = duplicate.read_answer();
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Wait, NoMoreThanSoManyWaitAndAClientThatHangsUpIsForgotten) {
  ServeProcess& gateway = start({"in_flight = \"wait\"\nwaiters = 1\n", "", ""});
  upstream.behave(Behaviour::answer(201).after(gate));
  RawClient original(gateway.port());
  original.send(to_bytes(payment));
  upstream.wait_for(1);
  {
    RawClient waiter(gateway.port());
    waiter.send(to_bytes(payment));
    ASSERT_TRUE(until([&] { return waiting(gateway) == 1; }));
    const HttpAnswer refused = post(gateway.port(), payment);
    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(problem_of(refused), "in-flight");
    EXPECT_EQ(refused.value("Retry-After"), "1");
  }
  EXPECT_TRUE(until([&] { return waiting(gateway) == 0; })) << "its client is gone";
  RawClient next(gateway.port());
  next.send(to_bytes(payment));
  ASSERT_TRUE(until([&] { return waiting(gateway) == 1; }));
  gate->release();
  EXPECT_EQ(next.read_answer().value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Wait, EndsAtItsLimitWithAConflict) {
  ServeProcess& gateway = start({"in_flight = \"wait\"\nwait_limit = \"500ms\"\n", "", ""});
  upstream.behave(Behaviour::answer(201).after(gate));
  RawClient original(gateway.port());
  original.send(to_bytes(payment));
  upstream.wait_for(1);
  const HttpAnswer answer = post(gateway.port(), payment);
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(problem_of(answer), "in-flight");
  gate->release();
  EXPECT_EQ(original.read_answer().status, 201);
}

TEST_P(Wait, AnotherBodyIsToldAtOnceAndAFailureIsTriedAgainByAWaiter) {
  ServeProcess& gateway = start({"in_flight = \"wait\"\n", "", ""});
  std::atomic<int> sent = 0;
  upstream.behave([&](const ReceivedRequest&) {
    return ++sent == 1 ? Behaviour::answer(503, "{}", {{"Retry-After", "1"}}).after(gate)
                       : Behaviour::answer(201);
  });
  RawClient original(gateway.port());
  original.send(to_bytes(payment));
  upstream.wait_for(1);
  Post other = payment;
  other.body = R"({"amount":2})";
  EXPECT_EQ(problem_of(post(gateway.port(), other)), "key-reused");
  RawClient waiter(gateway.port());
  waiter.send(to_bytes(payment));
  ASSERT_TRUE(until([&] { return waiting(gateway) == 1; }));
  gate->release();
  EXPECT_EQ(original.read_answer().status, 503);
  EXPECT_EQ(waiter.read_answer().status, 201);
  EXPECT_EQ(sent, 2);
}

TEST_P(Wait, ARetryOfANearDuplicateWaitsLikeAnyOther) {
  ServeProcess& gateway = start({"in_flight = \"wait\"\n", "", ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  upstream.behave(Behaviour::answer(201).after(gate));
  Post tap = payment;  // the same request under a key of its own
  tap.key = "another-key-of-the-same-tap";
  RawClient original(gateway.port());
  original.send(to_bytes(tap));
  upstream.wait_for(2);
  RawClient duplicate(gateway.port());
  duplicate.send(to_bytes(tap));
  EXPECT_TRUE(until([&] { return waiting(gateway) == 1; }));
  gate->release();
  EXPECT_EQ(original.read_answer().status, 201);
  const HttpAnswer answer = duplicate.read_answer();
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(answer.value("Pawl-Near-Duplicate"), "true");
  EXPECT_EQ(upstream.effects(tap.key), 1U);
}

PAWL_ON_EVERY_STORE(Wait);

class WaitAcrossNodes : public OnPostgres {};

// The other node is told, and does not only find out when it looks next. A hint may be lost (the
// channel opens in its own time), so it is given some chances.
TEST_F(WaitAcrossNodes, IsEndedByAHint) {
  const Settings patient{"in_flight = \"wait\"\nwait_limit = \"60s\"\n", "", ""};
  ServeProcess& first = start(patient);
  ServeProcess& second = start(patient);
  const auto looks = [&] { return metric(second, "pawl_store_seconds_count{operation=\"find\"}"); };
  const auto hints = [&] { return metric(second, "pawl_hints_total"); };
  for (std::size_t tries = 1; tries <= 20 && hints() < 1; ++tries) {
    const auto gate = std::make_shared<Gate>();
    upstream.behave(Behaviour::answer(201).after(gate));
    Post one = payment;
    one.key += std::to_string(tries);
    RawClient original(first.port());
    original.send(to_bytes(one));
    upstream.wait_for(tries);
    const double looks_before = looks();
    RawClient duplicate(second.port());
    duplicate.send(to_bytes(one));
    EXPECT_TRUE(until([&] { return looks() > looks_before; }));
    gate->release();
    EXPECT_EQ(original.read_answer().status, 201);
    EXPECT_EQ(duplicate.read_answer().value("Idempotent-Replayed"), "true");
  }
  EXPECT_GE(hints(), 1);
}

}  // namespace
}  // namespace pawl::e2e
