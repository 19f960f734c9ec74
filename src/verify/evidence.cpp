// What was sent and received, fit to be shown to others.
#include <algorithm>
#include <array>

#include "src/core/printable.hpp"
#include "src/verify/render.hpp"

namespace pawl::verify {
namespace {

constexpr std::size_t shown_bytes_max = 2000;

bool is_secret(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::array telling{"auth", "cookie", "token", "secret", "api-key", "apikey"};
  return std::ranges::any_of(
      telling, [&](const char* part) { return name.find(part) != std::string::npos; });
}

void append_headers(std::string& out, const Headers& headers) {
  for (const Header& header : headers) {
    const bool hidden = is_secret(header.name);
    out += printable(header.name) + ": " + (hidden ? "(hidden)" : printable(header.value)) + "\n";
  }
}

void append_body(std::string& out, const std::string& body) {
  if (body.empty()) return;
  out += "\n" + printable(body.substr(0, shown_bytes_max)) + "\n";
  if (body.size() > shown_bytes_max) {
    out += "(" + std::to_string(body.size() - shown_bytes_max) + " bytes more)\n";
  }
}

}  // namespace

std::string request_text(const Request& request) {
  std::string out = request.method + " " + printable(request.to.target) + "\n";
  append_headers(out, request.headers);
  append_body(out, request.body);
  return out;
}

std::string answer_text(const Exchange& exchange) {
  if (!exchange.answer) return "no answer: " + printable(exchange.trouble) + "\n";
  std::string out = std::to_string(exchange.answer->status) + "\n";
  append_headers(out, exchange.answer->headers);
  append_body(out, exchange.answer->body);
  return out;
}

}  // namespace pawl::verify
