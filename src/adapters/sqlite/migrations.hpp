// The numbered files of schema/sqlite, in order. Migration n takes user_version from n - 1 to n.
#pragma once

#include <string_view>
#include <vector>

namespace pawl::sqlite {

struct Migration {
  std::string_view name;
  const char* sql;
};

const std::vector<Migration>& migrations();

}  // namespace pawl::sqlite
