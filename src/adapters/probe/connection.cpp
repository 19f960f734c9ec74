#include "src/adapters/probe/connection.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace pawl::probe {
namespace {

constexpr std::size_t read_bytes_max = 16'384;

std::string tls_error() {
  const unsigned long code = ERR_get_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "the connection ended" : reason;
}

bool would_block() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

Trust::Trust(const std::string& ca_file) : context_(SSL_CTX_new(TLS_client_method())) {
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  const int loaded = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context_)
                                     : SSL_CTX_load_verify_file(context_, ca_file.c_str());
  if (loaded != 1) trouble_ = ca_file + ": " + tls_error();
}

Trust::~Trust() { SSL_CTX_free(context_); }

Connection::Connection(const config::UpstreamUrl& address, const Trust& trust, Deadline deadline)
    : deadline_(deadline) {
  connect(address);
  if (address.tls && trouble_.empty()) begin_tls(address, trust);
}

Connection::~Connection() {
  if (tls_ != nullptr) SSL_free(tls_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Connection::fail(const std::string& why) {
  trouble_ = why;
  return false;
}

void Connection::connect(const config::UpstreamUrl& address) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int looked_up = ::getaddrinfo(address.host.c_str(), port.c_str(), &wanted, &found);
  if (looked_up != 0) {
    trouble_ = address.host + ": " + ::gai_strerror(looked_up);
    return;
  }
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    trouble_.clear();
    descriptor_ = ::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor_ < 0) {
      fail(std::strerror(errno));
      continue;
    }
    if (::connect(descriptor_, each->ai_addr, each->ai_addrlen) == 0) break;
    int trouble = errno;
    if (trouble == EINPROGRESS && wait_for(POLLOUT)) {
      socklen_t size = sizeof(trouble);
      ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &trouble, &size);
      if (trouble == 0) break;
    }
    if (trouble_.empty()) fail(std::strerror(trouble));
    ::close(descriptor_);
    descriptor_ = -1;
  }
  ::freeaddrinfo(found);
}

void Connection::begin_tls(const config::UpstreamUrl& address, const Trust& trust) {
  tls_ = SSL_new(trust.context());
  std::string name = address.host;
  SSL_ctrl(tls_, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
  SSL_set1_host(tls_, address.host.c_str());
  SSL_set_fd(tls_, descriptor_);
  for (;;) {
    ERR_clear_error();
    const int result = SSL_connect(tls_);
    if (result == 1 || !wait_for_tls(result, "TLS")) return;
  }
}

bool Connection::wait_for(short events) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline_ - std::chrono::steady_clock::now());
    if (left.count() <= 0) return fail("timeout");
    pollfd waiting{descriptor_, events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return fail(std::strerror(errno));
  }
}

bool Connection::wait_for_tls(int result, const char* doing) {
  switch (SSL_get_error(tls_, result)) {
    case SSL_ERROR_WANT_READ: return wait_for(POLLIN);
    case SSL_ERROR_WANT_WRITE: return wait_for(POLLOUT);
    default: return fail(std::string(doing) + ": " + tls_error());
  }
}

bool Connection::write(std::string_view bytes) {
  while (!bytes.empty() && trouble_.empty()) {
    if (tls_ != nullptr) {
      ERR_clear_error();
      const int written =
          SSL_write(tls_, bytes.data(), static_cast<int>(std::min(bytes.size(), read_bytes_max)));
      if (written > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(written));
      } else if (!wait_for_tls(written, "writing")) {
        return false;
      }
      continue;
    }
    const ssize_t written = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (!would_block()) {
      return fail(std::strerror(errno));
    } else if (!wait_for(POLLOUT)) {
      return false;
    }
  }
  return trouble_.empty();
}

std::string Connection::read() {
  std::array<char, read_bytes_max> buffer{};
  while (trouble_.empty()) {
    if (tls_ != nullptr) {
      ERR_clear_error();
      const int got = SSL_read(tls_, buffer.data(), static_cast<int>(buffer.size()));
      if (got > 0) return {buffer.data(), static_cast<std::size_t>(got)};
      if (SSL_get_error(tls_, got) == SSL_ERROR_ZERO_RETURN) return {};
      wait_for_tls(got, "reading");
      continue;
    }
    const ssize_t got = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (got > 0) return {buffer.data(), static_cast<std::size_t>(got)};
    if (got == 0) return {};
    if (!would_block()) {
      fail(std::strerror(errno));
    } else {
      wait_for(POLLIN);
    }
  }
  return {};
}

}  // namespace pawl::probe
