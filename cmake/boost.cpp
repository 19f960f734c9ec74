// Boost.Asio's own definitions, compiled once for the whole project
// (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
