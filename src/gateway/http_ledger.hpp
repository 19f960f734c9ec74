// [source.ledger] over HTTP: a source's list of what it has done.
#pragma once

#include <string>
#include <vector>

#include "src/adapters/http/upstream_pool.hpp"
#include "src/config/config.hpp"
#include "src/ports/ledger_pages.hpp"
#include "src/workers/ledger_comparison.hpp"

namespace pawl::gateway {

// The source has a ledger, and outlives it. `deadlines`: of the thread it runs on, and running.
class HttpLedger final : public LedgerPages {
 public:
  HttpLedger(const config::Source& source, http::Deadlines& deadlines);
  Task<Expected<std::string, Failure>> fetch(std::string target) override;

 private:
  const config::Source& source_;
  http::Deadlines& deadlines_;
  http::UpstreamPool pool_;
};

// What a comparison needs to know of a source that has a ledger.
workers::LedgerSettings ledger_of(const config::Source& source, const config::Config& config);
std::vector<workers::LedgerSettings> ledgers_of(const config::Config& config);

// Null: there is none of that name.
const config::Source* source_named(const config::Config& config, std::string_view name);

}  // namespace pawl::gateway
