// Where a service's transactions on PostgreSQL come from: a pool of sessions of its own.
#pragma once

#include <memory>
#include <string>

#include "pawl/types/expected.hpp"
#include "src/adapters/postgres/options.hpp"
#include "src/ports/transactions.hpp"

namespace pawl::postgres {

// Connects to nothing yet. The error says which limit makes no sense.
Expected<std::unique_ptr<TransactionSource>, std::string> open_transactions(
    const std::string& url, const Options& options, const TransactionLimits& limits);

}  // namespace pawl::postgres
