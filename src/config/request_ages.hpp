// How old a request may be that is new work, and how old it could be under configurations before:
// as texts that are kept in the store.
//
// `max_request_age` keeps a captured request from being executed once its key has expired. A longer
// one holds for keys that live longer too, and those of before do not: their requests are held to
// the age of then.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/config.hpp"

namespace pawl::config {

// What the store keeps them under.
inline constexpr const char* request_ages_fact = "request_ages";
inline constexpr const char* request_ages_history_fact = "request_ages_history";

// A line per route, in their order, and one for the rest.
std::string request_ages(const Config& config);

// A request that is dated no later than `until` may be no older than `age`.
struct EarlierAge {
  Instant until;
  Duration age;
  friend bool operator==(const EarlierAge&, const EarlierAge&) = default;
};
using EarlierAges = std::map<std::string, std::vector<EarlierAge>, std::less<>>;  // by encoded name

// The history once `ages` have taken the place of `stored`. Nodes need not change at once: for an
// hour keys may still be made by the earlier ones.
std::string ages_after(std::string_view history, std::string_view stored, std::string_view ages,
                       Instant now);

EarlierAges read_earlier_ages(std::string_view history);

// How old a request may be that was made then, on that route, where `today` says so much.
Duration age_allowed(const EarlierAges& earlier, std::string_view route, Instant made,
                     Duration today);

}  // namespace pawl::config
