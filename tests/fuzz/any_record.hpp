// A record of whatever an input chooses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pawl/types/record.hpp"
#include "src/core/stored_error.hpp"
#include "tests/fuzz/input.hpp"

namespace pawl::fuzz {

inline std::string some(std::string_view text, std::string_view otherwise) {
  return std::string(text.empty() ? otherwise : text);
}

// Scopes and keys are printable wherever they come from.
inline std::string printable(std::string_view text, std::string_view otherwise) {
  std::string out = some(text, otherwise);
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

inline Instant instant(Input& input) {
  const std::int64_t days = input.byte();
  return Instant(std::chrono::days(days * 200) + std::chrono::microseconds(input.byte()));
}

inline Headers headers(Input& input) {
  Headers all;
  for (int left = input.byte() % 3; left > 0; --left) {
    const std::string name(input.piece());
    all.push_back({name, std::string(input.piece())});
  }
  return all;
}

inline State state(Input& input, Instant expires_at) {
  switch (input.byte() % 6) {
    case 0: return Pending{instant(input)};
    case 1: {
      const Instant from = instant(input);
      return InProgress{from, from + std::chrono::seconds(input.byte())};
    }
    case 2: {
      StoredResponse response{200 + input.byte() % 400, headers(input), std::nullopt};
      if (input.byte() % 4 != 0) response.body = std::string(input.piece());
      return Completed{std::move(response), expires_at - std::chrono::seconds(input.byte())};
    }
    case 3: return FailedRetryable{};
    case 4: {
      const Instant reconcile_after = instant(input);
      const Instant until = instant(input);
      return Unknown{reconcile_after, until, instant(input)};
    }
    default: return Expired{};
  }
}

inline StoredPolicy policy(Input& input) {
  StoredPolicy made;
  const std::uint8_t choice = input.byte();
  if (choice & 1U) made.mode = Mode::async;
  if (choice & 2U) made.transactional = true;
  if (choice & 4U) made.on_server_error = OnServerError::store;
  if (choice & 8U) made.expired = WhenExpired::tombstone;
  if (choice & 16U) made.lease = std::chrono::seconds(input.byte());
  if (choice & 32U) made.fingerprint.include = {{.tokens = {printable(input.piece(), "a"), "~/"}}};
  if (choice & 64U) made.credentials = printable(input.piece(), "c");
  if (choice & 128U) made.max_attempts = 1 + input.byte();
  return made;
}

inline Record record(Input& input) {
  Record made;
  made.scope.text = printable(input.piece(), "caller:default");
  made.key.text = printable(input.piece(), "k");
  made.fingerprint.text = some(input.piece(), "1.-.0");
  made.expires_at = instant(input);
  made.state = state(input, made.expires_at);
  made.fence.number = 1 + input.byte();
  made.owner.text = some(input.piece(), "o");
  made.attempt = 1 + input.byte();
  made.recovery_point = input.piece();
  made.method = input.piece();
  made.path = input.piece();
  made.route = input.piece();
  if (input.byte() % 3 == 0) {
    made.request = StoredRequest{std::string(input.piece()), headers(input), {}};
    made.request->body = input.piece();
  }
  made.resource_type = input.piece();
  made.resource_id = input.piece();
  read_stored_error(made, std::string(input.piece()));
  auto* const unknown = std::get_if<Unknown>(&made.state);
  if (unknown != nullptr && made.attempt % 2 == 0) unknown->dead_lettered = true;
  made.policy = policy(input);
  made.created_at = instant(input);
  return made;
}

}  // namespace pawl::fuzz
