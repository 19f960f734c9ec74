// docs/openapi.json, carried in the program.
#pragma once

#include <string_view>

namespace pawl::gateway {

extern const std::string_view openapi_document;

}  // namespace pawl::gateway
