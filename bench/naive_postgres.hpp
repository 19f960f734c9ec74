// The other side on PostgreSQL: the first article's schema and flow, one INSERT ... ON CONFLICT and
// one UPDATE, each a prepared statement with a commit of its own, on a connection per caller.
#pragma once

#include <libpq-fe.h>

#include <string>
#include <vector>

#include "bench/samples.hpp"

namespace pawl::bench {

class NaivePostgres final : public Subject {
 public:
  NaivePostgres(std::string url, int connections_max);
  ~NaivePostgres() override;
  NaivePostgres(const NaivePostgres&) = delete;
  NaivePostgres& operator=(const NaivePostgres&) = delete;
  Samples run(int callers, Seconds seconds) override;

 private:
  std::vector<PGconn*> connections_;
};

}  // namespace pawl::bench
