// POST /_pawl/v1/webhooks/{source}: what providers tell by themselves.
//
// The answer is 2xx only once the event is durable; what it does to a record comes later, by the
// reconciler of whichever node looks first.
#include <algorithm>

#include "src/core/json_writer.hpp"
#include "src/gateway/client_context.hpp"
#include "src/gateway/key_path.hpp"
#include "src/operator/key_document.hpp"

namespace pawl::gateway {
namespace {

Response told(std::string_view result) {
  JsonObject out;
  out.text("result", result);
  Response response;
  response.status = 200;
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  response.body = out.done() + "\n";
  return response;
}

Headers headers_of(const http::RequestHead& head) {
  Headers headers;
  for (const auto& field : head.fields) {
    headers.push_back({std::string(field.name), std::string(field.value)});
  }
  return headers;
}

}  // namespace

Task<void> Gateway::answer_webhook(ClientContext& context) {
  http::ClientRequest& request = context.request;
  context.line.route = "pawl";
  const std::string_view name = request.head.path.substr(webhooks_path.size());
  const auto& sources = context.served->config.sources;
  const auto source = std::ranges::find(sources, name, &config::Source::name);
  const bool known = source != sources.end() && source->webhook.has_value();
  if (!known) context.line.path = webhooks_path;  // whatever else it says
  if (!known || request.head.method != "POST") {
    Response refusal = boundary_.plain_problem(
        context, known ? PlainProblem{405, "Method Not Allowed"}
                       : PlainProblem{404, "Not Found", "No source of this name has a webhook."});
    if (known) refusal.headers.push_back({"Allow", "POST"});
    request.close_after();
    context.line.status = refusal.status;
    co_await request.answer(refusal);
    co_return;
  }
  std::optional<ProblemDetails> none;
  const bool read = co_await read_body(context, std::move(none));
  if (!read) co_return;
  Response response = co_await take_event(context, *source);
  co_await deliver(context, std::move(response));
}

Task<Response> Gateway::take_event(ClientContext& context, const config::Source& source) {
  const config::Webhook& webhook = *source.webhook;
  if (!engine_.time().known()) static_cast<void>(co_await engine_.sync_time());
  // An event dated by a wrong clock would be taken for another life's; the provider tells it again.
  if (!engine_.time().known() || !engine_.time().trusted()) {
    shared_.metrics.webhook("unavailable");
    co_return boundary_.store_failed(context, StoreError::unavailable);
  }
  const Instant now = engine_.time().at(clock_.now());
  const Headers headers = headers_of(context.request.head);
  const std::optional<reconcile::Flaw> flaw =
      reconcile::check_signature(webhook.signature, webhook.secrets, headers, context.body, now);
  if (flaw) {
    shared_.metrics.webhook("bad_signature");
    context.trace.trouble = "webhook signature: " + std::string(to_text(*flaw));
    const std::string detail =
        "The signature is " + std::string(to_text(*flaw)) + ". Nothing was kept.";
    co_return boundary_.plain_problem(context, {401, "Unauthorized", detail});
  }
  const Expected<std::optional<reconcile::Event>, std::string> read =
      reconcile::read_event(webhook.events, context.body);
  if (!read) {
    shared_.metrics.webhook("unreadable");
    context.trace.trouble = "webhook event: " + read.error();
    const std::string detail = "The event cannot be used: " + read.error() + ". Nothing was kept.";
    co_return boundary_.plain_problem(context, {422, "Unprocessable Content", detail});
  }
  if (!*read) {
    shared_.metrics.webhook("ignored");
    co_return told("ignored");
  }
  const reconcile::Event& event = **read;
  WebhookEvent kept;
  kept.subject = event.subject;
  kept.scope = event.scope;
  kept.key = event.key;
  kept.source = source.name;
  kept.id = event.id;
  kept.is_final = event.is_final;
  kept.declined = event.declined;
  // The store's time at most: it must not seem to have come before the request it is about.
  kept.received_at = engine_.time().at_latest(clock_.now());
  kept.happened_at = event.happened_at.value_or(kept.received_at);
  kept.response = event.response;
  const StoreResult<bool> fresh = co_await shared_.cases->keep_event(kept);
  if (!fresh) {
    shared_.metrics.webhook("unavailable");
    shared_.log.say("warning", "a webhook event was not kept: " + shared_.cases->trouble());
    co_return boundary_.store_failed(context, StoreError::unavailable);
  }
  shared_.metrics.webhook(*fresh ? "kept" : "duplicate");
  if (*fresh && event.is_final) shared_.on_event();
  co_return told(*fresh ? "kept" : "duplicate");
}

}  // namespace pawl::gateway
