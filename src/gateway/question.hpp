// A GET that asks a source something.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/upstream_call.hpp"
#include "src/config/config.hpp"

namespace pawl::gateway {

class Question final : public http::RequestWriter {
 public:
  Question(const config::Source& source, std::string target, std::string_view authority)
      : source_(source), target_(std::move(target)), authority_(authority) {}

  std::string head(const Record&) override {
    std::string out = "GET " + target_ + " HTTP/1.1\r\n";
    const auto given = [&](std::string_view name) {
      return find_header(source_.sent_headers, name).has_value();
    };
    if (!given("Host")) http::append_field(out, "Host", authority_);
    if (!given("Accept")) http::append_field(out, "Accept", "application/json");
    if (!given("User-Agent")) http::append_field(out, "User-Agent", "pawl");
    for (const Header& header : source_.sent_headers) {
      http::append_field(out, header.name, header.value);
    }
    out += "\r\n";
    return out;
  }
  [[nodiscard]] std::string_view body() const override { return {}; }

 private:
  const config::Source& source_;
  const std::string target_;
  std::string_view authority_;
};

// Asking does nothing, so it may always be done.
class AlwaysOpen final : public SendGate {
 public:
  Task<bool> may_send() override { co_return true; }
};

inline http::UpstreamAddress address_of(const config::UpstreamUrl& url) {
  return {url.host, url.port, url.tls, {}, url.socket};
}

// All that `upstream` names, with what [upstream_tls] says.
inline std::vector<http::UpstreamAddress> upstreams_of(const config::Config& config) {
  std::vector<http::UpstreamAddress> addresses{address_of(config.upstream)};
  for (const config::UpstreamUrl& url : config.more_upstreams) addresses.push_back(address_of(url));
  const config::UpstreamTls& tls = config.upstream_tls;
  for (http::UpstreamAddress& address : addresses) {
    address.tls_files = {tls.ca_file, tls.certificate_file, tls.key_file};
  }
  return addresses;
}

}  // namespace pawl::gateway
