// What a program asks a store at its start. Blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"

namespace pawl::sqlite {

// Records `value` if the fact is still `expected` (nothing: not recorded). False: it is not.
Expected<bool, std::string> replace_fact(const std::string& path, const std::string& name,
                                         const std::optional<std::string>& expected,
                                         const std::string& value);

// How many keys there are; no more than `most` are counted.
Expected<std::int64_t, std::string> count_keys(const std::string& path, std::int64_t most);

// Every record's scope, method and path, until one is enough: `visit` gives false.
using Visit =
    std::function<bool(std::string_view scope, std::string_view method, std::string_view path)>;
Expected<Done, std::string> each_key(const std::string& path, const Visit& visit);

}  // namespace pawl::sqlite
