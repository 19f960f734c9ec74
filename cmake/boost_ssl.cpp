// Asio's TLS, compiled once, for those who link it.
#include <boost/asio/ssl/impl/src.hpp>
