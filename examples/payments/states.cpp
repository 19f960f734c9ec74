#include "payments/states.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace pawl::payments {
namespace {

const std::map<Status, std::vector<Status>>& transitions() {
  using enum Status;
  static const std::map<Status, std::vector<Status>> map{
      {pending, {captured, failed}},
      {captured, {refunding, cancelling}},
      {refunding, {refunded, captured}},  // back where some is left, or the provider said no
      {cancelling, {cancelled, captured}},
      {failed, {}},
      {refunded, {}},
      {cancelled, {}},
  };
  return map;
}

}  // namespace

bool may_become(Status from, Status to) {
  const std::vector<Status>& next = transitions().at(from);
  return std::ranges::find(next, to) != next.end();
}

}  // namespace pawl::payments
