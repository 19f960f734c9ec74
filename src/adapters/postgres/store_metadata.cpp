#include "src/adapters/postgres/store_metadata.hpp"

#include "src/adapters/postgres/blocking.hpp"

#include "src/adapters/postgres/without_password.hpp"

namespace pawl::postgres {
namespace {

// Whether the server may be used at all is for the store to say.
Expected<std::string, std::string> run(const std::string& url, const char* sql,
                                       const std::string& name, const std::string& value) {
  BlockingSession session(
      url, {.allow_lossy_store = true, .operation_timeout = std::chrono::seconds(10)});
  const BlockingSession::Answer answer = session.run(sql, {name, value});
  if (!answer) return Unexpected{answer.error()};
  if (answer->count() != 1) return Unexpected{"the store's metadata has no entry " + name};
  return answer->text(0, 0);
}

}  // namespace

// An update that changes nothing: of several nodes that start at once, one records it and all of
// them read it.
Expected<std::string, std::string> recorded_fact(const std::string& url, const std::string& name,
                                                 const std::string& proposed) {
  return run(url,
             "INSERT INTO pawl.facts AS f (name, value) VALUES ($1, $2)"
             " ON CONFLICT (name) DO UPDATE SET value = f.value RETURNING value",
             name, proposed);
}

Expected<Done, std::string> record_fact(const std::string& url, const std::string& name,
                                        const std::string& value) {
  const Expected<std::string, std::string> written =
      run(url,
          "INSERT INTO pawl.facts (name, value) VALUES ($1, $2)"
          " ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING value",
          name, value);
  if (!written) return Unexpected{written.error()};
  return Done{};
}

}  // namespace pawl::postgres
