// Who may do what in the schema `pawl`: exactly what each role needs, and no more.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"

namespace pawl::postgres {

struct Roles {
  std::optional<std::string> gateway;  // pawl serve, pawl worker, programs on libpawl
  std::optional<std::string> service;  // calls the SQL functions, and touches no table
};

// The statements that give both roles what they need, and take from the service's what it had
// beyond that. Made from the tables that are there.
Expected<std::vector<std::string>, std::string> grants_for(const std::string& url,
                                                           const Roles& roles);

// Runs them in one transaction. An error, and nothing done, where the service's role could write
// Pawl's tables even then: as an owner, a superuser, or a member of a role that can.
Expected<std::vector<std::string>, std::string> apply_grants(const std::string& url,
                                                             const Roles& roles);

// What this session's role lacks of a gateway's rights, and the command that gives them; nothing
// where it has them all.
std::optional<std::string> missing_grants(PGconn* connection,
                                          std::chrono::steady_clock::time_point until);

}  // namespace pawl::postgres
