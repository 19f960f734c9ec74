#include "src/verify/exchange.hpp"

#include <algorithm>

#include "pawl/types/check.hpp"
#include "pawl/types/json.hpp"
#include "src/core/canonical.hpp"
#include "src/core/printable.hpp"

namespace pawl::verify {
namespace {

constexpr std::size_t brief_bytes_max = 160;

// A body's meaning: canonical where it is JSON, else its bytes.
std::string meaning_of(const std::string& body) {
  const Expected<json::Value, json::Error> document = json::read(body);
  return document ? json::canonical(*document) : body;
}

}  // namespace

const Exchange& first_of(const Run& run, const std::string& label) {
  const auto found = std::ranges::find_if(
      run.exchanges, [&](const Exchange& exchange) { return exchange.sent.label == label; });
  PAWL_CHECK(found != run.exchanges.end());
  return *found;
}

const Exchange& last_of(const Run& run, const std::string& label) {
  const std::vector<const Exchange*> all = all_of(run, label);
  PAWL_CHECK(!all.empty());
  return *all.back();
}

std::vector<const Exchange*> all_of(const Run& run, const std::string& label) {
  std::vector<const Exchange*> found;
  for (const Exchange& exchange : run.exchanges) {
    if (exchange.sent.label == label) found.push_back(&exchange);
  }
  return found;
}

std::optional<std::int64_t> effects_in(const Run& run) {
  if (run.counts.size() < 2) return std::nullopt;
  return run.counts.back() - run.counts.front();
}

bool succeeded(const Exchange& exchange) {
  return exchange.answer && exchange.answer->status / 100 == 2;
}

bool refused(const Exchange& exchange) {
  return exchange.answer && exchange.answer->status / 100 == 4;
}

bool asks_to_come_back(const Exchange& exchange) {
  if (!exchange.answer) return false;
  constexpr std::array later{202, 409, 425, 429, 503};
  return std::ranges::find(later, exchange.answer->status) != later.end() &&
         find_header(exchange.answer->headers, "Retry-After");
}

bool same_result(const Exchange& a, const Exchange& b) {
  return succeeded(a) && succeeded(b) && meaning_of(a.answer->body) == meaning_of(b.answer->body);
}

std::string brief(const Exchange& exchange) {
  if (!exchange.answer) return "no answer (" + exchange.trouble + ")";
  const std::string& body = exchange.answer->body;
  std::string text = std::to_string(exchange.answer->status);
  if (!body.empty()) text += " " + printable(body.substr(0, brief_bytes_max));
  return body.size() > brief_bytes_max ? text + "..." : text;
}

}  // namespace pawl::verify
