#include "tests/support/raw_client.hpp"

namespace pawl::testing {

RawClient::RawClient(std::uint16_t port, std::chrono::seconds patience)
    : wire_(Wire::connect(port, patience)) {}

HttpAnswer RawClient::read_answer(bool to_head) {
  std::optional<std::string> head = wire_.read_head();
  if (!head) throw WireError("the connection was closed without an answer");
  HttpAnswer answer;
  answer.head = std::move(*head);
  if (!answer.head.starts_with("HTTP/1.") || answer.head.size() < 12) {
    throw WireError("not a status line: " + answer.head);
  }
  answer.status = std::stoi(answer.head.substr(9, 3));
  answer.headers = headers_in(answer.head);
  if (to_head || answer.status < 200 || answer.status == 204 || answer.status == 304) return answer;
  const std::optional<std::string> length = answer.header("Content-Length");
  const std::optional<std::string> coding = answer.header("Transfer-Encoding");
  if (length && coding) throw WireError("both Content-Length and Transfer-Encoding");
  if (coding) {
    answer.body = wire_.read_chunked();
  } else if (length) {
    answer.body = wire_.read_exactly(std::stoul(*length));
  } else {
    answer.body = wire_.read_to_end();
  }
  return answer;
}

std::string to_bytes(const Post& post) {
  std::string out = post.method + " " + post.path + " HTTP/1.1\r\nHost: api.example\r\n";
  if (!post.key.empty()) out += "Idempotency-Key: " + post.key + "\r\n";
  for (const auto& [name, value] : post.headers) out += name + ": " + value + "\r\n";
  return out + "Content-Length: " + std::to_string(post.body.size()) + "\r\n\r\n" + post.body;
}

HttpAnswer post(std::uint16_t port, const Post& post) {
  RawClient client(port);
  client.send(to_bytes(post));
  return client.read_answer();
}

HttpAnswer get(std::uint16_t port, std::string_view target, const WireHeaders& headers) {
  RawClient client(port);
  std::string out = "GET " + std::string(target) + " HTTP/1.1\r\nHost: api.example\r\n";
  for (const auto& [name, value] : headers) out += name + ": " + value + "\r\n";
  client.send(out + "\r\n");
  return client.read_answer();
}

}  // namespace pawl::testing
