// Problem documents (RFC 9457), with the fields that are wrong.
#pragma once

#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "pawl/types/http.hpp"
#include "pawl/types/json.hpp"
#include "payments/money.hpp"

namespace pawl::payments {

Response problem(int status, const std::string& type, const std::string& detail);

// Reads the members of a request's body, and keeps what is wrong with them.
class Fields {
 public:
  // Nothing but an object has members.
  explicit Fields(const std::string& body);

  // 1 to 255 characters.
  std::string text(const std::string& name);
  std::string currency(const std::string& name);
  std::int64_t amount(const std::string& name);
  [[nodiscard]] bool has(const std::string& name) const { return body_.find(name) != nullptr; }
  // A member that is none of these is a typing error, and typing errors cost money.
  void allow_only(const std::vector<std::string>& names);

  [[nodiscard]] bool good() const { return errors_.empty() && is_object_; }
  // 400 where it is no object, else 422 with one entry for each field.
  [[nodiscard]] Response refusal() const;

 private:
  void wrong(const std::string& name, const std::string& detail);

  json::Value body_;
  bool is_object_ = false;
  std::string errors_;  // JSON objects, with commas between them
};

}  // namespace pawl::payments
