// libpawl from coroutines of Boost.Asio. Header-only, with your Boost: nothing of Boost is part of
// the library's own interface.
//
//   pawl::Response answer = co_await pawl::handle(payments, caller, request, charge);
//
// The work ignores cancellation from the reservation to the settlement: a client that disconnects
// changes nothing. Middleware, flow and handler must outlive it.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "pawl/flow.hpp"
#include "pawl/middleware.hpp"

namespace pawl {
namespace detail {

// Starts something that calls back from a thread of its own, and comes back to the awaiting
// coroutine's executor with what it was given.
template <class T, class Start>
boost::asio::awaitable<T> called_back(Start start) {
  auto initiate = [&start](auto handler) {
    const auto executor = boost::asio::get_associated_executor(handler);
    auto work = boost::asio::make_work_guard(executor);
    auto waiting = std::make_shared<decltype(handler)>(std::move(handler));
    start([waiting, work](T result) mutable {
      boost::asio::post(work.get_executor(), [waiting, result = std::move(result)]() mutable {
        std::move (*waiting)(std::move(result));
      });
    });
  };
  co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void(T)>(
      initiate, boost::asio::use_awaitable);
}

template <class Handler>
boost::asio::awaitable<Response> guarded(Middleware& middleware, std::string caller,
                                         HttpRequest request, Handler handler) {
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  auto begin = [&](auto done) { middleware.begin(caller, request, std::move(done)); };
  Middleware::Begun begun = co_await called_back<Middleware::Begun>(begin);
  if (auto* answer = std::get_if<Middleware::Answer>(&begun)) co_return std::move(answer->response);
  if (std::holds_alternative<Middleware::Unguarded>(begun)) co_return co_await handler(request);
  Outcome outcome = NotSent{};
  try {
    Response response = co_await handler(request);
    outcome = Answered{std::move(response)};
  } catch (...) {
    outcome = middleware.outcome_of_current_exception();
  }
  Middleware::Go attempt = std::get<Middleware::Go>(std::move(begun));
  auto finish = [&](auto done) {
    middleware.finish(std::move(attempt), std::move(outcome), std::move(done));
  };
  co_return co_await called_back<Response>(finish);
}

inline boost::asio::awaitable<Response> run(Flow& flow, std::string caller, HttpRequest request) {
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  auto start = [&](auto done) {
    flow.handle(std::move(caller), std::move(request), std::move(done));
  };
  co_return co_await called_back<Response>(start);
}

}  // namespace detail

// `handler` takes a const HttpRequest& and returns an awaitable<Response>; it runs on the awaiting
// coroutine's executor. The handler that `middleware` was made with is not used.
template <class Handler>
boost::asio::awaitable<Response> handle(Middleware& middleware, std::string caller,
                                        HttpRequest request, Handler handler) {
  const auto executor = co_await boost::asio::this_coro::executor;
  // Spawned: a cancellation state set in a plain co_await would outlive it.
  auto work =
      detail::guarded(middleware, std::move(caller), std::move(request), std::move(handler));
  co_return co_await boost::asio::co_spawn(executor, std::move(work), boost::asio::use_awaitable);
}

// The phases run on threads of the node's own, where they may block.
inline boost::asio::awaitable<Response> handle(Flow& flow, std::string caller,
                                               HttpRequest request) {
  const auto executor = co_await boost::asio::this_coro::executor;
  auto work = detail::run(flow, std::move(caller), std::move(request));
  co_return co_await boost::asio::co_spawn(executor, std::move(work), boost::asio::use_awaitable);
}

}  // namespace pawl
