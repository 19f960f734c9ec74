#include "src/gateway/admin.hpp"

#include "src/core/json_writer.hpp"
#include "src/core/sha256.hpp"

namespace pawl::gateway {
namespace {

Response text(int status, std::string body, std::string_view type = "text/plain; charset=utf-8") {
  Response response;
  response.status = status;
  response.headers = {{"Content-Type", std::string(type)}, {"Cache-Control", "no-store"}};
  response.body = std::move(body);
  return response;
}

Response readiness(const std::vector<NotReady>& reasons, bool in_detail) {
  std::string list = "[";
  for (const NotReady& reason : reasons) {
    if (list.size() > 1) list += ',';
    const bool more = in_detail && !reason.detail.empty();
    list += json::quote(more ? reason.what + ": " + reason.detail : reason.what);
  }
  const std::string body =
      JsonObject().flag("ready", reasons.empty()).raw("reasons", list + "]").done() + "\n";
  return text(reasons.empty() ? 200 : 503, body, "application/json");
}

}  // namespace

bool Admin::may_read(const http::RequestHead& head) const {
  return sources_.token.empty() || has_token(head);
}

bool Admin::has_token(const http::RequestHead& head) const {
  if (sources_.token.empty()) return false;
  const std::string wanted = "Bearer " + sources_.token;
  const std::optional<std::string_view> given = http::find(head.fields, "Authorization");
  return given && equal_constant_time(*given, wanted);
}

Response Admin::answer_to(const http::RequestHead& head) const {
  if (head.method != "GET" && head.method != "HEAD") return text(405, "GET and HEAD only\n");
  // Whoever restarts or routes around a node asks these two, and has no token.
  if (head.path == "/healthz") return text(200, "ok\n");
  if (head.path == "/readyz") return readiness(sources_.not_ready(), has_token(head));
  if (!may_read(head)) {
    Response response = text(401, "the admin token is missing or wrong\n");
    response.headers.push_back({"WWW-Authenticate", "Bearer"});
    return response;
  }
  if (head.path == "/metrics") {
    return text(200, sources_.metrics(), "text/plain; version=0.0.4; charset=utf-8");
  }
  return text(404, "no such page; there are /healthz, /readyz and /metrics\n");
}

Task<void> Admin::handle(http::ClientRequest& request) {
  request.close_after();
  const Response response = answer_to(request.head);
  co_await request.answer(response);
}

Response Admin::refused(const http::Refusal& refusal) {
  return text(refusal.status.value_or(400), refusal.detail + "\n");
}

}  // namespace pawl::gateway
