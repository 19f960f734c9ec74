// A ledger workspace in a SQLite file: nothing of either side is kept in memory, and sorting spills
// to temporary files.
#pragma once

#include <memory>
#include <string>

#include "src/ports/ledger_workspace.hpp"

namespace pawl::sqlite {

// The file is made where there is none; nothing else may be in it. An empty path is a file without
// a name, which is gone when the workspace is.
Expected<std::unique_ptr<LedgerWorkspace>, std::string> open_ledger_workspace(
    const std::string& path);

}  // namespace pawl::sqlite
