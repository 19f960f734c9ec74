#include "src/adapters/probe/read_answer.hpp"

#include "src/adapters/http/chunked.hpp"

namespace pawl::probe {
namespace {

constexpr std::size_t body_bytes_max = std::size_t{64} << 20;

class Reader {
 public:
  explicit Reader(Connection& connection) : connection_(connection) {}

  // The head's bytes, through the empty line; they are taken out of the buffer.
  Expected<std::string, std::string> head() {
    http::HeadScanner scanner(http::HeadLimits{}.head_bytes_max);
    for (;;) {
      const auto end = scanner.scan(buffer_);
      if (!end) return Unexpected{"not HTTP: " + end.error().detail};
      if (*end) return take(**end);
      if (!fill()) return Unexpected{ended("before its head was complete")};
    }
  }

  Expected<std::string, std::string> exactly(std::uint64_t length) {
    if (length > body_bytes_max) return Unexpected{std::string("the answer is too large")};
    while (buffer_.size() < length) {
      if (!fill()) return Unexpected{ended("in the middle of its body")};
    }
    return take(static_cast<std::size_t>(length));
  }

  Expected<std::string, std::string> chunks() {
    http::ChunkedDecoder decoder;
    std::string body;
    while (!decoder.done()) {
      const auto step = decoder.decode(buffer_);
      if (!step) return Unexpected{"bad chunks: " + step.error().detail};
      body.append(step->content);
      const std::size_t used = step->used;
      buffer_.erase(0, used);
      if (body.size() > body_bytes_max) return Unexpected{std::string("the answer is too large")};
      if (used == 0 && !decoder.done() && !fill()) {
        return Unexpected{ended("in the middle of its body")};
      }
    }
    return body;
  }

  Expected<std::string, std::string> to_end() {
    while (buffer_.size() <= body_bytes_max && fill()) {
    }
    if (!connection_.trouble().empty()) return Unexpected{ended("in the middle of its body")};
    return std::move(buffer_);
  }

 private:
  bool fill() {
    const std::string more = connection_.read();
    buffer_ += more;
    return !more.empty();
  }
  std::string take(std::size_t bytes) {
    std::string taken = buffer_.substr(0, bytes);
    buffer_.erase(0, bytes);
    return taken;
  }
  std::string ended(const std::string& where) {
    const bool clean = connection_.trouble().empty();
    return (clean ? "the connection was closed" : connection_.trouble()) + " " + where;
  }

  Connection& connection_;
  std::string buffer_;
};

Expected<std::string, std::string> body_of(Reader& reader, const http::ResponseHead& head) {
  switch (head.framing) {
    case http::Framing::none: return std::string();
    case http::Framing::length: return reader.exactly(head.length);
    case http::Framing::chunked: return reader.chunks();
    case http::Framing::until_close: return reader.to_end();
  }
  return std::string();
}

}  // namespace

Expected<Response, std::string> read_answer(Connection& connection, bool to_head) {
  Reader reader(connection);
  for (;;) {
    const Expected<std::string, std::string> bytes = reader.head();
    if (!bytes) return Unexpected{bytes.error()};
    const auto head = http::parse_response_head(*bytes, to_head, {});
    if (!head) return Unexpected{"not HTTP: " + head.error()};
    if (head->status / 100 == 1) continue;  // 100-continue, early hints
    Expected<std::string, std::string> body = body_of(reader, *head);
    if (!body) return Unexpected{body.error()};
    Response answer{.status = head->status, .headers = {}, .body = std::move(*body)};
    for (const http::Field& field : head->fields) {
      answer.headers.push_back({std::string(field.name), std::string(field.value)});
    }
    return answer;
  }
}

}  // namespace pawl::probe
