// Which setting belongs where, and what to say about one that is not known or stands elsewhere.
#pragma once

#include <string_view>

#include "src/config/diagnostics.hpp"
#include "src/config/document.hpp"

namespace pawl::config {

// Tables as a message names them.
inline constexpr std::string_view top_level = "";
inline constexpr std::string_view admin_table = "[admin]";
inline constexpr std::string_view tls_table = "[tls]";
inline constexpr std::string_view admin_tls_table = "[admin.tls]";
inline constexpr std::string_view upstream_tls_table = "[upstream_tls]";
inline constexpr std::string_view caller_table = "[caller]";
inline constexpr std::string_view api_key_table = "[[caller.api_key]]";
inline constexpr std::string_view policy_table = "[policy]";
inline constexpr std::string_view route_table = "[[route]]";
inline constexpr std::string_view fingerprint_table = "'fingerprint'";
inline constexpr std::string_view limits_table = "[limits]";
inline constexpr std::string_view encryption_table = "[encryption]";
inline constexpr std::string_view key_api_table = "[key_api]";
inline constexpr std::string_view destination_table = "[[destination]]";
inline constexpr std::string_view source_table = "[[source]]";
inline constexpr std::string_view source_rule_table = "[[source.rule]]";
inline constexpr std::string_view webhook_table = "[source.webhook]";
inline constexpr std::string_view ledger_table = "[source.ledger]";
inline constexpr std::string_view webhook_rule_table = "[[source.webhook.rule]]";
inline constexpr std::string_view secret_table = "[[fingerprint_secret]]";

// Complains about every name in `table` that `where` does not have: with the place the name does
// belong to, or else the nearest name that would be right.
void check_names(const Node& table, std::string_view where, Diagnostics& findings);

}  // namespace pawl::config
