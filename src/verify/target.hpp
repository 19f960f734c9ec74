// The endpoint under test, and what its owner gave us to test it with.
#pragma once

#include "pawl/types/json.hpp"
#include "pawl/types/names.hpp"
#include "src/verify/exchange.hpp"

namespace pawl::verify {

enum class Profile {
  automatic,  // any of the answers that are in use
  ietf,       // the draft: 400, 409, 422
  stripe,     // 400 for a key that is used again, and Stripe's error shape
};

// How something is brought about: by a header of the request, or by a command just before it.
struct Provocation {
  std::optional<Header> header;
  std::string command;
  [[nodiscard]] bool given() const { return header || !command.empty(); }
};

// An effects counter: what to ask, and where the number (or the list) is in its answer.
struct Counter {
  std::string method = "GET";
  config::Endpoint at;
  json::Pointer pointer;
};

struct Target {
  config::Endpoint at;
  std::string url;  // as it was given
  std::string method = "POST";
  Headers headers;  // the caller's
  std::string content_type = "application/json";
  std::string body;
  std::string other_body;    // empty: none could be made
  std::string invalid_body;  // what the endpoint refuses as such
  std::string large_body;    // what it answers at length
  std::vector<std::pair<std::string, std::string>> form;
  std::string other_path;
  std::string key_header = "Idempotency-Key";
  bool quoted = false;        // keys as the draft writes them, in quotes
  bool key_optional = false;  // a request without a key is served
  Headers second_caller;
  Profile profile = Profile::automatic;
  std::optional<Counter> counter;
  std::string kill;
  std::string restart;
  Provocation fail;    // a 5xx after the effect
  Provocation refuse;  // a 503 with Retry-After before the effect
  Provocation slow;    // the handler takes its time
  int rate_limit = 0;  // so many new keys and it answers 429
  std::string origin;  // of a browser
  int concurrency = 50;
  std::string seed;
  std::chrono::milliseconds timeout{30'000};
};

// What the endpoint did when nothing was wrong.
struct Facts {
  bool answers_differ = false;  // two keys get two different answers
};

// A key for one use in one check: the same for the same seed. It looks like a UUID, since some
// endpoints take nothing else.
std::string key_of(const Target& target, const std::string& use);

// The request with that key, and variations of it.
Request with_key(const Target& target, const std::string& label, const std::string& key);
Request without_key(const Target& target, const std::string& label);
Request with_body(Request request, std::string body);
// As the second caller, whose headers take the place of the first one's.
Request from_second_caller(const Target& target, Request request);
void set_header(Request& request, const Header& header);

}  // namespace pawl::verify

template <>
struct pawl::Names<pawl::verify::Profile> {
  using enum pawl::verify::Profile;
  static constexpr NameTable<pawl::verify::Profile, 3> table{
      {{automatic, "auto"}, {ietf, "ietf"}, {stripe, "stripe"}}};
};
