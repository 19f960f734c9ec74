// Records in doubt that nobody is asked about any more: dead letters.
//
// What is known about the asking is in the record's case. The record itself says only this much, at
// the end of its last error, so that a client can be told without a look at the case.
#pragma once

#include <string_view>

#include "pawl/types/record.hpp"

namespace pawl {

inline constexpr std::string_view given_up_mark = ", and nobody is asked any more";

inline bool is_given_up(const Record& record) {
  return status_of(record) == Status::unknown && record.last_error.ends_with(given_up_mark);
}

inline void set_given_up(Record& record, bool given_up) {
  const bool was = record.last_error.ends_with(given_up_mark);
  if (was && !given_up) {
    record.last_error.resize(record.last_error.size() - given_up_mark.size());
  } else if (!was && given_up) {
    record.last_error += given_up_mark;
  }
}

}  // namespace pawl
