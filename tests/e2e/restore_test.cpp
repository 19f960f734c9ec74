// A store that is put back from a backup has forgotten keys. Nothing may be executed again for it.
#include <sqlite3.h>

#include <filesystem>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* often = "sweep_interval = \"200ms\"\n";

class Restore : public OnEveryStore {
 protected:
  [[nodiscard]] bool on_sqlite() const { return GetParam() == StoreKind::sqlite; }
  [[nodiscard]] std::string file() const { return (folder() / "pawl.db").string(); }
  [[nodiscard]] std::string backup() const {
    return on_sqlite() ? (folder() / "backup").string() : database() + "_backup";
  }

  // Of a store that nobody has open.
  void back_up() {
    if (on_sqlite()) {
      std::filesystem::copy_file(file(), backup());
    } else {
      copy_database(database(), backup());
    }
  }
  void put_back() {
    if (on_sqlite()) {
      for (const char* part : {"-wal", "-shm"}) std::filesystem::remove(file() + part);
      std::filesystem::copy_file(backup(), file(),
                                 std::filesystem::copy_options::overwrite_existing);
    } else {
      shared_postgres().query("DROP DATABASE " + database() + " WITH (FORCE)");
      copy_database(backup(), database());
    }
  }
  // Its last connections may just be ending.
  static void copy_database(const std::string& from, const std::string& to) {
    ASSERT_TRUE(until([&] {
      try {
        shared_postgres().create_database(to, from);
        return true;
      } catch (const std::runtime_error&) {
        return false;
      }
    }));
  }

  testing::Finished store(std::vector<std::string> arguments) const {
    std::vector<std::string> command{PAWL_BINARY, "store"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"--store", store_url()});
    return testing::run_program(command);
  }
  testing::Finished say_restored(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"restored", "--since", "1h", "--reason", "disk lost"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return store(arguments);
  }

  // The store's own SQL, for both.
  void alter(const std::string& on_either) const {
    if (!on_sqlite()) {
      shared_postgres().query("SET search_path = pawl; " + on_either, database());
      return;
    }
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &handle), SQLITE_OK);
    sqlite3_busy_timeout(handle, 10'000);
    EXPECT_EQ(sqlite3_exec(handle, on_either.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(handle);
  }
  void forget_the_scope_rule() const {
    alter(std::string("DELETE FROM ") + (on_sqlite() ? "meta" : "facts") +
          " WHERE name LIKE 'scope_rule%'");
  }
  // For how long keys are refused, in whole hours.
  [[nodiscard]] std::int64_t refused_hours() const {
    const std::string shown = store({"show", "--json"}).out;
    const auto number = [&](const std::string& name) {
      const std::size_t at = shown.find("\"" + name + "\":");
      return at == std::string::npos ? 0 : std::stoll(shown.substr(at + name.size() + 3));
    };
    return (number("until_us") - number("at_us")) / 3'600'000'000;
  }

  static Post paying(const std::string& key) { return Post{.key = key}; }

  // Two keys before the backup: one that is answered, one that was refused for now. Both, and a
  // third, are used after it.
  void live_through_a_restore() {
    {
      ServeProcess& gateway = start();
      ASSERT_EQ(post(gateway.port(), paying("used-before-the-backup")).status, 201);
      upstream.behave(Behaviour::answer(429));
      ASSERT_EQ(post(gateway.port(), paying("refused-before-the-backup")).status, 429);
      upstream.behave(Behaviour::answer(201));
      ASSERT_EQ(gateway.terminate(), 0);
    }
    back_up();
    {
      ServeProcess& gateway = start();
      ASSERT_EQ(post(gateway.port(), paying("used-after-the-backup")).status, 201);
      ASSERT_EQ(post(gateway.port(), paying("refused-before-the-backup")).status, 201);
      ASSERT_EQ(gateway.terminate(), 0);
    }
    put_back();
    paid_ = upstream.count();
  }

  std::size_t paid_ = 0;
};

TEST_P(Restore, APaymentMadeAfterTheBackupIsNotMadeAgain) {
  live_through_a_restore();
  const testing::Finished said = say_restored();
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("1 keys that were not finished are unknown now"));
  ServeProcess& gateway = start();
  const HttpAnswer forgotten = post(gateway.port(), paying("used-after-the-backup"));
  EXPECT_EQ(forgotten.status, 409);
  EXPECT_EQ(problem_of(forgotten), "store-restored");
  const HttpAnswer doubted = post(gateway.port(), paying("refused-before-the-backup"));
  EXPECT_EQ(doubted.status, 409);
  EXPECT_EQ(problem_of(doubted), "outcome-unknown");
  const HttpAnswer replayed = post(gateway.port(), paying("used-before-the-backup"));
  EXPECT_EQ(replayed.status, 201);
  EXPECT_EQ(replayed.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.count(), paid_) << "nothing was sent";
  EXPECT_EQ(status_of(gateway, "used-after-the-backup"), "404") << "nothing was written";
  EXPECT_THAT(get(gateway.port(), "/_pawl/v1/keys/used-after-the-backup").body,
              HasSubstr("may have forgotten"));
  const testing::Finished explained = testing::run_program(
      {PAWL_BINARY, "explain", "used-after-the-backup", "--store", store_url()});
  EXPECT_THAT(explained.out, HasSubstr("restored from a backup"));
  EXPECT_TRUE(gateway.wait_for_text("was restored from a backup"));
}

TEST_P(Restore, KeysAreRefusedForTheLongestRetentionThatIsKnown) {
  {
    ServeProcess& gateway = start({.policy = "retention = \"30d\"\n", .top = "", .rest = ""});
    ASSERT_EQ(post(gateway.port(), payment).status, 201);
    ASSERT_EQ(gateway.terminate(), 0);
  }
  ASSERT_EQ(say_restored().exit_code, 0);
  EXPECT_EQ(refused_hours(), 30 * 24) << "by the rule that the nodes made keys by";
}

TEST_P(Restore, WithoutARuleTheRecordsSayHowLongKeysLive) {
  {
    ServeProcess& gateway = start({.policy = "retention = \"30d\"\n", .top = "", .rest = ""});
    ASSERT_EQ(post(gateway.port(), payment).status, 201);
    ASSERT_EQ(gateway.terminate(), 0);
  }
  forget_the_scope_rule();
  ASSERT_EQ(say_restored().exit_code, 0);
  EXPECT_EQ(refused_hours(), 30 * 24);
}

TEST_P(Restore, WhereNothingSaysHowLongKeysLiveAnOperatorMust) {
  { ASSERT_EQ(start().terminate(), 0); }
  forget_the_scope_rule();
  const testing::Finished refused = say_restored();
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--config"), HasSubstr("--for")));
  EXPECT_THAT(store({"show"}).out, HasSubstr("restored  never"));
  ASSERT_EQ(say_restored({"--for", "60d"}).exit_code, 0);
  EXPECT_EQ(refused_hours(), 60 * 24);
}

TEST_P(Restore, WhenItIsOverKeysAreNewAgain) {
  live_through_a_restore();
  const testing::Finished said = say_restored({"--for", "3s"});
  ASSERT_EQ(said.exit_code, 0);
  EXPECT_THAT(said.err, HasSubstr("shorter than keys may live"));
  ServeProcess& gateway = start();
  EXPECT_TRUE(
      until([&] { return post(gateway.port(), paying("a-key-of-later-on-1")).status == 201; }));
}

TEST_P(Restore, ANodeThatRunsHearsOfIt) {
  ServeProcess& gateway = start({.policy = "", .top = often, .rest = ""});
  ASSERT_EQ(say_restored().exit_code, 0);
  ASSERT_TRUE(gateway.wait_for_text("was restored from a backup"));
  EXPECT_EQ(problem_of(post(gateway.port(), payment)), "store-restored");
  EXPECT_EQ(upstream.count(), 0U);
}

TEST_P(Restore, SayingItAgainDoesNoHarmAndShortensNothing) {
  live_through_a_restore();
  ASSERT_EQ(say_restored({"--actor", "ann"}).exit_code, 0);
  const testing::Finished before = store({"show", "--json"});
  ASSERT_EQ(before.exit_code, 0) << before.err;
  const testing::Finished again = say_restored({"--for", "1s"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("1 keys that were not finished"));
  const testing::Finished after = store({"show", "--json"});
  EXPECT_EQ(member_of(after.out, "keys"), member_of(before.out, "keys"));
  const auto until_of = [](const std::string& shown) {
    const std::size_t at = shown.find("\"until_us\":");
    return shown.substr(at, shown.find(',', at) - at);
  };
  EXPECT_EQ(until_of(after.out), until_of(before.out));
}

TEST_P(Restore, ANodeDoesNotStartBeforeTheBackupWasGoneThrough) {
  ASSERT_EQ(post(start().port(), Post{.key = ""}).status, 400) << "there is a store now";
  const std::string fact =
      R"({"since_us":1,"at_us":2,"until_us":9000000000000000,"finished":false})";
  if (on_sqlite()) {
    sqlite3* file_handle = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &file_handle), SQLITE_OK);
    sqlite3_busy_timeout(file_handle, 10'000);
    const std::string sql = "INSERT INTO meta (name, value) VALUES ('restored', '" + fact + "')";
    EXPECT_EQ(sqlite3_exec(file_handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(file_handle);
  } else {
    shared_postgres().query(
        "INSERT INTO pawl.facts (name, value) VALUES ('restored', '" + fact + "')", database());
  }
  for (const bool worker : {false, true}) {
    try {
      start({}, worker);
      FAIL() << "it started";
    } catch (const std::runtime_error& refused) {
      EXPECT_THAT(refused.what(), HasSubstr("pawl store restored"));
    }
  }
  ASSERT_EQ(say_restored().exit_code, 0);
  EXPECT_EQ(problem_of(post(start().port(), payment)), "store-restored");
}

TEST_P(Restore, TheStoreShowsWhatItHolds) {
  { ASSERT_EQ(post(start().port(), payment).status, 201); }
  const testing::Finished never = store({"show"});
  ASSERT_EQ(never.exit_code, 0) << never.err;
  EXPECT_THAT(never.out, AllOf(HasSubstr("restored  never"), HasSubstr("keys      1 completed")));
  ASSERT_EQ(say_restored().exit_code, 0);
  EXPECT_THAT(store({"show"}).out, HasSubstr("keys that are not in the store are refused until"));
}

TEST_P(Restore, WhatIsMeantMustBeSaid) {
  ASSERT_EQ(post(start().port(), Post{.key = ""}).status, 400) << "there is a store now";
  EXPECT_EQ(store({"restored", "--since", "1h"}).exit_code, 64) << "no reason";
  EXPECT_EQ(store({"restored", "--since", "yesterday", "--reason", "disk lost"}).exit_code, 64);
  EXPECT_EQ(
      store({"restored", "--since", "2999-01-01T00:00:00Z", "--reason", "disk lost"}).exit_code, 64)
      << "not past";
  EXPECT_EQ(
      store({"restored", "--since", "2026-01-02T03:04:05Z", "--reason", "disk lost"}).exit_code, 0);
}

PAWL_ON_EVERY_STORE(Restore);

class ReplacedFile : public OnSqlite {};

TEST_F(ReplacedFile, ABackupPutBackUnderARunningGatewayIsNotTakenUp) {
  ServeProcess& gateway = start();
  const std::string file = (folder() / "pawl.db").string();
  ASSERT_EQ(post(gateway.port(), Post{.key = "used-before-the-backup"}).status, 201);
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &handle), SQLITE_OK);
  sqlite3_busy_timeout(handle, 10'000);
  EXPECT_EQ(sqlite3_exec(handle, ("VACUUM INTO '" + file + ".backup'").c_str(), nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(handle);
  const Post late{.key = "used-after-the-backup"};
  ASSERT_EQ(post(gateway.port(), late).status, 201);
  std::filesystem::rename(file + ".backup", file);
  // Answers that it has in memory it may still give; what it would have to look up it refuses.
  const HttpAnswer fresh = post(gateway.port(), payment);
  EXPECT_EQ(fresh.status, 503);
  EXPECT_EQ(problem_of(fresh), "store-unavailable");
  EXPECT_EQ(post(gateway.port(), late).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.count(), 2U);
  EXPECT_TRUE(gateway.wait_for_text("is another file than the one that this process has open"));
  EXPECT_EQ(get(gateway.admin_port(), "/readyz").status, 503);
  EXPECT_EQ(gateway.terminate(), 0);
}

}  // namespace
}  // namespace pawl::e2e
