// Short words between nodes, by LISTEN and NOTIFY: hints, which may be lost.
//
// On the session that the store has anyway: a word waits for the statement that is under way there,
// and costs no connection and no thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/adapters/postgres/sql_session.hpp"
#include "src/adapters/sql/session_thread.hpp"
#include "src/ports/notifications.hpp"

namespace pawl::postgres {

class SessionNotifications final : public Notifications {
 public:
  // `thread` is that of a SqlSession of ours. `channels`: plain identifiers. `heard` is called on
  // the thread with each word that another session said.
  SessionNotifications(std::shared_ptr<sql::SessionThread> thread,
                       std::vector<std::string> channels, SqlSession::Heard heard);
  // Nothing is heard any more when it returns.
  ~SessionNotifications() override;
  SessionNotifications(const SessionNotifications&) = delete;
  SessionNotifications& operator=(const SessionNotifications&) = delete;

  void say(std::string channel, std::string word) override;

 private:
  // Words that were not said yet; the thread may outlive us.
  struct Words {
    std::mutex mutex;
    std::vector<sql::Parameters> waiting;  // under mutex: channel and word
  };
  static void say_all(sql::Session& session, Words& words);

  const std::shared_ptr<sql::SessionThread> thread_;
  const std::shared_ptr<Words> words_ = std::make_shared<Words>();
};

}  // namespace pawl::postgres
