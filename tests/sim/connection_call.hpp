// One call on its way to the server and back, whatever it asks for.
#pragma once

#include <utility>

#include "tests/sim/store.hpp"

namespace pawl::sim {

template <class Reply>
Task<Expected<Reply, StoreError>> Connection::call(std::string what, const char* place, bool writes,
                                                   std::function<Reply()> apply) {
  const Plan plan = this->plan(writes);
  const std::uint64_t epoch = server_.epoch();
  const auto reply = std::make_shared<std::optional<Reply>>();
  const Duration asked = scheduler_.now();
  if (history_.wanted()) {
    std::string line = what;
    if (plan.error) line += ": " + std::string(to_text(*plan.error));
    if (plan.error && plan.apply_after)
      line += *plan.apply_after > plan.reply_after ? ", arrives later" : ", but written";
    history_.add(scheduler_.now(), who_, line);
  }
  const bool survives = plan.error == StoreError::in_doubt && plan.apply_after &&
                        chaos_.strikes(Fault::store_commit_survives, stream_);
  if (plan.apply_after) {
    // The server works whether or not the caller still lives.
    const auto commit = [&server = server_, reply, at = server_.honest(), done = false,
                         apply = std::move(apply)]() mutable {
      if (!std::exchange(done, true)) reply->emplace(server.asked_at(at, apply));
    };
    const auto once = std::make_shared<std::function<void()>>(commit);
    scheduler_.at(scheduler_.now() + *plan.apply_after, [&server = server_, epoch, once] {
      if (server.epoch() == epoch) (*once)();
    });
    if (survives) server_.survives_fail_over([once] { (*once)(); });
  }
  const Process::Ticket ticket = process_.ticket();
  process_.wake(ticket, scheduler_.now() + plan.reply_after, place);
  co_await process_.park(ticket);
  if (plan.error) co_return Unexpected{*plan.error};
  // The connection broke under way: applied or not, nobody says.
  const bool broken = server_.epoch() != epoch || !*reply;
  if (broken) co_return Unexpected{writes ? StoreError::in_doubt : StoreError::unavailable};
  knows_time_ |=
      std::string_view(place) == "store.time" && scheduler_.now() - asked < std::chrono::seconds(9);
  co_return std::move(**reply);
}

template <class T>
StoreResult<T> flattened(Expected<StoreResult<T>, StoreError> result) {
  if (!result) return Unexpected{result.error()};
  return std::move(*result);
}

template <class T>
Task<StoreResult<T>> Connection::ask(std::string what, const char* place, bool writes,
                                     std::function<StoreResult<T>()> apply) {
  using Reply = StoreResult<T>;
  Expected<Reply, StoreError> result =
      co_await call<Reply>(std::move(what), place, writes, std::move(apply));
  co_return flattened(std::move(result));
}

// The way to one of the server's tables: a memory store.
template <class Table>
class TableConnection {
 public:
  TableConnection(Connection& link, Table& table) : link_(link), table_(table) {}

  // `statement` makes the task of the memory store, at the server.
  template <class T, class Statement>
  Task<StoreResult<T>> ask(std::string what, const char* place, bool writes, Statement statement) {
    std::function<StoreResult<T>()> apply = [&server = link_.server(), &table = table_,
                                             statement = std::move(statement)] {
      return server.run(statement(table));
    };
    if (!link_.tells()) what.clear();
    co_return co_await link_.ask<T>(std::move(what), place, writes, std::move(apply));
  }

 private:
  Connection& link_;
  Table& table_;
};

}  // namespace pawl::sim
