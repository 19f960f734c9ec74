// One request on its way through the gateway.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pawl/core/fingerprint.hpp"
#include "src/gateway/gateway.hpp"

namespace pawl::gateway {

struct Gateway::Passage {
  Passage(http::ClientRequest& incoming, const config::Route& matched, BootTime now,
          http::MemoryBudget& budget)
      : request(incoming),
        route(matched),
        policy(matched.policy),
        arrived_at(now),
        memory(&budget) {}

  http::ClientRequest& request;
  const config::Route& route;
  const config::RoutePolicy& policy;
  BootTime arrived_at;

  Scope scope;
  Key key;
  std::string_view key_as_sent;
  std::string body;
  std::string path_at_host;  // what is hashed as the path, where hosts are told apart
  Fingerprint fingerprint;
  bool source_is_asked = false;  // and does not only tell by itself
  std::int64_t purge_epoch = 0;  // as known before the store was asked
  // Where no caller was chosen: a digest of the credentials that came, and what a record of this
  // key keeps of them. Empty otherwise.
  std::string client;
  std::string credentials;

  std::optional<DecisionKind> decided;  // by the last look at the record
  LogLine line;
  std::string id;          // of this request alone; empty: nobody has asked for one yet
  std::string request_id;  // of the answer: the execution that produced it, or `id`
  Duration upstream_took{0};
  // What is held for it: its body, room for an answer, later the answer alone.
  http::Charge memory;
  // The body of an answer that is too large to hold, once it may be delivered.
  std::shared_ptr<const http::Spool> spool;
  bool from_spool = false;
  // The body of an answer that is shared with others who are given it, and with the cache.
  std::shared_ptr<const Cached> replay;
  std::shared_ptr<const http::Charge> loan;

  void name_host(const std::vector<std::string>& hosts);
  [[nodiscard]] RequestContent content() const;
  // Does a stored fingerprint mean this request, under the rules of then?
  [[nodiscard]] bool is_what_was_meant(const Fingerprint& stored, const FingerprintRules& rules,
                                       const FingerprintSecrets& secrets) const;
  [[nodiscard]] Dialect dialect() const;
};

}  // namespace pawl::gateway
