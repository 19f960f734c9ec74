// Short words between nodes, by LISTEN and NOTIFY: hints, which may be lost.
//
// On a thread and a connection of its own, however many channels there are, so that nothing waits
// for it. Behind a pooler there is
// no session to listen on, and then it is silent.
#pragma once

#include <libpq-fe.h>

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/options.hpp"
#include "src/ports/notifications.hpp"

namespace pawl::postgres {

class Channel final : public Notifications {
 public:
  // `names`: plain identifiers. `heard` is called on a thread of ours with each word that another
  // session said on one of the channels.
  using Heard = std::function<void(std::string_view channel, std::string_view word)>;
  Channel(std::string url, Options options, std::vector<std::string> names, Heard heard);
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void say(std::string channel, std::string word) override;

 private:
  void loop();
  // False: not here (a pooler), so do not try again.
  bool converse();
  bool listen_to_all(PGconn* connection);
  [[nodiscard]] Until by_then() const;
  void speak(PGconn* connection);
  void listen(PGconn* connection);
  void wait(int milliseconds, int socket);
  bool take_socket(int socket);
  [[nodiscard]] bool stopping();

  const std::string url_;
  const Options options_;
  const std::vector<std::string> names_;
  const Heard heard_;
  int wake_;  // an eventfd
  std::mutex mutex_;
  struct Word {
    std::string channel;
    std::string text;
  };
  std::vector<Word> words_;  // under mutex_
  int socket_ = -1;          // under mutex_: of the connection that may block
  bool stopping_ = false;    // under mutex_
  std::thread thread_;
};

}  // namespace pawl::postgres
