// Short words between nodes, by LISTEN and NOTIFY: hints, which may be lost.
//
// On a thread and a connection of its own, so that nothing waits for it. Behind a pooler there is
// no session to listen on, and then the channel is silent.
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

namespace pawl::postgres {

class Channel {
 public:
  // `name`: a plain identifier. `heard` is called on the channel's thread with each word that
  // another session said.
  Channel(std::string url, Options options, std::string name,
          std::function<void(std::string_view)> heard);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Any thread; never blocks. Dropped where the server is away or too much waits already.
  void say(std::string word);

 private:
  void loop();
  // False: not here (a pooler), so do not try again.
  bool converse();
  [[nodiscard]] Until by_then() const;
  void speak(PGconn* connection);
  void listen(PGconn* connection);
  void wait(int milliseconds, int socket);
  bool take_socket(int socket);
  [[nodiscard]] bool stopping();

  const std::string url_;
  const Options options_;
  const std::string name_;
  const std::function<void(std::string_view)> heard_;
  int wake_;  // an eventfd
  std::mutex mutex_;
  std::vector<std::string> words_;  // under mutex_
  int socket_ = -1;                 // under mutex_: of the connection that may block
  bool stopping_ = false;           // under mutex_
  std::thread thread_;
};

}  // namespace pawl::postgres
