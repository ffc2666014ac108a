#pragma once
/// Conditions of the partial indexes of `work_queue` (migration work 3). SQLite takes such an index for a
/// statement that says the same.

#define IS_WAITING "ready = 0 AND claimed_by_session IS NULL AND completed_at IS NULL"
#define IS_IN_HAND "claimed_by_session IS NOT NULL AND completed_at IS NULL"
#define IS_DUE_OUT_OF_HAND "due IS NOT NULL AND (claimed_by_session IS NULL OR completed_at IS NOT NULL)"
