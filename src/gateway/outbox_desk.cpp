#include "src/gateway/outbox_desk.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace pawl::gateway {
namespace {

namespace net = boost::asio;

constexpr std::size_t batch_max = 128;

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

template <class T>
Task<void> perform(std::function<T()> what, std::optional<T>& into) {
  into.emplace(what());
  co_return;
}

// Through an optional, because co_spawn of Asio 1.26 wants a T that can be made from nothing.
template <class T>
Task<T> ask(net::thread_pool& thread, std::function<T()> what) {
  std::optional<T> result;
  Task<void> work = perform(std::move(what), result);
  co_await net::co_spawn(thread, std::move(work), net::use_awaitable);
  co_return std::move(*result);
}

}  // namespace

Task<Expected<OutboxClaimed, std::string>> OutboxDesk::claim(OutboxClaim claim) {
  std::function<Expected<OutboxClaimed, std::string>()> what = [this, claim = std::move(claim)] {
    return store_.claim(claim);
  };
  co_return co_await ask(thread_, std::move(what));
}

Task<OutboxDesk::Changed> OutboxDesk::change(std::string id, OutboxAction action,
                                             OutboxAuthor author,
                                             OutboxStore::Transition transition) {
  std::function<Changed()> what = [this, id = std::move(id), action, author = std::move(author),
                                   transition = std::move(transition)] {
    return store_.change(id, action, author, transition);
  };
  co_return co_await ask(thread_, std::move(what));
}

Task<Expected<OutboxDesk::Counts, std::string>> OutboxDesk::count() {
  std::function<Expected<Counts, std::string>()> what = [this]() -> Expected<Counts, std::string> {
    const Expected<Instant, std::string> now = store_.time();
    if (!now) return Unexpected{now.error()};
    Expected<std::vector<OutboxCount>, std::string> counts = store_.count();
    if (!counts) return Unexpected{counts.error()};
    return Counts{*now, std::move(*counts)};
  };
  co_return co_await ask(thread_, std::move(what));
}

Task<OutboxDesk::Mine> OutboxDesk::write(OutboxWrite write) {
  const auto waiting = std::make_shared<Waiting>(
      Waiting{std::move(write), std::nullopt, net::steady_timer(executor_)});
  waiting->told.expires_at(net::steady_timer::time_point::max());
  waiting_.push_back(waiting);
  if (!writing_) {
    writing_ = true;
    net::co_spawn(executor_, write_all(), rethrow);
  }
  while (!waiting->mine) co_await waiting->told.async_wait(net::as_tuple(net::use_awaitable));
  co_return *waiting->mine;
}

Task<void> OutboxDesk::write_all() {
  while (!waiting_.empty()) {
    Batch batch;
    while (!waiting_.empty() && batch.size() < batch_max) {
      batch.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    co_await write_batch(batch);
    for (const auto& each : batch) each->told.cancel();
  }
  writing_ = false;
}

// All or none: what a worker writes is plain text and numbers, so no row can be bad by itself.
Task<void> OutboxDesk::write_batch(const Batch& batch) {
  using Written = Expected<std::vector<bool>, std::string>;
  std::vector<OutboxWrite> writes;
  for (const auto& each : batch) writes.push_back(each->write);
  std::function<Written()> what = [this, writes = std::move(writes)] {
    return store_.write(writes);
  };
  const Written written = co_await ask(thread_, std::move(what));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i]->mine = written ? Mine((*written)[i]) : Mine(Unexpected{written.error()});
  }
}

}  // namespace pawl::gateway
