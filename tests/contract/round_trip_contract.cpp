// What is written is what is read, byte for byte.
#include <chrono>

#include "tests/contract/store_contract.hpp"

namespace pawl {
namespace {

std::string every_byte() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}

json::Pointer pointer(std::string_view text) {
  const Expected<json::Pointer, json::Error> parsed = json::parse_pointer(text);
  return *parsed;
}

// A record with no field left at its default.
Record full(Record record) {
  record.fence.number = 9'007'199'254'740'993;  // no double holds it
  record.attempt = 31;
  record.recovery_point = "ride-created: 1/2";
  record.path = "/v1/payments/%7Bid%7D?a='b'&c=\"d\"\\";
  record.request = StoredRequest{"/v1/payments?x=%00", {{"Accept", "*/*"}}, every_byte()};
  record.resource_type = "payment";
  record.resource_id = "pay_\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xb6";
  record.last_error = "sent: it's \"gone\"\n\tat 100 % \\ \xc3\xbc";
  record.created_at -= std::chrono::hours(1) + Duration(1);
  record.expires_at += Duration(999'999);
  return record;
}

// Written as a new row, and over a row that was something else.
void expect_round_trip(Client& client, const Record& record) {
  Record before = record;
  before.state = FailedRetryable{};
  before.owner.text = "somebody else";
  before.key.text += "-replaced";
  Record after = record;
  after.key = before.key;
  const Written inserted = client.insert(record);
  EXPECT_TRUE(inserted.mine);
  EXPECT_TRUE(same(inserted.current, record));
  EXPECT_TRUE(same(client.insert(record).current, record));
  EXPECT_TRUE(same(client.find(record), record));
  client.insert(before);
  const Written replaced = client.replace(after, guard_of(before));
  EXPECT_TRUE(replaced.mine);
  EXPECT_TRUE(same(replaced.current, after));
  EXPECT_TRUE(same(client.find(after), after));
  EXPECT_TRUE(client.erase(record));
  EXPECT_TRUE(client.erase(after));
}

Record with_response(Record record, StoredResponse response, Instant now) {
  record.state = Completed{std::move(response), now};
  return record;
}

TEST_P(StoreContract, EveryStateSurvivesBareAndFull) {
  for (const Status status : every_status) {
    SCOPED_TRACE(to_text(status));
    expect_round_trip(client_, in_state(held(), status));
    expect_round_trip(client_, in_state(full(held()), status));
  }
}

TEST_P(StoreContract, EveryTransitionOfTheCoreLeavesNothingBehind) {
  using enum Status;
  const std::vector<std::pair<Status, Status>> transitions{{pending, in_progress},
                                                           {pending, completed},
                                                           {in_progress, in_progress},
                                                           {in_progress, completed},
                                                           {in_progress, failed_retryable},
                                                           {in_progress, unknown},
                                                           {in_progress, pending},
                                                           {failed_retryable, in_progress},
                                                           {failed_retryable, pending},
                                                           {failed_retryable, completed},
                                                           {failed_retryable, unknown},
                                                           {failed_retryable, expired},
                                                           {completed, in_progress},
                                                           {completed, pending},
                                                           {completed, expired},
                                                           {unknown, completed},
                                                           {unknown, failed_retryable},
                                                           {unknown, unknown}};
  for (const auto& [from, to] : transitions) {
    SCOPED_TRACE(std::string(to_text(from)) + " -> " + std::string(to_text(to)));
    const Record before = in_state(full(held()), from);
    Record after = in_state(held(before.key.text, "owner-2"), to);
    after.fence.number = before.fence.number + 1;
    client_.insert(before);
    const Written written = client_.replace(after, guard_of(before));
    EXPECT_TRUE(written.mine);
    EXPECT_TRUE(same(written.current, after));
    EXPECT_TRUE(same(client_.find(after), after));
    EXPECT_TRUE(client_.erase(after));
  }
}

TEST_P(StoreContract, BodiesSurviveByteForByte) {
  std::string large;
  while (large.size() < (std::size_t{1} << 20)) large += every_byte();
  const std::vector<std::string> bodies{
      "",     std::string(1, '\0'),           every_byte(),       "\\x00",
      "null", "{\"b\": 1.0, \"a\" :1e2}\r\n", "\xef\xbb\xbf\xff", large};
  for (const std::string& body : bodies) {
    SCOPED_TRACE(body.size());
    expect_round_trip(client_, with_response(held(), testing::a_stored_response(body), now_));
  }
}

TEST_P(StoreContract, AnEmptyBodyIsNotAWithheldOne) {
  StoredResponse empty = testing::a_stored_response("");
  StoredResponse withheld = empty;
  withheld.body.reset();
  expect_round_trip(client_, with_response(held(), empty, now_));
  expect_round_trip(client_, with_response(held(), withheld, now_));
}

TEST_P(StoreContract, HeadersKeepTheirOrderTheirCaseAndTheirBytes) {
  const Headers headers{{"X-B", "2"},
                        {"x-a", "1"},
                        {"X-B", "1"},
                        {"x-b", "1"},
                        {"X-B", "1"},
                        {"X-Empty", ""},
                        {"X-Latin-1", "caf\xe9 \xff\x80"},
                        {"X-Utf-8", "caf\xc3\xa9"},
                        {"X-Quoted", "\"a\\\"b\", 'c', {d}, \\, \\u0000, %00"},
                        {"X-Tab", "a\tb"},
                        {"X-Long", std::string(8000, 'v')}};
  StoredResponse response = testing::a_stored_response();
  response.headers = headers;
  expect_round_trip(client_, with_response(held(), response, now_));
  response.headers.clear();
  response.status = 599;
  expect_round_trip(client_, with_response(held(), response, now_));
}

TEST_P(StoreContract, InstantsSurviveToTheMicrosecond) {
  Record record = held();
  for (const Duration fraction : {Duration(0), Duration(1), Duration(999'999), Duration(500'001)}) {
    const Instant second = std::chrono::floor<std::chrono::seconds>(now_);
    const Instant instant = second + fraction;
    record.created_at = instant;
    record.expires_at = instant + std::chrono::hours(24 * 365 * 200) + Duration(1);
    record.state = InProgress{instant, instant};
    expect_round_trip(client_, record);
    record.state = Completed{testing::a_stored_response(), instant};
    expect_round_trip(client_, record);
    record.state = Unknown{instant + Duration(3), instant - Duration(3)};
    expect_round_trip(client_, record);
  }
}

// Facts of the state that have no column of their own, and the states that are without them.
TEST_P(StoreContract, HowAnUnknownOutcomeEndedSurvives) {
  for (const bool fact : {false, true}) {
    Record record = held();
    record.last_error = "answered: 500";
    record.state = Unknown{
        .reconcile_after = now_, .locked_until = now_, .locked_at = now_, .dead_lettered = fact};
    expect_round_trip(client_, record);
    record.last_error = fact ? "resolved: not executed" : "not-sent: resolved: not executed";
    record.state = FailedRetryable{.resolved_not_executed = fact};
    expect_round_trip(client_, record);
    record.state = Pending{.not_before = now_, .resolved_not_executed = fact};
    expect_round_trip(client_, record);
  }
}

TEST_P(StoreContract, ThePolicyOfTheAttemptSurvives) {
  Record record = held();
  record.policy = default_policy(Profile::strict, true);
  record.policy.mode = Mode::async;
  record.policy.lease = std::chrono::milliseconds(1) + Duration(1);
  record.policy.upstream_timeout = std::chrono::hours(7);
  record.policy.retention = std::chrono::days(3650);
  record.policy.retention_from = RetentionFrom::created;
  record.policy.tombstone_for = Duration(0);
  record.policy.fingerprint.include = {pointer(""), pointer("/a~1b/0/~0"), pointer("/a~1b/0/~0")};
  record.policy.fingerprint.exclude = {pointer("/client \"sent\" at\\"), pointer("/\xc3\xa9/-")};
  expect_round_trip(client_, record);
  record.policy = default_policy(Profile::stripe);
  record.policy.mode = Mode::observe;
  record.policy.on_lease_expiry = OnLeaseExpiry::resume;
  expect_round_trip(client_, record);
}

TEST_P(StoreContract, TheRequestOfAnAsyncRouteSurvives) {
  Record record = in_state(held(), Status::pending);
  record.request = StoredRequest{};
  expect_round_trip(client_, record);
  record.request =
      StoredRequest{"/v1/reports/a%20b?q=%22&q=2",
                    {{"X-Twice", "2"}, {"x-twice", "1"}, {"X-Bytes", "\xe9\xff"}, {"X-Empty", ""}},
                    every_byte() + every_byte()};
  expect_round_trip(client_, record);
  // A claim keeps it, a settlement keeps it, a tombstone drops it.
  client_.insert(record);
  const Attempt attempt{.owner = Owner{"worker-1"}, .now = now_};
  const std::optional<Record> claim = claimed(record, attempt);
  EXPECT_TRUE(same(client_.replace(*claim, guard_of(record)).current, *claim));
  Record done = in_state(*claim, Status::completed);
  EXPECT_TRUE(same(client_.replace(done, guard_of(*claim)).current, done));
  Record tombstone = in_state(done, Status::expired);
  tombstone.request.reset();
  EXPECT_TRUE(same(client_.replace(tombstone, guard_of(done)).current, tombstone));
  EXPECT_TRUE(same(client_.find(tombstone), tombstone));
}

// More bytes than a store may want to send in one piece.
TEST_P(StoreContract, ABatchOfLargeBodiesIsWrittenWhole) {
  std::vector<Record> rows;
  std::vector<Replacement> settling;
  for (int i = 0; i < 8; ++i) {
    rows.push_back(held("contract-key-" + std::to_string(i)));
    Record done = in_state(rows.back(), Status::completed);
    std::get<Completed>(done.state).response.body =
        std::string((std::size_t{1} << 20) - std::size_t(i), static_cast<char>(i));
    settling.push_back({done, guard_of(rows.back()), {}});
  }
  client_.insert(rows);
  const std::vector<Written> settled = client_.replace(settling);
  ASSERT_EQ(settled.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE(settled[i].mine);
    EXPECT_TRUE(same(settled[i].current, settling[i].next));
    EXPECT_TRUE(same(client_.find(rows[i]), settling[i].next));
  }
}

}  // namespace
}  // namespace pawl
