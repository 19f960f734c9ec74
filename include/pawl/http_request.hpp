// A request as a service's server hands it over: whole, with its body read.
#pragma once

#include <string>

#include "pawl/types/http.hpp"

namespace pawl {

struct HttpRequest {
  std::string method = "POST";
  std::string target = "/";  // the path, and the query if there is one, as sent
  Headers headers = {};
  std::string body = {};
  friend bool operator==(const HttpRequest&, const HttpRequest&) = default;
};

}  // namespace pawl
