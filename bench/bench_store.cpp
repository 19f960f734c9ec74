// Reserve and complete, ours against what one writes first, on both stores, with full durability.
// Ratios within one run; the two sides take turns, so that a noisy machine is noisy for both.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>

#include "bench/fill.hpp"
#include "bench/naive_postgres.hpp"
#include "bench/naive_sqlite.hpp"
#include "bench/reaper.hpp"
#include "bench/report.hpp"
#include "bench/store_subject.hpp"
#include "src/adapters/postgres/migrate.hpp"
#include "src/adapters/postgres/postgres_store.hpp"
#include "src/adapters/sqlite/sqlite_store.hpp"
#include "tests/support/postgres_server.hpp"

namespace pawl::bench {
namespace {

struct Plan {
  double seconds = 3;
  int turns = 3;
  int callers = 64;
  long rows = 5'000'000;
  long reaped = 1'000'000;
  bool sqlite = true;
  bool postgres = true;
  std::string json = "build/bench_store.json";
};

// What is measured on a store of ours: the same for both, so that the figures can be compared.
struct Bed {
  std::string name;
  Subject& ours;
  Subject& few;  // ours too, on a store of its own that nobody fills
  Subject& naive;
  Store& store;
  // Adds finished rows of another scope: `expired` ones are past their retention already.
  std::function<void(long rows, bool expired)> fill;
};

void compare(Report& report, const Plan& plan, Bed& bed, int callers) {
  Samples ours;
  Samples naive;
  for (int turn = 0; turn < plan.turns; ++turn) {
    naive.add(bed.naive.run(callers, Seconds(plan.seconds)));
    ours.add(bed.ours.run(callers, Seconds(plan.seconds)));
  }
  const std::string who = bed.name + ", " + std::to_string(callers) + " callers, ";
  report.add(who + "naive", naive);
  report.add(who + "pawl", ours);
  if (callers == 1) {
    report.ratio(bed.name + ": lone caller's p50, pawl / naive",
                 ours.percentile(0.5) / naive.percentile(0.5), "<= 1.2");
    return;
  }
  report.ratio(bed.name + ": throughput, pawl / naive", ours.per_second() / naive.per_second(),
               ">= 6");
  report.ratio(bed.name + ": p99, pawl / naive", ours.percentile(0.99) / naive.percentile(0.99),
               "<= 1");
}

void with_many_rows(Report& report, const Plan& plan, Bed& bed) {
  if (plan.rows == 0) return;
  std::printf("%s: adding %ld rows ...\n", bed.name.c_str(), plan.rows);
  std::fflush(stdout);
  bed.fill(plan.rows, false);
  Samples few;
  Samples many;
  for (int turn = 0; turn < plan.turns; ++turn) {
    few.add(bed.few.run(plan.callers, Seconds(plan.seconds)));
    many.add(bed.ours.run(plan.callers, Seconds(plan.seconds)));
  }
  report.add(bed.name + ", few rows", few);
  report.add(bed.name + ", " + std::to_string(plan.rows) + " rows more", many);
  report.ratio(bed.name + ": throughput, many rows / few", many.per_second() / few.per_second(),
               ">= 0.8");
}

void while_reaping(Report& report, const Plan& plan, Bed& bed) {
  if (plan.reaped == 0) return;
  std::printf("%s: adding %ld expired rows ...\n", bed.name.c_str(), plan.reaped);
  std::fflush(stdout);
  bed.fill(plan.reaped, true);
  Samples quiet;
  Samples busy;
  std::size_t deleted = 0;
  for (int turn = 0; turn < plan.turns; ++turn) {
    quiet.add(bed.ours.run(plan.callers, Seconds(plan.seconds)));
    Reaper reaper(bed.store);
    busy.add(bed.ours.run(plan.callers, Seconds(plan.seconds)));
    deleted += reaper.stop();
  }
  report.add(bed.name + ", reaper quiet", quiet);
  report.add(bed.name + ", reaper deleted " + std::to_string(deleted), busy);
  report.ratio(bed.name + ": callers' p99, reaping / quiet",
               busy.percentile(0.99) / quiet.percentile(0.99), "<= 1.5");
}

void measure(Report& report, const Plan& plan, Bed bed) {
  compare(report, plan, bed, plan.callers);
  compare(report, plan, bed, 1);
  with_many_rows(report, plan, bed);
  while_reaping(report, plan, bed);
}

template <class Concrete>
std::unique_ptr<Concrete> opened(Expected<std::unique_ptr<Concrete>, std::string> store) {
  if (!store) throw std::runtime_error(store.error());
  return std::move(*store);
}

void bench_sqlite(Report& report, const Plan& plan) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("pawl-bench-" + random_key());
  std::filesystem::create_directory(folder);
  {
    const std::string path = (folder / "ours.db").string();
    const auto store = opened(sqlite::SqliteStore::open(path));
    const auto other = opened(sqlite::SqliteStore::open((folder / "few.db").string()));
    StoreSubject ours(*store);
    StoreSubject few(*other);
    NaiveSqlite naive((folder / "naive.db").string());
    measure(report, plan, {"SQLite", ours, few, naive, *store, [&](long rows, bool expired) {
                             fill_sqlite(*store, path, rows, expired);
                           }});
  }
  std::filesystem::remove_all(folder);
}

void bench_postgres(Report& report, const Plan& plan) {
  testing::PostgresServer server({.fsync = true,
                                  .configuration = "max_connections = 100\nshared_buffers = 512MB\n"
                                                   "max_wal_size = 4GB\n"});
  const auto migrated_store = [](const std::string& url) {
    if (const auto migrated = postgres::migrate(url); !migrated) {
      throw std::runtime_error(migrated.error());
    }
    return opened(postgres::PostgresStore::open(url));
  };
  server.create_database("few");
  const auto store = migrated_store(server.url());
  const auto other = migrated_store(server.url("few"));
  StoreSubject ours(*store);
  StoreSubject few(*other);
  NaivePostgres naive(server.url(), plan.callers);
  measure(report, plan, {"PostgreSQL", ours, few, naive, *store, [&](long rows, bool expired) {
                           fill_postgres(*store, server, rows, expired);
                         }});
}

}  // namespace
}  // namespace pawl::bench

int main(int argc, char** argv) {
  pawl::bench::Plan plan;
  CLI::App app("Reserve and complete on each store, ours against the naive way; ratios in one run",
               "bench_store");
  app.add_option("--seconds", plan.seconds, "Length of one turn")->capture_default_str();
  app.add_option("--turns", plan.turns, "Turns each side takes")->capture_default_str();
  app.add_option("--callers", plan.callers, "Concurrent callers")->capture_default_str();
  app.add_option("--rows", plan.rows, "Rows that are there already; 0: skip")
      ->capture_default_str();
  app.add_option("--reaped", plan.reaped, "Expired rows to reap; 0: skip")->capture_default_str();
  app.add_option("--json", plan.json, "Where the figures go")->capture_default_str();
  std::string only;
  app.add_option("--only", only, "sqlite or postgres")
      ->check(CLI::IsMember({"sqlite", "postgres"}));
  CLI11_PARSE(app, argc, argv);
  plan.sqlite = only != "postgres";
  plan.postgres = only != "sqlite";

  pawl::bench::Report report;
  if (plan.sqlite) pawl::bench::bench_sqlite(report, plan);
  if (plan.postgres) pawl::bench::bench_postgres(report, plan);
  report.print();
  report.write_json(plan.json);
  return 0;
}
