#include "src/adapters/sqlite/fault_vfs.hpp"

#include <sqlite3.h>

#include <new>

namespace pawl::sqlite {
namespace {

// The real file lies behind ours in the room that SQLite gives.
struct FaultFile {
  sqlite3_file base;
  sqlite3_file* real;
  bool is_database;
  bool was_cut;  // since the last sync
};

FaultFile& ours(sqlite3_file* file) { return *reinterpret_cast<FaultFile*>(file); }

sqlite3_file* real(sqlite3_file* file) { return ours(file).real; }

int close_file(sqlite3_file* file) { return real(file)->pMethods->xClose(real(file)); }
int read(sqlite3_file* file, void* into, int size, sqlite3_int64 at) {
  if (const int code = faults().on_read) return code;
  return real(file)->pMethods->xRead(real(file), into, size, at);
}
int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  if (const int code = faults().on_write) return code;
  if (at + size > faults().file_bytes_max) return SQLITE_FULL;
  return real(file)->pMethods->xWrite(real(file), from, size, at);
}
int truncate(sqlite3_file* file, sqlite3_int64 size) {
  ours(file).was_cut = true;
  return real(file)->pMethods->xTruncate(real(file), size);
}
int sync(sqlite3_file* file, int flags) {
  if (const int code = faults().on_sync) return code;
  const bool between = ours(file).is_database && !ours(file).was_cut;
  ours(file).was_cut = false;
  if (const int code = faults().on_sync_between; between && code != SQLITE_OK) return code;
  return real(file)->pMethods->xSync(real(file), flags);
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return real(file)->pMethods->xFileSize(real(file), size);
}
int lock(sqlite3_file* file, int level) { return real(file)->pMethods->xLock(real(file), level); }
int unlock(sqlite3_file* file, int level) {
  return real(file)->pMethods->xUnlock(real(file), level);
}
int check_lock(sqlite3_file* file, int* held) {
  return real(file)->pMethods->xCheckReservedLock(real(file), held);
}
int control(sqlite3_file* file, int what, void* with) {
  return real(file)->pMethods->xFileControl(real(file), what, with);
}
int sector_size(sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); }
int device(sqlite3_file* file) { return real(file)->pMethods->xDeviceCharacteristics(real(file)); }
int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** into) {
  return real(file)->pMethods->xShmMap(real(file), page, size, extend, into);
}
int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
void shm_barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }
int shm_unmap(sqlite3_file* file, int remove) {
  return real(file)->pMethods->xShmUnmap(real(file), remove);
}

const sqlite3_io_methods methods{2,           close_file,  read,    write,   truncate,
                                 sync,        file_size,   lock,    unlock,  check_lock,
                                 control,     sector_size, device,  shm_map, shm_lock,
                                 shm_barrier, shm_unmap,   nullptr, nullptr};

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  if (const int code = faults().on_open) return code;
  auto* below = static_cast<sqlite3_vfs*>(vfs->pAppData);
  auto* made = new (file) FaultFile{};
  made->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  made->real = reinterpret_cast<sqlite3_file*>(made + 1);
  const int code = below->xOpen(below, name, made->real, flags, out_flags);
  if (made->real->pMethods != nullptr) made->base.pMethods = &methods;
  return code;
}

}  // namespace

Faults& faults() {
  static Faults all;
  return all;
}

const char* fault_vfs() {
  static sqlite3_vfs vfs = [] {
    sqlite3_vfs* below = sqlite3_vfs_find(nullptr);
    sqlite3_vfs made = *below;
    made.zName = "pawl-faults";
    made.szOsFile += static_cast<int>(sizeof(FaultFile));
    made.pAppData = below;
    made.pNext = nullptr;
    made.xOpen = open_file;
    return made;
  }();
  static const int registered = sqlite3_vfs_register(&vfs, 0);
  return registered == SQLITE_OK ? vfs.zName : nullptr;
}

}  // namespace pawl::sqlite
