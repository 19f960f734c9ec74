// Short words for the key API's calls.
#pragma once

#include <string>

#include "src/core/sha256.hpp"
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {

inline const std::string job = "nightly-payout-0001";  // a key
inline const std::string ours = "consumer-token-0001";
inline const std::string theirs = "consumer-token-0002";

inline std::string key_api(const std::string& lines = "",
                           const std::string& callers = "\"default\"") {
  return "[key_api]\ncallers = [" + callers + "]\n" + lines + "\n";
}

inline HttpAnswer call(const ServeProcess& gateway, const std::string& verb,
                       const std::string& body, const std::string& key = job,
                       const std::string& credential = "") {
  Post one{.key = "", .body = body, .path = "/_pawl/v1/keys/" + key + "/" + verb};
  if (!credential.empty()) one.headers.push_back({"Authorization", credential});
  return post(gateway.port(), one);
}

inline HttpAnswer reserve(const ServeProcess& gateway, const std::string& owner = ours,
                          const std::string& request = R"({"amount":100})",
                          const std::string& key = job, const std::string& credential = "") {
  return call(gateway, "reserve", R"({"owner":")" + owner + R"(","request":)" + request + "}", key,
              credential);
}

// A write of this owner under this fence; `more`: further members, from their comma on.
inline HttpAnswer write(const ServeProcess& gateway, const std::string& verb,
                        const std::string& fence, const std::string& more = "",
                        const std::string& owner = ours, const std::string& credential = "") {
  return call(gateway, verb, R"({"owner":")" + owner + R"(","fence":)" + fence + more + "}", job,
              credential);
}

inline std::string fence_of(const HttpAnswer& answer) { return member_of(answer.body, "fence"); }
inline std::string decision_of(const HttpAnswer& answer) {
  return member_of(answer.body, "decision");
}

inline HttpAnswer look(const ServeProcess& gateway, const std::string& key = job,
                       const std::string& credential = "") {
  WireHeaders headers;
  if (!credential.empty()) headers.push_back({"Authorization", credential});
  return get(gateway.port(), "/_pawl/v1/keys/" + key + "?api=true", headers);
}
inline std::string job_status(const ServeProcess& gateway) {
  return member_of(look(gateway).body, "status");
}

inline std::string api_keys(const std::vector<std::pair<std::string, std::string>>& callers) {
  std::string text = "[caller]\nfrom = \"api-key\"\n";
  for (const auto& [scope, secret] : callers) {
    text +=
        "[[caller.api_key]]\nscope = \"" + scope + "\"\nsha256 = \"" + hex(sha256(secret)) + "\"\n";
  }
  return text;
}

}  // namespace pawl::e2e
