#include "src/core/held_answer.hpp"

namespace pawl {
namespace {

constexpr std::string_view answered = "answered: ";
constexpr const char* by_refusal = "on_refusal = \"release\"";
constexpr const char* by_server_error = "on_server_error = \"retry\"";

}  // namespace

int answered_status(const Record& record) {
  if (!record.last_error.starts_with(answered)) return 0;
  int status = 0;
  for (const char c : std::string_view(record.last_error).substr(answered.size())) {
    if (c < '0' || c > '9') break;
    status = status * 10 + (c - '0');
  }
  return status;
}

bool service_said_outcome(const Record& record) {
  return answered_status(record) != 0 &&
         record.last_error.find("Pawl-Outcome") != std::string::npos;
}

std::string freeing_setting(const Record& record) {
  const int status = answered_status(record);
  if (status == 0 || service_said_outcome(record)) return {};
  if (status < 500) return by_refusal;
  // Of a gateway in between: the service behind it may have acted, and no setting says otherwise.
  if (status == 502 || status == 504) return {};
  if (status != 503) return by_server_error;
  // With Retry-After it is a refusal, and the record does not say which it was; the rules may.
  if (record.policy.on_refusal == OnRefusal::release) return by_server_error;
  if (record.policy.on_server_error == OnServerError::retry) return by_refusal;
  return std::string(by_server_error) + " (with Retry-After: " + by_refusal + ")";
}

}  // namespace pawl
