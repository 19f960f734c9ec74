// An HTTP client for tests that mind every byte. It adds nothing by itself and reads one answer
// at a time; anything wrong with an answer's framing is a WireError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tests/support/wire.hpp"

namespace pawl::testing {

struct HttpAnswer {
  int status = 0;
  std::string head;  // as it came, from the status line through the empty line
  WireHeaders headers;
  std::string body;  // decoded, if it came in chunks

  [[nodiscard]] std::optional<std::string> header(std::string_view name) const {
    return find_header(headers, name);
  }
  // "" if the header is not there: for expectations that print what they saw.
  [[nodiscard]] std::string value(std::string_view name) const { return header(name).value_or(""); }
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port, std::chrono::seconds patience = wire_patience);
  explicit RawClient(Wire wire) : wire_(std::move(wire)) {}

  bool send(std::string_view bytes) { return wire_.send(bytes); }
  // The next answer, 100 Continue included. `to_head`: it answers HEAD and has no body.
  HttpAnswer read_answer(bool to_head = false);
  std::string read_to_end() { return wire_.read_to_end(); }
  [[nodiscard]] bool closed() { return wire_.closed(); }
  void finish_sending() { wire_.finish_sending(); }
  void hang_up() { wire_.close(); }
  void reset() { wire_.reset(); }

 private:
  Wire wire_;
};

// A request as most clients write one. An empty key sends no Idempotency-Key.
struct Post {
  std::string key;
  std::string body = R"({"amount":100})";
  std::string path = "/payments";
  std::string method = "POST";
  WireHeaders headers = {{"Content-Type", "application/json"}};
};

std::string to_bytes(const Post& post);
// On a connection of its own, closed afterwards.
HttpAnswer post(std::uint16_t port, const Post& post);
HttpAnswer get(std::uint16_t port, std::string_view target, const WireHeaders& headers = {});

}  // namespace pawl::testing
