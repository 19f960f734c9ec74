// Encryption at rest, with the real binary: what lies in the store, and what becomes of a paid key
// when keys are lost, rotated, or erased with their scope.
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string old_key = "2025 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n";
const std::string new_key = "2026 AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n";

class Encryption : public OnEveryStore {
 protected:
  std::string keys_file(const std::string& name, const std::string& lines) const {
    const std::filesystem::path path = folder() / name;
    std::ofstream(path) << lines;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return path.string();
  }
  // A node with the keys of such a file, without a memory of its own; "": without keys.
  ServeProcess& node(const std::string& keys, const std::string& policy = "") {
    const std::string caller = "[caller]\nfrom = \"single\"\n";
    return start(
        {.policy = policy,
         .top = "replay_cache = 0\nsweep_interval = \"1s\"",
         .rest = keys.empty() ? caller : caller + "[encryption]\nkeys_file = \"" + keys + "\"\n"});
  }
  std::string query(std::string sql) {
    if (GetParam() == StoreKind::postgres) return shared_postgres().query(sql, database());
    for (std::size_t at = 0; (at = sql.find("pawl.")) != std::string::npos;) sql.erase(at, 5);
    sqlite3* handle = nullptr;
    sqlite3_open(store_url().substr(7).c_str(), &handle);
    sqlite3_busy_timeout(handle, 10'000);
    sqlite3_stmt* row = nullptr;
    std::string found;
    EXPECT_EQ(sqlite3_prepare_v2(handle, sql.c_str(), -1, &row, nullptr), SQLITE_OK) << sql;
    if (sqlite3_step(row) == SQLITE_ROW) {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, 0));
      found.assign(bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, 0)));
    }
    sqlite3_finalize(row);
    sqlite3_close(handle);
    return found;
  }
  [[nodiscard]] testing::Finished pawl(std::vector<std::string> arguments) const {
    std::vector<std::string> command{PAWL_BINARY};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"--store", store_url()});
    return testing::run_program(command);
  }
  std::string body_column() {
    return query(GetParam() == StoreKind::sqlite
                     ? "SELECT hex(response_body) FROM pawl.keys"
                     : "SELECT upper(encode(response_body, 'hex')) FROM pawl.keys");
  }
  static constexpr const char* secret_body = "secret answer";
  static constexpr const char* secret_hex = "73656372657420616E73776572";
  Post another() const {
    Post one = payment;
    one.key = "another-key-0123456789";
    return one;
  }
};

TEST_P(Encryption, NothingOfAnAnswerLiesInClearAndItIsReplayed) {
  upstream.behave(Behaviour::answer(201, secret_body));
  const std::string keys = keys_file("keys", old_key);
  EXPECT_EQ(post(node(keys).port(), payment).body, secret_body);
  EXPECT_THAT(body_column(), Not(HasSubstr(secret_hex)));
  EXPECT_EQ(query("SELECT CAST(response_headers AS text) FROM pawl.keys"), "[]");
  const HttpAnswer again = post(node(keys).port(), payment);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, secret_body);
  EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Encryption, APaidKeyWhoseKeysAreLostIs503AndNeverExecutedAgain) {
  upstream.behave(Behaviour::answer(201, secret_body));
  const std::string keys = keys_file("keys", old_key);
  EXPECT_EQ(post(node(keys).port(), payment).status, 201);
  for (const std::string& lost :
       {std::string(), keys_file("other", new_key),
        keys_file("wrong", "2025 AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n")}) {
    ServeProcess& gateway = node(lost);
    const HttpAnswer refused = post(gateway.port(), payment);
    EXPECT_EQ(refused.status, 503) << lost;
    EXPECT_EQ(problem_of(refused), "store-unavailable");
    EXPECT_THAT(refused.body, HasSubstr("Nothing was executed"));
    EXPECT_EQ(upstream.count(), 1U);
    EXPECT_TRUE(until([&] { return get(gateway.admin_port(), "/readyz").status == 200; }))
        << "the node goes on";
    if (lost.find("wrong") == std::string::npos) {
      EXPECT_TRUE(gateway.wait_for_text("wrapped by the key \"2025\"")) << gateway.err();
    }
    EXPECT_EQ(gateway.terminate(), 0);
  }
  EXPECT_EQ(post(node(keys).port(), payment).body, secret_body) << "nothing was lost with it";
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Encryption, KeysAreRotatedAndTheOldOneIsThrownAway) {
  upstream.behave(Behaviour::answer(201, secret_body));
  EXPECT_EQ(post(node(keys_file("old", old_key)).port(), payment).status, 201);
  const std::string both = keys_file("both", new_key + old_key);
  ServeProcess& rotated = node(both);
  EXPECT_EQ(post(rotated.port(), payment).body, secret_body);
  const testing::Finished done = pawl({"keys", "rewrap", "--keys-file", both});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("rewrapped 1 data keys under \"2026\""));
  EXPECT_EQ(post(rotated.port(), payment).body, secret_body);
  EXPECT_EQ(post(rotated.port(), another()).status, 201);
  ServeProcess& after = node(keys_file("new", new_key));
  EXPECT_EQ(post(after.port(), payment).body, secret_body);
  EXPECT_EQ(post(after.port(), another()).body, secret_body);
  EXPECT_EQ(upstream.count(), 2U);
  const testing::Finished cannot = pawl({"keys", "rewrap", "--keys-file", keys_file("o", old_key)});
  EXPECT_EQ(cannot.exit_code, 1);
  EXPECT_THAT(cannot.err, HasSubstr("1 are wrapped by \"2026\""));
}

TEST_P(Encryption, AForgottenScopeIsGoneAndItsPaidKeysStayUsed) {
  upstream.behave(Behaviour::answer(201, secret_body));
  const std::string keys = keys_file("keys", old_key);
  ServeProcess& gateway = node(keys);
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  const std::string scope = query("SELECT scope_id FROM pawl.keys");
  const testing::Finished unexplained = pawl({"scopes", "forget", scope, "--reason", ""});
  EXPECT_EQ(unexplained.exit_code, 64);
  const testing::Finished done = pawl({"scopes", "forget", scope, "--reason", "contract ended"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("1 data key was erased"));
  EXPECT_EQ(query("SELECT reason FROM pawl.audit"), "contract ended");
  EXPECT_TRUE(until([&] { return post(gateway.port(), payment).status == 410; }));
  const HttpAnswer gone = post(node(keys).port(), payment);
  EXPECT_EQ(gone.status, 410);
  EXPECT_EQ(problem_of(gone), "key-expired");
  EXPECT_EQ(upstream.count(), 1U);
  EXPECT_EQ(post(gateway.port(), another()).status, 201) << "the caller may come back";
  EXPECT_EQ(post(node(keys).port(), another()).body, secret_body);
  EXPECT_EQ(upstream.count(), 2U);
  EXPECT_EQ(pawl({"scopes", "forget", "caller:nobody", "--reason", "asked to"}).exit_code, 1);
}

TEST_P(Encryption, WhatWasStoredInClearIsReplayedAndSealedByTheReplay) {
  upstream.behave(Behaviour::answer(201, secret_body));
  EXPECT_EQ(post(node("").port(), payment).status, 201);
  EXPECT_THAT(body_column(), HasSubstr(secret_hex));
  const std::string keys = keys_file("keys", old_key);
  EXPECT_EQ(post(node(keys).port(), payment).body, secret_body);
  EXPECT_THAT(body_column(), Not(HasSubstr(secret_hex)));
  EXPECT_EQ(post(node(keys).port(), payment).body, secret_body);
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Encryption, AnAsyncRequestIsSealedUntilItIsSent) {
  const std::string keys = keys_file("keys", old_key);
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, secret_body).after(gate));
  ServeProcess& gateway = node(keys, "mode = \"async\"");
  EXPECT_EQ(post(gateway.port(), payment).status, 202);
  upstream.wait_for(1);
  const std::string request = query(GetParam() == StoreKind::sqlite
                                        ? "SELECT hex(request) FROM pawl.keys"
                                        : "SELECT upper(encode(request, 'hex')) FROM pawl.keys");
  EXPECT_THAT(request, Not(HasSubstr("616D6F756E74"))) << "amount";
  EXPECT_EQ(upstream.requests().front().body, payment.body);
  gate->release();
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(post(gateway.port(), payment).body, secret_body);
  EXPECT_EQ(upstream.count(), 1U);
}

PAWL_ON_EVERY_STORE(Encryption);

using EncryptionOfServices = OnPostgres;

TEST_F(EncryptionOfServices, ACompletionFromSqlIsSealedByTheSettlementThatFindsIt) {
  const std::filesystem::path keys = folder() / "keys";
  std::ofstream(keys) << old_key;
  std::filesystem::permissions(keys, std::filesystem::perms::owner_read);
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, "as the upstream has it").after(gate));
  ServeProcess& gateway =
      start({.policy = "transactional = true",
             .top = "replay_cache = 0",
             .rest = "[caller]\nfrom = \"single\"\n[encryption]\nkeys_file = \"" + keys.string() +
                     "\"\n"});
  const auto query = [&](const std::string& sql) {
    return shared_postgres().query(sql, database());
  };
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  query(
      "SELECT pawl.complete(scope_id, idempotency_key, fence, 201, '{\"A\":\"1\"}',"
      " convert_to('secret answer', 'UTF8')) FROM pawl.keys");
  gate->release();
  EXPECT_EQ(client.read_answer().body, "secret answer");
  EXPECT_EQ(query("SELECT response_headers FROM pawl.keys"), "[]");
  EXPECT_EQ(query("SELECT position('secret answer'::bytea in response_body) FROM pawl.keys"), "0");
  EXPECT_EQ(post(gateway.port(), payment).body, "secret answer");
  EXPECT_EQ(query("SELECT (pawl.lookup(scope_id, idempotency_key)).response_body IS NULL"
                  " FROM pawl.keys"),
            "t");
  EXPECT_EQ(upstream.count(), 1U);
}

}  // namespace
}  // namespace pawl::e2e
