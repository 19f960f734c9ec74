// The one asynchronous type: a coroutine that is started by being awaited.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace pawl {

template <class T>
using Task = boost::asio::awaitable<T>;

// How I/O is awaited: an error that is expected is a value.
inline constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace pawl
