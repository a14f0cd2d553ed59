package journal

// Fail-points: where Options.Hook is called. A hook that returns an error makes that step fail; one that kills the
// process shows what a crash there leaves. Names are append-only and in the order of a node's life.
const (
	PointStoreCreate   = "journal.store.create"   // before Pebble creates its folder under a temporary name
	PointStoreRename   = "journal.store.rename"   // before that folder gets its name
	PointHeadCreate    = "journal.head.create"    // before HEAD is created
	PointFormatWrite   = "journal.format.write"   // before FORMAT is written, the last step of creation
	PointFormatRename  = "journal.format.rename"  // FORMAT is written and synced under a temporary name
	PointStoreOpen     = "journal.store.open"     // before Pebble opens its folder
	PointStoreOpened   = "journal.store.opened"   // Pebble is open, nothing was checked yet
	PointApplyBefore   = "journal.apply.before"   // before a batch is handed to Pebble
	PointApplyAfter    = "journal.apply.after"    // applied, not synced
	PointSyncBefore    = "journal.sync.before"    // before waiting for a batch's sync
	PointSyncAfter     = "journal.sync.after"     // synced, not told
	PointHeadWrite     = "journal.head.write"     // before the head slot is written
	PointHeadSync      = "journal.head.sync"      // before HEAD is synced
	PointPurgeApply    = "journal.purge.apply"    // before a batch with a tombstone is handed to Pebble
	PointSnapshotApply = "journal.snapshot.apply" // before a batch with a snapshot is handed to Pebble
	PointClose         = "journal.close"          // before a healthy store is closed
)

// Points lists every fail-point of the package.
func Points() []string {
	return []string{
		PointStoreCreate, PointStoreRename, PointHeadCreate, PointFormatWrite, PointFormatRename, PointStoreOpen, PointStoreOpened,
		PointApplyBefore, PointApplyAfter, PointSyncBefore, PointSyncAfter, PointHeadWrite, PointHeadSync,
		PointPurgeApply, PointSnapshotApply, PointClose,
	}
}
