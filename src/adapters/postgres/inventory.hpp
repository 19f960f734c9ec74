// What a program asks a store at its start. Blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"

namespace pawl::postgres {

// The fact of that name; nothing where none is recorded.
Expected<std::optional<std::string>, std::string> find_fact(const std::string& url,
                                                            const std::string& name);
// Records `value` if the fact is still `expected` (nothing: not recorded). False: it is not.
Expected<bool, std::string> replace_fact(const std::string& url, const std::string& name,
                                         const std::optional<std::string>& expected,
                                         const std::string& value);

// Seconds since 1970, by the store's clock.
Expected<std::int64_t, std::string> seconds_now(const std::string& url);

// How many keys there are: counted up to `exact_max`, from there on estimated.
struct KeyCount {
  std::int64_t number = 0;
  bool exact = true;
};
Expected<KeyCount, std::string> count_keys(const std::string& url, std::int64_t exact_max);

// Every record's scope, method and path, until one is enough: `visit` gives false.
using Visit =
    std::function<bool(std::string_view scope, std::string_view method, std::string_view path)>;
Expected<Done, std::string> each_key(const std::string& url, const Visit& visit);

// Why libpq cannot make anything of this URL or these key=value pairs, without a word of it that
// may be a secret; empty where it can.
std::string trouble_in_url(const std::string& url);

}  // namespace pawl::postgres
