#include "src/adapters/postgres/failures.hpp"

namespace pawl::postgres {
namespace {

bool is_contention(std::string_view sqlstate) {
  return sqlstate == "55P03" || sqlstate.starts_with("40");  // lock timeout; rolled back, deadlock
}

bool is_damage(std::string_view sqlstate) { return sqlstate.starts_with("XX"); }

}  // namespace

Remedy remedy_for(std::string_view sqlstate) {
  const bool about_a_row = is_contention(sqlstate) || is_damage(sqlstate) ||
                           sqlstate.starts_with("22") ||  // data
                           sqlstate.starts_with("23") ||  // a constraint
                           sqlstate.starts_with("54");    // a limit, such as a row too large
  // One worker of a distributed server is away: the halves touch fewer scopes. The connection to
  // the coordinator is fine, or this would not have been an answer.
  const bool about_a_worker = sqlstate.starts_with("08") || sqlstate == "57P01";
  return about_a_row || about_a_worker ? Remedy::split : Remedy::give_up;
}

StoreError error_of_one_row(std::string_view sqlstate) {
  if (is_contention(sqlstate)) return StoreError::contended;
  if (is_damage(sqlstate)) return StoreError::unreadable;
  return StoreError::unavailable;
}

}  // namespace pawl::postgres
