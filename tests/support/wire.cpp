#include "tests/support/wire.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>

namespace pawl::testing {
namespace {

constexpr std::string_view crlf = "\r\n";

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

[[noreturn]] void fail(const std::string& what) {
  throw WireError(what + ": " + std::strerror(errno));
}

}  // namespace

WireHeaders headers_in(std::string_view head) {
  WireHeaders headers;
  std::size_t start = head.find(crlf);
  while (start != std::string_view::npos) {
    start += crlf.size();
    const std::size_t end = head.find(crlf, start);
    if (end == std::string_view::npos || end == start) break;
    const std::string_view line = head.substr(start, end - start);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) break;
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    headers.emplace_back(line.substr(0, colon), value);
    start = end;
  }
  return headers;
}

std::optional<std::string> find_header(const WireHeaders& headers, std::string_view name) {
  for (const auto& [its_name, value] : headers) {
    if (same_name(its_name, name)) return value;
  }
  return std::nullopt;
}

Wire::Wire(int descriptor, std::optional<std::chrono::seconds> patience)
    : descriptor_(descriptor), patience_(patience) {}

Wire Wire::connect(std::uint16_t port, std::optional<std::chrono::seconds> patience) {
  Wire wire(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), patience);
  const sockaddr_in address = loopback(port);
  if (::connect(wire.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0) {
    fail("connect to port " + std::to_string(port));
  }
  const int on = 1;
  ::setsockopt(wire.descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return wire;
}

Wire Wire::connect_from(const std::string& source, std::uint16_t port) {
  Wire wire(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in from = loopback(0);
  if (::inet_pton(AF_INET, source.c_str(), &from.sin_addr) != 1) fail(source);
  if (::bind(wire.descriptor_, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) {
    fail("bind");
  }
  const sockaddr_in address = loopback(port);
  if (::connect(wire.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0) {
    fail("connect");
  }
  return wire;
}

Wire Wire::connect_to_socket(const std::string& path) {
  Wire wire(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (::connect(wire.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0) {
    fail("connect to " + path);
  }
  return wire;
}

Wire::Wire(Wire&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      patience_(other.patience_),
      buffer_(std::move(other.buffer_)) {}

Wire& Wire::operator=(Wire&& other) noexcept {
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  patience_ = other.patience_;
  buffer_ = std::move(other.buffer_);
  return *this;
}

Wire::~Wire() { close(); }

bool Wire::wait_for(short events) const {
  pollfd poll_on{descriptor_, events, 0};
  const int limit = patience_ ? static_cast<int>(patience_->count()) * 1000 : -1;
  int ready = 0;
  do {
    ready = ::poll(&poll_on, 1, limit);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

bool Wire::send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait_for(POLLOUT)) throw WireError("the other side reads nothing");
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool Wire::fill() {
  if (!wait_for(POLLIN)) {
    throw WireError("nothing came within the deadline after \"" + buffer_.substr(0, 200) + '"');
  }
  std::array<char, 65536> some{};
  ssize_t count = 0;
  do {
    count = ::recv(descriptor_, some.data(), some.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0) throw WireReset(std::string("read: ") + std::strerror(errno));
  buffer_.append(some.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::optional<std::string> Wire::read_head() {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (fill()) continue;
    if (buffer_.empty()) return std::nullopt;
    throw WireError("the connection ended within a head: \"" + buffer_ + '"');
  }
  std::string head = buffer_.substr(0, end + 4);
  buffer_.erase(0, end + 4);
  return head;
}

std::string Wire::read_exactly(std::size_t bytes) {
  while (buffer_.size() < bytes) {
    if (!fill()) throw WireError("the connection ended within a body");
  }
  std::string body = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return body;
}

std::string Wire::read_line() {
  std::size_t end = 0;
  while ((end = buffer_.find(crlf)) == std::string::npos) {
    if (!fill()) throw WireError("the connection ended within a line");
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + crlf.size());
  return line;
}

std::string Wire::read_chunked() {
  std::string body;
  while (true) {
    const std::size_t size = std::stoul(read_line(), nullptr, 16);
    if (size == 0) break;
    body += read_exactly(size);
    if (!read_line().empty()) throw WireError("a chunk is longer than it said");
  }
  while (!read_line().empty()) continue;
  return body;
}

std::string Wire::read_to_end() {
  while (fill()) continue;
  return std::exchange(buffer_, {});
}

bool Wire::closed() {
  try {
    while (fill()) buffer_.clear();
    return true;
  } catch (const WireReset&) {
    return true;
  } catch (const WireError&) {  // silence past the deadline
    return false;
  }
}

void Wire::finish_sending() { ::shutdown(descriptor_, SHUT_WR); }

void Wire::shut_down() { ::shutdown(descriptor_, SHUT_RDWR); }

void Wire::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void Wire::reset() {
  const linger abort{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
  close();
}

Listening listen_on_loopback(std::uint16_t port, int backlog) {
  Listening made;
  made.descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(made.descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = loopback(port);
  socklen_t size = sizeof address;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  if (::bind(made.descriptor, where, size) != 0 || ::listen(made.descriptor, backlog) != 0 ||
      ::getsockname(made.descriptor, where, &size) != 0) {
    ::close(made.descriptor);
    fail("listen");
  }
  made.port = ntohs(address.sin_port);
  return made;
}

}  // namespace pawl::testing
