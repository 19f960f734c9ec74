#include "src/adapters/os/sleepers.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace pawl::os {
namespace {

namespace net = boost::asio;

class AsioSleeper final : public Sleeper, public std::enable_shared_from_this<AsioSleeper> {
 public:
  explicit AsioSleeper(const net::any_io_executor& executor)
      : executor_(executor), timer_(executor) {}

  void wake() override {
    net::post(executor_, [self = shared_from_this()] {
      self->woken_ = true;
      self->timer_.cancel();
    });
  }
  Task<void> sleep(Duration longest) override {
    if (woken_) co_return;
    timer_.expires_after(longest);
    co_await timer_.async_wait(net::as_tuple(net::use_awaitable));
  }
  [[nodiscard]] bool woken() const override { return woken_; }
  void rest() override { woken_ = false; }

 private:
  net::any_io_executor executor_;
  net::steady_timer timer_;
  bool woken_ = false;  // touched on its own thread only
};

}  // namespace

std::shared_ptr<Sleeper> AsioSleepers::new_sleeper() {
  return std::make_shared<AsioSleeper>(executor_);
}

}  // namespace pawl::os
