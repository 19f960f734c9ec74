// Words between nodes, on the session that a store has anyway.
#include <mutex>

#include "src/adapters/postgres/pg_fixture.hpp"
#include "src/adapters/postgres/session_notifications.hpp"

namespace pawl::postgres {
namespace {

// A node's session, and what it has heard.
struct Listener {
  explicit Listener(const std::string& url)
      : thread(std::make_shared<sql::SessionThread>(std::make_unique<SqlSession>(url, patient()))) {
  }

  void listen() {
    notifications = std::make_unique<SessionNotifications>(
        thread, std::vector<std::string>{"first", "second"},
        [this](std::string_view channel, std::string_view word) {
          const std::lock_guard lock(mutex);
          heard += std::string(channel) + ":" + std::string(word) + " ";
        });
  }
  std::string words() {
    const std::lock_guard lock(mutex);
    return heard;
  }

  std::mutex mutex;
  std::string heard;  // under mutex
  std::shared_ptr<sql::SessionThread> thread;
  std::unique_ptr<SessionNotifications> notifications;
};

std::string sessions(Sql& observer) {
  return observer(
      "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pawl' AND datname ="
      " current_database()");
}

TEST(SessionNotifications, AreHeardByOtherNodesOnEveryChannelAndNotByTheSpeaker) {
  const std::string url = migrated_url(shared_server());
  Listener one(url);
  Listener other(url);
  one.listen();
  other.listen();
  Sql observer(url);
  wait_until([&] { return sessions(observer) == "2"; });
  // A word may be said before the other one listens: it is said until it is heard.
  wait_until([&] {
    one.notifications->say("first", "x");
    return !other.words().empty();
  });
  one.notifications->say("second", "y");
  wait_until([&] { return other.words().find("second:y") != std::string::npos; });
  EXPECT_EQ(one.words(), "");
  EXPECT_EQ(sessions(observer), "2");
}

TEST(SessionNotifications, AreHeardAgainAfterTheConnectionWasLostWhileNothingWasAsked) {
  const std::string url = migrated_url(shared_server());
  Listener one(url);
  one.listen();
  Sql speaker(url);
  wait_until([&] {
    speaker("NOTIFY first, 'a'");
    return !one.words().empty();
  });
  speaker(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pawl' AND"
      " datname = current_database()");
  wait_until([&] {
    speaker("NOTIFY first, 'b'");
    return one.words().find("first:b") != std::string::npos;
  });
}

TEST(SessionNotifications, AreHeardBetweenStatementsAndNotAfterTheirEnd) {
  const std::string url = migrated_url(shared_server());
  Listener one(url);
  one.listen();
  Sql speaker(url);
  wait_until([&] {
    speaker("NOTIFY second, 'a'");
    one.thread->post([](sql::Session& session) { static_cast<void>(session.run("SELECT 1")); });
    return one.words().find("second:a") != std::string::npos;
  });
  one.notifications.reset();
  const std::string before = one.words();
  speaker("NOTIFY second, 'late'");
  std::atomic<bool> asked = false;
  one.thread->post([&](sql::Session& session) {
    static_cast<void>(session.run("SELECT 1"));
    asked = true;
  });
  wait_until([&] { return asked.load(); });
  EXPECT_EQ(one.words(), before);
}

}  // namespace
}  // namespace pawl::postgres
