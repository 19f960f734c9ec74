// Which operations of an OpenAPI document take a key, and a body for each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"

namespace pawl::verify {

struct Operation {
  std::string path;  // with examples in the place of its parameters
  std::string body;
};

struct KeyedOperations {
  std::vector<Operation> found;
  std::vector<std::string> left_out;  // "POST /v1/x: why"
};

// Every POST that declares a header parameter of that name. OpenAPI 3.0 and 3.1, as JSON;
// references within the document are followed. The error says what is wrong with the document.
Expected<KeyedOperations, std::string> keyed_operations(std::string_view document,
                                                        std::string_view key_header);

}  // namespace pawl::verify
