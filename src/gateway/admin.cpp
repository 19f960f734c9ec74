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

constexpr std::string_view reload_path = "/api/v1/reload";

Response without_token(std::string_view why) {
  Response response = text(401, std::string(why) + "\n");
  response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

Response readiness(const std::vector<NotReady>& reasons, const std::string& reload_trouble,
                   bool in_detail) {
  std::string list = "[";
  for (const NotReady& reason : reasons) {
    if (list.size() > 1) list += ',';
    const bool more = in_detail && !reason.detail.empty();
    list += json::quote(more ? reason.what + ": " + reason.detail : reason.what);
  }
  JsonObject out;
  out.flag("ready", reasons.empty()).raw("reasons", list + "]");
  // It serves, by the configuration before.
  if (!reload_trouble.empty())
    out.text("reload", in_detail ? "failed: " + reload_trouble : "failed");
  return text(reasons.empty() ? 200 : 503, out.done() + "\n", "application/json");
}

}  // namespace

bool Admin::may_read(const http::RequestHead& head) const {
  return sources_.token().empty() || has_token(head);
}

bool Admin::has_token(const http::RequestHead& head) const {
  const std::string token = sources_.token();
  if (token.empty()) return false;
  const std::string wanted = "Bearer " + token;
  const std::optional<std::string_view> given = http::find(head.fields, "Authorization");
  return given && equal_constant_time(*given, wanted);
}

Response Admin::answer_to(const http::RequestHead& head) const {
  if (head.method != "GET" && head.method != "HEAD") return text(405, "GET and HEAD only\n");
  // Whoever restarts or routes around a node asks these two, and has no token.
  if (head.path == "/healthz") return text(200, "ok\n");
  if (head.path == "/readyz")
    return readiness(sources_.not_ready(), sources_.reload_trouble(), has_token(head));
  if (!may_read(head)) return without_token("the admin token is missing or wrong");
  if (head.path == "/metrics") {
    return text(200, sources_.metrics(), "text/plain; version=0.0.4; charset=utf-8");
  }
  return text(404, "no such page; there are /healthz, /readyz and /metrics\n");
}

// An order, which any page in a browser could give where no token is asked for.
Task<Response> Admin::reload(const http::RequestHead& head) {
  if (sources_.token().empty()) {
    co_return text(403, "reloading by this listener needs [admin] token_file; or send SIGHUP\n");
  }
  if (!has_token(head)) co_return without_token("the admin token is missing or wrong");
  const Expected<Done, std::string> reloaded = co_await sources_.reload();
  JsonObject out;
  out.flag("reloaded", reloaded.has_value());
  if (!reloaded) out.text("why", reloaded.error());
  co_return text(reloaded ? 200 : 409, out.done() + "\n", "application/json");
}

Task<void> Admin::handle(http::ClientRequest& request) {
  request.close_after();
  const bool ordered = request.head.method == "POST" && request.head.path == reload_path;
  Response response;
  if (ordered) {
    response = co_await reload(request.head);
  } else {
    response = answer_to(request.head);
  }
  co_await request.answer(response);
}

Response Admin::refused(const http::Refusal& refusal, std::string_view /*client*/) {
  return text(refusal.status.value_or(400), refusal.detail + "\n");
}

Response Admin::over_limit(http::ConnectionLimit /*limit*/, std::string_view /*client*/,
                           const http::RequestHead* /*head*/) {
  Response response = text(503, "too many connections to the admin listener\n");
  response.headers.push_back({"Retry-After", "1"});
  return response;
}

}  // namespace pawl::gateway
