// A service's transactions, with the answers they complete sealed. The data key is at hand: the
// reservation that came before has needed it. Where it is not any more, or was erased, the
// answer is stored in clear, as pawl.complete stores it, and sealed by the request that finds it
// next.
#pragma once

#include <memory>

#include "src/adapters/sealed/data_keys.hpp"
#include "src/ports/transactions.hpp"

namespace pawl::sealed {

std::unique_ptr<TransactionSource> seal_transactions(std::unique_ptr<TransactionSource> source,
                                                     std::shared_ptr<DataKeys> keys);

}  // namespace pawl::sealed
