// What SQLite says differently in SQL.
#pragma once

#include <functional>
#include <string>

#include "src/adapters/sql/session.hpp"

namespace pawl::sqlite {

// A session that still has to be told how it runs statements. The store's time is `clock`, which
// every statement gets as a number.
class DialectSession : public sql::Session {
 public:
  explicit DialectSession(std::function<Instant()> clock) : clock_(std::move(clock)) {}

  [[nodiscard]] std::string now() const override { return sql::micros(clock_()); }
  [[nodiscard]] std::string clock() const override { return now(); }
  [[nodiscard]] std::string micros(const std::string& column) const override { return column; }
  [[nodiscard]] std::string hexadecimal(const std::string& column) const override;
  [[nodiscard]] std::string instant(const std::string& parameter) const override;
  [[nodiscard]] std::string current_instant() const override { return now(); }
  [[nodiscard]] std::string outbox_id(const std::string& parameter) const override {
    return parameter;
  }
  [[nodiscard]] std::string for_update() const override { return {}; }
  [[nodiscard]] std::string audit_columns() const override;
  [[nodiscard]] std::string audit_insert() const override;
  [[nodiscard]] std::string seal_message() const override;
  [[nodiscard]] std::string evidence_time() const override { return "kept_at"; }
  [[nodiscard]] std::string audit_time() const override { return "at"; }
  [[nodiscard]] std::string trail_id() const override { return "id"; }
  [[nodiscard]] std::string facts() const override { return "pawl.meta"; }
  [[nodiscard]] std::string schema_version() const override;
  [[nodiscard]] std::string key_estimate() const override;
  [[nodiscard]] std::string keys_in(const std::string& status) const override;
  [[nodiscard]] std::string is_async() const override;
  [[nodiscard]] std::optional<Headers> decode_headers(std::string_view text) const override;

 private:
  const std::function<Instant()> clock_;
};

}  // namespace pawl::sqlite
