// The one asynchronous type: a coroutine that is started by being awaited.
#pragma once

#include <boost/asio/awaitable.hpp>

namespace pawl {

template <class T>
using Task = boost::asio::awaitable<T>;

}  // namespace pawl
