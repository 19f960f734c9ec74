#include "src/gateway/sleeper.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace pawl::gateway {

namespace net = boost::asio;

void Sleeper::wake() {
  net::post(executor_, [self = shared_from_this()] {
    self->woken_ = true;
    self->timer_.cancel();
  });
}

Task<void> Sleeper::sleep(Duration longest) {
  if (woken_) co_return;
  timer_.expires_after(longest);
  co_await timer_.async_wait(net::as_tuple(net::use_awaitable));
}

}  // namespace pawl::gateway
