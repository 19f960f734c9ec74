// What was sent and what came back: the evidence of a check.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pawl/types/http.hpp"
#include "src/config/address.hpp"

namespace pawl::verify {

struct Request {
  std::string label;  // what it is for, by which a judgement finds it: "first", "again"
  std::string method = "POST";
  config::Endpoint to;
  Headers headers;  // those of the framing and Host are added when it is written
  std::string body;
};

// Time since the run began.
using Moment = std::chrono::milliseconds;

struct Exchange {
  Request sent;
  std::optional<Response> answer;
  std::string trouble;  // why there is no answer
  Moment began{0};
  Moment ended{0};
};

// Everything that happened while a plan was carried out.
struct Run {
  std::vector<Exchange> exchanges;
  std::vector<std::int64_t> counts;  // of the effects counter, in order
  std::string trouble;               // why it could not be carried out to its end
};

// The first and the last exchange of that label; a plan that was carried out has one.
const Exchange& first_of(const Run& run, const std::string& label);
const Exchange& last_of(const Run& run, const std::string& label);
std::vector<const Exchange*> all_of(const Run& run, const std::string& label);
// How often it really happened while the plan was carried out. Nothing: it was not counted.
std::optional<std::int64_t> effects_in(const Run& run);

bool succeeded(const Exchange& exchange);  // 2xx
bool refused(const Exchange& exchange);    // 4xx
// It says "later" in a form that a client can act on: 409, 425, 429, 503 or 202 with Retry-After.
bool asks_to_come_back(const Exchange& exchange);
// The same result as a client's program sees it: both succeeded, and the bodies mean the same.
bool same_result(const Exchange& a, const Exchange& b);
// "201 {"id":...", cut short, or why there was no answer.
std::string brief(const Exchange& exchange);

}  // namespace pawl::verify
