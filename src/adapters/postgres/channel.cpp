#include "src/adapters/postgres/channel.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>

#include "pawl/types/check.hpp"
#include "src/adapters/postgres/reconnecting_connection.hpp"
#include "src/adapters/postgres/wire.hpp"

namespace pawl::postgres {
namespace {

constexpr std::size_t words_max = 10'000;
constexpr int reconnect_milliseconds = 1000;
constexpr int for_ever = -1;

bool run(PGconn* connection, const char* sql, Until until) {
  const Result result = ask(connection, sql, until);
  return PQresultStatus(result.get()) == PGRES_COMMAND_OK;
}

}  // namespace

Channel::Channel(std::string url, Options options, std::vector<std::string> names, Heard heard)
    : url_(std::move(url)),
      options_(options),
      names_(std::move(names)),
      heard_(std::move(heard)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { loop(); }) {
  PAWL_CHECK(wake_ >= 0);
}

Channel::~Channel() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);  // whatever waits for the server ends
  }
  ::eventfd_write(wake_, 1);
  thread_.join();
  ::close(wake_);
}

void Channel::say(std::string channel, std::string word) {
  {
    const std::lock_guard lock(mutex_);
    if (words_.size() >= words_max) return;
    words_.push_back({std::move(channel), std::move(word)});
  }
  ::eventfd_write(wake_, 1);
}

bool Channel::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void Channel::wait(int milliseconds, int socket) {
  std::array<pollfd, 2> both{pollfd{wake_, POLLIN, 0}, pollfd{socket, POLLIN, 0}};
  ::poll(both.data(), both.size(), milliseconds);  // a negative descriptor is left out
  std::uint64_t count = 0;
  ::eventfd_read(wake_, &count);
}

void Channel::loop() {
  while (!stopping()) {
    if (!converse()) return;
    {
      const std::lock_guard lock(mutex_);
      socket_ = -1;
      words_.clear();  // too old by the time we are back
    }
    if (!stopping()) wait(reconnect_milliseconds, -1);
  }
}

bool Channel::take_socket(int socket) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  socket_ = socket;
  return true;
}

bool Channel::converse() {
  const Expected<Established, std::string> established = establish(url_, options_);
  if (!established) return true;
  if (!established->facts.direct) return false;
  PGconn* connection = established->connection.get();
  if (!take_socket(PQsocket(connection))) return true;
  // A hint need not survive a crash: no commit of one waits for a disk.
  bool sound =
      run(connection, "SET synchronous_commit = off", by_then()) && listen_to_all(connection);
  while (sound && !stopping()) {
    speak(connection);
    listen(connection);  // afterwards: what arrived with the answer is read from no socket again
    sound = PQstatus(connection) == CONNECTION_OK;
    if (sound && !stopping()) wait(for_ever, PQsocket(connection));
    sound = sound && PQconsumeInput(connection) == 1;
  }
  take_socket(-1);  // before the number is another's
  return true;
}

bool Channel::listen_to_all(PGconn* connection) {
  for (const std::string& name : names_) {
    if (!run(connection, ("LISTEN " + name).c_str(), by_then())) return false;
  }
  return true;
}

Until Channel::by_then() const {
  return std::chrono::steady_clock::now() + options_.operation_timeout;
}

void Channel::speak(PGconn* connection) {
  std::vector<Word> words;
  {
    const std::lock_guard lock(mutex_);
    words.swap(words_);
  }
  if (words.empty()) return;
  ArrayBuilder channels(type::text_array);
  ArrayBuilder texts(type::text_array);
  for (const Word& word : words) {
    channels.text(word.channel);
    texts.text(word.text);
  }
  const std::array parameters{std::move(channels).finish(), std::move(texts).finish()};
  const std::array<const char*, 2> values{parameters[0].bytes.data(), parameters[1].bytes.data()};
  const std::array lengths{static_cast<int>(parameters[0].bytes.size()),
                           static_cast<int>(parameters[1].bytes.size())};
  const std::array formats{1, 1};  // binary
  const std::array<Oid, 2> types{parameters[0].type, parameters[1].type};
  const Values given{.count = 2,
                     .types = types.data(),
                     .values = values.data(),
                     .lengths = lengths.data(),
                     .formats = formats.data(),
                     .result_format = 1};
  const Result result = ask(connection,
                            "SELECT pg_notify(channel, word)"
                            " FROM unnest($1::text[], $2::text[]) AS said(channel, word)",
                            given, by_then());
}

void Channel::listen(PGconn* connection) {
  for (;;) {
    const std::unique_ptr<PGnotify, decltype(&PQfreemem)> said(PQnotifies(connection), PQfreemem);
    if (!said) return;
    if (said->be_pid != PQbackendPID(connection)) heard_(said->relname, said->extra);
  }
}

}  // namespace pawl::postgres
