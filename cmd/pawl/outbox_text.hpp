// Outbox rows as an operator reads them, and as a script does. Never a body and never a header's
// value: they may carry what is nobody's business.
#pragma once

#include <string>
#include <vector>

#include "src/core/outbox.hpp"

namespace pawl::cmd {

std::string list_text(const std::vector<OutboxRow>& rows, Instant now);
std::string list_json(const std::vector<OutboxRow>& rows);
std::string row_text(const OutboxRow& row, Instant now);
std::string row_json(const OutboxRow& row);

}  // namespace pawl::cmd
