// One TCP connection on 127.0.0.1 as tests use it: blocking, byte for byte, and never for longer
// than a deadline, so that a wrong program fails a test instead of hanging it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::testing {

// The other side ended the connection early, reset it, or kept silent past the deadline.
struct WireError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct WireReset : WireError {
  using WireError::WireError;
};

using WireHeaders = std::vector<std::pair<std::string, std::string>>;

// The fields of a head ("start line CRLF field CRLF ... CRLF"), as they were sent.
WireHeaders headers_in(std::string_view head);
std::optional<std::string> find_header(const WireHeaders& headers, std::string_view name);

inline constexpr std::chrono::seconds wire_patience{30};

class Wire {
 public:
  // Takes the descriptor over. Without patience it waits for as long as it takes.
  explicit Wire(int descriptor, std::optional<std::chrono::seconds> patience = wire_patience);
  static Wire connect(std::uint16_t port,
                      std::optional<std::chrono::seconds> patience = wire_patience);
  // From another address of this machine, such as 127.0.0.9.
  static Wire connect_from(const std::string& source, std::uint16_t port);
  // To a Unix socket.
  static Wire connect_to_socket(const std::string& path);
  Wire(Wire&& other) noexcept;
  Wire& operator=(Wire&& other) noexcept;
  ~Wire();

  // False: the other side is gone.
  bool send(std::string_view bytes);
  // Through the empty line; nothing if the connection ended in order before its first byte.
  std::optional<std::string> read_head();
  std::string read_exactly(std::size_t bytes);
  std::string read_line();     // without its CRLF
  std::string read_chunked();  // the decoded body; trailers are read and dropped
  std::string read_to_end();   // until the other side closes; a reset is an error
  // Waits until the other side has closed or reset. What still arrives is dropped.
  bool closed();

  void finish_sending();  // a FIN, and go on reading
  void shut_down();       // both ways: wakes a thread that reads
  void close();
  void reset();  // closes with a RST
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  bool fill();  // false at the end of the stream
  bool wait_for(short events) const;

  int descriptor_ = -1;
  std::optional<std::chrono::seconds> patience_;
  std::string buffer_;
};

// A listening socket on 127.0.0.1; its port, and what the kernel accepts for it.
struct Listening {
  int descriptor = -1;
  std::uint16_t port = 0;
};
Listening listen_on_loopback(std::uint16_t port, int backlog);

}  // namespace pawl::testing
