// How an answer leaves, within the memory that all share.
#include "src/gateway/client_context.hpp"

namespace pawl::gateway {

Task<void> Gateway::deliver(ClientContext& context, Response response) {
  context.body = std::string();
  const std::size_t held = context.withheld_answer ? answer_share : response.body.size();
  // Room for the answer of this very request was set aside; only one that is stored, and was made
  // earlier, can be too much.
  if (!context.memory.resize(held, MemoryUse::admitted)) {
    response = boundary_.overloaded(context,
                                    "The answer is there, but there is no memory to deliver it. "
                                    "Retry with the same key.");
    context.replay.reset();
    context.memory = {};
  }
  context.line.status = response.status;
  http::ClientRequest& request = context.request;
  if (context.withheld_answer) {
    co_await request.answer_from(response, *context.spool);
  } else if (context.replay && context.replay->response.body) {
    co_await request.answer(response, context.replay->body);
  } else {
    co_await request.answer(response);
  }
}

}  // namespace pawl::gateway
