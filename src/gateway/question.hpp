// A GET that asks a source something.
#pragma once

#include <string>
#include <string_view>
#include <utility>

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
  return {url.host, url.port, url.tls, {}};
}

// The one of [upstream], with what [upstream_tls] says.
inline http::UpstreamAddress upstream_of(const config::Config& config) {
  http::UpstreamAddress address = address_of(config.upstream);
  const config::UpstreamTls& tls = config.upstream_tls;
  address.tls_files = {tls.ca_file, tls.certificate_file, tls.key_file};
  return address;
}

}  // namespace pawl::gateway
