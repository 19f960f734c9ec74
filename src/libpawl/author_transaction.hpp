// The transaction of one phase, as its author sees it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "pawl/database.hpp"
#include "src/core/utf8.hpp"
#include "src/ports/transactions.hpp"

namespace pawl::detail {

class AuthorTransaction final : public Transaction {
 public:
  AuthorTransaction(PhaseTransaction& work, const Record& held, const std::string& phase)
      : Transaction(work), held_(held), phase_(phase) {}

  std::string enqueue(const OutboxItem& item) override {
    demand_text(item);
    OutboxItem named = item;
    ++enqueued_;
    if (named.step.empty()) {
      named.step = phase_;
      named.step.append("#").append(std::to_string(enqueued_));
    }
    return work_.enqueue(held_, named);
  }

 private:
  // The same on both stores, and said where it is made: they are kept as text.
  static void demand_text(const OutboxItem& item) {
    const auto demand = [](std::string_view text, const std::string& what) {
      if (is_text(text)) return;
      throw std::invalid_argument("enqueue: " + what + " must be UTF-8 without a zero byte");
    };
    demand(item.destination, "the destination");
    demand(item.path, "the path");
    demand(item.step, "the step");
    for (const Header& header : item.headers) {
      demand(header.name, "a header's name");
      demand(header.value, "the header " + header.name);
    }
  }

  const Record& held_;
  const std::string& phase_;
  int enqueued_ = 0;
};

}  // namespace pawl::detail
