#include "src/adapters/sqlite/writer.hpp"

#include <algorithm>

namespace pawl::sqlite {
namespace {

constexpr std::chrono::microseconds linger_max{200};
constexpr std::chrono::milliseconds gather_max{5};

}  // namespace

Writer::Writer(const Database& database, const Options& options, Health& health)
    : database_(database),
      options_(options),
      health_(health),
      checkpointer_(database, options),
      session_(database, options, options.cache_bytes),
      next_checkpoint_(options.checkpoint_pages),
      thread_([this] { loop(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    queue_.stopping = true;
  }
  work_.notify_one();
  thread_.join();
}

bool Writer::submit(std::span<Write* const> writes, WriteKind kind) {
  std::size_t bytes = 0;
  for (const Write* write : writes) bytes += write->bytes;
  bool sleeps = false;
  {
    const std::lock_guard lock(mutex_);
    if (!queue_.empty() && queue_.bytes + bytes > options_.queue_bytes_max) return false;
    std::deque<Write*>& waiting = kind == WriteKind::requests ? queue_.requests : queue_.reaping;
    waiting.insert(waiting.end(), writes.begin(), writes.end());
    queue_.bytes += bytes;
    has_work_ = true;
    sleeps = std::exchange(queue_.writer_sleeps, false);
  }
  if (sleeps) work_.notify_one();
  return true;
}

WriterCounts Writer::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void Writer::loop() {
  std::vector<Write*> batch;
  for (;;) {
    switch (take(batch)) {
      case Woken::to_stop: return;
      case Woken::to_probe: note(lost_ ? lost_ : probe(session_, options_.clock())); break;
      case Woken::by_work: perform(batch); break;
    }
    checkpoint();
    linger();
  }
}

// A caller that was just answered often comes back at once; to sleep meanwhile and be woken would
// cost it a good part of a commit. Not for longer than a commit took, so at most half of the time
// is spent here, and the processor is offered to everybody else.
void Writer::linger() {
  const Steady::time_point end =
      Steady::now() + std::min<Steady::duration>(last_commit_, linger_max);
  while (!has_work_ && Steady::now() < end) std::this_thread::yield();
}

Writer::Woken Writer::take(std::vector<Write*>& batch) {
  batch.clear();
  std::unique_lock lock(mutex_);
  const auto woken = [&] { return queue_.stopping || !queue_.empty(); };
  queue_.writer_sleeps = true;
  if (!in_trouble_) {
    work_.wait(lock, woken);
  } else if (!work_.wait_for(lock, options_.probe_interval, woken)) {
    return Woken::to_probe;
  }
  queue_.writer_sleeps = false;
  // The callers of the last transaction are just coming back, one after another. To go with the
  // first of them would make all the others wait for a whole commit; so they are waited for, but
  // not longer than half of one. A lone caller never waits here.
  resumptions_->none_left.wait_for(lock, std::min<Steady::duration>(last_commit_ / 2, gather_max),
                                   [&] { return resumptions_->running == 0; });
  std::size_t bytes = 0;
  const auto move_from = [&](std::deque<Write*>& waiting, std::size_t writes_max) {
    for (std::size_t taken = 0; taken < writes_max && !waiting.empty(); ++taken) {
      Write* next = waiting.front();
      if (!batch.empty() && bytes + next->bytes > options_.transaction_bytes_max) return;
      bytes += next->bytes;
      batch.push_back(next);
      waiting.pop_front();
    }
  };
  move_from(queue_.requests, options_.transaction_writes_max);
  move_from(queue_.reaping, options_.transaction_erasures_max);
  queue_.bytes -= bytes;
  has_work_ = !queue_.empty();
  return batch.empty() ? Woken::to_stop : Woken::by_work;
}

void Writer::perform(std::span<Write* const> batch) {
  const Steady::time_point start = Steady::now();
  const Transacted done = write(batch);
  last_commit_ = Steady::now() - start;
  note(done.trouble);
  {
    const std::lock_guard lock(mutex_);
    counts_.writes += batch.size();
    counts_.commits += done.commits;
  }
  const Instant store_time = options_.clock();
  waiting::Waiters waiters;
  for (Write* write : batch) {
    WriteGroup& group = *write->group;
    if (--group.unfinished > 0) continue;
    group.store_time = store_time;
    group.purge_epoch = done.purge_epoch;
    waiters.push_back(std::move(group.waiter));
  }
  waiting::wake(std::move(waiters), resumptions_);  // from here on the writes may be gone
}

Transacted Writer::write(std::span<Write* const> batch) {
  if (!lost_) return write_all(session_, batch, options_.clock());
  for (Write* refused : batch) refused->error = StoreError::unavailable;
  return {.commits = 0, .trouble = lost_};
}

void Writer::note(const std::optional<std::string>& trouble) {
  if (trouble) {
    health_.trouble(Part::writer, *trouble);
  } else if (in_trouble_) {
    health_.well(Part::writer);
  }
  in_trouble_ = trouble.has_value();
}

// The bulk of the log is copied beside us. Twice or more if need be: what came meanwhile is less
// each time. The last bit we copy ourselves, because the log starts over only when all of it is
// copied and nobody is adding to it.
void Writer::checkpoint() {
  const int pages = session_.log_pages();
  if (in_trouble_ || pages < next_checkpoint_ || session_.ready()) return;
  const Checkpointer::Progress beside = checkpointer_.progress();
  if (beside.busy) return;
  const int left = pages - beside.copied;
  const bool too_long = pages >= 4 * options_.checkpoint_pages;
  if (beside.lost) {
    lost_ =
        explain(database_.path, {SQLITE_IOERR_FSYNC, "the disk did not take all of the database"});
    lost_->append(". All that was committed is in its log: restart Pawl, and it is copied again.");
    note(lost_);
  } else if (beside.failed || too_long || left <= options_.checkpoint_pages / 16) {
    finish_checkpoint();
  } else if (beside.copied == copied_before_) {  // some reader is in its way
    put_off_checkpoint();
  } else {
    copied_before_ = beside.copied;
    checkpointer_.start();
  }
}

void Writer::put_off_checkpoint() {
  next_checkpoint_ = session_.log_pages() + options_.checkpoint_pages / 4;
  copied_before_ = -1;
}

// PASSIVE waits for nobody; if some reader keeps the log from starting over for long, RESTART waits
// for it.
void Writer::finish_checkpoint() {
  const bool too_long = session_.log_pages() >= 4 * options_.checkpoint_pages;
  const int mode = too_long ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
  int in_log = 0;
  int copied = 0;
  const int code =
      sqlite3_wal_checkpoint_v2(session_.connection().handle(), nullptr, mode, &in_log, &copied);
  const bool complete = code == SQLITE_OK && in_log == copied;
  put_off_checkpoint();
  if (complete) next_checkpoint_ = options_.checkpoint_pages;
  checkpointer_.forget();
  // What was committed stays so. A lack of room shows again when the log itself cannot grow.
  if (code != SQLITE_OK && primary_code(code) != SQLITE_BUSY) note(session_.failed(code));
  const std::lock_guard lock(mutex_);
  ++counts_.checkpoints;
}

}  // namespace pawl::sqlite
