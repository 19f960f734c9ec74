#include <algorithm>
#include <set>

#include "src/adapters/postgres/batch.hpp"
#include "src/adapters/postgres/failures.hpp"
#include "src/adapters/postgres/passes.hpp"
#include "src/core/utf8.hpp"

namespace pawl::postgres {
namespace {

constexpr std::size_t erasures_per_statement = 500;

using Part = std::vector<std::pair<std::string, const Erasure*>>;  // with the key's identity

Query erase_query(const Part& part) {
  ArrayBuilder scopes(type::text_array);
  ArrayBuilder keys(type::text_array);
  std::vector<Guard> guards;
  for (const auto& [identity, erasure] : part) {
    scopes.bytes(erasure->scope.text);
    keys.bytes(erasure->key.text);
    guards.push_back(erasure->expected);
  }
  Query query{StatementId::erase, {}};
  query.parameters.push_back(std::move(scopes).finish());
  query.parameters.push_back(std::move(keys).finish());
  for (Parameter& parameter : guard_parameters(guards)) {
    query.parameters.push_back(std::move(parameter));
  }
  return query;
}

std::vector<Part> parts_of(const std::vector<Erasure>& batch) {
  Part all;
  for (const Erasure& erasure : batch) {
    // What cannot be written in a text column is in no row.
    if (!is_text(erasure.scope.text) || !is_text(erasure.key.text)) continue;
    all.emplace_back(identity_of(erasure.scope, erasure.key), &erasure);
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) {
    return std::tie(a.second->scope, a.second->key) < std::tie(b.second->scope, b.second->key);
  });
  std::vector<Part> parts;
  for (std::size_t i = 0; i < all.size(); i += erasures_per_statement) {
    const std::size_t end = std::min(all.size(), i + erasures_per_statement);
    parts.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i),
                       all.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return parts;
}

}  // namespace

Task<StoreResult<std::vector<bool>>> Passes::erase(std::vector<Erasure> batch) {
  using PassResult = StoreResult<std::vector<bool>>;
  std::set<std::string> gone;
  std::vector<Part> parts = parts_of(batch);
  while (!parts.empty()) {
    const Part part = std::move(parts.back());
    parts.pop_back();
    std::vector<Query> queries;
    queries.push_back(erase_query(part));
    const Session::Reply reply = co_await session_.exchange(std::move(queries));
    if (reply) {
      const Rows& rows = reply->at(1);
      for (int row = 0; row < rows.count(); ++row) {
        gone.insert(identity_of(Scope{rows.text(row, 0)}, Key{rows.text(row, 1)}));
      }
      continue;
    }
    const bool may_split = reply.error().kind == Failure::Kind::refused &&
                           remedy_for(reply.error().sqlstate) == Remedy::split;
    if (!may_split) co_return PassResult(Unexpected{store_error(reply.error())});
    if (part.size() == 1) continue;  // somebody holds it, so it is not over yet
    const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
    parts.emplace_back(middle, part.end());
    parts.emplace_back(part.begin(), middle);
  }
  std::vector<bool> erased;
  for (const Erasure& erasure : batch) {
    // Asked for twice, it was erased once.
    erased.push_back(gone.erase(identity_of(erasure.scope, erasure.key)) == 1);
  }
  co_return PassResult(std::move(erased));
}

}  // namespace pawl::postgres
