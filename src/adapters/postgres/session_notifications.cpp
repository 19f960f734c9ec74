#include "src/adapters/postgres/session_notifications.hpp"

#include <future>

namespace pawl::postgres {
namespace {

constexpr std::size_t words_max = 10'000;

SqlSession& ours(sql::Session& session) { return static_cast<SqlSession&>(session); }

}  // namespace

SessionNotifications::SessionNotifications(std::shared_ptr<sql::SessionThread> thread,
                                           std::vector<std::string> channels,
                                           SqlSession::Heard heard)
    : thread_(std::move(thread)) {
  thread_->post([channels = std::move(channels), heard = std::move(heard)](sql::Session& session) {
    ours(session).listen(channels, heard);
    static_cast<void>(ours(session).is_direct());  // connects; where it cannot, it is tried again
  });
}

SessionNotifications::~SessionNotifications() {
  std::promise<void> done;
  thread_->post([&done](sql::Session& session) {
    ours(session).listen({}, {});
    done.set_value();
  });
  done.get_future().wait();
}

void SessionNotifications::say(std::string channel, std::string word) {
  {
    const std::lock_guard lock(words_->mutex);
    if (words_->waiting.size() >= words_max) return;
    words_->waiting.push_back({std::move(channel), std::move(word)});
    if (words_->waiting.size() > 1) return;  // somebody is on the way to say it
  }
  thread_->post([words = words_](sql::Session& session) { say_all(session, *words); });
}

// Where the server is unavailable they are dropped: too old by the time it is back. A hint need not
// survive a crash, so no commit of one waits for a disk.
void SessionNotifications::say_all(sql::Session& session, Words& words) {
  std::vector<sql::Parameters> all;
  {
    const std::lock_guard lock(words.mutex);
    all.swap(words.waiting);
  }
  if (!ours(session).is_direct()) return;
  sql::Result<sql::Transaction> transaction =
      sql::Transaction::begin(session, sql::Durability::relaxed);
  if (!transaction) return;
  const auto said = session.run_each("SELECT pg_catalog.pg_notify($1, $2)", all);
  if (said) static_cast<void>(transaction->commit());
}

}  // namespace pawl::postgres
