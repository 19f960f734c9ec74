// Cases for coroutines: questions are answered by a thread that may wait, one after the other.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "pawl/ports/cases.hpp"
#include "pawl/ports/task.hpp"

namespace pawl::gateway {

class CaseDesk {
 public:
  explicit CaseDesk(Cases& cases) : cases_(cases) {}
  ~CaseDesk() { stop(); }
  CaseDesk(const CaseDesk&) = delete;
  CaseDesk& operator=(const CaseDesk&) = delete;

  // From any thread; what the caller awaits goes on where it was. Give it a named function, not a
  // temporary.
  template <class T>
  Task<Cases::Result<T>> ask(std::function<Cases::Result<T>(Cases&)> question) {
    std::optional<Cases::Result<T>> answer;
    auto work = answer_into<T>(cases_, std::move(question), answer);
    co_await boost::asio::co_spawn(pool_.get_executor(), std::move(work),
                                   boost::asio::use_awaitable);
    co_return std::move(*answer);
  }

  void stop() { pool_.join(); }

 private:
  template <class T>
  static Task<void> answer_into(Cases& cases, std::function<Cases::Result<T>(Cases&)> question,
                                std::optional<Cases::Result<T>>& answer) {
    answer.emplace(question(cases));
    co_return;
  }

  Cases& cases_;
  boost::asio::thread_pool pool_{1};
};

}  // namespace pawl::gateway
