// Outbox rows as an operator reads them, and as a script does. Never a body and never a header's
// value: they may carry secrets.
#pragma once

#include <string>
#include <vector>

#include "src/core/outbox.hpp"

namespace pawl {

std::string outbox_list(const std::vector<OutboxRow>& rows, Instant now);
std::string outbox_list_json(const std::vector<OutboxRow>& rows);
std::string outbox_row(const OutboxRow& row, Instant now);
std::string outbox_row_json(const OutboxRow& row);

}  // namespace pawl
