// The double-entry ledger.
#pragma once

#include <string>
#include <vector>

#include "pawl/database.hpp"
#include "payments/money.hpp"

namespace pawl::payments {

struct Entry {
  std::string account;
  Money money;  // positive: it has more now
};

struct Posting {
  std::string id;       // the same in every try of one request
  std::string kind;     // "capture"
  std::string subject;  // what it is about: a payment's id
  std::int64_t created_us = 0;
  std::vector<Entry> entries;
};

// Throws std::logic_error unless the entries sum to zero in each currency, and DatabaseError where
// this posting was made before: either way the transaction around it rolls back.
void post(Database& database, const Posting& posting);

// Money that goes from one account to another.
std::vector<Entry> moved(const Money& money, const std::string& from, const std::string& to);

// Balances, totals by kind, and how many postings do not balance (always 0), as JSON.
std::string ledger_document(Database& database);

}  // namespace pawl::payments
