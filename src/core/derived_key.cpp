#include "src/core/derived_key.hpp"

#include <algorithm>
#include <initializer_list>

#include "src/core/sha256.hpp"

namespace pawl {
namespace {

// As PostgreSQL's length() counts.
std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

// Lengths stand before the parts, so that no two lists of parts read alike.
std::string hashed(std::string_view kind, std::initializer_list<std::string_view> parts) {
  std::string text(kind);
  for (const std::string_view part : parts) {
    text.append(":").append(std::to_string(characters(part))).append(":").append(part);
  }
  return hex(sha256(text));
}

}  // namespace

std::string phase_key(const Scope& scope, const Key& key, std::string_view phase) {
  return hashed("pawl-phase-key", {scope.text, key.text, phase});
}

std::string outbox_key(const Scope& scope, const Key& key, std::string_view destination,
                       std::string_view step, Instant created_at) {
  const std::string life = std::to_string(created_at.time_since_epoch().count());
  return hashed("pawl-derived-key", {scope.text, key.text, destination, step, life});
}

std::string former_outbox_key(const Scope& scope, const Key& key, std::string_view destination,
                              std::string_view step) {
  return hashed("pawl-derived-key", {scope.text, key.text, destination, step});
}

std::string run_id(const Scope& scope, const Key& key, Instant created_at, std::string_view of) {
  const std::string life = std::to_string(created_at.time_since_epoch().count());
  return hashed("pawl-run-id", {scope.text, key.text, life, of}).substr(0, 32);
}

}  // namespace pawl
