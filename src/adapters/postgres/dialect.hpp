// What PostgreSQL says differently in SQL.
#pragma once

#include <string>

#include "src/adapters/sql/session.hpp"

namespace pawl::postgres {

// A session that still has to be told how it runs statements.
class DialectSession : public sql::Session {
 public:
  [[nodiscard]] std::string now() const override { return micros("now()"); }
  [[nodiscard]] std::string clock() const override { return micros("clock_timestamp()"); }
  [[nodiscard]] std::string micros(const std::string& column) const override;
  [[nodiscard]] std::string hexadecimal(const std::string& column) const override;
  [[nodiscard]] std::string instant(const std::string& parameter) const override;
  [[nodiscard]] std::string current_instant() const override { return "now()"; }
  [[nodiscard]] std::string outbox_id(const std::string& parameter) const override;
  [[nodiscard]] std::string for_update() const override { return " FOR UPDATE"; }
  [[nodiscard]] std::string audit_columns() const override;
  [[nodiscard]] std::string audit_insert() const override;
  [[nodiscard]] std::string seal_message() const override;
  [[nodiscard]] std::string evidence_time() const override { return "recorded_at"; }
  [[nodiscard]] std::string audit_time() const override { return "recorded_at"; }
  [[nodiscard]] std::string trail_id() const override { return "scope_id, id"; }
  [[nodiscard]] std::string facts() const override { return "pawl.facts"; }
  [[nodiscard]] std::string schema_version() const override;
  [[nodiscard]] std::string key_estimate() const override;
  [[nodiscard]] std::string keys_in(const std::string& status) const override;
  [[nodiscard]] std::string is_async() const override;
  [[nodiscard]] std::string tidy_dead() const override;
  [[nodiscard]] std::optional<Headers> decode_headers(std::string_view text) const override;
};

}  // namespace pawl::postgres
