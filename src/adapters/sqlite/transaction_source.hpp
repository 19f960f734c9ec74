// Where a service's transactions on SQLite come from: one connection, as SQLite has one writer.
#pragma once

#include <memory>
#include <string>

#include "pawl/types/expected.hpp"
#include "src/adapters/sqlite/database.hpp"
#include "src/ports/transactions.hpp"

namespace pawl::sqlite {

// Opens or creates the file, and checks it: see `prepare_database`.
Expected<std::unique_ptr<TransactionSource>, std::string> open_transactions(const std::string& path,
                                                                            WhenOld when_old);

}  // namespace pawl::sqlite
