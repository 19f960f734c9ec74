// What a payment can be, and what it can become.
#pragma once

#include <string_view>

#include "pawl/types/names.hpp"

namespace pawl::payments {

enum class Status {
  pending,     // money is held, the provider is being asked
  captured,    // paid, perhaps refunded in part
  failed,      // the provider said no
  refunding,   // some of it is on its way back
  refunded,    // all of it went back
  cancelling,  // all that is left is on its way back
  cancelled,
};

// The map of valid transitions. Everything else is a conflict.
bool may_become(Status from, Status to);

}  // namespace pawl::payments

template <>
struct pawl::Names<pawl::payments::Status> {
  using enum pawl::payments::Status;
  static constexpr NameTable<pawl::payments::Status, 7> table{{{pending, "pending"},
                                                               {captured, "captured"},
                                                               {failed, "failed"},
                                                               {refunding, "refunding"},
                                                               {refunded, "refunded"},
                                                               {cancelling, "cancelling"},
                                                               {cancelled, "cancelled"}}};
};
