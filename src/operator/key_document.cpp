#include "src/operator/key_document.hpp"

#include "src/core/json_writer.hpp"

namespace pawl {

std::string key_document(const Record& record, Tell tell) {
  const Status status = status_of(record);
  const auto* completed = std::get_if<Completed>(&record.state);
  const bool expires = status != Status::in_progress && status != Status::unknown;
  JsonObject out;
  out.text("key", record.key.text).text("status", to_text(status));
  out.number("attempt", record.attempt).raw("created_at", timestamp(record.created_at));
  out.raw("completed_at", completed == nullptr ? "null" : timestamp(completed->completed_at));
  out.raw("expires_at", expires ? timestamp(record.expires_at) : "null");
  const bool told = completed != nullptr && tell == Tell::everything;
  if (told) out.raw("response", stored_response(completed->response));
  return out.done() + "\n";
}

}  // namespace pawl
