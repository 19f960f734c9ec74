#include "src/adapters/postgres/queue.hpp"

#include <algorithm>

#include "pawl/types/check.hpp"

namespace pawl::postgres {
namespace {

bool in_order(const std::shared_ptr<Write>& a, const std::shared_ptr<Write>& b) {
  if (a->kind != b->kind) return a->kind < b->kind;
  const int scopes = a->next.scope.text.compare(b->next.scope.text);
  return scopes != 0 ? scopes < 0 : a->next.key.text < b->next.key.text;
}

}  // namespace

void Write::answer(StoreResult<Written> answer) {
  PAWL_CHECK(!result && call->unanswered > 0);
  result = std::move(answer);
  if (--call->unanswered == 0) call->finished.add(std::move(call->waiter));
}

std::string identity_of(const Scope& scope, const Key& key) {
  return std::to_string(scope.text.size()) + ':' + scope.text + key.text;
}

std::size_t bytes_of(const Record& record) {
  constexpr std::size_t fixed = 512;
  std::size_t bytes = fixed + record.scope.text.size() + record.key.text.size() +
                      record.path.size() + record.last_error.size();
  const auto weigh = [&](const Headers& headers) {
    for (const Header& header : headers) bytes += header.name.size() + header.value.size();
  };
  if (record.request) {
    bytes += record.request->body.size() + record.request->target.size();
    weigh(record.request->headers);
  }
  if (const auto* done = std::get_if<Completed>(&record.state)) {
    weigh(done->response.headers);
    if (done->response.body) bytes += done->response.body->size();
  }
  return bytes;
}

void WriteQueue::push(std::shared_ptr<Write> write) {
  write->queued = true;
  waiting_.push_back(std::move(write));
}

void WriteQueue::put_back(std::shared_ptr<Write> write) {
  busy_.erase(write->identity);
  write->queued = true;
  waiting_.push_front(std::move(write));
}

Writes WriteQueue::take_late(std::chrono::steady_clock::time_point now) {
  Writes late;
  std::erase_if(waiting_, [&](const auto& write) {
    if (write->give_up_at > now) return false;
    write->queued = false;
    late.push_back(write);
    return true;
  });
  return late;
}

std::optional<std::chrono::steady_clock::time_point> WriteQueue::next_late() const {
  const auto first =
      std::ranges::min_element(waiting_, {}, [](const auto& write) { return write->give_up_at; });
  if (first == waiting_.end()) return std::nullopt;
  return (*first)->give_up_at;
}

bool WriteQueue::may_join(const Write& write, const Joined& joined) const {
  const auto same_key = joined.find(write.identity);
  if (same_key != joined.end()) {
    return write.kind == WriteKind::insert && same_key->second == WriteKind::insert;
  }
  return !busy_.contains(write.identity);
}

Writes WriteQueue::take() {
  const std::uint64_t number = ++batches_;
  Writes batch;
  Joined joined;
  BusyKeys passed_over;  // the writes of one key stay in their order
  std::size_t bytes = 0;
  std::deque<std::shared_ptr<Write>> rest;
  for (std::shared_ptr<Write>& write : waiting_) {
    const bool fits = batch.empty() || (batch.size() < options_.batch_rows_max &&
                                        bytes + write->bytes <= options_.batch_bytes_max);
    if (!fits || passed_over.contains(write->identity) || !may_join(*write, joined)) {
      passed_over.insert(write->identity);
      rest.push_back(std::move(write));
      continue;
    }
    bytes += write->bytes;
    joined.emplace(write->identity, write->kind);
    write->queued = false;
    write->batch = number;
    batch.push_back(std::move(write));
  }
  waiting_ = std::move(rest);
  for (const auto& [identity, kind] : joined) busy_.insert(identity);
  std::ranges::stable_sort(batch, in_order);
  return batch;
}

}  // namespace pawl::postgres
