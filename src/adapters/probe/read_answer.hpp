// An HTTP/1.1 answer from a connection of its own, whole or not at all.
#pragma once

#include "pawl/types/expected.hpp"
#include "pawl/types/http.hpp"
#include "src/adapters/probe/connection.hpp"

namespace pawl::probe {

// The error says why there is no whole answer.
Expected<Response, std::string> read_answer(Connection& connection, bool to_head);

}  // namespace pawl::probe
