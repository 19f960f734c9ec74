// A session for what an operator runs: it may take as long as it takes.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::postgres {

class OperatorSession {
 public:
  explicit OperatorSession(const std::string& url);

  [[nodiscard]] bool connected() const { return PQstatus(connection_.get()) == CONNECTION_OK; }
  // A transaction with the fixed search_path, and durable, behind a pooler too.
  bool begin();
  // False: `error` says why.
  bool run(const std::string& sql);
  // The first column of every row.
  std::optional<std::vector<std::string>> list(const std::string& sql);
  [[nodiscard]] std::string error() const;
  [[nodiscard]] PGconn* handle() const { return connection_.get(); }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

}  // namespace pawl::postgres
