#include "payments/problem.hpp"

#include <algorithm>

#include "common/json.hpp"
#include "common/request.hpp"

namespace pawl::payments {
namespace {

constexpr std::size_t text_bytes_max = 255;

Response document(int status, const std::string& type, const std::string& detail,
                  const std::string& errors) {
  example::JsonObject body;
  body.text("type", "urn:pawl-payments:problem:" + type).number("status", status);
  body.text("detail", detail);
  if (!errors.empty()) body.raw("errors", "[" + errors + "]");
  Response response;
  response.status = status;
  response.headers = {{"Content-Type", "application/problem+json"}};
  response.body = body.done();
  return response;
}

}  // namespace

Response problem(int status, const std::string& type, const std::string& detail) {
  return document(status, type, detail, "");
}

Fields::Fields(const std::string& body) {
  Expected<json::Value, json::Error> read = json::read(body);
  if (read) body_ = std::move(*read);
  is_object_ = body_.kind == json::Kind::object;
}

void Fields::wrong(const std::string& name, const std::string& detail) {
  example::JsonObject error;
  error.text("field", name).text("pointer", "/" + name).text("detail", detail);
  errors_.append(errors_.empty() ? "" : ",").append(error.done());
}

std::string Fields::text(const std::string& name) {
  const std::string text = example::string_of(body_.find(name)).value_or("");
  if (text.empty() || text.size() > text_bytes_max) wrong(name, "must be a text of 1 to 255 bytes");
  return text;
}

std::string Fields::currency(const std::string& name) {
  const std::string code = example::string_of(body_.find(name)).value_or("");
  if (!exponent_of(code)) wrong(name, "must be one of EUR, USD, GBP, JPY, KWD");
  return code;
}

std::int64_t Fields::amount(const std::string& name) {
  const std::int64_t amount = example::whole_number(body_.find(name)).value_or(0);
  if (amount < 1 || amount > amount_max) {
    wrong(name, "must be a whole number of minor units, 1 to 1000000000");
  }
  return amount;
}

void Fields::allow_only(const std::vector<std::string>& names) {
  for (const json::Member& member : body_.members) {
    if (std::ranges::find(names, member.name) == names.end()) {
      wrong(member.name, "is not a field of this request");
    }
  }
}

Response Fields::refusal() const {
  if (!is_object_) return problem(400, "bad-request", "The body must be a JSON object.");
  return document(422, "invalid-fields", "Some fields are missing or wrong.", errors_);
}

}  // namespace pawl::payments
