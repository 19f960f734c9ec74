// Reads a message from bytes that arrive in parts, as a session does, without a socket.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "src/adapters/http/chunked.hpp"
#include "src/adapters/http/head.hpp"

namespace pawl::http {

struct Verdict {
  static constexpr int accepted = 0;
  static constexpr int cut_off = -1;

  int status = cut_off;  // that refuses it, or one of those above
  std::string body;
  std::size_t used = 0;  // bytes of the message; what follows is the next one
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

inline int status_of(const Refusal& refusal) {
  return render_problem({refusal.problem, refusal.detail, refusal.status, {}}, {}).status;
}

// What has arrived after each read.
using Arrivals = std::vector<std::size_t>;
inline Arrivals at_once(std::string_view bytes) { return {bytes.size()}; }
inline Arrivals split_at(std::string_view bytes, std::size_t at) { return {at, bytes.size()}; }
inline Arrivals byte_by_byte(std::string_view bytes) {
  Arrivals arrivals;
  for (std::size_t i = 1; i <= bytes.size(); ++i) arrivals.push_back(i);
  return arrivals;
}

// The chunked body that starts at `begin`.
inline Verdict read_chunks(std::string_view bytes, std::size_t begin, const Arrivals& arrivals) {
  Verdict verdict;
  ChunkedDecoder decoder;
  std::size_t at = begin;
  for (const std::size_t arrived : arrivals) {
    while (at < arrived && !decoder.done()) {
      const auto step = decoder.decode(bytes.substr(at, arrived - at));
      if (!step) {
        verdict.status = status_of(step.error());
        return verdict;
      }
      verdict.body.append(step->content);
      at += step->used;
    }
  }
  verdict.used = at;
  if (decoder.done()) verdict.status = Verdict::accepted;
  return verdict;
}

inline Verdict read_request(std::string_view bytes, const Arrivals& arrivals,
                            const HeadLimits& limits = {}) {
  Verdict verdict;
  HeadScanner scanner(limits.head_bytes_max);
  for (const std::size_t arrived : arrivals) {
    const auto end = scanner.scan(bytes.substr(0, arrived));
    if (!end) {
      verdict.status = status_of(end.error());
      return verdict;
    }
    if (!*end) continue;
    const auto head = parse_request_head(bytes.substr(0, **end), limits);
    if (!head) {
      verdict.status = status_of(head.error());
      return verdict;
    }
    if (head->framing == Framing::chunked) {
      Arrivals rest{arrived};
      std::ranges::copy_if(arrivals, std::back_inserter(rest),
                           [&](std::size_t later) { return later > arrived; });
      return read_chunks(bytes, **end, rest);
    }
    verdict.body = bytes.substr(**end, static_cast<std::size_t>(head->length));
    verdict.used = **end + verdict.body.size();
    if (verdict.body.size() == head->length) verdict.status = Verdict::accepted;
    return verdict;
  }
  return verdict;
}

}  // namespace pawl::http
