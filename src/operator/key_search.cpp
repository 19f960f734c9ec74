#include "src/operator/key_search.hpp"

#include <algorithm>

#include "src/core/encoding.hpp"

namespace pawl {
namespace {

constexpr std::size_t page_keys = 5'000;
constexpr std::size_t hash_digits = 12;
constexpr std::size_t request_id_digits = 32;
constexpr std::string_view own_prefix = "req_";
// Fences rise by one with every owner: so many executions back are recognised.
constexpr int attempts_back = 100;

// Which attempt at this key has the id; 0: none.
int attempt_with_id(const KeyRef& ref, const std::string& id) {
  Record record;
  record.scope = ref.scope;
  record.key = ref.key;
  const int back = std::min(ref.attempt, attempts_back);
  for (int i = 0; i < back; ++i) {
    record.fence.number = ref.fence.number - i;
    if (request_id(record) == id) return ref.attempt - i;
  }
  return 0;
}

void look_at(const KeyRef& ref, const KeySearch& search, FoundKeys& found) {
  if (!search.hash.empty()) {
    if (log_name(ref.scope, ref.key).starts_with(search.hash)) found.keys.push_back({ref, 0});
    return;
  }
  const int attempt = attempt_with_id(ref, search.request_id);
  if (attempt > 0) found.keys.push_back({ref, attempt});
}

}  // namespace

Task<OrRefusal<FoundKeys>> search_keys(KeyDirectory& directory, KeySearch search) {
  FoundKeys found;
  KeyRef last;
  if (search.scope) last.scope = *search.scope;
  while (found.seen < search.keys_max) {
    const StoreResult<std::vector<KeyRef>> page =
        co_await directory.keys_after(last.scope, last.key, page_keys);
    if (!page) co_return port_failed(directory, page.error());
    for (const KeyRef& ref : *page) {
      if (search.scope && ref.scope.text != search.scope->text) co_return found;
      ++found.seen;
      look_at(ref, search, found);
      // An id is one execution's alone.
      if (!search.request_id.empty() && !found.keys.empty()) co_return found;
    }
    if (page->size() < page_keys) co_return found;
    last = page->back();
  }
  found.whole = false;
  co_return found;
}

bool looks_like_hash(std::string_view text) {
  return text.size() == hash_digits && all_hex(text, HexCase::lower);
}

bool looks_like_request_id(std::string_view text) {
  return (text.size() == request_id_digits && all_hex(text, HexCase::lower)) ||
         is_of_no_execution(text);
}

bool is_of_no_execution(std::string_view request_id) { return request_id.starts_with(own_prefix); }

}  // namespace pawl
