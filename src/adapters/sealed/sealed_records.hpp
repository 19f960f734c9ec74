// Requests and answers of a record, sealed and opened.
#pragma once

#include "src/adapters/sealed/data_keys.hpp"
#include "src/ports/store.hpp"

namespace pawl::sealed {

// Where an answer belongs: "response", "evidence".
std::string place_of_answer(std::string_view column, const Scope& scope, const Key& key,
                            Fence fence);
StoredResponse sealed_answer(const DataKey& key, std::string_view place,
                             const StoredResponse& response);

// Is there anything in it that is sealed; that lies in clear and should not?
bool has_sealed(const Record& record);
bool has_clear(const Record& record);
// What lies in clear is sealed; the rest stays.
void seal_record(const DataKey& key, Record& record);

// In clear. An answer whose key was erased makes a tombstone of its record; a request whose key was
// erased makes it unreadable, because nothing can be done about it any more.
Task<StoreResult<Record>> opened_record(DataKeys& keys, Record record);
// Null: its key was erased.
Task<StoreResult<std::optional<StoredResponse>>> opened_answer(DataKeys& keys, Scope scope,
                                                               std::string place,
                                                               StoredResponse sealed);
// The clear text of any envelope of a scope. Nothing: its key was erased.
Task<StoreResult<std::optional<std::string>>> opened_text(DataKeys& keys, Scope scope,
                                                          std::string place, std::string envelope);

}  // namespace pawl::sealed
