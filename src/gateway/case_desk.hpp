// ReconciliationStore for coroutines: questions are answered by a thread that may wait, one after
// the other.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "src/ports/reconciliation_store.hpp"
#include "src/ports/task.hpp"

namespace pawl::gateway {

// `Subject` is what is asked: its answers are Expected<T, std::string>.
template <class Subject>
class Desk {
 public:
  explicit Desk(Subject& subject) : subject_(subject) {}
  ~Desk() { stop(); }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // From any thread; what the caller awaits goes on where it was. Give it a named function, not a
  // temporary.
  template <class T>
  Task<Expected<T, std::string>> ask(std::function<Expected<T, std::string>(Subject&)> question) {
    std::optional<Expected<T, std::string>> answer;
    auto work = answer_into<T>(subject_, std::move(question), answer);
    co_await boost::asio::co_spawn(pool_.get_executor(), std::move(work),
                                   boost::asio::use_awaitable);
    co_return std::move(*answer);
  }

  void stop() { pool_.join(); }

 private:
  template <class T>
  static Task<void> answer_into(Subject& subject,
                                std::function<Expected<T, std::string>(Subject&)> question,
                                std::optional<Expected<T, std::string>>& answer) {
    answer.emplace(question(subject));
    co_return;
  }

  Subject& subject_;
  boost::asio::thread_pool pool_{1};
};

class CaseDesk final : public Desk<ReconciliationStore> {
 public:
  using Desk::Desk;
};

}  // namespace pawl::gateway
